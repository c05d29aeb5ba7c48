//! What a server on the Python SDK of MCP sends: pydantic's errors for the model of the tool's arguments, one under the other, or
//! what a handler raised. Held to a real server's answers by `tests/engine/servers.rs`.

mod parse;
mod repr;

use std::fmt::Write;

use serde_json::Value;

use self::repr::{repr, truncated_repr, type_name};
use super::{Told, looked_into, single_line};
use crate::failure::{Bound, Expected, Failure, Issue, IssueKind, Measure, Routing, Step};

/// The version in the links, as in `answers.py`.
const VERSION: &str = "2.14";

/// One error of pydantic.
struct Line<'a> {
    /// Where, with a dot between the steps; none for the arguments as a whole.
    place: Option<String>,
    message: String,
    kind: &'static str,
    input: &'a Value,
    /// Whether the error has a page in pydantic's documentation.
    linked: bool,
}

pub(super) fn render(told: &Told<'_>) -> String {
    let tool = told.tool.unwrap_or_default();
    let lines = match told.failure {
        Failure::Routing(Routing::UnknownTool { tool, .. }) => return format!("Unknown tool: {tool}"),
        // What is no error is an answer like any other.
        Failure::Tool(failure) | Failure::Fault(failure) if !failure.is_error() => return failure.message.clone(),
        Failure::Tool(failure) | Failure::Fault(failure) => {
            return format!("Error executing tool {tool}: {}", failure.message);
        }
        Failure::Routing(
            Routing::MissingDiscriminator { available, .. } | Routing::UnknownAction { available, .. },
        ) => vec![no_such_action(told, available)],
        Failure::Validation { issues, .. } => lines_of(told, issues),
    };
    let s = if lines.len() == 1 { "" } else { "s" };
    let mut out = format!("Error executing tool {tool}: {} validation error{s} for {tool}Arguments", lines.len());
    for line in &lines {
        if let Some(place) = &line.place {
            let _ = write!(out, "\n{place}");
        }
        let (input, input_type) = (truncated_repr(line.input), type_name(line.input));
        let Line { message, kind, .. } = line;
        let _ = write!(out, "\n  {message} [type={kind}, input_value={input}, input_type={input_type}]");
        if line.linked {
            let _ = write!(out, "\n    For further information visit https://errors.pydantic.dev/{VERSION}/v/{kind}");
        }
    }
    out
}

/// The discriminator is a parameter that is one of several texts.
fn no_such_action<'a>(told: &Told<'a>, available: &[String]) -> Line<'a> {
    let field = told.discriminator.unwrap_or("action");
    let place = Some(place(&[Step::Name(field)]));
    match told.arguments.get(field) {
        None => Line { place, ..line("Field required", "missing", told.arguments) },
        Some(sent) => {
            let options: Vec<Value> = available.iter().map(|name| Value::String(name.clone())).collect();
            Line { place, ..line(options_wanted(&options), "literal_error", sent) }
        }
    }
}

/// pydantic reports one error a value, and none of a value in which it found one.
fn lines_of<'a>(told: &Told<'a>, issues: &'a [Issue]) -> Vec<Line<'a>> {
    let mut kept: Vec<&Issue> = Vec::new();
    for issue in looked_into(issues) {
        if let Some(known) = kept.iter_mut().find(|known| is_same_value(known, issue)) {
            if precedence(issue) < precedence(known) {
                *known = issue;
            }
        } else if !(is_measure_of_whole(issue) && kept.iter().any(|known| is_inside(known, issue))) {
            kept.push(issue);
        }
    }
    kept.into_iter().flat_map(|issue| lines_of_issue(told, issue)).collect()
}

/// Undeclared fields are none of the object that they stand in.
fn is_same_value(one: &Issue, other: &Issue) -> bool {
    let undeclared = |issue: &Issue| matches!(issue.kind, IssueKind::Undeclared { .. });
    one.path == other.path && !undeclared(one) && !undeclared(other)
}

fn is_inside(inner: &Issue, outer: &Issue) -> bool {
    let beyond = inner.path.strip_prefix(outer.path.as_str());
    beyond.is_some_and(|rest| rest.starts_with('.') || (outer.path.is_empty() && !rest.is_empty()))
}

fn is_measure_of_whole(issue: &Issue) -> bool {
    matches!(
        issue.kind,
        IssueKind::OutOfBounds { measure: Measure::Items | Measure::Properties, .. } | IssueKind::NotUnique
    )
}

/// Which of several errors of one value comes first in pydantic.
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

fn lines_of_issue<'a>(told: &Told<'a>, issue: &'a Issue) -> Vec<Line<'a>> {
    let mut steps = issue.steps(told.arguments);
    let at = |steps: &[Step<'_>]| steps.iter().try_fold(told.arguments, |value, step| step.of(value));
    match &issue.kind {
        IssueKind::Undeclared { fields } => {
            let object = at(&steps).unwrap_or(&Value::Null);
            let one = |field: &'a String| {
                steps.push(Step::Name(field));
                let place = Some(place(&steps));
                steps.pop();
                let sent = object.get(field).unwrap_or(&Value::Null);
                Line { place, ..line("Extra inputs are not permitted", "extra_forbidden", sent) }
            };
            fields.iter().map(one).collect()
        }
        IssueKind::Missing { .. } => {
            let parent = at(&steps[..steps.len().saturating_sub(1)]).unwrap_or(told.arguments);
            vec![Line { place: Some(place(&steps)), ..line("Field required", "missing", parent) }]
        }
        kind => {
            let sent = issue.sent.as_ref().unwrap_or(&Value::Null);
            let wanted = match kind {
                IssueKind::WrongType { expected: Expected::Types(types) } => {
                    let types: Vec<&str> = types.iter().map(String::as_str).filter(|name| *name != "null").collect();
                    if types.len() > 1 {
                        return types.iter().map(|name| union_line(&steps, name, sent)).collect();
                    }
                    wrong_type(told, &steps, types.first().copied().unwrap_or("null"), sent)
                }
                other => refused(other, sent),
            };
            vec![Line { place: (!steps.is_empty()).then(|| place(&steps)), ..wanted }]
        }
    }
}

fn line<'a>(message: impl Into<String>, kind: &'static str, input: &'a Value) -> Line<'a> {
    Line { place: None, message: message.into(), kind, input, linked: true }
}

fn place(steps: &[Step<'_>]) -> String {
    let mut out = String::new();
    for (index, step) in steps.iter().enumerate() {
        let dot = if index == 0 { "" } else { "." };
        let _ = match step {
            Step::Name(name) if name.contains('.') => write!(out, "{dot}`{name}`"),
            Step::Name(name) => write!(out, "{dot}{name}"),
            Step::Index(index) => write!(out, "{dot}{index}"),
        };
    }
    out
}

/// What is wrong with a value of the right type.
fn refused<'a>(kind: &IssueKind, sent: &'a Value) -> Line<'a> {
    match kind {
        IssueKind::NotAnOption { options } | IssueKind::WrongType { expected: Expected::Options(options) } => {
            line(options_wanted(options), "literal_error", sent)
        }
        IssueKind::OutOfBounds { measure, relation, limit } => out_of_bounds(*measure, *relation, limit, sent),
        IssueKind::BadPattern { pattern } => {
            line(format!("String should match pattern '{pattern}'"), "string_pattern_mismatch", sent)
        }
        IssueKind::BadFormat { format } => bad_format(format, sent),
        IssueKind::NotAMultiple { of } => {
            line(format!("Input should be a multiple of {}", number(of)), "multiple_of", sent)
        }
        // For the rest an author writes a validator.
        IssueKind::NotUnique => line("Value error, the items are not unique", "value_error", sent),
        IssueKind::Other { message, .. } => line(format!("Value error, {}", single_line(message)), "value_error", sent),
        IssueKind::Missing { .. } | IssueKind::WrongType { .. } | IssueKind::Undeclared { .. } => {
            line("Value error, invalid value", "value_error", sent)
        }
    }
}

/// `'a', 'b' or 'c'`.
fn options_wanted(options: &[Value]) -> String {
    let words: Vec<String> = options.iter().map(repr).collect();
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("Input should be {} or {last}", before.join(", ")),
        _ => format!("Input should be {}", words.concat()),
    }
}

fn wrong_type<'a>(told: &Told<'_>, steps: &[Step<'_>], name: &str, sent: &'a Value) -> Line<'a> {
    let root = told.action.map(|facts| &facts.schema);
    let schema = root.and_then(|root| steps.iter().try_fold(root, |schema, step| step.of_schema(schema)));
    let format = schema.and_then(|schema| schema.get("format")?.as_str());
    match (name, format) {
        ("string", Some("uuid")) => line("UUID input should be a string, bytes or UUID object", "uuid_type", sent),
        ("string", Some("uri")) => line("URL input should be a string or URL", "url_type", sent),
        ("string", Some("date")) if sent.is_number() => not_a_whole_day(sent),
        ("string", Some("date")) => line("Input should be a valid date", "date_type", sent),
        ("string", Some("date-time")) => line("Input should be a valid datetime", "datetime_type", sent),
        ("string", Some("time")) => line("Input should be a valid time", "time_type", sent),
        ("string", Some(format @ ("ipv4" | "ipv6"))) => bad_format(format, sent),
        // An object with declared properties is a model of its own, any other a dictionary.
        ("object", _) if steps.is_empty() => model_wanted(&format!("{}Arguments", told.tool.unwrap_or_default()), sent),
        ("object", _) if schema.is_some_and(|schema| schema.get("properties").is_some()) => {
            model_wanted(&model_name(steps), sent)
        }
        _ => wrong_plain_type(name, sent),
    }
}

fn model_wanted<'a>(model: &str, sent: &'a Value) -> Line<'a> {
    line(format!("Input should be a valid dictionary or instance of {model}"), "model_type", sent)
}

/// The name that an author gives to the model of a property: `env` is an `Env`, one of the `order_lines` an `OrderLine`.
fn model_name(steps: &[Step<'_>]) -> String {
    let named = steps.iter().rev().find_map(|step| match step {
        Step::Name(name) => Some(*name),
        Step::Index(_) => None,
    });
    let name = named.unwrap_or_default();
    let is_item = matches!(steps.last(), Some(Step::Index(_)));
    let name = if is_item { name.strip_suffix('s').unwrap_or(name) } else { name };
    let capitalised = |word: &str| {
        let mut chars = word.chars();
        chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
    };
    name.split(|c: char| !c.is_alphanumeric()).map(capitalised).collect()
}

fn wrong_plain_type<'a>(name: &str, sent: &'a Value) -> Line<'a> {
    let is_whole = |number: &Value| number.as_f64().is_some_and(|float| float.fract() == 0.0 && float.abs() < 9.2e18);
    match (name, sent) {
        // Where pydantic would take the text for a value, only a server that tells it to be strict refuses.
        ("integer", Value::String(text)) if !parse::reads_as(text, name) => {
            line("Input should be a valid integer, unable to parse string as an integer", "int_parsing", sent)
        }
        ("integer", Value::Number(_)) => {
            line("Input should be a valid integer, got a number with a fractional part", "int_from_float", sent)
        }
        ("integer", _) => line("Input should be a valid integer", "int_type", sent),
        ("number", Value::String(text)) if !parse::reads_as(text, name) => {
            line("Input should be a valid number, unable to parse string as a number", "float_parsing", sent)
        }
        ("number", _) => line("Input should be a valid number", "float_type", sent),
        ("boolean", Value::String(text)) if !parse::reads_as(text, name) => {
            line("Input should be a valid boolean, unable to interpret input", "bool_parsing", sent)
        }
        ("boolean", Value::Number(_)) if is_whole(sent) && !matches!(sent.as_f64(), Some(0.0 | 1.0)) => {
            line("Input should be a valid boolean, unable to interpret input", "bool_parsing", sent)
        }
        ("boolean", _) => line("Input should be a valid boolean", "bool_type", sent),
        ("array", _) => line("Input should be a valid list", "list_type", sent),
        ("object", _) => line("Input should be a valid dictionary", "dict_type", sent),
        ("null", _) => line("Input should be None", "none_required", sent),
        _ => line("Input should be a valid string", "string_type", sent),
    }
}

/// A type of several is a union, and each of them says why it is not the one.
fn union_line<'a>(steps: &[Step<'_>], name: &str, sent: &'a Value) -> Line<'a> {
    let python = match name {
        "integer" => "int",
        "number" => "float",
        "boolean" => "bool",
        "array" => "list[any]",
        "object" => "dict[str,any]",
        _ => "str",
    };
    let steps: Vec<Step<'_>> = steps.iter().copied().chain([Step::Name(python)]).collect();
    Line { place: Some(place(&steps)), ..wrong_plain_type(name, sent) }
}

fn out_of_bounds<'a>(measure: Measure, relation: Bound, limit: &Value, sent: &'a Value) -> Line<'a> {
    let limit = number(limit);
    let s = if limit == "1" { "" } else { "s" };
    let at_least = matches!(relation, Bound::AtLeast | Bound::MoreThan);
    let amount = if at_least { "at least" } else { "at most" };
    let size = if at_least { "too_short" } else { "too_long" };
    match measure {
        Measure::Number => {
            let (words, kind) = match relation {
                Bound::AtLeast => ("greater than or equal to", "greater_than_equal"),
                Bound::MoreThan => ("greater than", "greater_than"),
                Bound::AtMost => ("less than or equal to", "less_than_equal"),
                Bound::LessThan => ("less than", "less_than"),
            };
            line(format!("Input should be {words} {limit}"), kind, sent)
        }
        Measure::Characters => {
            let kind = if at_least { "string_too_short" } else { "string_too_long" };
            line(format!("String should have {amount} {limit} character{s}"), kind, sent)
        }
        Measure::Items => {
            let count = sent.as_array().map_or(0, Vec::len);
            line(format!("List should have {amount} {limit} item{s} after validation, not {count}"), size, sent)
        }
        Measure::Properties => {
            // Counting stops at the limit.
            let count = sent.as_object().map_or(0, serde_json::Map::len).to_string();
            let found = if at_least { count.as_str() } else { "more" };
            line(format!("Dictionary should have {amount} {limit} item{s} after validation, not {found}"), size, sent)
        }
    }
}

/// A limit, never in scientific notation.
fn number(limit: &Value) -> String {
    match limit.as_f64() {
        Some(float) if limit.is_f64() => float.to_string(),
        _ => limit.to_string(),
    }
}

fn bad_format<'a>(format: &str, sent: &'a Value) -> Line<'a> {
    let text = sent.as_str().unwrap_or_default();
    match format {
        "email" => {
            let message = format!("value is not a valid email address: {}", parse::email(text));
            Line { linked: false, ..line(message, "value_error", sent) }
        }
        "uuid" => line(format!("Input should be a valid UUID, {}", parse::uuid(text)), "uuid_parsing", sent),
        "uri" => line(format!("Input should be a valid URL, {}", parse::url(text)), "url_parsing", sent),
        "date" => match parse::date(text) {
            Some(why) => {
                line(format!("Input should be a valid date or datetime, {why}"), "date_from_datetime_parsing", sent)
            }
            None => not_a_whole_day(sent),
        },
        "date-time" => {
            let (message, kind) = parse::date_time(text);
            line(message, kind, sent)
        }
        "time" => line(format!("Input should be in a valid time format, {}", parse::time(text)), "time_parsing", sent),
        "ipv4" => line("Input is not a valid IPv4 address", "ip_v4_address", sent),
        "ipv6" => line("Input is not a valid IPv6 address", "ip_v6_address", sent),
        other => line(format!("Value error, invalid {}", single_line(other)), "value_error", sent),
    }
}

fn not_a_whole_day(sent: &Value) -> Line<'_> {
    let message = "Datetimes provided to dates should have zero time - e.g. be exact dates";
    line(message, "date_from_datetime_inexact", sent)
}
