//! The text format of Fusion's document on cognitive guardrails. One fact per line; a value never starts a line.

use super::wording::{FIX_AND_RETRY, correction, problem, sent_text, undeclared_correction};
use super::{RenderInput, single_line};
use crate::definition::ToolFailure;
use crate::failure::{Failure, Issue, IssueKind, Routing, join_path};
use healbench_core::detail_texts;

pub(super) fn render(input: &RenderInput<'_>) -> String {
    match input.failure {
        Failure::Routing(routing) => routing_text(routing),
        Failure::Validation { tool, action, issues } => validation_text(tool, action, issues, input),
        Failure::Tool(failure) | Failure::Fault(failure) => tool_text(failure),
    }
}

fn validation_text(tool: &str, action: &str, issues: &[Issue], input: &RenderInput<'_>) -> String {
    let name = format!("{tool}.{action}").to_uppercase();
    let mut out = format!("⚠️ VALIDATION FAILED — ACTION '{}'\n", single_line(&name));
    for issue in issues {
        match &issue.kind {
            IssueKind::Undeclared { fields } => {
                for field in fields {
                    let path = join_path(&issue.path, field);
                    let problem_text = format!("Unrecognized keys. You sent: '{field}'.");
                    push_bullet(&mut out, &path, &problem_text, &undeclared_correction(std::slice::from_ref(field)));
                }
            }
            _ => {
                let path = if issue.path.is_empty() { "(root)" } else { &issue.path };
                let problem_text = format!("{}. You sent: {}.", problem(issue), sent_text(issue, input));
                push_bullet(&mut out, path, &problem_text, &correction(issue));
            }
        }
    }
    out.push_str("💡 ");
    out.push_str(FIX_AND_RETRY);
    out
}

fn push_bullet(out: &mut String, path: &str, problem_text: &str, correction: &str) {
    out.push_str("  • ");
    out.push_str(&single_line(path));
    out.push_str(" — ");
    out.push_str(&single_line(problem_text));
    if !correction.is_empty() {
        out.push(' ');
        out.push_str(&single_line(correction));
    }
    out.push('\n');
}

fn routing_text(routing: &Routing) -> String {
    let (code, message, suggestion, names) = match routing {
        Routing::MissingDiscriminator { field, available } => (
            "MISSING_DISCRIMINATOR",
            format!("The required field \"{field}\" is missing."),
            format!("Add the \"{field}\" field and call the tool again."),
            available,
        ),
        Routing::UnknownAction { action, available } => (
            "UNKNOWN_ACTION",
            format!("The action \"{action}\" does not exist."),
            "Choose a valid action and call the tool again.".to_owned(),
            available,
        ),
        Routing::UnknownTool { tool, available } => (
            "UNKNOWN_TOOL",
            format!("The tool \"{tool}\" does not exist."),
            "Choose a valid tool and call it.".to_owned(),
            available,
        ),
    };
    let mut out = header_line(code, &message);
    push_line(&mut out, "💡 Suggestion: ", &suggestion);
    push_line(&mut out, "📋 Try: ", &names.join(", "));
    out
}

fn tool_text(failure: &ToolFailure) -> String {
    let mut out = header_line(failure.code.as_deref().unwrap_or("ERROR"), &failure.message);
    if let Some(recovery) = &failure.recovery {
        push_line(&mut out, "💡 Suggestion: ", recovery);
    }
    if !failure.available_actions.is_empty() {
        push_line(&mut out, "📋 Try: ", &failure.available_actions.join(", "));
    }
    for (key, value) in detail_texts(&failure.details) {
        push_line(&mut out, "🔎 ", &format!("{key}: {value}"));
    }
    if let Some(seconds) = failure.retry_after {
        push_line(&mut out, "⏳ Retry after: ", &format!("{seconds} seconds"));
    }
    out
}

fn header_line(code: &str, message: &str) -> String {
    format!("[{}] {}", single_line(code), single_line(message))
}

fn push_line(out: &mut String, label: &str, text: &str) {
    out.push('\n');
    out.push_str(label);
    out.push_str(&single_line(text));
}
