//! What came from outside never becomes a part of the structure that it is written into.

use std::borrow::Cow;

/// XML element content: `&` and `<` escaped, and characters that XML 1.0 does not allow replaced.
pub(crate) fn xml_text(text: &str) -> Cow<'_, str> {
    let escaped = escape(text, |c| match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        // A parser would give back a line feed.
        '\r' => Some("&#13;"),
        _ => None,
    });
    // The one place where a `>` is not allowed to stand as it is.
    if escaped.contains("]]>") { Cow::Owned(escaped.replace("]]>", "]]&gt;")) } else { escaped }
}

/// An XML attribute's value: all five escaped, and white space that a parser would turn into a plain space.
pub(crate) fn xml_attribute(text: &str) -> Cow<'_, str> {
    escape(text, |c| match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&apos;"),
        '\t' => Some("&#9;"),
        '\n' => Some("&#10;"),
        '\r' => Some("&#13;"),
        _ => None,
    })
}

fn escape(text: &str, entity: impl Fn(char) -> Option<&'static str>) -> Cow<'_, str> {
    let replacement = |c: char| entity(c).or_else(|| (!is_xml_char(c)).then_some("\u{FFFD}"));
    if !text.chars().any(|c| replacement(c).is_some()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match replacement(c) {
            Some(entity) => out.push_str(entity),
            None => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// XML 1.0, production 2.
fn is_xml_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

/// Text that stays on its line: line ends and other control characters become visible escapes.
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
