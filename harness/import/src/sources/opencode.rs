//! The output of `opencode run --format json`.

use serde::Deserialize;
use serde_json::Value;

use super::message::text_of;
use super::sessions::{self, Session};
use crate::draft::Draft;
use crate::error::Stop;
use crate::log::LogText;
use crate::problem::Position;
use crate::sink::Sink;

/// The tool that stands for every call that the program refused. Its input has the name of the real tool and the text of the error, but not
/// what was sent.
const REFUSED: &str = "invalid";

/// A line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    r#type: Option<String>,
    #[serde(rename = "sessionID")]
    session_id: Option<String>,
    timestamp: Option<u64>,
    part: Value,
}

pub(super) fn read(log: LogText<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    sessions::read(log, |line: &Line| line.session_id.clone(), add, sink)
}

fn add(session: Session<Line>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut draft = sink.draft();
    draft.conversation.is_cut_off = session.is_cut_off;
    draft.id = session.lines.first().and_then(|first| first.line.session_id.clone());
    for line in session.lines {
        draft.position = Some(Position::Line(line.number));
        add_line(&mut draft, line.line);
    }
    sink.take(draft)
}

fn add_line(draft: &mut Draft, mut line: Line) {
    if let Some(time) = line.timestamp {
        draft.time(&format!("{time:020}"));
    }
    let message = text_of(&line.part, "messageID").to_owned();
    // A turn is a message of the model. Without an id each call is one, since it brings its result.
    let turn = Some(message.as_str()).filter(|id| !id.is_empty());
    match line.r#type.as_deref() {
        Some("text") => draft.model_text(turn, text_of(&line.part, "text")),
        Some("tool_use") => add_call(draft, turn, &mut line.part),
        Some("step_finish") => {
            if let Some(usage) = usage(&line.part) {
                draft.turn(turn, |turn| turn.usage = Some(usage));
            }
        }
        // The model or the program failed, and nothing follows.
        Some("error") => draft.conversation.is_cut_off = true,
        _ => {}
    }
}

fn add_call(draft: &mut Draft, turn: Option<&str>, part: &mut Value) {
    let (id, tool) = (text_of(part, "callID").to_owned(), text_of(part, "tool").to_owned());
    let input = part.pointer_mut("/state/input").map(Value::take).unwrap_or_default();
    let (refused, error) = (text_of(&input, "tool"), text_of(&input, "error"));
    if tool == REFUSED && !refused.is_empty() && !error.is_empty() {
        draft.call(turn, &id, refused, Value::Null);
        return draft.result(&id, vec![error.to_owned()], true);
    }
    draft.call(turn, &id, &tool, input);
    let Some(state) = part.get("state") else { return };
    let exit = state.pointer("/metadata/exit").and_then(Value::as_i64);
    match text_of(state, "status") {
        "completed" => draft.result(&id, vec![text_of(state, "output").to_owned()], exit.is_some_and(|code| code != 0)),
        "error" => draft.result(&id, vec![text_of(state, "error").to_owned()], true),
        _ => {}
    }
}

/// Returns the tokens of a step, those of its cache and its reasoning included.
fn usage(part: &Value) -> Option<(u64, u64)> {
    let tokens = part.get("tokens")?;
    let count = |path: &str| tokens.pointer(path).and_then(Value::as_u64);
    let more = |count: Option<u64>| count.unwrap_or(0);
    let sent = count("/input")?.saturating_add(more(count("/cache/read"))).saturating_add(more(count("/cache/write")));
    Some((sent, count("/output")?.saturating_add(more(count("/reasoning")))))
}
