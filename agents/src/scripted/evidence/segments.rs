//! Splits a text into segments, each with the field that it is about.
//!
//! Elements, JSON objects, and lines with deeper lines under them are scopes: what stands inside is about the field that the scope
//! names, unless it names its own.

use std::borrow::Cow;

use serde_json::Value;

use super::cues::{Cue, cues_at};
use super::reader::Reader;
use super::shape;
use super::tokens::lex;
use super::vocabulary::Vocabulary;

/// A piece of text with its surroundings.
pub(super) struct Segment<'t> {
    /// The field that it is about.
    pub(super) subject: Option<&'t Subject>,
    /// The name of the element or JSON key that holds it, or empty.
    pub(super) label: &'t str,
    /// The label around the label.
    pub(super) outer: &'t str,
    /// The text, unescaped.
    pub(super) text: &'t str,
    /// Whether it is the value of an attribute, and so names a thing rather than advises it.
    pub(super) attribute: bool,
}

/// The name that a scope gives.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    /// A field's path, or the name as written if it is no known field's.
    pub(super) name: String,
    pub(super) known: bool,
}

struct Scope {
    level: Level,
    label: String,
    subject: Option<Subject>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// An element or a JSON value: closed by its end.
    Block,
    /// A line: closed by the next line that is not indented deeper.
    Line(usize),
}

/// Attributes and JSON keys whose value names the field that their element or object is about.
const NAMING: [&str; 14] = [
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

/// Keys and elements that hold prose or names even where a tool has an argument of the same name.
const GENERIC: [&str; 16] = [
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

/// A text that opens this many things which do not parse as JSON is not worth more attempts; it keeps reading linear.
const MOST_FAILED_PARSES: usize = 16;

/// Elements nested deeper than this are read as part of the one around them; it keeps reading linear.
const MOST_SCOPES: usize = 100;

/// JSON texts inside of JSON texts are followed this deep.
const DEEPEST: usize = 32;

/// Reads all segments of `text`.
pub(super) fn walk(text: &str, reader: &mut Reader<'_>) {
    let mut walker = Walker { scopes: Vec::new(), reader, failed_parses: 0, depth: 0 };
    walker.text(text);
}

struct Walker<'r, 'v> {
    scopes: Vec<Scope>,
    reader: &'r mut Reader<'v>,
    failed_parses: usize,
    depth: usize,
}

impl<'v> Walker<'_, 'v> {
    fn vocabulary(&self) -> &'v Vocabulary<'v> {
        self.reader.vocabulary
    }

    fn text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let base = self.scopes.len();
        let (mut at, mut start, mut indent) = (0, 0, 0);
        // What stands before a JSON object says whether it is an example.
        let mut before = "";
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\n' => {
                    self.chunk(&text[start..at], indent, base, &mut before);
                    indent = bytes[at + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                    at += 1 + indent;
                    start = at;
                }
                b'<' => match tag_at(&text[at..]) {
                    // `'<br/>'` is a value that looks like a tag.
                    Some(tag) if is_quoted(bytes, at, tag.length) => at += tag.length,
                    Some(tag) => {
                        self.chunk(&text[start..at], indent, base, &mut before);
                        at += tag.length;
                        start = at;
                        self.tag(tag, base);
                    }
                    None => at += 1,
                },
                b'{' | b'[' => {
                    let rest = &text[at..];
                    let json = self.json_at(rest);
                    let written = if json.is_none() && *byte == b'{' { shape::shape_at(rest) } else { None };
                    let length = json.as_ref().map(|json| json.1).or(written.as_ref().map(|written| written.1));
                    let Some(length) = length else {
                        at += 1;
                        continue;
                    };
                    let chunk = &text[start..at];
                    self.chunk(chunk, indent, base, &mut before);
                    let label = self.label().to_owned();
                    if let Some((value, _)) = json {
                        if is_example(before) || is_example(&label) {
                            self.reader.example(&value);
                        } else {
                            self.json(&value, "");
                        }
                    } else if let Some((fields, _)) = written {
                        // On one line the words before the shape say which it is, else the label around it.
                        let words = if chunk.trim().is_empty() { label.as_str() } else { chunk };
                        self.reader.shape(fields, words);
                    }
                    at += length;
                    start = at;
                }
                _ => at += 1,
            }
        }
        self.chunk(&text[start..], indent, base, &mut before);
        self.scopes.truncate(base);
    }

    /// A JSON object, or a list of objects, at the start of `rest`, and its length. Other JSON values are left to prose: a list of
    /// strings in a sentence belongs to the sentence.
    fn json_at(&mut self, rest: &str) -> Option<(Value, usize)> {
        let inner = rest[1..].trim_start();
        let plausible = match rest.as_bytes()[0] {
            b'{' => inner.starts_with(['"', '}']),
            _ => inner.starts_with('{'),
        };
        if !plausible || self.failed_parses >= MOST_FAILED_PARSES {
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

    fn tag(&mut self, tag: Tag<'_>, base: usize) {
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
        for (_, value) in attributes.iter().filter(|(key, _)| NAMING.contains(key)) {
            let found = named(self.vocabulary(), value);
            if subject.as_ref().is_none_or(|subject| !subject.known && found.known) {
                subject = Some(found);
            }
        }
        if self.scopes.len() >= MOST_SCOPES {
            return;
        }
        if subject.is_none() && !GENERIC.contains(&tag.name) {
            subject = self.vocabulary().path(tag.name).map(|name| Subject { name, known: true });
        }
        self.scopes.push(Scope { level: Level::Block, label: tag.name.to_owned(), subject });
        for (key, value) in &attributes {
            self.segment(value, key, true);
        }
        if tag.empty {
            self.scopes.pop();
        }
    }

    /// A line, or the part of it before or after a tag.
    fn chunk<'t>(&mut self, raw: &'t str, indent: usize, base: usize, before: &mut &'t str) {
        let chunk = raw.trim();
        if chunk.is_empty() || chunk.starts_with("```") {
            return;
        }
        *before = chunk;
        while self.scopes.len() > base
            && self.scopes.last().is_some_and(|scope| matches!(scope.level, Level::Line(open) if open >= indent))
        {
            self.scopes.pop();
        }
        let unescaped = unescape(chunk);
        let body = past_bullet(&unescaped);
        let bullet = |c: char| matches!(c, '-' | '*' | '+' | '•') || c.is_ascii_digit();
        if body.len() == unescaped.len() || !unescaped.starts_with(bullet) {
            self.reader.opens_list(body);
        } else if self.reader.list_item(body) {
            return;
        }
        let head = head(body);
        let mut text = body;
        let subject = head.as_ref().and_then(|head| {
            // `field: role` names `role`, even where a tool has an argument that is called `field`.
            let told = NAMING.contains(&head.name).then(|| self.vocabulary().path(head.rest)).flatten();
            let name = told.or_else(|| self.vocabulary().path(head.name));
            if name.is_some() {
                text = head.rest;
            }
            let known = name.is_some();
            (known || head.marked).then(|| Subject { name: name.unwrap_or_else(|| head.name.to_owned()), known })
        });
        if let (Some(subject), Some(head)) = (&subject, &head)
            && subject.known
        {
            self.reader.heading(&subject.name, head.rest);
        }
        // A line of its own inside of an element keeps the element's field, unless it names a known one.
        self.scopes.push(Scope { level: Level::Line(indent), label: String::new(), subject });
        self.segment(text, "", false);
    }

    /// Hands a segment over, about the nearest known field around it, or else the nearest name.
    fn segment(&mut self, text: &str, label: &str, attribute: bool) {
        let subjects = || self.scopes.iter().rev().filter_map(|scope| scope.subject.as_ref());
        let subject = subjects().find(|subject| subject.known).or_else(|| subjects().next());
        let mut labels = self.scopes.iter().rev().filter(|scope| scope.level == Level::Block).map(|s| s.label.as_str());
        let label = if label.is_empty() { labels.next().unwrap_or_default() } else { label };
        let outer = labels.next().unwrap_or_default();
        self.reader.segment(&Segment { subject, label, outer, text, attribute });
    }

    fn json(&mut self, value: &Value, label: &str) {
        if self.depth >= DEEPEST {
            return;
        }
        self.depth += 1;
        match value {
            Value::Object(object) => {
                let paths = NAMING.iter().filter_map(|key| object.get(*key)).filter_map(joined);
                let subjects: Vec<Subject> = paths.map(|raw| named(self.vocabulary(), &raw)).collect();
                let subject = subjects.iter().find(|subject| subject.known).or(subjects.first()).cloned();
                let subject = match subject {
                    Some(subject) if subject.known => Some(subject),
                    other => self.label_subject(label).or(other),
                };
                self.scopes.push(Scope { level: Level::Block, label: label.to_owned(), subject });
                for (key, item) in object {
                    if NAMING.contains(&key.as_str()) && (joined(item).is_some() || item.is_array()) {
                        // Not evidence, but a contract's delta says here which action it is about.
                        if let Value::String(text) = item {
                            self.segment(text, key, true);
                        }
                    } else if is_example(key) {
                        self.reader.example(item);
                    } else {
                        self.json(item, key);
                    }
                }
                self.scopes.pop();
            }
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                for item in items {
                    self.json(item, label);
                }
            }
            Value::Array(items) => {
                let prose = items.iter().filter_map(Value::as_str).any(|item| item.contains(' '));
                if prose && !names_values(label) {
                    for item in items {
                        self.json(item, label);
                    }
                } else {
                    let shown: Vec<String> = items.iter().map(shown).collect();
                    self.leaf(&shown.join(", "), label);
                }
            }
            Value::String(text) if text.contains([' ', '\n', '<', '{']) => {
                let subject = self.label_subject(label);
                self.scopes.push(Scope { level: Level::Block, label: label.to_owned(), subject });
                self.text(text);
                self.scopes.pop();
            }
            Value::String(text) => self.leaf(text, label),
            other => self.leaf(&other.to_string(), label),
        }
        self.depth -= 1;
    }

    fn leaf(&mut self, text: &str, label: &str) {
        let subject = self.label_subject(label);
        if let Some(subject) = &subject {
            self.reader.heading(&subject.name, text);
        }
        self.scopes.push(Scope { level: Level::Block, label: label.to_owned(), subject });
        self.segment(text, "", false);
        self.scopes.pop();
    }

    fn label_subject(&self, label: &str) -> Option<Subject> {
        if GENERIC.contains(&label) {
            return None;
        }
        self.vocabulary().path(label).map(|name| Subject { name, known: true })
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}

/// The path that a JSON value spells: `"role"` or `["lines", 0, "qty"]`.
fn joined(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) if !parts.is_empty() => {
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

fn named(vocabulary: &Vocabulary<'_>, raw: &str) -> Subject {
    match vocabulary.path(raw) {
        Some(name) => Subject { name, known: true },
        None => Subject { name: raw.to_owned(), known: false },
    }
}

/// Whether a JSON key holds values, whatever they look like: `options`, `allowed_values`.
fn names_values(label: &str) -> bool {
    let words = label.replace('_', " ");
    let mut tokens = Vec::new();
    lex(&words, &mut tokens);
    !tokens.is_empty() && cues_at(&tokens, 0).any(|(cue, words)| cue == Cue::Options && words == tokens.len())
}

fn is_example(words: &str) -> bool {
    let found = |needle: &[u8]| words.as_bytes().windows(needle.len()).any(|part| part.eq_ignore_ascii_case(needle));
    words.len() < 120 && (found(b"example") || found(b"e.g.") || found(b"for instance") || found(b"valid request"))
}

struct Tag<'t> {
    name: &'t str,
    attributes: &'t str,
    closing: bool,
    empty: bool,
    length: usize,
}

/// Whether the same quotation mark stands right before and right after.
fn is_quoted(bytes: &[u8], at: usize, length: usize) -> bool {
    let before = at.checked_sub(1).map(|before| bytes[before]);
    before.is_some_and(|quote| matches!(quote, b'\'' | b'"' | b'`') && bytes.get(at + length) == Some(&quote))
}

/// A tag of XML at the start of `text`: `a < b` is none.
fn tag_at(text: &str) -> Option<Tag<'_>> {
    let closing = text[1..].starts_with('/');
    let start = 1 + usize::from(closing);
    let name_length = text[start..].find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')))?;
    let name = &text[start..start + name_length];
    if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return None;
    }
    let rest = &text[start + name_length..];
    let mut quote = None;
    // The limit keeps reading linear where many `<` are never closed.
    let end = rest.char_indices().take(2000).find_map(|(index, c)| match (quote, c) {
        (Some(open), _) => {
            if c == open {
                quote = None;
            }
            None
        }
        (None, '"' | '\'') => {
            quote = Some(c);
            None
        }
        (None, '>') => Some(Some(index)),
        (None, '<') => Some(None),
        _ => None,
    })??;
    let inner = &rest[..end];
    let attributes = inner.trim_end_matches('/');
    Some(Tag { name, attributes, closing, empty: inner.ends_with('/'), length: start + name_length + end + 1 })
}

fn attributes(text: &str) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (key, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, next) = after[1..].split_once(quote)?;
        rest = next;
        Some((key.trim(), unescape(value)))
    })
}

/// Resolves XML's entities; anything else that begins with `&` stays.
fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(10).position(|byte| byte == b';');
        let resolved = end.and_then(|end| Some((entity(&rest[1..end])?, end + 1)));
        let (c, length) = resolved.unwrap_or(('&', 1));
        out.push(c);
        rest = &rest[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The character that a named or numbered entity stands for.
pub(super) fn entity(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

/// The line without bullets, numbering, heading marks and pictures in front.
fn past_bullet(line: &str) -> &str {
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

struct Head<'t> {
    name: &'t str,
    rest: &'t str,
    /// Set off by more than a colon, so that it may be a name which the reader does not know.
    marked: bool,
}

/// The name at the head of a line: `**role**: …`, `role — …`, `role: …`, `"role": …`, or a name alone.
fn head(line: &str) -> Option<Head<'_>> {
    let bold = line.strip_prefix("**").and_then(|rest| rest.split_once("**"));
    let (name, rest, wrapped) = if let Some((name, rest)) = bold {
        (name.trim_end_matches(':').trim_matches('`'), rest, true)
    } else if let Some(quote) = line.chars().next().filter(|c| matches!(c, '`' | '"' | '\'')) {
        let (name, rest) = line[1..].split_once(quote)?;
        (name, rest, false)
    } else {
        let end =
            line.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '[' | ']' | '/' | '$' | '#')));
        let (name, rest) = line.split_at(end.unwrap_or(line.len()));
        (name, rest, false)
    };
    if name.is_empty() || name.contains(char::is_whitespace) {
        return None;
    }
    let after = rest.trim_start();
    let dash = after.starts_with(['—', '–']) || after.starts_with("- ");
    let separated = after.is_empty() || dash || after.starts_with([':', '=', '(']) || after.starts_with("->");
    if !wrapped && !separated {
        return None;
    }
    let rest =
        if after.starts_with('(') { after } else { after.trim_start_matches([':', '=', '—', '–', '-', '>']) };
    Some(Head { name, rest: rest.trim_start(), marked: wrapped || dash || after.is_empty() })
}
