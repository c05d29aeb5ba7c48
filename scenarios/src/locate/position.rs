use std::fmt;
use std::ops::Range;

/// The position of an entry in bytes.
pub(super) struct EntrySpan {
    pub(super) key: Option<Range<usize>>,
    pub(super) value: Range<usize>,
    pub(super) is_scalar: bool,
}

/// A key that occurs again in its mapping.
pub(super) struct DuplicateKey {
    /// The pointer of the mapping's entry with this key.
    pub(super) pointer: String,
    pub(super) key: String,
    pub(super) span: Range<usize>,
}

/// Appends a token to a JSON pointer.
pub(crate) fn child(pointer: &str, token: impl fmt::Display) -> String {
    format!("{pointer}/{}", token.to_string().replace('~', "~0").replace('/', "~1"))
}

/// Returns the nearest start of a character at or before `byte`.
pub(super) fn floor_char(text: &str, byte: usize) -> usize {
    text.floor_char_boundary(byte.min(text.len()))
}

/// Returns the byte offset of a line and a column in bytes, both from 1.
pub(super) fn byte_offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    floor_char(text, start.saturating_add(column.saturating_sub(1)))
}
