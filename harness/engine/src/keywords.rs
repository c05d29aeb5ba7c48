//! The keywords of JSON Schema.

use serde_json::Value;

/// The kind of a keyword's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeywordKind {
    /// A schema.
    Schema,
    /// Schemas by name.
    SchemaMap,
    /// A list of schemas.
    SchemaList,
    /// Not a schema.
    NoSchema,
}

/// Returns the kind of the keyword's value in draft 2020-12.
pub(crate) fn keyword_kind(keyword: &str) -> KeywordKind {
    match keyword {
        "additionalProperties"
        | "items"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => KeywordKind::Schema,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => KeywordKind::SchemaMap,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => KeywordKind::SchemaList,
        _ => KeywordKind::NoSchema,
    }
}

/// The keywords of draft 2020-12 that contain no schemas, those of earlier drafts that servers still send, and what OpenAPI adds.
const OTHERS: [&str; 43] = [
    "$anchor",
    "$comment",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "$vocabulary",
    "additionalItems",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "dependencies",
    "dependentRequired",
    "deprecated",
    "description",
    "discriminator",
    "enum",
    "example",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "externalDocs",
    "format",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "nullable",
    "pattern",
    "readOnly",
    "required",
    "title",
    "uniqueItems",
    "writeOnly",
];
const WITH_SCHEMAS: [&str; 20] = [
    "additionalProperties",
    "items",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "allOf",
    "anyOf",
    "oneOf",
    "prefixItems",
];

/// Returns the names of all keywords of a schema.
pub fn schema_keywords() -> impl Iterator<Item = &'static str> {
    WITH_SCHEMAS.into_iter().chain(OTHERS).chain(["type"])
}

/// Returns the pointers and names of keys that are no keywords. Keys that begin with `x-` are free.
pub fn unknown_keywords(schema: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    visit(schema, "", &mut found);
    found
}

fn visit(schema: &Value, pointer: &str, found: &mut Vec<(String, String)>) {
    let child = |key: &str| format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
    for (key, value) in schema.as_object().into_iter().flatten() {
        let at = child(key);
        match (keyword_kind(key), value) {
            (KeywordKind::Schema, Value::Object(_)) => visit(value, &at, found),
            (KeywordKind::SchemaMap, Value::Object(map)) => {
                map.iter().for_each(|(name, value)| {
                    visit(value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found)
                });
            }
            (KeywordKind::SchemaList, Value::Array(items)) | (KeywordKind::Schema, Value::Array(items)) => {
                items.iter().enumerate().for_each(|(index, value)| visit(value, &format!("{at}/{index}"), found));
            }
            (KeywordKind::NoSchema, _) if !key.starts_with("x-") && !schema_keywords().any(|known| known == key) => {
                found.push((at, key.clone()));
            }
            _ => {}
        }
    }
}
