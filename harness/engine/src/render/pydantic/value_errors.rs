//! The errors of single values.

use serde_json::Value;

use super::bounds::{limit_text, out_of_bounds};
use super::parse;
use super::repr::repr;
use super::type_names::model_title;
use super::{PydanticError, error};
use crate::failure::{Expected, IssueKind, PathSegment};
use crate::render::{RenderInput, single_line};
use crate::schema::is_tuple;

/// Returns the error for a value of the right type.
pub(super) fn constraint_error<'a>(kind: &IssueKind, sent: &'a Value) -> PydanticError<'a> {
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
pub(super) fn options_message(options: &[Value]) -> String {
    let phrase: Vec<String> = options.iter().map(repr).collect();
    match phrase.split_last() {
        Some((last, before)) if !before.is_empty() => format!("Input should be {} or {last}", before.join(", ")),
        _ => format!("Input should be {}", phrase.concat()),
    }
}

pub(super) fn type_error<'a>(
    input: &RenderInput<'_>,
    segments: &[PathSegment<'_>],
    schema: Option<&Value>,
    name: &str,
    sent: &'a Value,
) -> PydanticError<'a> {
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
            let title = schema.and_then(model_title);
            model_type_error(&title.unwrap_or_else(|| model_name(segments)), sent)
        }
        ("array", _) if is_tuple(schema) => error("Input should be a valid tuple", "tuple_type", sent),
        ("string", Some("path")) => {
            let message = "Input is not a valid path for <class 'pathlib.Path'>";
            PydanticError { linked: false, ..error(message, "path_type", sent) }
        }
        ("string", Some("binary")) => error("Input should be a valid bytes", "bytes_type", sent),
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

/// Returns the last segment of the location and the error for one type of a union.
pub(super) fn union_error<'a>(name: &str, sent: &'a Value) -> (&'static str, PydanticError<'a>) {
    let python = match name {
        "integer" => "int",
        "number" => "float",
        "boolean" => "bool",
        "array" => "list[any]",
        "object" => "dict[str,any]",
        _ => "str",
    };
    (python, plain_type_error(name, sent))
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
        "ipv4" => PydanticError { linked: false, ..error("Input is not a valid IPv4 address", "ip_v4_address", sent) },
        "ipv6" => PydanticError { linked: false, ..error("Input is not a valid IPv6 address", "ip_v6_address", sent) },
        other => error(format!("Value error, invalid {}", single_line(other)), "value_error", sent),
    }
}

fn inexact_date_error(sent: &Value) -> PydanticError<'_> {
    let message = "Datetimes provided to dates should have zero time - e.g. be exact dates";
    error(message, "date_from_datetime_inexact", sent)
}
