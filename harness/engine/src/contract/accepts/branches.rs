//! The keywords `anyOf`, `oneOf` and `if`.

use serde_json::{Value, json};

use super::conjuncts::{Conjunct, are_disjoint, types_of};
use super::{Scope, accepts, same};

/// Returns true if every value under `old` is valid under at least one of `branches`.
pub(super) fn any_branch(branches: &Value, old: &[Conjunct], scope: Scope<'_>) -> bool {
    let Some(branches) = branches.as_array() else { return false };
    let fits = |case: &Value| branches.iter().any(|branch| accepts(case, branch, scope));
    let chosen = |conjunct: &Conjunct| {
        ["anyOf", "oneOf"]
            .iter()
            .any(|keyword| conjunct.get(*keyword).and_then(Value::as_array).is_some_and(|cases| cases.iter().all(fits)))
    };
    old.iter().any(chosen) || fits(&to_schema(old))
}

/// Returns true if every value under `old` is valid under exactly one of `branches`.
pub(super) fn exactly_one_branch(branches: &Value, old: &[Conjunct], scope: Scope<'_>) -> bool {
    let Some(list) = branches.as_array() else { return false };
    if old.iter().any(|conjunct| conjunct.get("oneOf").is_some_and(|old| same_list(old, list, scope))) {
        return true;
    }
    let types = types_of(old);
    let is_disjoint = |(index, one): (usize, &Value)| {
        list[index + 1..].iter().all(|other| are_disjoint(one, other, types, scope.current))
    };
    list.iter().enumerate().all(is_disjoint) && any_branch(branches, old, scope)
}

/// Returns true if the branches are equal in any order.
fn same_list(old: &Value, new: &[Value], scope: Scope<'_>) -> bool {
    let Some(old) = old.as_array().filter(|old| old.len() == new.len()) else { return false };
    let mut left: Vec<&Value> = new.iter().collect();
    old.iter().all(|case| match left.iter().position(|branch| same(case, branch, scope)) {
        Some(at) => {
            left.swap_remove(at);
            true
        }
        None => false,
    })
}

/// Returns true if the condition is equal and both cases accept at least as much.
pub(super) fn conditional(conjunct: &Conjunct, old: &[Conjunct], scope: Scope<'_>) -> bool {
    let Some(condition) = conjunct.get("if") else { return true };
    let case = |conjunct: &Conjunct, keyword: &str| conjunct.get(keyword).cloned().unwrap_or(json!(true));
    old.iter()
        .filter(|old| old.get("if").is_some_and(|old| same(old, condition, scope)))
        .any(|old| ["then", "else"].iter().all(|keyword| accepts(&case(old, keyword), &case(conjunct, keyword), scope)))
        || ["then", "else"].iter().all(|keyword| case(conjunct, keyword) == json!(true))
}

/// Combines the parts into one schema. Inside `allOf`, an `unevaluated…` keyword would not see the other parts.
fn to_schema(conjuncts: &[Conjunct]) -> Value {
    if let [one] = conjuncts {
        return Value::Object(one.clone());
    }
    let mut conjuncts = conjuncts.to_vec();
    for conjunct in &mut conjuncts {
        conjunct.retain(|keyword, _| !keyword.starts_with("unevaluated"));
    }
    json!({ "allOf": conjuncts })
}
