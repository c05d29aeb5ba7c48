//! API keys and their redaction in text from servers.

use std::fmt;

use serde_json::Value;

/// The replacement for a secret.
const REDACTED: &str = "[key]";
/// The longest text from a server in a message, in characters.
const MESSAGE_CHARS: usize = 300;
/// Shorter values are not redacted, because they may be ordinary words: for servers that need no key, users set `none`
/// or `ollama`.
const MIN_SECRET_BYTES: usize = 8;
/// The shortest prefix of a secret that is redacted at the end of a truncated text.
const MIN_TAIL_BYTES: usize = 6;

/// A value that is sent to a server and never shown.
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn new(value: String) -> Secret {
        Secret(value)
    }

    /// Returns the value. Use it only for a header.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// All secrets of an endpoint.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    values: Vec<Secret>,
}

impl Secrets {
    /// Adds a header's value. In `Bearer VALUE` only `VALUE` is secret.
    pub(crate) fn add(&mut self, value: &str) {
        let secret = match value.split_once(' ') {
            Some((scheme, rest)) if scheme.bytes().all(|b| b.is_ascii_alphabetic()) && !rest.contains(' ') => rest,
            _ => value,
        };
        if secret.len() >= MIN_SECRET_BYTES {
            self.values.push(Secret::new(secret.to_owned()));
        }
    }

    /// Prepares text from a server for a message: removes secrets, truncates it and escapes control characters.
    pub(crate) fn redact(&self, text: &str) -> String {
        let clean = self.replace_secrets(text.trim(), TextEnd::MaybeTruncated);
        let text = clean.as_deref().unwrap_or(text.trim());
        let mut out = String::with_capacity(text.len().min(MESSAGE_CHARS));
        for (n, c) in text.chars().enumerate() {
            if n == MESSAGE_CHARS {
                out.push('…');
                break;
            }
            if is_invisible(c) {
                out.extend(c.escape_default());
            } else {
                out.push(c);
            }
        }
        out
    }

    /// Replaces secrets in a complete text.
    pub(crate) fn mask(&self, text: &str) -> String {
        self.replace_secrets(text, TextEnd::Complete).unwrap_or_else(|| text.to_owned())
    }

    /// Redacts secrets in all strings and object keys of `value`.
    pub(crate) fn redact_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(clean) = self.replace_secrets(text, TextEnd::Complete) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_json(item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.redact_json(field));
                if fields.keys().any(|name| self.replace_secrets(name, TextEnd::Complete).is_some()) {
                    let clean = |name: String| self.replace_secrets(&name, TextEnd::Complete).unwrap_or(name);
                    *fields = std::mem::take(fields).into_iter().map(|(name, field)| (clean(name), field)).collect();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns the text with every secret replaced, or `None` if it contains none.
    fn replace_secrets(&self, text: &str, end: TextEnd) -> Option<String> {
        let mut clean: Option<String> = None;
        let (mut at, mut copied) = (0, 0);
        while at < text.len() {
            // A secret begins and ends with ASCII, so both ends are character boundaries.
            let length =
                self.values.iter().filter_map(|secret| match_length(&text.as_bytes()[at..], secret, end)).max();
            let Some(length) = length else {
                at += 1;
                continue;
            };
            let out = clean.get_or_insert_default();
            out.push_str(&text[copied..at]);
            out.push_str(REDACTED);
            at += length;
            copied = at;
        }
        if let Some(clean) = &mut clean {
            clean.push_str(&text[copied..]);
        }
        clean
    }
}

/// The completeness of a text: a truncated one may end inside a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextEnd {
    Complete,
    MaybeTruncated,
}

/// Returns the number of bytes at the start of `text` to redact: they match the secret, at least half of it, or a
/// prefix at the end of a truncated text.
fn match_length(text: &[u8], secret: &Secret, end: TextEnd) -> Option<usize> {
    let secret = secret.expose().as_bytes();
    let (length, matched) = match_prefix(text, secret);
    let breaks_off = end == TextEnd::MaybeTruncated && length == text.len() && matched >= MIN_TAIL_BYTES;
    let enough = matched == secret.len() || (matched >= MIN_SECRET_BYTES && matched * 2 >= secret.len()) || breaks_off;
    enough.then_some(length)
}

/// Returns the number of bytes of `text` that match a prefix of `secret`, and the length of that prefix. Case is
/// ignored because hosts and content types are lowercased.
fn match_prefix(text: &[u8], secret: &[u8]) -> (usize, usize) {
    let Some((first, rest)) = secret.split_first() else { return (0, 0) };
    let decodings = decode_first_byte(text).into_iter().flatten().filter(|(byte, _)| byte.eq_ignore_ascii_case(first));
    let lengths = decodings.map(|(_, used)| {
        let (length, matched) = match_prefix(&text[used..], rest);
        (length + used, matched + 1)
    });
    lengths.max_by_key(|(_, matched)| *matched).unwrap_or_default()
}

/// Returns the possible first bytes of `text` with their encoded lengths: verbatim, and percent-encoded or
/// JSON-escaped.
fn decode_first_byte(text: &[u8]) -> [Option<(u8, usize)>; 2] {
    let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    let escaped = match text {
        [b'%', a, b, ..] => hex(&[*a, *b]).map(|byte| (byte, 3)),
        [b'\\', b'u', b'0', b'0', a, b, ..] => hex(&[*a, *b]).map(|byte| (byte, 6)),
        [b'\\', c @ (b'/' | b'"' | b'\\'), ..] => Some((*c, 2)),
        _ => None,
    };
    [text.first().map(|byte| (*byte, 1)), escaped]
}

/// Returns true for characters that control a terminal or change how the text around them is displayed.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEY: &str = "sk-Ab/9+z=\"q%25%e";

    fn secrets() -> Secrets {
        let mut secrets = Secrets::default();
        secrets.add(&format!("Bearer {KEY}"));
        secrets
    }

    #[test]
    fn a_key_is_found_however_it_is_spelled() {
        for text in [
            KEY.to_owned(),
            KEY.to_lowercase(),
            "sk-Ab%2F9%2Bz%3D%22q%2525%25e".to_owned(),
            "sk%2dAb%2f9+z=%22q%2525%25e".to_owned(),
            "%73%6b-Ab/9+z=\"q%25%e".to_owned(),
            r#"sk-Ab\/9+z=\"q%25%e"#.to_owned(),
            r#"\u0073k-Ab\/9+z=\"q%25%e"#.to_owned(),
        ] {
            assert_eq!(secrets().redact(&format!("«{text}» said «{text}»")), "«[key]» said «[key]»", "{text}");
        }
    }

    #[test]
    fn what_breaks_off_in_a_key_is_cut_as_well() {
        assert_eq!(secrets().redact("wrong: Bearer sk-Ab/"), "wrong: Bearer [key]");
        assert_eq!(secrets().redact("wrong: sk-Ab/9+z…"), "wrong: [key]…");
        assert_eq!(secrets().redact("sk-A is how keys begin"), "sk-A is how keys begin");
    }

    #[test]
    fn a_word_is_no_secret() {
        let mut secrets = Secrets::default();
        secrets.add("ollama");
        assert_eq!(secrets.redact("ollama is busy"), "ollama is busy");
    }

    #[test]
    fn messages_are_short_and_visible() {
        assert_eq!(secrets().redact("\u{1b}[31mred\nline\u{202e}\u{200b}"), r"\u{1b}[31mred\nline\u{202e}\u{200b}");
        let long = secrets().redact(&"ä".repeat(5000));
        assert_eq!(long.chars().count(), 301);
        // A key that spans the limit is replaced before the text is truncated.
        let across = secrets().redact(&format!("{}{KEY}", "x".repeat(296)));
        assert_eq!(across, format!("{}[key…", "x".repeat(296)));
    }

    #[test]
    fn json_is_redacted_in_values_and_names() {
        let mut value = json!({"a": [KEY, {"b": format!("x{KEY}x")}], KEY: 1, "c": "sk-Ab/"});
        secrets().redact_json(&mut value);
        assert_eq!(value.to_string(), r#"{"a":["[key]",{"b":"x[key]x"}],"[key]":1,"c":"sk-Ab/"}"#);
    }

    #[test]
    fn secrets_do_not_print() {
        assert_eq!(format!("{:?}", secrets()), "Secrets { values: [[key]] }");
    }
}
