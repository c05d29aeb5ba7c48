//! The answer of a server that follows MCP's proposal SEP-3313 (a draft of August 2026): the text of a server on today's
//! TypeScript SDK, and the classification that the proposal puts into `_meta`, as a client shows it that passes it on to
//! its model.
//!
//! `correlationId` and `retryNotBefore` are left out: they are about the server's log and clock.

use serde_json::{Map, Value, json};

use super::wording::{correction, undeclared_correction};
use super::{RenderInput, reported_issues, zod_lines};
use crate::definition::{Code, ToolFailure};
use crate::failure::{Failure, Issue, IssueKind, Routing};

pub(super) fn render(input: &RenderInput<'_>) -> String {
    format!("{}\n{}", zod_lines::render(input), Value::Object(classification(input.failure)))
}

fn classification(failure: &Failure) -> Map<String, Value> {
    let (class, code, guidance) = match failure {
        Failure::Validation { issues, .. } => ("capability", "invalid_input".into(), corrections(issues)),
        Failure::Routing(Routing::UnknownTool { available, .. }) => {
            ("capability", "capability_unsupported".into(), choices(available))
        }
        Failure::Routing(
            Routing::MissingDiscriminator { available, .. } | Routing::UnknownAction { available, .. },
        ) => ("capability", "invalid_input".into(), choices(available)),
        Failure::Tool(failure) | Failure::Fault(failure) => {
            let (class, code) = class_and_code(failure);
            (class, code, guidance(failure))
        }
    };
    let mut members = Map::new();
    members.insert("class".to_owned(), json!(class));
    members.insert("code".to_owned(), json!(code));
    if class == "reliability" {
        members.insert("retryable".to_owned(), json!(true));
    }
    if !guidance.is_empty() {
        members.insert("agentGuidance".to_owned(), json!(guidance));
    }
    members
}

/// Returns the class of a domain error and its code: one that the proposal recommends, or the domain's own.
fn class_and_code(failure: &ToolFailure) -> (&'static str, String) {
    let own = failure.code.as_deref().unwrap_or("error").to_lowercase();
    let (class, code) = match failure.code.as_deref().and_then(Code::from_name) {
        Some(Code::NotFound) => ("capability", "resource_not_found"),
        Some(Code::ValidationError) => ("capability", "invalid_input"),
        Some(Code::Deprecated) => ("capability", "capability_unsupported"),
        Some(Code::Unauthorized) => ("governance", "auth_required"),
        Some(Code::Forbidden) => ("governance", "permission_denied"),
        Some(Code::RateLimited | Code::Timeout | Code::ServerBusy) => ("reliability", "retryable_transient_error"),
        Some(Code::InternalError) if failure.recovery_is_generated => ("reliability", "retryable_transient_error"),
        None if failure.retry_after.is_some() => ("reliability", own.as_str()),
        Some(Code::Conflict | Code::InternalError) | None => ("capability", own.as_str()),
    };
    (class, code.to_owned())
}

fn guidance(failure: &ToolFailure) -> String {
    let mut parts: Vec<String> = failure.recovery.clone().into_iter().collect();
    if !failure.available_actions.is_empty() {
        parts.push(format!("Available actions: {}.", failure.available_actions.join(", ")));
    }
    parts.extend(failure.retry_after.map(|seconds| format!("Retry after {seconds} seconds.")));
    parts.join(" ")
}

fn choices(available: &[String]) -> String {
    format!("Choose one of: {}.", available.join(", "))
}

fn corrections(issues: &[Issue]) -> String {
    let one = |issue: &Issue| {
        let text = match &issue.kind {
            IssueKind::Undeclared { fields } => undeclared_correction(fields),
            _ => correction(issue),
        };
        let is_shown = !text.is_empty();
        is_shown.then(|| if issue.path.is_empty() { text } else { format!("{}: {text}", issue.path) })
    };
    reported_issues(issues).filter_map(one).collect::<Vec<_>>().join(" ")
}
