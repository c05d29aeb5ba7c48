//! The Anthropic messages API: built requests and parsed responses.

use healbench_agents::llm::{Api, Arguments, AssistantMessage, Conversation, FinishReason, Message, Reply, SentCall};
use healbench_core::Usage;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::api_fixtures::*;

const API: Api = Api::Anthropic;

fn body(messages: Vec<Message>) -> Value {
    API.request(&model(API, "claude-test"), &conversation(messages), 7).body
}

fn sent(messages: Vec<Message>) -> Value {
    body(messages)["messages"].clone()
}

fn read(body: Value) -> Reply {
    API.reply(&body).unwrap()
}

fn unreadable(body: Value) -> String {
    API.reply(&body).unwrap_err().to_string()
}

/// Returns a response with the given blocks.
fn answer(content: Value, stop_reason: &str) -> Value {
    json!({
        "id": "msg_7", "type": "message", "role": "assistant", "model": "claude-test", "content": content,
        "stop_reason": stop_reason, "stop_sequence": null, "usage": {"input_tokens": 11, "output_tokens": 5},
    })
}

/// Returns a response with thinking, text and two calls.
fn two_calls() -> Value {
    answer(
        json!([
            {"type": "thinking", "thinking": "Both days are free.", "signature": "c2lnbg=="},
            {"type": "redacted_thinking", "data": "aGlkZGVu"},
            {"type": "text", "text": "I book both."},
            {"type": "tool_use", "id": "toolu_1", "name": "book", "input": {"day": "Monday"}},
            {"type": "tool_use", "id": "toolu_2", "name": "book", "input": {"day": "Tuesday"}},
        ]),
        "tool_use",
    )
}

fn ids(reply: &Reply) -> Vec<&str> {
    reply.message.calls.iter().map(|call| call.id.as_str()).collect()
}

#[test]
fn a_key_goes_into_its_header_and_the_version_is_always_named() {
    let version = ("anthropic-version", "2023-06-01".to_owned());
    assert_eq!(API.headers(Some("k")), [("x-api-key", "k".to_owned()), version.clone()]);
    assert_eq!(API.headers(None), [version]);
}

#[test]
fn a_conversation_is_written_whole() {
    let mut model = model(API, "claude-test");
    model.sampling.temperature = Some(0.5);
    model.sampling.top_p = Some(0.9);
    model.sampling.max_output_tokens = Some(300);
    model.sampling.seed = true;
    let reply = read(two_calls());
    let conversation = Conversation {
        system: "You book tables.".to_owned(),
        tools: vec![booking()],
        messages: vec![
            user("Two tables, please."),
            seeded("I try.", vec![call("seed_1", "book", json!({"day": 1}))]),
            Message::Results(vec![result("seed_1", "book", "day must be a string", true)]),
            Message::Assistant(reply.message),
            Message::Results(vec![
                result("toolu_1", "book", "booked", false),
                result("toolu_2", "book", "no table is free", true),
            ]),
        ],
    };
    let api_request = API.request(&model, &conversation, 7);
    assert_eq!(api_request.path, "/messages");
    let expected = json!({
        "model": "claude-test",
        "max_tokens": 300,
        "temperature": 0.5,
        "top_p": 0.9,
        "system": "You book tables.",
        "tools": [{"name": "book", "description": "Books a table.", "input_schema": booking_schema()}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Two tables, please."}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I try."},
                {"type": "tool_use", "id": "seed_1", "name": "book", "input": {"day": 1}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "seed_1", "content": "day must be a string", "is_error": true},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Both days are free.", "signature": "c2lnbg=="},
                {"type": "redacted_thinking", "data": "aGlkZGVu"},
                {"type": "text", "text": "I book both."},
                {"type": "tool_use", "id": "toolu_1", "name": "book", "input": {"day": "Monday"}},
                {"type": "tool_use", "id": "toolu_2", "name": "book", "input": {"day": "Tuesday"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "booked", "is_error": false},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no table is free", "is_error": true},
            ]},
        ],
    });
    assert_eq!(api_request.body, expected);
    assert_eq!(api_request.body.to_string(), expected.to_string(), "the keys' order");
    assert_eq!(API.messages(&api_request.body).len(), 5);
}

#[test]
fn what_is_not_set_is_not_sent_and_a_limit_always_is() {
    assert_eq!(
        body(vec![user("Hello.")]),
        json!({
            "model": "claude-test",
            "max_tokens": 4096,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello."}]}],
        })
    );
}

#[test]
fn arguments_that_are_no_object_are_wrapped_in_one() {
    let text = SentCall { arguments: Arguments::Text("{day".to_owned()), ..call("a", "book", Value::Null) };
    let messages = sent(vec![user("x"), seeded("", vec![text, call("b", "book", json!([1]))])]);
    assert_eq!(
        messages[1]["content"],
        json!([
            {"type": "tool_use", "id": "a", "name": "book", "input": {"arguments": "{day"}},
            {"type": "tool_use", "id": "b", "name": "book", "input": {"arguments": [1]}},
        ])
    );
}

#[test]
fn no_blank_text_is_sent() {
    let reply = read(answer(
        json!([
            {"type": "text", "text": " \n"},
            {"type": "tool_use", "id": "toolu_1", "name": "book", "input": {}},
            {"type": "text", "text": ""},
        ]),
        "tool_use",
    ));
    let results = vec![result("toolu_1", "book", "", false)];
    let failed = vec![result("seed_1", "book", " ", true)];
    assert_eq!(
        sent(vec![
            user("x"),
            seeded(" ", vec![call("seed_1", "book", json!({}))]),
            Message::Results(failed),
            Message::Assistant(reply.message),
            Message::Results(results),
            user(""),
        ]),
        json!([
            {"role": "user", "content": [{"type": "text", "text": "x"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "seed_1", "name": "book", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "seed_1", "content": "(empty)", "is_error": true},
            ]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "book", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": false}]},
        ])
    );
}

#[test]
fn a_message_of_which_nothing_can_be_sent_is_left_out() {
    let thinking = json!([{"type": "thinking", "thinking": "", "signature": "cw=="}, {"type": "redacted_thinking", "data": "aA=="}]);
    for content in [json!([]), json!([{"type": "text", "text": ""}]), thinking] {
        let reply = read(answer(content.clone(), "end_turn"));
        assert_eq!(reply.message.raw, Some(content), "what was said is kept");
        assert_eq!(
            sent(vec![user("x"), Message::Assistant(reply.message), user("Go on.")]),
            json!([{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "Go on."}]}])
        );
    }
    let nothing = seeded("", Vec::new());
    assert_eq!(sent(vec![user("x"), nothing]), json!([{"role": "user", "content": [{"type": "text", "text": "x"}]}]));
}

#[test]
fn an_answer_is_read() {
    let reply = read(two_calls());
    assert_eq!(reply.message.text, "I book both.");
    assert_eq!(
        reply.message.calls,
        [call("toolu_1", "book", json!({"day": "Monday"})), call("toolu_2", "book", json!({"day": "Tuesday"}))]
    );
    assert_eq!(reply.message.raw.as_ref(), Some(&two_calls()["content"]));
    assert_eq!(reply.finish_reason, FinishReason::End);
    assert_eq!(reply.usage, Some(Usage { input: 11, output: 5, ..Usage::default() }));
}

#[test]
fn blocks_of_other_kinds_are_kept_and_not_read() {
    let content = json!([
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "text", "text": "a"},
        {"type": "text", "text": 3},
        ["tool_use", "id", "name"],
        "text",
        {"type": "text", "text": "b"},
    ]);
    let reply = read(answer(content.clone(), "pause_turn"));
    assert_eq!(
        reply.message,
        AssistantMessage { text: "ab".to_owned(), calls: Vec::new(), raw: Some(content.clone()) }
    );
    assert_eq!(sent(vec![user("x"), Message::Assistant(reply.message)])[1]["content"], content);
}

#[test]
fn every_stop_reason_is_read() {
    for (reason, finish_reason) in [
        ("end_turn", FinishReason::End),
        ("tool_use", FinishReason::End),
        ("stop_sequence", FinishReason::End),
        ("pause_turn", FinishReason::End),
        ("of a later version", FinishReason::End),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("refusal", FinishReason::Refusal),
    ] {
        assert_eq!(read(answer(json!([]), reason)).finish_reason, finish_reason, "{reason}");
    }
    assert_eq!(read(json!({"content": []})).finish_reason, FinishReason::End);
}

#[test]
fn a_call_that_the_limit_cut_is_no_object() {
    let content = json!([
        {"type": "tool_use", "id": "a", "name": "book", "input": {"day": "Monday"}},
        {"type": "tool_use", "id": "b", "name": "book", "input": {"da": "Tue"}},
    ]);
    let arguments = |reason: &str| {
        let calls = read(answer(content.clone(), reason)).message.calls;
        calls.into_iter().map(|call| call.arguments).collect::<Vec<_>>()
    };
    let whole = [Arguments::Json(json!({"day": "Monday"})), Arguments::Json(json!({"da": "Tue"}))];
    assert_eq!(arguments("tool_use"), whole);
    let cut = [whole[0].clone(), Arguments::Text("{\"da\":\"Tue\"}".to_owned())];
    assert_eq!(arguments("max_tokens"), cut);
}

#[test]
fn a_model_that_thinks_takes_no_seeded_opening() {
    let mut model = model(Api::Anthropic, "claude");
    assert!(model.supports_seeded_opening());
    model.extra_body.insert("thinking".to_owned(), json!({"type": "enabled", "budget_tokens": 1024}));
    assert!(!model.supports_seeded_opening());
    model.tools = healbench_core::ToolsMode::Prompt;
    assert!(model.supports_seeded_opening());
}

#[test]
fn arguments_of_any_form_are_a_call() {
    let content = json!([
        {"type": "tool_use", "id": "a", "name": "book", "input": "Monday"},
        {"type": "tool_use", "id": "b", "name": "book", "input": null},
        {"type": "tool_use", "id": "c", "name": "book"},
        {"type": "tool_use", "id": "d", "input": {}},
        {"type": "tool_use", "id": "e", "name": "book", "input": []},
    ]);
    let calls = read(answer(content, "tool_use")).message.calls;
    let arguments: Vec<_> = calls.iter().map(|call| call.arguments.clone()).collect();
    assert_eq!(
        arguments,
        [
            Arguments::Text("Monday".to_owned()),
            Arguments::Json(json!({})),
            Arguments::Json(json!({})),
            Arguments::Json(json!({})),
            Arguments::Json(json!({})),
        ]
    );
    // Nothing but an object may be sent back.
    let content = json!([{"type": "tool_use", "id": "a", "name": "f", "input": "{\"day\": 1}"}, {"type": "tool_use", "id": "b", "name": "f", "input": [1]}]);
    let raw = read(answer(content, "tool_use")).message.raw.unwrap();
    assert_eq!([&raw[0]["input"], &raw[1]["input"]], [&json!({"day": 1}), &json!({"arguments": [1]})]);
    assert_eq!(calls[3].name, "");
}

#[test]
fn ids_are_present_unique_and_sent_back_unchanged() {
    let content = json!([
        {"type": "tool_use", "id": "a", "name": "book", "input": {}},
        {"type": "tool_use", "id": "a", "name": "book", "input": {}},
        {"type": "text", "text": "."},
        {"type": "tool_use", "name": "book", "input": {}},
        {"type": "tool_use", "id": "", "name": "book", "input": {}},
        {"type": "tool_use", "id": 5, "name": "book", "input": {}},
        {"type": "tool_use", "id": "msg_7_2", "name": "book", "input": {}},
    ]);
    let reply = read(answer(content.clone(), "tool_use"));
    let made = ["a", "msg_7_1", "msg_7_2_", "msg_7_3", "msg_7_4", "msg_7_2"];
    assert_eq!(ids(&reply), made);
    let raw = reply.message.raw.as_ref().and_then(Value::as_array).unwrap();
    let in_raw: Vec<_> = raw.iter().filter_map(|block| block.get("id").and_then(Value::as_str)).collect();
    assert_eq!(in_raw, made);
    let nameless = read(json!({"content": content}));
    assert_eq!(ids(&nameless), ["a", "call_1", "call_2", "call_3", "call_4", "msg_7_2"]);
}

#[test]
fn usage_counts_the_cache_into_the_input() {
    let with = |usage: Value| read(json!({"content": [], "usage": usage})).usage;
    assert_eq!(
        with(json!({
            "input_tokens": 10, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3000, "output_tokens": 4,
        })),
        Some(Usage { input: 3210, cache_read: Some(3000), cache_write: Some(200), output: 4, reasoning: None })
    );
    assert_eq!(
        with(
            json!({"input_tokens": 10, "cache_creation_input_tokens": null, "cache_read_input_tokens": 0, "output_tokens": 4})
        ),
        Some(Usage { input: 10, cache_read: Some(0), cache_write: None, output: 4, reasoning: None })
    );
    for unknown in
        [Value::Null, json!({}), json!({"input_tokens": 10}), json!({"input_tokens": -1, "output_tokens": 4})]
    {
        assert_eq!(with(unknown), None);
    }
    assert_eq!(read(json!({"content": []})).usage, None);
}

#[test]
fn what_is_no_answer_is_unreadable() {
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_eq!(unreadable(overloaded), "the answer cannot be read: overloaded_error: Overloaded");
    assert_eq!(unreadable(json!({"type": "error"})), "the answer cannot be read: error: without a message");
    assert_eq!(unreadable(json!([null, [], null])), "the answer cannot be read: it is no object");
    assert_eq!(unreadable(json!({"id": "msg_7"})), "the answer cannot be read: missing field `content`");
    assert!(unreadable(json!({"content": "text"})).contains("expected a sequence"));
}

/// Panics if the API would reject the messages.
fn check_acceptable(messages: &[Value]) {
    for pair in messages.windows(2) {
        assert_ne!(pair[0]["role"], pair[1]["role"]);
    }
    for message in messages {
        let blocks = message["content"].as_array().unwrap();
        assert!(!blocks.is_empty());
        assert!(
            blocks
                .iter()
                .all(|block| block["type"] != "text"
                    || block["text"].as_str().is_none_or(|text| !text.trim().is_empty()))
        );
        assert!(blocks.last().unwrap()["type"] != "thinking");
    }
}

proptest! {
    #[test]
    fn no_answer_makes_the_reader_panic(body in prop_oneof![mutated(two_calls()), any_json()]) {
        let Ok(reply) = API.reply(&body) else { return Ok(()) };
        prop_assert_eq!(&API.reply(&body).unwrap(), &reply);
        let mut once = ids(&reply);
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), reply.message.calls.len(), "ids differ: {:?}", reply);
        let calls: Vec<_> = reply.message.calls.iter().map(|call| json!(call.id)).collect();
        let messages = sent([vec![user("x")], with_results(reply)].concat());
        check_acceptable(messages.as_array().unwrap());
        let sent: Vec<_> = messages.as_array().unwrap().iter().flat_map(|message| message["content"].as_array().unwrap())
            .filter(|block| block["type"] == "tool_use").map(|block| block["id"].clone()).collect();
        prop_assert_eq!(sent, calls, "every call that is sent back is answered");
    }
}
