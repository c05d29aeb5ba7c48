//! The content shared by `llm-friendly` and `llm-friendly-json`, following document 002.

mod example;
mod help;
mod issues;
pub(super) mod json;
mod other_failure;
mod phrases;
mod schema_node;
mod suggestions;

pub use example::valid_example;
pub(super) use help::{CUT, FieldHelp, ToolHelp, explain, neutral_example};
pub(super) use issues::{declared_names, issue_items, requirements};
pub(super) use other_failure::{OtherFailure, OtherFailureKind, other_failure, summary};
pub(super) use suggestions::suggestions;
