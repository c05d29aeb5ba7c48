//! Schemas with a ban of undeclared fields, for the comparison of contracts.

use healbench_core::Object;
use serde_json::{Value, json};

use super::APPLICATORS;
use super::lookup::resolve_refs;

/// The relation of a schema to the value that it describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// The arguments of a call.
    Root,
    /// A field or an item.
    Inner,
    /// A part of another schema of the same value, which is closed or not.
    Part { closed: bool },
}

/// Returns an object schema that forbids undeclared fields at every depth unless its author states whether other fields
/// are allowed.
pub(super) fn close(root: &Value) -> Value {
    close_part(root, root, Position::Root)
}

fn close_part(root: &Value, schema: &Value, position: Position) -> Value {
    let Value::Object(keywords) = schema else { return schema.clone() };
    let is_closed = match position {
        Position::Part { closed } => closed,
        Position::Root => declared_by(root, schema) != Declared::Others,
        Position::Inner => declared_by(root, schema) == Declared::Names,
    };
    let part = Position::Part { closed: is_closed };
    let close_all = |value: &Value, position| match value {
        Value::Array(list) => list.iter().map(|schema| close_part(root, schema, position)).collect(),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(name, schema)| (name.clone(), close_part(root, schema, position))).collect())
        }
        other => other.clone(),
    };
    let close_keyword = |(keyword, value): (&String, &Value)| {
        let closed = match keyword.as_str() {
            "properties" | "patternProperties" | "prefixItems" => close_all(value, Position::Inner),
            "allOf" | "anyOf" | "oneOf" | "dependentSchemas" => close_all(value, part),
            "$defs" | "definitions" => close_all(value, Position::Part { closed: false }),
            "then" | "else" => close_part(root, value, part),
            "additionalProperties" | "unevaluatedProperties" | "items" | "unevaluatedItems" => {
                close_part(root, value, Position::Inner)
            }
            _ => value.clone(),
        };
        (keyword.clone(), closed)
    };
    let mut out: Object = keywords.iter().map(close_keyword).collect();
    if is_closed {
        // A required field is declared.
        for name in required_names(root, schema) {
            if let Value::Object(properties) = out.entry("properties").or_insert_with(|| json!({})) {
                properties.entry(name).or_insert_with(|| json!(true));
            }
        }
    }
    if is_closed && position != part {
        // `additionalProperties` does not see properties declared by `$ref` or a combination.
        let is_combined = APPLICATORS.iter().any(|keyword| keywords.contains_key(*keyword));
        let keyword = if is_combined { "unevaluatedProperties" } else { "additionalProperties" };
        out.insert(keyword.to_owned(), json!(false));
    }
    Value::Object(out)
}

/// Returns the names that a schema requires by itself or through references. Definitions are not closed themselves,
/// because others may refer to them.
fn required_names<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s str> {
    let mut names = Vec::new();
    let mut parts = vec![schema];
    let mut at = 0;
    while let Some(part) = parts.get(at).copied() {
        at += 1;
        let listed = |keyword: &str| part.get(keyword).and_then(Value::as_array).into_iter().flatten();
        names.extend(listed("required").filter_map(Value::as_str));
        let target = part.get("$ref").map(|_| resolve_refs(root, part));
        // The parts of the schema itself are closed on their own.
        let of_target = listed("allOf").filter(|_| at > 1);
        for next in target.into_iter().chain(of_target) {
            if !parts.iter().any(|known| std::ptr::eq(*known, next)) {
                parts.push(next);
            }
        }
    }
    names
}

/// The fields that a schema declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Declared {
    Nothing,
    Names,
    /// The author states whether other fields are allowed.
    Others,
}

fn declared_by(root: &Value, schema: &Value) -> Declared {
    let mut declared = Declared::Nothing;
    // The parts that describe the same value, and whether they always apply.
    let mut parts = vec![(schema, true)];
    let mut at = 0;
    while let Some((schema, always)) = parts.get(at).copied() {
        at += 1;
        let Some(keywords) = schema.as_object() else { continue };
        let has_entries =
            |keyword: &str| keywords.get(keyword).and_then(Value::as_object).is_some_and(|map| !map.is_empty());
        let states_others =
            ["additionalProperties", "unevaluatedProperties"].iter().any(|key| keywords.contains_key(*key));
        if states_others && always {
            return Declared::Others;
        }
        // `unevaluatedProperties` sees what a branch that applies allows.
        if states_others || has_entries("properties") || has_entries("patternProperties") {
            declared = Declared::Names;
        }
        let of_lists =
            |names: &'static [&str]| names.iter().filter_map(|name| keywords.get(*name)?.as_array()).flatten();
        let target = keywords.contains_key("$ref").then(|| resolve_refs(root, schema));
        let single = ["if", "then", "else"].iter().filter_map(|keyword| keywords.get(*keyword));
        let by_name = keywords.get("dependentSchemas").and_then(Value::as_object).into_iter().flat_map(Object::values);
        let unconditional = of_lists(&["allOf"]).chain(target).map(|part| (part, always));
        let conditional = of_lists(&["anyOf", "oneOf"]).chain(single).chain(by_name).map(|part| (part, false));
        for part in unconditional.chain(conditional) {
            if !parts.iter().any(|known| std::ptr::eq(known.0, part.0)) {
                parts.push(part);
            }
        }
    }
    declared
}
