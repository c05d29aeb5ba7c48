use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// One of the further writes of a handler: exactly one of insert, update and delete. All writes of a call are made together or not at all.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteFile {
    /// Adds a row to this table, with the columns in `set`. A missing key is generated.
    pub insert: Option<String>,
    /// Sets the columns in `set` on all rows of this table that match `where`.
    pub update: Option<String>,
    /// Removes all rows of this table that match `where`.
    pub delete: Option<String>,
    /// The comparisons of columns that a row must pass, as in `deny.when.row`.
    #[serde(default, rename = "where")]
    pub matching: IndexMap<String, Value>,
    /// The columns to set, as in `set` of the handler. `{row: COLUMN}` is of the row that the handler wrote or deleted.
    #[serde(default)]
    pub set: IndexMap<String, Value>,
}

/// A condition on the rows of a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowsFile {
    /// The table.
    #[serde(rename = "in")]
    pub table: String,
    /// The comparisons of columns that a row must pass to be counted.
    #[serde(default, rename = "where")]
    pub matching: IndexMap<String, Value>,
    /// The comparison of the number of such rows; at least one if left out.
    pub count: Option<Value>,
}
