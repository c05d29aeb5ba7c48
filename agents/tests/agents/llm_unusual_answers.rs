//! Answers that other languages can hold and Rust cannot, and answers that take long to handle.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use healbench_agents::llm::{Api, LlmAgentFactory, Model, ModelBackend};
use healbench_core::{Agent, AgentError, DrawKey, EpisodeStart, Seed, ToolCall, ToolResponse, ToolsMode, Turn};
use serde_json::{Value, json};

use crate::hostile_server::{HostileServer, json};
use crate::llm_endpoint::{KEY, agent_on, endpoint_of, model};

fn first_turn(change: impl Fn(&mut Model), body: String) -> Result<Turn, AgentError> {
    let server = HostileServer::start(move |_, _| json(200, &body));
    agent_on(&server, change).next_turn(&[])
}

/// Returns the only call of a turn.
fn call(turn: Result<Turn, AgentError>) -> ToolCall {
    match turn.unwrap() {
        Turn::Calls { mut calls, .. } if calls.len() == 1 => calls.remove(0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn half_a_surrogate_pair_and_a_number_without_end_are_what_the_model_said() {
    let chat = |message: &str| format!(r#"{{"choices": [{{"message": {message}, "finish_reason": "stop"}}]}}"#);
    let text = first_turn(|_| (), chat(r#"{"content": "a\ud800b"}"#)).unwrap();
    assert_eq!(text, Turn::Answer { text: "a\u{fffd}b".to_owned() });

    let expected = json!({"text": "\u{fffd}", "n": f64::MAX});
    // Arguments as text, in which the escapes are escaped.
    let arguments = Value::from(r#"{"text": "\udc00", "n": 1e999}"#);
    let message =
        format!(r#"{{"tool_calls": [{{"id": "1", "function": {{"name": "t", "arguments": {arguments}}}}}]}}"#);
    let found = call(first_turn(|_| (), chat(&message)));
    assert_eq!(found.arguments, expected);
    // An error shows the number as it was sent.
    assert_eq!(found.numbers.unwrap().json_of(&expected["n"], ["n"]).unwrap(), "1e999");
    // Arguments as an object.
    let input = r#"{"text": "\udc00", "n": 1e999}"#;
    let body = format!(
        r#"{{"type": "message", "role": "assistant", "stop_reason": "tool_use",
            "content": [{{"type": "tool_use", "id": "1", "name": "t", "input": {input}}}]}}"#
    );
    assert_eq!(call(first_turn(|model| model.api = Api::Anthropic, body)).arguments, expected);
    // A call in the text of an answer.
    let content = Value::from(format!(r#"{{"name": "t", "arguments": {input}}}"#));
    let turn = first_turn(|model| model.tools = ToolsMode::Prompt, chat(&format!(r#"{{"content": {content}}}"#)));
    assert_eq!(call(turn).arguments, expected);
}

#[test]
fn an_answer_is_handled_within_the_time_limit() {
    // Twelve megabytes in which every few bytes could begin the key.
    let near = format!("{}    ", &KEY[..3]).repeat(1 << 21);
    let body = json!({"choices": [{"message": {"content": near}, "finish_reason": "stop"}]}).to_string();
    let started = Instant::now();
    let error = first_turn(|model| model.limits.timeout_s = 1, body).unwrap_err();
    assert!(error.to_string().contains("no complete answer within 1 s"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
}

/// Returns an answer with one call.
fn chat_call(name: &str, arguments: &Value) -> String {
    let function = json!({"name": name, "arguments": arguments.to_string()});
    let message = json!({"content": "", "tool_calls": [{"id": "1", "function": function}]});
    json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).to_string()
}

#[test]
fn an_answer_that_is_longer_than_any_model_writes_ends_the_episode() {
    let long = "x".repeat(1 << 20);
    let keys: serde_json::Map<String, Value> = (0..100_000).map(|n| (format!("key {n}"), n.into())).collect();
    let text = json!({"choices": [{"message": {"content": long}, "finish_reason": "stop"}]}).to_string();
    let calls = [chat_call("t", &json!({"text": long})), chat_call("t", &keys.into()), chat_call(&long, &json!({}))];
    for body in calls.into_iter().chain([text]) {
        match first_turn(|model| model.limits.timeout_s = 60, body).unwrap() {
            Turn::Incomplete { text } => assert!(text.contains("at most 1024 KiB are kept"), "{text}"),
            other => panic!("{} bytes", format!("{other:?}").len()),
        }
    }
    let message = r#"{"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [{"type": "tool_use", "id": "1",
        "name": "t", "input": {"text": "LONG"}}]}"#;
    let turn = first_turn(|model| model.api = Api::Anthropic, message.replace("LONG", &long)).unwrap();
    assert!(matches!(turn, Turn::Incomplete { .. }));
    // Half of it is a call.
    let half = chat_call("t", &json!({"text": long[..1 << 19]}));
    assert_eq!(call(first_turn(|_| (), half)).tool, "t");
}

#[test]
fn a_conversation_that_no_model_can_read_is_not_sent() {
    let half = "x".repeat(1 << 19);
    let answer = chat_call("t", &json!({"text": half}));
    let server = HostileServer::start(move |_, _| json(200, &answer));
    let mut model = model(&server.url, 0);
    model.limits.timeout_s = 60;
    let backend = Arc::new(ModelBackend::Live(endpoint_of(&model)));
    let stop = Arc::new(AtomicBool::new(false));
    let factory = Arc::new(LlmAgentFactory { model, backend, stop, recording_date: String::new() });
    let draws = DrawKey::of_trial(Seed(1), "test", 0);
    let start = EpisodeStart { prompt: "Go.", tools: &[], opening: &[], episode: 0, trial: 0, draws };
    let mut agent = factory.agent(start, None);
    let response = ToolResponse { content: vec![half.clone()], is_error: false };
    let mut turn = agent.next_turn(&[]).unwrap();
    for _ in 0..20 {
        let Turn::Calls { .. } = turn else { break };
        turn = agent.next_turn(&[&response]).unwrap();
    }
    let Turn::TooLong { reason } = turn else { panic!("no end") };
    assert!(reason.contains("at most 8 MiB are sent"), "{reason}");
    // Each turn adds a mebibyte.
    assert_eq!(server.received().len(), 8);
}
