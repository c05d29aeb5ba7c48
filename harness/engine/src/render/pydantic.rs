//! The output of a server built on the Python SDK of MCP: the list of pydantic's errors for the model of the tool's
//! arguments, or the message of an exception raised by a handler. `tests/engine/servers.rs` compares it with a real
//! server's answers.

mod parse;
mod repr;

use std::fmt::Write;

use serde_json::Value;

use self::repr::repr;
pub(super) use self::repr::{truncated_repr, type_name};
use super::{RenderInput, reported_issues, single_line};
use crate::failure::{Bound, Expected, Failure, Issue, IssueKind, PathSegment, Quantity, Routing};

/// The pydantic version in the links, as in `answers.py`.
const VERSION: &str = "2.14";

struct PydanticError<'a> {
    /// The path joined by dots; `None` for the arguments as a whole.
    loc: Option<String>,
    message: String,
    kind: &'static str,
    input: &'a Value,
    /// True if pydantic's documentation has a page about the error.
    linked: bool,
}

pub(super) fn render(input: &RenderInput<'_>) -> String {
    let tool = input.tool.unwrap_or_default();
    let errors = match input.failure {
        Failure::Routing(Routing::UnknownTool { tool, .. }) => return format!("Unknown tool: {tool}"),
        // A warning is returned like any other result.
        Failure::Tool(failure) | Failure::Fault(failure) if !failure.is_error() => return failure.message.clone(),
        Failure::Tool(failure) | Failure::Fault(failure) => {
            return format!("Error executing tool {tool}: {}", failure.message);
        }
        Failure::Routing(
            Routing::MissingDiscriminator { available, .. } | Routing::UnknownAction { available, .. },
        ) => vec![no_such_action(input, available)],
        Failure::Validation { issues, .. } => validation_errors(input, issues),
    };
    let s = if errors.len() == 1 { "" } else { "s" };
    let mut out = format!("Error executing tool {tool}: {} validation error{s} for {tool}Arguments", errors.len());
    for error in &errors {
        if let Some(loc) = &error.loc {
            let _ = write!(out, "\n{loc}");
        }
        let (input_repr, input_type) = (truncated_repr(error.input), type_name(error.input));
        let PydanticError { message, kind, .. } = error;
        let _ = write!(out, "\n  {message} [type={kind}, input_value={input_repr}, input_type={input_type}]");
        if error.linked {
            let _ = write!(out, "\n    For further information visit https://errors.pydantic.dev/{VERSION}/v/{kind}");
        }
    }
    out
}

/// Creates the error for the discriminator, a parameter with string options.
fn no_such_action<'a>(input: &RenderInput<'a>, available: &[String]) -> PydanticError<'a> {
    let field = input.discriminator.unwrap_or("action");
    let loc = Some(format_loc(&[PathSegment::Name(field)]));
    match input.arguments.get(field) {
        None => PydanticError { loc, ..error("Field required", "missing", input.arguments) },
        Some(sent) => {
            let options: Vec<Value> = available.iter().map(|name| Value::String(name.clone())).collect();
            PydanticError { loc, ..error(options_message(&options), "literal_error", sent) }
        }
    }
}

/// Returns one error per value, and none for a value that contains a reported error, like pydantic.
fn validation_errors<'a>(input: &RenderInput<'a>, issues: &'a [Issue]) -> Vec<PydanticError<'a>> {
    let mut reported: Vec<&Issue> = Vec::new();
    for issue in reported_issues(issues) {
        if let Some(known) = reported.iter_mut().find(|known| is_same_value(known, issue)) {
            if precedence(issue) < precedence(known) {
                *known = issue;
            }
        } else if !(is_size_error(issue) && reported.iter().any(|known| is_inside(known, issue))) {
            reported.push(issue);
        }
    }
    reported.into_iter().flat_map(|issue| issue_errors(input, issue)).collect()
}

/// Undeclared fields are separate errors, not errors of the object that contains them.
fn is_same_value(one: &Issue, other: &Issue) -> bool {
    let undeclared = |issue: &Issue| matches!(issue.kind, IssueKind::Undeclared { .. });
    one.path == other.path && !undeclared(one) && !undeclared(other)
}

fn is_inside(inner: &Issue, outer: &Issue) -> bool {
    let rest_of_path = inner.path.strip_prefix(outer.path.as_str());
    rest_of_path.is_some_and(|rest| rest.starts_with('.') || (outer.path.is_empty() && !rest.is_empty()))
}

fn is_size_error(issue: &Issue) -> bool {
    matches!(
        issue.kind,
        IssueKind::OutOfBounds { measure: Quantity::Items | Quantity::Properties, .. } | IssueKind::NotUnique
    )
}

/// Returns the order in which pydantic reports errors of the same value.
fn precedence(issue: &Issue) -> u8 {
    match &issue.kind {
        IssueKind::Missing { .. } | IssueKind::WrongType { .. } | IssueKind::NotAnOption { .. } => 0,
        IssueKind::NotAMultiple { .. } => 1,
        IssueKind::OutOfBounds { relation, .. } => match relation {
            Bound::AtMost => 2,
            Bound::LessThan => 3,
            Bound::AtLeast => 4,
            Bound::MoreThan => 5,
        },
        IssueKind::BadPattern { .. } => 6,
        IssueKind::BadFormat { .. } => 7,
        IssueKind::NotUnique | IssueKind::Undeclared { .. } | IssueKind::Other { .. } => 8,
    }
}

fn issue_errors<'a>(input: &RenderInput<'a>, issue: &'a Issue) -> Vec<PydanticError<'a>> {
    let mut segments = issue.segments(input.arguments);
    let at = |segments: &[PathSegment<'_>]| {
        segments.iter().try_fold(input.arguments, |value, segment| segment.resolve(value))
    };
    match &issue.kind {
        IssueKind::Undeclared { fields } => {
            let object = at(&segments).unwrap_or(&Value::Null);
            let one = |field: &'a String| {
                segments.push(PathSegment::Name(field));
                let loc = Some(format_loc(&segments));
                segments.pop();
                let sent = object.get(field).unwrap_or(&Value::Null);
                PydanticError { loc, ..error("Extra inputs are not permitted", "extra_forbidden", sent) }
            };
            fields.iter().map(one).collect()
        }
        IssueKind::Missing { .. } => {
            let parent = at(&segments[..segments.len().saturating_sub(1)]).unwrap_or(input.arguments);
            vec![PydanticError { loc: Some(format_loc(&segments)), ..error("Field required", "missing", parent) }]
        }
        kind => {
            let sent = issue.sent.as_ref().unwrap_or(&Value::Null);
            let error = match kind {
                IssueKind::WrongType { expected: Expected::Types(types) } => {
                    let types: Vec<&str> = types.iter().map(String::as_str).filter(|name| *name != "null").collect();
                    if types.len() > 1 {
                        return types.iter().map(|name| union_error(&segments, name, sent)).collect();
                    }
                    type_error(input, &segments, types.first().copied().unwrap_or("null"), sent)
                }
                other => constraint_error(other, sent),
            };
            vec![PydanticError { loc: (!segments.is_empty()).then(|| format_loc(&segments)), ..error }]
        }
    }
}

fn error<'a>(message: impl Into<String>, kind: &'static str, input: &'a Value) -> PydanticError<'a> {
    PydanticError { loc: None, message: message.into(), kind, input, linked: true }
}

fn format_loc(segments: &[PathSegment<'_>]) -> String {
    let mut out = String::new();
    for (index, segment) in segments.iter().enumerate() {
        let dot = if index == 0 { "" } else { "." };
        let _ = match segment {
            PathSegment::Name(name) if name.contains('.') => write!(out, "{dot}`{name}`"),
            PathSegment::Name(name) => write!(out, "{dot}{name}"),
            PathSegment::Index(index) => write!(out, "{dot}{index}"),
        };
    }
    out
}

/// Returns the error for a value of the right type.
fn constraint_error<'a>(kind: &IssueKind, sent: &'a Value) -> PydanticError<'a> {
    match kind {
        IssueKind::NotAnOption { options } | IssueKind::WrongType { expected: Expected::Options(options) } => {
            error(options_message(options), "literal_error", sent)
        }
        IssueKind::OutOfBounds { measure, relation, limit } => out_of_bounds(*measure, *relation, limit, sent),
        IssueKind::BadPattern { pattern } => {
            error(format!("String should match pattern '{pattern}'"), "string_pattern_mismatch", sent)
        }
        IssueKind::BadFormat { format } => format_error(format, sent),
        IssueKind::NotAMultiple { of } => {
            error(format!("Input should be a multiple of {}", limit_text(of)), "multiple_of", sent)
        }
        // For all other keywords, an author would write a validator.
        IssueKind::NotUnique => error("Value error, the items are not unique", "value_error", sent),
        IssueKind::Other { message, .. } => {
            error(format!("Value error, {}", single_line(message)), "value_error", sent)
        }
        IssueKind::Missing { .. } | IssueKind::WrongType { .. } | IssueKind::Undeclared { .. } => {
            error("Value error, invalid value", "value_error", sent)
        }
    }
}

/// Formats `Input should be 'a', 'b' or 'c'`.
fn options_message(options: &[Value]) -> String {
    let phrase: Vec<String> = options.iter().map(repr).collect();
    match phrase.split_last() {
        Some((last, before)) if !before.is_empty() => format!("Input should be {} or {last}", before.join(", ")),
        _ => format!("Input should be {}", phrase.concat()),
    }
}

fn type_error<'a>(
    input: &RenderInput<'_>,
    segments: &[PathSegment<'_>],
    name: &str,
    sent: &'a Value,
) -> PydanticError<'a> {
    let root = input.action.map(|doc| &doc.schema);
    let schema = root.and_then(|root| segments.iter().try_fold(root, |schema, segment| segment.resolve_schema(schema)));
    let format = schema.and_then(|schema| schema.get("format")?.as_str());
    match (name, format) {
        ("string", Some("uuid")) => error("UUID input should be a string, bytes or UUID object", "uuid_type", sent),
        ("string", Some("uri")) => error("URL input should be a string or URL", "url_type", sent),
        ("string", Some("date")) if sent.is_number() => inexact_date_error(sent),
        ("string", Some("date")) => error("Input should be a valid date", "date_type", sent),
        ("string", Some("date-time")) => error("Input should be a valid datetime", "datetime_type", sent),
        ("string", Some("time")) => error("Input should be a valid time", "time_type", sent),
        ("string", Some(format @ ("ipv4" | "ipv6"))) => format_error(format, sent),
        // An object with declared properties is a nested model, any other a dictionary.
        ("object", _) if segments.is_empty() => {
            model_type_error(&format!("{}Arguments", input.tool.unwrap_or_default()), sent)
        }
        ("object", _) if schema.is_some_and(|schema| schema.get("properties").is_some()) => {
            model_type_error(&model_name(segments), sent)
        }
        _ => plain_type_error(name, sent),
    }
}

fn model_type_error<'a>(model: &str, sent: &'a Value) -> PydanticError<'a> {
    error(format!("Input should be a valid dictionary or instance of {model}"), "model_type", sent)
}

/// Derives the name of a property's model: `Env` for `env`, `OrderLine` for an item of `order_lines`.
fn model_name(segments: &[PathSegment<'_>]) -> String {
    let named = segments.iter().rev().find_map(|segment| match segment {
        PathSegment::Name(name) => Some(*name),
        PathSegment::Index(_) => None,
    });
    let name = named.unwrap_or_default();
    let is_item = matches!(segments.last(), Some(PathSegment::Index(_)));
    let name = if is_item { name.strip_suffix('s').unwrap_or(name) } else { name };
    let capitalize = |word: &str| {
        let mut chars = word.chars();
        chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
    };
    name.split(|c: char| !c.is_alphanumeric()).map(capitalize).collect()
}

fn plain_type_error<'a>(name: &str, sent: &'a Value) -> PydanticError<'a> {
    let is_whole = |number: &Value| number.as_f64().is_some_and(|float| float.fract() == 0.0 && float.abs() < 9.2e18);
    match (name, sent) {
        // pydantic accepts a parseable string as a value unless the server uses strict mode.
        ("integer", Value::String(text)) if !parse::parses_as(text, name) => {
            error("Input should be a valid integer, unable to parse string as an integer", "int_parsing", sent)
        }
        ("integer", Value::Number(_)) => {
            error("Input should be a valid integer, got a number with a fractional part", "int_from_float", sent)
        }
        ("integer", _) => error("Input should be a valid integer", "int_type", sent),
        ("number", Value::String(text)) if !parse::parses_as(text, name) => {
            error("Input should be a valid number, unable to parse string as a number", "float_parsing", sent)
        }
        ("number", _) => error("Input should be a valid number", "float_type", sent),
        ("boolean", Value::String(text)) if !parse::parses_as(text, name) => {
            error("Input should be a valid boolean, unable to interpret input", "bool_parsing", sent)
        }
        ("boolean", Value::Number(_)) if is_whole(sent) && !matches!(sent.as_f64(), Some(0.0 | 1.0)) => {
            error("Input should be a valid boolean, unable to interpret input", "bool_parsing", sent)
        }
        ("boolean", _) => error("Input should be a valid boolean", "bool_type", sent),
        ("array", _) => error("Input should be a valid list", "list_type", sent),
        ("object", _) => error("Input should be a valid dictionary", "dict_type", sent),
        ("null", _) => error("Input should be None", "none_required", sent),
        _ => error("Input should be a valid string", "string_type", sent),
    }
}

/// Creates the errors of a union: one for each type.
fn union_error<'a>(segments: &[PathSegment<'_>], name: &str, sent: &'a Value) -> PydanticError<'a> {
    let python = match name {
        "integer" => "int",
        "number" => "float",
        "boolean" => "bool",
        "array" => "list[any]",
        "object" => "dict[str,any]",
        _ => "str",
    };
    let segments: Vec<PathSegment<'_>> = segments.iter().copied().chain([PathSegment::Name(python)]).collect();
    PydanticError { loc: Some(format_loc(&segments)), ..plain_type_error(name, sent) }
}

fn out_of_bounds<'a>(measure: Quantity, relation: Bound, limit: &Value, sent: &'a Value) -> PydanticError<'a> {
    let limit = limit_text(limit);
    let s = if limit == "1" { "" } else { "s" };
    let at_least = matches!(relation, Bound::AtLeast | Bound::MoreThan);
    let amount = if at_least { "at least" } else { "at most" };
    let size = if at_least { "too_short" } else { "too_long" };
    match measure {
        Quantity::Number => {
            let (phrase, kind) = match relation {
                Bound::AtLeast => ("greater than or equal to", "greater_than_equal"),
                Bound::MoreThan => ("greater than", "greater_than"),
                Bound::AtMost => ("less than or equal to", "less_than_equal"),
                Bound::LessThan => ("less than", "less_than"),
            };
            error(format!("Input should be {phrase} {limit}"), kind, sent)
        }
        Quantity::Characters => {
            let kind = if at_least { "string_too_short" } else { "string_too_long" };
            error(format!("String should have {amount} {limit} character{s}"), kind, sent)
        }
        Quantity::Items => {
            let count = sent.as_array().map_or(0, Vec::len);
            error(format!("List should have {amount} {limit} item{s} after validation, not {count}"), size, sent)
        }
        Quantity::Properties => {
            // pydantic stops counting at the limit.
            let count = sent.as_object().map_or(0, serde_json::Map::len).to_string();
            let found = if at_least { count.as_str() } else { "more" };
            error(format!("Dictionary should have {amount} {limit} item{s} after validation, not {found}"), size, sent)
        }
    }
}

/// Formats a limit without scientific notation.
fn limit_text(limit: &Value) -> String {
    match limit.as_f64() {
        Some(float) if limit.is_f64() => float.to_string(),
        _ => limit.to_string(),
    }
}

fn format_error<'a>(format: &str, sent: &'a Value) -> PydanticError<'a> {
    let text = sent.as_str().unwrap_or_default();
    match format {
        "email" => {
            let message = format!("value is not a valid email address: {}", parse::email_error(text));
            PydanticError { linked: false, ..error(message, "value_error", sent) }
        }
        "uuid" => error(format!("Input should be a valid UUID, {}", parse::uuid_error(text)), "uuid_parsing", sent),
        "uri" => error(format!("Input should be a valid URL, {}", parse::url_error(text)), "url_parsing", sent),
        "date" => match parse::date_error(text) {
            Some(reason) => {
                error(format!("Input should be a valid date or datetime, {reason}"), "date_from_datetime_parsing", sent)
            }
            None => inexact_date_error(sent),
        },
        "date-time" => {
            let (message, kind) = parse::date_time_error(text);
            error(message, kind, sent)
        }
        "time" => {
            error(format!("Input should be in a valid time format, {}", parse::time_error(text)), "time_parsing", sent)
        }
        "ipv4" => error("Input is not a valid IPv4 address", "ip_v4_address", sent),
        "ipv6" => error("Input is not a valid IPv6 address", "ip_v6_address", sent),
        other => error(format!("Value error, invalid {}", single_line(other)), "value_error", sent),
    }
}

fn inexact_date_error(sent: &Value) -> PydanticError<'_> {
    let message = "Datetimes provided to dates should have zero time - e.g. be exact dates";
    error(message, "date_from_datetime_inexact", sent)
}
