//! `<tool_error>` and `<validation_error>`, following Fusion's document on error handling.

use healbench_core::detail_texts;
use std::fmt;

use super::escape::{XmlText, push_xml_attribute};
use super::wording::{FIX_AND_RETRY, TextSink, has_correction, write_correction, write_problem, write_sent};
use super::{RenderInput, xml_attribute, xml_text};
use crate::definition::ToolFailure;
use crate::failure::{Failure, Issue, IssueKind, Routing};

pub(super) fn render(input: &RenderInput<'_>) -> String {
    match input.failure {
        Failure::Routing(routing) => routing_error(routing),
        Failure::Validation { tool, action, issues } => validation_error(tool, action, issues, input),
        Failure::Tool(failure) | Failure::Fault(failure) => tool_error(failure),
    }
}

fn validation_error(tool: &str, action: &str, issues: &[Issue], input: &RenderInput<'_>) -> String {
    let mut out = String::with_capacity(BYTES_PER_FIELD * (issues.len() + 1) + input.reserve);
    out.push_str("<validation_error action=\"");
    push_xml_attribute(&mut out, tool);
    out.push('/');
    push_xml_attribute(&mut out, action);
    out.push_str("\">\n");
    for issue in issues {
        out.push_str("  <field name=\"");
        push_xml_attribute(&mut out, if issue.path.is_empty() { "(root)" } else { &issue.path });
        out.push_str("\">");
        // Writing to a String cannot fail.
        let _ = write_sentence(&mut XmlText(&mut out), issue, input);
        out.push_str("</field>\n");
    }
    out.push_str("  <recovery>");
    out.push_str(FIX_AND_RETRY);
    out.push_str("</recovery>\n</validation_error>");
    out
}

/// The estimated size of one field's line in bytes.
const BYTES_PER_FIELD: usize = 224;

fn write_sentence(out: &mut impl TextSink, issue: &Issue, input: &RenderInput<'_>) -> fmt::Result {
    write_problem(out, issue)?;
    out.write_literal(".")?;
    // The message already names undeclared fields, and their values are not the problem.
    if !matches!(issue.kind, IssueKind::Undeclared { .. }) {
        out.write_literal(" You sent: ")?;
        write_sent(out, issue, input)?;
        out.write_literal(".")?;
    }
    if has_correction(issue) {
        out.write_literal(" ")?;
        write_correction(out, issue)?;
    }
    Ok(())
}

fn routing_error(routing: &Routing) -> String {
    let (code, message, list, names, recovery) = match routing {
        Routing::MissingDiscriminator { field, available } => (
            "MISSING_DISCRIMINATOR",
            format!("The required field \"{field}\" is missing."),
            "available_actions",
            available,
            format!("Add the \"{field}\" field and call the tool again."),
        ),
        Routing::UnknownAction { action, available } => (
            "UNKNOWN_ACTION",
            format!("The action \"{action}\" does not exist."),
            "available_actions",
            available,
            "Choose a valid action from available_actions and call the tool again.".to_owned(),
        ),
        Routing::UnknownTool { tool, available } => (
            "UNKNOWN_TOOL",
            format!("The tool \"{tool}\" does not exist."),
            "available_tools",
            available,
            "Choose a valid tool from available_tools and call it.".to_owned(),
        ),
    };
    format!(
        "<tool_error code=\"{code}\">\n  <message>{}</message>\n  <{list}>{}</{list}>\n  <recovery>{}</recovery>\n</tool_error>",
        xml_text(&message),
        xml_text(&names.join(", ")),
        xml_text(&recovery),
    )
}

fn tool_error(failure: &ToolFailure) -> String {
    let mut out = String::from("<tool_error");
    if let Some(code) = &failure.code {
        out.push_str(&format!(" code=\"{}\"", xml_attribute(code)));
    }
    if let Some(severity) = failure.severity {
        out.push_str(&format!(" severity=\"{}\"", severity.name()));
    }
    out.push_str(&format!(">\n  <message>{}</message>\n", xml_text(&failure.message)));
    if let Some(recovery) = &failure.recovery {
        out.push_str(&format!("  <recovery>{}</recovery>\n", xml_text(recovery)));
    }
    if !failure.available_actions.is_empty() {
        out.push_str("  <available_actions>\n");
        for action in &failure.available_actions {
            out.push_str(&format!("    <action>{}</action>\n", xml_text(action)));
        }
        out.push_str("  </available_actions>\n");
    }
    if !failure.details.is_empty() {
        out.push_str("  <details>\n");
        for (key, value) in detail_texts(&failure.details) {
            out.push_str(&format!("    <detail key=\"{}\">{}</detail>\n", xml_attribute(key), xml_text(&value)));
        }
        out.push_str("  </details>\n");
    }
    if let Some(seconds) = failure.retry_after {
        out.push_str(&format!("  <retry_after>{seconds} seconds</retry_after>\n"));
    }
    out.push_str("</tool_error>");
    out
}
