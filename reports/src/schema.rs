//! What the JSON of reports looks like, for those who read it by a program.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

use crate::comparison::{Comparison, Matrix};
use crate::summary::Report;

/// What is printed as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Printed {
    /// `healbench report --json`.
    Report,
    /// `healbench compare --json` of two runs.
    Comparison,
    /// `healbench compare --by --json` of one.
    Matrix,
}

/// The JSON Schema (draft 2020-12) of what is printed, with a line break at its end; the same text on every call.
///
/// # Errors
/// None that a schema can cause: its keys are text.
pub fn json_schema(of: Printed) -> Result<String, serde_json::Error> {
    match of {
        Printed::Report => schema::<Report>(),
        Printed::Comparison => schema::<Comparison>(),
        Printed::Matrix => schema::<Matrix>(),
    }
}

fn schema<T: JsonSchema>() -> Result<String, serde_json::Error> {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut text = serde_json::to_string_pretty(&generator.into_root_schema_for::<T>())?;
    text.push('\n');
    Ok(text)
}
