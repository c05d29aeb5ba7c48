use std::borrow::Cow;
use std::fmt::Write as _;

/// Text that comes from a file, a server or a model, made safe to show in one line of a terminal.
///
/// Scenario ids, agent names, arguments and answers are data: an escape sequence in them could repaint the screen, a bidirectional
/// mark could reorder the line. Control characters, line breaks among them, and marks that cannot be seen are written as
/// `\u{1b}`; everything else stays as it is.
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
                // Writing to a String cannot fail.
                let _ = write!(plain, "\\u{{{:x}}}", u32::from(c));
            }
            c => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// Whether it does something to a terminal or to a line, or cannot be seen.
pub(super) fn is_unsafe(c: char) -> bool {
    // The last two of each plane are no characters, as those from U+FDD0 on.
    c.is_control()
        || u32::from(c) & 0xfffe == 0xfffe
        || matches!(c,
            '\u{ad}' // soft hyphen
            | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fdd0}'..='\u{fdef}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
