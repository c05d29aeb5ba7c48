//! The simulated environment: declared handlers that act on tables.

use std::borrow::BorrowMut;
use std::sync::Arc;

use healbench_core::{
    Capabilities, Deadline, Environment, EnvironmentError, EnvironmentKind, FaultKind, Object, Reply, ReplyOutcome,
    Session, Strike, ToolCall, ToolSpec,
};
use serde_json::Value;

use crate::arguments::Arguments;
use crate::damage::damage_rows;
use crate::definition::{Action, Handler, Tool, ToolFailure};
use crate::handler::{TableUses, run_action};
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
        Ok(Box::new(SimulatorSession::new(&self.handlers, Some(&self.checks), tables)))
    }
}

/// A session of a [`Simulator`], which owns its tables or borrows them.
#[derive(Debug)]
pub(crate) struct SimulatorSession<'a, T> {
    handlers: &'a Handlers,
    checks: Option<&'a StateChecks>,
    tables: T,
    /// The rows of a list that a fault may have damaged.
    damaged: Vec<Object>,
}

impl<'a, T: BorrowMut<Tables>> SimulatorSession<'a, T> {
    pub(crate) fn new(handlers: &'a Handlers, checks: Option<&'a StateChecks>, tables: T) -> SimulatorSession<'a, T> {
        SimulatorSession { handlers, checks, tables, damaged: Vec::new() }
    }
}

impl<T: BorrowMut<Tables>> Session for SimulatorSession<'_, T> {
    fn call<'s>(&'s mut self, call: &ToolCall, _: Deadline) -> Result<Reply<'s>, EnvironmentError> {
        Ok(self.handlers.run(self.tables.borrow_mut(), call))
    }

    fn call_with_fault<'s>(
        &'s mut self,
        call: &ToolCall,
        _: Deadline,
        strike: &mut dyn FnMut(bool) -> Option<Strike>,
    ) -> Result<Reply<'s>, EnvironmentError> {
        let tables = self.tables.borrow_mut();
        let before = tables.clone();
        let mut result = Answer::of(self.handlers.run(tables, call));
        let mut struck = false;
        if let Some(changed) = result.success()
            && let Some(mut strike) = strike(changed)
        {
            struck = match strike.kind {
                FaultKind::NoOp => {
                    tables.take_back(before);
                    result.state_changed = Some(false);
                    true
                }
                FaultKind::Stale => {
                    let mut start = before.at_start();
                    let stale = Answer::of(self.handlers.run(&mut start, call)).outcome;
                    let is_other = stale != result.outcome;
                    result.outcome = stale;
                    is_other
                }
                FaultKind::Cut | FaultKind::Corrupt => {
                    let right = result.outcome.clone();
                    result.damage(self.handlers.key_of(tables, call), &mut strike);
                    right != result.outcome
                }
                _ => true,
            };
        }
        let Answer { outcome, state_changed } = result;
        let outcome = match outcome {
            Ok(AnswerContent::Text(text)) => ReplyOutcome::Text(text),
            Ok(AnswerContent::Rows(rows)) => {
                self.damaged = rows;
                ReplyOutcome::Rows(self.damaged.iter().collect())
            }
            Err(failure) => ReplyOutcome::Failed(failure),
        };
        Ok(Reply { outcome, state_changed, struck })
    }

    fn wait(&mut self, seconds: u32) {
        self.tables.borrow_mut().wait(seconds);
    }

    fn is_pristine(&self) -> bool {
        let tables = self.tables.borrow();
        tables.is_pristine() && !(self.handlers.read_progress && tables.has_progressed())
    }

    fn check(&mut self, _: Deadline) -> Result<Vec<bool>, EnvironmentError> {
        Ok(self.checks.map(|checks| checks.results(self.tables.borrow())).unwrap_or_default())
    }
}

/// The reply of a handler with rows of its own, so that the tables can be changed before it is shown.
struct Answer {
    outcome: Result<AnswerContent, ToolFailure>,
    state_changed: Option<bool>,
}

#[derive(Clone, PartialEq)]
enum AnswerContent {
    Rows(Vec<Object>),
    Text(String),
}

impl Answer {
    fn of(reply: Reply<'_>) -> Answer {
        let outcome = match reply.outcome {
            ReplyOutcome::Rows(rows) => Ok(AnswerContent::Rows(rows.into_iter().cloned().collect())),
            ReplyOutcome::Text(text) => Ok(AnswerContent::Text(text)),
            ReplyOutcome::Failed(failure) => Err(failure),
            // The simulator has no servers.
            ReplyOutcome::Foreign(result) => Ok(AnswerContent::Text(result.shown().join("\n\n"))),
        };
        Answer { outcome, state_changed: reply.state_changed }
    }

    /// Returns whether a successful call changed the state.
    fn success(&self) -> Option<bool> {
        self.outcome.is_ok().then_some(self.state_changed == Some(true))
    }

    /// Damages a result whose rows have this key.
    fn damage(&mut self, key: Option<&str>, strike: &mut Strike) {
        match &mut self.outcome {
            Ok(AnswerContent::Rows(rows)) => damage_rows(rows, true, key, strike),
            Ok(AnswerContent::Text(text)) => {
                if let Ok(mut row) = serde_json::from_str::<Object>(text) {
                    // A page of a list.
                    let items = row.get("items").filter(|_| row.contains_key("next_cursor")).cloned();
                    if let Some(Ok(mut rows)) = items.map(serde_json::from_value::<Vec<Object>>) {
                        damage_rows(&mut rows, true, key, strike);
                        row.insert("items".to_owned(), rows.into_iter().map(Value::Object).collect());
                        *text = serde_json::to_string(&row).unwrap_or_default();
                        return;
                    }
                    let mut rows = vec![row];
                    damage_rows(&mut rows, false, key, strike);
                    *text = rows.first().and_then(|row| serde_json::to_string(row).ok()).unwrap_or_default();
                }
            }
            Err(_) => {}
        }
    }
}

/// The handlers of some tools.
#[derive(Debug)]
pub(crate) struct Handlers {
    tools: Vec<ToolHandlers>,
    /// The actions that list a table, for failures that suggest them.
    tables: TableUses,
    /// True if answers may depend on how far an episode has come.
    read_progress: bool,
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
        Handlers {
            tools: tools.iter().map(handlers).collect(),
            tables: TableUses::new(tools),
            read_progress: tools.iter().flat_map(|tool| &tool.actions).any(Action::reads_progress),
        }
    }

    /// Runs a call, which must name an existing action: a call that does not was rejected before.
    fn run<'s>(&'s self, tables: &'s mut Tables, call: &ToolCall) -> Reply<'s> {
        let Some(called) = self.find(call) else {
            let failure = ToolFailure::error("There is no such action.");
            return Reply { outcome: ReplyOutcome::Failed(failure), state_changed: Some(false), struck: false };
        };
        let now = tables.count_call();
        let Called { action, object, discriminator } = called;
        let result = run_action(action, &self.tables, tables, Arguments { object, discriminator, now: &now });
        let (outcome, changed) = result.unwrap_or_else(|failure| (ReplyOutcome::Failed(failure), false));
        Reply { outcome, state_changed: Some(changed), struck: false }
    }

    fn find<'h, 'c>(&'h self, call: &'c ToolCall) -> Option<Called<'h, 'c>> {
        let tool = self.tools.iter().find(|tool| tool.name == call.tool)?;
        let object = call.object()?;
        let action = match &tool.discriminator {
            None => tool.actions.first()?,
            Some(field) => {
                let name = object.get(field).and_then(Value::as_str)?;
                tool.actions.iter().find(|action| action.name == name)?
            }
        };
        Some(Called { action, object, discriminator: tool.discriminator.as_deref() })
    }

    /// Returns the column that holds the key in the answer to a call.
    fn key_of<'t>(&self, tables: &'t Tables, call: &ToolCall) -> Option<&'t str> {
        match &self.find(call)?.action.handler {
            Handler::Delete { .. } => Some("deleted"),
            handler => Some(&tables.table_def(tables.table_index(handler.table()?)?).key),
        }
    }
}

/// The action of a call, and what it is called with.
struct Called<'h, 'c> {
    action: &'h Action,
    object: &'c Object,
    discriminator: Option<&'h str>,
}
