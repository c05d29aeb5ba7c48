//! Readers that are fitted to the moves of agents, and predictions of moves.

use serde_json::Value;

use super::traces::log;
use super::*;

/// Imports twelve conversations of `m-1`, which repairs each error, and as many of `m-2x`, which stops after each.
fn trace(sandbox: &Sandbox) {
    for model in ["m-1", "m-2x"] {
        std::fs::create_dir_all(sandbox.path(&format!("logs/{model}"))).unwrap();
        for task in 0..12 {
            let mut text = log(model, &format!("A-{task}"));
            if model == "m-2x" {
                let mut document: Value = serde_json::from_str(&text).unwrap();
                let messages = document["messages"].as_array_mut().unwrap();
                messages.drain(3..5);
                text = document.to_string();
            }
            sandbox.write(&format!("logs/{model}/{task}.json"), &text);
        }
    }
    sandbox.ok(&["import", "logs", "--out", "trace"]);
}

#[test]
fn a_fitted_reader_is_written_judged_played_and_named_in_reports() {
    let sandbox = Sandbox::new();
    trace(&sandbox);
    let fitted = ["calibrate", "trace", "--agent", "m-1", "--out", "m-1.toml", "--source", "our logs, MIT"];
    let printed = sandbox.ok(&fitted);
    assert!(printed.out.starts_with("12 first errors in 12 tasks, of 1 agent. Held out by task,"), "{}", printed.out);
    assert!(printed.err.contains("healbench run --agent scripted:m-1.toml"), "{}", printed.err);
    let text = std::fs::read_to_string(sandbox.path("m-1.toml")).unwrap();
    for part in ["source = \"our logs, MIT\"", "agents = [\"m-1\"]", "tasks = 12\nmoves = 12", "12 moves in 12 tasks; "]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The same input, the same file.
    sandbox.ok(&[&fitted[..5], &["again.toml", "--source", "our logs, MIT"]].concat());
    assert_eq!(std::fs::read_to_string(sandbox.path("again.toml")).unwrap(), text);
    let json: Value =
        serde_json::from_str(&sandbox.ok(&["calibrate", "trace", "--agent", "m-1", "--output=json"]).out).unwrap();
    assert_eq!((&json["others"][0], &json["profile"]["agent"]), (&"m-2x".into(), &"m-1".into()));
    let run = [
        "run",
        "quickstart/wrong-enum",
        "--trials",
        "2",
        "--agent",
        "scripted:m-1.toml,scripted:typical",
        "--out",
        "run",
    ];
    let report = sandbox.ok(&run).out.replace('\n', " ");
    assert!(report.contains("Fitted to logs: m-1.toml."), "{report}");
    let report = sandbox.ok(&["report", "run", "--all"]).out.replace('\n', " ");
    let note = "m-1.toml: fitted to our logs, MIT, 20";
    assert!(report.contains(note) && report.contains("typical: not fitted"), "{report}");
    let report: Value = serde_json::from_str(&sandbox.ok(&["report", "run", "--output=json"]).out).unwrap();
    assert_eq!(report["agents"][0]["fitted"]["agents"][0], "m-1");
    assert!(report["agents"][1]["fitted"].is_null());
}

#[test]
fn predictions_stand_beside_what_happened() {
    let sandbox = Sandbox::new();
    trace(&sandbox);
    sandbox.ok(&["calibrate", "trace", "--agent", "m-1", "--out", "m-1.toml"]);
    let score = |agent: &str| -> f64 {
        let args = ["predict", "--profile", "m-1.toml", "trace", "--agent", agent, "--output=json"];
        let json: Value = serde_json::from_str(&sandbox.ok(&args).out).unwrap();
        assert_eq!(json["first"][0]["moves"], 12);
        json["scores"]["log"].as_f64().unwrap()
    };
    // It was fitted to the one, and the other does the opposite.
    assert!(score("m-1") < 0.5 && score("m-2x") > 1.0, "{} {}", score("m-1"), score("m-2x"));
    let text = sandbox.ok(&["predict", "--profile", "m-1.toml", "trace", "--agent", "m-2"]).out;
    assert!(text.contains("fitted to 12 first errors of 1 agent in 12 tasks (trace; 20"), "{text}");
    assert!(
        text.contains("Repaired next: predicted ") && text.contains("observed 0% (12 chains in 12 tasks)"),
        "{text}"
    );
    assert!(text.contains("Of equal shares: log score 1.386, Brier score 0.750."), "{text}");
}

#[test]
fn names_that_no_run_has_are_refused() {
    let sandbox = Sandbox::new();
    trace(&sandbox);
    let refused = |args: &[&str], expected: &str| {
        let result = sandbox.start(args);
        assert!(result.code != Some(0) && result.err.contains(expected), "{}", result.err);
        assert!(!sandbox.path("x.toml").exists());
    };
    refused(&["calibrate", "trace", "--agent", "m-3", "--out", "x.toml"], "did you mean `m-");
    refused(&["calibrate", "trace", "--agent", "m-", "--out", "x.toml"], "unknown agent");
    refused(&["calibrate", "trace", "--suite", "nowhere", "--out", "x.toml"], "unknown suite `nowhere`");
    refused(&["calibrate", "trace", "--condition", "fusoin", "--out", "x.toml"], "unknown condition `fusoin`");
    refused(&["predict", "trace", "--profile", "typical"], "is a profile of uptake");
    refused(&["predict", "trace", "--profile", "persistant"], "did you mean `persistent`?");
}
