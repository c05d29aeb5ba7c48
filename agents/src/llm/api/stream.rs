//! Answers that come as a stream of events although none was asked for: some servers know no other. The events are put
//! together to the answer that the API documents without a stream. A stream without its last event is no answer.

use serde_json::{Map, Value, json};

use super::Api;
use crate::llm::lenient_json;

/// The most items of a list in a stream: more than any answer has.
const MAX_ITEMS: usize = 1024;

/// The texts that come in pieces. Any other value replaces that of an earlier event.
const PIECES: [&str; 9] =
    ["content", "text", "thinking", "reasoning", "reasoning_content", "arguments", "refusal", "signature", "data"];

/// The data of an event.
type Event = Map<String, Value>;

/// Puts a stream together, or returns `None` if `body` is not a complete one of this API.
pub(in crate::llm) fn assemble(api: Api, body: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(body);
    let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let mut events: Vec<Event> = Vec::new();
    let mut is_done = false;
    for data in data.filter(|data| !data.is_empty()) {
        match data {
            "[DONE]" => is_done = true,
            data => events.push(lenient_json::parse(data.as_bytes()).ok()?),
        }
    }
    if let Some(error) = events.iter().find_map(|event| event.get("error").filter(|error| !error.is_null())) {
        return Some(json!({ "error": error }));
    }
    match api {
        Api::OpenaiChat => chat(events, is_done),
        // The last event has the whole answer.
        Api::OpenaiResponses => events.into_iter().rev().find_map(|mut event| event.remove("response")),
        Api::Anthropic => anthropic(events),
        Api::Gemini => gemini(events),
    }
}

/// Adds a piece to an object: objects are merged by key, and lists by the `index` of their items. Returns `None` if a list
/// has too many items.
fn extend(whole: &mut Event, piece: Event) -> Option<()> {
    for (key, value) in piece {
        let value = match value {
            Value::Array(items) if !matches!(whole.get(&key), Some(Value::Array(_))) => {
                whole.insert(key.clone(), json!([]));
                Value::Array(items)
            }
            value => value,
        };
        match (whole.get_mut(&key), value) {
            (Some(Value::String(known)), Value::String(more)) if PIECES.contains(&key.as_str()) => {
                known.push_str(&more)
            }
            (Some(Value::Object(known)), Value::Object(more)) => extend(known, more)?,
            (Some(Value::Array(known)), Value::Array(more)) => {
                more.into_iter().try_for_each(|item| add(known, item))?
            }
            (Some(_), Value::Null) => {}
            (_, value) => {
                whole.insert(key, value);
            }
        }
    }
    Some(())
}

/// Adds an item to the one with the same index, or to the end of a list.
fn add(items: &mut Vec<Value>, item: Value) -> Option<()> {
    let same = |known: &&mut Value| item.get("index").is_some() && known.get("index") == item.get("index");
    match (items.iter_mut().find(same).and_then(Value::as_object_mut), item) {
        (Some(known), Value::Object(item)) => extend(known, item)?,
        (_, item) => items.push(item),
    }
    (items.len() <= MAX_ITEMS).then_some(())
}

fn chat(events: Vec<Event>, mut is_done: bool) -> Option<Value> {
    let mut body = Event::new();
    for mut event in events {
        let choices = event.get_mut("choices").and_then(Value::as_array_mut);
        for choice in choices.into_iter().flatten().filter_map(Value::as_object_mut) {
            is_done |= choice.get("finish_reason").is_some_and(Value::is_string);
            // A server may send the whole message at once.
            if let Some(delta) = choice.remove("delta") {
                choice.insert("message".to_owned(), delta);
            }
        }
        extend(&mut body, event)?;
    }
    is_done.then_some(Value::Object(body))
}

/// Takes an object out of an event.
fn take(event: &mut Event, key: &str) -> Option<Event> {
    match event.remove(key) {
        Some(Value::Object(object)) => Some(object),
        _ => None,
    }
}

fn anthropic(events: Vec<Event>) -> Option<Value> {
    let mut message = Event::new();
    let mut blocks: Vec<(Event, String)> = Vec::new();
    let mut is_done = false;
    for mut event in events {
        let at = event.get("index").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        let kind = event.remove("type");
        match kind.as_ref().and_then(Value::as_str)? {
            "message_start" => message = take(&mut event, "message")?,
            "content_block_start" if blocks.len() < MAX_ITEMS => {
                blocks.push((take(&mut event, "content_block")?, String::new()));
            }
            "content_block_delta" => {
                let (block, input) = blocks.get_mut(at?)?;
                let mut delta = take(&mut event, "delta")?;
                delta.remove("type");
                match delta.remove("partial_json") {
                    Some(json) => input.push_str(json.as_str()?),
                    None => extend(block, delta)?,
                }
            }
            "message_delta" => {
                let delta = take(&mut event, "delta").unwrap_or_default();
                is_done |= delta.get("stop_reason").is_some_and(Value::is_string);
                extend(&mut message, delta)?;
                let usage = take(&mut event, "usage").unwrap_or_default();
                extend(&mut message, Event::from_iter([("usage".to_owned(), usage.into())]))?;
            }
            _ => {}
        }
    }
    let content = blocks.into_iter().map(|(mut block, input)| {
        if !input.is_empty() {
            block.insert("input".to_owned(), input.into());
        }
        Value::Object(block)
    });
    message.insert("content".to_owned(), content.collect());
    is_done.then_some(Value::Object(message))
}

fn gemini(events: Vec<Event>) -> Option<Value> {
    let mut body = Value::Null;
    let mut all = Vec::new();
    for event in events {
        let mut event = Value::Object(event);
        let parts = event.pointer_mut("/candidates/0/content/parts").and_then(Value::as_array_mut);
        all.append(parts.unwrap_or(&mut Vec::new()));
        body = event;
    }
    body.pointer("/candidates/0/finishReason")?;
    let candidate = body.pointer_mut("/candidates/0")?.as_object_mut()?;
    match candidate.entry("content").or_insert_with(|| json!({"role": "model"})) {
        Value::Object(content) => content.insert("parts".to_owned(), all.into()),
        _ => return None,
    };
    Some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(events: &[Value]) -> Vec<u8> {
        let lines: Vec<String> = events.iter().map(|event| format!("event: x\ndata: {event}\n\n")).collect();
        format!(": comment\n\n{}data: [DONE]\n\n", lines.concat()).into_bytes()
    }

    /// Returns the text, the name of the first call with its arguments, and the tokens of the input.
    fn read(api: Api, events: &[Value]) -> (String, Option<(String, Value)>, u64) {
        let reply = api.reply(&assemble(api, &stream(events)).unwrap()).unwrap();
        let call = reply.message.calls.into_iter().next().map(|call| match call.arguments {
            crate::llm::Arguments::Json(value) => (call.name, value),
            crate::llm::Arguments::Text(text) => (call.name, text.into()),
        });
        (reply.message.text, call, reply.usage.unwrap().input)
    }

    #[test]
    fn a_stream_is_put_together() {
        let call = Some(("f".to_owned(), json!({"a": 12})));
        let delta =
            |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}], "usage": null});
        let arguments = |text: &str| delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]}));
        let chat = [
            delta(json!({"role": "assistant", "content": "Wa"})),
            delta(json!({"content": "it."})),
            delta(json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}]})),
            arguments("{\"a\":"),
            arguments("12}"),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}),
        ];
        assert_eq!(read(Api::OpenaiChat, &chat), ("Wait.".to_owned(), call.clone(), 7));
        let anthropic = [
            json!({"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 7, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Wait."}}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "c", "name": "f", "input": {}}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"a\""}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ": 12}"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
        ];
        assert_eq!(read(Api::Anthropic, &anthropic), ("Wait.".to_owned(), call.clone(), 7));
        let output = json!([
            {"type": "message", "content": [{"type": "output_text", "text": "Wait."}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"a\": 12}"},
        ]);
        let whole = json!({"status": "completed", "output": output, "usage": {"input_tokens": 7, "output_tokens": 1}});
        let responses = [
            json!({"type": "response.created", "response": {}}),
            json!({"type": "response.completed", "response": whole}),
        ];
        assert_eq!(read(Api::OpenaiResponses, &responses), ("Wait.".to_owned(), call.clone(), 7));
        let part = |part: Value| json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [part]}}], "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 1}});
        let gemini = [
            part(json!({"text": "Wa"})),
            part(json!({"text": "it."})),
            part(json!({"functionCall": {"name": "f", "args": {"a": 12}}})),
        ];
        assert_eq!(read(Api::Gemini, &gemini), ("Wait.".to_owned(), call, 7));
    }

    #[test]
    fn a_stream_without_its_end_is_no_answer() {
        let text = json!({"choices": [{"index": 0, "delta": {"content": "I will"}}]});
        assert_eq!(assemble(Api::OpenaiChat, format!("data: {text}\n\n").as_bytes()), None);
        let start = json!({"type": "message_start", "message": {"content": []}});
        assert_eq!(assemble(Api::Anthropic, &stream(&[start])), None);
        assert_eq!(assemble(Api::Gemini, &stream(&[json!({"candidates": [{"content": {"parts": []}}]})])), None);
        // A reason that is repeated stays one.
        let cut = json!({"choices": [{"index": 0, "delta": {"content": "I"}, "finish_reason": "length"}]});
        let whole = assemble(Api::OpenaiChat, &stream(&[cut.clone(), cut])).unwrap();
        assert_eq!(whole["choices"][0]["finish_reason"], "length");
    }

    #[test]
    fn no_event_ends_the_program() {
        let odd = [json!("x"), json!(1), json!([]), json!({}), Value::Null, json!([{"index": 0}, "x"])];
        let keys = ["choices", "message", "content_block", "delta", "usage", "index", "candidates", "response", "type"];
        for api in Api::all() {
            for kind in ["message_start", "content_block_start", "content_block_delta", "message_delta"] {
                for key in keys {
                    for value in &odd {
                        let mut event =
                            json!({"type": kind, "index": 0, "message": {"content": []}, "delta": {"text": "x"}});
                        event[key] = value.clone();
                        let _ = assemble(api, &stream(&[event.clone(), event.clone(), event]));
                    }
                }
            }
        }
        let many: Vec<Value> = (0..2_000).map(|index| json!({"choices": [{"index": index}]})).collect();
        assert_eq!(assemble(Api::OpenaiChat, &stream(&many)), None);
    }

    #[test]
    fn an_error_in_a_stream_is_the_answer() {
        let error = json!({"error": {"message": "no"}});
        assert_eq!(assemble(Api::OpenaiChat, &stream(&[json!({"choices": []}), error.clone()])), Some(error));
        assert_eq!(assemble(Api::OpenaiChat, b"<html>"), None);
    }
}
