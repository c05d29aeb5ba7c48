//! The OpenAI responses API, used without server-side state.

use healbench_core::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::openai::{
    InputDetails, Kind, OutputDetails, ParsedText, Part, arguments_text, check_error, count, ensure_unique, json,
    lenient, read, read_arguments,
};
use super::{ApiRequest, UnreadableResponse};
use crate::llm::{AssistantMessage, Conversation, FinishReason, Function, Message, Model, Reply, SentCall};

/// A request. The API has no seed.
#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: Role,
        content: &'a str,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: &'a str,
    },
    #[serde(untagged)]
    Raw(&'a Value),
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: Kind,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    // If `strict` is omitted, OpenAI makes every argument required and constrains the model to the schema.
    strict: bool,
}

pub(super) fn request(model: &Model, conversation: &Conversation, _seed: u32) -> ApiRequest {
    let request = Request {
        model: &model.model,
        instructions: &conversation.system,
        input: conversation.messages.iter().flat_map(items).collect(),
        tools: conversation.tools.iter().map(tool).collect(),
        temperature: model.sampling.temperature,
        top_p: model.sampling.top_p,
        max_output_tokens: model.sampling.max_output_tokens,
        store: false,
        include: include(&model.model),
    };
    ApiRequest { path: "/responses".to_owned(), body: json(&request) }
}

/// Returns the additional data to include in responses.
///
/// Because nothing is stored at OpenAI, reasoning must be returned encrypted: otherwise a reasoning item refers to data
/// that was not stored, and the next request fails. Models without reasoning reject this setting with status 400. They
/// are old and are listed here; all other models are assumed to reason, and `extra_body` can override this.
fn include(model: &str) -> &'static [&'static str] {
    const WITHOUT_REASONING: [&str; 4] = ["gpt-3.5", "gpt-4", "chatgpt-4o", "gpt-5-chat"];
    // Routers use names such as `openai/gpt-4o`, fine-tuned models `ft:gpt-4o:...`.
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    if WITHOUT_REASONING.iter().any(|start| name.starts_with(start)) { &[] } else { &["reasoning.encrypted_content"] }
}

fn items(message: &Message) -> Vec<Item<'_>> {
    match message {
        Message::User(content) => vec![Item::Message { role: Role::User, content }],
        Message::Assistant(AssistantMessage { raw: Some(Value::Array(raw)), .. }) => {
            raw.iter().map(Item::Raw).collect()
        }
        Message::Assistant(AssistantMessage { text, calls, .. }) => {
            let text = Some(text.as_str()).filter(|text| !text.is_empty());
            let text = text.map(|content| Item::Message { role: Role::Assistant, content });
            let calls = calls.iter().map(|SentCall { id, name, arguments, .. }| Item::FunctionCall {
                call_id: id,
                name,
                arguments: arguments_text(arguments),
            });
            text.into_iter().chain(calls).collect()
        }
        Message::Results(results) => results
            .iter()
            .map(|result| Item::FunctionCallOutput { call_id: &result.id, output: &result.text })
            .collect(),
    }
}

fn tool(function: &Function) -> Tool<'_> {
    let Function { name, description, parameters } = function;
    Tool { kind: Kind::Function, name, description, parameters, strict: false }
}

#[derive(Deserialize)]
struct ResponseBody {
    #[serde(default)]
    error: Value,
    #[serde(default, deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    status: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    incomplete_details: Incomplete,
    #[serde(default, deserialize_with = "lenient")]
    output: Option<Vec<Value>>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<ApiUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Incomplete {
    #[serde(deserialize_with = "lenient")]
    reason: Option<String>,
}

/// An item of a response. Reasoning and other items are sent back unchanged.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Output {
    Message {
        content: Vec<Part>,
    },
    FunctionCall {
        #[serde(default, deserialize_with = "lenient")]
        call_id: String,
        #[serde(default, deserialize_with = "lenient")]
        name: String,
        #[serde(default)]
        arguments: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ApiUsage {
    #[serde(deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    output_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    input_tokens_details: InputDetails,
    #[serde(deserialize_with = "lenient")]
    output_tokens_details: OutputDetails,
}

pub(super) fn reply(body: &Value) -> Result<Reply, UnreadableResponse> {
    let response: ResponseBody = read(body, "the body")?;
    check_error(&response.error)?;
    if let Some(status @ ("failed" | "cancelled" | "queued" | "in_progress")) = response.status.as_deref() {
        return Err(UnreadableResponse(format!("its status is `{status}`")));
    }
    let Some(mut items) = response.output else {
        return Err(UnreadableResponse("it has no `output`".to_owned()));
    };
    let (parsed, mut calls) = read_items(&mut items)?;
    ensure_unique(calls.iter_mut().map(|call| &mut call.id));
    let sent = items.iter_mut().filter(|item| item["type"] == "function_call");
    for (item, call) in sent.zip(&calls) {
        item["call_id"] = call.id.as_str().into();
    }
    let finish_reason = match (response.status.as_deref(), response.incomplete_details.reason.as_deref()) {
        _ if parsed.refused => FinishReason::Refusal,
        (Some("incomplete"), Some("content_filter")) => FinishReason::Refusal,
        (Some("incomplete"), Some("max_output_tokens")) => FinishReason::Length,
        _ => FinishReason::End,
    };
    let message = AssistantMessage { text: parsed.text, calls, raw: Some(Value::Array(items)) };
    let usage = response.usage.and_then(|api_usage| api_usage.usage());
    Ok(Reply { message, finish_reason, usage, model: response.model, note: None })
}

fn read_items(items: &mut [Value]) -> Result<(ParsedText, Vec<SentCall>), UnreadableResponse> {
    let (mut parsed, mut calls) = (ParsedText::default(), Vec::new());
    for (index, item) in items.iter_mut().enumerate() {
        if !item.is_object() {
            return Err(UnreadableResponse(format!("output[{index}] is no object")));
        }
        match read(item, &format!("output[{index}]"))? {
            Output::Message { content } => {
                // A model may write text before and after a call.
                if !parsed.text.is_empty() && !content.is_empty() {
                    parsed.text.push('\n');
                }
                parsed.push_parts(content);
            }
            Output::FunctionCall { call_id, name, mut arguments } => {
                let (read, numbers) = read_arguments(&mut arguments);
                item["arguments"] = arguments;
                calls.push(SentCall { id: call_id, name, arguments: read, numbers });
            }
            Output::Other => {}
        }
    }
    Ok((parsed, calls))
}

impl ApiUsage {
    fn usage(&self) -> Option<Usage> {
        let InputDetails { cached_tokens: cache_read, cache_write_tokens: cache_write } = self.input_tokens_details;
        Some(Usage {
            input: self.input_tokens?,
            cache_read,
            cache_write,
            output: self.output_tokens?,
            reasoning: self.output_tokens_details.reasoning_tokens,
        })
    }
}
