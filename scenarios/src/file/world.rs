use healbench_core::Object;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The data that the tools act on. Every key except `role` and `fixed` is a table.
#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code, reason = "read table by table, so that one broken table hides no problem of another")]
pub(crate) struct WorldFile {
    /// The role of the caller, for `deny` rules.
    pub role: Option<String>,
    /// True if generated rows are drawn once for all trials; otherwise each trial has its own, up to 32 different ones.
    pub fixed: Option<bool>,
    /// A table, by its name.
    #[serde(flatten)]
    pub tables: IndexMap<String, TableFile>,
}

/// A table: generated rows and written rows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableFile {
    /// The key column; `id` if left out.
    #[serde(default = "id")]
    #[schemars(length(min = 1))]
    pub key: String,
    /// The name of one row in error texts; the table's name without its plural ending if left out.
    pub singular: Option<String>,
    /// The prefix of generated keys, such as `INV-`; bare numbers if left out.
    #[serde(default)]
    pub key_prefix: String,
    /// Written rows, at drawn positions among the generated ones.
    #[serde(default)]
    pub rows: Vec<Object>,
    /// Generated rows, drawn by trial unless the world is `fixed`.
    pub generate: Option<GenerateFile>,
}

fn id() -> String {
    "id".to_owned()
}

/// Generated rows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GenerateFile {
    /// The number of rows.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: u32,
    /// The source of each column's values. A key column that is left out is numbered.
    pub fields: IndexMap<String, FieldFile>,
}

/// The source of a column's values: exactly one of pick, range, sequence, phrase and value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FieldFile {
    /// A value drawn from this list.
    #[schemars(length(min = 1))]
    pub pick: Option<Vec<Value>>,
    /// A drawn integer from the first to the second number, both included.
    #[schemars(length(min = 2, max = 2))]
    pub range: Option<Vec<i64>>,
    /// A text with the row's number from 1: `INV-{n}`, or with leading zeros `INV-{n:04}`.
    pub sequence: Option<String>,
    /// A text of several words: a random one from each list, joined by spaces.
    #[schemars(length(min = 1))]
    pub phrase: Option<Vec<Vec<String>>>,
    /// The same value in every row.
    #[serde(default, deserialize_with = "super::present")]
    pub value: Option<Value>,
}
