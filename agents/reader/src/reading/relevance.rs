//! Tells whether what a text says is about the call that was made.

use serde_json::Value;

use super::mentions::words_of;
use super::words::LENGTHS;
use super::{ExpectedFormat, Statement, plain};
use crate::paths;
use crate::repair::{has_type, is_among, is_within};
use crate::wrong_values::is_date;

/// Words of a text that says that a call came too early, in lower case.
const EARLY: [&str; 8] = ["too soon", "too early", "not yet", " yet", "ready in", "give it", "come back", "next one"];

/// Returns true if a text about what was sent says of it that it has to be otherwise: "Stars run 1 through 5" where 7 were sent.
pub(super) fn contradicts_call(text: &str, statements: &[Statement], sent: &Value) -> bool {
    let lower = text.to_lowercase();
    let is_negative =
        [" not ", "n't ", " no ", "instead"].iter().any(|word| lower.contains(word)) || lower.starts_with("no ");
    statements.iter().any(|statement| match statement {
        Statement::Delay { .. } => EARLY.iter().any(|words| lower.contains(words)),
        Statement::Suggest { .. } => is_negative && shows_any(&lower, sent),
        Statement::Value { field, .. } | Statement::Options { field, .. } => {
            plain::contradicts(statement, sent) && is_about(&lower, field, sent)
        }
        _ => statement.field().is_some() && is_about_call(text, statement, sent) && plain::contradicts(statement, sent),
    })
}

/// Returns true if a text says a statement of what was sent: it names or shows the argument, gives a date or a word like the one that was
/// sent, or is one sentence about the call.
pub(super) fn is_about_call(text: &str, statement: &Statement, sent: &Value) -> bool {
    // Of what to call, paragraphs tell everybody.
    let Some(field) = statement.field() else { return !text.trim().contains("\n\n") };
    let lower = text.to_lowercase();
    let is_one = || {
        !text.trim().contains('\n')
            && !text.match_indices(". ").any(|(at, _)| text[at + 2..].starts_with(char::is_uppercase))
    };
    let is_of_call = || sent.as_object().is_none_or(|sent| sent.len() == 1) || shows_any(&lower, sent);
    let is_like = || match statement {
        Statement::Value { value: Some(Value::String(value)), .. } => {
            paths::get(sent, field).and_then(Value::as_str).is_some_and(|sent| plain::is_close(sent, value))
        }
        Statement::Compared { .. } => plain::contradicts(statement, sent),
        _ => false,
    };
    is_about(&lower, field, sent) || is_like() || is_one() && is_of_call()
}

/// Tells of each statement whether it may change the call. What the call keeps to already, and what limits a thing that the text does not
/// name, is said of something else. `is_plain` is false for a text that nothing calls an error.
pub(super) fn may_change(text: &str, statements: &[Statement], sent: &Value, is_plain: bool) -> Vec<bool> {
    if statements.iter().all(|statement| statement.field().is_none()) {
        return vec![true; statements.len()];
    }
    let lower = text.to_lowercase();
    let says_length = LENGTHS.iter().any(|word| lower.contains(word));
    let mut fields = statements.iter().filter_map(Statement::field);
    let first = fields.next();
    let lists_several = fields.any(|field| Some(field) != first);
    let is_only = is_plain && sent.as_object().is_some_and(|sent| sent.len() == 1);
    let is_kept = |statement: &Statement| {
        let Some(field) = statement.field() else { return true };
        let value = paths::get(sent, field);
        match statement {
            // "Quota exceeded. Limit: 24, region: eu-1"
            Statement::Bound { .. } if value.and_then(Value::as_str).is_some_and(is_date) => names(&lower, field),
            Statement::Bound { .. } if value.is_some_and(is_text) && !says_length => {
                (is_only || names(&lower, field)) && !is_met(statement, sent)
            }
            Statement::Unrecognized { .. } | Statement::Value { .. } => !is_met(statement, sent),
            Statement::WrongType { .. } => {
                let says_more = |other: &Statement| {
                    let is_type = matches!(other, Statement::WrongType { .. });
                    other.field() == Some(field) && other.is_remedy() && !is_type
                };
                !is_met(statement, sent) || is_about(&lower, field, sent) && !statements.iter().any(says_more)
            }
            // A reference lists what is met of several arguments.
            _ => !is_met(statement, sent) || is_plain && !lists_several && (is_only || is_about(&lower, field, sent)),
        }
    };
    // One limit of a range is always met.
    let is_of_range = |statement: &Statement| {
        let is_other = |other: &Statement| {
            matches!(other, Statement::Bound { .. }) && other.field() == statement.field() && is_kept(other)
        };
        matches!(statement, Statement::Bound { .. }) && statements.iter().any(is_other)
    };
    statements.iter().map(|statement| is_kept(statement) || is_of_range(statement)).collect()
}

/// Returns true for a text that is neither a number nor a date.
fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.parse::<f64>().is_err() && !is_date(text))
}

/// Returns true if the value that was sent is as a statement wants it.
fn is_met(statement: &Statement, sent: &Value) -> bool {
    let value = statement.field().and_then(|field| paths::get(sent, field));
    let Some(value) = value else {
        // A field that nobody sent cannot be left out.
        let is_sent = |field: &str| sent.as_object().is_none_or(|sent| sent.is_empty()) || field.contains('.');
        return matches!(statement, Statement::Unrecognized { field } if !is_sent(field));
    };
    match statement {
        Statement::WrongType { expected, .. } => has_type(value, expected),
        Statement::Options { values, .. } => is_among(value, values),
        Statement::Bound { relation, limit, .. } => {
            let has_size = value.is_number() || value.is_array() || is_text(value);
            has_size && is_within(value, *relation, *limit)
        }
        Statement::Format { expected: ExpectedFormat::Pattern(pattern), .. } => {
            let is_match = |sent: &str| regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(sent));
            value.as_str().is_some_and(is_match)
        }
        Statement::Value { value: Some(stated), .. } => value == stated,
        _ => false,
    }
}

/// Returns true if a text in lower case names an argument or shows its value.
fn is_about(lower: &str, field: &str, sent: &Value) -> bool {
    paths::get(sent, field).is_some_and(|sent| is_shown(lower, sent)) || names(lower, field)
}

/// Returns true if a text in lower case names an argument.
fn names(lower: &str, field: &str) -> bool {
    // "colours" names `color`.
    let is_named = |word: &str| match word.len() {
        0..=2 => has_words(lower, word),
        3..=4 => lower.contains(word),
        length => lower.contains(&word[..word.floor_char_boundary(length - 1)]),
    };
    words_of(field).any(|word| is_named(&word.to_lowercase()))
}

fn is_shown(lower: &str, value: &Value) -> bool {
    match value {
        Value::String(sent) => sent.len() > 1 && has_words(lower, &sent.to_lowercase()),
        Value::Number(sent) => has_words(lower, &sent.to_string()),
        _ => false,
    }
}

fn shows_any(lower: &str, sent: &Value) -> bool {
    sent.as_object().is_some_and(|sent| sent.values().any(|value| is_shown(lower, value)))
}

/// Returns true if a text has these words, and not as a part of others.
fn has_words(text: &str, words: &str) -> bool {
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    text.match_indices(words)
        .any(|(at, found)| is_end(text[..at].chars().next_back()) && is_end(text[at + found.len()..].chars().next()))
}
