//! Schemas as a person, or an agent, would write them down: `{ amount: number, status?: "open" | "paid" }`.

use healbench_protocol::{Object, canonical_json};
use serde_json::Value;

use super::canonical::{ANNOTATIONS, bare_schema};

/// `schema` in readable form; optional properties carry a `?`.
pub fn readable_schema(schema: &Value) -> String {
    written(schema, schema, 0)
}

/// A part of `root` in readable form; its references lead into the whole.
pub(crate) fn readable_part(schema: &Value, root: &Value) -> String {
    written(schema, root, 0)
}

/// Two schemas in readable form. They read differently when they differ in more than annotations: where the readable form tells
/// no difference, both are shown as JSON.
pub(super) fn readable_change(previous: &Value, current: &Value) -> (String, String) {
    let (was, is) = (readable_schema(previous), readable_schema(current));
    if was == is { (canonical_json(&bare_schema(previous)), canonical_json(&bare_schema(current))) } else { (was, is) }
}

/// Deeper than this an object is only called one: a delta is read by an agent, and a recursive schema has no end.
const MAX_DEPTH: usize = 6;

/// Bounds matter to an agent as much as the type does.
const BOUNDS: [(&str, &str); 14] = [
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
    ("default", " = "),
];

fn written(schema: &Value, root: &Value, depth: usize) -> String {
    let map = match schema {
        Value::Object(map) => map,
        Value::Bool(false) => return "never".to_owned(),
        _ => return "any".to_owned(),
    };
    // The keywords that the text does not tell yet.
    let mut left: Vec<&str> = map.keys().map(String::as_str).filter(|keyword| !is_silent(keyword)).collect();
    let mut out = base(map, root, depth, &mut left);
    for (keyword, words) in BOUNDS {
        if let Some(value) = told(keyword, map, &mut left) {
            out.push_str(words);
            out.push_str(&match (keyword, value) {
                ("pattern" | "format", Value::String(text)) => text.clone(),
                (_, value) => value.to_string(),
            });
        }
    }
    if told("uniqueItems", map, &mut left) == Some(&Value::Bool(true)) {
        out.push_str(" unique");
    }
    // `{ a: string } & …`: what holds besides.
    for branch in told("allOf", map, &mut left).and_then(Value::as_array).into_iter().flatten() {
        out = both(out, written(branch, root, depth + 1));
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(branches) = told(keyword, map, &mut left).and_then(Value::as_array) {
            let union: Vec<String> = branches.iter().map(|branch| written(branch, root, depth + 1)).collect();
            out = both(out, union.join(" | "));
        }
    }
    for keyword in left {
        out.push_str(&format!(" with {keyword}: {}", canonical_json(&map[keyword])));
    }
    out
}

/// Says nothing about values, or nothing that is not told elsewhere.
fn is_silent(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword) || matches!(keyword, "$defs" | "definitions" | "$schema" | "$id")
}

/// The keyword's value, which is told from here on.
fn told<'a>(keyword: &str, map: &'a Object, left: &mut Vec<&str>) -> Option<&'a Value> {
    left.retain(|name| *name != keyword);
    map.get(keyword)
}

/// What kind of value it is, without its bounds.
fn base(map: &Object, root: &Value, depth: usize, left: &mut Vec<&str>) -> String {
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        if let Some(target) = target.filter(|_| depth < MAX_DEPTH) {
            told("$ref", map, left);
            return written(target, root, depth + 1);
        }
        told("$ref", map, left);
        return reference.rsplit('/').next().unwrap_or(reference).to_owned();
    }
    if let Some(options) = map.get("enum").and_then(Value::as_array) {
        told("enum", map, left);
        // The options have a type already.
        told("type", map, left);
        return options.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    if map.contains_key("const") {
        told("type", map, left);
        return told("const", map, left).map(Value::to_string).unwrap_or_default();
    }
    let kind = told("type", map, left);
    let chooses = ["anyOf", "oneOf"].iter().any(|keyword| map.contains_key(*keyword));
    let fields = ["properties", "patternProperties", "additionalProperties", "required"];
    if fields.iter().any(|keyword| map.contains_key(*keyword)) {
        let object = object(map, root, depth, left);
        let others = kind.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        return others.filter(|name| *name != "object").fold(object, |out, name| format!("{out} | {name}"));
    }
    match kind {
        Some(Value::String(name)) if name == "array" => array(map, root, depth, left),
        // The branches tell what kind of object it is.
        Some(Value::String(name)) if name == "object" && chooses => "any".to_owned(),
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        _ => "any".to_owned(),
    }
}

/// `{ a: string, b?: number } and [^x-]: string and no others`.
fn object(map: &Object, root: &Value, depth: usize, left: &mut Vec<&str>) -> String {
    let keywords = ["properties", "patternProperties", "additionalProperties", "required"];
    let [properties, patterns, others, required] = keywords.map(|keyword| told(keyword, map, left));
    if depth >= MAX_DEPTH {
        return "object".to_owned();
    }
    let required: Vec<&str> =
        required.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = properties.and_then(Value::as_object);
    let mut fields: Vec<String> = Vec::new();
    for (name, property) in properties.into_iter().flatten() {
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        fields.push(format!("{}{mark}: {}", quoted(name), written(property, root, depth + 1)));
    }
    let undeclared = |name: &&&str| properties.is_none_or(|properties| !properties.contains_key(**name));
    fields.extend(required.iter().filter(undeclared).map(|name| format!("{}: any", quoted(name))));
    let mut out = if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) };
    // Behind the braces, so that in them stand fields and nothing else.
    for (pattern, property) in patterns.and_then(Value::as_object).into_iter().flatten() {
        out.push_str(&format!(" and [{pattern}]: {}", written(property, root, depth + 1)));
    }
    match others {
        Some(Value::Bool(false)) => out.push_str(" and no others"),
        Some(others) => out.push_str(&format!(" and others: {}", written(others, root, depth + 1))),
        None => {}
    }
    out
}

/// A name that could be taken for something else is quoted.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '.');
    let is_plain = !name.is_empty() && name.chars().all(plain);
    if is_plain { name.to_owned() } else { Value::from(name).to_string() }
}

/// `string[]`, `[string, number, ...any[]]`.
fn array(map: &Object, root: &Value, depth: usize, left: &mut Vec<&str>) -> String {
    let items = told("items", map, left).filter(|_| depth < MAX_DEPTH);
    let item = |schema: &Value| written(schema, root, depth + 1);
    let list = format!("{}[]", grouped(items.map_or_else(|| "any".to_owned(), item)));
    match told("prefixItems", map, left).and_then(Value::as_array).filter(|_| depth < MAX_DEPTH) {
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

/// In parentheses when it is more than one word, so that what follows is about all of it.
fn grouped(text: String) -> String {
    let mut open = 0_i32;
    let closes = |(at, c): (usize, char)| {
        open += i32::from(c == '{') - i32::from(c == '}');
        (open == 0).then_some(at + 1)
    };
    let is_braced = text.starts_with('{') && text.char_indices().find_map(closes) == Some(text.len());
    let is_whole = is_braced || !text.contains(' ');
    if is_whole { text } else { format!("({text})") }
}

/// What is true of both; `any` adds nothing.
fn both(one: String, other: String) -> String {
    match (one.as_str(), other.as_str()) {
        (_, "any") => one,
        ("any", _) => other,
        _ => format!("{} & {}", grouped(one), grouped(other)),
    }
}
