//! The outcome of every episode as bits, so that any two conditions can be compared once the rows are read.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use healbench_core::{CellRef, Outcome, Plan};

use super::answer::Gain;
use super::pairs::Compared;
use crate::comparison::RunEpisodes;
use crate::rate::CONFIDENCE;
use crate::statistics::{ClusterPairs, ClusterSums, ThisSuite, clustered_difference, clustered_mean};

/// Two bits for each trial of a cell.
#[derive(Debug, Clone, Default)]
struct TrialBits {
    scored: Vec<u64>,
    success: Vec<u64>,
}

/// The outcomes of a run by scenario, agent and condition.
pub(super) struct Outcomes {
    agents: usize,
    conditions: usize,
    cells: Vec<TrialBits>,
    /// By scenario and agent, the trials whose schedule an earlier trial has, of deterministic agents.
    copies: BTreeMap<(usize, usize), BTreeMap<usize, u64>>,
}

impl Outcomes {
    pub(super) fn new(plan: &Plan) -> Outcomes {
        let cells = plan.scenarios.len() * plan.agents.len() * plan.conditions.len();
        Outcomes {
            agents: plan.agents.len(),
            conditions: plan.conditions.len(),
            cells: vec![TrialBits::default(); cells],
            copies: BTreeMap::new(),
        }
    }

    /// Returns the outcomes of all episodes of a run.
    pub(super) fn of(plan: &Plan, episodes: &RunEpisodes) -> Outcomes {
        let mut outcomes = Outcomes::new(plan);
        for scenario in 0..plan.scenarios.len() {
            for agent in 0..plan.agents.len() {
                outcomes.add(plan, (scenario, agent), 0..plan.trials as usize, |condition, trial| {
                    let cell = CellRef { scenario, agent, condition, trial: trial as u32 };
                    let episode = episodes.get(plan, cell).filter(|episode| episode.is_scored())?;
                    Some((episode.schedule, episode.outcome == Outcome::Success))
                });
            }
        }
        outcomes
    }

    /// Adds the trials of a scenario and agent. `scored` returns the schedule of a scored episode by condition and trial, and true for a
    /// success. An episode whose schedule differs from the first one of its trial counts as not scored, because it cannot be paired.
    pub(super) fn add(
        &mut self,
        plan: &Plan,
        (scenario, agent): (usize, usize),
        trials: Range<usize>,
        scored: impl Fn(usize, usize) -> Option<(u64, bool)>,
    ) {
        let words = trials.end.div_ceil(64);
        let mut schedules: BTreeMap<usize, u64> = BTreeMap::new();
        for condition in 0..self.conditions {
            let mut bits = TrialBits { scored: vec![0; words], success: vec![0; words] };
            for trial in trials.clone() {
                let Some((schedule, success)) = scored(condition, trial) else { continue };
                if *schedules.entry(trial).or_insert(schedule) == schedule {
                    bits.scored[trial / 64] |= 1 << (trial % 64);
                    bits.success[trial / 64] |= u64::from(success) << (trial % 64);
                }
            }
            let index = self.index(scenario, agent, condition);
            self.cells[index] = bits;
        }
        if plan.agents[agent].is_deterministic() {
            self.copies.insert((scenario, agent), schedules);
        }
    }

    fn index(&self, scenario: usize, agent: usize, condition: usize) -> usize {
        (scenario * self.agents + agent) * self.conditions + condition
    }

    /// Returns the trials in which all of the conditions were scored, without copies.
    fn common_trials(&self, scenario: usize, agent: usize, conditions: &[usize]) -> Vec<u64> {
        let mut cells = conditions.iter().map(|condition| &self.cells[self.index(scenario, agent, *condition)].scored);
        let mut common = cells.next().cloned().unwrap_or_default();
        for scored in cells {
            common.truncate(scored.len());
            common.iter_mut().zip(scored).for_each(|(common, scored)| *common &= scored);
        }
        if let Some(schedules) = self.copies.get(&(scenario, agent)) {
            let mut seen = BTreeSet::new();
            for (trial, schedule) in schedules {
                let (word, bit) = (trial / 64, 1 << (trial % 64));
                if common.get(word).is_some_and(|common| common & bit != 0) && !seen.insert(schedule) {
                    common[word] &= !bit;
                }
            }
        }
        common
    }

    fn scenario_pairs(&self, scenario: usize, agent: usize, condition: usize, other: usize) -> ClusterPairs {
        let [here, there] = [condition, other].map(|condition| &self.cells[self.index(scenario, agent, condition)]);
        let mut found = ClusterPairs::default();
        for (word, common) in self.common_trials(scenario, agent, &[condition, other]).into_iter().enumerate() {
            let [first, second] = [here.success[word], there.success[word]];
            found.pairs += u64::from(common.count_ones());
            found.gains += u64::from((common & first & !second).count_ones());
            found.losses += u64::from((common & second & !first).count_ones());
        }
        found
    }

    /// Returns the difference in success of a condition to another one, over the pairs of an agent.
    pub(super) fn difference(&self, plan: &Plan, agent: usize, condition: usize, other: usize) -> Compared {
        self.difference_in(plan, 0..plan.scenarios.len(), agent, [condition, other])
    }

    /// The same over some scenarios, as indices.
    pub(super) fn difference_in(
        &self,
        plan: &Plan,
        scenarios: impl Iterator<Item = usize>,
        agent: usize,
        [condition, other]: [usize; 2],
    ) -> Compared {
        let mut clusters: BTreeMap<&str, ClusterPairs> = BTreeMap::new();
        let mut sums = ClusterPairs::default();
        let families = plan.families();
        for scenario in scenarios {
            let planned = &plan.scenarios[scenario];
            let found = self.scenario_pairs(scenario, agent, condition, other);
            let of_family = || ClusterPairs { stratum: families[scenario], ..ClusterPairs::default() };
            for counts in [clusters.entry(&planned.cluster).or_insert_with(of_family), &mut sums] {
                counts.pairs += found.pairs;
                counts.gains += found.gains;
                counts.losses += found.losses;
            }
        }
        let clusters: Vec<ClusterPairs> = clusters.into_values().collect();
        let ClusterPairs { pairs, gains, losses, .. } = sums;
        let is_equal = pairs > 0 && gains + losses == 0;
        let clustered = clustered_difference(&clusters, CONFIDENCE);
        let tested = clustered.filter(|_| !is_equal);
        let difference = (pairs > 0).then(|| (gains as f64 - losses as f64) / pairs as f64);
        let gain = Gain::new(difference, tested.map(|found| (found.interval, found.p_value)));
        Compared {
            gain: if is_equal { gain.of_equal_outcomes() } else { gain },
            method: tested.map(|found| found.method),
            icc: clustered.map(|found| found.icc),
            this_suite: ThisSuite::of(gains, losses, pairs, CONFIDENCE)
                .filter(|_| !is_equal && !plan.is_reproducible(agent)),
        }
    }

    /// Returns the weighted sum of the success rates of some conditions, over the trials that all of them have.
    pub(super) fn contrast(&self, plan: &Plan, agent: usize, terms: &[(usize, f64)]) -> Gain {
        let conditions: Vec<usize> = terms.iter().map(|(condition, _)| *condition).collect();
        let mut clusters: BTreeMap<&str, ClusterSums> = BTreeMap::new();
        let families = plan.families();
        for (scenario, planned) in plan.scenarios.iter().enumerate() {
            let empty = ClusterSums { numerator: 0.0, denominator: 0.0, stratum: families[scenario] };
            let sums = clusters.entry(&planned.cluster).or_insert(empty);
            for (word, common) in self.common_trials(scenario, agent, &conditions).into_iter().enumerate() {
                sums.denominator += f64::from(common.count_ones());
                for (condition, weight) in terms {
                    let success = self.cells[self.index(scenario, agent, *condition)].success[word];
                    sums.numerator += weight * f64::from((common & success).count_ones());
                }
            }
        }
        let clusters: Vec<ClusterSums> = clusters.into_values().collect();
        let sum = |of: fn(&ClusterSums) -> f64| clusters.iter().map(of).sum::<f64>();
        let trials = sum(|cluster| cluster.denominator);
        let difference = (trials > 0.0).then(|| sum(|cluster| cluster.numerator) / trials);
        let mean = clustered_mean(&clusters, CONFIDENCE);
        Gain::new(difference, mean.map(|mean| (mean.interval, mean.p_value)))
    }

    /// Returns the number of scenarios, and of their clusters, in which an agent has a scored episode under any condition.
    pub(super) fn scored_scenarios(&self, plan: &Plan, agent: usize) -> [u64; 2] {
        let is_scored = |scenario: &usize| {
            let mut cells = (0..self.conditions).map(|condition| &self.cells[self.index(*scenario, agent, condition)]);
            cells.any(|cell| cell.scored.iter().any(|word| *word != 0))
        };
        let scored: Vec<usize> = (0..plan.scenarios.len()).filter(is_scored).collect();
        let clusters: BTreeSet<&str> =
            scored.iter().map(|scenario| plan.scenarios[*scenario].cluster.as_str()).collect();
        [scored.len() as u64, clusters.len() as u64]
    }
}
