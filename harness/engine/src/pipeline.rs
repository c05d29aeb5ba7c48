//! The guardrails in front of a session: route, validate, inject faults, let the session answer, present. Everything
//! that does not depend on the call is computed when the engine is created.

use std::borrow::Cow;
use std::collections::BTreeMap;

use healbench_core::{
    CallResult, Content, Deadline, DomainErrors, EnvironmentError, ErrorFormat, Guardrails, Object, ReplyOutcome,
    Session, ToolCall, ToolSpec, Undeclared,
};
use serde_json::Value;

use crate::compile::{
    CompileError, CompiledAction, CompiledTool, ToolSchemas, compile_spec, compile_tools, contract_enhancer,
    enhancers_of_removed_tools,
};
use crate::contract::{Block, BlockStyle, ContractAwareness, Enhance, Enhancer};
use crate::definition::{Code, FaultKind, Tool, ToolFailure};
use crate::failure::{Expected, Failure, Issue, IssueKind, Routing};
use crate::faults::Faults;
use crate::foreign::{self, ForeignSettings};
use crate::handler::is_truthy;
use crate::outcome::{FailedCall, FailureText, NoSuccess, Success};
use crate::presenter::{present, rows_text};
use crate::render::{ContentLevel, FormatRenderer, RenderInput, bare_line, excerpt_text};
use crate::reply::{GuardedReply, Refusal};
use crate::schema::UndeclaredFields;
use crate::simulator::{Handlers, SimulatorSession};
use crate::world::World;

/// The guardrails of one condition, in front of any session.
///
/// `E` decides what is added to validation errors: [`Enhancer`] at run time, when the engine is created, and
/// [`Identity`](crate::contract::Identity) at compile time.
#[derive(Debug)]
pub struct Engine<E = Enhancer> {
    pipeline: Pipeline,
    /// One for each tool, in the same order.
    enhancers: Vec<E>,
    /// For errors about tools that no longer exist, by name.
    removed: BTreeMap<String, E>,
    /// The handlers of the simulator, for [`Engine::call`]; none for a server.
    handlers: Handlers,
}

/// The part of an engine that does not depend on the enhancer type, so that its code and memory are the same for all of
/// them.
#[derive(Debug)]
struct Pipeline {
    tools: Vec<CompiledTool>,
    renderer: FormatRenderer,
    truncate: bool,
    undeclared: Undeclared,
    domain_errors: DomainErrors,
    /// The facts that texts of failures state; `None` for those that the format states by itself.
    content: Option<ContentLevel>,
    /// The guardrails for a server's own results; `None` in front of the simulator.
    server: Option<ServerGuardrails>,
}

/// The guardrails in front of a server that a simulator does not need.
#[derive(Debug, Clone, Copy)]
struct ServerGuardrails {
    settings: ForeignSettings,
    /// True if calls are validated; otherwise every call is passed on.
    strict: bool,
    /// True if refusals are formatted.
    healing: bool,
}

impl Engine {
    /// Compiles `tools`. With `healing` off, every failure is one bare line and `format` is ignored.
    ///
    /// # Errors
    /// [`CompileError`] if an input schema or the template does not compile.
    pub fn new(tools: &[Tool], guardrails: Guardrails, format: &ErrorFormat) -> Result<Engine, CompileError> {
        let awareness = ContractAwareness::default();
        Engine::with_schemas(tools, &ToolSchemas::compile(tools)?, guardrails, format, &awareness)
    }

    /// Like [`Engine::new`], with the compiled schemas of the tools, the contracts that agents know and the changes to show.
    ///
    /// # Errors
    /// [`CompileError::Template`].
    pub fn with_schemas(
        tools: &[Tool],
        schemas: &ToolSchemas,
        guardrails: Guardrails,
        format: &ErrorFormat,
        awareness: &ContractAwareness,
    ) -> Result<Engine, CompileError> {
        let enhancer = |tool: &Tool, style| contract_enhancer(tool, guardrails, awareness, style);
        let mut engine = Engine::of_tools(tools, schemas, guardrails, format, enhancer)?;
        let style = engine.pipeline.renderer.block_style();
        engine.removed = enhancers_of_removed_tools(tools, guardrails, awareness, style);
        Ok(engine)
    }

    /// Compiles the guardrails in front of a server with these tools. A tool whose schema does not compile is not
    /// validated. `contract` has no effect, because the server's earlier contract is not known.
    ///
    /// # Errors
    /// [`CompileError::Template`].
    pub fn for_server(
        tools: &[ToolSpec],
        guardrails: Guardrails,
        format: &ErrorFormat,
        settings: ForeignSettings,
    ) -> Result<Engine, CompileError> {
        let renderer = FormatRenderer::new(if guardrails.healing { format } else { &ErrorFormat::Bare })?;
        let compiled = tools.iter().map(|spec| compile_spec(spec, &renderer)).collect();
        let server = Some(ServerGuardrails { settings, strict: guardrails.strict, healing: guardrails.healing });
        Ok(Engine {
            pipeline: Pipeline {
                tools: compiled,
                renderer,
                truncate: guardrails.truncation,
                undeclared: Undeclared::of(guardrails),
                domain_errors: DomainErrors::default(),
                content: None,
                server,
            },
            enhancers: tools.iter().map(|_| Enhancer::Identity).collect(),
            removed: BTreeMap::new(),
            handlers: Handlers::new(&[]),
        })
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
        Engine::of_tools(tools, &ToolSchemas::compile(tools)?, guardrails, format, enhancer)
    }

    fn of_tools(
        tools: &[Tool],
        schemas: &ToolSchemas,
        guardrails: Guardrails,
        format: &ErrorFormat,
        enhancer: impl Fn(&Tool, BlockStyle) -> E,
    ) -> Result<Engine<E>, CompileError> {
        let renderer = FormatRenderer::new(if guardrails.healing { format } else { &ErrorFormat::Bare })?;
        let enhancers = tools.iter().map(|tool| enhancer(tool, renderer.block_style())).collect();
        let pipeline = Pipeline {
            tools: compile_tools(tools, schemas, &renderer),
            renderer,
            truncate: guardrails.truncation,
            undeclared: Undeclared::of(guardrails),
            domain_errors: DomainErrors::default(),
            content: None,
            server: None,
        };
        Ok(Engine { pipeline, enhancers, removed: BTreeMap::new(), handlers: Handlers::new(tools) })
    }

    /// Sets what becomes of undeclared fields.
    #[must_use]
    pub fn with_undeclared(mut self, undeclared: Undeclared) -> Engine<E> {
        self.pipeline.undeclared = undeclared;
        self
    }

    /// Sets the facts that texts of domain errors state.
    #[must_use]
    pub fn with_domain_errors(mut self, domain_errors: DomainErrors) -> Engine<E> {
        self.pipeline.domain_errors = domain_errors;
        self
    }

    /// Sets the facts that texts of failures state. `count_tokens` measures the texts that a placebo is as long as.
    #[must_use]
    pub fn with_content(mut self, content: Content, count_tokens: fn(&str) -> u32) -> Engine<E> {
        self.pipeline.content = (!content.is_native()).then_some(ContentLevel { content, count_tokens });
        self
    }

    /// Runs one call in a simulated environment and returns the reply. A failed call is a reply too.
    pub fn call(&self, world: &mut World, call: &ToolCall) -> GuardedReply {
        let World { tables, faults } = world;
        let mut session = SimulatorSession::new(&self.handlers, None, tables);
        match self.answer(&mut session, faults, call, Deadline::NONE) {
            Ok(reply) => reply,
            Err(error) => unreachable!("the simulator always replies: {error}"),
        }
    }

    /// Passes one call through the guardrails to a session and returns the reply. A failed call is a reply too.
    ///
    /// # Errors
    /// [`EnvironmentError`] if the session gave no reply.
    pub fn answer<S: Session + ?Sized>(
        &self,
        session: &mut S,
        faults: &mut Faults,
        call: &ToolCall,
        deadline: Deadline,
    ) -> Result<GuardedReply, EnvironmentError> {
        match self.pipeline.run(session, faults, call, deadline) {
            Ok(success) => Ok(success.into_reply()),
            Err(NoSuccess::Failed(failed)) => Ok(self.fail(failed, call)),
            Err(NoSuccess::NoReply(error)) => Err(error),
        }
    }

    /// Renders a failed call. Kept out of line, so that a successful call is the same code with any enhancer, and free
    /// of block handling, so that only the enhancer's own code runs between rendering and replying.
    #[inline(never)]
    fn fail(&self, failed: FailedCall<'_>, call: &ToolCall) -> GuardedReply {
        let changed = match (&failed.failure, failed.tool) {
            (
                Failure::Validation { action, .. } | Failure::Routing(Routing::UnknownAction { action, .. }),
                Some(tool),
            ) => Some((&self.enhancers[tool], action)),
            (Failure::Routing(Routing::UnknownTool { tool, .. }), _) => {
                self.removed.get(tool).map(|enhancer| (enhancer, tool))
            }
            _ => None,
        };
        let Some((enhancer, action)) = changed else {
            return self.pipeline.render_failure(&failed, call, None).into_reply(failed, 0);
        };
        if let Some(block) = enhancer.block(action) {
            return self.fail_with(block, enhancer, failed, call);
        }
        let mut rendered = self.pipeline.render_failure(&failed, call, None);
        rendered.text = enhancer.put(None, rendered.text);
        rendered.into_reply(failed, 0)
    }

    #[inline(never)]
    fn fail_with(&self, block: Cow<'_, Block>, enhancer: &E, failed: FailedCall<'_>, call: &ToolCall) -> GuardedReply {
        let mut rendered = self.pipeline.render_failure(&failed, call, Some(&block));
        let deltas = u32::try_from(block.deltas().len()).unwrap_or(u32::MAX);
        if let Some(level) = self.pipeline.content {
            // The statement holds the changes.
            return rendered.into_reply(failed, if level.shows_advice() { deltas } else { 0 });
        }
        rendered.text = enhancer.put(Some(block), rendered.text);
        rendered.into_reply(failed, deltas)
    }
}

impl Pipeline {
    /// Runs a call until it succeeds or fails.
    #[inline(never)]
    fn run<'a, S: Session + ?Sized>(
        &'a self,
        session: &mut S,
        faults: &mut Faults,
        call: &ToolCall,
        deadline: Deadline,
    ) -> Result<Success, NoSuccess<'a>> {
        let Accepted { tool, action, leaked_fields, stripped } = self.accept(call)?;
        let call = stripped.as_ref().unwrap_or(call);
        let failed = |failure| FailedCall::new(failure, tool, action);
        let name = action.map_or("", |action| &action.action.name);
        if action.is_some() {
            let called_at_s = faults.elapsed_s();
            let injected = faults.inject(&call.tool, name);
            let passed_s = faults.elapsed_s() - called_at_s;
            if passed_s > 0 {
                session.wait(u32::try_from(passed_s).unwrap_or(u32::MAX));
            }
            if let Some((kind, fault)) = injected {
                faults.note_delay(&call.tool, name, fault.retry_after);
                return Err(failed(Failure::Fault(fault)).struck_by(kind).into());
            }
        }
        let mut struck = None;
        let reply = match faults.may_strike(&call.tool, name) {
            false => session.call(call, deadline),
            true => session.call_with_fault(call, deadline, &mut |state_changed| {
                let (at, strike, failure) = faults.strike(&call.tool, name, state_changed)?;
                struck = Some((at, strike.kind, failure));
                Some(strike)
            }),
        };
        let reply = reply.map_err(NoSuccess::NoReply)?;
        let struck = struck.and_then(|(at, kind, failure)| match reply.struck {
            true => Some((kind, failure)),
            false => {
                faults.take_back(at);
                None
            }
        });
        if let Some(seconds) = action.and_then(|action| action.action.handler.waits(call.object()?)) {
            faults.wait(seconds);
        }
        let state_changed = reply.state_changed;
        if let Some((FaultKind::TimeoutAfter, failure)) = struck {
            faults.note_delay(&call.tool, name, failure.retry_after);
            let failed = FailedCall { state_changed, ..failed(Failure::Fault(failure)) };
            return Err(failed.struck_by(FaultKind::TimeoutAfter).into());
        }
        let fault = struck.map(|(kind, _)| kind);
        // A result that cannot be shown was executed nevertheless.
        let not_shown = |failure: ToolFailure| FailedCall { fault, state_changed, ..failed(failure.into()) };
        let success = match reply.outcome {
            ReplyOutcome::Text(text) => present_text(action, text).map_err(not_shown)?,
            ReplyOutcome::Rows(rows) => self.present_rows(action, &rows).map_err(not_shown)?,
            ReplyOutcome::Failed(failure) => {
                faults.note_delay(&call.tool, name, failure.retry_after);
                return Err(FailedCall { fault, ..failed(failure.into()) }.into());
            }
            ReplyOutcome::Foreign(result) => {
                let schema = action.map(|action| &action.action.input);
                if result.is_refusal() {
                    let text = result.shown().join("\n\n");
                    let named_properties = schema.map_or(Vec::new(), |schema| foreign::named_properties(&text, schema));
                    let refusal = Some(Box::new(Refusal { text, named_properties }));
                    let failure = Failure::Tool(foreign::failure(&result));
                    let unchanged = self.passes_refusals().then(|| Box::new(result));
                    return Err(FailedCall { state_changed, refusal, unchanged, ..failed(failure) }.into());
                }
                let presented = self.present_result(&result, schema);
                let structured = result.structured.clone();
                let unchanged = presented.truncation_notice.is_none().then(|| Box::new(result));
                Success { structured, unchanged, ..presented }
            }
        };
        let mut success = Success { leaked_fields, state_changed, fault, ..success };
        if let Some(warning) = action.and_then(|action| action.warning.as_ref()) {
            success.content.push(self.render(warning, tool, action, call, None));
        }
        Ok(success)
    }

    /// Routes and validates a call.
    fn accept<'a>(&'a self, call: &ToolCall) -> Result<Accepted<'a>, FailedCall<'a>> {
        let position = self.tools.iter().position(|tool| tool.name == call.tool);
        // A call of a server is not validated without `strict`; undeclared fields can still be stripped.
        let is_validated = self.server.is_none_or(|server| server.strict);
        let Some(index) = position else {
            if self.server.is_some() {
                return Ok(Accepted { tool: None, action: None, leaked_fields: None, stripped: None });
            }
            let available = self.tools.iter().map(|tool| tool.name.clone()).collect();
            let failure = Routing::UnknownTool { tool: excerpt_text(&call.tool).into_owned(), available };
            return Err(FailedCall::new(Failure::Routing(failure), None, None));
        };
        let tool = &self.tools[index];
        let accepted = |action| Accepted { tool: Some(index), action, leaked_fields: None, stripped: None };
        if !is_validated && (self.undeclared != Undeclared::Strip || !call.arguments.is_object()) {
            return Ok(accepted(tool.actions.first()));
        }
        let failed = |failure, action| FailedCall::new(failure, Some(index), action);
        let Some(object) = call.arguments.as_object() else {
            return Err(failed(not_an_object(tool, &call.arguments), None));
        };
        let action = resolve(tool, object).map_err(|failure| failed(failure, None))?;
        let Some(input) = &action.schemas.input else { return Ok(accepted(Some(action))) };
        let invalid = || {
            let issues = input.issues(&call.arguments, self.undeclared);
            let (tool, name) = (tool.name.clone(), action.action.name.clone());
            failed(Failure::Validation { tool, action: name, issues }, Some(action))
        };
        if is_validated && !input.accepts(&call.arguments) {
            return Err(invalid());
        }
        let undeclared = input.undeclared(&call.arguments);
        let is_counted = self.server.is_none();
        let (leaked, stripped) = match self.undeclared {
            _ if undeclared.is_empty() => (0, None),
            policy if undeclared.iter().any(|fields| fields.fail(policy)) => return Err(invalid()),
            Undeclared::Reject | Undeclared::RejectArguments | Undeclared::Strip => {
                let arguments = UndeclaredFields::strip(&undeclared, &call.arguments);
                (0, Some(ToolCall::new(&call.tool, arguments)))
            }
            Undeclared::Pass => (UndeclaredFields::count(&undeclared), None),
        };
        Ok(Accepted { leaked_fields: is_counted.then_some(leaked), stripped, ..accepted(Some(action)) })
    }

    fn present_rows(&self, action: Option<&CompiledAction>, rows: &[&Object]) -> Result<Success, ToolFailure> {
        let Some(action) = action else { return Ok(Success::of_content(vec![rows_text(rows)])) };
        let (presenter, egress) = (action.presenter.as_ref(), action.schemas.egress.as_ref());
        let presented = present(&action.action, presenter, egress, rows, self.truncate)?;
        Ok(Success {
            omitted_rows: presented.omitted,
            truncation_notice: presented.truncation_notice,
            ..Success::of_content(presented.content)
        })
    }

    /// Presents the successful result of a server. Only truncation may change it.
    fn present_result(&self, result: &CallResult, schema: Option<&Value>) -> Success {
        let content = result.shown();
        let settings = self.server.filter(|_| self.truncate).map(|server| server.settings);
        match settings.and_then(|settings| foreign::shorten(&content, schema, &settings)) {
            None => Success::of_content(content),
            Some(shortened) => Success {
                omitted_rows: shortened.omitted,
                truncation_notice: Some(shortened.content.len() - 1),
                ..Success::of_content(shortened.content)
            },
        }
    }

    /// Renders the failure's text, with spare capacity for a block that is inserted later.
    #[inline(never)]
    fn render_failure(&self, failed: &FailedCall<'_>, call: &ToolCall, block: Option<&Block>) -> FailureText {
        if let Some(refusal) = failed.refusal.as_ref().filter(|_| self.passes_refusals()) {
            return FailureText { names_fields: false, text: refusal.text.clone() };
        }
        let text = self.render(&failed.failure, failed.tool, failed.action, call, block);
        FailureText { names_fields: self.renderer.names_fields(&failed.failure, &text, self.content), text }
    }

    /// Returns true if the refusals of a server are shown as they are.
    fn passes_refusals(&self) -> bool {
        self.server.is_some_and(|server| !server.healing)
    }

    fn render(
        &self,
        failure: &Failure,
        tool: Option<usize>,
        action: Option<&CompiledAction>,
        call: &ToolCall,
        block: Option<&Block>,
    ) -> String {
        let tool = tool.map(|tool| &self.tools[tool]);
        let limited = failure.limited_to(self.domain_errors);
        if limited.is_some() && self.domain_errors == DomainErrors::Bare {
            return bare_line(failure);
        }
        let input = RenderInput {
            failure: limited.as_ref().unwrap_or(failure),
            arguments: &call.arguments,
            numbers: call.numbers.as_deref(),
            tool: tool.map(|tool| tool.name.as_str()),
            discriminator: tool.and_then(|tool| tool.discriminator.as_deref()),
            action: action.map(|action| &action.doc),
            deltas: block.map_or(&[][..], Block::deltas),
            reserve: block.map_or(0, Block::len),
        };
        self.renderer.render(&input, self.content)
    }
}

/// A call that passed routing and validation.
struct Accepted<'a> {
    tool: Option<usize>,
    action: Option<&'a CompiledAction>,
    leaked_fields: Option<u32>,
    /// The call without its undeclared fields, if it had any to be stripped.
    stripped: Option<ToolCall>,
}

/// Presents a result that is not a list.
fn present_text(action: Option<&CompiledAction>, text: String) -> Result<Success, ToolFailure> {
    let Some(output) = action.and_then(|action| action.schemas.output.as_ref()) else {
        return Ok(Success::of_content(vec![text]));
    };
    let structured = serde_json::from_str(&text).ok().filter(|value| output.accepts(value)).ok_or_else(|| {
        ToolFailure::new(Code::InternalError, "The result does not fit the output schema of the tool.")
    })?;
    Ok(Success { structured: Some(structured), ..Success::of_content(vec![text]) })
}

fn not_an_object(tool: &CompiledTool, arguments: &Value) -> Failure {
    let kind = IssueKind::WrongType { expected: Expected::Types(vec!["object".to_owned()]) };
    let issue = Issue::new(String::new(), Some(arguments.clone()), kind);
    // Arguments that are not an object name no action.
    Failure::Validation { tool: tool.name.clone(), action: tool.name.clone(), issues: vec![issue] }
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
            Err(Failure::Routing(match sent.filter(|sent| is_truthy(sent)) {
                None => Routing::MissingDiscriminator { field: field.clone(), available: available() },
                Some(sent) => {
                    let action = name.map_or_else(|| Cow::Owned(sent.to_string()), Cow::Borrowed);
                    Routing::UnknownAction { action: excerpt_text(&action).into_owned(), available: available() }
                }
            }))
        }
    }
}
