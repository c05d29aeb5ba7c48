//! The expectations of an episode between its calls, and what calls did for them.

use healbench_core::{CallRecord, ChainEnd, EnvironmentError};
use healbench_scenarios::EpisodeState;

use super::EpisodeRun;
use crate::chains::Effect;

impl EpisodeRun<'_> {
    pub(super) fn goal_reached(&mut self) -> Result<bool, EnvironmentError> {
        let has_goal = self.context.state_is_cheap && self.initially_unmet;
        Ok(has_goal && self.count_unmet()? == 0)
    }

    /// Returns the number of expectations that do not hold now. Those on a state that is not cheap count as unmet.
    pub(super) fn count_unmet(&mut self) -> Result<usize, EnvironmentError> {
        let state = if self.context.state_is_cheap { self.check_state()? } else { Vec::new() };
        let verified = Some(&self.verified);
        let episode = EpisodeState { state: &state, succeeded: &self.succeeded, verified, ..EpisodeState::default() };
        let unmet = self.context.scenario.unmet(&episode).len();
        self.state = self.context.state_is_cheap.then_some(state);
        Ok(unmet)
    }

    /// Takes the known results of the checks of the state, or checks it.
    pub(super) fn check_state(&mut self) -> Result<Vec<bool>, EnvironmentError> {
        match self.state.take() {
            Some(state) => Ok(state),
            None => self.session.check(self.deadline()),
        }
    }

    /// Adds the row of a call to its error chain. The call must be among those that succeeded if it was executed, which
    /// decides and not what was told.
    pub(super) fn add_to_chain(&mut self, row: &mut CallRecord, took_effect: bool) -> Result<(), EnvironmentError> {
        if !took_effect && !self.chains.has_open() && !self.succeeded.is_empty() {
            self.unmet = self.count_unmet()?;
        }
        let mut effect = if self.writes(row) { Effect::Write } else { Effect::Lookup };
        if took_effect && self.chains.has_open() {
            let unmet = self.count_unmet()?;
            if unmet < self.unmet {
                effect = Effect::Progress;
            }
            self.unmet = unmet;
        }
        self.chains.add(row, took_effect.then_some(effect));
        Ok(())
    }

    /// Corrects the latest write of an episode whose expectations turned out to hold: it was no wrong repair.
    pub(super) fn fix_latest_write(&mut self) {
        let latest = self.calls.iter().rposition(|row| !row.is_error && self.writes(row));
        let end = latest.and_then(|at| self.calls[at].chain_end.as_mut());
        if let Some(end) = end {
            *end = ChainEnd::Fixed;
        }
    }

    /// Corrects the chains that seemed to be fixed by another call than the intended one of the same action, in an episode
    /// that failed: it met an expectation, and not what the task asks for.
    pub(super) fn unfix_partial_repairs(&mut self) {
        for at in 0..self.calls.len() {
            let (before, rest) = self.calls.split_at_mut(at);
            let row = &mut rest[0];
            let repeats = |failed: &CallRecord| {
                failed.chain == row.chain && failed.tool == row.tool && failed.action == row.action
            };
            let is_partial = row.intended == Some(false) && before.iter().any(repeats);
            if row.chain_end == Some(ChainEnd::Fixed) && is_partial {
                row.chain_end = Some(ChainEnd::WrongRepair);
            }
        }
    }

    /// Returns true if a call changed the state; if this is unknown, unless its action is read-only.
    pub(super) fn writes(&self, row: &CallRecord) -> bool {
        row.state_changed.unwrap_or_else(|| {
            let tool = self.context.environment.tools().iter().find(|tool| *tool.name == *row.tool);
            let action = tool.and_then(|tool| match &row.action {
                Some(action) => tool.action(action),
                None => tool.actions.first(),
            });
            action.is_none_or(|action| !action.read_only)
        })
    }
}
