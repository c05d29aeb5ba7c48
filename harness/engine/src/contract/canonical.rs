//! Canonical schemas, in which keys, `required`, options, types and branches are sorted.

use std::collections::BTreeMap;

use healbench_core::{Object, canonical_json};
use serde_json::{Value, json};

use crate::keywords::{KeywordKind, keyword_kind};

/// Keywords that describe a schema without constraining values.
pub(super) const ANNOTATIONS: [&str; 5] = ["title", "description", "examples", "$comment", "$schema"];

/// Returns the schema in canonical form: keys, `required`, `type`, `enum`, `dependentRequired` and the branches of
/// `allOf`, `anyOf` and `oneOf` are sorted, empty `required` and `properties` are removed, and whole numbers are
/// written as integers. Schemas that differ in nothing else become equal to the byte.
pub(super) fn canonical_schema(schema: &Value) -> Value {
    // A reference to `#/anyOf/0` depends on the order of branches.
    let has_branch_refs = references(schema).iter().any(|reference| reference.contains("Of/"));
    rebuild(schema, &|keyword, value| match keyword {
        "required" if value == &json!([]) => None,
        "properties" if value == &json!({}) => None,
        "type" => Some(match sorted(value) {
            Value::Array(names) if names.len() == 1 => names[0].clone(),
            other => other,
        }),
        "allOf" | "anyOf" | "oneOf" if has_branch_refs => Some(value.clone()),
        "required" | "enum" | "allOf" | "anyOf" | "oneOf" => Some(sorted(value)),
        "dependentRequired" => Some(match value {
            Value::Object(map) => Value::Object(map.iter().map(|(name, list)| (name.clone(), sorted(list))).collect()),
            other => other.clone(),
        }),
        _ => Some(value.clone()),
    })
}

/// Returns the canonical schema without annotations: only the keywords that constrain values.
pub(super) fn without_annotations(schema: &Value) -> Value {
    let bare = rebuild(schema, &|keyword, value| (!ANNOTATIONS.contains(&keyword)).then(|| value.clone()));
    canonical_schema(&bare)
}

/// Returns every reference in `schema`, including lookalikes in values; those can only make a comparison stricter.
pub(super) fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(map) => {
            let own = ["$ref", "$dynamicRef"].iter().filter_map(|keyword| map.get(*keyword)?.as_str());
            own.map(str::to_owned).chain(map.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// Returns every annotation in `schema` by path, such as `amount.description`.
pub(super) fn annotations(schema: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    collect_annotations(schema, "", &mut found);
    found
}

fn collect_annotations(schema: &Value, path: &str, found: &mut BTreeMap<String, Value>) {
    let Some(map) = schema.as_object() else { return };
    let join = |word: &str| if path.is_empty() { word.to_owned() } else { format!("{path}.{word}") };
    for (keyword, value) in map {
        if ANNOTATIONS.contains(&keyword.as_str()) {
            found.insert(join(keyword), value.clone());
        }
        match (keyword_kind(keyword), value) {
            (KeywordKind::Schema, child) => collect_annotations(child, &join(keyword), found),
            (KeywordKind::SchemaMap, Value::Object(children)) => {
                for (name, child) in children {
                    // `properties` is omitted from the path.
                    let at = if keyword == "properties" { join(name) } else { join(&format!("{keyword}.{name}")) };
                    collect_annotations(child, &at, found);
                }
            }
            (KeywordKind::SchemaList, Value::Array(children)) => {
                for (index, child) in children.iter().enumerate() {
                    collect_annotations(child, &join(&format!("{keyword}.{index}")), found);
                }
            }
            _ => {}
        }
    }
}

/// Returns the number of properties that `schema` declares, at every depth.
pub(super) fn declared_fields(schema: &Value) -> usize {
    let Some(map) = schema.as_object() else { return 0 };
    let inside = |(keyword, value): (&String, &Value)| match (keyword_kind(keyword), value) {
        (KeywordKind::Schema, child) => declared_fields(child),
        (KeywordKind::SchemaMap, Value::Object(children)) => {
            let own = if keyword == "properties" { children.len() } else { 0 };
            own + children.values().map(declared_fields).sum::<usize>()
        }
        (KeywordKind::SchemaList, Value::Array(children)) => children.iter().map(declared_fields).sum(),
        _ => 0,
    };
    map.iter().map(inside).sum()
}

/// Copies a schema bottom-up with sorted keys. `keep` maps the value of a keyword whose subschemas have been copied.
/// Values (`const`, `default`, options) are never treated as schemas.
pub(super) fn rebuild(schema: &Value, keep: &impl Fn(&str, &Value) -> Option<Value>) -> Value {
    let Some(map) = schema.as_object() else { return schema.clone() };
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    entries.sort_unstable_by_key(|(keyword, _)| keyword.as_str());
    let copy = |(keyword, value): (&String, &Value)| {
        let copied = match (keyword_kind(keyword), value) {
            (KeywordKind::Schema, child) => rebuild(child, keep),
            (KeywordKind::SchemaMap, Value::Object(children)) => {
                let mut children: Object =
                    children.iter().map(|(name, child)| (name.clone(), rebuild(child, keep))).collect();
                children.sort_keys();
                Value::Object(children)
            }
            (KeywordKind::SchemaList, Value::Array(children)) => {
                children.iter().map(|child| rebuild(child, keep)).collect()
            }
            (_, value) => canonical_value(value),
        };
        Some((keyword.clone(), keep(keyword, &copied)?))
    };
    Value::Object(entries.into_iter().filter_map(copy).collect())
}

/// Sorts the keys of a value and writes `1.0` as `1`: in JSON Schema they are the same number.
fn canonical_value(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            // Above 2^53 a float does not identify one integer.
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 => {
                Value::from(float as i64)
            }
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(canonical_value).collect(),
        Value::Object(map) => {
            let mut map: Object = map.iter().map(|(key, value)| (key.clone(), canonical_value(value))).collect();
            map.sort_keys();
            Value::Object(map)
        }
        other => other.clone(),
    }
}

fn sorted(value: &Value) -> Value {
    let Value::Array(items) = value else { return value.clone() };
    let mut items = items.clone();
    items.sort_by_cached_key(canonical_json);
    Value::Array(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insignificant_order_is_normalized() {
        let one = json!({
            "required": ["b", "a"],
            "properties": {"b": {"type": ["string", "null"], "enum": ["y", "x"]}, "a": {"minimum": 1.0, "required": []}},
        });
        let two = json!({
            "properties": {"a": {"minimum": 1}, "b": {"enum": ["x", "y"], "type": ["null", "string"]}},
            "required": ["a", "b"],
        });
        assert_eq!(canonical_json(&canonical_schema(&one)), canonical_json(&canonical_schema(&two)));
        // A property may have the name of a keyword, and a value may look like a schema.
        let named = json!({"properties": {"required": {"const": {"required": ["b", "a"]}}}});
        assert_eq!(canonical_schema(&named), named);
        let counted =
            json!({"anyOf": [{"type": "string"}, {"type": "null"}], "properties": {"a": {"$ref": "#/anyOf/0"}}});
        assert_eq!(canonical_schema(&counted), counted);
        let tuple = json!({"prefixItems": [{"type": "string"}, {"type": "integer"}]});
        assert_eq!(canonical_schema(&tuple), tuple);
    }

    #[test]
    fn annotations_are_found_where_they_are() {
        let schema = json!({
            "title": "T",
            "properties": {"description": {"type": "string", "description": "D"}, "a": {"items": {"examples": [1]}}},
        });
        let found: Vec<String> = annotations(&schema).into_keys().collect();
        assert_eq!(found, ["a.items.examples", "description.description", "title"]);
        assert_eq!(
            without_annotations(&schema),
            json!({"properties": {"description": {"type": "string"}, "a": {"items": {}}}})
        );
        assert_eq!(declared_fields(&schema), 2);
    }
}
