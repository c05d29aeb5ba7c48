//! The severity of a change of an input schema for calls that were valid before.

use std::collections::BTreeMap;

use healbench_core::{Object, Undeclared};
use serde_json::Value;

use super::Severity;
use super::accepts::accepts_all;
use super::canonical::{canonical_schema, without_annotations};
use crate::schema::{closed_schema, prepare_schema, upgrade_schema};

/// Returns the severity of the change from `previous` to `current`, or `None` if they are equal up to order.
///
/// BREAKING if a previously valid call may be rejected; RISKY if a field has another default, or if a declared field is
/// now undeclared and ignored; SAFE if more calls are valid; COSMETIC if the same calls are.
pub(super) fn severity_of_change(previous: &Value, current: &Value, undeclared: Undeclared) -> Option<Severity> {
    if canonical_schema(previous) == canonical_schema(current) {
        return None;
    }
    let [previous, current] = [previous, current].map(upgrade_schema);
    if without_annotations(&previous) == without_annotations(&current) {
        return Some(Severity::Cosmetic);
    }
    // Agents send the fields that they were shown, so the previous schema is closed under every policy.
    let (old, new) = (closed_schema(&previous), closed_schema(&current));
    Some(if !accepts_all(&old, &new) {
        let is_ignored = undeclared != Undeclared::Reject && accepts_all(&old, &prepare_schema(&current, None));
        if is_ignored { Severity::Risky } else { Severity::Breaking }
    } else if defaults_differ(&previous, &current) {
        Severity::Risky
    } else if accepts_all(&new, &old) {
        Severity::Cosmetic
    } else {
        Severity::Safe
    })
}

/// Returns true if both schemas can be shown to accept the same values.
pub(super) fn is_rewrite(previous: &Value, current: &Value) -> bool {
    let [previous, current] = [previous, current].map(upgrade_schema);
    accepts_all(&previous, &current) && accepts_all(&current, &previous)
}

/// Returns true if a value that both schemas describe has another `default`. No default is null.
fn defaults_differ(previous: &Value, current: &Value) -> bool {
    let [old, new] = [previous, current].map(|schema| {
        let mut defaults = Defaults { root: schema, by_path: BTreeMap::new(), visits_left: 2_000 };
        defaults.collect(schema, "");
        defaults.by_path
    });
    old.iter().any(|(path, value)| new.get(path).is_some_and(|other| other != value))
}

/// The defaults of a schema by the path of the value, through references and branches.
struct Defaults<'a> {
    root: &'a Value,
    by_path: BTreeMap<String, Value>,
    /// Bounds the search in recursive schemas.
    visits_left: u32,
}

impl Defaults<'_> {
    fn collect(&mut self, schema: &Value, path: &str) {
        let Some(map) = schema.as_object() else { return };
        if self.visits_left == 0 || path.len() > 200 {
            return;
        }
        self.visits_left -= 1;
        let default = map.get("default").cloned().unwrap_or_default();
        let known = self.by_path.entry(path.to_owned()).or_default();
        if known.is_null() {
            *known = default;
        }
        let root = self.root;
        let target = map.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
        if let Some(target) = target.and_then(|pointer| root.pointer(pointer)) {
            self.collect(target, path);
        }
        let properties = map.get("properties").and_then(Value::as_object).into_iter().flat_map(Object::iter);
        for (name, property) in properties {
            self.collect(property, &format!("{path}/{name}"));
        }
        if let Some(items) = map.get("items") {
            self.collect(items, &format!("{path}/*"));
        }
        for branches in ["allOf", "anyOf", "oneOf"] {
            for branch in map.get(branches).and_then(Value::as_array).into_iter().flatten() {
                self.collect(branch, path);
            }
        }
    }
}
