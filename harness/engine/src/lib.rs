//! The Fusion engine: answers one tool call, on one world, under one set of guardrails.
//!
//! Nothing here reads a clock, a file or a random number: the same call on the same world gives the same bytes. Guardrails are
//! compiled in when an [`Engine`] is made, and one that is off costs nothing on a call.

pub mod contract;
pub mod definition;
mod failure;
mod handler;
mod pipeline;
mod presenter;
mod render;
mod schema;
mod tool_failure;
mod world;

pub use failure::{Bound, Expected, Failure, Issue, IssueKind, Quantity, Routing};
pub use pipeline::{CompileError, Engine, SimulatorReply};
pub use render::{TemplateError, check_template};
pub use schema::{SchemaError, check_schema, validate};
pub use world::{World, WorldBase};
