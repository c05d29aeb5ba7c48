//! What a run leaves behind: its rows, its manifest, and the directory that holds them.
//!
//! The names of columns and everything computed from them belong to `reports`; what the rows mean is said here.

mod directory;
mod manifest;
mod merge;
mod plan;
mod rows;
mod shard;
mod tally;

pub use directory::{RunDir, RunDirError, RunLock};
pub use manifest::{FORMAT_VERSION, RunManifest, RunStatus};
pub use merge::{MergeError, merged};
pub use plan::{CellRef, Plan, PlannedScenario, Setting};
pub use rows::{CallRecord, EpisodeRecord, Outcome, Records};
pub use shard::{NoShard, Shard};
pub use tally::Tally;
