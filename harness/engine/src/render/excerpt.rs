//! The beginning of long values, so that the error for a large argument is not as large itself.

use std::borrow::Cow;

use serde_json::Value;

/// The longest text of a sent value that is shown whole, in characters.
const MAX_CHARS: usize = 2000;

/// Returns a sent value as it is shown: a long string or the JSON text of another long value is cut, with its length.
pub(super) fn excerpt(value: &Value) -> Cow<'_, Value> {
    let text = match value {
        Value::String(text) if text.len() <= MAX_CHARS => return Cow::Borrowed(value),
        Value::String(text) => Cow::Borrowed(text.as_str()),
        Value::Array(_) | Value::Object(_) => Cow::Owned(value.to_string()),
        Value::Null | Value::Bool(_) | Value::Number(_) => return Cow::Borrowed(value),
    };
    match text.char_indices().nth(MAX_CHARS) {
        None => Cow::Borrowed(value),
        Some((end, _)) => Cow::Owned(Value::String(format!("{}… ({} characters)", &text[..end], text.chars().count()))),
    }
}
