//! What a schema asks for at a place, in the words of document 002: its type, its constraints, and the fix that they
//! make.

use serde_json::Value;

use super::json;
use super::place::Place;

/// How deep alternatives and lists are described.
const DEEPEST: usize = 3;

/// `string`, `string | null`, `any`.
pub(super) fn type_words(place: &Place<'_>) -> String {
    let mut names = Vec::new();
    push_types(place, DEEPEST, &mut names);
    if names.is_empty() { "any".to_owned() } else { names.join(" | ") }
}

fn push_types<'s>(place: &Place<'s>, deeper: usize, names: &mut Vec<&'s str>) {
    let mut add = |name: &'s str| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    if let Some(types) = place.types() {
        types.into_iter().for_each(add);
    } else if let Some(options) = place.options() {
        options.into_iter().for_each(|option| add(crate::schema::json_type(option)));
    } else if let Some(name) = implied_type(place) {
        add(name);
    } else if deeper > 0 {
        place.alternatives().iter().for_each(|place| push_types(place, deeper - 1, names));
    }
}

/// The type that the keywords speak of, where none is given.
pub(super) fn implied_type(place: &Place<'_>) -> Option<&'static str> {
    let any = |keywords: &[&str]| keywords.iter().any(|keyword| place.has(keyword));
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

/// `'admin' | 'user'`: as an expectation names options.
pub(super) fn alternatives<'v>(options: impl IntoIterator<Item = &'v Value>) -> String {
    let quoted = |option: &Value| match option {
        Value::String(text) => format!("'{text}'"),
        other => json::inline(other),
    };
    options.into_iter().map(quoted).collect::<Vec<_>>().join(" | ")
}

/// `"admin", "user"`: as a fix and the schema name options.
pub(super) fn listed<'v>(options: impl IntoIterator<Item = &'v Value>) -> String {
    options.into_iter().map(json::inline).collect::<Vec<_>>().join(", ")
}

/// What to do about options.
pub(super) fn use_options(options: &[&Value]) -> String {
    match options {
        [only] => format!("Use this value: {}", json::inline(only)),
        several => format!("Use one of these values: {}", listed(several.iter().copied())),
    }
}

/// `Provide a integer >= 18 and <= 120.` `also` is a clause of the failure that the schema may not show at this place:
/// what an `if` asks for, say.
pub(super) fn provide(place: &Place<'_>, also: Option<&Clause>) -> String {
    if let Some(options) = place.options() {
        return use_options(&options);
    }
    format!("Provide {}.", wanted(place, also, DEEPEST))
}

fn wanted(place: &Place<'_>, also: Option<&Clause>, deeper: usize) -> String {
    if let Some(options) = place.options() {
        return format!("one of {}", listed(options));
    }
    let mut alternatives: Vec<String> = Vec::new();
    let types = place.types().unwrap_or_else(|| implied_type(place).into_iter().collect());
    for name in types {
        alternatives.push(of_type(place, name, also, deeper));
    }
    if alternatives.is_empty() && deeper > 0 {
        for place in place.alternatives() {
            let words = wanted(&place, also, deeper - 1);
            if !alternatives.contains(&words) {
                alternatives.push(words);
            }
        }
    }
    match (alternatives.is_empty(), also) {
        (false, _) => alternatives.join(" or "),
        (true, Some(also)) => of_type(place, also.kind, Some(also), deeper),
        (true, None) => "a valid value".to_owned(),
    }
}

/// A part of a fix, and the type that it is about.
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

/// What a value of this type is called, as in `Provide a string with at least 3 characters`.
fn of_type(place: &Place<'_>, name: &str, also: Option<&Clause>, deeper: usize) -> String {
    let mut clauses = clauses(place, name);
    if let Some(also) = also
        && (also.kind == name || (also.kind, name) == ("number", "integer"))
        && !clauses.contains(&also.text)
    {
        clauses.push(also.text.clone());
    }
    let mut out = match name {
        "array" => format!("an {}", array_words(place, deeper)),
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

/// `array of string`, `array of array of integer`.
fn array_words(place: &Place<'_>, deeper: usize) -> String {
    let tuple = place.each("prefixItems").filter_map(Value::as_array).map(Vec::len).max().unwrap_or(0);
    if tuple > 0 {
        let item = |index| place.item(index).map_or_else(|| "any".to_owned(), |item| type_words(&item));
        return format!("array of [{}]", (0..tuple).map(item).collect::<Vec<_>>().join(", "));
    }
    let Some(item) = place.item(0).filter(|_| deeper > 0) else { return "array".to_owned() };
    match type_words(&item).as_str() {
        "any" => "array".to_owned(),
        "array" => format!("array of {}", array_words(&item, deeper - 1)),
        words => format!("array of {words}"),
    }
}

fn clauses(place: &Place<'_>, name: &str) -> Vec<String> {
    let mut out = Vec::new();
    match name {
        "string" => {
            out.extend(place.floor("minLength").map(|limit| at_least(limit, "character")));
            out.extend(place.ceiling("maxLength").map(|limit| at_most(limit, "character")));
            out.extend(texts(place, "pattern").map(|pattern| format!("matching pattern {pattern}")));
            out.extend(texts(place, "format").map(|format| format!("in {format} format")));
        }
        "integer" | "number" => {
            out.extend(place.floor("minimum").map(|limit| format!(">= {limit}")));
            out.extend(place.floor("exclusiveMinimum").map(|limit| format!("> {limit}")));
            out.extend(place.ceiling("maximum").map(|limit| format!("<= {limit}")));
            out.extend(place.ceiling("exclusiveMaximum").map(|limit| format!("< {limit}")));
            out.extend(place.each("multipleOf").map(|of| format!("multiple of {}", plain_number(of))));
        }
        "array" => {
            out.extend(place.floor("minItems").map(|limit| at_least(limit, "item")));
            out.extend(place.ceiling("maxItems").map(|limit| at_most(limit, "item")));
            out.extend(
                place.each("uniqueItems").find(|on| **on == true).map(|_| "all items must be unique".to_owned()),
            );
        }
        "object" => {
            let (required, declared) = (place.required(), place.names());
            if !required.is_empty() {
                out.push(format!("required fields: {}", required.join(", ")));
            } else if !declared.is_empty() {
                out.push(format!("fields: {}", declared.join(", ")));
            }
            out.extend(place.floor("minProperties").map(|limit| counted("at least", limit, "property", "properties")));
            out.extend(place.ceiling("maxProperties").map(|limit| counted("at most", limit, "property", "properties")));
        }
        _ => {}
    }
    out
}

fn texts<'s>(place: &Place<'s>, keyword: &str) -> impl Iterator<Item = &'s str> {
    place.each(keyword).filter_map(Value::as_str)
}

/// `at least 3 characters`.
pub(super) fn at_least(limit: &Value, unit: &str) -> String {
    counted("at least", limit, unit, &format!("{unit}s"))
}

/// `at most 3 characters`.
pub(super) fn at_most(limit: &Value, unit: &str) -> String {
    counted("at most", limit, unit, &format!("{unit}s"))
}

pub(super) fn counted(relation: &str, limit: &Value, one: &str, many: &str) -> String {
    format!("{relation} {limit} {}", if limit.as_f64() == Some(1.0) { one } else { many })
}

/// A whole number without its fraction: the validator reports 5 as 5.0.
pub(super) fn plain_number(number: &Value) -> String {
    number.to_string().strip_suffix(".0").map_or_else(|| number.to_string(), str::to_owned)
}

/// `Min length: 3`, `Must be one of: "admin", "user"`: as the schema section lists them.
pub(super) fn constraints(place: &Place<'_>) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(options) = place.options() {
        let words = if place.has("const") { "Must be" } else { "Must be one of" };
        out.push(format!("{words}: {}", listed(options)));
    }
    let floors = [("minLength", "Min length"), ("maxLength", "Max length")];
    out.extend(floors.iter().filter_map(|(keyword, words)| limit(place, keyword, words)));
    out.extend(texts(place, "pattern").map(|pattern| format!("Pattern: {pattern}")));
    out.extend(texts(place, "format").map(|format| format!("Format: {format}")));
    let limits = [
        ("minimum", "Minimum"),
        ("exclusiveMinimum", "Exclusive minimum"),
        ("maximum", "Maximum"),
        ("exclusiveMaximum", "Exclusive maximum"),
    ];
    out.extend(limits.iter().filter_map(|(keyword, words)| limit(place, keyword, words)));
    out.extend(place.each("multipleOf").map(|of| format!("Multiple of: {}", plain_number(of))));
    let counts = [
        ("minItems", "Min items"),
        ("maxItems", "Max items"),
        ("minProperties", "Min properties"),
        ("maxProperties", "Max properties"),
    ];
    out.extend(counts.iter().filter_map(|(keyword, words)| limit(place, keyword, words)));
    if place.each("uniqueItems").any(|on| *on == true) {
        out.push("Items must be unique".to_owned());
    }
    out.extend(place.first("default").map(|value| format!("Default: {}", json::inline(value))));
    out
}

fn limit(place: &Place<'_>, keyword: &str, words: &str) -> Option<String> {
    let lower = keyword.starts_with("min") || keyword == "exclusiveMinimum";
    let value = if lower { place.floor(keyword) } else { place.ceiling(keyword) };
    value.map(|value| format!("{words}: {value}"))
}
