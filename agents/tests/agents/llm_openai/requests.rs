//! Built requests.

use healbench_agents::llm::{
    Api, Arguments, AssistantMessage, CallResult, Conversation, Function, Message, Model, Reply, Sampling, SentCall,
};
use serde_json::{Map, Value, json};

use super::{
    BOTH, answer, call, changed, chat_answer, chat_message, conversation, model, read, request, responses_answer,
};

fn result(id: &str, text: &str, is_error: bool) -> CallResult {
    CallResult { id: id.to_owned(), name: "billing".to_owned(), text: text.to_owned(), is_error }
}

fn assistant(text: &str, calls: Vec<SentCall>) -> Message {
    Message::Assistant(AssistantMessage { text: text.to_owned(), calls, raw: None })
}

/// Returns a conversation with a seeded call, its result, the model's reply, and the results of the reply's calls.
fn seeded(reply: Reply) -> Conversation {
    let results = reply.message.calls.iter().map(|call| result(&call.id, "created", false)).collect();
    Conversation {
        system: "You keep the books.".to_owned(),
        tools: vec![Function {
            name: "billing".to_owned(),
            description: "Invoices.".to_owned(),
            parameters: json!({"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}),
        }],
        messages: vec![
            Message::User("Bill 120.".to_owned()),
            assistant("", vec![call("seed", "billing", Arguments::Json(json!({"amount": "x"})))]),
            Message::Results(vec![result("seed", "amount: not a number", true)]),
            Message::Assistant(reply.message),
            Message::Results(results),
        ],
    }
}

/// Returns the arguments of the first call in `reply` as sent back.
fn sent_back(api: Api, reply: Reply) -> Value {
    let body = request(&model(api), &conversation(vec![Message::Assistant(reply.message)]));
    let pointer = if api == Api::OpenaiChat { "/0/tool_calls/0/function/arguments" } else { "/0/arguments" };
    Value::Array(api.messages(&body).to_vec()).pointer(pointer).cloned().unwrap()
}

#[test]
fn a_key_is_a_bearer_token() {
    for api in BOTH {
        assert_eq!(api.headers(Some("k")), [("authorization", "Bearer k".to_owned())]);
        assert_eq!(api.headers(None), []);
    }
}

#[test]
fn chat_requests_carry_the_whole_conversation() {
    let api = Api::OpenaiChat;
    let api_request = api.request(&model(api), &seeded(read(api, &chat_answer()).unwrap()), 7);
    assert_eq!(api_request.path, "/chat/completions");
    assert_eq!(
        api_request.body,
        json!({
            "model": "gpt-5-mini",
            "messages": [
                {"role": "system", "content": "You keep the books."},
                {"role": "user", "content": "Bill 120."},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "seed", "type": "function", "function": {"name": "billing", "arguments": "{\"amount\":\"x\"}"}},
                ]},
                {"role": "tool", "tool_call_id": "seed", "content": "amount: not a number"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "call_a", "type": "function", "function": {"name": "billing", "arguments": "{\"amount\": 120}"}},
                    {"id": "call_b", "type": "function", "function": {"name": "ledger", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "call_a", "content": "created"},
                {"role": "tool", "tool_call_id": "call_b", "content": "created"},
            ],
            "tools": [{"type": "function", "function": {
                "name": "billing",
                "description": "Invoices.",
                "parameters": {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]},
            }}],
        })
    );
}

#[test]
fn responses_requests_carry_the_whole_conversation() {
    let api = Api::OpenaiResponses;
    let api_request = api.request(&model(api), &seeded(read(api, &responses_answer()).unwrap()), 7);
    assert_eq!(api_request.path, "/responses");
    let output = &responses_answer()["output"];
    assert_eq!(
        api_request.body,
        json!({
            "model": "gpt-5-mini",
            "instructions": "You keep the books.",
            "input": [
                {"type": "message", "role": "user", "content": "Bill 120."},
                {"type": "function_call", "call_id": "seed", "name": "billing", "arguments": "{\"amount\":\"x\"}"},
                {"type": "function_call_output", "call_id": "seed", "output": "amount: not a number"},
                output[0], output[1], output[2], output[3],
                {"type": "function_call_output", "call_id": "call_a", "output": "created"},
                {"type": "function_call_output", "call_id": "call_b", "output": "created"},
            ],
            "tools": [{
                "type": "function",
                "name": "billing",
                "description": "Invoices.",
                "parameters": {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]},
                "strict": false,
            }],
            "store": false,
            "include": ["reasoning.encrypted_content"],
        })
    );
}

#[test]
fn the_keys_of_a_request_stand_in_a_fixed_order() {
    let keys = |api: Api| {
        let mut model = model(api);
        model.sampling =
            Sampling { temperature: Some(0.5), top_p: Some(0.9), max_output_tokens: Some(100), seed: true };
        let body = request(&model, &seeded(read(api, &answer(api)).unwrap()));
        body.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(keys(Api::OpenaiChat), "model messages tools temperature top_p seed max_completion_tokens");
    assert_eq!(
        keys(Api::OpenaiResponses),
        "model instructions input tools temperature top_p max_output_tokens store include"
    );
}

#[test]
fn sampling_is_sent_by_the_names_that_a_server_knows() {
    let sampling = Sampling { temperature: Some(0.5), top_p: Some(0.9), max_output_tokens: Some(100), seed: true };
    let body = |api: Api, base_url: &str| {
        let model = Model { sampling, base_url: base_url.to_owned(), ..model(api) };
        let mut body = request(&model, &conversation(Vec::new()));
        body.as_object_mut()
            .unwrap()
            .retain(|key, _| !["model", "messages", "input", "store", "include"].contains(&&**key));
        body
    };
    assert_eq!(
        body(Api::OpenaiChat, "https://api.openai.com/v1"),
        json!({"temperature": 0.5, "top_p": 0.9, "seed": 7, "max_completion_tokens": 100})
    );
    assert_eq!(
        body(Api::OpenaiChat, "http://localhost:11434/v1"),
        json!({"temperature": 0.5, "top_p": 0.9, "seed": 7, "max_tokens": 100})
    );
    assert_eq!(
        body(Api::OpenaiResponses, "https://api.openai.com/v1"),
        json!({"temperature": 0.5, "top_p": 0.9, "max_output_tokens": 100})
    );
}

#[test]
fn encrypted_reasoning_is_asked_of_models_that_reason() {
    let asks = |name: &str| {
        let model = Model { model: name.to_owned(), ..model(Api::OpenaiResponses) };
        request(&model, &conversation(Vec::new())).get("include").is_some()
    };
    for name in ["o3", "o4-mini", "gpt-5", "gpt-5.1-codex", "openai/gpt-oss-20b", "gpt-6", "ft:o4-mini:us::1"] {
        assert!(asks(name), "{name}");
    }
    for name in ["gpt-4o", "gpt-4.1-mini", "openai/gpt-4o", "ft:gpt-4.1:us::1", "gpt-3.5-turbo", "gpt-5-chat-latest"] {
        assert!(!asks(name), "{name}");
    }
}

#[test]
fn extra_keys_go_over_those_that_are_written() {
    let mut model = model(Api::OpenaiResponses);
    model.extra_body = Map::from_iter([("include".to_owned(), json!([]))]);
    assert_eq!(request(&model, &conversation(Vec::new()))["include"], json!([]));
}

/// Compatible servers parse the arguments of earlier calls; OpenAI's own API does not.
#[test]
fn arguments_that_are_no_object_go_back_inside_of_one_where_they_are_parsed() {
    let arguments = [
        (Arguments::Json(json!({"day": 1})), json!({"day": 1})),
        (Arguments::Json(json!([1])), json!({"arguments": "[1]"})),
        (Arguments::Json(json!("x")), json!({"arguments": "\"x\""})),
        (Arguments::Text("{\"half".to_owned()), json!({"arguments": "{\"half"})),
    ];
    let mut model = model(Api::OpenaiChat);
    for (sent, expected) in arguments {
        let conversation = conversation(vec![assistant("", vec![call("a", "f", sent.clone())])]);
        let written = |model: &Model| {
            let body = request(model, &conversation);
            body.pointer("/messages/0/tool_calls/0/function/arguments").unwrap().as_str().unwrap().to_owned()
        };
        model.base_url = "http://127.0.0.1:8080/v1".to_owned();
        assert_eq!(serde_json::from_str::<Value>(&written(&model)).unwrap(), expected);
        model.base_url = Api::OpenaiChat.default_base_url().to_owned();
        let plain = match sent {
            Arguments::Json(value) => value.to_string(),
            Arguments::Text(text) => text,
        };
        assert_eq!(written(&model), plain);
    }
}

#[test]
fn a_message_without_a_raw_form_is_written_from_text_and_calls() {
    let calls =
        vec![call("a", "f", Arguments::Json(json!([1]))), call("b", "g", Arguments::Text("{\"half".to_owned()))];
    let conversation =
        conversation(vec![assistant("Both.", calls), assistant("", Vec::new()), assistant("Done.", Vec::new())]);
    assert_eq!(
        request(&model(Api::OpenaiChat), &conversation)["messages"],
        json!([
            {"role": "assistant", "content": "Both.", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "[1]"}},
                {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{\"half"}},
            ]},
            {"role": "assistant", "content": ""},
            {"role": "assistant", "content": "Done."},
        ])
    );
    assert_eq!(
        request(&model(Api::OpenaiResponses), &conversation)["input"],
        json!([
            {"type": "message", "role": "assistant", "content": "Both."},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "[1]"},
            {"type": "function_call", "call_id": "b", "name": "g", "arguments": "{\"half"},
            {"type": "message", "role": "assistant", "content": "Done."},
        ])
    );
}

#[test]
fn arguments_go_back_as_text_that_a_server_can_parse() {
    let table = [("{ \"a\":1 }", "{ \"a\":1 }"), ("", "{}"), ("{\"half", "{\"half")];
    for (sent, back) in table {
        for (api, pointer) in [
            (Api::OpenaiChat, "/choices/0/message/tool_calls/0/function/arguments"),
            (Api::OpenaiResponses, "/output/2/arguments"),
        ] {
            let mut body = answer(api);
            *body.pointer_mut(pointer).unwrap() = json!(sent);
            if api == Api::OpenaiResponses {
                body["output"].as_array_mut().unwrap().drain(..2);
            }
            assert_eq!(sent_back(api, read(api, &body).unwrap()), json!(back), "{api:?}");
        }
    }
    let reply = changed(Api::OpenaiChat, "/choices/0/message/tool_calls/0/function/arguments", json!({"amount": 120}));
    assert_eq!(sent_back(Api::OpenaiChat, reply.unwrap()), json!("{\"amount\":120}"));
}

#[test]
fn an_answer_without_anything_can_be_sent_back() {
    let reply = chat_message(json!({"role": "assistant", "content": null, "tool_calls": []}), "stop").unwrap();
    assert_eq!(reply.message.calls, []);
    assert_eq!(reply.message.raw, Some(json!({"role": "assistant", "content": ""})));
}

#[test]
fn a_message_goes_back_with_what_belongs_in_a_request() {
    let message = json!({
        "content": "Once more.",
        "role": "assistant",
        "refusal": null,
        "annotations": [],
        "audio": null,
        "function_call": null,
        "reasoning_content": "Hm.",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "gAAA"}],
        "tool_calls": [{
            "index": 0,
            "id": "a",
            "type": "function",
            "function": {"name": "f", "arguments": "{}"},
            "extra_content": {"google": {"thought_signature": "Ejs"}},
        }],
    });
    assert_eq!(
        chat_message(message, "tool_calls").unwrap().message.raw,
        Some(json!({
            "role": "assistant",
            "content": "Once more.",
            "reasoning_content": "Hm.",
            "reasoning_details": [{"type": "reasoning.encrypted", "data": "gAAA"}],
            "tool_calls": [{
                "id": "a",
                "type": "function",
                "function": {"name": "f", "arguments": "{}"},
                "extra_content": {"google": {"thought_signature": "Ejs"}},
            }],
        }))
    );
}
