use healbench_protocol::Object;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::mistakes::MistakeKind;

/// A fault that calls will meet.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FaultFile {
    /// What goes wrong: `rate_limited`, `timeout`, `busy` or `internal`.
    #[schemars(extend("enum" = ["rate_limited", "timeout", "busy", "internal"]))]
    pub kind: String,
    /// What it strikes: `tool.action`, or a tool with all of its actions.
    pub on: String,
    /// The first matching call that it strikes, from 1. Only calls that pass validation count.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub from_call: u32,
    /// How many matching calls it strikes. A `rate_limited` fault also ends once the agent has waited `retry_after` seconds.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub calls: u32,
    /// What the failure tells to wait, in seconds.
    pub retry_after: Option<u32>,
}

fn one() -> u32 {
    1
}

/// What must hold at the end: exactly one of row, no_row, count, unchanged, called and stops.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectFile {
    /// A row like this is there.
    pub row: Option<OneRowFile>,
    /// No row like this is there.
    pub no_row: Option<RowFile>,
    /// So many rows like this are there.
    pub count: Option<CountFile>,
    /// This table is as it was at the beginning.
    pub unchanged: Option<String>,
    /// A call like this succeeded.
    pub called: Option<CalledFile>,
    /// `true`: the task cannot be done, and the agent says so.
    pub stops: Option<bool>,
}

/// A row of a table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OneRowFile {
    /// The table.
    #[serde(rename = "in")]
    pub table: String,
    /// Columns and values that are all equal.
    #[serde(rename = "where")]
    pub matching: Object,
    /// Whether the row may hold nothing else than these columns and its key: nothing that was made up reached the data.
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
    /// Columns and values that are all equal.
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
    /// Columns and values that are all equal; all rows when left out.
    #[serde(default, rename = "where")]
    pub matching: Object,
    /// How many.
    pub equals: u32,
}

/// A call that succeeded.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CalledFile {
    /// The tool.
    pub tool: String,
    /// The action; may be left out for a tool without a discriminator.
    pub action: Option<String>,
    /// Arguments that were among those of the call.
    #[serde(default)]
    pub arguments: Object,
}

/// One intended call, with what goes wrong at first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepFile {
    /// The call that a perfect agent would make.
    pub call: CallFile,
    /// Arguments whose value the task does not tell: it has to be read from a record. By argument.
    #[serde(default)]
    pub find: IndexMap<String, FindFile>,
    /// What a scripted agent gets wrong in its first try, all of it.
    #[serde(default)]
    pub mistakes: Vec<MistakeFile>,
    /// Mistakes that are drawn anew in every trial.
    pub draw: Option<DrawFile>,
}

/// A call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallFile {
    /// The tool.
    pub tool: String,
    /// The action; may be left out for a tool without a discriminator.
    pub action: Option<String>,
    /// The arguments, without the discriminator.
    #[serde(default)]
    pub arguments: Object,
}

/// How the record that holds a value is recognised.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FindFile {
    /// The record's field that holds the value.
    pub column: String,
    /// What the task tells about the record: fields and values that are all equal.
    #[schemars(extend("minProperties" = 1))]
    pub matching: Object,
}

/// Mistakes that are drawn anew in every trial.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DrawFile {
    /// How many of them are made.
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
        let kinds: Vec<&str> = MistakeKind::ALL.iter().map(|kind| kind.name()).collect();
        schemars::json_schema!({
            "description": "A mistake: a kind by its name, or an object with `kind`, `field` and `value`.",
            "type": ["string", "object"],
            "properties": {
                "kind": {"description": "The kind of mistake.", "type": "string", "enum": kinds},
                "field": {"description": "The argument that goes wrong; drawn when left out.", "type": "string"},
                "value": {"description": "What is sent instead; drawn when left out."},
            },
            "required": ["kind"],
            "additionalProperties": false,
            "if": {"type": "string"},
            "then": {"enum": kinds},
        })
    }
}
