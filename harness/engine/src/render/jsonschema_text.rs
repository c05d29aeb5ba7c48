//! The output of a server on the low-level API of the Python SDK 1: the best match among the errors of Python's
//! jsonschema, without its path. `tests/engine/today.rs` compares it with the answers of a server.
//!
//! The library reports in the order of a schema's keywords and chooses by rules of its own, so the schema is walked here
//! as it does. It checks no formats.

mod best_match;
mod keywords;

use std::borrow::Cow;

use serde_json::Value;

use self::best_match::best_match;
use self::keywords::{Walker, extras_text};
use super::excerpt::excerpt;
use super::pydantic::repr;
use super::{RenderInput, single_line};
use crate::failure::{Bound, Expected, Failure, Issue, IssueKind, Quantity, Routing};

/// An error as the library makes it.
struct MatchError {
    /// The way from the value that was checked. Errors of a union start at its value.
    path: Vec<Step>,
    /// True for `anyOf` and `oneOf`.
    is_of_union: bool,
    message: String,
    /// True if the value has the type that the schema of the keyword asks for.
    has_type: bool,
    /// The errors under the branches of a union.
    context: Vec<MatchError>,
}

/// A step into a value. Indices and names do not stand side by side.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Index(usize),
    Name(String),
}

pub(super) fn render(input: &RenderInput<'_>) -> String {
    let message = match input.failure {
        Failure::Tool(failure) | Failure::Fault(failure) => return failure.message.clone(),
        Failure::Routing(Routing::UnknownTool { tool, .. }) => return format!("Unknown tool: {tool}"),
        Failure::Routing(
            Routing::MissingDiscriminator { available, .. } | Routing::UnknownAction { available, .. },
        ) => {
            let field = input.discriminator.unwrap_or("action");
            match input.arguments.get(field) {
                None => required(field),
                Some(sent) => not_one_of(sent, &Value::from(available.clone())),
            }
        }
        Failure::Validation { issues, .. } => {
            let schema = input.action.map(|doc| &doc.schema);
            // The schema does not declare the discriminator.
            let mut sent = Cow::Borrowed(input.arguments);
            if let Some(field) = input.discriminator.filter(|field| sent.get(field).is_some())
                && let Value::Object(object) = sent.to_mut()
            {
                object.shift_remove(field);
            }
            let errors = schema.map(|schema| Walker::new(schema).errors(schema, &sent)).unwrap_or_default();
            best_match(errors).map(|error| error.message).or_else(|| issues.first().map(unchecked)).unwrap_or_default()
        }
    };
    format!("Input validation error: {message}")
}

/// Describes an issue that was not found again: the library checks no formats unless it is asked to, and the walk through a
/// schema is bounded.
fn unchecked(issue: &Issue) -> String {
    let sent = shown(issue.sent.as_ref().unwrap_or(&Value::Null));
    let keyword = issue.keyword_locations.last().and_then(|location| location.pointer.rsplit('/').next());
    match &issue.kind {
        IssueKind::BadFormat { format } => format!("{sent} is not a {}", repr(&Value::from(format.as_str()))),
        IssueKind::Undeclared { fields } => {
            let what = if keyword == Some("unevaluatedProperties") { "Unevaluated" } else { "Additional" };
            format!("{what} properties are not allowed ({} unexpected)", extras_text(fields.iter().cloned()))
        }
        IssueKind::Missing { .. } => required(issue.path.rsplit('.').next().unwrap_or_default()),
        IssueKind::WrongType { expected: Expected::Types(types) } => {
            not_of_type(&sent, types.iter().map(String::as_str))
        }
        IssueKind::NotAnOption { options } | IssueKind::WrongType { expected: Expected::Options(options) } => {
            format!("{sent} is not one of {}", repr(&Value::from(options.clone())))
        }
        IssueKind::OutOfBounds { measure: Quantity::Number, relation, limit } => {
            format!("{sent} is {} {}", beyond(*relation), repr(limit))
        }
        IssueKind::NotAMultiple { of } => format!("{sent} is not a multiple of {}", repr(of)),
        IssueKind::NotUnique => format!("{sent} has non-unique elements"),
        IssueKind::Other { message, .. } => single_line(message).into_owned(),
        _ => format!("{sent} is not valid under any of the given schemas"),
    }
}

/// Formats a sent value as Python does, up to the length at which every format cuts one.
fn shown(value: &Value) -> String {
    repr(&excerpt(value))
}

fn not_of_type<'n>(shown: &str, names: impl Iterator<Item = &'n str>) -> String {
    let types: Vec<String> = names.map(|name| repr(&Value::from(name))).collect();
    format!("{shown} is not of type {}", types.join(", "))
}

/// Returns how a number relates to a limit that it does not keep.
fn beyond(relation: Bound) -> &'static str {
    match relation {
        Bound::AtLeast => "less than the minimum of",
        Bound::AtMost => "greater than the maximum of",
        Bound::MoreThan => "less than or equal to the minimum of",
        Bound::LessThan => "greater than or equal to the maximum of",
    }
}

fn required(name: &str) -> String {
    format!("{} is a required property", repr(&Value::from(name)))
}

fn not_one_of(sent: &Value, options: &Value) -> String {
    format!("{} is not one of {}", shown(sent), repr(options))
}
