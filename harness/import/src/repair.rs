//! JSON as other programs write it.

use std::borrow::Cow;

use serde::Deserialize;

use crate::problem::ProblemKind;

/// Parses a value. Python's `NaN` and `Infinity` are null, and half of a character that was escaped in two halves is a replacement
/// character. Bytes that are no UTF-8 are replaced too, and told by the second part.
///
/// # Errors
/// The text is no JSON.
pub(crate) fn parse<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<(T, Option<ProblemKind>), serde_json::Error> {
    let error = match serde_json::from_slice(bytes) {
        Ok(value) => return Ok((value, None)),
        Err(error) => error,
    };
    let text = String::from_utf8_lossy(bytes);
    let problem = matches!(text, Cow::Owned(_)).then_some(ProblemKind::BrokenUtf8);
    match serde_json::from_slice(&repaired(text.as_bytes())) {
        Ok(value) => Ok((value, problem)),
        Err(_) => Err(error),
    }
}

/// Returns the place of an error in a text. Its message may quote what it should not.
pub(crate) fn place_of(error: &serde_json::Error) -> String {
    if error.line() == 0 {
        "a field has a value of another type".to_owned()
    } else {
        format!("line {} column {}", error.line(), error.column())
    }
}

/// Returns the text with what no JSON parser accepts replaced.
fn repaired(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let (mut at, mut in_string) = (0, false);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (replacement, length) = if in_string { in_text(rest) } else { between(rest) };
        if rest[0] == b'"' {
            in_string = !in_string;
        }
        out.extend_from_slice(replacement);
        at += length;
    }
    out
}

/// Returns what stands for the beginning of `rest`, which is inside of a string, and the length of that beginning.
fn in_text(rest: &[u8]) -> (&[u8], usize) {
    const REPLACEMENT: &[u8] = b"\\ufffd";
    if rest[0] != b'\\' {
        return (&rest[..1], 1);
    }
    match (unit(rest), rest.get(6..).and_then(unit)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (&rest[..12], 12),
        (Some(0xd800..=0xdfff), _) => (REPLACEMENT, 6),
        _ => {
            let length = rest.len().min(2);
            (&rest[..length], length)
        }
    }
}

/// Returns what stands for the beginning of `rest`, which is outside of strings, and the length of that beginning.
fn between(rest: &[u8]) -> (&[u8], usize) {
    for name in ["NaN", "-Infinity", "Infinity"] {
        if rest.starts_with(name.as_bytes()) {
            return (b"null", name.len());
        }
    }
    (&rest[..1], 1)
}

/// Returns the number in an escape of four digits.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
