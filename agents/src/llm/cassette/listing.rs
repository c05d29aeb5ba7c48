//! Lists of the recordings in a folder.

use serde_json::Value;

use healbench_core::Usage;

use super::excerpt::{escape_invisible, excerpt};
use super::record::Record;
use super::{Key, RecordedResponse};
use crate::llm::Api;

/// The recordings of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Recordings {
    pub api: Api,
    /// The provider's name for the model.
    pub model: String,
    pub file: String,
    /// The size of the file in bytes; `None` while new recordings are not merged into it.
    pub bytes: Option<u64>,
    /// The recordings, sorted by request.
    pub entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: Key,
    pub api: Api,
    /// The provider's name for the model.
    pub model: String,
    pub trial: u32,
    /// The date of the recording, as stored in the file.
    pub recorded_on: String,
    /// The number of messages in the request.
    pub messages: usize,
    /// The token counts reported by the provider; `None` if there are none or the response cannot be parsed.
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

pub(super) fn exchange(record: &Record) -> Option<Exchange> {
    Some(Exchange { entry: entry(record), request: record.request_body(), response: record.recorded_response()? })
}

pub(super) fn entry(record: &Record) -> Entry {
    let metadata = &record.metadata;
    let body = record.request_body();
    let messages = messages(metadata.api, &body);
    let usage = record.recorded_response().and_then(|response| metadata.api.reply(&response.body).ok()?.usage);
    Entry {
        key: record.key(),
        api: metadata.api,
        model: metadata.model.clone(),
        trial: metadata.trial,
        recorded_on: metadata.recorded.clone(),
        messages: messages.len(),
        usage,
        last_message: messages.last().map(message_excerpt).unwrap_or_default(),
    }
}

/// Returns the messages of a request's body, or an empty slice if there are none.
pub(super) fn messages(api: Api, body: &Value) -> &[Value] {
    body.get(api.entry().messages_key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
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
