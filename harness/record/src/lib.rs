//! What a run leaves behind: its rows, its manifest, and the directory that holds them.
//!
//! The names of columns and everything computed from them belong to `reports`; what the rows mean is said here.

mod directory;
mod journal;
mod manifest;
mod merge;
mod plan;
mod progress;
mod rounds;
mod rows;
mod shard;
mod tally;

pub use directory::{MOST_CELLS, RunDir, RunDirError, RunLock};
pub use journal::{
    Journal, JournalError, Played, read_transcript, read_transcripts, transcripts_of, write_transcripts,
};
pub use manifest::{Cassettes, FORMAT_VERSION, PriceSource, RunManifest, RunStatus};
pub use merge::{MergeError, merged};
pub use plan::{CellRef, Plan, PlannedScenario, Setting};
pub use progress::Progress;
pub use rounds::{LEAST_ROUNDS, PairRole, PairRounds, PairedRun, ROUNDS_VERSION, RoundsError};
pub use rows::{CallRecord, EpisodeRecord, ModelUse, Outcome, Records, TakenTurn, Transcript};
pub use shard::{NoShard, Shard};
pub use tally::Tally;
