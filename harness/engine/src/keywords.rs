//! The keywords of JSON Schema that contain schemas.

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
