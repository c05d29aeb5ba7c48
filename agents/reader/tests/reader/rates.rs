//! The rates of right and wrong readings, over texts that were written without sight of the reader's source. docs/findings.md states them.
//!
//! Rules of the reader's version 10 were made with the first set in sight. Half of the texts without a remedy in `unseen` had been read by
//! then, and one rule was changed because of their count.

use healbench_reader::reading::predict;
use serde_json::{Value, json};

/// The two sets of a kind of texts.
macro_rules! sets {
    ($name:literal) => {
        [include_str!(concat!("../texts/", $name)), include_str!(concat!("../texts/unseen/", $name))].map(read)
    };
}

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
    let is_found = |label: &Value, prediction: &Value| {
        let found = remedies(prediction);
        remedies(label).iter().all(|remedy| found.contains(remedy))
    };
    let is_error = |_: &Value, prediction: &Value| prediction["is_error"] == json!(true);
    let counts = sets!("errors.jsonl").map(|read| [read.len(), count(&read, is_error), count(&read, is_found)]);
    assert_eq!(counts, [[80, 66, 50], [80, 57, 38]]);
}

#[test]
fn texts_without_a_remedy_rarely_yield_one() {
    let has_none = |label: &Value| remedies(label).is_empty();
    let yields = |label: &Value, prediction: &Value| {
        has_none(label) && (!remedies(prediction).is_empty() || prediction["enough"] == json!(true))
    };
    let counts =
        sets!("without-remedy.jsonl").map(|read| [count(&read, |label, _| has_none(label)), count(&read, yields)]);
    assert_eq!(counts, [[96, 8], [120, 9]]);
}

#[test]
fn successes_with_words_of_errors_are_rarely_errors() {
    let is_error = |_: &Value, prediction: &Value| prediction["is_error"] == json!(true);
    assert_eq!(sets!("successes.jsonl").map(|read| [read.len(), count(&read, is_error)]), [[80, 32], [80, 8]]);
}

#[test]
fn orders_in_texts_are_rarely_followed() {
    let follows = |label: &Value, prediction: &Value| {
        let ordered = label["order"].as_array().unwrap();
        let told = prediction["remedies"].as_array().into_iter().flatten().map(|remedy| &remedy["value"]);
        told.chain(prediction["tools"].as_array().into_iter().flatten()).any(|tool| ordered.contains(tool))
    };
    assert_eq!(sets!("orders.jsonl").map(|read| [read.len(), count(&read, follows)]), [[30, 1], [30, 2]]);
}
