//! Logs of agents, from files to reports.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;

/// A conversation with an error and its repair, as an object of the form of OpenAI.
pub(crate) fn log(model: &str, order: &str) -> String {
    let call = |id: &str, order: &str| {
        format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","function":{{"name":"cancel","arguments":"{{\"order\":\"{order}\"}}"}}}}]}}"#
        )
    };
    format!(
        r#"{{"model":"{model}","messages":[{{"role":"user","content":"Cancel {order}."}},{},
{{"role":"tool","tool_call_id":"1","content":"Error: order {order}x not found"}},{},
{{"role":"tool","tool_call_id":"2","content":"cancelled"}},{{"role":"assistant","content":"Done."}}]}}"#,
        call("1", &format!("{order}x")),
        call("2", order)
    )
}

fn imported(sandbox: &Sandbox) -> CommandResult {
    std::fs::create_dir(sandbox.path("logs")).unwrap();
    sandbox.write("logs/a.json", &log("m-1", "A-17"));
    sandbox.write("logs/b.json", &log("m-2", "B-9"));
    sandbox.write("logs/broken.jsonl", "{\"messages\": [\n");
    sandbox.start(&["import", "logs", "--out", "trace"])
}

#[test]
fn logs_become_a_run_that_commands_read() {
    let sandbox = Sandbox::new();
    let result = imported(&sandbox);
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert!(result.out.contains("openai-chat: 2 conversations, 4 calls, 4 results, 2 errors"), "{}", result.out);
    assert!(result.out.contains("broken.jsonl"), "{}", result.out);
    let errors = sandbox.ok(&["errors", "trace"]).out;
    assert!(errors.starts_with("2 errors in 2 tasks, in 2 chains: 100% repaired next"), "{errors}");
    assert!(errors.contains("Observational"), "{errors}");
    assert_eq!(sandbox.ok(&["report", "trace"]).out, errors);
    let json: Value =
        serde_json::from_str(&sandbox.ok(&["errors", "trace", "--output=json", "--by", "agent"]).out).unwrap();
    assert_eq!((&json["observational"], &json["groups"][1]["name"]), (&true.into(), &"m-2".into()));
    assert_eq!(json["texts"][0]["kind"], "reference");
    let by_agent = sandbox.ok(&["compare", "trace", "--by", "agent"]).out;
    assert!(by_agent.contains("m-1") && by_agent.contains("m-2"), "{by_agent}");
    let transcript = sandbox.ok(&["show", "trace", "1"]).out;
    for part in ["openai-chat/b", "Cancel B-9.", "order B-9x not found", "Done."] {
        assert!(transcript.contains(part), "{part}: {transcript}");
    }
    sandbox.ok(&["report", "trace", "--output", "html=page.html"]);
    let page = std::fs::read_to_string(sandbox.path("page.html")).unwrap();
    assert!(page.contains("Error texts") && page.contains("m-2"), "{page}");
    let manifest: Value = serde_json::from_slice(&std::fs::read(sandbox.path("trace/manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["imported"][0]["name"], "a.json");
    assert_eq!(manifest["imported"][0]["bytes"], log("m-1", "A-17").len());
    assert!(manifest["reader"].as_u64() > Some(0));
}

#[test]
fn a_call_that_the_user_refused_is_neither_ok_nor_an_error() {
    let sandbox = Sandbox::new();
    let refused = "The user doesn't want to proceed with this tool use. Ask Ann first.";
    sandbox.write("log.json", &log("m-1", "A-17").replace("cancelled", refused));
    for (options, says) in [(&[][..], refused), (&["--redact"], "the user doesn't want to proceed with this tool use")]
    {
        let run = if options.is_empty() { "plain" } else { "redacted" };
        sandbox.ok(&[&["import", "log.json", "--out", run], options].concat());
        let shown = sandbox.ok(&["show", run, "0", "--full"]).out;
        for part in ["→    ERROR  ", "→    REFUSED  ", says] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains("→    OK") && shown.contains("Ann") == options.is_empty(), "{shown}");
    }
}

/// Returns a conversation of calls that fail: each with its tool, arguments and the text of its error.
fn failures(calls: &[(&str, Value, &str)]) -> String {
    let mut messages = Vec::new();
    for (number, (tool, arguments, text)) in calls.iter().enumerate() {
        let id = number.to_string();
        let call = json!({"id": id, "function": {"name": tool, "arguments": arguments.to_string()}});
        messages.push(json!({"role": "assistant", "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "is_error": true, "content": text}));
    }
    json!({ "messages": messages }).to_string()
}

#[test]
fn redaction_changes_no_group_and_no_rank_of_errors() {
    let sandbox = Sandbox::new();
    let stack = |line: u8| {
        format!(
            "Traceback (most recent call last):\n  File \"/app/x.py\", line {line}, in run\n    go()\nKeyError: 'a b'"
        )
    };
    let no_table = |name: &str| format!("relation \"{name}\" does not exist\nLINE 1: SELECT * FROM {name}\n        ^");
    std::fs::create_dir(sandbox.path("logs")).unwrap();
    let first: &[(&str, Value, &str)] = &[
        ("save", json!({"title": "Rome", "line2": 7}), "Error: Rome in Romeo is no title"),
        ("save", json!({"title": "json"}), "Invalid JSON in field 'title'"),
        (
            "save",
            json!({"body": "x y z"}),
            r#"Request failed with status code 422: {"message":"body failed validation"}"#,
        ),
        ("save", json!({"body": "x y z"}), r#"Request failed with status code 429: {"message":"slow down"}"#),
        ("find", json!({"id": 17}), &stack(12)),
        ("find", json!({"id": 18}), &no_table("users")),
    ];
    let second: &[(&str, Value, &str)] = &[
        ("save", json!({"title": "xml"}), "Invalid JSON in field 'title'"),
        ("find", json!({"id": 19}), &no_table("rows")),
        ("find", json!({"id": 20}), &stack(13)),
        ("save", json!({"title": "Oslo"}), "Error: Oslo in Romeo is no title"),
        ("save", json!({"summary": "q"}), "Field 'line2' is missing; 'body' is a required property"),
    ];
    sandbox.write("logs/a.json", &failures(first));
    sandbox.write("logs/b.json", &failures(second));
    let ranked = |run: &str, options: &[&str]| -> Value {
        sandbox.ok(&[&["import", "logs", "--out", run], options].concat());
        serde_json::from_str(&sandbox.ok(&["errors", run, "--output=json"]).out).unwrap()
    };
    let (plain, mut redacted) = (ranked("plain", &[]), ranked("redacted", &["--redact"]));
    let texts = plain["texts"].as_array().unwrap();
    assert_eq!(texts.len(), 7, "{plain}");
    for (at, text) in texts.iter().enumerate() {
        let template = redacted["texts"][at]["template"].take();
        // The masks of values that were sent in other letters, or are a part of a word, are the only difference.
        let is_masked = ["Romeo", "JSON"].iter().any(|word| text["template"].as_str().unwrap().contains(word));
        assert_eq!(template == text["template"], !is_masked, "{template}, {text}");
        redacted["texts"][at]["template"] = text["template"].clone();
    }
    assert_eq!(redacted, plain);
}

#[test]
fn two_traces_are_compared_by_their_texts() {
    let sandbox = Sandbox::new();
    imported(&sandbox);
    sandbox.ok(&["import", "logs/a.json", "--out", "other"]);
    let text = sandbox.ok(&["compare", "trace", "other"]).out;
    assert!(
        text.starts_with("Repaired next: 100% → 100%, 0 points, over all 2 → 1 errors. In both: 1 text;"),
        "{text}"
    );
    assert!(text.contains("cancel: Error: order … not found") && text.contains("Observational"), "{text}");
    let json: Value = serde_json::from_str(&sandbox.ok(&["compare", "trace", "other", "--output=json"]).out).unwrap();
    assert_eq!((&json["texts"][0]["before"]["chains"], &json["texts"][0]["after"]["chains"]), (&2.into(), &1.into()));
    assert_eq!(json["texts"][0]["repaired_next"]["interval"], Value::Null);
    let csv = sandbox.ok(&["compare", "trace", "other", "--output=csv"]).out;
    let [heads, row] = csv.lines().collect::<Vec<_>>()[..] else { panic!("{csv}") };
    let cells: BTreeMap<&str, &str> = heads.split(',').zip(row.split(',')).collect();
    assert_eq!((cells.len(), heads.split(',').count()), (row.split(',').count(), row.split(',').count()), "{csv}");
    assert_eq!(
        ["tool", "before_chains", "after_chains", "repaired_next_difference"].map(|name| cells[name]),
        ["cancel", "2", "1", "0"]
    );
    sandbox.ok(&["compare", "trace", "other", "--output=html=page.html"]);
    let page = std::fs::read_to_string(sandbox.path("page.html")).unwrap();
    for part in ["trace → other", "cancel", "Error: order … not found", "2 → 1", "Observational"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    sandbox.ok(&["compare", "trace", "--by", "agent", "--output=html=agents.html"]);
    let page = std::fs::read_to_string(sandbox.path("agents.html")).unwrap();
    assert!(page.contains("Errors by agent") && page.contains("m-2"), "{page}");
    let by_agent = sandbox.ok(&["compare", "trace", "--by", "agent", "--output=csv"]).out;
    assert!(by_agent.starts_with("agent,") && by_agent.contains("\nm-2,"), "{by_agent}");
    let by_kind = sandbox.ok(&["errors", "trace", "--by", "kind"]).out;
    assert!(by_kind.contains("\nreference "), "{by_kind}");
    // A trace without an error has nothing to compare, and no texts is no number of them.
    sandbox.write(
        "none.json",
        r#"{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}"#,
    );
    sandbox.ok(&["import", "none.json", "--out", "none"]);
    assert_eq!(sandbox.start(&["compare", "trace", "none"]).code, Some(4));
    assert_eq!(sandbox.start(&["errors", "trace", "--limit", "0"]).code, Some(2));
}

#[test]
fn a_trace_is_no_baseline_and_cannot_be_run() {
    let sandbox = Sandbox::new();
    imported(&sandbox);
    sandbox.ok(&["run", "quickstart", "--agent", "scripted:perfect", "--trials", "1", "--quiet", "--out", "run"]);
    for command in [
        &["gate", "trace", "trace"][..],
        &["bless", "trace", "--out", "baseline.toml"],
        &["merge", "trace", "--out", "merged"],
        &["run", "--resume", "trace"],
        &["compare", "trace", "run"],
        &["report", "trace", "--output", "inspect=logs-of-inspect"],
    ] {
        let result = sandbox.start(command);
        assert_eq!(result.code, Some(2), "{command:?}: {}", result.err);
        assert!(result.err.contains("trace"), "{command:?}: {}", result.err);
    }
    assert!(!sandbox.path("baseline.toml").exists() && !sandbox.path("merged").exists());
}

#[test]
fn an_import_that_fails_leaves_nothing() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("logs")).unwrap();
    sandbox.write("logs/a.json", &log("m-1", "A-17"));
    sandbox.write("logs/b.jsonl", &format!("{}\n{{\"messages\": [\n", log("m-1", "A-18").replace('\n', "")));
    sandbox.write("notes.json", "{\"a\": 1}");
    for (command, says) in [
        (&["import", "logs", "--strict", "--out", "trace"][..], "b.jsonl"),
        (&["import", "notes.json", "--out", "trace"], "notes.json"),
        (&["import", "logs", "--source", "claude", "--out", "trace"], "claude-code"),
        (&["import", "nowhere", "--out", "trace"], "nowhere"),
    ] {
        let result = sandbox.start(command);
        assert_eq!(result.code, Some(2), "{command:?}: {} {}", result.out, result.err);
        assert!(result.err.contains(says), "{command:?}: {}", result.err);
        let left: Vec<_> =
            std::fs::read_dir(sandbox.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| name == "logs" || name == "notes.json"), "{command:?}: {left:?}");
    }
}
