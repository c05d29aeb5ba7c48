//! Messages: their texts, calls and results, in the forms of all sources that have messages.

use healbench_reader::soft_errors::is_nothing;
use serde_json::{Map, Value};

use crate::conversation::Tool;
use crate::draft::Draft;

/// Properties of the messages of a source.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Form {
    /// True if the text of an error is what the agent saw, and not the content beside it.
    pub(crate) error_is_text: bool,
    /// The text in the messages of a user that end the conversation.
    pub(crate) end_marker: Option<&'static str>,
}

/// Adds a message. A message of the system is left out, and so are the calls of a simulated user.
pub(crate) fn add(draft: &mut Draft, message: &mut Value, form: Form) {
    let Some(message) = message.as_object_mut() else { return };
    if let Some(time) = message.get("timestamp").and_then(Value::as_str) {
        draft.time(time);
    }
    if message.get("requestor").and_then(Value::as_str) == Some("user") {
        return;
    }
    let role = message.get("role").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    match role.as_str() {
        "assistant" | "ai" | "model" => add_turn(draft, message, None),
        "user" | "human" => add_user(draft, message, form),
        "tool" | "function" | "tool_result" => add_result(draft, message, form),
        _ => {}
    }
}

/// Adds what the model sent.
pub(crate) fn add_turn(draft: &mut Draft, message: &mut Map<String, Value>, turn: Option<&str>) {
    let usage = message.get("usage").and_then(usage);
    if let Some(usage) = usage {
        draft.turn(turn, |turn| turn.usage = Some(usage));
    }
    let content = message.get_mut("content").map(Value::take).unwrap_or_default();
    draft.model_text(turn, &texts(&content).join("\n"));
    if let Value::Array(blocks) = content {
        for mut block in blocks {
            if block.get("type").and_then(Value::as_str) == Some("tool_use") {
                let input = block.get_mut("input").map(Value::take).unwrap_or_default();
                draft.call(turn, text_of(&block, "id"), text_of(&block, "name"), input);
            }
        }
    }
    for call in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        add_call(draft, call, turn);
    }
    if let Some(function) = message.get_mut("function_call").filter(|call| call.is_object()) {
        let arguments = function.get_mut("arguments").map(Value::take).unwrap_or_default();
        draft.call(turn, "", text_of(function, "name"), arguments);
    }
}

/// Adds a call: `function.name` and `function.arguments`, `function` and `args`, or `name` and `arguments`.
fn add_call(draft: &mut Draft, call: &mut Value, turn: Option<&str>) {
    if text_of(call, "requestor") == "user" {
        return;
    }
    let id = text_of(call, "id").to_owned();
    let has_function = call.get("function").is_some_and(Value::is_object);
    let function = if has_function { &mut call["function"] } else { call };
    let name = [text_of(function, "name"), text_of(function, "function")].into_iter().find(|name| !name.is_empty());
    let name = name.unwrap_or_default().to_owned();
    let arguments =
        ["arguments", "args", "input"].iter().find(|field| function.get(**field).is_some_and(|value| !value.is_null()));
    let arguments = arguments.and_then(|field| function.get_mut(*field)).map(Value::take).unwrap_or_default();
    draft.call(turn, &id, &name, arguments);
}

fn add_user(draft: &mut Draft, message: &Map<String, Value>, form: Form) {
    let content = message.get("content").unwrap_or(&Value::Null);
    add_result_blocks(draft, content);
    let text = texts(content).join("\n");
    if !form.end_marker.is_some_and(|marker| text.contains(marker)) {
        draft.user(text);
    }
}

/// Adds the blocks of type `tool_result`, and returns true if there are any.
pub(crate) fn add_result_blocks(draft: &mut Draft, content: &Value) -> bool {
    let mut has_result = false;
    for block in content.as_array().into_iter().flatten() {
        if text_of(block, "type") == "tool_result" {
            has_result = true;
            let blocks = owned(texts(block.get("content").unwrap_or(&Value::Null)));
            let is_error = block.get("is_error") == Some(&Value::Bool(true));
            draft.result(text_of(block, "tool_use_id"), blocks, is_error);
        }
    }
    has_result
}

fn add_result(draft: &mut Draft, message: &Map<String, Value>, form: Form) {
    let content = message.get("content").unwrap_or(&Value::Null);
    if add_result_blocks(draft, content) {
        return;
    }
    let text = |field: &str| message.get(field).and_then(Value::as_str).unwrap_or_default();
    let id = if text("tool_call_id").is_empty() { text("id") } else { text("tool_call_id") };
    let mut blocks = owned(texts(content));
    let error = message.get("error").filter(|error| !is_nothing(error));
    let is_flagged = ["is_error", "isError"].iter().any(|flag| message.get(*flag) == Some(&Value::Bool(true)));
    let error_text = error.and_then(error_text);
    if let Some(error_text) = error_text
        && (form.error_is_text && !is_code(error_text) || blocks.iter().all(|block| block.trim().is_empty()))
    {
        blocks = vec![error_text.to_owned()];
    }
    draft.result(id, blocks, is_flagged || error.is_some());
}

/// Returns true for a code such as `NOT_FOUND`, which names a text that the agent saw.
fn is_code(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Returns the text of an error: itself, or its message.
pub(crate) fn error_text(error: &Value) -> Option<&str> {
    error.as_str().or_else(|| error.get("message")?.as_str())
}

/// Returns the texts of a content: itself, or those of its blocks.
pub(crate) fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(text_of_block).collect(),
        Value::Object(_) => text_of_block(content).into_iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

fn text_of_block(block: &Value) -> Option<&str> {
    if let Some(text) = block.as_str() {
        return Some(text);
    }
    match block.get("type").and_then(Value::as_str) {
        None | Some("text" | "input_text" | "output_text" | "refusal") => {
            ["text", "content", "refusal"].iter().find_map(|field| block.get(*field)?.as_str())
        }
        Some(_) => None,
    }
}

/// Returns true if a text begins, after white space, with one of these.
pub(crate) fn begins_with_any(text: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| text.trim_start().starts_with(beginning))
}

pub(crate) fn owned(texts: Vec<&str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}

/// Returns the text in a field; empty if there is none.
pub(crate) fn text_of<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the tokens sent and received. Tokens that a cache held were sent too.
pub(crate) fn usage(usage: &Value) -> Option<(u64, u64)> {
    let count = |names: &[&str]| names.iter().find_map(|name| usage.get(*name)?.as_u64());
    let sent = count(&["input_tokens", "prompt_tokens"])?;
    let received = count(&["output_tokens", "completion_tokens"])?;
    // Anthropic does not count them as input; the others do.
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
    let sent = cached.iter().filter_map(|name| usage.get(*name)?.as_u64()).fold(sent, u64::saturating_add);
    Some((sent, received))
}

/// Returns the tools of a list, in whatever form: with `parameters`, `input_schema` or `inputSchema`, also inside of `function`.
pub(crate) fn tools(list: Option<&Value>) -> Option<Vec<Tool>> {
    let tool = |tool: &Value| {
        let tool = tool.get("function").filter(|function| function.is_object()).unwrap_or(tool);
        let name = tool.get("name")?.as_str()?.to_owned();
        let schema = ["parameters", "input_schema", "inputSchema"].iter().find_map(|field| tool.get(*field));
        let schema = schema.cloned().unwrap_or_default();
        Some(Tool { name, description: text_of(tool, "description").to_owned(), schema })
    };
    let tools: Vec<Tool> = list?.as_array()?.iter().filter_map(tool).collect();
    (!tools.is_empty()).then_some(tools)
}
