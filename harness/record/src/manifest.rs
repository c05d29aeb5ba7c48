use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Plan, Shard};

/// The version of a run directory's format. A run of a newer version is refused.
pub const FORMAT_VERSION: u32 = 3;

/// How far a run got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The frames are not there yet; if nothing is running, the run was cut off.
    Running,
    /// It was interrupted: the frames hold the first `episodes_done` episodes of the plan, or of the shard.
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
    /// The plan.
    pub plan: Plan,
}

impl RunManifest {
    /// The episodes that the run is to hold when it is complete.
    pub fn episodes(&self) -> Range<u64> {
        match self.shard {
            Some(shard) => shard.episodes(self.plan.len()),
            None => 0..self.plan.len(),
        }
    }

    /// The episodes that are in the frames.
    pub fn done(&self) -> Range<u64> {
        let all = self.episodes();
        all.start..all.end.min(all.start.saturating_add(self.episodes_done))
    }
}
