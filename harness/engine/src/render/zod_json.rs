//! The output of a server built on the TypeScript SDK of MCP: zod's issues as a JSON array after the code of the
//! protocol error. For an error thrown by a handler, only its message. `tests/engine/servers.rs` compares it with a
//! real server's answers. From version 1.30 on, the SDK writes only the messages and paths of the same issues.

use serde_json::{Map, Value, json};

use super::decimal::shortest;
use super::{RenderInput, reported_issues};
use crate::failure::{
    Bound, Expected, FailedBranch, FailedUnion, Failure, Issue, IssueKind, PathSegment, Quantity, Routing,
};
use crate::schema::{is_tuple, json_type, matches_pattern, schema_of_issue, tagged_unions};

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
            tuple_size(*relation, limit, path)
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
        IssueKind::BadPattern { pattern } => bad_pattern(pattern, path),
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
            return key_issues(schema, issue, &segments);
        }
        // zod supports neither unique items nor the other keywords of JSON Schema; an author would write a refinement.
        IssueKind::NotUnique | IssueKind::Other { .. } => custom_issue(path),
    };
    vec![one]
}

/// `z.record()`, whose schema describes the names.
fn is_record(schema: Option<&Value>) -> bool {
    let has = |keyword| schema.is_some_and(|schema| schema.get(keyword).is_some());
    has("propertyNames") && has("additionalProperties") && !has("properties")
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

/// Creates the issues of names that a record does not allow.
fn key_issues(schema: Option<&Value>, issue: &Issue, segments: &[PathSegment<'_>]) -> Vec<Value> {
    let path: Vec<Value> = segments.iter().map(|segment| segment.to_json()).collect();
    let names = schema.and_then(|schema| schema.get("propertyNames"));
    let sent = issue.sent.as_ref().and_then(Value::as_object).into_iter().flat_map(Map::keys);
    match names.map(|names| (names.get("enum"), names.get("pattern").and_then(Value::as_str))) {
        Some((Some(Value::Array(options)), _)) => {
            let keys = sent.filter(|name| !options.iter().any(|option| option == name.as_str()));
            vec![unrecognized_keys(&keys.cloned().collect::<Vec<_>>(), Value::Array(path))]
        }
        Some((_, Some(pattern))) => {
            let keys = sent.filter(|name| matches_pattern(pattern, name) == Some(false));
            let one = |name: &String| {
                let path: Vec<Value> = path.iter().cloned().chain([json!(name)]).collect();
                let issues = [bad_pattern(pattern, json!([]))];
                json!({
                    "code": "invalid_key",
                    "origin": "record",
                    "issues": issues,
                    "path": path,
                    "message": "Invalid key in record",
                })
            };
            keys.map(one).collect()
        }
        _ => vec![custom_issue(Value::Array(path))],
    }
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

/// `pattern` is that of the schema, if it has one.
fn bad_format(format: &str, pattern: Option<&str>, path: Value) -> Value {
    let (name, usual, noun) = match format {
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
    let pattern = pattern.filter(|_| usual.is_some()).map(regex_literal).or(usual);
    invalid_format(name, pattern.as_deref(), path, format!("Invalid {noun}"))
}

/// Creates the issue of a pattern. zod has names for its own ones.
fn bad_pattern(pattern: &str, path: Value) -> Value {
    if let Some((name, noun, shows_pattern, _)) = NAMED_PATTERNS.iter().find(|(.., known)| *known == pattern) {
        let literal = regex_literal(pattern) + if *name == "emoji" { "u" } else { "" };
        return invalid_format(
            name,
            Some(literal.as_str()).filter(|_| *shows_pattern),
            path,
            format!("Invalid {noun}"),
        );
    }
    let affix = |name: &str, member: &str, verb: &str, text: &str| {
        let message = format!("Invalid string: must {verb} with \"{text}\"");
        let mut issue = Map::new();
        for (key, value) in [("origin", "string"), ("code", "invalid_format"), ("format", name), (member, text)] {
            issue.insert(key.to_owned(), json!(value));
        }
        issue.insert("path".to_owned(), path.clone());
        issue.insert("message".to_owned(), json!(message));
        Value::Object(issue)
    };
    let is_plain = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || " _-:/".contains(c));
    if let Some(prefix) =
        pattern.strip_prefix('^').and_then(|rest| rest.strip_suffix(".*")).filter(|text| is_plain(text))
    {
        return affix("starts_with", "prefix", "start", prefix);
    }
    if let Some(suffix) =
        pattern.strip_prefix(".*").and_then(|rest| rest.strip_suffix('$')).filter(|text| is_plain(text))
    {
        return affix("ends_with", "suffix", "end", suffix);
    }
    let pattern = regex_literal(pattern);
    let message = format!("Invalid string: must match pattern {pattern}");
    invalid_format("regex", Some(&pattern), path, message)
}

/// The patterns to which zod gives names: the name, the noun of the message, whether the issue has the pattern, and the
/// pattern in schemas.
const NAMED_PATTERNS: [(&str, &str, bool, &str); 10] = [
    ("time", "ISO time", true, r"^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?$"),
    (
        "base64",
        "base64-encoded string",
        false,
        r"^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$",
    ),
    ("cuid2", "cuid2", true, r"^[0-9a-z]+$"),
    ("ulid", "ULID", true, r"^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$"),
    ("nanoid", "nanoid", true, r"^[a-zA-Z0-9_-]{21}$"),
    ("e164", "E.164 number", true, r"^\+[1-9]\d{6,14}$"),
    (
        "emoji",
        "emoji",
        true,
        r"^(?=[\s\S]*[\p{Extended_Pictographic}\p{Regional_Indicator}\u20E3])[\p{Extended_Pictographic}\p{Emoji_Component}]+$",
    ),
    (
        "cidrv4",
        "IPv4 range",
        true,
        r"^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\/([0-9]|[1-2][0-9]|3[0-2])$",
    ),
    ("lowercase", "lowercase", true, r"^[^A-Z]*$"),
    ("uppercase", "uppercase", true, r"^[^a-z]*$"),
];

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
