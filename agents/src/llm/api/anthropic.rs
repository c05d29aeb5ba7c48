//! The Anthropic messages API.
//!
//! Responses can be sent back with some exceptions: the API returns blank texts and messages that end with thinking
//! blocks, but rejects both in requests. They are omitted, and so are messages that become empty. Adjacent user
//! messages are then merged into one.

use healbench_core::{Object, Usage, diagnostics};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::calls::{as_object, unique_ids};
use super::openai::{or_none, read_arguments};
use super::{ApiRequest, UnreadableResponse};
use crate::llm::{
    Arguments, AssistantMessage, CallResult, Conversation, FinishReason, Function, Message, Model, Reply, SentCall,
};

/// The version of the API, a required header.
const VERSION: &str = "2023-06-01";

/// The longest reply in tokens if the settings have none, because the API requires a value.
const DEFAULT_MAX_TOKENS: u32 = 4096;

/// The replacement for an empty error text, which the API rejects.
const EMPTY_TEXT: &str = "(empty)";

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
    messages: Vec<ApiMessage<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
struct ApiMessage<'a> {
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
    Raw(&'a Value),
}

#[derive(Deserialize)]
struct ResponseBody {
    id: Option<String>,
    #[serde(default)]
    model: Value,
    content: Vec<Value>,
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Value,
}

/// A block of a response. Any `tool_use` block is parsed as a call, whatever its fields, because every call must be
/// answered.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseBlock {
    Text {
        text: String,
    },
    ToolUse {
        #[serde(default)]
        id: Value,
        #[serde(default)]
        name: Value,
        #[serde(default)]
        input: Value,
    },
    Thinking {},
    RedactedThinking {},
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct ApiUsage {
    input_tokens: u64,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: u64,
}

pub(super) fn headers(key: Option<&str>) -> Vec<(&'static str, String)> {
    let key = key.map(|key| ("x-api-key", key.to_owned()));
    key.into_iter().chain([("anthropic-version", VERSION.to_owned())]).collect()
}

/// Builds the request. The API has no seed.
pub(super) fn request(model: &Model, conversation: &Conversation, _seed: u32) -> ApiRequest {
    let request = Request {
        model: &model.model,
        max_tokens: model.sampling.max_output_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
        temperature: model.sampling.temperature,
        top_p: model.sampling.top_p,
        system: &conversation.system,
        tools: conversation.tools.iter().map(tool).collect(),
        messages: api_messages(&conversation.messages),
    };
    ApiRequest { path: "/messages".to_owned(), body: serde_json::to_value(request).unwrap_or_default() }
}

fn tool(function: &Function) -> Tool<'_> {
    Tool { name: &function.name, description: &function.description, input_schema: &function.parameters }
}

fn api_messages(messages: &[Message]) -> Vec<ApiMessage<'_>> {
    let mut api_messages: Vec<ApiMessage<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        let (role, content) = match message {
            Message::User(text) => (Role::User, text_block(text).into_iter().collect()),
            Message::Assistant(message) => (Role::Assistant, assistant_blocks(message)),
            Message::Results(results) => (Role::User, results.iter().map(result).collect()),
        };
        match api_messages.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            _ => api_messages.push(ApiMessage { role, content }),
        }
    }
    api_messages
}

fn text_block(text: &str) -> Option<Block<'_>> {
    (!is_blank(text)).then_some(Block::Text { text })
}

/// Returns true if the API would reject a text as empty; this includes white space.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn assistant_blocks(message: &AssistantMessage) -> Vec<Block<'_>> {
    match message.raw.as_ref().and_then(Value::as_array) {
        Some(raw) => raw_blocks(raw),
        None => text_block(&message.text).into_iter().chain(message.calls.iter().map(call)).collect(),
    }
}

fn raw_blocks(raw: &[Value]) -> Vec<Block<'_>> {
    let is_sendable = |block: &&Value| !matches!(read(block), ResponseBlock::Text { text } if is_blank(&text));
    let mut blocks: Vec<&Value> = raw.iter().filter(is_sendable).collect();
    while let Some(ResponseBlock::Thinking {} | ResponseBlock::RedactedThinking {}) =
        blocks.last().map(|block| read(block))
    {
        blocks.pop();
    }
    blocks.into_iter().map(Block::Raw).collect()
}

fn call(call: &SentCall) -> Block<'_> {
    Block::ToolUse { id: &call.id, name: &call.name, input: as_object(&call.arguments) }
}

fn result(result: &CallResult) -> Block<'_> {
    let content = match (is_blank(&result.text), result.is_error) {
        (false, _) => Some(result.text.as_str()),
        (true, true) => Some(EMPTY_TEXT),
        (true, false) => None,
    };
    Block::ToolResult { tool_use_id: &result.id, content, is_error: result.is_error }
}

pub(super) fn reply(body: &Value) -> Result<Reply, UnreadableResponse> {
    if body.get("type").and_then(Value::as_str) == Some("error") {
        return Err(UnreadableResponse(error(body)));
    }
    let body = body.as_object().ok_or_else(|| UnreadableResponse("it is no object".to_owned()))?;
    let ResponseBody { id, model, content, stop_reason, usage } =
        ResponseBody::deserialize(body).map_err(|error| UnreadableResponse(error.to_string()))?;
    let (mut message, finish_reason) = (read_message(id.as_deref(), content), finish_reason(stop_reason.as_deref()));
    // A call truncated by the token limit may still be an object, with some fields missing. Treat it as invalid JSON.
    if let (FinishReason::Length, Some(SentCall { arguments, .. })) = (finish_reason, message.calls.last_mut())
        && let Arguments::Json(torn) = &*arguments
    {
        *arguments = Arguments::Text(torn.to_string());
    }
    let model = model.as_str().map(str::to_owned);
    let is_call_missing = message.calls.is_empty() && stop_reason.as_deref() == Some("tool_use");
    let note = is_call_missing.then_some(diagnostics::UNPARSED);
    Ok(Reply { message, finish_reason, usage: read_usage(&usage), model, note })
}

fn error(body: &Value) -> String {
    let part = |key| body.pointer(key).and_then(Value::as_str);
    let kind = part("/error/type").unwrap_or("error");
    let message = part("/error/message").unwrap_or("without a message");
    format!("{kind}: {message}")
}

/// Parses a block that is an object. Serde would also accept an array of the fields in order.
fn read(block: &Value) -> ResponseBlock {
    let block = block.as_object().map(ResponseBlock::deserialize);
    block.and_then(Result::ok).unwrap_or(ResponseBlock::Other)
}

fn read_message(message_id: Option<&str>, mut content: Vec<Value>) -> AssistantMessage {
    let ids = call_ids(message_id, &mut content);
    let mut ids = ids.into_iter();
    let mut message = AssistantMessage::default();
    for block in &content {
        match read(block) {
            ResponseBlock::Text { text } => message.text.push_str(&text),
            ResponseBlock::ToolUse { name, input, .. } => message.calls.push(SentCall {
                id: ids.next().unwrap_or_default(),
                name: name.as_str().unwrap_or_default().to_owned(),
                arguments: read_input(input),
                numbers: None,
            }),
            ResponseBlock::Thinking {} | ResponseBlock::RedactedThinking {} | ResponseBlock::Other => {}
        }
    }
    // The API takes nothing but objects back.
    let calls = content.iter_mut().filter(|block| matches!(read(block), ResponseBlock::ToolUse { .. }));
    for (block, call) in calls.zip(&message.calls).filter(|(block, _)| !block["input"].is_object()) {
        block["input"] = Value::Object(as_object(&call.arguments));
    }
    message.raw = Some(Value::Array(content));
    message
}

/// Reads the arguments of a call as other servers of this API send them: nothing if there are none, or JSON in a text.
fn read_input(mut input: Value) -> Arguments {
    if input.is_string() { read_arguments(&mut input).0 } else { Arguments::Json(or_none(input)) }
}

/// Returns unique ids for the calls among the blocks and writes them back to the blocks, because results refer to them.
fn call_ids(message_id: Option<&str>, content: &mut [Value]) -> Vec<String> {
    let given: Vec<Value> = content.iter().map(read).filter_map(call_id).collect();
    let given: Vec<Option<&str>> = given.iter().map(Value::as_str).collect();
    let ids = unique_ids(&given, message_id);
    let calls = content.iter_mut().filter(|block| matches!(read(block), ResponseBlock::ToolUse { .. }));
    for (block, (given, id)) in calls.zip(given.iter().zip(&ids)) {
        if given != &Some(id.as_str()) {
            block["id"] = Value::String(id.clone());
        }
    }
    ids
}

fn call_id(block: ResponseBlock) -> Option<Value> {
    match block {
        ResponseBlock::ToolUse { id, .. } => Some(id),
        _ => None,
    }
}

/// Converts a stop reason. `pause_turn` occurs only with server-side tools, which are not used.
fn finish_reason(reason: Option<&str>) -> FinishReason {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
        Some("refusal") => FinishReason::Refusal,
        _ => FinishReason::End,
    }
}

/// Converts token counts. The API counts cache reads and writes in addition to the input, and reasoning as part of the
/// output.
fn read_usage(usage: &Value) -> Option<Usage> {
    let api_usage = ApiUsage::deserialize(usage).ok()?;
    let cached = [api_usage.cache_creation_input_tokens, api_usage.cache_read_input_tokens];
    Some(Usage {
        input: cached.into_iter().flatten().fold(api_usage.input_tokens, u64::saturating_add),
        cache_read: api_usage.cache_read_input_tokens,
        cache_write: api_usage.cache_creation_input_tokens,
        output: api_usage.output_tokens,
        reasoning: None,
    })
}
