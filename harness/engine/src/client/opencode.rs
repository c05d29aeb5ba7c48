//! opencode 1.18.33 with a model that takes no images.

use std::borrow::Cow;

use healbench_core::{CallResult, ContentBlock, ToolCall};
use serde_json::Value;

use super::json_text::javascript_json;
use super::{ClientProfile, Sending, ShownBlock, typescript_sdk};

/// The tools of opencode itself, which are listed beside those of servers.
const OWN_TOOLS: [&str; 12] =
    ["bash", "edit", "glob", "grep", "invalid", "read", "skill", "task", "todowrite", "webfetch", "websearch", "write"];
/// The lines and bytes of a successful result.
const MAX_LINES: usize = 2000;
const MAX_BYTES: usize = 51_200;

pub(super) fn send<'c>(profile: &ClientProfile, call: &'c ToolCall) -> Sending<'c> {
    if profile.tool(&call.tool).is_some() {
        return Sending::Sent(Cow::Borrowed(call));
    }
    let named = |name: &str| format!("{}_{name}", profile.server);
    let own = OWN_TOOLS.iter().filter(|name| **name != "websearch").map(|name| (*name).to_owned());
    let mut available: Vec<String> = profile.tools.iter().map(|tool| named(&tool.name)).chain(own).collect();
    available.sort_unstable();
    let text = format!(
        "The arguments provided to the tool are invalid: Model tried to call unavailable tool '{}'. Available tools: {}.",
        named(&call.tool),
        available.join(", ")
    );
    Sending::UnknownTool(vec![ShownBlock::Text(text)])
}

pub(super) fn show(profile: &ClientProfile, call: &ToolCall, result: &CallResult) -> Vec<ShownBlock> {
    if let Some(text) = typescript_sdk::exception(profile.tool(&call.tool), result) {
        return vec![ShownBlock::Text(text)];
    }
    if result.is_error {
        let texts = result.content.iter().filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.as_str()),
            ContentBlock::Other(_) => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n\n");
        let text = if text.is_empty() { "MCP tool returned an error".to_owned() } else { text };
        return vec![ShownBlock::Text(text)];
    }
    let texts: Vec<String> = result.content.iter().filter_map(text_of).collect();
    let text = match (&result.structured, result.content.is_empty()) {
        (Some(structured), true) => javascript_json(structured),
        _ => texts.join("\n\n"),
    };
    let mut shown = vec![ShownBlock::Text(cut(text))];
    if result.content.iter().any(|block| matches!(block, ContentBlock::Other(block) if block["type"] == "image")) {
        shown.push(ShownBlock::Text("Attached media from tool result:".to_owned()));
        let error = "ERROR: Cannot read image (this model does not support image input). Inform the user.";
        shown.push(ShownBlock::Text(error.to_owned()));
    }
    shown
}

fn text_of(block: &ContentBlock) -> Option<String> {
    let block = match block {
        ContentBlock::Text(text) => return Some(text.clone()),
        ContentBlock::Other(block) => block,
    };
    let resource = block.get("resource").filter(|_| block["type"] == "resource")?;
    if let Some(text) = resource["text"].as_str() {
        return Some(text.to_owned());
    }
    let blob = resource["blob"].as_str()?;
    let kind = resource["mimeType"].as_str().unwrap_or("application/octet-stream");
    let bytes = blob.trim_end_matches('=').len() * 3 / 4;
    let uri = resource.get("uri").and_then(Value::as_str).unwrap_or_default();
    Some(format!("[Binary MCP resource omitted: {uri} ({kind}, {bytes} B) is not a supported attachment type]"))
}

/// Keeps the first lines that fit. A first line that is too long leaves nothing.
fn cut(text: String) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    if lines.len() <= MAX_LINES && text.len() <= MAX_BYTES {
        return text;
    }
    let mut bytes = 0;
    let mut kept = 0;
    let mut is_out_of_bytes = false;
    for (index, line) in lines.iter().take(MAX_LINES).enumerate() {
        let size = line.len() + usize::from(index > 0);
        if bytes + size > MAX_BYTES {
            is_out_of_bytes = true;
            break;
        }
        bytes += size;
        kept += 1;
    }
    let (removed, unit) = if is_out_of_bytes { (text.len() - bytes, "bytes") } else { (lines.len() - kept, "lines") };
    format!(
        "{}\n\n...{removed} {unit} truncated...\n\nThe tool call succeeded but the output was truncated. Full output saved to: \
         ~/.local/share/opencode/tool-output/tool_00000000000000000000000000\nUse the Task tool to have explore agent process \
         this file with Grep and Read (with offset/limit). Do NOT read the full file yourself - delegate to save context.",
        lines[..kept].join("\n")
    )
}
