//! The output of a server built on version 1.29 of the TypeScript SDK of MCP, or an earlier one: zod's issues as a JSON
//! array after the code of the protocol error. For an error thrown by a handler, only its message.
//! `tests/engine/servers.rs` compares it with a real server's answers.

mod formats;
mod records;

use serde_json::{Map, Value, json};

use self::formats::{bad_format, bad_pattern};
use self::records::{is_record, key_issues, once_a_record, without_values_of_bad_keys};

use super::decimal::shortest;
use super::{RenderInput, reported_issues};
use crate::failure::{
    Bound, Expected, FailedBranch, FailedUnion, Failure, Issue, IssueKind, PathSegment, Quantity, Routing,
};
use crate::schema::{is_tuple, json_type, schema_of_issue, tagged_unions};

/// The answer of a server on a TypeScript SDK, before it is written.
pub(super) enum Answer<'a> {
    /// A message alone.
    Message(String),
    /// The issues of the arguments of a tool.
    Issues {
        /// The tool.
        tool: &'a str,
        /// The issues, as zod writes them.
        issues: Vec<Value>,
    },
}

pub(super) fn render(input: &RenderInput<'_>) -> String {
    match answer(input) {
        Answer::Message(message) => message,
        Answer::Issues { tool, issues } => array(tool, issues),
    }
}

/// Writes the issues as a JSON array.
pub(super) fn array(tool: &str, issues: Vec<Value>) -> String {
    format!("MCP error -32602: Input validation error: Invalid arguments for tool {tool}: {:#}", Value::Array(issues))
}

pub(super) fn answer<'a>(input: &RenderInput<'a>) -> Answer<'a> {
    let tool = input.tool.unwrap_or_default();
    match input.failure {
        Failure::Tool(failure) | Failure::Fault(failure) => Answer::Message(failure.message.clone()),
        Failure::Routing(Routing::UnknownTool { tool, .. }) => {
            Answer::Message(format!("MCP error -32602: Tool {tool} not found"))
        }
        Failure::Routing(
            Routing::MissingDiscriminator { available, .. } | Routing::UnknownAction { available, .. },
        ) => {
            let field = input.discriminator.unwrap_or("action");
            let options: Vec<Value> = available.iter().map(|name| json!(name)).collect();
            Answer::Issues { tool, issues: vec![no_such_branch(field, &options, json!([field]))] }
        }
        Failure::Validation { issues, .. } => Answer::Issues {
            tool,
            issues: without_values_of_bad_keys(
                input.arguments,
                once_a_record(reported_issues(issues)).flat_map(|issue| zod_issues(input, issue)).collect(),
            ),
        },
    }
}

/// Creates the issue of a discriminated union without this option.
fn no_such_branch(field: &str, options: &[Value], path: Value) -> Value {
    let phrases: Vec<String> = options.iter().map(|option| format!("'{}'", plain_text(option))).collect();
    json!({
        "code": "invalid_union",
        "errors": [],
        "note": "No matching discriminator",
        "discriminator": field,
        "options": options,
        "path": path,
        "message": format!("Invalid discriminator value. Expected {}", phrases.join(" | ")),
    })
}

/// Returns the zod issues for one issue of ours; usually one.
fn zod_issues(input: &RenderInput<'_>, issue: &Issue) -> Vec<Value> {
    let segments = issue.segments(input.arguments);
    let path: Value = segments.iter().map(|segment| segment.to_json()).collect();
    let received = issue.sent.as_ref().map_or("undefined", json_type);
    let unions = input.action.map(|doc| tagged_unions(&doc.schema, input.arguments, &segments).0);
    if let Some(union) = unions.as_ref().and_then(|unions| unions.last()) {
        if union.is_issue(&segments) {
            return vec![no_such_branch(union.tag, &union.options, path)];
        }
        let is_undeclared = matches!(issue.kind, IssueKind::Undeclared { .. });
        if union.depth == segments.len() && received != "object" && !is_undeclared {
            let message = format!("Invalid input: expected object, received {received}");
            return vec![json!({ "code": "invalid_type", "expected": "object", "path": path, "message": message })];
        }
    }
    let schema = input.action.and_then(|doc| schema_of_issue(&doc.schema, issue, &segments));
    let one = match &issue.kind {
        IssueKind::Missing { expected } | IssueKind::WrongType { expected } => match expected {
            Expected::Options(options) => not_an_option(options, path),
            Expected::Types(_) if issue.union.is_some() => invalid_union(input, issue, &segments, path),
            Expected::Types(types) => {
                let mut issues = vec![wrong_type(types, schema, received, path.clone())];
                if !is_tuple(schema) {
                    issues.extend(lengths_of_another_type(schema, issue, &path));
                }
                return issues;
            }
            Expected::Any if issue.sent.is_none() => json!({
                "code": "invalid_type",
                "expected": "nonoptional",
                "path": path,
                "message": "Invalid input: expected nonoptional, received undefined",
            }),
            Expected::Any => custom_issue(path),
        },
        IssueKind::NotAnOption { options } => not_an_option(options, path),
        IssueKind::OutOfBounds { measure: Quantity::Items, relation, limit } if is_tuple(schema) => {
            match missing_items(schema, issue, &segments) {
                Some(issues) => return issues,
                None => tuple_size(*relation, limit, path),
            }
        }
        IssueKind::OutOfBounds { measure: Quantity::Number, relation, limit } if is_integer(schema) => {
            return integer_bounds(issue.sent.as_ref(), *relation, limit, &path);
        }
        IssueKind::OutOfBounds { measure, relation, limit } => {
            let mut issue = out_of_bounds(*measure, *relation, limit, path);
            if is_exact(schema, *measure) {
                make_exact(&mut issue);
            }
            issue
        }
        IssueKind::BadFormat { format } => {
            let pattern = schema.and_then(|schema| schema.get("pattern")?.as_str());
            bad_format(format, pattern, path)
        }
        IssueKind::BadPattern { pattern } => {
            bad_pattern(schema.and_then(|schema| schema.get("format")?.as_str()), pattern, path)
        }
        IssueKind::NotAMultiple { of } => json!({
            "origin": "number",
            "code": "not_multiple_of",
            "divisor": js_value(of),
            "path": path,
            "message": format!("Invalid number: must be a multiple of {}", js_text(of)),
        }),
        IssueKind::Undeclared { fields } => unrecognized_keys(fields, path),
        IssueKind::Other { keyword, .. } if matches!(keyword.as_str(), "anyOf" | "oneOf") => {
            invalid_union(input, issue, &segments, path)
        }
        IssueKind::Other { keyword, .. } if keyword == "propertyNames" => {
            return key_issues(input.action.map(|doc| &doc.schema), schema, issue, &segments);
        }
        IssueKind::Other { keyword, .. }
            if keyword == "not" && schema.is_some_and(|schema| schema["not"] == json!({})) =>
        {
            wrong_type(&["never".to_owned()], schema, received, path)
        }
        // zod supports neither unique items nor the other keywords of JSON Schema; an author would write a refinement.
        IssueKind::NotUnique | IssueKind::Other { .. } => custom_issue(path),
    };
    vec![one]
}

/// `z.string().length(3)`: both limits are equal.
fn is_exact(schema: Option<&Value>, measure: Quantity) -> bool {
    let keywords = match measure {
        Quantity::Characters => ["minLength", "maxLength"],
        Quantity::Items => ["minItems", "maxItems"],
        Quantity::Number | Quantity::Properties => return false,
    };
    let [least, most] = keywords.map(|keyword| schema.and_then(|schema| schema.get(keyword)));
    least.is_some() && least == most
}

fn make_exact(issue: &mut Value) {
    let Some(issue) = issue.as_object_mut() else { return };
    let message = issue.get("message").and_then(Value::as_str).unwrap_or_default();
    let message = message.replace(">=", "exactly ").replace("<=", "exactly ");
    issue.insert("message".to_owned(), json!(message));
    if let Some(at) = issue.keys().position(|key| key == "path") {
        issue.shift_insert(at, "exact".to_owned(), json!(true));
    }
}

fn is_integer(schema: Option<&Value>) -> bool {
    schema.is_some_and(|schema| schema.get("type").is_some_and(|name| name == "integer"))
}

/// The greatest integer to which all integers are exact in JavaScript.
const MAX_SAFE_INTEGER: i64 = 9_007_199_254_740_991;

/// Creates the issues of an integer out of bounds: zod checks first that it is exact.
fn integer_bounds(sent: Option<&Value>, relation: Bound, limit: &Value, path: &Value) -> Vec<Value> {
    let sent = sent.and_then(Value::as_f64).unwrap_or_default();
    let mut issues = Vec::new();
    if sent.abs() > MAX_SAFE_INTEGER as f64 {
        let (code, size, key, sign, safe) = match sent > 0.0 {
            true => ("too_big", "big", "maximum", "<=", MAX_SAFE_INTEGER),
            false => ("too_small", "small", "minimum", ">=", -MAX_SAFE_INTEGER),
        };
        issues.push(json!({
            "code": code,
            key: safe,
            "note": "Integers must be within the safe integer range.",
            "origin": "int",
            "inclusive": true,
            "path": path,
            "message": format!("Too {size}: expected int to be {sign}{safe}"),
        }));
    }
    if limit.as_i64().is_none_or(|limit| limit.abs() != MAX_SAFE_INTEGER) {
        issues.push(out_of_bounds(Quantity::Number, relation, limit, path.clone()));
    }
    issues
}

/// Creates the issues of the items that a tuple lacks; `None` unless it has a schema for further items, for zod says of others
/// only that they are too short.
fn missing_items(schema: Option<&Value>, issue: &Issue, segments: &[PathSegment<'_>]) -> Option<Vec<Value>> {
    let schema = schema.filter(|schema| schema.get("items").is_some_and(Value::is_object))?;
    let count = issue.sent.as_ref()?.as_array()?.len();
    let missing = schema.get("prefixItems")?.as_array()?.iter().enumerate().skip(count);
    let one = |(index, item): (usize, &Value)| {
        let path = segments.iter().map(|segment| segment.to_json()).chain([json!(index)]).collect();
        let types: Vec<String> = item.get("type").and_then(Value::as_str).map(str::to_owned).into_iter().collect();
        wrong_type(&types, Some(item), "undefined", path)
    };
    Some(missing.map(one).collect())
}

/// Creates the issue of a tuple with too few or too many items, whose members have an order of their own.
fn tuple_size(relation: Bound, limit: &Value, path: Value) -> Value {
    let issue = out_of_bounds(Quantity::Items, relation, limit, path);
    let mut issue = issue.as_object().cloned().unwrap_or_default();
    if let Some(origin) = issue.shift_remove("origin")
        && let Some(at) = issue.keys().position(|key| key == "path")
    {
        issue.shift_insert(at, "origin".to_owned(), origin);
    }
    Value::Object(issue)
}

fn invalid_union(input: &RenderInput<'_>, issue: &Issue, segments: &[PathSegment<'_>], path: Value) -> Value {
    if issue.union.is_none() && matches!(&issue.kind, IssueKind::Other { keyword, .. } if keyword == "oneOf") {
        let message = "Invalid input: more than one option matched";
        return json!({ "code": "invalid_union", "errors": [], "inclusive": false, "path": path, "message": message });
    }
    let errors = issue.union.as_ref().map(|union| branch_errors(input, union, segments.len())).unwrap_or_default();
    json!({ "code": "invalid_union", "errors": errors, "path": path, "message": "Invalid input" })
}

/// Returns the issues under each branch of a union, with paths from its value.
fn branch_errors(input: &RenderInput<'_>, union: &FailedUnion, depth: usize) -> Vec<Value> {
    let relative = |mut issue: Value| {
        if let Some(Value::Array(path)) = issue.get_mut("path") {
            path.drain(..depth.min(path.len()));
        }
        issue
    };
    let of_branch = |branch: &FailedBranch| {
        let issues = reported_issues(&branch.issues).flat_map(|issue| zod_issues(input, issue));
        issues.map(relative).collect()
    };
    union.branches.iter().map(of_branch).collect()
}

fn unrecognized_keys(keys: &[String], path: Value) -> Value {
    let names: Vec<String> = keys.iter().map(|name| format!("\"{name}\"")).collect();
    let s = if keys.len() == 1 { "" } else { "s" };
    json!({
        "code": "unrecognized_keys",
        "keys": keys,
        "path": path,
        "message": format!("Unrecognized key{s}: {}", names.join(", ")),
    })
}

fn custom_issue(path: Value) -> Value {
    json!({ "code": "custom", "path": path, "message": "Invalid input" })
}

/// Creates a union for several types, or a nullable for one type and `null`.
fn wrong_type(types: &[String], schema: Option<&Value>, received: &str, path: Value) -> Value {
    let named: Vec<&str> =
        types.iter().map(String::as_str).filter(|name| *name != "null" || types.len() == 1).collect();
    let one = |name: &str, path: Value| {
        let mut issue = Map::new();
        // `z.number().int()`: "int" is only expected if a number was sent.
        let expected = match (name, received) {
            ("integer", "number") => "int",
            ("integer", _) => "number",
            ("array", _) if is_tuple(schema) => "tuple",
            ("object", _) if is_record(schema) => "record",
            _ => name,
        };
        issue.insert("expected".to_owned(), json!(expected));
        if expected == "int" {
            issue.insert("format".to_owned(), json!("safeint"));
        }
        issue.insert("code".to_owned(), json!("invalid_type"));
        issue.insert("path".to_owned(), path);
        issue.insert("message".to_owned(), json!(format!("Invalid input: expected {expected}, received {received}")));
        Value::Object(issue)
    };
    match named.as_slice() {
        [name] => one(name, path),
        names => {
            let errors: Vec<Value> = names.iter().map(|name| json!([one(name, json!([]))])).collect();
            json!({ "code": "invalid_union", "errors": errors, "path": path, "message": "Invalid input" })
        }
    }
}

/// zod checks the length of values of a wrong type that have one: an array sent instead of a string, and vice versa.
fn lengths_of_another_type(schema: Option<&Value>, issue: &Issue, path: &Value) -> Vec<Value> {
    let (measure, length, keywords) = match &issue.sent {
        Some(Value::Array(items)) => (Quantity::Items, items.len(), ["minLength", "maxLength"]),
        Some(Value::String(text)) => (Quantity::Characters, text.encode_utf16().count(), ["minItems", "maxItems"]),
        _ => return Vec::new(),
    };
    let limit = |keyword| schema?.get(keyword).filter(|limit| limit.is_u64());
    let within = |limit: &Value| limit.as_u64().unwrap_or_default() as usize;
    let [least, most] = keywords.map(limit);
    let least = least.filter(|limit| length < within(limit)).map(|limit| (Bound::AtLeast, limit));
    let most = most.filter(|limit| length > within(limit)).map(|limit| (Bound::AtMost, limit));
    let is_exact = limit(keywords[0]).is_some() && limit(keywords[0]) == limit(keywords[1]);
    let bound = |(relation, limit)| {
        let mut issue = out_of_bounds(measure, relation, limit, path.clone());
        if is_exact {
            make_exact(&mut issue);
        }
        issue
    };
    least.into_iter().chain(most).map(bound).collect()
}

fn not_an_option(options: &[Value], path: Value) -> Value {
    let phrases: Vec<String> = options.iter().map(option_text).collect();
    let message = match phrases.as_slice() {
        [phrase] => format!("Invalid input: expected {phrase}"),
        phrases => format!("Invalid option: expected one of {}", phrases.join("|")),
    };
    let values: Vec<Value> = options.iter().map(js_value).collect();
    json!({ "code": "invalid_value", "values": values, "path": path, "message": message })
}

fn option_text(option: &Value) -> String {
    let quote = if option.is_string() { "\"" } else { "" };
    format!("{quote}{}{quote}", plain_text(option))
}

fn plain_text(option: &Value) -> String {
    option.as_str().map_or_else(|| js_text(option), str::to_owned)
}

fn out_of_bounds(measure: Quantity, relation: Bound, limit: &Value, path: Value) -> Value {
    let (origin, verb, unit) = match measure {
        Quantity::Number => ("number", "be", ""),
        Quantity::Characters => ("string", "have", " characters"),
        Quantity::Items => ("array", "have", " items"),
        // zod only counts the entries of maps.
        Quantity::Properties => ("map", "have", " entries"),
    };
    let (code, size, key, sign, inclusive) = match relation {
        Bound::AtLeast => ("too_small", "small", "minimum", ">=", true),
        Bound::MoreThan => ("too_small", "small", "minimum", ">", false),
        Bound::AtMost => ("too_big", "big", "maximum", "<=", true),
        Bound::LessThan => ("too_big", "big", "maximum", "<", false),
    };
    json!({
        "origin": origin,
        "code": code,
        key: js_value(limit),
        "inclusive": inclusive,
        "path": path,
        "message": format!("Too {size}: expected {origin} to {verb} {sign}{}{unit}", js_text(limit)),
    })
}

/// Converts a value as `JSON.stringify` shows it: integers have no fraction.
fn js_value(value: &Value) -> Value {
    // Integers beyond 2^53 are not exact in JavaScript either.
    match value.as_f64() {
        Some(float) if value.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => json!(float as i64),
        _ => value.clone(),
    }
}

/// Formats a value in a message.
fn js_text(value: &Value) -> String {
    match value.as_f64() {
        Some(float) if value.is_f64() => shortest(float, -6..21, 1),
        _ => value.to_string(),
    }
}
