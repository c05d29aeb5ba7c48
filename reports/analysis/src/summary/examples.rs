//! The example trials of each scenario and agent: a typical one, and one that went differently.

use std::collections::BTreeMap;

use healbench_core::{CellRef, Outcome, Plan};
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::block::Block;
use super::headline::HeadlineConditions;

/// The example trial of one scenario and agent: a trial that went like most others. Trials are alike if, under every
/// condition, their episodes have the same outcome and the same answer to the question if a call failed. Of several
/// equally frequent ones, the first that ended differently under the two conditions of the headline comparison, else the
/// first in which a call failed, else the first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Example {
    /// The index of the scenario in the report.
    pub scenario: usize,
    /// The index of the agent in the report.
    pub agent: usize,
    /// The trial.
    pub trial: u32,
    /// The trials that are alike, including this one.
    pub alike: u64,
    /// All trials of the scenario and agent.
    pub trials: u64,
    /// The index of the episode under the left condition, or under the only one; null if it was not executed.
    pub left: Option<u64>,
    /// The index of the episode under the right condition; null if it was not executed, or if there is only one
    /// condition.
    pub right: Option<u64>,
    /// True if one of them succeeded and the other did not.
    pub flips: bool,
    /// The trials in which one of the two succeeded and the other did not.
    pub flipped: u64,
    /// A trial that went differently: the most frequent kind that ended differently under the two conditions of the headline
    /// comparison, else the most frequent other kind; null if all trials are alike.
    pub other: Option<OtherTrial>,
    /// The success rate under the right condition minus that under the left one, over all trials of the scenario and
    /// agent; null if there is only one condition, or if one of the two has no scored episode.
    pub difference: Option<f64>,
    /// The largest success rate of a condition minus the smallest, over all trials of the scenario and agent; null if
    /// fewer than two conditions have a scored episode.
    pub spread: Option<f64>,
}

/// A trial that went differently from the typical one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OtherTrial {
    /// The trial.
    pub trial: u32,
    /// The trials that are alike, including this one.
    pub alike: u64,
    /// True if the trial ended differently under the two conditions of the headline comparison.
    pub flips: bool,
}

impl Example {
    /// Returns the trials that are shown, each with the number of trials that are alike.
    pub fn shown_trials(&self) -> impl Iterator<Item = (u32, u64)> {
        [(self.trial, self.alike)].into_iter().chain(self.other.map(|other| (other.trial, other.alike)))
    }

    /// Returns true if a shown trial ended differently under the two conditions of the headline comparison.
    pub fn shows_flip(&self) -> bool {
        self.flips || self.other.is_some_and(|other| other.flips)
    }
}

impl Report {
    /// Returns the examples of which most is to be seen first: by their spread between conditions, then those that show an
    /// episode that ended differently, then in the order of the plan.
    pub fn examples_by_spread(&self) -> Vec<&Example> {
        let mut examples: Vec<&Example> = self.examples.iter().collect();
        examples.sort_by(|a, b| {
            let spread = |example: &Example| example.spread.unwrap_or(0.0);
            spread(b).total_cmp(&spread(a)).then_with(|| b.shows_flip().cmp(&a.shows_flip()))
        });
        examples
    }

    /// Returns the index of an episode in the plan of the run.
    pub fn episode(&self, example: &Example, condition: usize, trial: u32) -> u64 {
        let conditions = self.agents.first().map_or(0, |agent| agent.rows.len());
        let cell = (example.scenario * self.agents.len() + example.agent) * conditions + condition;
        cell as u64 * u64::from(self.trials) + u64::from(trial)
    }
}

/// How the episodes of a trial went, by condition: the outcome, and true if a call failed; `None` for a missing episode.
type TrialPattern = Vec<Option<(Outcome, bool)>>;

/// The trials of one pattern.
#[derive(Clone, Copy)]
struct AlikeTrials {
    count: u64,
    first: u32,
    /// The larger, the more is to be seen in it.
    priority: u32,
}

/// Priority of a trial that ended differently under the two conditions.
const FLIPS: u32 = 4;

/// Returns the example of the block's scenario and agent; `None` if the block has no episode of the headline
/// conditions.
pub(super) fn example(block: &Block, plan: &Plan, scenario: usize, agent: usize) -> Option<Example> {
    let headline = HeadlineConditions::of(plan);
    let left = headline.map_or(0, |headline| headline.left);
    let values = |trial: usize| {
        [Some(left), headline.map(|headline| headline.right)].map(|condition| block.values(condition?, trial))
    };
    let priority = |trial: usize| match values(trial) {
        [None, None] => 0,
        [Some(left), Some(right)] if left.flips(&right) => FLIPS,
        [Some(left), Some(right)] => 2 + u32::from(left.failed_call || right.failed_call),
        [Some(only), None] | [None, Some(only)] => 1 + u32::from(only.failed_call && headline.is_none()),
    };
    let mut kinds: BTreeMap<TrialPattern, AlikeTrials> = BTreeMap::new();
    let mut pattern = TrialPattern::new();
    let (mut trials, mut flipped) = (0, 0);
    for trial in block.trials() {
        pattern.clear();
        pattern.extend(
            (0..plan.conditions.len())
                .map(|condition| block.values(condition, trial).map(|values| (values.outcome, values.failed_call))),
        );
        trials += 1;
        flipped += u64::from(priority(trial) == FLIPS);
        match kinds.get_mut(pattern.as_slice()) {
            Some(alike) => alike.count += 1,
            None => {
                let alike = AlikeTrials { count: 1, first: trial as u32, priority: priority(trial) };
                kinds.insert(pattern.clone(), alike);
            }
        }
    }
    let mut kinds: Vec<AlikeTrials> = kinds.into_values().filter(|alike| alike.priority > 0).collect();
    kinds.sort_by_key(|alike| (std::cmp::Reverse((alike.count, alike.priority)), alike.first));
    let (typical, others) = kinds.split_first()?;
    let flips = |alike: &&AlikeTrials| alike.priority == FLIPS;
    let other = others.iter().find(flips).or(others.first());
    let [here, there] = values(typical.first as usize);
    let episode = |condition: usize| plan.episode(CellRef { scenario, agent, condition, trial: typical.first });
    Some(Example {
        scenario,
        agent,
        trial: typical.first,
        alike: typical.count,
        trials,
        left: here.map(|_| episode(left)),
        right: there.and(headline).map(|headline| episode(headline.right)),
        flips: flips(&typical),
        flipped,
        other: other.map(|alike| OtherTrial { trial: alike.first, alike: alike.count, flips: flips(&alike) }),
        difference: None,
        spread: None,
    })
}
