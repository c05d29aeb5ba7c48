//! The raw types of a scenario file. Doc comments become descriptions in the JSON Schema, so they are written for
//! authors of scenarios. Only the shape is checked here; `compile` creates the validated types.

mod claim;
mod script;
mod tool;
mod world;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

pub(crate) use claim::{ClaimFile, SpanFile};
pub(crate) use script::{ExpectFile, FaultFile, FindFile, MistakeFile, StepFile};
pub(crate) use tool::{
    ActionFile, EntitlementFile, FailFile, FilterFile, HandlerFile, PresenterFile, PreviousActionFile, PreviousFile,
    RuleFile, ToolFile,
};
pub(crate) use world::{FieldFile, GenerateFile, TableFile, WorldFile};

/// One scenario: a world with tools and data, a task, what must hold at the end, and what a scripted agent sets out to do.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read section by section, so that one broken section hides no problem of another")]
pub(crate) struct ScenarioFile {
    /// The name in plans, columns and reports, unique in a suite: `billing/new-required-currency`.
    #[schemars(length(min = 1))]
    pub id: String,
    /// One line for people.
    #[schemars(length(min = 1))]
    pub title: String,
    /// What the scenario is there to tell, in a sentence or two.
    pub description: Option<String>,
    /// Free labels, to select scenarios by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// What the agent is asked to do.
    pub task: TaskFile,
    /// The tools, by name.
    #[schemars(extend("minProperties" = 1))]
    pub tools: IndexMap<String, ToolFile>,
    /// The data that the tools act on: tables by name, and the role that calls are made in.
    pub world: Option<WorldFile>,
    /// What goes wrong on the server, and when. It is scheduled, never rolled.
    #[serde(default)]
    pub faults: Vec<FaultFile>,
    /// What must hold when the agent says that it is done; all of it.
    #[schemars(length(min = 1))]
    pub expect: Vec<ExpectFile>,
    /// What is said of the cost with and without guardrails, to be held against what is measured.
    #[serde(default)]
    pub claims: Vec<ClaimFile>,
    /// The calls that a perfect agent would make, in order, with the mistakes that a scripted agent makes at first.
    #[schemars(length(min = 1))]
    pub script: Vec<StepFile>,
}

/// What the agent is asked to do.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskFile {
    /// The task in words: everything that the agent is told.
    #[schemars(length(min = 1))]
    pub prompt: String,
    /// The most calls that the agent may make, failed ones included.
    #[schemars(range(min = 1, max = 1000))]
    pub max_calls: u32,
}

/// Deserializes a present key as `Some`, even if it is `null`: `return: null` is a constant, not a missing key.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
