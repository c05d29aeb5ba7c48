//! Choices: `anyOf`, `oneOf`, `if`.

use serde_json::{Value, json};

use super::parts::{Part, are_disjoint, types_of};
use super::{Scope, accepts, same};

/// Whether every value under `was` is valid under one of `branches` at least.
pub(super) fn any_branch(branches: &Value, was: &[Part], scope: Scope<'_>) -> bool {
    let Some(branches) = branches.as_array() else { return false };
    let fits = |case: &Value| branches.iter().any(|branch| accepts(case, branch, scope));
    let chosen = |part: &Part| {
        ["anyOf", "oneOf"]
            .iter()
            .any(|keyword| part.get(*keyword).and_then(Value::as_array).is_some_and(|cases| cases.iter().all(fits)))
    };
    was.iter().any(chosen) || fits(&whole(was))
}

/// Whether every value under `was` is valid under exactly one of `branches`.
pub(super) fn exactly_one_branch(branches: &Value, was: &[Part], scope: Scope<'_>) -> bool {
    let Some(list) = branches.as_array() else { return false };
    if was.iter().any(|part| part.get("oneOf").is_some_and(|was| same_list(was, list, scope))) {
        return true;
    }
    let types = types_of(was);
    let apart = |(index, one): (usize, &Value)| {
        list[index + 1..].iter().all(|other| are_disjoint(one, other, types, scope.now))
    };
    list.iter().enumerate().all(apart) && any_branch(branches, was, scope)
}

/// Whether the branches are the same ones, in any order.
fn same_list(was: &Value, is: &[Value], scope: Scope<'_>) -> bool {
    let Some(was) = was.as_array().filter(|was| was.len() == is.len()) else { return false };
    let mut left: Vec<&Value> = is.iter().collect();
    was.iter().all(|case| match left.iter().position(|branch| same(case, branch, scope)) {
        Some(at) => {
            left.swap_remove(at);
            true
        }
        None => false,
    })
}

/// The same condition, and no less in either case.
pub(super) fn conditional(part: &Part, was: &[Part], scope: Scope<'_>) -> bool {
    let Some(condition) = part.get("if") else { return true };
    let case = |part: &Part, keyword: &str| part.get(keyword).cloned().unwrap_or(json!(true));
    was.iter()
        .filter(|was| was.get("if").is_some_and(|was| same(was, condition, scope)))
        .any(|was| ["then", "else"].iter().all(|keyword| accepts(&case(was, keyword), &case(part, keyword), scope)))
        || ["then", "else"].iter().all(|keyword| case(part, keyword) == json!(true))
}

/// The parts as one schema. Inside of `allOf`, an `unevaluated…` keyword would see less than it did.
fn whole(parts: &[Part]) -> Value {
    if let [one] = parts {
        return Value::Object(one.clone());
    }
    let mut parts = parts.to_vec();
    for part in &mut parts {
        part.retain(|keyword, _| !keyword.starts_with("unevaluated"));
    }
    json!({ "allOf": parts })
}
