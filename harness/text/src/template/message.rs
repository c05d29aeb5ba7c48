//! The message in a response that is JSON, or that ends with JSON.

use std::borrow::Cow;

use serde_json::{Deserializer, Value};

/// The keys whose text is the message, the first that has one.
const KEYS: [&str; 8] = ["message", "error", "msg", "detail", "error_description", "text", "errors", "reason"];

/// The number of levels of JSON in texts of JSON.
const MAX_LEVELS: usize = 4;

/// The size up to which JSON is looked for within a text, in bytes.
const MAX_SEARCHED: usize = 1 << 16;

/// Returns the message of a text; the text itself unless it has JSON.
pub(super) fn of(text: &str) -> Cow<'_, str> {
    of_level(text, MAX_LEVELS)
}

fn of_level(text: &str, levels: usize) -> Cow<'_, str> {
    let text = text.trim();
    if levels == 0 {
        return Cow::Borrowed(text);
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return leaf(&value, levels - 1).map_or(Cow::Borrowed(text), Cow::Owned);
    }
    match embedded(text) {
        Some((before, value, after)) => match leaf(&value, levels - 1) {
            Some(message) => Cow::Owned(format!("{before}{message}{after}")),
            None => Cow::Borrowed(text),
        },
        None => Cow::Borrowed(text),
    }
}

/// Returns the first object, or list with objects, of a text, with what stands before and after it.
fn embedded(text: &str) -> Option<(&str, Value, &str)> {
    /// The number of brackets that are tried.
    const MAX_TRIED: usize = 16;
    let searched = &text[..text.floor_char_boundary(MAX_SEARCHED)];
    for (at, _) in searched.match_indices(['{', '[']).take(MAX_TRIED) {
        let mut values = Deserializer::from_str(&text[at..]).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else { continue };
        let has_message = match &value {
            Value::Object(map) => !map.is_empty(),
            Value::Array(items) => items.iter().any(Value::is_object),
            _ => false,
        };
        if has_message {
            return Some((&text[..at], value, &text[at + values.byte_offset()..]));
        }
    }
    None
}

/// Returns the message of JSON: that of its first key of [`KEYS`], else its first text of several words, else its first. The entries of a
/// list are lines.
fn leaf(value: &Value, levels: usize) -> Option<String> {
    match value {
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(of_level(text, levels).into_owned()),
        Value::Array(items) => {
            let lines: Vec<String> = items.iter().filter_map(|item| leaf(item, levels)).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        Value::Object(map) => {
            let of_key = KEYS.iter().filter_map(|key| map.get(*key)).find_map(|value| leaf(value, levels));
            of_key.or_else(|| {
                // A single word is a code, such as the class of the error.
                let texts: Vec<String> = map.values().filter_map(|value| leaf(value, levels)).collect();
                let is_sentence = |text: &&String| text.contains(char::is_whitespace);
                texts.iter().find(is_sentence).or(texts.first()).cloned()
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
