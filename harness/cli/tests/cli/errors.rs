//! Tests of the error texts of a run from the command line.

use healbench_store::FORMAT_VERSION;
use serde_json::Value;

use super::*;

/// Returns a sandbox with a run named `run`, of two readers in two conditions.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let agents = ["--agent", "scripted:typical,scripted:blind", "--condition", "bare,sdk-typescript"];
    sandbox.ok(&[&["run", "quickstart", "--out", "run", "--quiet", "--trials", "3"], &agents[..]].concat());
    sandbox
}

fn json(sandbox: &Sandbox, args: &[&str]) -> Value {
    serde_json::from_str(&sandbox.ok(&[&["errors", "run", "--output=json"], args].concat()).out).unwrap()
}

fn numbers(entries: &Value, key: &str) -> Vec<u64> {
    entries.as_array().unwrap().iter().map(|entry| entry[key].as_u64().unwrap()).collect()
}

#[test]
fn totals_are_those_of_the_report_of_all_texts_and_of_all_groups() {
    let sandbox = sandbox();
    let found = json(&sandbox, &[]);
    let report: Value = serde_json::from_str(&sandbox.ok(&["report", "run", "--output=json"]).out).unwrap();
    let rows = || report["agents"].as_array().unwrap().iter().flat_map(|agent| agent["rows"].as_array().unwrap());
    let wasted: u64 = rows().map(|row| row["wasted_tokens"]["numerator"].as_u64().unwrap()).sum();
    assert_eq!(
        (&found["totals"]["wasted_tokens"], report["totals"]["infra"].as_u64()),
        (&Value::from(wasted), Some(0))
    );
    assert_eq!(report["error_texts"], json(&sandbox, &["--by", "cell"]));
    for key in ["calls", "chains", "wasted_tokens", "unrepaired"] {
        let total = found["totals"][key].as_u64().unwrap();
        assert!(total > 0, "{key}");
        assert_eq!(numbers(&found["texts"], key).iter().sum::<u64>(), total, "{key}");
        for by in ["agent", "condition", "cell", "tool"] {
            let groups = &json(&sandbox, &["--by", by])["groups"];
            assert!(groups.as_array().unwrap().len() > 1);
            assert_eq!(numbers(groups, key).iter().sum::<u64>(), total, "{by} {key}");
        }
    }
}

#[test]
fn moves_are_all_there_is_after_an_error() {
    let found = json(&sandbox(), &[]);
    for counts in found["texts"].as_array().unwrap().iter().chain([&found["totals"]]) {
        let moves = ["changed", "repeated", "other_tool", "stopped"].map(|name| &counts[name]);
        let made: u64 = moves.iter().map(|rate| rate["numerator"].as_u64().unwrap()).sum();
        assert_eq!(moves[0]["denominator"], made, "{counts}");
        assert!(made <= counts["chains"].as_u64().unwrap(), "{counts}");
    }
}

#[test]
fn texts_are_sorted_and_limited() {
    let sandbox = sandbox();
    for (order, key) in [("tokens", "wasted_tokens"), ("chains", "chains"), ("unrepaired", "unrepaired")] {
        let found = numbers(&json(&sandbox, &["--sort", order])["texts"], key);
        assert!(found.len() > 5 && found.is_sorted_by(|a, b| a >= b), "{order}: {found:?}");
    }
    let all = sandbox.ok(&["errors", "run", "--output=csv"]).out;
    let some = sandbox.ok(&["errors", "run", "--output=csv", "--limit", "2"]).out;
    assert!(some.lines().count() == 3 && all.starts_with(&some), "{some}");
    let shown = sandbox.ok(&["errors", "run", "--limit", "1"]).out;
    assert!(unbroken(&shown).matches("example: episode").count() == 1 && shown.contains("Left out: "), "{shown}");
}

#[test]
fn the_answer_comes_first_and_an_example_is_a_failed_call() {
    let sandbox = sandbox();
    let found = json(&sandbox, &[]);
    let [calls, tasks] = ["calls", "tasks"].map(|key| found["totals"][key].as_u64().unwrap());
    for args in [&[][..], &["--output=markdown"], &["--by", "condition"]] {
        let out = sandbox.ok(&[&["errors", "run"], args].concat()).out;
        let answer = format!("{} in {tasks} tasks, in ", healbench_text::pluralize(calls, "error"));
        assert!(out.contains(&answer) && unbroken(&out).contains("Costliest: "), "{args:?}: {out}");
    }
    for text in found["texts"].as_array().unwrap() {
        let (episode, call) = (text["example"]["episode"].to_string(), &text["example"]["call"]);
        let transcript = sandbox.ok(&["show", "run", &episode, "--full"]).out;
        let step = transcript.split(&format!("\ncall {call} ")).nth(1).unwrap();
        assert!(step.starts_with(text["tool"].as_str().unwrap()), "{text}: {transcript}");
        assert!(!step.split('→').nth(1).unwrap().trim_start().starts_with("OK"), "{text}: {transcript}");
    }
}

#[test]
fn the_texts_of_conditions_differ() {
    let sandbox = sandbox();
    let texts = json(&sandbox, &[]);
    let templates: Vec<&str> =
        texts["texts"].as_array().unwrap().iter().map(|text| text["template"].as_str().unwrap()).collect();
    // A server of the SDK names the field; without guardrails, an error says that it is one.
    assert!(templates.iter().any(|text| text.starts_with("MCP error …: Input validation error: ")), "{templates:?}");
    assert!(templates.iter().all(|text| text.chars().count() <= 200 && !text.contains('\n')), "{templates:?}");
}

#[test]
fn a_run_of_an_older_version_has_a_way_out() {
    let sandbox = Sandbox::new();
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/run-format-{FORMAT_VERSION}"));
    let result = sandbox.start(&["errors", &stored.display().to_string()]);
    assert_eq!((result.code, result.out.as_str()), (Some(2), ""), "{}", result.err);
    assert!(result.err.contains("the run does not say what followed its errors"), "{}", result.err);
    assert!(result.err.contains("help: run its plan again with this version"), "{}", result.err);
}

#[test]
fn a_run_without_errors_says_so() {
    let sandbox = Sandbox::new();
    sandbox.ok(&[
        "run",
        "--out",
        "run",
        "--quiet",
        "--trials",
        "1",
        "--agent",
        "scripted:perfect",
        "quickstart/control-nothing-wrong",
    ]);
    assert_eq!(sandbox.ok(&["errors", "run"]).out, "No call failed.\n");
    let found = json(&sandbox, &[]);
    assert_eq!((&found["totals"]["calls"], &found["totals"]["repaired_next"]["rate"]), (&Value::from(0), &Value::Null));
}

#[test]
fn forms_exclude_each_other() {
    let sandbox = sandbox();
    for forms in [
        ["--output=json", "--output=csv"],
        ["--output=csv", "--output=markdown"],
        ["--output=json", "--output=markdown"],
    ] {
        let result = sandbox.start(&[&["errors", "run"], &forms[..]].concat());
        assert_eq!((result.code, result.out.as_str()), (Some(2), ""), "{}", result.err);
    }
}
