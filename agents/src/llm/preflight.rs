//! Checks before the first paid request: whether the server is reachable, accepts the key and has the model.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use healbench_text::secrets;
use reqwest::Url;
use serde_json::Value;

use super::endpoint::{AttemptError, Endpoint, RawAnswer, classify};
use super::lenient_json;

const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest wait for a server that is not ready yet, and the time between two questions.
const LOADING: Duration = Duration::from_secs(600);
const LOADING_POLL: Duration = Duration::from_secs(1);
/// The most models listed when the requested one is missing.
const MAX_SUGGESTIONS: usize = 8;

/// The outcome of a successful preflight check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preflight {
    /// The server has the model.
    Found,
    /// The server does not list its models, or the check is turned off.
    Unchecked,
}

/// A reason why every request of a run would fail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PreflightError {
    /// The server has no such model.
    #[error("{url} has no model `{model}`{}", known_models_clause(known))]
    NoModel {
        url: String,
        model: String,
        /// Up to eight models of the server, the most similar names first; empty when the server does not list any.
        known: Vec<String>,
    },
    /// The server rejects the key, or requires one and none is set.
    #[error("{url} {} ({reason})", key_problem(key_env.as_deref()))]
    BadKey {
        url: String,
        /// The environment variable that holds the key.
        key_env: Option<String>,
        reason: String,
    },
    /// The server cannot be reached, or does not respond as a model server should.
    #[error("{url} does not work: {reason}")]
    Unavailable { url: String, reason: String },
}

fn known_models_clause(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; it has {}", known.join(", ")) }
}

fn key_problem(key_env: Option<&str>) -> String {
    match key_env {
        Some(variable) => format!("does not take the key in {variable}"),
        None => "wants a key, and none is set".to_owned(),
    }
}

impl PreflightError {
    /// Returns advice on how to fix the problem.
    pub fn help(&self) -> String {
        match self {
            PreflightError::NoModel { .. } => {
                "name one that it has; if the server takes names that it does not list, set `check_model = false`"
                    .to_owned()
            }
            PreflightError::BadKey { key_env: Some(variable), .. } => {
                format!(
                    "set {variable} to a key that is valid for this server, without `Bearer ` or quotes, or name another \
                     variable by `key_env`; if the key may only not list the models, set `check_model = false`"
                )
            }
            PreflightError::BadKey { key_env: None, .. } => {
                "name the environment variable that holds the key by `key_env`".to_owned()
            }
            PreflightError::Unavailable { .. } => {
                "see that the server runs, and that `base_url` is its address with the path of the API (often /v1); a \
                 certificate of your own authority is named in SSL_CERT_FILE"
                    .to_owned()
            }
        }
    }
}

impl Endpoint {
    /// Requests the server's list of models, or the model's own resource where the API has one. The request costs
    /// nothing. A server that says that it is not ready yet is waited for, at most ten minutes; `note_wait` is then called
    /// once with what it says.
    ///
    /// # Errors
    /// Returns the problem that would make every request fail.
    pub fn preflight(&self, stop: &AtomicBool, note_wait: &dyn Fn(&str)) -> Result<Preflight, PreflightError> {
        let url = self.models_url().map_err(|reason| self.unavailable(&reason))?;
        let mut answer = match self.fetch(&url, stop) {
            Ok(answer) if !answer.status.is_server_error() => answer,
            _ => self.fetch(&url, stop).map_err(|error| self.unavailable(&reason(error)))?,
        };
        let started = Instant::now();
        while is_not_ready(&answer) && started.elapsed() < LOADING {
            if started.elapsed() < LOADING_POLL {
                note_wait(&classify::message(&answer, &secrets()));
            }
            if !self.sleep(LOADING_POLL, stop) {
                return Err(self.unavailable("stopped"));
            }
            answer = self.fetch(&url, stop).map_err(|error| self.unavailable(&reason(error)))?;
        }
        let message = classify::message(&answer, &secrets());
        match answer.status.as_u16() {
            // Without the check, the key need not be allowed to list models.
            401 | 403 if !self.model.check_model && self.model.key_env.is_some() => Ok(Preflight::Unchecked),
            401 | 403 => Err(self.bad_key(message)),
            // Gemini reports an invalid key with status 400.
            400 if String::from_utf8_lossy(&answer.body).contains("API_KEY_INVALID") => Err(self.bad_key(message)),
            200..300 if self.model.check_model && error_in(&answer).is_some() => {
                Err(self.unavailable(&format!("it answers with an error: {}", error_in(&answer).unwrap_or_default())))
            }
            _ if !self.model.check_model => Ok(Preflight::Unchecked),
            200..300 => self.check_listing(&answer),
            300..400 => Err(self.unavailable(&classify::redirect_message(&answer, &secrets()))),
            404 if self.has_model_resource() && !is_unknown_path(&answer) => Err(self.no_model(Vec::new())),
            500 | 502..600 => Err(self.unavailable(&message)),
            _ => Ok(Preflight::Unchecked),
        }
    }

    fn fetch(&self, url: &Url, stop: &AtomicBool) -> Result<RawAnswer, AttemptError> {
        let timeout = TIMEOUT.min(Duration::from_secs(self.model.limits.timeout_s.into()));
        self.attempt(&self.get(url.clone())?, timeout, stop)
    }

    /// Returns true if the model has its own resource to check (Anthropic, Gemini).
    fn has_model_resource(&self) -> bool {
        self.model.check_model && self.model.api.entry().has_model_resource
    }

    fn models_url(&self) -> Result<Url, String> {
        let mut url = self.url("/models")?;
        if self.has_model_resource() {
            let name = self.model.model.strip_prefix("models/").unwrap_or(&self.model.model);
            url.path_segments_mut().map_err(|()| "it has no path".to_owned())?.push(name);
        }
        Ok(url)
    }

    fn check_listing(&self, answer: &RawAnswer) -> Result<Preflight, PreflightError> {
        let Ok(body) = lenient_json::parse::<Value>(&answer.body) else {
            let other = classify::non_json_content_type(&answer.headers);
            let title = classify::titled(&answer.body);
            return Err(self.unavailable(&match other {
                Some(other) => format!("it answers with {other}, not JSON{title}"),
                None => format!("its answer is not JSON{title}"),
            }));
        };
        self.learn_context(&body);
        if self.has_model_resource() {
            return Ok(Preflight::Found);
        }
        let Some(entries) = entries(&body) else { return Ok(Preflight::Unchecked) };
        let known: Vec<&str> = entries.into_iter().flat_map(names).collect();
        let wanted = self.model.model.as_str();
        if known.iter().any(|name| is_name_of(name, wanted)) {
            return Ok(Preflight::Found);
        }
        Err(self.no_model(nearest(known, wanted)))
    }

    /// Remembers how many tokens the model's context has room for, if the server lists it.
    fn learn_context(&self, body: &Value) {
        let wanted = self.model.model.as_str();
        let entry = match self.has_model_resource() {
            true => Some(body),
            false => entries(body).into_iter().flatten().find(|item| names(item).any(|name| is_name_of(name, wanted))),
        };
        if let Some(tokens) = entry.and_then(context_tokens) {
            // The first answer counts.
            let _ = self.context_tokens.set(tokens);
        }
    }

    fn no_model(&self, known: Vec<&str>) -> PreflightError {
        let known = known.into_iter().map(|name| secrets().redact(name)).collect();
        PreflightError::NoModel { url: self.base.to_string(), model: secrets().redact(&self.model.model), known }
    }

    fn bad_key(&self, reason: String) -> PreflightError {
        PreflightError::BadKey { url: self.base.to_string(), key_env: self.model.key_env.clone(), reason }
    }

    fn unavailable(&self, reason: &str) -> PreflightError {
        PreflightError::Unavailable { url: self.base.to_string(), reason: secrets().redact(reason) }
    }
}

fn reason(error: AttemptError) -> String {
    match error {
        AttemptError::Network(reason) | AttemptError::Lost(reason) => reason,
        AttemptError::TooLarge => "its list of models is larger than 16 MiB".to_owned(),
        AttemptError::Stopped => "stopped".to_owned(),
    }
}

/// Returns true if a 404 is about the path and not the model, which the servers name that have one: llama.cpp implements
/// Anthropic's API without model resources, and `base_url` may be wrong.
fn is_unknown_path(answer: &RawAnswer) -> bool {
    !String::from_utf8_lossy(&answer.body).to_lowercase().contains("model")
}

/// Words of servers that load their model, or that are busy with another request.
const NOT_YET: [&str; 14] = [
    "loading model",
    "loading the model",
    "is loading",
    "still loading",
    "currently loading",
    "being loaded",
    "starting",
    "restarting",
    "warming up",
    "initializing",
    "not ready",
    "not yet ready",
    // KoboldCpp.
    "server is busy",
    "overloaded",
];

/// Words of servers that have failed to load it.
const FAILED: [&str; 4] = ["error loading", "error starting", "error initializing", "failed"];

/// Returns true if a server says that it is not ready yet.
fn is_not_ready(answer: &RawAnswer) -> bool {
    let text = String::from_utf8_lossy(&answer.body).to_lowercase();
    let has = |words: &&str| {
        let ends = |(at, words): (usize, &str)| {
            let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
            !is_letter(text[..at].chars().next_back()) && !is_letter(text[at + words.len()..].chars().next())
        };
        text.match_indices(*words).any(ends)
    };
    answer.status.as_u16() == 503 && NOT_YET.iter().any(&has) && !FAILED.iter().any(has)
}

/// Returns the error in an answer that says it is none.
fn error_in(answer: &RawAnswer) -> Option<String> {
    let body = lenient_json::parse::<Value>(&answer.body).ok()?;
    let error = body.get("error").filter(|error| !error.is_null() && entries(&body).is_none())?;
    let message = error.get("message").unwrap_or(error);
    Some(message.as_str().map_or_else(|| message.to_string(), str::to_owned))
}

/// Returns the entries of a list of models, or `None` if `body` is not such a list.
fn entries(body: &Value) -> Option<Vec<&Value>> {
    let items = |key: &str| body.get(key).and_then(Value::as_array);
    let lists: Vec<&Vec<Value>> = [items("data"), items("models"), body.as_array()].into_iter().flatten().collect();
    (!lists.is_empty()).then(|| lists.into_iter().flatten().collect())
}

/// Returns the names in an entry of a list of models.
fn names(entry: &Value) -> impl Iterator<Item = &str> {
    ["id", "name", "model"].into_iter().filter_map(|key| entry.get(key)?.as_str())
}

/// The fields with the size of a model's context, in the lists of vLLM and SGLang, OpenRouter, Groq, LM Studio, llama.cpp,
/// Gemini, Anthropic, Copilot and GitHub. What is loaded or provided counts before what the model was trained for.
const CONTEXT_FIELDS: [&str; 13] = [
    "/max_model_len",
    "/loaded_context_length",
    "/top_provider/context_length",
    "/context_length",
    "/context_window",
    "/max_context_length",
    "/meta/n_ctx",
    "/inputTokenLimit",
    "/max_input_tokens",
    "/limits/max_input_tokens",
    "/max_context_window_tokens",
    "/capabilities/limits/max_context_window_tokens",
    "/meta/n_ctx_train",
];

fn context_tokens(entry: &Value) -> Option<u64> {
    CONTEXT_FIELDS.iter().find_map(|field| entry.pointer(field)?.as_u64().filter(|tokens| *tokens > 0))
}

/// Compares names, ignoring the tag `latest`, which Ollama omits, and the prefix `models/`, which Gemini adds.
fn is_name_of(listed: &str, wanted: &str) -> bool {
    let listed = listed.strip_prefix("models/").unwrap_or(listed);
    let wanted = wanted.strip_prefix("models/").unwrap_or(wanted);
    listed == wanted || listed.strip_suffix(":latest") == Some(wanted)
}

/// Returns at most eight names, the most similar to `wanted` first (Dice's coefficient of letter pairs).
fn nearest<'a>(mut known: Vec<&'a str>, wanted: &str) -> Vec<&'a str> {
    let pairs = |text: &str| -> Vec<(u8, u8)> {
        let lower = text.to_lowercase().into_bytes();
        lower.iter().copied().zip(lower.iter().copied().skip(1)).collect()
    };
    let of_wanted = pairs(wanted);
    known.sort_unstable();
    known.dedup();
    known.sort_by_cached_key(|name| {
        let of_name = pairs(name);
        let common = of_name.iter().filter(|pair| of_wanted.contains(pair)).count();
        std::cmp::Reverse(2000 * common / (of_name.len() + of_wanted.len()).max(1))
    });
    known.truncate(MAX_SUGGESTIONS);
    known
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;
    use reqwest::header::HeaderMap;

    use super::*;

    fn is_waited_for(text: &str) -> bool {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        is_not_ready(&RawAnswer { status, headers: HeaderMap::new(), body: text.to_owned().into_bytes() })
    }

    #[test]
    fn a_server_that_will_be_ready_is_told_from_one_that_will_not() {
        for text in [
            r#"{"error": {"message": "Loading model"}}"#,
            "Service starting, try again shortly",
            "the backend is restarting",
            r#"{"detail": {"msg": "Server is busy; please try again later.", "type": "service_unavailable"}}"#,
            "model is overloaded",
            "503 not ready",
        ] {
            assert!(is_waited_for(text), "{text}");
        }
        for text in [
            "error loading model: out of memory",
            "worker failed while starting",
            "error initializing CUDA",
            "no kickstarting of models here",
            "reinitializing is off",
            "no healthy upstream",
            "",
        ] {
            assert!(!is_waited_for(text), "{text}");
        }
    }
}
