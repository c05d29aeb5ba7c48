//! What is printed as JSON is what the schemas say, no less and no more.

use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::*;
use crate::model_server::{ModelServer, mender};

fn validator(of: &str) -> Validator {
    let schema: Value = serde_json::from_str(&Place::new().ok(&["schema", of]).out).unwrap();
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    jsonschema::draft202012::new(&schema).unwrap()
}

fn check(validator: &Validator, document: &Value) {
    if let Some(error) = validator.iter_errors(document).next() {
        panic!("{}: {error}", error.instance_path());
    }
}

fn printed(place: &Place, words: &[&str]) -> Value {
    serde_json::from_str(&place.ok(words).out).unwrap()
}

/// Runs of all kinds in one folder: their names.
fn runs(place: &Place) -> Vec<&'static str> {
    let scripted = "scripted:typical,scripted:perfect";
    let play = |out: &'static str, words: &[&str]| {
        place.ok(&[&["run", "--out", out, "--quiet"], words].concat());
        out
    };
    vec![
        play("plain", &["--trials", "2", "--agent", scripted]),
        play("formats", &["--trials", "2", "--agent", scripted, "--format", "all"]),
        play("all-sets", &["controls", "--trials", "1", "--agent", scripted, "--guardrails", "full"]),
        play("alone", &["controls", "--trials", "1", "--agent", "scripted:blind", "--guardrails", "none"]),
        play("claims", &["claims", "--trials", "2", "--agent", scripted]),
        play("shard", &["--trials", "2", "--agent", scripted, "--shard", "1/2"]),
    ]
}

/// A run with a model beside a script, in which some answers are lost.
fn with_model(place: &Place) {
    let server = ModelServer::start(|number, came| match number {
        1 => (500, json!({"error": {"message": "overloaded"}})),
        _ => mender(number, came),
    });
    place.write(
        "healbench.toml",
        &format!("[model.mini]\napi = \"openai-chat\"\nbase_url = \"{}\"\nretries = 0\nprice = {{input = 1.0, output = 10.0}}\n", server.url),
    );
    place.write("scenario.yaml", include_str!("../../../../scenarios/suites/quickstart/wrong-enum.yaml"));
    let words = ["run", "scenario.yaml", "--agent", "model:mini,scripted:blind", "--trials", "3", "--out", "model"];
    let ended = place.start(&words);
    assert!(place.path("model/episodes.parquet").exists(), "{}", ended.err);
}

#[test]
fn reports_are_what_their_schema_says() {
    let (place, schema) = (Place::new(), validator("report"));
    let mut names = runs(&place);
    with_model(&place);
    names.push("model");
    let mut seen = BTreeSet::new();
    for name in names {
        let document = printed(&place, &["report", name, "--json"]);
        check(&schema, &document);
        for pointer in ["/headline", "/matrix/rows/1", "/ablation/0", "/claims/0", "/agents/0/rows/0/model", "/totals"]
        {
            seen.extend(document.pointer(pointer).filter(|value| !value.is_null()).map(|_| pointer));
        }
        refuses_what_is_not(&schema, &document);
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}

#[cfg(unix)]
#[test]
fn a_report_of_an_interrupted_run_is_what_its_schema_says() {
    let place = Place::new();
    let words = ["run", "--out", "run", "--trials", "120", "--agent", "scripted:typical,scripted:careful"];
    assert_eq!(crate::interrupted::interrupt(&place, &words).code, Some(130));
    let document = printed(&place, &["report", "run", "--json"]);
    assert!(document["totals"]["episodes"].as_u64() < document["planned"].as_u64());
    check(&validator("report"), &document);
}

#[test]
fn comparisons_are_what_their_schemas_say() {
    let place = Place::new();
    let names = runs(&place);
    let (comparison, matrix) = (validator("comparison"), validator("matrix"));
    place.ok(&["run", "--out", "other", "--quiet", "--trials", "3", "--agent", "scripted:typical,scripted:blind"]);
    for pair in [["plain", "plain"], ["plain", "other"], ["formats", "plain"], ["plain", "claims"]] {
        let document = printed(&place, &["compare", pair[0], pair[1], "--json"]);
        check(&comparison, &document);
        refuses_what_is_not(&comparison, &document);
        assert!(!matrix.is_valid(&document));
    }
    for (name, axis) in [("formats", "format"), ("all-sets", "guardrails"), ("plain", "agent")] {
        assert!(names.contains(&name));
        let document = printed(&place, &["compare", name, "--by", axis, "--json"]);
        check(&matrix, &document);
        refuses_what_is_not(&matrix, &document);
        assert!(!comparison.is_valid(&document));
    }
}

/// Fields whose text is one of a few words.
const CLOSED: [&str; 7] = ["status", "kind", "opening", "tools", "guardrails", "switches", "metric"];

/// The document with one thing wrong is refused, whatever it is: a field that is missing, one that is unknown, a number or a text that
/// is something else. Of places that are alike one is tried.
fn refuses_what_is_not(schema: &Validator, document: &Value) {
    let mut tried = BTreeSet::new();
    let mut places = Vec::new();
    collect(document, "", "", &mut tried, &mut places);
    assert!(places.len() > 10);
    for (place, key) in places {
        let mut wrong = document.clone();
        let map = wrong.pointer_mut(&place).unwrap().as_object_mut().unwrap();
        let value = map.insert(key.clone(), json!([{"what": "ever"}])).unwrap();
        assert!(!schema.is_valid(&wrong), "{place}/{key} is something else");
        if value.is_string() && CLOSED.contains(&key.as_str()) {
            wrong.pointer_mut(&place).unwrap()[&key] = json!("whatever");
            assert!(!schema.is_valid(&wrong), "{place}/{key} is an unknown word");
        }
        let map = wrong.pointer_mut(&place).unwrap().as_object_mut().unwrap();
        map.shift_remove(&key);
        assert!(!schema.is_valid(&wrong), "{place} without {key}");
        let map = wrong.pointer_mut(&place).unwrap().as_object_mut().unwrap();
        map.insert(key, value);
        map.insert("unknown".to_owned(), Value::Null);
        assert!(!schema.is_valid(&wrong), "{place} with an unknown field");
    }
}

/// Where the fields of objects are, one of each kind; error classes are data.
fn collect(value: &Value, at: &str, kind: &str, tried: &mut BTreeSet<String>, places: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) if !kind.ends_with("/errors") => {
            for (key, value) in map {
                // A measure with a price is an object of one.
                if tried.insert(format!("{kind}/{key}")) && !kind.ends_with("/measure") {
                    places.push((at.to_owned(), key.clone()));
                }
                collect(value, &format!("{at}/{key}"), &format!("{kind}/{key}"), tried, places);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, &format!("{at}/{index}"), kind, tried, places);
            }
        }
        _ => {}
    }
}
