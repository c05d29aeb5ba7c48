//! One call, from the discriminator to the response: parse, resolve, validate, run, present. Everything that can be decided
//! without the call is decided when the engine is made.

use std::collections::BTreeMap;

use healbench_protocol::{ErrorFormat, Guardrails, Object, ToolCall, ToolResponse};
use serde_json::Value;

use crate::contract::{BlockStyle, Enhancer, SelfHealingConfig, diff_contracts, tool_enhancer};
use crate::definition::{Action, Presenter, Severity, Tool};
use crate::failure::{Expected, Failure, Issue, IssueKind, Routing};
use crate::handler::{Reply, lists_of, run};
use crate::presenter::present;
use crate::render::{bare_line, render};
use crate::schema::{InputSchema, SchemaError};
use crate::world::World;

/// Answers calls, under one set of guardrails and in one error format.
#[derive(Debug)]
pub struct Engine {
    tools: Vec<CompiledTool>,
    /// Actions that list a table, for failures that point to them.
    lists: Vec<(String, String)>,
    format: ErrorFormat,
    truncate: bool,
}

#[derive(Debug)]
struct CompiledTool {
    name: String,
    discriminator: Option<String>,
    actions: Vec<CompiledAction>,
    enhancer: Enhancer,
}

#[derive(Debug)]
struct CompiledAction {
    action: Action,
    input: InputSchema,
    /// The presenter to use: none where the action has none.
    presenter: Option<Presenter>,
}

/// A tool whose schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tool `{tool}`, action `{action}`: {source}")]
pub struct CompileError {
    /// The tool.
    pub tool: String,
    /// The action.
    pub action: String,
    /// What is wrong with its schema.
    pub source: SchemaError,
}

/// What one call led to: the response, and for the record what no agent is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What the agent gets.
    pub response: ToolResponse,
    /// Why the call did not succeed.
    pub failure: Option<Failure>,
    /// Whether the failure's text names the failing fields.
    pub names_fields: bool,
    /// Undeclared fields that reached the world.
    pub leaked_fields: u32,
    /// Rows that truncation held back.
    pub omitted_rows: u32,
    /// Which content block teaches how to narrow the list.
    pub teaching_block: Option<usize>,
    /// Contract deltas in the response.
    pub contract_deltas: u32,
    /// Whether rows of the world changed.
    pub world_changed: bool,
}

impl Answer {
    /// The line that a raw server would have sent for the failure.
    pub fn bare_line(&self) -> Option<String> {
        self.failure.as_ref().map(bare_line)
    }
}

impl Engine {
    /// Compiles `tools`. With `healing` off every failure is one bare line, whatever `format` is.
    ///
    /// # Errors
    /// [`CompileError`] when an input schema does not compile.
    pub fn new(tools: &[Tool], guardrails: Guardrails, format: ErrorFormat) -> Result<Engine, CompileError> {
        let format = if guardrails.healing { format } else { ErrorFormat::Bare };
        let style = match format {
            ErrorFormat::Bare | ErrorFormat::FusionXml => BlockStyle::Xml,
            ErrorFormat::FusionText => BlockStyle::Text,
        };
        let compiled = tools.iter().map(|tool| compile_tool(tool, guardrails, style)).collect::<Result<_, _>>()?;
        Ok(Engine { tools: compiled, lists: lists_of(tools), format, truncate: guardrails.truncation })
    }

    /// Answers one call.
    pub fn call(&self, world: &mut World, call: &ToolCall) -> Answer {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == call.tool) else {
            let available = self.tools.iter().map(|tool| tool.name.clone()).collect();
            return self.fail(Failure::Routing(Routing::UnknownTool { tool: call.tool.clone(), available }), None);
        };
        let action = match resolve(tool, &call.arguments) {
            Ok(action) => action,
            Err(failure) => return self.fail(failure, Some(tool)),
        };
        if !action.input.accepts(&call.arguments) {
            let issues = action.input.issues(&call.arguments);
            let failure = Failure::Validation { tool: tool.name.clone(), action: action.action.name.clone(), issues };
            return self.fail(failure, Some(tool));
        }
        let leaked_fields = action.input.undeclared(&call.arguments);
        if let Some(fault) = world.strike(&tool.name, &action.action.name) {
            return self.fail(Failure::Fault(fault), Some(tool));
        }
        let arguments = without_discriminator(&call.arguments, tool.discriminator.as_deref());
        let before = world.changes();
        let answer = match run(&action.action, &self.lists, world, &arguments) {
            Err(failure) => return self.fail(Failure::Tool(failure), Some(tool)),
            Ok(reply) => self.succeed(action, &reply),
        };
        Answer { leaked_fields, world_changed: world.changes() != before, ..answer }
    }

    fn succeed(&self, action: &CompiledAction, reply: &Reply) -> Answer {
        let (content, omitted_rows, teaching_block) = match reply {
            Reply::Value(Value::String(text)) => (vec![text.clone()], 0, None),
            Reply::Value(value) => (vec![value.to_string()], 0, None),
            Reply::Rows(rows) => {
                let presented = present(&action.action, action.presenter.as_ref(), rows, self.truncate);
                (presented.content, presented.omitted, presented.teaching)
            }
        };
        Answer {
            response: ToolResponse { content, is_error: false },
            failure: None,
            names_fields: false,
            leaked_fields: 0,
            omitted_rows,
            teaching_block,
            contract_deltas: 0,
            world_changed: false,
        }
    }

    fn fail(&self, failure: Failure, tool: Option<&CompiledTool>) -> Answer {
        let mut text = render(&failure, self.format);
        let mut contract_deltas = 0;
        if let (Failure::Validation { action, .. }, Some(tool)) = (&failure, tool) {
            text = tool.enhancer.enhance(text, action);
            contract_deltas = tool.enhancer.delta_count(action);
        }
        let is_error = match &failure {
            Failure::Tool(failure) | Failure::Fault(failure) => failure.severity != Severity::Warning,
            Failure::Routing(_) | Failure::Validation { .. } => true,
        };
        Answer {
            response: ToolResponse { content: vec![text], is_error },
            names_fields: self.format != ErrorFormat::Bare && !failure.fields().is_empty(),
            failure: Some(failure),
            leaked_fields: 0,
            omitted_rows: 0,
            teaching_block: None,
            contract_deltas,
            world_changed: false,
        }
    }
}

fn compile_tool(tool: &Tool, guardrails: Guardrails, style: BlockStyle) -> Result<CompiledTool, CompileError> {
    let compile = |action: &Action| {
        let discriminator = tool.discriminator.as_deref().map(|field| (field, action.name.as_str()));
        let input = InputSchema::compile(&action.input, discriminator, guardrails.strict)
            .map_err(|source| CompileError { tool: tool.name.clone(), action: action.name.clone(), source })?;
        Ok(CompiledAction { action: action.clone(), input, presenter: action.presenter.clone() })
    };
    let enhancer = match &tool.previous {
        Some(previous) if guardrails.contract => {
            let diff = diff_contracts(previous, tool);
            let config = SelfHealingConfig::new(BTreeMap::from([(tool.name.clone(), diff)]));
            tool_enhancer(&tool.name, tool.actions.iter().map(|action| action.name.as_str()), &config, style)
        }
        _ => Enhancer::Identity,
    };
    Ok(CompiledTool {
        name: tool.name.clone(),
        discriminator: tool.discriminator.clone(),
        actions: tool.actions.iter().map(compile).collect::<Result<_, _>>()?,
        enhancer,
    })
}

fn resolve<'a>(tool: &'a CompiledTool, arguments: &Value) -> Result<&'a CompiledAction, Failure> {
    let Some(object) = arguments.as_object() else {
        let issue = Issue {
            path: String::new(),
            sent: Some(arguments.clone()),
            kind: IssueKind::WrongType { expected: Expected::Types(vec!["object".to_owned()]) },
        };
        return Err(Failure::Validation {
            tool: tool.name.clone(),
            // No action can be read from such arguments.
            action: tool.name.clone(),
            issues: vec![issue],
        });
    };
    let available = || tool.actions.iter().map(|action| action.action.name.clone()).collect();
    match &tool.discriminator {
        None => tool.actions.first().ok_or_else(|| {
            Failure::Routing(Routing::UnknownAction { action: tool.name.clone(), available: Vec::new() })
        }),
        Some(field) => match object.get(field).and_then(Value::as_str) {
            None => {
                Err(Failure::Routing(Routing::MissingDiscriminator { field: field.clone(), available: available() }))
            }
            Some(name) => tool.actions.iter().find(|action| action.action.name == name).ok_or_else(|| {
                Failure::Routing(Routing::UnknownAction { action: name.to_owned(), available: available() })
            }),
        },
    }
}

fn without_discriminator(arguments: &Value, discriminator: Option<&str>) -> Object {
    let mut arguments = arguments.as_object().cloned().unwrap_or_default();
    if let Some(field) = discriminator {
        arguments.shift_remove(field);
    }
    arguments
}
