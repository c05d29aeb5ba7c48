//! Answers that other languages can hold and Rust cannot, and answers that take long to handle.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use healbench_agents::llm::{Api, LlmAgentFactory, Model, ModelBackend};
use healbench_protocol::{Agent, AgentError, DrawKey, EpisodeStart, Seed, ToolCall, ToolsMode, Turn};
use serde_json::{Value, json};

use crate::hostile_server::{HostileServer, json};
use crate::llm_endpoint::{KEY, endpoint_of, model};

fn first_turn(change: impl Fn(&mut Model), body: String) -> Result<Turn, AgentError> {
    let server = HostileServer::start(move |_, _| json(200, &body));
    let mut model = model(&server.url, 0);
    change(&mut model);
    let backend = Arc::new(ModelBackend::Live(endpoint_of(&model)));
    let stop = Arc::new(AtomicBool::new(false));
    let factory = Arc::new(LlmAgentFactory { model, backend, stop, recording_date: String::new() });
    let draws = DrawKey::of_trial(Seed(1), "test", 0);
    let start = EpisodeStart { prompt: "Go.", tools: &[], opening: &[], episode: 0, trial: 0, draws };
    factory.agent(start, None).next_turn(&[])
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
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}
