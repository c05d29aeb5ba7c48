//! The episodes of one scenario and agent over all conditions and trials, from which pairs are made.

use std::ops::Range;

use healbench_record::{CellRef, EpisodeRecord, Outcome, Plan};

use super::ReportError;
use super::aggregate::Aggregates;
use super::headline::{HeadlineConditions, example};
use super::sums::PairSums;
use crate::metric::tokens;

/// The values of an episode that pairs need.
#[derive(Debug, Clone, Copy)]
pub(super) struct EpisodeValues {
    pub(super) scored: bool,
    pub(super) success: bool,
    pub(super) failed_call: bool,
    pub(super) calls: u32,
    pub(super) tokens: u64,
    schedule_hash: u64,
}

impl EpisodeValues {
    /// Returns true if both have the same trial schedule and exactly one of them succeeded.
    pub(super) fn flips(&self, other: &EpisodeValues) -> bool {
        self.scored && other.scored && self.schedule_hash == other.schedule_hash && self.success != other.success
    }
}

/// The episodes of one scenario and agent, filled in the order of the plan.
pub(super) struct Block {
    none: Option<usize>,
    conditions: usize,
    current: Option<(usize, usize)>,
    /// By condition, the first trial present and the episodes from it on; `None` for a missing one.
    values: Vec<(usize, Vec<Option<EpisodeValues>>)>,
    /// The trials present in any condition.
    trials: Range<usize>,
}

impl Block {
    /// Creates an empty block.
    pub(super) fn of(plan: &Plan) -> Block {
        Block {
            none: plan.unguarded_condition(),
            conditions: plan.conditions.len(),
            current: None,
            values: vec![(0, Vec::new()); plan.conditions.len()],
            trials: 0..0,
        }
    }

    /// Returns true if the cell belongs to this block.
    pub(super) fn holds(&self, cell: CellRef) -> bool {
        self.current == Some((cell.scenario, cell.agent))
    }

    /// Clears the block for the scenario and agent of `cell`.
    pub(super) fn open(&mut self, cell: CellRef) {
        self.current = Some((cell.scenario, cell.agent));
        self.values.iter_mut().for_each(|(_, values)| values.clear());
        self.trials = 0..0;
    }

    pub(super) fn add(&mut self, cell: CellRef, row: &EpisodeRecord) {
        let trial = cell.trial as usize;
        let (first, values) = &mut self.values[cell.condition];
        if values.is_empty() {
            *first = trial;
        }
        values.resize(trial - *first, None);
        self.trials = match self.trials.is_empty() {
            true => trial..trial + 1,
            false => self.trials.start.min(trial)..self.trials.end.max(trial + 1),
        };
        values.push(Some(EpisodeValues {
            scored: row.outcome.is_scored(),
            success: row.outcome == Outcome::Success,
            failed_call: row.counts.errors > 0,
            calls: row.calls,
            tokens: tokens(row),
            schedule_hash: u64::from_str_radix(&row.schedule_hash, 16).unwrap_or_default(),
        }));
    }

    /// Returns the trials present in any condition.
    pub(super) fn trials(&self) -> Range<usize> {
        self.trials.clone()
    }

    pub(super) fn values(&self, condition: usize, trial: usize) -> Option<EpisodeValues> {
        let (first, values) = &self.values[condition];
        values.get(trial.checked_sub(*first)?).copied().flatten()
    }

    /// Computes the pairs of every condition with `none`, and the contrasts of guardrails.
    ///
    /// # Errors
    /// [`ReportError::Schedule`] and [`ReportError::Schedules`] for the first episodes in the order of the plan whose
    /// trial schedules differ.
    pub(super) fn close(&self, plan: &Plan, aggregates: &mut Aggregates) -> Result<(), ReportError> {
        let Some((scenario, agent)) = self.current else { return Ok(()) };
        if let Some(none) = self.none {
            self.pair(plan, (scenario, agent), none, aggregates)?;
        }
        if !aggregates.effects.is_empty() {
            self.check_schedules(plan, (scenario, agent))?;
            aggregates.effects.add(agent, self);
        }
        aggregates.examples.extend(example(self, plan, scenario, agent));
        if let Some(headline) = HeadlineConditions::of(plan) {
            aggregates.set_headline_pairs(scenario, agent, self.headline_pairs(headline));
        }
        Ok(())
    }

    /// Checks that all conditions of a trial have the same schedule, because effects compare all of them.
    fn check_schedules(&self, plan: &Plan, (scenario, agent): (usize, usize)) -> Result<(), ReportError> {
        let mut hashes = vec![None; self.trials.len()];
        for condition in 0..self.conditions {
            for (schedule_hash, trial) in hashes.iter_mut().zip(self.trials()) {
                let Some(values) = self.values(condition, trial).filter(|values| values.scored) else { continue };
                if *schedule_hash.get_or_insert(values.schedule_hash) != values.schedule_hash {
                    return Err(ReportError::Schedules {
                        agent: plan.agents[agent].to_string(),
                        scenario: plan.scenarios[scenario].id.clone(),
                        trial: trial as u32,
                        guardrails: plan.conditions[condition].guardrails.to_string(),
                        episode: plan.episode(CellRef { scenario, agent, condition, trial: trial as u32 }),
                    });
                }
            }
        }
        Ok(())
    }

    /// Pairs the right condition of the headline comparison with the left one. Trials with different schedules are not
    /// paired.
    fn headline_pairs(&self, headline: HeadlineConditions) -> PairSums {
        let mut pairs = PairSums::default();
        for trial in self.trials() {
            match (self.values(headline.right, trial), self.values(headline.left, trial)) {
                (Some(here), Some(there))
                    if here.scored && there.scored && here.schedule_hash == there.schedule_hash =>
                {
                    pairs.add_pair(&here, &there);
                }
                (None, None) => {}
                _ => pairs.unmatched += 1,
            }
        }
        pairs
    }

    fn pair(
        &self,
        plan: &Plan,
        (scenario, agent): (usize, usize),
        none: usize,
        aggregates: &mut Aggregates,
    ) -> Result<(), ReportError> {
        for condition in (0..self.conditions).filter(|condition| *condition != none) {
            let mut pairs = PairSums::default();
            for trial in self.trials() {
                match (self.values(condition, trial), self.values(none, trial)) {
                    (Some(here), Some(there)) if here.scored && there.scored => {
                        if here.schedule_hash != there.schedule_hash {
                            return Err(mismatch(
                                plan,
                                CellRef { scenario, agent, condition, trial: trial as u32 },
                                none,
                            ));
                        }
                        pairs.add_pair(&here, &there);
                    }
                    (None, None) => {}
                    _ => pairs.unmatched += 1,
                }
            }
            aggregates.set_pairs(scenario, agent, condition, pairs);
        }
        Ok(())
    }
}

fn mismatch(plan: &Plan, cell: CellRef, none: usize) -> ReportError {
    ReportError::Schedule {
        agent: plan.agents[cell.agent].to_string(),
        scenario: plan.scenarios[cell.scenario].id.clone(),
        trial: cell.trial,
        guardrails: plan.conditions[cell.condition].guardrails.to_string(),
        episode: plan.episode(cell),
        none: plan.episode(CellRef { condition: none, ..cell }),
    }
}
