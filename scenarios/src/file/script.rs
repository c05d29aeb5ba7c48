use healbench_core::{FAULTS, FaultPhase, Object};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::server::ResultFile;
use crate::mistakes::{MISTAKES, MistakeKind};

/// A fault that affects calls.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FaultFile {
    /// The kind. Some fail a call before it is executed, `timeout_after` after that, and `no_op`, `stale`, `cut` and `corrupt` tell no error.
    #[schemars(schema_with = "fault_kinds")]
    pub kind: String,
    /// The affected calls: `tool.action`, or a tool with all of its actions.
    pub on: String,
    /// The first affected matching call, from 1. Calls that pass validation are counted; for faults after the handler and silent ones, calls
    /// whose handler succeeded.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub from_call: u32,
    /// The number of affected matching calls. A `rate_limited` fault also ends once the agent has waited `retry_after` seconds.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub calls: u32,
    /// The seconds to wait, as stated by the failure.
    pub retry_after: Option<u32>,
    /// The column that a `cut` or a `corrupt` damages; drawn for every trial if left out.
    pub column: Option<String>,
    /// The message of the failure instead of the usual one.
    pub message: Option<String>,
    /// The remedy that the failure suggests instead of the usual one.
    pub recovery: Option<String>,
    /// True if these texts say something wrong on purpose.
    #[serde(default)]
    pub misleading: bool,
}

fn one() -> u32 {
    1
}

/// Returns the kinds of faults that a scenario can schedule, with what they do.
fn fault_kinds(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let kinds = || FAULTS.iter().filter(|entry| entry.phase != FaultPhase::Text);
    let names: Vec<&str> = kinds().map(|entry| entry.name).collect();
    let says: Vec<String> = kinds().map(|entry| format!("`{}`: {}", entry.name, entry.says)).collect();
    schemars::json_schema!({"type": "string", "enum": names, "description": says.join(" ")})
}

/// An expectation at the end: exactly one of the keys. `row`, `no_row`, `count`, `unchanged` and `verified` are of the simulator,
/// `result` and `command` of a server.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectFile {
    /// At least one row matches.
    pub row: Option<OneRowFile>,
    /// No row matches.
    pub no_row: Option<RowFile>,
    /// Exactly this number of rows matches.
    pub count: Option<CountFile>,
    /// The table has its initial rows.
    pub unchanged: Option<String>,
    /// A call of the server returns a text.
    pub result: Option<ResultFile>,
    /// A command, run in `{dir}`, exits with status 0.
    #[schemars(length(min = 1))]
    pub command: Option<Vec<String>>,
    /// A matching call succeeded.
    pub called: Option<CalledFile>,
    /// No matching call succeeded.
    pub not_called: Option<CalledFile>,
    /// At most this number of matching calls succeeded.
    pub at_most: Option<AtMostFile>,
    /// Matching calls succeeded, one after the other.
    #[schemars(length(min = 2))]
    pub in_order: Option<Vec<CalledFile>>,
    /// A successful call returned a row with these values after the last call that wrote it, and no silent fault was in its answer.
    pub verified: Option<RowFile>,
    /// The closing text has this number (as any of its numbers, without separators of thousands), this text (in any case), or all of a list.
    #[schemars(schema_with = "answers")]
    #[serde(default, deserialize_with = "super::present")]
    pub answer: Option<Value>,
    /// The tolerance of the numbers in `answer`; 0 if left out.
    #[schemars(range(min = 0))]
    pub within: Option<f64>,
    /// At least one of these expectations holds.
    #[schemars(length(min = 2))]
    pub any_of: Option<Vec<ExpectFile>>,
    /// `true`: the task cannot be done, and the agent must say so.
    pub stops: Option<bool>,
}

/// A row of a table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OneRowFile {
    /// The table.
    #[serde(rename = "in")]
    pub table: String,
    /// The columns and their required values.
    #[serde(rename = "where")]
    pub matching: Object,
    /// True if the row may have no other columns than these and its key, so that no invented field was stored.
    #[serde(default)]
    pub only: bool,
}

/// Rows of a table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowFile {
    /// The table.
    #[serde(rename = "in")]
    pub table: String,
    /// The columns and their required values.
    #[serde(rename = "where")]
    pub matching: Object,
}

/// A number of rows of a table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CountFile {
    /// The table.
    #[serde(rename = "in")]
    pub table: String,
    /// The columns and their required values; all rows if left out.
    #[serde(default, rename = "where")]
    pub matching: Object,
    /// The number of rows.
    pub equals: u32,
}

/// A call that succeeded.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CalledFile {
    /// The tool.
    pub tool: String,
    /// The action; may be omitted for a tool without a discriminator.
    pub action: Option<String>,
    /// Arguments that the call must contain.
    #[serde(default)]
    pub arguments: Object,
}

/// Calls that succeeded, and the most of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AtMostFile {
    /// The largest number of such calls.
    pub calls: u32,
    /// The tool.
    pub tool: String,
    /// The action; may be omitted for a tool without a discriminator.
    pub action: Option<String>,
    /// Arguments that the call must contain.
    #[serde(default)]
    pub arguments: Object,
}

/// A number, a text, or a list of them. With a choice of schemas, error messages would mention branches.
fn answers(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": ["number", "string", "array"],
        "items": {"type": ["number", "string"]},
        "minItems": 1,
        "minLength": 1,
    })
}

/// One intended call, with the mistakes that are made first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepFile {
    /// The call of a perfect agent.
    pub call: CallFile,
    /// Values that the task does not state and a record has to provide, by the argument's name or a path such as
    /// `lines[0].sku`.
    #[serde(default)]
    pub find: IndexMap<String, FindFile>,
    /// The code with which the call fails by design, such as NOT_FOUND. A simulated reader goes on when it has failed.
    #[schemars(length(min = 1))]
    pub fails: Option<String>,
    /// True if the task can be done without the call. A simulated reader that cannot make it goes on.
    #[serde(default)]
    pub optional: bool,
    /// Other calls that do the same, and count as intended ones too.
    #[serde(default)]
    pub alternatives: Vec<CallFile>,
    /// The mistakes of a simulated reader's first attempt, all of them.
    #[serde(default)]
    pub mistakes: Vec<MistakeFile>,
    /// Mistakes that are drawn for every trial.
    pub draw: Option<DrawFile>,
}

/// A call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallFile {
    /// The tool.
    pub tool: String,
    /// The action; may be omitted for a tool without a discriminator.
    pub action: Option<String>,
    /// The arguments, without the discriminator.
    #[serde(default)]
    pub arguments: Object,
}

/// How to recognize the record that provides a value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FindFile {
    /// The record's field that provides the value.
    pub column: String,
    /// The fields of the record that the task states, with their values.
    #[schemars(extend("minProperties" = 1))]
    pub matching: Object,
}

/// Mistakes that are drawn for every trial.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DrawFile {
    /// The number of mistakes.
    #[schemars(range(min = 1))]
    pub count: u32,
    /// The mistakes to draw from, each at most once.
    #[schemars(length(min = 1))]
    pub from: Vec<MistakeFile>,
}

/// A mistake: the name of a kind, or an object with `kind`, `field` and `value`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum MistakeFile {
    /// The name of a kind; field and value are drawn.
    Kind(String),
    /// A kind with a fixed field, or a fixed field and value.
    Detailed {
        /// The kind.
        kind: String,
        /// The argument to change.
        field: Option<String>,
        /// The value to send instead.
        #[serde(default, deserialize_with = "super::present")]
        value: Option<Value>,
    },
}

impl MistakeFile {
    /// Returns the name of the kind as given.
    pub(crate) fn kind(&self) -> &str {
        match self {
            MistakeFile::Kind(kind) | MistakeFile::Detailed { kind, .. } => kind,
        }
    }
}

/// One schema for both forms instead of a `oneOf`: JSON Schema's object keywords do not apply to strings, and a wrong
/// key in the object form is reported as such.
impl JsonSchema for MistakeFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "MistakeFile".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let kinds: Vec<&str> = MistakeKind::all().map(MistakeKind::name).collect();
        let says: Vec<String> = MISTAKES
            .iter()
            .map(|entry| format!("`{}`: {} Such as `{}`.", entry.name, entry.says, entry.example))
            .collect();
        schemars::json_schema!({
            "description": "A mistake: a kind by its name, or an object with `kind`, `field` and `value`.",
            "type": ["string", "object"],
            "properties": {
                "kind": {"description": format!("The kind of mistake. {}", says.join(" ")), "type": "string", "enum": kinds},
                "field": {"description": "The argument that goes wrong, also a declared one that the call leaves out, or a path into one such as `lines[1].quantity`; one of the call's is drawn when left out.", "type": "string"},
                "value": {"description": "What is sent instead; drawn when left out."},
            },
            "required": ["kind"],
            "additionalProperties": false,
            "if": {"type": "string"},
            "then": {"enum": kinds},
        })
    }
}
