use healbench_core::Object;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::WriteFile;

/// One tool: actions behind a discriminator.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolFile {
    /// The description shown to the agent.
    pub description: String,
    /// The argument that selects the action; `action` if left out. `null` for a tool with one action and no such argument.
    #[serde(default = "action", deserialize_with = "nullable")]
    #[schemars(schema_with = "nullable_text")]
    pub discriminator: Option<String>,
    /// Free labels; part of the contract.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The middleware that every call passes through, outermost first. Part of the contract only.
    #[serde(default)]
    pub middleware: Vec<String>,
    /// The state-sync policies (cache invalidations on the client), in the order in which they apply. Part of the contract only.
    #[serde(default)]
    pub state_sync: Vec<String>,
    /// The maximum number of concurrent calls; no limit if left out. `healbench serve` refuses more with SERVER_BUSY; in runs it is
    /// part of the contract only.
    #[schemars(range(min = 1))]
    pub concurrency: Option<u32>,
    /// The resources that the tool's code may access. Part of the contract only.
    #[serde(default)]
    pub entitlements: Vec<EntitlementFile>,
    /// The actions, by name.
    // Deserialized one by one, so that an invalid action does not hide problems of others.
    #[schemars(with = "IndexMap<String, ActionFile>", extend("minProperties" = 1))]
    pub actions: IndexMap<String, Value>,
    /// The differences of the previous contract. Agents are shown the previous contract; the engine enforces the current
    /// one.
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

/// A resource that a tool's code may access.
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
    /// The description shown to the agent.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema (draft 2020-12) of the arguments without the discriminator; `type: object` may be omitted.
    pub input: Object,
    /// The effect of a valid call: exactly one of insert, select, get, update, delete, return and fail.
    pub handler: HandlerFile,
    /// Writes before the rules, as in `also` of the handler: what has happened by the time of the call, such as a job that is done
    /// (`where: {ready: {at_most: {now: seconds}}}`). They stay if a rule refuses the call.
    #[serde(default)]
    pub meanwhile: Vec<WriteFile>,
    /// The business rules, checked in order before the handler.
    #[serde(default)]
    pub rules: Vec<RuleFile>,
    /// The presentation of a list to the agent.
    pub presenter: Option<PresenterFile>,
    /// A warning that accompanies each successful result, such as a deprecation.
    pub warning: Option<FailFile>,
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

/// The effect of a valid call: exactly one of insert, select, get, update, delete, return and fail.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HandlerFile {
    /// Inserts a row made of the arguments into this table and returns it. A missing key is generated.
    pub insert: Option<String>,
    /// Returns the rows of this table that pass the filters. Arguments named `limit`, `offset` and `sort` page and order
    /// them (`sort` is a column, or `-column` for descending order; `cursor` belongs to `page`). Any other argument that names a column filters by equality.
    pub select: Option<String>,
    /// Returns the row of this table whose key is the argument `by`, or NOT_FOUND.
    pub get: Option<String>,
    /// Sets the other arguments on the row of this table whose key is the argument `by` and returns it, or NOT_FOUND.
    pub update: Option<String>,
    /// Removes the row of this table whose key is the argument `by`, or returns NOT_FOUND.
    pub delete: Option<String>,
    /// Returns a constant: a string unchanged, any other value as JSON.
    #[serde(default, rename = "return", deserialize_with = "super::present")]
    pub constant: Option<Value>,
    /// Returns a tool error.
    pub fail: Option<FailFile>,
    /// The argument with the row's key, for get, update and delete; the table's key column if left out.
    pub by: Option<String>,
    /// The rows of one answer of a select, which is then an object with `page`, `items` and `next_cursor`: the value of the argument
    /// `cursor` that shows the next rows, or null after the last.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub page: Option<u32>,
    /// The filters of a select that differ from equality with the column of the argument's name, by argument.
    #[serde(default)]
    pub filters: IndexMap<String, FilterFile>,
    /// The columns that an insert or an update sets after the arguments: a constant, `{sent: ARGUMENT}`, `{row: COLUMN}` (the row as it
    /// was), `{add: NUMBER}` or `{subtract: NUMBER}` (to the column; the number may be a reference), `{sum: "lines[].amount"}`,
    /// `{sum: ["lines[].quantity", "lines[].price"]}` (the sum of products), `{count: "lines[]"}`, `{now: calls}` or `{now: seconds}` (the
    /// valid calls so far, with this one; the simulated seconds that have passed), `{after: {seconds: 60}}` (that much later),
    /// `{token: sess_}` (a prefix, and letters and digits that nobody can guess), or `{value: …}` for an object.
    #[serde(default)]
    pub set: IndexMap<String, Value>,
    /// The arguments that an insert or an update does not store.
    #[serde(default)]
    pub except: Vec<String>,
    /// Further writes, in order, to any tables: with insert, update, delete and return.
    #[serde(default)]
    pub also: Vec<WriteFile>,
}

/// A filter of a select.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilterFile {
    /// The column that is compared with the argument.
    pub column: String,
    /// The comparison: `equal`, `before` (the column is less), `after` (the column is greater), or `contains` (a substring, ignoring case).
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
    /// A canonical code such as NOT_FOUND or CONFLICT, or a domain-specific one.
    pub code: Option<String>,
    /// The severity: `warning`, `error`, `critical`, or `none` for a text that states no severity. If left out, it is
    /// `error` for an error with a code, and `none` for one without.
    #[schemars(extend("enum" = ["none", "warning", "error", "critical"]))]
    pub severity: Option<String>,
    /// The description of the problem.
    pub message: String,
    /// The suggested remedy.
    pub recovery: Option<String>,
    /// Alternative actions, as `tool.action`.
    #[serde(default)]
    pub available_actions: Vec<String>,
    /// Further facts, in order: texts, numbers, booleans or `null`.
    #[serde(default)]
    #[schemars(schema_with = "scalars")]
    pub details: IndexMap<String, Value>,
    /// The seconds to wait before a retry.
    pub retry_after: Option<u32>,
    /// The line that a server without error handling sends instead, without `Error: `.
    pub bare: Option<String>,
    /// True if the text says something wrong on purpose. Rows mark it as the fault `misleading`.
    #[serde(default)]
    pub misleading: bool,
}

/// A map of scalars. With a choice of schemas, error messages would mention branches.
fn scalars(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "additionalProperties": {"type": ["string", "number", "boolean", "null"], "nullable": true},
        "default": {},
    })
}

/// A business rule: exactly one of required, deny, allow, conflict and missing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleFile {
    /// Fails with MISSING_REQUIRED_FIELD if an argument that the schema does not require is absent or empty (`null`, `false`, 0 or "").
    pub required: Option<RequiredFile>,
    /// Fails with FORBIDDEN, or another code, if the world's role is not `unless_role` and everything in `when` holds.
    pub deny: Option<DenyFile>,
    /// Fails with a domain-specific error if the argument's value is none of the options. An absent argument passes.
    pub allow: Option<AllowFile>,
    /// Fails with CONFLICT if another row has the same values as the arguments in all of `fields`. A row that is
    /// updated keeps the values that are not sent.
    pub conflict: Option<ConflictFile>,
    /// Fails with NOT_FOUND if no row's key is the argument's value, or an item of its list. An absent argument and
    /// null pass.
    pub missing: Option<MissingFile>,
}

/// Fails with MISSING_REQUIRED_FIELD if the argument is absent or empty.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequiredFile {
    /// The argument.
    pub argument: String,
}

/// Fails with FORBIDDEN if the world's role is not `unless_role`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DenyFile {
    /// The exempt role.
    pub unless_role: Option<String>,
    /// What must hold for the rule to apply; it always applies if left out. A key is an argument or a path such as `lines[0].quantity`;
    /// its value is a constant, `{row: COLUMN}`, `{sent: ARGUMENT}`, or comparisons with them by `equals`, `not`, `less`, `at_most`,
    /// `greater`, `at_least`, `in`, `not_in`, `contains`, `not_contains` and `present`. `row: {COLUMN: …}` compares the row that the handler reads or
    /// changes; without such a row the rule does not apply. `rows: {in: TABLE, where: {COLUMN: …}, count: …}`, or a list of them, counts
    /// rows of any table; at least one must match unless `count` says otherwise. `now: {calls: …, seconds: …}` compares the number of valid
    /// calls, with this one, and the simulated seconds that have passed; `{now: calls}` stands for them in other comparisons.
    #[serde(default)]
    pub when: Object,
    /// The code of the failure; FORBIDDEN if left out.
    pub code: Option<String>,
    /// The severity, as of any other error; `error` if left out.
    #[schemars(extend("enum" = ["none", "warning", "error", "critical"]))]
    pub severity: Option<String>,
    /// The message of the failure. Here, in `recovery`, `bare` and `details`, `{row.COLUMN}`, `{sent.ARGUMENT}`, `{now.calls}` and
    /// `{now.seconds}` are replaced by values; the row is that of the handler, or the first that `rows` counts.
    pub message: String,
    /// The suggested remedy.
    pub recovery: Option<String>,
    /// Alternative actions, as `tool.action`.
    #[serde(default)]
    pub available_actions: Vec<String>,
    /// Further facts, in order: texts, numbers, booleans or `null`.
    #[serde(default)]
    #[schemars(schema_with = "scalars")]
    pub details: IndexMap<String, Value>,
    /// The seconds to wait before a retry.
    pub retry_after: Option<u32>,
    /// The line that a server without error handling sends instead, without `Error: `.
    pub bare: Option<String>,
    /// True if the text says something wrong on purpose. Rows mark it as the fault `misleading`.
    #[serde(default)]
    pub misleading: bool,
}

/// Fails with a domain-specific error if the argument's value is none of the options: for values that the schema does not restrict.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AllowFile {
    /// The argument.
    pub argument: String,
    /// The valid values.
    #[schemars(length(min = 1))]
    pub options: Vec<Value>,
    /// The failure; `{sent}` in its message is replaced by the value.
    pub otherwise: FailFile,
}

/// Fails with CONFLICT if a row has the same values as the arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConflictFile {
    /// The table.
    pub table: String,
    /// The names of both arguments and columns.
    #[schemars(length(min = 1))]
    pub fields: Vec<String>,
}

/// Fails with NOT_FOUND if no row's key is the argument's value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MissingFile {
    /// The table.
    pub table: String,
    /// The argument with a key of the table.
    pub argument: String,
}

/// The presentation of a list to the agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PresenterFile {
    /// The presenter's name. Part of the contract only.
    pub name: Option<String>,
    /// The maximum number of rows shown if truncation is on; no limit if left out.
    #[schemars(range(min = 1))]
    pub agent_limit: Option<u32>,
    /// The text of the truncation notice, with `{shown}`, `{total}`, `{omitted}` and `{filters}`.
    pub teach: Option<String>,
    /// Rules about the data, shown to the agent.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Suggested next actions, as `tool.action`.
    #[serde(default)]
    pub suggest_actions: Vec<String>,
    /// The JSON Schema of a row; part of the contract. A list with a row that does not match fails with INTERNAL_ERROR. Truncated rows
    /// are not checked, and rows are shown with all their columns, declared or not.
    pub egress: Option<Object>,
    /// The maximum size of a response in bytes. Part of the contract only: it is not enforced.
    #[schemars(range(min = 1))]
    pub egress_max_bytes: Option<u64>,
    /// The names of the embedded presenters. Part of the contract only.
    #[serde(default)]
    pub embeds: Vec<String>,
}

/// The differences of the previous contract, which agents are shown. Keys that are left out were the same.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviousFile {
    /// The previous name of the tool.
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// The previous description.
    pub description: Option<String>,
    /// All previous tags.
    pub tags: Option<Vec<String>>,
    /// The complete previous middleware.
    pub middleware: Option<Vec<String>>,
    /// All previous state-sync policies.
    pub state_sync: Option<Vec<String>>,
    /// The previous maximum number of concurrent calls; `null` if there was no limit.
    #[serde(default, deserialize_with = "present_or_null")]
    #[schemars(schema_with = "nullable_limit")]
    pub concurrency: Option<Option<u32>>,
    /// All previous entitlements.
    pub entitlements: Option<Vec<EntitlementFile>>,
    /// The differences of actions, by their current names.
    #[serde(default)]
    pub actions: IndexMap<String, PreviousActionFile>,
    /// Actions that did not exist yet.
    #[serde(default)]
    pub without: Vec<String>,
}

/// The differences of an action.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviousActionFile {
    /// The previous name.
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// The previous description.
    pub description: Option<String>,
    /// The complete previous input schema.
    pub input: Option<Object>,
    /// The complete previous presenter; `null` if there was none.
    #[serde(default, deserialize_with = "present_or_null")]
    #[schemars(schema_with = "nullable_presenter")]
    pub presenter: Option<Option<PresenterFile>>,
    /// The previous `destructiveHint`.
    pub destructive: Option<bool>,
    /// The previous `readOnlyHint`.
    pub read_only: Option<bool>,
    /// The previous `idempotentHint`.
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
