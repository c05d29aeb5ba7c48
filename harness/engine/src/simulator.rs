//! The simulated environment: declared handlers that act on tables.

use std::borrow::BorrowMut;
use std::sync::Arc;

use healbench_core::{
    Capabilities, Deadline, Environment, EnvironmentError, EnvironmentKind, Reply, ReplyOutcome, Session, ToolCall,
    ToolSpec,
};
use serde_json::Value;

use crate::definition::{Action, Tool, ToolFailure};
use crate::handler::{Arguments, TableUses, run_action};
use crate::state_check::{StateCheck, StateChecks};
use crate::world::{Tables, WorldBase};

/// The simulated environment of a scenario: its tools and data.
#[derive(Debug)]
pub struct Simulator {
    handlers: Handlers,
    advertised: Vec<ToolSpec>,
    base: Arc<WorldBase>,
    checks: StateChecks,
}

impl Simulator {
    /// Creates a simulator of `tools` with the initial state `base`. `checks` are the expectations on the final state.
    pub fn new(tools: &[Tool], base: Arc<WorldBase>, checks: impl IntoIterator<Item = StateCheck>) -> Simulator {
        Simulator {
            handlers: Handlers::new(tools),
            advertised: tools.iter().map(Tool::advertised).collect(),
            checks: StateChecks::new(checks, base.def()),
            base,
        }
    }
}

impl Environment for Simulator {
    fn kind(&self) -> EnvironmentKind {
        EnvironmentKind::Simulator
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { deterministic: true, state_is_cheap: true, call_timeout: None }
    }

    fn tools(&self) -> &[ToolSpec] {
        &self.advertised
    }

    fn open(&self) -> Result<Box<dyn Session + '_>, EnvironmentError> {
        let tables = Tables::new(Arc::clone(&self.base));
        Ok(Box::new(SimulatorSession { handlers: &self.handlers, checks: Some(&self.checks), tables }))
    }
}

/// A session of a [`Simulator`], which owns its tables or borrows them.
#[derive(Debug)]
pub(crate) struct SimulatorSession<'a, T> {
    pub(crate) handlers: &'a Handlers,
    pub(crate) checks: Option<&'a StateChecks>,
    pub(crate) tables: T,
}

impl<T: BorrowMut<Tables>> Session for SimulatorSession<'_, T> {
    fn call<'s>(&'s mut self, call: &ToolCall, _: Deadline) -> Result<Reply<'s>, EnvironmentError> {
        Ok(self.handlers.run(self.tables.borrow_mut(), call))
    }

    fn is_pristine(&self) -> bool {
        self.tables.borrow().is_pristine()
    }

    fn check(&mut self, _: Deadline) -> Result<Vec<bool>, EnvironmentError> {
        Ok(self.checks.map(|checks| checks.results(self.tables.borrow())).unwrap_or_default())
    }
}

/// The handlers of some tools.
#[derive(Debug)]
pub(crate) struct Handlers {
    tools: Vec<ToolHandlers>,
    /// The actions that list a table, for failures that suggest them.
    tables: TableUses,
}

#[derive(Debug)]
struct ToolHandlers {
    name: String,
    discriminator: Option<String>,
    actions: Vec<Action>,
}

impl Handlers {
    pub(crate) fn new(tools: &[Tool]) -> Handlers {
        let handlers = |tool: &Tool| ToolHandlers {
            name: tool.name.clone(),
            discriminator: tool.discriminator.clone(),
            actions: tool.actions.clone(),
        };
        Handlers { tools: tools.iter().map(handlers).collect(), tables: TableUses::new(tools) }
    }

    /// Runs a call, which must name an existing action: a call that does not was rejected before.
    fn run<'s>(&'s self, tables: &'s mut Tables, call: &ToolCall) -> Reply<'s> {
        let found = self.tools.iter().find(|tool| tool.name == call.tool).and_then(|tool| {
            let object = call.object()?;
            let action = match &tool.discriminator {
                None => tool.actions.first()?,
                Some(field) => {
                    let name = object.get(field).and_then(Value::as_str)?;
                    tool.actions.iter().find(|action| action.name == name)?
                }
            };
            Some((action, Arguments { object, discriminator: tool.discriminator.as_deref() }))
        });
        let Some((action, arguments)) = found else {
            let failure = ToolFailure::error("There is no such action.");
            return Reply { outcome: ReplyOutcome::Failed(failure), state_changed: Some(false) };
        };
        match run_action(action, &self.tables, tables, arguments) {
            Ok((outcome, changed)) => Reply { outcome, state_changed: Some(changed) },
            Err(failure) => Reply { outcome: ReplyOutcome::Failed(failure), state_changed: Some(false) },
        }
    }
}
