//! Segment files, which recording processes append to and merge later, and the locks that coordinate processes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::CassetteError;
use super::body::Body;
use super::error::io_error;
use super::line::{Header, RecordingLine, header, parse_header};
use super::raw;
use super::recording_file::FullRecording;
use crate::llm::Api;

const PREFIX: &str = "recording-";
const SUFFIX: &str = ".jsonl";

/// The file that a process appends to. It is locked while the process is alive.
#[derive(Debug)]
pub(super) struct SegmentWriter {
    file: File,
    path: PathBuf,
    length: u64,
}

impl SegmentWriter {
    pub(super) fn create(dir: &Path) -> Result<SegmentWriter, CassetteError> {
        // Without the folder's lock, the new file would look abandoned until it is locked itself.
        let _lock = FolderLock::acquire(dir)?;
        let mut number = 1_u32;
        let (file, path) = loop {
            let path = dir.join(format!("{PREFIX}{number}{SUFFIX}"));
            match OpenOptions::new().create_new(true).append(true).open(&path) {
                Ok(file) => break (file, path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(io_error("create", &path)(error)),
            }
        };
        file.lock().map_err(io_error("create", &path))?;
        let mut segment = SegmentWriter { file, path, length: 0 };
        segment.append(&header(None))?;
        Ok(segment)
    }

    /// Appends a line in one write, so that a killed process leaves at most an incomplete last line.
    pub(super) fn append(&mut self, line: &str) -> Result<(), CassetteError> {
        let bytes = format!("{line}\n");
        if let Err(error) = self.file.write_all(bytes.as_bytes()) {
            // Remove a partial line, for example after a full disk. Report the first error, not one from here.
            let _ = self.file.set_len(self.length);
            return Err(io_error("write", &self.path)(error));
        }
        self.length += bytes.len() as u64;
        Ok(())
    }
}

/// Formats a line of a segment file.
pub(super) fn format_line(api: Api, model: &str, entry: &RecordingLine<'_>) -> String {
    let (api, model) = (Value::from(api.name()), Value::from(model));
    format!(r#"{{"api":{api},"model":{model},"entry":{}}}"#, entry.write())
}

#[derive(Debug)]
pub(super) struct Segment {
    path: PathBuf,
    text: String,
}

#[derive(Debug)]
pub(super) struct SegmentLine<'a> {
    pub(super) api: Api,
    pub(super) model: String,
    pub(super) recording: FullRecording<'a>,
}

/// Returns the segment files of a folder, sorted by number.
fn list_segments(dir: &Path) -> Result<Vec<PathBuf>, CassetteError> {
    let mut found = Vec::new();
    for path in super::index::sorted_paths(dir)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)).map(str::parse::<u32>);
        if let Some(Ok(number)) = number {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Returns true if a folder has segment files.
pub(super) fn exist_in(dir: &Path) -> Result<bool, CassetteError> {
    list_segments(dir).map(|segments| !segments.is_empty())
}

/// Returns the segment files of a folder whose processes have ended.
pub(super) fn abandoned(dir: &Path) -> Result<Vec<PathBuf>, CassetteError> {
    let mut abandoned = Vec::new();
    for path in list_segments(dir)? {
        if !has_writer(&path)? {
            abandoned.push(path);
        }
    }
    Ok(abandoned)
}

/// Returns true if the process that writes a segment file is alive.
fn has_writer(path: &Path) -> Result<bool, CassetteError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(io_error("read", path)(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(io_error("read", path)(error)),
    }
}

pub(super) fn remove(path: &Path) -> Result<(), CassetteError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", path)(error)),
        _ => Ok(()),
    }
}

impl Segment {
    /// Reads a segment file; returns `None` if another process has merged it meanwhile.
    pub(super) fn read(path: &Path) -> Result<Option<Segment>, CassetteError> {
        let mut bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("read", path)(error)),
        };
        // Drop an incomplete last line, left by a process that was killed while writing it.
        bytes.truncate(bytes.iter().rposition(|b| *b == b'\n').map_or(0, |last| last + 1));
        let text = String::from_utf8(bytes).map_err(|error| damaged(path, None, &error.to_string()))?;
        Ok(Some(Segment { path: path.into(), text }))
    }

    pub(super) fn lines(&self) -> Result<Vec<SegmentLine<'_>>, CassetteError> {
        let mut lines = self.text.lines();
        match lines.next().map(parse_header) {
            None => return Ok(Vec::new()),
            Some(Header::Valid(None)) => {}
            Some(Header::OtherVersion(found)) => {
                return Err(CassetteError::OtherVersion { path: self.path.clone(), found });
            }
            Some(Header::Valid(Some(_)) | Header::Foreign) => return Err(CassetteError::Foreign(self.path.clone())),
        }
        let read =
            |(index, line)| parse_line(line).ok_or_else(|| damaged(&self.path, Some(index + 2), "it is no recording"));
        lines.enumerate().map(read).collect()
    }
}

fn damaged(path: &Path, line: Option<usize>, reason: &str) -> CassetteError {
    CassetteError::Damaged { path: path.into(), line, reason: reason.to_owned() }
}

fn parse_line(text: &str) -> Option<SegmentLine<'_>> {
    let [("api", api), ("model", model), ("entry", entry)] = raw::fields(text)?[..] else { return None };
    let line = RecordingLine::parse(entry)?;
    line.recorded_response()?;
    let body = Body::default().apply_delta(line.shared, line.request)?;
    let (api, model) = (serde_json::from_str(api).ok()?, serde_json::from_str(model).ok()?);
    Some(SegmentLine { api, model, recording: FullRecording { line, body } })
}

/// The exclusive right to add or remove files in a folder, released on drop.
#[derive(Debug)]
pub(super) struct FolderLock {
    _file: File,
    path: PathBuf,
}

impl FolderLock {
    pub(super) fn acquire(dir: &Path) -> Result<FolderLock, CassetteError> {
        let path = dir.join(".lock");
        loop {
            let file = File::create(&path).map_err(io_error("create", &path))?;
            file.lock().map_err(io_error("create", &path))?;
            // The previous holder may have removed the file before it was locked here.
            if is_file_at(&file, &path) {
                return Ok(FolderLock { _file: file, path });
            }
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Keep lock files out of committed folders. An open file cannot be removed on all platforms; there it stays.
        let _ = if cfg!(unix) { fs::remove_file(&self.path) } else { Ok(()) };
    }
}

#[cfg(unix)]
fn is_file_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_file_at(_file: &File, _path: &Path) -> bool {
    true
}
