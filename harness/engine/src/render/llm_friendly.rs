//! The Markdown format of document 002: issues with their fixes, the tool's schema, suggestions, and a valid example.

use healbench_core::detail_texts;
use std::fmt::Write as _;

use super::friendly::{
    CUT, FieldHelp, OtherFailure, OtherFailureKind, ToolHelp, explain, issue_items, json, other_failure, suggestions,
    summary,
};
use super::{ActionDoc, RenderInput, RenderedDoc, single_line};
use crate::definition::Severity;
use crate::failure::{Failure, Issue};

pub(super) fn render_doc(doc: &ActionDoc) -> RenderedDoc {
    let (help, schema) = explain(doc, |help| schema_section(&doc.description, help));
    RenderedDoc { schema, example: example_section(&help), options: help.options }
}

pub(super) fn render(input: &RenderInput<'_>) -> String {
    match (input.failure, other_failure(input)) {
        (Failure::Validation { issues, .. }, _) => validation_text(input, issues),
        (_, Some(failure)) => other_failure_text(&failure),
        // Unreachable: every failure is one of the two.
        (_, None) => super::bare_line(input.failure),
    }
}

fn validation_text(input: &RenderInput<'_>, issues: &[Issue]) -> String {
    let items = issue_items(input, issues);
    let empty = RenderedDoc::default();
    let rendered = input.action.map_or(&empty, |action| &action.rendered);
    let mut out = String::with_capacity(1024 + rendered.schema.len() + rendered.example.len() + input.reserve);
    out.push_str("❌ ");
    out.push_str(&single_line(&summary(input, items.len())));
    out.push_str("\n\n## Issues Found:");
    for (index, item) in items.iter().enumerate() {
        let _ = write!(out, "\n\n{}. **{}**: {}", index + 1, single_line(&item.field), single_line(&item.problem));
        if let Some(received) = &item.received {
            out.push_str("\n   - Received: ");
            json::push_inline(&mut out, received);
        }
        let _ = write!(out, "\n   - Expected: {}\n   - Fix: {}", single_line(&item.expected), single_line(&item.fix));
    }
    push_section(&mut out, &rendered.schema);
    let suggestions = suggestions(issues, rendered.options, !rendered.example.is_empty());
    push_numbered(&mut out, "## Suggestions:", suggestions.iter().map(AsRef::as_ref));
    push_section(&mut out, &rendered.example);
    out
}

fn push_section(out: &mut String, text: &str) {
    if !text.is_empty() {
        out.push_str("\n\n");
        out.push_str(text);
    }
}

fn push_numbered<'l>(out: &mut String, head: &str, lines: impl Iterator<Item = &'l str>) {
    let mut count = 0;
    for line in lines {
        if count == 0 {
            push_section(out, head);
            out.push('\n');
        }
        count += 1;
        let _ = write!(out, "\n{count}. {}", single_line(line));
    }
}

fn bullet_list(head: &str, lines: impl Iterator<Item = String>) -> String {
    lines.fold(format!("{head}\n"), |out, line| out + "\n- " + &single_line(&line))
}

fn schema_section(description: &str, help: &ToolHelp) -> String {
    let mut out = String::from("## Tool Schema:");
    if !description.is_empty() {
        push_section(&mut out, &format!("**Description**: {}", single_line(description)));
    }
    if !help.required.is_empty() {
        push_section(&mut out, &format!("**Required fields**: {}", single_line(&help.required.join(", "))));
    }
    if help.fields.is_empty() {
        push_section(&mut out, "**Properties**: none");
    } else {
        push_section(&mut out, "**Properties**:");
        push_fields(&mut out, &help.fields, "", 0);
    }
    if help.is_cut {
        push_section(&mut out, CUT);
    }
    out
}

/// Appends the fields and nested fields with their paths: `env.region`, `lines[].qty`.
fn push_fields(out: &mut String, fields: &[FieldHelp], above: &str, indent: usize) {
    for field in fields {
        let path = format!("{above}{}", field.name);
        let _ = write!(out, "\n{:indent$}- **{}** ({})", "", single_line(&path), single_line(&field.kind));
        if let Some(description) = &field.description {
            let _ = write!(out, ": {}", single_line(description));
        }
        let mut constraints = field.constraints.clone();
        if !field.required.is_empty() {
            constraints.push(format!("Required fields: {}", field.required.join(", ")));
        }
        if !constraints.is_empty() {
            let _ = write!(out, "\n{:indent$}  Constraints: {}", "", single_line(&constraints.join(", ")));
        }
        if !field.examples.is_empty() {
            let _ = write!(out, "\n{:indent$}  Examples: {}", "", examples(field));
        }
        push_fields(out, &field.fields, &format!("{path}{}.", if field.list { "[]" } else { "" }), indent + 2);
    }
}

/// Joins the examples. Lists are enclosed in another pair of brackets, as in document 002.
fn examples(field: &FieldHelp) -> String {
    let joined = field.examples.iter().map(json::inline).collect::<Vec<_>>().join(", ");
    if field.examples.iter().any(serde_json::Value::is_array) { format!("[{joined}]") } else { joined }
}

fn example_section(help: &ToolHelp) -> String {
    let Some(example) = &help.example else { return String::new() };
    let mut text = String::new();
    json::push_pretty(&mut text, example, 0);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("## Valid Example:\n\n{fence}json\n{text}\n{fence}")
}

fn other_failure_text(failure: &OtherFailure<'_>) -> String {
    let icon = if failure.severity == Some(Severity::Warning) { "⚠️" } else { "❌" };
    let code = failure.code.map(|code| format!("[{code}] ")).unwrap_or_default();
    let mut out = format!("{icon} {}", single_line(&format!("{code}{}", failure.summary)));
    if failure.severity == Some(Severity::Critical) {
        out.push_str("\n\n**Severity**: critical");
    }
    if !failure.details.is_empty() {
        let details = detail_texts(failure.details).map(|(key, value)| format!("**{key}**: {value}"));
        push_section(&mut out, &bullet_list("## Details:", details));
    }
    if !failure.available.is_empty() {
        let head =
            if failure.kind == OtherFailureKind::UnknownTool { "## Available Tools:" } else { "## Available Actions:" };
        push_section(&mut out, &bullet_list(head, failure.available.iter().cloned()));
    }
    let wait = failure.retry_after.map(|seconds| format!("Retry after {seconds} seconds"));
    let suggestions = failure.recovery.iter().chain(&wait).map(String::as_str);
    push_numbered(&mut out, "## Suggestions:", suggestions);
    out
}
