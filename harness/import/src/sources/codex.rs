//! Rollout files of Codex.

use serde::Deserialize;
use serde_json::Value;

use super::message::{self, text_of};
use super::responses;
use super::sessions::{self, Session};
use crate::draft::Draft;
use crate::error::Stop;
use crate::log::LogText;
use crate::problem::Position;
use crate::sink::Sink;

/// The beginnings of texts that the program sends in the name of the user.
const ADDED_TEXTS: [&str; 8] = [
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<permissions",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<skill>",
];

/// A line of a rollout file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    r#type: Option<String>,
    timestamp: Option<String>,
    payload: Value,
}

pub(super) fn read(log: LogText<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    // A rollout file is one conversation. It may repeat the first line of the one that it continues.
    sessions::read(log, |_: &Line| Some(String::new()), add, sink)
}

fn add(session: Session<Line>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut draft = sink.draft();
    draft.conversation.is_cut_off = session.is_cut_off;
    let failed: Vec<String> = session.lines.iter().filter_map(|line| failed_call(&line.line)).collect();
    for line in session.lines {
        draft.position = Some(Position::Line(line.number));
        add_line(&mut draft, line.line);
    }
    failed.iter().for_each(|call| draft.flag(call));
    if draft.conversation.events.is_empty() {
        return Ok(());
    }
    sink.take(draft)
}

fn add_line(draft: &mut Draft, mut line: Line) {
    if let Some(time) = &line.timestamp {
        draft.time(time);
    }
    let conversation = &mut draft.conversation;
    match line.r#type.as_deref() {
        Some("session_meta") => {
            // A session that goes on with another one has the ids of both, its own first.
            draft.id.get_or_insert_with(|| text_of(&line.payload, "id").to_owned());
            let version = text_of(&line.payload, "cli_version");
            if !version.is_empty() {
                conversation.tags.entry("version".to_owned()).or_insert_with(|| version.to_owned());
            }
        }
        Some("turn_context") => {
            let model = text_of(&line.payload, "model");
            if conversation.model.is_none() && !model.is_empty() {
                conversation.model = Some(model.to_owned());
            }
        }
        Some("response_item") => {
            if is_added(&line.payload) {
                return;
            }
            if let Some(item) = line.payload.as_object_mut() {
                responses::add_item(draft, item);
            }
        }
        Some("event_msg") if text_of(&line.payload, "type") == "token_count" => {
            if let Some(usage) = line.payload.pointer("/info/last_token_usage").and_then(message::usage) {
                draft.set_last_usage(Some(usage));
            }
        }
        _ => {}
    }
}

/// Returns the id of the call that an event reports as failed. The result itself is a text; the events are there only in some logs.
fn failed_call(line: &Line) -> Option<String> {
    let payload = &line.payload;
    let item = payload.get("item").filter(|item| text_of(item, "status") == "failed");
    if let Some(item) = item.filter(|_| text_of(payload, "type") == "item_completed") {
        return Some(text_of(item, "id").to_owned());
    }
    let is_failed = line.r#type.as_deref() == Some("event_msg")
        && match text_of(payload, "type") {
            "mcp_tool_call_end" => {
                let result = payload.get("result")?;
                result.get("Err").is_some() || result.pointer("/Ok/isError") == Some(&Value::Bool(true))
            }
            "exec_command_end" => payload.get("exit_code").and_then(Value::as_i64).is_some_and(|code| code != 0),
            "patch_apply_end" => payload.get("success") == Some(&Value::Bool(false)),
            _ => false,
        };
    is_failed.then(|| text_of(payload, "call_id").to_owned())
}

/// Returns true for a text that the user did not write.
fn is_added(item: &Value) -> bool {
    let texts = item.get("content").map(message::texts).unwrap_or_default();
    let is_added = |text: &&str| message::begins_with_any(text, &ADDED_TEXTS);
    text_of(item, "role") == "user" && texts.first().is_some_and(is_added)
}
