//! The forms of the built-in formats: how each lays out a [`Statement`].
//!
//! A format keeps its elements, members and order. Facts for which it has none of its own stand in its message texts.

use std::borrow::Cow;

use healbench_core::ErrorFormat;
use serde_json::{Map, Value, json};

use super::statement::{Finding, Statement};
use crate::failure::{Failure, Routing};
use crate::render::escape::{single_line, xml_attribute, xml_text};
use crate::render::friendly::json as layout;
use crate::render::problem_json::{reason_phrase, status_of, uri_fragment};
use crate::render::pydantic::{truncated_repr, type_name};
use crate::render::zod_json::array;
use crate::render::zod_lines::{inline, lines};
use crate::render::{RenderInput, bare_line};

/// Renders a statement in a built-in format.
pub(super) fn render(format: &ErrorFormat, statement: &Statement<'_>, input: &RenderInput<'_>) -> String {
    match format {
        ErrorFormat::FusionXml => fusion_xml(statement, input),
        ErrorFormat::FusionText => fusion_text(statement, input),
        ErrorFormat::LlmFriendly => llm_friendly(statement),
        ErrorFormat::LlmFriendlyJson => llm_friendly_json(statement),
        // The classification of the proposal is no fact of a level.
        ErrorFormat::ZodLines | ErrorFormat::ToolFailure => {
            zod(statement, input, |tool, issues| lines(tool, &on_one_line(issues)))
        }
        ErrorFormat::ZodInline => zod(statement, input, |tool, issues| inline(tool, &on_one_line(issues))),
        ErrorFormat::ZodJson => zod(statement, input, array),
        ErrorFormat::Pydantic => pydantic(statement, input),
        ErrorFormat::FastMcp => fastmcp(statement, input),
        ErrorFormat::JsonSchema => one_line(statement, "Input validation error: "),
        ErrorFormat::Serde => one_line(statement, "failed to deserialize parameters: "),
        ErrorFormat::ProblemJson => problem_json(statement, input),
        // Without `healing` there is no content to choose; templates have a renderer of their own.
        ErrorFormat::Bare | ErrorFormat::Template(_) => bare_line(input.failure),
    }
}

/// Returns the tool and the action of invalid arguments.
fn target<'a>(input: &RenderInput<'a>) -> (&'a str, &'a str) {
    match input.failure {
        Failure::Validation { tool, action, .. } => (tool, action),
        _ => (input.tool.unwrap_or_default(), input.action.map_or("", |action| action.action.as_str())),
    }
}

fn fusion_xml(statement: &Statement<'_>, input: &RenderInput<'_>) -> String {
    let (element, mut out) = if statement.findings.is_empty() {
        let mut out = String::from("<tool_error");
        if let Some(code) = &statement.code {
            out.push_str(&format!(" code=\"{}\"", xml_attribute(code)));
        }
        if let Some(severity) = statement.severity {
            out.push_str(&format!(" severity=\"{}\"", severity.name()));
        }
        out.push_str(&format!(">\n  <message>{}</message>\n", xml_text(&statement.message)));
        ("tool_error", out)
    } else {
        let (tool, action) = target(input);
        let action = format!("{}/{}", xml_attribute(tool), xml_attribute(action));
        ("validation_error", format!("<validation_error action=\"{action}\">\n"))
    };
    for finding in &statement.findings {
        let (path, rule) = (xml_attribute(&finding.path), xml_attribute(finding.rule));
        out.push_str(&format!("  <field name=\"{path}\" rule=\"{rule}\">{}</field>\n", xml_text(&finding.text())));
    }
    if !statement.details.is_empty() {
        out.push_str("  <details>\n");
        for (key, text) in &statement.details {
            out.push_str(&format!("    <detail key=\"{}\">{}</detail>\n", xml_attribute(key), xml_text(text)));
        }
        out.push_str("  </details>\n");
    }
    for advice in &statement.advice {
        out.push_str(&format!("  <recovery>{}</recovery>\n", xml_text(advice)));
    }
    if !statement.available.is_empty() {
        let list = format!("available_{}", statement.choices());
        out.push_str(&format!("  <{list}>{}</{list}>\n", xml_text(&statement.available.join(", "))));
    }
    if let Some(seconds) = statement.retry_after {
        out.push_str(&format!("  <retry_after>{seconds} seconds</retry_after>\n"));
    }
    if let Some(example) = statement.example {
        out.push_str(&format!("  <example>{}</example>\n", xml_text(&layout::inline(example))));
    }
    out + "</" + element + ">"
}

fn fusion_text(statement: &Statement<'_>, input: &RenderInput<'_>) -> String {
    let head = if statement.findings.is_empty() {
        format!("[{}] {}", statement.code.as_deref().unwrap_or("ERROR"), statement.message)
    } else {
        let (tool, action) = target(input);
        format!("⚠️ VALIDATION FAILED — ACTION '{}'", format!("{tool}.{action}").to_uppercase())
    };
    let mut lines = vec![head];
    let bullet = |finding: &Finding<'_>| format!("  • {} — {} ({})", finding.path, finding.text(), finding.rule);
    lines.extend(statement.findings.iter().map(bullet));
    lines.extend(statement.details.iter().map(|(key, text)| format!("🔎 {key}: {text}")));
    lines.extend(statement.advice.iter().map(|advice| format!("💡 {advice}")));
    if !statement.available.is_empty() {
        lines.push(format!("📋 Try: {}", statement.available.join(", ")));
    }
    lines.extend(statement.retry_after.map(|seconds| format!("⏳ Retry after: {seconds} seconds")));
    lines.extend(statement.example.map(|example| format!("🧪 Example: {}", layout::inline(example))));
    lines.iter().map(|line| single_line(line)).collect::<Vec<_>>().join("\n")
}

fn llm_friendly(statement: &Statement<'_>) -> String {
    let code = statement.code.as_deref().map(|code| format!("[{code}] ")).unwrap_or_default();
    let mut out = format!("❌ {}", single_line(&format!("{code}{}", statement.message)));
    if let Some(severity) = statement.severity {
        out.push_str(&format!("\n\n**Severity**: {}", severity.name()));
    }
    let mut section = |head: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let lines: Vec<String> = lines.iter().map(|line| single_line(line).into_owned()).collect();
            out.push_str(&format!("\n\n## {head}:\n\n{}", lines.join("\n")));
        }
    };
    let mut issues = Vec::new();
    for (index, finding) in statement.findings.iter().enumerate() {
        issues.push(format!("{}. **{}**: {} ({})", index + 1, finding.path, finding.sentence(), finding.rule));
        issues.extend(finding.sent.as_ref().map(|sent| format!("   - Received: {}", layout::inline(sent))));
        issues.extend(finding.expected.as_ref().map(|expected| format!("   - Expected: {expected}")));
    }
    section("Issues Found", issues);
    section("Details", statement.details.iter().map(|(key, text)| format!("- **{key}**: {text}")).collect());
    let list = if statement.choices() == "tools" { "Available Tools" } else { "Available Actions" };
    section(list, statement.available.iter().map(|name| format!("- {name}")).collect());
    let wait = statement.retry_after.map(|seconds| format!("Retry after {seconds} seconds"));
    let suggestions = statement.advice.iter().cloned().chain(wait).enumerate();
    section("Suggestions", suggestions.map(|(index, text)| format!("{}. {text}", index + 1)).collect());
    section("Valid Example", statement.example.map(layout::inline).into_iter().collect());
    out
}

fn llm_friendly_json(statement: &Statement<'_>) -> String {
    let is_routing =
        matches!(statement.code.as_deref(), Some("MISSING_DISCRIMINATOR" | "UNKNOWN_ACTION" | "UNKNOWN_TOOL"));
    let kind = match (statement.findings.is_empty(), is_routing) {
        (false, _) => "validation",
        (true, true) => "routing",
        (true, false) => "tool",
    };
    let mut error = Members::default();
    error.put("type", Some(kind));
    error.put("code", statement.code.as_deref());
    error.put("severity", statement.severity.map(|severity| severity.name()));
    error.put("summary", Some(&statement.message));
    let issue = |finding: &Finding<'_>| {
        let mut issue = Members::default();
        issue.put("field", Some(&finding.path));
        issue.put("rule", Some(finding.rule));
        issue.put("problem", Some(finding.sentence()));
        issue.put("received", finding.sent.as_deref());
        issue.put("expected", finding.expected.as_ref());
        Value::Object(issue.0)
    };
    error.put_list("issues", statement.findings.iter().map(issue).collect());
    error.put_details(statement);
    let list = if statement.choices() == "tools" { "availableTools" } else { "availableActions" };
    error.put_list(list, statement.available.iter().map(|name| json!(name)).collect());
    error.put_list("suggestions", statement.advice.iter().map(|advice| json!(advice)).collect());
    error.put("retryAfter", statement.retry_after);
    error.put("validExample", statement.example);
    let mut out = String::new();
    layout::push_pretty(&mut out, &json!({ "error": error.0 }), 0);
    out
}

/// The members of a JSON object; absent facts have none.
#[derive(Default)]
struct Members(Map<String, Value>);

impl Members {
    fn put<T: serde::Serialize>(&mut self, name: &str, value: Option<T>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), json!(value));
        }
    }

    fn put_list(&mut self, name: &str, values: Vec<Value>) {
        self.put(name, (!values.is_empty()).then_some(values));
    }

    fn put_details(&mut self, statement: &Statement<'_>) {
        let details: Map<String, Value> =
            statement.details.iter().map(|(key, text)| ((*key).to_owned(), json!(text))).collect();
        self.put("details", (!details.is_empty()).then_some(details));
    }
}

fn problem_json(statement: &Statement<'_>, input: &RenderInput<'_>) -> String {
    let status = status_of(input.failure);
    let mut problem = Members::default();
    problem.put("type", Some("about:blank"));
    problem.put("title", Some(reason_phrase(status)));
    problem.put("status", Some(status));
    problem.put("detail", Some(&statement.message));
    problem.put("code", statement.code.as_deref());
    problem.put("severity", statement.severity.map(|severity| severity.name()));
    let error = |finding: &Finding<'_>| {
        let token = |segment: &Value| segment.as_str().map_or_else(|| segment.to_string(), str::to_owned);
        let tokens: Vec<String> = finding.segments.iter().map(token).collect();
        let mut error = Members::default();
        error.put("detail", Some(finding.sentence()));
        error.put("pointer", Some(uri_fragment(&tokens)));
        error.put("rule", Some(finding.rule));
        error.put("received", finding.sent.as_deref());
        error.put("expected", finding.expected.as_ref());
        Value::Object(error.0)
    };
    problem.put_list("errors", statement.findings.iter().map(error).collect());
    let list = format!("available_{}", statement.choices());
    problem.put_list(&list, statement.available.iter().map(|name| json!(name)).collect());
    problem.put("recovery", (!statement.advice.is_empty()).then(|| statement.advice.join(" ")));
    problem.put_details(statement);
    problem.put("retry_after", statement.retry_after);
    problem.put("example", statement.example);
    // Plain data with string keys always serializes.
    serde_json::to_string_pretty(&problem.0).unwrap_or_default()
}

fn zod(statement: &Statement<'_>, input: &RenderInput<'_>, write: fn(&str, Vec<Value>) -> String) -> String {
    let tool = input.tool.unwrap_or_default();
    let (Failure::Validation { .. }
    | Failure::Routing(Routing::MissingDiscriminator { .. } | Routing::UnknownAction { .. })) = input.failure
    else {
        let prefix = match input.failure {
            Failure::Routing(_) => "MCP error -32602: ",
            _ => "",
        };
        return format!("{prefix}{}", with_lines(&coded_message(statement), statement));
    };
    let issue = |code: &str, path: &[Value], message: String| json!({ "code": code, "path": path, "message": message });
    let mut issues: Vec<Value> = statement
        .findings
        .iter()
        .map(|finding| {
            issue(zod_code(finding.rule), &finding.segments, format!("{} ({})", finding.text(), finding.rule))
        })
        .collect();
    if issues.is_empty() {
        let field = json!(input.discriminator.unwrap_or("action"));
        issues.push(issue("invalid_union", &[field], coded_message(statement)));
    }
    issues.extend(statement.further_facts().into_iter().map(|fact| issue("custom", &[], fact.line)));
    write(tool, issues)
}

/// Escapes the line ends of issues that are written as lines.
fn on_one_line(issues: Vec<Value>) -> Vec<Value> {
    let escaped = |text: &str| json!(single_line(text));
    let step = |step: &Value| step.as_str().map_or_else(|| step.clone(), escaped);
    let one = |issue: Value| {
        let path: Vec<Value> = issue["path"].as_array().into_iter().flatten().map(step).collect();
        json!({ "path": path, "message": issue["message"].as_str().map(escaped) })
    };
    issues.into_iter().map(one).collect()
}

/// Returns the code of zod's issue for a rule.
fn zod_code(rule: &str) -> &'static str {
    match rule {
        "required" | "type" => "invalid_type",
        "enum" => "invalid_value",
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => "too_small",
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => "too_big",
        "format" | "pattern" => "invalid_format",
        "multipleOf" => "not_multiple_of",
        "additionalProperties" => "unrecognized_keys",
        "anyOf" | "oneOf" => "invalid_union",
        _ => "custom",
    }
}

fn pydantic(statement: &Statement<'_>, input: &RenderInput<'_>) -> String {
    let head = input.tool.map(|tool| format!("Error executing tool {tool}: ")).unwrap_or_default();
    head + &error_list(statement, &format!("{}Arguments", input.tool.unwrap_or_default()))
}

fn fastmcp(statement: &Statement<'_>, input: &RenderInput<'_>) -> String {
    error_list(statement, &format!("call[{}]", input.tool.unwrap_or_default()))
}

fn error_list(statement: &Statement<'_>, title: &str) -> String {
    if statement.findings.is_empty() {
        return with_lines(&coded_message(statement), statement);
    }
    let count = statement.findings.len();
    let s = if count == 1 { "" } else { "s" };
    let mut out = format!("{count} validation error{s} for {title}");
    for finding in &statement.findings {
        if !finding.segments.is_empty() {
            out.push('\n');
            out.push_str(&single_line(&finding.path));
        }
        let mut text = finding.sentence();
        if let Some(expected) = &finding.expected {
            text.push_str(&format!(" Expected: {expected}."));
        }
        out.push_str(&format!("\n  {} [type={}", single_line(&text), single_line(finding.rule)));
        if let Some(sent) = &finding.sent {
            out.push_str(&format!(", input_value={}, input_type={}", truncated_repr(sent), type_name(sent)));
        }
        out.push(']');
    }
    with_lines(&out, statement)
}

fn one_line(statement: &Statement<'_>, prefix: &str) -> String {
    let texts = statement
        .findings
        .iter()
        .map(|finding| format!("field `{}`: {} ({})", finding.path, finding.text(), finding.rule).into());
    let head: Vec<Cow<'_, str>> = match statement.findings.is_empty() {
        true => vec![coded_message(statement).into()],
        false => texts.collect(),
    };
    let prefix = if statement.findings.is_empty() { "" } else { prefix };
    let lines = head.into_iter().chain(statement.further_facts().into_iter().map(|fact| fact.line.into()));
    single_line(&format!("{prefix}{}", lines.collect::<Vec<_>>().join(" "))).into_owned()
}

/// Returns the message with the code before it.
fn coded_message(statement: &Statement<'_>) -> String {
    match &statement.code {
        Some(code) => format!("{code}: {}", statement.message),
        None => statement.message.clone(),
    }
}

/// Appends the further facts, a line each.
fn with_lines(text: &str, statement: &Statement<'_>) -> String {
    statement.further_facts().iter().fold(text.to_owned(), |out, fact| out + "\n" + &single_line(&fact.line))
}
