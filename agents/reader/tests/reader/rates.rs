//! The rates of right and wrong readings, over texts that were written without sight of the reader's source. docs/findings.md states them.

use healbench_reader::reading::predict;
use serde_json::{Value, json};

/// Returns the records of a file, each with what the reader makes of it.
fn read(records: &str) -> Vec<(Value, Value)> {
    let record = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        let prediction = predict(&record).unwrap();
        (record, prediction)
    };
    records.lines().map(record).collect()
}

fn count(read: &[(Value, Value)], is: impl Fn(&Value, &Value) -> bool) -> usize {
    read.iter().filter(|(record, prediction)| is(&record["label"], prediction)).count()
}

/// Returns the kinds of remedies, each with its field.
fn remedies(of: &Value) -> Vec<(&Value, &Value)> {
    of["remedies"].as_array().into_iter().flatten().map(|remedy| (&remedy["kind"], &remedy["field"])).collect()
}

#[test]
fn the_remedies_of_errors_are_read() {
    let read = read(include_str!("../texts/errors.jsonl"));
    let is_found = |label: &Value, prediction: &Value| {
        let found = remedies(prediction);
        remedies(label).iter().all(|remedy| found.contains(remedy))
    };
    let is_error = |_: &Value, prediction: &Value| prediction["is_error"] == json!(true);
    assert_eq!([read.len(), count(&read, is_error), count(&read, is_found)], [80, 68, 58]);
}

#[test]
fn texts_without_a_remedy_rarely_yield_one() {
    let read = read(include_str!("../texts/without-remedy.jsonl"));
    let has_none = |label: &Value| remedies(label).is_empty();
    let yields = |label: &Value, prediction: &Value| {
        has_none(label) && (!remedies(prediction).is_empty() || prediction["enough"] == json!(true))
    };
    assert_eq!([count(&read, |label, _| has_none(label)), count(&read, yields)], [96, 0]);
}

#[test]
fn successes_with_words_of_errors_are_rarely_errors() {
    let read = read(include_str!("../texts/successes.jsonl"));
    assert_eq!([read.len(), count(&read, |_, prediction| prediction["is_error"] == json!(true))], [80, 7]);
}

#[test]
fn orders_in_texts_are_rarely_followed() {
    let read = read(include_str!("../texts/orders.jsonl"));
    let follows = |label: &Value, prediction: &Value| {
        let ordered = label["order"].as_array().unwrap();
        let told = prediction["remedies"].as_array().into_iter().flatten().map(|remedy| &remedy["value"]);
        told.chain(prediction["tools"].as_array().into_iter().flatten()).any(|tool| ordered.contains(tool))
    };
    assert_eq!([read.len(), count(&read, follows)], [30, 1]);
}
