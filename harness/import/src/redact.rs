//! The masking of all values of an episode, after everything that depends on them was computed.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use healbench_core::{RecordedTurn, ToolResponse, Turn, canonical_json};
use healbench_store::EpisodeResult;
use regex::{Captures, Regex};
use serde_json::Value;

/// The replacement for the texts of users and agents, and for results.
const TEXT: &str = "[text]";
/// The replacement for a quoted text of an error that was not sent.
const QUOTED: &str = "[quoted]";
/// The replacement for a number of an error.
const NUMBER: &str = "[number]";

/// The shortest sent value that is searched in texts, in characters.
const MIN_CHARS: usize = 3;

/// Masks the values in arguments, and in the texts of errors those that were sent, what is quoted, and numbers. Names of arguments and
/// tools stay. Other texts are replaced. Equal values of an episode get equal masks.
pub(crate) fn redact(result: &mut EpisodeResult) {
    let mut masks = Masks::default();
    for call in &mut result.calls {
        masks.names.insert(call.tool.to_string());
        if let Ok(mut arguments) = serde_json::from_str(&call.arguments) {
            masks.mask(&mut arguments);
            call.arguments = canonical_json(&arguments).into();
        }
    }
    if let Some(recorded) = &mut result.recorded_turns {
        recorded.prompt.iter_mut().for_each(hide);
        for RecordedTurn { turn, .. } in &mut recorded.turns {
            match turn {
                Turn::Calls { calls, text, .. } => {
                    hide(text);
                    calls.iter_mut().for_each(|call| masks.mask(&mut call.arguments));
                }
                Turn::Message { text }
                | Turn::Done { answer: text }
                | Turn::GiveUp { reason: text }
                | Turn::Refused { reason: text }
                | Turn::Answer { text }
                | Turn::Incomplete { text } => hide(text),
            }
        }
    }
    let mut hashes = HashMap::new();
    for response in &mut result.responses {
        for text in response.content.iter_mut().chain(&mut response.unguarded_text) {
            match response.is_error {
                true => *text = masks.of_error(text),
                false => hide(text),
            }
        }
        let shown = ToolResponse { content: response.content.clone(), is_error: response.is_error };
        hashes.insert(response.response_hash, shown.hash());
        response.response_hash = shown.hash();
    }
    for call in &mut result.calls {
        if let Some(hash) = hashes.get(&call.response_hash) {
            call.response_hash = *hash;
        }
    }
}

fn hide(text: &mut String) {
    if !text.is_empty() {
        TEXT.clone_into(text);
    }
}

/// The masks of the values of an episode.
#[derive(Default)]
struct Masks {
    /// The mask of each value, by its text.
    values: HashMap<String, String>,
    /// The names of tools and arguments.
    names: BTreeSet<String>,
}

impl Masks {
    fn mask(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.names.insert(name.clone());
                    self.mask(value);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask(item)),
            Value::Null | Value::Bool(_) => {}
            Value::String(text) => *text = self.of_value(text),
            Value::Number(number) => *value = Value::String(self.of_value(&number.to_string())),
        }
    }

    fn of_value(&mut self, text: &str) -> String {
        let next = self.values.len() + 1;
        self.values.entry(text.to_owned()).or_insert_with(|| format!("[value {next}]")).clone()
    }

    fn of_error(&self, text: &str) -> String {
        match serde_json::from_str::<Value>(text) {
            Ok(mut document @ (Value::Object(_) | Value::Array(_))) => {
                self.in_document(&mut document);
                document.to_string()
            }
            _ => self.in_prose(text),
        }
    }

    fn in_document(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => fields.values_mut().for_each(|value| self.in_document(value)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.in_document(item)),
            Value::String(text) => *text = self.of_error(text),
            Value::Number(_) => *value = Value::String(NUMBER.to_owned()),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn in_prose(&self, text: &str) -> String {
        static SPANS: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r#""[^"\n]*"|`[^`\n]*`|\B'[^'\n]*'\B|\[value \d+\]|\d[\d.,:/-]*"#).ok());
        let mut sent: Vec<(&String, &String)> =
            self.values.iter().filter(|(value, _)| value.chars().count() >= MIN_CHARS).collect();
        // A value may be a part of another.
        sent.sort_by_key(|(value, _)| (std::cmp::Reverse(value.len()), *value));
        let text = sent.into_iter().fold(text.to_owned(), |text, (value, mask)| match self.names.contains(value) {
            true => text,
            false => text.replace(value.as_str(), mask),
        });
        let Some(spans) = &*SPANS else { return TEXT.to_owned() };
        let masked = spans.replace_all(&text, |span: &Captures<'_>| {
            let span = &span[0];
            let quote = &span[..1];
            match quote {
                "[" => span.to_owned(),
                "\"" | "`" | "'" => match &span[1..span.len() - 1] {
                    inside if inside.is_empty() || inside.starts_with("[value ") || self.names.contains(inside) => {
                        span.to_owned()
                    }
                    _ => format!("{quote}{QUOTED}{quote}"),
                },
                _ => NUMBER.to_owned(),
            }
        });
        masked.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn error_texts_keep_their_wording_and_names() {
        let mut masks = Masks::default();
        let mut arguments = json!({"file_id": "ID-42", "to": ["ann@example.com"], "count": 17, "deep": {"on": true}});
        masks.mask(&mut arguments);
        let text = arguments.to_string();
        assert_eq!(text, r#"{"file_id":"[value 1]","to":["[value 2]"],"count":"[value 3]","deep":{"on":true}}"#);
        let cases = [
            ("File with ID 'ID-42' not found (code 404)", "File with ID '[value 1]' not found (code [number])"),
            ("`file_id` must not be \"secret\"", "`file_id` must not be \"[quoted]\""),
            ("ann@example.com isn't known", "[value 2] isn't known"),
            (r#"{"error":"no ann@example.com","retry":3}"#, r#"{"error":"no [value 2]","retry":"[number]"}"#),
        ];
        for (text, masked) in cases {
            assert_eq!(masks.of_error(text), masked);
        }
    }
}
