//! The cost of the requests of a run, known and possible.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use healbench_core::Usage;
use healbench_store::{JournalEntry, RequestFile};

use crate::limits::Budget;

#[derive(Default)]
pub(super) struct State {
    /// `None` until the first request.
    pub(super) file: Option<RequestFile>,
    /// The cost of the episodes with a scored row.
    pub(super) finished: Cost,
    /// Tokens that are, or may be, paid for, and belong to no answer that is kept; by agent.
    pub(super) lost: BTreeMap<usize, Usage>,
    pub(super) lost_cost: Cost,
    pub(super) unfinished: BTreeMap<u64, Unfinished>,
    /// The tokens of the longest answer.
    pub(super) longest_answer: u64,
    pub(super) budget_reached: bool,
}

/// An episode without a scored row.
#[derive(Default)]
pub(super) struct Unfinished {
    pub(super) kept: BTreeMap<u32, Kept>,
    pub(super) under_way: BTreeMap<u32, UnderWay>,
    /// The cost of the row of a lost episode. Its answers are kept, and part of this cost.
    pub(super) row: Cost,
}

pub(super) struct Kept {
    pub(super) entry: JournalEntry,
    pub(super) key: String,
    pub(super) usage: Usage,
    pub(super) cost: Cost,
}

pub(super) struct UnderWay {
    pub(super) entry: JournalEntry,
    pub(super) key: String,
    pub(super) usage: Usage,
    /// The cost if the answer is no longer than those seen so far.
    pub(super) expected: Cost,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) usd: f64,
    pub(super) tokens: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.usd += other.usd;
        self.tokens = self.tokens.saturating_add(other.tokens);
    }
}

impl Cost {
    pub(super) fn max(self, other: Cost) -> Cost {
        Cost { usd: self.usd.max(other.usd), tokens: self.tokens.max(other.tokens) }
    }

    pub(super) fn sum(costs: impl IntoIterator<Item = Cost>) -> Cost {
        let mut total = Cost::default();
        costs.into_iter().for_each(|cost| total += cost);
        total
    }

    /// Returns true if the budget leaves nothing to spend.
    pub(super) fn reaches(&self, budget: Budget) -> bool {
        match budget {
            Budget::Usd(limit) => self.usd >= limit,
            Budget::Tokens(limit) => self.tokens >= limit,
        }
    }

    pub(super) fn exceeds(&self, budget: Budget) -> bool {
        match budget {
            Budget::Usd(limit) => self.usd > limit,
            Budget::Tokens(limit) => self.tokens > limit,
        }
    }
}

impl Unfinished {
    pub(super) fn cost(&self) -> Cost {
        Cost::sum(self.kept.values().map(|kept| kept.cost)).max(self.row)
    }
}

impl State {
    /// Returns what was paid for, and may have been.
    pub(super) fn spent(&self) -> Cost {
        let mut spent = Cost::sum(self.unfinished.values().map(Unfinished::cost));
        spent += self.finished;
        spent += self.lost_cost;
        spent
    }

    pub(super) fn under_way(&self) -> impl Iterator<Item = &UnderWay> {
        self.unfinished.values().flat_map(|episode| episode.under_way.values())
    }
}
