//! The Fusion engine: answers one tool call, on one world, under one set of guardrails.
//!
//! The engine reads no clock, file or random number: the same call on the same world gives the same bytes. Guardrails
//! are compiled in when an [`Engine`] is created, and an inactive guardrail costs nothing per call, except `strict`:
//! without it, undeclared fields are counted.

#![warn(missing_docs)]

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
