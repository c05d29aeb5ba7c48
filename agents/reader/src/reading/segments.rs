//! Splits a text into segments, each with the field that it is about.
//!
//! Elements, JSON objects, and lines with more deeply indented lines below them are scopes. Text in a scope is about
//! the field that the scope names, unless the text names another one.

use std::borrow::Cow;

use serde_json::Value;

use super::layout::{parse_line_heading, unfold, without_details};
use super::markup::{Tag, attributes, is_placeholder, is_quoted, tag_at, unescape};
use super::phrases::{Meaning, PhraseTable};
use super::segment::{Segment, Subject};
use super::sent_paths::path_of_name;
use super::statement_reader::StatementReader;
use super::tokens::lex;
use super::vocabulary::Vocabulary;
use super::{Fault, shape};

struct Scope {
    level: Level,
    label: String,
    subject: Option<Subject>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// An element or a JSON value, closed by its end.
    Block,
    /// A line with this indentation, closed by the next line that is not indented more deeply.
    Line(usize),
}

/// Attributes and JSON keys whose value names the field that their element or object is about.
const FIELD_KEYS: [&str; 14] = [
    "path",
    "field",
    "loc",
    "pointer",
    "instancePath",
    "instance_path",
    "param",
    "parameter",
    "property",
    "argument",
    "attribute",
    "name",
    "key",
    "for",
];

/// Keys and elements that usually contain prose or names. They do not name a field, even if a tool has an argument of
/// the same name.
const GENERIC_KEYS: [&str; 16] = [
    "message",
    "error",
    "errors",
    "action",
    "tool",
    "field",
    "name",
    "code",
    "type",
    "msg",
    "detail",
    "details",
    "recovery",
    "path",
    "title",
    "description",
];

/// The maximum number of failed attempts to parse JSON in one text. It keeps the time linear.
const MAX_FAILED_PARSES: usize = 16;

/// The maximum nesting of elements; deeper ones are read as part of their parent. It keeps the time linear.
const MAX_SCOPES: usize = 100;

/// The maximum nesting of JSON values, including JSON in strings.
const MAX_JSON_DEPTH: usize = 32;

/// Reads all segments of `text`.
pub(super) fn walk(text: &str, reader: &mut StatementReader<'_>) {
    let mut walker = Walker { scopes: Vec::new(), reader, failed_parses: 0, depth: 0 };
    walker.read_text(text);
}

struct Walker<'r, 'v> {
    scopes: Vec<Scope>,
    reader: &'r mut StatementReader<'v>,
    failed_parses: usize,
    depth: usize,
}

impl<'v> Walker<'_, 'v> {
    fn vocabulary(&self) -> &'v Vocabulary<'v> {
        self.reader.vocabulary
    }

    fn read_text(&mut self, text: &str) {
        let text: &str = &unfold(text);
        let bytes = text.as_bytes();
        let base = self.scopes.len();
        let (mut at, mut start, mut indent) = (0, 0, 0);
        // The text before a JSON object says whether the object is an example.
        let mut before = "";
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\n' => {
                    self.read_chunk(&text[start..at], indent, base, &mut before);
                    indent = bytes[at + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                    at += 1 + indent;
                    start = at;
                }
                b'<' => match tag_at(&text[at..]) {
                    // `'<br/>'` is a value that looks like a tag.
                    Some(tag) if is_quoted(bytes, at, tag.length) || is_placeholder(text, at, &tag) => at += tag.length,
                    Some(tag) => {
                        self.read_chunk(&text[start..at], indent, base, &mut before);
                        at += tag.length;
                        start = at;
                        self.read_tag(tag, base);
                    }
                    None => at += 1,
                },
                b'{' | b'[' => {
                    let rest = &text[at..];
                    // "it fits none of { … } | { … }" says that, and nothing about the members of the forms.
                    if let Some(forms) = shape::forms_length(&text[start..at], rest) {
                        self.read_chunk(&text[start..at], indent, base, &mut before);
                        (start, at) = (at + forms, at + forms);
                        continue;
                    }
                    let json = self.json_at(rest);
                    let shape = if json.is_none() && *byte == b'{' { shape::shape_at(rest) } else { None };
                    let length = json.as_ref().map(|json| json.1).or(shape.as_ref().map(|shape| shape.1));
                    let Some(length) = length else {
                        at += 1;
                        continue;
                    };
                    let chunk = &text[start..at];
                    self.read_chunk(chunk, indent, base, &mut before);
                    let label = self.label().to_owned();
                    if let Some((value, _)) = json {
                        if is_example(before) || is_example(&label) {
                            self.reader.read_example(&value);
                        } else {
                            self.read_json(&value, "");
                        }
                    } else if let Some((fields, _)) = shape {
                        // The words before the shape on its line, or else the label around it, say whether it is the
                        // previous or the current one.
                        let words = if chunk.trim().is_empty() { label.as_str() } else { chunk };
                        self.reader.read_shape(fields, words);
                    }
                    at += length;
                    start = at;
                }
                _ => at += 1,
            }
        }
        self.read_chunk(&text[start..], indent, base, &mut before);
        self.scopes.truncate(base);
    }

    /// Returns the JSON object, or list of objects, at the start of `rest` and its length. Other JSON values are read
    /// as prose: a list of strings in a sentence belongs to the sentence.
    fn json_at(&mut self, rest: &str) -> Option<(Value, usize)> {
        let inner = rest[1..].trim_start();
        let plausible = match rest.as_bytes()[0] {
            b'{' => inner.starts_with(['"', '}']),
            _ => inner.starts_with('{'),
        };
        if !plausible || self.failed_parses >= MAX_FAILED_PARSES {
            return None;
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => Some((value, values.byte_offset())),
            _ => {
                self.failed_parses += 1;
                None
            }
        }
    }

    fn label(&self) -> &str {
        self.scopes.iter().rev().find(|scope| scope.level == Level::Block).map_or("", |scope| &scope.label)
    }

    fn read_tag(&mut self, tag: Tag<'_>, base: usize) {
        if tag.closing {
            let open =
                self.scopes[base..].iter().rposition(|scope| scope.level == Level::Block && scope.label == tag.name);
            if let Some(open) = open {
                self.scopes.truncate(base + open);
            }
            return;
        }
        let attributes: Vec<(&str, Cow<'_, str>)> = attributes(tag.attributes).collect();
        let mut subject: Option<Subject> = None;
        for (_, value) in attributes.iter().filter(|(key, _)| FIELD_KEYS.contains(key)) {
            let found = subject_named(self.vocabulary(), value);
            if subject.as_ref().is_none_or(|subject| !subject.known && found.known) {
                subject = Some(found);
            }
        }
        if self.scopes.len() >= MAX_SCOPES {
            return;
        }
        if subject.is_none() && !GENERIC_KEYS.contains(&tag.name) {
            subject = self.vocabulary().field_path(tag.name).map(|name| Subject { name, known: true });
        }
        self.scopes.push(Scope { level: Level::Block, label: tag.name.to_owned(), subject });
        for (key, value) in &attributes {
            self.emit_segment(value, key, true);
        }
        if tag.empty {
            self.scopes.pop();
        }
    }

    /// Reads a line, or the part of it before or after a tag.
    fn read_chunk<'t>(&mut self, raw: &'t str, indent: usize, base: usize, before: &mut &'t str) {
        let chunk = without_details(raw.trim());
        let unescaped = unescape(chunk);
        self.reader.note_prose(&unescaped);
        if chunk.is_empty() || chunk.starts_with("```") {
            return;
        }
        *before = chunk;
        while self.scopes.len() > base
            && self.scopes.last().is_some_and(|scope| matches!(scope.level, Level::Line(open) if open >= indent))
        {
            self.scopes.pop();
        }
        let body = strip_bullet(&unescaped);
        let bullet = |c: char| matches!(c, '-' | '*' | '+' | '•') || c.is_ascii_digit();
        if body.len() == unescaped.len() || !unescaped.starts_with(bullet) {
            self.reader.note_list_heading(body);
        } else if self.reader.read_list_item(body) {
            return;
        }
        let heading = parse_line_heading(body);
        let mut text = body;
        let subject = heading.as_ref().and_then(|heading| {
            // `field: role` names `role`, even where a tool has an argument that is called `field`.
            let named_field =
                FIELD_KEYS.contains(&heading.name).then(|| self.vocabulary().field_path(heading.rest)).flatten();
            let nested = || path_of_name(self.reader.sent, heading.name).filter(|_| heading.name.contains('.'));
            let name = named_field.or_else(|| self.vocabulary().field_path(heading.name)).or_else(nested);
            if name.is_some() {
                text = heading.rest;
            }
            let known = name.is_some();
            (known || heading.emphasized)
                .then(|| Subject { name: name.unwrap_or_else(|| heading.name.to_owned()), known })
        });
        if let (Some(subject), Some(heading)) = (&subject, &heading)
            && subject.known
        {
            self.reader.read_heading(&subject.name, heading.rest);
            // A line with the name of an argument before a colon says something about it.
            if heading.rest.split_whitespace().nth(2).is_some() {
                self.reader.note_fault(Some(subject.name.clone()), Fault::Invalid);
            }
        }
        // `Invalid email address at owner`: the line is about the field at its end.
        let subject = match text.rsplit_once(" at ") {
            Some((about, place)) if !subject.as_ref().is_some_and(|subject| subject.known) => {
                let name = self.vocabulary().field_path(place.trim_end_matches('.'));
                if name.is_some() {
                    text = about;
                }
                name.map(|name| Subject { name, known: true }).or(subject)
            }
            _ => subject,
        };
        // A line in an element is about the element's field unless it names a known one.
        self.scopes.push(Scope { level: Level::Line(indent), label: String::new(), subject });
        self.emit_segment(text, "", false);
    }

    /// Passes a segment to the reader. Its subject is the nearest known field around it, or else the nearest name.
    fn emit_segment(&mut self, text: &str, label: &str, attribute: bool) {
        let subjects = || self.scopes.iter().rev().filter_map(|scope| scope.subject.as_ref());
        let subject = subjects().find(|subject| subject.known).or_else(|| subjects().next());
        let mut labels = self.scopes.iter().rev().filter(|scope| scope.level == Level::Block).map(|s| s.label.as_str());
        let label = if label.is_empty() { labels.next().unwrap_or_default() } else { label };
        let outer_label = labels.next().unwrap_or_default();
        self.reader.read_segment(&Segment { subject, label, outer_label, text, attribute });
    }

    fn read_json(&mut self, value: &Value, label: &str) {
        if self.depth >= MAX_JSON_DEPTH {
            return;
        }
        self.depth += 1;
        match value {
            Value::Object(object) => {
                let paths = FIELD_KEYS.iter().filter_map(|key| object.get(*key)).filter_map(json_path);
                let mut subjects: Vec<Subject> = paths.map(|raw| subject_named(self.vocabulary(), &raw)).collect();
                // JSON:API's `source`, and keys whose value may also be another thing.
                let source = object.get("source").and_then(Value::as_object);
                let others = ["location", "target", "fieldName", "propertyPath", "dataPath"]
                    .iter()
                    .filter_map(|key| object.get(*key));
                let others = others.chain(source.into_iter().flat_map(|source| source.values())).filter_map(json_path);
                subjects
                    .extend(others.map(|raw| subject_named(self.vocabulary(), &raw)).filter(|subject| subject.known));
                let subject = subjects.iter().find(|subject| subject.known).or(subjects.first()).cloned();
                let subject = match subject {
                    Some(subject) if subject.known => Some(subject),
                    other => self.label_subject(label).or(other),
                };
                self.scopes.push(Scope { level: Level::Block, label: label.to_owned(), subject });
                for (key, item) in object {
                    let is_path = json_path(item).is_some() || item.is_array();
                    if FIELD_KEYS.contains(&key.as_str()) && is_path && !is_prose_list(item) {
                        // This yields no statement, but contract changes name their action here.
                        if let Value::String(text) = item {
                            self.emit_segment(text, key, true);
                        }
                    } else if is_example(key) {
                        self.reader.read_example(item);
                    } else {
                        self.read_json(item, key);
                    }
                }
                self.scopes.pop();
            }
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                for item in items {
                    self.read_json(item, label);
                }
            }
            Value::Array(items) => {
                let prose = is_prose_list(value);
                // `{"name": ["This field is required."]}`: a generic key that is the name of an argument here.
                let complains =
                    prose && !matches!(label, "message" | "error" | "errors" | "msg" | "detail" | "details");
                let named = self.vocabulary().field_path(label).filter(|_| complains);
                let scopes = self.scopes.len();
                if let Some(name) = named {
                    let subject = Some(Subject { name, known: true });
                    self.scopes.push(Scope { level: Level::Block, label: label.to_owned(), subject });
                }
                if prose && !is_options_key(self.reader.phrases, label) {
                    for item in items {
                        self.read_json(item, label);
                    }
                } else {
                    let quoted: Vec<String> = items.iter().map(quote_value).collect();
                    self.read_leaf(&quoted.join(", "), label);
                }
                self.scopes.truncate(scopes);
            }
            Value::String(text) if text.contains([' ', '\n', '<', '{']) => {
                let subject = self.label_subject(label);
                self.scopes.push(Scope { level: Level::Block, label: label.to_owned(), subject });
                self.read_text(text);
                self.scopes.pop();
            }
            // `"error": "channel_not_found"`
            Value::String(text) if label == "error" && text.contains('_') => {
                self.read_leaf(&text.replace('_', " "), label)
            }
            Value::String(text) => self.read_leaf(text, label),
            other => self.read_leaf(&other.to_string(), label),
        }
        self.depth -= 1;
    }

    fn read_leaf(&mut self, text: &str, label: &str) {
        let subject = self.label_subject(label);
        if let Some(subject) = &subject {
            self.reader.read_heading(&subject.name, text);
        }
        self.scopes.push(Scope { level: Level::Block, label: label.to_owned(), subject });
        self.emit_segment(text, "", false);
        self.scopes.pop();
    }

    fn label_subject(&self, label: &str) -> Option<Subject> {
        if GENERIC_KEYS.contains(&label) {
            return None;
        }
        self.vocabulary().field_path(label).map(|name| Subject { name, known: true })
    }
}

/// Returns true for a list with a sentence in it.
fn is_prose_list(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().filter_map(Value::as_str).any(|item| item.contains(' ')))
}

fn quote_value(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}

/// Returns the path in a JSON value: `"role"` or `["lines", 0, "qty"]`.
fn json_path(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) if !parts.is_empty() && !is_prose_list(value) => {
            let parts: Option<Vec<String>> = parts
                .iter()
                .map(|part| match part {
                    Value::String(text) => Some(text.clone()),
                    Value::Number(index) => Some(index.to_string()),
                    _ => None,
                })
                .collect();
            parts.map(|parts| parts.join("."))
        }
        _ => None,
    }
}

fn subject_named(vocabulary: &Vocabulary<'_>, raw: &str) -> Subject {
    match vocabulary.field_path(raw) {
        Some(name) => Subject { name, known: true },
        None => Subject { name: raw.to_owned(), known: false },
    }
}

/// Returns true if a JSON key introduces valid values: `options`, `allowed_values`.
fn is_options_key(phrases: &PhraseTable, label: &str) -> bool {
    let words = label.replace('_', " ");
    let mut tokens = Vec::new();
    lex(&words, &mut tokens);
    phrases.is_phrase(&tokens, Meaning::Options)
}

fn is_example(words: &str) -> bool {
    let found = |needle: &[u8]| words.as_bytes().windows(needle.len()).any(|part| part.eq_ignore_ascii_case(needle));
    words.len() < 120 && (found(b"example") || found(b"e.g.") || found(b"for instance") || found(b"valid request"))
}

/// Removes leading bullets, numbering, heading marks and emoji.
fn strip_bullet(line: &str) -> &str {
    let mut rest = line;
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let next = if digits > 0 {
            let after = rest[digits..].strip_prefix(['.', ')']);
            after.filter(|after| after.starts_with(' '))
        } else if let Some(after) = rest.strip_prefix(['-', '*', '+']) {
            after.starts_with(' ').then_some(after)
        } else {
            let picture = |c: char| {
                matches!(c, '#' | '|' | ' ') || (!c.is_ascii() && !c.is_alphanumeric() && !"“‘≥≤".contains(c))
            };
            rest.strip_prefix(picture)
        };
        match next {
            Some(next) => rest = next,
            None => return rest,
        }
    }
}
