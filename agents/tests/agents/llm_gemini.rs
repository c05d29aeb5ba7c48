//! The Gemini `generateContent` API: built requests and parsed responses.

use healbench_agents::llm::{Api, Arguments, AssistantMessage, Conversation, FinishReason, Message, Reply, SentCall};
use healbench_core::Usage;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::api_fixtures::*;

const API: Api = Api::Gemini;

fn body(messages: Vec<Message>) -> Value {
    API.request(&model(API, "gemini-test"), &conversation(messages), 7).body
}

fn sent(messages: Vec<Message>) -> Value {
    body(messages)["contents"].clone()
}

fn path(name: &str) -> String {
    API.request(&model(API, name), &conversation(Vec::new()), 7).path
}

fn read(body: Value) -> Reply {
    API.reply(&body).unwrap()
}

fn unreadable(body: Value) -> String {
    API.reply(&body).unwrap_err().to_string()
}

/// Returns a response with the given parts.
fn answer(parts: Value, finish_reason: &str) -> Value {
    json!({
        "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": finish_reason, "index": 0}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 5, "totalTokenCount": 16},
        "modelVersion": "gemini-test",
        "responseId": "resp7",
    })
}

/// Returns a response with thinking, text and two calls, the second one without an id.
fn two_calls() -> Value {
    answer(
        json!([
            {"text": "Both days are free.", "thought": true},
            {"text": "I book "},
            {"text": "both."},
            {"functionCall": {"id": "fc1", "name": "book", "args": {"day": "Monday"}}, "thoughtSignature": "c2lnbg=="},
            {"functionCall": {"name": "book", "args": {"day": "Tuesday"}}},
        ]),
        "STOP",
    )
}

/// Returns a response whose candidate has no content.
fn without_content(finish_reason: &str, message: Option<&str>) -> Value {
    json!({"candidates": [{"finishReason": finish_reason, "finishMessage": message}]})
}

fn ids(reply: &Reply) -> Vec<&str> {
    reply.message.calls.iter().map(|call| call.id.as_str()).collect()
}

#[test]
fn a_key_goes_into_its_header() {
    assert_eq!(API.headers(Some("k")), [("x-goog-api-key", "k".to_owned())]);
    assert_eq!(API.headers(None), []);
}

#[test]
fn the_model_stands_in_the_path() {
    assert_eq!(path("gemini-2.5-flash"), "/models/gemini-2.5-flash:generateContent");
    assert_eq!(path("models/gemini-2.5-flash"), "/models/gemini-2.5-flash:generateContent");
    assert_eq!(path("a b/c?d#é"), "/models/a%20b%2Fc%3Fd%23%C3%A9:generateContent");
}

#[test]
fn a_conversation_is_written_whole() {
    let mut model = model(API, "gemini-test");
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
            seeded("I try.", vec![call("seed_1", "book", json!({"day": 1})), call("seed_2", "book", json!({}))]),
            Message::Results(vec![
                result("seed_1", "book", "day must be a string", true),
                result("seed_2", "book", "day is missing", true),
            ]),
            Message::Assistant(reply.message),
            Message::Results(vec![
                result("fc1", "book", "booked", false),
                result("resp7_1", "book", "no table is free", true),
            ]),
        ],
    };
    let api_request = API.request(&model, &conversation, u32::MAX);
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "You book tables."}]},
        "tools": [{"functionDeclarations": [
            {"name": "book", "description": "Books a table.", "parametersJsonSchema": booking_schema()},
        ]}],
        "contents": [
            {"role": "user", "parts": [{"text": "Two tables, please."}]},
            {"role": "model", "parts": [
                {"text": "I try."},
                {
                    "functionCall": {"name": "book", "args": {"day": 1}},
                    "thoughtSignature": "skip_thought_signature_validator",
                },
                {"functionCall": {"name": "book", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "book", "response": {"error": "day must be a string"}}},
                {"functionResponse": {"name": "book", "response": {"error": "day is missing"}}},
            ]},
            {"parts": [
                {"text": "Both days are free.", "thought": true},
                {"text": "I book "},
                {"text": "both."},
                {"functionCall": {"id": "fc1", "name": "book", "args": {"day": "Monday"}}, "thoughtSignature": "c2lnbg=="},
                {"functionCall": {"name": "book", "args": {"day": "Tuesday"}}},
            ], "role": "model"},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "fc1", "name": "book", "response": {"output": "booked"}}},
                {"functionResponse": {"name": "book", "response": {"error": "no table is free"}}},
            ]},
        ],
        "generationConfig": {"temperature": 0.5, "topP": 0.9, "maxOutputTokens": 300, "seed": 2_147_483_647},
    });
    assert_eq!(api_request.body, expected);
    assert_eq!(api_request.body.to_string(), expected.to_string(), "the keys' order");
    assert_eq!(API.messages(&api_request.body).len(), 5);
}

#[test]
fn what_is_not_set_is_not_sent() {
    assert_eq!(body(vec![user("Hello.")]), json!({"contents": [{"role": "user", "parts": [{"text": "Hello."}]}]}));
}

#[test]
fn arguments_that_are_no_object_are_wrapped_in_one() {
    let text = SentCall { arguments: Arguments::Text("{day".to_owned()), ..call("a", "book", Value::Null) };
    let contents = sent(vec![user("x"), seeded("", vec![text, call("b", "book", json!([1]))])]);
    assert_eq!(contents[1]["parts"][0]["functionCall"], json!({"name": "book", "args": {"arguments": "{day"}}));
    assert_eq!(contents[1]["parts"][1]["functionCall"], json!({"name": "book", "args": {"arguments": [1]}}));
}

#[test]
fn a_message_without_parts_is_left_out() {
    let expected = json!([{"role": "user", "parts": [{"text": "x"}]}, {"role": "user", "parts": [{"text": "Go on."}]}]);
    for content in [json!(null), json!({"role": "model"}), json!({"parts": [], "role": "model"}), json!("text")] {
        let reply = read(json!({"candidates": [{"content": content, "finishReason": "MAX_TOKENS"}]}));
        assert_eq!(reply.message, AssistantMessage::default(), "{content}");
        assert_eq!(reply.finish_reason, FinishReason::Length);
        assert_eq!(sent(vec![user("x"), Message::Assistant(reply.message), user("Go on.")]), expected);
    }
    assert_eq!(sent(vec![user("x"), seeded("", Vec::new()), user("Go on."), user("")]), expected);
    let emptied =
        Message::Assistant(AssistantMessage { raw: Some(json!({"parts": []})), ..AssistantMessage::default() });
    assert_eq!(sent(vec![user("x"), emptied, user("Go on.")]), expected);
}

#[test]
fn a_message_without_a_role_goes_back_as_the_models() {
    let reply = read(json!({"candidates": [{"content": {"parts": [{"text": "", "thoughtSignature": "cw=="}]}}]}));
    assert_eq!(
        sent(vec![user("x"), Message::Assistant(reply.message)])[1],
        json!({"parts": [{"text": "", "thoughtSignature": "cw=="}], "role": "model"})
    );
}

#[test]
fn an_answer_is_read() {
    let reply = read(two_calls());
    assert_eq!(reply.message.text, "I book both.", "a thought is no text");
    assert_eq!(
        reply.message.calls,
        [call("fc1", "book", json!({"day": "Monday"})), call("resp7_1", "book", json!({"day": "Tuesday"}))]
    );
    assert_eq!(reply.message.raw.as_ref(), Some(&two_calls()["candidates"][0]["content"]));
    assert_eq!(reply.finish_reason, FinishReason::End);
    assert_eq!(reply.usage, Some(Usage { input: 11, output: 5, ..Usage::default() }));
}

#[test]
fn parts_of_other_kinds_are_kept_and_not_read() {
    let parts = json!([
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"text": "a"},
        {"text": 3},
        [false, "in a list", null],
        "text",
        {"text": "b", "functionCall": null},
    ]);
    let reply = read(answer(parts.clone(), "STOP"));
    let raw = json!({"parts": parts, "role": "model"});
    assert_eq!(reply.message, AssistantMessage { text: "ab".to_owned(), calls: Vec::new(), raw: Some(raw.clone()) });
    assert_eq!(sent(vec![user("x"), Message::Assistant(reply.message)])[1], raw);
}

#[test]
fn objects_of_an_extra_body_are_merged() {
    let mut model = model(Api::Gemini, "gemini-test");
    model.sampling.temperature = Some(0.5);
    let thinking = json!({"thinkingConfig": {"thinkingBudget": 0}});
    model.extra_body.insert("generationConfig".to_owned(), thinking);
    let body = Api::Gemini.request(&model, &conversation(vec![user("x")]), 7).body;
    assert_eq!(body["generationConfig"], json!({"temperature": 0.5, "thinkingConfig": {"thinkingBudget": 0}}));
}

#[test]
fn every_finish_reason_is_read() {
    for (reason, finish_reason) in [
        ("STOP", FinishReason::End),
        ("OTHER", FinishReason::End),
        ("OF_A_LATER_VERSION", FinishReason::End),
        ("MALFORMED_FUNCTION_CALL", FinishReason::Unparsed),
        ("UNEXPECTED_TOOL_CALL", FinishReason::Unparsed),
        ("MAX_TOKENS", FinishReason::Length),
        ("SAFETY", FinishReason::Refusal),
        ("RECITATION", FinishReason::Refusal),
        ("BLOCKLIST", FinishReason::Refusal),
        ("PROHIBITED_CONTENT", FinishReason::Refusal),
        ("SPII", FinishReason::Refusal),
    ] {
        let reply = read(without_content(reason, None));
        assert_eq!((reply.finish_reason, reply.message), (finish_reason, AssistantMessage::default()), "{reason}");
    }
    assert_eq!(read(json!({"candidates": [{}]})).finish_reason, FinishReason::End);
}

#[test]
fn a_failed_call_is_a_turn_without_a_call() {
    let failure = "Malformed function call: print(default_api.book(day=))";
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"] {
        let reply = read(without_content(reason, Some(failure)));
        assert_eq!(reply.message, AssistantMessage { text: failure.to_owned(), ..AssistantMessage::default() });
        let mut with_text =
            answer(json!([{"text": "I book."}, {"functionCall": {"name": "book", "args": {}}}]), reason);
        with_text["candidates"][0]["finishMessage"] = json!(failure);
        let reply = read(with_text);
        assert_eq!(reply.message, AssistantMessage { text: "I book.".to_owned(), ..AssistantMessage::default() });
        assert_eq!(reply.finish_reason, FinishReason::Unparsed);
        assert_eq!(
            sent(vec![user("x"), Message::Assistant(reply.message)])[1],
            json!({"role": "model", "parts": [{"text": "I book."}]}),
            "a call that is not answered is not sent back"
        );
    }
}

#[test]
fn a_refusal_says_why_and_an_end_does_not() {
    assert_eq!(read(without_content("SAFETY", Some("Blocked."))).message.text, "Blocked.");
    assert_eq!(read(without_content("STOP", Some("Model ended."))).message.text, "");
    let blocked = read(json!({
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9},
    }));
    assert_eq!(
        blocked.message,
        AssistantMessage { text: "PROHIBITED_CONTENT".to_owned(), ..AssistantMessage::default() }
    );
    assert_eq!(blocked.finish_reason, FinishReason::Refusal);
    assert_eq!(blocked.usage, Some(Usage { input: 9, ..Usage::default() }), "nothing is left of the total");
}

#[test]
fn arguments_of_any_form_are_a_call() {
    let parts = json!([
        {"functionCall": {"name": "book"}},
        {"functionCall": {"name": "book", "args": "Monday"}},
        {"functionCall": {"args": {}}},
    ]);
    assert_eq!(
        read(answer(parts, "STOP")).message.calls,
        [call("resp7_0", "book", json!({})), call("resp7_1", "book", json!("Monday")), call("resp7_2", "", json!({}))]
    );
}

#[test]
fn ids_are_present_unique_and_results_use_the_providers_ids() {
    let parts = json!([
        {"functionCall": {"id": "a", "name": "book", "args": {}}},
        {"functionCall": {"id": "a", "name": "book", "args": {}}},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"functionCall": {"id": 5, "name": "book", "args": {}}},
    ]);
    let reply = read(answer(parts.clone(), "STOP"));
    assert_eq!(ids(&reply), ["a", "resp7_1", "resp7_2"]);
    let contents = sent([vec![user("x")], with_results(reply)].concat());
    let response = |id: Option<&str>| match id {
        Some(id) => json!({"functionResponse": {"id": id, "name": "book", "response": {"output": "done"}}}),
        None => json!({"functionResponse": {"name": "book", "response": {"output": "done"}}}),
    };
    assert_eq!(contents[2]["parts"], json!([response(Some("a")), response(Some("a")), response(None)]));
    let nameless = read(json!({"candidates": [{"content": {"parts": parts}}]}));
    assert_eq!(ids(&nameless), ["a", "call_1", "call_2"]);
}

#[test]
fn usage_counts_thoughts_into_the_output() {
    let with = |usage: Value| read(json!({"candidates": [{}], "usageMetadata": usage})).usage;
    assert_eq!(
        with(json!({
            "promptTokenCount": 900, "cachedContentTokenCount": 600, "candidatesTokenCount": 20, "thoughtsTokenCount": 80,
            "totalTokenCount": 1000,
        })),
        Some(Usage { input: 900, cache_read: Some(600), cache_write: None, output: 100, reasoning: Some(80) })
    );
    assert_eq!(
        with(
            json!({"promptTokenCount": 900, "thoughtsTokenCount": 80, "toolUsePromptTokenCount": 20, "totalTokenCount": 1000})
        ),
        Some(Usage { input: 920, output: 80, reasoning: Some(80), ..Usage::default() })
    );
    let short = json!({"promptTokenCount": 9, "totalTokenCount": 8});
    for unknown in [Value::Null, json!({}), json!({"promptTokenCount": 9}), json!({"candidatesTokenCount": 9}), short] {
        assert_eq!(with(unknown), None);
    }
    assert_eq!(read(json!({"candidates": [{}]})).usage, None);
}

#[test]
fn what_is_no_answer_is_unreadable() {
    let error = json!({"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}});
    assert_eq!(unreadable(error), "the answer cannot be read: UNAVAILABLE: Overloaded");
    let nothing = "the answer cannot be read: it has no candidate and does not say why";
    for body in
        [json!({}), json!({"candidates": []}), json!({"candidates": null, "promptFeedback": {"safetyRatings": []}})]
    {
        assert_eq!(unreadable(body), nothing);
    }
    assert_eq!(unreadable(json!([[{}], null, null, null])), "the answer cannot be read: it is no object");
    assert!(unreadable(json!({"candidates": "text"})).contains("expected a sequence"));
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
        for content in sent([vec![user("x")], with_results(reply)].concat()).as_array().unwrap() {
            prop_assert!(!content["parts"].as_array().unwrap().is_empty());
        }
    }
}
