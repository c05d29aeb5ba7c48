//! Parsing of JSON without recursion, so that the nesting of a file does not bound the stack.

use std::collections::BTreeMap;
use std::ops::Range;

use healbench_core::Object;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::MAX_POINTER_BYTES;
use super::position::{DuplicateKey, DuplicateKeys, EntrySpan, byte_offset, child};

/// A parsed JSON text.
pub(super) struct JsonTree {
    pub(super) value: Value,
    pub(super) spans: BTreeMap<String, EntrySpan>,
    pub(super) duplicates: DuplicateKeys,
    /// The pointers of the lists and objects nested too deep; their values are null.
    pub(super) too_deep: BTreeMap<String, ()>,
}

pub(super) struct JsonError {
    /// The position in bytes.
    pub(super) offset: usize,
    /// The problem at that position.
    pub(super) message: String,
}

impl JsonError {
    /// Describes an error in `part`, which starts at `start`.
    fn new(error: &serde_json::Error, part: &str, start: usize) -> JsonError {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        JsonError { offset: start + byte_offset(part, error.line(), error.column()), message }
    }
}

/// Parses a text with one JSON value, or any number of them. Unless it is one, the result is a list of them.
///
/// # Errors
/// The first syntax error.
pub(super) fn parse(text: &str, is_sequence: bool, max_depth: usize) -> Result<JsonTree, JsonError> {
    let failed = |error: serde_json::Error| JsonError::new(&error, text, 0);
    let mut documents = 1;
    if is_sequence {
        documents = 0;
        for document in serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>() {
            document.map_err(failed)?;
            documents += 1;
        }
    } else {
        serde_json::from_str::<IgnoredAny>(text).map_err(failed)?;
    }
    let tree = JsonTree {
        value: Value::Null,
        spans: BTreeMap::new(),
        duplicates: DuplicateKeys::new(),
        too_deep: BTreeMap::new(),
    };
    let mut reader = Reader { text, max_depth, values: 0, pointer_bytes: 0, tree, open: Vec::new() };
    if documents != 1 {
        let list =
            Container { pointer: String::new(), key: None, start: 0, value: Value::Array(Vec::new()), next_key: None };
        reader.open.push(list);
    }
    reader.read()?;
    Ok(reader.tree)
}

/// The values that a text may have.
const MAX_VALUES: usize = 2_000_000;

struct Reader<'a> {
    text: &'a str,
    max_depth: usize,
    values: usize,
    pointer_bytes: usize,
    tree: JsonTree,
    /// The lists and objects around the current position.
    open: Vec<Container>,
}

struct Container {
    pointer: String,
    key: Option<Range<usize>>,
    start: usize,
    value: Value,
    /// The key of the object's next value.
    next_key: Option<(String, Range<usize>)>,
}

impl Reader<'_> {
    /// Reads the text, which is valid except for the values of strings and numbers.
    fn read(&mut self) -> Result<(), JsonError> {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let mut end = at + 1;
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' => {}
                b'{' | b'[' if self.open.len() >= self.max_depth => {
                    end = container_end(bytes, at);
                    let (pointer, key) = self.place(at)?;
                    self.tree.too_deep.insert(pointer.clone(), ());
                    self.close(Container { pointer, key, start: at, value: Value::Null, next_key: None });
                }
                b'{' | b'[' => {
                    let (pointer, key) = self.place(at)?;
                    let value = if *byte == b'{' { Value::Object(Object::new()) } else { Value::Array(Vec::new()) };
                    self.open.push(Container { pointer, key, start: at, value, next_key: None });
                }
                b'}' | b']' => {
                    if let Some(container) = self.open.pop() {
                        self.close(container);
                    }
                }
                _ => {
                    end = scalar_end(bytes, at);
                    self.scalar(at..end)?;
                }
            }
            at = end;
        }
        // The list around several values.
        if let Some(list) = self.open.pop() {
            self.close(list);
        }
        Ok(())
    }

    fn scalar(&mut self, span: Range<usize>) -> Result<(), JsonError> {
        let token = &self.text[span.clone()];
        let value: Value = serde_json::from_str(token).map_err(|error| JsonError::new(&error, token, span.start))?;
        match (self.open.last_mut(), value) {
            (Some(Container { value: Value::Object(_), next_key: next_key @ None, .. }), Value::String(key)) => {
                *next_key = Some((key, span));
            }
            (_, value) => {
                let (pointer, key) = self.place(span.start)?;
                self.insert(&pointer, value);
                self.tree.spans.insert(pointer, EntrySpan { key, value: span, is_scalar: true });
            }
        }
        Ok(())
    }

    /// Returns the pointer and the key of the next value, which is at this position.
    fn place(&mut self, at: usize) -> Result<(String, Option<Range<usize>>), JsonError> {
        let (pointer, key) = match self.open.last() {
            Some(Container { pointer, value: Value::Array(items), .. }) => (child(pointer, items.len()), None),
            Some(Container { pointer, next_key: Some((key, span)), .. }) => (child(pointer, key), Some(span.clone())),
            _ => (String::new(), None),
        };
        self.values += 1;
        self.pointer_bytes += pointer.len();
        if self.values > MAX_VALUES || self.pointer_bytes > MAX_POINTER_BYTES {
            let message = "the file has too many values, or too long keys around them, up to here".to_owned();
            return Err(JsonError { offset: at, message });
        }
        Ok((pointer, key))
    }

    fn close(&mut self, container: Container) {
        let Container { pointer, key, start, value, .. } = container;
        self.insert(&pointer, value);
        let end = self.text.len().min(start + 1);
        self.tree.spans.insert(pointer, EntrySpan { key, value: start..end, is_scalar: false });
    }

    /// Adds a finished value to the container around it. The last of several values with the same key counts.
    fn insert(&mut self, pointer: &str, value: Value) {
        match self.open.last_mut() {
            Some(Container { value: Value::Array(items), .. }) => items.push(value),
            Some(Container { value: Value::Object(map), next_key, .. }) => {
                let Some((key, span)) = next_key.take() else { return };
                if map.insert(key.clone(), value).is_some() {
                    let duplicates = self.tree.duplicates.entry(pointer.to_owned()).or_default();
                    duplicates.push(DuplicateKey { key, span });
                }
            }
            _ => self.tree.value = value,
        }
    }
}

/// Returns the end of the string, number or word that starts at `start`.
fn scalar_end(bytes: &[u8], start: usize) -> usize {
    if bytes[start] != b'"' {
        let ends =
            |byte: &u8| matches!(byte, b',' | b':' | b']' | b'}' | b'[' | b'{' | b'"' | b' ' | b'\t' | b'\r' | b'\n');
        return bytes[start..].iter().position(ends).map_or(bytes.len(), |length| start + length);
    }
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// Returns the end of the list or object that starts at `start`.
fn container_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' => {
                at = scalar_end(bytes, at);
                continue;
            }
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}
