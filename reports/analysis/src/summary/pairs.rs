use healbench_core::Plan;

use super::answer::{Gain, Verdict, settle};
use super::outcomes::Outcomes;
use crate::comparison::RunEpisodes;
use crate::statistics::{Interval, Method, ThisSuite, holm};

/// Two conditions of one agent compared in success.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared {
    /// The difference for other scenarios.
    pub(crate) gain: Gain,
    /// The method of its interval.
    pub(crate) method: Option<Method>,
    /// The intraclass correlation of the differences.
    pub(crate) icc: Option<f64>,
    /// The difference for the same scenarios, run again.
    pub(crate) this_suite: Option<ThisSuite>,
}

impl Compared {
    fn reversed(self) -> Compared {
        let turned = |this: ThisSuite| ThisSuite {
            interval: Interval { lower: -this.interval.upper, upper: -this.interval.lower },
            ..this
        };
        Compared { gain: self.gain.reversed(), this_suite: self.this_suite.map(turned), ..self }
    }
}

/// The comparisons of every two conditions of each agent, adjusted by Holm for all of the agent that some trial tells apart. Wherever two conditions of a run are compared
/// in success, interval and p-values are these.
pub(crate) struct Pairs {
    conditions: usize,
    /// By agent, then by condition and a later one: the success of the second minus that of the first.
    compared: Vec<Vec<Compared>>,
}

impl Pairs {
    pub(super) fn of(plan: &Plan, outcomes: &Outcomes) -> Pairs {
        let conditions = plan.conditions.len();
        let of_agent = |agent: usize| {
            let later = |first: usize| (first + 1..conditions).map(move |second| (first, second));
            let mut compared: Vec<Compared> = (0..conditions)
                .flat_map(later)
                .map(|(first, second)| outcomes.difference(plan, agent, second, first))
                .collect();
            let alike = alike(conditions, &compared);
            let is_first = |(first, second): (usize, usize)| alike[first] == first && alike[second] == second;
            let pairs = || (0..conditions).flat_map(later);
            let mut distinct: Vec<&mut Compared> =
                compared.iter_mut().zip(pairs()).filter(|(_, pair)| is_first(*pair)).map(|(found, _)| found).collect();
            settle(
                distinct.iter_mut().map(|found| &mut found.gain).collect(),
                outcomes.scored_scenarios(plan, agent)[1],
            );
            adjust(&mut distinct);
            for (at, (first, second)) in pairs().enumerate() {
                let (a, b) = (alike[first], alike[second]);
                if a != b && (a, b) != (first, second) {
                    // `between` subtracts its last condition, and a pair its first.
                    compared[at] = between(conditions, &compared, b, a);
                }
            }
            compared
        };
        Pairs { conditions, compared: (0..plan.agents.len()).map(of_agent).collect() }
    }

    /// The same from all episodes of a run.
    pub(crate) fn of_episodes(plan: &Plan, episodes: &RunEpisodes) -> Pairs {
        Pairs::of(plan, &Outcomes::of(plan, episodes))
    }

    /// Returns the success of `condition` minus that of `other`, which is another one.
    pub(crate) fn get(&self, agent: usize, condition: usize, other: usize) -> Compared {
        between(self.conditions, &self.compared[agent], condition, other)
    }

    /// Returns the same for other scenarios alone.
    pub(super) fn gain(&self, agent: usize, condition: usize, other: usize) -> Gain {
        self.get(agent, condition, other).gain
    }
}

/// Returns the position of a pair of conditions, the lower one first, among all pairs.
fn position(conditions: usize, first: usize, second: usize) -> usize {
    first * (2 * conditions - first - 1) / 2 + second - first - 1
}

/// Returns the comparison of two conditions, among those of all pairs.
fn between(conditions: usize, compared: &[Compared], condition: usize, other: usize) -> Compared {
    let found = compared[position(conditions, condition.min(other), condition.max(other))];
    if condition > other { found } else { found.reversed() }
}

/// Returns the first condition that each condition cannot be told from: itself, if there is no other. Such conditions have equal outcomes in
/// every trial, and the same comparisons with all others. They are one condition among those that are tested.
fn alike(conditions: usize, compared: &[Compared]) -> Vec<usize> {
    let numbers = |condition, other| {
        let found = between(conditions, compared, condition, other);
        (found.gain.difference, found.gain.interval, found.gain.p_value, found.this_suite)
    };
    let is_alike = |first, second| {
        let mut others = (0..conditions).filter(|other| *other != first && *other != second);
        between(conditions, compared, first, second).gain.verdict == Verdict::Equal
            && others.all(|other| numbers(first, other) == numbers(second, other))
    };
    let first = |condition| (0..condition).find(|first| is_alike(*first, condition)).unwrap_or(condition);
    (0..conditions).map(first).collect()
}

/// Adjusts the p-values on the same scenarios by Holm's method. Pairs with equal outcomes count as any other.
fn adjust(compared: &mut [&mut Compared]) {
    let equal = compared.iter().filter(|found| found.gain.verdict == Verdict::Equal).map(|_| 1.0);
    let p_values = compared.iter().filter_map(|found| Some(found.this_suite?.p_value));
    let p_values: Vec<f64> = p_values.chain(equal).collect();
    let tested = compared.iter_mut().filter_map(|found| found.this_suite.as_mut());
    for (this, adjusted) in tested.zip(holm(&p_values).into_iter().flatten()) {
        this.p_adjusted = Some(adjusted);
    }
}
