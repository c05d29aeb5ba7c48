//! The frame of distinct responses, `responses.parquet`. It is needed only for texts: a run without it has all of its
//! numbers.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use healbench_core::ResponseRecord;
use healbench_store::RunDir;

use super::copy::{ResponseOrder, RowReader};
use super::write::PartialFile;
use super::{FrameError, GROUP_ROWS, RowRange, read_frame, row_ranges};
use crate::columns::{
    ColumnType, RESPONSE_COLUMNS, RESPONSE_DESCRIPTIONS, RESPONSE_HASH, ResponseRow, ResponseRows, U64, read,
};

/// The size of the texts after which no further response is stored, in bytes.
pub const MAX_RESPONSE_BYTES: u64 = 256 << 20;

/// The size of the texts in a row group, in bytes, unless it has [`GROUP_ROWS`] rows before.
pub(super) const GROUP_BYTES: u64 = 8 << 20;

/// Streams the distinct responses of a run into their frame, in the order of their first occurrence.
pub(super) struct ResponseWriter {
    pub(super) file: PartialFile,
    rows: ResponseRows,
    /// The size of the texts in `rows` in bytes.
    group_bytes: u64,
    /// The hashes of the stored responses.
    stored: HashSet<u64>,
    /// The size of all stored texts in bytes.
    bytes: u64,
    max_bytes: u64,
    is_full: bool,
}

impl ResponseWriter {
    pub(super) fn create(path: PathBuf, max_bytes: u64) -> Result<ResponseWriter, FrameError> {
        Ok(ResponseWriter {
            file: PartialFile::create(path, RESPONSE_COLUMNS, RESPONSE_DESCRIPTIONS)?,
            rows: ResponseRows::new(),
            group_bytes: 0,
            stored: HashSet::new(),
            bytes: 0,
            max_bytes,
            is_full: false,
        })
    }

    /// Appends a response unless it is stored already. From the first response that does not fit, none is stored, so
    /// that the stored ones are those of the first calls.
    pub(super) fn write(&mut self, response: &ResponseRecord) -> Result<(), FrameError> {
        if self.is_full || self.stored.contains(&response.response_hash) {
            return Ok(());
        }
        let texts = response.content.iter().chain(&response.unguarded_text);
        let bytes = texts.map(|text| text.len() as u64).sum::<u64>();
        self.is_full = self.bytes + bytes > self.max_bytes;
        if self.is_full {
            return Ok(());
        }
        self.stored.insert(response.response_hash);
        self.bytes += bytes;
        self.group_bytes += bytes;
        self.rows.push(ResponseRow {
            response_hash: response.response_hash,
            is_error: response.is_error,
            content: response.content.as_slice().into(),
            unguarded_text: response.unguarded_text.as_deref(),
            response_tokens: response.tokens,
        });
        if self.rows.len() == GROUP_ROWS || self.group_bytes >= GROUP_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Appends the responses of other runs in this order. The first response that its run lacks ends what is stored, as if it
    /// did not fit.
    pub(super) fn copy(&mut self, runs: &[&RunDir], order: &ResponseOrder) -> Result<(), FrameError> {
        let batch = (BATCH_ROWS / runs.len().max(1)).max(1 << 6);
        let mut readers = Vec::new();
        for run in runs {
            readers.push(RowReader::open(run.responses_path(), RESPONSE_COLUMNS, batch, records)?);
        }
        for (hash, run) in order.iter() {
            if self.is_full {
                break;
            }
            // A run stores its responses in the order of its calls, so those before are the first ones of other runs.
            match readers[run].find(|response| response.response_hash == hash)? {
                Some(response) => self.write(&response)?,
                None => self.is_full = !self.stored.contains(&hash),
            }
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<(), FrameError> {
        let rows = std::mem::replace(&mut self.rows, ResponseRows::new());
        self.group_bytes = 0;
        self.file.write(rows.into_frame())
    }
}

/// Reads the responses with these hashes; those that the run does not store are left out.
///
/// # Errors
/// As [`read_episodes`](super::read_episodes).
pub fn read_responses(run: &RunDir, hashes: &BTreeSet<u64>) -> Result<BTreeMap<u64, ResponseRecord>, FrameError> {
    let mut found = BTreeMap::new();
    let path = run.responses_path();
    for rows in ranges(&path)? {
        if found.len() == hashes.len() {
            break;
        }
        let known = read_frame(&path, &[(RESPONSE_HASH, U64::data_type)], RowRange::Rows(rows.clone()))?;
        let known = read::<U64>(&path, &known, RESPONSE_HASH)?;
        let requested: Vec<usize> = (0..known.len()).filter(|row| hashes.contains(&known[*row])).collect();
        let (Some(first), Some(last)) = (requested.first(), requested.last()) else { continue };
        let range = RowRange::Rows(rows.start + first..rows.start + last + 1);
        let frame = read_frame(&path, RESPONSE_COLUMNS, range)?;
        let requested = records(&path, &frame)?.into_iter().filter(|found| hashes.contains(&found.response_hash));
        found.extend(requested.map(|response| (response.response_hash, response)));
    }
    Ok(found)
}

/// Calls `visit` with each stored response of a run, a batch at a time.
///
/// # Errors
/// As [`read_episodes`](super::read_episodes).
pub(crate) fn for_each_response(run: &RunDir, visit: &mut dyn FnMut(&ResponseRecord)) -> Result<(), FrameError> {
    let path = run.responses_path();
    for rows in ranges(&path)? {
        let frame = read_frame(&path, RESPONSE_COLUMNS, RowRange::Rows(rows))?;
        records(&path, &frame)?.iter().for_each(&mut *visit);
    }
    Ok(())
}

/// The number of rows that are read at once.
const BATCH_ROWS: usize = 1 << 12;

/// Returns the rows of the frame in ranges that are read at once; none if it does not exist.
fn ranges(path: &Path) -> Result<Vec<Range<usize>>, FrameError> {
    if path.exists() { row_ranges(path, BATCH_ROWS) } else { Ok(Vec::new()) }
}

fn records(path: &Path, frame: &polars::prelude::DataFrame) -> Result<Vec<ResponseRecord>, FrameError> {
    let rows = ResponseRow::read(path, frame)?;
    let record = |row: ResponseRow<'_>| ResponseRecord {
        response_hash: row.response_hash,
        is_error: row.is_error,
        content: row.content.into_owned(),
        unguarded_text: row.unguarded_text.map(str::to_owned),
        tokens: row.response_tokens,
    };
    Ok(rows.map(record).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(hash: u64, bytes: usize) -> ResponseRecord {
        ResponseRecord { response_hash: hash, content: vec!["x".repeat(bytes)], ..ResponseRecord::default() }
    }

    #[test]
    fn the_responses_of_the_first_calls_are_stored_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("responses.parquet");
        let mut writer = ResponseWriter::create(path.clone(), 100).unwrap();
        for (hash, bytes) in [(1, 40), (1, 40), (2, 60), (3, 0), (4, 1), (5, 0)] {
            writer.write(&response(hash, bytes)).unwrap();
        }
        writer.flush().unwrap();
        writer.file.close().unwrap();
        writer.file.rename().unwrap();
        let frame = read_frame(&path, RESPONSE_COLUMNS, RowRange::All).unwrap();
        let hashes: Vec<u64> = records(&path, &frame).unwrap().iter().map(|response| response.response_hash).collect();
        // After the fourth did not fit, the empty fifth is not stored either.
        assert_eq!(hashes, [1, 2, 3]);
    }
}
