//! Refusals of models and providers: turns of their own, and not those of an agent that stops.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use healbench_agents::llm::{LlmAgentFactory, ModelBackend};
use healbench_core::{Agent, DrawKey, EpisodeStart, Seed, Turn};
use serde_json::{Value, json};

use crate::hostile_server::{HostileServer, json};
use crate::llm_endpoint::{endpoint_of, model};

/// Returns the first turn of a model whose provider responds in this way.
fn first_turn(status: u16, body: &Value) -> Turn {
    let body = body.to_string();
    let server = HostileServer::start(move |_, _| json(status, &body));
    let model = model(&server.url, 0);
    let backend = Arc::new(ModelBackend::Live(endpoint_of(&model)));
    let stop = Arc::new(AtomicBool::new(false));
    let factory = Arc::new(LlmAgentFactory { model, backend, stop, recording_date: String::new() });
    let draws = DrawKey::of_trial(Seed(1), "test", 0);
    factory
        .agent(EpisodeStart { prompt: "Go.", tools: &[], opening: &[], episode: 0, trial: 0, draws }, None)
        .next_turn(&[])
        .unwrap()
}

fn reply(message: Value, finish_reason: &str) -> Value {
    json!({"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]})
}

#[test]
fn a_refusal_or_a_filter_is_a_turn_of_its_own() {
    let text = |text: &str| json!({"role": "assistant", "content": text});
    let refusal = json!({"role": "assistant", "content": null, "refusal": "I cannot help."});
    let policy = json!({"error": {"message": "blocked", "code": "content_filter", "type": "invalid_request_error"}});
    for (status, body, reason) in [
        (200, reply(text("I can"), "content_filter"), "I can"),
        (200, reply(json!({"role": "assistant", "content": null}), "content_filter"), ""),
        (200, reply(refusal, "stop"), "I cannot help."),
        (400, policy, "blocked"),
    ] {
        match first_turn(status, &body) {
            Turn::Refused { reason: found } => assert!(found.contains(reason), "{found}"),
            other => panic!("{body}: {other:?}"),
        }
    }
    // Words are not judged.
    let turn = first_turn(200, &reply(text("I cannot help with that."), "stop"));
    assert!(matches!(turn, Turn::Answer { .. }), "{turn:?}");
}
