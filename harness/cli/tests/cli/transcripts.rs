use serde_json::json;

use super::*;
use crate::model_server::{ModelServer, call_reply, repairing_model, text_reply};

#[test]
fn a_transcript_shows_what_was_sent_and_what_came_back() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["run", "quickstart", "--out", "run", "--trials", "2", "--format", "fusion-xml,fusion-text"]);
    let shown = sandbox.ok(&["show", "run", "--scenario", "unknown-id", "--agent", "perfect", "--guardrails", "all"]);
    insta::assert_snapshot!(shown.out);
    let by_number = sandbox.ok(&["show", "run", "0"]);
    let by_name = sandbox.ok(&["show", "run"]);
    assert_eq!(by_number.out, by_name.out);
    let past_the_end = sandbox.start(&["show", "run", "100000"]);
    assert_eq!(past_the_end.code, Some(2));
    assert!(past_the_end.err.contains("no such episode: 100000, of 0 to 269"), "{}", past_the_end.err);
    let refused = |args: &[&str], wanted: &[&str]| {
        let refused = sandbox.start(&[&["show", "run"], args].concat());
        assert_eq!(refused.code, Some(2));
        assert!(wanted.iter().all(|wanted| refused.err.contains(wanted)), "{}", refused.err);
    };
    refused(&["--scenario", "nosuch"], &["no scenario `nosuch`", "it has quickstart/bad-date", "and 7 more"]);
    refused(&["--agent", "nosuch"], &["no agent `nosuch`", "scripted:yielding"]);
    refused(&["--opening", "natural"], &["no agent `natural`", "scripted:yielding"]);
    refused(&["0", "--format", "nosuch"], &["unknown error format `nosuch`"]);
    refused(&["0", "--format", "serde"], &["the format `serde` has no effect"]);
}

#[test]
fn a_scenario_cannot_write_to_the_terminal() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "hostile.yaml",
        r#"
id: demo/hostile
title: "\e[31mred\e[0m"
description: "\e]0;owned\a \u202Eevil"
task: {prompt: "Make a note.\e[2J", max_calls: 4}
tools:
  notes:
    description: Keep notes.
    actions:
      create:
        input: {properties: {text: {type: string}, kind: {enum: ["a\e[31m"]}}, required: [text]}
        handler: {insert: notes}
world:
  notes: {key: id, rows: [{id: "\e[1m", text: "x\u001b[31m\u202E"}]}
expect:
  - row: {in: notes, where: {text: "\e[31mhello\u202E"}}
script:
  - call: {tool: notes, action: create, arguments: {text: "\e[31mhello\u202E"}}
    mistakes: [hallucinated_field]
"#,
    );
    sandbox.ok(&["run", "hostile.yaml", "--out", "run", "--trials", "1"]);
    for args in [["show", "run", "8"].as_slice(), &["report", "run", "--by-scenario"], &["plan", "hostile.yaml"]] {
        let out = sandbox.ok(args).out;
        assert!(!out.contains(is_raw), "{args:?}: {out:?}");
    }
}

/// Returns true for characters that must be escaped on a terminal.
fn is_raw(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Markup, the end of a CDATA section, escape sequences and bidirectional controls.
const HOSTILE: &str = "<script>alert(1)</script> ]]> \u{1b}[31mred\u{1b}]0;owned\u{7} \u{202e}evil \u{2066}aside";

#[test]
fn hostile_texts_and_lines_of_a_mebibyte_are_shown_as_text() {
    let line = "lorem ipsum ".repeat(90_000);
    assert!(line.len() > 1 << 20);
    let reply = format!("{HOSTILE} {}", &line[..50_000]);
    let server = {
        let reply = reply.clone();
        ModelServer::start(move |_, request| match request.body["messages"].as_array().unwrap().len() {
            2 => call_reply("notes", &json!({"action": "create", "text": reply, HOSTILE: 1})),
            _ => text_reply(&reply),
        })
    };
    let sandbox = Sandbox::new();
    sandbox.write(
        "healbench.toml",
        &format!("[model.mini]\napi = \"openai-chat\"\nbase_url = \"{}\"\nretries = 0\n", server.url),
    );
    // JSON is valid YAML.
    let scenario = json!({
        "id": "demo/hostile", "title": HOSTILE, "description": format!("{HOSTILE} {line}"),
        "task": {"prompt": HOSTILE, "max_calls": 4},
        "tools": {"notes": {"description": "Keep notes.", "actions": {"create": {
            "input": {"properties": {"text": {"type": "string"}}, "required": ["text"]},
            "handler": {"fail": {"code": "HOSTILE", "message": format!("{HOSTILE} {line}")}},
        }}}},
        "world": {"notes": {"rows": [{"id": "1"}]}},
        "expect": [{"count": {"in": "notes", "equals": 2}}],
        "script": [{"call": {"tool": "notes", "action": "create", "arguments": {"text": HOSTILE}}}],
    });
    sandbox.write("hostile.json", &scenario.to_string());
    let agents =
        ["--agent", "scripted:blind,model:mini", "--opening=natural", "--guardrails=healing", "--format=fusion-xml"];
    sandbox.ok(&[&["run", "hostile.json", "--out", "run", "--trials", "1"], &agents[..]].concat());
    for episode in ["0", "1"] {
        let shown = sandbox.ok(&["show", "run", episode]).out;
        assert!(!shown.contains(is_raw), "{shown}");
        assert!(shown.len() < 10_000, "{shown}");
        let plain = "<script>alert(1)</script> ]]> \\u{1b}[31mred\\u{1b}]0;owned\\u{7} \\u{202e}evil";
        let unbroken = unbroken(&shown);
        assert!(unbroken.matches(plain).count() >= 2 && shown.contains("more characters"), "{shown}");
        assert!(shown.contains("HOSTILE  "), "{shown}");
        let full = sandbox.ok(&["show", "run", episode, "--full"]).out;
        assert!(!full.contains(is_raw) && !full.contains("more characters"));
        // The output contains the description, the response and the agent's message in full.
        assert!(full.matches("lorem").count() >= 180_000);
    }
}

/// Returns the transcript without its heading, which identifies the episode.
fn body(shown: &str) -> String {
    shown.lines().skip_while(|line| !line.starts_with("task")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn an_episode_is_shown_under_other_conditions() {
    let sandbox = Sandbox::new();
    sandbox.write("own.jinja", "{{ code }}, says this server.");
    sandbox.ok(&[
        "run",
        "quickstart",
        "--out",
        "run",
        "--trials",
        "2",
        "--guardrails",
        "none,all",
        "--format",
        "fusion-xml",
    ]);
    let show = |args: &[&str]| sandbox.ok(&[&["show", "run"], args].concat()).out;
    let named = |guardrails: &str| {
        show(&["--scenario", "unknown-id", "--agent", "perfect", "--trial", "1", "--guardrails", guardrails])
    };
    let all = named("all");
    let number = all.split("episode ").nth(1).unwrap().split_whitespace().next().unwrap();
    let show_episode = |args: &[&str]| show(&[&[number], args].concat());

    // The same condition shows the recorded episode.
    assert_eq!(show_episode(&[]), all);
    assert_eq!(show_episode(&["--format", "fusion-xml"]), all);
    let none = show_episode(&["--guardrails", "none"]);
    assert_eq!(none, named("none"));
    assert_eq!(show_episode(&["--guardrails", "none", "--format", "bare"]), none);
    assert_ne!(body(&none), body(&all));
    let other = none.split("episode ").nth(1).unwrap().split_whitespace().next().unwrap();
    assert_eq!(show(&[number, other, number]), [all.as_str(), &none, &all].join("\n"));
    assert_eq!(show(&[other, number, "--guardrails", "all"]), [all.as_str(), &all].join("\n"));

    // A condition that the run does not have gives the same transcript as a run with it.
    let args = ["--trials", "2", "--agent", "scripted:perfect", "--format", "llm-friendly,template:own.jinja"];
    sandbox.ok(&[&["run", "quickstart", "--out", "more", "--guardrails", "strict+healing"], &args[..]].concat());
    for format in ["llm-friendly", "template:own.jinja"] {
        let args = ["--guardrails", "healing+strict", "--format", format];
        let now = show_episode(&args);
        let head = now.split("\n\n").next().unwrap();
        assert!(head.contains(&format!("strict+healing/{format}")) && head.contains("trial 1"), "{head}");
        assert!(head.contains("Run now: the run has no episode under this condition."), "{head}");
        let args = ["show", "more", "--scenario", "unknown-id", "--trial", "1", "--format", format];
        let recorded = sandbox.ok(&args).out;
        assert!(recorded.contains("episode") && !recorded.contains("Played now"));
        assert_eq!(body(&now), body(&recorded));
        assert_ne!(body(&now), body(&all));
    }
    // Either part of a condition may be left out: it is taken from the episode or from the run.
    assert!(show_episode(&["--format", "serde"]).contains(" · all/serde · "));
    assert!(show_episode(&["--guardrails", "healing"]).contains(" · healing/fusion-xml · "));
    assert!(show(&[other, "--guardrails", "healing"]).contains(" · healing/fusion-xml · "));
    assert!(show(&["--guardrails", "strict"]).contains(" · strict/bare · "));
    assert!(show(&["--format", "serde"]).contains(" · all/serde · "));
}

#[test]
fn an_impossible_condition_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.ok(&[
        "run",
        "--out",
        "run",
        "--trials",
        "1",
        "--agent",
        "scripted:blind",
        "--shard",
        "1/2",
        "--guardrails",
        "none,all",
    ]);
    let cases: [&[&str]; 11] = [
        &["0", "--guardrails", "none", "--format", "serde"],
        &["0", "--format", "serde"],
        &["1", "--format", "bare"],
        &["1", "--guardrails", "full"],
        &["1", "--guardrails", "strict+heeling"],
        &["1", "--format", "all"],
        &["1", "--format", "serde,pydantic"],
        &["1", "--format", "template:nowhere.jinja"],
        &["41"],
        &["41", "--format", "serde"],
        &["0", "1000"],
    ];
    let refused = cases.map(|args| {
        let result = sandbox.start(&[&["show", "run"], args].concat());
        assert_eq!((result.code, result.out.as_str()), (Some(2), ""), "{args:?}");
        format!("{}\n{}", args.join(" "), result.err)
    });
    insta::assert_snapshot!(refused.join("\n"));
}

#[test]
fn a_model_is_not_asked_by_a_transcript() {
    let server = ModelServer::start(repairing_model);
    let sandbox = Sandbox::new();
    sandbox.write("healbench.toml", &format!("[model.mini]\napi = \"openai-chat\"\nbase_url = \"{}\"\n", server.url));
    sandbox.write("scenario.yaml", include_str!("../../../../scenarios/suites/quickstart/wrong-enum.yaml"));
    let args = ["run", "scenario.yaml", "--agent", "model:mini", "--guardrails", "none,all", "--format=fusion-xml"];
    sandbox.ok(&[&args[..], &["--trials", "2", "--out", "run"]].concat());
    let requests_before = server.requests().len();
    let both = sandbox.ok(&["show", "run", "3", "1"]).out;
    assert_eq!(both.matches("scheduled opening: no request was sent to the model").count(), 2, "{both}");
    assert!(both.contains("model:mini · seeded · native"), "{both}");
    let none = sandbox.ok(&["show", "run", "3", "--guardrails", "none"]).out;
    assert!(none.contains("episode 1") && both.ends_with(&none), "{none}");
    let result = sandbox.start(&["show", "run", "3", "--format", "serde"]);
    assert_eq!((result.code, result.out.as_str()), (Some(2), ""));
    insta::assert_snapshot!(result.err, @"
    error: the run has no episode of model:mini · seeded · native under all/serde, and this command sends no requests to models
    help: run it: `healbench run scenario.yaml --config FILE --agent model:mini --opening seeded --guardrails all --format serde --trials 1`
    ");
    assert_eq!(server.requests().len(), requests_before);

    // The command that the help prints is accepted.
    let args = ["run", "scenario.yaml", "--agent", "model:mini", "--guardrails", "healing", "--format", "zod-json"];
    sandbox.ok(&[&args[..], &["--vary", "undeclared=strip", "--trials", "1", "--out", "stripping"]].concat());
    for parts in [["--guardrails", "none"], ["--format", "pydantic"]] {
        let refused = sandbox.start(&[&["show", "stripping", "0"], &parts[..]].concat()).err;
        let command = refused.split("`healbench ").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
        let command = command.replace("--config FILE", "--config healbench.toml");
        sandbox.ok(&command.split(' ').collect::<Vec<_>>());
    }
}
