//! The Fusion engine: answers one tool call in one environment under one set of guardrails.
//!
//! The engine reads no clock, file or random number: the same call in the same state gives the same bytes. Guardrails
//! are compiled in when an [`Engine`] is created, and an inactive guardrail costs nothing per call, except `strict`:
//! without it, undeclared fields are counted or stripped.
//!
//! # Errors that know what changed
//!
//! A server that knows which contracts its agents learned adds what changed to the errors of calls that fail. The
//! changes are computed once, and so is the enhancer of each tool; one without changes to show is the identity.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use healbench_engine::contract::{
//!     BlockStyle, Enhance, Enhancer, SelfHealingConfig, ToolContract, diff_contracts, enrich_validation_error, tool_enhancer,
//! };
//! use healbench_engine::definition::{Action, Tool};
//! use serde_json::json;
//!
//! let contract = |required: &[&str]| {
//!     let input = json!({"properties": {"amount": {"type": "number"}, "currency": {"type": "string"}}, "required": required});
//!     let action = Action { name: "create".to_owned(), input, ..Action::default() };
//!     let tool = Tool { name: "invoices".to_owned(), discriminator: Some("action".to_owned()), actions: vec![action], ..Tool::default() };
//!     ToolContract::from_tool(&tool)
//! };
//! let changes = diff_contracts(&contract(&["amount"]), &contract(&["amount", "currency"]));
//! assert!(!changes.is_backwards_compatible());
//! let config = SelfHealingConfig::new(BTreeMap::from([("invoices".to_owned(), changes)]));
//!
//! // One error.
//! let error = "<validation_error action=\"invoices/create\">\n</validation_error>";
//! let healed = enrich_validation_error(error, "invoices", "create", &config);
//! assert_eq!((healed.injected, healed.delta_count, healed.original_error), (true, 1, error));
//! assert!(healed.enriched_error.contains("<contract_awareness"));
//!
//! // Many errors of one tool.
//! let enhancer = tool_enhancer("invoices", ["create"], &config, BlockStyle::Xml);
//! assert_eq!(enhancer.enhance(error.to_owned(), "create"), healed.enriched_error);
//!
//! // Nothing has changed: the same buffer comes back.
//! let enhancer = tool_enhancer("users", ["create"], &config, BlockStyle::Xml);
//! assert!(matches!(enhancer, Enhancer::Identity));
//! let buffer = error.to_owned();
//! let address = buffer.as_ptr();
//! assert_eq!(enhancer.enhance(buffer, "create").as_ptr(), address);
//! ```

#![warn(missing_docs)]

mod arguments;
mod client;
mod compile;
pub mod contract;
mod damage;
pub mod definition;
mod failure;
mod faults;
mod foreign;
mod handler;
mod keywords;
mod outcome;
mod page;
mod pipeline;
mod presenter;
mod progress;
mod render;
mod reply;
mod schema;
mod scope;
mod simulator;
mod state_check;
mod world;

pub use client::{ClientProfile, Sending, ShownBlock};
pub use compile::{CompileError, ToolSchemas};
pub use failure::{
    Bound, Expected, FailedBranch, FailedUnion, Failure, Issue, IssueKind, KeywordLocation, Quantity, Routing,
};
pub use faults::Faults;
pub use foreign::ForeignSettings;
pub use keywords::{schema_keywords, unknown_keywords};
pub use pipeline::Engine;
pub use render::{TemplateError, TemplateHost, TemplateServer, check_template, set_template_host, valid_example};
pub use reply::{GuardedReply, Refusal};
pub use schema::{SchemaError, accepts, check_schema, upgrade_schema, validate};
pub use scope::placeholders;
pub use simulator::Simulator;
pub use state_check::{DisplayMatching, StateCheck, StateChecks, contains_all};
pub use world::{Tables, World, WorldBase};
