//! Answers that come as a stream of events although none was asked for: some servers know no other. The events are put
//! together to the answer that the API documents without a stream.

use serde_json::{Value, json};

use super::Api;

/// Returns the data of the events of a stream, or `None` if the text is not one.
fn events(body: &[u8]) -> Option<Vec<Value>> {
    let text = String::from_utf8_lossy(body);
    let data: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .filter_map(|data| serde_json::from_str(data.trim()).ok())
        .collect();
    (!data.is_empty()).then_some(data)
}

/// Puts a stream together, or returns `None` if `body` is not one of this API.
pub(in crate::llm) fn assemble(api: Api, body: &[u8]) -> Option<Value> {
    let events = events(body)?;
    if let Some(error) = events.iter().find(|event| event.get("error").is_some_and(|error| !error.is_null())) {
        return Some(error.clone());
    }
    match api {
        Api::OpenaiChat => chat(events),
        Api::OpenaiResponses => responses(events),
        Api::Anthropic => anthropic(events),
        Api::Gemini => gemini(events),
    }
}

/// Adds a piece to a value: texts are joined, objects merged by key, lists by the `index` of their items, and other
/// values replaced.
fn extend(whole: &mut Value, piece: Value) {
    match (whole, piece) {
        (Value::String(whole), Value::String(piece)) => whole.push_str(&piece),
        (Value::Object(whole), Value::Object(piece)) => {
            for (key, value) in piece {
                match whole.get_mut(&key) {
                    // These stand in every piece, or in the first.
                    Some(_) if matches!(key.as_str(), "index" | "id" | "type" | "role" | "name") => {}
                    Some(known) if !known.is_null() => extend(known, value),
                    _ => {
                        whole.insert(key, value);
                    }
                }
            }
        }
        (Value::Array(whole), Value::Array(pieces)) => {
            for piece in pieces {
                let same = |item: &&mut Value| piece.get("index").is_some() && item.get("index") == piece.get("index");
                match whole.iter_mut().find(same) {
                    Some(item) => extend(item, piece),
                    None => whole.push(piece),
                }
            }
        }
        (whole, piece) if !piece.is_null() => *whole = piece,
        _ => {}
    }
}

fn chat(events: Vec<Value>) -> Option<Value> {
    let mut choices = json!([]);
    let mut body = json!({});
    for mut event in events {
        let object = event.as_object_mut()?;
        for choice in object.remove("choices").as_ref().and_then(Value::as_array).into_iter().flatten() {
            let mut choice = choice.clone();
            // A server may send the whole message at once.
            if let Some(delta) = choice.as_object_mut().and_then(|choice| choice.remove("delta")) {
                choice["message"] = delta;
            }
            extend(&mut choices, json!([choice]));
        }
        for (key, value) in object.iter().filter(|(_, value)| !value.is_null()) {
            body[key] = value.clone();
        }
    }
    body["choices"] = choices;
    Some(body)
}

/// The last event has the whole answer.
fn responses(events: Vec<Value>) -> Option<Value> {
    events.into_iter().rev().find_map(|mut event| event.get_mut("response").map(Value::take))
}

fn anthropic(events: Vec<Value>) -> Option<Value> {
    let mut message = json!({});
    let mut inputs: Vec<String> = Vec::new();
    for mut event in events {
        let at = event["index"].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or_default();
        match event["type"].as_str()? {
            "message_start" => message = event["message"].take(),
            "content_block_start" => {
                inputs.push(String::new());
                message["content"].as_array_mut()?.push(event["content_block"].take());
            }
            "content_block_delta" => {
                let block = message["content"].get_mut(at)?;
                let delta = event["delta"].as_object_mut()?;
                match delta.remove("partial_json") {
                    Some(json) => inputs.get_mut(at)?.push_str(json.as_str()?),
                    None => {
                        delta.remove("type");
                        extend(block, event["delta"].take());
                    }
                }
            }
            "message_delta" => {
                extend(&mut message, event["delta"].take());
                if let Some(counts) = event["usage"].as_object() {
                    counts.iter().for_each(|(key, count)| message["usage"][key] = count.clone());
                }
            }
            _ => {}
        }
    }
    for (block, input) in message["content"].as_array_mut()?.iter_mut().zip(inputs) {
        if !input.is_empty() {
            block["input"] = serde_json::from_str(&input).unwrap_or(Value::String(input));
        }
    }
    Some(message)
}

fn gemini(events: Vec<Value>) -> Option<Value> {
    let mut body = json!({});
    let mut parts = Vec::new();
    for mut event in events {
        if let Some(new) = event.pointer_mut("/candidates/0/content/parts").and_then(Value::as_array_mut) {
            parts.append(new);
        }
        event.as_object()?.iter().for_each(|(key, value)| body[key] = value.clone());
    }
    *body.pointer_mut("/candidates/0")? = {
        let mut candidate = body.pointer("/candidates/0")?.clone();
        candidate["content"]["parts"] = parts.into();
        candidate
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
        let part = |part: Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}], "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 1}});
        let gemini = [
            part(json!({"text": "Wa"})),
            part(json!({"text": "it."})),
            part(json!({"functionCall": {"name": "f", "args": {"a": 12}}})),
        ];
        assert_eq!(read(Api::Gemini, &gemini), ("Wait.".to_owned(), call, 7));
    }

    #[test]
    fn an_error_in_a_stream_is_the_answer() {
        let error = json!({"error": {"message": "no"}});
        assert_eq!(assemble(Api::OpenaiChat, &stream(&[json!({"choices": []}), error.clone()])), Some(error));
        assert_eq!(assemble(Api::OpenaiChat, b"data: [DONE]\n\n"), None);
        assert_eq!(assemble(Api::OpenaiChat, b"<html>"), None);
    }
}
