//! What the JSON of reports looks like, for those who read it by a program.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

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
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    close(&mut schema);
    Ok(format!("{schema:#}\n"))
}

/// An object has the fields that are described, and no others.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(close);
            if map.contains_key("properties") {
                map.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// A [`Claim`](healbench_protocol::Claim) in JSON: its crate knows nothing of schemas.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is there for its form")]
#[schemars(rename = "Claim")]
pub(crate) struct ClaimForm {
    /// The claim in words.
    says: String,
    /// What it is about, counted in each episode.
    measure: MeasureForm,
    /// The mean that is claimed without guardrails; null when no number is.
    without: Option<SpanForm>,
    /// The mean that is claimed with guardrails.
    with: Option<SpanForm>,
}

/// What a claim is about.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is there for its form")]
#[schemars(rename = "Measure", rename_all = "snake_case")]
enum MeasureForm {
    /// Calls that were made.
    Calls,
    /// Attempts after the first error of an error chain.
    Retries,
    /// Calls equal to an earlier failed call.
    RepeatedCalls,
    /// Tokens of the largest response.
    ResponseTokens,
    /// Those tokens in US dollars, at this price for a million of them.
    ResponseUsd(f64),
}

/// Numbers between two others, both included.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is there for its form")]
#[schemars(rename = "Span")]
pub(crate) struct SpanForm {
    /// The smallest.
    from: f64,
    /// The largest.
    to: f64,
}
