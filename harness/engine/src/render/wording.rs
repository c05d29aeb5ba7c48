//! The words that the Fusion formats share: what is wrong with a field, what was sent, and what to send instead.

use serde_json::Value;

use crate::failure::{Bound, Expected, Issue, IssueKind, Measure};
use crate::schema::json_type;

/// What is wrong, without a full stop: `Invalid email`.
pub(super) fn problem(issue: &Issue) -> String {
    match &issue.kind {
        IssueKind::Missing { .. } => "Required".to_owned(),
        IssueKind::WrongType { expected } => {
            format!("Expected {}, received {}", expected_words(expected, issue), received(issue, expected))
        }
        IssueKind::NotAnOption { options } => {
            let sent = issue.sent.as_ref().map_or_else(String::new, quoted);
            format!("Invalid enum value. Expected {}, received {sent}", options_joined(options, " | "))
        }
        IssueKind::OutOfBounds { measure, relation, limit } => match measure {
            Measure::Number => {
                let relation = match relation {
                    Bound::AtLeast => "greater than or equal to",
                    Bound::MoreThan => "greater than",
                    Bound::AtMost => "less than or equal to",
                    Bound::LessThan => "less than",
                };
                format!("Number must be {relation} {limit}")
            }
            Measure::Characters => format!("String must contain {} {limit} character(s)", amount(*relation)),
            Measure::Items => format!("Array must contain {} {limit} element(s)", amount(*relation)),
            Measure::Properties => format!("Object must contain {} {limit} key(s)", amount(*relation)),
        },
        IssueKind::BadFormat { format } => format!("Invalid {}", format_word(format)),
        IssueKind::BadPattern { .. } => "Invalid".to_owned(),
        IssueKind::NotAMultiple { of } => format!("Number must be a multiple of {of}"),
        IssueKind::NotUnique => "Array items must be unique".to_owned(),
        IssueKind::Undeclared { fields } => format!("Unrecognized key(s) in object: {}", quoted_names(fields)),
        IssueKind::Other { message, .. } => format!("Invalid input: {message}"),
    }
}

/// `'bad-email'`, `42`, `(missing)`.
pub(super) fn sent(issue: &Issue) -> String {
    issue.sent.as_ref().map_or_else(|| "(missing)".to_owned(), quoted)
}

/// What to send instead, with its full stop; empty when there is nothing to say.
pub(super) fn correction(issue: &Issue) -> String {
    match &issue.kind {
        IssueKind::Missing { expected } | IssueKind::WrongType { expected } => match expected {
            Expected::Any => String::new(),
            expected => format!("Expected type: {}.", expected_words(expected, issue)),
        },
        IssueKind::NotAnOption { options } => format!("Valid options: {}.", options_joined(options, ", ")),
        IssueKind::OutOfBounds { measure, relation, limit } => {
            let relation = match relation {
                Bound::AtLeast => ">=",
                Bound::MoreThan => ">",
                Bound::AtMost => "<=",
                Bound::LessThan => "<",
            };
            let unit = match measure {
                Measure::Number => "",
                Measure::Characters => " characters",
                Measure::Items => " items",
                Measure::Properties => " keys",
            };
            format!("Must be {relation} {limit}{unit}.")
        }
        IssueKind::BadFormat { format } => match format_example(format) {
            Some((name, example)) => format!("Expected: {name} (e.g. {example})."),
            None => format!("Expected: a valid {format}."),
        },
        IssueKind::BadPattern { pattern } => format!("Expected: a value that matches {pattern}"),
        IssueKind::NotAMultiple { of } => format!("Must be a multiple of {of}."),
        IssueKind::NotUnique => "Remove the repeated items.".to_owned(),
        IssueKind::Undeclared { fields } => undeclared_correction(fields),
        IssueKind::Other { .. } => String::new(),
    }
}

/// What to do about fields that are not declared.
pub(super) fn undeclared_correction(fields: &[String]) -> String {
    format!("Remove or correct unrecognized fields: {}. Check for typos.", quoted_names(fields))
}

/// The last line of every validation failure.
pub(super) const FIX_AND_RETRY: &str = "Fix the fields above and call the tool again. Do not explain the error.";

fn amount(relation: Bound) -> &'static str {
    match relation {
        Bound::AtLeast => "at least",
        Bound::MoreThan => "more than",
        Bound::AtMost => "at most",
        Bound::LessThan => "less than",
    }
}

/// A text in single quotes, anything else as JSON.
fn quoted(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}

fn quoted_names(names: &[String]) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

fn options_joined(options: &[Value], separator: &str) -> String {
    options.iter().map(quoted).collect::<Vec<_>>().join(separator)
}

fn expected_words(expected: &Expected, issue: &Issue) -> String {
    // Fusion calls every numeric type a number; only a fraction is told that it should be an integer.
    let is_number = matches!(issue.sent, Some(Value::Number(_)));
    let word = |name: &String| if name == "integer" && !is_number { "number".to_owned() } else { name.clone() };
    match expected {
        Expected::Types(names) => names.iter().map(word).collect::<Vec<_>>().join(" | "),
        Expected::Options(options) => options_joined(options, " | "),
        Expected::Any => "another value".to_owned(),
    }
}

fn received(issue: &Issue, expected: &Expected) -> &'static str {
    let found = issue.sent.as_ref().map_or("undefined", json_type);
    let wants_integer = matches!(expected, Expected::Types(names) if names.iter().any(|name| name == "integer"));
    if wants_integer && found == "number" { "float" } else { found }
}

fn format_word(format: &str) -> &str {
    match format {
        "uri" => "url",
        "date-time" => "datetime",
        "ipv4" | "ipv6" => "ip",
        other => other,
    }
}

fn format_example(format: &str) -> Option<(&'static str, &'static str)> {
    Some(match format {
        "email" => ("a valid email address", "user@example.com"),
        "uri" => ("a valid URL", "https://example.com"),
        "uuid" => ("a valid UUID", "123e4567-e89b-12d3-a456-426614174000"),
        "date-time" => ("a valid ISO 8601 date-time", "2024-01-15T10:30:00Z"),
        "date" => ("a valid ISO 8601 date", "2024-01-15"),
        "time" => ("a valid ISO 8601 time", "10:30:00Z"),
        "ipv4" => ("a valid IPv4 address", "192.0.2.1"),
        "ipv6" => ("a valid IPv6 address", "2001:db8::1"),
        "hostname" => ("a valid host name", "example.com"),
        _ => return None,
    })
}
