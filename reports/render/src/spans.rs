//! Wraps and truncates styled text by the columns that it takes on a terminal.

use unicode_width::UnicodeWidthChar as _;

use super::number::pluralize;
use healbench_text::{Paint, StyledSpan, plain_text};

/// Returns an upper bound of the columns that a text takes.
fn text_columns(text: &str) -> usize {
    text.chars().map(char_columns).sum()
}

/// Returns an upper bound of the columns that a character takes: an emoji selector widens the character before it.
fn char_columns(c: char) -> usize {
    if c == '\u{fe0f}' { 1 } else { c.width().unwrap_or(0) }
}

/// Returns the longest prefix of raw text that takes at most `max_columns` columns when escaped, and true if that is
/// all of the text. Characters of zero width count as one column to limit their number.
pub(super) fn prefix(text: &str, max_columns: usize) -> (&str, bool) {
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += plain_columns(c);
        if taken > max_columns {
            return (&text[..at], false);
        }
    }
    (text, true)
}

/// Returns the suffix of raw text, measured as by [`prefix`].
fn suffix(text: &str, max_columns: usize) -> &str {
    let mut taken = 0;
    for (at, c) in text.char_indices().rev() {
        taken += plain_columns(c);
        if taken > max_columns {
            return &text[at + c.len_utf8()..];
        }
    }
    text
}

fn plain_columns(c: char) -> usize {
    text_columns(&plain_text(c.encode_utf8(&mut [0; 4]))).max(1)
}

/// Escapes raw text, leaving out the middle if it is long.
pub(super) fn elide_middle(text: &str, max_columns: usize) -> String {
    if let (_, true) = prefix(text, max_columns) {
        return plain_text(text).into_owned();
    }
    let half = max_columns.saturating_sub(3) / 2;
    format!("{} … {}", plain_text(prefix(text, half).0), plain_text(suffix(text, half)))
}

/// Escapes the spans; what exceeds `max_columns` is replaced by its size.
pub(super) fn truncate(spans: Vec<StyledSpan>, max_columns: usize) -> Vec<StyledSpan> {
    let mut kept: Vec<StyledSpan> = Vec::with_capacity(spans.len());
    let mut left = max_columns;
    let mut hidden = 0;
    for span in spans {
        if hidden > 0 {
            hidden += span.text.chars().count();
            continue;
        }
        let (head, whole) = prefix(&span.text, left);
        left -= head.chars().map(plain_columns).sum::<usize>();
        let plain = plain_text(head);
        if !whole {
            hidden += span.text[head.len()..].chars().count();
        }
        kept.push(StyledSpan::new(plain, span.paint));
    }
    if hidden > 0 {
        kept.push(StyledSpan::new(format!(" … {}", pluralize(hidden as u64, "more character")), Paint::Dim));
    }
    kept
}

/// A character with its style.
type Glyph = (char, Paint);

/// Wraps spans into rows of at most `width` columns, after a space or a comma if one is near and otherwise anywhere.
/// Later rows are indented like the first.
pub(super) fn wrap(spans: &[StyledSpan], width: usize) -> Vec<Vec<StyledSpan>> {
    let glyphs = spans.iter().flat_map(|span| span.text.chars().map(|c| (c, span.paint)));
    let mut glyphs = glyphs.peekable();
    let mut indent = 0;
    let mut row: Vec<Glyph> = Vec::new();
    while let Some(blank) = glyphs.next_if(|(c, _)| *c == ' ') {
        row.push(blank);
        indent += 1;
    }
    // A large indentation is dropped to avoid a narrow column.
    if indent > width / 3 {
        indent = 0;
    }
    let mut rows = Vec::new();
    let mut taken = row.len();
    for glyph in glyphs {
        while taken + char_columns(glyph.0) > width && row.len() > indent {
            // At a space, nothing moves to the next row.
            let at = if glyph.0 == ' ' { row.len() } else { break_index(&row, indent) };
            let rest = row.split_off(at);
            rows.push(merge_spans(&row));
            row = vec![(' ', Paint::Plain); indent];
            row.extend(rest);
            taken = row.iter().map(|(c, _)| char_columns(*c)).sum();
        }
        // Spaces at a break are not carried to the next row.
        if glyph.0 != ' ' || row.len() > indent || rows.is_empty() {
            taken += char_columns(glyph.0);
            row.push(glyph);
        }
    }
    rows.push(merge_spans(&row));
    rows
}

/// Returns the break position of a full row: after the last space or comma of its second half, or at its end.
fn break_index(row: &[Glyph], indent: usize) -> usize {
    let near = row.iter().rposition(|(c, _)| matches!(c, ' ' | ',')).map(|at| at + 1);
    near.filter(|at| *at > indent.max(row.len() / 2)).unwrap_or(row.len())
}

/// Returns a row without trailing spaces.
fn merge_spans(row: &[Glyph]) -> Vec<StyledSpan> {
    let end = row.iter().rposition(|(c, _)| *c != ' ').map_or(0, |at| at + 1);
    let mut spans: Vec<StyledSpan> = Vec::new();
    for (c, paint) in &row[..end] {
        match spans.last_mut() {
            Some(span) if span.paint == *paint => span.text.push(*c),
            _ => spans.push(StyledSpan::new(c.to_string(), *paint)),
        }
    }
    spans
}
