//! What is inside of objects and arrays.

use std::collections::BTreeSet;

use healbench_protocol::Object;
use serde_json::{Value, json};

use super::parts::{IN_PLACE, Part, flatten};
use super::{Scope, accepts};

/// Names of properties; `None` is "could be any".
type Names = Option<BTreeSet<String>>;

/// Branches in branches.
const MAX_DEPTH: u32 = 8;

/// Whether every object under `was` has properties as `part` wants them.
pub(super) fn properties_hold(part: &Part, was: &[Part], scope: Scope<'_>) -> bool {
    let possible = possible_names(was, scope.before);
    let nothing = Part::new();
    was.iter().chain([&nothing]).any(|was| fields_hold(part, was, possible.as_ref(), scope))
}

fn fields_hold(part: &Part, was: &Part, possible: Option<&BTreeSet<String>>, scope: Scope<'_>) -> bool {
    let (none, anything) = (Object::new(), json!(true));
    let named = |part: &Part, keyword: &str| part.get(keyword).and_then(Value::as_object).cloned().unwrap_or_default();
    let (was_named, is_named) = (named(was, "properties"), named(part, "properties"));
    let (was_matched, is_matched) = (named(was, "patternProperties"), named(part, "patternProperties"));
    let was_other = was.get("additionalProperties").unwrap_or(&anything);
    let is_other = part.get("additionalProperties").unwrap_or(&anything);
    let can_be = |name: &str| possible.is_none_or(|names| names.contains(name));
    // Possible names about which `was` itself says nothing by name.
    let unnamed = |but: &Object| match possible {
        None => true,
        Some(names) => names.iter().any(|name| !was_named.contains_key(name) && !but.contains_key(name)),
    };
    // A pattern may match any name, so what is asked of one must be true of every field that could bear the name.
    let unnamed_hold = |wanted: &Value, but: &Object| {
        !unnamed(but)
            || accepts(was_other, wanted, scope) && was_matched.values().all(|was| accepts(was, wanted, scope))
    };
    let named_hold = |wanted: &Value, but: &Object| {
        let asked = was_named.iter().filter(|(name, _)| can_be(name) && !but.contains_key(*name));
        asked.into_iter().all(|(_, was)| accepts(was, wanted, scope))
    };
    let fields = is_named.iter().all(|(name, wanted)| match was_named.get(name) {
        _ if !can_be(name) => true,
        Some(was) => accepts(was, wanted, scope),
        None => accepts(was_other, wanted, scope) && was_matched.values().all(|was| accepts(was, wanted, scope)),
    });
    let patterns = is_matched.iter().all(|(pattern, wanted)| {
        was_matched.get(pattern).is_some_and(|was| accepts(was, wanted, scope))
            || named_hold(wanted, &none) && unnamed_hold(wanted, &none)
    });
    let kept = was_matched.iter().filter(|(pattern, _)| !is_matched.contains_key(*pattern));
    let others = is_other == &anything
        || named_hold(is_other, &is_named)
            && (!unnamed(&is_named) || accepts(was_other, is_other, scope))
            && kept.into_iter().all(|(_, was)| accepts(was, is_other, scope));
    fields && patterns && others
}

/// Whether every array under `was` has items as `part` wants them.
pub(super) fn items_hold(part: &Part, was: &[Part], scope: Scope<'_>) -> bool {
    let anything = json!(true);
    let first = |part: &Part| part.get("prefixItems").and_then(Value::as_array).cloned().unwrap_or_default();
    let wanted = first(part);
    let nothing = Part::new();
    was.iter().chain([&nothing]).any(|was| {
        let known = first(was);
        let at = |part: &Part, list: &[Value], index: usize| {
            list.get(index).or_else(|| part.get("items")).unwrap_or(&anything).clone()
        };
        // One further index stands for all that follow.
        (0..=wanted.len().max(known.len()))
            .all(|index| accepts(&at(was, &known, index), &at(part, &wanted, index), scope))
    })
}

/// Whether a closed object under `was` has no property that `is`, closed by `unevaluatedProperties: false`, would not know.
pub(super) fn evaluates_no_less(was: &[Part], is: &[Part], scope: Scope<'_>) -> bool {
    let Some(possible) = possible_names(was, scope.before) else { return false };
    let always = declared(is);
    if possible.is_subset(&always) {
        return true;
    }
    if !declared(was).is_subset(&always) {
        return false;
    }
    was.iter().all(|part| {
        IN_PLACE.iter().filter_map(|keyword| Some((*keyword, part.get(*keyword)?))).all(|(keyword, value)| {
            let known = |case: &Value| {
                let Some(names) = evaluated(case, scope.before) else { return false };
                let left: BTreeSet<String> = names.difference(&always).cloned().collect();
                let takes_over = |branch: &Value| {
                    left.is_subset(&declared(&flatten(branch, scope.now))) && accepts(case, branch, scope)
                };
                left.is_empty() || is.iter().filter_map(|part| part.get(keyword)?.as_array()).flatten().any(takes_over)
            };
            inside(value, keyword).iter().all(|case| known(case))
        })
    })
}

/// The names that an object under `parts` can have at all.
fn possible_names(parts: &[Part], root: &Value) -> Names {
    let closed = |part: &Part| {
        let only = part.get("additionalProperties") == Some(&json!(false)) && !part.contains_key("patternProperties");
        only.then(|| declared(std::slice::from_ref(part)))
    };
    parts.iter().find_map(closed).or_else(|| {
        let open = parts.iter().all(|part| part.get("unevaluatedProperties") != Some(&json!(false)));
        if open { None } else { evaluated_by(parts, root, 0) }
    })
}

/// The names under `properties` of the parts themselves.
fn declared(parts: &[Part]) -> BTreeSet<String> {
    parts.iter().filter_map(|part| part.get("properties")?.as_object()).flat_map(Object::keys).cloned().collect()
}

/// The names that `schema` may evaluate, in whichever branch.
fn evaluated(schema: &Value, root: &Value) -> Names {
    evaluated_by(&flatten(schema, root), root, 0)
}

fn evaluated_by(parts: &[Part], root: &Value, depth: u32) -> Names {
    let opening = |part: &Part| {
        let open = |keyword: &str| part.get(keyword).is_some_and(|value| value != &json!(false));
        open("additionalProperties")
            || open("unevaluatedProperties")
            || ["patternProperties", "$ref", "$dynamicRef", super::parts::FOREIGN]
                .iter()
                .any(|key| part.contains_key(*key))
    };
    // Branches that refer to themselves in place have no end.
    if depth > MAX_DEPTH || parts.iter().any(opening) {
        return None;
    }
    let mut names = declared(parts);
    for part in parts {
        for keyword in IN_PLACE {
            for case in part.get(keyword).map(|value| inside(value, keyword)).unwrap_or_default() {
                names.extend(evaluated_by(&flatten(case, root), root, depth + 1)?);
            }
        }
    }
    Some(names)
}

/// The schemas behind an in-place keyword.
fn inside<'a>(value: &'a Value, keyword: &str) -> Vec<&'a Value> {
    match (keyword, value) {
        ("anyOf" | "oneOf", Value::Array(cases)) => cases.iter().collect(),
        ("dependentSchemas", Value::Object(cases)) => cases.values().collect(),
        _ => vec![value],
    }
}
