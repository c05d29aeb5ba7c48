//! The episodes of one scenario and agent, whatever the setting and trial: what pairs are made of.

use std::ops::Range;

use healbench_record::{CellRef, EpisodeRecord, Outcome, Plan};

use super::ReportError;
use super::aggregate::Aggregates;
use super::headline::{HeadlineConditions, example};
use super::sums::{Pairs, tokens};

/// What a pair needs to know of an episode.
#[derive(Debug, Clone, Copy)]
pub(super) struct EpisodeValues {
    pub(super) scored: bool,
    pub(super) success: bool,
    pub(super) failed_call: bool,
    pub(super) calls: u32,
    pub(super) tokens: u64,
    /// The schedule's hash.
    hash: u64,
}

impl EpisodeValues {
    /// Whether both met the same, and one of them succeeded and the other did not.
    pub(super) fn flips(&self, other: &EpisodeValues) -> bool {
        self.scored && other.scored && self.hash == other.hash && self.success != other.success
    }
}

/// One such block, filled in the order of the plan.
pub(super) struct Block {
    none: Option<usize>,
    conditions: usize,
    place: Option<(usize, usize)>,
    /// By setting, the first trial that is there, and the episodes from it on; `None` for one that is not there.
    slots: Vec<(usize, Vec<Option<EpisodeValues>>)>,
    /// Trials that there are, in any setting.
    trials: Range<usize>,
}

impl Block {
    /// A block that holds nothing yet.
    pub(super) fn of(plan: &Plan) -> Block {
        Block {
            none: plan.unguarded_condition(),
            conditions: plan.conditions.len(),
            place: None,
            slots: vec![(0, Vec::new()); plan.conditions.len()],
            trials: 0..0,
        }
    }

    /// Whether the episodes of this cell belong here.
    pub(super) fn holds(&self, cell: CellRef) -> bool {
        self.place == Some((cell.scenario, cell.agent))
    }

    /// Empties the block for the scenario and agent of `cell`.
    pub(super) fn open(&mut self, cell: CellRef) {
        self.place = Some((cell.scenario, cell.agent));
        self.slots.iter_mut().for_each(|(_, slots)| slots.clear());
        self.trials = 0..0;
    }

    /// Puts an episode in its place.
    pub(super) fn add(&mut self, cell: CellRef, row: &EpisodeRecord) {
        let trial = cell.trial as usize;
        let (first, slots) = &mut self.slots[cell.condition];
        if slots.is_empty() {
            *first = trial;
        }
        slots.resize(trial - *first, None);
        self.trials = match self.trials.is_empty() {
            true => trial..trial + 1,
            false => self.trials.start.min(trial)..self.trials.end.max(trial + 1),
        };
        slots.push(Some(EpisodeValues {
            scored: row.outcome.is_scored(),
            success: row.outcome == Outcome::Success,
            failed_call: row.counts.errors > 0,
            calls: row.calls,
            tokens: tokens(row),
            hash: u64::from_str_radix(&row.schedule_hash, 16).unwrap_or_default(),
        }));
    }

    /// Trials that there are, in any setting.
    pub(super) fn trials(&self) -> Range<usize> {
        self.trials.clone()
    }

    /// The episode of a setting and trial.
    pub(super) fn slot(&self, condition: usize, trial: usize) -> Option<EpisodeValues> {
        let (first, slots) = &self.slots[condition];
        slots.get(trial.checked_sub(*first)?).copied().flatten()
    }

    /// Makes the pairs of every setting with `none`, and the contrasts of guardrails.
    ///
    /// # Errors
    /// [`ReportError::Schedule`] and [`ReportError::Schedules`] for episodes that met different schedules, the first such in the
    /// order of the plan.
    pub(super) fn close(&self, plan: &Plan, aggregates: &mut Aggregates) -> Result<(), ReportError> {
        let Some((scenario, agent)) = self.place else { return Ok(()) };
        if let Some(none) = self.none {
            self.pair(plan, (scenario, agent), none, aggregates)?;
        }
        if !aggregates.effects.is_empty() {
            self.refuse_mismatch(plan, (scenario, agent))?;
            aggregates.effects.add(agent, self);
        }
        aggregates.examples.extend(example(self, plan, scenario, agent));
        if let Some(headline) = HeadlineConditions::of(plan) {
            aggregates.set_beside(scenario, agent, self.beside(headline));
        }
        Ok(())
    }

    /// Effects are differences between all settings of a trial: every one must have met the same.
    fn refuse_mismatch(&self, plan: &Plan, (scenario, agent): (usize, usize)) -> Result<(), ReportError> {
        let mut hashes = vec![None; self.trials.len()];
        for condition in 0..self.conditions {
            for (hash, trial) in hashes.iter_mut().zip(self.trials()) {
                let Some(slot) = self.slot(condition, trial).filter(|slot| slot.scored) else { continue };
                if *hash.get_or_insert(slot.hash) != slot.hash {
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

    /// The pairs of the right setting of a contrast with the left one. Trials that met different schedules are no pairs.
    fn beside(&self, headline: HeadlineConditions) -> Pairs {
        let mut pairs = Pairs::default();
        for trial in self.trials() {
            match (self.slot(headline.right, trial), self.slot(headline.left, trial)) {
                (Some(here), Some(there)) if here.scored && there.scored && here.hash == there.hash => {
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
            let mut pairs = Pairs::default();
            for trial in self.trials() {
                match (self.slot(condition, trial), self.slot(none, trial)) {
                    (Some(here), Some(there)) if here.scored && there.scored => {
                        if here.hash != there.hash {
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
