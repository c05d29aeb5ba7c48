//! Helpers for APIs that require an id for every call and an object as its arguments.

use std::collections::BTreeSet;

use healbench_core::Object;
use serde_json::Value;

use crate::llm::Arguments;

/// Returns unique, non-empty ids for the calls of a message.
///
/// A missing, empty or repeated id is replaced by one made from the message's id and the call's position: the same
/// response always gets the same ids, and ids of different messages differ if the provider's message ids do.
pub(super) fn unique_ids(given: &[Option<&str>], message_id: Option<&str>) -> Vec<String> {
    let message_id = message_id.filter(|id| !id.is_empty()).unwrap_or("call");
    let all_given: BTreeSet<&str> = given.iter().copied().flatten().collect();
    let mut used = BTreeSet::new();
    let mut ids = Vec::with_capacity(given.len());
    for (position, id) in given.iter().enumerate() {
        ids.push(match id.filter(|id| !id.is_empty() && used.insert(*id)) {
            Some(id) => id.to_owned(),
            None => generated_id(message_id, position, &all_given),
        });
    }
    ids
}

/// Returns an id for the call at `position`. Generated ids cannot equal each other, so only given ids are checked.
fn generated_id(message_id: &str, position: usize, given: &BTreeSet<&str>) -> String {
    let mut id = format!("{message_id}_{position}");
    while given.contains(id.as_str()) {
        id.push('_');
    }
    id
}

/// Returns arguments for an API that accepts only objects. Other values, from calls not made through this API, are put
/// under the key `arguments`.
pub(super) fn as_object(arguments: &Arguments) -> Object {
    let other = match arguments {
        Arguments::Json(Value::Object(object)) => return object.clone(),
        Arguments::Json(other) => other.clone(),
        Arguments::Text(text) => Value::String(text.clone()),
    };
    Object::from_iter([("arguments".to_owned(), other)])
}
