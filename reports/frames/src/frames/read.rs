use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use healbench_core::{CallRecord, EpisodeRecord, Outcome};
use healbench_store::RunDir;
use polars::prelude::{Column as PolarsColumn, DataFrame, PolarsError};
use polars_io::SerReader as _;
use polars_io::parquet::read::ParquetReader;

use super::{FrameError, GROUP_ROWS, convert, io_error};
use crate::columns::{
    ADDED, CALL_COLUMNS, Column, ColumnType, EPISODE, EPISODE_COLUMNS, OUTCOME, Text, U64, read, stored_type,
};

/// The rows of a file to read.
#[derive(Debug, Clone)]
pub(crate) enum RowRange {
    All,
    Rows(Range<usize>),
}

/// Reads the episodes frame of a run: one row per episode, in the order of the plan.
///
/// # Errors
/// [`FrameError::Io`], [`FrameError::Damaged`], [`FrameError::NoColumn`], [`FrameError::ColumnType`].
pub fn read_episodes(run: &RunDir) -> Result<DataFrame, FrameError> {
    read_frame(&run.episodes_path(), EPISODE_COLUMNS, RowRange::All)
}

/// Reads the calls frame of a run: one row per call, ordered by episode, then by call.
///
/// # Errors
/// As [`read_episodes`].
pub fn read_calls(run: &RunDir) -> Result<DataFrame, FrameError> {
    read_frame(&run.calls_path(), CALL_COLUMNS, RowRange::All)
}

/// Counts the episodes of a run by outcome; absent outcomes have no entry. Reads only the column of outcomes.
///
/// # Errors
/// As [`read_episodes`]; [`FrameError::Value`] for an unknown outcome.
pub fn count_outcomes(run: &RunDir) -> Result<BTreeMap<Outcome, u64>, FrameError> {
    let path = run.episodes_path();
    let frame = read_frame(&path, &[(OUTCOME, Text::data_type)], RowRange::All)?;
    let mut counts = BTreeMap::new();
    for outcome in convert::outcomes(&path, &frame)? {
        *counts.entry(outcome).or_default() += 1;
    }
    Ok(counts)
}

/// The row of an episode and the rows of its calls.
type EpisodeWithCalls = (EpisodeRecord, Vec<CallRecord>);

/// Reads the rows of one episode; `None` if the run does not have it. Reads the row groups that contain the episode,
/// and only the index column of the others.
///
/// # Errors
/// As [`read_episodes`]; [`FrameError::Unordered`] and [`FrameError::Value`] for a file not written by healbench.
pub fn episode_rows(run: &RunDir, episode: u64) -> Result<Option<EpisodeWithCalls>, FrameError> {
    Ok(rows_of_episodes(run, &BTreeSet::from([episode]))?.remove(&episode))
}

/// Reads the rows of some episodes; missing episodes are left out. Reads each row group at most twice, regardless of
/// the number of episodes.
///
/// # Errors
/// As [`episode_rows`].
pub fn rows_of_episodes(run: &RunDir, episodes: &BTreeSet<u64>) -> Result<BTreeMap<u64, EpisodeWithCalls>, FrameError> {
    let mut found: BTreeMap<u64, EpisodeWithCalls> = BTreeMap::new();
    let path = run.episodes_path();
    for_each_selected(&path, EPISODE_COLUMNS, episodes, &mut |episode, rows| {
        if rows.height() > 1 {
            return Err(FrameError::Unordered { path: path.clone(), episode });
        }
        let record = convert::episodes(&path, &rows)?.into_iter().next();
        found.extend(record.map(|record| (episode, (record, Vec::new()))));
        Ok(())
    })?;
    let path = run.calls_path();
    for_each_selected(&path, CALL_COLUMNS, episodes, &mut |episode, rows| {
        if let Some((_, calls)) = found.get_mut(&episode) {
            *calls = convert::calls(&path, &rows)?;
        }
        Ok(())
    })?;
    Ok(found)
}

/// Calls `add` with the rows of each of these episodes. The rows of one episode are consecutive.
fn for_each_selected(
    path: &Path,
    columns: &[Column],
    episodes: &BTreeSet<u64>,
    add: &mut dyn FnMut(u64, DataFrame) -> Result<(), FrameError>,
) -> Result<(), FrameError> {
    let frame = read_frame(path, &[(EPISODE, U64::data_type)], RowRange::All)?;
    let indices = read::<U64>(path, &frame, EPISODE)?;
    if let Some(pair) = indices.windows(2).find(|pair| pair[0] > pair[1]) {
        return Err(FrameError::Unordered { path: path.into(), episode: pair[1] });
    }
    let rows = |episode: u64| {
        let start = indices.partition_point(|found| *found < episode);
        start..start + indices[start..].partition_point(|found| *found == episode)
    };
    let found: Vec<(u64, Range<usize>)> = episodes.iter().map(|episode| (*episode, rows(*episode))).collect();
    // A row group is decoded as a whole, so selected episodes in the same group are read together.
    for near in found.chunk_by(|(_, a), (_, b)| a.start / GROUP_ROWS == b.start / GROUP_ROWS) {
        let range = near[0].1.start..near[near.len() - 1].1.end;
        if range.is_empty() {
            continue;
        }
        let frame = read_frame(path, columns, RowRange::Rows(range.clone()))?;
        for (episode, rows) in near.iter().filter(|(_, rows)| !rows.is_empty()) {
            add(*episode, frame.slice((rows.start - range.start) as i64, rows.len()))?;
        }
    }
    Ok(())
}

/// Splits the rows of a file into ranges of at most `rows`.
pub(crate) fn row_ranges(path: &Path, rows: usize) -> Result<Vec<Range<usize>>, FrameError> {
    let mut reader = open(path)?;
    let total = catch_decoder_panic(|| reader.num_rows()).map_err(damaged(path))?;
    Ok((0..total).step_by(rows).map(|start| start..total.min(start + rows)).collect())
}

/// Reads the given columns of a file, in the order of `columns`, and checks their types. Other columns are ignored.
pub(crate) fn read_frame(path: &Path, columns: &[Column], range: RowRange) -> Result<DataFrame, FrameError> {
    let mut reader = open(path)?;
    let schema = catch_decoder_panic(|| reader.schema()).map_err(damaged(path))?;
    let is_lacking = |name: &&str| !schema.contains(name);
    if let Some((column, _)) = columns.iter().find(|(name, _)| is_lacking(name) && !ADDED.contains(name)) {
        return Err(FrameError::NoColumn { path: path.into(), column });
    }
    let slice = match range {
        RowRange::All => None,
        RowRange::Rows(rows) => Some((rows.start, rows.len())),
    };
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let (lacking, present): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| is_lacking(name));
    let reader = reader.with_columns(Some(present.iter().map(ToString::to_string).collect())).with_slice(slice);
    let mut frame = catch_decoder_panic(|| reader.finish()).map_err(damaged(path))?;
    for (name, data_type) in columns.iter().filter(|(name, _)| lacking.contains(name)) {
        let nulls = PolarsColumn::full_null((*name).into(), frame.height(), &data_type());
        frame.with_column(nulls).map_err(damaged(path))?;
    }
    let frame = frame.select(names).map_err(damaged(path))?;
    let mut read = Vec::with_capacity(columns.len());
    for ((column, data_type), found) in columns.iter().zip(frame.columns()) {
        let (expected, stored) = (data_type(), stored_type(column, data_type()));
        // Runs of earlier versions have the type of memory.
        if *found.dtype() != expected && *found.dtype() != stored {
            let (found, expected) = (found.dtype().to_string(), stored.to_string());
            return Err(FrameError::ColumnType { path: path.into(), column, found, expected });
        }
        read.push(found.strict_cast(&expected).map_err(damaged(path))?);
    }
    DataFrame::new(frame.height(), read).map_err(damaged(path))
}

/// The number of threads that wait for Polars' decoder.
static DECODING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Counts a decoder while it works.
struct Decoding;

impl Decoding {
    fn start() -> Decoding {
        DECODING.fetch_add(1, Ordering::SeqCst);
        IS_DECODING.set(true);
        Decoding
    }
}

impl Drop for Decoding {
    fn drop(&mut self) {
        IS_DECODING.set(false);
        DECODING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns true if the current thread decodes a frame. A panic in it becomes [`FrameError::Damaged`], so a panic hook
/// need not report it.
pub fn is_decoding() -> bool {
    let is_decoder_thread = || std::thread::current().name().is_some_and(|name| name.starts_with("polars-"));
    IS_DECODING.get() || DECODING.load(Ordering::SeqCst) > 0 && is_decoder_thread()
}

/// Returns an error if Polars' decoder panics, as it does on some damaged pages.
fn catch_decoder_panic<T>(read: impl FnOnce() -> Result<T, PolarsError>) -> Result<T, PolarsError> {
    let _decoding = Decoding::start();
    // The reader is not used again after a panic.
    let panicked = |_| Err(PolarsError::ComputeError("a page cannot be decoded".into()));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(panicked)
}

fn open(path: &Path) -> Result<ParquetReader<File>, FrameError> {
    let file = healbench_files::open_regular_file(path).map_err(io_error("read", path))?;
    Ok(ParquetReader::new(file))
}

fn damaged(path: &Path) -> impl FnOnce(PolarsError) -> FrameError + use<> {
    let path = path.to_path_buf();
    move |source| FrameError::Damaged { path, source }
}
