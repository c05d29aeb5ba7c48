//! Properties that hold for any response.

use std::collections::BTreeSet;

use healbench_agents::llm::Message;
use proptest::prelude::*;
use serde_json::Value;

use super::{BOTH, answer, conversation, model, request};

/// Generates small JSON values with words that occur in responses.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("function_call"),
        Just("message"),
        Just("output_text"),
        Just("refusal"),
        Just("incomplete"),
        Just("error"),
        Just("{\"a\":"),
        Just("call_1"),
        Just(""),
        Just("é"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let key =
            prop_oneof![Just("type"), Just("text"), Just("arguments"), Just("content"), Just("function"), Just("id")];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key, inner), 0..4)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// Collects the JSON pointers of all values in a document.
fn pointers(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| pointers(value, &format!("{here}/{key}"), found))
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| pointers(value, &format!("{here}/{index}"), found));
        }
        _ => {}
    }
}

fn mutate(body: &mut Value, changes: Vec<(usize, Option<Value>)>) {
    for (pick, change) in changes {
        let mut found = Vec::new();
        pointers(body, "", &mut found);
        let pointer = &found[pick % found.len()];
        match (change, pointer.rsplit_once('/')) {
            (Some(value), _) => *body.pointer_mut(pointer).unwrap() = value,
            (None, Some((parent, key))) => match body.pointer_mut(parent).unwrap() {
                Value::Object(members) => _ = members.shift_remove(key),
                Value::Array(items) => _ = items.remove(key.parse().unwrap()),
                _ => {}
            },
            (None, None) => *body = Value::Null,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// A parsed reply has unique, non-empty call ids and can be sent back. Other responses are errors and never cause a
    /// panic.
    #[test]
    fn any_response_is_read_or_refused(
        chat in any::<bool>(),
        changes in proptest::collection::vec((any::<usize>(), proptest::option::weighted(0.8, any_json())), 1..6),
    ) {
        let api = BOTH[usize::from(!chat)];
        let mut body = answer(api);
        mutate(&mut body, changes);
        if let Ok(reply) = api.reply(&body) {
            let ids: BTreeSet<&str> = reply.message.calls.iter().map(|call| &*call.id).collect();
            prop_assert_eq!(ids.len(), reply.message.calls.len());
            prop_assert!(!ids.contains(""));
            let raw = reply.message.raw.clone().unwrap();
            let sent = request(&model(api), &conversation(vec![Message::Assistant(reply.message)]));
            let raw = if chat { vec![raw] } else { raw.as_array().unwrap().clone() };
            prop_assert_eq!(api.messages(&sent), &raw[..]);
        }
    }
}
