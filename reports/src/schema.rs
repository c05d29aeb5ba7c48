//! What the JSON of reports looks like, for those who read it by a program.

use std::borrow::Cow;

use healbench_protocol::{AgentKind, Guardrails, Opening, ToolsMode};
use healbench_record::{Outcome, RunStatus};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::comparison::{Comparison, Matrix};
use crate::metric::Metric;
use crate::summary::Report;

/// What is printed as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonSchemaKind {
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
pub fn json_schema(of: JsonSchemaKind) -> Result<String, serde_json::Error> {
    match of {
        JsonSchemaKind::Report => schema::<Report>(),
        JsonSchemaKind::Comparison => schema::<Comparison>(),
        JsonSchemaKind::Matrix => schema::<Matrix>(),
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

/// Forms of values that are one of a few words, made of these values: their crates know nothing of schemas.
macro_rules! words {
    ($($form:ident, $name:literal: $values:expr;)*) => {$(
        pub(crate) enum $form {}

        impl JsonSchema for $form {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let words: Vec<Value> = $values.into_iter().map(|value| json!(value)).collect();
                json_schema!({ "type": "string", "enum": words })
            }
        }
    )*};
}

words! {
    AgentKindForm, "AgentKind": [AgentKind::Scripted, AgentKind::Llm, AgentKind::Replay];
    GuardrailsForm, "Guardrails": (0..16).map(Guardrails::from_bits);
    MetricForm, "Metric": Metric::ALL;
    OpeningForm, "Opening": Opening::ALL;
    OutcomeForm, "Outcome": Outcome::ALL;
    RunStatusForm, "RunStatus": [RunStatus::Running, RunStatus::Interrupted, RunStatus::Complete];
    ToolsModeForm, "ToolsMode": ToolsMode::ALL;
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
