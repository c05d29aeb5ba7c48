//! The output of a server built on the Python SDK of MCP: the list of pydantic's errors for the model of the tool's
//! arguments, or the message of an exception raised by a handler. `tests/engine/servers.rs` compares it with a real
//! server's answers.

mod bounds;
mod conversion;
mod parse;
mod repr;
mod type_names;

use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value;

use self::bounds::{MAX_MISSING_ITEMS, limit_text, out_of_bounds, tuple_too_long};
use self::conversion::kinds_after_conversion;
pub(super) use self::repr::{repr, truncated_repr, type_name};
use self::type_names::{MAX_TYPE_DEPTH, model_title, type_text};
use super::excerpt::excerpt_text;
use super::{RenderInput, reported_issues, single_line};
use crate::failure::{
    Bound, Expected, FailedBranch, FailedUnion, Failure, Issue, IssueKind, PathSegment, Quantity, Routing,
};
use crate::schema::{TaggedUnion, is_tuple, resolve_refs, schema_of_issue, tagged_unions};

/// The pydantic version in the links, as in `answers.py`.
const VERSION: &str = "2.14";

struct PydanticError<'a> {
    /// The path joined by dots; `None` for the arguments as a whole.
    loc: Option<String>,
    message: String,
    kind: &'static str,
    input: &'a Value,
    /// The name of a field that is the input instead.
    input_text: Option<&'a str>,
    /// True if pydantic's documentation has a page about the error.
    linked: bool,
    /// True if an argument of the tool is missing or unexpected.
    is_of_argument: bool,
}

/// Writes the text of a server on the Python SDK.
pub(super) fn render(input: &RenderInput<'_>) -> String {
    let tool = input.tool.unwrap_or_default();
    let text = match input.failure {
        Failure::Routing(Routing::UnknownTool { tool, .. }) => return format!("Unknown tool: {tool}"),
        Failure::Tool(failure) | Failure::Fault(failure) => {
            // A warning is returned like any other result.
            if !failure.is_error() {
                return failure.message.clone();
            }
            failure.message.clone()
        }
        failure => error_list(&format!("{tool}Arguments"), &errors_of(input, failure)),
    };
    format!("Error executing tool {tool}: {text}")
}

/// Writes the text of a server on FastMCP, which validates the call of a function.
pub(super) fn render_fastmcp(input: &RenderInput<'_>) -> String {
    match input.failure {
        Failure::Routing(Routing::UnknownTool { tool, .. }) => {
            format!("Unknown tool: {}", repr(&Value::from(tool.as_str())))
        }
        Failure::Tool(failure) | Failure::Fault(failure) => failure.message.clone(),
        failure => {
            let mut errors = errors_of(input, failure);
            for error in errors.iter_mut().filter(|error| error.is_of_argument) {
                (error.message, error.kind) = match error.kind {
                    "missing" => ("Missing required argument".to_owned(), "missing_argument"),
                    _ => ("Unexpected keyword argument".to_owned(), "unexpected_keyword_argument"),
                };
            }
            error_list(&format!("call[{}]", input.tool.unwrap_or_default()), &errors)
        }
    }
}

fn errors_of<'a>(input: &RenderInput<'a>, failure: &'a Failure) -> Vec<PydanticError<'a>> {
    match failure {
        Failure::Routing(
            Routing::MissingDiscriminator { available, .. } | Routing::UnknownAction { available, .. },
        ) => vec![no_such_action(input, available)],
        Failure::Validation { issues, .. } => validation_errors(input, issues),
        Failure::Routing(Routing::UnknownTool { .. }) | Failure::Tool(_) | Failure::Fault(_) => Vec::new(),
    }
}

fn error_list(title: &str, errors: &[PydanticError<'_>]) -> String {
    let s = if errors.len() == 1 { "" } else { "s" };
    let mut out = format!("{} validation error{s} for {title}", errors.len());
    for error in errors {
        if let Some(loc) = &error.loc {
            let _ = write!(out, "\n{loc}");
        }
        let name = error.input_text.map(Value::from);
        let shown = name.as_ref().unwrap_or(error.input);
        let (input_repr, input_type) = (truncated_repr(shown), type_name(shown));
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
    let loc = format_loc(&[PathSegment::Name(field)], &[], &[]);
    match input.arguments.get(field) {
        None => PydanticError { loc, is_of_argument: true, ..error("Field required", "missing", input.arguments) },
        Some(sent) => {
            let options: Vec<Value> = available.iter().map(|name| Value::String(name.clone())).collect();
            PydanticError { loc, ..error(options_message(&options), "literal_error", sent) }
        }
    }
}

/// Returns one error per value, and none for a value that contains a reported error, like pydantic.
fn validation_errors<'a>(input: &RenderInput<'a>, issues: &'a [Issue]) -> Vec<PydanticError<'a>> {
    distinct_issues(input, issues).into_iter().flat_map(|issue| issue_errors(input, issue, &[])).collect()
}

/// Returns the issues that pydantic reports.
fn distinct_issues<'a>(input: &RenderInput<'_>, issues: &'a [Issue]) -> Vec<&'a Issue> {
    let mut reported: Vec<&Issue> = Vec::new();
    for issue in reported_issues(issues) {
        if let Some(known) = reported.iter_mut().find(|known| is_same_value(known, issue)) {
            if precedence(issue) < precedence(known) {
                *known = issue;
            }
        } else if !(is_size_error(input, issue) && reported.iter().any(|known| is_inside(known, issue))) {
            reported.push(issue);
        }
    }
    let mut unions: Vec<&Arc<FailedUnion>> = Vec::new();
    reported.retain(|issue| {
        // The errors of a union are those under all of its branches, once.
        let is_new = issue.union.as_ref().is_none_or(|union| !unions.iter().any(|known| Arc::ptr_eq(known, union)));
        unions.extend(&issue.union);
        is_new
    });
    reported
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

/// Returns true for what is only checked if all items are valid. The items that a tuple lacks are among its items.
fn is_size_error(input: &RenderInput<'_>, issue: &Issue) -> bool {
    let is_tuple = || {
        let segments = issue.segments(input.arguments);
        is_tuple(input.action.and_then(|doc| schema_of_issue(&doc.schema, issue, &segments)))
    };
    match issue.kind {
        IssueKind::OutOfBounds { measure: Quantity::Items | Quantity::Properties, .. } => !is_tuple(),
        IssueKind::NotUnique => true,
        _ => false,
    }
}

/// Returns the order in which pydantic reports errors of the same value.
fn precedence(issue: &Issue) -> u8 {
    match &issue.kind {
        IssueKind::Missing { .. }
        | IssueKind::WrongType { .. }
        | IssueKind::NotAnOption { .. }
        | IssueKind::BadFormat { .. } => 0,
        IssueKind::NotAMultiple { .. } => 1,
        IssueKind::OutOfBounds { relation, .. } => match relation {
            Bound::AtMost => 2,
            Bound::LessThan => 3,
            Bound::AtLeast => 4,
            Bound::MoreThan => 5,
        },
        IssueKind::BadPattern { .. } => 6,
        IssueKind::NotUnique | IssueKind::Undeclared { .. } | IssueKind::Other { .. } => 7,
    }
}

/// A branch of a union in the location of an error: the depth of the union's value, and the name of the branch.
type Label = (usize, String);

/// Returns the errors under each branch of a union.
fn union_errors<'a>(input: &RenderInput<'a>, union: &'a FailedUnion, labels: &[Label]) -> Vec<PydanticError<'a>> {
    let depth = match union.path.as_str() {
        "" => 0,
        path => Issue::new(path.to_owned(), None, IssueKind::NotUnique).segments(input.arguments).len(),
    };
    let errors = |branch: &'a FailedBranch| {
        let name = input.action.and_then(|doc| {
            let schema = doc.schema.pointer(&branch.location)?;
            Some(type_text(&doc.schema, schema, MAX_TYPE_DEPTH))
        });
        let label = (depth, name.unwrap_or_else(|| "any".to_owned()));
        let labels: Vec<Label> = labels.iter().cloned().chain([label]).collect();
        distinct_issues(input, &branch.issues)
            .into_iter()
            .flat_map(|issue| issue_errors(input, issue, &labels))
            .collect::<Vec<_>>()
    };
    union.branches.iter().flat_map(errors).collect()
}

fn issue_errors<'a>(input: &RenderInput<'a>, issue: &'a Issue, labels: &[Label]) -> Vec<PydanticError<'a>> {
    let mut path = issue.segments(input.arguments);
    if let Some(union) = issue.union.as_deref() {
        return union_errors(input, union, labels);
    }
    let at = |path: &[PathSegment<'_>]| path.iter().try_fold(input.arguments, |value, segment| segment.resolve(value));
    let (mut unions, schema) = match input.action {
        Some(doc) => tagged_unions(&doc.schema, input.arguments, &path),
        None => (Vec::new(), None),
    };
    let at_location = || schema_of_issue(&input.action?.schema, issue, &path);
    let schema = if labels.is_empty() { schema.or_else(at_location) } else { at_location().or(schema) };
    // The arguments as a whole are one model.
    unions.retain(|union| union.depth > 0);
    if let Some(union) = unions.last().filter(|union| union.is_issue(&path)) {
        path.pop();
        let loc = format_loc(&path, &unions, labels);
        return vec![PydanticError { loc, ..tag_error(union, issue.sent.as_ref(), at(&path).unwrap_or(&Value::Null)) }];
    }
    match &issue.kind {
        IssueKind::Undeclared { fields } => {
            let object = at(&path).unwrap_or(&Value::Null);
            let one = |field: &'a String| {
                path.push(PathSegment::Name(field));
                let loc = format_loc(&path, &unions, labels);
                path.pop();
                let sent = object.get(field).unwrap_or(&Value::Null);
                let is_of_argument = path.is_empty() && labels.is_empty();
                PydanticError {
                    loc,
                    is_of_argument,
                    ..error("Extra inputs are not permitted", "extra_forbidden", sent)
                }
            };
            fields.iter().map(one).collect()
        }
        IssueKind::Missing { .. } => {
            let parent = at(&path[..path.len().saturating_sub(1)]).unwrap_or(input.arguments);
            vec![PydanticError {
                loc: format_loc(&path, &unions, labels),
                is_of_argument: path.len() == 1 && labels.is_empty(),
                ..error("Field required", "missing", parent)
            }]
        }
        kind => {
            let sent = issue.sent.as_ref().unwrap_or(&Value::Null);
            if let Some(kinds) = kinds_after_conversion(kind, schema, sent) {
                let loc = format_loc(&path, &unions, labels);
                let error = |kind| PydanticError { loc: loc.clone(), ..constraint_error(&kind, sent) };
                return kinds.into_iter().map(error).collect();
            }
            let is_union = unions.last().is_some_and(|union| union.depth == path.len());
            let error = match kind {
                _ if is_union && !sent.is_object() => {
                    let message = "Input should be a valid dictionary or object to extract fields from";
                    error(message, "model_attributes_type", sent)
                }
                IssueKind::WrongType { expected: Expected::Types(types) } => {
                    let types: Vec<&str> = types.iter().map(String::as_str).filter(|name| *name != "null").collect();
                    if types.len() > 1 {
                        let one = |name: &&str| {
                            let (python, error) = union_error(name, sent);
                            path.push(PathSegment::Name(python));
                            let loc = format_loc(&path, &unions, labels);
                            path.pop();
                            PydanticError { loc, ..error }
                        };
                        return types.iter().map(one).collect();
                    }
                    type_error(input, &path, schema, types.first().copied().unwrap_or("null"), sent)
                }
                IssueKind::NotAnOption { options } | IssueKind::WrongType { expected: Expected::Options(options) }
                    if is_enum_class(issue) =>
                {
                    error(options_message(options), "enum", sent)
                }
                IssueKind::OutOfBounds { measure: Quantity::Items, relation, limit } if is_tuple(schema) => {
                    let (items, limit) =
                        (sent.as_array().map_or(0, Vec::len), limit.as_u64().unwrap_or_default() as usize);
                    if matches!(relation, Bound::AtMost | Bound::LessThan) {
                        tuple_too_long(limit, items, sent)
                    } else {
                        let missing = |index: usize| {
                            path.push(PathSegment::Index(index));
                            let loc = format_loc(&path, &unions, labels);
                            path.pop();
                            PydanticError { loc, ..error("Field required", "missing", sent) }
                        };
                        return (items..limit).take(MAX_MISSING_ITEMS).map(missing).collect();
                    }
                }
                IssueKind::Other { keyword, .. } if keyword == "propertyNames" => {
                    let root = input.action.map_or(&Value::Null, |doc| &doc.schema);
                    let errors = key_errors(root, schema, sent, |name| {
                        path.extend([PathSegment::Name(name), PathSegment::Name("[key]")]);
                        let loc = format_loc(&path, &unions, labels);
                        path.truncate(path.len() - 2);
                        loc
                    });
                    match errors {
                        Some(errors) => return errors,
                        None => constraint_error(kind, sent),
                    }
                }
                other => constraint_error(other, sent),
            };
            vec![PydanticError { loc: format_loc(&path, &unions, labels), ..error }]
        }
    }
}

/// Returns true if the options are those of a definition, as of an enumeration class; those of a `Literal` stand inline.
fn is_enum_class(issue: &Issue) -> bool {
    let mut steps = issue.keyword_locations.last().into_iter().flat_map(|location| location.pointer.split('/').skip(1));
    matches!(steps.next(), Some("$defs" | "definitions")) && steps.count() == 2
}

/// Returns the errors for names that are none of the options; `None` if the names have no options.
fn key_errors<'a>(
    root: &Value,
    schema: Option<&Value>,
    sent: &'a Value,
    mut loc: impl FnMut(&'a str) -> Option<String>,
) -> Option<Vec<PydanticError<'a>>> {
    let described = schema?.get("propertyNames")?;
    let kind = if described.get("$ref").is_some() { "enum" } else { "literal_error" };
    let options = resolve_refs(root, described).get("enum")?.as_array()?;
    let names = sent.as_object()?.keys().filter(|name| !options.iter().any(|option| option == name.as_str()));
    let one = |name: &'a String| {
        let shown = PydanticError { input_text: Some(name), ..error(options_message(options), kind, sent) };
        PydanticError { loc: loc(name), ..shown }
    };
    Some(names.map(one).collect())
}

/// Creates the error for a tag that is missing or unknown. `object` should have had one.
fn tag_error<'a>(union: &TaggedUnion<'_>, sent: Option<&Value>, object: &'a Value) -> PydanticError<'a> {
    let tag = single_line(union.tag);
    match sent {
        None => error(format!("Unable to extract tag using discriminator '{tag}'"), "union_tag_not_found", object),
        Some(sent) => {
            let (text, options) = (tag_text(sent), union.options.iter().map(repr).collect::<Vec<_>>().join(", "));
            let (text, unmatched) = (excerpt_text(&text), "does not match any of the expected tags");
            let text = single_line(&text);
            error(format!("Input tag '{text}' found using '{tag}' {unmatched}: {options}"), "union_tag_invalid", object)
        }
    }
}

/// Returns Python's `str()` of a tag.
fn tag_text(tag: &Value) -> String {
    tag.as_str().map_or_else(|| repr(tag), str::to_owned)
}

fn error<'a>(message: impl Into<String>, kind: &'static str, input: &'a Value) -> PydanticError<'a> {
    PydanticError {
        loc: None,
        message: message.into(),
        kind,
        input,
        input_text: None,
        linked: true,
        is_of_argument: false,
    }
}

/// Formats a path with the tags and the branches of the unions on it. Returns `None` for the arguments as a whole.
fn format_loc(path: &[PathSegment<'_>], unions: &[TaggedUnion<'_>], labels: &[Label]) -> Option<String> {
    let mut out = String::new();
    let mut push = |text: &str| {
        let dot = if out.is_empty() { "" } else { "." };
        let quote = if text.contains('.') { "`" } else { "" };
        let _ = write!(out, "{dot}{quote}{text}{quote}");
    };
    for depth in 0..=path.len() {
        for tag in unions.iter().filter(|union| union.depth == depth).filter_map(|union| union.selected) {
            push(&tag_text(tag));
        }
        labels.iter().filter(|(at, _)| *at == depth).for_each(|(_, label)| push(label));
        match path.get(depth) {
            Some(PathSegment::Name(name)) => push(name),
            Some(PathSegment::Index(index)) => push(&index.to_string()),
            None => {}
        }
    }
    (!path.is_empty()).then_some(out)
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
fn union_error<'a>(name: &str, sent: &'a Value) -> (&'static str, PydanticError<'a>) {
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
