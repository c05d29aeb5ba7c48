use std::collections::BTreeMap;
use std::path::PathBuf;

use healbench_core::{ChangedSetting, EnvironmentKind, Episodes, Plan, Shards};
use serde::{Deserialize, Serialize};

use crate::FileDigest;

/// The version of the run directory's format. Runs of other versions are rejected.
pub const FORMAT_VERSION: u32 = 10;

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The frames do not exist yet. If no process holds the lock, the run was killed.
    Running,
    /// The run was interrupted. The frames contain the first `episodes_done` episodes of the plan or shard; in a run
    /// with models, which runs episodes in any order, they contain that many.
    Interrupted,
    /// All episodes of the plan or shard are in the frames.
    Complete,
}

/// `manifest.json`: the plan of a run, the versions used, the run's progress, and the hashes of its files. The last
/// field of the file is `digest`, a hash of the text before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunManifest {
    /// The [`FORMAT_VERSION`] of the program that wrote the run.
    pub format_version: u32,
    /// The version of the program.
    pub healbench: String,
    /// The git revision from which the program was built; null if unknown.
    pub revision: Option<String>,
    pub command: String,
    /// The start of the run: RFC 3339, UTC, whole seconds.
    pub started: String,
    /// The end of the run in the same form; null while it is in progress, and if it is unknown.
    #[serde(default)]
    pub finished: Option<String>,
    /// The vocabulary of every token count.
    pub tokenizer: String,
    /// The version of the reader whose findings are in the rows; null in runs without them.
    #[serde(default)]
    pub reader: Option<u32>,
    /// The progress of the run.
    pub status: RunStatus,
    /// The number of episodes in the frames.
    pub episodes_done: u64,
    /// The shards of the plan; null for the whole plan.
    #[serde(default)]
    pub shards: Option<Shards>,
    /// The cassettes to which answers are recorded or from which they are replayed; null if models are called without
    /// recording.
    #[serde(default)]
    pub cassettes: Option<CassetteMode>,
    /// The price table of the models; null in a run without models.
    #[serde(default)]
    pub prices: Option<PriceSource>,
    /// The files of a trace, in the order in which they were read; empty for a run of this program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<ImportedFile>,
    /// The tools of a trace that run shell commands, sorted: in no headline, ranking or fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shell_tools: Vec<String>,
    /// The plan of the run, or of which the run is a shard.
    pub plan: Plan,
    /// The settings that were changed when the run was resumed, in this order; `plan` has the last values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<SettingChange>,
    /// The files of the run by their path in its directory, except for its journal. While the run is in progress for the
    /// first time, those with results are not there yet.
    #[serde(default)]
    pub files: BTreeMap<String, FileDigest>,
    /// The contents by which files are being replaced: each has one of these, or that in `files`. Empty, unless the
    /// process that replaces them was killed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replacing: BTreeMap<String, Vec<FileDigest>>,
}

/// A file of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFile {
    /// Its path within the folder that was named, or its name.
    pub name: String,
    /// Its size and hash.
    #[serde(flatten)]
    pub digest: FileDigest,
}

/// A folder of recorded answers, and its use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CassetteMode {
    /// Models are called, and their answers are recorded.
    Record(PathBuf),
    /// Recorded answers are used, and models are not called.
    Replay(PathBuf),
}

/// A setting of an agent that was changed when a run was resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingChange {
    /// When the run was resumed: RFC 3339, UTC, whole seconds.
    pub at: String,
    /// The name of the agent.
    pub agent: String,
    /// The setting with both values.
    #[serde(flatten)]
    pub change: ChangedSetting,
}

/// When a run took place: RFC 3339, UTC, whole seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunTimes {
    pub started: String,
    pub finished: String,
}

impl RunTimes {
    /// Returns true if one run was still in progress when the other started.
    pub fn overlaps(&self, other: &RunTimes) -> bool {
        self.started <= other.finished && other.started <= self.finished
    }
}

/// The identity of a price table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceSource {
    /// The date of the prices.
    pub date: String,
    /// The SHA-256 of its text, in hexadecimal.
    pub sha256: String,
}

impl RunManifest {
    /// Returns true if the plan has a model agent.
    pub fn has_models(&self) -> bool {
        self.plan.agents.iter().any(|agent| agent.opening.is_some())
    }

    /// Returns when the run took place; `None` if that is unknown, or it has not ended.
    pub fn times(&self) -> Option<RunTimes> {
        Some(RunTimes { started: self.started.clone(), finished: self.finished.clone()? })
    }

    /// Returns true if episodes are written to a journal when they end, since running them again costs money or gives
    /// other results: if a model takes part, or a server.
    pub fn has_journal(&self) -> bool {
        self.has_models() || self.plan.environment.kind == EnvironmentKind::Mcp
    }

    /// Returns the episodes of the plan or shards.
    pub fn episodes(&self) -> Episodes {
        Episodes::of(&self.plan, self.shards.as_ref())
    }

    /// Returns the episodes in the frames of a run without a journal.
    pub fn completed_episodes(&self) -> Episodes {
        self.episodes().split_at(self.episodes_done).0
    }
}
