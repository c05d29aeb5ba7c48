//! JSON as models and their servers write it.
//!
//! A model may write half of a surrogate pair (`"\ud800"`), bytes that are no UTF-8, or a number that no computer has
//! (`1e999`). Parsers in other languages accept these, so an answer with them is an answer of the model. They are
//! replaced by the nearest value that exists: U+FFFD, or the largest number.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// Parses JSON, and repairs it if necessary. An error is that of the original text.
pub(super) fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    // A byte order mark.
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    serde_json::from_slice(json).or_else(|error| {
        let repaired = repair(&String::from_utf8_lossy(json)).into_owned();
        serde_json::from_str(&repaired).map_err(|_| error)
    })
}

/// Replaces escapes of single surrogates inside strings, and numbers that are too large outside.
pub(super) fn repair(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut repaired = String::new();
    let (mut at, mut copied, mut in_string) = (0, 0, false);
    while let Some(byte) = bytes.get(at) {
        let (length, replacement) = match byte {
            b'"' => {
                in_string = !in_string;
                (1, None)
            }
            b'\\' if in_string => match surrogate(&bytes[at..]) {
                None => (2, None),
                Some(0xd800..=0xdbff) if matches!(surrogate(&bytes[at + 6..]), Some(0xdc00..=0xdfff)) => (12, None),
                Some(_) => (6, Some(r"\ufffd")),
            },
            b'-' | b'0'..=b'9' if !in_string => {
                let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                let length = bytes[at..].iter().take_while(is_part).count();
                let is_too_large = json[at..at + length].parse::<f64>().is_ok_and(f64::is_infinite);
                let largest = if *byte == b'-' { "-1.7976931348623157e308" } else { "1.7976931348623157e308" };
                (length, is_too_large.then_some(largest))
            }
            _ => (1, None),
        };
        if let Some(replacement) = replacement {
            repaired.push_str(&json[copied..at]);
            repaired.push_str(replacement);
            copied = at + length;
        }
        at += length;
    }
    if repaired.is_empty() {
        return Cow::Borrowed(json);
    }
    repaired.push_str(&json[copied..]);
    Cow::Owned(repaired)
}

/// Returns the surrogate whose escape is at the start of the text.
fn surrogate(text: &[u8]) -> Option<u16> {
    let [b'\\', b'u', digits @ ..] = text else { return None };
    let digits = digits.get(..4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    let value = u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    (0xd800..=0xdfff).contains(&value).then_some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_no_value_can_hold_is_replaced_by_the_nearest_one() {
        let table = [
            (r#""\ud800""#, json!("\u{fffd}")),
            (r#""a\uDFFFb\ud83d\ude00\ud83d""#, json!("a\u{fffd}b\u{1f600}\u{fffd}")),
            (r#""\ud800\ud83d\ude00""#, json!("\u{fffd}\u{1f600}")),
            (r#""\\ud800 1e999""#, json!(r"\ud800 1e999")),
            (r#"{"\udc00": [1e999, -1E+999, 1.5]}"#, json!({"\u{fffd}": [f64::MAX, f64::MIN, 1.5]})),
        ];
        for (text, expected) in table {
            assert_eq!(parse::<Value>(text.as_bytes()).unwrap(), expected, "{text}");
        }
        assert_eq!(parse::<Value>(b"\"a\xffb\"").unwrap(), json!("a\u{fffd}b"));
        assert_eq!(parse::<Value>(format!("1{}", "0".repeat(400)).as_bytes()).unwrap(), json!(f64::MAX));
    }

    #[test]
    fn what_is_no_json_is_an_error_of_the_original_text() {
        for text in ["", "{", r#""\ud800"#, "1e999x", "\"\\", "\"\\u", "\"\\ud8", "-", "[1e999,]", "nan"] {
            let expected = serde_json::from_str::<Value>(text).unwrap_err().to_string();
            assert_eq!(parse::<Value>(text.as_bytes()).unwrap_err().to_string(), expected, "{text}");
        }
    }
}
