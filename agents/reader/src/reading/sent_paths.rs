//! Finds the paths of sent arguments that a text identifies by their value.

use serde_json::Value;

use crate::paths;

/// Returns the path of the only sent value, at any depth, that equals `shown`.
pub(super) fn path_of_value(sent: &Value, shown: &str) -> Option<String> {
    only_path(sent, &|value| match value {
        Value::String(text) => text == shown,
        Value::Number(number) => number.to_string() == shown,
        Value::Bool(truth) => shown == if *truth { "true" } else { "false" },
        Value::Null => is_null(shown),
        _ => false,
    })
}

/// Returns true for a word that stands for null, such as Python's `None`.
pub(super) fn is_null(shown: &str) -> bool {
    ["None", "null", "nil"].contains(&shown)
}

/// Returns the path of the only sent list or text of this length.
pub(super) fn path_of_length(sent: &Value, length: f64) -> Option<String> {
    only_path(sent, &|value| match value {
        Value::Array(items) => items.len() as f64 == length,
        Value::String(text) => text.chars().count() as f64 == length,
        _ => false,
    })
}

/// Returns the path of a missing field: exactly one item of a list lacks it while others have it.
pub(super) fn path_missing_in_item(sent: &Value, name: &str) -> Option<String> {
    let list = |value: &Value| {
        let items = value.as_array().map_or(&[][..], Vec::as_slice);
        let lacks = |item: &&Value| item.as_object().is_some_and(|object| !object.contains_key(name));
        (items.iter().filter(lacks).count() == 1 && items.iter().any(|item| item.get(name).is_some()))
            .then(|| items.iter().position(|item| lacks(&item)))
            .flatten()
    };
    let path = only_path(sent, &|value| list(value).is_some())?;
    let index = list(paths::get(sent, &path)?)?;
    Some(format!("{path}.{index}.{name}"))
}

/// Returns the path that a name or the end of a path has in the arguments: `spec.replicas` is `manifest.spec.replicas`. The last part may be
/// missing there.
pub(super) fn path_of_name(sent: &Value, name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split(['.', '/', '[', ']']).filter(|part| !matches!(*part, "" | "$" | "#")).collect();
    let (last, parents) = parts.split_last()?;
    let ends_with = |path: &str, parts: &[&str]| {
        let mut ends = path.rsplit('.');
        parts.iter().rev().all(|part| ends.next() == Some(part))
    };
    let mut found = Vec::new();
    all_paths(sent, "", &mut found);
    let whole: Vec<&String> = found.iter().filter(|path| ends_with(path, &parts)).collect();
    if let [only] = whole.as_slice() {
        return Some((*only).clone());
    }
    let holders: Vec<&String> = found.iter().filter(|path| !parents.is_empty() && ends_with(path, parents)).collect();
    match (whole.as_slice(), holders.as_slice()) {
        ([], [only]) => Some(format!("{only}.{last}")),
        _ => None,
    }
}

fn all_paths(value: &Value, path: &str, found: &mut Vec<String>) {
    const MAX_PATHS: usize = 500;
    if found.len() >= MAX_PATHS {
        return;
    }
    if !path.is_empty() {
        found.push(path.to_owned());
    }
    let inner = |part: &str| if path.is_empty() { part.to_owned() } else { format!("{path}.{part}") };
    match value {
        Value::Object(object) => object.iter().for_each(|(name, item)| all_paths(item, &inner(name), found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| all_paths(item, &inner(&index.to_string()), found))
        }
        _ => {}
    }
}

/// Returns the path of the only value in `sent` for which `is_match` is true.
fn only_path(sent: &Value, is_match: &dyn Fn(&Value) -> bool) -> Option<String> {
    let mut found = Vec::new();
    collect_paths(sent, "", is_match, &mut found);
    if found.len() == 1 { found.pop() } else { None }
}

fn collect_paths(value: &Value, path: &str, is_match: &dyn Fn(&Value) -> bool, found: &mut Vec<String>) {
    // Two matches already make the path ambiguous.
    if found.len() > 1 {
        return;
    }
    if !path.is_empty() && is_match(value) {
        found.push(path.to_owned());
    }
    let inner = |part: &str| if path.is_empty() { part.to_owned() } else { format!("{path}.{part}") };
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(name, item)| collect_paths(item, &inner(name), is_match, found))
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| collect_paths(item, &inner(&index.to_string()), is_match, found));
        }
        _ => {}
    }
}
