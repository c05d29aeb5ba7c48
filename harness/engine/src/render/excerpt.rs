//! The beginning of long values, so that the error for a large argument is not as large itself.

use std::borrow::Cow;

use serde_json::Value;

/// The longest text of a sent value that is shown whole, in characters.
const MAX_CHARS: usize = 2000;

/// Returns a sent value as it is shown: a long string or the JSON text of another long value is cut, with its length.
pub(super) fn excerpt(value: &Value) -> Cow<'_, Value> {
    let cut = match value {
        Value::String(text) => cut(text),
        Value::Array(_) | Value::Object(_) => cut(&value.to_string()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    };
    cut.map_or(Cow::Borrowed(value), |text| Cow::Owned(Value::String(text)))
}

/// Returns a sent text as it is shown.
pub(crate) fn excerpt_text(text: &str) -> Cow<'_, str> {
    cut(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn cut(text: &str) -> Option<String> {
    if text.len() <= MAX_CHARS {
        return None;
    }
    let (end, _) = text.char_indices().nth(MAX_CHARS)?;
    Some(format!("{}… ({} characters)", &text[..end], text.chars().count()))
}
