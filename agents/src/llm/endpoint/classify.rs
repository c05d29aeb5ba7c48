//! Classification of attempts: a reply, an outcome of the model, a permanent error, or a failure to retry.

use std::time::{Duration, SystemTime};

use healbench_text::Secrets;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{StatusCode, Url};
use serde_json::{Value, json};

use super::attempt::{Attempt, AttemptError, RawAnswer};
use super::wordings::AskedWait;
use super::{ASKS_FOR_A_LONG_WAIT, EndpointError, LONGEST_WAIT, backoff, too_long, wordings};
use crate::llm::api::{Api, stream};
use crate::llm::lenient_json;
use crate::llm::limiter::LoadSignal;

#[derive(Debug)]
pub(super) enum AttemptOutcome {
    Answer(Value),
    Fatal(EndpointError),
    Retry(Retryable),
}

impl AttemptOutcome {
    /// Returns true if the refusal is about what the model or the conversation says, and not about the request's form.
    pub(super) fn is_of_the_model(&self) -> bool {
        match self {
            AttemptOutcome::Answer(_)
            | AttemptOutcome::Fatal(EndpointError::TooLong(_) | EndpointError::Refused(_)) => true,
            AttemptOutcome::Fatal(_) => false,
            AttemptOutcome::Retry(retryable) => retryable.unparsed,
        }
    }
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

/// Classifies the result of an attempt.
pub(super) fn classify(attempt: Attempt, api: Api, secrets: &Secrets) -> AttemptOutcome {
    match attempt {
        Ok(answer) if answer.status.is_success() => classify_success(&answer, api, secrets),
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

fn classify_success(answer: &RawAnswer, api: Api, secrets: &Secrets) -> AttemptOutcome {
    let body = match read_body(answer, api) {
        Ok(body) => body,
        Err(reason) => return retry(secrets.redact(&reason)),
    };
    match body.get("error").filter(|error| !error.is_null()) {
        // Gateways pass on errors of other servers so. What has no status is for the API to read.
        Some(error) => {
            let status = ["code", "status"].iter().find_map(|key| error.get(key)?.as_u64());
            let status = status.and_then(|status| StatusCode::from_u16(u16::try_from(status).ok()?).ok());
            // Without the text of the answer, which may say anything.
            let error = json!({ "error": error });
            let text = error.to_string().to_lowercase();
            let alone = RawAnswer { body: error.to_string().into_bytes(), ..answer.clone() };
            match status.filter(|status| status.is_client_error() || status.is_server_error()) {
                Some(status) => classify_failure(&RawAnswer { status, ..alone }, secrets),
                None if too_long::is_too_long(200, &text) => {
                    AttemptOutcome::Fatal(EndpointError::TooLong(message(&alone, secrets)))
                }
                None => AttemptOutcome::Answer(body),
            }
        }
        None => AttemptOutcome::Answer(body),
    }
}

/// Parses the body of an answer, whatever its content type: some servers call JSON text, or stream unasked.
fn read_body(answer: &RawAnswer, api: Api) -> Result<Value, String> {
    lenient_json::parse(&answer.body).or_else(|error| {
        let other = non_json_content_type(&answer.headers);
        match stream::assemble(api, &answer.body) {
            Some(body) => Ok(body),
            None if other.as_deref() == Some("text/event-stream") => {
                Err("the server streams its answers, and this stream has no answer of the API".to_owned())
            }
            None => Err(match other {
                Some(other) => format!("the answer is {other}, not JSON{}", titled(&answer.body)),
                None => format!("the answer is not JSON: {error}"),
            }),
        }
    })
}

/// Returns `: TITLE` if a body is a page of HTML that has a title.
pub(in crate::llm) fn titled(body: &[u8]) -> String {
    title(&String::from_utf8_lossy(body)).map_or_else(String::new, |title| format!(": {title}"))
}

/// Returns the title of a page of HTML.
fn title(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let start = start + lower[start..].find('>')? + 1;
    let title = &text[start..start + lower[start..].find("</title")?];
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    (!title.is_empty()).then_some(title)
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
    let text = words(&answer.body);
    let message = message(answer, secrets);
    let unparsed = wordings::is_unparsed(status, &text);
    if !unparsed && too_long::is_too_long(status, &text) {
        return AttemptOutcome::Fatal(EndpointError::TooLong(message));
    }
    if wordings::is_filtered(status, &text) {
        return AttemptOutcome::Fatal(EndpointError::Refused(message));
    }
    let says_retry = answer.headers.get("x-should-retry").and_then(|value| value.to_str().ok());
    let is_transient = matches!(status, 408 | 409 | 425 | 429) || answer.status.is_server_error();
    let wait = backoff::requested_wait(&answer.headers, &answer.body, status == 429, SystemTime::now());
    let asked_wait = match wait {
        None => AskedWait::None,
        Some(wait) if wait <= LONGEST_WAIT => AskedWait::Short,
        Some(_) => AskedWait::Long,
    };
    let is_final = || wordings::is_final(status, &text, asked_wait);
    match says_retry {
        _ if unparsed => {}
        Some("true") => {}
        // The server knows that its failure will not pass.
        Some("false") if answer.status.is_server_error() => {
            return AttemptOutcome::Fatal(EndpointError::Infra(message));
        }
        Some("false") if is_transient => return AttemptOutcome::Fatal(EndpointError::Config(message)),
        _ if is_final() => {
            let is_long = asked_wait == AskedWait::Long;
            let message = if is_long { format!("{message}; {ASKS_FOR_A_LONG_WAIT}") } else { message };
            return AttemptOutcome::Fatal(EndpointError::Config(message));
        }
        _ if is_transient => {}
        _ if matches!(status, 400 | 413 | 422) => return AttemptOutcome::Fatal(EndpointError::Invalid(message)),
        _ => return AttemptOutcome::Fatal(EndpointError::Config(message)),
    }
    AttemptOutcome::Retry(Retryable { message, wait, overloaded: matches!(status, 429 | 503 | 529), unparsed })
}

/// Returns the body of a refusal in lower case, without escapes of characters that are not ASCII.
pub(super) fn words(body: &[u8]) -> String {
    let parsed = lenient_json::parse::<Value>(body).map(|value| value.to_string());
    parsed.unwrap_or_else(|_| String::from_utf8_lossy(body).into_owned()).to_lowercase()
}

/// Returns the status and the server's message.
pub(in crate::llm) fn message(answer: &RawAnswer, secrets: &Secrets) -> String {
    let text = match serde_json::from_slice::<Value>(&answer.body) {
        Ok(body) => error_message(&body).map_or_else(|| body.to_string(), str::to_owned),
        Err(_) => {
            let text = String::from_utf8_lossy(&answer.body);
            title(&text).unwrap_or_else(|| text.into_owned())
        }
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
    ["/error/message", "/0/error/message", "/message", "/error", "/detail", "/detail/msg", "/detail/0/msg"]
        .iter()
        .find_map(|path| body.pointer(path).and_then(Value::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &Value) -> Attempt {
        let status = StatusCode::from_u16(status).unwrap();
        Ok(RawAnswer { status, headers: HeaderMap::new(), body: body.to_string().into_bytes() })
    }

    fn verdict(status: u16, body: &Value) -> AttemptOutcome {
        classify(answer(status, body), Api::OpenaiChat, &Secrets::default())
    }

    #[test]
    fn an_error_with_status_200_is_one_of_its_own_status() {
        let error = |code: u16, message: &str| json!({"error": {"message": message, "code": code}});
        assert!(matches!(
            verdict(200, &error(401, "no key")),
            AttemptOutcome::Fatal(EndpointError::Config(text)) if text == "HTTP 401 Unauthorized: no key"
        ));
        assert!(matches!(
            verdict(200, &error(429, "slow down")),
            AttemptOutcome::Retry(Retryable { overloaded: true, .. })
        ));
        let escaped = br#"{"error": {"message": "\u8f93\u5165\u5185\u5bb9\u8fc7\u957f"}}"#.to_vec();
        let answer = RawAnswer { status: StatusCode::BAD_REQUEST, headers: HeaderMap::new(), body: escaped };
        let found = classify(Ok(answer), Api::OpenaiChat, &Secrets::default());
        assert!(matches!(found, AttemptOutcome::Fatal(EndpointError::TooLong(_))), "{found:?}");
        let too_long = json!({"error": {"message": "the prompt is too long"}});
        assert!(matches!(verdict(200, &too_long), AttemptOutcome::Fatal(EndpointError::TooLong(_))));
        assert!(matches!(verdict(200, &json!({"error": null, "output": []})), AttemptOutcome::Answer(_)));
    }

    #[test]
    fn a_server_may_say_whether_to_retry() {
        let with = |status: u16, value: &'static str| {
            let headers = HeaderMap::from_iter([("x-should-retry".parse().unwrap(), value.parse().unwrap())]);
            let status = StatusCode::from_u16(status).unwrap();
            classify(Ok(RawAnswer { status, headers, body: Vec::new() }), Api::OpenaiChat, &Secrets::default())
        };
        assert!(matches!(with(529, "false"), AttemptOutcome::Fatal(EndpointError::Infra(_))));
        assert!(matches!(with(429, "false"), AttemptOutcome::Fatal(EndpointError::Config(_))));
        assert!(matches!(with(400, "true"), AttemptOutcome::Retry(_)));
    }

    #[test]
    fn a_page_is_told_by_its_title() {
        let page =
            "<!DOCTYPE html><html><head><TITLE lang=en>\n 502\tBad  Gateway</title></head><body>long</body></html>";
        let answer = RawAnswer { status: StatusCode::BAD_GATEWAY, headers: HeaderMap::new(), body: page.into() };
        assert_eq!(message(&answer, &Secrets::default()), "HTTP 502 Bad Gateway: 502 Bad Gateway");
    }

    #[test]
    fn every_status_is_final_or_to_be_tried_again() {
        let again: Vec<u16> =
            (400..600).filter(|status| matches!(verdict(*status, &json!({})), AttemptOutcome::Retry(_))).collect();
        let is_final = |status: &u16| [501, 505].contains(status);
        let expected: Vec<u16> =
            [408, 409, 425, 429].into_iter().chain((500..600).filter(|at| !is_final(at))).collect();
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
            // KoboldAI, KoboldCpp; FastAPI.
            (json!({"detail": {"msg": "Busy.", "type": "x"}}), "HTTP 404 Not Found: Busy."),
            (json!({"detail": [{"msg": "no body"}]}), "HTTP 404 Not Found: no body"),
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
