//! User-defined formats: a minijinja template rendered with the failure's data.
//!
//! The example template `scenarios/templates/teaching.jinja` documents and uses all variables.

use std::borrow::Cow;

use healbench_core::{TemplateSource, detail_texts};
use serde::Serialize;
use serde_json::Value;

use super::content::{Finding, Statement};
use super::excerpt::excerpt;
use super::template_renderer::{Renderer, TemplateError};
use super::wording::{correction, problem, sent_text};
use super::{RenderInput, bare_line, single_line, xml_attribute, xml_text};
use crate::definition::ToolFailure;
use crate::failure::{Bound, Expected, Failure, Issue, IssueKind, Quantity, Routing};

#[derive(Debug)]
pub(crate) struct Template(Renderer);

/// Checks that `source` can be used as an error format.
///
/// # Errors
/// [`TemplateError`] with the line of the problem.
pub fn check_template(source: &TemplateSource) -> Result<(), TemplateError> {
    Template::compile(source).map(|_| ())
}

impl Template {
    /// Compiles the template and renders one failure of each kind, so that errors are found before a run.
    pub(crate) fn compile(source: &TemplateSource) -> Result<Template, TemplateError> {
        let template = Template(Renderer::compile(source)?);
        for failure in samples() {
            let input = RenderInput {
                failure: &failure,
                arguments: &Value::Null,
                numbers: None,
                tool: Some("tool"),
                discriminator: None,
                action: None,
                deltas: &[],
                reserve: 0,
            };
            template.try_render(&input)?;
        }
        Ok(template)
    }

    /// Returns true if the template shows contract changes itself.
    pub(crate) fn renders_contract_changes(&self) -> bool {
        self.0.renders_contract_changes
    }

    /// Renders the failure. An error of the template is appended to the bare line, so that transcripts show it.
    pub(crate) fn render(&self, input: &RenderInput<'_>) -> String {
        self.try_render(input).unwrap_or_else(|error| self.failed_text(input, &error))
    }

    /// Renders the facts of a level of content. Variables without a fact of the level are undefined.
    /// What the template does not show is appended, a line each.
    pub(crate) fn render_statement(&self, statement: &Statement<'_>, input: &RenderInput<'_>) -> String {
        let rendered = self.0.render(&TemplateContext::of_statement(statement, input));
        let mut text = rendered.unwrap_or_else(|error| self.failed_text(input, &error));
        let shown = |text: &str, part: &String| {
            [single_line(part), xml_text(part), xml_attribute(part)].iter().any(|form| text.contains(&**form))
        };
        for fact in statement.finding_facts().into_iter().chain(statement.further_facts()) {
            if !fact.parts.iter().all(|part| shown(&text, part)) {
                text.push('\n');
                text.push_str(&single_line(&fact.line));
            }
        }
        text
    }

    fn try_render(&self, input: &RenderInput<'_>) -> Result<String, TemplateError> {
        self.0.render(&TemplateContext::new(input))
    }

    fn failed_text(&self, input: &RenderInput<'_>, error: &TemplateError) -> String {
        format!("{} [template `{}` failed: {}]", bare_line(input.failure), self.0.file(), error.message)
    }
}

/// The variables of a template. Absent facts are undefined: they print as nothing and are false in a condition.
#[derive(Debug, Default, Serialize)]
struct TemplateContext<'a> {
    /// `validation`, `routing` or `tool`.
    kind: &'static str,
    /// `VALIDATION`, a routing code, or a tool error's code.
    code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery: Option<Cow<'a, str>>,
    available: &'a [String],
    details: Vec<Detail<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u32>,
    issues: Vec<IssueContext<'a>>,
    arguments: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'a Value>,
    contract_changes: Vec<DeltaContext<'a>>,
}

#[derive(Debug, Serialize)]
struct Detail<'a> {
    key: &'a str,
    value: String,
}

#[derive(Debug, Serialize)]
struct DeltaContext<'a> {
    field: &'a str,
    severity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<&'a str>,
}

#[derive(Debug, Default, Serialize)]
struct IssueContext<'a> {
    /// Joined by dots; empty for the arguments as a whole.
    path: Cow<'a, str>,
    kind: &'static str,
    /// `Required`, `Invalid email`.
    problem: String,
    /// The correction of the Fusion formats; may be empty.
    correction: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<Cow<'a, Value>>,
    /// `'bad-email'`, `42`, `(missing)`.
    sent_text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    types: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<&'a [Value]>,
    /// `>=`, `>`, `<=` or `<`.
    #[serde(skip_serializing_if = "Option::is_none")]
    relation: Option<&'static str>,
    /// `number`, `characters`, `items` or `properties`.
    #[serde(skip_serializing_if = "Option::is_none")]
    measure: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Cow<'a, [String]>>,
}

impl<'a> TemplateContext<'a> {
    fn new(input: &RenderInput<'a>) -> TemplateContext<'a> {
        let change = |delta: &'a crate::contract::Delta| DeltaContext {
            field: &delta.field,
            severity: delta.severity.name(),
            previous: delta.previous.as_deref(),
            current: delta.current.as_deref(),
        };
        let common = TemplateContext {
            code: input.failure.class().to_string(),
            tool: input.tool,
            action: input.action.map(|doc| doc.action.as_str()),
            description: input.action.map(|doc| doc.description.as_str()),
            arguments: input.arguments,
            schema: input.action.map(|doc| &doc.schema),
            contract_changes: input.deltas.iter().map(change).collect(),
            ..TemplateContext::default()
        };
        match input.failure {
            Failure::Validation { issues, .. } => TemplateContext {
                kind: "validation",
                message: "The arguments are not valid.".to_owned(),
                issues: issues.iter().map(|issue| IssueContext::new(issue, input)).collect(),
                ..common
            },
            Failure::Routing(routing) => TemplateContext { kind: "routing", ..routing_context(routing, common) },
            Failure::Tool(failure) | Failure::Fault(failure) => tool_context(failure, common),
        }
    }
}

impl<'a> TemplateContext<'a> {
    fn of_statement(statement: &'a Statement<'_>, input: &RenderInput<'a>) -> TemplateContext<'a> {
        let TemplateContext { kind, tool, action, field, .. } = TemplateContext::new(input);
        TemplateContext {
            kind,
            code: statement.code.as_deref().unwrap_or_default().to_owned(),
            tool,
            action,
            message: statement.message.clone(),
            field,
            severity: statement.severity.map(crate::definition::Severity::name),
            recovery: (!statement.advice.is_empty()).then(|| statement.advice.join(" ").into()),
            available: statement.available,
            details: statement.details.iter().map(|(key, value)| Detail { key, value: value.clone() }).collect(),
            retry_after: statement.retry_after,
            issues: statement.findings.iter().map(IssueContext::of_finding).collect(),
            arguments: input.arguments,
            ..TemplateContext::default()
        }
    }
}

fn routing_context<'a>(routing: &'a Routing, common: TemplateContext<'a>) -> TemplateContext<'a> {
    match routing {
        Routing::MissingDiscriminator { field, available } => TemplateContext {
            message: format!("The required field \"{field}\" is missing."),
            field: Some(field),
            available,
            ..common
        },
        Routing::UnknownAction { action, available } => TemplateContext {
            message: format!("The action \"{action}\" does not exist."),
            action: Some(action),
            available,
            ..common
        },
        Routing::UnknownTool { tool, available } => TemplateContext {
            message: format!("The tool \"{tool}\" does not exist."),
            tool: Some(tool),
            available,
            ..common
        },
    }
}

fn tool_context<'a>(failure: &'a ToolFailure, common: TemplateContext<'a>) -> TemplateContext<'a> {
    TemplateContext {
        kind: "tool",
        message: failure.message.clone(),
        severity: failure.severity.map(crate::definition::Severity::name),
        recovery: failure.recovery.as_deref().map(Cow::Borrowed),
        available: &failure.available_actions,
        details: detail_texts(&failure.details).map(|(key, value)| Detail { key, value }).collect(),
        retry_after: failure.retry_after,
        ..common
    }
}

impl<'a> IssueContext<'a> {
    fn of_finding(finding: &'a Finding<'_>) -> IssueContext<'a> {
        let kind = match finding.rule {
            "required" => "missing",
            "type" => "wrong_type",
            "enum" => "not_an_option",
            "format" => "bad_format",
            "pattern" => "bad_pattern",
            "multipleOf" => "not_a_multiple",
            "uniqueItems" => "not_unique",
            "additionalProperties" => "undeclared",
            _ if finding.is_bound() => "out_of_bounds",
            _ => "other",
        };
        let path = if finding.segments.is_empty() { "" } else { &*finding.path };
        let fields = (kind == "undeclared").then(|| vec![path.to_owned()].into());
        IssueContext {
            path: path.into(),
            kind,
            problem: finding.sentence().trim_end_matches('.').to_owned(),
            correction: finding.expected.as_ref().map(|text| format!("Expected: {text}.")).unwrap_or_default(),
            sent: finding.sent.clone(),
            sent_text: finding.sent.as_deref().map_or_else(|| "(missing)".to_owned(), ToString::to_string),
            fields,
            ..IssueContext::default()
        }
    }

    fn new(issue: &'a Issue, input: &RenderInput<'_>) -> IssueContext<'a> {
        let common = IssueContext {
            path: issue.path.as_str().into(),
            problem: problem(issue),
            correction: correction(issue),
            sent: issue.sent.as_ref().map(excerpt),
            sent_text: sent_text(issue, input),
            ..IssueContext::default()
        };
        let expecting = |kind, expected: &'a Expected, common: IssueContext<'a>| match expected {
            Expected::Types(types) => IssueContext { kind, types: Some(types), ..common },
            Expected::Options(options) => IssueContext { kind, options: Some(options), ..common },
            Expected::Any => IssueContext { kind, ..common },
        };
        match &issue.kind {
            IssueKind::Missing { expected } => expecting("missing", expected, common),
            IssueKind::WrongType { expected } => expecting("wrong_type", expected, common),
            IssueKind::NotAnOption { options } => {
                IssueContext { kind: "not_an_option", options: Some(options), ..common }
            }
            IssueKind::OutOfBounds { measure, relation, limit } => IssueContext {
                kind: "out_of_bounds",
                relation: Some(relation.sign()),
                measure: Some(measure.name()),
                limit: Some(limit),
                ..common
            },
            IssueKind::BadFormat { format } => IssueContext { kind: "bad_format", format: Some(format), ..common },
            IssueKind::BadPattern { pattern } => IssueContext { kind: "bad_pattern", pattern: Some(pattern), ..common },
            IssueKind::NotAMultiple { of } => IssueContext { kind: "not_a_multiple", limit: Some(of), ..common },
            IssueKind::NotUnique => IssueContext { kind: "not_unique", ..common },
            IssueKind::Undeclared { fields } => {
                IssueContext { kind: "undeclared", fields: Some(fields.into()), ..common }
            }
            IssueKind::Other { .. } => IssueContext { kind: "other", ..common },
        }
    }
}

/// One failure of each kind.
fn samples() -> Vec<Failure> {
    let available = || vec!["list".to_owned(), "create".to_owned()];
    let issue = |kind: IssueKind| Issue::new("field".to_owned(), Some(Value::from("sent")), kind);
    let issues = vec![
        Issue { sent: None, ..issue(IssueKind::Missing { expected: Expected::Any }) },
        issue(IssueKind::WrongType { expected: Expected::Types(vec!["string".to_owned()]) }),
        issue(IssueKind::NotAnOption { options: vec![Value::from("a")] }),
        issue(IssueKind::OutOfBounds { measure: Quantity::Number, relation: Bound::AtLeast, limit: Value::from(1) }),
        issue(IssueKind::BadFormat { format: "email".to_owned() }),
        issue(IssueKind::BadPattern { pattern: "^a".to_owned() }),
        issue(IssueKind::NotAMultiple { of: Value::from(5) }),
        issue(IssueKind::NotUnique),
        issue(IssueKind::Undeclared { fields: vec!["extra".to_owned()] }),
        issue(IssueKind::Other { keyword: "not".to_owned(), message: "not allowed".to_owned() }),
    ];
    let full = ToolFailure {
        recovery: Some("Try again.".to_owned()),
        available_actions: available(),
        details: vec![("key".to_owned(), "value".into())],
        retry_after: Some(30),
        ..ToolFailure::new("NOT_FOUND", "Not found.")
    };
    vec![
        Failure::Routing(Routing::MissingDiscriminator { field: "action".to_owned(), available: available() }),
        Failure::Routing(Routing::UnknownAction { action: "lst".to_owned(), available: available() }),
        Failure::Routing(Routing::UnknownTool { tool: "tols".to_owned(), available: available() }),
        Failure::Validation { tool: "tool".to_owned(), action: "create".to_owned(), issues },
        Failure::Tool(full),
        Failure::Tool(ToolFailure::error("It failed.")),
    ]
}
