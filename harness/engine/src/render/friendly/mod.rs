//! What `llm-friendly` and `llm-friendly-json` share: the facts of document 002, before they are written.

mod example;
mod help;
mod issues;
pub(super) mod json;
mod place;
mod suggestions;
mod told;
mod words;

pub(super) use help::{FieldHelp, ToolHelp, explain};
pub(super) use issues::items;
pub(super) use suggestions::suggestions;
pub(super) use told::{Kind, Plain, plain, summary};
