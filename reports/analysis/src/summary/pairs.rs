use healbench_core::Plan;

use super::answer::{Gain, settle};
use super::outcomes::Outcomes;

/// The comparisons of every two conditions of each agent, adjusted by Holm for all of the agent. Wherever two conditions of a run are compared
/// in success, interval and p-values are these.
pub(super) struct Pairs {
    conditions: usize,
    /// By agent, then by condition and a later one: the success of the second minus that of the first.
    gains: Vec<Vec<Gain>>,
}

impl Pairs {
    pub(super) fn of(plan: &Plan, outcomes: &Outcomes) -> Pairs {
        let conditions = plan.conditions.len();
        let of_agent = |agent: usize| {
            let later = |first: usize| (first + 1..conditions).map(move |second| (first, second));
            let pairs = (0..conditions).flat_map(later);
            let mut gains: Vec<Gain> =
                pairs.map(|(first, second)| outcomes.difference(plan, agent, second, first)).collect();
            settle(gains.iter_mut().collect(), outcomes.scored_scenarios(plan, agent)[1]);
            gains
        };
        Pairs { conditions, gains: (0..plan.agents.len()).map(of_agent).collect() }
    }

    /// Returns the success of `condition` minus that of `other`, which is another one.
    pub(super) fn get(&self, agent: usize, condition: usize, other: usize) -> Gain {
        let (first, second) = (condition.min(other), condition.max(other));
        let before = first * (2 * self.conditions - first - 1) / 2;
        let gain = self.gains[agent][before + second - first - 1];
        if condition > other { gain } else { gain.reversed() }
    }
}
