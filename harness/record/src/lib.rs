//! The contents of a run directory: rows, manifest, and related files.
//!
//! This crate defines the meaning of the rows; `reports` defines column names and everything computed from them.

mod counts;
mod directory;
mod integrity;
mod journal;
mod line_file;
mod manifest;
mod merge;
mod plan;
mod progress;
mod requests;
mod rounds;
mod rows;
mod shard;

pub use counts::EpisodeCounts;
pub use directory::{MAX_CELLS, NewRunDir, RunDir, RunDirError, RunLock, StoredScenario};
pub use healbench_protocol::Condition;
pub use integrity::{FileDigest, VerifiedFiles};
pub use journal::{
    ClosedRecordedTurns, EpisodeResult, Journal, JournalError, RecordedTurnsReader, RecordedTurnsWriter,
    read_recorded_turns, read_recorded_turns_of, visit_recorded_turns,
};
pub use line_file::JournalEntry;
pub use manifest::{CassetteMode, FORMAT_VERSION, PriceSource, RunManifest, RunStatus, RunTimes};
pub use merge::{MergeError, ShardState, Survey, SurveyedShard, merge_manifests, survey};
pub use plan::{CellRef, Environment, Plan, PlanOrder, PlannedScenario};
pub use progress::Progress;
pub use requests::{RequestFile, RequestLine};
pub use rounds::{MIN_ROUNDS, PairRole, PairRounds, PairedRun, ROUNDS_VERSION, RoundsError};
pub use rows::{
    BilledTokens, CallRecord, ChainEnd, ENDINGS, EndedBy, EpisodeRecord, ModelUsage, Outcome, RecordedTurn,
    RecordedTurns, Records, ResponseRecord,
};
pub use shard::{Episodes, InvalidShard, MAX_SHARDS, Shards, format_numbers};
