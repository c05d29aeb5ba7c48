//! The issues of zod as the TypeScript SDKs of today write them: their messages and paths. Version 1.30 and later of
//! `@modelcontextprotocol/sdk` write a line for each issue, and `@modelcontextprotocol/server` one line for all.
//! `tests/engine/today.rs` compares them with the answers of servers.

use std::fmt::Write;

use serde_json::Value;

use super::RenderInput;
use super::zod_json::{Answer, answer};
use crate::failure::{Failure, Routing};

/// Writes the text of a server on `@modelcontextprotocol/sdk`.
pub(super) fn render(input: &RenderInput<'_>) -> String {
    match answer(input) {
        Answer::Message(message) => message,
        Answer::Issues { tool, issues } => lines(tool, &issues),
    }
}

/// Writes the text of a server on `@modelcontextprotocol/server`. That there is no such tool is a protocol error there.
pub(super) fn render_inline(input: &RenderInput<'_>) -> String {
    match answer(input) {
        Answer::Message(message) => match input.failure {
            Failure::Routing(Routing::UnknownTool { tool, .. }) => format!("Tool {tool} not found"),
            _ => message,
        },
        Answer::Issues { tool, issues } => inline(tool, &issues),
    }
}

/// Writes `message at path[0].name`, a line for each issue.
pub(super) fn lines(tool: &str, issues: &[Value]) -> String {
    let line = |issue: &Value| {
        let mut place = String::new();
        for step in steps(issue) {
            match step.as_str() {
                Some(name) if place.is_empty() => place.push_str(name),
                Some(name) => _ = write!(place, ".{name}"),
                None if place.is_empty() => _ = write!(place, "{step}"),
                None => _ = write!(place, "[{step}]"),
            }
        }
        let message = message(issue);
        if place.is_empty() { message.to_owned() } else { format!("{message} at {place}") }
    };
    let lines = issues.iter().map(line).collect::<Vec<_>>().join("\n");
    format!("MCP error -32602: Input validation error: Invalid arguments for tool {tool}: {lines}")
}

/// Writes `path.0.name: message`, separated by commas.
pub(super) fn inline(tool: &str, issues: &[Value]) -> String {
    let part = |issue: &Value| {
        let steps: Vec<String> =
            steps(issue).iter().map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned)).collect();
        let message = message(issue);
        if steps.is_empty() { message.to_owned() } else { format!("{}: {message}", steps.join(".")) }
    };
    let parts = issues.iter().map(part).collect::<Vec<_>>().join(", ");
    format!("Input validation error: Invalid arguments for tool {tool}: {parts}")
}

fn steps(issue: &Value) -> &[Value] {
    issue.get("path").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn message(issue: &Value) -> &str {
    issue.get("message").and_then(Value::as_str).unwrap_or_default()
}
