//! Schemas in a TypeScript-like notation: `{ amount: number, status?: "open" | "paid" }`.

use healbench_core::{Object, canonical_json};
use serde_json::Value;

use super::canonical::{ANNOTATIONS, without_annotations};

/// Formats `schema` for a delta; properties that are not required are marked with `?`, and unions with null are called
/// optional.
pub fn readable_schema(schema: &Value) -> String {
    schema_text(schema, Notation { root: schema, has_optional: true }, 0)
}

/// Formats a part of `root`; its references are resolved in `root`.
pub(crate) fn readable_subschema(schema: &Value, root: &Value) -> String {
    schema_text(schema, Notation { root, has_optional: false }, 0)
}

#[derive(Clone, Copy)]
struct Notation<'a> {
    /// The root for references.
    root: &'a Value,
    /// True if `string | null` is written as `optional string`.
    has_optional: bool,
}

impl Notation<'_> {
    fn union(self, mut parts: Vec<String>) -> String {
        let all = parts.len();
        if self.has_optional {
            parts.retain(|part| part != "null");
        }
        match parts.as_slice() {
            [] => "null".to_owned(),
            parts if parts.len() == all => parts.join(" | "),
            [one] => format!("optional {one}"),
            parts => format!("optional ({})", parts.join(" | ")),
        }
    }
}

/// Formats two schemas. If the readable forms are equal although the schemas differ in more than annotations, both are
/// formatted as JSON.
pub(super) fn readable_change(previous: &Value, current: &Value) -> (String, String) {
    let (old, new) = (readable_schema(&in_order_of(previous, current)), readable_schema(current));
    if old == new {
        (canonical_json(&without_annotations(previous)), canonical_json(&without_annotations(current)))
    } else {
        (old, new)
    }
}

/// Returns `previous` with the fields, options and branches that `current` has too in its order: the schemas of a lockfile
/// are in canonical order.
fn in_order_of(previous: &Value, current: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (previous, current) else { return previous.clone() };
    let common = new.keys().filter(|key| old.contains_key(*key));
    let keys = common.chain(old.keys().filter(|key| !new.contains_key(*key)));
    let entry = |key: &String| {
        let (old, new) = (&old[key], new.get(key).unwrap_or(&Value::Null));
        let value = match (key.as_str(), old, new) {
            ("enum" | "type" | "anyOf" | "oneOf" | "allOf", Value::Array(old), Value::Array(new)) => {
                let common = new.iter().filter(|item| old.contains(item));
                common.chain(old.iter().filter(|item| !new.contains(item))).cloned().collect()
            }
            _ => in_order_of(old, new),
        };
        (key.clone(), value)
    };
    Value::Object(keys.map(entry).collect())
}

/// Objects nested deeper are only called `object`: agents read deltas, and a recursive schema has no end.
const MAX_DEPTH: usize = 6;

/// Keywords for bounds and formats, with the text that precedes their value.
pub(super) const BOUNDS: [(&str, &str); 13] = [
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
    ("minProperties", " fields >= "),
    ("maxProperties", " fields <= "),
    ("multipleOf", " multiple of "),
];

fn schema_text(schema: &Value, notation: Notation<'_>, depth: usize) -> String {
    let map = match schema {
        Value::Object(map) => map,
        Value::Bool(false) => return "never".to_owned(),
        _ => return "any".to_owned(),
    };
    // The keywords that the text does not express yet.
    let mut remaining: Vec<&str> = map.keys().map(String::as_str).filter(|keyword| !is_ignored(keyword)).collect();
    let mut out = type_text(map, notation, depth, &mut remaining);
    for (keyword, phrase) in BOUNDS {
        if let Some(value) = take_keyword(keyword, map, &mut remaining) {
            out.push_str(phrase);
            out.push_str(&match (keyword, value) {
                ("pattern" | "format", Value::String(text)) => text.clone(),
                (_, value) => value.to_string(),
            });
        }
    }
    if take_keyword("uniqueItems", map, &mut remaining) == Some(&Value::Bool(true)) {
        out.push_str(" unique");
    }
    // Further constraints: `{ a: string } & …`.
    for branch in take_keyword("allOf", map, &mut remaining).and_then(Value::as_array).into_iter().flatten() {
        out = intersection_text(out, schema_text(branch, notation, depth + 1));
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(branches) = take_keyword(keyword, map, &mut remaining).and_then(Value::as_array) {
            let union: Vec<String> = branches.iter().map(|branch| schema_text(branch, notation, depth + 1)).collect();
            out = intersection_text(out, notation.union(union));
        }
    }
    if let Some(value) = take_keyword("default", map, &mut remaining) {
        out.push_str(&format!(" = {value}"));
    }
    for keyword in remaining {
        out.push_str(&format!(" with {keyword}: {}", canonical_json(&map[keyword])));
    }
    out
}

/// Returns true for keywords that do not constrain values, or that are formatted elsewhere.
fn is_ignored(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword) || matches!(keyword, "$defs" | "definitions" | "$schema" | "$id")
}

/// Returns the keyword's value and marks the keyword as expressed.
fn take_keyword<'a>(keyword: &str, map: &'a Object, remaining: &mut Vec<&str>) -> Option<&'a Value> {
    remaining.retain(|name| *name != keyword);
    map.get(keyword)
}

/// Formats the type without its bounds.
fn type_text(map: &Object, notation: Notation<'_>, depth: usize, remaining: &mut Vec<&str>) -> String {
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| notation.root.pointer(pointer));
        if let Some(target) = target.filter(|_| depth < MAX_DEPTH) {
            take_keyword("$ref", map, remaining);
            return schema_text(target, notation, depth + 1);
        }
        take_keyword("$ref", map, remaining);
        return reference.rsplit('/').next().unwrap_or(reference).to_owned();
    }
    if let Some(options) = map.get("enum").and_then(Value::as_array) {
        take_keyword("enum", map, remaining);
        // The options imply the type.
        take_keyword("type", map, remaining);
        return notation.union(options.iter().map(Value::to_string).collect());
    }
    if map.contains_key("const") {
        take_keyword("type", map, remaining);
        return take_keyword("const", map, remaining).map(Value::to_string).unwrap_or_default();
    }
    let kind = take_keyword("type", map, remaining);
    let chooses = ["anyOf", "oneOf"].iter().any(|keyword| map.contains_key(*keyword));
    let fields = ["properties", "patternProperties", "additionalProperties", "required"];
    if fields.iter().any(|keyword| map.contains_key(*keyword)) {
        let object = object(map, notation, depth, remaining);
        let others = kind.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let others = others.filter(|name| *name != "object").map(str::to_owned);
        return notation.union(std::iter::once(object).chain(others).collect());
    }
    match kind {
        Some(Value::String(name)) if name == "array" => array(map, notation, depth, remaining),
        // The branches show which kind of object it is.
        Some(Value::String(name)) if name == "object" && chooses => "any".to_owned(),
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => {
            notation.union(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        _ => "any".to_owned(),
    }
}

/// Formats `{ a: string, b?: number } and [^x-]: string and no others`.
fn object(map: &Object, notation: Notation<'_>, depth: usize, remaining: &mut Vec<&str>) -> String {
    let keywords = ["properties", "patternProperties", "additionalProperties", "required"];
    let [properties, patterns, others, required] = keywords.map(|keyword| take_keyword(keyword, map, remaining));
    if depth >= MAX_DEPTH {
        return "object".to_owned();
    }
    let required: Vec<&str> =
        required.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = properties.and_then(Value::as_object);
    let mut fields: Vec<String> = Vec::new();
    for (name, property) in properties.into_iter().flatten() {
        let optional_marker = if required.contains(&name.as_str()) { "" } else { "?" };
        fields.push(format!("{}{optional_marker}: {}", quote_name(name), schema_text(property, notation, depth + 1)));
    }
    let undeclared = |name: &&&str| properties.is_none_or(|properties| !properties.contains_key(**name));
    fields.extend(required.iter().filter(undeclared).map(|name| format!("{}: any", quote_name(name))));
    let mut out = if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) };
    // After the braces, which contain only fields.
    for (pattern, property) in patterns.and_then(Value::as_object).into_iter().flatten() {
        out.push_str(&format!(" and [{pattern}]: {}", schema_text(property, notation, depth + 1)));
    }
    match others {
        Some(Value::Bool(false)) => out.push_str(" and no others"),
        Some(others) => out.push_str(&format!(" and others: {}", schema_text(others, notation, depth + 1))),
        None => {}
    }
    out
}

/// Quotes a name that contains characters other than letters, digits, `_`, `-`, `$` and `.`.
pub(super) fn quote_name(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '.');
    let is_plain = !name.is_empty() && name.chars().all(plain);
    if is_plain { name.to_owned() } else { Value::from(name).to_string() }
}

/// Formats `string[]` or `[string, number, ...any[]]`.
fn array(map: &Object, notation: Notation<'_>, depth: usize, remaining: &mut Vec<&str>) -> String {
    let items = take_keyword("items", map, remaining).filter(|_| depth < MAX_DEPTH);
    let item = |schema: &Value| schema_text(schema, notation, depth + 1);
    let list = format!("{}[]", parenthesized(items.map_or_else(|| "any".to_owned(), item)));
    match take_keyword("prefixItems", map, remaining).and_then(Value::as_array).filter(|_| depth < MAX_DEPTH) {
        None => list,
        Some(first) => {
            let mut places: Vec<String> = first.iter().map(item).collect();
            if items != Some(&Value::Bool(false)) {
                places.push(format!("...{list}"));
            }
            format!("[{}]", places.join(", "))
        }
    }
}

/// Adds parentheses around more than one word, so that a following operator applies to the whole text.
fn parenthesized(text: String) -> String {
    let mut open = 0_i32;
    let closes = |(at, c): (usize, char)| {
        open += i32::from(c == '{') - i32::from(c == '}');
        (open == 0).then_some(at + 1)
    };
    let is_braced = text.starts_with('{') && text.char_indices().find_map(closes) == Some(text.len());
    let is_whole = is_braced || !text.contains(' ');
    if is_whole { text } else { format!("({text})") }
}

/// Formats the intersection; `any` is omitted.
fn intersection_text(one: String, other: String) -> String {
    match (one.as_str(), other.as_str()) {
        (_, "any") => one,
        ("any", _) => other,
        _ => format!("{} & {}", parenthesized(one), parenthesized(other)),
    }
}
