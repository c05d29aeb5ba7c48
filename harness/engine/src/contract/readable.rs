//! Schemas as a person, or an agent, would write them down: `{ amount: number, status?: "open" | "paid" }`.

use serde_json::Value;

/// `schema` in readable form; optional properties carry a `?`.
pub fn readable_schema(schema: &Value) -> String {
    let mut out = String::new();
    write_schema(schema, &mut out, 0);
    out
}

/// Deeper than this an object is only called one: a delta is read by an agent, and a recursive schema has no end.
const MAX_DEPTH: usize = 6;

fn write_schema(schema: &Value, out: &mut String, depth: usize) {
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        join(options.iter(), " | ", out, |option, out| out.push_str(&option.to_string()));
        return;
    }
    if let Some(value) = schema.get("const") {
        out.push_str(&value.to_string());
        return;
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(branches) = schema.get(keyword).and_then(Value::as_array) {
            join(branches.iter(), " | ", out, |branch, out| write_schema(branch, out, depth + 1));
            return;
        }
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        if depth >= MAX_DEPTH {
            out.push_str("object");
            return;
        }
        let required = |name: &str| {
            schema
                .get("required")
                .and_then(Value::as_array)
                .is_some_and(|names| names.iter().any(|required| required.as_str() == Some(name)))
        };
        if properties.is_empty() {
            out.push_str("{}");
            return;
        }
        out.push_str("{ ");
        join(properties.iter(), ", ", out, |(name, property), out| {
            out.push_str(name);
            out.push_str(if required(name) { ": " } else { "?: " });
            write_schema(property, out, depth + 1);
        });
        out.push_str(" }");
        return;
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => {
            match schema.get("items") {
                Some(items) if depth < MAX_DEPTH => write_schema(items, out, depth + 1),
                _ => out.push_str("any"),
            }
            out.push_str("[]");
        }
        Some(Value::String(name)) => out.push_str(name),
        Some(Value::Array(names)) => {
            join(names.iter().filter_map(Value::as_str), " | ", out, |name, out| out.push_str(name));
        }
        _ => out.push_str("any"),
    }
    write_bounds(schema, out);
}

/// Bounds matter to an agent as much as the type does.
fn write_bounds(schema: &Value, out: &mut String) {
    let words = [
        ("format", " "),
        ("pattern", " matching "),
        ("minimum", " >= "),
        ("exclusiveMinimum", " > "),
        ("maximum", " <= "),
        ("exclusiveMaximum", " < "),
        ("minLength", " length >= "),
        ("maxLength", " length <= "),
        ("minItems", " items >= "),
        ("maxItems", " items <= "),
        ("multipleOf", " multiple of "),
    ];
    for (keyword, words) in words {
        if let Some(value) = schema.get(keyword) {
            out.push_str(words);
            out.push_str(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
    }
}

fn join<T>(items: impl Iterator<Item = T>, separator: &str, out: &mut String, write: impl Fn(T, &mut String)) {
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        write(item, out);
    }
}
