//! Codex 0.169.0.

use std::borrow::Cow;

use healbench_core::{CallResult, ContentBlock, ProtocolError, ToolCall};
use serde_json::Value;

use super::{ClientProfile, Sending, ShownBlock};

/// The line before every answer.
const HEADER: &str = "Wall time: 0.0000 seconds\nOutput:";
/// The bytes of all texts of an answer. Tokens are counted as four bytes each.
const MAX_BYTES: usize = 12_000;
const BYTES_PER_TOKEN: usize = 4;

pub(super) fn send<'c>(profile: &ClientProfile, call: &'c ToolCall) -> Sending<'c> {
    match profile.tool(&call.tool) {
        Some(_) => Sending::Sent(Cow::Borrowed(call)),
        None => {
            let text = format!("unsupported call: mcp__{}__{}", profile.server, call.tool);
            Sending::UnknownTool(vec![ShownBlock::Text(text)])
        }
    }
}

/// Shows structured content alone where there is any, and else the blocks, each as an item of its own.
pub(super) fn show(profile: &ClientProfile, call: &ToolCall, result: &CallResult) -> Vec<ShownBlock> {
    if let (None, Some(structured)) = (&result.protocol_error, &result.structured) {
        return cut(vec![ShownBlock::Text(format!("{HEADER}\n{structured}"))]);
    }
    let mut shown = vec![ShownBlock::Text(HEADER.to_owned())];
    match &result.protocol_error {
        Some(error) => shown.push(ShownBlock::Text(error_text(profile, call, error))),
        None => shown.extend(result.content.iter().filter_map(block)),
    }
    cut(shown)
}

fn error_text(profile: &ClientProfile, call: &ToolCall, error: &ProtocolError) -> String {
    let data = error.data.as_ref().map(|data| format!("({data})")).unwrap_or_default();
    let cause = format!("Mcp error: {}: {}{data}", error.code, error.message).replace('\n', "\n    ");
    format!("tool call error: tool call failed for `{}/{}`\n\nCaused by:\n    {cause}", profile.server, call.tool)
}

fn block(block: &ContentBlock) -> Option<ShownBlock> {
    match block {
        ContentBlock::Text(text) if text.is_empty() => None,
        ContentBlock::Text(text) => Some(ShownBlock::Text(text.clone())),
        ContentBlock::Other(block) => Some(match (block["type"].as_str(), block["data"].as_str()) {
            (Some("image"), Some(data)) => {
                let kind = block["mimeType"].as_str().unwrap_or("application/octet-stream");
                ShownBlock::Image(format!("data:{kind};base64,{data}"))
            }
            _ => ShownBlock::Text(in_order(block).to_string()),
        }),
    }
}

/// Returns a block with its members in the order in which Codex declares them.
fn in_order(block: &Value) -> Value {
    const ORDER: [&str; 13] = [
        "type",
        "resource",
        "uri",
        "name",
        "title",
        "description",
        "mimeType",
        "text",
        "blob",
        "size",
        "data",
        "_meta",
        "annotations",
    ];
    let Value::Object(members) = block else { return block.clone() };
    let mut members: Vec<_> = members.clone().into_iter().collect();
    members.sort_by_key(|(name, _)| ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len()));
    members.into_iter().map(|(name, member)| (name, in_order(&member))).collect()
}

/// Cuts an answer twice, as Codex does: when the call ends, by bytes, and when the request is made, by tokens.
fn cut(shown: Vec<ShownBlock>) -> Vec<ShownBlock> {
    let by_bytes = cut_to(shown, MAX_BYTES, 1, |removed, _| format!("…{} chars truncated…", removed.chars().count()));
    cut_to(by_bytes, MAX_BYTES / BYTES_PER_TOKEN, BYTES_PER_TOKEN, |_, excess| {
        format!("…{} tokens truncated…", excess.div_ceil(BYTES_PER_TOKEN))
    })
}

/// Cuts texts to a budget of units. The text that exceeds it loses its middle, and those after it are omitted. The marker is made of
/// what was removed, and of the number of bytes in excess: no character is split, so more may be removed.
fn cut_to(
    shown: Vec<ShownBlock>,
    budget: usize,
    unit_bytes: usize,
    marker: impl Fn(&str, usize) -> String,
) -> Vec<ShownBlock> {
    let mut left = budget;
    let mut omitted = 0;
    let mut kept = Vec::new();
    for block in shown {
        let ShownBlock::Text(text) = block else {
            kept.push(block);
            continue;
        };
        let units = text.len().div_ceil(unit_bytes);
        if left == 0 {
            omitted += 1;
        } else if units <= left {
            left -= units;
            kept.push(ShownBlock::Text(text));
        } else {
            let bytes = left * unit_bytes;
            let start = text.floor_char_boundary(bytes / 2);
            let end = text.ceil_char_boundary(text.len() - (bytes - bytes / 2));
            let marker = marker(&text[start..end], text.len() - bytes);
            kept.push(ShownBlock::Text([&text[..start], &marker, &text[end..]].concat()));
            left = 0;
        }
    }
    if omitted > 0 {
        kept.push(ShownBlock::Text(format!("[omitted {omitted} text items ...]")));
    }
    kept
}
