use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::BufWriter;
use std::ops::Range;
use std::path::{Path, PathBuf};

use healbench_record::{CallRecord, EpisodeRecord, EpisodeResult, Plan, Records, RunDir};
use polars::prelude::{CompatLevel, DataFrame, Field, PolarsError, Schema, SchemaExt as _};
use polars_io::parquet::write::{BatchedWriter, KeyValueMetadata, ParquetCompression, ParquetWriter};
use polars_parquet::write::schema_to_metadata_key;

use super::convert::{AxisNames, call_row, episode_row};
use super::responses::{MAX_RESPONSE_BYTES, ResponseWriter};
use super::{FrameError, GROUP_ROWS, RowRange, check_names, convert, io_error, read};
use crate::columns::{CALL_COLUMNS, CallRows, Column, EPISODE_COLUMNS, EpisodeRows};

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
        check_names(plan)?;
        Ok(FrameWriter {
            axes: AxisNames::of(plan),
            episodes: PartialFile::create(run.episodes_path(), EPISODE_COLUMNS)?,
            calls: PartialFile::create(run.calls_path(), CALL_COLUMNS)?,
            responses: ResponseWriter::create(run.responses_path(), MAX_RESPONSE_BYTES)?,
            episode_rows: EpisodeRows::new(),
            call_rows: CallRows::new(),
            next_episode: 0,
            last_call: None,
        })
    }

    /// Creates the frames with the rows of these episodes, copied from the existing frames. Later rows, which an
    /// interrupted finish may have left in one of the files, are dropped.
    ///
    /// # Errors
    /// As [`FrameWriter::create`] and [`FrameWriter::copy`].
    pub fn resume(run: &RunDir, plan: &Plan, done: Range<u64>) -> Result<FrameWriter, FrameError> {
        let mut writer = FrameWriter::create(run, plan)?;
        writer.copy(run, done)?;
        Ok(writer)
    }

    /// Appends the rows of these episodes from another run of the same plan, and their responses as far as it stores them.
    ///
    /// # Errors
    /// [`FrameError::MissingEpisodes`] and [`FrameError::CallCount`] if the run does not have all of them; errors of
    /// reading, and of [`FrameWriter::write`].
    pub fn copy(&mut self, from: &RunDir, episodes: Range<u64>) -> Result<(), FrameError> {
        if episodes.is_empty() {
            return Ok(());
        }
        let expected = episodes.end - episodes.start;
        let (mut found, mut made, mut copied) = (0, 0, 0);
        for rows in read::row_ranges(&from.episodes_path(), GROUP_ROWS)? {
            let frame = read::read_frame(&from.episodes_path(), EPISODE_COLUMNS, RowRange::Rows(rows))?;
            let mut rows = convert::episodes(&from.episodes_path(), &frame)?;
            rows.retain(|row| episodes.contains(&row.episode));
            found += rows.len() as u64;
            made += rows.iter().map(|row| u64::from(row.calls)).sum::<u64>();
            self.write_episodes(&rows)?;
        }
        if found != expected {
            return Err(FrameError::MissingEpisodes { path: from.episodes_path(), found, expected });
        }
        let mut hashes = HashSet::new();
        for rows in read::row_ranges(&from.calls_path(), GROUP_ROWS)? {
            let frame = read::read_frame(&from.calls_path(), CALL_COLUMNS, RowRange::Rows(rows))?;
            let mut rows = convert::calls(&from.calls_path(), &frame)?;
            rows.retain(|row| episodes.contains(&row.episode));
            copied += rows.len() as u64;
            hashes.extend(rows.iter().map(|row| row.response_hash));
            self.write_calls(&rows)?;
        }
        if copied != made {
            return Err(FrameError::CallCount { path: from.calls_path(), found: copied, expected: made });
        }
        self.responses.copy(from, &hashes)
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
            self.call_rows.push(call_row(row));
            if self.call_rows.len() == GROUP_ROWS {
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

/// A file that is renamed to its final path when it is complete.
pub(super) struct PartialFile {
    path: PathBuf,
    temp_path: PathBuf,
    writer: BatchedWriter<BufWriter<File>>,
    renamed: bool,
}

impl PartialFile {
    pub(super) fn create(path: PathBuf, columns: &[Column]) -> Result<PartialFile, FrameError> {
        let mut temp_path = path.clone().into_os_string();
        temp_path.push(".part");
        let temp_path = PathBuf::from(temp_path);
        let schema: Schema = columns.iter().map(|(name, data_type)| Field::new((*name).into(), data_type())).collect();
        // Otherwise Polars records in the file that its strings were views, which pandas rejects inside lists.
        let arrow_schema = schema_to_metadata_key(&schema.to_arrow(CompatLevel::oldest()));
        let file = File::create(&temp_path).map_err(io_error("create", &temp_path))?;
        let writer = ParquetWriter::new(BufWriter::new(file))
            .with_compression(ParquetCompression::Zstd(None))
            .with_key_value_metadata(Some(KeyValueMetadata::Static(vec![arrow_schema])))
            .batched(&schema)
            .map_err(encode_error(&temp_path))?;
        Ok(PartialFile { path, temp_path, writer, renamed: false })
    }

    pub(super) fn write(&mut self, rows: Result<DataFrame, PolarsError>) -> Result<(), FrameError> {
        let written = rows.and_then(|frame| if frame.height() == 0 { Ok(()) } else { self.writer.write_batch(&frame) });
        written.map_err(encode_error(&self.temp_path))
    }

    /// Writes the footer and syncs the file to disk.
    pub(super) fn close(&mut self) -> Result<(), FrameError> {
        self.writer.finish().map_err(encode_error(&self.temp_path))?;
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

fn encode_error(path: &Path) -> impl FnOnce(PolarsError) -> FrameError + use<> {
    let path = path.to_path_buf();
    move |source| FrameError::Encode { path, source }
}
