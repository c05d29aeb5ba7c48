//! The output of a server built on the Python SDK of MCP: the list of pydantic's errors for the model of the tool's
//! arguments, or the message of an exception raised by a handler. `tests/engine/servers.rs` compares it with a real
//! server's answers.

mod bounds;
mod conversion;
mod parse;
mod repr;
mod type_names;
mod value_errors;

use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value;

use self::bounds::{MAX_MISSING_ITEMS, tuple_too_long};
use self::conversion::kinds_after_conversion;
pub(super) use self::repr::{repr, truncated_repr, type_name};
use self::type_names::{MAX_TYPE_DEPTH, type_text};
use self::value_errors::{constraint_error, options_message, type_error, union_error};
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
        Failure::Tool(failure) | Failure::Fault(failure) if failure.is_error() => failure.message.clone(),
        // A warning is returned like any other result.
        Failure::Tool(failure) | Failure::Fault(failure) => return failure.message.clone(),
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
    let place = Place { path: &path, unions: &unions, labels };
    match &issue.kind {
        IssueKind::Undeclared { fields } => {
            let object = at(&path).unwrap_or(&Value::Null);
            let one = |field: &'a String| PydanticError {
                loc: place.loc_below(&[PathSegment::Name(field)]),
                is_of_argument: path.is_empty() && labels.is_empty(),
                ..error("Extra inputs are not permitted", "extra_forbidden", object.get(field).unwrap_or(&Value::Null))
            };
            fields.iter().map(one).collect()
        }
        IssueKind::Missing { .. } => {
            let parent = at(&path[..path.len().saturating_sub(1)]).unwrap_or(input.arguments);
            vec![PydanticError {
                loc: place.loc(),
                is_of_argument: path.len() == 1 && labels.is_empty(),
                ..error("Field required", "missing", parent)
            }]
        }
        _ => errors_of_value(input, issue, schema, place),
    }
}

/// The place of a value in the arguments, with the unions and branches on the way to it.
#[derive(Clone, Copy)]
struct Place<'p> {
    path: &'p [PathSegment<'p>],
    unions: &'p [TaggedUnion<'p>],
    labels: &'p [Label],
}

impl Place<'_> {
    fn loc(self) -> Option<String> {
        format_loc(self.path, self.unions, self.labels)
    }

    /// Returns the location of what lies within the value.
    fn loc_below(self, segments: &[PathSegment<'_>]) -> Option<String> {
        format_loc(&[self.path, segments].concat(), self.unions, self.labels)
    }
}

/// Returns the errors of a value that was sent, and is not as its schema says.
fn errors_of_value<'a>(
    input: &RenderInput<'a>,
    issue: &'a Issue,
    schema: Option<&Value>,
    place: Place<'_>,
) -> Vec<PydanticError<'a>> {
    let (kind, sent) = (&issue.kind, issue.sent.as_ref().unwrap_or(&Value::Null));
    if let Some(kinds) = kinds_after_conversion(kind, schema, sent) {
        let error = |kind| PydanticError { loc: place.loc(), ..constraint_error(&kind, sent) };
        return kinds.into_iter().map(error).collect();
    }
    let is_union = place.unions.last().is_some_and(|union| union.depth == place.path.len());
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
                    PydanticError { loc: place.loc_below(&[PathSegment::Name(python)]), ..error }
                };
                return types.iter().map(one).collect();
            }
            type_error(input, place.path, schema, types.first().copied().unwrap_or("null"), sent)
        }
        IssueKind::NotAnOption { options } | IssueKind::WrongType { expected: Expected::Options(options) }
            if is_enum_class(issue) =>
        {
            error(options_message(options), "enum", sent)
        }
        IssueKind::OutOfBounds { measure: Quantity::Items, relation, limit } if is_tuple(schema) => {
            let (items, limit) = (sent.as_array().map_or(0, Vec::len), limit.as_u64().unwrap_or_default() as usize);
            if !matches!(relation, Bound::AtMost | Bound::LessThan) {
                let missing = |index| PydanticError {
                    loc: place.loc_below(&[PathSegment::Index(index)]),
                    ..error("Field required", "missing", sent)
                };
                return (items..limit).take(MAX_MISSING_ITEMS).map(missing).collect();
            }
            tuple_too_long(limit, items, sent)
        }
        IssueKind::Other { keyword, .. } if keyword == "propertyNames" => {
            let root = input.action.map_or(&Value::Null, |doc| &doc.schema);
            let loc = |name: &str| place.loc_below(&[PathSegment::Name(name), PathSegment::Name("[key]")]);
            match key_errors(root, schema, sent, loc) {
                Some(errors) => return errors,
                None => constraint_error(kind, sent),
            }
        }
        other => constraint_error(other, sent),
    };
    vec![PydanticError { loc: place.loc(), ..error }]
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
