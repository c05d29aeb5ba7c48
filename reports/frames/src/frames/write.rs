use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use healbench_core::{CallRecord, EpisodeRecord, Episodes, Plan, Records};
use healbench_store::{EpisodeResult, RunDir};
use polars::prelude::{CompatLevel, DataFrame, Field, PolarsError, Schema, SchemaExt as _};
use polars_io::parquet::write::{BatchedWriter, KeyValueMetadata, ParquetCompression, ParquetWriter};
use polars_parquet::write::{KeyValue, schema_to_metadata_key};

use super::convert::{AxisNames, call_row, episode_row};
use super::copy::{ResponseOrder, Source};
use super::responses::{GROUP_BYTES, MAX_RESPONSE_BYTES, ResponseWriter};
use super::{FrameError, GROUP_ROWS, io_error};
use crate::columns::{
    CALL_COLUMNS, CALL_DESCRIPTIONS, CallRows, Column, EPISODE_COLUMNS, EPISODE_DESCRIPTIONS, EpisodeRows, stored_type,
};

/// Streams the rows of a run into its frames.
///
/// The files are written as `episodes.parquet.part` and so on, and renamed by [`FrameWriter::finish`].
/// Dropping an unfinished writer removes the `.part` files.
#[must_use = "frames are there only after `finish`"]
pub struct FrameWriter {
    axes: AxisNames,
    episodes: PartialFile,
    calls: PartialFile,
    responses: ResponseWriter,
    episode_rows: EpisodeRows,
    call_rows: CallRows,
    /// The size of their arguments.
    call_bytes: u64,
    next_episode: u64,
    last_call: Option<(u64, u32)>,
}

impl FrameWriter {
    /// Creates the frames of a run. Existing frames stay in place until [`FrameWriter::finish`] replaces them; `.part`
    /// files of a killed process are overwritten.
    ///
    /// # Errors
    /// [`FrameError::DuplicateName`] for a plan with a duplicate name; [`FrameError::Io`], [`FrameError::Encode`].
    pub fn create(run: &RunDir, plan: &Plan) -> Result<FrameWriter, FrameError> {
        plan.check_names()?;
        Ok(FrameWriter {
            axes: AxisNames::of(plan),
            episodes: PartialFile::create(run.episodes_path(), EPISODE_COLUMNS, EPISODE_DESCRIPTIONS)?,
            calls: PartialFile::create(run.calls_path(), CALL_COLUMNS, CALL_DESCRIPTIONS)?,
            responses: ResponseWriter::create(run.responses_path(), MAX_RESPONSE_BYTES)?,
            episode_rows: EpisodeRows::new(),
            call_rows: CallRows::new(),
            call_bytes: 0,
            next_episode: 0,
            last_call: None,
        })
    }

    /// Creates the frames with the rows of these episodes, copied from the existing frames. Later rows, which an
    /// interrupted finish may have left in one of the files, are dropped.
    ///
    /// # Errors
    /// As [`FrameWriter::create`] and [`FrameWriter::copy`].
    pub fn resume(run: &RunDir, plan: &Plan, done: Episodes) -> Result<FrameWriter, FrameError> {
        let mut writer = FrameWriter::create(run, plan)?;
        writer.copy(&[(run, done)])?;
        Ok(writer)
    }

    /// Appends the rows of these episodes from other runs of the same plan, in the order of the plan, and their responses as far
    /// as these runs store them. The frames of the runs are read side by side, a part of each at a time.
    ///
    /// # Errors
    /// [`FrameError::MissingEpisodes`] and [`FrameError::CallCount`] if a run does not have all of its episodes; errors of
    /// reading, and of [`FrameWriter::write`].
    pub fn copy(&mut self, runs: &[(&RunDir, Episodes)]) -> Result<(), FrameError> {
        let mut sources = Vec::new();
        for (run, episodes) in runs.iter().filter(|(_, episodes)| !episodes.is_empty()) {
            sources.push(Source::open(run, episodes, runs.len())?);
        }
        // The next episode of each run; the first in the order of the plan is on top.
        let next = |index: usize, sources: &[Source<'_>]| sources[index].next.map(|episode| Reverse((episode, index)));
        let mut order: BinaryHeap<_> = (0..sources.len()).filter_map(|index| next(index, &sources)).collect();
        let mut responses = ResponseOrder::default();
        while let Some(Reverse((_, index))) = order.pop() {
            let (row, calls) = sources[index].take()?;
            self.write_episodes(std::slice::from_ref(&row))?;
            self.write_calls(&calls)?;
            calls.iter().for_each(|call| responses.add(call.response_hash, index));
            order.extend(next(index, &sources));
        }
        for source in &mut sources {
            source.check_calls()?;
        }
        let runs: Vec<&RunDir> = sources.iter().map(|source| source.run).collect();
        self.responses.copy(&runs, &responses)
    }

    /// Makes known what a plan that lists its episodes has gained. Must be called before their rows are written.
    pub fn extend_plan(&mut self, plan: &Plan) {
        self.axes.extend(plan);
    }

    /// Appends rows, which must come after all earlier rows in the order of the plan.
    ///
    /// # Errors
    /// [`FrameError::OutOfOrder`], [`FrameError::NotInPlan`], [`FrameError::Encode`]. The writer cannot be used after
    /// an error.
    pub fn write(&mut self, records: &Records) -> Result<(), FrameError> {
        self.write_episodes(&records.episodes)?;
        self.write_calls(&records.calls)
    }

    /// Appends the rows of one episode, like [`FrameWriter::write`], and its responses as far as they are not stored.
    ///
    /// # Errors
    /// As [`FrameWriter::write`].
    pub fn write_result(&mut self, result: &EpisodeResult) -> Result<(), FrameError> {
        self.write_episodes(std::slice::from_ref(&result.episode))?;
        self.write_calls(&result.calls)?;
        result.responses.iter().try_for_each(|response| self.responses.write(response))
    }

    /// Writes the rows still in memory and renames the files.
    ///
    /// # Errors
    /// [`FrameError::Encode`], [`FrameError::Io`].
    pub fn finish(self) -> Result<(), FrameError> {
        self.close()?.rename()
    }

    /// Writes the rows still in memory and completes the files under their temporary names.
    ///
    /// # Errors
    /// [`FrameError::Encode`], [`FrameError::Io`].
    pub fn close(mut self) -> Result<ClosedFrames, FrameError> {
        self.flush_episodes()?;
        self.flush_calls()?;
        self.responses.flush()?;
        self.responses.file.close()?;
        self.calls.close()?;
        self.episodes.close()?;
        Ok(ClosedFrames { episodes: self.episodes, calls: self.calls, responses: self.responses.file })
    }

    fn write_episodes(&mut self, rows: &[EpisodeRecord]) -> Result<(), FrameError> {
        for row in rows {
            if row.episode < self.next_episode {
                return Err(FrameError::OutOfOrder { episode: row.episode });
            }
            self.episode_rows.push(episode_row(row, &self.axes)?);
            self.next_episode = row.episode + 1;
            if self.episode_rows.len() == GROUP_ROWS {
                self.flush_episodes()?;
            }
        }
        Ok(())
    }

    fn write_calls(&mut self, rows: &[CallRecord]) -> Result<(), FrameError> {
        for row in rows {
            let call_key = Some((row.episode, row.call));
            if call_key <= self.last_call {
                return Err(FrameError::OutOfOrder { episode: row.episode });
            }
            self.last_call = call_key;
            self.call_rows.push(call_row(row, &self.axes));
            self.call_bytes += row.arguments.len() as u64;
            if self.call_rows.len() == GROUP_ROWS || self.call_bytes >= GROUP_BYTES {
                self.flush_calls()?;
            }
        }
        Ok(())
    }

    fn flush_episodes(&mut self) -> Result<(), FrameError> {
        let rows = std::mem::replace(&mut self.episode_rows, EpisodeRows::new());
        self.episodes.write(rows.into_frame())
    }

    fn flush_calls(&mut self) -> Result<(), FrameError> {
        self.call_bytes = 0;
        let rows = std::mem::replace(&mut self.call_rows, CallRows::new());
        self.calls.write(rows.into_frame())
    }
}

/// Complete frames under their temporary names. Dropping them removes the files.
#[must_use = "frames are there only after `rename`"]
pub struct ClosedFrames {
    episodes: PartialFile,
    calls: PartialFile,
    responses: PartialFile,
}

impl ClosedFrames {
    /// Renames the files.
    ///
    /// They cannot be renamed atomically. A new run has both episodes and calls or neither, since the first is removed if
    /// renaming the second fails. In a resumed run, each file may hold old or new rows until the manifest is replaced;
    /// they agree on every episode that the manifest counts as done.
    ///
    /// # Errors
    /// [`FrameError::Io`].
    pub fn rename(mut self) -> Result<(), FrameError> {
        self.responses.rename()?;
        let replaces = self.calls.path.exists();
        self.calls.rename()?;
        self.episodes.rename().inspect_err(|_| {
            if !replaces {
                // Return the error of the rename, not of the removal.
                let _ = fs::remove_file(&self.calls.path);
            }
        })
    }
}
/// The keys of descriptions in a file's metadata begin with this.
const DESCRIPTION_KEY: &str = "healbench.column.";

/// A file that is renamed to its final path when it is complete.
pub(super) struct PartialFile {
    path: PathBuf,
    temp_path: PathBuf,
    writer: BatchedWriter<BufWriter<Watched>>,
    failure: Failure,
    renamed: bool,
}

impl PartialFile {
    /// Creates the file. Its metadata say what the columns mean, as `healbench.column.NAME`.
    pub(super) fn create(path: PathBuf, columns: &[Column], descriptions: &[&str]) -> Result<PartialFile, FrameError> {
        let mut temp_path = path.clone().into_os_string();
        temp_path.push(".part");
        let temp_path = PathBuf::from(temp_path);
        let stored = |(name, data_type): &Column| Field::new((*name).into(), stored_type(name, data_type()));
        let schema: Schema = columns.iter().map(stored).collect();
        // Otherwise Polars records in the file that its strings were views, which pandas rejects inside lists.
        let arrow_schema = schema_to_metadata_key(&schema.to_arrow(CompatLevel::oldest()));
        let described = columns.iter().zip(descriptions).map(|((name, _), text)| KeyValue {
            key: format!("{DESCRIPTION_KEY}{name}"),
            value: Some(text.trim().to_owned()),
        });
        let metadata: Vec<KeyValue> = std::iter::once(arrow_schema).chain(described).collect();
        let file = healbench_files::create_own_file(&temp_path).map_err(io_error("create", &temp_path))?;
        let failure = Failure::default();
        let writer = ParquetWriter::new(BufWriter::new(Watched { file, failure: Arc::clone(&failure) }))
            .with_compression(ParquetCompression::Zstd(None))
            .with_key_value_metadata(Some(KeyValueMetadata::Static(metadata)))
            .batched(&schema)
            .map_err(|source| encode_error(&temp_path, &failure, source))?;
        Ok(PartialFile { path, temp_path, writer, failure, renamed: false })
    }

    pub(super) fn write(&mut self, rows: Result<DataFrame, PolarsError>) -> Result<(), FrameError> {
        let written = rows.and_then(|frame| match frame.height() {
            0 => Ok(()),
            _ => self.writer.write_batch(&as_stored(&frame)?),
        });
        written.map_err(|source| encode_error(&self.temp_path, &self.failure, source))
    }

    /// Writes the footer and syncs the file to disk.
    pub(super) fn close(&mut self) -> Result<(), FrameError> {
        let finished = self.writer.finish();
        finished.map_err(|source| encode_error(&self.temp_path, &self.failure, source))?;
        let file = OpenOptions::new().append(true).open(&self.temp_path);
        file.and_then(|file| file.sync_all()).map_err(io_error("write", &self.temp_path))
    }

    pub(super) fn rename(&mut self) -> Result<(), FrameError> {
        fs::rename(&self.temp_path, &self.path).map_err(io_error("rename", &self.temp_path))?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.renamed {
            // A `.part` file that cannot be removed is overwritten by the next writer.
            let _ = fs::remove_file(&self.temp_path);
        }
    }
}

/// The first error of a file that could not be written.
type Failure = Arc<Mutex<Option<io::Error>>>;

/// A file that keeps why it could not be written, of which Polars' error says nothing.
struct Watched {
    file: File,
    failure: Failure,
}

impl Watched {
    fn keep<T>(&self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
            kind.into()
        })
    }
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.keep(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.keep(flushed)
    }
}

fn encode_error(path: &Path, failure: &Failure, source: PolarsError) -> FrameError {
    let path = path.to_path_buf();
    match failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(source) => FrameError::Io { operation: "write", path, source },
        None => FrameError::Encode { path, source },
    }
}

/// Returns a frame with the types of files. A count above the largest signed number is an error.
fn as_stored(frame: &DataFrame) -> Result<DataFrame, PolarsError> {
    let columns = frame.columns().iter();
    let columns = columns.map(|column| column.strict_cast(&stored_type(column.name(), column.dtype().clone())));
    DataFrame::new(frame.height(), columns.collect::<Result<_, _>>()?)
}
