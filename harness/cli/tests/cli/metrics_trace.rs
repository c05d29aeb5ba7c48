//! The calls of episodes that are played again, and what is counted from them.

use std::sync::Arc;

use healbench_core::{
    Deadline, Environment, Outcome, ReplyOutcome, Script, Session, ToolCall, Turn, canonical_json, default_preamble,
};
use healbench_engine::WorldBase;
use healbench_reader::Profile;
use healbench_runner::{EpisodeEvent, Job, replay};
use healbench_scenarios::{EpisodeState, Scenario};
use healbench_tokens::TokenCounter;
use serde_json::json;

pub(crate) struct CallTrace {
    pub(crate) call: ToolCall,
    pub(crate) text: String,
    pub(crate) is_error: bool,
    pub(crate) class: Option<String>,
    pub(crate) named_fields: Option<Vec<String>>,
    pub(crate) leaked_fields: u64,
    pub(crate) state_changed: bool,
    pub(crate) is_intended: bool,
    pub(crate) told_answer: Option<bool>,
    /// The number of unmet expectations before and after the call.
    pub(crate) unmet: [usize; 2],
    /// The text of the failure without guardrails.
    pub(crate) bare_line: Option<String>,
    /// The notice that explains how to narrow a list.
    pub(crate) truncation_notice: Option<String>,
}

impl CallTrace {
    pub(crate) fn guardrail_tokens(&self, counter: &mut TokenCounter) -> u64 {
        match (&self.bare_line, &self.truncation_notice) {
            (Some(bare_line), _) => u64::from(counter.count(&self.text).saturating_sub(counter.count(bare_line))),
            (None, Some(truncation_notice)) => u64::from(counter.count(truncation_notice)),
            (None, None) => 0,
        }
    }
}

/// Everything that was said in an episode, in order.
pub(crate) enum Said {
    /// The agent took a turn, and received what fits into its context window.
    Turn,
    ByAgent(String),
    /// A call beyond the limit.
    Unmade(String),
    Response(String),
}

/// The messages and calls of one episode.
pub(crate) struct EpisodeTrace {
    pub(crate) prompt: String,
    pub(crate) preamble: String,
    pub(crate) context_window: u64,
    pub(crate) said: Vec<Said>,
    pub(crate) calls: Vec<CallTrace>,
    pub(crate) prose: Vec<String>,
    pub(crate) claims_done: bool,
    pub(crate) outcome: Outcome,
    pub(crate) scheduled: bool,
    pub(crate) perfect_calls: u64,
}

/// The calls that succeeded, made again in a session of their own.
struct Repetition<'a> {
    scenario: &'a Scenario,
    script: Script,
    session: Box<dyn Session + 'a>,
    succeeded: Vec<ToolCall>,
}

impl Repetition<'_> {
    fn count_unmet(&mut self) -> usize {
        let state = self.session.check(Deadline::NONE).unwrap();
        let episode =
            EpisodeState { state: &state, gave_up: false, succeeded: &self.succeeded, ..EpisodeState::default() };
        self.scenario.unmet(&episode).len()
    }

    /// Returns true if all arguments of an intended call are among those of the call.
    fn is_intended(&self, call: &ToolCall) -> bool {
        let contains = |intended: &ToolCall| {
            let given = call.object().map(|object| json!(object)).unwrap_or_default();
            let names = intended.object().unwrap();
            intended.tool == call.tool
                && names.iter().all(|(name, value)| canonical_json(&given[name]) == canonical_json(value))
        };
        self.script.steps.iter().any(|step| contains(&step.intended))
    }

    /// Makes the call if it succeeded, and returns the unmet expectations before and after it.
    fn repeat(&mut self, call: &ToolCall, is_error: bool) -> [usize; 2] {
        let before = self.count_unmet();
        if !is_error {
            let reply = self.session.call(call, Deadline::NONE).unwrap();
            assert!(!matches!(reply.outcome, ReplyOutcome::Failed(_)), "{call:?}");
            self.succeeded.push(call.clone());
        }
        [before, self.count_unmet()]
    }
}

pub(crate) fn trace_episode(job: &Job<'_>, episode: u64, profiles: &[Profile]) -> EpisodeTrace {
    let mut calls = Vec::new();
    let mut said = Vec::new();
    let (mut prose, mut claims_done, mut outcome) = (Vec::new(), false, None);
    let cell = job.plan.cell(episode).unwrap();
    let scenario = &job.scenarios[cell.scenario];
    let world = Arc::new(WorldBase::new(scenario.world(job.plan.seed, 0)));
    let simulator = scenario.simulator(Arc::clone(&world));
    let script = scenario.schedule(job.plan.seed, cell.trial, world.def()).script;
    let mut repetition = Repetition { scenario, script, session: simulator.open().unwrap(), succeeded: Vec::new() };
    let row = replay(job, episode, &mut |event| {
        said.extend(match &event {
            EpisodeEvent::Turn(
                Turn::Message { text } | Turn::Done { answer: text } | Turn::GiveUp { reason: text },
                _,
            ) => {
                vec![Said::Turn, Said::ByAgent(text.clone())]
            }
            // The calls beyond the limit are not made, and were said all the same.
            EpisodeEvent::Turn(Turn::Calls { calls: wanted, .. }, _) => {
                let left = scenario.task.max_calls as usize - calls.len();
                let unmade = wanted.iter().skip(left).map(|call| Said::Unmade(call.wire_text()));
                std::iter::once(Said::Turn).chain(unmade).collect()
            }
            EpisodeEvent::Turn(..) => vec![Said::Turn],
            EpisodeEvent::Call(call, answer, _) => {
                vec![Said::ByAgent(call.wire_text()), Said::Response(answer.response.text().into_owned())]
            }
            _ => Vec::new(),
        });
        match event {
            EpisodeEvent::Turn(Turn::Message { text }, _) => prose.push(text.clone()),
            EpisodeEvent::Turn(Turn::Done { answer }, _) => {
                prose.push(answer.clone());
                claims_done = true;
            }
            EpisodeEvent::Turn(Turn::GiveUp { reason }, _) => prose.push(reason.clone()),
            EpisodeEvent::Call(call, answer, row) => calls.push(CallTrace {
                call: call.clone(),
                text: answer.response.text().into_owned(),
                is_error: answer.response.is_error,
                class: answer.failure.as_ref().map(|failure| failure.class().to_string()),
                named_fields: answer.failure.as_ref().filter(|_| answer.names_fields).map(|failure| failure.fields()),
                leaked_fields: u64::from(answer.leaked_fields.unwrap()),
                state_changed: answer.state_changed.unwrap(),
                is_intended: repetition.is_intended(call),
                told_answer: row.told_answer,
                unmet: repetition.repeat(call, answer.response.is_error),
                bare_line: answer.unguarded_text(),
                truncation_notice: answer.truncation_notice.map(|block| answer.response.content[block].clone()),
            }),
            EpisodeEvent::End(ending, _) => outcome = Some(ending),
            _ => {}
        }
    });
    let (row, _) = row.unwrap().unwrap();
    EpisodeTrace {
        prompt: scenario.task.prompt.clone(),
        preamble: default_preamble(simulator.tools()),
        context_window: profiles[cell.agent].context_window,
        said,
        calls,
        prose,
        claims_done,
        outcome: outcome.unwrap(),
        scheduled: row.scheduled,
        perfect_calls: u64::from(row.perfect_calls),
    }
}

/// Returns the tokens that a model is billed for in the place of the agent, and those of responses that were never sent.
/// Every turn sends the preamble and the first texts of the conversation, as many tokens as fit into the window.
pub(crate) fn billed_and_unsent(episode: &EpisodeTrace, counter: &mut TokenCounter) -> (u64, u64) {
    let preamble = u64::from(counter.count(&episode.preamble));
    let room = episode.context_window.saturating_sub(preamble);
    // For each text where it begins and its tokens, and for each turn how much of the conversation it received.
    let mut conversation = vec![(0, u64::from(counter.count(&episode.prompt)), false)];
    let (mut received, mut output) = (Vec::new(), 0);
    for said in &episode.said {
        let (start, tokens, _) = conversation[conversation.len() - 1];
        let end = start + tokens;
        match said {
            Said::Turn => received.push(room.min(end)),
            Said::ByAgent(text) => {
                conversation.push((end, u64::from(counter.count(text)), false));
                output += u64::from(counter.count(text));
            }
            Said::Unmade(text) => output += u64::from(counter.count(text)),
            Said::Response(text) => conversation.push((end, u64::from(counter.count(text)), true)),
        }
    }
    let most = received.iter().copied().max().unwrap_or(0);
    let responses = conversation.iter().filter(|(.., is_response)| *is_response);
    let unsent = responses.map(|(start, tokens, _)| tokens - most.saturating_sub(*start).min(*tokens)).sum();
    let preamble = preamble.min(episode.context_window);
    (received.iter().map(|tokens| preamble + tokens).sum::<u64>() + output, unsent)
}

pub(crate) fn same_call(a: &CallTrace, b: &CallTrace) -> bool {
    a.call.tool == b.call.tool && canonical_json(&a.call.arguments) == canonical_json(&b.call.arguments)
}

/// Returns the top-level arguments that differ between two calls.
pub(crate) fn changed_arguments(before: &ToolCall, after: &ToolCall) -> Vec<String> {
    let side = |call: &ToolCall| call.object().cloned().unwrap_or_default();
    let (before, after) = (side(before), side(after));
    let mut names: Vec<String> = before.keys().chain(after.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|name| before.get(name) != after.get(name));
    names
}

/// The state of an error chain.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ChainState {
    Open,
    Fixed,
    WrongRepair,
}

/// Returns the chains of an episode: the number of calls of each, and its state at the end.
pub(crate) fn chains(episode_trace: &EpisodeTrace, scenario: &Scenario) -> Vec<(u64, ChainState)> {
    struct Chain {
        tool: String,
        action: Option<String>,
        calls: u64,
        state: ChainState,
    }
    let mut chains: Vec<Chain> = Vec::new();
    for trace in &episode_trace.calls {
        let tool = scenario.tools.iter().find(|tool| tool.name == trace.call.tool);
        let field = tool.and_then(|tool| tool.discriminator.as_deref());
        let action = field.and_then(|field| trace.call.object()?.get(field)?.as_str().map(str::to_owned));
        let lost = ["MISSING_DISCRIMINATOR", "UNKNOWN_ACTION", "UNKNOWN_TOOL"];
        let lost = trace.class.as_deref().is_some_and(|class| lost.contains(&class));
        let is_own =
            |chain: &Chain| chain.tool == trace.call.tool && (lost || chain.action.is_none() || chain.action == action);
        let open: Vec<usize> = (0..chains.len()).rev().filter(|at| chains[*at].state == ChainState::Open).collect();
        let own = open.iter().copied().find(|at| is_own(&chains[*at]));
        if trace.is_error {
            let at = own.unwrap_or(chains.len());
            if own.is_none() {
                let tool = trace.call.tool.clone();
                chains.push(Chain { tool, action: None, calls: 0, state: ChainState::Open });
            }
            chains[at].calls += 1;
            if !lost && chains[at].action.is_none() {
                chains[at].action = action;
            }
            continue;
        }
        let fixes = trace.unmet[1] < trace.unmet[0] || trace.is_intended && own.is_some();
        let is_wrong = trace.state_changed && !trace.is_intended;
        if let Some(at) = own.or(open.first().copied())
            && (fixes || is_wrong)
        {
            chains[at].calls += 1;
            // A call of the same action that only met an expectation is no repair of an episode that failed.
            let is_same = chains[at].tool == trace.call.tool && chains[at].action == action;
            let is_partial = is_same && !trace.is_intended && episode_trace.outcome != Outcome::Success;
            let is_fixed = fixes && !is_partial;
            chains[at].state = if is_fixed { ChainState::Fixed } else { ChainState::WrongRepair };
        }
    }
    chains.into_iter().map(|chain| (chain.calls, chain.state)).collect()
}

pub(crate) fn is_stuck(calls: &[CallTrace]) -> bool {
    let fails = |at: usize| calls[at].is_error;
    let row = (0..calls.len())
        .any(|at| at + 3 <= calls.len() && (at..at + 3).all(|next| fails(next) && same_call(&calls[next], &calls[at])));
    let turns = (0..calls.len()).any(|at| {
        at + 8 <= calls.len()
            && !same_call(&calls[at], &calls[at + 1])
            && (at..at + 8).all(|next| same_call(&calls[next], &calls[at + (next - at) % 2]))
            && (0..4).all(|pair| fails(at + 2 * pair) || fails(at + 2 * pair + 1))
    });
    let stuck = (0..calls.len()).any(|from| {
        let still = (from..calls.len()).take_while(|at| *at == from || !calls[*at].state_changed);
        fails(from) && still.filter(|at| fails(*at) && calls[*at].class == calls[from].class).count() >= 5
    });
    row || turns || stuck
}
