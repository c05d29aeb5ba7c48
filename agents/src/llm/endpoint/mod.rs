//! The way to a model: requests with limits, retries and permits. Threads call it and block; none of it is asynchronous outside.
//!
//! What comes from a server is neither trusted nor shown as it is: sizes and times are capped, redirects are not followed, and
//! every text is redacted before it gets into an error.

mod attempt;
mod backoff;
pub(super) mod classify;
mod network;
mod setup;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use reqwest::{Client, Request, Url};
use serde_json::Value;

use self::attempt::Attempt;
pub(super) use self::attempt::{AttemptError, RawAnswer};
use self::classify::AttemptOutcome;
pub use self::network::Network;
pub use self::setup::SetupError;
use super::limiter::LoadSignal;
use super::secret::Secrets;
use super::{ConcurrencyLimiter, Model};

/// A server's demand to wait longer than this is as good as a refusal.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The server of one model. Many threads ask it at once.
pub struct Endpoint {
    pub(super) network: Arc<Network>,
    pub(super) model: Model,
    pub(super) base: Url,
    pub(super) secrets: Secrets,
    client: Client,
    limiter: Arc<ConcurrencyLimiter>,
}

/// An answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointResponse {
    /// The body.
    pub body: Value,
    /// Milliseconds that the attempt took which was answered, from sending to the last byte.
    pub latency_ms: u64,
    /// Attempts, with the one that was answered.
    pub attempts: u32,
}

/// Why there is no answer. The texts are redacted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The conversation does not fit into the model's context: an outcome of the model.
    #[error("the conversation does not fit the model's context: {0}")]
    TooLong(String),
    /// The server cannot parse what its model says, and said so twice: an outcome of the model.
    #[error("the server cannot parse what the model says: {0}")]
    Unparsed(String),
    /// The provider does not want to answer this conversation (a content filter): an outcome of the model.
    #[error("the provider refuses: {0}")]
    Refused(String),
    /// The request will never work.
    #[error("{0}")]
    Config(String),
    /// Network and server failed, after all retries.
    #[error("{0}")]
    Infra(String),
    /// Everything is to stop.
    #[error("stopped")]
    Stopped,
}

impl Endpoint {
    /// The server of `model`. The key and secret headers are read by `env`.
    ///
    /// # Errors
    /// Settings that cannot work; nothing is sent yet.
    pub fn new(
        network: &Arc<Network>,
        model: &Model,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Endpoint, SetupError> {
        let base = setup::base_url(&model.base_url)?;
        let (headers, secrets) = setup::headers(model, env)?;
        let client = setup::client(&base, headers)?;
        let limiter = Arc::new(ConcurrencyLimiter::new(model.connections));
        Ok(Endpoint { network: Arc::clone(network), model: model.clone(), base, secrets, client, limiter })
    }

    /// How many requests and episodes are under way, and may be.
    pub fn limiter(&self) -> &Arc<ConcurrencyLimiter> {
        &self.limiter
    }

    /// Takes the key and secret headers out of a body that is to be kept.
    pub fn redact_json(&self, body: &mut Value) {
        self.secrets.redact_json(body);
    }

    /// Posts `body` to `path`, which follows on the base URL, again where that may help, and waits for the answer.
    ///
    /// # Errors
    /// See [`EndpointError`].
    ///
    /// # Panics
    /// On a thread that runs asynchronous code: this blocks.
    pub fn send(&self, path: &str, body: &Value, stop: &AtomicBool) -> Result<EndpointResponse, EndpointError> {
        let request = self.post(path, body)?;
        let timeout = Duration::from_secs(self.model.limits.timeout_s.into());
        let (mut attempts, mut unparsed) = (0, 0);
        loop {
            let permit = self.limiter.acquire_request(stop).ok_or(EndpointError::Stopped)?;
            attempts += 1;
            let started = Instant::now();
            let attempt = self.attempt(&request, timeout, stop);
            let latency = started.elapsed();
            let retryable = match classify::classify(attempt, &self.secrets) {
                AttemptOutcome::Answer(body) => {
                    permit.release(LoadSignal::Answered);
                    let latency_ms = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX);
                    return Ok(EndpointResponse { body, latency_ms, attempts });
                }
                AttemptOutcome::Fatal(error) => {
                    let answered = !matches!(error, EndpointError::Infra(_) | EndpointError::Stopped);
                    permit.release(if answered { LoadSignal::Answered } else { LoadSignal::Failed });
                    return Err(error);
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
            // Whether the model or the server is to blame shows at the second attempt, however few are allowed.
            let allowed = self.model.limits.retries.max(u32::from(retryable.unparsed));
            if attempts > allowed || wait > LONGEST_WAIT {
                return Err(EndpointError::Infra(exhausted_message(&retryable.message, attempts, wait)));
            }
            if !backoff::sleep(wait, stop) {
                return Err(EndpointError::Stopped);
            }
        }
    }

    /// Waits as after so many failed attempts; `None` when `stop` is raised.
    pub(in crate::llm) fn pause(&self, failed: u32, stop: &AtomicBool) -> Option<()> {
        backoff::sleep(backoff::delay(failed), stop).then_some(())
    }

    /// The body is serialised once, whatever the number of attempts.
    fn post(&self, path: &str, body: &Value) -> Result<Request, EndpointError> {
        let config = |error: String| EndpointError::Config(self.secrets.redact(&error));
        let url = self.url(path).map_err(|error| config(format!("the path `{path}` makes no URL: {error}")))?;
        let bytes = serde_json::to_vec(body).map_err(|error| config(error.to_string()))?;
        let request = self.client.post(url).header("content-type", "application/json").body(bytes).build();
        request.map_err(|error| config(attempt::describe(error)))
    }

    pub(super) fn get(&self, url: Url) -> Result<Request, AttemptError> {
        self.client.get(url).build().map_err(|error| AttemptError::Network(attempt::describe(error)))
    }

    pub(super) fn url(&self, path: &str) -> Result<Url, String> {
        // With exactly one slash between, no path changes the host.
        let (base, path) = (self.base.as_str().trim_end_matches('/'), path.trim_start_matches('/'));
        Url::parse(&format!("{base}/{path}")).map_err(|error| error.to_string())
    }

    /// One attempt, on the calling thread.
    pub(super) fn attempt(&self, request: &Request, timeout: Duration, stop: &AtomicBool) -> Attempt {
        let Some(request) = request.try_clone() else {
            return Err(AttemptError::Network("the request cannot be repeated".to_owned()));
        };
        self.network.block_on(attempt::attempt(&self.client, request, timeout, stop))
    }
}

/// What is said when no further attempt is made.
fn exhausted_message(message: &str, attempts: u32, wait: Duration) -> String {
    match attempts {
        _ if wait > LONGEST_WAIT => format!("{message}; the server asks for a wait of more than 10 minutes"),
        1 => format!("{message} (1 attempt)"),
        n => format!("{message} (the last of {n} attempts)"),
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The client's own output would name its headers.
        f.debug_struct("Endpoint")
            .field("base", &self.base.as_str())
            .field("model", &self.model.model)
            .field("limiter", &self.limiter)
            .finish_non_exhaustive()
    }
}
