//! The requests of a model agent: from the endpoint or a recording, noted in the log of the run.

use std::sync::Arc;

use healbench_core::{AgentError, NewRequest, ReceivedAnswer, RequestId, RequestLog, RequestLogError, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{LlmAgent, ModelBackend, json_bytes};
use crate::llm::cassette::{RecordedResponse, Request, Reservation};
use crate::llm::endpoint::{Endpoint, EndpointError};
use crate::llm::{Api, ApiRequest, AssistantMessage, Reply, UnreadableResponse};
/// The bytes of a request: more than the context of any model.
const MAX_REQUEST: usize = 8 << 20;

impl LlmAgent<'_> {
    /// Returns the reply to the conversation so far, from the endpoint or the recording.
    pub(super) fn fetch_reply(&mut self) -> Result<ModelReply, AgentError> {
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
                    let model_reply = ModelReply::Answer { reply: Box::new(reply), latency_ms, changes };
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

/// More tokens than any conversation can have.
const IMPLAUSIBLE: u64 = 1 << 40;

/// Returns true if a provider may have counted so. Counts of zero are those of a server that does not count.
pub(super) fn is_plausible(usage: &Usage, message: &AssistantMessage) -> bool {
    let is_empty = message.text.is_empty() && message.calls.is_empty();
    (1..IMPLAUSIBLE).contains(&usage.input) && usage.output < IMPLAUSIBLE && (usage.output > 0 || is_empty)
}

fn unreadable(api: Api, error: &UnreadableResponse) -> AgentError {
    AgentError::Infra(format!("{}: {error}", api.name()))
}

/// The outcome of a request.
pub(super) enum ModelReply {
    Answer {
        reply: Box<Reply>,
        latency_ms: u64,
        /// The changes of the request for the server, which are not in recordings.
        changes: Vec<&'static str>,
    },
    /// There is no reply, for a reason other than the network or the server's availability.
    Failure { reason: String, cause: FailureCause },
}

/// The reason why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FailureCause {
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
        let reply = Box::new(api.reply(&recorded.body).map_err(|error| unreadable(api, &error))?);
        Ok(ModelReply::Answer { reply, latency_ms: recorded.latency_ms, changes: Vec::new() })
    }
}
