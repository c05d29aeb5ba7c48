use std::collections::BTreeMap;

use healbench_core::{CellRef, EpisodeRecord, Episodes, Plan};

use super::compute::usd_per_episode;
use super::sums::Sums;
use crate::metric::RowMetric;
use crate::rate::Rate;

/// Tracks the cells of a plan that are complete while episodes arrive in any order. Stores sums of open cells, not
/// rows.
#[derive(Debug)]
pub struct LiveCells {
    trials: u64,
    /// The episodes to expect. A shard may contain only part of a cell.
    episodes: Episodes,
    open: BTreeMap<u64, Sums>,
}

/// The results of a complete cell, over its scored episodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveCell {
    /// The cell, identified by its first trial.
    pub cell: CellRef,
    /// Successes among scored episodes.
    pub success: Rate,
    /// Calls per episode.
    pub calls: Rate,
    /// Tokens of calls, responses and turns without a call, per episode.
    pub tokens: Rate,
    /// US dollars per episode; null without a model, and if the cost of any episode is unknown.
    pub usd: Option<f64>,
}

impl LiveCells {
    /// Creates the tracker for these episodes of a plan.
    pub fn new(plan: &Plan, episodes: Episodes) -> LiveCells {
        LiveCells { trials: u64::from(plan.trials), episodes, open: BTreeMap::new() }
    }

    /// Adds an episode and returns its cell if it was the last one of the cell. Each episode must be added once.
    pub fn add(&mut self, plan: &Plan, row: &EpisodeRecord) -> Option<LiveCell> {
        let index = row.episode / self.trials;
        let sums = self.open.entry(index).or_default();
        sums.add_episode(row);
        if sums.episodes < self.episodes.count_in(index * self.trials..(index + 1) * self.trials) {
            return None;
        }
        let sums = self.open.remove(&index)?;
        Some(LiveCell {
            cell: plan.cell(index * self.trials)?,
            success: sums.rate(RowMetric::Success),
            calls: sums.rate(RowMetric::CallsPerEpisode),
            tokens: sums.rate(RowMetric::TokensPerEpisode),
            usd: usd_per_episode(&sums.models),
        })
    }

    pub fn open(&self) -> usize {
        self.open.len()
    }
}
