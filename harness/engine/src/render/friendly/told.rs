//! The facts of a failure as a whole: its summary, and what a failure other than a validation says.

use std::fmt::Write as _;

use crate::definition::{Severity, ToolFailure};
use crate::failure::Routing;
use crate::render::Told;

/// A failure that is not about the arguments' values.
#[derive(Debug)]
pub(crate) struct Plain<'a> {
    pub(crate) kind: Kind,
    pub(crate) code: Option<&'a str>,
    pub(crate) severity: Option<Severity>,
    /// What went wrong, with the name of the tool.
    pub(crate) summary: String,
    /// Actions to choose from, or tools when `kind` is [`Kind::UnknownTool`].
    pub(crate) available: &'a [String],
    pub(crate) recovery: Option<String>,
    pub(crate) details: &'a [(String, String)],
    pub(crate) retry_after: Option<u32>,
}

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    UnknownTool,
    Routing,
    Tool,
}

/// `Tool 'billing' (action 'create') received invalid arguments. 3 validation error(s) found.`
pub(crate) fn summary(told: &Told<'_>, count: usize) -> String {
    format!("{} received invalid arguments. {count} validation error(s) found.", called(told))
}

/// The tool that was called, and its action where it has several.
fn called(told: &Told<'_>) -> String {
    let mut out = format!("Tool '{}'", told.tool.unwrap_or_default());
    if let Some(action) = told.action.filter(|action| action.discriminator.is_some()) {
        let _ = write!(out, " (action '{}')", action.action);
    }
    out
}

/// The facts of a failed routing.
fn routing<'a>(told: &Told<'_>, routing: &'a Routing) -> Plain<'a> {
    let (kind, code, summary, available, recovery) = match routing {
        Routing::MissingDiscriminator { field, available } => (
            Kind::Routing,
            "MISSING_DISCRIMINATOR",
            format!("{} needs the field '{field}', which is missing.", called(told)),
            available,
            format!("Add the field '{field}' with one of the available actions and call the tool again"),
        ),
        Routing::UnknownAction { action, available } => (
            Kind::Routing,
            "UNKNOWN_ACTION",
            format!("{} has no action '{action}'.", called(told)),
            available,
            "Choose one of the available actions and call the tool again".to_owned(),
        ),
        Routing::UnknownTool { tool, available } => (
            Kind::UnknownTool,
            "UNKNOWN_TOOL",
            format!("Tool '{tool}' does not exist."),
            available,
            "Choose one of the available tools and call it".to_owned(),
        ),
    };
    Plain {
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

/// The facts of a handler's, a rule's or a fault's failure.
fn tool<'a>(told: &Told<'_>, failure: &'a ToolFailure) -> Plain<'a> {
    let verb = if failure.is_error() { "failed" } else { "gave a warning" };
    Plain {
        kind: Kind::Tool,
        code: failure.code.as_deref(),
        severity: failure.severity,
        summary: format!("{} {verb}: {}", called(told), failure.message),
        available: &failure.available_actions,
        recovery: failure.recovery.clone(),
        details: &failure.details,
        retry_after: failure.retry_after,
    }
}

/// The facts of a failure that is no validation.
pub(crate) fn plain<'a>(told: &Told<'a>) -> Option<Plain<'a>> {
    use crate::failure::Failure;
    match told.failure {
        Failure::Routing(failure) => Some(routing(told, failure)),
        Failure::Tool(failure) | Failure::Fault(failure) => Some(tool(told, failure)),
        Failure::Validation { .. } => None,
    }
}
