//! The expectation of a schema at a location, and locations in arguments.

use std::borrow::Cow;

use jsonschema::error::TypeKind;
use serde_json::Value;

use super::APPLICATORS;
use super::lookup::{MAX_STEPS, Trail, member, pointer_tokens, resolve_refs, schema_at};
use crate::failure::{Expected, path_segment};

/// Returns the expectation at a path in the arguments.
pub(super) fn expected_at<'p>(
    schema: &Value,
    tokens: impl Iterator<Item = Cow<'p, str>>,
    trail: &Trail<'_>,
) -> Expected {
    schema_at(schema, tokens, trail).map_or(Expected::Any, |location| expected_of(schema, location))
}

/// Returns the options of a schema if it has any, because they are more informative than a type, or else its types.
pub(super) fn expected_of(root: &Value, schema: &Value) -> Expected {
    expected_within(root, schema, &mut Vec::new())
}

/// `visited` are the schemas whose branches were read so far.
fn expected_within(root: &Value, schema: &Value, visited: &mut Vec<*const Value>) -> Expected {
    let schema = resolve_refs(root, schema);
    if let Some(options) = member(schema, "enum").and_then(Value::as_array) {
        return Expected::Options(options.clone());
    }
    if let Some(value) = member(schema, "const") {
        return Expected::Options(vec![value.clone()]);
    }
    let types = match member(schema, "type") {
        Some(Value::String(name)) => Expected::Types(vec![name.clone()]),
        Some(Value::Array(names)) => {
            Expected::Types(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        _ => Expected::Any,
    };
    if !has_branches(schema) || visited.len() > MAX_STEPS || visited.contains(&std::ptr::from_ref(schema)) {
        return types;
    }
    visited.push(schema);
    let branches = |keyword| member(schema, keyword).and_then(Value::as_array).into_iter().flatten();
    let mut inside =
        |keyword| branches(keyword).map(|branch| expected_within(root, branch, visited)).collect::<Vec<_>>();
    let all = inside("allOf");
    let is_options = |expected: &&Expected| matches!(expected, Expected::Options(_));
    if let Some(options) = all.iter().find(is_options) {
        return options.clone();
    }
    let any = [inside("anyOf"), inside("oneOf")].concat();
    let is_known = |expected: &&Expected| !matches!(expected, Expected::Any);
    merge_alternatives(any)
        .or(Some(types).filter(|types| is_known(&types)))
        .or_else(|| all.into_iter().find(|e| is_known(&e)))
        .unwrap_or(Expected::Any)
}

/// Combines the expectations of alternatives: all options or all types. `null` is omitted if there are options.
fn merge_alternatives(branches: Vec<Expected>) -> Option<Expected> {
    let (mut options, mut types): (Vec<Value>, Vec<String>) = (Vec::new(), Vec::new());
    for branch in branches {
        match branch {
            Expected::Options(more) => options.extend(more),
            Expected::Types(more) => types.extend(more),
            Expected::Any => return None,
        }
    }
    match (options.is_empty(), types.iter().all(|name| name == "null")) {
        (true, _) if types.is_empty() => None,
        (true, _) => Some(Expected::Types(types)),
        (false, true) => Some(Expected::Options(options)),
        (false, false) => None,
    }
}

pub(super) fn type_names(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(name) => vec![name.to_string()],
        TypeKind::Multiple(names) => names.iter().map(|name| name.to_string()).collect(),
    }
}

/// Formats `5.0` as 5.
pub(super) fn normalize_number(number: &Value) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(value) if value.fract() == 0.0 && value.abs() < EXACT => Value::from(value as i64),
        _ => number.clone(),
    }
}

/// Like `Value::pointer`, without allocating for each token.
pub(super) fn value_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    pointer_tokens(pointer).try_fold(value, |value, token| match value {
        Value::Object(object) => object.get(&*token),
        Value::Array(items) => items.get(token.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Converts `/lines/0/qty` to `lines.0.qty`, and `/` to `""`.
pub(super) fn dotted_path(pointer: &str) -> String {
    let Some(rest) = pointer.strip_prefix('/') else { return String::new() };
    if !rest.contains(['/', '~']) {
        return path_segment(rest).to_owned();
    }
    let mut path = String::with_capacity(rest.len());
    for (index, token) in pointer_tokens(pointer).enumerate() {
        if index > 0 {
            path.push('.');
        }
        path.push_str(path_segment(&token));
    }
    path
}

pub(super) fn has_branches(schema: &Value) -> bool {
    APPLICATORS.iter().any(|keyword| member(schema, keyword).is_some())
}
