//! The contents of objects and arrays.

use std::collections::BTreeSet;

use healbench_core::Object;
use serde_json::{Value, json};

use super::conjuncts::{Conjunct, IN_PLACE_APPLICATORS, flatten};
use super::{Scope, accepts};

/// Names of properties; `None` for any name.
type Names = Option<BTreeSet<String>>;

/// The maximum depth of nested branches.
const MAX_DEPTH: u32 = 8;

/// Returns true if the properties of every object under `old` satisfy `conjunct`.
pub(super) fn properties_hold(conjunct: &Conjunct, old: &[Conjunct], scope: Scope<'_>) -> bool {
    let possible = possible_names(old, scope.previous);
    let nothing = Conjunct::new();
    old.iter().chain([&nothing]).any(|old| fields_hold(conjunct, old, possible.as_ref(), scope))
}

fn fields_hold(conjunct: &Conjunct, old: &Conjunct, possible: Option<&BTreeSet<String>>, scope: Scope<'_>) -> bool {
    let (none, anything) = (Object::new(), json!(true));
    let named = |conjunct: &Conjunct, keyword: &str| {
        conjunct.get(keyword).and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let (old_named, new_named) = (named(old, "properties"), named(conjunct, "properties"));
    let (old_matched, new_matched) = (named(old, "patternProperties"), named(conjunct, "patternProperties"));
    let old_other = old.get("additionalProperties").unwrap_or(&anything);
    let new_other = conjunct.get("additionalProperties").unwrap_or(&anything);
    let can_be = |name: &str| possible.is_none_or(|names| names.contains(name));
    // True if some possible name is declared neither in `old` nor in `but`.
    let unnamed = |but: &Object| match possible {
        None => true,
        Some(names) => names.iter().any(|name| !old_named.contains_key(name) && !but.contains_key(name)),
    };
    // A pattern may match any name, so its requirement must hold for every field that could have a matching name.
    let unnamed_hold = |expected: &Value, but: &Object| {
        !unnamed(but)
            || accepts(old_other, expected, scope) && old_matched.values().all(|old| accepts(old, expected, scope))
    };
    let named_hold = |expected: &Value, but: &Object| {
        let relevant = old_named.iter().filter(|(name, _)| can_be(name) && !but.contains_key(*name));
        relevant.into_iter().all(|(_, old)| accepts(old, expected, scope))
    };
    let fields = new_named.iter().all(|(name, expected)| match old_named.get(name) {
        _ if !can_be(name) => true,
        Some(old) => accepts(old, expected, scope),
        None => accepts(old_other, expected, scope) && old_matched.values().all(|old| accepts(old, expected, scope)),
    });
    let patterns = new_matched.iter().all(|(pattern, expected)| {
        old_matched.get(pattern).is_some_and(|old| accepts(old, expected, scope))
            || named_hold(expected, &none) && unnamed_hold(expected, &none)
    });
    let unmatched = old_matched.iter().filter(|(pattern, _)| !new_matched.contains_key(*pattern));
    let others = new_other == &anything
        || named_hold(new_other, &new_named)
            && (!unnamed(&new_named) || accepts(old_other, new_other, scope))
            && unmatched.into_iter().all(|(_, old)| accepts(old, new_other, scope));
    fields && patterns && others
}

/// Returns true if the items of every array under `old` satisfy `conjunct`.
pub(super) fn items_hold(conjunct: &Conjunct, old: &[Conjunct], scope: Scope<'_>) -> bool {
    let anything = json!(true);
    let first =
        |conjunct: &Conjunct| conjunct.get("prefixItems").and_then(Value::as_array).cloned().unwrap_or_default();
    let expected = first(conjunct);
    let nothing = Conjunct::new();
    old.iter().chain([&nothing]).any(|old| {
        let known = first(old);
        let at = |conjunct: &Conjunct, list: &[Value], index: usize| {
            list.get(index).or_else(|| conjunct.get("items")).unwrap_or(&anything).clone()
        };
        // One further index represents all following ones.
        (0..=expected.len().max(known.len()))
            .all(|index| accepts(&at(old, &known, index), &at(conjunct, &expected, index), scope))
    })
}

/// Returns true if a closed object under `old` has only properties known to `new`, which is closed by
/// `unevaluatedProperties: false`.
pub(super) fn evaluates_as_much(old: &[Conjunct], new: &[Conjunct], scope: Scope<'_>) -> bool {
    let Some(possible) = possible_names(old, scope.previous) else { return false };
    let always = declared(new);
    if possible.is_subset(&always) {
        return true;
    }
    if !declared(old).is_subset(&always) {
        return false;
    }
    old.iter().all(|conjunct| {
        IN_PLACE_APPLICATORS.iter().filter_map(|keyword| Some((*keyword, conjunct.get(*keyword)?))).all(
            |(keyword, value)| {
                let known = |case: &Value| {
                    let Some(names) = evaluated(case, scope.previous) else { return false };
                    let left: BTreeSet<String> = names.difference(&always).cloned().collect();
                    let takes_over = |branch: &Value| {
                        left.is_subset(&declared(&flatten(branch, scope.current))) && accepts(case, branch, scope)
                    };
                    // A value of a branch evaluates the same fields under `anyOf` and `oneOf`.
                    let same: &[&str] = if keyword.ends_with("Of") { &["anyOf", "oneOf"] } else { &[keyword] };
                    let lists =
                        new.iter().flat_map(|conjunct| same.iter().filter_map(|key| conjunct.get(*key)?.as_array()));
                    left.is_empty() || lists.flatten().any(takes_over)
                };
                subschemas(value, keyword).iter().all(|case| known(case))
            },
        )
    })
}

/// Returns the names that an object under `conjuncts` can have.
fn possible_names(conjuncts: &[Conjunct], root: &Value) -> Names {
    let closed = |conjunct: &Conjunct| {
        let only =
            conjunct.get("additionalProperties") == Some(&json!(false)) && !conjunct.contains_key("patternProperties");
        only.then(|| declared(std::slice::from_ref(conjunct)))
    };
    conjuncts.iter().find_map(closed).or_else(|| {
        let open = conjuncts.iter().all(|conjunct| conjunct.get("unevaluatedProperties") != Some(&json!(false)));
        if open { None } else { evaluated_by(conjuncts, root, 0) }
    })
}

/// Returns the names under `properties` of the parts themselves.
fn declared(conjuncts: &[Conjunct]) -> BTreeSet<String> {
    conjuncts
        .iter()
        .filter_map(|conjunct| conjunct.get("properties")?.as_object())
        .flat_map(Object::keys)
        .cloned()
        .collect()
}

/// Returns the names that `schema` may evaluate, in any branch.
fn evaluated(schema: &Value, root: &Value) -> Names {
    evaluated_by(&flatten(schema, root), root, 0)
}

fn evaluated_by(conjuncts: &[Conjunct], root: &Value, depth: u32) -> Names {
    let opening = |conjunct: &Conjunct| {
        let open = |keyword: &str| conjunct.get(keyword).is_some_and(|value| value != &json!(false));
        open("additionalProperties")
            || open("unevaluatedProperties")
            || ["patternProperties", "$ref", "$dynamicRef", super::conjuncts::NESTED_UNEVALUATED]
                .iter()
                .any(|key| conjunct.contains_key(*key))
    };
    // Branches that refer to themselves in place have no end.
    if depth > MAX_DEPTH || conjuncts.iter().any(opening) {
        return None;
    }
    let mut names = declared(conjuncts);
    for conjunct in conjuncts {
        for keyword in IN_PLACE_APPLICATORS {
            for case in conjunct.get(keyword).map(|value| subschemas(value, keyword)).unwrap_or_default() {
                names.extend(evaluated_by(&flatten(case, root), root, depth + 1)?);
            }
        }
    }
    Some(names)
}

/// Returns the schemas of an in-place keyword.
fn subschemas<'a>(value: &'a Value, keyword: &str) -> Vec<&'a Value> {
    match (keyword, value) {
        ("anyOf" | "oneOf", Value::Array(cases)) => cases.iter().collect(),
        ("dependentSchemas", Value::Object(cases)) => cases.values().collect(),
        _ => vec![value],
    }
}
