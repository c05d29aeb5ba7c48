//! Anthropic messages.
//!
//! The API takes back what it gave, with exceptions: it answers with blank texts and with messages of thinking alone, and refuses
//! both in a request. They are left out, and so is a message of which nothing is left. What stands next to each other then is
//! one message of the user.

use healbench_protocol::{Object, Usage};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::calls::{as_object, unique_ids};
use super::{Unreadable, Wire};
use crate::llm::{Arguments, CallResult, Conversation, Function, Message, Model, Reply, Said, SentCall, Stop};

/// The version of the API, which every request has to name.
const VERSION: &str = "2023-06-01";

/// The longest answer where the model's settings have none: the API demands one.
const DEFAULT_MAX_TOKENS: u32 = 4096;

/// What stands for the text of a failure that has none: the API refuses a failure without text.
const NO_TEXT: &str = "(empty)";

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    system: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Turn<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Object,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a str>,
        is_error: bool,
    },
    #[serde(untagged)]
    Own(&'a Value),
}

#[derive(Deserialize)]
struct Answer {
    id: Option<String>,
    content: Vec<Value>,
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Value,
}

/// A block of an answer. A call is a call whatever its fields are, as it has to be answered.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnswerBlock {
    Text {
        text: String,
    },
    ToolUse {
        #[serde(default)]
        id: Value,
        #[serde(default)]
        name: Value,
        #[serde(default, deserialize_with = "present")]
        input: Option<Value>,
    },
    Thinking {},
    RedactedThinking {},
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Counted {
    input_tokens: u64,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: u64,
}

pub(super) fn headers(key: Option<&str>) -> Vec<(&'static str, String)> {
    let key = key.map(|key| ("x-api-key", key.to_owned()));
    key.into_iter().chain([("anthropic-version", VERSION.to_owned())]).collect()
}

/// The API knows no seed.
pub(super) fn request(model: &Model, conversation: &Conversation, _seed: u32) -> Wire {
    let request = Request {
        model: &model.model,
        max_tokens: model.sampling.max_output_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
        temperature: model.sampling.temperature,
        top_p: model.sampling.top_p,
        system: &conversation.system,
        tools: conversation.tools.iter().map(tool).collect(),
        messages: turns(&conversation.messages),
    };
    Wire { path: "/messages".to_owned(), body: serde_json::to_value(request).unwrap_or_default() }
}

fn tool(function: &Function) -> Tool<'_> {
    Tool { name: &function.name, description: &function.description, input_schema: &function.parameters }
}

fn turns(messages: &[Message]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        let (role, content) = match message {
            Message::User(text) => (Role::User, words(text).into_iter().collect()),
            Message::Assistant(said) => (Role::Assistant, said_blocks(said)),
            Message::Results(results) => (Role::User, results.iter().map(result).collect()),
        };
        match turns.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            _ => turns.push(Turn { role, content }),
        }
    }
    turns
}

fn words(text: &str) -> Option<Block<'_>> {
    (!is_blank(text)).then_some(Block::Text { text })
}

/// The API refuses white space as it refuses nothing.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn said_blocks(said: &Said) -> Vec<Block<'_>> {
    match said.own.as_ref().and_then(Value::as_array) {
        Some(own) => own_blocks(own),
        None => words(&said.text).into_iter().chain(said.calls.iter().map(call)).collect(),
    }
}

fn own_blocks(own: &[Value]) -> Vec<Block<'_>> {
    let is_said = |block: &&Value| !matches!(read(block), AnswerBlock::Text { text } if is_blank(&text));
    let mut blocks: Vec<&Value> = own.iter().filter(is_said).collect();
    while let Some(AnswerBlock::Thinking {} | AnswerBlock::RedactedThinking {}) = blocks.last().map(|block| read(block))
    {
        blocks.pop();
    }
    blocks.into_iter().map(Block::Own).collect()
}

fn call(call: &SentCall) -> Block<'_> {
    Block::ToolUse { id: &call.id, name: &call.name, input: as_object(&call.arguments) }
}

fn result(result: &CallResult) -> Block<'_> {
    let content = match (is_blank(&result.text), result.is_error) {
        (false, _) => Some(result.text.as_str()),
        (true, true) => Some(NO_TEXT),
        (true, false) => None,
    };
    Block::ToolResult { tool_use_id: &result.id, content, is_error: result.is_error }
}

pub(super) fn reply(body: &Value) -> Result<Reply, Unreadable> {
    if body.get("type").and_then(Value::as_str) == Some("error") {
        return Err(Unreadable(error(body)));
    }
    let body = body.as_object().ok_or_else(|| Unreadable("it is no object".to_owned()))?;
    let Answer { id, content, stop_reason, usage } =
        Answer::deserialize(body).map_err(|error| Unreadable(error.to_string()))?;
    let (mut said, stop) = (said(id.as_deref(), content), stop(stop_reason.as_deref()));
    // A call that the limit cut may be an object by chance, with half of its fields. It is as little JSON as elsewhere.
    if let (Stop::Length, Some(SentCall { arguments, .. })) = (stop, said.calls.last_mut())
        && let Arguments::Json(torn) = &*arguments
    {
        *arguments = Arguments::Text(torn.to_string());
    }
    Ok(Reply { said, stop, usage: counted(&usage) })
}

fn error(body: &Value) -> String {
    let part = |key| body.pointer(key).and_then(Value::as_str);
    let kind = part("/error/type").unwrap_or("error");
    let message = part("/error/message").unwrap_or("without a message");
    format!("{kind}: {message}")
}

/// Only of an object: serde would read a list as fields in their order too.
fn read(block: &Value) -> AnswerBlock {
    let block = block.as_object().map(AnswerBlock::deserialize);
    block.and_then(Result::ok).unwrap_or(AnswerBlock::Other)
}

fn said(message: Option<&str>, mut content: Vec<Value>) -> Said {
    let ids = call_ids(message, &mut content);
    let mut ids = ids.into_iter();
    let mut said = Said::default();
    for block in &content {
        match read(block) {
            AnswerBlock::Text { text } => said.text.push_str(&text),
            AnswerBlock::ToolUse { name, input, .. } => said.calls.push(SentCall {
                id: ids.next().unwrap_or_default(),
                name: name.as_str().unwrap_or_default().to_owned(),
                arguments: input.map_or_else(|| Arguments::Text(String::new()), Arguments::Json),
            }),
            AnswerBlock::Thinking {} | AnswerBlock::RedactedThinking {} | AnswerBlock::Other => {}
        }
    }
    said.own = Some(Value::Array(content));
    said
}

/// The ids of the calls among the blocks, which have them afterwards too: results refer to what is sent back.
fn call_ids(message: Option<&str>, content: &mut [Value]) -> Vec<String> {
    let given: Vec<Value> = content.iter().map(read).filter_map(call_id).collect();
    let given: Vec<Option<&str>> = given.iter().map(Value::as_str).collect();
    let ids = unique_ids(&given, message);
    let calls = content.iter_mut().filter(|block| matches!(read(block), AnswerBlock::ToolUse { .. }));
    for (block, (given, id)) in calls.zip(given.iter().zip(&ids)) {
        if given != &Some(id.as_str()) {
            block["id"] = Value::String(id.clone());
        }
    }
    ids
}

fn call_id(block: AnswerBlock) -> Option<Value> {
    match block {
        AnswerBlock::ToolUse { id, .. } => Some(id),
        _ => None,
    }
}

/// `pause_turn` asks to go on with the tools of the provider's own side, of which none are offered.
fn stop(reason: Option<&str>) -> Stop {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
        Some("refusal") => Stop::Refusal,
        _ => Stop::End,
    }
}

/// The API counts what is read from and written to a cache beside the input, and reasoning within the output.
fn counted(usage: &Value) -> Option<Usage> {
    let counted = Counted::deserialize(usage).ok()?;
    let cached = [counted.cache_creation_input_tokens, counted.cache_read_input_tokens];
    Some(Usage {
        input: cached.into_iter().flatten().fold(counted.input_tokens, u64::saturating_add),
        cache_read: counted.cache_read_input_tokens,
        cache_write: counted.cache_creation_input_tokens,
        output: counted.output_tokens,
        reasoning: None,
    })
}

/// Tells a null from nothing.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
