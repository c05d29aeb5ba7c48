use healbench_protocol::Object;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// One tool: actions behind a discriminator.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolFile {
    /// What the tool is for, for the agent to read.
    pub description: String,
    /// The argument that selects the action; `action` when left out. `null` for a tool with one action and no such argument.
    #[serde(default = "action", deserialize_with = "nullable")]
    #[schemars(schema_with = "nullable_text")]
    pub discriminator: Option<String>,
    /// Free labels; a part of the contract.
    #[serde(default)]
    pub tags: Vec<String>,
    /// What every call passes through on the server, outermost first. For the contract: it changes nothing about a call.
    #[serde(default)]
    pub middleware: Vec<String>,
    /// What a call makes stale in a client's cache, one policy each, in the order in which they apply. For the contract.
    #[serde(default)]
    pub state_sync: Vec<String>,
    /// The most calls at a time; no limit when left out. For the contract: calls are made one by one.
    #[schemars(range(min = 1))]
    pub concurrency: Option<u32>,
    /// What the tool's code may reach. For the contract.
    #[serde(default)]
    pub entitlements: Vec<EntitlementFile>,
    /// The actions, by name.
    // Deserialized one by one, so that an invalid action does not hide problems of others.
    #[schemars(with = "IndexMap<String, ActionFile>", extend("minProperties" = 1))]
    pub actions: IndexMap<String, Value>,
    /// What the agent was told of the tool, where that differs: a contract that has moved since. Agents are shown the
    /// previous contract, the engine enforces the current one.
    pub previous: Option<PreviousFile>,
}

fn action() -> Option<String> {
    Some("action".to_owned())
}

fn nullable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(deserializer)
}

fn nullable_text(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": ["string", "null"], "minLength": 1, "default": "action", "nullable": true})
}

/// Something outside of the server that a tool's code may reach.
// With comments on the variants, the schema would be a choice of constants, and error messages would mention branches.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntitlementFile {
    Filesystem,
    Network,
    Subprocess,
    Crypto,
    CodeEvaluation,
}

/// One action of a tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActionFile {
    /// What the action does, for the agent to read.
    #[serde(default)]
    pub description: String,
    /// JSON Schema (draft 2020-12) of the arguments without the discriminator; `type: object` may be left out.
    pub input: Object,
    /// What a valid call does: exactly one of insert, select, get, update, delete, return and fail.
    pub handler: HandlerFile,
    /// Business rules, checked in order before the handler.
    #[serde(default)]
    pub rules: Vec<RuleFile>,
    /// How a list is presented to the agent.
    pub presenter: Option<PresenterFile>,
    /// MCP's `destructiveHint`.
    #[serde(default)]
    pub destructive: bool,
    /// MCP's `readOnlyHint`.
    #[serde(default)]
    pub read_only: bool,
    /// MCP's `idempotentHint`.
    #[serde(default)]
    pub idempotent: bool,
}

/// What a valid call does: exactly one of insert, select, get, update, delete, return and fail.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HandlerFile {
    /// Adds a row made of the arguments to this table and answers with it. A missing key is numbered.
    pub insert: Option<String>,
    /// Answers with the rows of this table that pass the filters. Arguments named `limit`, `offset` and `sort` page and order
    /// them (`sort` is a column, `-column` for descending). Every other argument that names a column filters by equality.
    pub select: Option<String>,
    /// Answers with the row of this table whose key is the argument `by`, or NOT_FOUND.
    pub get: Option<String>,
    /// Sets the other arguments on the row of this table whose key is the argument `by`, or NOT_FOUND.
    pub update: Option<String>,
    /// Removes the row of this table whose key is the argument `by`, or NOT_FOUND.
    pub delete: Option<String>,
    /// Answers with a constant: a text as it is, anything else as JSON.
    #[serde(default, rename = "return", deserialize_with = "super::present")]
    pub constant: Option<Value>,
    /// Answers with a tool error.
    pub fail: Option<FailFile>,
    /// The argument that holds the row's key, for get, update and delete; the table's key column when left out.
    pub by: Option<String>,
    /// Filters of a select that are not plain equality with the column of the argument's name, by argument.
    #[serde(default)]
    pub filters: IndexMap<String, FilterFile>,
}

/// A filter of a select.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilterFile {
    /// The column that is compared with the argument.
    pub column: String,
    /// How: `equal`, `before` (the column is less), `after` (the column is greater), `contains` (a text, case ignored).
    #[serde(default = "equal")]
    #[schemars(extend("enum" = ["equal", "before", "after", "contains"]))]
    pub relation: String,
}

fn equal() -> String {
    "equal".to_owned()
}

/// A tool error.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailFile {
    /// A canonical code such as NOT_FOUND or CONFLICT, or the domain's own.
    pub code: Option<String>,
    /// How bad it is: `warning`, `error` or `critical`.
    #[schemars(extend("enum" = ["warning", "error", "critical"]))]
    pub severity: Option<String>,
    /// What went wrong, in words.
    pub message: String,
    /// What to do about it.
    pub recovery: Option<String>,
    /// Actions to try instead, as `tool.action`.
    #[serde(default)]
    pub available_actions: Vec<String>,
    /// Further facts, in order.
    #[serde(default)]
    pub details: IndexMap<String, String>,
    /// Seconds to wait before trying again.
    pub retry_after: Option<u32>,
    /// What a raw server says instead of all of this, without `Error: `.
    pub bare: Option<String>,
}

/// A business rule: exactly one of deny, allow, conflict and missing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleFile {
    /// FORBIDDEN, unless the world's role is `unless_role`, whenever every argument in `when` is equal.
    pub deny: Option<DenyFile>,
    /// A failure of the domain's own, when the argument's value is none of the options. An absent argument passes.
    pub allow: Option<AllowFile>,
    /// CONFLICT when a row has the same values in all of `fields` as the arguments.
    pub conflict: Option<ConflictFile>,
    /// NOT_FOUND when no row's key is the argument's value. An absent argument passes.
    pub missing: Option<MissingFile>,
}

/// FORBIDDEN, unless the world's role is `unless_role`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DenyFile {
    /// The role that may.
    pub unless_role: Option<String>,
    /// Arguments and values that must all be equal; left out, the rule always applies.
    #[serde(default)]
    pub when: Object,
    /// What the failure says.
    pub message: String,
    /// What to do about it.
    pub recovery: Option<String>,
}

/// A failure of the domain's own, when the argument's value is none of the options: for what a schema leaves open.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AllowFile {
    /// The argument.
    pub argument: String,
    /// The values that may be sent.
    #[schemars(length(min = 1))]
    pub options: Vec<Value>,
    /// What the call fails with otherwise; `{sent}` in its message stands for the value.
    pub otherwise: FailFile,
}

/// CONFLICT when a row has the same values as the arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConflictFile {
    /// The table.
    pub table: String,
    /// Arguments, and columns of the same names.
    #[schemars(length(min = 1))]
    pub fields: Vec<String>,
}

/// NOT_FOUND when no row's key is the argument's value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MissingFile {
    /// The table.
    pub table: String,
    /// The argument that holds a key of the table.
    pub argument: String,
}

/// How a list is presented to the agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PresenterFile {
    /// What the presenter is called. For the contract.
    pub name: Option<String>,
    /// The most rows that are shown when truncation is on; no limit when left out.
    #[schemars(range(min = 1))]
    pub agent_limit: Option<u32>,
    /// The teaching block's text, with `{shown}`, `{total}`, `{omitted}` and `{filters}`.
    pub teach: Option<String>,
    /// Rules about the data, for the agent.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Actions that make sense next, as `tool.action`.
    #[serde(default)]
    pub suggest_actions: Vec<String>,
    /// JSON Schema of a row, a part of the contract. A list with a row that does not fit fails with INTERNAL_ERROR; rows that are
    /// cut off are not looked at, and rows are shown with all their columns, declared or not.
    pub egress: Option<Object>,
    /// The most bytes of a response. For the contract: nothing is cut by it.
    #[schemars(range(min = 1))]
    pub egress_max_bytes: Option<u64>,
    /// The presenters inside of this one, by name. For the contract.
    #[serde(default)]
    pub embeds: Vec<String>,
}

/// What the agent was told of the tool, where that differs from what the engine enforces. What is left out was the same.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviousFile {
    /// The previous description.
    pub description: Option<String>,
    /// All tags as they were.
    pub tags: Option<Vec<String>>,
    /// The whole middleware as it was.
    pub middleware: Option<Vec<String>>,
    /// All state-sync policies as they were.
    pub state_sync: Option<Vec<String>>,
    /// The most calls at a time as it was; `null` when there was no limit.
    #[serde(default, deserialize_with = "present_or_null")]
    #[schemars(schema_with = "nullable_limit")]
    pub concurrency: Option<Option<u32>>,
    /// All entitlements as they were.
    pub entitlements: Option<Vec<EntitlementFile>>,
    /// What was different, by the action's current name.
    #[serde(default)]
    pub actions: IndexMap<String, PreviousActionFile>,
    /// Actions that were not there yet.
    #[serde(default)]
    pub without: Vec<String>,
}

/// What was different about an action.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviousActionFile {
    /// What the action was called.
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// What it was said to do.
    pub description: Option<String>,
    /// The whole input schema as it was.
    pub input: Option<Object>,
    /// The whole presenter as it was; `null` when there was none.
    #[serde(default, deserialize_with = "present_or_null")]
    #[schemars(schema_with = "nullable_presenter")]
    pub presenter: Option<Option<PresenterFile>>,
    /// `destructiveHint` as it was.
    pub destructive: Option<bool>,
    /// `readOnlyHint` as it was.
    pub read_only: Option<bool>,
    /// `idempotentHint` as it was.
    pub idempotent: Option<bool>,
}

/// Deserializes a present key as `Some`, even if it is `null`.
fn present_or_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

fn nullable_limit(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": ["integer", "null"], "minimum": 1, "maximum": u32::MAX, "nullable": true})
}

/// Returns the presenter's schema extended by `null`. With a choice of two schemas, error messages would mention
/// branches.
fn nullable_presenter(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let mut schema = PresenterFile::json_schema(generator);
    schema.insert("type".to_owned(), serde_json::json!(["object", "null"]));
    schema.insert("nullable".to_owned(), true.into());
    schema
}
