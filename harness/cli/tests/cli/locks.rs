//! Contract changes since a lockfile, in calls and in runs.

use insta::assert_snapshot;

use super::*;

/// Returns a scenario whose action `create` requires these fields, and whose action for listing has this name.
fn scenario(required: &str, listing: &str, more: &str) -> String {
    format!(
        "\
id: mine
title: Invoices
task: {{prompt: Enter an invoice., max_calls: 4}}
tools:
  billing:
    description: Manage invoices.
    tags: [money]
    actions:
      create:
        input: {{properties: {{customer: {{type: string}}, currency: {{enum: [USD, EUR]}}}}, required: [{required}]}}
        handler: {{insert: invoices}}
      {listing}:
        input: {{}}
        handler: {{select: invoices}}
{more}world: {{invoices: {{key_prefix: INV-, rows: []}}}}
expect: [{{row: {{in: invoices, where: {{customer: Acme}}}}}}]
script:
  - call: {{tool: billing, action: create, arguments: {{customer: Acme, currency: USD}}}}
    mistakes: [{{kind: missing, field: customer}}]
"
    )
}

/// Creates a folder with a lockfile and a scenario that has changed since.
fn changed() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("mine.yaml", &scenario("customer", "list", ""));
    sandbox.ok(&["contract", "lock", "mine.yaml"]);
    sandbox.write("mine.yaml", &scenario("customer, currency", "search", "").replace("[money]", "[money, new]"));
    sandbox
}

const CREATE: &str = r#"{"action": "create", "customer": "Acme"}"#;

#[test]
fn a_call_tells_what_changed_since_the_lockfile() {
    let sandbox = changed();
    let call = |arguments: &str, options: &[&str]| {
        let args = ["call", "--scenario", "mine.yaml", "--output", "text", "billing", arguments];
        sandbox.ok(&[&args[..], options].concat()).out
    };
    assert!(!call(CREATE, &[]).contains("contract_awareness"));
    assert_snapshot!(call(CREATE, &["--vary", "contract=lock:contracts.lock"]));
    // The old name of an action.
    assert_snapshot!(call(
        r#"{"action": "list"}"#,
        &["--vary", "contract=lock:contracts.lock", "--format", "fusion-text"]
    ));
    let count = |options: &[&str]| call(CREATE, options).matches("<delta ").count();
    assert_eq!(count(&["--vary", "contract=lock:contracts.lock"]), 1);
    assert_eq!(count(&["--vary", "contract=all-severities+lock:contracts.lock"]), 2);
    assert_eq!(count(&["--vary", "contract=all-severities+max-deltas:1+lock:contracts.lock"]), 1);
    assert_eq!(count(&["--vary", "contract=max-deltas:0+lock:contracts.lock"]), 0);
    let args = ["call", "--scenario", "mine.yaml", "billing", CREATE, "--guardrails", "strict+healing"];
    let refused = sandbox.start(&[&args[..], &["--vary", "contract=lock:contracts.lock"]].concat());
    assert!(refused.code == Some(2) && refused.err.contains("has no effect"), "{}", refused.err);

    let list = |required: &str| {
        format!(r#"[{{"name": "ping", "inputSchema": {{"properties": {{"to": {{}}}}, "required": [{required}]}}}}]"#)
    };
    sandbox.write("tools.json", &list(""));
    sandbox.ok(&["contract", "lock", "--tools", "tools.json", "--lockfile", "tools.lock"]);
    sandbox.write("tools.json", &list("\"to\""));
    let told = sandbox
        .ok(&["call", "--tools", "tools.json", "--vary", "contract=lock:tools.lock", "--output", "text", "ping"])
        .out;
    assert!(told.contains("<previous>{ to?: any }</previous>"), "{told}");
    let refused = sandbox.start(&["call", "--tools", "tools.json", "--vary", "contract=lock:contracts.lock", "ping"]);
    assert_eq!(refused.code, Some(2));
    assert_snapshot!(refused.err);
}

#[test]
fn a_scenario_chooses_the_changes_that_errors_show() {
    let sandbox = changed();
    let shown = |settings: &str| {
        let text = scenario("customer, currency", "search", settings).replace("[money]", "[money, new]");
        sandbox.write("mine.yaml", &text);
        let args = [
            "call",
            "--scenario",
            "mine.yaml",
            "--vary",
            "contract=lock:contracts.lock",
            "--output",
            "text",
            "billing",
            CREATE,
        ];
        sandbox.ok(&args).out.matches("<delta ").count()
    };
    assert_eq!(shown(""), 1);
    assert_eq!(shown("self_healing: {include_all_severities: true}\n"), 2);
    assert_eq!(shown("self_healing: {include_all_severities: true, max_deltas_per_error: 1}\n"), 1);
    assert_eq!(shown("self_healing: {max_deltas_per_error: 0}\n"), 0);
}

#[test]
fn a_run_with_a_lockfile_has_its_own_conditions_and_can_be_shown_again() {
    let sandbox = changed();
    let run = |out: &str, options: &[&str]| {
        let args = ["run", "mine.yaml", "--trials", "2", "--agent", "scripted:typical", "--format", "fusion-text"];
        sandbox.ok(&[&args[..], &["--out", out], options].concat())
    };
    run("plain", &[]);
    run("locked", &["--vary", "contract=lock:contracts.lock"]);
    run("more", &["--vary", "contract=all-severities+lock:contracts.lock"]);
    let planned = sandbox
        .ok(&["plan", "mine.yaml", "--guardrails", "none,all", "--vary", "contract=max-deltas:3+lock:contracts.lock"])
        .out;
    assert!(planned.contains("none/bare, all/fusion-xml lock:") && planned.contains(" max-deltas:3"), "{planned}");

    // The run has a copy of the lockfile.
    std::fs::remove_file(sandbox.path("contracts.lock")).unwrap();
    let shown = |run: &str| sandbox.ok(&["show", run, "--guardrails", "all", "--full"]).out;
    assert!(!shown("plain").contains("CONTRACT CHANGED"));
    assert!(shown("locked").contains("actions.create.inputSchema [BREAKING]") && !shown("locked").contains("tags.new"));
    assert!(shown("more").contains("tags.new [COSMETIC]"), "{}", shown("more"));
    // Under other guardrails the simulated reader runs now.
    let args = ["show", "locked", "2", "--guardrails", "healing+contract", "--full"];
    assert!(sandbox.ok(&args).out.contains("actions.create.inputSchema [BREAKING]"));

    // Only the conditions with `contract` differ.
    let compared = sandbox.ok(&["compare", "plain", "locked"]).out;
    assert!(compared.contains("lock:"), "{compared}");
    sandbox.ok(&["bless", "locked", "--out", "base.toml"]);
    sandbox.ok(&["gate", "base.toml", "locked"]);
    let gate = |candidate: &str| {
        let result = sandbox.start(&["gate", "base.toml", candidate]);
        assert_eq!(result.code, Some(4), "{}", result.err);
        result.err
    };
    assert!(gate("plain").contains("the known contracts is lock:"), "{}", gate("plain"));
    assert!(gate("more").contains("all-severities"), "{}", gate("more"));

    // The shards of a run have the lockfile, and so has their combination.
    std::fs::copy(sandbox.path("locked/contracts.lock"), sandbox.path("contracts.lock")).unwrap();
    for shard in ["1/2", "2/2"] {
        run(&shard.replace('/', "of"), &["--vary", "contract=lock:contracts.lock", "--shard", shard]);
    }
    sandbox.ok(&["merge", "1of2", "2of2", "--out", "merged"]);
    assert_eq!(shown("merged"), shown("locked"));
}

#[test]
fn conditions_that_differ_in_their_contract_changes_are_two_cells() {
    let sandbox = changed();
    let args = ["run", "mine.yaml", "--trials", "2", "--agent", "scripted:typical", "--format", "fusion-text", "--out"];
    sandbox
        .ok(&[&args[..], &["run", "quickstart", "--vary", "contract=on,all-severities+lock:contracts.lock"]].concat());
    let rows = |args: &[&str]| -> serde_json::Value { serde_json::from_str(&sandbox.ok(args).out).unwrap() };
    let report = rows(&["report", "run", "--output=json"]);
    let names: Vec<&str> =
        report["agents"][0]["rows"].as_array().unwrap().iter().map(|row| row["condition"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["none bare", "all fusion-text"]);
    assert!(names.len() == 3 && names[2].starts_with("all fusion-text lock:"), "{names:?}");
    sandbox.ok(&["bless", "run", "--out", "base.toml"]);
    let text = std::fs::read_to_string(sandbox.path("base.toml")).unwrap();
    assert_eq!(text.matches("[[cells]]").count(), 3, "{text}");
    sandbox.ok(&["gate", "base.toml", "run"]);
    // What is compared has a cell in each row.
    let by = |axis: &str| rows(&["compare", "run", "--by", axis, "--output=json"]);
    let pairs = |matrix: &serde_json::Value| {
        let columns = matrix["columns"].as_array().unwrap().iter();
        columns
            .map(|column| column["cells"].as_array().unwrap().iter().filter(|cell| !cell.is_null()).count())
            .collect()
    };
    let (guardrails, contract): (Vec<usize>, Vec<usize>) = (pairs(&by("guardrails")), pairs(&by("contract")));
    assert_eq!((guardrails, contract), (vec![2, 2], vec![1, 2]));
    let nothing = sandbox.start(&["compare", "run", "--by", "undeclared"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.err);
    // An episode is shown as it was run.
    let shown = sandbox.ok(&["show", "run", "--vary", "contract=all-severities+lock:contracts.lock", "--full"]).out;
    assert!(shown.lines().next().unwrap().contains("all/fusion-text lock:"), "{shown}");
}

#[test]
fn a_lockfile_without_the_scenarios_is_an_error() {
    let sandbox = changed();
    let result = sandbox.start(&["run", "quickstart", "--trials", "1", "--vary", "contract=lock:contracts.lock"]);
    assert_eq!(result.code, Some(2));
    assert_snapshot!(result.err);
}
