//! The episodes of one scenario and agent over all conditions and trials, from which pairs are made.

use std::collections::BTreeSet;
use std::ops::Range;

use healbench_core::{AgentSpec, CellRef, EpisodeRecord, Outcome, Plan};

use super::sums::{EpisodeValues, PairSums, Spent};
use crate::metric::{billed_tokens, tokens};
use crate::report_error::ReportError;

/// The episodes of one scenario and agent, filled in the order of the plan.
pub(super) struct Block {
    /// The condition that the others are compared with.
    reference: Option<usize>,
    conditions: usize,
    /// By agent, true if it is declared deterministic.
    deterministic: Vec<bool>,
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
            reference: plan.reference_condition(),
            conditions: plan.conditions.len(),
            deterministic: plan.agents.iter().map(AgentSpec::is_deterministic).collect(),
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
            outcome: row.outcome,
            scored: row.outcome.is_scored(),
            success: row.outcome == Outcome::Success,
            failed_call: row.counts.errors > 0,
            calls: row.calls,
            spent: tokens(row).zip(billed_tokens(row)).map(|(tokens, billed)| Spent { tokens, billed }),
            provider: row.model.as_ref().and_then(|model| model.usage).map(|usage| usage.input + usage.output),
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

    /// Returns the scenario and agent of the episodes, as indices; `None` before the first one.
    pub(super) fn current(&self) -> Option<(usize, usize)> {
        self.current
    }

    /// Checks that all conditions of a trial have the same schedule, because effects compare all of them.
    ///
    /// # Errors
    /// [`ReportError::Schedules`] for the first episode in the order of the plan whose trial schedule differs.
    pub(super) fn check_schedules(&self, plan: &Plan) -> Result<(), ReportError> {
        let Some((scenario, agent)) = self.current else { return Ok(()) };
        let mut hashes = vec![None; self.trials.len()];
        for condition in 0..self.conditions {
            for (schedule_hash, trial) in hashes.iter_mut().zip(self.trials()) {
                let Some(values) = self.values(condition, trial).filter(|values| values.scored) else { continue };
                if *schedule_hash.get_or_insert(values.schedule_hash) != values.schedule_hash {
                    return Err(ReportError::Schedules {
                        agent: plan.agents[agent].to_string(),
                        scenario: plan.scenarios[scenario].id.clone(),
                        trial: trial as u32,
                        guardrails: plan.conditions[condition].guardrails().to_string(),
                        episode: plan.episode(CellRef { scenario, agent, condition, trial: trial as u32 }),
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns the successes and the number of the scored episodes of a condition, without copies.
    pub(super) fn distinct_trials(&self, condition: usize) -> [u64; 2] {
        let mut counted = self.distinct_schedules();
        let mut sums = [0, 0];
        for values in self.trials().filter_map(|trial| self.values(condition, trial)).filter(|values| values.scored) {
            if counted(values.schedule_hash) {
                sums = [sums[0] + u64::from(values.success), sums[1] + 1];
            }
        }
        sums
    }

    /// Returns a function that is true for the first trial of each schedule, or always for an agent that is not
    /// deterministic.
    fn distinct_schedules(&self) -> impl FnMut(u64) -> bool {
        let has_copies = self.current.is_some_and(|(_, agent)| self.deterministic[agent]);
        let mut known = BTreeSet::new();
        move |schedule_hash| !has_copies || known.insert(schedule_hash)
    }

    /// Pairs two conditions. Trials with different schedules are not paired, and copies count once.
    pub(super) fn pairs_of(&self, condition: usize, reference: usize) -> PairSums {
        let mut pairs = PairSums::default();
        let mut counted = self.distinct_schedules();
        for trial in self.trials() {
            match (self.values(condition, trial), self.values(reference, trial)) {
                (Some(here), Some(there))
                    if here.scored && there.scored && here.schedule_hash == there.schedule_hash =>
                {
                    if counted(here.schedule_hash) {
                        pairs.add_pair(&here, &there);
                    }
                }
                (None, None) => {}
                _ => pairs.unmatched += 1,
            }
        }
        pairs
    }

    /// Pairs every other condition with the reference condition, if the plan has one.
    ///
    /// # Errors
    /// [`ReportError::Schedule`] for the first episodes in the order of the plan whose trial schedules differ.
    pub(super) fn pairs_with_reference(&self, plan: &Plan) -> Result<Vec<(usize, PairSums)>, ReportError> {
        let (Some((scenario, agent)), Some(reference)) = (self.current, self.reference) else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for condition in (0..self.conditions).filter(|condition| *condition != reference) {
            for trial in self.trials() {
                if let (Some(here), Some(there)) = (self.values(condition, trial), self.values(reference, trial))
                    && here.scored
                    && there.scored
                    && here.schedule_hash != there.schedule_hash
                {
                    return Err(mismatch(plan, CellRef { scenario, agent, condition, trial: trial as u32 }, reference));
                }
            }
            all.push((condition, self.pairs_of(condition, reference)));
        }
        Ok(all)
    }
}

fn mismatch(plan: &Plan, cell: CellRef, reference: usize) -> ReportError {
    ReportError::Schedule {
        agent: plan.agents[cell.agent].to_string(),
        scenario: plan.scenarios[cell.scenario].id.clone(),
        trial: cell.trial,
        guardrails: plan.conditions[cell.condition].guardrails().to_string(),
        episode: plan.episode(cell),
        reference: plan.episode(CellRef { condition: reference, ..cell }),
    }
}
