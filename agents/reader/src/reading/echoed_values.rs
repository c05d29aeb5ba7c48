//! Masks values that the agent sent and that a response repeats. A long value may contain anything, such as line
//! breaks, labels or advice, which must not be read as the server's own text.

use std::borrow::Cow;

use serde_json::Value;

use super::markup::entity;

/// The number of words from which a value is masked. A shorter one without line breaks and quotation marks cannot be
/// mistaken for advice.
const MIN_WORDS: usize = 3;

/// The minimum length of the match with a truncated value; a shorter match may be a coincidence.
const MIN_PARTIAL_CHARS: usize = 40;

/// Replaces long values of `sent` by `own-1`, `own-2` and so on, both in the text and in the arguments, so that a
/// repeated value still identifies its field.
pub(super) fn mask_echoed_values<'t>(text: &'t str, sent: &'t Value) -> (Cow<'t, str>, Cow<'t, Value>) {
    let mut values = Vec::new();
    collect_values(sent, &mut values);
    let mut text = Cow::Borrowed(text);
    let mut sent = Cow::Borrowed(sent);
    for (index, value) in values.into_iter().enumerate() {
        let name = format!("own-{}", index + 1);
        if let Some(masked) = replace_value(&text, value, &name) {
            text = Cow::Owned(masked);
            rename(sent.to_mut(), value, &name);
        }
    }
    (text, sent)
}

fn collect_values<'v>(value: &'v Value, values: &mut Vec<&'v str>) {
    match value {
        Value::String(text) if needs_mask(text) && !values.contains(&text.as_str()) => values.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_values(item, values)),
        Value::Object(object) => object.values().for_each(|item| collect_values(item, values)),
        _ => {}
    }
}

fn needs_mask(text: &str) -> bool {
    text.len() > 1
        && (text.contains(|c: char| c.is_control() || matches!(c, '"' | '\'' | '`' | '<' | '\u{2028}' | '\u{2029}'))
            || text.split_whitespace().nth(MIN_WORDS - 1).is_some())
}

fn rename(sent: &mut Value, from: &str, to: &str) {
    match sent {
        Value::String(text) if text == from => *sent = Value::from(to),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, from, to)),
        Value::Object(object) => object.values_mut().for_each(|item| rename(item, from, to)),
        _ => {}
    }
}

/// Replaces `value` by `name` in the text. Returns `None` if the text does not contain it.
fn replace_value(text: &str, value: &str, name: &str) -> Option<String> {
    let mut out: Option<String> = None;
    let (mut from, mut at) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        let shown = [false, true].into_iter().filter_map(|escaped| match_length(&text[at..], value, escaped)).max();
        let Some(length) = shown else {
            at += c.len_utf8();
            continue;
        };
        let out = out.get_or_insert_default();
        out.push_str(&text[from..at]);
        out.push_str(name);
        at += length;
        from = at;
    }
    out.map(|out| out + &text[from..])
}

/// Returns the length of `value`, or of a long enough beginning of it, at the start of `text`. With `escaped`, entities
/// and escapes in the text are decoded.
fn match_length(text: &str, value: &str, escaped: bool) -> Option<usize> {
    let mut length = 0;
    for (matched, c) in value.chars().enumerate() {
        let rest = &text[length..];
        let (decoded, consumed) = if escaped { decode_char(rest) } else { first_char(rest) };
        if decoded != Some(c) && !(decoded == Some('\u{FFFD}') && c.is_control()) {
            return (matched >= MIN_PARTIAL_CHARS).then_some(length);
        }
        length += consumed;
    }
    Some(length)
}

fn first_char(text: &str) -> (Option<char>, usize) {
    let first = text.chars().next();
    (first, first.map_or(0, char::len_utf8))
}

/// Decodes the character at the start of `text` and returns its length in bytes: `&lt;`, `\n`, `\u001b`, `\u{1b}`,
/// `\x1b`.
fn decode_char(text: &str) -> (Option<char>, usize) {
    let escape = match text.as_bytes().first() {
        Some(b'&') => {
            let end = text.bytes().take(10).position(|byte| byte == b';');
            end.and_then(|end| Some((entity(&text[1..end])?, end + 1)))
        }
        Some(b'\\') => decode_escape(&text[1..]).map(|(c, length)| (c, length + 1)),
        _ => None,
    };
    escape.map_or_else(|| first_char(text), |(c, length)| (Some(c), length))
}

fn decode_escape(text: &str) -> Option<(char, usize)> {
    let hexadecimal = |digits: &str| char::from_u32(u32::from_str_radix(digits, 16).ok()?);
    Some(match text.chars().next()? {
        'n' => ('\n', 1),
        'r' => ('\r', 1),
        't' => ('\t', 1),
        'b' => ('\u{8}', 1),
        'f' => ('\u{c}', 1),
        '0' => ('\0', 1),
        same @ ('\\' | '"' | '\'' | '/' | '`') => (same, 1),
        'x' => (hexadecimal(text.get(1..3)?)?, 3),
        'u' => match text.strip_prefix("u{").and_then(|rest| rest.split_once('}')) {
            Some((digits, _)) => (hexadecimal(digits)?, digits.len() + 3),
            None => (hexadecimal(text.get(1..5)?)?, 5),
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_echoed_value_is_found_however_it_is_escaped() {
        let value = "a <b>\n\"c\" & 'd'\u{1b}";
        let sent = json!({"note": value});
        let json = serde_json::to_string(value).unwrap();
        let rust: String = value.chars().flat_map(char::escape_default).collect();
        for shown in [value, "a &lt;b>\n\"c\" &amp; 'd'\u{FFFD}", json.trim_matches('"'), &rust] {
            let text = format!("Note '{shown}' is too long. Again: '{shown}'.");
            let (text, sent) = mask_echoed_values(&text, &sent);
            assert_eq!(text, "Note 'own-1' is too long. Again: 'own-1'.", "{shown}");
            assert_eq!(*sent, json!({"note": "own-1"}));
        }
    }

    #[test]
    fn names_stay_and_truncated_values_are_masked() {
        let long = "word after word ".repeat(20);
        let sent = json!({"status": "in progress", "note": long});
        let text = format!("Status 'in progress' and note '{}…'", &long[..50]);
        assert_eq!(mask_echoed_values(&text, &sent).0, "Status 'in progress' and note 'own-1…'");
        assert!(matches!(mask_echoed_values("note: word after all", &sent), (Cow::Borrowed(_), Cow::Borrowed(_))));
    }
}
