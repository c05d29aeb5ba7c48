//! Logs of Inspect: JSON, or a zip file with a JSON file for each sample.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufReader, Read};

use serde::Deserialize;
use serde_json::{Map, Value};
use zip::ZipArchive;
use zip::result::ZipError;

use super::documents::{self, Entry, MAX_BYTES};
use super::message::{self, text_of};
use crate::conversation::Event;
use crate::draft::Draft;
use crate::error::{ImportError, Stop};
use crate::log::{Log, LogText};
use crate::problem::{Position, ProblemKind};
use crate::repair;
use crate::sink::Sink;

const FORM: documents::Form = documents::Form { lists: &["samples"], marks: &["messages"], shared: &["eval"], add };
/// The text of an error is what the agent was shown.
const MESSAGES: message::Form = message::Form { error_is_text: true, end_marker: None };
/// Stands before the hash of a text that is kept apart.
const ATTACHMENT: &str = "attachment://";

/// The texts that are kept apart, and how many bytes of them a sample may still hold.
struct Attachments {
    texts: HashMap<String, String>,
    left: usize,
}

/// A sample.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Sample {
    id: Value,
    epoch: Value,
    uuid: Option<String>,
    messages: Vec<Value>,
    scores: Option<BTreeMap<String, Value>>,
    events: Option<Vec<SampleEvent>>,
    attachments: Option<HashMap<String, String>>,
    /// The limit that ended it.
    limit: Value,
    /// The error that ended it.
    error: Value,
}

/// An event; the fields are those of a call of the model.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SampleEvent {
    event: Value,
    tools: Value,
    output: Value,
}

pub(super) fn read(log: LogText<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    documents::read(log, &FORM, sink)
}

fn add(entry: Entry<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    match serde_json::from_value(entry.value) {
        Ok(sample) => add_sample(sample, entry.document, entry.position, sink),
        Err(error) => sink.problem(ProblemKind::Broken, entry.position, repair::place_of(&error)),
    }
}

/// Reads a zip file. Its samples come in the order of their names. One that is damaged ends the import only if it was named.
pub(super) fn read_eval(file: File, log: Log, is_named: bool, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let name = log.name.clone();
    let mut zip = match ZipArchive::new(BufReader::new(file)) {
        Ok(zip) => zip,
        Err(ZipError::Io(error)) => return Err(error.into()),
        Err(error) => return sink.problem_of(&name, ProblemKind::EndsInTheMiddle, error.to_string()),
    };
    sink.begin(log);
    let mut document = Map::new();
    for member in ["header.json", "_journal/start.json"] {
        if zip.index_for_name(member).is_some()
            && let Some(header) = read_member(&mut zip, member, Position::File, sink)?
        {
            document = header;
            break;
        }
    }
    if !document.contains_key("eval") {
        let nearest = "a log of inspect has `header.json` with `eval`".to_owned();
        if !is_named {
            return sink.problem_of(&name, ProblemKind::UnknownFile, nearest);
        }
        return Err(ImportError::Unrecognized { file: name, missing: nearest }.into());
    }
    let is_sample = |name: &&str| name.starts_with("samples/") && name.ends_with(".json");
    let mut members: Vec<String> = zip.file_names().filter(is_sample).map(str::to_owned).collect();
    members.sort();
    for (n, member) in members.iter().enumerate() {
        let position = Position::Entry(u64::try_from(n).unwrap_or(u64::MAX));
        if let Some(sample) = read_member(&mut zip, member, position, sink)? {
            add_sample(sample, &document, position, sink)?;
        }
    }
    Ok(())
}

/// Reads a file of a zip file, or counts a problem.
fn read_member<T: for<'a> Deserialize<'a>>(
    zip: &mut ZipArchive<BufReader<File>>,
    member: &str,
    position: Position,
    sink: &mut Sink<'_>,
) -> Result<Option<T>, Stop> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX) + 1;
    let read = zip.by_name(member).map_err(|error| error.to_string());
    let read = read.and_then(|file| file.take(limit).read_to_end(&mut bytes).map_err(|error| error.to_string()));
    if let Err(error) = read {
        sink.problem(ProblemKind::Broken, position, format!("{member}: {error}"))?;
        return Ok(None);
    }
    if bytes.len() > MAX_BYTES {
        sink.problem(ProblemKind::TooLong, position, member)?;
        return Ok(None);
    }
    match repair::parse(&bytes) {
        Ok((value, problem)) => {
            documents::tell_repair(problem, position, sink)?;
            Ok(Some(value))
        }
        Err(error) => {
            sink.problem(ProblemKind::Broken, position, format!("{member}: {}", repair::place_of(&error)))?;
            Ok(None)
        }
    }
}

fn add_sample(
    mut sample: Sample,
    document: &Map<String, Value>,
    position: Position,
    sink: &mut Sink<'_>,
) -> Result<(), Stop> {
    let mut draft = sink.draft();
    draft.position = Some(position);
    let eval = |field: &str| document.get("eval")?.get(field)?.as_str().map(str::to_owned);
    let of_eval = || Some(format!("{}/{}/{}", eval("eval_id")?, plain(&sample.id)?, plain(&sample.epoch)?));
    draft.id = sample.uuid.take().or_else(of_eval);
    let conversation = &mut draft.conversation;
    conversation.suite = eval("task");
    conversation.model = eval("model");
    if let Some(task) = plain(&sample.id) {
        conversation.task = task;
    }
    if let Some(epoch) = plain(&sample.epoch) {
        conversation.tags.insert("epoch".to_owned(), epoch);
    }
    conversation.success = sample.scores.as_ref().and_then(success);
    conversation.is_cut_off = !sample.limit.is_null() || !sample.error.is_null();
    let mut attachments = Attachments { texts: sample.attachments.take().unwrap_or_default(), left: MAX_BYTES };
    let events = sample.events.take().unwrap_or_default();
    let mut tools = events.iter().find_map(|event| message::tools(Some(&event.tools)));
    for tool in tools.iter_mut().flatten() {
        attachments.put_back(&mut tool.description);
    }
    conversation.tools = tools;
    let usages = usages(&events);
    for mut message in sample.messages {
        attachments.attach(&mut message);
        let usage = usages.get(text_of(&message, "id"));
        if let (Some(usage), Some(fields)) = (usage, message.as_object_mut()) {
            fields.insert("usage".to_owned(), (*usage).clone());
        }
        message::add(&mut draft, &mut message, MESSAGES);
    }
    let ends_with_answer = |draft: &Draft| {
        let last = draft.conversation.events.last();
        matches!(last, Some(Event::Turn(turn)) if turn.calls.is_empty())
    };
    if !sample.limit.is_null() && ends_with_answer(&draft) {
        // A limit may cut an answer off, or be what it says.
        draft.conversation.events.pop();
    }
    if attachments.left == 0 {
        return sink.problem(ProblemKind::TooLong, position, "with the texts that are attached to it");
    }
    sink.take(draft)
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns what the scores say together; `None` if they say different things or nothing.
fn success(scores: &BTreeMap<String, Value>) -> Option<bool> {
    let of = |score: &Value| match score.get("value")? {
        Value::Bool(is_true) => Some(*is_true),
        Value::String(text) if text == "C" => Some(true),
        Value::String(text) if text == "I" => Some(false),
        Value::Number(number) if number.as_f64() == Some(1.0) => Some(true),
        Value::Number(number) if number.as_f64() == Some(0.0) => Some(false),
        _ => None,
    };
    let known: Vec<bool> = scores.values().filter_map(of).collect();
    let first = *known.first()?;
    known.iter().all(|success| *success == first).then_some(first)
}

/// Returns the usage of each message that a model sent, by its id.
fn usages(events: &[SampleEvent]) -> HashMap<&str, &Value> {
    let models = events.iter().filter(|event| event.event == "model");
    models
        .filter_map(|event| {
            let id = event.output.pointer("/choices/0/message/id")?.as_str()?;
            Some((id, event.output.get("usage")?))
        })
        .collect()
}

impl Attachments {
    /// Puts texts that are kept apart back into a message.
    fn attach(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.put_back(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.attach(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.attach(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Puts back a text that is kept apart, unless all of them together are too long; then none is left.
    fn put_back(&mut self, text: &mut String) {
        let Some(attached) = text.strip_prefix(ATTACHMENT).and_then(|hash| self.texts.get(hash)) else { return };
        self.left = self.left.saturating_sub(attached.len());
        if self.left > 0 {
            attached.clone_into(text);
        }
    }
}
