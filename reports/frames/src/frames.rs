//! The frames of a run, `episodes.parquet`, `calls.parquet` and `responses.parquet`: written one row group at a time, read back and
//! checked.

pub(crate) mod convert;
mod copy;
mod read;
mod responses;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use healbench_analysis::{CallCountError, ReportError};
use healbench_core::DuplicateName;
use polars::prelude::PolarsError;

pub(crate) use read::{RowRange, read_frame, row_ranges};
pub use read::{count_outcomes, episode_rows, is_decoding, read_calls, read_episodes, rows_of_episodes};
pub(crate) use responses::for_each_response;
pub use responses::{MAX_RESPONSE_BYTES, read_responses};
pub use write::{ClosedFrames, FrameWriter};

/// The error of writing or reading a frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A file system operation failed.
    #[error("cannot {operation} `{}`: {source}", path.display())]
    Io {
        /// `read`, `write`, `create` or `rename`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Rows cannot be encoded as Parquet.
    #[error("cannot write rows to `{}`: {source}", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// Polars' error.
        source: PolarsError,
    },
    /// The file is not Parquet, or is damaged.
    #[error("`{}` cannot be read as parquet: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Polars' error.
        source: PolarsError,
    },
    /// The file is Parquet, but not a frame of healbench.
    #[error("`{}` is not a frame of healbench: it has no column `{column}`", path.display())]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The first missing column.
        column: &'static str,
    },
    /// A column has another type than in a frame of healbench.
    #[error("`{}` is not a frame of healbench: its column `{column}` holds {found}, not {expected}", path.display())]
    ColumnType {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
        /// The type in the file.
        found: String,
        /// The expected type.
        expected: String,
    },
    /// A value is null in a column without nulls, or is an unknown name.
    #[error("`{}` is not a frame of healbench: row {row} of its column `{column}` has no known value", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
        /// The index of the row, from 0.
        row: usize,
    },
    /// The rows are not in the order of the plan, or an episode occurs twice.
    #[error("`{}` is not a frame of healbench: episode {episode} is out of order", path.display())]
    Unordered {
        /// The file.
        path: PathBuf,
        /// The index of the first episode out of order.
        episode: u64,
    },
    /// A row to be written does not come after the rows before it.
    #[error("the rows of episode {episode} do not come after the rows before them")]
    OutOfOrder {
        /// The index of the episode.
        episode: u64,
    },
    /// A row to be written belongs to no cell of the plan.
    #[error("the plan has no episode {episode}")]
    NotInPlan {
        /// The index of the episode.
        episode: u64,
    },
    /// The calls frame does not match the episodes frame.
    #[error(transparent)]
    CallCount(#[from] CallCountError),
    /// The frames hold fewer episodes than the manifest counts as done.
    #[error("`{}` holds {found} of {expected} episodes that should be there", path.display())]
    MissingEpisodes {
        /// The file.
        path: PathBuf,
        /// The number of episodes in the file.
        found: u64,
        /// The expected number of episodes.
        expected: u64,
    },
    /// Two entries on one axis of the plan have the same name, so their rows cannot be distinguished.
    #[error(transparent)]
    DuplicateName(#[from] DuplicateName),
    /// Polars failed on a column.
    #[error("cannot compute the report: {0}")]
    Column(PolarsError),
}

impl From<FrameError> for ReportError {
    fn from(error: FrameError) -> ReportError {
        ReportError::Rows(Box::new(error))
    }
}

/// The number of rows in a row group, which is the number of rows of either frame in memory. The files depend on the
/// rows alone, not on how they were split over calls of [`FrameWriter::write`].
const GROUP_ROWS: usize = 1 << 16;

fn io_error(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FrameError + use<> {
    let path = path.to_path_buf();
    move |source| FrameError::Io { operation, path, source }
}
