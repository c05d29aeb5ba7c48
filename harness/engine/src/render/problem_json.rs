//! Problem details for HTTP APIs (RFC 9457).
//!
//! `type` is always `about:blank`, because any other type needs a URI that its owner maintains, and the simulated
//! server has none. As the RFC requires for that type, `title` is the phrase of the HTTP status. The specific problem
//! is described by `detail` and the extension members: `code` for the kind, and `errors` for the arguments, following
//! the RFC's example. The status is the one that an HTTP API would send.
//!
//! A `pointer` is a JSON pointer into the arguments as sent, as a URI fragment; for a missing field, it points to where
//! the field belongs. Members always have the same order, and contain all facts of the Fusion formats.

use std::borrow::Cow;

use healbench_core::Object;
use serde::Serialize;
use serde_json::Value;

use super::RenderInput;
use super::excerpt::excerpt;
use super::wording::{FIX_AND_RETRY, correction, problem};
use crate::definition::{Code, Severity, ToolFailure};
use crate::failure::{Expected, Failure, Issue, IssueKind, PathSegment, Routing, path_segment, segment_name};

pub(super) fn render(input: &RenderInput<'_>) -> String {
    let problem = match input.failure {
        Failure::Routing(routing) => routing_problem(routing),
        Failure::Validation { tool, action, issues } => validation_problem(input, tool, action, issues),
        Failure::Tool(failure) | Failure::Fault(failure) => tool_problem(failure),
    };
    // Serializing plain data with string keys cannot fail. Contract changes are inserted before the last line.
    serde_json::to_string_pretty(&problem).unwrap_or_default()
}

#[derive(Debug, Serialize)]
struct Problem<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Error<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    available_actions: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    available_tools: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery: Option<String>,
    #[serde(skip_serializing_if = "Object::is_empty")]
    details: Object,
    /// Seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u32>,
}

#[derive(Debug, Default, Serialize)]
struct Error<'a> {
    detail: String,
    pointer: String,
    /// JSON types.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<&'a [Value]>,
    /// `number`, `characters`, `items` or `properties`.
    #[serde(skip_serializing_if = "Option::is_none")]
    measure: Option<&'static str>,
    /// `>=`, `>`, `<=` or `<`.
    #[serde(skip_serializing_if = "Option::is_none")]
    relation: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    multiple_of: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'a str>,
    /// The value as sent; absent if it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<Cow<'a, Value>>,
}

fn new_problem<'a>(status: u16, detail: String) -> Problem<'a> {
    Problem {
        kind: "about:blank",
        title: reason_phrase(status),
        status,
        detail,
        code: None,
        severity: None,
        errors: Vec::new(),
        available_actions: &[],
        available_tools: &[],
        recovery: None,
        details: Object::new(),
        retry_after: None,
    }
}

fn routing_problem(routing: &Routing) -> Problem<'_> {
    match routing {
        Routing::MissingDiscriminator { field, available } => Problem {
            code: Some("MISSING_DISCRIMINATOR"),
            available_actions: available,
            recovery: Some(format!("Add the \"{field}\" field and call the tool again.")),
            ..new_problem(400, format!("The required field \"{field}\" is missing."))
        },
        Routing::UnknownAction { action, available } => Problem {
            code: Some("UNKNOWN_ACTION"),
            available_actions: available,
            recovery: Some("Choose a valid action from available_actions and call the tool again.".to_owned()),
            ..new_problem(400, format!("The action \"{action}\" does not exist."))
        },
        Routing::UnknownTool { tool, available } => Problem {
            code: Some("UNKNOWN_TOOL"),
            available_tools: available,
            recovery: Some("Choose a valid tool from available_tools and call it.".to_owned()),
            ..new_problem(404, format!("The tool \"{tool}\" does not exist."))
        },
    }
}

fn validation_problem<'a>(input: &RenderInput<'a>, tool: &str, action: &str, issues: &'a [Issue]) -> Problem<'a> {
    Problem {
        code: Some("VALIDATION"),
        errors: issues.iter().flat_map(|issue| errors(input, issue)).collect(),
        recovery: Some(FIX_AND_RETRY.to_owned()),
        ..new_problem(422, format!("The arguments of {tool}/{action} are not valid."))
    }
}

fn tool_problem(failure: &ToolFailure) -> Problem<'_> {
    let details = failure.details.iter().map(|(key, value)| (key.clone(), value.clone()));
    Problem {
        code: failure.code.as_deref(),
        // The status already implies `error`.
        severity: failure.severity.filter(|severity| *severity != Severity::Error).map(Severity::name),
        available_actions: &failure.available_actions,
        recovery: failure.recovery.clone(),
        details: details.collect(),
        retry_after: failure.retry_after,
        ..new_problem(http_status(failure.code.as_deref()), failure.message.clone())
    }
}

/// Returns the HTTP status of a failure.
pub(super) fn status_of(failure: &Failure) -> u16 {
    match failure {
        Failure::Routing(routing) => routing_problem(routing).status,
        Failure::Validation { .. } => 422,
        Failure::Tool(failure) | Failure::Fault(failure) => http_status(failure.code.as_deref()),
    }
}

fn http_status(code: Option<&str>) -> u16 {
    match code.and_then(Code::from_name) {
        Some(Code::Unauthorized) => 401,
        Some(Code::Forbidden) => 403,
        Some(Code::NotFound) => 404,
        Some(Code::Conflict) => 409,
        Some(Code::Deprecated) => 410,
        // Well-formed but refused; also used for domain-specific codes and plain messages.
        Some(Code::ValidationError) | None => 422,
        Some(Code::RateLimited) => 429,
        Some(Code::InternalError) => 500,
        Some(Code::ServerBusy) => 503,
        Some(Code::Timeout) => 504,
    }
}

/// Returns the phrase of RFC 9110, section 15, and of RFC 6585 for 429.
pub(super) fn reason_phrase(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        409 => "Conflict",
        410 => "Gone",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Internal Server Error",
    }
}

/// Returns one error, or one for each undeclared field.
fn errors<'a>(input: &RenderInput<'a>, issue: &'a Issue) -> Vec<Error<'a>> {
    let tokens = match &issue.kind {
        IssueKind::Missing { .. } => missing_field_tokens(input, &issue.path),
        IssueKind::Undeclared { .. } => {
            Some(issue.segments(input.arguments).into_iter().map(PathSegment::into_name).collect())
        }
        _ => sent_value_tokens(input.arguments, Some(&issue.path), issue.sent.as_ref()),
    };
    // A path that cannot be located is split at its dots.
    let tokens = tokens.unwrap_or_else(|| issue.path.split('.').map(str::to_owned).collect());
    let common = Error {
        detail: format!("{}.", problem(issue)),
        pointer: uri_fragment(&tokens),
        received: issue.sent.as_ref().map(excerpt),
        ..Error::default()
    };
    let expecting = |expected: &'a Expected, common: Error<'a>| match expected {
        Expected::Types(types) => Error { expected: Some(types), ..common },
        Expected::Options(options) => Error { options: Some(options), ..common },
        Expected::Any => common,
    };
    vec![match &issue.kind {
        IssueKind::Undeclared { fields } => {
            let object = issue.value_in(input.arguments);
            return fields.iter().map(|field| undeclared(object, &tokens, field)).collect();
        }
        IssueKind::Missing { expected } | IssueKind::WrongType { expected } => expecting(expected, common),
        IssueKind::NotAnOption { options } => Error { options: Some(options), ..common },
        IssueKind::OutOfBounds { measure, relation, limit } => {
            Error { measure: Some(measure.name()), relation: Some(relation.sign()), limit: Some(limit), ..common }
        }
        IssueKind::BadFormat { format } => {
            // No other member contains the example.
            let detail = format!("{} {}", common.detail, correction(issue));
            Error { detail, format: Some(format), ..common }
        }
        IssueKind::BadPattern { pattern } => Error { pattern: Some(pattern), ..common },
        IssueKind::NotAMultiple { of } => Error { multiple_of: Some(of), ..common },
        IssueKind::NotUnique | IssueKind::Other { .. } => common,
    }]
}

fn undeclared<'a>(object: Option<&'a Value>, parent: &[String], field: &String) -> Error<'a> {
    let one = std::slice::from_ref(field);
    let tokens: Vec<String> = parent.iter().chain(one).cloned().collect();
    let single_field = Issue::new(String::new(), None, IssueKind::Undeclared { fields: one.to_vec() });
    Error {
        detail: format!("{}. {}", problem(&single_field), correction(&single_field)),
        pointer: uri_fragment(&tokens),
        received: object.and_then(|object| object.get(field)).map(excerpt),
        ..Error::default()
    }
}

/// Returns the names and indices on the way to the value at `path`. Property names may contain dots, so the path is
/// resolved against the sent value. `path` is `None` at its end.
fn sent_value_tokens(value: &Value, path: Option<&str>, sent: Option<&Value>) -> Option<Vec<String>> {
    if path.is_none_or(str::is_empty) && sent == Some(value) {
        return Some(Vec::new());
    }
    next_tokens(value, path?).into_iter().find_map(|(name, child, rest)| {
        sent_value_tokens(child, rest, sent).map(|tokens| [vec![name.to_owned()], tokens].concat())
    })
}

/// Returns the names and indices of a missing field: one that its object's schema requires, or else the deepest match
/// of the path.
fn missing_field_tokens(input: &RenderInput<'_>, path: &str) -> Option<Vec<String>> {
    let schema = input.action.map(|doc| &doc.schema);
    let mut found = Vec::new();
    collect_missing_fields(input.arguments, schema, path, &mut Vec::new(), &mut found);
    found.into_iter().max_by_key(|(required, tokens)| (*required, tokens.len())).map(|(_, tokens)| tokens)
}

fn collect_missing_fields(
    value: &Value,
    schema: Option<&Value>,
    path: &str,
    prefix: &mut Vec<String>,
    found: &mut Vec<(bool, Vec<String>)>,
) {
    let name = segment_name(path);
    if value.as_object().is_some_and(|fields| !fields.contains_key(name)) {
        let names = schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
        let required = names.is_some_and(|names| names.iter().any(|required| required == name));
        found.push((required, [&prefix[..], &[name.to_owned()]].concat()));
    }
    for (name, child, rest) in next_tokens(value, path) {
        let Some(rest) = rest else { continue };
        let schema = schema.and_then(|schema| match value {
            Value::Array(_) => schema.get("items"),
            _ => schema.get("properties")?.get(name),
        });
        prefix.push(name.to_owned());
        collect_missing_fields(child, schema, rest, prefix, found);
        prefix.pop();
    }
}

/// Returns the possible next steps of a path: the name or index, the value there, and the rest of the path.
fn next_tokens<'a>(value: &'a Value, path: &'a str) -> Vec<(&'a str, &'a Value, Option<&'a str>)> {
    match value {
        Value::Object(fields) => {
            let token = |(name, child): (&'a String, &'a Value)| {
                let rest = path.strip_prefix(path_segment(name))?;
                let rest = if rest.is_empty() { None } else { Some(rest.strip_prefix('.')?) };
                Some((name.as_str(), child, rest))
            };
            fields.iter().filter_map(token).collect()
        }
        Value::Array(items) => {
            let (index, rest) = path.split_once('.').map_or((path, None), |(index, rest)| (index, Some(rest)));
            let item = index.parse::<usize>().ok().and_then(|at| items.get(at));
            item.map(|item| (index, item, rest)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Formats a JSON pointer as a URI fragment (RFC 6901, section 6).
pub(super) fn uri_fragment(tokens: &[String]) -> String {
    let mut out = String::from("#");
    for token in tokens {
        out.push('/');
        for byte in token.replace('~', "~0").replace('/', "~1").bytes() {
            // The characters that RFC 3986 allows unescaped in a fragment.
            if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@?".contains(&byte) {
                out.push(char::from(byte));
            } else {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    out
}
