//! The model agent: the state of its conversation, and the conversion of replies to turns.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use healbench_core::diagnostics as words;
use healbench_core::preamble as preamble_text;
use healbench_core::{
    Agent, AgentError, EpisodeStart, NewRequest, Origin, ReceivedAnswer, RequestId, RequestLog, RequestLogError,
    ToolCall, ToolResponse, ToolsMode, Turn, TurnCost, Usage, fingerprint, functions,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cassette::{Cassette, RecordedResponse, Request, Reservation};
use super::endpoint::{Endpoint, EndpointError};
use super::{
    Api, ApiRequest, Arguments, AssistantMessage, CallResult, Conversation, EpisodePermit, FinishReason, Function,
    Message, Model, Reply, SentCall, UnreadableResponse, diagnostics, prompt_tools,
};
use crate::llm::wire_names::WireNames;

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
        let (system, mut native) = system_and_functions(&self.model, functions.clone());
        let wire_names = WireNames::rename(&mut native);
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
    let (system, native) = system_and_functions(model, functions(tool_specs));
    preamble_text(&system, &native)
}

/// Returns the system text and the functions for the API's own field.
fn system_and_functions(model: &Model, functions: Vec<Function>) -> (String, Vec<Function>) {
    match model.tools {
        ToolsMode::Native => (model.system.trim().to_owned(), functions),
        ToolsMode::Prompt => (prompt_tools::system_text(&model.system, &functions), Vec::new()),
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
    /// The latest answered request. Null before the first.
    latest: Option<AnsweredRequest>,
    /// The bytes of the latest request.
    request_bytes: usize,
    /// What the server did to the answers, a word for each.
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

    /// Returns the next call of the opening, recorded in the conversation as if the model had made it.
    fn opening_turn(&mut self) -> Turn {
        let call = self.start.opening[self.opening_done].clone();
        self.opening_done += 1;
        self.origin = Origin::Opening;
        // Mistral requires ids of exactly nine letters and digits.
        let id = format!("opening{:02}", self.opening_done % 100);
        let name = self.wire_names.in_requests(&call.tool);
        self.pending_calls.push((id.clone(), name.clone()));
        let message = match self.uses_prompt_tools() {
            true => AssistantMessage {
                text: prompt_tools::call_text(&call.tool, &call.arguments),
                ..AssistantMessage::default()
            },
            false => AssistantMessage {
                text: String::new(),
                calls: vec![SentCall { id, name, arguments: Arguments::Json(call.arguments.clone()), numbers: None }],
                raw: None,
            },
        };
        self.conversation.messages.push(Message::Assistant(message));
        Turn::Calls { calls: vec![call], waited_s: 0, text: String::new() }
    }

    fn model_turn(&mut self) -> Result<Turn, AgentError> {
        match self.fetch_reply()? {
            ModelReply::Answer { mut reply, latency_ms, changes } => {
                // Drop implausible counts.
                reply.usage = reply.usage.filter(|usage| is_plausible(usage, &reply.message));
                self.note_answer(&reply, &changes);
                let Reply { message, finish_reason, usage, .. } = reply;
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
                    FailureCause::ContextLength | FailureCause::Unparsed => Turn::Incomplete { text: reason },
                })
            }
        }
    }

    /// Remembers the size of the request that was answered, and notes what the server did to the answer.
    fn note_answer(&mut self, reply: &Reply, changes: &[&'static str]) {
        let bytes = self.request_bytes;
        let has_calls = match self.uses_prompt_tools() {
            true => !prompt_tools::parse_calls(&reply.message.text, &self.functions).0.is_empty(),
            false => !reply.message.calls.is_empty(),
        };
        let model = &self.factory.model.model;
        self.diagnostics.extend(diagnostics::of_answer(reply, model, bytes, has_calls, &self.conversation.tools));
        self.diagnostics.extend(changes.iter().map(|change| format!("{}{change}", words::REQUEST)));
        self.latest = Some(AnsweredRequest { bytes, tokens: reply.usage.map(|usage| usage.input) });
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

    /// Returns the reply to the conversation so far, from the endpoint or the recording.
    fn fetch_reply(&mut self) -> Result<ModelReply, AgentError> {
        let factory = Arc::clone(&self.factory);
        let model = &factory.model;
        let api_request = model.api.request(model, &self.conversation, self.seed);
        let bytes = json_bytes(&api_request.body);
        self.request_bytes = bytes;
        if bytes > MAX_REQUEST {
            let reason = format!("the request would have {bytes} bytes; at most {} MiB are sent", MAX_REQUEST >> 20);
            return self.no_room(reason);
        }
        let request = Request { api: model.api, model: &model.model, trial: self.start.trial, body: &api_request.body };
        let id = RequestId { episode: self.start.episode, turn: self.next_request };
        self.next_request += 1;
        match &*factory.backend {
            ModelBackend::Replay(cassette) => match cassette.get(&request) {
                Some(recorded) => ModelReply::from_recording(model.api, &recorded),
                None => Err(AgentError::RecordingMissing(cassette.explain_miss(&request))),
            },
            ModelBackend::Live(endpoint) => {
                let key = self.requests.as_ref().map(|_| request.key().to_string()).unwrap_or_default();
                if let Some(recorded) = self.kept_answer(id, &key)? {
                    return ModelReply::from_recording(model.api, &recorded);
                }
                self.acquire_permit(endpoint)?;
                let log = RequestInLog { log: self.requests.as_deref(), id, key: &key, keeps_body: true };
                Ok(self.ask(endpoint, &api_request, &log, |_| Ok(()))?.0)
            }
            ModelBackend::Recording(endpoint, cassette) => {
                // Acquire the permit before reserving: other threads may be waiting for the reserved recording.
                self.acquire_permit(endpoint)?;
                match cassette.get_or_reserve(&request, &factory.stop) {
                    None => Err(AgentError::Stopped),
                    Some(Reservation::Recorded(recorded)) => ModelReply::from_recording(model.api, &recorded),
                    Some(Reservation::Reserved(pending)) => {
                        let key = pending.key().to_string();
                        let log = RequestInLog { log: self.requests.as_deref(), id, key: &key, keeps_body: false };
                        let record = |answer: &EndpointAnswer| {
                            let recorded = RecordedResponse {
                                body: answer.1.clone(),
                                latency_ms: answer.2,
                                recorded_on: factory.recording_date.clone(),
                            };
                            pending.put(recorded).map_err(|error| AgentError::RecordingFailed(error.to_string()))
                        };
                        Ok(self.ask(endpoint, &api_request, &log, record)?.0)
                    }
                }
            }
        }
    }

    /// Returns true if the latest request is expected to exceed the context that the server lists for the model.
    fn fills_context(&self, endpoint: &Endpoint) -> bool {
        let expected = self.latest.map(|latest| latest.expected(self.request_bytes));
        expected.zip(endpoint.context_tokens.get().copied()).is_some_and(|(expected, context)| expected >= context)
    }

    /// Acquires the episode's permit unless it is already held.
    fn acquire_permit(&mut self, endpoint: &Endpoint) -> Result<(), AgentError> {
        if self.permit.is_none() {
            self.permit = Some(endpoint.limiter().acquire_episode(&self.factory.stop).ok_or(AgentError::Stopped)?);
        }
        Ok(())
    }

    /// Returns the answer that an earlier process received to the same request of this episode.
    fn kept_answer(&self, id: RequestId, key: &str) -> Result<Option<RecordedResponse>, AgentError> {
        let Some(log) = &self.requests else { return Ok(None) };
        let kept = log.kept_answer(id, key).map_err(log_error)?;
        Ok(kept.and_then(|kept| {
            Some(RecordedResponse { body: kept.body?, latency_ms: kept.latency_ms, recorded_on: String::new() })
        }))
    }

    /// Sends a request that is noted in the log before, with its result afterwards. `record` stores the answer elsewhere.
    fn ask(
        &self,
        endpoint: &Endpoint,
        api_request: &ApiRequest,
        in_log: &RequestInLog<'_>,
        record: impl FnOnce(&EndpointAnswer) -> Result<(), AgentError>,
    ) -> Result<EndpointAnswer, AgentError> {
        if let Some(log) = in_log.log {
            let RequestInLog { id, key, .. } = *in_log;
            let new = NewRequest { id, key, body: &api_request.body, max_output: api_request.max_output_tokens() };
            log.reserve(&new).map_err(log_error)?;
        }
        let unsettled = Unsettled(in_log.log.map(|log| (log, in_log.id)));
        let mut lost_answers = 0;
        let answer = self.ask_endpoint(endpoint, api_request, &mut lost_answers);
        let recorded = answer.as_ref().map_or(Ok(()), record);
        if let Some(log) = unsettled.take() {
            let received = answer.as_ref().ok().map(|(reply, body, latency_ms)| ReceivedAnswer {
                body: in_log.keeps_body.then(|| body.clone()),
                usage: reply.usage(),
                latency_ms: *latency_ms,
            });
            log.settle(in_log.id, received.as_ref(), lost_answers).map_err(log_error)?;
        }
        recorded?;
        answer
    }

    /// Sends the request and returns the reply, the body to record and the latency in milliseconds. A body that is not
    /// a valid reply of the API (some servers send errors with status 200) is retried and never recorded.
    fn ask_endpoint(
        &self,
        endpoint: &Endpoint,
        api_request: &ApiRequest,
        lost_answers: &mut u32,
    ) -> Result<EndpointAnswer, AgentError> {
        let api = self.factory.model.api;
        let failure = |reason: String, cause: FailureCause| {
            let body = json!({ FAILURE_KEY: reason, "whose": cause });
            Ok((ModelReply::Failure { reason, cause }, body, 0))
        };
        let mut failed = 0;
        loop {
            let response = match endpoint.send(&api_request.path, &api_request.body, &self.factory.stop, lost_answers) {
                Ok(response) => response,
                Err(EndpointError::Invalid(reason)) if self.fills_context(endpoint) => {
                    return failure(reason, FailureCause::ContextLength);
                }
                Err(EndpointError::TooLong(reason)) => {
                    self.no_room(reason.clone())?;
                    return failure(reason, FailureCause::ContextLength);
                }
                Err(EndpointError::Refused(reason)) => return failure(reason, FailureCause::Policy),
                Err(EndpointError::Unparsed(reason)) => return failure(reason, FailureCause::Unparsed),
                Err(EndpointError::Invalid(reason) | EndpointError::Config(reason)) => {
                    return Err(AgentError::Config(reason));
                }
                Err(EndpointError::Infra(reason)) => return Err(AgentError::Infra(reason)),
                Err(EndpointError::Stopped) => return Err(AgentError::Stopped),
            };
            match api.reply(&response.body) {
                Ok(reply) => {
                    let (latency_ms, changes) = (response.latency_ms, response.changes);
                    let model_reply = ModelReply::Answer { reply, latency_ms, changes };
                    return Ok((model_reply, response.body, response.latency_ms));
                }
                Err(error) if failed == self.factory.model.limits.retries => {
                    *lost_answers += 1;
                    return Err(unreadable(api, &error));
                }
                Err(_) => {
                    *lost_answers += 1;
                    endpoint.pause(failed, &self.factory.stop).ok_or(AgentError::Stopped)?;
                    failed += 1;
                }
            }
        }
    }
}

/// Returns an id of nine letters and digits, which every server takes.
fn short_id(of: &[u8]) -> String {
    let mut id = fingerprint(of);
    id.truncate(9);
    id
}

/// A reply, the body to record, and the latency in milliseconds.
type EndpointAnswer = (ModelReply, Value, u64);

/// The entry of a request in the log of the run, if there is one.
struct RequestInLog<'a> {
    log: Option<&'a dyn RequestLog>,
    id: RequestId,
    key: &'a str,
    /// False if the answer is recorded elsewhere.
    keeps_body: bool,
}

/// A reservation that is given up if a panic ends the request: others would wait for it forever.
struct Unsettled<'a>(Option<(&'a dyn RequestLog, RequestId)>);

impl<'a> Unsettled<'a> {
    fn take(mut self) -> Option<&'a dyn RequestLog> {
        self.0.take().map(|(log, _)| log)
    }
}

impl Drop for Unsettled<'_> {
    fn drop(&mut self) {
        if let Some((log, id)) = self.0 {
            // The panic is reported, and ends the run.
            let _ = log.settle(id, None, 1);
        }
    }
}

fn log_error(error: RequestLogError) -> AgentError {
    match error {
        RequestLogError::Stopped => AgentError::Stopped,
        RequestLogError::Failed(reason) => AgentError::RecordingFailed(reason),
    }
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
/// The bytes of a request: more than the context of any model.
const MAX_REQUEST: usize = 8 << 20;

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

/// More tokens than any conversation can have.
const IMPLAUSIBLE: u64 = 1 << 40;

/// Returns true if a provider may have counted so. Counts of zero are those of a server that does not count.
fn is_plausible(usage: &Usage, message: &AssistantMessage) -> bool {
    let is_empty = message.text.is_empty() && message.calls.is_empty();
    (1..IMPLAUSIBLE).contains(&usage.input) && usage.output < IMPLAUSIBLE && (usage.output > 0 || is_empty)
}

fn unreadable(api: Api, error: &UnreadableResponse) -> AgentError {
    AgentError::Infra(format!("{}: {error}", api.name()))
}

/// The outcome of a request.
enum ModelReply {
    Answer {
        reply: Reply,
        latency_ms: u64,
        /// What was changed in the request for the server.
        changes: Vec<&'static str>,
    },
    /// There is no reply, for a reason other than the network or the server's availability.
    Failure { reason: String, cause: FailureCause },
}

/// The reason why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FailureCause {
    /// The conversation exceeds the context length.
    #[serde(rename = "room")]
    ContextLength,
    /// The provider refuses the request.
    Policy,
    /// The server could not parse its model's output.
    #[serde(rename = "server")]
    Unparsed,
}

/// The key that marks a recorded failure.
const FAILURE_KEY: &str = "healbench_refused";

impl ModelReply {
    /// Returns the provider's token counts.
    fn usage(&self) -> Option<Usage> {
        match self {
            ModelReply::Answer { reply, .. } => reply.usage.filter(|usage| is_plausible(usage, &reply.message)),
            // A rejected request costs nothing; what the server could not parse was generated.
            ModelReply::Failure { cause: FailureCause::Unparsed, .. } => None,
            ModelReply::Failure { .. } => Some(Usage::default()),
        }
    }

    fn from_recording(api: Api, recorded: &RecordedResponse) -> Result<ModelReply, AgentError> {
        if let Some(reason) = recorded.body.get(FAILURE_KEY).and_then(Value::as_str) {
            let cause = serde_json::from_value(recorded.body["whose"].clone()).unwrap_or(FailureCause::ContextLength);
            return Ok(ModelReply::Failure { reason: reason.to_owned(), cause });
        }
        let reply = api.reply(&recorded.body).map_err(|error| unreadable(api, &error))?;
        Ok(ModelReply::Answer { reply, latency_ms: recorded.latency_ms, changes: Vec::new() })
    }
}
