//! Parsing of files to JSON values with the position of every key and value.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use healbench_protocol::Object;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Location, Spanned};

use crate::Diagnostic;

/// The syntax of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// YAML 1.2.
    Yaml,
    /// JSON.
    Json,
}

/// A parsed file.
pub(crate) struct Document<'a> {
    label: &'a str,
    text: &'a str,
    pub(crate) value: Value,
    spans: BTreeMap<String, EntrySpan>,
    duplicates: Vec<(String, Range<usize>)>,
}

/// The position of an entry in bytes.
struct EntrySpan {
    key: Option<Range<usize>>,
    value: Range<usize>,
    is_scalar: bool,
}

impl Document<'_> {
    /// Creates a diagnostic at the value behind a JSON pointer. For a list or mapping it marks the key instead, which
    /// is clearer than the first character. If the pointer refers to nothing, the nearest enclosing value is marked.
    pub(crate) fn at_value(&self, pointer: &str, message: impl Into<String>, help: Option<String>) -> Diagnostic {
        let span = self.nearest_entry(pointer).map_or(0..0, |entry| match &entry.key {
            Some(key) if !entry.is_scalar => key.clone(),
            _ => entry.value.clone(),
        });
        diagnostic(self.label, self.text, span, message.into(), help)
    }

    /// Creates a diagnostic at the key of the entry behind a JSON pointer.
    pub(crate) fn at_key(&self, pointer: &str, message: impl Into<String>, help: Option<String>) -> Diagnostic {
        let span =
            self.nearest_entry(pointer).map_or(0..0, |entry| entry.key.clone().unwrap_or_else(|| entry.value.clone()));
        diagnostic(self.label, self.text, span, message.into(), help)
    }

    /// Returns a diagnostic for every key that occurs twice in its mapping.
    pub(crate) fn duplicate_keys(&self) -> impl Iterator<Item = Diagnostic> {
        self.duplicates.iter().map(|(key, span)| {
            let help = "a key may stand once in its mapping; remove one of them".to_owned();
            diagnostic(self.label, self.text, span.clone(), format!("duplicate key `{key}`"), Some(help))
        })
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

/// Appends a token to a JSON pointer.
pub(crate) fn child(pointer: &str, token: impl fmt::Display) -> String {
    format!("{pointer}/{}", token.to_string().replace('~', "~0").replace('/', "~1"))
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
        // YAML is nearly a superset of JSON, so check that a `.json` file is valid JSON first.
        if let Err(error) = serde_json::from_str::<de::IgnoredAny>(text) {
            let at = byte_offset(text, error.line(), error.column());
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            return Err(diagnostic(label, text, at..at, format!("not JSON: {message}"), None));
        }
    }
    let node: Spanned<Node> = serde_saphyr::from_str_with_options(text, parse_options()).map_err(|error| {
        let location = error.location().unwrap_or(Location::UNKNOWN);
        let message = syntax_message(&error);
        let help = syntax_help(text, &location, &message);
        diagnostic(label, text, byte_range(text, &location), message, help)
    })?;
    let mut document = Document { label, text, value: Value::Null, spans: BTreeMap::new(), duplicates: Vec::new() };
    document.value = to_value(node, String::new(), None, text, &mut document.spans, &mut document.duplicates);
    Ok(document)
}

/// The deepest allowed nesting, with aliases followed. A scenario with a complex input schema needs about fifteen
/// levels. Nodes are read recursively: an unoptimized build needs about 50 KiB of stack per level, and a thread has 2
/// MiB.
const MAX_DEPTH: usize = 24;

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
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => return too_deep_message(),
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
        return too_deep_message();
    }
    line.trim_end_matches([':', ' ', ',']).to_owned()
}

fn too_deep_message() -> String {
    format!("nested more than {MAX_DEPTH} levels deep")
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

/// Converts a node to its value and records the positions of everything in it.
fn to_value(
    node: Spanned<Node>,
    pointer: String,
    key: Option<Range<usize>>,
    text: &str,
    spans: &mut BTreeMap<String, EntrySpan>,
    duplicates: &mut Vec<(String, Range<usize>)>,
) -> Value {
    let is_scalar = matches!(node.value, Node::Scalar(_));
    let span = byte_range(text, &node.referenced);
    let value = match node.value {
        Node::Scalar(value) => value,
        Node::List(items) => {
            let item = |(index, item)| to_value(item, child(&pointer, index), None, text, spans, duplicates);
            items.into_iter().enumerate().map(item).collect()
        }
        Node::Map(entries) => {
            let mut map = Object::new();
            for (key, item) in entries {
                let key_span = byte_range(text, &key.referenced);
                if map.contains_key(&key.value) {
                    duplicates.push((key.value, key_span));
                    continue;
                }
                let inner = child(&pointer, &key.value);
                let item = to_value(item, inner, Some(key_span), text, spans, duplicates);
                map.insert(key.value, item);
            }
            Value::Object(map)
        }
    };
    spans.insert(pointer, EntrySpan { key, value: span, is_scalar });
    value
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

fn floor_char(text: &str, byte: usize) -> usize {
    text.floor_char_boundary(byte.min(text.len()))
}

/// Returns the byte offset of a line and a column in bytes, both from 1.
fn byte_offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    floor_char(text, start.saturating_add(column.saturating_sub(1)))
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
        message,
        help,
    }
}

/// Returns the syntax of files with this extension.
pub(crate) fn syntax_of(extension: &str) -> Option<Syntax> {
    match extension.to_lowercase().as_str() {
        "yaml" | "yml" => Some(Syntax::Yaml),
        "json" => Some(Syntax::Json),
        _ => None,
    }
}
