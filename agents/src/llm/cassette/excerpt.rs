//! Preparation of text from models and files for a line of a terminal.

use std::fmt::Write as _;

/// Escapes control and invisible characters in the form `\u{1b}`.
pub(super) fn escape_invisible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let is_hidden = c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
        if is_hidden {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns at most `length` characters from the character at `start` on, with `…` where text is omitted.
pub(super) fn excerpt(text: &str, start: usize, length: usize) -> String {
    let mut chars = text.chars().skip(start);
    let mut out = String::new();
    if start > 0 {
        out.push('…');
    }
    out.extend(chars.by_ref().take(length));
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

const EXCERPT_CHARS: usize = 200;
/// The number of equal characters shown before the first difference.
const LEAD_CHARS: usize = 60;

/// Returns excerpts of two texts from the same position, so that both show the first difference.
pub(super) fn aligned_excerpts(a: &str, b: &str) -> (String, String) {
    let equal = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let start = if equal < EXCERPT_CHARS * 3 / 4 { 0 } else { equal - LEAD_CHARS };
    (escape_invisible(&excerpt(a, start, EXCERPT_CHARS)), escape_invisible(&excerpt(b, start, EXCERPT_CHARS)))
}
