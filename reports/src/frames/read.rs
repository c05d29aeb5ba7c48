use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use healbench_record::{CallRecord, EpisodeRecord, Outcome, Records, RunDir};
use polars::prelude::{DataFrame, PolarsError};
use polars_io::SerReader as _;
use polars_io::parquet::read::ParquetReader;

use super::write::GROUP_ROWS;
use super::{FrameError, decode, io_error};
use crate::columns::{CALL_COLUMNS, Column, ColumnType, EPISODE, EPISODE_COLUMNS, OUTCOME};

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
    read_frame(&run.episodes_path(), &EPISODE_COLUMNS, Span::All)
}

/// The calls frame of a run, one row a call: ordered by episode, then by call.
///
/// # Errors
/// As [`read_episodes`].
pub fn read_calls(run: &RunDir) -> Result<DataFrame, FrameError> {
    read_frame(&run.calls_path(), &CALL_COLUMNS, Span::All)
}

/// How many episodes of a run ended how; only what occurred. Reads no other column.
///
/// # Errors
/// As [`read_episodes`]; [`FrameError::Value`] for a foreign file.
pub fn count_outcomes(run: &RunDir) -> Result<BTreeMap<Outcome, u64>, FrameError> {
    let path = run.episodes_path();
    let frame = read_frame(&path, &[(OUTCOME, ColumnType::Text)], Span::All)?;
    let mut counts = BTreeMap::new();
    for outcome in decode::outcomes(&path, &frame)? {
        *counts.entry(outcome).or_default() += 1;
    }
    Ok(counts)
}

/// All rows of a run, in the order of its frames. They are in memory at once: runs with models are small.
///
/// # Errors
/// As [`read_episodes`]; [`FrameError::Value`] for a foreign file.
pub fn read_records(run: &RunDir) -> Result<Records, FrameError> {
    let episodes = decode::episodes(&run.episodes_path(), &read_episodes(run)?)?;
    Ok(Records { episodes, calls: decode::calls(&run.calls_path(), &read_calls(run)?)? })
}

/// What a run recorded of an episode: its row and those of its calls.
type Recorded = (EpisodeRecord, Vec<CallRecord>);

/// What a run recorded of one episode; `None` when it has no such episode. Reads the row groups that hold the episode, and of the
/// others only the column of indices.
///
/// # Errors
/// As [`read_episodes`]; [`FrameError::Unordered`] and [`FrameError::Value`] for a foreign file.
pub fn episode_rows(run: &RunDir, episode: u64) -> Result<Option<Recorded>, FrameError> {
    Ok(rows_of_episodes(run, &BTreeSet::from([episode]))?.remove(&episode))
}

/// What a run recorded of some episodes; those that it does not have are left out. Reads each row group at most twice, however many
/// episodes are asked for.
///
/// # Errors
/// As [`episode_rows`].
pub fn rows_of_episodes(run: &RunDir, episodes: &BTreeSet<u64>) -> Result<BTreeMap<u64, Recorded>, FrameError> {
    let mut found: BTreeMap<u64, Recorded> = BTreeMap::new();
    let path = run.episodes_path();
    each_episode_of(&path, &EPISODE_COLUMNS, episodes, &mut |episode, rows| {
        if rows.height() > 1 {
            return Err(FrameError::Unordered { path: path.clone(), episode });
        }
        let record = decode::episodes(&path, &rows)?.into_iter().next();
        found.extend(record.map(|record| (episode, (record, Vec::new()))));
        Ok(())
    })?;
    let path = run.calls_path();
    each_episode_of(&path, &CALL_COLUMNS, episodes, &mut |episode, rows| {
        if let Some((_, calls)) = found.get_mut(&episode) {
            *calls = decode::calls(&path, &rows)?;
        }
        Ok(())
    })?;
    Ok(found)
}

/// Gives the rows of each of these episodes to `add`. They stand together, for rows are in the order of the plan.
fn each_episode_of(
    path: &Path,
    columns: &[Column],
    episodes: &BTreeSet<u64>,
    add: &mut dyn FnMut(u64, DataFrame) -> Result<(), FrameError>,
) -> Result<(), FrameError> {
    let frame = read_frame(path, &[(EPISODE, ColumnType::U64)], Span::All)?;
    let indices = decode::numbers(path, &frame, EPISODE)?;
    if let Some(pair) = indices.windows(2).find(|pair| pair[0] > pair[1]) {
        return Err(FrameError::Unordered { path: path.into(), episode: pair[1] });
    }
    let rows = |episode: u64| {
        let start = indices.partition_point(|found| *found < episode);
        start..start + indices[start..].partition_point(|found| *found == episode)
    };
    let found: Vec<(u64, Range<usize>)> = episodes.iter().map(|episode| (*episode, rows(*episode))).collect();
    // A row group is decoded whole, so what lies in the same one is read at once.
    for near in found.chunk_by(|(_, a), (_, b)| a.start / GROUP_ROWS == b.start / GROUP_ROWS) {
        let span = near[0].1.start..near[near.len() - 1].1.end;
        if span.is_empty() {
            continue;
        }
        let frame = read_frame(path, columns, Span::Rows(span.clone()))?;
        for (episode, rows) in near.iter().filter(|(_, rows)| !rows.is_empty()) {
            add(*episode, frame.slice((rows.start - span.start) as i64, rows.len()))?;
        }
    }
    Ok(())
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
