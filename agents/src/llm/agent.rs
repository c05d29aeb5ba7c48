//! The agent itself: what was said so far, and what to make of an answer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use healbench_protocol::{
    Agent, AgentError, Opening, Origin, Script, Spent, Start, ToolCall, ToolResponse, ToolsMode, Turn,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cassette::{Cassette, Claim, Recorded, Request};
use super::endpoint::{AskError, Endpoint};
use super::{
    Api, Arguments, CallResult, Conversation, EpisodeSlot, Function, Message, Model, Reply, Said, SentCall, Stop,
    Unreadable, Wire, prompted, tools,
};

/// Where answers come from.
pub enum Line {
    /// The model.
    Live(Endpoint),
    /// The model, and what it says is recorded. What has been recorded already is not asked again.
    Recording(Endpoint, Arc<Cassette>),
    /// The recording, and nothing else.
    Replay(Arc<Cassette>),
}

impl Line {
    /// The endpoint, where models are asked.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            Line::Live(endpoint) | Line::Recording(endpoint, _) => Some(endpoint),
            Line::Replay(_) => None,
        }
    }
}

/// A model of a plan with its way to it: makes the agents of its episodes, on any thread.
pub struct Player {
    /// Its settings.
    pub model: Model,
    /// How its episodes begin.
    pub opening: Opening,
    /// Where its answers come from.
    pub line: Arc<Line>,
    /// Raised to stop the run.
    pub stop: Arc<AtomicBool>,
    /// The date that recordings get: `2026-11-22`.
    pub today: String,
}

impl Player {
    /// The agent of one episode.
    pub fn agent<'s>(self: &Arc<Player>, start: Start<'s>) -> LlmAgent<'s> {
        let functions = tools::functions(start.tools);
        let (system, native) = offered(&self.model, functions.clone());
        let preamble = preamble(&system, &native);
        let opening = match self.opening {
            Opening::Seeded => opening_steps(start.script, start.scheduled),
            Opening::Natural => 0,
        };
        LlmAgent {
            player: Arc::clone(self),
            start,
            functions,
            conversation: Conversation {
                system,
                tools: native,
                messages: vec![Message::User(start.prompt.to_owned())],
            },
            preamble,
            opening,
            opened: 0,
            waiting: Vec::new(),
            origin: Origin::Script,
            calls: 0,
            cut: false,
            tokens: 0,
            seed: (start.draws.draws("model", 0).bits() >> 33) as u32,
            slot: None,
        }
    }
}

/// What a model is told with every request beside the conversation: the same text that [`Agent::preamble`] gives.
pub fn preamble_of(model: &Model, tool_specs: &[healbench_protocol::ToolSpec]) -> String {
    let (system, native) = offered(model, tools::functions(tool_specs));
    preamble(&system, &native)
}

/// The system text, and the functions for the API's own field.
fn offered(model: &Model, functions: Vec<Function>) -> (String, Vec<Function>) {
    match model.tools {
        ToolsMode::Native => (model.system.trim().to_owned(), functions),
        ToolsMode::Prompt => (prompted::system(&model.system, &functions), Vec::new()),
    }
}

fn preamble(system: &str, native: &[Function]) -> String {
    let mut text = system.to_owned();
    for function in native {
        let line =
            json!({"name": function.name, "description": function.description, "parameters": function.parameters});
        text.push('\n');
        text.push_str(&line.to_string());
    }
    text
}

/// How many steps of the script a seeded opening takes: up to the first mistake. Where a fault is scheduled and no mistake, the first
/// step, and where nothing is, none: what goes right is left to the model.
pub fn opening_steps(script: &Script, scheduled: bool) -> usize {
    let mistaken = script.steps.iter().position(|step| step.belief != step.intent);
    match mistaken {
        _ if !scheduled => 0,
        Some(at) => at + 1,
        None => script.steps.len().min(1),
    }
}

/// A model in one episode.
pub struct LlmAgent<'s> {
    player: Arc<Player>,
    start: Start<'s>,
    functions: Vec<Function>,
    conversation: Conversation,
    preamble: String,
    /// Steps of the script that the opening takes, and how many it has taken.
    opening: usize,
    opened: usize,
    /// The calls that are being answered.
    waiting: Vec<(String, String)>,
    origin: Origin,
    /// Calls that were made.
    calls: u32,
    /// Whether the limit on calls cut some off, so that the conversation cannot go on.
    cut: bool,
    /// By the provider's usage.
    tokens: u64,
    seed: u32,
    /// Held from the first request to the end of the episode.
    slot: Option<EpisodeSlot>,
}

impl Agent for LlmAgent<'_> {
    fn next_turn(&mut self, seen: &[&ToolResponse]) -> Result<Turn, AgentError> {
        let went_wrong = seen.iter().any(|response| response.is_error);
        self.hear(seen);
        // An error before the scheduled one: from here on it is the model's.
        if went_wrong {
            self.opening = self.opened;
        }
        if self.opened < self.opening {
            return Ok(self.open());
        }
        let tokens = self.player.model.limits.episode_tokens.is_some_and(|limit| self.tokens >= limit);
        if tokens || self.cut {
            let what = if tokens { "tokens" } else { "calls" };
            self.origin = Origin::Script;
            return Ok(Turn::BrokenOff { text: format!("the episode's limit on {what} is reached") });
        }
        self.ask()
    }

    fn origin(&self) -> Origin {
        self.origin
    }

    fn preamble(&self) -> &str {
        &self.preamble
    }
}

impl LlmAgent<'_> {
    fn prompted(&self) -> bool {
        self.player.model.tools == ToolsMode::Prompt
    }

    /// Puts responses into the conversation.
    fn hear(&mut self, seen: &[&ToolResponse]) {
        let answered = std::mem::take(&mut self.waiting);
        self.calls += answered.len() as u32;
        if answered.is_empty() {
            return;
        }
        let result = |((id, name), response): ((String, String), &&ToolResponse)| CallResult {
            id,
            name,
            text: response.text().into_owned(),
            is_error: response.is_error,
        };
        let results: Vec<CallResult> = answered.into_iter().zip(seen).map(result).collect();
        self.conversation.messages.push(match self.prompted() {
            true => Message::User(prompted::results(&results)),
            false => Message::Results(results),
        });
    }

    /// The next call of the opening, as if the model had made it.
    fn open(&mut self) -> Turn {
        let call = self.start.script.steps[self.opened].belief.clone();
        self.opened += 1;
        self.origin = Origin::Opening;
        // Mistral takes ids of exactly nine letters and digits.
        let id = format!("opening{:02}", self.opened % 100);
        self.waiting.push((id.clone(), call.tool.clone()));
        let said = match self.prompted() {
            true => Said { text: prompted::call_text(&call.tool, &call.arguments), ..Said::default() },
            false => Said {
                text: String::new(),
                calls: vec![SentCall {
                    id,
                    name: call.tool.clone(),
                    arguments: Arguments::Json(call.arguments.clone()),
                }],
                own: None,
            },
        };
        self.conversation.messages.push(Message::Assistant(said));
        Turn::Calls { calls: vec![call], waited_s: 0, text: String::new() }
    }

    fn ask(&mut self) -> Result<Turn, AgentError> {
        match self.answer()? {
            Heard::Answer { reply, latency_ms } => {
                let Reply { said, stop, usage } = reply;
                // A count that no model could reach is none.
                let usage = usage.filter(|usage| usage.input < IMPLAUSIBLE && usage.output < IMPLAUSIBLE);
                let usd = usage.zip(self.player.model.price).map(|(usage, price)| price.usd(&usage));
                self.origin = Origin::Model(Spent { usage, usd, latency_ms });
                self.tokens += usage.map_or(0, |usage| usage.input + usage.output);
                Ok(self.take(said, stop))
            }
            Heard::Nothing { why, whose } => {
                // Nothing tells what an answer took that its server could not read; a request that was turned down took nothing.
                self.origin = if whose == Whose::Server { Origin::Model(Spent::default()) } else { Origin::Script };
                Ok(match whose {
                    Whose::Policy => Turn::GiveUp { reason: why },
                    Whose::Room | Whose::Server => Turn::BrokenOff { text: why },
                })
            }
        }
    }

    /// What an answer means.
    fn take(&mut self, mut said: Said, stop: Stop) -> Turn {
        self.tell_apart(&mut said);
        let (calls, text) = match self.prompted() {
            true => prompted::calls(&said.text, &self.functions),
            false => (said.calls.clone(), said.text.clone()),
        };
        self.conversation.messages.push(Message::Assistant(said));
        if calls.is_empty() {
            return match stop {
                Stop::End => Turn::Answer { text },
                Stop::Length | Stop::Unparsed => Turn::BrokenOff { text },
                Stop::Refusal => Turn::GiveUp { reason: text },
            };
        }
        let limit = self.player.model.limits.episode_calls.unwrap_or(u32::MAX);
        let room = limit.saturating_sub(self.calls) as usize;
        if room == 0 {
            return Turn::BrokenOff { text: "the episode's limit on calls is reached".to_owned() };
        }
        self.cut = calls.len() > room;
        let calls: Vec<SentCall> = calls.into_iter().take(room).collect();
        self.waiting = calls.iter().map(|call| (call.id.clone(), call.name.clone())).collect();
        let call = |call: SentCall| ToolCall {
            tool: call.name,
            arguments: match call.arguments {
                Arguments::Json(value) => value,
                Arguments::Text(text) => Value::String(text),
            },
        };
        Turn::Calls { calls: calls.into_iter().map(call).collect(), waited_s: 0, text }
    }

    /// Gives calls new ids whose ids the conversation has already: some servers begin anew with every answer, and results are known by
    /// ids.
    fn tell_apart(&self, said: &mut Said) {
        let earlier = self.conversation.messages.iter().filter_map(|message| match message {
            Message::Assistant(said) => Some(&said.calls),
            Message::User(_) | Message::Results(_) => None,
        });
        let taken: BTreeSet<&str> = earlier.flatten().map(|call| call.id.as_str()).collect();
        for call in &mut said.calls {
            if taken.contains(call.id.as_str()) {
                let new = format!("{}_{}", call.id, self.conversation.messages.len());
                if let Some(own) = &mut said.own {
                    rename(own, &call.id, &new);
                }
                call.id = new;
            }
        }
    }

    /// The answer to the conversation so far, from wherever it comes.
    fn answer(&mut self) -> Result<Heard, AgentError> {
        let player = Arc::clone(&self.player);
        let model = &player.model;
        let wire = model.api.request(model, &self.conversation, self.seed);
        let request = Request { api: model.api, model: &model.model, trial: self.start.trial, body: &wire.body };
        match &*player.line {
            Line::Replay(cassette) => match cassette.get(&request) {
                Some(recorded) => Heard::of(model.api, &recorded),
                None => Err(AgentError::NotRecorded(cassette.miss(&request).to_string())),
            },
            Line::Live(endpoint) => {
                self.enter(endpoint)?;
                Ok(self.heard(endpoint, &wire)?.0)
            }
            Line::Recording(endpoint, cassette) => {
                // Before the claim: whoever waits for a slot must not keep others waiting for an answer.
                self.enter(endpoint)?;
                match cassette.claim(&request, &player.stop) {
                    None => Err(AgentError::Stopped),
                    Some(Claim::Known(recorded)) => Heard::of(model.api, &recorded),
                    Some(Claim::Ask(pending)) => {
                        let (heard, body, latency_ms) = self.heard(endpoint, &wire)?;
                        let recorded = Recorded { body, latency_ms, recorded: player.today.clone() };
                        pending.put(recorded).map_err(|error| AgentError::NotKept(error.to_string()))?;
                        Ok(heard)
                    }
                }
            }
        }
    }

    /// Takes the episode's slot, if it has none yet.
    fn enter(&mut self, endpoint: &Endpoint) -> Result<(), AgentError> {
        if self.slot.is_none() {
            self.slot = Some(endpoint.slots().enter_episode(&self.player.stop).ok_or(AgentError::Stopped)?);
        }
        Ok(())
    }

    /// Asks, and gives what was heard beside what is to be recorded of it. A body that is no answer of the API (some servers put
    /// errors into one with status 200) is asked for again, and never recorded.
    fn heard(&self, endpoint: &Endpoint, wire: &Wire) -> Result<(Heard, Value, u64), AgentError> {
        let api = self.player.model.api;
        let nothing = |why: String, whose: Whose| {
            let body = json!({ NOTHING: why, "whose": whose });
            Ok((Heard::Nothing { why, whose }, body, 0))
        };
        let mut failed = 0;
        loop {
            let mut answer = match endpoint.ask(&wire.path, &wire.body, &self.player.stop) {
                Ok(answer) => answer,
                Err(AskError::TooLong(why)) => return nothing(why, Whose::Room),
                Err(AskError::Refused(why)) => return nothing(why, Whose::Policy),
                Err(AskError::Unparsed(why)) => return nothing(why, Whose::Server),
                Err(AskError::Config(why)) => return Err(AgentError::Config(why)),
                Err(AskError::Infra(why)) => return Err(AgentError::Infra(why)),
                Err(AskError::Stopped) => return Err(AgentError::Stopped),
            };
            // A server may put what it was sent into what it says, and that goes into files.
            endpoint.redact_json(&mut answer.body);
            match api.reply(&answer.body) {
                Ok(reply) => {
                    let heard = Heard::Answer { reply, latency_ms: answer.latency_ms };
                    return Ok((heard, answer.body, answer.latency_ms));
                }
                Err(error) if failed == self.player.model.limits.retries => return Err(unreadable(api, &error)),
                Err(_) => {
                    endpoint.pause(failed, &self.player.stop).ok_or(AgentError::Stopped)?;
                    failed += 1;
                }
            }
        }
    }
}

/// Renames a call in a message as its API gave it.
fn rename(own: &mut Value, old: &str, new: &str) {
    match own {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                match value {
                    Value::String(id) if id == old && (key == "id" || key == "call_id") => new.clone_into(id),
                    value => rename(value, old, new),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, old, new)),
        _ => {}
    }
}

/// Tokens that no conversation has.
const IMPLAUSIBLE: u64 = 1 << 40;

fn unreadable(api: Api, error: &Unreadable) -> AgentError {
    AgentError::Infra(format!("{}: {error}", api.name()))
}

/// What came back for a request.
enum Heard {
    Answer {
        reply: Reply,
        latency_ms: u64,
    },
    /// No answer, and not for the network's sake: an outcome of the model.
    Nothing {
        why: String,
        whose: Whose,
    },
}

/// What kept an answer from coming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Whose {
    /// The conversation does not fit.
    Room,
    /// The provider does not want to answer this.
    Policy,
    /// The server could not read what its model said.
    Server,
}

/// The key that marks a recording of what is no answer.
const NOTHING: &str = "healbench_refused";

impl Heard {
    fn of(api: Api, recorded: &Recorded) -> Result<Heard, AgentError> {
        if let Some(why) = recorded.body.get(NOTHING).and_then(Value::as_str) {
            let whose = serde_json::from_value(recorded.body["whose"].clone()).unwrap_or(Whose::Room);
            return Ok(Heard::Nothing { why: why.to_owned(), whose });
        }
        let reply = api.reply(&recorded.body).map_err(|error| unreadable(api, &error))?;
        Ok(Heard::Answer { reply, latency_ms: recorded.latency_ms })
    }
}
