//! The output of a server built on the TypeScript SDK of MCP: zod's issues as a JSON array after the code of the
//! protocol error. For an error thrown by a handler, only its message. `tests/engine/servers.rs` compares it with a
//! real server's answers. From version 1.30 on, the SDK writes only the messages and paths of the same issues.

use serde_json::{Map, Value, json};

use super::decimal::shortest;
use super::{RenderInput, reported_issues};
use crate::failure::{Bound, Expected, Failure, Issue, IssueKind, PathSegment, Quantity, Routing};
use crate::schema::{json_type, tagged_unions};

pub(super) fn render(input: &RenderInput<'_>) -> String {
    match input.failure {
        Failure::Tool(failure) | Failure::Fault(failure) => failure.message.clone(),
        Failure::Routing(Routing::UnknownTool { tool, .. }) => format!("MCP error -32602: Tool {tool} not found"),
        Failure::Routing(
            Routing::MissingDiscriminator { available, .. } | Routing::UnknownAction { available, .. },
        ) => {
            let field = input.discriminator.unwrap_or("action");
            let options: Vec<Value> = available.iter().map(|name| json!(name)).collect();
            invalid_arguments(input, vec![no_such_branch(field, &options, json!([field]))])
        }
        Failure::Validation { issues, .. } => {
            invalid_arguments(input, reported_issues(issues).flat_map(|issue| zod_issues(input, issue)).collect())
        }
    }
}

fn invalid_arguments(input: &RenderInput<'_>, issues: Vec<Value>) -> String {
    let tool = input.tool.unwrap_or_default();
    format!("MCP error -32602: Input validation error: Invalid arguments for tool {tool}: {:#}", Value::Array(issues))
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
    let one = match &issue.kind {
        IssueKind::Missing { expected } | IssueKind::WrongType { expected } => match expected {
            Expected::Options(options) => not_an_option(options, path),
            Expected::Types(types) => {
                let mut issues = vec![wrong_type(types, received, path.clone())];
                issues.extend(lengths_of_another_type(input, issue, &segments, &path));
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
        IssueKind::OutOfBounds { measure, relation, limit } => out_of_bounds(*measure, *relation, limit, path),
        IssueKind::BadFormat { format } => bad_format(format, path),
        IssueKind::BadPattern { pattern } => {
            let pattern = regex_literal(pattern);
            let message = format!("Invalid string: must match pattern {pattern}");
            invalid_format("regex", Some(&pattern), path, message)
        }
        IssueKind::NotAMultiple { of } => json!({
            "origin": "number",
            "code": "not_multiple_of",
            "divisor": js_value(of),
            "path": path,
            "message": format!("Invalid number: must be a multiple of {}", js_text(of)),
        }),
        IssueKind::Undeclared { fields } => {
            let names: Vec<String> = fields.iter().map(|name| format!("\"{name}\"")).collect();
            let s = if fields.len() == 1 { "" } else { "s" };
            json!({
                "code": "unrecognized_keys",
                "keys": fields,
                "path": path,
                "message": format!("Unrecognized key{s}: {}", names.join(", ")),
            })
        }
        IssueKind::Other { keyword, .. } if matches!(keyword.as_str(), "anyOf" | "oneOf") => {
            json!({ "code": "invalid_union", "errors": [], "path": path, "message": "Invalid input" })
        }
        // zod supports neither unique items nor the other keywords of JSON Schema; an author would write a refinement.
        IssueKind::NotUnique | IssueKind::Other { .. } => custom_issue(path),
    };
    vec![one]
}

fn custom_issue(path: Value) -> Value {
    json!({ "code": "custom", "path": path, "message": "Invalid input" })
}

/// Creates a union for several types, or a nullable for one type and `null`.
fn wrong_type(types: &[String], received: &str, path: Value) -> Value {
    let named: Vec<&str> =
        types.iter().map(String::as_str).filter(|name| *name != "null" || types.len() == 1).collect();
    let one = |name: &str, path: Value| {
        let mut issue = Map::new();
        // `z.number().int()`: "int" is only expected if a number was sent.
        let expected = match (name, received) {
            ("integer", "number") => "int",
            ("integer", _) => "number",
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
fn lengths_of_another_type(
    input: &RenderInput<'_>,
    issue: &Issue,
    segments: &[PathSegment<'_>],
    path: &Value,
) -> Vec<Value> {
    let (measure, length, keywords) = match &issue.sent {
        Some(Value::Array(items)) => (Quantity::Items, items.len(), ["minLength", "maxLength"]),
        Some(Value::String(text)) => (Quantity::Characters, text.encode_utf16().count(), ["minItems", "maxItems"]),
        _ => return Vec::new(),
    };
    let schema = input
        .action
        .and_then(|doc| segments.iter().try_fold(&doc.schema, |schema, segment| segment.resolve_schema(schema)));
    let limit = |keyword| schema?.get(keyword).filter(|limit| limit.is_u64());
    let within = |limit: &Value| limit.as_u64().unwrap_or_default() as usize;
    let [least, most] = keywords.map(limit);
    let least = least.filter(|limit| length < within(limit)).map(|limit| (Bound::AtLeast, limit));
    let most = most.filter(|limit| length > within(limit)).map(|limit| (Bound::AtMost, limit));
    let bound = |(relation, limit)| out_of_bounds(measure, relation, limit, path.clone());
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

fn bad_format(format: &str, path: Value) -> Value {
    let (name, pattern, noun) = match format {
        "email" => ("email", Some(EMAIL.to_owned()), "email address"),
        "uuid" => ("uuid", Some(UUID.to_owned()), "UUID"),
        "uri" => ("url", None, "URL"),
        "date" => ("date", Some(format!("/^{DATE}$/")), "ISO date"),
        "time" => ("time", Some(TIME.to_owned()), "ISO time"),
        "date-time" => ("datetime", Some(format!("/^{DATE}T{TIME_AND_ZONE}$/")), "ISO datetime"),
        "duration" => ("duration", Some(DURATION.to_owned()), "ISO duration"),
        "ipv4" => ("ipv4", Some(IPV4.to_owned()), "IPv4 address"),
        "ipv6" => ("ipv6", None, "IPv6 address"),
        other => (other, None, other),
    };
    invalid_format(name, pattern.as_deref(), path, format!("Invalid {noun}"))
}

fn invalid_format(format: &str, pattern: Option<&str>, path: Value, message: String) -> Value {
    match pattern {
        Some(pattern) => json!({
            "origin": "string",
            "code": "invalid_format",
            "format": format,
            "pattern": pattern,
            "path": path,
            "message": message,
        }),
        None => json!({ "code": "invalid_format", "format": format, "path": path, "message": message }),
    }
}

/// Formats a pattern as JavaScript shows a regular expression.
fn regex_literal(pattern: &str) -> String {
    if pattern.is_empty() {
        return "/(?:)/".to_owned();
    }
    let mut out = String::with_capacity(pattern.len() + 2);
    out.push('/');
    let mut in_class = false;
    let mut escaped = false;
    for c in pattern.chars() {
        match c {
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => {
                let name = match c {
                    '\n' => "n",
                    '\r' => "r",
                    '\u{2028}' => "u2028",
                    _ => "u2029",
                };
                out.push_str(if escaped { "" } else { "\\" });
                out.push_str(name);
            }
            '/' if !escaped && !in_class => out.push_str("\\/"),
            other => out.push(other),
        }
        match c {
            '[' if !escaped => in_class = true,
            ']' if !escaped => in_class = false,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    out.push('/');
    out
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

// The regular expressions with which zod checks formats; its messages contain them.
const EMAIL: &str =
    r"/^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$/";
const UUID: &str = "/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}\
    |00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$/";
const DATE: &str = concat!(
    r"(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29",
    r"|\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)",
    r"|(?:02)-(?:0[1-9]|1\d|2[0-8])))",
);
const TIME: &str = r"/^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?$/";
const TIME_AND_ZONE: &str = r"(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|([+-](?:[01]\d|2[0-3]):[0-5]\d)))";
const DURATION: &str =
    r"/^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$/";
const IPV4: &str = concat!(
    r"/^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}",
    r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$/",
);
