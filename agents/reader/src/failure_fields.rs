//! The fields with which JSON says that a call failed. The judgement of recorded results and the simulated reader share them.

use serde_json::{Map, Value};

/// Keys that are there only if there is an error, in lower case.
const ERRORS: [&str; 6] = ["error", "error_message", "errormessage", "errorcode", "error_code", "errortext"];
/// Keys that are data in a record.
const FAULTS: [&str; 3] = ["err", "exception", "fault"];
/// Keys whose value false says that a call failed.
pub(crate) const SUCCESSES: [&str; 2] = ["success", "ok"];
/// Keys with the reason of an error.
pub(crate) const REASONS: [&str; 8] =
    ["message", "error", "reason", "details", "detail", "msg", "description", "errors"];
/// Keys of a record, whose other fields are data.
const RECORDS: [&str; 6] = ["id", "name", "data", "result", "results", "items"];
/// Keys with the address that a record is about.
const LINKS: [&str; 2] = ["url", "uri"];
/// Keys with the words of a status.
const STATUS_WORDS: [&str; 4] = ["title", "statusText", "status_text", "code"];

/// Returns true if an object has an error.
pub(crate) fn has_error(fields: &Map<String, Value>) -> bool {
    let has = |keys: &[&str]| {
        fields.iter().any(|(name, value)| keys.contains(&name.to_ascii_lowercase().as_str()) && is_error(value))
    };
    has(&ERRORS) || has(&FAULTS) && !has_any(fields, &RECORDS)
}

/// Returns true for the value of a key of errors, unless it says that there is none.
pub(crate) fn is_error(value: &Value) -> bool {
    const NOTHING: [&str; 7] = ["none", "null", "nil", "n/a", "no error", "ok", "success"];
    let says_nothing = |text: &str| NOTHING.iter().any(|nothing| text.eq_ignore_ascii_case(nothing));
    !is_nothing(value) && !value.as_str().is_some_and(says_nothing)
}

/// Returns true for null, false, 0 and what is empty.
pub fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is_true) => !is_true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// Returns true for false, and for texts that stand for it.
pub(crate) fn says_no(value: &Value) -> bool {
    let is_no = |text: &str| ["false", "no"].iter().any(|word| text.eq_ignore_ascii_case(word));
    *value == Value::Bool(false) || value.as_str().is_some_and(is_no)
}

/// Returns true for a status that says that something failed.
pub(crate) fn is_failure(status: &str) -> bool {
    ["failed", "failure", "fail"].iter().any(|word| status.eq_ignore_ascii_case(word))
}

/// Returns true for a status of HTTP that says so.
pub(crate) fn is_failed_status(status: u64) -> bool {
    (400..600).contains(&status)
}

/// Returns true for a text that begins with a status of HTTP and has more of them, one a line with an address or one that is none of a failure,
/// such as the list of a checker of links.
pub(crate) fn lists_statuses(text: &str) -> bool {
    let has_status = |line: &str| {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        digits == 3 && matches!(line.as_bytes()[0], b'1'..=b'5') && line[3..].starts_with([' ', ':', '\t'])
    };
    let lines: Vec<&str> = text.lines().map(str::trim_start).filter(|line| has_status(line)).collect();
    let is_of_link =
        |line: &&str| line.contains("://") || line[3..].trim_start_matches([':', ' ', '\t']).starts_with('/');
    let begins = text.lines().next().is_some_and(|line| has_status(line.trim_start()));
    begins
        && lines.len() > 1
        && (lines.iter().all(is_of_link) || lines.iter().any(|line| line.starts_with(['1', '2', '3'])))
}

/// Returns true if an object has a reason and nothing of a record: the status of a job is a result.
pub(crate) fn is_about_the_call(fields: &Map<String, Value>) -> bool {
    has_any(fields, &REASONS) && !has_any(fields, &RECORDS)
}

/// Returns true if an object is about an address and has no reason: its status is a result.
pub(crate) fn is_about_a_link(fields: &Map<String, Value>) -> bool {
    has_any(fields, &LINKS) && !has_any(fields, &REASONS) && !has_any(fields, &STATUS_WORDS)
}

/// Returns true if an object is about something with a name or an address, and has no reason.
pub(crate) fn is_about_a_record(fields: &Map<String, Value>) -> bool {
    is_about_a_link(fields) || has_any(fields, &RECORDS) && !has_any(fields, &REASONS)
}

/// Returns true if one of these keys has a value.
pub(crate) fn has_any(fields: &Map<String, Value>, names: &[&str]) -> bool {
    names.iter().any(|name| fields.get(*name).is_some_and(|value| !is_nothing(value)))
}
