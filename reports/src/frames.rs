//! The two frames of a run, `episodes.parquet` and `calls.parquet`: written row group by row group, read back, checked.

mod build;
pub(crate) mod decode;
mod models;
mod read;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use healbench_protocol::AgentSpec;
use healbench_record::Plan;
use polars::prelude::PolarsError;

pub(crate) use read::{Span, read_frame, spans};
pub use read::{count_outcomes, episode_rows, read_calls, read_episodes, read_records, rows_of_episodes};
pub use write::FrameWriter;

/// Why a frame cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The file system refused.
    #[error("cannot {operation} `{}`: {source}", path.display())]
    Io {
        /// `read`, `write`, `create` or `rename`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Rows cannot be put into Parquet, or the disk is full.
    #[error("cannot write rows to `{}`: {source}", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// What Polars said.
        source: PolarsError,
    },
    /// The file is not Parquet, or is damaged.
    #[error("`{}` cannot be read as parquet: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What Polars said.
        source: PolarsError,
    },
    /// The file is Parquet, but not a frame of healbench.
    #[error("`{}` is not a frame of healbench: it has no column `{column}`", path.display())]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The first column that is not there.
        column: &'static str,
    },
    /// A column holds something else than a frame of healbench has there.
    #[error("`{}` is not a frame of healbench: its column `{column}` holds {found}, not {expected}", path.display())]
    ColumnType {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
        /// The type that the file has.
        found: String,
        /// The type that it should have.
        expected: String,
    },
    /// A null where none may be, or a word that names nothing.
    #[error("`{}` is not a frame of healbench: row {row} of its column `{column}` has no known value", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
        /// The row, from 0.
        row: usize,
    },
    /// The rows do not stand in the order of the plan, or one is there twice.
    #[error("`{}` is not a frame of healbench: episode {episode} is out of order", path.display())]
    Unordered {
        /// The file.
        path: PathBuf,
        /// The first episode that is not in its place.
        episode: u64,
    },
    /// A row to be written does not come after the rows before it.
    #[error("the rows of episode {episode} do not come after the rows before them")]
    OutOfOrder {
        /// The episode.
        episode: u64,
    },
    /// A row to be written belongs to no cell of the plan.
    #[error("the plan has no episode {episode}")]
    NotInPlan {
        /// The episode.
        episode: u64,
    },
    /// The calls are not those of the episodes.
    #[error("`{}` holds {found} calls of its episodes, which made {expected}", path.display())]
    Calls {
        /// The frame of calls.
        path: PathBuf,
        /// Calls that are there.
        found: u64,
        /// Calls that the episodes made.
        expected: u64,
    },
    /// The frames hold fewer episodes than the run says it has done.
    #[error("`{}` holds {found} of {expected} episodes that should be there", path.display())]
    Short {
        /// The file.
        path: PathBuf,
        /// Episodes that are there.
        found: u64,
        /// Episodes that should be.
        expected: u64,
    },
    /// Two entries on one axis of the plan have the same name: their rows could not be told apart.
    #[error("the plan has {axis} `{name}` twice")]
    Repeated {
        /// `agent`, `condition` or `scenario`.
        axis: &'static str,
        /// The name.
        name: String,
    },
}

fn io_error(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FrameError + use<> {
    let path = path.to_path_buf();
    move |source| FrameError::Io { operation, path, source }
}

/// Rows are told apart by the names on the plan's axes, so each may be there once.
pub(crate) fn check_names(plan: &Plan) -> Result<(), FrameError> {
    let named = |agent: &AgentSpec| match agent.opening {
        Some(opening) => format!("{agent} {}", opening.name()),
        None => agent.to_string(),
    };
    let agents = plan.agents.iter().map(named).collect();
    let conditions =
        plan.conditions.iter().map(|condition| format!("{} {}", condition.guardrails, condition.format)).collect();
    let scenarios = plan.scenarios.iter().map(|scenario| scenario.id.clone()).collect();
    for (axis, mut names) in
        [("agent", agents), ("setting", conditions), ("scenario", scenarios)] as [(_, Vec<String>); 3]
    {
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(FrameError::Repeated { axis, name: pair[0].clone() });
        }
    }
    Ok(())
}
