//! Contracts: the promises of a tool, the differences between two versions, and the hints about them in validation
//! failures.

mod accepts;
mod block;
mod canonical;
mod diff;
mod enhance;
mod fields;
mod inlined;
mod lockfile;
mod readable;
mod renamed;
mod report;
mod schema_change;
mod tool_contract;

pub use block::BlockStyle;
pub(crate) use diff::removed_tool;
pub use diff::{ContractDiff, Delta, Severity, diff_contracts, diff_contracts_under};
pub use enhance::{
    Block, ContractAwareness, Enhance, Enhancer, Identity, SelfHealing, SelfHealingConfig, enrich_validation_error,
    tool_enhancer,
};
pub use fields::{FieldChange, FieldChanges};
pub use lockfile::{ChangeKind, ContractChange, LockedContract, Lockfile, LockfileError, ToolNames};
pub use readable::readable_schema;
pub(crate) use readable::readable_subschema;
pub use report::report_text;
pub use tool_contract::{
    ActionSurface, Behavior, InflationRisk, PresenterContract, Surface, TokenEconomics, ToolContract,
};
