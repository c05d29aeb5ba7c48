//! Lists of the recordings in a folder.

use serde_json::Value;

use healbench_protocol::Usage;

use super::body::Body;
use super::excerpt::{escape_invisible, excerpt};
use super::line::RecordingLine;
use super::recording_file::{RecordingFile, file_name};
use super::{Key, RecordedResponse};
use crate::llm::Api;

/// The recordings of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Recordings {
    /// The API.
    pub api: Api,
    /// The provider's name for the model.
    pub model: String,
    /// The file name.
    pub file: String,
    /// The size of the file in bytes; null while recordings are not yet merged into it.
    pub bytes: Option<u64>,
    /// The recordings, sorted by request.
    pub entries: Vec<Entry>,
}

/// One recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The recording's key.
    pub key: Key,
    /// The API.
    pub api: Api,
    /// The provider's name for the model.
    pub model: String,
    /// The trial.
    pub trial: u32,
    /// The date of the recording, as stored in the file.
    pub recorded_on: String,
    /// The number of messages in the request.
    pub messages: usize,
    /// The token counts reported by the provider; null if there are none or the response cannot be parsed.
    pub usage: Option<Usage>,
    /// The beginning of the request's last message, on one line and without control characters.
    pub last_message: String,
}

/// A recording with its complete request and response.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The entry in lists.
    pub entry: Entry,
    /// The request's body, with sorted keys.
    pub request: Value,
    /// The response.
    pub response: RecordedResponse,
}

impl Recordings {
    /// Returns the recorded trials, sorted.
    pub fn trials(&self) -> Vec<u32> {
        let trials: std::collections::BTreeSet<u32> = self.entries.iter().map(|entry| entry.trial).collect();
        trials.into_iter().collect()
    }

    /// Returns the first and the last date, or `None` without recordings.
    pub fn dates(&self) -> Option<(&str, &str)> {
        let dates = || self.entries.iter().map(|entry| entry.recorded_on.as_str());
        Some((dates().min()?, dates().max()?))
    }
}

pub(super) fn recordings(file: &RecordingFile) -> Recordings {
    let mut entries = Vec::new();
    file.for_each(|line, body| entries.push(entry(file, &line, body)));
    let name = file_name(file.api, &file.model);
    Recordings { api: file.api, model: file.model.clone(), file: name, bytes: file.bytes, entries }
}

pub(super) fn exchange(file: &RecordingFile, key: Key) -> Option<Exchange> {
    let mut found = None;
    file.for_each(|line, body| {
        if line.key == key {
            let response = line.recorded_response();
            found =
                response.map(|response| Exchange { entry: entry(file, &line, body), request: body.value(), response });
        }
    });
    found
}

fn entry(file: &RecordingFile, line: &RecordingLine<'_>, body: &Body<'_>) -> Entry {
    let messages = body.items(file.api.entry().messages_key);
    let usage = line.recorded_response().and_then(|response| file.api.reply(&response.body).ok()?.usage);
    let last_message =
        messages.last().and_then(|last_message| serde_json::from_str(last_message).ok()).unwrap_or_default();
    Entry {
        key: line.key,
        api: file.api,
        model: file.model.clone(),
        trial: line.trial,
        recorded_on: line.date(),
        messages: messages.len(),
        usage,
        last_message: message_excerpt(&last_message),
    }
}

const EXCERPT_CHARS: usize = 60;

fn message_excerpt(message: &Value) -> String {
    let text = first_text(message).unwrap_or_default();
    // A long text need not be read to its end.
    let start: String = text.chars().take(EXCERPT_CHARS * 4).collect();
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    escape_invisible(&excerpt(&line, 0, EXCERPT_CHARS))
}

/// Returns the first text of a message in any API's format, ignoring roles and ids.
fn first_text(message: &Value) -> Option<&str> {
    const NON_TEXT_KEYS: [&str; 9] =
        ["role", "type", "id", "call_id", "tool_call_id", "tool_use_id", "status", "encrypted_content", "signature"];
    match message {
        Value::String(text) => Some(text).filter(|text| !text.trim().is_empty()).map(String::as_str),
        Value::Array(items) => items.iter().find_map(first_text),
        // Use a function's name only if there is no other text.
        Value::Object(map) => map
            .iter()
            .filter(|(name, _)| !NON_TEXT_KEYS.contains(&name.as_str()) && *name != "name")
            .find_map(|(_, value)| first_text(value))
            .or_else(|| map.get("name").and_then(Value::as_str)),
        _ => None,
    }
}
