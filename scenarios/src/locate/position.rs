use std::collections::BTreeMap;
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
    pub(super) key: String,
    pub(super) span: Range<usize>,
}

/// The keys that occur again, by the pointer of their entry.
pub(super) type DuplicateKeys = BTreeMap<String, Vec<DuplicateKey>>;

/// Returns the entries of a map from pointers at or below `pointer`.
pub(super) fn within<'m, T>(map: &'m BTreeMap<String, T>, pointer: &str) -> impl Iterator<Item = (&'m String, &'m T)> {
    let below = format!("{pointer}/");
    let parts = map.range(below.clone()..).take_while(move |(part, _)| part.starts_with(&below));
    map.get_key_value(pointer).into_iter().chain(parts)
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
