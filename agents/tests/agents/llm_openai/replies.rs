//! Parsed responses.

use healbench_agents::llm::{Api, Arguments, AssistantMessage, FinishReason, Reply, SentCall};
use healbench_core::Usage;
use serde_json::{Value, json};

use super::{BOTH, answer, call, changed, chat_message, read, responses_answer};

/// Parses a response of the responses API with the given items.
fn responses_items(output: Value) -> Result<Reply, String> {
    read(Api::OpenaiResponses, &json!({"status": "completed", "output": output}))
}

/// Returns the parsed call with these arguments for each API.
fn arguments(sent: &Value) -> [SentCall; 2] {
    let chat = json!({"tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": sent}}]});
    let responses = json!([{"type": "function_call", "call_id": "a", "name": "f", "arguments": sent}]);
    [chat_message(chat, "tool_calls").unwrap(), responses_items(responses).unwrap()]
        .map(|reply| reply.message.calls[0].clone())
}

#[test]
fn a_documented_answer_is_read_in_full() {
    for (api, text) in [(Api::OpenaiChat, ""), (Api::OpenaiResponses, "Once more.")] {
        let reply = read(api, &answer(api)).unwrap();
        assert_eq!(reply.message.text, text);
        assert_eq!(
            reply.message.calls,
            [
                call("call_a", "billing", Arguments::Json(json!({"amount": 120}))),
                call("call_b", "ledger", Arguments::Json(json!({}))),
            ]
        );
        assert_eq!(reply.finish_reason, FinishReason::End);
        let usage = Usage { input: 310, cache_read: Some(256), cache_write: None, output: 90, reasoning: Some(64) };
        assert_eq!(reply.usage, Some(usage));
    }
}

#[test]
fn arguments_are_read_in_every_form_that_servers_send() {
    let table = [
        (json!("{\"a\": 1}"), Arguments::Json(json!({"a": 1}))),
        (json!({"a": 1}), Arguments::Json(json!({"a": 1}))),
        (json!("[1, 2]"), Arguments::Json(json!([1, 2]))),
        // JSON of a text of JSON.
        (json!("\"{}\""), Arguments::Json(json!({}))),
        (json!("\"{\\n \\\"a\\\": \\\"b\\\"}\""), Arguments::Json(json!({"a": "b"}))),
        (json!("\"[1]\""), Arguments::Json(json!("[1]"))),
        (json!("\"a text\""), Arguments::Json(json!("a text"))),
        (json!("{\"a\": 1"), Arguments::Text("{\"a\": 1".to_owned())),
        (json!("{'a': 1}"), Arguments::Text("{'a': 1}".to_owned())),
        (json!("{\"a\": 1} done"), Arguments::Text("{\"a\": 1} done".to_owned())),
        (json!(""), Arguments::Json(json!({}))),
        (json!(" \n"), Arguments::Json(json!({}))),
        (Value::Null, Arguments::Json(json!({}))),
        (json!("null"), Arguments::Json(json!({}))),
        (json!([]), Arguments::Json(json!({}))),
        (json!("{}{\"a\": 1}"), Arguments::Json(json!({"a": 1}))),
        (json!("{} {}"), Arguments::Json(json!({}))),
        (json!("{\"a\": 1}{\"b\": 2}"), Arguments::Text("{\"a\": 1}{\"b\": 2}".to_owned())),
    ];
    for (sent, read) in table {
        assert_eq!(arguments(&sent), [call("a", "f", read.clone()), call("a", "f", read)], "{sent}");
    }
    let read = &arguments(&json!("{\"a\": 1e2}"))[0];
    assert_eq!(read.numbers.as_ref().unwrap().json_of(&json!(100.0), ["a"]).unwrap(), "1e2");
    // A call without any arguments member.
    let chat = json!({"tool_calls": [{"id": "a", "function": {"name": "f"}}]});
    assert_eq!(chat_message(chat, "stop").unwrap().message.calls, [call("a", "f", Arguments::Json(json!({})))]);
}

#[test]
fn the_only_call_of_the_api_before_tools_is_read_and_sent_back_as_one_of_tools() {
    let old = json!({"content": null, "function_call": {"name": "f", "arguments": "{\"a\": 1}"}});
    let message = chat_message(old, "function_call").unwrap().message;
    assert_eq!((message.calls[0].name.as_str(), message.calls.len()), ("f", 1));
    let raw = message.raw.unwrap();
    assert!(raw.get("function_call").is_none() && raw["tool_calls"][0]["id"] == message.calls[0].id.as_str(), "{raw}");
    let both = json!({"tool_calls": [{"id": "a", "function": {"name": "g"}}], "function_call": {"name": "f"}});
    assert_eq!(chat_message(both, "stop").unwrap().message.calls[0].name, "g");
}

#[test]
fn calls_without_an_id_of_their_own_are_given_one() {
    let given = [json!("x"), Value::Null, json!("x"), json!("call_2"), json!(""), json!(5), json!("call_5")];
    let expected = ["x", "call00002", "call00003", "call_2", "call00005", "call00006", "call_5"];

    let calls: Vec<Value> =
        given.iter().map(|id| json!({"id": id, "function": {"name": "f", "arguments": "{}"}})).collect();
    let reply = chat_message(json!({"tool_calls": calls}), "tool_calls").unwrap();
    assert_eq!(reply.message.calls.iter().map(|call| &*call.id).collect::<Vec<_>>(), expected);
    // Results refer to these ids, so the message to send back must contain them.
    let raw = reply.message.raw.unwrap();
    assert_eq!(raw["tool_calls"].as_array().unwrap().iter().map(|call| &call["id"]).collect::<Vec<_>>(), expected);

    let mut items: Vec<Value> = given
        .iter()
        .map(|id| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"}))
        .collect();
    items.insert(1, json!({"type": "reasoning", "id": "rs_1", "summary": []}));
    items[3].as_object_mut().unwrap().shift_remove("call_id");
    let reply = responses_items(json!(items)).unwrap();
    let expected = ["x", "call00002", "call00003", "call_2", "call00005", "call00006", "call_5"];
    assert_eq!(reply.message.calls.iter().map(|call| &*call.id).collect::<Vec<_>>(), expected);
    let raw = reply.message.raw.unwrap();
    let sent: Vec<&Value> = raw.as_array().unwrap().iter().filter_map(|item| item.get("call_id")).collect();
    assert_eq!(sent, expected);
}

#[test]
fn text_is_read_from_a_string_or_from_parts() {
    let parts = json!([
        {"type": "thinking", "thinking": [{"type": "text", "text": "hidden"}]},
        {"type": "text", "text": "One, "},
        {"type": "text", "text": "two."},
    ]);
    for (content, text) in [(json!("Done."), "Done."), (parts, "One, two."), (json!([]), ""), (Value::Null, "")] {
        let reply = chat_message(json!({"role": "assistant", "content": content}), "stop").unwrap();
        assert_eq!((&*reply.message.text, reply.finish_reason, reply.usage), (text, FinishReason::End, None));
    }
    let message = |text: &str| json!({"type": "message", "content": [{"type": "output_text", "text": text}]});
    let reply = responses_items(json!([message("One."), {"type": "web_search_call"}, message("Two.")])).unwrap();
    assert_eq!(reply.message.text, "One.\nTwo.");
    assert_eq!(
        responses_items(json!([])).unwrap().message,
        AssistantMessage { raw: Some(json!([])), ..AssistantMessage::default() }
    );
}

#[test]
fn refusals_are_text_and_a_finish_reason() {
    let message = json!({"role": "assistant", "content": null, "refusal": "I cannot."});
    let parts = json!({"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]});
    let items = json!([{"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]}]);
    for reply in [chat_message(message, "stop"), chat_message(parts, "stop"), responses_items(items)] {
        let reply = reply.unwrap();
        assert_eq!((&*reply.message.text, reply.finish_reason), ("I cannot.", FinishReason::Refusal));
    }
    let empty = json!({"role": "assistant", "content": "Done.", "refusal": ""});
    assert_eq!(chat_message(empty, "stop").unwrap().finish_reason, FinishReason::End);
}

#[test]
fn finish_reasons_are_read() {
    let table = [
        ("stop", FinishReason::End),
        ("tool_calls", FinishReason::End),
        ("function_call", FinishReason::End),
        ("something_new", FinishReason::End),
        ("length", FinishReason::Length),
        ("model_length", FinishReason::Length),
        ("MAX_TOKENS", FinishReason::Length),
        ("content_filter", FinishReason::Refusal),
        ("SAFETY", FinishReason::Refusal),
        ("sensitive", FinishReason::Refusal),
        ("malformed_function_call", FinishReason::Unparsed),
    ];
    for (reason, finish_reason) in table {
        assert_eq!(chat_message(json!({"content": "x"}), reason).unwrap().finish_reason, finish_reason, "{reason}");
    }
    for reason in ["abort", "network_error"] {
        assert!(chat_message(json!({"content": "x"}), reason).is_err(), "{reason}");
    }
    assert_eq!(
        changed(Api::OpenaiChat, "/choices/0/finish_reason", Value::Null).unwrap().finish_reason,
        FinishReason::End
    );

    let table = [
        ("incomplete", "max_output_tokens", FinishReason::Length),
        ("incomplete", "content_filter", FinishReason::Refusal),
        ("incomplete", "something_new", FinishReason::End),
        ("completed", "max_output_tokens", FinishReason::End),
    ];
    for (status, reason, finish_reason) in table {
        let body = json!({"status": status, "incomplete_details": {"reason": reason}, "output": []});
        assert_eq!(read(Api::OpenaiResponses, &body).unwrap().finish_reason, finish_reason, "{status} {reason}");
    }
}

#[test]
fn a_call_that_is_cut_off_stays_a_call() {
    let cut = Arguments::Text("{\"amount\": 1".to_owned());
    let calls =
        json!([{"id": "a", "type": "function", "function": {"name": "billing", "arguments": "{\"amount\": 1"}}]);
    let reply = chat_message(json!({"content": null, "tool_calls": calls}), "length").unwrap();
    assert_eq!(
        (reply.message.calls, reply.finish_reason),
        (vec![call("a", "billing", cut.clone())], FinishReason::Length)
    );

    let mut body = responses_answer();
    body["status"] = json!("incomplete");
    body["incomplete_details"] = json!({"reason": "max_output_tokens"});
    body["output"] = json!([{"type": "function_call", "status": "incomplete", "call_id": "a", "name": "billing",
                             "arguments": "{\"amount\": 1"}]);
    let reply = read(Api::OpenaiResponses, &body).unwrap();
    assert_eq!((reply.message.calls, reply.finish_reason), (vec![call("a", "billing", cut)], FinishReason::Length));
}

#[test]
fn counts_that_are_not_given_are_unknown() {
    let bare = Usage { input: 5, cache_read: None, cache_write: None, output: 3, reasoning: None };
    let table = [
        (json!({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}), Some(bare)),
        (json!({"prompt_tokens": 5, "completion_tokens": 3, "prompt_tokens_details": null}), Some(bare)),
        (
            json!({"prompt_tokens": 5, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": -1}}),
            Some(bare),
        ),
        (
            json!({"prompt_tokens": 5, "completion_tokens": 3,
                   "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 4}}),
            Some(Usage { cache_read: Some(0), cache_write: Some(4), ..bare }),
        ),
        // xAI's total is the sum of all three counts.
        (
            json!({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 28,
                   "completion_tokens_details": {"reasoning_tokens": 20}}),
            Some(Usage { output: 23, reasoning: Some(20), ..bare }),
        ),
        (
            json!({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8,
                   "completion_tokens_details": {"reasoning_tokens": 2}}),
            Some(Usage { reasoning: Some(2), ..bare }),
        ),
        (json!({"prompt_tokens": 5}), None),
        (json!({"completion_tokens": 5}), None),
        (json!("many"), None),
        (Value::Null, None),
    ];
    for (counted, usage) in table {
        assert_eq!(changed(Api::OpenaiChat, "/usage", counted.clone()).unwrap().usage, usage, "{counted}");
    }
    let table = [
        (json!({"input_tokens": 5, "output_tokens": 3}), Some(bare)),
        (
            json!({"input_tokens": 5, "output_tokens": 3, "input_tokens_details": {"cache_write_tokens": 4}}),
            Some(Usage { cache_write: Some(4), ..bare }),
        ),
        (json!({"input_tokens": 5}), None),
        (Value::Null, None),
    ];
    for (counted, usage) in table {
        assert_eq!(changed(Api::OpenaiResponses, "/usage", counted.clone()).unwrap().usage, usage, "{counted}");
    }
}

#[test]
fn what_is_no_answer_says_why() {
    let chat = |body: Value| read(Api::OpenaiChat, &body).unwrap_err();
    let responses = |body: Value| read(Api::OpenaiResponses, &body).unwrap_err();
    let table = [
        (
            chat(json!({"error": {"message": "overloaded", "code": 502}})),
            "the answer cannot be read: the server reports an error: overloaded",
        ),
        (chat(json!({"error": "overloaded"})), "the answer cannot be read: the server reports an error: overloaded"),
        (
            chat(json!({"error": {"code": 502}})),
            "the answer cannot be read: the server reports an error: {\"code\":502}",
        ),
        (
            chat(json!({"choices": [{"error": {"message": "gone"}, "message": {"content": "x"}}]})),
            "the answer cannot be read: the server reports an error: gone",
        ),
        (chat(json!({"choices": []})), "the answer cannot be read: it has no `choices`"),
        (chat(json!({})), "the answer cannot be read: it has no `choices`"),
        (chat(json!({"choices": [{}]})), "the answer cannot be read: choices[0] has no `message`"),
        (
            chat(json!({"choices": [{"message": {"tool_calls": [{"id": "a"}]}}]})),
            "the answer cannot be read: choices[0].message: missing field `function`",
        ),
        (
            chat(json!({"choices": [{"message": {"content": "x"}, "finish_reason": "error"}]})),
            "the answer cannot be read: the server gave up with the finish reason `error`",
        ),
        (
            responses(
                json!({"status": "failed", "error": {"code": "server_error", "message": "broken"}, "output": []}),
            ),
            "the answer cannot be read: the server reports an error: broken",
        ),
        (responses(json!({"status": "failed", "output": []})), "the answer cannot be read: its status is `failed`"),
        (
            responses(json!({"status": "in_progress", "output": []})),
            "the answer cannot be read: its status is `in_progress`",
        ),
        (responses(json!({"status": "completed"})), "the answer cannot be read: it has no `output`"),
        (
            responses(json!({"output": [{"type": "reasoning"}, {"content": []}]})),
            "the answer cannot be read: output[1]: missing field `type`",
        ),
        (
            responses(json!({"output": [["function_call", "a", "f", "{}"]]})),
            "the answer cannot be read: output[0] is no object",
        ),
    ];
    for (error, expected) in table {
        assert_eq!(error, expected);
    }
    for api in BOTH {
        assert!(read(api, &json!("oops")).unwrap_err().starts_with("the answer cannot be read: the body: "));
    }
}
