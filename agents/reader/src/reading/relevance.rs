//! Tells whether what a text says is about the call that was made.

use serde_json::Value;

use super::mentions::words_of;
use super::{Statement, plain};

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
    let Some(field) = statement.field() else { return true };
    let lower = text.to_lowercase();
    let is_one = || {
        !text.trim().contains('\n')
            && !text.match_indices(". ").any(|(at, _)| text[at + 2..].starts_with(char::is_uppercase))
    };
    let is_of_call = || sent.as_object().is_none_or(|sent| sent.len() == 1) || shows_any(&lower, sent);
    let is_like = || match statement {
        Statement::Value { value: Some(Value::String(value)), .. } => {
            crate::paths::get(sent, field).and_then(Value::as_str).is_some_and(|sent| plain::is_close(sent, value))
        }
        Statement::Compared { .. } => plain::contradicts(statement, sent),
        _ => false,
    };
    is_about(&lower, field, sent) || is_like() || is_one() && is_of_call()
}

/// Returns true if a text in lower case names an argument or shows its value.
fn is_about(lower: &str, field: &str, sent: &Value) -> bool {
    // "colours" names `color`.
    let is_named = |word: &str| match word.len() {
        0..=2 => has_words(lower, word),
        3..=4 => lower.contains(word),
        length => lower.contains(&word[..word.floor_char_boundary(length - 1)]),
    };
    crate::paths::get(sent, field).is_some_and(|sent| is_shown(lower, sent))
        || words_of(field).any(|word| is_named(&word.to_lowercase()))
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
