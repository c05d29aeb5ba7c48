//! Sessions of Claude Code: its session files, and what it prints with `--output-format stream-json`.
//!
//! A line is a part of a message, with the line before it as its parent. So the lines of a session are a tree: calls that ran at the same
//! time have their results on branches of their own, and a prompt that was edited, or an answer that was taken back, stands beside its new
//! version. Only the latter are alternatives; everything else was seen by the model.

mod seam;
mod tree;

use std::collections::{BTreeMap, HashMap, HashSet};

use healbench_text::pluralize;
use serde::Deserialize;
use serde_json::Value;

use self::seam::with_open_calls;
use self::tree::{alternatives, side_chains};
use super::message::{self, text_of};
use super::sessions::{self, Numbered, Session};
use crate::draft::Draft;
use crate::error::Stop;
use crate::input::LogText;
use crate::problem::{Position, ProblemKind};
use crate::sink::Sink;

/// The beginnings of texts that the program adds to what the user writes.
const ADDED_TEXTS: [&str; 3] = ["<system-reminder>", "<local-command-", "<bash-std"];
/// The name of the model of messages that the program wrote itself.
const NO_MODEL: &str = "<synthetic>";
/// The number of lines whose session is known, for the lines that follow them.
const MAX_KNOWN_LINES: usize = 50_000;

/// A line of a session.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Line {
    r#type: Option<String>,
    uuid: Option<String>,
    parent_uuid: Option<String>,
    #[serde(alias = "session_id")]
    session_id: Option<String>,
    /// The call that started the agent of a side chain, in what the program prints.
    #[serde(rename = "parent_tool_use_id")]
    parent_tool_use_id: Option<String>,
    agent_id: Option<String>,
    is_sidechain: Option<bool>,
    is_meta: Option<bool>,
    is_compact_summary: Option<bool>,
    is_api_error_message: Option<bool>,
    timestamp: Option<String>,
    #[serde(alias = "claude_code_version")]
    version: Option<String>,
    message: Value,
}

impl Line {
    fn is(&self, kind: &str) -> bool {
        self.r#type.as_deref() == Some(kind)
    }

    /// Returns the message that a line is a part of, if it may have an alternative: the id of an answer, and nothing for a text of the
    /// user. Results have none, nor has what the program wrote.
    fn alternative(&self) -> Option<&str> {
        let is_result = |block: &Value| text_of(block, "type") == "tool_result";
        let content = self.message.get("content").and_then(Value::as_array);
        if self.is("user") && self.is_meta != Some(true) && !content.is_some_and(|blocks| blocks.iter().any(is_result))
        {
            return Some("");
        }
        let id = Some(text_of(&self.message, "id")).filter(|id| self.is("assistant") && !id.is_empty());
        id.filter(|_| self.is_api_error_message != Some(true) && text_of(&self.message, "model") != NO_MODEL)
    }
}

pub(super) fn read(log: LogText<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut known: HashMap<String, String> = HashMap::new();
    // A session that goes on with another one, in the same file and with a new id, is a part of it.
    let id_of = |line: &Line| {
        let own = line.session_id.as_ref()?;
        let before = line.parent_uuid.as_ref().and_then(|parent| known.get(parent));
        let id = before.unwrap_or(own).clone();
        if known.len() >= MAX_KNOWN_LINES {
            known.clear();
        }
        if let Some(uuid) = &line.uuid {
            known.insert(uuid.clone(), id.clone());
        }
        Some(id)
    };
    sessions::read(log, id_of, add, sink)
}

/// Adds the conversation of a session, and those of its side chains.
fn add(session: Session<Line>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let Session { mut lines, is_cut_off, .. } = session;
    // A session that was resumed may repeat its lines, and those of the session that it goes on with.
    let mut known = HashSet::new();
    lines.retain(|line| line.line.uuid.as_ref().is_none_or(|uuid| known.insert(uuid.clone())));
    let (before, first) = (lines.len(), lines.first().map_or(0, |line| line.number));
    let is_new = lines.iter().map(|line| line.line.uuid.as_ref().is_none_or(|uuid| sink.is_new(uuid))).collect();
    let mut is_kept = with_open_calls(&lines, is_new).into_iter();
    lines.retain(|_| is_kept.next() == Some(true));
    if lines.len() < before {
        let detail = format!("{} of another session", pluralize((before - lines.len()) as u64, "record"));
        sink.problem(ProblemKind::Repeated, Position::Line(first), detail)?;
    }
    for chain in side_chains(lines) {
        add_chain(chain.lines, chain.name, is_cut_off, sink)?;
    }
    Ok(())
}

fn add_chain(
    lines: Vec<Numbered<Line>>,
    side_chain: Option<String>,
    is_cut_off: bool,
    sink: &mut Sink<'_>,
) -> Result<(), Stop> {
    let is_left_out = alternatives(&lines);
    if !lines.iter().any(|line| line.line.is("user") || line.line.is("assistant")) {
        return Ok(());
    }
    let mut draft = sink.draft();
    let mut models: BTreeMap<String, usize> = BTreeMap::new();
    let mut version = None;
    // Each line is freed when it is read: a session is long.
    for (Numbered { mut line, number }, is_left_out) in lines.into_iter().zip(is_left_out) {
        draft.position = Some(Position::Line(number));
        version = version.or_else(|| line.version.take());
        if let Some(time) = line.timestamp.as_deref().filter(|_| line.is("user") || line.is("assistant")) {
            draft.time(time);
        }
        if line.is("user") {
            add_user(&mut draft, &line, is_left_out);
        } else if line.is("assistant") && !is_left_out && line.is_api_error_message != Some(true) {
            let model = text_of(&line.message, "model");
            if model == NO_MODEL {
                continue;
            }
            if !model.is_empty() {
                *models.entry(model.to_owned()).or_default() += 1;
            }
            add_turn(&mut draft, &mut line);
        }
    }
    let conversation = &mut draft.conversation;
    conversation.is_cut_off = is_cut_off;
    conversation.model = models.into_iter().max_by_key(|(_, lines)| *lines).map(|(model, _)| model);
    if let Some(version) = version {
        conversation.tags.insert("version".to_owned(), version);
    }
    if let Some(name) = side_chain {
        conversation.tags.insert("side_chain".to_owned(), name);
    }
    sink.take(draft)
}

/// Adds a part of a message of the model. Its usage stands in every part, so the last one counts.
fn add_turn(draft: &mut Draft, line: &mut Line) {
    let id = [text_of(&line.message, "id"), line.uuid.as_deref().unwrap_or_default()];
    let id = id.into_iter().find(|id| !id.is_empty()).unwrap_or_default().to_owned();
    if let Some(message) = line.message.as_object_mut() {
        message::add_turn(draft, message, Some(&id));
    }
}

/// Adds texts and results. Of a branch that is left out, only results of calls outside of it are kept.
fn add_user(draft: &mut Draft, line: &Line, is_left_out: bool) {
    let content = line.message.get("content").unwrap_or(&Value::Null);
    let is_kept = |block: &&Value| !is_left_out || draft.has_call(text_of(block, "tool_use_id"));
    let results = content.as_array().into_iter().flatten().filter(|block| text_of(block, "type") == "tool_result");
    let results: Vec<Value> = results.filter(is_kept).cloned().collect();
    message::add_result_blocks(draft, &Value::Array(results));
    if is_left_out || line.is_meta == Some(true) || line.is_compact_summary == Some(true) {
        return;
    }
    let is_written = |text: &&str| !message::begins_with_any(text, &ADDED_TEXTS);
    let texts: Vec<&str> = message::texts(content).into_iter().filter(is_written).collect();
    draft.user(texts.join("\n"));
}
