use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Plan, Shard};

/// The version of a run directory's format. A run of a newer version is refused.
pub const FORMAT_VERSION: u32 = 5;

/// How far a run got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The frames are not there yet; if nothing is running, the run was cut off.
    Running,
    /// It was interrupted: the frames hold the first `episodes_done` episodes of the plan, or of the shard. Of a run with models, which
    /// plays episodes in any order, they hold that many.
    Interrupted,
    /// Every planned episode, or every one of the shard, is there.
    Complete,
}

/// `manifest.json`: what was run, with what, and how far it got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunManifest {
    /// [`FORMAT_VERSION`] of the program that wrote the run.
    pub format_version: u32,
    /// The version of the program.
    pub healbench: String,
    /// The git revision that the program was built from; null when it is unknown.
    pub revision: Option<String>,
    /// What was asked for, as one would type it.
    pub command: String,
    /// When the run began: RFC 3339, UTC, whole seconds.
    pub started: String,
    /// The vocabulary of every token count.
    pub tokenizer: String,
    /// How far the run got.
    pub status: RunStatus,
    /// Episodes in the frames.
    pub episodes_done: u64,
    /// The part of the plan that this run is; null for the whole.
    #[serde(default)]
    pub shard: Option<Shard>,
    /// Where the models' answers are recorded, or come from; null when they are asked and nothing is recorded.
    #[serde(default)]
    pub cassettes: Option<CassetteMode>,
    /// The price table of the models; null in a run without any.
    #[serde(default)]
    pub prices: Option<PriceSource>,
    /// The plan.
    pub plan: Plan,
}

/// A folder of recorded answers, and what is done with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CassetteMode {
    /// Models are asked, and their answers are recorded.
    Record(PathBuf),
    /// Nobody is asked.
    Replay(PathBuf),
}

/// Names a price table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceSource {
    /// The date of its figures.
    pub date: String,
    /// SHA-256 of its text, in hexadecimal.
    pub sha256: String,
}

impl RunManifest {
    /// Whether a model plays in it.
    pub fn has_models(&self) -> bool {
        self.plan.agents.iter().any(|agent| agent.opening.is_some())
    }

    /// The episodes that the run is to hold when it is complete.
    pub fn episodes(&self) -> Range<u64> {
        match self.shard {
            Some(shard) => shard.episodes(self.plan.len()),
            None => 0..self.plan.len(),
        }
    }

    /// The episodes that are in the frames.
    pub fn completed_episodes(&self) -> Range<u64> {
        let all = self.episodes();
        all.start..all.end.min(all.start.saturating_add(self.episodes_done))
    }
}
