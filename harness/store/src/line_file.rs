use std::fs::{self, File};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use healbench_files::{checked_members, line_with_checksum, read_bounded_line};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The maximum size of an episode's line in bytes.
pub(crate) const MAX_LINE_BYTES: u64 = 256 << 20;

/// The reason why a journal or the recorded turns cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file system operation failed, or a file is not in zstd format.
    #[error("cannot {operation} `{}`: {source}", path.display())]
    Io {
        /// `read`, `write` or `create`.
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A line before the last one was not written by healbench. The other lines are usable if it is removed.
    #[error("`{}` is damaged in line {line}: {reason}", path.display())]
    Damaged {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        reason: String,
    },
}

/// A file of JSON objects, one on a line, each with a checksum. It survives a killed process: a line that was written in
/// part is removed when the file is opened again.
#[derive(Debug)]
pub(crate) struct LineFile {
    path: PathBuf,
    file: File,
    /// The size of all complete lines in bytes.
    complete_bytes: u64,
    /// A buffer for reading.
    line: Vec<u8>,
}

/// The position of a line in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalEntry {
    offset: u64,
    bytes: usize,
}

impl JournalEntry {
    /// Returns the size of the line in bytes.
    pub fn bytes(self) -> u64 {
        self.bytes as u64
    }
}

/// Formats a line with its checksum and its line break.
fn format_line(object: &impl Serialize) -> io::Result<String> {
    let json = serde_json::to_string(object)?;
    Ok(line_with_checksum(json.strip_prefix('{').unwrap_or(&json)))
}

/// Parses a line without its line break, or returns the problem.
fn parse_line<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    let text = str::from_utf8(line).map_err(|error| error.to_string())?;
    let members = checked_members(text).map_err(|error| error.to_string())?;
    // The checksum is a member that the objects do not have.
    serde_json::from_str(&format!("{{{members}")).map_err(|error| error.to_string())
}

/// Returns true if only the line break at the end of a line was changed. Of a line that was written in part, something
/// else is missing.
fn has_damaged_line_break(line: &[u8]) -> bool {
    let without_break = line.split_last().and_then(|(_, line)| str::from_utf8(line).ok());
    without_break.is_some_and(|line| checked_members(line).is_ok())
}

impl LineFile {
    /// Opens or creates a file, and passes its objects to `visit` in the order in which they were written.
    pub(crate) fn open<T: DeserializeOwned>(
        path: PathBuf,
        visit: &mut dyn FnMut(JournalEntry, T),
    ) -> Result<LineFile, JournalError> {
        // A link would lead to another file, which would be truncated.
        healbench_files::check_own_file(&path).map_err(io_error("read", &path))?;
        let mut file = open_to_append(&path)?;
        let mut reader = BufReader::new(&mut file);
        let (mut complete_bytes, mut line, mut number) = (0, Vec::new(), 0);
        loop {
            number += 1;
            let damaged = |reason: String| JournalError::Damaged { path: path.clone(), line: number, reason };
            let bytes = match read_bounded_line(&mut reader, &mut line, MAX_LINE_BYTES) {
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => return Err(damaged(error.to_string())),
                read => read.map_err(io_error("read", &path))?,
            };
            let Some(complete) = line.strip_suffix(b"\n") else {
                if has_damaged_line_break(&line) {
                    return Err(damaged("its line break is damaged".to_owned()));
                }
                break;
            };
            let object: T = parse_line(complete).map_err(damaged)?;
            visit(JournalEntry { offset: complete_bytes, bytes }, object);
            complete_bytes += bytes as u64;
        }
        file.set_len(complete_bytes).map_err(io_error("write", &path))?;
        Ok(LineFile { path, file, complete_bytes, line: Vec::new() })
    }

    /// Returns the size of all lines in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.complete_bytes
    }

    /// Appends an object and returns its position. Once this returns, it is not lost even if the process is killed.
    pub(crate) fn append(&mut self, object: &impl Serialize) -> Result<JournalEntry, JournalError> {
        let line = format_line(object).map_err(io_error("write", &self.path))?;
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            // A full disk may accept part of a line, which must not be followed by the next one. If truncating fails
            // too, later writes will also fail.
            let _ = self.file.set_len(self.complete_bytes);
            return Err(io_error("write", &self.path)(error));
        }
        let entry = JournalEntry { offset: self.complete_bytes, bytes: line.len() };
        self.complete_bytes += entry.bytes();
        Ok(entry)
    }

    /// Reads an object. An error is also returned if another process changed the file.
    pub(crate) fn read<T: DeserializeOwned>(&mut self, entry: JournalEntry) -> Result<T, JournalError> {
        self.read_line(entry)?;
        let changed = |reason: String| io_error("read", &self.path)(io::Error::new(io::ErrorKind::InvalidData, reason));
        parse_line(self.line.trim_ascii_end()).map_err(changed)
    }

    fn read_line(&mut self, entry: JournalEntry) -> Result<(), JournalError> {
        self.line.resize(entry.bytes, 0);
        let read = self.file.seek(SeekFrom::Start(entry.offset)).and_then(|_| self.file.read_exact(&mut self.line));
        read.map_err(io_error("read", &self.path))
    }

    /// Replaces the file atomically by one with the objects of `head`, followed by the lines at `kept`, whose positions
    /// are updated.
    pub(crate) fn rewrite(
        &mut self,
        head: &[impl Serialize],
        kept: Vec<&mut JournalEntry>,
    ) -> Result<(), JournalError> {
        let partial = self.path.with_extension("jsonl.part");
        let _ = fs::remove_file(&partial);
        let mut new = LineFile { file: open_to_append(&partial)?, path: partial, complete_bytes: 0, line: Vec::new() };
        for object in head {
            new.append(object)?;
        }
        let mut positions = Vec::with_capacity(kept.len());
        for entry in &kept {
            self.read_line(**entry)?;
            new.file.write_all(&self.line).map_err(io_error("write", &new.path))?;
            positions.push(JournalEntry { offset: new.complete_bytes, bytes: entry.bytes });
            new.complete_bytes += entry.bytes();
        }
        fs::rename(&new.path, &self.path).map_err(io_error("write", &self.path))?;
        for (entry, position) in kept.into_iter().zip(positions) {
            *entry = position;
        }
        (self.file, self.complete_bytes) = (new.file, new.complete_bytes);
        Ok(())
    }

    /// Flushes the file to disk.
    pub(crate) fn sync(&self) -> Result<(), JournalError> {
        self.file.sync_data().map_err(io_error("write", &self.path))
    }
}

fn open_to_append(path: &Path) -> Result<File, JournalError> {
    healbench_files::private_file().read(true).append(true).create(true).open(path).map_err(io_error("create", path))
}

pub(crate) fn io_error(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> JournalError + use<> {
    let path = path.to_path_buf();
    move |source| JournalError::Io { operation, path, source }
}
