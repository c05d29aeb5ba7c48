//! The output of a server on the low-level API of the Python SDK 1: the best match among the errors of Python's
//! jsonschema, without its path. `tests/engine/today.rs` compares it with the answers of a server.
//!
//! The library reports in the order of a schema's keywords and chooses by rules of its own, so the schema is walked here
//! as it does. It checks no formats.

mod best_match;
mod keywords;

use serde_json::Value;

use self::best_match::best_match;
use self::keywords::{Walker, extras_text};
use super::RenderInput;
use super::excerpt::excerpt;
use super::pydantic::repr;
use crate::failure::{Failure, Issue, IssueKind, PathSegment, Routing};

/// An error as the library makes it.
struct MatchError<'a> {
    /// The way from the value that was checked. Errors of a union start at its value.
    path: Vec<PathSegment<'a>>,
    keyword: &'a str,
    message: String,
    /// True if the value has the type that the schema of the keyword asks for.
    has_type: bool,
    /// The errors under the branches of a union.
    context: Vec<MatchError<'a>>,
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
            let errors = schema.map(|schema| Walker::new(schema).errors(schema, input.arguments)).unwrap_or_default();
            best_match(errors).map(|error| error.message).or_else(|| unchecked(issues)).unwrap_or_default()
        }
    };
    format!("Input validation error: {message}")
}

/// Describes an issue that the library does not check unless it is asked to.
fn unchecked(issues: &[Issue]) -> Option<String> {
    let issue = issues.first()?;
    let sent = issue.sent.as_ref().unwrap_or(&Value::Null);
    Some(match &issue.kind {
        IssueKind::BadFormat { format } => format!("{} is not a {}", shown(sent), repr(&Value::from(format.as_str()))),
        IssueKind::Undeclared { fields } => {
            format!("Additional properties are not allowed ({} unexpected)", extras_text(fields.iter().cloned()))
        }
        IssueKind::Other { message, .. } => message.clone(),
        _ => format!("{} is not valid under any of the given schemas", shown(sent)),
    })
}

/// Formats a sent value as Python does, up to the length at which every format cuts one.
fn shown(value: &Value) -> String {
    repr(&excerpt(value))
}

fn required(name: &str) -> String {
    format!("{} is a required property", repr(&Value::from(name)))
}

fn not_one_of(sent: &Value, options: &Value) -> String {
    format!("{} is not one of {}", shown(sent), repr(options))
}
