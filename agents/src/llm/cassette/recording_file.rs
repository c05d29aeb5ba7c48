//! A file with the sorted recordings of one model.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::ops::Range;
use std::path::Path;

use healbench_protocol::fingerprint;
use serde_json::Value;

use super::body::Body;
use super::error::io_error;
use super::line::{Header, RecordingLine, header, parse_header};
use super::{CassetteError, Key, SUFFIX};
use crate::llm::Api;

/// The compression level of small files. Most files are small, and compression takes little time compared to the run.
const LEVEL: i32 = 19;
/// The size of text in bytes from which [`LEVEL`] would take longer than about 5 s. [`LARGE_LEVEL`] takes a thirtieth
/// of the time and makes files a tenth larger.
const LARGE: usize = 8 << 20;
const LARGE_LEVEL: i32 = 12;
/// The largest decompressed size in bytes, so that a small file cannot exhaust the memory.
const MAX_UNPACKED: u64 = 4 << 30;

/// The recordings of one model. All lines have been parsed once, so parsing them again cannot fail.
#[derive(Debug, Clone)]
pub(super) struct RecordingFile {
    pub(super) api: Api,
    pub(super) model: String,
    /// The size of the file in bytes; null if no file has this content.
    pub(super) bytes: Option<u64>,
    text: String,
    lines: Vec<(Key, Range<usize>)>,
}

/// A recording with its complete request.
#[derive(Debug, Clone)]
pub(super) struct FullRecording<'a> {
    pub(super) line: RecordingLine<'a>,
    pub(super) body: Body<'a>,
}

/// Returns the name of a model's file. It is lowercase because some file systems ignore case.
pub(super) fn file_name(api: Api, model: &str) -> String {
    let safe = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '-' | '_' | '.') => c,
        _ => '-',
    };
    let mut stem: String = model.chars().take(80).map(safe).collect();
    if stem != model {
        stem = format!("{stem}-{}", &fingerprint(model.as_bytes())[..8]);
    }
    format!("{}-{stem}{SUFFIX}", api.name())
}

impl RecordingFile {
    pub(super) fn new(api: Api, model: &str) -> RecordingFile {
        let text = format!("{}\n", header(Some((api, model))));
        RecordingFile { api, model: model.to_owned(), bytes: None, text, lines: Vec::new() }
    }

    pub(super) fn read(path: &Path) -> Result<RecordingFile, CassetteError> {
        let damaged =
            |line, reason: &str| CassetteError::Damaged { path: path.into(), line, reason: reason.to_owned() };
        let packed = fs::read(path).map_err(io_error("read", path))?;
        let text = unpack(&packed).map_err(|error| damaged(None, &format!("it cannot be unpacked: {error}")))?;
        let first = text.split('\n').next().unwrap_or_default();
        let (api, model) = match parse_header(first) {
            Header::Valid(Some(of)) => of,
            Header::OtherVersion(found) => return Err(CassetteError::OtherVersion { path: path.into(), found }),
            Header::Valid(None) | Header::Foreign => return Err(CassetteError::Foreign(path.into())),
        };
        let expected = file_name(api, &model);
        if path.file_name().is_none_or(|name| name != expected.as_str()) {
            return Err(CassetteError::Misnamed { path: path.into(), expected });
        }
        let mut lines = Vec::new();
        let mut body = Body::default();
        let mut start = first.len() + 1;
        while start < text.len() {
            let number = Some(lines.len() + 2);
            let Some(length) = text[start..].find('\n') else { return Err(damaged(number, "it is cut off")) };
            let range = start..start + length;
            let line =
                RecordingLine::parse(&text[range.clone()]).ok_or_else(|| damaged(number, "it is no recording"))?;
            body = body
                .apply_delta(line.shared, line.request)
                .ok_or_else(|| damaged(number, "its request does not follow on that of the line before"))?;
            serde_json::from_str::<Value>(line.response)
                .map_err(|error| damaged(number, &format!("its answer cannot be read: {error}")))?;
            start = range.end + 1;
            lines.push((line.key, range));
        }
        Ok(RecordingFile { api, model, bytes: Some(packed.len() as u64), text, lines })
    }

    pub(super) fn keys(&self) -> impl ExactSizeIterator<Item = Key> + '_ {
        self.lines.iter().map(|(key, _)| *key)
    }

    pub(super) fn line(&self, index: usize) -> &str {
        self.lines.get(index).map_or("", |(_, range)| &self.text[range.clone()])
    }

    /// Calls `visit` with every recording and its complete request, in order.
    pub(super) fn for_each<'a>(&'a self, mut visit: impl FnMut(RecordingLine<'a>, &Body<'a>)) {
        let mut body = Body::default();
        for index in 0..self.lines.len() {
            let Some(line) = RecordingLine::parse(self.line(index)) else { return };
            let Some(next) = body.apply_delta(line.shared, line.request) else { return };
            visit(line, &next);
            body = next;
        }
    }

    /// Returns the file with `more` recordings added. None of them may be in the file already.
    pub(super) fn merged_with(&self, mut more: Vec<FullRecording<'_>>) -> RecordingFile {
        more.sort_by(|a, b| sort_key(&a.line, &a.body).cmp(&sort_key(&b.line, &b.body)));
        let mut more = more.iter().peekable();
        let mut file = RecordingFile::new(self.api, &self.model);
        let mut previous = Body::default();
        self.for_each(|line, body| {
            while let Some(new) = more.next_if(|new| sort_key(&new.line, &new.body) < sort_key(&line, body)) {
                file.push(&new.line, &new.body, &previous);
                previous = new.body.clone();
            }
            file.push(&line, body, &previous);
            previous = body.clone();
        });
        for new in more {
            file.push(&new.line, &new.body, &previous);
            previous = new.body.clone();
        }
        file
    }

    /// Returns the file with only the recordings whose entry in `keep` is true.
    pub(super) fn filtered(&self, keep: &[bool]) -> RecordingFile {
        let mut file = RecordingFile::new(self.api, &self.model);
        let mut previous = Body::default();
        let mut keep = keep.iter();
        self.for_each(|line, body| {
            if keep.next() == Some(&true) {
                file.push(&line, body, &previous);
                previous = body.clone();
            }
        });
        file
    }

    fn push(&mut self, line: &RecordingLine<'_>, body: &Body<'_>, previous: &Body<'_>) {
        let (shared, request) = body.delta_from(previous);
        let start = self.text.len();
        self.text.push_str(&RecordingLine { shared: &shared, request: &request, ..*line }.write());
        self.lines.push((line.key, start..self.text.len()));
        self.text.push('\n');
    }

    /// Replaces the file atomically, or removes it if there are no recordings.
    pub(super) fn write(&mut self, dir: &Path) -> Result<(), CassetteError> {
        let name = file_name(self.api, &self.model);
        let (path, temporary) = (dir.join(&name), dir.join(format!("{name}.part")));
        if self.lines.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", &path)(error)),
                _ => Ok(()),
            };
        }
        let write = || -> io::Result<u64> {
            let packed = pack(&self.text)?;
            let mut file = fs::File::create(&temporary)?;
            file.write_all(&packed)?;
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            Ok(packed.len() as u64)
        };
        self.bytes = Some(write().map_err(io_error("write", &path))?);
        Ok(())
    }
}

/// Sorts by body first: requests of one conversation, and of its trials, share most of their content.
fn sort_key<'a, 'b>(line: &RecordingLine<'_>, body: &'b Body<'a>) -> (&'b Body<'a>, u32, Key) {
    (body, line.trial, line.key)
}

fn pack(text: &str) -> io::Result<Vec<u8>> {
    let level = if text.len() < LARGE { LEVEL } else { LARGE_LEVEL };
    let mut encoder = zstd::Encoder::new(Vec::new(), level)?;
    encoder.long_distance_matching(true)?;
    encoder.include_checksum(true)?;
    encoder.set_pledged_src_size(Some(text.len() as u64))?;
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

fn unpack(packed: &[u8]) -> io::Result<String> {
    let mut text = String::new();
    let decoder = zstd::Decoder::with_buffer(packed)?;
    if decoder.take(MAX_UNPACKED + 1).read_to_string(&mut text)? as u64 > MAX_UNPACKED {
        return Err(io::Error::other("it holds more than 4 GiB"));
    }
    Ok(text)
}
