//! Code shared by both OpenAI APIs, including tolerance for deviations of compatible servers.

use std::collections::BTreeSet;

use healbench_core::NumberTexts;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::UnreadableResponse;
use crate::llm::{Arguments, lenient_json};

pub(super) fn headers(key: Option<&str>) -> Vec<(&'static str, String)> {
    key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
}

#[derive(Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    #[default]
    Function,
}

/// Converts a value of this crate to JSON. Its keys must be strings.
pub(super) fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("its keys are strings")
}

/// Returns arguments as text, as requests carry them.
pub(super) fn arguments_text(arguments: &Arguments) -> String {
    match arguments {
        Arguments::Json(value) => value.to_string(),
        Arguments::Text(text) => text.clone(),
    }
}

/// A part of a message. Parts other than text and refusals, such as Mistral's thinking, are ignored.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part {
    #[serde(alias = "output_text")]
    Text {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct InputDetails {
    #[serde(deserialize_with = "count")]
    pub(super) cached_tokens: Option<u64>,
    /// Reported by OpenRouter, and by OpenAI for models with billed cache writes.
    #[serde(deserialize_with = "count")]
    pub(super) cache_write_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputDetails {
    #[serde(deserialize_with = "count")]
    pub(super) reasoning_tokens: Option<u64>,
}

/// The text of a message, and whether the model refused.
#[derive(Default)]
pub(super) struct ParsedText {
    pub(super) text: String,
    pub(super) refused: bool,
}

impl ParsedText {
    pub(super) fn push_parts(&mut self, parts: impl IntoIterator<Item = Part>) {
        for part in parts {
            match part {
                Part::Text { text } => self.text.push_str(&text),
                Part::Refusal { refusal } => {
                    self.text.push_str(&refusal);
                    self.refused = true;
                }
                Part::Other => {}
            }
        }
    }
}

/// Parses arguments and replaces them with the text to send back.
///
/// Missing arguments are read as an empty object: several servers (vLLM, and OpenRouter for some models) send an empty
/// string or `null` if the model wrote none, some join the parts of a stream to `{}{"a": 1}`, and some write the JSON of
/// arguments as a text once more. To count that as malformed would measure the server, not the model.
pub(super) fn read_arguments(sent: &mut Value) -> (Arguments, Option<Box<NumberTexts>>) {
    let arguments = match &*sent {
        Value::String(text) if !text.trim().is_empty() => match lenient_json::parse(text.as_bytes()) {
            Ok(Value::Null) => Arguments::Json(Value::Object(Map::new())),
            Ok(Value::String(inner)) if lenient_json::parse::<Map<String, Value>>(inner.as_bytes()).is_ok() => {
                *sent = inner.into();
                return read_arguments(sent);
            }
            Ok(value) => return (Arguments::Json(value), NumberTexts::of(text)),
            Err(_) => match joined_objects(text) {
                Some(object) => Arguments::Json(object),
                None => return (Arguments::Text(text.clone()), None),
            },
        },
        Value::String(_) => Arguments::Json(Value::Object(Map::new())),
        value => Arguments::Json(or_none(value.clone())),
    };
    *sent = arguments_text(&arguments).into();
    (arguments, None)
}

/// Returns an empty object in the place of `null` and of an empty list, which a server sends for an object without keys.
pub(super) fn or_none(arguments: Value) -> Value {
    match arguments {
        Value::Null => Value::Object(Map::new()),
        Value::Array(items) if items.is_empty() => Value::Object(Map::new()),
        other => other,
    }
}

/// Returns the only object of a text of several that is not empty, or an empty one.
fn joined_objects(text: &str) -> Option<Value> {
    let objects: Vec<Map<String, Value>> =
        serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().ok()?;
    let mut filled = objects.into_iter().filter(|object| !object.is_empty());
    let found = filled.next().unwrap_or_default();
    filled.next().is_none().then_some(Value::Object(found))
}

/// Replaces empty and repeated ids of calls by `callNNNNN`, so that each result refers to one call. Servers that are strict
/// about ids want nine letters and digits.
pub(super) fn ensure_unique<'a>(ids: impl IntoIterator<Item = &'a mut String>) {
    let ids: Vec<&mut String> = ids.into_iter().collect();
    let mut taken: BTreeSet<String> = ids.iter().map(|id| id.to_string()).collect();
    let mut seen = BTreeSet::new();
    for (index, id) in ids.into_iter().enumerate() {
        if id.is_empty() || !seen.insert(id.clone()) {
            let mut number = index + 1;
            let made = |number: usize| format!("call{number:05}");
            while !taken.insert(made(number)) {
                number += 1;
            }
            *id = made(number);
        }
    }
}

/// Returns an error unless `error` is null. OpenRouter reports errors of upstream servers with status 200.
pub(super) fn check_error(error: &Value) -> Result<(), UnreadableResponse> {
    if error.is_null() {
        return Ok(());
    }
    let message = error.get("message").unwrap_or(error);
    let message = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
    Err(UnreadableResponse(format!("the server reports an error: {message}")))
}

pub(super) fn read<T: DeserializeOwned>(value: &Value, context: &str) -> Result<T, UnreadableResponse> {
    T::deserialize(value).map_err(|error| UnreadableResponse(format!("{context}: {error}")))
}

/// Deserializes a field, or its default if the value has an unexpected type. Used with `deserialize_with` for fields
/// that a reply can do without, such as token counts.
pub(super) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(T::deserialize(Value::deserialize(deserializer)?).unwrap_or_default())
}

/// Deserializes a count, also from a fraction such as `12.0` or a text, as some servers write it.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = || value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    Ok(value
        .as_u64()
        .or_else(|| number().filter(|number| *number >= 0.0 && number.fract() == 0.0).map(|number| number as u64)))
}
