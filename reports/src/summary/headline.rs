//! Selects the two conditions of the headline comparison, and their example episodes.

use healbench_record::{CellRef, Plan};
use schemars::JsonSchema;
use serde::Serialize;

use super::block::Block;
use super::{Difference, PairedDifference, Rate};

/// The two settings of a run that are laid side by side: no guardrails, or the first setting of a plan without that; and of the others
/// the first one with the most guardrails. Both are places in the rows of every agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeadlineConditions {
    /// The one that is looked at first.
    pub left: usize,
    /// The one beside it.
    pub right: usize,
}

impl HeadlineConditions {
    /// Returns the headline comparison of a plan; `None` if it has only one condition.
    pub(super) fn of(plan: &Plan) -> Option<HeadlineConditions> {
        let left = plan.unguarded_condition().unwrap_or(0);
        let switches = |condition: usize| plan.conditions[condition].guardrails.bits().count_ones();
        let others = (0..plan.conditions.len()).filter(|condition| *condition != left);
        // `max_by_key` returns the last of equal elements, so `rev` selects the first.
        let right = others.rev().max_by_key(|condition| switches(*condition))?;
        Some(HeadlineConditions { left, right })
    }
}

/// What the right setting of the contrast shows beside the left one, of one agent and over pairs alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HeadlineComparison {
    /// The difference in success; p-values are adjusted by Holm for the agents of the report.
    pub success: PairedDifference,
    /// Successes of the pairs' episodes on the left and on the right.
    pub success_rates: [Rate; 2],
    /// Calls over the pairs' episodes, in the same way.
    pub calls_per_episode: [Rate; 2],
    /// The mean difference in calls.
    pub calls: Difference,
    /// Tokens of calls, responses and prose over the pairs' episodes.
    pub tokens_per_episode: [Rate; 2],
    /// The mean difference in tokens.
    pub tokens: Difference,
    /// Tokens over the successes of the pairs' episodes.
    pub tokens_per_success: [Rate; 2],
}

/// The episodes of one scenario and agent that are worth reading: of the first trial that ended differently under both settings of the
/// contrast; without one, of the first in which a call failed; without that, of the first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Example {
    /// The scenario's place in the report's list.
    pub scenario: usize,
    /// The agent's place in the report's list.
    pub agent: usize,
    /// The trial.
    pub trial: u32,
    /// The episode on the left of the contrast, or the only one; null when it was not played.
    pub left: Option<u64>,
    /// The episode on the right; null when it was not played, and without a contrast.
    pub right: Option<u64>,
    /// Whether one of them succeeded and the other did not.
    pub flips: bool,
    /// The success rate on the right minus that on the left, over all trials of the scenario and agent; null without a contrast, and
    /// when nothing was scored on one side.
    pub difference: Option<f64>,
}

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
        [Some(left), Some(right)] if left.flips(&right) => 4,
        [Some(left), Some(right)] => 2 + u32::from(left.failed_call || right.failed_call),
        [Some(only), None] | [None, Some(only)] => 1 + u32::from(only.failed_call && headline.is_none()),
    };
    let trial = block.trials().rev().max_by_key(|trial| priority(*trial)).filter(|trial| priority(*trial) > 0)?;
    let [here, there] = values(trial);
    let episode = |condition: usize| plan.episode(CellRef { scenario, agent, condition, trial: trial as u32 });
    Some(Example {
        scenario,
        agent,
        trial: trial as u32,
        left: here.map(|_| episode(left)),
        right: there.and(headline).map(|headline| episode(headline.right)),
        flips: priority(trial) == 4,
        difference: None,
    })
}
