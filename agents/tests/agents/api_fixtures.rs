//! What requests are written from, and answers that are nearly right.

use std::collections::BTreeMap;

use healbench_agents::llm::{
    Api, Arguments, AssistantMessage, CallResult, Connections, Conversation, Function, Limits, Message, Model, Reply,
    Sampling, SentCall,
};
use healbench_core::ToolsMode;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// A model that leaves all to the provider.
pub(crate) fn model(api: Api, name: &str) -> Model {
    Model {
        api,
        model: name.to_owned(),
        base_url: api.default_base_url().to_owned(),
        key_env: None,
        tools: ToolsMode::Native,
        sampling: Sampling { temperature: None, top_p: None, max_output_tokens: None, seed: false },
        extra_body: serde_json::Map::new(),
        headers: BTreeMap::new(),
        headers_env: BTreeMap::new(),
        system: String::new(),
        limits: Limits {
            timeout_s: 60,
            retries: 0,
            episode_calls: None,
            episode_tokens: None,
            tokens_per_minute: None,
        },
        connections: Connections { start: 1, min: 1, max: 1 },
        price: None,
        check_model: false,
        deterministic: false,
    }
}

/// A conversation without a system text and without tools.
pub(crate) fn conversation(messages: Vec<Message>) -> Conversation {
    Conversation { system: String::new(), tools: Vec::new(), messages }
}

/// Books a table.
pub(crate) fn booking() -> Function {
    Function { name: "book".to_owned(), description: "Books a table.".to_owned(), parameters: booking_schema() }
}

/// With keywords that OpenAPI's subset does not have.
pub(crate) fn booking_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"day": {"type": "string"}, "seats": {"type": ["integer", "null"]}},
        "required": ["day"],
        "additionalProperties": false,
    })
}

pub(crate) fn user(text: &str) -> Message {
    Message::User(text.to_owned())
}

/// A message that stands there as the model's own.
pub(crate) fn seeded(text: &str, calls: Vec<SentCall>) -> Message {
    Message::Assistant(AssistantMessage { text: text.to_owned(), calls, raw: None })
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> SentCall {
    SentCall { id: id.to_owned(), name: name.to_owned(), arguments: Arguments::Json(arguments), numbers: None }
}

pub(crate) fn result(id: &str, name: &str, text: &str, is_error: bool) -> CallResult {
    CallResult { id: id.to_owned(), name: name.to_owned(), text: text.to_owned(), is_error }
}

/// Returns the model's message and a result for each of its calls.
pub(crate) fn with_results(reply: Reply) -> Vec<Message> {
    let results: Vec<CallResult> =
        reply.message.calls.iter().map(|call| result(&call.id, &call.name, "done", false)).collect();
    let next = if results.is_empty() { user("Go on.") } else { Message::Results(results) };
    vec![Message::Assistant(reply.message), next]
}

/// A change of a value in a body.
#[derive(Debug, Clone)]
enum Mutation {
    Remove,
    Repeat,
    Replace(Value),
}

/// Any JSON.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(vec!["", " ", "text", "tool_use", "error", "STOP", "toolu_1"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let key =
            select(vec!["type", "text", "id", "name", "input", "parts", "functionCall", "args", "content", "error"]);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec((key, inner), 0..3)
                .prop_map(|entries| entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// A body with some of its places removed, repeated or replaced.
pub(crate) fn mutated(body: Value) -> impl Strategy<Value = Value> {
    let mutation = prop_oneof![Just(Mutation::Remove), Just(Mutation::Repeat), any_json().prop_map(Mutation::Replace)];
    proptest::collection::vec((any::<Index>(), mutation), 0..4).prop_map(move |mutations| {
        let mut body = body.clone();
        for (index, mutation) in mutations {
            let mut pointers = Vec::new();
            collect_pointers(&body, String::new(), &mut pointers);
            let pointer = index.get(&pointers).clone();
            apply_mutation(&mut body, &pointer, mutation);
        }
        body
    })
}

fn collect_pointers(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                collect_pointers(value, format!("{pointer}/{key}"), pointers);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_pointers(item, format!("{pointer}/{index}"), pointers);
            }
        }
        _ => {}
    }
    pointers.push(pointer);
}

fn apply_mutation(body: &mut Value, pointer: &str, mutation: Mutation) {
    if let Mutation::Replace(value) = mutation {
        *body.pointer_mut(pointer).unwrap() = value;
        return;
    }
    // The whole body is in nothing that it could be removed from.
    let Some((parent, key)) = pointer.rsplit_once('/') else { return };
    match (mutation, body.pointer_mut(parent)) {
        (Mutation::Remove, Some(Value::Object(entries))) => drop(entries.shift_remove(key)),
        (Mutation::Remove, Some(Value::Array(items))) => drop(items.remove(key.parse().unwrap())),
        (Mutation::Repeat, Some(Value::Array(items))) => items.push(items[key.parse::<usize>().unwrap()].clone()),
        _ => {}
    }
}
