//! The Gemini `generateContent` API.
//!
//! Gemini matches results to calls by order and name. It returns ids for some calls only: these are sent back with the
//! results. All other ids in a conversation are generated here and not sent.

use healbench_core::{Object, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::calls::{as_object, unique_ids};
use super::openai::or_none;
use super::{ApiRequest, PLACEHOLDER_SIGNATURE, UnreadableResponse};
use crate::llm::{
    Arguments, AssistantMessage, CallResult, Conversation, FinishReason, Function, Message, Model, Reply, SentCall,
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Instruction<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "GenerationConfig::is_empty")]
    generation_config: GenerationConfig,
}

#[derive(Serialize)]
struct Instruction<'a> {
    parts: [Part<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

/// A function declaration. Its schema is sent as `parametersJsonSchema`, which accepts JSON Schema; `parameters`
/// accepts only a subset of OpenAPI schemas.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Composed { role: &'static str, parts: Vec<Part<'a>> },
    Raw(Value),
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<Response<'a>>,
}

#[derive(Serialize)]
struct Call<'a> {
    name: &'a str,
    args: Object,
}

#[derive(Serialize)]
struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    name: &'a str,
    response: FunctionResult<'a>,
}

/// A function's result, under one of the two keys that Gemini gives a meaning.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum FunctionResult<'a> {
    Output(&'a str),
    Error(&'a str),
}

#[derive(Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseBody {
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<Feedback>,
    #[serde(default)]
    usage_metadata: Value,
    response_id: Option<String>,
    #[serde(default)]
    model_version: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    #[serde(default)]
    content: Value,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

/// A part of a response. Any `functionCall` is parsed as a call, whatever its fields, because every call must be
/// answered.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponsePart {
    #[serde(default)]
    thought: Value,
    #[serde(default)]
    text: Value,
    function_call: Option<ResponseCall>,
}

#[derive(Deserialize)]
struct ResponseCall {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    name: Value,
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ApiUsage {
    prompt_token_count: u64,
    cached_content_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    total_token_count: Option<u64>,
}

/// The way generation of a candidate ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Finish {
    Stopped(FinishReason),
    /// The model started a call that Gemini could not parse, or to a function that does not exist.
    FailedCall,
}

pub(super) fn headers(key: Option<&str>) -> Vec<(&'static str, String)> {
    key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect()
}

pub(super) fn request(model: &Model, conversation: &Conversation, seed: u32) -> ApiRequest {
    let request = Request {
        system_instruction: text_part(&conversation.system).map(|part| Instruction { parts: [part] }),
        tools: tools(&conversation.tools),
        contents: contents(&conversation.messages),
        generation_config: GenerationConfig {
            temperature: model.sampling.temperature,
            top_p: model.sampling.top_p,
            max_output_tokens: model.sampling.max_output_tokens,
            seed: model.sampling.seed.then_some(positive_i32(seed)),
        },
    };
    ApiRequest { path: path(&model.model), body: serde_json::to_value(request).unwrap_or_default() }
}

/// Clears the sign bit: the API's seed is a signed 32-bit integer.
fn positive_i32(seed: u32) -> u32 {
    seed & i32::MAX.unsigned_abs()
}

fn path(model: &str) -> String {
    let name: String = model.strip_prefix("models/").unwrap_or(model).bytes().map(percent_encode).collect();
    format!("/models/{name}:generateContent")
}

fn percent_encode(byte: u8) -> String {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    }
}

impl GenerationConfig {
    fn is_empty(&self) -> bool {
        *self == GenerationConfig::default()
    }
}

fn tools(functions: &[Function]) -> Vec<Tools<'_>> {
    let function_declarations: Vec<_> = functions.iter().map(declaration).collect();
    if function_declarations.is_empty() { Vec::new() } else { vec![Tools { function_declarations }] }
}

fn declaration(function: &Function) -> Declaration<'_> {
    Declaration {
        name: &function.name,
        description: &function.description,
        parameters_json_schema: &function.parameters,
    }
}

/// Converts messages to contents. Contents without parts are omitted because the API rejects them.
fn contents(messages: &[Message]) -> Vec<Content<'_>> {
    let mut contents = Vec::with_capacity(messages.len());
    let mut sent_ids: Vec<Option<String>> = Vec::new();
    for message in messages {
        let content = match message {
            Message::User(text) => composed_content("user", text_part(text).into_iter().collect()),
            Message::Assistant(message) => {
                sent_ids = message.raw.as_ref().map(provider_ids).unwrap_or_default();
                assistant_content(message)
            }
            Message::Results(results) => composed_content("user", responses(results, &sent_ids)),
        };
        contents.extend(content);
    }
    contents
}

fn composed_content<'a>(role: &'static str, parts: Vec<Part<'a>>) -> Option<Content<'a>> {
    (!parts.is_empty()).then_some(Content::Composed { role, parts })
}

fn text_part(text: &str) -> Option<Part<'_>> {
    (!text.is_empty()).then(|| Part { text: Some(text), ..Part::default() })
}

fn assistant_content(message: &AssistantMessage) -> Option<Content<'_>> {
    match &message.raw {
        Some(raw) => raw_content(raw),
        None => composed_content("model", text_part(&message.text).into_iter().chain(calls(&message.calls)).collect()),
    }
}

fn raw_content(raw: &Value) -> Option<Content<'_>> {
    if parts(raw).is_empty() {
        return None;
    }
    let mut raw = raw.clone();
    if raw.get("role").is_none() {
        raw["role"] = json!("model");
    }
    Some(Content::Raw(raw))
}

/// Converts calls to parts. Only the first one has a signature, as in Gemini's own parallel calls.
fn calls(calls: &[SentCall]) -> impl Iterator<Item = Part<'_>> {
    calls.iter().enumerate().map(|(position, call)| Part {
        function_call: Some(Call { name: &call.name, args: as_object(&call.arguments) }),
        thought_signature: (position == 0).then_some(PLACEHOLDER_SIGNATURE),
        ..Part::default()
    })
}

fn responses<'a>(results: &'a [CallResult], sent_ids: &[Option<String>]) -> Vec<Part<'a>> {
    let response = |(position, result): (usize, &'a CallResult)| Part {
        function_response: Some(Response {
            id: sent_ids.get(position).cloned().flatten(),
            name: &result.name,
            response: if result.is_error {
                FunctionResult::Error(&result.text)
            } else {
                FunctionResult::Output(&result.text)
            },
        }),
        ..Part::default()
    };
    results.iter().enumerate().map(response).collect()
}

pub(super) fn reply(body: &Value) -> Result<Reply, UnreadableResponse> {
    if let Some(error) = body.get("error") {
        return Err(UnreadableResponse(error_text(error)));
    }
    let body = body.as_object().ok_or_else(|| UnreadableResponse("it is no object".to_owned()))?;
    let response = ResponseBody::deserialize(body).map_err(|error| UnreadableResponse(error.to_string()))?;
    let usage = read_usage(&response.usage_metadata);
    let model = response.model_version.as_str().map(str::to_owned);
    if let Some(candidate) = response.candidates.into_iter().flatten().next() {
        let reason = candidate.finish_reason.as_deref();
        if reason == Some("MISSING_THOUGHT_SIGNATURE") {
            return Err(UnreadableResponse(
                "it reports a missing thought signature, but Gemini never sent one".to_owned(),
            ));
        }
        let finish = finish(reason);
        let message = read_message(response.response_id.as_deref(), candidate, finish);
        let finish_reason =
            if let Finish::Stopped(finish_reason) = finish { finish_reason } else { FinishReason::Unparsed };
        return Ok(Reply { message, finish_reason, usage, model, note: None });
    }
    match response.prompt_feedback.and_then(|feedback| feedback.block_reason) {
        Some(reason) => Ok(Reply {
            message: AssistantMessage { text: reason, ..AssistantMessage::default() },
            finish_reason: FinishReason::Refusal,
            usage,
            model,
            note: None,
        }),
        None => Err(UnreadableResponse("it has no candidate and does not say why".to_owned())),
    }
}

fn error_text(error: &Value) -> String {
    let part = |key| error.get(key).and_then(Value::as_str);
    let status = part("status").unwrap_or("error");
    let message = part("message").unwrap_or("without a message");
    format!("{status}: {message}")
}

fn finish(reason: Option<&str>) -> Finish {
    match reason {
        Some("MAX_TOKENS") => Finish::Stopped(FinishReason::Length),
        Some("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII") => {
            Finish::Stopped(FinishReason::Refusal)
        }
        Some("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL") => Finish::FailedCall,
        _ => Finish::Stopped(FinishReason::End),
    }
}

/// Converts a candidate. If Gemini could not parse a call, the message consists of the model's text or Gemini's error
/// message. It has no `raw` value, because the API requires a result for each call in `raw`.
fn read_message(message_id: Option<&str>, candidate: Candidate, finish: Finish) -> AssistantMessage {
    let mut text = text(&candidate.content);
    let calls = if finish == Finish::FailedCall { Vec::new() } else { read_calls(message_id, &candidate.content) };
    if text.is_empty()
        && calls.is_empty()
        && matches!(finish, Finish::FailedCall | Finish::Stopped(FinishReason::Refusal))
    {
        text = candidate.finish_message.unwrap_or_default();
    }
    let keeps_raw = finish != Finish::FailedCall && !parts(&candidate.content).is_empty();
    AssistantMessage { text, calls, raw: keeps_raw.then_some(candidate.content) }
}

fn parts(content: &Value) -> &[Value] {
    content.get("parts").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Parses a part that is an object. Serde would also accept an array of the fields in order.
fn read(part: &Value) -> ResponsePart {
    let part = part.as_object().map(ResponsePart::deserialize);
    part.and_then(Result::ok).unwrap_or_default()
}

/// Returns the concatenated texts of all parts that are not thoughts.
fn text(content: &Value) -> String {
    let visible_parts = parts(content).iter().map(read).filter(|part| part.thought != json!(true));
    visible_parts.filter_map(|part| part.text.as_str().map(str::to_owned)).collect()
}

fn function_calls(content: &Value) -> impl Iterator<Item = ResponseCall> {
    parts(content).iter().filter_map(|part| read(part).function_call)
}

/// Returns the ids that Gemini gave its calls, in their order.
fn provider_ids(content: &Value) -> Vec<Option<String>> {
    function_calls(content).map(|call| call.id.as_str().map(str::to_owned)).collect()
}

fn read_calls(message_id: Option<&str>, content: &Value) -> Vec<SentCall> {
    let given = provider_ids(content);
    let ids = unique_ids(&given.iter().map(Option::as_deref).collect::<Vec<_>>(), message_id);
    function_calls(content).zip(ids).map(|(call, id)| read_call(call, id)).collect()
}

/// Converts a call. Gemini omits `args` if there are none.
fn read_call(call: ResponseCall, id: String) -> SentCall {
    SentCall {
        id,
        name: call.name.as_str().unwrap_or_default().to_owned(),
        arguments: Arguments::Json(or_none(call.args.unwrap_or_default())),
        numbers: None,
    }
}

/// Converts token counts. Gemini counts thoughts in addition to the output and cache reads as part of the input, and
/// omits counts of zero.
fn read_usage(usage: &Value) -> Option<Usage> {
    let api_usage = ApiUsage::deserialize(usage).ok()?;
    Some(Usage {
        input: api_usage.prompt_token_count.saturating_add(api_usage.tool_use_prompt_token_count.unwrap_or(0)),
        cache_read: api_usage.cached_content_token_count,
        cache_write: None,
        output: api_usage.output()?,
        reasoning: api_usage.thoughts_token_count,
    })
}

impl ApiUsage {
    /// Returns the number of generated tokens. If it is missing, it is computed from the total.
    fn output(&self) -> Option<u64> {
        match self.candidates_token_count {
            Some(candidates) => Some(candidates.saturating_add(self.thoughts_token_count.unwrap_or(0))),
            None => self
                .total_token_count?
                .checked_sub(self.prompt_token_count)?
                .checked_sub(self.tool_use_prompt_token_count.unwrap_or(0)),
        }
    }
}
