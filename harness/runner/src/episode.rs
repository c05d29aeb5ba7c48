use std::sync::Arc;

use healbench_engine::{Answer, Failure, World};
use healbench_protocol::{Agent, AgentError, DrawKey, Object, Origin, Start, ToolCall, ToolResponse, Turn, Usage};
use healbench_record::{CallRecord, CellRef, EpisodeRecord, ModelUse, Outcome, Plan, Tally};
use healbench_scenarios::{Observed, Schedule};

use crate::chains::number_chains;
use crate::memory::{Answered, Memory, Worded};
use crate::{MakeAgent, Stage};

/// What happens in an episode, for whoever wants to tell of it.
#[derive(Debug)]
pub enum Moment<'a> {
    /// The agent took a turn, which came from there.
    Turn(&'a Turn, Origin),
    /// A call of the turn was answered; the row is whole but for its chain.
    Answer(&'a ToolCall, &'a Answer, &'a CallRecord),
    /// The agent failed.
    Failed(&'a AgentError),
    /// The episode ended; these expectations do not hold.
    End(Outcome, &'a [String]),
}

/// Turns that an agent may take beyond its calls: prose and the closing words.
const SPARE_TURNS: u32 = 8;

/// Why an episode has no row.
#[derive(Debug)]
pub(crate) enum Unplayed {
    /// The run is being stopped.
    Stopped,
    /// A recorded answer is missing.
    NotRecorded(String),
    /// An answer cannot be recorded.
    NotKept(String),
}

/// Plays one episode from the task to its ending.
pub(crate) fn run_episode(
    plan: &Plan,
    cell: CellRef,
    stage: &Stage<'_>,
    make_agent: &MakeAgent<'_>,
    memory: &mut Memory,
    observe: &mut dyn FnMut(Moment<'_>),
) -> Result<(EpisodeRecord, Vec<CallRecord>), Unplayed> {
    memory.enter(cell);
    stage.with_schedule(cell.trial, |schedule| {
        let start = Start {
            prompt: &stage.scenario.task.prompt,
            tools: &stage.advertised,
            script: &schedule.script,
            scheduled: schedule.scheduled,
            trial: cell.trial,
            draws: DrawKey::of_trial(plan.seed, &stage.scenario.id, cell.trial),
        };
        let mut agent = make_agent(cell.agent, start);
        let mut in_play = InPlay::new(plan.episode(cell), stage, memory);
        in_play.has_model = plan.agents[cell.agent].opening.is_some();
        let ending = in_play.play(agent.as_mut(), observe)?;
        Ok(in_play.close(ending, schedule, observe))
    })
}

/// How the talking stopped.
enum Ending {
    Done,
    GaveUp,
    /// A model's calls brought about all that is expected: nothing that it says afterwards could matter.
    Goal,
    /// A model answered in words.
    Answered {
        /// Whether there were any.
        words: bool,
    },
    Limit,
    Failed(AgentError),
}

/// One episode in play: the world, and the rows so far.
struct InPlay<'a> {
    episode: u64,
    stage: &'a Stage<'a>,
    memory: &'a mut Memory,
    world: World,
    calls: Vec<CallRecord>,
    succeeded: Vec<ToolCall>,
    /// The latest call, if it failed.
    failed: Option<ToolCall>,
    turns: u32,
    prompt_tokens: u32,
    prose_tokens: u32,
    context_tokens: u64,
    has_model: bool,
    model: ModelUse,
}

impl<'a> InPlay<'a> {
    fn new(episode: u64, stage: &'a Stage<'a>, memory: &'a mut Memory) -> InPlay<'a> {
        let prompt_tokens = memory.tokens.count(&stage.scenario.task.prompt);
        InPlay {
            episode,
            stage,
            memory,
            world: World::new(Arc::clone(&stage.base)),
            calls: Vec::new(),
            succeeded: Vec::new(),
            failed: None,
            turns: 0,
            prompt_tokens,
            prose_tokens: 0,
            context_tokens: u64::from(prompt_tokens),
            has_model: false,
            model: ModelUse::default(),
        }
    }

    fn play(&mut self, agent: &mut dyn Agent, observe: &mut dyn FnMut(Moment<'_>)) -> Result<Ending, Unplayed> {
        let max_calls = self.stage.scenario.task.max_calls;
        let mut seen: Vec<Arc<Answered>> = Vec::new();
        loop {
            if self.turns >= max_calls.saturating_add(SPARE_TURNS) {
                return Ok(Ending::Limit);
            }
            let responses: Vec<&ToolResponse> = seen.iter().map(|answered| answered.response()).collect();
            let turn = match agent.next_turn(&responses) {
                Ok(turn) => turn,
                Err(AgentError::Stopped) => return Err(Unplayed::Stopped),
                Err(AgentError::NotRecorded(miss)) => return Err(Unplayed::NotRecorded(miss)),
                Err(AgentError::NotKept(reason)) => return Err(Unplayed::NotKept(reason)),
                Err(error) => {
                    observe(Moment::Failed(&error));
                    return Ok(Ending::Failed(error));
                }
            };
            self.turns += 1;
            let origin = agent.origin();
            if self.has_model {
                self.count_model(&turn, origin, agent.preamble());
            }
            observe(Moment::Turn(&turn, origin));
            seen.clear();
            match turn {
                Turn::Calls { calls, waited_s, text } => {
                    self.world.wait(waited_s);
                    if !text.is_empty() {
                        self.prose(&text);
                    }
                    let mut over = false;
                    for (index, call) in calls.into_iter().enumerate() {
                        over = self.calls.len() >= max_calls as usize;
                        if over {
                            break;
                        }
                        let waited_s = if index == 0 { waited_s } else { 0 };
                        seen.push(self.call(call, waited_s, observe));
                    }
                    let succeeded = seen.iter().any(|answered| !answered.response().is_error);
                    if matches!(origin, Origin::Model(_)) && succeeded && self.has_reached_the_goal() {
                        return Ok(Ending::Goal);
                    }
                    if over {
                        return Ok(Ending::Limit);
                    }
                }
                Turn::Say { text } => self.prose(&text),
                Turn::Done { answer } => {
                    self.prose(&answer);
                    return Ok(Ending::Done);
                }
                Turn::GiveUp { reason } => {
                    self.prose(&reason);
                    return Ok(Ending::GaveUp);
                }
                Turn::Answer { text } => {
                    self.prose(&text);
                    return Ok(Ending::Answered { words: !text.trim().is_empty() });
                }
                Turn::BrokenOff { text } => {
                    self.prose(&text);
                    return Ok(Ending::Limit);
                }
            }
        }
    }

    fn has_reached_the_goal(&self) -> bool {
        let seen = Observed { world: &self.world, gave_up: false, succeeded: &self.succeeded };
        self.stage.has_goal && self.stage.scenario.unmet_since(&self.stage.beginning, &seen).is_empty()
    }

    /// Counts what the turn took, before anything of it is a part of the conversation.
    fn count_model(&mut self, turn: &Turn, origin: Origin, preamble: &str) {
        let spent = match origin {
            Origin::Script => return,
            Origin::Opening => {
                self.model.opening_calls += if let Turn::Calls { calls, .. } = turn { calls.len() as u32 } else { 0 };
                return;
            }
            Origin::Model(spent) => spent,
        };
        let tokens = &mut self.memory.tokens;
        let first = self.model.turns == 0;
        self.model.turns += 1;
        self.model.latency_ms += spent.latency_ms;
        self.model.bpe_input += u64::from(tokens.count(preamble)) + self.context_tokens;
        self.model.bpe_output += match turn {
            Turn::Calls { calls, text, .. } => {
                let calls: u64 = calls.iter().map(|call| u64::from(tokens.count(&call.wire_text()))).sum();
                calls + u64::from(tokens.count(text))
            }
            Turn::Say { text } | Turn::Answer { text } | Turn::BrokenOff { text } => u64::from(tokens.count(text)),
            Turn::Done { answer } => u64::from(tokens.count(answer)),
            Turn::GiveUp { reason } => u64::from(tokens.count(reason)),
        };
        // What one turn does not tell, the episode does not know.
        self.model.usage = match (self.model.usage, spent.usage) {
            (None, usage) if first => usage,
            (Some(sum), Some(usage)) => Some(add_usage(sum, usage)),
            _ => None,
        };
        self.model.usd = match (self.model.usd, spent.usd) {
            (None, usd) if first => usd,
            (Some(sum), Some(usd)) => Some(sum + usd),
            _ => None,
        };
    }

    fn prose(&mut self, text: &str) {
        let tokens = self.memory.tokens.count(text);
        self.prose_tokens += tokens;
        self.context_tokens += u64::from(tokens);
    }

    fn call(&mut self, call: ToolCall, waited_s: u32, observe: &mut dyn FnMut(Moment<'_>)) -> Arc<Answered> {
        let (worded, answered) = self.memory.ask(self.stage, &mut self.world, &call);
        let row = self.row(&call, &worded, &answered, waited_s);
        observe(Moment::Answer(&call, &answered.answer, &row));
        self.context_tokens += u64::from(row.request_tokens) + u64::from(row.response_tokens);
        self.calls.push(row);
        self.failed = if answered.response().is_error {
            Some(call)
        } else {
            self.succeeded.push(call);
            None
        };
        answered
    }

    /// The call before the one at hand.
    fn previous(&self) -> Option<&ToolCall> {
        self.failed.as_ref().or(self.succeeded.last())
    }

    fn row(&self, call: &ToolCall, worded: &Worded, answered: &Answered, waited_s: u32) -> CallRecord {
        let Answered { answer, .. } = answered;
        let failed_before =
            |row: &CallRecord| row.is_error && row.tool == worded.tool && row.arguments == worded.arguments;
        CallRecord {
            episode: self.episode,
            call: self.calls.len() as u32 + 1,
            turn: self.turns,
            tool: Arc::clone(&worded.tool),
            action: worded.action.clone(),
            arguments: Arc::clone(&worded.arguments),
            is_error: answer.response.is_error,
            error_class: answered.error_class.clone(),
            injected: matches!(answer.failure, Some(Failure::Fault(_))),
            named_fields: answered.named_fields.clone(),
            changed_fields: self.previous().map(|previous| changed(previous, call).into()),
            leaked_fields: answer.leaked_fields,
            omitted_rows: answer.omitted_rows,
            contract_deltas: answer.contract_deltas,
            world_changed: answer.world_changed,
            repeats_failed: self.calls.iter().any(failed_before),
            chain: None,
            waited_s,
            request_tokens: worded.tokens,
            response_tokens: answered.mark.tokens,
            response_hash: answered.mark.hash,
            guardrail_tokens: answered.guardrail_tokens,
            context_tokens: self.context_tokens,
        }
    }

    fn close(
        mut self,
        ending: Ending,
        schedule: &Schedule,
        observe: &mut dyn FnMut(Moment<'_>),
    ) -> (EpisodeRecord, Vec<CallRecord>) {
        // Words are not judged: where stopping is right, a model that answers instead of calling has stopped.
        let stopped = matches!(ending, Ending::Answered { words: true }) && self.stage.scenario.expects_stop();
        let gave_up = stopped || matches!(ending, Ending::GaveUp);
        let seen = Observed { world: &self.world, gave_up, succeeded: &self.succeeded };
        let unmet = self.stage.scenario.unmet_since(&self.stage.beginning, &seen);
        let outcome = match &ending {
            Ending::Failed(AgentError::Config(_)) => Outcome::Config,
            Ending::Failed(_) => Outcome::Infra,
            Ending::Limit => Outcome::Limit,
            Ending::Goal => Outcome::Success,
            Ending::Done | Ending::GaveUp | Ending::Answered { .. }
                if unmet.is_empty() && gave_up == self.stage.scenario.expects_stop() =>
            {
                Outcome::Success
            }
            Ending::Done | Ending::Answered { .. } => Outcome::TaskFail,
            Ending::GaveUp => Outcome::GaveUp,
        };
        let unmet: Vec<String> = unmet.iter().map(|expectation| expectation.to_string()).collect();
        observe(Moment::End(outcome, &unmet));
        number_chains(&mut self.calls);
        let record = EpisodeRecord {
            episode: self.episode,
            outcome,
            claimed_done: matches!(ending, Ending::Done | Ending::Answered { words: true }),
            scheduled: schedule.scheduled,
            schedule_hash: schedule.hash.clone(),
            turns: self.turns,
            calls: self.calls.len() as u32,
            perfect_calls: schedule.script.steps.len() as u32,
            prompt_tokens: self.prompt_tokens,
            prose_tokens: self.prose_tokens,
            tally: Tally::of(&self.calls),
            model: self.has_model.then(|| Box::new(self.model)),
        };
        (record, self.calls)
    }
}

/// The sum of two counts; what one of them does not tell, the sum does not.
fn add_usage(a: Usage, b: Usage) -> Usage {
    let both = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    Usage {
        input: a.input.saturating_add(b.input),
        cache_read: both(a.cache_read, b.cache_read),
        cache_write: both(a.cache_write, b.cache_write),
        output: a.output.saturating_add(b.output),
        reasoning: both(a.reasoning, b.reasoning),
    }
}

/// The top-level arguments that differ from `previous`, sorted.
fn changed(previous: &ToolCall, call: &ToolCall) -> Vec<String> {
    let empty = Object::new();
    let previous = previous.object().unwrap_or(&empty);
    let current = call.object().unwrap_or(&empty);
    let differs = |name: &&String| previous.get(*name) != current.get(*name);
    let mut names: Vec<String> = current.keys().filter(differs).cloned().collect();
    names.extend(previous.keys().filter(|name| !current.contains_key(*name)).cloned());
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn changed_fields_are_added_removed_or_different() {
        let before = json!({"same": 1, "gone": 1, "new_value": 1});
        let arguments: Value = json!({"same": 1, "new_value": 2, "added": null});
        let call = |arguments| ToolCall { tool: "t".to_owned(), arguments };
        assert_eq!(changed(&call(before), &call(arguments)), ["added", "gone", "new_value"]);
    }
}
