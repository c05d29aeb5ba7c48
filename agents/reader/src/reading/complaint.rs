//! Tells whether a text that calls nothing an error complains about a call all the same, by what it says of it.

use serde_json::Value;

use super::content::{beginning, own_words};
use super::mentions::words_of;
use super::outcome::{begins_with_success, is_short_prose};
use super::{Statement, plain};
use crate::paths;

/// The maximum length of a text that complains without the words of a complaint.
const MAX_COMPLAINT_BYTES: usize = 240;
/// Words of a text that says that a call came too early, in lower case.
const EARLY: [&str; 8] = ["too soon", "too early", "not yet", " yet", "ready in", "give it", "come back", "next one"];

/// Returns true if a text that does not say that it reports an error may be a complaint about what was sent.
pub(super) fn may_complain(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    text.len() <= MAX_COMPLAINT_BYTES
        && is_short_prose(text, &lower)
        && !begins_with_success(&lower)
        && !own_words(&lower).is_empty()
}

/// Returns true if a text about what was sent says of it that it has to be otherwise: "Stars run 1 through 5" where 7 were sent.
pub(super) fn contradicts_call(text: &str, statements: &[Statement], sent: &Value) -> bool {
    let lower = text.to_lowercase();
    let is_one = !text.trim().contains('\n')
        && !text.match_indices(". ").any(|(at, _)| text[at + 2..].starts_with(char::is_uppercase));
    let is_alone = is_one && sent.as_object().is_some_and(|sent| sent.len() == 1);
    let shows = |value: &Value| match value {
        Value::String(sent) => sent.len() > 1 && has_words(&lower, &sent.to_lowercase()),
        Value::Number(sent) => has_words(&lower, &sent.to_string()),
        _ => false,
    };
    let is_about = |field: &str| {
        let is_shown = paths::get(sent, field).is_some_and(shows);
        is_shown || words_of(field).any(|word| word.len() > 2 && lower.contains(&word.to_lowercase()))
    };
    let is_negative =
        [" not ", "n't ", " no ", "instead"].iter().any(|word| lower.contains(word)) || lower.starts_with("no ");
    let shows_any = || sent.as_object().is_some_and(|sent| sent.values().any(shows));
    statements.iter().any(|statement| match statement {
        Statement::Delay { .. } => EARLY.iter().any(|words| lower.contains(words)),
        Statement::Suggest { .. } => is_negative && shows_any(),
        Statement::Value { field, .. } | Statement::Options { field, .. } => {
            plain::contradicts(statement, sent) && is_about(field)
        }
        _ => {
            let about = statement.field().is_some_and(|field| is_about(field) || is_alone);
            about && plain::contradicts(statement, sent)
        }
    })
}

/// Returns true if a text has these words, and not as a part of others.
fn has_words(text: &str, words: &str) -> bool {
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    text.match_indices(words)
        .any(|(at, found)| is_end(text[..at].chars().next_back()) && is_end(text[at + found.len()..].chars().next()))
}

/// Returns true if a short text that says what to do reports an error, although none of its words says so.
pub(super) fn implies_error(text: &str, statements: &[Statement], words: &[String]) -> bool {
    let lower = text.trim().to_lowercase();
    let is_prose = is_short_prose(text, &lower);
    let has_succeeded = || begins_with_success(&lower) || own_words(&lower).is_empty();
    let is_negative =
        lower.starts_with("no ") || lower.contains(" not ") || lower.contains("n't ") || lower.contains("instead");
    let says = |statement: &Statement| match statement {
        Statement::Narrow { .. } | Statement::Page { .. } | Statement::Example { .. } | Statement::Fault { .. } => {
            false
        }
        Statement::Suggest { .. } | Statement::Value { .. } | Statement::Actions { .. } | Statement::Lookup { .. } => {
            is_negative
        }
        _ => true,
    };
    // What follows later is content.
    let end = beginning(&lower).len();
    let is_told = |words: &String| lower.find(&words.to_lowercase()).is_none_or(|at| at < end);
    is_prose
        && !has_succeeded()
        && statements.iter().zip(words).any(|(statement, words)| says(statement) && is_told(words))
}
