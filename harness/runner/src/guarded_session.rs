use std::time::Instant;

use healbench_core::{Deadline, EnvironmentError, Session, ToolCall, ToolSpec};
use healbench_engine::definition::{Clock, FaultDef, FaultKind};
use healbench_engine::{Faults, GuardedReply};
use healbench_scenarios::{EpisodeState, VerifiedRows};

use crate::ScenarioContext;

/// A session of a scenario behind the guardrails of a condition, without an agent: somebody else makes the calls.
pub struct GuardedSession<'a> {
    context: &'a ScenarioContext<'a>,
    condition: usize,
    session: Box<dyn Session + 'a>,
    faults: Faults,
    succeeded: Vec<ToolCall>,
    verified: VerifiedRows,
}

impl ScenarioContext<'_> {
    /// Returns the tools as listed for agents.
    pub fn tools(&self) -> &[ToolSpec] {
        self.environment.tools()
    }

    /// Returns the calls with which a seeded episode of this trial begins; the last of them has the trial's first mistake.
    pub fn opening_calls(&self, trial: u32) -> Vec<ToolCall> {
        self.schedule(trial).opening_turns().into_iter().flatten().cloned().collect()
    }

    /// Starts a session in the initial state of this trial, behind the guardrails of the condition with this index.
    ///
    /// # Errors
    /// [`EnvironmentError`] if the environment cannot be opened.
    pub fn open(&self, condition: usize, trial: u32) -> Result<GuardedSession<'_>, EnvironmentError> {
        Ok(GuardedSession {
            context: self,
            condition,
            session: self.open_session(trial)?,
            faults: self.new_faults(trial),
            succeeded: Vec::new(),
            verified: VerifiedRows::none_of(self.scenario),
        })
    }
}

impl GuardedSession<'_> {
    /// Answers a call. A failed call is a reply too.
    ///
    /// # Errors
    /// [`EnvironmentError`] if the environment gave no reply.
    pub fn call(&mut self, call: &ToolCall) -> Result<GuardedReply, EnvironmentError> {
        let deadline = self.deadline();
        let engine = &self.context.engines[self.condition];
        let reply = engine.answer(self.session.as_mut(), &mut self.faults, call, deadline)?;
        self.verified.note(&self.context.scenario.verifications(call, &reply));
        if reply.took_effect() {
            self.succeeded.push(call.clone());
        }
        Ok(reply)
    }

    /// Answers a call that comes while the tool has as many as it allows. It does not reach the tool.
    ///
    /// # Errors
    /// Those of [`call`](GuardedSession::call), if the arguments are not valid.
    pub fn refuse_as_busy(&mut self, call: &ToolCall) -> Result<GuardedReply, EnvironmentError> {
        let busy = FaultDef::new(FaultKind::Busy, &call.tool);
        let mut faults = Faults::new([busy].into(), Clock::None);
        let deadline = self.deadline();
        let engine = &self.context.engines[self.condition];
        engine.answer(self.session.as_mut(), &mut faults, call, deadline)
    }

    /// Lets simulated time pass.
    pub(crate) fn wait(&mut self, seconds: u32) {
        self.session.wait(seconds);
        self.faults.wait(seconds);
    }

    /// Returns descriptions of the expectations that do not hold now.
    ///
    /// # Errors
    /// [`EnvironmentError`] if the state cannot be read.
    pub fn unmet(&mut self) -> Result<Vec<String>, EnvironmentError> {
        self.unmet_with(None, false)
    }

    /// Like [`unmet`](GuardedSession::unmet), for an agent that ends with this text, or because the task cannot be done.
    pub(crate) fn unmet_with(&mut self, answer: Option<&str>, gave_up: bool) -> Result<Vec<String>, EnvironmentError> {
        let state = self.session.check(self.deadline())?;
        let (succeeded, verified) = (&self.succeeded, Some(&self.verified));
        let episode = EpisodeState { state: &state, succeeded, verified, answer, gave_up };
        Ok(self.context.scenario.unmet(&episode).iter().map(ToString::to_string).collect())
    }

    fn deadline(&self) -> Deadline {
        Deadline(self.context.environment.capabilities().call_timeout.map(|timeout| Instant::now() + timeout))
    }
}
