//! The template of an error text: the text without the values, numbers and names that differ from call to call, so that equal kinds of
//! text are one row.
//!
//! A text is masked in two steps. The first replaces what is known at once, and marks words that may be names of arguments; the second is
//! made when the names are known, after all calls of a run. Templates therefore do not depend on the order of the calls.

mod clauses;
mod excerpts;
mod masks;
mod message;
mod names;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use names::Names;
use serde_json::Value;

/// Stands for whatever was masked, and for the end of a long text.
pub const MASK: char = '…';

/// The largest length of a template in characters.
pub const MAX_CHARS: usize = 200;

/// The begin and the end of a word that is masked unless it is a name. Texts are free of them.
const MARKS: [char; 2] = ['\u{e000}', '\u{e001}'];

/// The size up to which a message is masked, in bytes. A template has less.
const MAX_MESSAGE_BYTES: usize = 4_000;

/// Returns the part of a response that a template is made of: of JSON its message, without excerpts of sources.
pub fn message(text: &str) -> String {
    let text: Cow<'_, str> = match text.contains(MARKS) {
        true => Cow::Owned(text.replace(MARKS, " ")),
        false => Cow::Borrowed(text),
    };
    let mut message = excerpts::cut(&message::of(&text));
    if message.len() > MAX_MESSAGE_BYTES {
        let end = (0..=MAX_MESSAGE_BYTES).rev().find(|end| message.is_char_boundary(*end)).unwrap_or(0);
        message.truncate(end);
    }
    message
}

/// Returns the values of arguments, given as JSON, of three or more characters, that stand in a message as whole words; the longest first.
/// A value that is also a name of these arguments is none.
pub fn sent_values(arguments: &str, message: &str) -> Vec<String> {
    let Ok(arguments) = serde_json::from_str::<Value>(arguments) else { return Vec::new() };
    let (mut names, mut values) = (Vec::new(), Vec::new());
    add_words(&arguments, &mut names, &mut values);
    values.retain(|value| !names.contains(value) && masks::has_word(message, value));
    values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    values.dedup();
    values
}

/// The length from which a sent value is masked, in characters.
const MIN_VALUE_CHARS: usize = 3;

fn add_words(value: &Value, names: &mut Vec<String>, values: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                names.push(name.clone());
                add_words(value, names, values);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_words(item, names, values)),
        Value::String(text) if text.trim().chars().count() >= MIN_VALUE_CHARS => values.push(text.trim().to_owned()),
        // Numbers are masked wherever they stand.
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

/// Masks a message: the first step.
pub fn mask(message: &str, sent: &[String]) -> String {
    masks::mask(&masks::replace_words(message, sent))
}

/// Masks the marked words that are no names, leaves out repetitions, and shortens the text: the second step.
pub fn finish(masked: &str, is_name: impl Fn(&str) -> bool) -> String {
    let mut text = masks::resolve(masked, is_name);
    // Clauses that are left out may bring masks together.
    for _ in 0..MAX_PASSES {
        let shorter = clauses::distinct(&masks::collapse(&text));
        if shorter == text {
            break;
        }
        text = shorter;
    }
    clauses::shorten(&text, MAX_CHARS)
}

/// The number of passes over a text whose repetitions are left out.
const MAX_PASSES: usize = 4;
