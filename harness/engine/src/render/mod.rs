//! One file an error format. All of them write the same [`Failure`].

mod bare;
mod decimal;
mod escape;
mod friendly;
mod fusion_text;
mod fusion_xml;
mod llm_friendly;
mod llm_friendly_json;
mod problem_json;
mod pydantic;
mod serde_text;
mod template;
mod wording;
mod zod_json;

pub(crate) use escape::{single_line, xml_attribute, xml_text};
use healbench_protocol::ErrorFormat;
use serde_json::Value;
pub use template::{TemplateError, check_template};

use crate::contract::{BlockStyle, Delta};
use crate::definition::{Action, Tool};
use crate::failure::{Bound, Failure, Issue, IssueKind, Quantity};

/// What a format is given to write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RenderInput<'a> {
    pub(crate) failure: &'a Failure,
    /// The arguments as they were sent, the discriminator among them.
    pub(crate) arguments: &'a Value,
    /// The tool that was called; none when no such tool exists.
    pub(crate) tool: Option<&'a str>,
    /// The argument that selects the tool's action, where there is one.
    pub(crate) discriminator: Option<&'a str>,
    /// The action that was called; none when none could be chosen.
    pub(crate) action: Option<&'a ActionDoc>,
    /// The contract changes to tell, for a format that has a place of its own for them in its text.
    pub(crate) deltas: &'a [Delta],
    /// Bytes that will be put into the text afterwards: room for them spares a copy of it.
    pub(crate) reserve: usize,
}

/// What a format may say of an action, whatever was sent to it.
#[derive(Debug)]
pub(crate) struct ActionDoc {
    pub(crate) action: String,
    /// The tool's description, or the action's where it has one.
    pub(crate) description: String,
    pub(crate) discriminator: Option<String>,
    /// The input schema as it was written, without the discriminator.
    pub(crate) schema: Value,
    /// What the format always says of this action, written once.
    pub(crate) rendered: RenderedDoc,
}

/// What a format always says of an action; formats that say nothing leave it empty.
#[derive(Debug, Default)]
pub(crate) struct RenderedDoc {
    /// The schema, explained.
    pub(crate) schema: String,
    /// Arguments that are valid; empty when none were found.
    pub(crate) example: String,
    /// Whether a field of the schema has options.
    pub(crate) options: bool,
}

/// An error format, compiled.
#[derive(Debug)]
pub(crate) enum FormatRenderer {
    Bare,
    FusionXml,
    FusionText,
    LlmFriendly,
    LlmFriendlyJson,
    ZodJson,
    Pydantic,
    Serde,
    ProblemJson,
    Template(Box<template::Template>),
}

impl FormatRenderer {
    pub(crate) fn new(format: &ErrorFormat) -> Result<FormatRenderer, TemplateError> {
        Ok(match format {
            ErrorFormat::Bare => FormatRenderer::Bare,
            ErrorFormat::FusionXml => FormatRenderer::FusionXml,
            ErrorFormat::FusionText => FormatRenderer::FusionText,
            ErrorFormat::LlmFriendly => FormatRenderer::LlmFriendly,
            ErrorFormat::LlmFriendlyJson => FormatRenderer::LlmFriendlyJson,
            ErrorFormat::ZodJson => FormatRenderer::ZodJson,
            ErrorFormat::Pydantic => FormatRenderer::Pydantic,
            ErrorFormat::Serde => FormatRenderer::Serde,
            ErrorFormat::ProblemJson => FormatRenderer::ProblemJson,
            ErrorFormat::Template(source) => FormatRenderer::Template(Box::new(template::Template::compile(source)?)),
        })
    }

    /// What this format may say of an action.
    pub(crate) fn action_doc(&self, tool: &Tool, action: &Action) -> ActionDoc {
        let description = if action.description.is_empty() { &tool.description } else { &action.description };
        let mut doc = ActionDoc {
            action: action.name.clone(),
            description: description.clone(),
            discriminator: tool.discriminator.clone(),
            schema: action.input.clone(),
            rendered: RenderedDoc::default(),
        };
        doc.rendered = match self {
            FormatRenderer::LlmFriendly => llm_friendly::render_doc(&doc),
            FormatRenderer::LlmFriendlyJson => llm_friendly_json::render_doc(&doc),
            _ => RenderedDoc::default(),
        };
        doc
    }

    /// Writes a failure for the agent.
    pub(crate) fn render(&self, input: &RenderInput<'_>) -> String {
        match self {
            FormatRenderer::Bare => bare_line(input.failure),
            FormatRenderer::FusionXml => fusion_xml::render(input),
            FormatRenderer::FusionText => fusion_text::render(input.failure),
            FormatRenderer::LlmFriendly => llm_friendly::render(input),
            FormatRenderer::LlmFriendlyJson => llm_friendly_json::render(input),
            FormatRenderer::ZodJson => zod_json::render(input),
            FormatRenderer::Pydantic => pydantic::render(input),
            FormatRenderer::Serde => serde_text::render(input),
            FormatRenderer::ProblemJson => problem_json::render(input),
            FormatRenderer::Template(template) => template.render(input),
        }
    }

    /// How contract changes are added to a text of this format.
    pub(crate) fn block_style(&self) -> BlockStyle {
        match self {
            FormatRenderer::Bare | FormatRenderer::FusionXml => BlockStyle::Xml,
            FormatRenderer::FusionText | FormatRenderer::Pydantic | FormatRenderer::Serde => BlockStyle::Text,
            FormatRenderer::LlmFriendly => BlockStyle::Markdown,
            FormatRenderer::LlmFriendlyJson => BlockStyle::LlmFriendlyJson,
            FormatRenderer::ZodJson => BlockStyle::ZodIssue,
            FormatRenderer::ProblemJson => BlockStyle::ProblemMember,
            FormatRenderer::Template(template) if template.renders_contract_changes() => BlockStyle::Omitted,
            FormatRenderer::Template(_) => BlockStyle::Text,
        }
    }

    /// Whether `text` names every field that is wrong.
    pub(crate) fn names_fields(&self, failure: &Failure, text: &str) -> bool {
        match self {
            FormatRenderer::Bare => false,
            // These may leave fields out: the first of several, or whatever the template does not show.
            FormatRenderer::Serde | FormatRenderer::Template(_) => {
                let fields = failure.fields();
                !fields.is_empty() && fields.iter().all(|field| text.contains(field.as_str()))
            }
            _ => failure.has_fields(),
        }
    }
}

/// The one line of a raw server: what is left of a failure when `healing` is off.
pub(crate) fn bare_line(failure: &Failure) -> String {
    bare::render(failure)
}

/// The issues that a validation library comes to: it does not look into an array that is too long.
fn reported_issues(issues: &[Issue]) -> impl Iterator<Item = &Issue> {
    let too_long = |issue: &&Issue| {
        matches!(issue.kind, IssueKind::OutOfBounds { measure: Quantity::Items, relation: Bound::AtMost, .. })
    };
    let closed: Vec<&str> = issues.iter().filter(too_long).map(|issue| issue.path.as_str()).collect();
    let is_item = move |issue: &&Issue| {
        closed.iter().any(|array| issue.path.strip_prefix(array).is_some_and(|rest| rest.starts_with('.')))
    };
    issues.iter().filter(move |issue| !is_item(issue))
}
