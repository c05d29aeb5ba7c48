//! Dotted paths into arguments: `role`, `address.city`, `lines.0.qty`.

use healbench_protocol::Object;
use serde_json::Value;

/// The value at `path`; a field whose own name has dots is found too.
pub(super) fn get<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if let Some(found) = value.get(path) {
        return Some(found);
    }
    path.split('.').try_fold(value, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        other => other.get(part),
    })
}

/// Puts `new` at `path` and says whether that was possible. Objects on the way are made; list items are not.
pub(super) fn set(value: &mut Value, path: &str, new: Value) -> bool {
    if value.is_null() {
        *value = Value::Object(Object::new());
    }
    let (part, rest) = path.split_once('.').map_or((path, None), |(part, rest)| (part, Some(rest)));
    let slot = match value {
        Value::Object(object) => object.entry(part).or_insert(Value::Null),
        Value::Array(items) => match part.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
            Some(item) => item,
            None => return false,
        },
        _ => return false,
    };
    match rest {
        Some(rest) => set(slot, rest, new),
        None => {
            *slot = new;
            true
        }
    }
}

/// Takes the field at `path` away. The other fields keep their order; list items stay, because their neighbours would move.
pub(super) fn remove(value: &mut Value, path: &str) -> Option<Value> {
    if let Value::Object(object) = value
        && let Some(removed) = object.shift_remove(path)
    {
        return Some(removed);
    }
    let (part, rest) = path.split_once('.')?;
    match value {
        Value::Object(object) => remove(object.get_mut(part)?, rest),
        Value::Array(items) => remove(items.get_mut(part.parse::<usize>().ok()?)?, rest),
        _ => None,
    }
}

/// The path of the object that holds the field, and the field's own name.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

/// The object at `path`; the whole value for the empty path.
pub(super) fn object_at<'v>(value: &'v Value, path: &str) -> Option<&'v Object> {
    if path.is_empty() { value.as_object() } else { get(value, path)?.as_object() }
}
