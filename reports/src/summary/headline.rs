//! Selects the two conditions of the headline comparison, and their example episodes.

use healbench_record::{CellRef, Plan};
use schemars::JsonSchema;
use serde::Serialize;

use super::block::Block;
use super::{Difference, PairedDifference};
use crate::rate::Rate;

/// The two conditions of the headline comparison, as indices of the rows of every agent. The left one is named
/// `sdk-typescript`, or has no guardrails, or is the first condition if the plan has no such condition. The right one is the first of the others
/// with the most guardrails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeadlineConditions {
    /// The reference condition.
    pub left: usize,
    /// The condition that is compared with it.
    pub right: usize,
}

impl HeadlineConditions {
    /// Returns the headline comparison of a plan; `None` if it has only one condition.
    pub(super) fn of(plan: &Plan) -> Option<HeadlineConditions> {
        let left = plan.reference_condition().unwrap_or(0);
        let switches = |condition: usize| plan.conditions[condition].guardrails.bits().count_ones();
        let others = (0..plan.conditions.len()).filter(|condition| *condition != left);
        // `max_by_key` returns the last of equal elements, so `rev` selects the first.
        let right = others.rev().max_by_key(|condition| switches(*condition))?;
        Some(HeadlineConditions { left, right })
    }
}

/// The headline comparison for one agent, over pairs only: the right condition compared with the left one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HeadlineComparison {
    /// The difference in success; p-values are adjusted by Holm for the agents of the report.
    pub success: PairedDifference,
    /// Successes of the pairs' episodes under the left and the right condition.
    pub success_rates: [Rate; 2],
    /// Calls over the pairs' episodes, in the same way.
    pub calls_per_episode: [Rate; 2],
    /// The mean difference in calls.
    pub calls: Difference,
    /// Billed tokens over the pairs' episodes.
    pub billed_tokens_per_episode: [Rate; 2],
    /// The mean difference in billed tokens.
    pub billed_tokens: Difference,
    /// The median over scenarios of billed tokens per episode.
    pub median_billed_tokens_per_episode: [Option<f64>; 2],
    /// Billed tokens over the successes of the pairs' episodes.
    pub billed_tokens_per_success: [Rate; 2],
    /// The median over scenarios of billed tokens per success; null if half of the scenarios have no success.
    pub median_billed_tokens_per_success: [Option<f64>; 2],
    /// The provider's own counts of input and output, over the episodes of the pairs of which it counted both.
    pub provider_tokens_per_episode: [Rate; 2],
    /// Tokens of calls, responses and prose over the pairs' episodes; each text is counted once.
    pub tokens_per_episode: [Rate; 2],
    /// The mean difference in tokens.
    pub tokens: Difference,
    /// Tokens over the successes of the pairs' episodes.
    pub tokens_per_success: [Rate; 2],
}

/// Example episodes of one scenario and agent, from the first trial that ended differently under the two conditions of
/// the headline comparison, else from the first trial in which a call failed, else from the first trial.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Example {
    /// The index of the scenario in the report.
    pub scenario: usize,
    /// The index of the agent in the report.
    pub agent: usize,
    /// The trial.
    pub trial: u32,
    /// The index of the episode under the left condition, or under the only one; null if it was not executed.
    pub left: Option<u64>,
    /// The index of the episode under the right condition; null if it was not executed, or if there is only one
    /// condition.
    pub right: Option<u64>,
    /// True if one of them succeeded and the other did not.
    pub flips: bool,
    /// The success rate under the right condition minus that under the left one, over all trials of the scenario and
    /// agent; null if there is only one condition, or if one of the two has no scored episode.
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
