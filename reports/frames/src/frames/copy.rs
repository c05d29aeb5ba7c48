//! Reads the rows of several runs side by side, such as those of the shards of a run.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};

use healbench_analysis::CallCountError;
use healbench_core::{CallRecord, EpisodeRecord, Episodes};
use healbench_store::RunDir;
use polars::prelude::DataFrame;

use super::{FrameError, GROUP_ROWS, RowRange, convert, read};
use crate::columns::{CALL_COLUMNS, Column, EPISODE_COLUMNS};

/// The number of rows of each frame that are in memory at once, of all runs together.
const ROWS_AT_ONCE: usize = 4 * GROUP_ROWS;
/// The smallest number of rows that are read at once. To read few rows takes almost as long as to read their row group.
const MIN_ROWS: usize = 1 << 11;

/// Decodes the rows of a frame.
type Decode<T> = fn(&Path, &DataFrame) -> Result<Vec<T>, FrameError>;

/// Reads a frame row by row.
pub(super) struct RowReader<T> {
    path: PathBuf,
    columns: &'static [Column],
    decode: Decode<T>,
    left: std::vec::IntoIter<Range<usize>>,
    rows: VecDeque<T>,
}

impl<T> RowReader<T> {
    /// Opens a frame that is read in parts of this size; one that does not exist has no rows.
    pub(super) fn open(
        path: PathBuf,
        columns: &'static [Column],
        batch: usize,
        decode: Decode<T>,
    ) -> Result<RowReader<T>, FrameError> {
        let left = if path.exists() { read::row_ranges(&path, batch)? } else { Vec::new() };
        Ok(RowReader { path, columns, decode, left: left.into_iter(), rows: VecDeque::new() })
    }

    /// Returns the next row without taking it.
    fn peek(&mut self) -> Result<Option<&T>, FrameError> {
        while self.rows.is_empty() {
            let Some(range) = self.left.next() else { return Ok(None) };
            let frame = read::read_frame(&self.path, self.columns, RowRange::Rows(range))?;
            self.rows = (self.decode)(&self.path, &frame)?.into();
        }
        Ok(self.rows.front())
    }

    /// Takes the next row if it is accepted.
    fn take_if(&mut self, accept: impl FnOnce(&T) -> bool) -> Result<Option<T>, FrameError> {
        Ok(if self.peek()?.is_some_and(accept) { self.rows.pop_front() } else { None })
    }

    /// Drops rows up to the first that is accepted, and returns it.
    pub(super) fn find(&mut self, accept: impl Fn(&T) -> bool) -> Result<Option<T>, FrameError> {
        while self.peek()?.is_some() {
            if let Some(row) = self.rows.pop_front().filter(|row| accept(row)) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

/// The rows of a run, episode by episode.
pub(super) struct Source<'a> {
    pub(super) run: &'a RunDir,
    episodes: &'a Episodes,
    rows: RowReader<EpisodeRecord>,
    calls: RowReader<CallRecord>,
    /// The number of episodes taken.
    taken: u64,
    /// The next episode.
    pub(super) next: Option<u64>,
    /// The number of calls taken, and that of the episodes' rows.
    call_counts: (u64, u64),
}

impl<'a> Source<'a> {
    /// Opens the frames of one of so many runs.
    pub(super) fn open(run: &'a RunDir, episodes: &'a Episodes, runs: usize) -> Result<Source<'a>, FrameError> {
        let batch = (ROWS_AT_ONCE / runs.max(1)).clamp(MIN_ROWS, GROUP_ROWS);
        Ok(Source {
            run,
            episodes,
            rows: RowReader::open(run.episodes_path(), EPISODE_COLUMNS, batch, convert::episodes)?,
            calls: RowReader::open(run.calls_path(), CALL_COLUMNS, batch, convert::calls)?,
            taken: 0,
            next: episodes.get(0),
            call_counts: (0, 0),
        })
    }

    /// Takes the rows of the next episode.
    pub(super) fn take(&mut self) -> Result<(EpisodeRecord, Vec<CallRecord>), FrameError> {
        let episode = self.next;
        // Other rows, which are not asked for, are passed over.
        let found = self.rows.find(|row| Some(row.episode) >= episode)?.filter(|row| Some(row.episode) == episode);
        let Some(row) = found else {
            let (path, expected) = (self.run.episodes_path(), self.episodes.len());
            return Err(FrameError::MissingEpisodes { path, found: self.taken, expected });
        };
        while self.calls.take_if(|call| call.episode < row.episode)?.is_some() {}
        let mut calls = Vec::with_capacity(row.calls as usize);
        while let Some(call) = self.calls.take_if(|call| call.episode == row.episode)? {
            calls.push(call);
        }
        self.call_counts.0 += calls.len() as u64;
        self.call_counts.1 += u64::from(row.calls);
        self.taken += 1;
        self.next = self.episodes.get(self.taken);
        Ok((row, calls))
    }

    /// Checks that the episodes had as many calls as their rows say.
    pub(super) fn check_calls(&self) -> Result<(), FrameError> {
        let (found, expected) = self.call_counts;
        if found == expected {
            return Ok(());
        }
        Err(CallCountError { path: self.run.calls_path(), found, expected }.into())
    }
}

/// The distinct responses of several runs in the order of the first calls that got them, with the run of that call.
#[derive(Default)]
pub(super) struct ResponseOrder {
    known: HashSet<u64>,
    order: Vec<(u64, u32)>,
}

impl ResponseOrder {
    /// Adds the response of a call of this run.
    pub(super) fn add(&mut self, hash: u64, run: usize) {
        if self.known.insert(hash) {
            self.order.push((hash, run as u32));
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.order.iter().map(|(hash, run)| (*hash, *run as usize))
    }
}
