//! What an attempt means: an answer, an outcome of the model, a request that never works, or one to make again.

use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{StatusCode, Url};
use serde_json::Value;

use super::attempt::{Arrived, Attempt, Refusal};
use super::{AskError, LONGEST_WAIT, backoff};
use crate::llm::secret::Secrets;
use crate::llm::slots::Load;

/// What an attempt means.
#[derive(Debug)]
pub(super) enum Verdict {
    Answer(Value),
    Never(AskError),
    Again(Again),
}

/// A failure that may be gone at the next attempt.
#[derive(Debug)]
pub(super) struct Again {
    pub(super) message: String,
    /// How long the server asks to wait.
    pub(super) wait: Option<Duration>,
    /// Whether the server says that it has too much to do.
    overloaded: bool,
    /// Whether the server could not parse what its model said.
    pub(super) unparsed: bool,
}

impl Again {
    /// What it says of the server's load. A wait too long to be followed keeps nobody else waiting.
    pub(super) fn load(&self) -> Load {
        if self.overloaded { Load::Overload(self.wait.filter(|wait| *wait <= LONGEST_WAIT)) } else { Load::Failed }
    }
}

/// How servers say that a conversation does not fit, in lower case.
const TOO_LONG: &[&str] = &[
    // OpenAI, code of both APIs.
    "context_length_exceeded",
    // OpenAI responses.
    "exceeds the context window",
    // OpenAI before there were codes, vLLM, OpenRouter, DeepSeek, Mistral.
    "maximum context length",
    // vLLM, of a prompt alone.
    "longer than the maximum model length",
    // SGLang.
    "longer than the model's context length",
    // llama.cpp, type since 2025.
    "exceed_context_size_error",
    // llama.cpp, message.
    "exceeds the available context size",
    // llama.cpp and LM Studio, when it fills up during the answer.
    "context size has been exceeded",
    // LM Studio.
    "context length of only",
    // Anthropic, of the prompt alone.
    "prompt is too long",
    // Anthropic, of prompt and answer.
    "exceed context limit",
    // Anthropic, by bytes.
    "request_too_large",
    // Gemini.
    "exceeds the maximum number of tokens",
];

/// How servers say that they cannot parse what their model said, in lower case, with the status.
const UNPARSED: &[(u16, &str)] = &[
    // llama.cpp: the answer.
    (500, "failed to parse input"),
    // llama.cpp: arguments of a call that the model made before.
    (500, "failed to parse tool call arguments"),
    // Ollama.
    (500, "error parsing tool call"),
    // Groq.
    (400, "tool_use_failed"),
];

/// How providers say that they do not want to answer, in lower case.
const REFUSED: &[&str] = &[
    // Azure OpenAI.
    "content_filter",
    // OpenAI.
    "content_policy_violation",
    // OpenAI, of reasoning models.
    "invalid_prompt",
];

/// What an attempt means.
pub(super) fn judge(attempt: Attempt, secrets: &Secrets) -> Verdict {
    match attempt {
        Ok(arrived) if arrived.status.is_success() => answer(&arrived, secrets),
        Ok(arrived) if arrived.status.is_redirection() => Verdict::Never(AskError::Infra(redirect(&arrived, secrets))),
        Ok(arrived) => refused(&arrived, secrets),
        Err(Refusal::Broken(reason)) => again(secrets.redact(&reason)),
        Err(Refusal::TooBig) => Verdict::Never(AskError::Infra("the answer is larger than 16 MiB".to_owned())),
        Err(Refusal::Stopped) => Verdict::Never(AskError::Stopped),
    }
}

fn again(message: String) -> Verdict {
    Verdict::Again(Again { message, wait: None, overloaded: false, unparsed: false })
}

fn answer(arrived: &Arrived, secrets: &Secrets) -> Verdict {
    if let Some(other) = not_json(&arrived.headers) {
        return again(format!("the answer is {}, not JSON", secrets.redact(&other)));
    }
    match serde_json::from_slice(&arrived.body) {
        Ok(body) => Verdict::Answer(body),
        Err(error) => again(format!("the answer is not JSON: {}", secrets.redact(&error.to_string()))),
    }
}

/// The content type, unless it is JSON's or none.
pub(in crate::llm) fn not_json(headers: &HeaderMap) -> Option<String> {
    let content_type = String::from_utf8_lossy(headers.get(CONTENT_TYPE)?.as_bytes()).to_lowercase();
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    (!kind.ends_with("/json") && !kind.ends_with("+json")).then(|| kind.to_owned())
}

/// A redirect is told of and not followed.
pub(in crate::llm) fn redirect(arrived: &Arrived, secrets: &Secrets) -> String {
    let target = arrived.headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let host = target.and_then(|target| Url::parse(target).ok()).and_then(|url| url.host_str().map(str::to_owned));
    let to = match (&host, target) {
        (Some(host), _) => format!("to {}", secrets.redact(host)),
        (None, Some(_)) => "to another path".to_owned(),
        (None, None) => "to nowhere".to_owned(),
    };
    format!("the server redirects {to} (HTTP {}), which is not followed", arrived.status.as_u16())
}

fn refused(arrived: &Arrived, secrets: &Secrets) -> Verdict {
    let status = arrived.status.as_u16();
    let text = String::from_utf8_lossy(&arrived.body).to_lowercase();
    let message = message(arrived, secrets);
    if matches!(status, 400 | 413 | 422 | 500) && TOO_LONG.iter().any(|phrase| text.contains(phrase)) {
        return Verdict::Never(AskError::TooLong(message));
    }
    if status == 400 && REFUSED.iter().any(|phrase| text.contains(phrase)) {
        return Verdict::Never(AskError::Refused(message));
    }
    let unparsed = UNPARSED.iter().any(|(of, phrase)| *of == status && text.contains(phrase));
    // A quota that is used up is told as if it were a rate.
    let never = status == 429 && text.contains("insufficient_quota");
    let passing = matches!(status, 408 | 409 | 425 | 429) || arrived.status.is_server_error();
    if never || !(passing || unparsed) {
        return Verdict::Never(AskError::Config(message));
    }
    let wait = backoff::retry_after(&arrived.headers, SystemTime::now());
    Verdict::Again(Again { message, wait, overloaded: matches!(status, 429 | 503 | 529), unparsed })
}

/// The status and what the server says about it.
pub(in crate::llm) fn message(arrived: &Arrived, secrets: &Secrets) -> String {
    let text = match serde_json::from_slice::<Value>(&arrived.body) {
        Ok(body) => said(&body).map_or_else(|| body.to_string(), str::to_owned),
        Err(_) => String::from_utf8_lossy(&arrived.body).into_owned(),
    };
    let status = name(arrived.status);
    match secrets.redact(&text) {
        text if text.is_empty() => status,
        text => format!("{status}: {text}"),
    }
}

fn name(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("HTTP {} {reason}", status.as_u16()),
        None => format!("HTTP {}", status.as_u16()),
    }
}

/// The sentence in an error's body.
fn said(body: &Value) -> Option<&str> {
    ["/error/message", "/0/error/message", "/message", "/error", "/detail"]
        .iter()
        .find_map(|path| body.pointer(path).and_then(Value::as_str))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arrived(status: u16, body: &Value) -> Attempt {
        let status = StatusCode::from_u16(status).unwrap();
        Ok(Arrived { status, headers: HeaderMap::new(), body: body.to_string().into_bytes() })
    }

    fn verdict(status: u16, body: &Value) -> Verdict {
        judge(arrived(status, body), &Secrets::default())
    }

    /// Bodies in the form in which servers send them.
    #[test]
    fn a_conversation_that_does_not_fit_is_recognised() {
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
            assert!(matches!(verdict(status, &body), Verdict::Never(AskError::TooLong(_))), "{body}");
            assert!(!matches!(verdict(401, &body), Verdict::Never(AskError::TooLong(_))), "{body}");
        }
        assert!(matches!(verdict(413, &json!("Request Entity Too Large")), Verdict::Never(AskError::Config(_))));
    }

    #[test]
    fn words_that_the_server_cannot_parse_are_recognised() {
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
            assert!(matches!(verdict(status, &body), Verdict::Again(Again { unparsed: true, .. })), "{body}");
            assert!(!matches!(verdict(503, &body), Verdict::Again(Again { unparsed: true, .. })), "{body}");
        }
    }

    #[test]
    fn every_status_is_final_or_to_be_tried_again() {
        let again: Vec<u16> =
            (400..600).filter(|status| matches!(verdict(*status, &json!({})), Verdict::Again(_))).collect();
        let expected: Vec<u16> = [408, 409, 425, 429].into_iter().chain(500..600).collect();
        assert_eq!(again, expected);
        let overloaded: Vec<u16> = (400..600)
            .filter(|status| matches!(verdict(*status, &json!({})), Verdict::Again(Again { overloaded: true, .. })))
            .collect();
        assert_eq!(overloaded, [429, 503, 529]);
        let quota = json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}});
        assert!(matches!(verdict(429, &quota), Verdict::Never(AskError::Config(_))));
    }

    #[test]
    fn the_server_s_own_sentence_is_shown() {
        for (body, expected) in [
            (json!({"error": {"message": "no such model", "code": 1}}), "HTTP 404 Not Found: no such model"),
            (json!([{"error": {"message": "no such model"}}]), "HTTP 404 Not Found: no such model"),
            (json!({"detail": "Not Found"}), "HTTP 404 Not Found: Not Found"),
            (json!({"odd": 1}), r#"HTTP 404 Not Found: {"odd":1}"#),
        ] {
            assert_eq!(message(&arrived(404, &body).unwrap(), &Secrets::default()), expected);
        }
        let empty = Arrived { status: StatusCode::NOT_FOUND, headers: HeaderMap::new(), body: Vec::new() };
        assert_eq!(message(&empty, &Secrets::default()), "HTTP 404 Not Found");
    }

    #[test]
    fn json_has_several_content_types() {
        let other = |value: &str| not_json(&HeaderMap::from_iter([(CONTENT_TYPE, value.parse().unwrap())]));
        for value in
            ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/problem+json"]
        {
            assert_eq!(other(value), None);
        }
        assert_eq!(other("text/html; charset=utf-8").as_deref(), Some("text/html"));
        assert_eq!(other("text/event-stream").as_deref(), Some("text/event-stream"));
        assert_eq!(not_json(&HeaderMap::new()), None);
    }
}
