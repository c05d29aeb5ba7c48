//! Explanations of missing recordings.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use healbench_core::canonical_json;
use serde_json::Value;

use super::Request;
use super::excerpt::{aligned_excerpts, escape_invisible, excerpt};
use super::listing::messages;
use super::record::Record;
use crate::llm::Api;

/// Compares a request that has no recording with the nearest one, in a few lines. The recordings must be sorted by model.
pub(super) fn explain(records: &[Arc<Record>], request: &Request<'_>) -> String {
    // Recorded bodies are parsed from text. Doing the same here makes equal numbers equal.
    let asked: Value = serde_json::from_str(&canonical_json(request.body)).unwrap_or_default();
    let comparison = match nearest(records, request, &asked) {
        Some((record, recorded)) => compare(request, record, &recorded, &asked),
        None => recorded_models(records),
    };
    let model = display_model(request.api, request.model);
    format!("no recording answers a request to {model}, trial {}\n{comparison}", request.trial)
}

/// The most models listed in an explanation: a folder may contain a hundred.
const MAX_LISTED_MODELS: usize = 10;

fn recorded_models(records: &[Arc<Record>]) -> String {
    let mut models: Vec<_> = records.iter().map(|record| (record.metadata.api, &record.metadata.model)).collect();
    models.dedup();
    let mut shown: Vec<String> =
        models.iter().take(MAX_LISTED_MODELS).map(|(api, model)| display_model(*api, model)).collect();
    if models.len() > MAX_LISTED_MODELS {
        shown.push("…".to_owned());
    }
    match shown.is_empty() {
        true => "there are no recordings at all".to_owned(),
        false => format!("nothing of this model is recorded; there is: {}", shown.join(", ")),
    }
}

fn display_model(api: Api, model: &str) -> String {
    format!("{} {}", api.name(), escape_invisible(&excerpt(model, 0, 100)))
}

/// Returns the nearest recording of the same model, and its body; of equally near ones the first. The nearest is the one with the
/// most shared leading messages, then with equal messages, then with the fewest other members that differ, the trial included.
fn nearest<'a>(records: &'a [Arc<Record>], request: &Request<'_>, asked: &Value) -> Option<(&'a Record, Value)> {
    let messages_key = request.api.entry().messages_key;
    let asked_messages = messages(request.api, asked);
    let mut best = None;
    for record in records.iter().filter(|record| record.is_of(request.api, request.model)) {
        let body = record.request_body();
        let recorded = messages(request.api, &body);
        let shared = common_prefix_len(recorded, asked_messages);
        let is_equal = shared == recorded.len() && shared == asked_messages.len();
        let others = differing_members(asked, &body).iter().filter(|name| **name != messages_key).count();
        let distance = (Reverse(shared), !is_equal, others + usize::from(record.metadata.trial != request.trial));
        if best.as_ref().is_none_or(|(least, _, _)| distance < *least) {
            best = Some((distance, &**record, body));
        }
    }
    best.map(|(_, record, body)| (record, body))
}

fn compare(request: &Request<'_>, record: &Record, recorded: &Value, asked: &Value) -> String {
    let trial = record.metadata.trial;
    let date = escape_invisible(&record.metadata.recorded);
    let mut text = format!("nearest: {}, trial {trial}, recorded {date}", record.key());
    let [recorded_messages, asked_messages] = [recorded, asked].map(|body| messages(request.api, body));
    let index = common_prefix_len(recorded_messages, asked_messages);
    // Writing to a String cannot fail.
    if index < recorded_messages.len().max(asked_messages.len()) {
        let [a, b] = excerpts(recorded_messages.get(index), asked_messages.get(index), "no such message");
        let (recorded, asked) = (recorded_messages.len(), asked_messages.len());
        let _ = write!(text, "\nmessage {} is the first to differ ({recorded} recorded, {asked} asked):", index + 1);
        let _ = write!(text, "\n  recorded: {a}\n  asked:    {b}");
        return text;
    }
    text.push_str("\nall messages are equal; what differs:");
    for name in differing_members(asked, recorded) {
        let [a, b] = excerpts(recorded.get(name), asked.get(name), "not there");
        let _ = write!(text, "\n  {}: recorded {a}, asked {b}", escape_invisible(name));
    }
    if trial != request.trial {
        let _ = write!(text, "\n  trial: recorded {trial}, asked {}", request.trial);
    }
    text
}

fn common_prefix_len(a: &[Value], b: &[Value]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Returns the names of the members that differ or are in only one of two objects.
fn differing_members<'a>(a: &'a Value, b: &'a Value) -> BTreeSet<&'a str> {
    let names = [a, b].into_iter().filter_map(Value::as_object).flat_map(|members| members.keys().map(String::as_str));
    names.filter(|name| a.get(name) != b.get(name)).collect()
}

/// Returns excerpts of two values that show their first difference, or `missing` for a value that does not exist.
fn excerpts(a: Option<&Value>, b: Option<&Value>, missing: &str) -> [String; 2] {
    let [text_a, text_b] = [a, b].map(|value| value.map(canonical_json).unwrap_or_default());
    let (shown_a, shown_b) = aligned_excerpts(&text_a, &text_b);
    [(a, shown_a), (b, shown_b)].map(|(value, shown)| if value.is_some() { shown } else { missing.to_owned() })
}
