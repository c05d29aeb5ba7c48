//! Classification of attempts: a reply, an outcome of the model, a permanent error, or a failure to retry.

use std::time::{Duration, SystemTime};

use healbench_text::Secrets;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{StatusCode, Url};
use serde_json::Value;

use super::attempt::{Attempt, AttemptError, RawAnswer};
use super::{EndpointError, LONGEST_WAIT, backoff};
use crate::llm::lenient_json;
use crate::llm::limiter::LoadSignal;

#[derive(Debug)]
pub(super) enum AttemptOutcome {
    Answer(Value),
    Fatal(EndpointError),
    Retry(Retryable),
}

/// A failure that a retry may fix.
#[derive(Debug)]
pub(super) struct Retryable {
    pub(super) message: String,
    /// The delay that the server requests.
    pub(super) wait: Option<Duration>,
    /// True if the server reports overload.
    overloaded: bool,
    /// True if the server could not parse its model's output.
    pub(super) unparsed: bool,
}

impl Retryable {
    /// Returns the signal for the limiter. A requested delay longer than [`LONGEST_WAIT`] is not followed, so it does
    /// not pause other requests.
    pub(super) fn load_signal(&self) -> LoadSignal {
        if self.overloaded {
            LoadSignal::Overload(self.wait.filter(|wait| *wait <= LONGEST_WAIT))
        } else {
            LoadSignal::Failed
        }
    }
}

/// Phrases of errors about the context length, in lower case.
const TOO_LONG: &[&str] = &[
    // OpenAI, error code of both APIs.
    "context_length_exceeded",
    // OpenAI responses.
    "exceeds the context window",
    // OpenAI before error codes, vLLM, OpenRouter, DeepSeek, Mistral.
    "maximum context length",
    // vLLM, if the prompt alone is too long.
    "longer than the maximum model length",
    // SGLang.
    "longer than the model's context length",
    // llama.cpp, error type since 2025.
    "exceed_context_size_error",
    // llama.cpp, message.
    "exceeds the available context size",
    // llama.cpp and LM Studio, if the context fills up during generation.
    "context size has been exceeded",
    // LM Studio.
    "context length of only",
    // Anthropic, if the prompt alone is too long.
    "prompt is too long",
    // Anthropic, if prompt and output together are too long.
    "exceed context limit",
    // Anthropic, if the request has too many bytes.
    "request_too_large",
    // Gemini.
    "exceeds the maximum number of tokens",
];

/// Status codes and phrases, in lower case, of errors about model output that the server cannot parse.
const UNPARSED: &[(u16, &str)] = &[
    // llama.cpp: the output.
    (500, "failed to parse input"),
    // llama.cpp: the arguments of an earlier call.
    (500, "failed to parse tool call arguments"),
    // Ollama.
    (500, "error parsing tool call"),
    // Groq.
    (400, "tool_use_failed"),
];

/// Phrases of refusals, in lower case.
const REFUSED: &[&str] = &[
    // Azure OpenAI.
    "content_filter",
    // OpenAI.
    "content_policy_violation",
    // OpenAI, from reasoning models.
    "invalid_prompt",
];

/// Classifies the result of an attempt.
pub(super) fn classify(attempt: Attempt, secrets: &Secrets) -> AttemptOutcome {
    match attempt {
        Ok(answer) if answer.status.is_success() => classify_success(&answer, secrets),
        Ok(answer) if answer.status.is_redirection() => {
            AttemptOutcome::Fatal(EndpointError::Infra(redirect_message(&answer, secrets)))
        }
        Ok(answer) => classify_failure(&answer, secrets),
        Err(AttemptError::Network(reason) | AttemptError::Lost(reason)) => retry(secrets.redact(&reason)),
        Err(AttemptError::TooLarge) => {
            AttemptOutcome::Fatal(EndpointError::Infra("the answer is larger than 16 MiB".to_owned()))
        }
        Err(AttemptError::Stopped) => AttemptOutcome::Fatal(EndpointError::Stopped),
    }
}

fn retry(message: String) -> AttemptOutcome {
    AttemptOutcome::Retry(Retryable { message, wait: None, overloaded: false, unparsed: false })
}

fn classify_success(answer: &RawAnswer, secrets: &Secrets) -> AttemptOutcome {
    if let Some(other) = non_json_content_type(&answer.headers) {
        return retry(format!("the answer is {}, not JSON", secrets.redact(&other)));
    }
    match lenient_json::parse(&answer.body) {
        Ok(body) => AttemptOutcome::Answer(body),
        Err(error) => retry(format!("the answer is not JSON: {}", secrets.redact(&error.to_string()))),
    }
}

/// Returns the content type if there is one and it is not JSON.
pub(in crate::llm) fn non_json_content_type(headers: &HeaderMap) -> Option<String> {
    let content_type = String::from_utf8_lossy(headers.get(CONTENT_TYPE)?.as_bytes()).to_lowercase();
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    (!kind.ends_with("/json") && !kind.ends_with("+json")).then(|| kind.to_owned())
}

/// Describes a redirect, which is never followed.
pub(in crate::llm) fn redirect_message(answer: &RawAnswer, secrets: &Secrets) -> String {
    let target = answer.headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let host = target.and_then(|target| Url::parse(target).ok()).and_then(|url| url.host_str().map(str::to_owned));
    let to = match (&host, target) {
        (Some(host), _) => format!("to {}", secrets.redact(host)),
        (None, Some(_)) => "to another path".to_owned(),
        (None, None) => "to nowhere".to_owned(),
    };
    format!("the server redirects {to} (HTTP {}), which is not followed", answer.status.as_u16())
}

fn classify_failure(answer: &RawAnswer, secrets: &Secrets) -> AttemptOutcome {
    let status = answer.status.as_u16();
    let text = String::from_utf8_lossy(&answer.body).to_lowercase();
    let message = message(answer, secrets);
    if matches!(status, 400 | 413 | 422 | 500) && TOO_LONG.iter().any(|phrase| text.contains(phrase)) {
        return AttemptOutcome::Fatal(EndpointError::TooLong(message));
    }
    if status == 400 && REFUSED.iter().any(|phrase| text.contains(phrase)) {
        return AttemptOutcome::Fatal(EndpointError::Refused(message));
    }
    let unparsed = UNPARSED.iter().any(|(of, phrase)| *of == status && text.contains(phrase));
    // An exhausted quota is reported like a rate limit.
    let is_final = status == 429 && text.contains("insufficient_quota");
    let is_transient = matches!(status, 408 | 409 | 425 | 429) || answer.status.is_server_error();
    if is_final || !(is_transient || unparsed) {
        return AttemptOutcome::Fatal(EndpointError::Config(message));
    }
    let wait = backoff::retry_after(&answer.headers, SystemTime::now());
    AttemptOutcome::Retry(Retryable { message, wait, overloaded: matches!(status, 429 | 503 | 529), unparsed })
}

/// Returns the status and the server's message.
pub(in crate::llm) fn message(answer: &RawAnswer, secrets: &Secrets) -> String {
    let text = match serde_json::from_slice::<Value>(&answer.body) {
        Ok(body) => error_message(&body).map_or_else(|| body.to_string(), str::to_owned),
        Err(_) => String::from_utf8_lossy(&answer.body).into_owned(),
    };
    let status = status_name(answer.status);
    match secrets.redact(&text) {
        text if text.is_empty() => status,
        text => format!("{status}: {text}"),
    }
}

fn status_name(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("HTTP {} {reason}", status.as_u16()),
        None => format!("HTTP {}", status.as_u16()),
    }
}

/// Returns the message in an error's body.
fn error_message(body: &Value) -> Option<&str> {
    ["/error/message", "/0/error/message", "/message", "/error", "/detail"]
        .iter()
        .find_map(|path| body.pointer(path).and_then(Value::as_str))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(status: u16, body: &Value) -> Attempt {
        let status = StatusCode::from_u16(status).unwrap();
        Ok(RawAnswer { status, headers: HeaderMap::new(), body: body.to_string().into_bytes() })
    }

    fn verdict(status: u16, body: &Value) -> AttemptOutcome {
        classify(answer(status, body), &Secrets::default())
    }

    /// Error bodies as servers send them.
    #[test]
    fn a_conversation_that_does_not_fit_is_recognized() {
        let error = |message: &str| json!({"error": {"message": message}});
        let table = [
            (
                400,
                json!({"error": {"message": "no", "type": "invalid_request_error", "code": "context_length_exceeded"}}),
            ),
            (400, error("Your input exceeds the context window of this model.")),
            (400, json!({"object": "error", "message": "This model's maximum context length is 4096 tokens."})),
            (400, error("The decoder prompt (length 9) is longer than the maximum model length of 8.")),
            (400, error("The input (9 tokens) is longer than the model's context length (8 tokens).")),
            (400, json!({"error": {"code": 400, "message": "no", "type": "exceed_context_size_error", "n_ctx": 8}})),
            (500, error("the request exceeds the available context size. try increasing it")),
            (
                500,
                json!({"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}),
            ),
            (400, json!({"error": "the model is loaded with context length of only 8 tokens"})),
            (400, json!({"type": "error", "error": {"message": "prompt is too long: 9 tokens > 8 maximum"}})),
            (400, error("input length and `max_tokens` exceed context limit: 4 + 5 > 8")),
            (413, json!({"type": "error", "error": {"type": "request_too_large", "message": "too many bytes"}})),
            (400, error("The input token count (9) exceeds the maximum number of tokens allowed (8).")),
        ];
        assert_eq!(table.len(), TOO_LONG.len());
        for (status, body) in table {
            assert!(matches!(verdict(status, &body), AttemptOutcome::Fatal(EndpointError::TooLong(_))), "{body}");
            assert!(!matches!(verdict(401, &body), AttemptOutcome::Fatal(EndpointError::TooLong(_))), "{body}");
        }
        assert!(matches!(
            verdict(413, &json!("Request Entity Too Large")),
            AttemptOutcome::Fatal(EndpointError::Config(_))
        ));
    }

    #[test]
    fn text_that_the_server_cannot_parse_is_recognized() {
        let table = [
            (
                500,
                json!({"error": {"code": 500, "message": "Failed to parse input at pos 3: <x", "type": "server_error"}}),
            ),
            (500, json!({"error": {"message": "Failed to parse tool call arguments as JSON: [json.exception]"}})),
            (500, json!({"error": "error parsing tool call: raw='{', err=unexpected end"})),
            (400, json!({"error": {"message": "Failed to call a function.", "code": "tool_use_failed"}})),
        ];
        assert_eq!(table.len(), UNPARSED.len());
        for (status, body) in table {
            assert!(
                matches!(verdict(status, &body), AttemptOutcome::Retry(Retryable { unparsed: true, .. })),
                "{body}"
            );
            assert!(!matches!(verdict(503, &body), AttemptOutcome::Retry(Retryable { unparsed: true, .. })), "{body}");
        }
    }

    #[test]
    fn every_status_is_final_or_to_be_tried_again() {
        let again: Vec<u16> =
            (400..600).filter(|status| matches!(verdict(*status, &json!({})), AttemptOutcome::Retry(_))).collect();
        let expected: Vec<u16> = [408, 409, 425, 429].into_iter().chain(500..600).collect();
        assert_eq!(again, expected);
        let overloaded: Vec<u16> = (400..600)
            .filter(|status| {
                matches!(verdict(*status, &json!({})), AttemptOutcome::Retry(Retryable { overloaded: true, .. }))
            })
            .collect();
        assert_eq!(overloaded, [429, 503, 529]);
        let quota = json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}});
        assert!(matches!(verdict(429, &quota), AttemptOutcome::Fatal(EndpointError::Config(_))));
    }

    #[test]
    fn the_server_s_own_sentence_is_shown() {
        for (body, expected) in [
            (json!({"error": {"message": "no such model", "code": 1}}), "HTTP 404 Not Found: no such model"),
            (json!([{"error": {"message": "no such model"}}]), "HTTP 404 Not Found: no such model"),
            (json!({"detail": "Not Found"}), "HTTP 404 Not Found: Not Found"),
            (json!({"odd": 1}), r#"HTTP 404 Not Found: {"odd":1}"#),
        ] {
            assert_eq!(message(&answer(404, &body).unwrap(), &Secrets::default()), expected);
        }
        let empty = RawAnswer { status: StatusCode::NOT_FOUND, headers: HeaderMap::new(), body: Vec::new() };
        assert_eq!(message(&empty, &Secrets::default()), "HTTP 404 Not Found");
    }

    #[test]
    fn json_has_several_content_types() {
        let other =
            |value: &str| non_json_content_type(&HeaderMap::from_iter([(CONTENT_TYPE, value.parse().unwrap())]));
        for value in
            ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/problem+json"]
        {
            assert_eq!(other(value), None);
        }
        assert_eq!(other("text/html; charset=utf-8").as_deref(), Some("text/html"));
        assert_eq!(other("text/event-stream").as_deref(), Some("text/event-stream"));
        assert_eq!(non_json_content_type(&HeaderMap::new()), None);
    }
}
