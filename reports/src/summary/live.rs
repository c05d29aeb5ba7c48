use std::collections::BTreeMap;
use std::ops::Range;

use healbench_record::{CellRef, EpisodeRecord, Plan};

use super::Rate;
use super::compute::usd_per_episode;
use super::sums::Sums;

/// Finds out which cells of a plan are whole while its episodes come in, in any order. Holds the cells that are open, and no rows.
#[derive(Debug)]
pub struct LiveCells {
    trials: u64,
    /// The episodes that are to come: a shard may cut cells.
    episodes: Range<u64>,
    open: BTreeMap<u64, Sums>,
}

/// What a cell adds up to, over its scored episodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveCell {
    /// The cell, by its first trial.
    pub cell: CellRef,
    /// Successes of scored episodes.
    pub success: Rate,
    /// Calls an episode.
    pub calls: Rate,
    /// Tokens an episode: of calls, responses and prose.
    pub tokens: Rate,
    /// US dollars an episode; null without a model, and unless all of it is known.
    pub usd: Option<f64>,
}

impl LiveCells {
    /// Of a plan that is played for these episodes.
    pub fn new(plan: &Plan, episodes: Range<u64>) -> LiveCells {
        LiveCells { trials: u64::from(plan.trials), episodes, open: BTreeMap::new() }
    }

    /// Adds an episode, each of which comes once; gives its cell when it was the last one of it.
    pub fn add(&mut self, plan: &Plan, row: &EpisodeRecord) -> Option<LiveCell> {
        let index = row.episode / self.trials;
        let sums = self.open.entry(index).or_default();
        sums.add_episode(row);
        let first = (index * self.trials).max(self.episodes.start);
        let end = ((index + 1) * self.trials).min(self.episodes.end);
        if sums.episodes < end - first {
            return None;
        }
        let sums = self.open.remove(&index)?;
        Some(LiveCell {
            cell: plan.cell(index * self.trials)?,
            success: Rate::of(sums.successes, sums.scored),
            calls: Rate::of(sums.calls, sums.scored),
            tokens: Rate::of(sums.tokens, sums.scored),
            usd: usd_per_episode(&sums.models),
        })
    }

    /// How many cells are open.
    pub fn open(&self) -> usize {
        self.open.len()
    }
}
