//! Items of the OpenAI Responses API.

use healbench_reader::soft_errors::is_nothing;
use serde_json::{Map, Value};

use super::documents::{self, Entry};
use super::message::{self, text_of};
use crate::draft::Draft;
use crate::error::Stop;
use crate::log::LogText;
use crate::problem::ProblemKind;
use crate::sink::Sink;

const FORM: documents::Form = documents::Form {
    lists: &["results", "conversations", "data"],
    marks: &["input", "output", "items"],
    shared: &["model", "tools"],
    add,
};
/// The name of the tool of calls that have none, since they run shell commands.
const SHELL: &str = "local_shell";

pub(super) fn read(log: LogText<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    documents::read(log, &FORM, sink)
}

fn add(entry: Entry<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let Entry { mut value, position, document } = entry;
    let mut items = Vec::new();
    match &mut value {
        Value::Array(all) => items.append(all),
        other => {
            for field in ["input", "items", "output"] {
                match other.get_mut(field).map(Value::take) {
                    Some(Value::Array(mut part)) => items.append(&mut part),
                    Some(Value::String(text)) if field == "input" => {
                        items.push(serde_json::json!({"role": "user", "content": text}));
                    }
                    _ => {}
                }
            }
        }
    }
    if items.is_empty() {
        return sink.problem(ProblemKind::Broken, position, "it has no items in `input` or `output`");
    }
    let mut draft = sink.draft();
    draft.position = Some(position);
    let field = |name: &str| value.get(name).or_else(|| document.get(name));
    draft.conversation.model = field("model").and_then(Value::as_str).map(str::to_owned);
    draft.conversation.tools = message::tools(field("tools"));
    let usage = value.get("usage").and_then(message::usage);
    let task = text_of(&value, "task_id");
    if !task.is_empty() {
        task.clone_into(&mut draft.conversation.task);
    }
    for item in &mut items {
        if let Some(item) = item.as_object_mut() {
            add_item(&mut draft, item);
        }
    }
    if usage.is_some() {
        draft.set_last_usage(usage);
    }
    sink.take(draft)
}

/// Adds an item: a message, a call or a result. Others are left out.
pub(super) fn add_item(draft: &mut Draft, item: &mut Map<String, Value>) {
    let text = |field: &str| item.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let id = if text("call_id").is_empty() { text("id") } else { text("call_id") };
    let kind = text("type");
    match kind.as_str() {
        "message" | "" => {
            let mut message = Value::Object(std::mem::take(item));
            message::add(draft, &mut message, message::Form::default());
        }
        "function_call" => {
            // Codex writes the server of a tool of MCP apart.
            let namespace = text("namespace");
            let separator = if namespace.is_empty() || namespace.ends_with("__") { "" } else { "__" };
            let name = format!("{namespace}{separator}{}", text("name"));
            let arguments = item.get_mut("arguments").map(Value::take).unwrap_or_default();
            draft.call(None, &id, &name, arguments);
        }
        "custom_tool_call" => draft.call_with_text(None, &id, &text("name"), text("input")),
        "local_shell_call" | "shell_call" => {
            let arguments = item.get_mut("action").map(Value::take).unwrap_or_default();
            draft.call(None, &id, SHELL, arguments);
        }
        "mcp_call" => {
            let (name, output) = (text("name"), text("output"));
            let error = item.get("error").filter(|error| !is_nothing(error));
            let error = error.map(|error| message::error_text(error).map_or_else(|| error.to_string(), str::to_owned));
            let arguments = item.get("arguments").cloned().unwrap_or_default();
            draft.call(None, &id, &name, arguments);
            draft.result(&id, vec![error.clone().unwrap_or(output)], error.is_some());
        }
        kind if kind.ends_with("_call_output") => add_output(draft, &id, item.get("output").unwrap_or(&Value::Null)),
        _ => {}
    }
}

/// Adds a result: a text, blocks, or an object with `content` and `success`.
fn add_output(draft: &mut Draft, id: &str, output: &Value) {
    let is_error = output.get("success") == Some(&Value::Bool(false));
    let content = output.get("content").unwrap_or(output);
    let mut blocks = message::owned(message::texts(content));
    if blocks.is_empty() && output.is_object() {
        blocks.push(output.to_string());
    }
    draft.result(id, blocks, is_error);
}
