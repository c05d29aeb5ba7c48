//! What an API needs that wants every call to have an id, and every call's arguments to be an object.

use healbench_protocol::Object;
use serde_json::Value;

use crate::llm::Arguments;

/// The ids of a message's calls, each of them there and different from the others.
///
/// An id that is missing, empty or an earlier call's is made of the message's own id and the call's position: the same answer
/// gives the same ids again, and those of two messages differ wherever the provider tells its messages apart.
pub(super) fn unique_ids(given: &[Option<&str>], message_id: Option<&str>) -> Vec<String> {
    let message_id = message_id.filter(|id| !id.is_empty()).unwrap_or("call");
    let mut ids: Vec<String> = Vec::with_capacity(given.len());
    for (position, id) in given.iter().enumerate() {
        let usable = id.filter(|id| !id.is_empty() && !ids.iter().any(|taken| taken == id));
        let id = usable.map_or_else(|| generated_id(message_id, position, given), str::to_owned);
        ids.push(id);
    }
    ids
}

/// Positions differ, so made ids can only meet given ones.
fn generated_id(message_id: &str, position: usize, given: &[Option<&str>]) -> String {
    let mut id = format!("{message_id}_{position}");
    while given.contains(&Some(id.as_str())) {
        id.push('_');
    }
    id
}

/// Arguments for an API that takes only objects. Others, of a call that was not made over this API, stand under `arguments`.
pub(super) fn as_object(arguments: &Arguments) -> Object {
    let other = match arguments {
        Arguments::Json(Value::Object(object)) => return object.clone(),
        Arguments::Json(other) => other.clone(),
        Arguments::Text(text) => Value::String(text.clone()),
    };
    Object::from_iter([("arguments".to_owned(), other)])
}
