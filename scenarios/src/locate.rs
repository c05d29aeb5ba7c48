//! Parsing of files to JSON values with the position of every key and value.

mod json;
mod position;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

pub(crate) use position::child;
use position::{DuplicateKey, DuplicateKeys, EntrySpan, byte_offset, floor_char, within};

use healbench_core::Object;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Location, Spanned};

use crate::Diagnostic;

/// The syntax of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    Yaml,
    Json,
}

impl Syntax {
    /// Returns the extension of files with this syntax, without a dot.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Syntax::Yaml => "yaml",
            Syntax::Json => "json",
        }
    }
}

/// Pointers in a file with variants, by the pointers in the scenario of one of them.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) values: BTreeMap<String, String>,
    /// Those of keys, as far as they are not where the value is.
    pub(crate) keys: BTreeMap<String, String>,
}

pub(crate) struct Document<'a> {
    pub(crate) label: &'a str,
    text: &'a str,
    pub(crate) value: Value,
    /// The places in the file of what stands elsewhere in the scenario: none, unless it is a variant.
    pub(crate) places: Places,
    spans: BTreeMap<String, EntrySpan>,
    duplicates: DuplicateKeys,
    /// The pointers of the parts of a JSON file that are nested too deep; their values are null.
    too_deep: BTreeMap<String, ()>,
}

impl Document<'_> {
    /// Creates a diagnostic at the value behind a JSON pointer. For a list or mapping it marks the key instead, which
    /// is clearer than the first character. If the pointer refers to nothing, the nearest enclosing value is marked.
    pub(crate) fn at_value(&self, pointer: &str, message: impl Into<String>, help: Option<String>) -> Diagnostic {
        let span = self.nearest_entry(&self.written(pointer)).map_or(0..0, |entry| match &entry.key {
            Some(key) if !entry.is_scalar => key.clone(),
            _ => entry.value.clone(),
        });
        diagnostic(self.label, self.text, span, message.into(), help)
    }

    /// Creates a diagnostic at the key of the entry behind a JSON pointer.
    pub(crate) fn at_key(&self, pointer: &str, message: impl Into<String>, help: Option<String>) -> Diagnostic {
        let key = self.places.keys.get(pointer).map(|place| Cow::Borrowed(place.as_str()));
        let entry = self.nearest_entry(&key.unwrap_or_else(|| self.written(pointer)));
        let span = entry.map_or(0..0, |entry| entry.key.clone().unwrap_or_else(|| entry.value.clone()));
        diagnostic(self.label, self.text, span, message.into(), help)
    }

    /// Returns the pointer in the file to a value of the scenario.
    fn written<'p>(&self, pointer: &'p str) -> Cow<'p, str> {
        let mut outer = pointer;
        loop {
            if let Some(place) = self.places.values.get(outer) {
                return format!("{place}{}", &pointer[outer.len()..]).into();
            }
            match outer.rsplit_once('/') {
                Some((next, _)) => outer = next,
                None => return pointer.into(),
            }
        }
    }

    /// Returns a diagnostic for every key that occurs twice in its mapping.
    pub(crate) fn duplicate_keys(&self) -> impl Iterator<Item = Diagnostic> {
        self.duplicates_within("")
    }

    /// Returns a diagnostic for every key that occurs twice in its mapping, at or below `pointer`.
    pub(crate) fn duplicates_within(&self, pointer: &str) -> impl Iterator<Item = Diagnostic> {
        within(&self.duplicates, pointer).flat_map(|(_, duplicates)| duplicates).map(|duplicate| {
            let help = "a key may stand once in its mapping; remove one of them".to_owned();
            let message = format!("duplicate key `{}`", duplicate.key);
            diagnostic(self.label, self.text, duplicate.span.clone(), message, Some(help))
        })
    }

    /// Returns a diagnostic for every value at or below `pointer` that is nested too deep.
    pub(crate) fn too_deep_within(&self, pointer: &str) -> impl Iterator<Item = Diagnostic> {
        let deep = within(&self.too_deep, pointer);
        deep.map(|(pointer, ())| self.at_value(pointer, too_deep_message(MAX_JSON_DEPTH), None))
    }

    /// Returns the text of a scenario as it was before it got its id and the key `renamed_from`, if nothing else was changed.
    pub(crate) fn before_rename(&self, former: &str) -> Option<String> {
        let (own, key) = (self.spans.get("/id")?, self.spans.get("/renamed_from")?);
        let id = self.text[own.value.clone()].replace(self.value["id"].as_str()?, former);
        let (start, end) = (key.key.as_ref()?.start, key.value.end);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[end..].find('\n').map_or(self.text.len(), |at| end + at + 1);
        let mut edits = [(own.value.clone(), &*id), (line_start..line_end, "")];
        edits.sort_by_key(|(span, _)| span.start);
        let [(first, first_text), (second, second_text)] = edits;
        let between = self.text.get(first.end..second.start)?;
        Some([&self.text[..first.start], first_text, between, second_text, &self.text[second.end..]].concat())
    }

    fn nearest_entry(&self, pointer: &str) -> Option<&EntrySpan> {
        let mut pointer = pointer;
        loop {
            if let Some(entry) = self.spans.get(pointer) {
                return Some(entry);
            }
            pointer = pointer.rsplit_once('/')?.0;
        }
    }
}

/// Parses `text`.
///
/// # Errors
/// Returns a diagnostic for the first syntax error. The text after it is not checked.
pub(crate) fn parse<'a>(label: &'a str, text: &'a str, syntax: Syntax) -> Result<Document<'a>, Diagnostic> {
    if text.trim().is_empty() {
        let help = "a scenario has at least the keys `id`, `title`, `task`, `tools`, `expect` and `script`".to_owned();
        return Err(diagnostic(label, text, 0..0, "the file is empty".to_owned(), Some(help)));
    }
    if syntax == Syntax::Json {
        let document = json_document(label, text, false)?;
        let too_deep = document.too_deep_within("").next();
        return too_deep.map_or(Ok(document), Err);
    }
    let node: Spanned<Node> = serde_saphyr::from_str_with_options(text, parse_options()).map_err(|error| {
        let location = error.location().unwrap_or(Location::UNKNOWN);
        let message = syntax_message(&error);
        let help = syntax_help(text, &location, &message);
        diagnostic(label, text, byte_range(text, &location), message, help)
    })?;
    let mut positions = Positions { text, spans: BTreeMap::new(), duplicates: DuplicateKeys::new(), pointer_bytes: 0 };
    let value = positions.value_of(node, String::new(), None);
    if positions.is_too_large() {
        let message = "the keys around the values are too long".to_owned();
        return Err(diagnostic(label, text, 0..0, message, None));
    }
    let Positions { spans, duplicates, .. } = positions;
    Ok(Document { label, text, value, spans, duplicates, too_deep: BTreeMap::new(), places: Places::default() })
}

/// Parses a JSON text with one value, or any number of them as a list if `is_sequence`. What is nested too deep is null.
///
/// # Errors
/// Returns a diagnostic for the first syntax error.
pub(crate) fn json_document<'a>(label: &'a str, text: &'a str, is_sequence: bool) -> Result<Document<'a>, Diagnostic> {
    let tree = json::parse(text, is_sequence, MAX_JSON_DEPTH).map_err(|error| {
        diagnostic(label, text, error.offset..error.offset, format!("not JSON: {}", error.message), None)
    })?;
    let json::JsonTree { value, spans, duplicates, too_deep } = tree;
    Ok(Document { label, text, value, spans, duplicates, too_deep, places: Places::default() })
}

/// The deepest allowed nesting, with aliases followed. A scenario with a complex input schema needs about fifteen
/// levels. Nodes are read recursively: an unoptimized build needs about 50 KiB of stack per level, and a thread has 2
/// MiB.
const MAX_DEPTH: usize = 24;
/// The bytes that the pointers of all values may have. A long key is in the pointer of everything below it.
const MAX_POINTER_BYTES: usize = 256 << 20;
/// The deepest allowed nesting in JSON, which is read without recursion. Schemas are compiled, compared and stored with
/// recursion.
const MAX_JSON_DEPTH: usize = 100;

fn parse_options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        // As in YAML 1.2, `no` and `on` are strings.
        strict_booleans: true,
        // All duplicates are reported, not only the first.
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        with_snippet: false,
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH, flow_nesting_limit: MAX_DEPTH },
        // Far more than any scenario needs, and far less than nested aliases ("billion laughs") produce.
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 100_000 },
    }
}

fn syntax_message(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;
    use serde_saphyr::budget::BudgetBreach;
    let mut error = error.without_snippet();
    // Report the error inside an alias itself.
    while let Error::AliasError { error: inner, .. } = error {
        error = inner.without_snippet();
    }
    match error {
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => return too_deep_message(MAX_DEPTH),
        Error::Budget { .. } => return "the file is too large for a scenario".to_owned(),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. } => return "the aliases (`*name`) unfold to too much".to_owned(),
        Error::RecursiveReferencesRequireWeakTypes { .. } => return "an anchor that contains itself".to_owned(),
        _ => {}
    }
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    // The diagnostic already has the position.
    let line = line.split(" at line ").next().unwrap_or(line);
    let line = line.strip_prefix("error: ").unwrap_or(line);
    if line.contains("multiple YAML documents") {
        return "a scenario file holds one YAML document, and this one holds more".to_owned();
    }
    // The scanner's own limit, which nested brackets reach before the budget's.
    if line.contains("recursion limit exceeded") {
        return too_deep_message(MAX_DEPTH);
    }
    line.trim_end_matches([':', ' ', ',']).to_owned()
}

fn too_deep_message(levels: usize) -> String {
    format!("nested more than {levels} levels deep")
}

fn syntax_help(text: &str, location: &Location, message: &str) -> Option<String> {
    let line = usize::try_from(location.line()).ok().and_then(|line| text.lines().nth(line.checked_sub(1)?));
    let indented_by_tab = |line: &str| line[..line.len() - line.trim_start().len()].contains('\t');
    // The scanner reports a tab only at the end of the token it was reading.
    (message.contains(" tab") || line.is_some_and(indented_by_tab))
        .then(|| "YAML is indented with spaces, never with tabs".to_owned())
}

/// A node of the file, as deserialized by serde-saphyr.
enum Node {
    Scalar(Value),
    List(Vec<Spanned<Node>>),
    Map(Vec<(Spanned<String>, Spanned<Node>)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON can hold")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Node, E> {
        Ok(Node::Scalar((value as f64).into()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Node, E> {
        Ok(Node::Scalar((value as f64).into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }
}

/// The positions of everything in a text.
struct Positions<'t> {
    text: &'t str,
    spans: BTreeMap<String, EntrySpan>,
    duplicates: DuplicateKeys,
    pointer_bytes: usize,
}

impl Positions<'_> {
    /// Returns true once the limit on pointers is exceeded.
    fn is_too_large(&self) -> bool {
        self.pointer_bytes > MAX_POINTER_BYTES
    }

    /// Converts a node to its value and records the positions in it, up to the limit on pointers.
    fn value_of(&mut self, node: Spanned<Node>, pointer: String, key: Option<Range<usize>>) -> Value {
        self.pointer_bytes += pointer.len();
        let is_scalar = matches!(node.value, Node::Scalar(_));
        let span = byte_range(self.text, &node.referenced);
        let value = match node.value {
            Node::Scalar(value) => value,
            Node::List(items) => {
                let mut values = Vec::new();
                for (index, item) in items.into_iter().enumerate() {
                    if self.is_too_large() {
                        break;
                    }
                    values.push(self.value_of(item, child(&pointer, index), None));
                }
                Value::Array(values)
            }
            Node::Map(entries) => {
                let mut map = Object::new();
                for (key, item) in entries {
                    if self.is_too_large() {
                        break;
                    }
                    let key_span = byte_range(self.text, &key.referenced);
                    let inner = child(&pointer, &key.value);
                    if map.contains_key(&key.value) {
                        let duplicate = DuplicateKey { key: key.value, span: key_span };
                        self.duplicates.entry(inner).or_default().push(duplicate);
                        continue;
                    }
                    let item = self.value_of(item, inner, Some(key_span));
                    map.insert(key.value, item);
                }
                Value::Object(map)
            }
        };
        self.spans.insert(pointer, EntrySpan { key, value: span, is_scalar });
        value
    }
}

/// Returns the byte range of a location in `text`.
fn byte_range(text: &str, location: &Location) -> Range<usize> {
    let span = location.span();
    let known = |n: Option<u64>| n.and_then(|n| usize::try_from(n).ok());
    let start = known(span.byte_offset()).unwrap_or_else(|| {
        let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let line_start = byte_offset(text, number(location.line()), 1);
        let column = number(location.column()).saturating_sub(1);
        text[line_start..].char_indices().nth(column).map_or(text.len(), |(byte, _)| line_start + byte)
    });
    let start = floor_char(text, start);
    start..floor_char(text, start.saturating_add(known(span.byte_len()).unwrap_or(0)))
}

/// Creates a diagnostic for a byte range of `text`.
pub(crate) fn diagnostic(
    label: &str,
    text: &str,
    span: Range<usize>,
    message: String,
    help: Option<String>,
) -> Diagnostic {
    let before = &text[..span.start];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let marked_text = text[span].lines().next().unwrap_or_default().trim_end();
    Diagnostic {
        file: label.to_owned(),
        line: before.matches('\n').count() + 1,
        column: text[line_start..before.len()].chars().count() + 1,
        length: marked_text.chars().count().max(1),
        message: start_of(message),
        help: help.map(start_of),
    }
}

/// The longest message of a diagnostic in bytes. It may quote any part of a file.
const MAX_MESSAGE: usize = 4000;

fn start_of(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        message.push('…');
    }
    message
}

/// Returns the syntax of files with this extension.
pub(crate) fn syntax_of(extension: &str) -> Option<Syntax> {
    match extension.to_lowercase().as_str() {
        "yaml" | "yml" => Some(Syntax::Yaml),
        "json" => Some(Syntax::Json),
        _ => None,
    }
}
