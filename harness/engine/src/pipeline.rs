//! One call, from the discriminator to the response: parse, resolve, validate, run, present. Everything that can be decided
//! without the call is decided when the engine is made.

use std::collections::BTreeMap;

use healbench_protocol::{ErrorFormat, Guardrails, Object, ToolCall, ToolResponse};
use serde_json::Value;

use crate::contract::{
    Block, BlockStyle, Enhance, Enhancer, SelfHealingConfig, ToolContract, diff_contracts, tool_enhancer,
};
use crate::definition::{Action, Handler, Presenter, Tool, ToolFailure};
use crate::failure::{Expected, Failure, Issue, IssueKind, Routing};
use crate::handler::{Arguments, Reply, lists_of, run};
use crate::presenter::present;
use crate::render::{ActionFacts, TemplateError, Told, Writer, bare_line};
use crate::schema::{InputSchema, RowSchema, SchemaError};
use crate::world::World;

/// Answers calls, under one set of guardrails and in one error format.
///
/// What becomes of a validation error is `E`'s business: [`Enhancer`] decides it when the engine is made, and
/// [`Identity`](crate::contract::Identity) when the program is built.
#[derive(Debug)]
pub struct Engine<E = Enhancer> {
    tools: Vec<CompiledTool<E>>,
    /// Actions that list a table, for failures that point to them.
    lists: Vec<(String, String)>,
    writer: Writer,
    truncate: bool,
}

#[derive(Debug)]
struct CompiledTool<E> {
    name: String,
    discriminator: Option<String>,
    actions: Vec<CompiledAction>,
    enhancer: E,
}

#[derive(Debug)]
struct CompiledAction {
    action: Action,
    input: InputSchema,
    /// The presenter to use: none where the action has none.
    presenter: Option<Presenter>,
    /// What the rows of a list have to fit.
    egress: Option<RowSchema>,
    facts: ActionFacts,
}

/// Why an engine cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// A tool's input schema cannot be used.
    #[error("tool `{tool}`, action `{action}`: {source}")]
    Schema {
        /// The tool.
        tool: String,
        /// The action.
        action: String,
        /// What is wrong with its schema.
        source: SchemaError,
    },
    /// The error format's template cannot be used.
    #[error(transparent)]
    Template(#[from] TemplateError),
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
    /// [`CompileError`] when an input schema or a template does not compile.
    pub fn new(tools: &[Tool], guardrails: Guardrails, format: &ErrorFormat) -> Result<Engine, CompileError> {
        Engine::with_enhancers(tools, guardrails, format, |tool, style| contract_enhancer(tool, guardrails, style))
    }
}

impl<E: Enhance> Engine<E> {
    /// As [`Engine::new`], with enhancers of the caller's own, one a tool: `contract` of the guardrails says nothing here.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn with_enhancers(
        tools: &[Tool],
        guardrails: Guardrails,
        format: &ErrorFormat,
        enhancer: impl Fn(&Tool, BlockStyle) -> E,
    ) -> Result<Engine<E>, CompileError> {
        let writer = Writer::new(if guardrails.healing { format } else { &ErrorFormat::Bare })?;
        let compile = |tool| compile_tool(tool, guardrails, &writer, enhancer(tool, writer.block_style()));
        let compiled = tools.iter().map(compile).collect::<Result<_, _>>()?;
        Ok(Engine { tools: compiled, lists: lists_of(tools), writer, truncate: guardrails.truncation })
    }

    /// Answers one call.
    pub fn call(&self, world: &mut World, call: &ToolCall) -> Answer {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == call.tool) else {
            let available = self.tools.iter().map(|tool| tool.name.clone()).collect();
            let failure = Routing::UnknownTool { tool: call.tool.clone(), available };
            return self.fail(Failure::Routing(failure), call, Called { tool: None, action: None });
        };
        let Some(object) = call.arguments.as_object() else {
            return self.fail(not_an_object(tool, &call.arguments), call, Called { tool: Some(tool), action: None });
        };
        let action = match resolve(tool, object) {
            Ok(action) => action,
            Err(failure) => return self.fail(failure, call, Called { tool: Some(tool), action: None }),
        };
        let called = Called { tool: Some(tool), action: Some(action) };
        if !action.input.accepts(&call.arguments) {
            let issues = action.input.issues(&call.arguments);
            let failure = Failure::Validation { tool: tool.name.clone(), action: action.action.name.clone(), issues };
            return self.fail(failure, call, called);
        }
        let leaked_fields = action.input.undeclared(&call.arguments);
        if let Some(fault) = world.strike(&tool.name, &action.action.name) {
            return self.fail(Failure::Fault(fault), call, called);
        }
        let arguments = Arguments { object, discriminator: tool.discriminator.as_deref() };
        let before = world.changes();
        let answer = match run(&action.action, &self.lists, world, arguments) {
            Err(failure) => return self.fail(failure.into(), call, called),
            Ok(reply) => match self.succeed(action, &reply) {
                Err(failure) => return self.fail(failure.into(), call, called),
                Ok(answer) => answer,
            },
        };
        Answer { leaked_fields, world_changed: world.changes() != before, ..answer }
    }

    fn succeed(&self, action: &CompiledAction, reply: &Reply) -> Result<Answer, ToolFailure> {
        let (content, omitted_rows, teaching_block) = match reply {
            Reply::Constant(Value::String(text)) => (vec![text.clone()], 0, None),
            Reply::Constant(value) => (vec![value.to_string()], 0, None),
            // Rows have texts for keys, so they are JSON.
            Reply::Row(row) => (vec![serde_json::to_string(row).unwrap_or_default()], 0, None),
            Reply::Deleted(key) => (vec![format!("{{\"deleted\":{key}}}")], 0, None),
            Reply::Rows(rows) => {
                let (presenter, egress) = (action.presenter.as_ref(), action.egress.as_ref());
                let presented = present(&action.action, presenter, egress, rows, self.truncate)?;
                (presented.content, presented.omitted, presented.teaching)
            }
        };
        Ok(Answer {
            response: ToolResponse { content, is_error: false },
            failure: None,
            names_fields: false,
            leaked_fields: 0,
            omitted_rows,
            teaching_block,
            contract_deltas: 0,
            world_changed: false,
        })
    }

    fn fail(&self, failure: Failure, call: &ToolCall, called: Called<'_, E>) -> Answer {
        let enhancer = match (&failure, called.tool) {
            (Failure::Validation { action, .. }, Some(tool)) => Some((&tool.enhancer, action.as_str())),
            _ => None,
        };
        let block = enhancer.and_then(|(enhancer, action)| enhancer.block(action));
        let deltas = block.as_deref().map_or(&[][..], Block::deltas);
        let mut text = self.writer.write(&Told {
            failure: &failure,
            arguments: &call.arguments,
            tool: called.tool.map(|tool| tool.name.as_str()),
            discriminator: called.tool.and_then(|tool| tool.discriminator.as_deref()),
            action: called.action.map(|action| &action.facts),
            deltas,
            spare: block.as_deref().map_or(0, Block::len),
        });
        let names_fields = self.writer.names_fields(&failure, &text);
        let contract_deltas = u32::try_from(deltas.len()).unwrap_or(u32::MAX);
        if let Some((enhancer, _)) = enhancer {
            text = enhancer.put(block, text);
        }
        let is_error = match &failure {
            Failure::Tool(failure) | Failure::Fault(failure) => failure.is_error(),
            Failure::Routing(_) | Failure::Validation { .. } => true,
        };
        Answer {
            response: ToolResponse { content: vec![text], is_error },
            names_fields,
            failure: Some(failure),
            leaked_fields: 0,
            omitted_rows: 0,
            teaching_block: None,
            contract_deltas,
            world_changed: false,
        }
    }
}

/// How far a call came.
struct Called<'a, E> {
    tool: Option<&'a CompiledTool<E>>,
    action: Option<&'a CompiledAction>,
}

fn compile_tool<E>(
    tool: &Tool,
    guardrails: Guardrails,
    writer: &Writer,
    enhancer: E,
) -> Result<CompiledTool<E>, CompileError> {
    let compile = |action: &Action| -> Result<CompiledAction, CompileError> {
        let discriminator = tool.discriminator.as_deref().map(|field| (field, action.name.as_str()));
        let failed = |source| CompileError::Schema { tool: tool.name.clone(), action: action.name.clone(), source };
        let input = InputSchema::compile(&action.input, discriminator, guardrails.strict).map_err(failed)?;
        // Only lists are presented.
        let is_list = matches!(action.handler, Handler::Select { .. });
        let shape = action.presenter.as_ref().filter(|_| is_list).and_then(|presenter| presenter.egress.as_ref());
        let egress = shape.map(RowSchema::compile).transpose().map_err(failed)?;
        let facts = writer.facts(tool, action);
        Ok(CompiledAction { action: action.clone(), input, presenter: action.presenter.clone(), egress, facts })
    };
    Ok(CompiledTool {
        name: tool.name.clone(),
        discriminator: tool.discriminator.clone(),
        actions: tool.actions.iter().map(compile).collect::<Result<_, _>>()?,
        enhancer,
    })
}

/// What the contract guardrail has to tell of a tool.
fn contract_enhancer(tool: &Tool, guardrails: Guardrails, style: BlockStyle) -> Enhancer {
    match &tool.previous {
        Some(previous) if guardrails.contract => {
            let diff = diff_contracts(&ToolContract::of(previous), &ToolContract::of(tool));
            let config = SelfHealingConfig::new(BTreeMap::from([(tool.name.clone(), diff)]));
            tool_enhancer(&tool.name, tool.actions.iter().map(|action| action.name.as_str()), &config, style)
        }
        _ => Enhancer::Identity,
    }
}

fn not_an_object<E>(tool: &CompiledTool<E>, arguments: &Value) -> Failure {
    let issue = Issue {
        path: String::new(),
        sent: Some(arguments.clone()),
        kind: IssueKind::WrongType { expected: Expected::Types(vec!["object".to_owned()]) },
    };
    // No action can be read from such arguments.
    Failure::Validation { tool: tool.name.clone(), action: tool.name.clone(), issues: vec![issue] }
}

/// Whether a discriminator names an action at all: as in the original, `null`, `false`, 0 and an empty text are none.
fn says_something(sent: &Value) -> bool {
    match sent {
        Value::Null => false,
        Value::Bool(sent) => *sent,
        Value::Number(sent) => sent.as_f64() != Some(0.0),
        Value::String(sent) => !sent.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

fn resolve<'a, E>(tool: &'a CompiledTool<E>, arguments: &Object) -> Result<&'a CompiledAction, Failure> {
    let available = || tool.actions.iter().map(|action| action.action.name.clone()).collect();
    match &tool.discriminator {
        None => tool.actions.first().ok_or_else(|| {
            Failure::Routing(Routing::UnknownAction { action: tool.name.clone(), available: Vec::new() })
        }),
        Some(field) => {
            let sent = arguments.get(field);
            let name = sent.and_then(Value::as_str);
            if let Some(action) = tool.actions.iter().find(|action| Some(action.action.name.as_str()) == name) {
                return Ok(action);
            }
            Err(Failure::Routing(match sent.filter(|sent| says_something(sent)) {
                None => Routing::MissingDiscriminator { field: field.clone(), available: available() },
                Some(sent) => {
                    let action = name.map_or_else(|| sent.to_string(), str::to_owned);
                    Routing::UnknownAction { action, available: available() }
                }
            }))
        }
    }
}
