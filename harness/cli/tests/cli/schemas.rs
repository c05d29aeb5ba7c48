//! Tests that the JSON outputs match the schemas exactly.

use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::*;
use crate::model_server::{ModelServer, repairing_model};

fn validator(of: &str) -> Validator {
    let schema: Value = serde_json::from_str(&Sandbox::new().ok(&["schema", of]).out).unwrap();
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    jsonschema::draft202012::new(&schema).unwrap()
}

fn check(validator: &Validator, document: &Value) {
    if let Some(error) = validator.iter_errors(document).next() {
        panic!("{}: {error}", error.instance_path());
    }
}

fn print_json(sandbox: &Sandbox, args: &[&str]) -> Value {
    serde_json::from_str(&sandbox.ok(args).out).unwrap()
}

/// Creates runs of all kinds in one folder, and returns their names.
fn runs(sandbox: &Sandbox) -> Vec<&'static str> {
    let scripted = "scripted:typical,scripted:perfect";
    let play = |out: &'static str, args: &[&str]| {
        sandbox.ok(&[&["run", "--out", out, "--quiet"], args].concat());
        out
    };
    vec![
        play("plain", &["quickstart", "--trials", "2", "--agent", scripted]),
        play("formats", &["quickstart", "--trials", "2", "--agent", scripted, "--format", "all"]),
        play("all-sets", &["hostile", "--trials", "1", "--agent", scripted, "--guardrails", "full"]),
        play("alone", &["hostile", "--trials", "1", "--agent", "scripted:blind", "--guardrails", "none"]),
        play("claims", &["claims", "--trials", "2", "--agent", scripted]),
        play("shard", &["quickstart", "--trials", "2", "--agent", scripted, "--shard", "1/2"]),
    ]
}

/// Creates a run with a model and a simulated reader in which some replies are lost.
fn with_model(sandbox: &Sandbox) {
    let server = ModelServer::start(|number, request| match number {
        1 => (500, json!({"error": {"message": "overloaded"}})),
        _ => repairing_model(number, request),
    });
    sandbox.write(
        "healbench.toml",
        &format!("[model.mini]\napi = \"openai-chat\"\nbase_url = \"{}\"\nretries = 0\nprice = {{input = 1.0, output = 10.0}}\n", server.url),
    );
    sandbox.write("scenario.yaml", include_str!("../../../../scenarios/suites/quickstart/wrong-enum.yaml"));
    let args = ["run", "scenario.yaml", "--agent", "model:mini,scripted:blind", "--trials", "3", "--out", "model"];
    let result = sandbox.start(&args);
    assert!(sandbox.path("model/episodes.parquet").exists(), "{}", result.err);
}

#[test]
fn outputs_match_their_schemas() {
    let sandbox = Sandbox::new();
    let names = runs(&sandbox);
    with_model(&sandbox);
    reports_match_their_schema(&sandbox, &names);
    error_texts_match_their_schema(&sandbox, &names);
    comparisons_match_their_schemas(&sandbox, &names);
}

fn reports_match_their_schema(sandbox: &Sandbox, names: &[&str]) {
    let schema = validator("report");
    let mut seen = BTreeSet::new();
    for name in names.iter().copied().chain(["model"]) {
        let document = print_json(sandbox, &["report", name, "--output=json"]);
        check(&schema, &document);
        for pointer in ["/headline", "/matrix/rows/1", "/ablation/0", "/claims/0", "/agents/0/rows/0/model", "/totals"]
        {
            seen.extend(document.pointer(pointer).filter(|value| !value.is_null()).map(|_| pointer));
        }
        assert_mutations_are_invalid(&schema, &document);
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}

#[cfg(unix)]
#[test]
fn a_report_of_an_interrupted_run_matches_its_schema() {
    let sandbox = Sandbox::new();
    let args = ["run", "quickstart", "--out", "run", "--trials", "120", "--agent", "scripted:typical,scripted:careful"];
    assert_eq!(crate::interrupted::interrupt(&sandbox, &args).code, Some(130));
    let document = print_json(&sandbox, &["report", "run", "--output=json"]);
    assert!(document["totals"]["episodes"].as_u64() < document["planned"].as_u64());
    check(&validator("report"), &document);
}

fn error_texts_match_their_schema(sandbox: &Sandbox, names: &[&str]) {
    let schema = validator("errors");
    for name in names {
        for args in [&[][..], &["--by", "agent"], &["--by", "tool", "--limit", "1"]] {
            let document = print_json(sandbox, &[&["errors", name, "--output=json"], args].concat());
            check(&schema, &document);
            assert_mutations_are_invalid(&schema, &document);
        }
    }
}

fn comparisons_match_their_schemas(sandbox: &Sandbox, names: &[&str]) {
    let (comparison, matrix) = (validator("comparison"), validator("matrix"));
    sandbox.ok(&[
        "run",
        "quickstart",
        "--out",
        "other",
        "--quiet",
        "--trials",
        "3",
        "--agent",
        "scripted:typical,scripted:blind",
    ]);
    // Of the last two nothing can be paired.
    for (base, candidate, code) in
        [("plain", "plain", 0), ("plain", "other", 0), ("formats", "plain", 4), ("plain", "claims", 4)]
    {
        let compared = sandbox.start(&["compare", base, candidate, "--output=json"]);
        assert_eq!(compared.code, Some(code), "{base}, {candidate}: {}", compared.err);
        let document = serde_json::from_str(&compared.out).unwrap();
        check(&comparison, &document);
        assert_mutations_are_invalid(&comparison, &document);
        assert!(!matrix.is_valid(&document));
    }
    for (name, axis) in [("formats", "format"), ("all-sets", "guardrails"), ("plain", "agent")] {
        assert!(names.contains(&name));
        let document = print_json(sandbox, &["compare", name, "--by", axis, "--output=json"]);
        check(&matrix, &document);
        assert_mutations_are_invalid(&matrix, &document);
        assert!(!comparison.is_valid(&document));
    }
}

/// Fields whose text is one of a fixed set.
const ENUM_FIELDS: [&str; 7] = ["status", "kind", "opening", "tools", "guardrails", "switches", "metric"];

/// Asserts that the schema rejects the document after any single change: a missing field, an unknown field, or a value
/// of another type. Of fields with the same path, one is tested.
fn assert_mutations_are_invalid(schema: &Validator, document: &Value) {
    let mut visited = BTreeSet::new();
    let mut pointers = Vec::new();
    collect(document, "", "", &mut visited, &mut pointers);
    assert!(pointers.len() > 10);
    for (pointer, key) in pointers {
        let mut wrong = document.clone();
        let map = wrong.pointer_mut(&pointer).unwrap().as_object_mut().unwrap();
        let value = map.insert(key.clone(), json!([{"what": "ever"}])).unwrap();
        assert!(!schema.is_valid(&wrong), "{pointer}/{key} is something else");
        if value.is_string() && ENUM_FIELDS.contains(&key.as_str()) {
            wrong.pointer_mut(&pointer).unwrap()[&key] = json!("whatever");
            assert!(!schema.is_valid(&wrong), "{pointer}/{key} is an unknown word");
        }
        let map = wrong.pointer_mut(&pointer).unwrap().as_object_mut().unwrap();
        map.shift_remove(&key);
        assert!(!schema.is_valid(&wrong), "{pointer} without {key}");
        let map = wrong.pointer_mut(&pointer).unwrap().as_object_mut().unwrap();
        map.insert(key, value);
        map.insert("unknown".to_owned(), Value::Null);
        assert!(!schema.is_valid(&wrong), "{pointer} with an unknown field");
    }
}

/// Collects the pointers to the fields of objects, one of each kind. Error classes are data and are skipped.
fn collect(value: &Value, at: &str, kind: &str, visited: &mut BTreeSet<String>, pointers: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) if !kind.ends_with("/errors") => {
            for (key, value) in map {
                // A measure with a price is an object with one key.
                if visited.insert(format!("{kind}/{key}")) && !kind.ends_with("/measure") {
                    pointers.push((at.to_owned(), key.clone()));
                }
                collect(value, &format!("{at}/{key}"), &format!("{kind}/{key}"), visited, pointers);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, &format!("{at}/{index}"), kind, visited, pointers);
            }
        }
        _ => {}
    }
}
