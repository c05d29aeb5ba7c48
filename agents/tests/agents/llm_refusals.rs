//! Refusals of models and providers: turns of their own, and not those of an agent that stops.

use healbench_core::{Agent, Turn};
use serde_json::{Value, json};

use crate::hostile_server::{HostileServer, json};
use crate::llm_endpoint::agent_on;

/// Returns the first turn of a model whose provider responds in this way.
fn first_turn(status: u16, body: &Value) -> Turn {
    let body = body.to_string();
    let server = HostileServer::start(move |_, _| json(status, &body));
    agent_on(&server, |_| ()).next_turn(&[]).unwrap()
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
