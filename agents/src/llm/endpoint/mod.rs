//! The connection to a model's server: requests with limits, retries and permits. The interface is blocking;
//! asynchronous code is internal.
//!
//! Data from servers is not trusted: sizes and times are limited, redirects are not followed, and all text in errors is
//! redacted.

mod adaptation;
mod attempt;
mod backoff;
pub(super) mod classify;
mod network;
mod setup;
mod too_long;
mod wordings;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use healbench_text::secrets;
use reqwest::{Client, Request, Url};
use serde_json::Value;

use self::attempt::Attempt;
pub(super) use self::attempt::{AttemptError, RawAnswer};
use self::classify::AttemptOutcome;
pub use self::network::Network;
pub use self::setup::{HOST_VARIABLE, SetupError};
use super::api::max_output_tokens;
use super::limiter::LoadSignal;
use super::token_rate::{Sent, TokenRate};
use super::{ConcurrencyLimiter, Model};

/// The longest delay that a server may request; a longer one ends the retries.
const LONGEST_WAIT: Duration = Duration::from_secs(600);
const ASKS_FOR_A_LONG_WAIT: &str = "the server asks for a wait of more than 10 minutes";

/// The server of one model, used by many threads at once.
pub struct Endpoint {
    pub(super) network: Arc<Network>,
    pub(super) model: Model,
    pub(super) base: Url,
    client: Client,
    limiter: Arc<ConcurrencyLimiter>,
    /// `None` without a limit.
    rate: Option<TokenRate>,
    /// The bits of the changes that the server asked for.
    adaptations: AtomicU32,
    /// The longest wait before a retry that is under way.
    wait: Mutex<Option<Wait>>,
    /// The tokens that the model's context has room for, if the server lists it.
    pub(super) context_tokens: OnceLock<u64>,
}

/// A wait before a retry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The time at which the request is sent again.
    pub until: Instant,
    /// The failure that is waited for. Redacted.
    pub reason: String,
}

/// A response to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointResponse {
    pub body: Value,
    /// The latency of the successful attempt in milliseconds, up to the last byte.
    pub latency_ms: u64,
    /// The number of attempts, including the successful one.
    pub attempts: u32,
    /// The changes of the request without which the server refused it, in words.
    pub changes: Vec<&'static str>,
}

/// The reason why there is no response. Messages are redacted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The conversation exceeds the model's context length. This is an outcome of the model.
    #[error("the conversation does not fit the model's context: {0}")]
    TooLong(String),
    /// The server could not parse its model's output in two attempts. This is an outcome of the model.
    #[error("the server cannot parse what the model says: {0}")]
    Unparsed(String),
    /// The provider refuses the conversation (a content filter). This is an outcome of the model.
    #[error("the provider refuses: {0}")]
    Refused(String),
    /// The server finds the request invalid, in words that are not known.
    #[error("{0}")]
    Invalid(String),
    /// The request is refused, and a retry cannot succeed.
    #[error("{0}")]
    Config(String),
    /// The network or the server failed in all attempts.
    #[error("{0}")]
    Infra(String),
    /// The stop flag was set.
    #[error("stopped")]
    Stopped,
}

impl Endpoint {
    /// Creates the endpoint of `model`. `env` looks up the environment variables of the key and secret headers, and
    /// [`HOST_VARIABLE`]. Nothing is sent yet.
    ///
    /// # Errors
    /// Returns a [`SetupError`] if the settings are invalid.
    pub fn new(
        network: &Arc<Network>,
        model: &Model,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Endpoint, SetupError> {
        let base = setup::base_url(&setup::with_host(&model.base_url, env)?)?;
        let headers = setup::headers(model, env)?;
        let client = setup::client(&base, headers)?;
        let limiter = Arc::new(ConcurrencyLimiter::new(model.connections));
        let rate = model.limits.tokens_per_minute.map(TokenRate::new);
        Ok(Endpoint {
            network: Arc::clone(network),
            model: model.clone(),
            base,
            client,
            limiter,
            rate,
            adaptations: AtomicU32::new(0),
            wait: Mutex::new(None),
            context_tokens: OnceLock::new(),
        })
    }

    /// Returns the longest wait before a retry that is under way.
    pub fn waiting(&self) -> Option<Wait> {
        let wait = self.wait.lock().unwrap_or_else(PoisonError::into_inner).clone();
        wait.filter(|wait| wait.until > Instant::now())
    }

    /// Sleeps before a retry. Returns false if `stop` is set meanwhile.
    fn wait(&self, wait: Duration, reason: &str, stop: &AtomicBool) -> bool {
        let until = Instant::now() + wait;
        let mut longest = self.wait.lock().unwrap_or_else(PoisonError::into_inner);
        if longest.as_ref().is_none_or(|known| known.until < until) {
            *longest = Some(Wait { until, reason: reason.to_owned() });
        }
        drop(longest);
        backoff::sleep(wait, stop)
    }

    /// Returns the limiter of concurrent requests and episodes.
    pub fn limiter(&self) -> &Arc<ConcurrencyLimiter> {
        &self.limiter
    }

    /// Returns the number of requests that wait because of [`Limits::tokens_per_minute`](super::Limits::tokens_per_minute).
    pub fn waiting_for_tokens(&self) -> usize {
        self.rate.as_ref().map_or(0, TokenRate::waiting)
    }

    /// Posts `body` to `path`, relative to the base URL, and waits for the response, whose body is redacted. Transient
    /// failures are retried. `lost_answers` is increased by each attempt that the server may charge for, although no
    /// usable answer arrived.
    ///
    /// # Errors
    /// Returns an [`EndpointError`] if no attempt succeeds.
    ///
    /// # Panics
    /// Panics when called from asynchronous code, because it blocks.
    pub fn send(
        &self,
        path: &str,
        body: &Value,
        stop: &AtomicBool,
        lost_answers: &mut u32,
    ) -> Result<EndpointResponse, EndpointError> {
        let mut body = body.clone();
        let mut changes = adaptation::apply(&mut body, self.adaptations.load(Ordering::Relaxed));
        let mut request = self.post(path, &body)?;
        let timeout = Duration::from_secs(self.model.limits.timeout_s.into());
        let (mut attempts, mut unparsed) = (0, 0);
        loop {
            let permit = self.limiter.acquire_request(stop).ok_or(EndpointError::Stopped)?;
            let sent = self.acquire_tokens(&request, &body, stop)?;
            attempts += 1;
            let started = Instant::now();
            let attempt = self.attempt(&request, timeout, stop);
            let latency = started.elapsed();
            let may_be_paid = attempt::may_be_paid(&attempt);
            let secrets = secrets();
            let refusal = refusal(&attempt);
            let api = self.model.api;
            let mut outcome = classify::classify(attempt, api, &secrets);
            // The body is written to files, and a server may echo the key.
            if let AttemptOutcome::Answer(body) = &mut outcome
                && secrets.redact_json(body, started.checked_add(timeout)).is_err()
            {
                outcome = classify::classify(Err(AttemptError::late(timeout)), api, &secrets);
            }
            self.settle_tokens(sent, &request, &outcome, may_be_paid);
            if may_be_paid && !matches!(outcome, AttemptOutcome::Answer(_)) {
                *lost_answers += 1;
            }
            if let Some((status, text)) = &refusal
                && !outcome.is_of_the_model()
                && let Some(change) = adaptation::asked_for(*status, text, &body)
            {
                permit.release(LoadSignal::Answered);
                changes |= adaptation::apply(&mut body, change);
                request = self.post(path, &body)?;
                attempts -= 1;
                continue;
            }
            let retryable = match outcome {
                AttemptOutcome::Answer(body) => {
                    permit.release(LoadSignal::Answered);
                    self.adaptations.fetch_or(changes, Ordering::Relaxed);
                    let latency_ms = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX);
                    return Ok(EndpointResponse { body, latency_ms, attempts, changes: adaptation::names(changes) });
                }
                AttemptOutcome::Fatal(error) => {
                    let answered = !matches!(error, EndpointError::Infra(_) | EndpointError::Stopped);
                    permit.release(if answered { LoadSignal::Answered } else { LoadSignal::Failed });
                    let key = self.model.key_env.as_deref();
                    let advice = refusal.and_then(|(status, text)| match (status, key) {
                        (401, Some(key)) => Some(format!("set {key} to a key that is valid for this server")),
                        _ => wordings::advice(status, &text, &body).map(str::to_owned),
                    });
                    return Err(match (error, advice) {
                        (EndpointError::Invalid(reason) | EndpointError::Config(reason), Some(advice)) => {
                            EndpointError::Config(format!("{reason}; {advice}"))
                        }
                        (error, _) => error,
                    });
                }
                AttemptOutcome::Retry(retryable) => retryable,
            };
            unparsed += u32::from(retryable.unparsed);
            if unparsed == 2 {
                permit.release(LoadSignal::Answered);
                return Err(EndpointError::Unparsed(retryable.message));
            }
            let wait = retryable.wait.unwrap_or_else(|| backoff::delay(attempts - 1));
            permit.release(retryable.load_signal());
            // The second attempt shows whether the model or the server is at fault, so one retry is always allowed.
            let allowed = self.model.limits.retries.max(u32::from(retryable.unparsed));
            if attempts > allowed || wait > LONGEST_WAIT {
                return Err(EndpointError::Infra(exhausted_message(&retryable.message, attempts, wait)));
            }
            if !self.wait(wait, &retryable.message, stop) {
                return Err(EndpointError::Stopped);
            }
        }
    }

    /// Waits until the limit on tokens allows a request, and counts what is expected of it.
    fn acquire_tokens(
        &self,
        request: &Request,
        body: &Value,
        stop: &AtomicBool,
    ) -> Result<Option<Sent>, EndpointError> {
        let Some(rate) = &self.rate else { return Ok(None) };
        let expected = TokenRate::expected(size(request), max_output_tokens(body));
        rate.acquire(expected, stop).map(Some).ok_or(EndpointError::Stopped)
    }

    /// Counts what a request took, as far as that is known.
    fn settle_tokens(&self, sent: Option<Sent>, request: &Request, outcome: &AttemptOutcome, may_be_paid: bool) {
        let Some((rate, sent)) = self.rate.as_ref().zip(sent) else { return };
        match outcome {
            AttemptOutcome::Answer(body) => {
                let usage = self.model.api.reply(body).ok().and_then(|reply| reply.usage);
                if let Some(usage) = usage {
                    rate.settle(sent, usage.input.saturating_add(usage.output));
                }
            }
            _ if may_be_paid => {}
            _ => rate.settle(sent, TokenRate::refused(size(request))),
        }
    }

    /// Sleeps. Returns false if `stop` is set meanwhile.
    pub(in crate::llm) fn sleep(&self, time: Duration, stop: &AtomicBool) -> bool {
        backoff::sleep(time, stop)
    }

    /// Waits as after `failed` failed attempts. Returns `None` if `stop` is set meanwhile.
    pub(in crate::llm) fn pause(&self, failed: u32, stop: &AtomicBool) -> Option<()> {
        backoff::sleep(backoff::delay(failed), stop).then_some(())
    }

    /// Builds a request. The body is serialized only once for all attempts.
    fn post(&self, path: &str, body: &Value) -> Result<Request, EndpointError> {
        let config = |error: String| EndpointError::Config(secrets().redact(&error));
        let url = self.url(path).map_err(|error| config(format!("the path `{path}` makes no URL: {error}")))?;
        let bytes = serde_json::to_vec(body).map_err(|error| config(error.to_string()))?;
        let request = self.client.post(url).header("content-type", "application/json").body(bytes).build();
        request.map_err(|error| config(attempt::describe(error)))
    }

    pub(super) fn get(&self, url: Url) -> Result<Request, AttemptError> {
        self.client.get(url).build().map_err(|error| AttemptError::Network(attempt::describe(error)))
    }

    pub(super) fn url(&self, path: &str) -> Result<Url, String> {
        let mut base = self.base.clone();
        base.set_query(None);
        // With exactly one slash in between, no path can change the host.
        let (start, path) = (base.as_str().trim_end_matches('/'), path.trim_start_matches('/'));
        let mut url = Url::parse(&format!("{start}/{path}")).map_err(|error| error.to_string())?;
        url.set_query(self.base.query());
        Ok(url)
    }

    /// Runs one attempt and blocks the calling thread.
    pub(super) fn attempt(&self, request: &Request, timeout: Duration, stop: &AtomicBool) -> Attempt {
        let Some(request) = request.try_clone() else {
            return Err(AttemptError::Network("the request cannot be repeated".to_owned()));
        };
        self.network.block_on(attempt::attempt(&self.client, request, timeout, stop))
    }
}

/// Returns the status and the [words](classify::words) of an answer that is a refusal.
fn refusal(attempt: &Attempt) -> Option<(u16, String)> {
    let answer = attempt.as_ref().ok().filter(|answer| !answer.status.is_success())?;
    Some((answer.status.as_u16(), classify::words(&answer.body)))
}

/// Returns the size of a request's body in bytes.
fn size(request: &Request) -> usize {
    request.body().and_then(|body| body.as_bytes()).map_or(0, <[u8]>::len)
}

/// Returns the message for the last failed attempt.
fn exhausted_message(message: &str, attempts: u32, wait: Duration) -> String {
    let advice = match wordings::is_too_many_at_once(&message.to_lowercase()) {
        true => "; lower `connections` to what the server answers at once",
        false => "",
    };
    match attempts {
        _ if wait > LONGEST_WAIT => format!("{message}; {ASKS_FOR_A_LONG_WAIT}"),
        1 => format!("{message} (1 attempt){advice}"),
        n => format!("{message} (the last of {n} attempts){advice}"),
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The client's own output would contain the headers.
        f.debug_struct("Endpoint")
            .field("base", &self.base.as_str())
            .field("model", &self.model.model)
            .field("limiter", &self.limiter)
            .finish_non_exhaustive()
    }
}
