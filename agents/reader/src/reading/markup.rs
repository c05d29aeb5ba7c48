//! Parses the tags, attributes and entities of XML-like text.

use std::borrow::Cow;

pub(super) struct Tag<'t> {
    pub(super) name: &'t str,
    pub(super) attributes: &'t str,
    pub(super) closing: bool,
    pub(super) empty: bool,
    pub(super) length: usize,
}

/// Returns true if a tag is a placeholder in the form of a value: `ORD-<number>`, `<owner>/<repo>`.
pub(super) fn is_placeholder(text: &str, at: usize, tag: &Tag<'_>) -> bool {
    const ALONE: [&str; 4] = ["br", "hr", "p", "li"];
    // The limit keeps the time linear.
    const MAX_ELEMENT_BYTES: usize = 500;
    let joins = |byte: Option<&u8>| byte.is_some_and(|byte| b"-_/:#@.".contains(byte));
    let bytes = text.as_bytes();
    let is_joined = joins(at.checked_sub(1).and_then(|before| bytes.get(before))) || joins(bytes.get(at + tag.length));
    let is_plain = !tag.closing && !tag.empty && tag.attributes.is_empty() && !ALONE.contains(&tag.name);
    let near = &text[at..text.floor_char_boundary(at + MAX_ELEMENT_BYTES)];
    is_joined && is_plain && !near.contains(&format!("</{}>", tag.name))
}

/// Returns true if the `length` bytes at `at` are enclosed in the same quotation mark.
pub(super) fn is_quoted(bytes: &[u8], at: usize, length: usize) -> bool {
    let before = at.checked_sub(1).map(|before| bytes[before]);
    before.is_some_and(|quote| matches!(quote, b'\'' | b'"' | b'`') && bytes.get(at + length) == Some(&quote))
}

/// Parses the XML tag at the start of `text`, which begins with `<`. Returns `None` for a plain `<`, as in `a < b`.
pub(super) fn tag_at(text: &str) -> Option<Tag<'_>> {
    let closing = text[1..].starts_with('/');
    let start = 1 + usize::from(closing);
    let name_length = text[start..].find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')))?;
    let name = &text[start..start + name_length];
    if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return None;
    }
    let rest = &text[start + name_length..];
    let mut quote = None;
    // The limit keeps the time linear if many `<` are never closed.
    let end = rest.char_indices().take(2000).find_map(|(index, c)| match (quote, c) {
        (Some(open), _) => {
            if c == open {
                quote = None;
            }
            None
        }
        (None, '"' | '\'') => {
            quote = Some(c);
            None
        }
        (None, '>') => Some(Some(index)),
        (None, '<') => Some(None),
        _ => None,
    })??;
    let inner = &rest[..end];
    let attributes = inner.trim_end_matches('/');
    Some(Tag { name, attributes, closing, empty: inner.ends_with('/'), length: start + name_length + end + 1 })
}

pub(super) fn attributes(text: &str) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (key, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, next) = after[1..].split_once(quote)?;
        rest = next;
        Some((key.trim(), unescape(value)))
    })
}

/// Resolves XML entities and leaves any other `&` unchanged.
pub(super) fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(10).position(|byte| byte == b';');
        let resolved = end.and_then(|end| Some((entity(&rest[1..end])?, end + 1)));
        let (c, length) = resolved.unwrap_or(('&', 1));
        out.push(c);
        rest = &rest[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns the character of a named or numeric entity.
pub(super) fn entity(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}
