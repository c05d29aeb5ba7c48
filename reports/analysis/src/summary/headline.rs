//! Selects the two conditions of the headline comparison.

use healbench_core::Plan;
use schemars::JsonSchema;
use serde::Serialize;

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
    pub(crate) fn of(plan: &Plan) -> Option<HeadlineConditions> {
        let left = plan.reference_condition().unwrap_or(0);
        let switches = |condition: usize| plan.conditions[condition].guardrails().bits().count_ones();
        let others = (0..plan.conditions.len()).filter(|condition| *condition != left);
        // `max_by_key` returns the last of equal elements, so `rev` selects the first.
        let right = others.rev().max_by_key(|condition| switches(*condition))?;
        Some(HeadlineConditions { left, right })
    }
}

/// The headline comparison for one agent, over pairs only: the right condition compared with the left one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HeadlineComparison {
    /// The difference in success.
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
