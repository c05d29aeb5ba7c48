//! Text of files, servers, agents and models, made safe for where it is shown.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes text of files, servers or models for one line of a terminal.
///
/// Scenario ids, agent names, arguments and answers are untrusted: an escape sequence could repaint the screen, a
/// bidirectional control could reorder the line. Control characters including line breaks, and invisible characters are
/// written as `\u{1b}`; everything else is unchanged.
pub fn plain_text(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => plain.push_str("\\n"),
            '\r' => plain.push_str("\\r"),
            '\t' => plain.push_str("\\t"),
            c if is_unsafe(c) => {
                // Writing to a `String` cannot fail.
                let _ = write!(plain, "\\u{{{:x}}}", u32::from(c));
            }
            c => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// Returns true if the character affects a terminal or a line, or is invisible.
pub fn is_unsafe(c: char) -> bool {
    // The last two code points of each plane are noncharacters, as are those from U+FDD0 on.
    c.is_control()
        || u32::from(c) & 0xfffe == 0xfffe
        || matches!(c,
            '\u{ad}' // soft hyphen
            | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fdd0}'..='\u{fdef}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Escapes text for Markdown tables and for HTML: special characters become entities, and a zero-width space keeps
/// `@name` and `#1` from becoming mentions, for which GitHub would send notifications.
pub fn escape_markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in plain_text(text).chars() {
        match c {
            '@' | '#' => safe.extend([c.to_string().as_str(), "&#8203;"]),
            '|' | '`' | '<' | '>' | '&' | '*' | '_' | '[' | ']' | '\\' | '~' | '$' => {
                safe.push_str(&format!("&#{};", u32::from(c)));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// Makes a line of text valid in XML, which also forbids two displayable characters.
pub fn xml_text(text: &str) -> String {
    plain_text(text).replace('\u{fffe}', r"\u{fffe}").replace('\u{ffff}', r"\u{ffff}")
}
