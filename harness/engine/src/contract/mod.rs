//! Contracts: what a tool promises, what changed of it, and how a validation failure tells the agent.

mod block;
mod diff;
mod enhance;
mod readable;
mod schema_change;

pub use block::BlockStyle;
pub use diff::{ContractDiff, Delta, Severity, diff_contracts};
pub use enhance::{Block, Enhancer, SelfHealing, SelfHealingConfig, enrich_validation_error, tool_enhancer};
pub use readable::readable_schema;
