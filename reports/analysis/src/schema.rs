//! The JSON Schemas of the reports.

use std::borrow::Cow;

use healbench_core::{AgentKind, ERROR_KINDS, Guardrails, Opening, Outcome, ToolsMode};
use healbench_store::RunStatus;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::comparison::{Comparison, Matrix};
use crate::errors::ErrorTexts;
use crate::metric::Metric;
use crate::moves::{Calibration, Prediction};
use crate::summary::Report;

/// A report that is printed as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonSchemaKind {
    /// Printed by `healbench report --output json`.
    Report,
    /// Printed by `healbench compare --output json` for two runs.
    Comparison,
    /// Printed by `healbench compare --by --output json` for one run.
    Matrix,
    /// Printed by `healbench errors --output json`.
    Errors,
    /// Printed by `healbench calibrate --output json`.
    Calibration,
    /// Printed by `healbench predict --output json`.
    Prediction,
}

/// Returns the JSON Schema (draft 2020-12) of a report, ending with a line break. The text is the same on every call.
///
/// # Errors
/// None in practice: serialization fails only for keys that are not text.
pub fn json_schema(kind: JsonSchemaKind) -> Result<String, serde_json::Error> {
    match kind {
        JsonSchemaKind::Report => schema::<Report>(),
        JsonSchemaKind::Comparison => schema::<Comparison>(),
        JsonSchemaKind::Matrix => schema::<Matrix>(),
        JsonSchemaKind::Errors => schema::<ErrorTexts>(),
        JsonSchemaKind::Calibration => schema::<Calibration>(),
        JsonSchemaKind::Prediction => schema::<Prediction>(),
    }
}

fn schema<T: JsonSchema>() -> Result<String, serde_json::Error> {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    let definitions = schema["$defs"].clone();
    merge_tagged(&mut schema, &definitions);
    deny_additional_properties(&mut schema);
    Ok(format!("{schema:#}\n"))
}

/// Replaces the reference of each object that also has properties, such as the tag of an enum, by what it refers to, so that both can be
/// complete.
fn merge_tagged(schema: &mut Value, definitions: &Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(|value| merge_tagged(value, definitions));
            let target = map.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
            let target = target.filter(|_| map.contains_key("properties")).map(|name| &definitions[name]);
            if let Some(target) = target.and_then(Value::as_object) {
                map.remove("$ref");
                for (key, value) in target {
                    match (map.entry(key).or_insert(Value::Null), value) {
                        (Value::Object(own), Value::Object(other)) => own.extend(other.clone()),
                        (Value::Array(own), Value::Array(other)) => own.extend(other.iter().cloned()),
                        (own @ Value::Null, other) => *own = other.clone(),
                        _ => {}
                    }
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| merge_tagged(item, definitions)),
        _ => {}
    }
}

/// Sets `additionalProperties` to false in each object with properties.
fn deny_additional_properties(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(deny_additional_properties);
            if map.contains_key("properties") {
                map.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(deny_additional_properties),
        _ => {}
    }
}

/// Declares the schema of an enum that is serialized as one of a few names. The enums' own crates do not depend on
/// schemars.
macro_rules! enum_schemas {
    ($($schema:ident, $name:literal: $values:expr;)*) => {$(
        pub(crate) enum $schema {}

        impl JsonSchema for $schema {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let names: Vec<Value> = $values.into_iter().map(|value| json!(value)).collect();
                json_schema!({ "type": "string", "enum": names })
            }
        }
    )*};
}

enum_schemas! {
    AgentKindSchema, "AgentKind": [AgentKind::Scripted, AgentKind::Llm, AgentKind::Replay, AgentKind::Program, AgentKind::Trace];
    ErrorKindSchema, "ErrorKind": ERROR_KINDS.map(|entry| entry.name);
    GuardrailsSchema, "Guardrails": Guardrails::sets();
    MetricSchema, "Metric": Metric::ALL;
    OpeningSchema, "Opening": Opening::ALL;
    OutcomeSchema, "Outcome": Outcome::ALL;
    RunStatusSchema, "RunStatus": [RunStatus::Running, RunStatus::Interrupted, RunStatus::Complete];
    ToolsModeSchema, "ToolsMode": ToolsMode::ALL;
}

/// The JSON form of a [`Claim`](healbench_core::Claim), whose crate does not depend on schemars.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is there for its form")]
#[schemars(rename = "Claim")]
pub(crate) struct ClaimSchema {
    /// The claim in words.
    says: String,
    /// The number that is counted in each episode.
    measure: MeasureSchema,
    /// The claimed mean without guardrails; null if the claim has no number.
    without: Option<SpanSchema>,
    /// The claimed mean with all guardrails.
    with: Option<SpanSchema>,
}

/// The number that a claim is about.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is there for its form")]
#[schemars(rename = "Measure", rename_all = "snake_case")]
enum MeasureSchema {
    /// Calls that were made.
    Calls,
    /// Attempts after the first error of an error chain.
    Retries,
    /// Calls equal to an earlier failed call.
    RepeatedCalls,
    /// Tokens of the largest response.
    ResponseTokens,
    /// The cost of these tokens in US dollars, at this price per million.
    ResponseUsd(f64),
}

/// The JSON form of [`Fitted`](healbench_core::Fitted).
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is there for its form")]
#[schemars(rename = "Fitted")]
pub(crate) struct FittedSchema {
    /// The logs or runs, with their version and licence.
    source: String,
    /// The titles of the agents whose moves these are.
    agents: Vec<String>,
    /// Tasks with a first error of a chain.
    tasks: u64,
    /// First errors of chains.
    moves: u64,
    /// The day of the newest of the runs or imports.
    date: String,
    /// The verdict on moves in held-out tasks.
    verdict: String,
}

/// A range of numbers that includes both ends.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is there for its form")]
#[schemars(rename = "Span")]
pub(crate) struct SpanSchema {
    /// The smallest.
    from: f64,
    /// The largest.
    to: f64,
}
