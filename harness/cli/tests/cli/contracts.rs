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
fn a_contract_that_moves_is_told_and_exits_with_1() {
    let place = Place::new();
    place.write("mine.yaml", &scenario("{enum: [USD, EUR]}", 100, ""));
    assert_eq!(place.ok(&["contract", "lock", "mine.yaml"]).out, "1 contract of 1 scenario in contracts.lock\n");
    assert_eq!(place.ok(&["contract", "check", "mine.yaml"]).out, "1 contract of 1 scenario as locked\n");
    let locked = std::fs::read_to_string(place.path("contracts.lock")).unwrap();
    place.ok(&["contract", "lock", "mine.yaml"]);
    assert_eq!(std::fs::read_to_string(place.path("contracts.lock")).unwrap(), locked);

    // The order in which options are written down means nothing.
    place.write("mine.yaml", &scenario("{enum: [EUR, USD]}", 100, ""));
    place.ok(&["contract", "check", "mine.yaml"]);

    place.write("mine.yaml", &scenario("{enum: [USD]}", 50, ""));
    let ended = place.start(&["contract", "check", "mine.yaml"]);
    assert_eq!(ended.code, Some(1));
    assert_snapshot!(ended.out);
    assert_eq!(place.ok(&["contract", "diff", "contracts.lock", "mine.yaml"]).out, ended.out);
    assert_eq!(std::fs::read_to_string(place.path("contracts.lock")).unwrap(), locked);
}

#[test]
fn a_scenario_tells_what_changed_since_its_previous_contract() {
    let place = Place::new();
    let previous = "    previous: {actions: {create: {input: {properties: {customer: {type: string}}}}}}\n";
    place.write("mine.yaml", &scenario("{enum: [USD, EUR]}", 100, previous));
    assert_snapshot!(place.ok(&["contract", "diff", "mine.yaml"]).out);
}

#[test]
fn other_scenarios_of_a_lockfile_stay() {
    let place = Place::new();
    place.write("mine.yaml", &scenario("{enum: [USD]}", 100, ""));
    place.ok(&["contract", "lock", "quickstart"]);
    let ended = place.ok(&["contract", "lock", "mine.yaml"]);
    assert!(ended.err.contains("15 scenarios"), "{}", ended.err);
    place.ok(&["contract", "check", "quickstart", "mine.yaml"]);
    let checked = place.ok(&["contract", "check", "mine.yaml", "--quiet"]);
    assert!(checked.err.contains("15 scenarios of the lockfile not named"), "{}", checked.err);
}

#[test]
fn a_list_of_tools_has_contracts_too() {
    let place = Place::new();
    let tools = |schema: &str| format!("[{{\"name\": \"ping\", \"inputSchema\": {schema}}}]");
    place.write("tools.json", &tools("{\"properties\": {\"times\": {\"type\": \"integer\"}}}"));
    place.ok(&["contract", "lock", "--tools", "tools.json"]);
    place.write("tools.json", &tools("{\"properties\": {\"count\": {\"type\": \"integer\"}}}"));
    let ended = place.start(&["contract", "check", "--tools", "tools.json"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("BREAKING"), "{}", ended.out);

    // What comes back is promised too.
    let output = |kind: &str| {
        format!("[{{\"name\": \"ping\", \"inputSchema\": {{}}, \"outputSchema\": {{\"type\": \"{kind}\"}}}}]")
    };
    place.write("tools.json", &output("object"));
    place.ok(&["contract", "lock", "--tools", "tools.json"]);
    place.ok(&["contract", "check", "--tools", "tools.json"]);
    place.write("tools.json", &output("array"));
    let ended = place.start(&["contract", "check", "--tools", "tools.json"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("egress"), "{}", ended.out);
}

#[test]
fn a_lockfile_that_is_missing_or_damaged_is_no_pass() {
    let place = Place::new();
    place.write("mine.yaml", &scenario("{enum: [USD]}", 100, ""));
    let check = || {
        let ended = place.start(&["contract", "check", "mine.yaml"]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""));
        ended.err
    };
    let mut told = vec![check()];
    place.ok(&["contract", "lock", "mine.yaml"]);
    let whole = std::fs::read_to_string(place.path("contracts.lock")).unwrap();
    for damaged in [
        whole[..whole.len() / 2].to_owned(),
        whole.replace("USD", "EUR"),
        whole.replace("\"version\": 1", "\"version\": 2"),
    ] {
        assert_ne!(damaged, whole);
        place.write("contracts.lock", &damaged);
        told.push(check());
        // Nor is it overwritten.
        assert_eq!(place.start(&["contract", "lock", "mine.yaml"]).code, Some(2));
        assert_eq!(std::fs::read_to_string(place.path("contracts.lock")).unwrap(), damaged);
    }
    assert_snapshot!(told.join("\n"));
}
