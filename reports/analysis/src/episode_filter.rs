//! The rows of a list of episodes, and its filters.

use healbench_core::Outcome;
use serde::{Deserialize, Serialize};

/// A row of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexedEpisode {
    pub episode: u64,
    pub outcome: Outcome,
    pub calls: u32,
    pub errors: u32,
    /// Billed tokens, input and output; null if they are unknown.
    pub billed_tokens: Option<u64>,
}

/// The filters of a list of episodes; an empty or absent one accepts all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EpisodeFilter {
    /// A part of the scenario's id, in any case.
    pub scenario: String,
    /// The index of the agent in the plan.
    pub agent: String,
    /// The index of the condition in the plan.
    pub condition: String,
    /// The name of the outcome; `failure` accepts every scored outcome but success.
    pub outcome: String,
    /// The error class of a call of the episode.
    pub error: String,
    /// A part of the text of a response of the episode, in any case.
    pub q: String,
}

impl EpisodeFilter {
    /// Returns true if it accepts all episodes.
    pub fn is_empty(&self) -> bool {
        *self == EpisodeFilter::default()
    }
}

/// The name of the filter that accepts every scored outcome but success.
pub const FAILURE: &str = "failure";

/// The matches of a filter, as indices of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilteredEpisodes {
    /// The number of matching episodes.
    pub total: usize,
    /// The rows that were asked for.
    pub rows: Vec<IndexedEpisode>,
}
