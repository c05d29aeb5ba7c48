//! The summary of a failure, and the facts of a failure other than a validation failure.

use std::fmt::Write as _;

use serde_json::Value;

use crate::definition::{Severity, ToolFailure};
use crate::failure::Routing;
use crate::render::RenderInput;

/// A failure that is not about the values of arguments.
#[derive(Debug)]
pub(crate) struct OtherFailure<'a> {
    pub(crate) kind: OtherFailureKind,
    pub(crate) code: Option<&'a str>,
    pub(crate) severity: Option<Severity>,
    /// The problem, with the name of the tool.
    pub(crate) summary: String,
    /// The actions to choose from, or the tools if `kind` is [`OtherFailureKind::UnknownTool`].
    pub(crate) available: &'a [String],
    pub(crate) recovery: Option<String>,
    pub(crate) details: &'a [(String, Value)],
    pub(crate) retry_after: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherFailureKind {
    UnknownTool,
    Routing,
    Tool,
}

/// Formats `Tool 'billing' (action 'create') received invalid arguments. 3 validation error(s) found.`
pub(crate) fn summary(input: &RenderInput<'_>, count: usize) -> String {
    format!("{} received invalid arguments. {count} validation error(s) found.", tool_label(input))
}

/// Formats the called tool, and its action if the tool has a discriminator.
fn tool_label(input: &RenderInput<'_>) -> String {
    let mut out = format!("Tool '{}'", input.tool.unwrap_or_default());
    if let Some(action) = input.action.filter(|action| action.discriminator.is_some()) {
        let _ = write!(out, " (action '{}')", action.action);
    }
    out
}

/// Returns the facts of a routing failure.
fn from_routing<'a>(input: &RenderInput<'_>, routing: &'a Routing) -> OtherFailure<'a> {
    let (kind, code, summary, available, recovery) = match routing {
        Routing::MissingDiscriminator { field, available } => (
            OtherFailureKind::Routing,
            "MISSING_DISCRIMINATOR",
            format!("{} needs the field '{field}', which is missing.", tool_label(input)),
            available,
            format!("Add the field '{field}' with one of the available actions and call the tool again"),
        ),
        Routing::UnknownAction { action, available } => (
            OtherFailureKind::Routing,
            "UNKNOWN_ACTION",
            format!("{} has no action '{action}'.", tool_label(input)),
            available,
            "Choose one of the available actions and call the tool again".to_owned(),
        ),
        Routing::UnknownTool { tool, available } => (
            OtherFailureKind::UnknownTool,
            "UNKNOWN_TOOL",
            format!("Tool '{tool}' does not exist."),
            available,
            "Choose one of the available tools and call it".to_owned(),
        ),
    };
    OtherFailure {
        kind,
        code: Some(code),
        severity: None,
        summary,
        available,
        recovery: Some(recovery),
        details: &[],
        retry_after: None,
    }
}

/// Returns the facts of a failure of a handler, a rule or a fault.
fn from_tool<'a>(input: &RenderInput<'_>, failure: &'a ToolFailure) -> OtherFailure<'a> {
    let verb = if failure.is_error() { "failed" } else { "gave a warning" };
    OtherFailure {
        kind: OtherFailureKind::Tool,
        code: failure.code.as_deref(),
        severity: failure.severity,
        summary: format!("{} {verb}: {}", tool_label(input), failure.message),
        available: &failure.available_actions,
        recovery: failure.recovery.clone(),
        details: &failure.details,
        retry_after: failure.retry_after,
    }
}

/// Returns the facts of a failure other than a validation failure; `None` for a validation failure.
pub(crate) fn other_failure<'a>(input: &RenderInput<'a>) -> Option<OtherFailure<'a>> {
    use crate::failure::Failure;
    match input.failure {
        Failure::Routing(failure) => Some(from_routing(input, failure)),
        Failure::Tool(failure) | Failure::Fault(failure) => Some(from_tool(input, failure)),
        Failure::Validation { .. } => None,
    }
}
