//! The way to a model: requests with limits, retries and slots. Threads call it and block; none of it is asynchronous outside.
//!
//! What comes from a server is neither trusted nor shown as it is: sizes and times are capped, redirects are not followed, and
//! every text is redacted before it gets into an error.

mod attempt;
mod backoff;
pub(super) mod judge;
mod network;
mod setup;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use reqwest::{Client, Request, Url};
use serde_json::Value;

use self::attempt::Attempt;
pub(super) use self::attempt::{Arrived, Refusal};
use self::judge::Verdict;
pub use self::network::Network;
pub use self::setup::SetupError;
use super::secret::Secrets;
use super::slots::Load;
use super::{Model, Slots};

/// A server's demand to wait longer than this is as good as a refusal.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The server of one model. Many threads ask it at once.
pub struct Endpoint {
    pub(super) network: Arc<Network>,
    pub(super) model: Model,
    pub(super) base: Url,
    pub(super) secrets: Secrets,
    client: Client,
    slots: Arc<Slots>,
}

/// An answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The body.
    pub body: Value,
    /// Milliseconds that the attempt took which was answered, from sending to the last byte.
    pub latency_ms: u64,
    /// Attempts, with the one that was answered.
    pub attempts: u32,
}

/// Why there is no answer. The texts are redacted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
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
        let slots = Arc::new(Slots::new(model.connections));
        Ok(Endpoint { network: Arc::clone(network), model: model.clone(), base, secrets, client, slots })
    }

    /// How many requests and episodes are under way, and may be.
    pub fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    /// Takes the key and secret headers out of a body that is to be kept.
    pub fn redact_json(&self, body: &mut Value) {
        self.secrets.redact_json(body);
    }

    /// Posts `body` to `path`, which follows on the base URL, again where that may help, and waits for the answer.
    ///
    /// # Errors
    /// See [`AskError`].
    ///
    /// # Panics
    /// On a thread that runs asynchronous code: this blocks.
    pub fn ask(&self, path: &str, body: &Value, stop: &AtomicBool) -> Result<Answer, AskError> {
        let request = self.post(path, body)?;
        let timeout = Duration::from_secs(self.model.limits.timeout_s.into());
        let (mut attempts, mut unparsed) = (0, 0);
        loop {
            let place = self.slots.enter_request(stop).ok_or(AskError::Stopped)?;
            attempts += 1;
            let started = Instant::now();
            let attempt = self.attempt(&request, timeout, stop);
            let latency = started.elapsed();
            let again = match judge::judge(attempt, &self.secrets) {
                Verdict::Answer(body) => {
                    place.leave(Load::Borne);
                    let latency_ms = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX);
                    return Ok(Answer { body, latency_ms, attempts });
                }
                Verdict::Never(error) => {
                    let answered = !matches!(error, AskError::Infra(_) | AskError::Stopped);
                    place.leave(if answered { Load::Borne } else { Load::Failed });
                    return Err(error);
                }
                Verdict::Again(again) => again,
            };
            unparsed += u32::from(again.unparsed);
            if unparsed == 2 {
                place.leave(Load::Borne);
                return Err(AskError::Unparsed(again.message));
            }
            let wait = again.wait.unwrap_or_else(|| backoff::delay(attempts - 1));
            place.leave(again.load());
            // Whether the model or the server is to blame shows at the second attempt, however few are allowed.
            let allowed = self.model.limits.retries.max(u32::from(again.unparsed));
            if attempts > allowed || wait > LONGEST_WAIT {
                return Err(AskError::Infra(given_up(&again.message, attempts, wait)));
            }
            if !backoff::sleep(wait, stop) {
                return Err(AskError::Stopped);
            }
        }
    }

    /// Waits as after so many failed attempts; `None` when `stop` is raised.
    pub(in crate::llm) fn pause(&self, failed: u32, stop: &AtomicBool) -> Option<()> {
        backoff::sleep(backoff::delay(failed), stop).then_some(())
    }

    /// The body is serialised once, whatever the number of attempts.
    fn post(&self, path: &str, body: &Value) -> Result<Request, AskError> {
        let config = |error: String| AskError::Config(self.secrets.redact(&error));
        let url = self.url(path).map_err(|error| config(format!("the path `{path}` makes no URL: {error}")))?;
        let bytes = serde_json::to_vec(body).map_err(|error| config(error.to_string()))?;
        let request = self.client.post(url).header("content-type", "application/json").body(bytes).build();
        request.map_err(|error| config(attempt::describe(error)))
    }

    pub(super) fn get(&self, url: Url) -> Result<Request, Refusal> {
        self.client.get(url).build().map_err(|error| Refusal::Broken(attempt::describe(error)))
    }

    pub(super) fn url(&self, path: &str) -> Result<Url, String> {
        // With exactly one slash between, no path changes the host.
        let (base, path) = (self.base.as_str().trim_end_matches('/'), path.trim_start_matches('/'));
        Url::parse(&format!("{base}/{path}")).map_err(|error| error.to_string())
    }

    /// One attempt, on the calling thread.
    pub(super) fn attempt(&self, request: &Request, timeout: Duration, stop: &AtomicBool) -> Attempt {
        let Some(request) = request.try_clone() else {
            return Err(Refusal::Broken("the request cannot be repeated".to_owned()));
        };
        self.network.block_on(attempt::attempt(&self.client, request, timeout, stop))
    }
}

/// What is said when no further attempt is made.
fn given_up(message: &str, attempts: u32, wait: Duration) -> String {
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
            .field("slots", &self.slots)
            .finish_non_exhaustive()
    }
}
