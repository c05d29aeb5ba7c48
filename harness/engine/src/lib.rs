//! The Fusion engine: answers one tool call in one environment under one set of guardrails.
//!
//! The engine reads no clock, file or random number: the same call in the same state gives the same bytes. Guardrails
//! are compiled in when an [`Engine`] is created, and an inactive guardrail costs nothing per call, except `strict`:
//! without it, undeclared fields are counted or stripped.

#![warn(missing_docs)]

mod client;
mod compile;
pub mod contract;
pub mod definition;
mod failure;
mod faults;
mod foreign;
mod handler;
mod keywords;
mod pipeline;
mod presenter;
mod render;
mod reply;
mod schema;
mod simulator;
mod state_check;
mod world;

pub use client::{ClientProfile, Sending, ShownBlock};
pub use compile::CompileError;
pub use failure::{
    Bound, Expected, FailedBranch, FailedUnion, Failure, Issue, IssueKind, KeywordLocation, Quantity, Routing,
};
pub use faults::Faults;
pub use foreign::ForeignSettings;
pub use pipeline::Engine;
pub use render::{TemplateError, TemplateHost, TemplateServer, check_template, set_template_host, valid_example};
pub use reply::{GuardedReply, Refusal};
pub use schema::{SchemaError, accepts, check_schema, upgrade_schema, validate};
pub use simulator::Simulator;
pub use state_check::{DisplayMatching, StateCheck, StateChecks, contains_all};
pub use world::{Tables, World, WorldBase};
