mod ending;
mod goals;

use std::sync::Arc;
use std::time::Instant;

use healbench_core::{
    Agent, AgentError, AgentKind, CallRecord, CellRef, Deadline, DrawKey, EnvironmentError, EpisodeCounts,
    EpisodeRecord, EpisodeStart, FaultKind, ModelUsage, Opening, Origin, Outcome, Plan, ProgramReport, Reply, Script,
    Session, Surroundings, ToolCall, ToolResponse, Turn, changed_arguments, follow,
};
use healbench_engine::{Faults, GuardedReply};
use healbench_scenarios::{EpisodeState, Schedule, VerifiedRows};

use self::ending::Ending;
use crate::billing::Billing;
use crate::chains::{Chains, fails_by_design, is_intended, meant_step};
use crate::model_usage::add_turn;
use crate::response_cache::{CachedResponse, CallText, ResponseCache};
use crate::{AgentFactory, ScenarioContext};

/// An event of an episode, for observers.
#[derive(Debug)]
pub enum EpisodeEvent<'a> {
    /// The agent took a turn with this origin.
    Turn(&'a Turn, Origin),
    /// A call of the turn was answered.
    Call(&'a ToolCall, &'a GuardedReply, &'a CallRecord),
    /// What an agent program did besides calling tools.
    Program(&'a ProgramReport),
    Failed(&'a AgentError),
    /// The episode ended; the texts describe the expectations that do not hold.
    End(Outcome, &'a [String]),
}

/// The number of turns allowed in addition to the call limit, for messages and the closing answer.
const MAX_EXTRA_TURNS: u32 = 8;

/// The reason why an episode has no row.
#[derive(Debug)]
pub(crate) enum EpisodeAborted {
    /// The run is being stopped.
    Stopped,
    /// A recorded answer is missing.
    RecordingMissing(String),
    /// An answer cannot be recorded.
    RecordingFailed(String),
}

/// Runs one episode from the task to its ending.
pub(crate) fn run_episode(
    plan: &Plan,
    cell: CellRef,
    context: &ScenarioContext<'_>,
    make_agent: &AgentFactory<'_>,
    cache: &mut ResponseCache,
    observe: &mut dyn FnMut(EpisodeEvent<'_>),
) -> Result<(EpisodeRecord, Vec<CallRecord>), EpisodeAborted> {
    cache.enter_cell(cell, context.world_number(cell.trial));
    let schedule = &*context.schedule(cell.trial);
    let spec = &plan.agents[cell.agent];
    let opening = match spec.opening {
        Some(Opening::Seeded) => schedule.opening_turns(),
        Some(Opening::Natural) | None => Vec::new(),
    };
    let script = (spec.kind == AgentKind::Scripted).then_some(&schedule.script);
    let start = EpisodeStart {
        prompt: &context.scenario.task.prompt,
        tools: context.environment.tools(),
        opening: &opening,
        episode: plan.episode(cell),
        trial: cell.trial,
        draws: DrawKey::of_trial(plan.seed, context.scenario.draw_id(), cell.trial),
    };
    let mut agent = make_agent(cell.agent, start, script);
    let (session, unavailable): (Box<dyn Session + '_>, _) = match context.open_session(cell.trial) {
        Ok(session) => (session, None),
        Err(error) => (Box::new(Unavailable(error.clone())), Some(error)),
    };
    let mut episode_run = EpisodeRun::new(plan, cell, context, session, &schedule.script, cache);
    episode_run.has_model = spec.opening.is_some();
    episode_run.is_program = spec.kind == AgentKind::Program;
    let ending = match unavailable {
        None => {
            let ending = episode_run.run(agent.as_mut(), observe)?;
            if let Some(report) = agent.program_report() {
                observe(EpisodeEvent::Program(&report));
                episode_run.model.usage = report.usage;
            }
            episode_run.model.diagnostics = agent.diagnostics().to_vec();
            // The processes of a program end before its state is judged.
            drop(agent);
            ending
        }
        // Do not call the model if the environment cannot be opened.
        Some(error) => lost(&error, observe)?,
    };
    episode_run.finish(ending, schedule, observe)
}

/// The session of an environment that could not be opened.
pub(crate) struct Unavailable(pub(crate) EnvironmentError);

impl Session for Unavailable {
    fn call<'s>(&'s mut self, _: &ToolCall, _: Deadline) -> Result<Reply<'s>, EnvironmentError> {
        Err(self.0.clone())
    }

    fn check(&mut self, _: Deadline) -> Result<Vec<bool>, EnvironmentError> {
        Err(self.0.clone())
    }
}

/// Ends an episode whose environment gave no reply.
fn lost(error: &EnvironmentError, observe: &mut dyn FnMut(EpisodeEvent<'_>)) -> Result<Ending, EpisodeAborted> {
    if matches!(error, EnvironmentError::Stopped) {
        return Err(EpisodeAborted::Stopped);
    }
    let error = AgentError::Environment(error.to_string());
    observe(EpisodeEvent::Failed(&error));
    Ok(Ending::Failed(error))
}

/// The state of an episode: the session, and the rows so far.
struct EpisodeRun<'a> {
    episode: u64,
    agent: usize,
    context: &'a ScenarioContext<'a>,
    cache: &'a mut ResponseCache,
    session: Box<dyn Session + 'a>,
    script: &'a Script,
    faults: Faults,
    calls: Vec<CallRecord>,
    succeeded: Vec<ToolCall>,
    /// The calls that failed as the script says.
    failed_by_design: Vec<ToolCall>,
    /// The rows that were read after they were written.
    verified: VerifiedRows,
    /// The closing text.
    answer: String,
    /// The latest call, if it failed.
    failed: Option<ToolCall>,
    chains: Chains,
    /// The number of unmet expectations before the latest call, while an error chain is open.
    unmet: usize,
    /// True if an expectation does not hold initially.
    initially_unmet: bool,
    /// The results of the checks of the state, if no call can have changed them since.
    state: Option<Vec<bool>>,
    turns: u32,
    prompt_tokens: u32,
    prose_tokens: u32,
    billing: Billing,
    has_model: bool,
    /// True for a program, whose turns are not known.
    is_program: bool,
    model: ModelUsage,
}

impl<'a> EpisodeRun<'a> {
    fn new(
        plan: &Plan,
        cell: CellRef,
        context: &'a ScenarioContext<'a>,
        session: Box<dyn Session + 'a>,
        script: &'a Script,
        cache: &'a mut ResponseCache,
    ) -> EpisodeRun<'a> {
        let prompt_tokens = cache.tokens.count(&context.scenario.task.prompt);
        EpisodeRun {
            episode: plan.episode(cell),
            agent: cell.agent,
            context,
            cache,
            session,
            script,
            faults: context.new_faults(cell.trial),
            calls: Vec::new(),
            succeeded: Vec::new(),
            failed_by_design: Vec::new(),
            verified: VerifiedRows::none_of(context.scenario),
            answer: String::new(),
            failed: None,
            chains: Chains::default(),
            unmet: context.initial_state(cell.trial).unmet,
            initially_unmet: context.initial_state(cell.trial).unmet > 0,
            state: None,
            turns: 0,
            prompt_tokens,
            prose_tokens: 0,
            billing: Billing::new(prompt_tokens),
            has_model: false,
            is_program: false,
            model: ModelUsage::default(),
        }
    }

    fn run(
        &mut self,
        agent: &mut dyn Agent,
        observe: &mut dyn FnMut(EpisodeEvent<'_>),
    ) -> Result<Ending, EpisodeAborted> {
        let max_calls = self.context.scenario.task.max_calls;
        let mut cached_responses: Vec<Arc<CachedResponse>> = Vec::new();
        loop {
            if self.turns >= max_calls.saturating_add(MAX_EXTRA_TURNS) {
                return Ok(Ending::TurnLimit);
            }
            let responses: Vec<&ToolResponse> = cached_responses.iter().map(|cached| cached.response()).collect();
            let turn = match agent.next_turn(&responses) {
                Ok(turn) => turn,
                Err(AgentError::Stopped) => return Err(EpisodeAborted::Stopped),
                Err(AgentError::RecordingMissing(miss)) => return Err(EpisodeAborted::RecordingMissing(miss)),
                Err(AgentError::RecordingFailed(reason)) => return Err(EpisodeAborted::RecordingFailed(reason)),
                Err(error) => {
                    observe(EpisodeEvent::Failed(&error));
                    return Ok(Ending::Failed(error));
                }
            };
            self.turns += 1;
            self.count_turn(&turn, agent);
            let origin = agent.origin();
            observe(EpisodeEvent::Turn(&turn, origin));
            cached_responses.clear();
            match turn {
                Turn::Calls { calls, waited_s, text } => {
                    self.session.wait(waited_s);
                    self.faults.wait(waited_s);
                    if !text.is_empty() {
                        self.count_prose(&text);
                    }
                    match self.make_calls(calls, waited_s, agent, observe, &mut cached_responses) {
                        Ok(None) => {}
                        Ok(Some(ending)) => return Ok(ending),
                        Err(error) => return lost(&error, observe),
                    }
                }
                Turn::Message { text } => self.count_prose(&text),
                Turn::Done { answer } => {
                    self.count_prose(&answer);
                    self.answer = answer;
                    return Ok(Ending::Done);
                }
                Turn::GiveUp { reason } => {
                    self.count_prose(&reason);
                    self.answer = reason;
                    return Ok(Ending::GaveUp);
                }
                Turn::Refused { reason } => {
                    self.count_prose(&reason);
                    return Ok(Ending::Refused);
                }
                Turn::Answer { text } => {
                    self.count_prose(&text);
                    let has_text = !text.trim().is_empty();
                    self.answer = text;
                    return Ok(Ending::AnsweredInWords { has_text });
                }
                Turn::Incomplete { text } => {
                    self.count_prose(&text);
                    return Ok(Ending::Incomplete);
                }
                Turn::TooLong { .. } => return Ok(Ending::TooLong),
            }
        }
    }

    /// Makes the calls of a turn, and returns the ending if they end the episode.
    fn make_calls(
        &mut self,
        calls: Vec<ToolCall>,
        waited_s: u32,
        agent: &mut dyn Agent,
        observe: &mut dyn FnMut(EpisodeEvent<'_>),
        cached_responses: &mut Vec<Arc<CachedResponse>>,
    ) -> Result<Option<Ending>, EnvironmentError> {
        let max_calls = self.context.scenario.task.max_calls;
        let is_of_model = matches!(agent.origin(), Origin::Model(_));
        let mut limit_reached = false;
        for (index, call) in calls.into_iter().enumerate() {
            limit_reached = self.calls.len() >= max_calls as usize;
            if limit_reached {
                let tokens = self.cache.tokens.count(&call.wire_text());
                self.billing.add_dropped_output(tokens);
                continue;
            }
            let waited_s = if index == 0 { waited_s } else { 0 };
            let cached = self.make_call(call, waited_s, observe)?;
            if self.is_program {
                agent.receive_result(cached.answer.call_result());
            }
            cached_responses.push(cached);
        }
        let succeeded = cached_responses.iter().any(|cached| cached.answer.took_effect());
        if is_of_model && succeeded && self.goal_reached()? {
            return Ok(Some(Ending::GoalReached));
        }
        Ok(limit_reached.then_some(Ending::CallLimit))
    }

    /// Returns the time by which the next call must be answered.
    fn deadline(&self) -> Deadline {
        Deadline(self.context.environment.capabilities().call_timeout.map(|timeout| Instant::now() + timeout))
    }

    /// Adds the cost of a turn; must be called before the turn becomes part of the conversation.
    fn count_turn(&mut self, turn: &Turn, agent: &dyn Agent) {
        self.billing.begin_unbilled_turn();
        match agent.origin() {
            Origin::Script if !self.has_model => {}
            Origin::Model(cost) => add_turn(&mut self.model, &cost),
            Origin::Script | Origin::Program | Origin::User => return,
            Origin::Opening => {
                self.model.opening_calls += if let Turn::Calls { calls, .. } = turn { calls.len() as u32 } else { 0 };
                return;
            }
        }
        let tokens = &mut self.cache.tokens;
        let preamble = self.context.preamble_tokens[self.agent].get_or_init(|| tokens.count(&agent.preamble()));
        self.billing.begin_turn(*preamble, agent.context_window());
    }

    fn count_prose(&mut self, text: &str) {
        let tokens = self.cache.tokens.count(text);
        self.prose_tokens += tokens;
        self.billing.add_output(tokens);
    }

    fn make_call(
        &mut self,
        call: ToolCall,
        waited_s: u32,
        observe: &mut dyn FnMut(EpisodeEvent<'_>),
    ) -> Result<Arc<CachedResponse>, EnvironmentError> {
        let deadline = self.deadline();
        let (session, faults) = (self.session.as_mut(), &mut self.faults);
        let called_at_s = faults.elapsed_s();
        let (call_text, cached) = self.cache.respond(self.context, session, faults, &call, deadline)?;
        let passed_s = u32::try_from(faults.elapsed_s() - called_at_s).unwrap_or(u32::MAX);
        let mut row = self.make_row(&call, &call_text, &cached, waited_s.saturating_add(passed_s));
        row.reading = self.cache.read(self.context, &call, &cached);
        let fails_by_design = row.is_error && fails_by_design(self.script, &call, &row);
        if row.is_error && !fails_by_design && !cached.answer.is_misleading() && !self.script.steps.is_empty() {
            let made = self.succeeded.iter().chain(&self.failed_by_design);
            let step = meant_step(self.script, self.context.environment.tools(), made, &call);
            let told = step.is_some_and(|step| self.cache.tells_answer(self.context, step, &call, &cached));
            row.told_answer = Some(told);
        }
        self.verified.note(&cached.verifications);
        self.failed = None;
        if row.state_changed != Some(false) || self.context.may_change_meanwhile {
            self.state = None;
        }
        let took_effect = cached.answer.took_effect();
        if fails_by_design {
            self.failed_by_design.push(call.clone());
        }
        match took_effect {
            false => self.failed = Some(call),
            true => self.succeeded.push(call),
        }
        if !fails_by_design {
            self.add_to_chain(&mut row, took_effect)?;
        }
        if let Some(call) = self.previous() {
            observe(EpisodeEvent::Call(call, &cached.answer, &row));
        }
        self.billing.add_output(row.request_tokens);
        self.billing.add_response(row.response_tokens);
        self.calls.push(row);
        Ok(cached)
    }

    /// Returns a number that follows from the turns; `None` for a program.
    fn known<T>(&self, number: T) -> Option<T> {
        (!self.is_program).then_some(number)
    }

    /// Returns the usage of the model: that of a model that took no turn is known to be nothing.
    fn model(&self) -> ModelUsage {
        let ModelUsage { turns, latency_ms, .. } = self.model;
        ModelUsage { turns: turns.or(self.known(0)), latency_ms: latency_ms.or(self.known(0)), ..self.model.clone() }
    }

    /// Returns the latest call.
    fn previous(&self) -> Option<&ToolCall> {
        self.failed.as_ref().or(self.succeeded.last())
    }

    fn make_row(&self, call: &ToolCall, call_text: &CallText, cached: &CachedResponse, waited_s: u32) -> CallRecord {
        let CachedResponse { answer, .. } = cached;
        let failed_before =
            |row: &CallRecord| row.is_error && row.tool == call_text.tool && row.arguments == call_text.arguments;
        CallRecord {
            episode: self.episode,
            call: self.calls.len() as u32 + 1,
            turn: self.known(self.turns),
            tool: Arc::clone(&call_text.tool),
            action: call_text.action.clone(),
            arguments: Arc::clone(&call_text.arguments),
            is_error: answer.response.is_error,
            error_class: cached.error_class.clone(),
            injected: answer.fault.is_some() || answer.is_misleading(),
            fault: if answer.is_misleading() { Some(FaultKind::Misleading) } else { answer.fault },
            named_fields: cached.named_fields.clone(),
            changed_fields: self.previous().map(|previous| changed_arguments(previous, call).into()),
            leaked_fields: answer.leaked_fields,
            omitted_rows: answer.omitted_rows,
            contract_deltas: answer.contract_deltas,
            state_changed: answer.state_changed,
            repeated: self.calls.iter().any(failed_before),
            intended: is_intended(self.script, call),
            told_answer: None,
            chain: None,
            chain_end: None,
            waited_s,
            request_tokens: call_text.tokens,
            response_tokens: cached.digest.tokens,
            tokens_estimated: call_text.is_estimated || cached.digest.is_estimated,
            response_hash: cached.digest.hash,
            guardrail_tokens: cached.guardrail_tokens,
            context_tokens: self.known(self.billing.conversation()),
            error_source: None,
            reading: None,
            attempt_of: None,
            aftermath: None,
        }
    }

    fn finish(
        mut self,
        mut ending: Ending,
        schedule: &Schedule,
        observe: &mut dyn FnMut(EpisodeEvent<'_>),
    ) -> Result<(EpisodeRecord, Vec<CallRecord>), EpisodeAborted> {
        // Text is not judged: if stopping is expected, a model that answers with text instead of calls has stopped.
        let stopped_calling =
            matches!(ending, Ending::AnsweredInWords { has_text: true }) && self.context.scenario.expects_stop();
        let gave_up = stopped_calling || matches!(ending, Ending::GaveUp);
        let state = match self.check_state() {
            Ok(state) => state,
            Err(error) => {
                if !matches!(ending, Ending::Failed(_)) {
                    ending = lost(&error, observe)?;
                }
                Vec::new()
            }
        };
        let (succeeded, verified) = (&self.succeeded, Some(&self.verified));
        let answer = Some(self.answer.as_str());
        let episode = EpisodeState { state: &state, gave_up, succeeded, verified, answer };
        let unmet = self.context.scenario.unmet(&episode);
        let outcome = ending.outcome(unmet.is_empty());
        let shown: Vec<String> = unmet.iter().map(ToString::to_string).collect();
        observe(EpisodeEvent::End(outcome, &shown));
        if !self.context.state_is_cheap && unmet.is_empty() {
            self.fix_latest_write();
        }
        if !unmet.is_empty() {
            self.unfix_partial_repairs();
        }
        follow(&mut self.calls, Surroundings { is_cut_off: ending.is_cut_off(), ..Surroundings::default() });
        let record = EpisodeRecord {
            episode: self.episode,
            outcome,
            ended_by: ending.ended_by(),
            claimed_done: matches!(ending, Ending::Done | Ending::AnsweredInWords { has_text: true }),
            scheduled: if self.is_program { self.context.fails_by_itself() } else { schedule.scheduled },
            schedule_hash: schedule.hash.clone(),
            turns: self.known(self.turns),
            calls: self.calls.len() as u32,
            tags: Vec::new(),
            perfect_calls: schedule.script.perfect_calls() as u32,
            prompt_tokens: self.prompt_tokens,
            prose_tokens: self.known(self.prose_tokens),
            counts: EpisodeCounts::from_calls(&self.calls),
            billed: self.known(self.billing.finish()),
            model: self.has_model.then(|| Box::new(self.model())),
        };
        Ok((record, self.calls))
    }
}
