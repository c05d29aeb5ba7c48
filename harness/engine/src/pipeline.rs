//! The processing of one call: parse, route, validate, run, present. Everything that does not depend on the call is
//! computed when the engine is created.

use std::borrow::Cow;
use std::collections::BTreeMap;

use healbench_protocol::{ErrorFormat, Guardrails, Object, ToolCall, ToolResponse};
use serde_json::Value;

use crate::contract::{
    Block, BlockStyle, Enhance, Enhancer, SelfHealingConfig, ToolContract, diff_contracts, tool_enhancer,
};
use crate::definition::{Action, Handler, Presenter, Tool, ToolFailure};
use crate::failure::{Expected, Failure, Issue, IssueKind, Routing};
use crate::handler::{Arguments, HandlerOutput, list_actions, run_action};
use crate::presenter::present;
use crate::render::{ActionDoc, FormatRenderer, RenderInput, TemplateError, bare_line};
use crate::schema::{InputSchema, RowSchema, SchemaError};
use crate::world::World;

/// Answers calls under one set of guardrails and in one error format.
///
/// `E` decides what is added to validation errors: [`Enhancer`] at run time, when the engine is created, and
/// [`Identity`](crate::contract::Identity) at compile time.
#[derive(Debug)]
pub struct Engine<E = Enhancer> {
    pipeline: Pipeline,
    /// One for each tool, in the same order.
    enhancers: Vec<E>,
}

/// The part of an engine that does not depend on the enhancer type, so that its code and memory are the same for all of
/// them.
#[derive(Debug)]
struct Pipeline {
    tools: Vec<CompiledTool>,
    /// The actions that list a table, for failures that suggest them.
    list_actions: Vec<(String, String)>,
    renderer: FormatRenderer,
    truncate: bool,
}

#[derive(Debug)]
struct CompiledTool {
    name: String,
    discriminator: Option<String>,
    actions: Vec<CompiledAction>,
}

#[derive(Debug)]
struct CompiledAction {
    action: Action,
    input: InputSchema,
    /// The action's presenter, if it has one.
    presenter: Option<Presenter>,
    /// The schema that the rows of a list must match.
    egress: Option<RowSchema>,
    doc: ActionDoc,
}

/// The reason why an engine cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// An input schema is invalid.
    #[error("tool `{tool}`, action `{action}`: {source}")]
    Schema {
        /// The tool.
        tool: String,
        /// The action.
        action: String,
        /// The problem with the schema.
        source: SchemaError,
    },
    /// The template of the error format is invalid.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

/// The reply to one call: the response, and data for the record that no agent is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatorReply {
    /// The response sent to the agent.
    pub response: ToolResponse,
    /// The reason why the call did not succeed; `None` if it did.
    pub failure: Option<Failure>,
    /// True if the failure's text names the failing fields.
    pub names_fields: bool,
    /// The number of undeclared fields that reached the world.
    pub leaked_fields: u32,
    /// The number of rows that truncation omitted.
    pub omitted_rows: u32,
    /// The index of the content block with the truncation notice.
    pub truncation_notice: Option<usize>,
    /// The number of contract deltas in the response.
    pub contract_deltas: u32,
    /// True if rows of the world changed.
    pub state_changed: bool,
}

impl SimulatorReply {
    /// Returns the line that a server without error handling would have sent for the failure.
    pub fn bare_line(&self) -> Option<String> {
        self.failure.as_ref().map(bare_line)
    }
}

impl Engine {
    /// Compiles `tools`. With `healing` off, every failure is one bare line and `format` is ignored.
    ///
    /// # Errors
    /// [`CompileError`] if an input schema or the template does not compile.
    pub fn new(tools: &[Tool], guardrails: Guardrails, format: &ErrorFormat) -> Result<Engine, CompileError> {
        Engine::with_enhancers(tools, guardrails, format, |tool, style| contract_enhancer(tool, guardrails, style))
    }
}

impl<E: Enhance> Engine<E> {
    /// Like [`Engine::new`], with one custom enhancer per tool; the guardrail `contract` is ignored.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn with_enhancers(
        tools: &[Tool],
        guardrails: Guardrails,
        format: &ErrorFormat,
        enhancer: impl Fn(&Tool, BlockStyle) -> E,
    ) -> Result<Engine<E>, CompileError> {
        let renderer = FormatRenderer::new(if guardrails.healing { format } else { &ErrorFormat::Bare })?;
        let enhancers = tools.iter().map(|tool| enhancer(tool, renderer.block_style())).collect();
        let compile = |tool| compile_tool(tool, guardrails, &renderer);
        let compiled = tools.iter().map(compile).collect::<Result<_, _>>()?;
        let pipeline =
            Pipeline { tools: compiled, list_actions: list_actions(tools), renderer, truncate: guardrails.truncation };
        Ok(Engine { pipeline, enhancers })
    }

    /// Runs one call on `world` and returns the reply. A failed call is a reply too.
    pub fn call(&self, world: &mut World, call: &ToolCall) -> SimulatorReply {
        match self.pipeline.run(world, call) {
            Ok(success) => success.into_reply(),
            Err(failed) => self.fail(failed, call),
        }
    }

    /// Renders a failed call. Kept out of line, so that a successful call is the same code with any enhancer, and free
    /// of block handling, so that only the enhancer's own code runs between rendering and replying.
    #[inline(never)]
    fn fail(&self, failed: FailedCall<'_>, call: &ToolCall) -> SimulatorReply {
        let (Failure::Validation { action, .. }, Some(tool)) = (&failed.failure, failed.tool) else {
            return self.pipeline.render_failure(&failed, call, None).into_reply(failed, 0);
        };
        let enhancer = &self.enhancers[tool];
        if let Some(block) = enhancer.block(action) {
            return self.fail_with(block, enhancer, failed, call);
        }
        let mut rendered = self.pipeline.render_failure(&failed, call, None);
        rendered.text = enhancer.put(None, rendered.text);
        rendered.into_reply(failed, 0)
    }

    #[inline(never)]
    fn fail_with(
        &self,
        block: Cow<'_, Block>,
        enhancer: &E,
        failed: FailedCall<'_>,
        call: &ToolCall,
    ) -> SimulatorReply {
        let mut rendered = self.pipeline.render_failure(&failed, call, Some(&block));
        let deltas = u32::try_from(block.deltas().len()).unwrap_or(u32::MAX);
        rendered.text = enhancer.put(Some(block), rendered.text);
        rendered.into_reply(failed, deltas)
    }
}

impl Pipeline {
    /// Runs a call until it succeeds or fails.
    #[inline(never)]
    fn run<'a>(&'a self, world: &mut World, call: &ToolCall) -> Result<Success, FailedCall<'a>> {
        let Some(index) = self.tools.iter().position(|tool| tool.name == call.tool) else {
            let available = self.tools.iter().map(|tool| tool.name.clone()).collect();
            let failure = Routing::UnknownTool { tool: call.tool.clone(), available };
            return Err(FailedCall { failure: Failure::Routing(failure), tool: None, action: None });
        };
        let tool = &self.tools[index];
        let failed = |failure, action| FailedCall { failure, tool: Some(index), action };
        let Some(object) = call.arguments.as_object() else {
            return Err(failed(not_an_object(tool, &call.arguments), None));
        };
        let action = resolve(tool, object).map_err(|failure| failed(failure, None))?;
        let failed = |failure| failed(failure, Some(action));
        if !action.input.accepts(&call.arguments) {
            let issues = action.input.issues(&call.arguments);
            let (tool, action) = (tool.name.clone(), action.action.name.clone());
            return Err(failed(Failure::Validation { tool, action, issues }));
        }
        let leaked_fields = action.input.count_undeclared(&call.arguments);
        if let Some(fault) = world.inject_fault(&tool.name, &action.action.name) {
            return Err(failed(Failure::Fault(fault)));
        }
        let arguments = Arguments { object, discriminator: tool.discriminator.as_deref() };
        let before = world.change_count();
        let output = run_action(&action.action, &self.list_actions, world, arguments)
            .map_err(|failure| failed(failure.into()))?;
        let success = self.build_success(action, &output).map_err(|failure| failed(failure.into()))?;
        Ok(Success { leaked_fields, state_changed: world.change_count() != before, ..success })
    }

    fn build_success(&self, action: &CompiledAction, output: &HandlerOutput) -> Result<Success, ToolFailure> {
        let (content, omitted_rows, truncation_notice) = match output {
            HandlerOutput::Constant(Value::String(text)) => (vec![text.clone()], 0, None),
            HandlerOutput::Constant(value) => (vec![value.to_string()], 0, None),
            // Serializing a map with string keys cannot fail.
            HandlerOutput::Row(row) => (vec![serde_json::to_string(row).unwrap_or_default()], 0, None),
            HandlerOutput::Deleted(key) => (vec![format!("{{\"deleted\":{key}}}")], 0, None),
            HandlerOutput::Rows(rows) => {
                let (presenter, egress) = (action.presenter.as_ref(), action.egress.as_ref());
                let presented = present(&action.action, presenter, egress, rows, self.truncate)?;
                (presented.content, presented.omitted, presented.truncation_notice)
            }
        };
        Ok(Success { content, leaked_fields: 0, omitted_rows, truncation_notice, state_changed: false })
    }

    /// Renders the failure's text, with spare capacity for a block that is inserted later.
    #[inline(never)]
    fn render_failure(&self, failed: &FailedCall<'_>, call: &ToolCall, block: Option<&Block>) -> FailureText {
        let tool = failed.tool.map(|tool| &self.tools[tool]);
        let text = self.renderer.render(&RenderInput {
            failure: &failed.failure,
            arguments: &call.arguments,
            tool: tool.map(|tool| tool.name.as_str()),
            discriminator: tool.and_then(|tool| tool.discriminator.as_deref()),
            action: failed.action.map(|action| &action.doc),
            deltas: block.map_or(&[][..], Block::deltas),
            reserve: block.map_or(0, Block::len),
        });
        FailureText { names_fields: self.renderer.names_fields(&failed.failure, &text), text }
    }
}

/// The result of a successful call.
struct Success {
    content: Vec<String>,
    leaked_fields: u32,
    omitted_rows: u32,
    truncation_notice: Option<usize>,
    state_changed: bool,
}

impl Success {
    fn into_reply(self) -> SimulatorReply {
        SimulatorReply {
            response: ToolResponse { content: self.content, is_error: false },
            failure: None,
            names_fields: false,
            leaked_fields: self.leaked_fields,
            omitted_rows: self.omitted_rows,
            truncation_notice: self.truncation_notice,
            contract_deltas: 0,
            state_changed: self.state_changed,
        }
    }
}

/// The failure of a call, and how far the call was resolved.
struct FailedCall<'a> {
    failure: Failure,
    /// The index of the tool.
    tool: Option<usize>,
    action: Option<&'a CompiledAction>,
}

/// The rendered text of a failure.
struct FailureText {
    text: String,
    /// True if the text names the failing fields.
    names_fields: bool,
}

impl FailureText {
    #[inline(never)]
    fn into_reply(self, failed: FailedCall<'_>, contract_deltas: u32) -> SimulatorReply {
        let is_error = match &failed.failure {
            Failure::Tool(failure) | Failure::Fault(failure) => failure.is_error(),
            Failure::Routing(_) | Failure::Validation { .. } => true,
        };
        SimulatorReply {
            response: ToolResponse { content: vec![self.text], is_error },
            failure: Some(failed.failure),
            names_fields: self.names_fields,
            leaked_fields: 0,
            omitted_rows: 0,
            truncation_notice: None,
            contract_deltas,
            state_changed: false,
        }
    }
}

fn compile_tool(tool: &Tool, guardrails: Guardrails, renderer: &FormatRenderer) -> Result<CompiledTool, CompileError> {
    let compile = |action: &Action| -> Result<CompiledAction, CompileError> {
        let discriminator = tool.discriminator.as_deref().map(|field| (field, action.name.as_str()));
        let failed = |source| CompileError::Schema { tool: tool.name.clone(), action: action.name.clone(), source };
        let input = InputSchema::compile(&action.input, discriminator, guardrails.strict).map_err(failed)?;
        // Only lists are presented.
        let is_list = matches!(action.handler, Handler::Select { .. });
        let row_schema = action.presenter.as_ref().filter(|_| is_list).and_then(|presenter| presenter.egress.as_ref());
        let egress = row_schema.map(RowSchema::compile).transpose().map_err(failed)?;
        let doc = renderer.action_doc(tool, action);
        Ok(CompiledAction { action: action.clone(), input, presenter: action.presenter.clone(), egress, doc })
    };
    Ok(CompiledTool {
        name: tool.name.clone(),
        discriminator: tool.discriminator.clone(),
        actions: tool.actions.iter().map(compile).collect::<Result<_, _>>()?,
    })
}

/// Creates the enhancer for the contract guardrail.
fn contract_enhancer(tool: &Tool, guardrails: Guardrails, style: BlockStyle) -> Enhancer {
    match &tool.previous {
        Some(previous) if guardrails.contract => {
            let diff = diff_contracts(&ToolContract::from_tool(previous), &ToolContract::from_tool(tool));
            let config = SelfHealingConfig::new(BTreeMap::from([(tool.name.clone(), diff)]));
            tool_enhancer(&tool.name, tool.actions.iter().map(|action| action.name.as_str()), &config, style)
        }
        _ => Enhancer::Identity,
    }
}

fn not_an_object(tool: &CompiledTool, arguments: &Value) -> Failure {
    let issue = Issue {
        path: String::new(),
        sent: Some(arguments.clone()),
        kind: IssueKind::WrongType { expected: Expected::Types(vec!["object".to_owned()]) },
    };
    // Arguments that are not an object name no action.
    Failure::Validation { tool: tool.name.clone(), action: tool.name.clone(), issues: vec![issue] }
}

/// Returns true if the discriminator selects an action: as in Fusion, `null`, `false`, 0 and an empty string do not.
fn names_action(sent: &Value) -> bool {
    match sent {
        Value::Null => false,
        Value::Bool(sent) => *sent,
        Value::Number(sent) => sent.as_f64() != Some(0.0),
        Value::String(sent) => !sent.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

fn resolve<'a>(tool: &'a CompiledTool, arguments: &Object) -> Result<&'a CompiledAction, Failure> {
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
            Err(Failure::Routing(match sent.filter(|sent| names_action(sent)) {
                None => Routing::MissingDiscriminator { field: field.clone(), available: available() },
                Some(sent) => {
                    let action = name.map_or_else(|| sent.to_string(), str::to_owned);
                    Routing::UnknownAction { action, available: available() }
                }
            }))
        }
    }
}
