use insta::assert_snapshot;

use super::*;

fn scenario(currency: &str, limit: u32, previous: &str) -> String {
    format!(
        "\
id: mine
title: Invoices
task: {{prompt: Enter an invoice., max_calls: 4}}
tools:
  billing:
    description: Manage invoices.
    actions:
      create:
        input: {{properties: {{customer: {{type: string}}, currency: {currency}}}, required: [customer]}}
        handler: {{insert: invoices}}
      list:
        input: {{properties: {{customer: {{type: string}}}}}}
        handler: {{select: invoices}}
        presenter: {{agent_limit: {limit}}}
{previous}world: {{invoices: {{key_prefix: INV-, rows: []}}}}
expect: [{{row: {{in: invoices, where: {{customer: Acme}}}}}}]
script: [{{call: {{tool: billing, action: create, arguments: {{customer: Acme}}}}}}]
"
    )
}

#[test]
fn a_changed_contract_is_reported_and_exits_with_1() {
    let sandbox = Sandbox::new();
    sandbox.write("mine.yaml", &scenario("{enum: [USD, EUR]}", 100, ""));
    assert_eq!(sandbox.ok(&["contract", "lock", "mine.yaml"]).out, "1 contract of 1 scenario in contracts.lock\n");
    assert_eq!(sandbox.ok(&["contract", "check", "mine.yaml"]).out, "1 contract of 1 scenario as locked\n");
    let locked = std::fs::read_to_string(sandbox.path("contracts.lock")).unwrap();
    sandbox.ok(&["contract", "lock", "mine.yaml"]);
    assert_eq!(std::fs::read_to_string(sandbox.path("contracts.lock")).unwrap(), locked);

    // The order of enum options is not significant.
    sandbox.write("mine.yaml", &scenario("{enum: [EUR, USD]}", 100, ""));
    sandbox.ok(&["contract", "check", "mine.yaml"]);

    sandbox.write("mine.yaml", &scenario("{enum: [USD]}", 50, ""));
    let result = sandbox.start(&["contract", "check", "mine.yaml"]);
    assert_eq!(result.code, Some(1));
    assert_snapshot!(result.out);
    assert_eq!(sandbox.ok(&["contract", "diff", "contracts.lock", "mine.yaml"]).out, result.out);
    assert_eq!(std::fs::read_to_string(sandbox.path("contracts.lock")).unwrap(), locked);
}

#[test]
fn changes_since_the_previous_contract_are_reported() {
    let sandbox = Sandbox::new();
    let previous = "    previous: {actions: {create: {input: {properties: {customer: {type: string}}}}}}\n";
    sandbox.write("mine.yaml", &scenario("{enum: [USD, EUR]}", 100, previous));
    assert_snapshot!(sandbox.ok(&["contract", "diff", "mine.yaml"]).out);
}

#[test]
fn other_scenarios_of_a_lockfile_are_kept() {
    let sandbox = Sandbox::new();
    sandbox.write("mine.yaml", &scenario("{enum: [USD]}", 100, ""));
    sandbox.ok(&["contract", "lock", "quickstart"]);
    let result = sandbox.ok(&["contract", "lock", "mine.yaml"]);
    assert!(result.err.contains("15 scenarios"), "{}", result.err);
    sandbox.ok(&["contract", "check", "quickstart", "mine.yaml"]);
    let checked = sandbox.ok(&["contract", "check", "mine.yaml", "--quiet"]);
    assert!(checked.err.contains("15 scenarios of the lockfile not named"), "{}", checked.err);
}

#[test]
fn a_list_of_tools_has_contracts_too() {
    let sandbox = Sandbox::new();
    let tools = |schema: &str| format!("[{{\"name\": \"ping\", \"inputSchema\": {schema}}}]");
    sandbox.write("tools.json", &tools("{\"properties\": {\"times\": {\"type\": \"integer\"}}}"));
    sandbox.ok(&["contract", "lock", "--tools", "tools.json"]);
    sandbox.write("tools.json", &tools("{\"properties\": {\"count\": {\"type\": \"integer\"}}}"));
    let result = sandbox.start(&["contract", "check", "--tools", "tools.json"]);
    assert_eq!(result.code, Some(1));
    assert!(result.out.contains("BREAKING"), "{}", result.out);

    // The output schema is part of the contract too.
    let output = |kind: &str| {
        format!("[{{\"name\": \"ping\", \"inputSchema\": {{}}, \"outputSchema\": {{\"type\": \"{kind}\"}}}}]")
    };
    sandbox.write("tools.json", &output("object"));
    sandbox.ok(&["contract", "lock", "--tools", "tools.json"]);
    sandbox.ok(&["contract", "check", "--tools", "tools.json"]);
    sandbox.write("tools.json", &output("array"));
    let result = sandbox.start(&["contract", "check", "--tools", "tools.json"]);
    assert_eq!(result.code, Some(1));
    assert!(result.out.contains("egress"), "{}", result.out);
}

#[test]
fn a_missing_or_damaged_lockfile_does_not_pass() {
    let sandbox = Sandbox::new();
    sandbox.write("mine.yaml", &scenario("{enum: [USD]}", 100, ""));
    let check = || {
        let result = sandbox.start(&["contract", "check", "mine.yaml"]);
        assert_eq!((result.code, result.out.as_str()), (Some(2), ""));
        result.err
    };
    let mut errors = vec![check()];
    sandbox.ok(&["contract", "lock", "mine.yaml"]);
    let whole = std::fs::read_to_string(sandbox.path("contracts.lock")).unwrap();
    for damaged in [
        whole[..whole.len() / 2].to_owned(),
        whole.replace("USD", "EUR"),
        whole.replace("\"version\": 1", "\"version\": 2"),
    ] {
        assert_ne!(damaged, whole);
        sandbox.write("contracts.lock", &damaged);
        errors.push(check());
        // The lockfile is not overwritten either.
        assert_eq!(sandbox.start(&["contract", "lock", "mine.yaml"]).code, Some(2));
        assert_eq!(std::fs::read_to_string(sandbox.path("contracts.lock")).unwrap(), damaged);
    }
    assert_snapshot!(errors.join("\n"));
}

#[test]
fn lists_of_tools_can_be_compared_and_a_side_that_cannot_be_read_is_named() {
    let sandbox = Sandbox::new();
    let list = |schema: &str| {
        format!(
            r#"{{"jsonrpc": "2.0", "id": 1, "result": {{"tools": [{{"name": "ping", "inputSchema": {schema}}}]}}}}"#
        )
    };
    sandbox.write("old.json", &list(r#"{"properties": {"to": {"type": "string"}, "via": {"type": "string"}}}"#));
    sandbox.write(
        "new.json",
        &list(r#"{"properties": {"to": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "required": ["to"]}"#),
    );
    let changed = sandbox.ok(&["contract", "diff", "old.json", "new.json"]).out;
    assert_snapshot!(changed);
    sandbox.ok(&["contract", "lock", "--tools", "old.json"]);
    assert_eq!(sandbox.ok(&["contract", "diff", "contracts.lock", "new.json"]).out, changed);
    sandbox.write("kept.json", &std::fs::read_to_string(sandbox.path("contracts.lock")).unwrap());
    assert_eq!(sandbox.ok(&["contract", "diff", "kept.json", "new.json"]).out, changed);
    // A scenario in JSON is no list of tools.
    sandbox.write("scenario.json", r#"{"id": "x", "task": 1, "expect": 1}"#);
    sandbox.write("broken.json", "{");
    let errors = [["none.lock", "new.json"], ["old.json", "none"], ["broken.json", "scenario.json"], ["old.json", ""]]
        .map(|sides| {
            let sides: Vec<&str> = sides.into_iter().filter(|side| !side.is_empty()).collect();
            let result = sandbox.start(&[&["contract", "diff"], sides.as_slice()].concat());
            assert_eq!((result.code, result.out.as_str()), (Some(2), ""));
            format!("$ {}\n{}", sides.join(" "), result.err)
        });
    assert_snapshot!(errors.join("\n"));
}

#[test]
fn a_check_fails_from_a_level_on_and_knows_what_becomes_of_undeclared_fields() {
    let sandbox = Sandbox::new();
    let list = |properties: &str| format!(r#"[{{"name": "ping", "inputSchema": {{"properties": {{{properties}}}}}}}]"#);
    let text = |name: &str| format!(r#""{name}": {{"type": "string"}}"#);
    let code =
        |options: &[&str]| sandbox.start(&[&["contract", "check", "--tools", "tools.json"], options].concat()).code;
    sandbox.write("tools.json", &list(&[text("a"), text("b")].join(",")));
    sandbox.ok(&["contract", "lock", "--tools", "tools.json"]);
    // A new field that is not required is SAFE.
    sandbox.write("tools.json", &list(&[text("a"), text("b"), text("c")].join(",")));
    assert_eq!([code(&[]), code(&["--fail-on", "safe"]), code(&["--fail-on", "risky"])], [Some(1), Some(1), Some(0)]);
    // Without it, calls that have it are rejected, or the field is ignored.
    sandbox.write("tools.json", &list(&text("a")));
    assert_eq!(code(&["--fail-on", "breaking"]), Some(1));
    assert_eq!(code(&["--fail-on", "breaking", "--undeclared", "pass"]), Some(0));
    assert_eq!(code(&["--fail-on", "risky", "--undeclared", "pass"]), Some(1));
    let diff =
        |options: &[&str]| sandbox.ok(&[&["contract", "diff", "contracts.lock", "tools.json"], options].concat()).out;
    assert!(diff(&[]).contains("BREAKING  actions") && diff(&["--undeclared", "pass"]).contains("RISKY     actions"));
}

#[test]
fn a_tool_that_cannot_be_read_does_not_pass_a_check() {
    let sandbox = Sandbox::new();
    let list = |kind: &str| {
        format!(r#"[{{"name": "a", "inputSchema": {{}}}}, {{"name": "b", "inputSchema": {{"type": "{kind}"}}}}]"#)
    };
    sandbox.write("tools.json", &list("object"));
    sandbox.ok(&["contract", "lock", "--tools", "tools.json"]);
    sandbox.write("tools.json", &list("array"));
    let result = sandbox.start(&["contract", "check", "--tools", "tools.json"]);
    assert_eq!((result.code, result.out.as_str()), (Some(2), "1 contract of 1 scenario as locked\n"));
    assert!(result.err.contains("the contract of `b` cannot be read, so it is not compared"), "{}", result.err);
}
