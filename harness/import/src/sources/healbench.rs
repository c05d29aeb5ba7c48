//! The rows of calls that `healbench proxy --record --record-texts` writes. Each call counts as a turn, since the proxy does not see turns.

use serde::Deserialize;
use serde_json::Value;

use super::sessions::{self, Numbered, Session};
use crate::error::Stop;
use crate::log::LogText;
use crate::problem::{Position, ProblemKind};
use crate::sink::Sink;

/// A row.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Row {
    episode: Option<String>,
    call: u64,
    tool: String,
    arguments: Value,
    is_error: bool,
    text: Option<String>,
}

pub(super) fn read(log: LogText<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    sessions::read(log, |row: &Row| row.episode.clone(), add, sink)
}

fn add(mut session: Session<Row>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut draft = sink.draft();
    draft.position = session.lines.first().map(|first| Position::Line(first.number));
    draft.id = session.lines.first().and_then(|first| first.line.episode.clone());
    // A row is written when a call is answered.
    session.lines.sort_by_key(|line| line.line.call);
    if session.lines.iter().any(|line| line.line.text.is_none()) {
        sink.problem_once(ProblemKind::NoResult, draft.position, "recorded without --record-texts")?;
    }
    for Numbered { number, line: row } in session.lines {
        draft.position = Some(Position::Line(number));
        let id = row.call.to_string();
        draft.call(Some(&id), &id, &row.tool, row.arguments);
        draft.result(&id, row.text.into_iter().collect(), row.is_error);
    }
    sink.take(draft)
}
