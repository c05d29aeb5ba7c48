//! Tells from a text alone whether it reports that a call failed. Where a protocol says so, it is asked first.

use serde_json::{Map, Value};

use super::content::{is_document, is_mail, is_report, own_words};
use super::words::{BEGINNINGS, COMPLAINTS};
use crate::failure_fields::{
    REASONS, SUCCESSES, has_any, has_error, is_about_a_link, is_about_the_call, is_error, is_failed_status, is_failure,
    is_nothing, lists_statuses, says_no,
};

/// More keys of JSON whose value `false` says that a call failed. In the records of a log they may be data.
const MORE_SUCCESSES: [&str; 3] = ["succeeded", "valid", "accepted"];
/// Keys of JSON that hold a result beside an error in a part of it.
const RESULT_KEYS: &[&str] = &["data", "result", "results", "rows", "items", "content", "output"];

/// The maximum length of a text that is searched for complaints; longer ones are documents if they do not begin as errors do.
const MAX_PROSE_BYTES: usize = 600;
/// The maximum number of lines of such a text.
const MAX_PROSE_LINES: usize = 6;

/// Returns true if `text` reports that what was asked for was not done. A document about errors, a list, an empty list and a result with
/// an error in one of its parts do not.
pub(super) fn reports_error(text: &str) -> bool {
    reports_plainly(text).unwrap_or_else(|| complains(text))
}

/// Returns true if a short prose text has a word of complaint where it tells something by itself.
pub(super) fn complains(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    let is_prose = text.len() <= MAX_PROSE_BYTES && lines <= MAX_PROSE_LINES && !is_document(&lower);
    let told = if is_prose && !begins_with_success(&lower) { own_words(&lower) } else { String::new() };
    COMPLAINTS.iter().any(|words| told.contains(words))
}

/// Tells whether a text reports an error, if it says so as programs do; `None` if only its words can tell.
pub(super) fn reports_plainly(text: &str) -> Option<bool> {
    let text = text.trim();
    if text.is_empty() || ["undefined", "null", "none", "nan"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Some(false);
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return Some(match value {
            Value::Object(object) => object_reports_error(&object),
            Value::String(inner) => reports_error(&inner),
            Value::Array(items) => is_list_of_issues(&items),
            _ => false,
        });
    }
    if text.starts_with(['{', '[']) && text.len() > MAX_PROSE_BYTES {
        return Some(false);
    }
    // An object, and words after it. Several objects are records, one a line.
    if text.starts_with('{') {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let (first, second) = (values.next(), values.next());
        let is_record = |object: &Map<String, Value>| !has_any(object, &REASONS) && !has_error(object);
        if let Some(Ok(Value::Object(object))) = first {
            if matches!(second, Some(Ok(Value::Object(_)))) && is_record(&object) {
                return Some(false);
            }
            if object_reports_error(&object) {
                return Some(true);
            }
        }
    }
    let lower = text.to_lowercase();
    if is_explanation(&lower) || is_mail(&lower) {
        return Some(false);
    }
    let head = lower.trim_start_matches(|c: char| !c.is_alphanumeric() && !"✖❌⚠<".contains(c));
    if is_statistic(head) || is_remark(head) || lists_statuses(head) || is_report(&lower) {
        return Some(false);
    }
    if begins_as_error(head) || denies_existence(head) {
        return Some(true);
    }
    // An HTTP message or a page.
    if let Some(status) = http_status(head) {
        return Some(status >= 400);
    }
    if let Some(inner) = text.find(['{', '[']).and_then(|at| serde_json::from_str::<Value>(&text[at..]).ok())
        && let Value::Object(object) = &inner
        && object_reports_error(object)
    {
        return Some(true);
    }
    if head.starts_with('<') && (head.contains("<error") || head.contains("_error")) {
        return Some(true);
    }
    // Keys and values on lines.
    let says_failed = !is_document(&lower)
        && lower.lines().take(5).any(|line| {
            let line = line.trim();
            ["success: false", "ok: false", "status: error", "status: failed"].contains(&line)
                || line
                    .strip_prefix("error:")
                    .is_some_and(|rest| !matches!(rest.trim(), "" | "null" | "none" | "''" | "\"\""))
        });
    if says_failed {
        return Some(true);
    }
    None
}

fn begins_as_error(head: &str) -> bool {
    // A heading, and a politeness.
    const NOUNS: &[&str] = &[
        "handling",
        "guide",
        "log",
        "logs",
        "budget",
        "rate",
        "rates",
        "codes",
        "tracking",
        "monitoring",
        "messages",
        "reporting",
        "reference",
        "pages",
        "correction",
        "recovery",
        "types",
        "analysis",
        "catalog",
    ];
    let mut words = head.split([' ', '\n']);
    if matches!(words.next(), Some("error" | "errors" | "exception" | "exceptions" | "timeout"))
        && words.next().is_some_and(|next| NOUNS.contains(&next))
        && !head.lines().next().is_some_and(|line| line.contains(':'))
        || head.starts_with("sorry for the wait")
        || head.starts_with("sorry for the delay")
    {
        return false;
    }
    let is_beginning = |words: &str| {
        head.strip_prefix(words).is_some_and(|rest| {
            !rest.starts_with(|c: char| c.is_alphanumeric() && words.len() > 1) || rest.starts_with("error")
        })
    };
    if BEGINNINGS.iter().any(is_beginning) {
        return true;
    }
    // "ValueError: …", "java.lang.NullPointerException: …"
    let name = head.split([':', ' ', '\n']).next().unwrap_or_default();
    let after = &head[name.len()..];
    (name.ends_with("error") || name.ends_with("exception")) && (after.starts_with(':') || after.is_empty())
        || head
            .split('\n')
            .next()
            .is_some_and(|line| line.contains("validation error") || line.contains("validation failed"))
}

/// Returns true if a text in lower case says that a thing with this name does not exist: "there is no order ord-99". That there is no rain
/// is no error.
pub(crate) fn denies_existence(head: &str) -> bool {
    let Some(rest) = head.strip_prefix("there is no ").or_else(|| head.strip_prefix("there's no ")) else {
        return false;
    };
    let mut words = rest.lines().next().unwrap_or_default().split(' ').skip(1).peekable();
    let names = ["with", "the", "id", "name", "number", "key", "code", "called", "named", "whose", "is"];
    let is_marked = words.next_if(|word| ["with", "called", "named"].contains(word)).is_some();
    let shown = words.find(|word| !names.contains(word)).unwrap_or_default();
    let shown = shown.trim_end_matches(['.', ',', ';', '!', ':']);
    is_marked && !shown.is_empty()
        || shown.starts_with(['"', '\'', '`', '“'])
        || shown.contains(|c: char| c.is_ascii_digit() || c == '_')
        || ["none", "null", "undefined", "nan"].contains(&shown)
}

/// Returns true for a number of errors in lower case: "error rate: 0.1%", "failed builds: 0".
fn is_statistic(head: &str) -> bool {
    let line = head.lines().next().unwrap_or_default();
    let Some((name, value)) = line.split_once(':') else { return false };
    let words: Vec<&str> = name.split(' ').collect();
    let is_counted = ["error", "errors", "failed", "failures", "failure"].contains(&words[0]);
    let is_code = words.iter().any(|word| ["code", "status", "http", "response", "number"].contains(word));
    let is_named = words.len() > 1 && words.len() <= 4 && !words[1].ends_with("ing") && !is_code;
    let value = value.trim_start();
    let digits = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let number = value[..digits].trim_end_matches('.').parse::<f64>();
    // "error: 404" and "failed request: 500" are errors.
    number.is_ok_and(|number| is_counted && (is_named && !(400.0..600.0).contains(&number) || number == 0.0))
}

/// Returns true for what is told beside a result, and for a list without an entry: "Warning: the cache is old", "Invalid dates: none".
fn is_remark(head: &str) -> bool {
    const LABELS: [&str; 6] = ["warning:", "info:", "notice:", "hint:", "tip:", "hinweis:"];
    let is_none = |value: &str| ["none", "[]", "-", "n/a"].contains(&value.trim_end_matches('.').trim());
    LABELS.iter().any(|label| head.starts_with(label))
        || !head.trim().contains('\n') && head.split_once(": ").is_some_and(|(_, value)| is_none(value))
}

/// Returns true if a text in lower case explains what errors are, or when there is one: documentation, a definition, a chapter.
fn is_explanation(lower: &str) -> bool {
    const BEGINNINGS: &[&str] =
        &["this function", "this method", "the function", "the method", "returns ", "raises ", "throws "];
    const MEANINGS: &[&str] = &["says", "means", "indicates", "tells", "shows", "describes", "signals"];
    let first = lower.lines().next().unwrap_or_default();
    let is_begun = BEGINNINGS.iter().any(|words| first.starts_with(words));
    let is_conditional = ["returns ", "raises ", "throws "].iter().any(|verb| first.contains(verb))
        && [" if ", " when ", " unless "].iter().any(|word| first.contains(word));
    let is_definition = [" is a ", " is an "].iter().any(|verb| {
        let defined = first.split_once(verb).map(|(_, rest)| rest.split([',', '.', ';']).next().unwrap_or_default());
        let clause = defined.and_then(|rest| rest.split_once(" that ").or_else(|| rest.split_once(" which ")));
        clause.is_some_and(|(_, rest)| MEANINGS.iter().any(|word| rest.starts_with(word)))
    });
    let is_heading = ["chapter ", "section ", "appendix ", "part ", "lesson "].iter().any(|word| {
        let rest = first.strip_prefix(word).unwrap_or_default();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && rest[digits..].starts_with([':', '.', ' '])
    });
    let is_meaning = first.split(' ').nth(1) == Some("means") || first.contains(" status code indicates ");
    let is_word = ["(n.)", "(adj.)", "(v.)", "(adv.)"].iter().any(|kind| first.contains(kind));
    is_begun && is_conditional || is_definition || is_heading || is_meaning || is_word
}

/// Returns the status of an HTTP message (`HTTP/1.1 409 Conflict`, `404 Not Found`, `<h1>502 Bad Gateway</h1>`).
fn http_status(head: &str) -> Option<u16> {
    let rest = head.strip_prefix("http/").and_then(|rest| rest.split_once(' ')).map_or(head, |(_, rest)| rest);
    let rest = rest.strip_prefix("status code ").or_else(|| rest.strip_prefix("status: ")).unwrap_or(rest);
    let rest = rest.trim_start_matches("<h1>").trim_start_matches("<html>").trim_start_matches("<title>");
    let digits = rest.get(..3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let reason = rest[3..].trim_start();
    let status: u16 = digits.parse().ok()?;
    // What follows a status is its reason: "500 results" has none.
    const REASONS: &[&str] = &[
        "accepted",
        "bad",
        "bandwidth",
        "client",
        "conflict",
        "created",
        "error",
        "failed",
        "forbidden",
        "found",
        "gateway",
        "gone",
        "internal",
        "invalid",
        "length",
        "method",
        "moved",
        "not",
        "ok",
        "payload",
        "payment",
        "precondition",
        "proxy",
        "rate",
        "server",
        "service",
        "slow",
        "temporary",
        "timeout",
        "too",
        "unauthorized",
        "unprocessable",
        "unsupported",
        "upstream",
        "http",
    ];
    let first = reason.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let is_reason = REASONS.contains(&first)
        || ["page not", "request timeout", "request timed", "no content"].iter().any(|words| reason.starts_with(words));
    let is_status =
        (100..600).contains(&status) && (reason.is_empty() || is_reason || reason.starts_with([':', '-', '–', '<']));
    (is_status && !rest[3..].starts_with(|c: char| c.is_alphanumeric() || c == '.')).then_some(status)
}

fn object_reports_error(object: &Map<String, Value>) -> bool {
    let lower = |key: &str| key.to_lowercase();
    let successes = || SUCCESSES.into_iter().chain(MORE_SUCCESSES);
    let is_true = |key: &str| object.iter().any(|(name, value)| lower(name) == key && *value == Value::Bool(true));
    // That something is not valid may be all that was asked for.
    let is_answer = |key: &str| object.len() == 1 && key == "valid";
    let failed = object.iter().any(|(key, value)| {
        let key = lower(key);
        successes().any(|known| known == key) && !is_answer(&key) && says_no(value)
    });
    let is_told = object.iter().any(|(key, value)| {
        let is_word = value.as_str().is_some_and(|word| ["error", "failed", "failure"].contains(&lower(word).as_str()));
        is_word && ["result", "outcome"].contains(&lower(key).as_str())
    });
    if failed || is_told || is_bad_status(object) {
        return true;
    }
    // The record of a job that failed is what was asked for.
    let is_record = object.contains_key("id") && has_any(object, &["state", "finished_at", "started_at", "created_at"]);
    if is_record {
        return false;
    }
    let succeeded = successes().any(is_true)
        || object
            .get("status")
            .and_then(Value::as_str)
            .is_some_and(|status| ["success", "ok", "created", "200"].contains(&lower(status).as_str()));
    let has_result = object.iter().any(|(key, value)| RESULT_KEYS.contains(&lower(key).as_str()) && !is_nothing(value));
    if succeeded || has_result {
        // The result itself may say that something was not accepted.
        return object.iter().any(|(key, value)| {
            RESULT_KEYS.contains(&lower(key).as_str())
                && value.as_object().is_some_and(|inner| inner.len() <= 4 && object_reports_error(inner))
        });
    }
    let has_error = has_error(object) || object.iter().any(|(key, value)| lower(key) == "errors" && is_error(value));
    let is_error_type = object.get("type").and_then(Value::as_str).is_some_and(|kind| lower(kind).ends_with("error"));
    if has_error || is_error_type || object.get("isError") == Some(&Value::Bool(true)) {
        return true;
    }
    // `{"message": "…"}` and `{"detail": "…"}` alone, and lists of complaints by field.
    let says = |value: &Value| value.as_str().is_some_and(|text| text.len() <= MAX_PROSE_BYTES && reports_error(text));
    let complains = |value: &Value| match value {
        Value::Array(items) => !items.is_empty() && items.iter().all(says),
        other => says(other),
    };
    let is_message =
        |key: &str| ["message", "detail", "msg", "reason", "title", "code", "hint", "description"].contains(&key);
    let messages = object.iter().filter(|(key, _)| is_message(&lower(key)));
    if object.len() <= 5
        && messages.clone().count() * 2 >= object.len()
        && messages.clone().any(|(_, value)| complains(value))
    {
        return true;
    }
    !object.is_empty()
        && object
            .values()
            .all(|value| value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(says)))
        || object
            .get("detail")
            .and_then(Value::as_array)
            .is_some_and(|items| items.iter().any(|item| item.get("msg").is_some()))
}

/// Returns true for a list of complaints, each with a message and a place or a code.
fn is_list_of_issues(items: &[Value]) -> bool {
    let is_issue = |item: &Value| {
        item.get("message").or_else(|| item.get("msg")).is_some_and(Value::is_string)
            && ["path", "loc", "field", "code"].iter().any(|key| item.get(key).is_some())
    };
    !items.is_empty() && items.iter().all(is_issue)
}

/// Returns true if the first sentence of a text in lower case says that something was done.
pub(super) fn begins_with_success(lower: &str) -> bool {
    const DONE: &[&str] = &[
        "created",
        "saved",
        "done",
        "updated",
        "sent",
        "deleted",
        "completed",
        "started",
        "added",
        "ok",
        "scheduled",
        "fetched",
        "angelegt",
        "gespeichert",
    ];
    const NEGATIONS: &[&str] = &[
        "not", "no", "cannot", "can't", "couldn't", "failed", "already", "if", "must", "could", "unless", "before",
        "nicht",
    ];
    // Deeds, where no verb makes them a state.
    const DEEDS: &[&str] = &[
        "removed",
        "fixed",
        "booked",
        "cancelled",
        "canceled",
        "revoked",
        "imported",
        "finished",
        "complete",
        "resolved",
        "set",
    ];
    const VERBS: &[&str] = &["is", "are", "was", "were", "be", "been", "being", "has", "have", "the", "a"];
    let first = lower.split(['.', '\n', '!', ';']).next().unwrap_or_default();
    let words: Vec<&str> = first.split([' ', ',', ':']).collect();
    let is_done = |at: usize| {
        let is_last = at > 0 && at + 1 == words.len();
        DONE.contains(&words[at])
            || DEEDS.contains(&words[at])
                && (at == 0 || !VERBS.contains(&words[at - 1]))
                && match words[at] {
                    "set" => is_last,
                    "complete" => is_last || at == 0,
                    // "Transaction cancelled" is told of one that failed, and "Order W-3 cancelled" of a deed.
                    "cancelled" | "canceled" | "revoked" => first.contains(|c: char| c.is_ascii_digit()),
                    _ => true,
                }
    };
    let needed = words.iter().position(|word| ["required", "needed", "necessary"].contains(word));
    let needs_nothing = words[0] == "no" && needed.is_some_and(|at| at <= 3) && !first.contains([',', ':']);
    needs_nothing || (0..words.len()).any(is_done) && !words.iter().any(|word| NEGATIONS.contains(word))
}

/// Returns true if the status or the code of an object is that of a failure.
fn is_bad_status(object: &Map<String, Value>) -> bool {
    let lower = |key: &str| key.to_lowercase();
    let status = ["status", "code", "statuscode", "status_code"]
        .iter()
        .find_map(|key| object.iter().find(|(name, _)| lower(name) == *key))
        .map(|(_, value)| value);
    status.is_some_and(|status| match status {
        // A negative code is that of a failure, where a reason stands beside it.
        Value::Number(number) => {
            number.as_u64().is_some_and(is_failed_status) && !is_about_a_link(object)
                || number.as_i64().is_some_and(|code| code < 0) && is_about_the_call(object)
        }
        Value::String(text) => {
            let text = lower(text);
            ["error", "rejected", "denied"].contains(&text.as_str())
                || is_failure(&text) && (object.len() == 1 || is_about_the_call(object))
                || text.parse().is_ok_and(is_failed_status) && !is_about_a_link(object)
        }
        _ => false,
    })
}

/// Returns true for a short text of sentences that is none of a document, an explanation or a count.
pub(super) fn is_short_prose(text: &str, lower: &str) -> bool {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    text.len() <= MAX_PROSE_BYTES
        && lines <= MAX_PROSE_LINES
        && !is_document(lower)
        && !is_explanation(lower)
        && !is_statistic(lower)
        && !lower.starts_with(['{', '[', '<'])
}
