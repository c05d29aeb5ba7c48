//! OpenAI's two APIs: built requests and parsed responses.

mod properties;
mod replies;
mod requests;

use healbench_agents::llm::{Api, Arguments, Conversation, Message, Model, Reply, SentCall};
use serde_json::{Value, json};

const BOTH: [Api; 2] = [Api::OpenaiChat, Api::OpenaiResponses];

fn model(api: Api) -> Model {
    crate::api_fixtures::model(api, "gpt-5-mini")
}

fn call(id: &str, name: &str, arguments: Arguments) -> SentCall {
    SentCall { id: id.to_owned(), name: name.to_owned(), arguments, numbers: None }
}

fn conversation(messages: Vec<Message>) -> Conversation {
    crate::api_fixtures::conversation(messages)
}

fn request(model: &Model, conversation: &Conversation) -> Value {
    model.api.request(model, conversation, 7).body
}

/// Returns a chat completion with two calls, as documented by OpenAI.
fn chat_answer() -> Value {
    json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": "gpt-5-mini-2025-08-07",
        "choices": [{
            "index": 0,
            "message": {
                "role": "assistant",
                "content": null,
                "refusal": null,
                "annotations": [],
                "tool_calls": [
                    {"id": "call_a", "type": "function", "function": {"name": "billing", "arguments": "{\"amount\": 120}"}},
                    {"id": "call_b", "type": "function", "function": {"name": "ledger", "arguments": "{}"}},
                ],
            },
            "logprobs": null,
            "finish_reason": "tool_calls",
        }],
        "usage": {
            "prompt_tokens": 310,
            "completion_tokens": 90,
            "total_tokens": 400,
            "prompt_tokens_details": {"cached_tokens": 256, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 64, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": null,
    })
}

/// Returns a response of the responses API with reasoning, text and two calls, as documented by OpenAI.
fn responses_answer() -> Value {
    json!({
        "id": "resp_1",
        "object": "response",
        "created_at": 1_760_000_000,
        "status": "completed",
        "error": null,
        "incomplete_details": null,
        "model": "gpt-5-mini-2025-08-07",
        "output": [
            {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
            {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "Once more.", "annotations": [], "logprobs": []},
            ]},
            {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_a", "name": "billing",
             "arguments": "{\"amount\": 120}"},
            {"id": "fc_2", "type": "function_call", "status": "completed", "call_id": "call_b", "name": "ledger",
             "arguments": "{}"},
        ],
        "store": false,
        "usage": {
            "input_tokens": 310,
            "input_tokens_details": {"cached_tokens": 256},
            "output_tokens": 90,
            "output_tokens_details": {"reasoning_tokens": 64},
            "total_tokens": 400,
        },
    })
}

fn answer(api: Api) -> Value {
    if api == Api::OpenaiChat { chat_answer() } else { responses_answer() }
}

/// Parses the documented response with one value changed.
fn changed(api: Api, pointer: &str, value: Value) -> Result<Reply, String> {
    let mut body = answer(api);
    *body.pointer_mut(pointer).unwrap() = value;
    read(api, &body)
}

fn read(api: Api, body: &Value) -> Result<Reply, String> {
    api.reply(body).map_err(|error| error.to_string())
}

/// Parses a chat completion with the given message.
fn chat_message(message: Value, finish_reason: &str) -> Result<Reply, String> {
    read(Api::OpenaiChat, &json!({"choices": [{"message": message, "finish_reason": finish_reason}]}))
}
