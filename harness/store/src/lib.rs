//! The run directory: manifest, journal, requests, integrity, and the merging of shards.

mod directory;
mod integrity;
mod journal;
mod line_file;
mod manifest;
mod merge;
mod progress;
mod requests;
mod rounds;
mod seal;

pub use directory::{MAX_CELLS, NewRunDir, RunDir, RunDirError, RunLock, StoredScenario};
pub use integrity::{FileDigest, VerifiedFiles};
pub use journal::{
    ClosedRecordedTurns, EpisodeResult, Journal, RecordedTurnsReader, RecordedTurnsWriter, read_recorded_turns,
    read_recorded_turns_of, visit_recorded_turns,
};
pub use line_file::{JournalEntry, JournalError};
pub use manifest::{
    CassetteMode, FORMAT_VERSION, ImportedFile, PriceSource, RunManifest, RunStatus, RunTimes, SettingChange,
};
pub use merge::{MergeError, ShardState, Survey, SurveyedShard, merge_manifests, survey};
pub use progress::{Progress, ServerWait};
pub use requests::{RequestFile, RequestLine};
pub use rounds::{MIN_ROUNDS, PairRole, PairRounds, PairedRun, ROUNDS_VERSION, RoundsError};
