//! Whether one schema accepts every value that another accepts.
//!
//! A "yes" is certain: it says that no call is rejected that was valid before. A "no" means that it could not be shown, which is
//! wrong only for schemas that nobody could compare by their parts either (a rewritten pattern, a different `not`).

mod bounds;
mod branches;
mod objects;
mod parts;

use std::cell::Cell;

use healbench_protocol::Object;
use serde_json::{Value, json};

use super::canonical::{bare_schema, references};
use bounds::bound_holds;
use branches::{any_branch, conditional, exactly_one_branch};
use objects::{evaluates_no_less, items_hold, properties_hold};
use parts::{Part, Types, finite_values, flatten, resolve, types_of};

/// Comparisons of one pair of schemas. Branches in branches multiply; past this the answer is "no".
const FUEL: u32 = 2_000;
/// How deep a comparison goes, for the same reason and for the stack's.
const MAX_DEPTH: u32 = 32;

/// Whether every value that is valid under `previous` is valid under `current`.
pub(super) fn accepts_all(previous: &Value, current: &Value) -> bool {
    let (before, now) = (bare_schema(previous), bare_schema(current));
    let fuel = Cell::new(FUEL);
    accepts(&before, &now, Scope { before: &before, now: &now, fuel: &fuel, depth: 0, open: None })
}

/// Where a comparison stands.
#[derive(Clone, Copy)]
struct Scope<'a> {
    /// The root that `$ref`s of the previous schema lead into.
    before: &'a Value,
    /// The root that `$ref`s of the current schema lead into.
    now: &'a Value,
    fuel: &'a Cell<u32>,
    depth: u32,
    /// The pairs of referring schemas that are being compared.
    open: Option<&'a Open<'a>>,
}

struct Open<'a> {
    before: &'a Value,
    now: &'a Value,
    up: Option<&'a Open<'a>>,
}

impl Scope<'_> {
    /// The other way round, for what stands under `not`.
    fn swapped(self) -> Self {
        Scope { before: self.now, now: self.before, open: None, ..self }
    }

    fn is_open(&self, before: &Value, now: &Value) -> bool {
        let mut at = self.open;
        while let Some(open) = at {
            if open.before == before && open.now == now {
                return true;
            }
            at = open.up;
        }
        false
    }
}

fn accepts(before: &Value, now: &Value, scope: Scope<'_>) -> bool {
    if scope.depth >= MAX_DEPTH || scope.fuel.get() == 0 {
        return false;
    }
    scope.fuel.set(scope.fuel.get() - 1);
    if same(before, now, scope) {
        return true;
    }
    let open = Open { before, now, up: scope.open };
    let refers = before.get("$ref").is_some() || now.get("$ref").is_some();
    // A recursive schema accepts what another one does when it does so wherever it does not recurse.
    if refers && scope.is_open(before, now) {
        return true;
    }
    let scope = Scope { depth: scope.depth + 1, open: if refers { Some(&open) } else { scope.open }, ..scope };
    let (was, is) = (flatten(before, scope.before), flatten(now, scope.now));
    if types_of(&was).is_empty() {
        return true;
    }
    if let Some(values) = finite_values(&was) {
        let (Some(was), Some(is)) = (validator(before, scope.before), validator(now, scope.now)) else { return false };
        return values.iter().filter(|value| was.is_valid(value)).all(|value| is.is_valid(value));
    }
    is.iter().all(|part| part.keys().all(|keyword| holds(keyword, part, &was, &is, scope)))
        || split(&was, &is).is_some_and(|cases| cases.iter().all(|case| accepts(case, now, scope)))
}

/// Whether what `keyword` of `part` asks for is true of every value under `was`. `is` are all parts beside `part`.
fn holds(keyword: &str, part: &Part, was: &[Part], is: &[Part], scope: Scope<'_>) -> bool {
    let types = types_of(was);
    let concerns = Types::concerned_by(keyword);
    if concerns.without(types) == concerns {
        return true;
    }
    let value = &part[keyword];
    match keyword {
        "type" => types.without(Types::named(value)).is_empty(),
        "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum" | "multipleOf" | "minLength" | "maxLength"
        | "minItems" | "maxItems" | "minProperties" | "maxProperties" => bound_holds(keyword, value, was),
        "required" => {
            let names = |part: &Part| part.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            let known: Vec<Value> = was.iter().flat_map(names).collect();
            names(part).iter().all(|name| known.contains(name))
        }
        "properties" | "patternProperties" | "additionalProperties" => properties_hold(part, was, scope),
        "unevaluatedProperties" => value == &json!(true) || value == &json!(false) && evaluates_no_less(was, is, scope),
        // What it sees depends on all that stands beside it.
        "unevaluatedItems" => value == &json!(true),
        "prefixItems" | "items" => items_hold(part, was, scope),
        "contains" | "minContains" | "maxContains" => contains_holds(part, was, scope),
        "propertyNames" => was.iter().any(|was| was.get(keyword).is_some_and(|was| accepts(was, value, scope))),
        "uniqueItems" => value == &json!(false) || was.iter().any(|was| was.get(keyword) == Some(&json!(true))),
        "not" => was.iter().any(|was| was.get(keyword).is_some_and(|was| accepts(value, was, scope.swapped()))),
        "anyOf" => any_branch(value, was, scope),
        "oneOf" => exactly_one_branch(value, was, scope),
        "if" | "then" | "else" => conditional(part, was, scope),
        // What no value of a kind can be known to satisfy, unless the previous schema asked for the same.
        "enum" | "const" | "pattern" | "format" | "dependentRequired" | "dependentSchemas" | "$ref" | "$dynamicRef"
        | "$id" | "$schema" | "contentEncoding" | "contentMediaType" => {
            was.iter().any(|was| was.get(keyword).is_some_and(|was| same(was, value, scope)))
        }
        parts::FOREIGN => false,
        // Annotations, and words that are none of JSON Schema's.
        _ => true,
    }
}

fn contains_holds(part: &Part, was: &[Part], scope: Scope<'_>) -> bool {
    let least = |part: &Part| part.get("minContains").and_then(Value::as_u64).unwrap_or(1);
    let Some(wanted) = part.get("contains") else { return true };
    if part.contains_key("maxContains") {
        let alike =
            |was: &Part| ["minContains", "maxContains"].iter().all(|keyword| was.get(*keyword) == part.get(*keyword));
        return was.iter().any(|was| alike(was) && was.get("contains").is_some_and(|was| same(was, wanted, scope)));
    }
    least(part) == 0
        || was
            .iter()
            .any(|was| least(was) >= least(part) && was.get("contains").is_some_and(|was| accepts(was, wanted, scope)))
}

/// The previous schema in cases: one for each branch of its first choice, or one for each of its types when the current schema
/// chooses. `None` when there is nothing to choose.
fn split(was: &[Part], is: &[Part]) -> Option<Vec<Value>> {
    for (index, part) in was.iter().enumerate() {
        for keyword in ["anyOf", "oneOf"] {
            let Some(branches) = part.get(keyword).and_then(Value::as_array) else { continue };
            let mut parts: Vec<Part> = was.to_vec();
            parts[index].shift_remove(keyword);
            // The first part's sees what every part declares, and the branch: it stays above all of them.
            let unevaluated = parts[0].shift_remove("unevaluatedProperties");
            parts[0].shift_remove("unevaluatedItems");
            let case = |branch: &Value| {
                let all: Vec<Value> = parts.iter().cloned().map(Value::Object).chain([branch.clone()]).collect();
                let mut case = Object::new();
                case.insert("allOf".to_owned(), Value::Array(all));
                case.extend(unevaluated.clone().map(|value| ("unevaluatedProperties".to_owned(), value)));
                Value::Object(case)
            };
            return Some(branches.iter().map(case).collect());
        }
    }
    let chooses = is.iter().any(|part| part.contains_key("anyOf") || part.contains_key("oneOf"));
    let names = types_of(was).names();
    if !chooses || names.len() < 2 {
        return None;
    }
    let scoped = was.iter().flat_map(Part::keys).any(|keyword| keyword.starts_with("unevaluated"));
    let case = |name: &&str| {
        let all: Vec<Value> = was.iter().cloned().map(Value::Object).collect();
        json!({"type": name, "allOf": all})
    };
    (!scoped).then(|| names.iter().map(case).collect())
}

/// Whether the two say the same, with what their references lead to. Both are bare.
fn same(before: &Value, now: &Value, scope: Scope<'_>) -> bool {
    if before != now {
        return false;
    }
    let mut seen = Vec::new();
    let mut left = references(before);
    while let Some(reference) = left.pop() {
        if seen.contains(&reference) {
            continue;
        }
        match (resolve(&reference, scope.before), resolve(&reference, scope.now)) {
            (None, None) if !reference.starts_with('#') => {}
            (Some(was), Some(is)) if was == is => left.extend(references(was)),
            _ => return false,
        }
        seen.push(reference);
    }
    true
}

/// A validator for a schema out of `root`; `None` when it refers to what it cannot take along.
fn validator(schema: &Value, root: &Value) -> Option<jsonschema::Validator> {
    let mut alone = match schema {
        Value::Object(map) => map.clone(),
        other => Object::from_iter([("allOf".to_owned(), json!([other]))]),
    };
    for keyword in ["$defs", "definitions"] {
        if let Some(definitions) = root.get(keyword) {
            alone.insert(keyword.to_owned(), definitions.clone());
        }
    }
    alone.shift_remove(parts::FOREIGN);
    let alone = Value::Object(alone);
    let defined = |reference: &str| reference.starts_with("#/$defs/") || reference.starts_with("#/definitions/");
    let taken_along = |reference: &String| defined(reference) && resolve(reference, root).is_some();
    if !references(&alone).iter().all(taken_along) {
        return None;
    }
    jsonschema::options().with_draft(jsonschema::Draft::Draft202012).should_validate_formats(true).build(&alone).ok()
}
