//! Tests of the engine through its single entry point, `Engine::call`. Expected texts are the sample outputs of the
//! documents that specify the engine, and each test names its document: 000 self-healing context, 001 error handling,
//! 002 self-healing messages, 003 cognitive guardrails.

#![allow(clippy::unwrap_used)]

mod awareness;
mod bounded;
mod branches;
mod changed_fields;
mod clients;
mod contracts;
mod failures;
mod foreign;
mod friendly;
mod hostile;
mod issues;
mod lockfile;
mod named_conditions;
mod oracle;
mod presenting;
mod problem_json;
mod schema_changes;
mod schema_pairs;
mod serde_text;
mod servers;
mod severities;
mod today;
mod tool_failure;
mod undeclared;
mod world;
mod world_model;

use std::sync::Arc;
use std::time::Duration;

use healbench_core::{ErrorFormat, Guardrails, Object, ToolCall};
use healbench_engine::definition::{Action, Handler, TableDef, Tool, WorldDef};
use healbench_engine::{Engine, GuardedReply, World, WorldBase};
use serde_json::{Value, json};

/// Unbounded work takes longer on any machine, and bounded work on none.
const FOR_EVER: Duration = Duration::from_secs(120);

/// Creates an action with this schema and handler, and defaults otherwise.
fn action(name: &str, input: Value, handler: Handler) -> Action {
    Action { name: name.to_owned(), input, handler, ..Action::default() }
}

/// Creates an action that returns `OK` for every valid call.
fn ok(name: &str, input: Value) -> Action {
    action(name, input, Handler::Return(json!("OK")))
}

/// Creates a tool with these actions and the discriminator `action`.
fn tool(name: &str, actions: Vec<Action>) -> Tool {
    Tool { name: name.to_owned(), discriminator: Some("action".to_owned()), actions, ..Tool::default() }
}

fn object(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

/// Creates a table of invoices with the given rows.
fn invoices(rows: Value) -> TableDef {
    TableDef {
        name: "invoices".to_owned(),
        singular: "invoice".to_owned(),
        key: "id".to_owned(),
        key_prefix: "INV-".to_owned(),
        rows: rows.as_array().unwrap().iter().cloned().map(object).collect(),
    }
}

fn world(def: WorldDef) -> World {
    World::new(Arc::new(WorldBase::new(def)))
}

fn call(tool: &str, arguments: Value) -> ToolCall {
    ToolCall::new(tool, arguments)
}

/// Runs one call in a new, empty environment.
fn answer(tools: &[Tool], guardrails: &str, format: ErrorFormat, tool: &str, arguments: Value) -> GuardedReply {
    let engine = Engine::new(tools, guardrails.parse().unwrap(), &format).unwrap();
    engine.call(&mut world(WorldDef::default()), &call(tool, arguments))
}

/// Returns the response's text to one call with all guardrails on.
fn text(tools: &[Tool], format: ErrorFormat, tool: &str, arguments: Value) -> String {
    answer(tools, "all", format, tool, arguments).response.text().into_owned()
}

fn engine(tools: &[Tool], guardrails: Guardrails) -> Engine {
    Engine::new(tools, guardrails, &ErrorFormat::FusionXml).unwrap()
}
