//! Texts that say the same of two calls.

use serde_json::Value;

use crate::places::{leaves, plain};

/// The character that stands for a value.
const VALUE: char = '‹';
/// The words of languages for a value that is not there.
const NOTHING: [&str; 5] = ["null", "none", "undefined", "nil", "nan"];

/// Returns true if something was replaced in a text of [`without_values`].
pub(crate) fn names_value(text: &str) -> bool {
    text.contains(VALUE)
}

/// Returns a text without what a call sent, without numbers, and without names that have digits in them, so that two texts are
/// equal if they say the same of different calls.
pub(crate) fn without_values(text: &str, arguments: &Value) -> String {
    let mut sent = Vec::new();
    leaves(arguments, &mut sent);
    let mut sent: Vec<String> = sent.into_iter().map(plain).filter(|text| !text.trim().is_empty()).collect();
    // The longest first: one may contain another.
    sent.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let mut masked = sent.iter().fold(text.to_owned(), |text, value| replace_whole(&text, value));
    masked = words(&masked, |word| {
        word.contains(|c: char| c.is_ascii_digit()) || NOTHING.iter().any(|nothing| word.eq_ignore_ascii_case(nothing))
    });
    let unquoted = masked.replace(['"', '\'', '`'], "");
    unquoted.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces a value where no letter or digit stands beside it.
fn replace_whole(text: &str, value: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(value) {
        let end = at + value.len();
        let before = rest[..at].chars().next_back().or(out.chars().next_back());
        let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        out.push_str(&rest[..at]);
        if is_part(before) || is_part(rest[end..].chars().next()) {
            out.push_str(value);
        } else {
            out.push(VALUE);
        }
        rest = &rest[end..];
    }
    out + rest
}

/// Replaces the words of which something holds.
fn words(text: &str, is_replaced: impl Fn(&str) -> bool) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let length = rest[start..].find(|c| !is_part(c)).unwrap_or(rest.len() - start);
        let word = &rest[start..start + length];
        out.push_str(&rest[..start]);
        if is_replaced(word) {
            out.push(VALUE)
        } else {
            out.push_str(word)
        }
        rest = &rest[start + length..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_of_two_calls_are_equal_but_for_what_was_sent() {
        let base = (json!({"file": "example", "n": 3}), "Cannot open 'example': no document example.docx (attempt 1)");
        for (arguments, text) in [
            (json!({"file": 42, "n": 3}), "Cannot open 42: no document 42.docx (attempt 7)"),
            (json!({"n": 3}), "Cannot open undefined: no document undefined.docx (attempt 12)"),
            (json!({"file": null}), "Cannot open None:  no document None.docx (attempt 2)"),
            (json!({"file": "a\"b", "x": true}), "Cannot open `a\"b`: no document a\"b.docx (attempt 3)"),
        ] {
            assert_eq!(without_values(text, &arguments), without_values(base.1, &base.0), "{text}");
        }
        let other = without_values("file must be a string, got 42", &json!({"file": 42}));
        assert_ne!(other, without_values("file must be a name, got 'example'", &base.0));
        // A value inside a word is none.
        assert_eq!(without_values("formats: csv", &json!({"a": "for"})), "formats: csv");
    }
}
