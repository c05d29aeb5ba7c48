//! OpenAI chat completions, and the many compatible servers.
//!
//! Responses are parsed as those servers send them, not only as OpenAI documents them: content in parts, arguments as
//! objects, calls without ids, errors with status 200. Requests contain only fields that all servers accept.

use std::borrow::Cow;

use healbench_core::{Usage, diagnostics};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::openai::{
    InputDetails, Kind, OutputDetails, ParsedText, Part, arguments_text, check_error, count, ensure_unique, json,
    lenient, read, read_arguments,
};
use super::{Api, ApiRequest, UnreadableResponse};
use crate::llm::{AssistantMessage, Conversation, FinishReason, Function, Message, Model, Reply, SentCall};

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    messages: Vec<ChatMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum ChatMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    // There is no field for tool failures: the model sees only the text of the response.
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
    #[serde(untagged)]
    Assistant(Cow<'a, Value>),
}

/// A message of the model, as parsed, stored and sent back.
///
/// It has only the fields that are allowed in requests. Providers that return reasoning expect it back, some of them
/// require it. Others reject unknown keys, and responses contain keys (`annotations`, `audio`) that even the server
/// that sent them rejects.
#[derive(Default, Serialize, Deserialize)]
struct Assistant {
    #[serde(skip_deserializing)]
    role: AssistantRole,
    #[serde(default)]
    content: Value,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    refusal: Option<String>,
    /// Reasoning of DeepSeek, Moonshot, llama-server and others.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<Value>,
    /// Reasoning of OpenRouter, vLLM, Ollama and others.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Value>,
    /// Signed and encrypted reasoning of OpenRouter.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<Value>,
    /// Thought signatures of Gemini.
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "lowercase")]
enum AssistantRole {
    #[default]
    Assistant,
}

#[derive(Serialize, Deserialize)]
struct ToolCall {
    #[serde(default, deserialize_with = "lenient")]
    id: String,
    #[serde(rename = "type", skip_deserializing)]
    kind: Kind,
    function: FunctionCall,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Value>,
}

#[derive(Serialize, Deserialize)]
struct FunctionCall {
    #[serde(default, deserialize_with = "lenient")]
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: Kind,
    function: ToolFunction<'a>,
}

/// A function definition without `strict`, which is off by default in this API and would constrain arguments to the
/// schema.
#[derive(Serialize)]
struct ToolFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

pub(super) fn request(model: &Model, conversation: &Conversation, seed: u32) -> ApiRequest {
    let sampling = &model.sampling;
    // OpenAI's reasoning models reject `max_tokens`. Compatible servers accept it, and some silently ignore the newer
    // name.
    let is_openai = model.base_url == Api::OpenaiChat.default_base_url();
    let limit = |for_openai: bool| sampling.max_output_tokens.filter(|_| for_openai == is_openai);
    let system = Some(conversation.system.as_str()).filter(|text| !text.is_empty());
    let request = Request {
        model: &model.model,
        messages: system
            .map(|content| ChatMessage::System { content })
            .into_iter()
            .chain(conversation.messages.iter().flat_map(chat_messages))
            .collect(),
        tools: conversation.tools.iter().map(tool).collect(),
        temperature: sampling.temperature,
        top_p: sampling.top_p,
        seed: sampling.seed.then_some(seed),
        max_completion_tokens: limit(true),
        max_tokens: limit(false),
    };
    let mut body = json(&request);
    if !is_openai {
        wrap_non_object_arguments(&mut body);
    }
    ApiRequest { path: "/chat/completions".to_owned(), body }
}

/// Wraps arguments that are not an object in one. Compatible servers (llama-server, vLLM, Ollama) parse the arguments
/// of earlier calls and reject other values, so a mistake that the model could fix would end the episode.
fn wrap_non_object_arguments(body: &mut Value) {
    let messages = body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten();
    let calls = messages.filter_map(|message| message.get_mut("tool_calls")?.as_array_mut()).flatten();
    for arguments in calls.filter_map(|call| call.get_mut("function")?.get_mut("arguments")) {
        if let Value::String(text) = arguments
            && serde_json::from_str::<serde_json::Map<String, Value>>(text).is_err()
        {
            let wrapped = serde_json::json!({ "arguments": text });
            *arguments = wrapped.to_string().into();
        }
    }
}

fn chat_messages(message: &Message) -> Vec<ChatMessage<'_>> {
    match message {
        Message::User(text) => vec![ChatMessage::User { content: text }],
        Message::Assistant(AssistantMessage { raw: Some(raw), .. }) => vec![ChatMessage::Assistant(Cow::Borrowed(raw))],
        Message::Assistant(message) => vec![ChatMessage::Assistant(Cow::Owned(json(&assistant(message))))],
        Message::Results(results) => {
            results.iter().map(|result| ChatMessage::Tool { tool_call_id: &result.id, content: &result.text }).collect()
        }
    }
}

fn assistant(message: &AssistantMessage) -> Assistant {
    let calls = message.calls.iter().map(|call| ToolCall {
        id: call.id.clone(),
        kind: Kind::Function,
        function: FunctionCall { name: call.name.clone(), arguments: arguments_text(&call.arguments).into() },
        extra_content: None,
    });
    let mut message = Assistant {
        content: Some(message.text.as_str()).filter(|text| !text.is_empty()).into(),
        tool_calls: Some(calls.collect()),
        ..Assistant::default()
    };
    message.normalize();
    message
}

fn tool(function: &Function) -> Tool<'_> {
    let Function { name, description, parameters } = function;
    Tool { kind: Kind::Function, function: ToolFunction { name, description, parameters } }
}

#[derive(Deserialize)]
struct ResponseBody {
    #[serde(default)]
    error: Value,
    #[serde(default, deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    choices: Vec<Value>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<ApiUsage>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    error: Value,
    #[serde(default)]
    message: Value,
    #[serde(default, deserialize_with = "lenient")]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ApiUsage {
    #[serde(deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    completion_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    total_tokens: Option<u64>,
    /// The names of the responses API, which some gateways use here.
    #[serde(deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    output_tokens: Option<u64>,
    /// Cached tokens as Kimi, DeepSeek and gateways to Anthropic count them, in place of the details.
    #[serde(deserialize_with = "count")]
    cached_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    prompt_cache_hit_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    prompt_tokens_details: InputDetails,
    #[serde(deserialize_with = "lenient")]
    completion_tokens_details: OutputDetails,
}

pub(super) fn reply(body: &Value) -> Result<Reply, UnreadableResponse> {
    let response: ResponseBody = read(body, "the body")?;
    check_error(&response.error)?;
    let mut choice: Choice = match response.choices.first() {
        Some(choice) => read(choice, "choices[0]")?,
        None => return Err(UnreadableResponse("it has no `choices`".to_owned())),
    };
    check_error(&choice.error)?;
    take_function_call(&mut choice.message);
    let in_other_choice = take_other_calls(&mut choice.message, &response.choices[1..]);
    if choice.message.is_null() {
        return Err(UnreadableResponse("choices[0] has no `message`".to_owned()));
    }
    let mut message: Assistant = read(&choice.message, "choices[0].message")?;
    let parsed = message.parsed_text()?;
    let calls = message.calls();
    message.normalize();
    let reason = choice.finish_reason.unwrap_or_default().to_lowercase().replace('-', "_");
    let finish_reason = match reason.as_str() {
        _ if parsed.refused => FinishReason::Refusal,
        // The last are of z.ai, and of gateways to Anthropic and Gemini.
        "content_filter" | "sensitive" | "refusal" | "safety" | "recitation" | "prohibited_content" | "blocklist" => {
            FinishReason::Refusal
        }
        // Names for a full context, of Mistral and of z.ai; of gateways.
        "length" | "model_length" | "model_context_window_exceeded" | "max_tokens" | "max_output_tokens" => {
            FinishReason::Length
        }
        "malformed_function_call" if calls.is_empty() => FinishReason::Unparsed,
        // Finish reasons of OpenRouter, Mistral, DeepSeek, z.ai, vLLM and SGLang for generation that failed on the server's
        // side.
        "error" | "insufficient_system_resource" | "network_error" | "abort" | "cancelled" | "timeout" => {
            return Err(UnreadableResponse(format!("the server gave up with the finish reason `{reason}`")));
        }
        _ => FinishReason::End,
    };
    let is_call_missing = calls.is_empty() && matches!(reason.as_str(), "tool_calls" | "function_call");
    let other_choice = in_other_choice.then_some(diagnostics::OTHER_CHOICE);
    let note = other_choice.or(is_call_missing.then_some(diagnostics::UNPARSED));
    let message = AssistantMessage { text: parsed.text, calls, raw: Some(json(&message)) };
    let usage = response.usage.and_then(|api_usage| api_usage.usage());
    Ok(Reply { message, finish_reason, usage, model: response.model, note })
}

/// Turns the only call of the API before tools, which some servers still answer with, into a list of calls.
fn take_function_call(message: &mut Value) {
    let Some(message) = message.as_object_mut() else { return };
    let has_calls = message.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty());
    match message.remove("function_call") {
        Some(call @ Value::Object(_)) if !has_calls => {
            message.insert("tool_calls".to_owned(), serde_json::json!([{"type": "function", "function": call}]));
        }
        _ => {}
    }
}

/// Copies the calls of the first choice that has any into a message without calls. Some gateways deal the text and the calls
/// of one answer out to several choices; no more than one is ever asked for.
fn take_other_calls(message: &mut Value, others: &[Value]) -> bool {
    let calls = |message: &Value| {
        message.get("tool_calls").filter(|calls| calls.as_array().is_some_and(|calls| !calls.is_empty())).cloned()
    };
    let other = others.iter().find_map(|choice| calls(choice.get("message")?));
    match (calls(message), message.as_object_mut(), other) {
        (None, Some(message), Some(other)) => {
            message.insert("tool_calls".to_owned(), other);
            true
        }
        _ => false,
    }
}

impl Assistant {
    fn parsed_text(&self) -> Result<ParsedText, UnreadableResponse> {
        let mut parsed = ParsedText::default();
        match read(&self.content, "choices[0].message.content")? {
            Some(Content::Text(text)) => parsed.text = text,
            Some(Content::Parts(parts)) => parsed.push_parts(parts),
            None => {}
        }
        if let Some(refusal) = &self.refusal
            && !refusal.is_empty()
        {
            parsed.push_parts([Part::Refusal { refusal: refusal.clone() }]);
        }
        Ok(parsed)
    }

    /// Returns the calls and corrects their ids and arguments in the message as well: results refer to the ids, and
    /// servers that parse earlier arguments fail if they are empty.
    fn calls(&mut self) -> Vec<SentCall> {
        let calls = self.tool_calls.as_deref_mut().unwrap_or_default();
        ensure_unique(calls.iter_mut().map(|call| &mut call.id));
        let sent = calls.iter_mut().map(|ToolCall { id, function, .. }| {
            let (arguments, numbers) = read_arguments(&mut function.arguments);
            SentCall { id: id.clone(), name: function.name.clone(), arguments, numbers }
        });
        sent.collect()
    }

    /// Makes the message valid for requests: servers reject an empty list of calls, and a message with neither calls
    /// nor content.
    fn normalize(&mut self) {
        self.tool_calls = self.tool_calls.take().filter(|calls| !calls.is_empty());
        if self.tool_calls.is_none() && self.content.is_null() {
            self.content = Value::String(String::new());
        }
    }
}

impl ApiUsage {
    fn usage(&self) -> Option<Usage> {
        let prompt = self.prompt_tokens.or(self.input_tokens)?;
        let completion = self.completion_tokens.or(self.output_tokens)?;
        let InputDetails { cached_tokens, cache_write_tokens: cache_write } = self.prompt_tokens_details;
        let cache_read = cached_tokens.or(self.cached_tokens).or(self.prompt_cache_hit_tokens);
        let cache_read = cache_read.or(self.cache_read_input_tokens);
        let cache_write = cache_write.or(self.cache_creation_input_tokens);
        let reasoning = self.completion_tokens_details.reasoning_tokens;
        let excess = self.total_tokens.map_or(0, |total| total.saturating_sub(prompt.saturating_add(completion)));
        let cached = cache_read.unwrap_or_default();
        // Some gateways count what was cached in addition to the prompt. xAI counts reasoning in addition to the completion,
        // and Gemini's thoughts are in the total alone; all others count them as part. The total shows which.
        let is_cached =
            |excess| cached > 0 && [cached, cached.saturating_add(cache_write.unwrap_or_default())].contains(&excess);
        let (input, output) = match excess {
            excess if is_cached(excess) => (prompt.saturating_add(excess), completion),
            excess if cached > prompt => {
                (prompt.saturating_add(cached), completion.saturating_add(excess.saturating_sub(cached)))
            }
            excess => (prompt, completion.saturating_add(excess)),
        };
        Some(Usage { input, cache_read, cache_write, output, reasoning })
    }
}
