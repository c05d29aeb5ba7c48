use healbench_protocol::Object;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The data that the tools act on. Every key but `role` is a table.
#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code, reason = "read table by table, so that one broken table hides no problem of another")]
pub(crate) struct WorldFile {
    /// The role that calls are made in, for `deny` rules.
    pub role: Option<String>,
    /// A table, by name.
    #[serde(flatten)]
    pub tables: IndexMap<String, TableFile>,
}

/// A table: generated rows, and the rows that are written down, at drawn places among them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableFile {
    /// The key column; `id` when left out.
    #[serde(default = "id")]
    #[schemars(length(min = 1))]
    pub key: String,
    /// What one row is called in error texts; the table's name without its plural ending when left out.
    pub singular: Option<String>,
    /// What numbered keys begin with, as in `INV-`; bare numbers when left out.
    #[serde(default)]
    pub key_prefix: String,
    /// Rows that are written down; they come after the generated ones.
    #[serde(default)]
    pub rows: Vec<Object>,
    /// Rows that are made up, the same in every trial of a seed.
    pub generate: Option<GenerateFile>,
}

fn id() -> String {
    "id".to_owned()
}

/// Rows that are made up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GenerateFile {
    /// How many rows.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: u32,
    /// Where each column's values come from. A key column that is left out is numbered.
    pub fields: IndexMap<String, FieldFile>,
}

/// Where a column's values come from: exactly one of pick, range, sequence, phrase and value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FieldFile {
    /// One of these values, drawn.
    #[schemars(length(min = 1))]
    pub pick: Option<Vec<Value>>,
    /// A whole number from the first to the second, both included, drawn.
    #[schemars(length(min = 2, max = 2))]
    pub range: Option<Vec<i64>>,
    /// A text with the row's number from 1: `INV-{n}`, or with leading zeros `INV-{n:04}`.
    pub sequence: Option<String>,
    /// A text of several words: one drawn from each list, joined by spaces.
    #[schemars(length(min = 1))]
    pub phrase: Option<Vec<Vec<String>>>,
    /// The same value in every row.
    #[serde(default, deserialize_with = "super::present")]
    pub value: Option<Value>,
}
