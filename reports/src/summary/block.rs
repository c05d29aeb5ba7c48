//! The episodes of one scenario and agent, whatever the setting and trial: what pairs are made of.

use healbench_record::{CellRef, EpisodeRecord, Outcome, Plan};

use super::ReportError;
use super::gather::Gathered;
use super::sums::{Pairs, tokens};

/// What a pair needs to know of an episode.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) scored: bool,
    pub(super) success: bool,
    pub(super) calls: u32,
    pub(super) tokens: u64,
    /// The schedule's hash.
    hash: u64,
}

/// One such block, filled in the order of the plan.
pub(super) struct Block {
    none: Option<usize>,
    settings: usize,
    trials: usize,
    place: Option<(usize, usize)>,
    /// By setting and trial; `None` for an episode that is not there.
    slots: Vec<Option<Slot>>,
}

impl Block {
    /// A block that holds nothing yet.
    pub(super) fn of(plan: &Plan) -> Block {
        Block {
            none: plan.none(),
            settings: plan.settings.len(),
            trials: plan.trials as usize,
            place: None,
            slots: Vec::new(),
        }
    }

    /// Whether the episodes of this cell belong here.
    pub(super) fn holds(&self, cell: CellRef) -> bool {
        self.place == Some((cell.scenario, cell.agent))
    }

    /// Empties the block for the scenario and agent of `cell`.
    pub(super) fn open(&mut self, cell: CellRef) {
        self.place = Some((cell.scenario, cell.agent));
        self.slots.clear();
        self.slots.resize(self.settings * self.trials, None);
    }

    /// Puts an episode in its place.
    pub(super) fn add(&mut self, cell: CellRef, row: &EpisodeRecord) {
        self.slots[cell.setting * self.trials + cell.trial as usize] = Some(Slot {
            scored: row.outcome.is_scored(),
            success: row.outcome == Outcome::Success,
            calls: row.calls,
            tokens: tokens(row),
            hash: u64::from_str_radix(&row.schedule_hash, 16).unwrap_or_default(),
        });
    }

    /// The episodes of a setting, by trial.
    pub(super) fn setting(&self, setting: usize) -> &[Option<Slot>] {
        &self.slots[setting * self.trials..(setting + 1) * self.trials]
    }

    /// Makes the pairs of every setting with `none`.
    ///
    /// # Errors
    /// [`ReportError::Schedule`] for two episodes that met different schedules, the first such in the order of the plan.
    pub(super) fn close(&self, plan: &Plan, gathered: &mut Gathered) -> Result<(), ReportError> {
        let (Some((scenario, agent)), Some(none)) = (self.place, self.none) else { return Ok(()) };
        for setting in (0..self.settings).filter(|setting| *setting != none) {
            let mut pairs = Pairs::default();
            for (trial, both) in self.setting(setting).iter().zip(self.setting(none)).enumerate() {
                match both {
                    (Some(here), Some(there)) if here.scored && there.scored => {
                        if here.hash != there.hash {
                            return Err(mismatch(
                                plan,
                                CellRef { scenario, agent, setting, trial: trial as u32 },
                                none,
                            ));
                        }
                        pairs.add_pair(here, there);
                    }
                    (None, None) => {}
                    _ => pairs.unmatched += 1,
                }
            }
            gathered.set_pairs(scenario, agent, setting, pairs);
        }
        Ok(())
    }
}

fn mismatch(plan: &Plan, cell: CellRef, none: usize) -> ReportError {
    ReportError::Schedule {
        agent: plan.agents[cell.agent].to_string(),
        scenario: plan.scenarios[cell.scenario].id.clone(),
        trial: cell.trial,
        guardrails: plan.settings[cell.setting].guardrails.to_string(),
        episode: plan.episode(cell),
        none: plan.episode(CellRef { setting: none, ..cell }),
    }
}
