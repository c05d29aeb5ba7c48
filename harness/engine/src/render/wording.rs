//! The phrases shared by the Fusion formats: the problem of a field, the value sent, and the correction.

use std::borrow::Cow;
use std::fmt::{self, Write};

use serde_json::Value;

use super::RenderInput;
use super::excerpt::{excerpt, excerpt_text};
use crate::failure::{Bound, Expected, Issue, IssueKind, Quantity};
use crate::schema::json_type;

/// A writer that may escape text.
pub(super) trait TextSink: Write {
    /// Writes trusted text without escaping.
    fn write_literal(&mut self, text: &str) -> fmt::Result;
}

impl TextSink for String {
    fn write_literal(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

/// Describes the problem, without a full stop: `Invalid email`.
pub(super) fn problem(issue: &Issue) -> String {
    write_to_string(|out| write_problem(out, issue))
}

/// Formats the value sent: `'bad-email'`, `42`, `(missing)`. Numbers have the text in which they were sent.
pub(super) fn sent_text(issue: &Issue, input: &RenderInput<'_>) -> String {
    write_to_string(|out| write_sent(out, issue, input))
}

/// Describes what to send instead, with a full stop; empty if nothing can be suggested.
pub(super) fn correction(issue: &Issue) -> String {
    write_to_string(|out| write_correction(out, issue))
}

/// Describes what to do about undeclared fields.
pub(super) fn undeclared_correction(fields: &[String]) -> String {
    write_to_string(|out| write_undeclared_correction(out, fields))
}

/// The last line of every validation failure.
pub(super) const FIX_AND_RETRY: &str = "Fix the fields above and call the tool again. Do not explain the error.";

fn write_to_string(write: impl Fn(&mut String) -> fmt::Result) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out);
    out
}

/// Writes [`problem`].
pub(super) fn write_problem(out: &mut impl TextSink, issue: &Issue) -> fmt::Result {
    match &issue.kind {
        IssueKind::Missing { .. } => out.write_literal("Required"),
        IssueKind::WrongType { expected } => {
            out.write_literal("Expected ")?;
            write_expected(out, expected, issue)?;
            out.write_literal(", received ")?;
            out.write_literal(received_type(issue, expected))
        }
        IssueKind::NotAnOption { options } => {
            out.write_literal("Invalid enum value. Expected ")?;
            write_options(out, options, " | ")?;
            out.write_literal(", received ")?;
            issue.sent.as_ref().map_or(Ok(()), |sent| write_quoted(out, &excerpt(sent)))
        }
        IssueKind::OutOfBounds { measure, relation, limit } => match measure {
            Quantity::Number => {
                let relation = match relation {
                    Bound::AtLeast => "greater than or equal to",
                    Bound::MoreThan => "greater than",
                    Bound::AtMost => "less than or equal to",
                    Bound::LessThan => "less than",
                };
                write!(out, "Number must be {relation} {limit}")
            }
            Quantity::Characters => write!(out, "String must contain {} {limit} character(s)", bound_phrase(*relation)),
            Quantity::Items => write!(out, "Array must contain {} {limit} element(s)", bound_phrase(*relation)),
            Quantity::Properties => write!(out, "Object must contain {} {limit} key(s)", bound_phrase(*relation)),
        },
        IssueKind::BadFormat { format } => {
            out.write_literal("Invalid ")?;
            out.write_str(format_word(format))
        }
        IssueKind::BadPattern { .. } => out.write_literal("Invalid"),
        IssueKind::NotAMultiple { of } => write!(out, "Number must be a multiple of {of}"),
        IssueKind::NotUnique => out.write_literal("Array items must be unique"),
        IssueKind::Undeclared { fields } => {
            out.write_literal("Unrecognized key(s) in object: ")?;
            write_names(out, fields)
        }
        IssueKind::Other { message, .. } => {
            out.write_literal("Invalid input: ")?;
            out.write_str(message)
        }
    }
}

/// Writes [`sent_text`].
pub(super) fn write_sent(out: &mut impl TextSink, issue: &Issue, input: &RenderInput<'_>) -> fmt::Result {
    if let Some(text) = input.text_with_numbers(issue) {
        return match excerpt_text(&text) {
            Cow::Borrowed(whole) => out.write_str(whole),
            Cow::Owned(cut) => write_quoted(out, &Value::String(cut)),
        };
    }
    match &issue.sent {
        None => out.write_literal("(missing)"),
        Some(sent) => write_quoted(out, &excerpt(sent)),
    }
}

/// Writes [`correction`].
pub(super) fn write_correction(out: &mut impl TextSink, issue: &Issue) -> fmt::Result {
    match &issue.kind {
        IssueKind::Missing { expected } | IssueKind::WrongType { expected } => match expected {
            Expected::Any => Ok(()),
            expected => {
                out.write_literal("Expected type: ")?;
                write_expected(out, expected, issue)?;
                out.write_literal(".")
            }
        },
        IssueKind::NotAnOption { options } => {
            out.write_literal("Valid options: ")?;
            write_options(out, options, ", ")?;
            out.write_literal(".")
        }
        IssueKind::OutOfBounds { measure, relation, limit } => {
            let relation = relation.sign();
            let unit = match measure {
                Quantity::Number => "",
                Quantity::Characters => " characters",
                Quantity::Items => " items",
                Quantity::Properties => " keys",
            };
            write!(out, "Must be {relation} {limit}{unit}.")
        }
        IssueKind::BadFormat { format } => match format_example(format) {
            Some((name, example)) => write!(out, "Expected: {name} (e.g. {example})."),
            None => write!(out, "Expected: a valid {format}."),
        },
        IssueKind::BadPattern { pattern } => write!(out, "Expected: a value that matches {pattern}"),
        IssueKind::NotAMultiple { of } => write!(out, "Must be a multiple of {of}."),
        IssueKind::NotUnique => out.write_literal("Remove the repeated items."),
        IssueKind::Undeclared { fields } => write_undeclared_correction(out, fields),
        IssueKind::Other { .. } => Ok(()),
    }
}

/// Returns true if [`correction`] is not empty.
pub(super) fn has_correction(issue: &Issue) -> bool {
    !matches!(
        issue.kind,
        IssueKind::Missing { expected: Expected::Any }
            | IssueKind::WrongType { expected: Expected::Any }
            | IssueKind::Other { .. }
    )
}

fn write_undeclared_correction(out: &mut impl TextSink, fields: &[String]) -> fmt::Result {
    out.write_literal("Remove or correct unrecognized fields: ")?;
    write_names(out, fields)?;
    out.write_literal(". Check for typos.")
}

fn bound_phrase(relation: Bound) -> &'static str {
    match relation {
        Bound::AtLeast => "at least",
        Bound::MoreThan => "more than",
        Bound::AtMost => "at most",
        Bound::LessThan => "less than",
    }
}

/// Writes a string in single quotes, and any other value as JSON.
fn write_quoted(out: &mut impl TextSink, value: &Value) -> fmt::Result {
    match value {
        Value::String(text) => {
            out.write_literal("'")?;
            out.write_str(text)?;
            out.write_literal("'")
        }
        other => write!(out, "{other}"),
    }
}

fn write_names(out: &mut impl TextSink, names: &[String]) -> fmt::Result {
    for (index, name) in names.iter().enumerate() {
        out.write_literal(if index == 0 { "'" } else { ", '" })?;
        out.write_str(name)?;
        out.write_literal("'")?;
    }
    Ok(())
}

fn write_options(out: &mut impl TextSink, options: &[Value], separator: &str) -> fmt::Result {
    for (index, option) in options.iter().enumerate() {
        if index > 0 {
            out.write_literal(separator)?;
        }
        write_quoted(out, option)?;
    }
    Ok(())
}

fn write_expected(out: &mut impl TextSink, expected: &Expected, issue: &Issue) -> fmt::Result {
    match expected {
        Expected::Types(names) => {
            // Fusion calls every numeric type a number; "integer" is only used if a fraction was sent.
            let is_number = matches!(issue.sent, Some(Value::Number(_)));
            for (index, name) in names.iter().enumerate() {
                out.write_literal(if index > 0 { " | " } else { "" })?;
                out.write_str(if name == "integer" && !is_number { "number" } else { name })?;
            }
            Ok(())
        }
        Expected::Options(options) => write_options(out, options, " | "),
        Expected::Any => out.write_literal("another value"),
    }
}

fn received_type(issue: &Issue, expected: &Expected) -> &'static str {
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
