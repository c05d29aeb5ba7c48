//! The model agent: the state of its conversation, and the conversion of replies to turns.

mod requests;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use healbench_core::diagnostics as words;
use healbench_core::preamble as preamble_text;
use healbench_core::{
    Agent, AgentError, EpisodeStart, Origin, RequestLog, ToolCall, ToolResponse, ToolsMode, Turn, TurnCost,
    fingerprint, functions,
};
use serde_json::Value;

use self::requests::{FailureCause, ModelReply, is_plausible};
use super::cassette::Cassette;
use super::endpoint::Endpoint;
use super::wire_names::WireNames;
use super::{
    Arguments, AssistantMessage, CallResult, Conversation, EpisodePermit, FinishReason, Function, Message, Model,
    Reply, SentCall, diagnostics, prompt_tools,
};

/// The source of a model's replies.
pub enum ModelBackend {
    Live(Endpoint),
    /// The endpoint for requests that are not yet in the recording; new replies are recorded.
    Recording(Endpoint, Arc<Cassette>),
    Replay(Arc<Cassette>),
}

impl ModelBackend {
    /// Returns the endpoint, if there is one.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            ModelBackend::Live(endpoint) | ModelBackend::Recording(endpoint, _) => Some(endpoint),
            ModelBackend::Replay(_) => None,
        }
    }
}

/// Creates the agents of one model, one for each episode, on any thread.
pub struct LlmAgentFactory {
    pub model: Model,
    /// The source of replies.
    pub backend: Arc<ModelBackend>,
    /// The flag that stops the run.
    pub stop: Arc<AtomicBool>,
    /// The date stored with recordings, such as `2026-11-22`.
    pub recording_date: String,
}

impl LlmAgentFactory {
    /// Creates the agent of one episode. Its requests are noted in `requests`, if there is a log.
    pub fn agent<'s>(
        self: &Arc<LlmAgentFactory>,
        start: EpisodeStart<'s>,
        requests: Option<Arc<dyn RequestLog>>,
    ) -> LlmAgent<'s> {
        let functions = functions(start.tools);
        let (system, native, wire_names) = system_and_functions(&self.model, functions.clone());
        let preamble = preamble_text(&system, &native);
        LlmAgent {
            factory: Arc::clone(self),
            start,
            functions,
            wire_names,
            conversation: Conversation {
                system,
                tools: native,
                messages: vec![Message::User(start.prompt.to_owned())],
            },
            preamble,
            opening_done: 0,
            pending_calls: Vec::new(),
            origin: Origin::Script,
            calls: 0,
            calls_truncated: false,
            tokens: 0,
            latest: None,
            request_bytes: 0,
            diagnostics: Vec::new(),
            requests,
            next_request: 0,
            seed: (start.draws.draws("model", 0).bits() >> 33) as u32,
            permit: None,
        }
    }
}

/// Returns the text that a model receives with every request in addition to the conversation, as [`Agent::preamble`]
/// does.
pub fn preamble_of(model: &Model, tool_specs: &[healbench_core::ToolSpec]) -> String {
    let (system, native, _) = system_and_functions(model, functions(tool_specs));
    preamble_text(&system, &native)
}

/// Returns the system text, and the functions for the API's own field with their names there.
fn system_and_functions(model: &Model, mut functions: Vec<Function>) -> (String, Vec<Function>, WireNames) {
    match model.tools {
        ToolsMode::Native => {
            let wire_names = WireNames::rename(&mut functions);
            (model.system.trim().to_owned(), functions, wire_names)
        }
        ToolsMode::Prompt => (prompt_tools::system_text(&model.system, &functions), Vec::new(), WireNames::default()),
    }
}

/// The agent of a model in one episode.
pub struct LlmAgent<'s> {
    factory: Arc<LlmAgentFactory>,
    start: EpisodeStart<'s>,
    functions: Vec<Function>,
    /// The names of the functions in requests.
    wire_names: WireNames,
    conversation: Conversation,
    preamble: String,
    opening_done: usize,
    /// The ids and function names of the calls whose responses are pending.
    pending_calls: Vec<(String, String)>,
    origin: Origin,
    /// The number of calls made so far.
    calls: u32,
    /// True if calls were dropped at the call limit, so that the conversation cannot continue.
    calls_truncated: bool,
    /// The number of tokens used, by the provider's counts.
    tokens: u64,
    /// The latest answered request; `None` before the first.
    latest: Option<AnsweredRequest>,
    /// The bytes of the latest request.
    request_bytes: usize,
    /// The words for the answers, as [`Agent::diagnostics`] returns them.
    diagnostics: Vec<String>,
    requests: Option<Arc<dyn RequestLog>>,
    /// The number of the next request in the episode.
    next_request: u32,
    seed: u32,
    /// Held from the first request to the end of the episode.
    permit: Option<EpisodePermit>,
}

/// The size of a request that was answered.
#[derive(Clone, Copy)]
struct AnsweredRequest {
    bytes: usize,
    /// The tokens of its input, by the provider's count.
    tokens: Option<u64>,
}

impl AnsweredRequest {
    /// Returns the tokens that a longer request of the same conversation is expected to have.
    fn expected(self, bytes: usize) -> u64 {
        const BYTES_PER_TOKEN: u64 = 3;
        match self.tokens {
            Some(tokens) => tokens + bytes.saturating_sub(self.bytes) as u64 / BYTES_PER_TOKEN,
            None => bytes as u64 / (BYTES_PER_TOKEN + 1),
        }
    }
}

impl Agent for LlmAgent<'_> {
    fn next_turn(&mut self, responses: &[&ToolResponse]) -> Result<Turn, AgentError> {
        let went_wrong = responses.iter().any(|response| response.is_error);
        self.append_results(responses);
        // An error before the scheduled one ends the opening: the model takes over.
        if went_wrong {
            self.start.opening = &self.start.opening[..self.opening_done];
        }
        if self.opening_done < self.start.opening.len() {
            return Ok(self.opening_turn());
        }
        let tokens = self.factory.model.limits.episode_tokens.is_some_and(|limit| self.tokens >= limit);
        if tokens || self.calls_truncated {
            let what = if tokens { "tokens" } else { "calls" };
            self.origin = Origin::Script;
            return Ok(Turn::Incomplete { text: format!("the episode's limit on {what} is reached") });
        }
        self.model_turn()
    }

    fn origin(&self) -> Origin {
        self.origin
    }

    fn preamble(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.preamble)
    }

    fn diagnostics(&self) -> &[String] {
        &self.diagnostics
    }
}

impl LlmAgent<'_> {
    fn uses_prompt_tools(&self) -> bool {
        self.factory.model.tools == ToolsMode::Prompt
    }

    /// Appends responses to the conversation.
    fn append_results(&mut self, responses: &[&ToolResponse]) {
        let answered = std::mem::take(&mut self.pending_calls);
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
        let results: Vec<CallResult> = answered.into_iter().zip(responses).map(result).collect();
        self.conversation.messages.push(match self.uses_prompt_tools() {
            true => Message::User(prompt_tools::format_results(&results)),
            false => Message::Results(results),
        });
    }

    /// Returns the next turn of the opening, recorded in the conversation as if the model had taken it.
    fn opening_turn(&mut self) -> Turn {
        let calls: Vec<ToolCall> = self.start.opening[self.opening_done].iter().copied().cloned().collect();
        self.opening_done += 1;
        self.origin = Origin::Opening;
        let mut message = AssistantMessage::default();
        for (index, call) in calls.iter().enumerate() {
            // Mistral requires ids of exactly nine letters and digits.
            let id = format!("opening{:02}", (self.calls as usize + index + 1) % 100);
            let name = self.wire_names.in_requests(&call.tool);
            self.pending_calls.push((id.clone(), name.clone()));
            if self.uses_prompt_tools() {
                let line_end = if index == 0 { "" } else { "\n" };
                message.text.push_str(line_end);
                message.text.push_str(&prompt_tools::call_text(&call.tool, &call.arguments));
            } else {
                let arguments = Arguments::Json(call.arguments.clone());
                message.calls.push(SentCall { id, name, arguments, numbers: None });
            }
        }
        self.conversation.messages.push(Message::Assistant(message));
        Turn::Calls { calls, waited_s: 0, text: String::new() }
    }

    fn model_turn(&mut self) -> Result<Turn, AgentError> {
        match self.fetch_reply()? {
            ModelReply::Answer { mut reply, latency_ms, changes } => {
                // Drop implausible counts.
                reply.usage = reply.usage.filter(|usage| is_plausible(usage, &reply.message));
                self.note_answer(&reply, &changes);
                let Reply { message, finish_reason, usage, .. } = *reply;
                let usd = usage.zip(self.factory.model.price).map(|(usage, price)| price.usd(&usage));
                self.origin = Origin::Model(TurnCost { usage, usd, latency_ms });
                self.tokens += usage.map_or(0, |usage| usage.input + usage.output);
                Ok(self.turn_from(message, finish_reason))
            }
            ModelReply::Failure { reason, cause } => {
                // A rejected request costs nothing; the cost of a reply that the server could not parse is unknown.
                self.origin =
                    if cause == FailureCause::Unparsed { Origin::Model(TurnCost::default()) } else { Origin::Script };
                Ok(match cause {
                    FailureCause::Policy => Turn::Refused { reason },
                    FailureCause::ContextLength => Turn::TooLong { reason },
                    FailureCause::Unparsed => Turn::Incomplete { text: reason },
                })
            }
        }
    }

    /// Remembers the size of the request that was answered, and adds the words for the answer.
    fn note_answer(&mut self, reply: &Reply, changes: &[&'static str]) {
        let bytes = self.request_bytes;
        let text = &reply.message.text;
        if text.len() > MAX_ANSWER {
            return;
        }
        let has_calls = match self.uses_prompt_tools() {
            true => !prompt_tools::parse_calls(text, &self.functions).0.is_empty(),
            false => !reply.message.calls.is_empty(),
        };
        let model = &self.factory.model.model;
        self.diagnostics.extend(diagnostics::of_answer(
            reply,
            model,
            self.told_bytes(),
            has_calls,
            &self.conversation.tools,
        ));
        self.diagnostics.extend(changes.iter().map(|change| format!("{}{change}", words::REQUEST)));
        self.latest = Some(AnsweredRequest { bytes, tokens: reply.usage.map(|usage| usage.input) });
    }

    /// Returns the bytes of the system text, the tools and all that was said, without what only the server understands.
    fn told_bytes(&self) -> usize {
        let said = self.conversation.messages.iter().map(|message| match message {
            Message::User(text) => text.len(),
            Message::Assistant(message) => message.text.len(),
            Message::Results(results) => results.iter().map(|result| result.text.len()).sum(),
        });
        self.preamble.len() + said.sum::<usize>()
    }

    /// Returns the failure of a conversation that does not fit the context.
    ///
    /// # Errors
    /// Returns a configuration error if no request of the episode was answered yet: the model has not written anything.
    fn no_room(&self, reason: String) -> Result<ModelReply, AgentError> {
        match self.latest {
            Some(_) => Ok(ModelReply::Failure { reason, cause: FailureCause::ContextLength }),
            None => Err(AgentError::Config(format!(
                "{reason}; this was the first request of the episode: load the model with a larger context, or lower `max_output_tokens`"
            ))),
        }
    }

    /// Converts a reply to a turn.
    fn turn_from(&mut self, mut message: AssistantMessage, finish_reason: FinishReason) -> Turn {
        let bytes = message.raw.as_ref().map_or(0, json_bytes);
        if bytes > MAX_ANSWER {
            let text = format!("the answer has {bytes} bytes; at most {} KiB are kept", MAX_ANSWER >> 10);
            return Turn::Incomplete { text };
        }
        self.ensure_unique_ids(&mut message);
        let (calls, text) = match self.uses_prompt_tools() {
            true => prompt_tools::parse_calls(&message.text, &self.functions),
            false => (message.calls.clone(), message.text.clone()),
        };
        self.conversation.messages.push(Message::Assistant(message));
        if calls.is_empty() {
            return match finish_reason {
                FinishReason::End => Turn::Answer { text },
                FinishReason::Length | FinishReason::Unparsed => Turn::Incomplete { text },
                FinishReason::Refusal => Turn::Refused { reason: text },
            };
        }
        let limit = self.factory.model.limits.episode_calls.unwrap_or(u32::MAX);
        let room = limit.saturating_sub(self.calls) as usize;
        self.calls_truncated = calls.len() > room;
        // What is not called was written, and paid for.
        let (calls, dropped) = calls.split_at(room.min(calls.len()));
        let dropped: Vec<String> =
            dropped.iter().map(|call| prompt_tools::call_text(&call.name, &call.arguments.to_json())).collect();
        let text = std::iter::once(text).chain(dropped).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
        if calls.is_empty() {
            return Turn::Incomplete { text };
        }
        let calls = calls.to_vec();
        self.pending_calls = calls.iter().map(|call| (call.id.clone(), call.name.clone())).collect();
        let call = |call: SentCall| ToolCall {
            tool: self.wire_names.own(&call.name),
            arguments: call.arguments.to_json(),
            numbers: call.numbers,
        };
        Turn::Calls { calls: calls.into_iter().map(call).collect(), waited_s: 0, text }
    }

    /// Replaces call ids that the conversation already contains: some servers restart numbering with every reply, and
    /// results are matched by id.
    fn ensure_unique_ids(&self, message: &mut AssistantMessage) {
        let earlier = self.conversation.messages.iter().filter_map(|message| match message {
            Message::Assistant(message) => Some(&message.calls),
            Message::User(_) | Message::Results(_) => None,
        });
        let taken: BTreeSet<&str> = earlier.flatten().map(|call| call.id.as_str()).collect();
        for call in &mut message.calls {
            if taken.contains(call.id.as_str()) {
                let place = format!("{} {}", call.id, self.conversation.messages.len());
                let new = short_id(place.as_bytes());
                if let Some(raw) = &mut message.raw {
                    rename_call_id(raw, &call.id, &new);
                }
                call.id = new;
            }
        }
    }
}

/// Returns an id of nine letters and digits, which every server takes.
pub(super) fn short_id(of: &[u8]) -> String {
    let mut id = fingerprint(of);
    id.truncate(9);
    id
}

/// Renames a call in a message in the API's format.
fn rename_call_id(raw: &mut Value, old: &str, new: &str) {
    match raw {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                match value {
                    Value::String(id) if id == old && (key == "id" || key == "call_id") => new.clone_into(id),
                    value => rename_call_id(value, old, new),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename_call_id(item, old, new)),
        _ => {}
    }
}

/// The bytes of an answer that are kept, as JSON: more than any model writes at once.
const MAX_ANSWER: usize = 1 << 20;

/// Returns the length of the JSON of a value.
fn json_bytes(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting cannot fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}
