//! Recording files: a header, then one recording per line.

use std::fs;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::path::Path;

use healbench_core::fingerprint;
use healbench_files::{private_file, read_bounded_line};
use serde_json::{Value, json};

use super::error::io_error;
use super::record::Record;
use super::{CassetteError, SUFFIX, VERSION};
use crate::llm::Api;

/// The compression level of small files. Most files are small, and compression takes little time compared to the run.
const LEVEL: i32 = 19;
/// The size of text in bytes from which [`LEVEL`] would take longer than about 5 s. [`LARGE_LEVEL`] takes a fiftieth
/// of the time and makes files a sixth larger.
const LARGE: usize = 16 << 20;
const LARGE_LEVEL: i32 = 12;
/// The largest decompressed size in bytes, so that a small file cannot exhaust the memory.
const MAX_UNPACKED: u64 = 4 << 30;
/// The decompressed size in bytes that every file may have. A larger one is at most [`MAX_RATIO`] times as large as its file.
const SMALL: u64 = 256 << 20;
/// Recordings repeat their conversations, and become about 30 times smaller.
const MAX_RATIO: u64 = 1000;
/// The largest line in bytes: a conversation and a response, both with escapes.
pub(super) const MAX_LINE: u64 = 128 << 20;

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

/// Returns the first line of every file.
pub(super) fn header() -> String {
    format!("{}\n", json!({"healbench_cassette": VERSION}))
}

/// The complete lines of a file.
pub(super) struct Lines {
    pub(super) records: Vec<Record>,
    /// The length of the complete lines in bytes, with the header; 0 without a complete header.
    pub(super) length: u64,
    /// False if the last line is incomplete. It is not part of the records.
    pub(super) is_complete: bool,
}

/// Reads the file of a model.
pub(super) fn read(path: &Path) -> Result<Vec<Record>, CassetteError> {
    let open = || {
        let file = healbench_files::open_regular_file(path)?;
        let most = file.metadata()?.len().saturating_mul(MAX_RATIO).clamp(SMALL, MAX_UNPACKED);
        Ok((zstd::Decoder::new(file)?, most))
    };
    let (decoder, most) = open().map_err(io_error("read", path))?;
    let lines = read_lines(path, &mut BufReader::new(decoder.take(most)))?;
    if lines.length == 0 {
        return Err(CassetteError::Foreign(path.into()));
    }
    if !lines.is_complete {
        let reason = format!("it is incomplete, or the file holds more than {} MiB", most >> 20);
        return Err(damaged(path, lines.records.len() + 2, &reason));
    }
    for record in &lines.records {
        let expected = file_name(record.metadata.api, &record.metadata.model);
        if path.file_name().is_none_or(|name| name != expected.as_str()) {
            return Err(CassetteError::Misnamed { path: path.into(), expected });
        }
    }
    Ok(lines.records)
}

/// Reads a header and recordings up to the first incomplete line. `path` is named in errors.
pub(super) fn read_lines(path: &Path, reader: &mut impl BufRead) -> Result<Lines, CassetteError> {
    let mut lines = Lines { records: Vec::new(), length: 0, is_complete: true };
    let mut line = Vec::new();
    loop {
        let is_header = lines.length == 0;
        let number = lines.records.len() + if is_header { 1 } else { 2 };
        let length = read_bounded_line(reader, &mut line, MAX_LINE)
            .map_err(|error| damaged(path, number, &format!("it cannot be read: {error}")))?;
        if line.pop_if(|byte| *byte == b'\n').is_none() {
            if is_header && !header().as_bytes().starts_with(&line) {
                return Err(CassetteError::Foreign(path.into()));
            }
            lines.is_complete = length == 0;
            return Ok(lines);
        }
        if is_header {
            check_header(path, &line)?;
        } else {
            lines.records.push(Record::parse(&line).map_err(|reason| damaged(path, number, reason))?);
        }
        lines.length += length as u64;
    }
}

fn check_header(path: &Path, line: &[u8]) -> Result<(), CassetteError> {
    let header: Value = serde_json::from_slice(line).unwrap_or_default();
    match header.get("healbench_cassette").and_then(Value::as_u64) {
        Some(VERSION) => Ok(()),
        Some(found) => Err(CassetteError::OtherVersion { path: path.into(), found }),
        None => Err(CassetteError::Foreign(path.into())),
    }
}

fn damaged(path: &Path, line: usize, reason: &str) -> CassetteError {
    CassetteError::Damaged { path: path.into(), line, reason: reason.to_owned() }
}

/// Replaces the file of a model atomically. Without recordings, removes it.
pub(super) fn write(dir: &Path, api: Api, model: &str, records: &[&Record]) -> Result<(), CassetteError> {
    let path = dir.join(file_name(api, model));
    if records.is_empty() {
        return remove(&path);
    }
    let write = || -> io::Result<()> {
        let mut text = header();
        for record in records {
            text.push_str(&record.line());
        }
        replace(&path, &compress(&text)?)
    };
    write().map_err(io_error("write", &path))
}

/// Writes a temporary file and renames it.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".part");
    let mut file = private_file().write(true).create(true).truncate(true).open(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

/// Removes a file if it exists.
pub(super) fn remove(path: &Path) -> Result<(), CassetteError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", path)(error)),
        _ => Ok(()),
    }
}

fn compress(text: &str) -> io::Result<Vec<u8>> {
    let level = if text.len() < LARGE { LEVEL } else { LARGE_LEVEL };
    let mut encoder = zstd::Encoder::new(Vec::new(), level)?;
    encoder.long_distance_matching(true)?;
    encoder.include_checksum(true)?;
    encoder.set_pledged_src_size(Some(text.len() as u64))?;
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}
