//! Tells whether a text that calls nothing an error complains about a call all the same, by what it says of it.

use super::Statement;
use super::content::{beginning, own_words};
use super::outcome::{begins_with_success, is_short_prose};

/// The maximum length of a text that complains without the words of a complaint.
const MAX_COMPLAINT_BYTES: usize = 240;

/// Returns true if a text that does not say that it reports an error may be a complaint about what was sent.
pub(super) fn may_complain(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    text.len() <= MAX_COMPLAINT_BYTES
        && is_short_prose(text, &lower)
        && !begins_with_success(&lower)
        && !own_words(&lower).is_empty()
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
