//! Escaping of untrusted text, so that it cannot become part of the surrounding structure.

use std::borrow::Cow;
use std::fmt;

use super::wording::TextSink;

/// Escapes text for XML element content, and replaces characters that XML 1.0 forbids.
pub(crate) fn xml_text(text: &str) -> Cow<'_, str> {
    borrowed_or(text, push_xml_text)
}

/// Escapes text for an XML attribute value, including white space that a parser would normalize to a space.
pub(crate) fn xml_attribute(text: &str) -> Cow<'_, str> {
    borrowed_or(text, push_xml_attribute)
}

fn borrowed_or(text: &str, push: impl Fn(&mut String, &str)) -> Cow<'_, str> {
    if text.bytes().all(|byte| !IN_ATTRIBUTE[byte as usize]) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    push(&mut out, text);
    Cow::Owned(out)
}

/// The bytes that may need escaping in element content: markup, control characters, and the first byte of U+FFFE and
/// U+FFFF.
const IN_TEXT: [bool; 256] = special(b"&<>\r");
const IN_ATTRIBUTE: [bool; 256] = special(b"&<>\"'\t\n\r");

const fn special(escaped: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut control = 0;
    while control < 0x20 {
        table[control] = !matches!(control as u8, b'\t' | b'\n');
        control += 1;
    }
    let mut at = 0;
    while at < escaped.len() {
        table[escaped[at] as usize] = true;
        at += 1;
    }
    table[0xEF] = true;
    table
}

/// Appends [`xml_text`].
pub(crate) fn push_xml_text(out: &mut String, text: &str) {
    push_escaped(out, text, &IN_TEXT, |out, byte| match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        // A parser would convert it to a line feed.
        b'\r' => Some("&#13;"),
        // `>` must be escaped only in `]]>`.
        b'>' if out.ends_with("]]") => Some("&gt;"),
        _ => None,
    });
}

/// Appends [`xml_attribute`].
pub(crate) fn push_xml_attribute(out: &mut String, text: &str) {
    push_escaped(out, text, &IN_ATTRIBUTE, |_, byte| match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'"' => Some("&quot;"),
        b'\'' => Some("&apos;"),
        b'\t' => Some("&#9;"),
        b'\n' => Some("&#10;"),
        b'\r' => Some("&#13;"),
        _ => None,
    });
}

/// Appends `text` in runs of unescaped bytes. For each byte in `special`, `entity` receives the output so far and the
/// byte.
fn push_escaped(
    out: &mut String,
    text: &str,
    special: &[bool; 256],
    entity: impl Fn(&str, u8) -> Option<&'static str>,
) {
    let bytes = text.as_bytes();
    let mut from = 0;
    let mut at = 0;
    while let Some(skip) = bytes[at..].iter().position(|byte| special[*byte as usize]) {
        at += skip;
        out.push_str(&text[from..at]);
        from = at;
        let (replacement, length) = match bytes[at] {
            byte @ (b'\t' | b'\n' | b'\r' | 0x20..=0x7F) => (entity(out, byte), 1),
            // XML 1.0, production 2: forbids all other control characters,
            0..=0x1F => (Some("\u{FFFD}"), 1),
            // and U+FFFE and U+FFFF.
            _ if matches!(bytes[at + 1..], [0xBF, 0xBE | 0xBF, ..]) => (Some("\u{FFFD}"), 3),
            _ => (None, 1),
        };
        if let Some(replacement) = replacement {
            out.push_str(replacement);
            from = at + length;
        }
        at += length;
    }
    out.push_str(&text[from..]);
}

/// Writes escaped XML element content.
pub(crate) struct XmlText<'a>(pub(crate) &'a mut String);

impl fmt::Write for XmlText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        push_xml_text(self.0, text);
        Ok(())
    }
}

impl TextSink for XmlText<'_> {
    fn write_literal(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        Ok(())
    }
}

/// Replaces line breaks and other control characters by visible escapes.
pub(crate) fn single_line(text: &str) -> Cow<'_, str> {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    if !text.chars().any(breaks) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if breaks(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}
