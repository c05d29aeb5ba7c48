//! The names of types, as pydantic writes them in locations and messages.

use serde_json::Value;

use super::repr::repr;
use crate::render::single_line;
use crate::schema::resolve_refs;

/// The depth to which the types of lists are named.
pub(super) const MAX_TYPE_DEPTH: usize = 3;

/// Returns the name of a type as pydantic writes it in locations: `list[str]`, `constrained-int`, the name of a model.
pub(super) fn type_text(root: &Value, schema: &Value, depth: usize) -> String {
    let named = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.rsplit('/').next());
    let schema = resolve_refs(root, schema);
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| schema.get(keyword).is_some());
    let inner = |schema: Option<&Value>| match schema.filter(|schema| depth > 0 && schema.is_object()) {
        Some(schema) => type_text(root, schema, depth - 1),
        None => "any".to_owned(),
    };
    let constrained = |name: &str, keywords: &[&str]| {
        if has(keywords) { format!("constrained-{name}") } else { name.to_owned() }
    };
    let options = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    if let Some(options) = options.or_else(|| schema.get("const").map(std::slice::from_ref)) {
        return format!("literal[{}]", options.iter().map(repr).collect::<Vec<_>>().join(","));
    }
    let numeric = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
    match schema.get("type").and_then(Value::as_str).unwrap_or_default() {
        "object" if has(&["properties"]) => {
            let title = model_title(schema).or_else(|| named.map(|name| single_line(name).into_owned()));
            title.unwrap_or_else(|| "dict[str,any]".to_owned())
        }
        "object" => format!("dict[str,{}]", inner(schema.get("additionalProperties"))),
        "array" if has(&["prefixItems"]) => {
            let items = schema.get("prefixItems").and_then(Value::as_array).into_iter().flatten();
            format!("tuple[{}]", items.map(|item| inner(Some(item))).collect::<Vec<_>>().join(", "))
        }
        "array" if schema.get("uniqueItems") == Some(&Value::Bool(true)) => {
            format!("set[{}]", inner(schema.get("items")))
        }
        "array" => format!("list[{}]", inner(schema.get("items"))),
        "integer" => constrained("int", &numeric),
        "number" => constrained("float", &numeric),
        "boolean" => "bool".to_owned(),
        "null" => "none".to_owned(),
        "string" => match schema.get("format").and_then(Value::as_str) {
            Some("date-time") => "datetime".to_owned(),
            Some("uri") => "url".to_owned(),
            Some(format @ ("uuid" | "date" | "time")) => format.to_owned(),
            _ => constrained("str", &["minLength", "maxLength", "pattern"]),
        },
        _ => "any".to_owned(),
    }
}

/// Returns the name of a model: the title of an object with declared properties.
pub(super) fn model_title(schema: &Value) -> Option<String> {
    schema.get("properties")?;
    schema.get("title")?.as_str().map(|title| single_line(title).into_owned())
}
