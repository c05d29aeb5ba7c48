//! Tests of texts that speak of something else than an argument of the call: they give no advice about one.

use healbench_reader::reading::predict;
use serde_json::{Value, json};

/// Returns what the reader makes of a text in answer to a call with these arguments.
fn read(text: &str, sent: &Value) -> Value {
    predict(&json!({"id": "x", "tool": "t", "arguments": sent, "text": text, "is_error": true})).unwrap()
}

#[track_caller]
fn assert_no_remedy(texts: &[(&str, Value)]) {
    let told = texts.iter().map(|(text, sent)| read(text, sent));
    let wrong: Vec<String> = texts
        .iter()
        .zip(told)
        .filter(|(_, read)| read["remedies"] != json!([]) || read["enough"] != json!(false))
        .map(|((text, _), read)| format!("{text}: {}", read["remedies"]))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn assert_remedy(text: &str, sent: &Value, field: &str, kind: &str) {
    let read = read(text, sent);
    let found =
        read["remedies"].as_array().unwrap().iter().any(|remedy| remedy["field"] == field && remedy["kind"] == kind);
    assert!(found, "{text}: {read}");
}

#[test]
fn what_a_text_names_besides_the_call_is_no_argument() {
    assert_no_remedy(&[
        ("Nightly sync of crm broke: `zip_code` must be five digits.", json!({"feed": "crm"})),
        ("plugin setting maxWorkers='many', should be an integer", json!({"job": "build"})),
        ("stored template t9 has retry_count 'x', expected number", json!({"template": "t7"})),
        ("Row 12: unit unknown, allowed: kg, lb.", json!({"upload": 4})),
        ("Record 9: amount must be at most 50.", json!({"upload": "u-4"})),
    ]);
    assert_remedy("`zip` must be five digits.", &json!({"zip": "1"}), "zip", "format");
    assert_remedy("The value must be an integer.", &json!({"count": "x"}), "count", "type");
    assert_remedy(
        "Row 2: amount must be at most 50.",
        &json!({"rows": [{"amount": 9}, {"amount": 70}]}),
        "rows",
        "bound",
    );
}

#[test]
fn a_field_that_nobody_sent_is_not_removed() {
    assert_no_remedy(&[
        ("config app.toml, line 3: unknown field `prot`, expected `port`.", json!({"service": "web"})),
        ("The saved view has an unrecognized key 'colour'.", json!({"view": "v1"})),
    ]);
    assert_remedy(
        "{\"detail\": [{\"loc\": [\"body\", \"colour\"], \"msg\": \"extra fields not permitted\"}]}",
        &json!({"colour": "red", "size": 4}),
        "colour",
        "remove",
    );
    assert_remedy("Unknown field `colour`.", &json!({"colour": "red"}), "colour", "remove");
}

#[test]
fn a_limit_of_something_else_is_no_bound() {
    assert_no_remedy(&[
        ("Quota DISKS exceeded. Limit: 8, usage: 8, zone: north-2.", json!({"zone": "north-2", "kind": "small"})),
        ("Budget exhausted. Maximum: 500, spent: 500, team: red", json!({"team": "red", "model": "s"})),
        ("pump-4 runs firmware 2.7.1 (expected 2.8.0) and is silent", json!({"pump": "pump-4"})),
        ("node n-1 has driver 10.2.3, expected 11.0.1, and failed", json!({"node": "n-1"})),
        ("Conflict between sessions 2 and 9; neither got through.", json!({"deal": "d-5", "amount": 40})),
        ("Jobs 3 and 8 failed on the same disk.", json!({"copies": 12})),
        ("Upload 9: 44 of 50 rows failed.", json!({"upload": 9})),
        ("The upload failed after 12 of 90 parts.", json!({"size": 400})),
    ]);
    assert_remedy("Maximum length of team: 5 characters", &json!({"team": "reddish", "model": "s"}), "team", "bound");
    assert_remedy("Stars must be between 1 and 5.", &json!({"stars": 9}), "stars", "bound");
}

#[test]
fn how_long_something_has_lasted_is_no_delay() {
    assert_no_remedy(&[
        ("lock wait: transaction 5 is behind 4 (held for 90 s)", json!({"table": "users"})),
        ("busy: process 31 has been running for 20 minutes", json!({"table": "users"})),
    ]);
    let read = read("Busy. Wait for 20 seconds.", &json!({"table": "users"}));
    assert_eq!(read["remedies"], json!([{"field": null, "kind": "wait", "value": 20}]));
}

#[test]
fn examples_of_other_things_are_no_form() {
    assert_no_remedy(&[
        ("Could not reach lamp-3. You can ask things like \"dim the kitchen to 20\".", json!({"lamp": "lamp-3"})),
        ("printer-2 is offline. Devices like 'scanner 7' still work.", json!({"printer": "printer-2"})),
    ]);
    assert_remedy("Unknown id ord. Ids look like 'ord-17'.", &json!({"order": "ord"}), "order", "format");
}

#[test]
fn data_in_braces_is_no_contract() {
    assert_no_remedy(&[
        ("rpc failed: assert n <= 8, debug = {file: \"decode.cc\", line: 412}", json!({"text": "a"})),
        ("INTERNAL {node: 'n1', attempt: 3}", json!({"text": "a"})),
    ]);
}

#[test]
fn a_refusal_is_no_advice_by_itself() {
    assert_no_remedy(&[
        ("EPERM: permission denied, unlink '/srv/a'", json!({"path": "/srv/a"})),
        ("403 Forbidden. Your role is reader.", json!({"path": "/srv/a"})),
        ("401 Unauthorized: the session has ended", json!({"path": "/srv/a"})),
    ]);
    for text in ["Access denied. Contact your administrator.", "You do not have permission to delete projects."] {
        assert_eq!(read(text, &json!({"path": "/srv/a"}))["remedies"][0]["kind"], "stop", "{text}");
    }
}
