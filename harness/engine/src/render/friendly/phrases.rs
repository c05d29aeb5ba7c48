//! The requirements of a schema in the phrases of document 002: type, constraints and fix.

use serde_json::Value;

use super::json;
use super::schema_node::SchemaNode;

/// The maximum depth to which alternatives and lists are described.
pub(super) const MAX_DEPTH: usize = 3;

/// Formats the types: `string`, `string | null`, `any`.
pub(super) fn type_label(node: &SchemaNode<'_>) -> String {
    let mut names = Vec::new();
    push_types(node, MAX_DEPTH, &mut names);
    if names.is_empty() { "any".to_owned() } else { names.join(" | ") }
}

fn push_types<'s>(node: &SchemaNode<'s>, depth_left: usize, names: &mut Vec<&'s str>) {
    let mut add = |name: &'s str| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    if let Some(types) = node.types() {
        types.into_iter().for_each(add);
    } else if let Some(options) = node.options() {
        options.into_iter().for_each(|option| add(crate::schema::json_type(option)));
    } else if let Some(name) = implied_type(node) {
        add(name);
    } else if depth_left > 0 {
        node.alternatives().iter().for_each(|node| push_types(node, depth_left - 1, names));
    }
}

/// Returns the type implied by the keywords if none is given.
pub(super) fn implied_type(node: &SchemaNode<'_>) -> Option<&'static str> {
    let any = |keywords: &[&str]| keywords.iter().any(|keyword| node.has(keyword));
    if any(&["properties", "required", "additionalProperties", "minProperties", "maxProperties"]) {
        Some("object")
    } else if any(&["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"]) {
        Some("array")
    } else if any(&["minLength", "maxLength", "pattern", "format"]) {
        Some("string")
    } else if any(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        Some("number")
    } else {
        None
    }
}

/// Formats options for an expectation: `'admin' | 'user'`.
pub(super) fn option_union<'v>(options: impl IntoIterator<Item = &'v Value>) -> String {
    let quoted = |option: &Value| match option {
        Value::String(text) => format!("'{text}'"),
        other => json::inline(other),
    };
    options.into_iter().map(quoted).collect::<Vec<_>>().join(" | ")
}

/// Formats options for a fix or the schema: `"admin", "user"`.
pub(super) fn option_list<'v>(options: impl IntoIterator<Item = &'v Value>) -> String {
    options.into_iter().map(json::inline).collect::<Vec<_>>().join(", ")
}

/// Formats the fix for a value that is none of the options.
pub(super) fn options_fix(options: &[&Value]) -> String {
    match options {
        [] => "Provide a valid value.".to_owned(),
        [only] => format!("Use this value: {}", json::inline(only)),
        several => format!("Use one of these values: {}", option_list(several.iter().copied())),
    }
}

/// Formats a fix such as `Provide a integer >= 18 and <= 120.` `extra` is a requirement of the failure that the schema
/// may not contain at this location, such as one from an `if`.
pub(super) fn provide_fix(node: &SchemaNode<'_>, extra: Option<&Clause>) -> String {
    if let Some(options) = node.options() {
        return options_fix(&options);
    }
    format!("Provide {}.", expected_phrase(node, extra, MAX_DEPTH))
}

pub(super) fn expected_phrase(node: &SchemaNode<'_>, extra: Option<&Clause>, depth_left: usize) -> String {
    if let Some(options) = node.options() {
        return format!("one of {}", option_list(options));
    }
    let mut alternatives: Vec<String> = Vec::new();
    let types = node.types().unwrap_or_else(|| implied_type(node).into_iter().collect());
    for name in types {
        alternatives.push(type_phrase(node, name, extra, depth_left));
    }
    if alternatives.is_empty() && depth_left > 0 {
        for node in node.alternatives() {
            let phrase = expected_phrase(&node, extra, depth_left - 1);
            if !alternatives.contains(&phrase) {
                alternatives.push(phrase);
            }
        }
    }
    match (alternatives.is_empty(), extra) {
        (false, _) => alternatives.join(" or "),
        (true, Some(extra)) => type_phrase(node, extra.kind, Some(extra), depth_left),
        (true, None) => "a valid value".to_owned(),
    }
}

/// A part of a fix, and the type to which it applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause {
    pub(super) kind: &'static str,
    pub(super) text: String,
}

impl Clause {
    pub(super) fn new(kind: &'static str, text: String) -> Clause {
        Clause { kind, text }
    }
}

/// Describes a type with its constraints: `a string with at least 3 characters`.
fn type_phrase(node: &SchemaNode<'_>, name: &str, extra: Option<&Clause>, depth_left: usize) -> String {
    let mut clauses = clauses(node, name);
    if let Some(extra) = extra
        && (extra.kind == name || (extra.kind, name) == ("number", "integer"))
        && !clauses.contains(&extra.text)
    {
        clauses.push(extra.text.clone());
    }
    let mut out = match name {
        "array" => format!("an {}", array_phrase(node, depth_left)),
        "object" => "an object".to_owned(),
        "null" => return "null".to_owned(),
        "boolean" => return "a boolean (true or false)".to_owned(),
        name => format!("a {name}"),
    };
    for (index, clause) in clauses.iter().enumerate() {
        let bare =
            matches!(name, "integer" | "number") || ["matching ", "in "].iter().any(|word| clause.starts_with(word));
        out.push_str(match (index, bare) {
            (0, true) => " ",
            (0, false) => " with ",
            _ => " and ",
        });
        out.push_str(clause);
    }
    out
}

/// Formats `array of string`, `array of array of integer`.
fn array_phrase(node: &SchemaNode<'_>, depth_left: usize) -> String {
    let tuple = node.keyword_values("prefixItems").filter_map(Value::as_array).map(Vec::len).max().unwrap_or(0);
    if tuple > 0 {
        let item = |index| node.item(index).map_or_else(|| "any".to_owned(), |item| type_label(&item));
        return format!("array of [{}]", (0..tuple).map(item).collect::<Vec<_>>().join(", "));
    }
    let Some(item) = node.item(0).filter(|_| depth_left > 0) else { return "array".to_owned() };
    match type_label(&item).as_str() {
        "any" => "array".to_owned(),
        "array" => format!("array of {}", array_phrase(&item, depth_left - 1)),
        phrase => format!("array of {phrase}"),
    }
}

fn clauses(node: &SchemaNode<'_>, name: &str) -> Vec<String> {
    let mut out = Vec::new();
    match name {
        "string" => {
            out.extend(node.lower_bound("minLength").map(|limit| at_least(limit, "character")));
            out.extend(node.upper_bound("maxLength").map(|limit| at_most(limit, "character")));
            out.extend(string_values(node, "pattern").map(|pattern| format!("matching pattern {pattern}")));
            out.extend(string_values(node, "format").map(|format| format!("in {format} format")));
        }
        "integer" | "number" => {
            out.extend(node.lower_bound("minimum").map(|limit| format!(">= {}", number_text(limit))));
            out.extend(node.lower_bound("exclusiveMinimum").map(|limit| format!("> {}", number_text(limit))));
            out.extend(node.upper_bound("maximum").map(|limit| format!("<= {}", number_text(limit))));
            out.extend(node.upper_bound("exclusiveMaximum").map(|limit| format!("< {}", number_text(limit))));
            out.extend(node.keyword_values("multipleOf").map(|of| format!("multiple of {}", number_text(of))));
        }
        "array" => {
            out.extend(node.lower_bound("minItems").map(|limit| at_least(limit, "item")));
            out.extend(node.upper_bound("maxItems").map(|limit| at_most(limit, "item")));
            out.extend(
                node.keyword_values("uniqueItems")
                    .find(|on| **on == true)
                    .map(|_| "all items must be unique".to_owned()),
            );
        }
        "object" => {
            let (required, declared) = (node.required(), node.property_names());
            if !required.is_empty() {
                out.push(format!("required fields: {}", required.join(", ")));
            } else if !declared.is_empty() {
                out.push(format!("fields: {}", declared.join(", ")));
            }
            out.extend(
                node.lower_bound("minProperties")
                    .map(|limit| count_phrase("at least", limit, "property", "properties")),
            );
            out.extend(
                node.upper_bound("maxProperties").map(|limit| count_phrase("at most", limit, "property", "properties")),
            );
        }
        _ => {}
    }
    out
}

fn string_values<'s>(node: &SchemaNode<'s>, keyword: &str) -> impl Iterator<Item = &'s str> {
    node.keyword_values(keyword).filter_map(Value::as_str)
}

/// Formats `at least 3 characters`.
pub(super) fn at_least(limit: &Value, unit: &str) -> String {
    count_phrase("at least", limit, unit, &format!("{unit}s"))
}

/// Formats `at most 3 characters`.
pub(super) fn at_most(limit: &Value, unit: &str) -> String {
    count_phrase("at most", limit, unit, &format!("{unit}s"))
}

pub(super) fn count_phrase(relation: &str, limit: &Value, one: &str, many: &str) -> String {
    format!("{relation} {} {}", number_text(limit), if limit.as_f64() == Some(1.0) { one } else { many })
}

/// Formats an integer without a fraction: the validator reports 5 as 5.0.
pub(super) fn number_text(number: &Value) -> String {
    number.to_string().strip_suffix(".0").map_or_else(|| number.to_string(), str::to_owned)
}

/// Lists the constraints for the schema section: `Min length: 3`, `Must be one of: "admin", "user"`.
pub(super) fn constraints(node: &SchemaNode<'_>) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(options) = node.options() {
        let phrase = if node.has("const") { "Must be" } else { "Must be one of" };
        out.push(format!("{phrase}: {}", option_list(options)));
    }
    let lengths = [("minLength", "Min length"), ("maxLength", "Max length")];
    out.extend(lengths.iter().filter_map(|(keyword, phrase)| limit(node, keyword, phrase)));
    out.extend(string_values(node, "pattern").map(|pattern| format!("Pattern: {pattern}")));
    out.extend(string_values(node, "format").map(|format| format!("Format: {format}")));
    let limits = [
        ("minimum", "Minimum"),
        ("exclusiveMinimum", "Exclusive minimum"),
        ("maximum", "Maximum"),
        ("exclusiveMaximum", "Exclusive maximum"),
    ];
    out.extend(limits.iter().filter_map(|(keyword, phrase)| limit(node, keyword, phrase)));
    out.extend(node.keyword_values("multipleOf").map(|of| format!("Multiple of: {}", number_text(of))));
    let counts = [
        ("minItems", "Min items"),
        ("maxItems", "Max items"),
        ("minProperties", "Min properties"),
        ("maxProperties", "Max properties"),
    ];
    out.extend(counts.iter().filter_map(|(keyword, phrase)| limit(node, keyword, phrase)));
    if node.keyword_values("uniqueItems").any(|on| *on == true) {
        out.push("Items must be unique".to_owned());
    }
    out.extend(node.keyword_value("default").map(|value| format!("Default: {}", json::inline(value))));
    out
}

fn limit(node: &SchemaNode<'_>, keyword: &str, phrase: &str) -> Option<String> {
    let lower = keyword.starts_with("min") || keyword == "exclusiveMinimum";
    let value = if lower { node.lower_bound(keyword) } else { node.upper_bound(keyword) };
    value.map(|value| format!("{phrase}: {}", number_text(value)))
}
