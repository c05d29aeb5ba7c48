//! Conversations in JSON: a document, the entries of an array, or lines.

use serde_json::{Map, Value};

use crate::error::Stop;
use crate::log::{Bytes, LogText};
use crate::problem::{Position, ProblemKind};
use crate::repair;
use crate::sink::Sink;
use crate::split::{self, End, Scanner};

/// The largest conversation, in bytes of the log.
pub(crate) const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Properties of the documents of a source.
pub(crate) struct Form {
    /// Fields of a document that hold conversations.
    pub(crate) lists: &'static [&'static str],
    /// Fields of which one makes an entry a conversation.
    pub(crate) marks: &'static [&'static str],
    /// Fields of a document that say something of all of its conversations.
    pub(crate) shared: &'static [&'static str],
    /// Adds the conversation in an entry. The fields of its document that stand before it come with it.
    pub(crate) add: fn(Entry, &mut Sink<'_>) -> Result<(), Stop>,
}

/// A conversation as JSON.
pub(crate) struct Entry<'a> {
    pub(crate) value: Value,
    pub(crate) position: Position,
    /// The other fields of the document.
    pub(crate) document: &'a Map<String, Value>,
}

/// Reads all conversations of a log.
pub(crate) fn read(log: LogText<'_>, form: &Form, sink: &mut Sink<'_>) -> Result<(), Stop> {
    if log.is_lines { read_lines(log.bytes, form, sink) } else { read_documents(log.bytes, form, sink) }
}

fn read_lines(mut bytes: Bytes<'_>, form: &Form, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let (mut line, mut number) = (Vec::new(), 0);
    let document = Map::new();
    while let Some(end) = split::read_line(&mut bytes, &mut line, MAX_BYTES)? {
        number += 1;
        if end == End::TooLong {
            sink.problem(ProblemKind::TooLong, Position::Line(number), "")?;
        } else if !line.trim_ascii().is_empty() {
            add(&line, end, Position::Line(number), &document, form, sink)?;
        }
    }
    Ok(())
}

fn read_documents(bytes: Bytes<'_>, form: &Form, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut scanner = Scanner::new(bytes, MAX_BYTES);
    while let Some(byte) = scanner.peek()? {
        match byte {
            b'[' => read_array(&mut scanner, &Map::new(), form, sink)?,
            b'{' => read_object(&mut scanner, form, sink)?,
            _ => {
                sink.problem(ProblemKind::Broken, Position::File, "it is no JSON")?;
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Reads an array of conversations, or one of messages.
fn read_array(
    scanner: &mut Scanner<Bytes<'_>>,
    document: &Map<String, Value>,
    form: &Form,
    sink: &mut Sink<'_>,
) -> Result<(), Stop> {
    scanner.skip_byte();
    let mut entry = Vec::new();
    // An array of messages is one conversation, and is kept until its end.
    let mut whole: Option<(Vec<u8>, End)> = None;
    let mut number = 0;
    let end = loop {
        while scanner.skip_if(b',')? {}
        match scanner.peek()? {
            None => break End::Missing,
            Some(b']') => {
                scanner.skip_byte();
                break End::Whole;
            }
            Some(b'}' | b':') => {
                scanner.skip_byte();
                continue;
            }
            Some(_) => entry.clear(),
        }
        let end = scanner.value(&mut entry)?;
        if number == 0 && end != End::TooLong && !is_conversation(&entry, form) {
            whole = Some((Vec::new(), End::Whole));
        }
        match &mut whole {
            Some((messages, state)) => {
                if end == End::TooLong || messages.len() + entry.len() > MAX_BYTES {
                    *state = End::TooLong;
                } else if end == End::Whole && *state == End::Whole {
                    messages.push(if number == 0 { b'[' } else { b',' });
                    messages.extend_from_slice(&entry);
                }
            }
            None => add(&entry, end, Position::Entry(number), document, form, sink)?,
        }
        number += 1;
    };
    if end == End::Missing {
        sink.problem(ProblemKind::EndsInTheMiddle, Position::Entry(number), "")?;
    }
    if let Some((mut messages, state)) = whole {
        messages.push(b']');
        add(&messages, state, Position::File, document, form, sink)?;
    }
    Ok(())
}

/// Reads an object: a conversation, or one that holds a list of them.
fn read_object(scanner: &mut Scanner<Bytes<'_>>, form: &Form, sink: &mut Sink<'_>) -> Result<(), Stop> {
    scanner.skip_byte();
    let mut document = Map::new();
    let (mut name, mut value) = (Vec::new(), Vec::new());
    let (mut bytes, mut has_list, mut is_too_long, mut is_cut) = (0, false, false, false);
    loop {
        while scanner.skip_if(b',')? {}
        match scanner.peek()? {
            None => {
                sink.problem(ProblemKind::EndsInTheMiddle, Position::File, "")?;
                is_cut = true;
                break;
            }
            Some(b'}') => {
                scanner.skip_byte();
                break;
            }
            Some(b']' | b':') => {
                scanner.skip_byte();
                continue;
            }
            Some(_) => {}
        }
        name.clear();
        value.clear();
        scanner.value(&mut name)?;
        let name: String = serde_json::from_slice(&name).unwrap_or_default();
        scanner.skip_if(b':')?;
        if has_list {
            tell_late(&name, form, sink)?;
        }
        let is_list = form.lists.contains(&name.as_str()) && scanner.peek()? == Some(b'[');
        if is_list && !form.marks.iter().any(|mark| document.contains_key(*mark)) {
            read_array(scanner, &document, form, sink)?;
            has_list = true;
            continue;
        }
        match scanner.value(&mut value)? {
            End::TooLong => is_too_long = true,
            End::Missing => {}
            End::Whole => {
                bytes += value.len();
                is_too_long |= bytes > MAX_BYTES;
                if !is_too_long {
                    add_field(&mut document, name, &value, sink)?;
                }
            }
        }
    }
    if is_too_long {
        return sink.problem(ProblemKind::TooLong, Position::File, "");
    }
    // What is cut before its conversation is told once.
    if has_list || is_cut && !form.marks.iter().any(|mark| document.contains_key(*mark)) {
        return Ok(());
    }
    (form.add)(Entry { value: Value::Object(document), position: Position::File, document: &Map::new() }, sink)
}

fn add_field(document: &mut Map<String, Value>, name: String, value: &[u8], sink: &mut Sink<'_>) -> Result<(), Stop> {
    match repair::parse(value) {
        Ok((value, problem)) => {
            document.insert(name, value);
            tell_repair(problem, Position::File, sink)
        }
        Err(error) => {
            let detail = format!("{name}: {}", repair::place_of(&error));
            sink.problem(ProblemKind::Broken, Position::File, detail)
        }
    }
}

/// Counts a field that comes too late for the conversations before it.
fn tell_late(name: &str, form: &Form, sink: &mut Sink<'_>) -> Result<(), Stop> {
    if !form.shared.contains(&name) {
        return Ok(());
    }
    sink.problem(ProblemKind::Broken, Position::File, format!("`{name}` stands after the conversations"))
}

/// Returns true if an entry of an array is a conversation, and not a message.
fn is_conversation(entry: &[u8], form: &Form) -> bool {
    let is_array = entry.trim_ascii_start().starts_with(b"[");
    is_array
        || repair::parse::<Value>(entry).is_ok_and(|(value, _)| {
            value.as_object().is_none_or(|fields| {
                form.marks.iter().any(|mark| fields.contains_key(*mark))
                    || !fields.contains_key("role") && !fields.contains_key("type")
            })
        })
}

fn add(
    bytes: &[u8],
    end: End,
    position: Position,
    document: &Map<String, Value>,
    form: &Form,
    sink: &mut Sink<'_>,
) -> Result<(), Stop> {
    if end == End::TooLong {
        return sink.problem(ProblemKind::TooLong, position, "");
    }
    match repair::parse(bytes) {
        Ok((value, problem)) => {
            tell_repair(problem, position, sink)?;
            (form.add)(Entry { value, position, document }, sink)
        }
        Err(_) if end == End::Missing => sink.problem(ProblemKind::EndsInTheMiddle, position, ""),
        Err(error) => sink.problem(ProblemKind::Broken, position, repair::place_of(&error)),
    }
}

/// Counts what was replaced in a text.
pub(crate) fn tell_repair(problem: Option<ProblemKind>, position: Position, sink: &mut Sink<'_>) -> Result<(), Stop> {
    problem.map_or(Ok(()), |kind| sink.problem(kind, position, ""))
}
