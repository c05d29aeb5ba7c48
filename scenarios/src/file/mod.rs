//! The raw types of a scenario file. Doc comments become descriptions in the JSON Schema, so they are written for
//! authors of scenarios. Only the shape is checked here; `compile` creates the validated types.

mod claim;
mod effects;
mod script;
mod server;
mod tool;
mod world;

use healbench_core::Object;
use healbench_engine::definition::Clock;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

pub(crate) use claim::{ClaimFile, SpanFile};
pub(crate) use effects::{RowsFile, WriteFile};
pub(crate) use script::{
    AtMostFile, CallFile, CalledFile, CountFile, ExpectFile, FaultFile, FindFile, MistakeFile, OneRowFile, RowFile,
    StepFile,
};
pub(crate) use server::ServerFile;
pub(crate) use tool::{
    ActionFile, AllowFile, DenyFile, EntitlementFile, FailFile, FilterFile, HandlerFile, PresenterFile,
    PreviousActionFile, PreviousFile, RequiredFile, RuleFile, ToolFile,
};
pub(crate) use world::{FieldFile, GenerateFile, TableFile, WorldFile};

/// One scenario: tools, data, a task, the expected end, and the calls that a simulated reader intends to make.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read section by section, so that one broken section hides no problem of another")]
pub(crate) struct ScenarioFile {
    /// The name in plans, columns and reports, unique within a suite: `billing/new-required-currency`.
    #[schemars(length(min = 1))]
    pub id: String,
    /// A one-line title.
    #[schemars(length(min = 1))]
    pub title: String,
    /// The purpose of the scenario, in a sentence or two.
    pub description: Option<String>,
    /// Free labels, used to select scenarios.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The group of scenarios that vary one situation and are not independent of each other; the id if left out. Words of
    /// letters, digits, `-`, `_` and `.`, joined by `/`.
    #[schemars(length(min = 1))]
    pub cluster: Option<String>,
    /// The id before the scenario was renamed, so that it keeps what is drawn for it, and its results in baselines and recordings.
    #[schemars(length(min = 1))]
    pub renamed_from: Option<String>,
    /// Variants of the scenario by name, each with values: `{each.NAME}` anywhere below stands for the value of the variant, so that the file
    /// is one scenario for each. Their ids are `ID/VARIANT`, and they are one cluster if the file names none. `FILE#VARIANT` is one of them.
    #[schemars(extend("minProperties" = 1))]
    pub for_each: Option<IndexMap<String, Object>>,
    /// The task of the agent.
    pub task: TaskFile,
    /// The tools, by name; left out if a server has them.
    #[schemars(extend("minProperties" = 1))]
    pub tools: Option<IndexMap<String, ToolFile>>,
    /// The MCP server that executes the calls, instead of `tools` and `world`.
    pub server: Option<ServerFile>,
    /// The data that the tools act on: tables by name, and the role of the caller.
    pub world: Option<WorldFile>,
    /// The scheduled failures of the server.
    #[serde(default)]
    pub faults: Vec<FaultFile>,
    /// The way to wait for a delay that a failure states: `none`, the default; `wait_tool`, a tool `wait` with the argument
    /// `seconds` in the list of every agent; `on_retry`, where a later call that the limit concerns counts as made after
    /// the delay. A simulated reader always waits by itself.
    #[serde(default)]
    #[schemars(with = "String", extend("enum" = ["none", "wait_tool", "on_retry"]))]
    pub clock: Clock,
    /// The contract changes that errors show under the guardrail `contract`.
    pub self_healing: Option<SelfHealingFile>,
    /// The expectations, all of which must hold when the agent declares the task complete.
    #[schemars(length(min = 1))]
    pub expect: Vec<ExpectFile>,
    /// Published claims about cost with and without guardrails, to be compared with the measurements.
    #[serde(default)]
    pub claims: Vec<ClaimFile>,
    /// The calls of a perfect agent, in order, with the mistakes that a simulated reader makes first.
    #[schemars(length(min = 1))]
    pub script: Vec<StepFile>,
    /// The closing text of a simulated reader that has made all calls of the script, for `answer` among the expectations.
    pub answer: Option<String>,
}

/// The task of the agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskFile {
    /// The text of the task: the only instruction that the agent receives.
    #[schemars(length(min = 1))]
    pub prompt: String,
    /// The maximum number of calls, including failed ones.
    #[schemars(range(min = 1, max = 1000))]
    pub max_calls: u32,
}

/// The contract changes that errors show.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SelfHealingFile {
    /// Show SAFE and COSMETIC changes too [default: false].
    #[serde(default)]
    pub include_all_severities: bool,
    /// The maximum number of changes in one error [default: 5].
    #[schemars(range(min = 0, max = 1000))]
    pub max_deltas_per_error: Option<u16>,
}

/// Deserializes a present key as `Some`, even if it is `null`: `return: null` is a constant, not a missing key.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
