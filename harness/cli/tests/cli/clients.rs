//! Tests of clients, in runs and in single calls.

use serde_json::{Value, json};

use super::*;

const TOOLS: &str = r#"{"tools": [{
    "name": "users",
    "inputSchema": {"type": "object", "properties": {"role": {"enum": ["admin", "user"]}}, "required": ["role"]}
}]}"#;

/// Returns the texts that `call` prints under each label.
fn shown(sandbox: &Sandbox, tool: &str, arguments: &str) -> Vec<(String, Vec<String>)> {
    let all = "client=raw,codex-0.169.0,opencode-1.18.33,qwen-code-0.15.10";
    let args =
        ["call", "--tools", "tools.json", "--format", "zod-json", "--vary", all, "--output", "json", tool, arguments];
    let printed: Value = serde_json::from_str(&sandbox.ok(&args).out).unwrap();
    let texts = |entry: &Value| {
        let blocks = entry["result"]["content"].as_array().unwrap();
        blocks.iter().map(|block| block["text"].as_str().unwrap().to_owned()).collect()
    };
    printed.as_object().unwrap().iter().map(|(label, entry)| (label.clone(), texts(entry))).collect()
}

#[test]
fn a_call_is_shown_as_each_client_shows_it() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.json", TOOLS);
    let wrong = shown(&sandbox, "users", r#"{"role": "root"}"#);
    let labels: Vec<&str> = wrong.iter().map(|(label, _)| label.as_str()).collect();
    let expected = ["zod-json", "zod-json codex-0.169.0", "zod-json opencode-1.18.33", "zod-json qwen-code-0.15.10"];
    assert_eq!(labels, expected);
    let raw = &wrong[0].1;
    assert!(raw[0].contains("invalid_value"), "{raw:?}");
    assert_eq!(wrong[1].1, ["Wall time: 0.0000 seconds\nOutput:".to_owned(), raw[0].clone()]);
    assert_eq!(wrong[2].1, *raw);
    // It validates arguments itself.
    assert_eq!(wrong[3].1, ["params/role must be equal to one of the allowed values"]);
    let unknown = shown(&sandbox, "user", "{}");
    assert_eq!(unknown[1].1, ["unsupported call: mcp__tools__user"]);
    assert!(unknown[3].1[0].contains("Did you mean one of: \"mcp__tools__users\""), "{unknown:?}");
    let right = shown(&sandbox, "users", r#"{"role": "user"}"#);
    assert!(right[2..].iter().all(|(_, texts)| *texts == right[0].1), "{right:?}");
}

/// Returns the sums of a report's rows, by condition.
fn by_condition(report: &Value) -> Vec<(String, Value)> {
    let row = |row: &Value| {
        let sums = ["success", "billed_tokens_per_episode", "calls_per_episode"].map(|metric| row[metric].clone());
        (row["condition"].as_str().unwrap().to_owned(), json!(sums))
    };
    report["agents"][0]["rows"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn a_run_has_each_condition_once_for_each_client() {
    let sandbox = Sandbox::new();
    let run = |out: &str, more: &[&str]| {
        let args = ["run", "quickstart", "--agent", "scripted:typical", "--condition", "sdk-typescript,fusion"];
        let args = [&args[..], &["--trials", "3", "--quiet", "--out", out], more].concat();
        sandbox.ok(&args);
        serde_json::from_str::<Value>(&sandbox.ok(&["report", out, "--output=json"]).out).unwrap()
    };
    let plain = by_condition(&run("plain", &[]));
    let clients = "client=codex-0.169.0,opencode-1.18.33,qwen-code-0.15.10";
    let all = by_condition(&run("all", &["--vary", clients, "--jobs", "1"]));
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 8, "{names:?}");
    assert!(names.contains(&"fusion qwen-code-0.15.10"), "{names:?}");
    // `raw` changes nothing, and clients do, also for what they add to a text.
    for (name, values) in &plain {
        assert_eq!(all.iter().find(|(other, _)| other == name).map(|(_, values)| values), Some(values), "{name}");
        let codex = all.iter().find(|(other, _)| *other == format!("{name} codex-0.169.0")).unwrap();
        assert_ne!(codex.1, *values, "{name}");
    }
    // Responses are shown alike in any order of threads.
    assert_eq!(all, by_condition(&run("threads", &["--vary", clients, "--jobs", "3"])));
    let compared: Value =
        serde_json::from_str(&sandbox.ok(&["compare", "all", "--by", "client", "--output=json"]).out).unwrap();
    assert_eq!(compared["rows"], json!(["raw", "codex-0.169.0", "opencode-1.18.33", "qwen-code-0.15.10"]));
    assert_eq!((&compared["reference"], &compared["axis"]), (&json!("raw"), &json!("client")));
    assert_eq!(compared["columns"].as_array().unwrap().len(), 2);
}

#[test]
fn wrong_clients_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("healbench.toml", "[condition.mine]\nclient = \"codex-0.169.0\"\n");
    sandbox.write("tools.json", TOOLS);
    for (args, code, problem) in [
        (&["plan", "--vary", "client=codex"][..], 2, "unknown client `codex`"),
        (&["plan", "--vary", "client=raw,raw"], 2, "`client` names `raw` twice"),
        (&["plan", "--vary", "client=raw", "--vary", "client=raw"], 2, "`--vary` names `client` twice"),
        (
            &["plan", "quickstart", "--condition", "sdk-typescript", "--vary", "contract=max-deltas:3"],
            2,
            "has no effect",
        ),
        (&["plan", "--vary", "contract=max-deltas:3+max-deltas:4"], 2, "unknown contract changes `max-deltas:4`"),
        (&["plan", "--format", "serde", "--vary", "errors=pydantic"], 2, "both name error formats"),
        (&["plan", "--guardrails", "strict", "--vary", "undeclared=pass"], 2, "has no effect"),
        (&["plan", "--vary", "client"], 2, "`client` names no values of an axis"),
        (&["plan", "--vary", "colour=red"], 2, "unknown axis `colour`"),
        (&["serve", "s.yaml", "--condition", "mine"], 2, "a server has no client"),
        (&["serve", "--cases", "tools.json", "--case", "text"], 2, "`tools.json`: unknown field `tools`"),
    ] {
        sandbox.write("s.yaml", include_str!("../../../../scenarios/suites/quickstart/unknown-id.yaml"));
        let result = sandbox.start(args);
        assert!(
            result.code == Some(code) && result.err.contains(problem),
            "{args:?}: {:?} {}",
            result.code,
            result.err
        );
    }
    let planned = sandbox.ok(&["plan", "quickstart", "--condition", "mine"]).out;
    assert!(planned.contains("conditions mine\n"), "{planned}");
    let varied = sandbox
        .ok(&["plan", "quickstart", "--condition", "mine,fusion", "--vary", "client=raw;content=native,placebo"])
        .out;
    let expected = "conditions mine, mine raw, fusion, fusion placebo\n";
    assert!(varied.contains(expected), "{varied}");
}

/// Clients of the TypeScript SDK hold structured content to the output schema, also that of an error.
#[test]
fn the_output_schemas_of_a_server_are_known_to_clients() {
    let sandbox = Sandbox::new();
    let text = json!({"type": "object", "properties": {"text": {"type": "string"}, "limit": {"type": "integer"}}});
    let city = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let tool = json!({"name": "structured", "inputSchema": text, "outputSchema": city});
    sandbox.write("tools.json", &json!({"tools": [tool]}).to_string());
    let call = json!({"tool": "structured", "arguments": {"text": "fail"}});
    let server = json!({"command": [crate::servers::test_server(), "proxied"], "tools_file": "tools.json"});
    let scenario = json!({
        "id": "a/city", "title": "A city", "task": {"prompt": "Look it up.", "max_calls": 2}, "server": server,
        "expect": [{"called": call}], "script": [{"call": call}],
    });
    sandbox.write("city.yaml", &scenario.to_string());
    let clients = "client=raw,codex-0.169.0,opencode-1.18.33";
    let agent = ["--agent", "scripted:blind", "--condition", "as-is", "--trials", "1", "--quiet"];
    sandbox.ok(&[&["run", "city.yaml", "--out", "run", "--vary", clients][..], &agent].concat());
    let shown = |episode| sandbox.ok(&["show", "run", episode]).out;
    let refused = "Structured content does not match the tool's output schema";
    let wrapped = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(wrapped(&shown("0")).contains("no such city") && !wrapped(&shown("0")).contains(refused));
    assert!(!wrapped(&shown("1")).contains(refused), "Codex looks at no schema: {}", shown("1"));
    assert!(wrapped(&shown("2")).contains(refused) && !shown("2").contains("no such city"), "{}", shown("2"));
}
