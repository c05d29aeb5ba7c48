//! The seam between a session and the one that goes on with it.

use std::collections::HashSet;

use serde_json::Value;

use super::Line;
use crate::sources::message::text_of;
use crate::sources::sessions::Numbered;

/// Returns for each line whether it is kept: those that are new, and of those that another session had the calls whose results are new.
/// That session ended before the results came, which would be lost without their calls.
pub(super) fn with_open_calls(lines: &[Numbered<Line>], is_new: Vec<bool>) -> Vec<bool> {
    let (mut before, mut after) = (HashSet::new(), HashSet::new());
    for (line, is_new) in lines.iter().zip(&is_new) {
        let results = ids(&line.line, "tool_result", "tool_use_id");
        if *is_new { after.extend(results) } else { before.extend(results) }
    }
    let is_open = |call: &str| after.contains(call) && !before.contains(call);
    let has_open = |line: &Line| ids(line, "tool_use", "id").any(is_open);
    lines.iter().zip(&is_new).map(|(line, is_new)| *is_new || has_open(&line.line)).collect()
}

/// Returns the ids in the blocks of a kind.
fn ids<'l>(line: &'l Line, kind: &'static str, field: &'static str) -> impl Iterator<Item = &'l str> {
    let blocks = line.message.get("content").and_then(Value::as_array).into_iter().flatten();
    blocks.filter(move |block| text_of(block, "type") == kind).map(move |block| text_of(block, field))
}
