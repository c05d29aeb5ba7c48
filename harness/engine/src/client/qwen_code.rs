//! qwen-code 0.15.10 with a model that takes no images, and with its search for tools off.

use std::borrow::Cow;

use healbench_core::{CallResult, ContentBlock, Object, ToolCall};
use healbench_text::compared_part;
use serde_json::{Value, json};

use super::json_text::javascript_json;
use super::schema_texts::{Report, schema_errors};
use super::{ClientProfile, ListedTool, Sending, ShownBlock, typescript_sdk};

/// The tools of qwen-code itself, in the order of its registry.
const OWN_TOOLS: [&str; 16] = [
    "agent",
    "task_stop",
    "send_message",
    "skill",
    "list_directory",
    "read_file",
    "grep_search",
    "glob",
    "edit",
    "write_file",
    "run_shell_command",
    "todo_write",
    "ask_user_question",
    "exit_plan_mode",
    "web_fetch",
    "monitor",
];
/// The tools that it suggests for a name that it does not know.
const SUGGESTIONS: usize = 3;
/// The characters and lines of a text of a successful result.
const MAX_CHARACTERS: usize = 25_000;
const MAX_LINES: usize = 1000;

/// Validates the arguments, after a repair of texts that stand for booleans, arrays or objects.
pub(super) fn send<'c>(profile: &ClientProfile, call: &'c ToolCall) -> Sending<'c> {
    let Some(tool) = profile.tool(&call.tool) else {
        return Sending::UnknownTool(vec![ShownBlock::Text(unknown_tool(profile, &call.tool))]);
    };
    let Some(validator) = tool.input.as_ref().filter(|_| call.arguments.is_object()) else {
        return Sending::Sent(Cow::Borrowed(call));
    };
    if validator.is_valid(&call.arguments) {
        return Sending::Sent(Cow::Borrowed(call));
    }
    let schema = &tool.definition["inputSchema"];
    let mut repaired = call.arguments.clone();
    repair_booleans(&mut repaired);
    repair_json(&mut repaired, schema);
    let errors = schema_errors(schema, &repaired, Report::First);
    if errors.is_empty() {
        return Sending::Sent(Cow::Owned(ToolCall::new(&call.tool, repaired)));
    }
    let texts: Vec<String> = errors.iter().map(|error| format!("params{} {}", error.pointer, error.message)).collect();
    let mut named: Vec<String> = errors.iter().filter_map(|error| error.top_level_field()).collect();
    named.sort_unstable();
    named.dedup();
    Sending::InvalidArguments { shown: vec![ShownBlock::Text(texts.join(", "))], named }
}

fn unknown_tool(profile: &ClientProfile, tool: &str) -> String {
    let named = |name: &str| format!("mcp__{}__{name}", profile.server);
    let name = named(tool);
    let listed = profile.tools.iter().map(|tool| named(&tool.name));
    let mut known: Vec<String> = listed.chain(OWN_TOOLS.map(str::to_owned)).collect();
    known.sort_by_key(|known| strsim::levenshtein(compared_part(&name), compared_part(known)));
    known.truncate(SUGGESTIONS);
    let known: Vec<String> = known.iter().map(|known| format!("\"{known}\"")).collect();
    format!(
        "Tool \"{name}\" not found in registry. Tools must use the exact names that are registered. Did you mean one of: {}?",
        known.join(", ")
    )
}

/// Replaces the texts `true` and `false`, in any case and at any depth.
fn repair_booleans(value: &mut Value) {
    match value {
        Value::String(text) if text.eq_ignore_ascii_case("true") => *value = true.into(),
        Value::String(text) if text.eq_ignore_ascii_case("false") => *value = false.into(),
        Value::Array(items) => items.iter_mut().for_each(repair_booleans),
        Value::Object(members) => members.values_mut().for_each(repair_booleans),
        _ => {}
    }
}

/// Replaces top-level texts that hold the array or the object that their schema accepts, unless it accepts texts too.
fn repair_json(arguments: &mut Value, schema: &Value) {
    let Some(members) = arguments.as_object_mut() else { return };
    for (name, value) in members {
        let Some(property) = schema.get("properties").and_then(|properties| properties.get(name)) else { continue };
        let types = accepted_types(property);
        let Some(text) = value.as_str().map(str::trim).filter(|_| !types.contains(&"string")) else { continue };
        let parsed: Option<Value> = serde_json::from_str(text).ok();
        match &parsed {
            Some(Value::Array(_)) if types.contains(&"array") => {}
            Some(Value::Object(_)) if types.contains(&"object") => {}
            _ => continue,
        }
        *value = parsed.unwrap_or_default();
    }
}

/// Returns the types that a schema and the branches of a choice name.
fn accepted_types(schema: &Value) -> Vec<&str> {
    let branches = ["anyOf", "oneOf"].into_iter().filter_map(|keyword| schema[keyword].as_array()).flatten();
    let named = std::iter::once(schema).chain(branches).map(|schema| &schema["type"]);
    let each = named.flat_map(|kind| kind.as_array().map_or(std::slice::from_ref(kind), Vec::as_slice));
    each.filter_map(Value::as_str).collect()
}

/// Shows the texts of a successful result as one, and an error as JSON of the call and the whole result.
pub(super) fn show(profile: &ClientProfile, call: &ToolCall, result: &CallResult) -> Vec<ShownBlock> {
    let tool = profile.tool(&call.tool);
    if let Some(text) = typescript_sdk::exception(tool, result) {
        return vec![ShownBlock::Text(text)];
    }
    if result.is_error {
        return vec![ShownBlock::Text(error_text(call, result))];
    }
    let parts: Vec<Part> = result.content.iter().filter_map(|block| part(call, block)).collect();
    let texts: Vec<String> = parts.iter().map(|part| cut(profile, tool, &part.text)).collect();
    let text = match texts.as_slice() {
        [] => "Tool execution succeeded.".to_owned(),
        texts => texts.join("\n"),
    };
    let media = parts.into_iter().filter_map(|part| part.media).map(ShownBlock::Text);
    std::iter::once(ShownBlock::Text(text)).chain(media).collect()
}

/// A block as qwen-code hands it to its model.
struct Part {
    text: String,
    /// The note in place of data that the model does not take.
    media: Option<String>,
}

fn part(call: &ToolCall, block: &ContentBlock) -> Option<Part> {
    let block = match block {
        ContentBlock::Text(text) => return Some(Part { text: text.clone(), media: None }),
        ContentBlock::Other(block) => block,
    };
    let text = |key: &str| block[key].as_str();
    let provided = |what: &str, kind: &str, media: String| Part {
        text: format!("[Tool '{}' provided the following {what} with mime-type: {kind}]", call.tool),
        media: Some(media),
    };
    match text("type")? {
        what @ ("image" | "audio") => {
            let kind = text("mimeType").unwrap_or_default();
            Some(provided(&format!("{what} data"), kind, unsupported(what, kind)))
        }
        "resource" => {
            let resource = &block["resource"];
            if let Some(text) = resource["text"].as_str().filter(|text| !text.is_empty()) {
                return Some(Part { text: text.to_owned(), media: None });
            }
            resource["blob"].as_str().filter(|blob| !blob.is_empty())?;
            let kind = resource["mimeType"].as_str().unwrap_or("application/octet-stream");
            let what = if kind.starts_with("image/") { "image" } else { "" };
            Some(provided("embedded resource", kind, unsupported(what, kind)))
        }
        "resource_link" => {
            let name = text("title").or_else(|| text("name")).unwrap_or_default();
            let uri = text("uri").unwrap_or_default();
            Some(Part { text: format!("Resource Link: {name} at {uri}"), media: None })
        }
        _ => None,
    }
}

fn unsupported(what: &str, kind: &str) -> String {
    match what {
        "" => format!("Unsupported inline media type: {kind} ({kind})."),
        what => format!(
            "[Unsupported {what} file: \"{kind}\". This model does not support {what} input. The read_file tool cannot process this \
             type of file either. To handle this file, try using skills if applicable, or any tools installed at system wide, or \
             let the user know you cannot process this type of file.]"
        ),
    }
}

fn error_text(call: &ToolCall, result: &CallResult) -> String {
    let mut error = Object::new();
    let content: Vec<Value> = result
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::Text(text) => json!({"type": "text", "text": text}),
            ContentBlock::Other(block) => in_order(block),
        })
        .collect();
    error.insert("content".to_owned(), content.into());
    if let Some(structured) = &result.structured {
        error.insert("structuredContent".to_owned(), structured.clone());
    }
    error.insert("isError".to_owned(), true.into());
    let name = &call.tool;
    let response = json!([{"functionResponse": {"name": name, "response": {"error": error, "content": "[Circular]"}}}]);
    format!(
        "MCP tool '{name}' reported tool error for function call: {} with response: {}",
        javascript_json(&json!({"name": name, "args": call.arguments})),
        javascript_json(&response)
    )
}

/// Returns a block with its members in the order in which the SDK declares them: a link is a resource with a type.
fn in_order(block: &Value) -> Value {
    const LINK: [&str; 10] =
        ["name", "title", "icons", "uri", "description", "mimeType", "size", "annotations", "_meta", "type"];
    let Some(members) = block.as_object().filter(|_| block["type"] == "resource_link") else { return block.clone() };
    let mut members: Vec<_> = members.clone().into_iter().collect();
    members.sort_by_key(|(name, _)| LINK.iter().position(|known| known == name).unwrap_or(LINK.len()));
    members.into_iter().collect()
}

/// Keeps the beginning and the end of a text that is too long: a fifth of the lines and characters, and the rest of them.
/// Characters are UTF-16 units, as in JavaScript.
fn cut(profile: &ClientProfile, tool: Option<&ListedTool>, text: &str) -> String {
    const SEPARATOR: &str = "\n\n---\n... [CONTENT TRUNCATED] ...\n---\n\n";
    const ELLIPSIS: &str = "...";
    let lines: Vec<&str> = text.split('\n').collect();
    if length(text) <= MAX_CHARACTERS && lines.len() <= MAX_LINES {
        return text.to_owned();
    }
    let kept_lines = MAX_LINES.min(lines.len());
    let head_lines = (kept_lines / 5).max(1);
    let head_budget = MAX_CHARACTERS / 5;
    let mut head = Vec::new();
    let mut used = 0;
    for line in &lines[..head_lines] {
        let left = head_budget - used;
        if left == 0 {
            break;
        }
        if length(line) + 1 > left {
            head.push(format!("{}{ELLIPSIS}", first(line, left.saturating_sub(ELLIPSIS.len()))));
            used = head_budget;
            break;
        }
        head.push((*line).to_owned());
        used += length(line) + 1;
    }
    let tail_budget = MAX_CHARACTERS.saturating_sub(used + SEPARATOR.len());
    let tail_start = (lines.len() - (kept_lines - head_lines)).max(head.len());
    let mut tail = Vec::new();
    let mut used = 0;
    for line in lines[tail_start..].iter().rev() {
        let left = tail_budget - used;
        if left == 0 {
            break;
        }
        if length(line) + 1 > left {
            tail.push(format!("{ELLIPSIS}{}", last(line, left.saturating_sub(ELLIPSIS.len()))));
            break;
        }
        tail.push((*line).to_owned());
        used += length(line) + 1;
    }
    tail.reverse();
    let name = tool.map_or("", |tool| tool.name.as_str());
    format!(
        "Tool output was too large and has been truncated.\nThe full output has been saved to: \
         ~/.qwen/tmp/mcp__{}__{name}_000000000000.output\nTo read the complete output, use the read_file tool with the absolute file \
         path above.\nThe truncated output below shows the beginning and end of the content. The marker '... [CONTENT TRUNCATED] \
         ...' indicates where content was removed.\n\nTruncated part of the output:\n{}{SEPARATOR}{}",
        profile.server,
        head.join("\n"),
        tail.join("\n")
    )
}

fn length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Returns the first UTF-16 units of a text, and no half of a character.
fn first(text: &str, units: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, character)| {
        used += character.len_utf16();
        used > units
    });
    end.map_or(text, |(end, _)| &text[..end])
}

/// Returns the last UTF-16 units of a text, and no half of a character. None are the whole text, as in JavaScript.
fn last(text: &str, units: usize) -> &str {
    if units == 0 {
        return text;
    }
    let mut used = 0;
    let start = text.char_indices().rev().find(|(_, character)| {
        used += character.len_utf16();
        used > units
    });
    start.map_or(text, |(start, character)| &text[start + character.len_utf8()..])
}
