//! What a folder holds, for lists.

use serde_json::Value;

use healbench_protocol::Usage;

use super::body::Body;
use super::line::Line;
use super::show::{cut, visible};
use super::tape::{Tape, file_name};
use super::{Key, Recorded};
use crate::llm::Api;

/// The recordings of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Recordings {
    /// The API.
    pub api: Api,
    /// The model's name at the provider.
    pub model: String,
    /// The file's name.
    pub file: String,
    /// Its size; null while recordings wait for being merged into it.
    pub bytes: Option<u64>,
    /// The recordings, sorted by what was asked.
    pub entries: Vec<Entry>,
}

/// One recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What it is found by.
    pub key: Key,
    /// The API.
    pub api: Api,
    /// The model's name at the provider.
    pub model: String,
    /// The trial.
    pub trial: u32,
    /// When it was recorded, as the recorder wrote it.
    pub recorded: String,
    /// How many messages the request has.
    pub messages: usize,
    /// What the provider counted; null when it did not, or when the answer is none of the API's.
    pub usage: Option<Usage>,
    /// The first words of the request's last message, in one line without control characters.
    pub last: String,
}

/// A recording in full.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// What it is listed as.
    pub entry: Entry,
    /// The request's body, with sorted keys.
    pub request: Value,
    /// What was answered.
    pub answer: Recorded,
}

impl Recordings {
    /// The trials that there are recordings of, sorted.
    pub fn trials(&self) -> Vec<u32> {
        let trials: std::collections::BTreeSet<u32> = self.entries.iter().map(|entry| entry.trial).collect();
        trials.into_iter().collect()
    }

    /// The first and the last date; `None` without recordings.
    pub fn dates(&self) -> Option<(&str, &str)> {
        let dates = || self.entries.iter().map(|entry| entry.recorded.as_str());
        Some((dates().min()?, dates().max()?))
    }
}

pub(super) fn recordings(tape: &Tape) -> Recordings {
    let mut entries = Vec::new();
    tape.walk(|line, body| entries.push(entry(tape, &line, body)));
    let file = file_name(tape.api, &tape.model);
    Recordings { api: tape.api, model: tape.model.clone(), file, bytes: tape.bytes, entries }
}

pub(super) fn exchange(tape: &Tape, key: Key) -> Option<Exchange> {
    let mut found = None;
    tape.walk(|line, body| {
        if line.key == key {
            let answer = line.answer();
            found = answer.map(|answer| Exchange { entry: entry(tape, &line, body), request: body.value(), answer });
        }
    });
    found
}

fn entry(tape: &Tape, line: &Line<'_>, body: &Body<'_>) -> Entry {
    let messages = body.items(tape.api.messages_key());
    let usage = line.answer().and_then(|answer| tape.api.reply(&answer.body).ok()?.usage);
    let last = messages.last().and_then(|last| serde_json::from_str(last).ok()).unwrap_or_default();
    Entry {
        key: line.key,
        api: tape.api,
        model: tape.model.clone(),
        trial: line.trial,
        recorded: line.date(),
        messages: messages.len(),
        usage,
        last: first_words(&last),
    }
}

const WORDS: usize = 60;

fn first_words(message: &Value) -> String {
    let text = words(message).unwrap_or_default();
    // A long text is not walked to its end for a few words.
    let start: String = text.chars().take(WORDS * 4).collect();
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    visible(&cut(&line, 0, WORDS))
}

/// The first text of a message, in whatever form the API wants it: not its role, not its ids.
fn words(message: &Value) -> Option<&str> {
    const NO_WORDS: [&str; 9] =
        ["role", "type", "id", "call_id", "tool_call_id", "tool_use_id", "status", "encrypted_content", "signature"];
    match message {
        Value::String(text) => Some(text).filter(|text| !text.trim().is_empty()).map(String::as_str),
        Value::Array(items) => items.iter().find_map(words),
        // A function's name is told only where there is nothing else.
        Value::Object(map) => map
            .iter()
            .filter(|(name, _)| !NO_WORDS.contains(&name.as_str()) && *name != "name")
            .find_map(|(_, value)| words(value))
            .or_else(|| map.get("name").and_then(Value::as_str)),
        _ => None,
    }
}
