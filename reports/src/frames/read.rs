use std::fs::File;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use healbench_record::{CallRecord, EpisodeRecord, Records, RunDir};
use polars::prelude::{DataFrame, PolarsError};
use polars_io::SerReader as _;
use polars_io::parquet::read::ParquetReader;

use super::{FrameError, decode, io_error};
use crate::columns::{CALL_COLUMNS, Column, EPISODE, EPISODE_COLUMNS, Holds};

/// Which rows of a file to read.
#[derive(Debug, Clone)]
pub(crate) enum Span {
    All,
    Rows(Range<usize>),
}

/// The episodes frame of a run, one row an episode in the order of the plan.
///
/// # Errors
/// [`FrameError::Io`], [`FrameError::Damaged`], [`FrameError::NoColumn`], [`FrameError::ColumnType`].
pub fn read_episodes(run: &RunDir) -> Result<DataFrame, FrameError> {
    read_frame(&run.episodes(), &EPISODE_COLUMNS, Span::All)
}

/// The calls frame of a run, one row a call: ordered by episode, then by call.
///
/// # Errors
/// As [`read_episodes`].
pub fn read_calls(run: &RunDir) -> Result<DataFrame, FrameError> {
    read_frame(&run.calls(), &CALL_COLUMNS, Span::All)
}

/// All rows of a run, in the order of its frames. They are in memory at once: runs with models are small.
///
/// # Errors
/// As [`read_episodes`]; [`FrameError::Value`] for a foreign file.
pub fn read_records(run: &RunDir) -> Result<Records, FrameError> {
    let episodes = decode::episodes(&run.episodes(), &read_episodes(run)?)?;
    Ok(Records { episodes, calls: decode::calls(&run.calls(), &read_calls(run)?)? })
}

/// What a run recorded of one episode; `None` when it has no such episode. Reads the row groups that hold the episode, and of the
/// others only the column of indices.
///
/// # Errors
/// As [`read_episodes`]; [`FrameError::Unordered`] and [`FrameError::Value`] for a foreign file.
pub fn episode_rows(run: &RunDir, episode: u64) -> Result<Option<(EpisodeRecord, Vec<CallRecord>)>, FrameError> {
    let path = run.episodes();
    let rows = rows_of(&path, episode)?;
    if rows.is_empty() {
        return Ok(None);
    }
    if rows.len() > 1 {
        return Err(FrameError::Unordered { path, episode });
    }
    let found = decode::episodes(&path, &read_frame(&path, &EPISODE_COLUMNS, Span::Rows(rows))?)?;
    let path = run.calls();
    let rows = rows_of(&path, episode)?;
    let calls = decode::calls(&path, &read_frame(&path, &CALL_COLUMNS, Span::Rows(rows))?)?;
    Ok(found.into_iter().next().map(|record| (record, calls)))
}

/// The rows of one episode. They stand together, for rows are in the order of the plan.
fn rows_of(path: &Path, episode: u64) -> Result<Range<usize>, FrameError> {
    let frame = read_frame(path, &[(EPISODE, Holds::U64)], Span::All)?;
    let episodes = decode::numbers(path, &frame, EPISODE)?;
    if let Some(pair) = episodes.windows(2).find(|pair| pair[0] > pair[1]) {
        return Err(FrameError::Unordered { path: path.into(), episode: pair[1] });
    }
    let start = episodes.partition_point(|found| *found < episode);
    let end = episodes.partition_point(|found| *found <= episode);
    Ok(start..end)
}

/// The rows of a file in spans of at most `rows`.
pub(crate) fn spans(path: &Path, rows: usize) -> Result<Vec<Range<usize>>, FrameError> {
    let mut reader = open(path)?;
    let total = shielded(|| reader.num_rows()).map_err(damaged(path))?;
    Ok((0..total).step_by(rows).map(|start| start..total.min(start + rows)).collect())
}

/// Reads the named columns of a file, in the order of `columns`, and checks that they hold what they should. Columns that this
/// program does not know are left alone.
pub(crate) fn read_frame(path: &Path, columns: &[Column], span: Span) -> Result<DataFrame, FrameError> {
    let mut reader = open(path)?;
    let schema = shielded(|| reader.schema()).map_err(damaged(path))?;
    if let Some((column, _)) = columns.iter().find(|(name, _)| !schema.contains(name)) {
        return Err(FrameError::NoColumn { path: path.into(), column });
    }
    let slice = match span {
        Span::All => None,
        Span::Rows(rows) => Some((rows.start, rows.len())),
    };
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let reader = reader.with_columns(Some(names.iter().map(ToString::to_string).collect())).with_slice(slice);
    let frame = shielded(|| reader.finish()?.select(names)).map_err(damaged(path))?;
    for ((column, holds), found) in columns.iter().zip(frame.columns()) {
        let expected = holds.data_type();
        if *found.dtype() != expected {
            let (found, expected) = (found.dtype().to_string(), expected.to_string());
            return Err(FrameError::ColumnType { path: path.into(), column, found, expected });
        }
    }
    Ok(frame)
}

/// Polars' decoder panics on some damaged pages. A damaged file is an error like any other.
fn shielded<T>(read: impl FnOnce() -> Result<T, PolarsError>) -> Result<T, PolarsError> {
    // Nothing of a reader is used again after it panicked.
    let panicked = |_| Err(PolarsError::ComputeError("a page cannot be decoded".into()));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(panicked)
}

fn open(path: &Path) -> Result<ParquetReader<File>, FrameError> {
    let file = File::open(path).map_err(io_error("read", path))?;
    Ok(ParquetReader::new(file))
}

fn damaged(path: &Path) -> impl FnOnce(PolarsError) -> FrameError + use<> {
    let path = path.to_path_buf();
    move |source| FrameError::Damaged { path, source }
}
