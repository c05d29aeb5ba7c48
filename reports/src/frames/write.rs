use std::fs::{self, File, OpenOptions};
use std::io::BufWriter;
use std::ops::Range;
use std::path::{Path, PathBuf};

use healbench_record::{CallRecord, EpisodeRecord, Plan, Records, RunDir};
use polars::prelude::{CompatLevel, DataFrame, Field, PolarsError, Schema, SchemaExt as _};
use polars_io::parquet::write::{BatchedWriter, KeyValueMetadata, ParquetCompression, ParquetWriter};
use polars_parquet::write::schema_to_metadata_key;

use super::build::{Axes, CallRows, EpisodeRows};
use super::{FrameError, Span, check_names, decode, io_error, read};
use crate::columns::{CALL_COLUMNS, Column, EPISODE_COLUMNS};

/// Rows of a row group: what is in memory at once of either frame. The files depend on the rows alone, not on how they were
/// split over calls of [`FrameWriter::write`].
pub(super) const GROUP_ROWS: usize = 1 << 16;

/// Streams the rows of a run into its two frames.
///
/// The files grow as `episodes.parquet.part` and `calls.parquet.part`, and take their names in [`FrameWriter::finish`]. A writer
/// that is dropped before removes its parts.
#[must_use = "frames are there only after `finish`"]
pub struct FrameWriter {
    axes: Axes,
    episodes: Part,
    calls: Part,
    episode_rows: EpisodeRows,
    call_rows: CallRows,
    next_episode: u64,
    last_call: Option<(u64, u32)>,
}

impl FrameWriter {
    /// Begins both frames of a run. Frames that are there already stay in place until [`FrameWriter::finish`] replaces them; parts
    /// that a killed process left are overwritten.
    ///
    /// # Errors
    /// [`FrameError::Repeated`] for a plan whose rows could not be told apart; [`FrameError::Io`], [`FrameError::Encode`].
    pub fn create(run: &RunDir, plan: &Plan) -> Result<FrameWriter, FrameError> {
        check_names(plan)?;
        Ok(FrameWriter {
            axes: Axes::of(plan),
            episodes: Part::create(run.episodes_path(), &EPISODE_COLUMNS)?,
            calls: Part::create(run.calls_path(), &CALL_COLUMNS)?,
            episode_rows: EpisodeRows::new(),
            call_rows: CallRows::new(),
            next_episode: 0,
            last_call: None,
        })
    }

    /// Begins both frames with the rows of these episodes, read from the frames that are there. Rows past them, which a finish that
    /// was cut off may have left in one of the two files, are dropped.
    ///
    /// # Errors
    /// As [`FrameWriter::create`] and [`FrameWriter::copy`].
    pub fn resume(run: &RunDir, plan: &Plan, done: Range<u64>) -> Result<FrameWriter, FrameError> {
        let mut writer = FrameWriter::create(run, plan)?;
        writer.copy(run, done)?;
        Ok(writer)
    }

    /// Appends the rows that another run has of these episodes; its plan must be the same.
    ///
    /// # Errors
    /// [`FrameError::Short`] and [`FrameError::Calls`] when it does not hold all of them; every error of reading, and of
    /// [`FrameWriter::write`].
    pub fn copy(&mut self, from: &RunDir, episodes: Range<u64>) -> Result<(), FrameError> {
        if episodes.is_empty() {
            return Ok(());
        }
        let expected = episodes.end - episodes.start;
        let (mut found, mut made, mut copied) = (0, 0, 0);
        for rows in read::spans(&from.episodes_path(), GROUP_ROWS)? {
            let frame = read::read_frame(&from.episodes_path(), &EPISODE_COLUMNS, Span::Rows(rows))?;
            let mut rows = decode::episodes(&from.episodes_path(), &frame)?;
            rows.retain(|row| episodes.contains(&row.episode));
            found += rows.len() as u64;
            made += rows.iter().map(|row| u64::from(row.calls)).sum::<u64>();
            self.write_episodes(&rows)?;
        }
        if found != expected {
            return Err(FrameError::Short { path: from.episodes_path(), found, expected });
        }
        for rows in read::spans(&from.calls_path(), GROUP_ROWS)? {
            let frame = read::read_frame(&from.calls_path(), &CALL_COLUMNS, Span::Rows(rows))?;
            let mut rows = decode::calls(&from.calls_path(), &frame)?;
            rows.retain(|row| episodes.contains(&row.episode));
            copied += rows.len() as u64;
            self.write_calls(&rows)?;
        }
        if copied != made {
            return Err(FrameError::Calls { path: from.calls_path(), found: copied, expected: made });
        }
        Ok(())
    }

    /// Appends rows, which come after all rows before them in the order of the plan.
    ///
    /// # Errors
    /// [`FrameError::OutOfOrder`], [`FrameError::NotInPlan`], [`FrameError::Encode`]. The frames are lost after an error.
    pub fn write(&mut self, records: &Records) -> Result<(), FrameError> {
        self.write_episodes(&records.episodes)?;
        self.write_calls(&records.calls)
    }

    /// Writes what is still in memory and gives the files their names.
    ///
    /// Two files cannot be renamed in one step. A new run shows neither or both, for the first is taken back when the second
    /// fails; a resumed one shows old or new rows in each, which agree on every episode that the manifest counts as done, until
    /// the manifest is replaced.
    ///
    /// # Errors
    /// [`FrameError::Encode`], [`FrameError::Io`].
    pub fn finish(mut self) -> Result<(), FrameError> {
        self.flush_episodes()?;
        self.flush_calls()?;
        self.calls.close()?;
        self.episodes.close()?;
        let replaces = self.calls.path.exists();
        self.calls.rename()?;
        self.episodes.rename().inspect_err(|_| {
            if !replaces {
                // The error of the rename is the one to tell.
                let _ = fs::remove_file(&self.calls.path);
            }
        })
    }

    fn write_episodes(&mut self, rows: &[EpisodeRecord]) -> Result<(), FrameError> {
        for row in rows {
            if row.episode < self.next_episode {
                return Err(FrameError::OutOfOrder { episode: row.episode });
            }
            self.episode_rows.push(row, &self.axes)?;
            self.next_episode = row.episode + 1;
            if self.episode_rows.len() == GROUP_ROWS {
                self.flush_episodes()?;
            }
        }
        Ok(())
    }

    fn write_calls(&mut self, rows: &[CallRecord]) -> Result<(), FrameError> {
        for row in rows {
            let place = Some((row.episode, row.call));
            if place <= self.last_call {
                return Err(FrameError::OutOfOrder { episode: row.episode });
            }
            self.last_call = place;
            self.call_rows.push(row);
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

/// A file that has its name only once it is whole.
struct Part {
    path: PathBuf,
    part: PathBuf,
    writer: BatchedWriter<BufWriter<File>>,
    renamed: bool,
}

impl Part {
    fn create(path: PathBuf, columns: &[Column]) -> Result<Part, FrameError> {
        let mut part = path.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let schema: Schema =
            columns.iter().map(|(name, holds)| Field::new((*name).into(), holds.data_type())).collect();
        // Polars would note in the file that its strings were views, which pandas refuses inside of lists.
        let arrow_schema = schema_to_metadata_key(&schema.to_arrow(CompatLevel::oldest()));
        let file = File::create(&part).map_err(io_error("create", &part))?;
        let writer = ParquetWriter::new(BufWriter::new(file))
            .with_compression(ParquetCompression::Zstd(None))
            .with_key_value_metadata(Some(KeyValueMetadata::Static(vec![arrow_schema])))
            .batched(&schema)
            .map_err(encode_error(&part))?;
        Ok(Part { path, part, writer, renamed: false })
    }

    fn write(&mut self, rows: Result<DataFrame, PolarsError>) -> Result<(), FrameError> {
        let written = rows.and_then(|frame| if frame.height() == 0 { Ok(()) } else { self.writer.write_batch(&frame) });
        written.map_err(encode_error(&self.part))
    }

    /// Writes the footer, and waits until the disk has it.
    fn close(&mut self) -> Result<(), FrameError> {
        self.writer.finish().map_err(encode_error(&self.part))?;
        let file = OpenOptions::new().append(true).open(&self.part);
        file.and_then(|file| file.sync_all()).map_err(io_error("write", &self.part))
    }

    fn rename(&mut self) -> Result<(), FrameError> {
        fs::rename(&self.part, &self.path).map_err(io_error("rename", &self.part))?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.renamed {
            // Nothing can be done about a part that cannot be removed, and the next writer overwrites it.
            let _ = fs::remove_file(&self.part);
        }
    }
}

fn encode_error(path: &Path) -> impl FnOnce(PolarsError) -> FrameError + use<> {
    let path = path.to_path_buf();
    move |source| FrameError::Encode { path, source }
}
