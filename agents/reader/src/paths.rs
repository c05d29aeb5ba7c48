//! Dotted paths into arguments: `role`, `address.city`, `lines.0.qty`.

use healbench_core::Object;
use serde_json::Value;

/// Returns the value at `path`. Field names that contain dots are found too.
pub(super) fn get<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if let Some(found) = value.get(path) {
        return Some(found);
    }
    path.split('.').try_fold(value, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        other => other.get(part),
    })
}

/// Sets the value at `path` and returns true if that was possible. Missing objects are created; missing list items are
/// not.
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

/// Removes the field at `path`. Other fields keep their order. List items are not removed, because the indices of later
/// ones would change.
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

/// Removes what stands at `path`, which is not known yet. An item of a list becomes null, so that the others keep their places.
pub(super) fn forget(value: &mut Value, path: &str) {
    match parent(value, path) {
        Some(Value::Array(_)) if get(value, path).is_some() => _ = set(value, path, Value::Null),
        _ => _ = remove(value, path),
    }
}

/// Sets the value at `path` if that is an argument, or stands in an object or a list that is there.
pub(super) fn fill(value: &mut Value, path: &str, new: Value) {
    if parent(value, path).is_some_and(|parent| parent.is_object() || parent.is_array()) {
        set(value, path, new);
    }
}

/// Returns true if the paths are equal, or one is a part of the other.
pub(super) fn overlap(one: &str, other: &str) -> bool {
    let is_part =
        |whole: &str, part: &str| part.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    is_part(one, other) || is_part(other, one)
}

/// Returns what a path's last part is a part of.
pub(super) fn parent<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    match split(path).0 {
        "" => Some(value),
        parent => get(value, parent),
    }
}

/// Returns true if a scalar of `value` is `wanted`, or a text has it in it as a word.
pub(super) fn holds(value: &Value, wanted: &Value) -> bool {
    match value {
        Value::Object(object) => object.values().any(|value| holds(value, wanted)),
        Value::Array(items) => items.iter().any(|value| holds(value, wanted)),
        Value::String(text) => match wanted {
            Value::String(wanted) => has_word(text, wanted),
            other => has_word(text, &other.to_string()),
        },
        // A number where its text is meant.
        Value::Number(number) => value == wanted || wanted.as_str().is_some_and(|wanted| number.to_string() == wanted),
        other => other == wanted,
    }
}

/// Returns true if `text` has `word` in it, and not as a part of a longer word.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(start, _)| {
        let (before, after) = (text[..start].chars().next_back(), text[start + word.len()..].chars().next());
        !before.into_iter().chain(after).any(char::is_alphanumeric)
    })
}

/// Splits a path into the path of the parent object and the field's name.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

/// Returns the object at `path`; the value itself for an empty path.
pub(super) fn object_at<'v>(value: &'v Value, path: &str) -> Option<&'v Object> {
    if path.is_empty() { value.as_object() } else { get(value, path)?.as_object() }
}
