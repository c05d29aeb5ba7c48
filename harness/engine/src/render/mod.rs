//! The error formats, one file for each. All of them format the same [`Failure`].

mod bare;
mod content;
mod decimal;
mod escape;
mod excerpt;
mod friendly;
mod fusion_text;
mod fusion_xml;
mod jsonschema_text;
mod llm_friendly;
mod llm_friendly_json;
mod problem_json;
mod pydantic;
mod serde_text;
mod template;
mod template_renderer;
mod tool_failure;
mod wording;
mod zod_json;
mod zod_lines;

pub(crate) use content::ContentLevel;
pub(crate) use escape::{single_line, xml_attribute, xml_text};
pub(crate) use excerpt::excerpt_text;
pub use friendly::valid_example;
use std::sync::OnceLock;

use healbench_core::{ErrorFormat, NumberTexts};
use serde_json::Value;
pub use template::check_template;
pub use template_renderer::{TemplateError, TemplateHost, TemplateServer, set_template_host};

use crate::contract::{BlockStyle, Delta};
use crate::definition::{Action, Tool};
use crate::failure::{Bound, Failure, Issue, IssueKind, PathSegment, Quantity};

/// The input of an error format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RenderInput<'a> {
    pub(crate) failure: &'a Failure,
    /// The arguments as sent, including the discriminator.
    pub(crate) arguments: &'a Value,
    /// The texts of numbers in them, if they are known.
    pub(crate) numbers: Option<&'a NumberTexts>,
    /// The called tool; `None` if no such tool exists.
    pub(crate) tool: Option<&'a str>,
    /// The argument that selects the tool's action, if there is one.
    pub(crate) discriminator: Option<&'a str>,
    /// The called action; `None` if none could be selected.
    pub(crate) action: Option<&'a ActionDoc>,
    /// The contract changes to show, for a format that shows them within its text.
    pub(crate) deltas: &'a [Delta],
    /// The number of bytes that will be inserted later; reserving them avoids copying the text.
    pub(crate) reserve: usize,
}

impl RenderInput<'_> {
    /// Returns the value sent as JSON if it has numbers that were sent in another form than their values have.
    fn text_with_numbers(&self, issue: &Issue) -> Option<String> {
        let (numbers, sent) = (self.numbers?, issue.sent.as_ref()?);
        let path: Vec<String> = issue.segments(self.arguments).into_iter().map(PathSegment::into_name).collect();
        numbers.json_of(sent, path.iter().map(String::as_str))
    }
}

/// The data about an action that a format may use, independent of the arguments.
#[derive(Debug)]
pub(crate) struct ActionDoc {
    pub(crate) action: String,
    /// The action's description, or the tool's if the action has none.
    pub(crate) description: String,
    pub(crate) discriminator: Option<String>,
    /// The input schema as written, without the discriminator.
    pub(crate) schema: Value,
    /// The parts of the text that do not depend on the failure, rendered once.
    pub(crate) rendered: RenderedDoc,
    /// Valid arguments made from the schema's constraints alone, once they are needed; `None` if none were found.
    pub(crate) neutral_example: OnceLock<Option<Value>>,
}

/// The parts of a text that depend only on the action; empty for formats without such parts.
#[derive(Debug, Default)]
pub(crate) struct RenderedDoc {
    /// The explanation of the schema.
    pub(crate) schema: String,
    /// Valid arguments; empty if none were found.
    pub(crate) example: String,
    /// True if a field of the schema has options.
    pub(crate) options: bool,
}

/// The renderer of a built-in error format.
#[derive(Debug)]
pub(crate) struct BuiltIn {
    format: ErrorFormat,
    render: fn(&RenderInput<'_>) -> String,
    /// Renders what the format always says about an action.
    render_doc: fn(&ActionDoc) -> RenderedDoc,
    block_style: BlockStyle,
    fields: NamedFields,
}

/// Which of the invalid fields a format names.
#[derive(Debug, Clone, Copy)]
enum NamedFields {
    No,
    All,
    /// Some of them, depending on the text.
    Some,
}

/// The built-in formats: one line for each entry of [`FORMATS`](healbench_core::FORMATS).
#[rustfmt::skip]
static BUILT_IN: [BuiltIn; healbench_core::FORMATS.len()] = [
    built_in(ErrorFormat::Bare, |input| bare_line(input.failure), no_doc, BlockStyle::Xml, NamedFields::No),
    built_in(ErrorFormat::FusionXml, fusion_xml::render, no_doc, BlockStyle::Xml, NamedFields::All),
    built_in(ErrorFormat::FusionText, fusion_text::render, no_doc, BlockStyle::Text, NamedFields::All),
    built_in(ErrorFormat::LlmFriendly, llm_friendly::render, llm_friendly::render_doc, BlockStyle::Markdown, NamedFields::All),
    built_in(ErrorFormat::LlmFriendlyJson, llm_friendly_json::render, llm_friendly_json::render_doc, BlockStyle::LlmFriendlyJson, NamedFields::All),
    built_in(ErrorFormat::ZodLines, zod_lines::render, no_doc, BlockStyle::Text, NamedFields::All),
    built_in(ErrorFormat::ZodInline, zod_lines::render_inline, no_doc, BlockStyle::Text, NamedFields::All),
    built_in(ErrorFormat::ZodJson, zod_json::render, no_doc, BlockStyle::ZodIssue, NamedFields::All),
    built_in(ErrorFormat::Pydantic, pydantic::render, no_doc, BlockStyle::Text, NamedFields::All),
    built_in(ErrorFormat::FastMcp, pydantic::render_fastmcp, no_doc, BlockStyle::Text, NamedFields::All),
    built_in(ErrorFormat::JsonSchema, jsonschema_text::render, no_doc, BlockStyle::Text, NamedFields::Some),
    built_in(ErrorFormat::Serde, serde_text::render, no_doc, BlockStyle::Text, NamedFields::Some),
    built_in(ErrorFormat::ProblemJson, problem_json::render, no_doc, BlockStyle::ProblemMember, NamedFields::All),
    built_in(ErrorFormat::ToolFailure, tool_failure::render, no_doc, BlockStyle::Text, NamedFields::All),
];

const fn built_in(
    format: ErrorFormat,
    render: fn(&RenderInput<'_>) -> String,
    render_doc: fn(&ActionDoc) -> RenderedDoc,
    block_style: BlockStyle,
    fields: NamedFields,
) -> BuiltIn {
    BuiltIn { format, render, render_doc, block_style, fields }
}

fn no_doc(_: &ActionDoc) -> RenderedDoc {
    RenderedDoc::default()
}

/// An error format that is ready to render.
#[derive(Debug)]
pub(crate) enum FormatRenderer {
    BuiltIn(&'static BuiltIn),
    Template(Box<template::Template>),
}

impl FormatRenderer {
    pub(crate) fn new(format: &ErrorFormat) -> Result<FormatRenderer, TemplateError> {
        match format {
            ErrorFormat::Template(source) => template::Template::compile(source).map(Box::new).map(Self::Template),
            _ => {
                let entry = BUILT_IN.iter().find(|entry| entry.format == *format);
                Ok(Self::BuiltIn(entry.unwrap_or_else(|| unreachable!("{format} has an entry"))))
            }
        }
    }

    /// Creates the data about an action for this format.
    pub(crate) fn action_doc(&self, tool: &Tool, action: &Action) -> ActionDoc {
        let description = if action.description.is_empty() { &tool.description } else { &action.description };
        let mut doc = ActionDoc {
            action: action.name.clone(),
            description: description.clone(),
            discriminator: tool.discriminator.clone(),
            schema: action.input.clone(),
            rendered: RenderedDoc::default(),
            neutral_example: OnceLock::new(),
        };
        if let FormatRenderer::BuiltIn(entry) = self {
            doc.rendered = (entry.render_doc)(&doc);
        }
        doc
    }

    /// Renders a failure, with the facts of a level of content if there is one.
    pub(crate) fn render(&self, input: &RenderInput<'_>, level: Option<ContentLevel>) -> String {
        if let Some(level) = level {
            return level.render(self, input);
        }
        match self {
            FormatRenderer::BuiltIn(entry) => (entry.render)(input),
            FormatRenderer::Template(template) => template.render(input),
        }
    }

    /// Returns the syntax in which contract changes are added to a text of this format.
    pub(crate) fn block_style(&self) -> BlockStyle {
        match self {
            FormatRenderer::BuiltIn(entry) => entry.block_style,
            FormatRenderer::Template(template) if template.renders_contract_changes() => BlockStyle::Omitted,
            FormatRenderer::Template(_) => BlockStyle::Text,
        }
    }

    /// Returns whether `text` names every invalid field.
    pub(crate) fn names_fields(&self, failure: &Failure, text: &str, level: Option<ContentLevel>) -> bool {
        match self {
            FormatRenderer::BuiltIn(entry) if level.is_some() && entry.format != ErrorFormat::Bare => {
                failure.has_fields()
            }
            FormatRenderer::BuiltIn(BuiltIn { fields: NamedFields::No, .. }) => false,
            FormatRenderer::BuiltIn(BuiltIn { fields: NamedFields::All, .. }) => failure.has_fields(),
            // The text may leave fields out: all but the first, or those that the template does not show.
            _ => {
                let fields = failure.fields();
                !fields.is_empty() && fields.iter().all(|field| text.contains(field.as_str()))
            }
        }
    }
}

/// Returns the line that a server without error handling sends; used when `healing` is off.
pub(crate) fn bare_line(failure: &Failure) -> String {
    bare::render(failure)
}

/// Returns the issues that a validation library reports: it checks neither the items of an array that is too long, nor the
/// values of a dictionary with too many.
fn reported_issues(issues: &[Issue]) -> impl Iterator<Item = &Issue> {
    let too_long = |issue: &&Issue| {
        let measures = [Quantity::Items, Quantity::Properties];
        matches!(&issue.kind, IssueKind::OutOfBounds { measure, relation: Bound::AtMost, .. } if measures.contains(measure))
    };
    let closed: Vec<&str> = issues.iter().filter(too_long).map(|issue| issue.path.as_str()).collect();
    let is_item = move |issue: &&Issue| {
        closed.iter().any(|array| issue.path.strip_prefix(array).is_some_and(|rest| rest.starts_with('.')))
    };
    // Their list just ends where ours says that checking stopped.
    let is_shown = |issue: &&Issue| issues.len() == 1 || !issue.is_end_mark();
    issues.iter().filter(is_shown).filter(move |issue| !is_item(issue))
}
