//! Decides if one schema accepts every value that another accepts.
//!
//! "Yes" is certain: no call is rejected that was valid before. "No" means that acceptance could not be shown. It is
//! wrong only for schemas that cannot be compared by their parts, such as a rewritten pattern or a different `not`.

mod bounds;
mod branches;
mod conjuncts;
mod objects;

use std::cell::Cell;

use healbench_core::Object;
use serde_json::{Value, json};

use super::canonical::{rebuild, references, without_annotations};
use crate::schema::RowSchema;
use bounds::bound_holds;
use branches::{any_branch, conditional, exactly_one_branch};
use conjuncts::{Conjunct, TypeSet, finite_values, flatten, resolve, types_of};
use objects::{evaluates_as_much, items_hold, properties_hold};

/// The maximum number of comparisons for one pair of schemas, because nested branches multiply. Beyond it the answer is
/// "no".
const FUEL: u32 = 2_000;
/// The maximum depth of a comparison, which also bounds the stack.
const MAX_DEPTH: u32 = 32;

/// Returns true if every value valid under `previous` can be shown to be valid under `current`.
pub(super) fn accepts_all(previous: &Value, current: &Value) -> bool {
    let (previous, current) = (without_annotations(previous), without_annotations(current));
    let fuel = Cell::new(FUEL);
    accepts(
        &previous,
        &current,
        Scope { previous: &previous, current: &current, fuel: &fuel, depth: 0, in_progress: None },
    )
}

/// Returns the JSON types that a schema allows.
pub(super) fn type_names(schema: &Value) -> Vec<&'static str> {
    let schema = without_annotations(schema);
    types_of(&flatten(&schema, &schema)).names()
}

/// The context of a comparison.
#[derive(Clone, Copy)]
struct Scope<'a> {
    /// The root for `$ref`s of the previous schema.
    previous: &'a Value,
    /// The root for `$ref`s of the current schema.
    current: &'a Value,
    fuel: &'a Cell<u32>,
    depth: u32,
    /// The enclosing pairs of schemas with a `$ref`.
    in_progress: Option<&'a ComparedPair<'a>>,
}

struct ComparedPair<'a> {
    previous: &'a Value,
    current: &'a Value,
    parent: Option<&'a ComparedPair<'a>>,
}

impl Scope<'_> {
    /// Swaps the two schemas, for the contents of `not`.
    fn swapped(self) -> Self {
        Scope { previous: self.current, current: self.previous, in_progress: None, ..self }
    }

    fn is_in_progress(&self, previous: &Value, current: &Value) -> bool {
        let mut at = self.in_progress;
        while let Some(in_progress) = at {
            if in_progress.previous == previous && in_progress.current == current {
                return true;
            }
            at = in_progress.parent;
        }
        false
    }
}

fn accepts(previous: &Value, current: &Value, scope: Scope<'_>) -> bool {
    if scope.depth >= MAX_DEPTH || scope.fuel.get() == 0 {
        return false;
    }
    scope.fuel.set(scope.fuel.get() - 1);
    if same(previous, current, scope) {
        return true;
    }
    let in_progress = ComparedPair { previous, current, parent: scope.in_progress };
    let refers = previous.get("$ref").is_some() || current.get("$ref").is_some();
    // A recursive schema accepts another one if it does so everywhere outside of the recursion.
    if refers && scope.is_in_progress(previous, current) {
        return true;
    }
    let scope = Scope {
        depth: scope.depth + 1,
        in_progress: if refers { Some(&in_progress) } else { scope.in_progress },
        ..scope
    };
    let (old, new) = (flatten(previous, scope.previous), flatten(current, scope.current));
    if types_of(&old).is_empty() {
        return true;
    }
    if let Some(values) = finite_values(&old) {
        let are_scalar = !values.iter().any(|value| value.is_object() || value.is_array());
        let validator = |schema: &Value, root: &Value| validator(schema, root, are_scalar);
        let (Some(old), Some(new)) = (validator(previous, scope.previous), validator(current, scope.current)) else {
            return false;
        };
        return values.iter().filter(|value| old.accepts(value)).all(|value| new.accepts(value));
    }
    new.iter().all(|conjunct| conjunct.keys().all(|keyword| keyword_holds(keyword, conjunct, &old, &new, scope)))
        || split_cases(&old, &new).is_some_and(|cases| cases.iter().all(|case| accepts(case, current, scope)))
}

/// Returns true if every value under `old` satisfies `keyword` of `conjunct`. `new` contains all parts including
/// `conjunct`.
fn keyword_holds(keyword: &str, conjunct: &Conjunct, old: &[Conjunct], new: &[Conjunct], scope: Scope<'_>) -> bool {
    let types = types_of(old);
    let concerns = TypeSet::constrained_by(keyword);
    if concerns.difference(types) == concerns {
        return true;
    }
    let value = &conjunct[keyword];
    match keyword {
        "type" => types.difference(TypeSet::from_keyword(value)).is_empty(),
        "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum" | "multipleOf" | "minLength" | "maxLength"
        | "minItems" | "maxItems" | "minProperties" | "maxProperties" => bound_holds(keyword, value, old),
        "required" => {
            let names =
                |conjunct: &Conjunct| conjunct.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            let known: Vec<Value> = old.iter().flat_map(names).collect();
            names(conjunct).iter().all(|name| known.contains(name))
        }
        "properties" | "patternProperties" | "additionalProperties" => properties_hold(conjunct, old, scope),
        "unevaluatedProperties" => {
            value == &json!(true) || value == &json!(false) && evaluates_as_much(old, new, scope)
        }
        // Its meaning depends on all keywords next to it.
        "unevaluatedItems" => value == &json!(true),
        "prefixItems" | "items" => items_hold(conjunct, old, scope),
        "contains" | "minContains" | "maxContains" => contains_holds(conjunct, old, scope),
        "propertyNames" => old.iter().any(|old| old.get(keyword).is_some_and(|old| accepts(old, value, scope))),
        "uniqueItems" => value == &json!(false) || old.iter().any(|old| old.get(keyword) == Some(&json!(true))),
        "not" => old.iter().any(|old| old.get(keyword).is_some_and(|old| accepts(value, old, scope.swapped()))),
        "anyOf" => any_branch(value, old, scope),
        "oneOf" => exactly_one_branch(value, old, scope),
        "if" | "then" | "else" => conditional(conjunct, old, scope),
        // These keywords are only satisfied if the previous schema has the same one.
        "enum" | "const" | "pattern" | "format" | "dependentRequired" | "dependentSchemas" | "$ref" | "$dynamicRef" => {
            old.iter().any(|old| old.get(keyword).is_some_and(|old| same(old, value, scope)))
        }
        conjuncts::NESTED_UNEVALUATED => false,
        // Annotations and unknown keywords.
        _ => true,
    }
}

fn contains_holds(conjunct: &Conjunct, old: &[Conjunct], scope: Scope<'_>) -> bool {
    let least = |conjunct: &Conjunct| conjunct.get("minContains").and_then(Value::as_u64).unwrap_or(1);
    let Some(expected) = conjunct.get("contains") else { return true };
    if conjunct.contains_key("maxContains") {
        let alike = |old: &Conjunct| {
            ["minContains", "maxContains"].iter().all(|keyword| old.get(*keyword) == conjunct.get(*keyword))
        };
        return old.iter().any(|old| alike(old) && old.get("contains").is_some_and(|old| same(old, expected, scope)));
    }
    least(conjunct) == 0
        || old.iter().any(|old| {
            least(old) >= least(conjunct) && old.get("contains").is_some_and(|old| accepts(old, expected, scope))
        })
}

/// Splits the previous schema into cases: one for each branch of its first choice, or one for each of its types if the
/// current schema has branches. Returns `None` if neither applies.
fn split_cases(old: &[Conjunct], new: &[Conjunct]) -> Option<Vec<Value>> {
    for (index, conjunct) in old.iter().enumerate() {
        for keyword in ["anyOf", "oneOf"] {
            let Some(branches) = conjunct.get(keyword).and_then(Value::as_array) else { continue };
            let mut conjuncts: Vec<Conjunct> = old.to_vec();
            conjuncts[index].shift_remove(keyword);
            // `unevaluated…` keywords of the first part apply to the properties of all parts and of the branch, so they
            // must stay above them.
            let unevaluated = conjuncts[0].shift_remove("unevaluatedProperties");
            conjuncts[0].shift_remove("unevaluatedItems");
            let case = |branch: &Value| {
                let all: Vec<Value> = conjuncts.iter().cloned().map(Value::Object).chain([branch.clone()]).collect();
                let mut case = Object::new();
                case.insert("allOf".to_owned(), Value::Array(all));
                case.extend(unevaluated.clone().map(|value| ("unevaluatedProperties".to_owned(), value)));
                Value::Object(case)
            };
            return Some(branches.iter().map(case).collect());
        }
    }
    let chooses = new.iter().any(|conjunct| conjunct.contains_key("anyOf") || conjunct.contains_key("oneOf"));
    let names = types_of(old).names();
    if !chooses || names.len() < 2 {
        return None;
    }
    let scoped = old.iter().flat_map(Conjunct::keys).any(|keyword| keyword.starts_with("unevaluated"));
    let case = |name: &&str| {
        let all: Vec<Value> = old.iter().cloned().map(Value::Object).collect();
        json!({"type": name, "allOf": all})
    };
    (!scoped).then(|| names.iter().map(case).collect())
}

/// Returns true if both schemas and the targets of their references are equal. Both must be without annotations.
fn same(previous: &Value, current: &Value, scope: Scope<'_>) -> bool {
    if previous != current {
        return false;
    }
    let mut seen = Vec::new();
    let mut left = references(previous);
    while let Some(reference) = left.pop() {
        if seen.contains(&reference) {
            continue;
        }
        match (resolve(&reference, scope.previous), resolve(&reference, scope.current)) {
            (None, None) if !reference.starts_with('#') => {}
            (Some(old), Some(new)) if old == new => left.extend(references(old)),
            _ => return false,
        }
        seen.push(reference);
    }
    true
}

/// Compiles a schema taken from `root`, or returns `None` if it has references that cannot be included. For scalars,
/// without the keywords about unevaluated parts: compiling these follows every reference, which doubles with each level
/// of branches.
fn validator(schema: &Value, root: &Value, for_scalars: bool) -> Option<RowSchema> {
    let mut alone = match schema {
        Value::Object(map) => map.clone(),
        other => Object::from_iter([("allOf".to_owned(), json!([other]))]),
    };
    for keyword in ["$defs", "definitions"] {
        if let Some(definitions) = root.get(keyword) {
            alone.insert(keyword.to_owned(), definitions.clone());
        }
    }
    alone.shift_remove(conjuncts::NESTED_UNEVALUATED);
    let alone = Value::Object(alone);
    let defined = |reference: &str| reference.starts_with("#/$defs/") || reference.starts_with("#/definitions/");
    let taken_along = |reference: &String| defined(reference) && resolve(reference, root).is_some();
    if !references(&alone).iter().all(taken_along) {
        return None;
    }
    let without_unevaluated =
        || rebuild(&alone, &|keyword, value| (!keyword.starts_with("unevaluated")).then(|| value.clone()));
    RowSchema::compile(&if for_scalars { without_unevaluated() } else { alone }).ok()
}
