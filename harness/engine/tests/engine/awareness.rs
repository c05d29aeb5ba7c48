//! The contract changes that errors show: since which contract, of which severity, and for which action.

use std::collections::BTreeMap;

use ErrorFormat::FusionText;
use healbench_engine::ToolSchemas;
use healbench_engine::contract::{ContractAwareness, ToolContract};

use super::contracts::drifted;
use super::*;

/// The built-in formats whose texts are JSON, after a prefix.
const JSON_FORMATS: [ErrorFormat; 3] = [ErrorFormat::ZodJson, ErrorFormat::LlmFriendlyJson, ErrorFormat::ProblemJson];

#[test]
fn calls_of_a_renamed_or_removed_action_get_its_delta() {
    let schema = |name: &str| json!({"properties": {name: {"type": "string"}}, "required": [name]});
    let previous = tool("notes", vec![ok("list", json!({})), ok("edit", schema("id")), ok("purge", schema("all"))]);
    let current = Tool {
        previous: Some(Box::new(previous)),
        ..tool("notes", vec![ok("list", json!({})), ok("change", schema("id"))])
    };
    let ask = |guardrails: &str, format: ErrorFormat, action: &str| {
        let reply =
            answer(std::slice::from_ref(&current), guardrails, format, "notes", json!({"action": action, "id": "a"}));
        (reply.response.text().into_owned(), reply.contract_deltas)
    };
    for entry in ErrorFormat::named() {
        let (text, deltas) = ask("all", entry.format.clone(), "edit");
        assert_eq!(deltas, 2, "{text}");
        assert!(text.contains("actions.edit") && text.contains("actions.change"), "{text}");
        if JSON_FORMATS.contains(&entry.format) {
            let json = &text[text.find(['{', '[']).unwrap()..];
            assert!(serde_json::from_str::<Value>(json).is_ok(), "{text}");
        }
        assert_eq!(ask("all", entry.format.clone(), "rename").1, 0);
        assert_eq!(ask("healing", entry.format.clone(), "edit").1, 0);
    }
    assert_eq!(
        ask("all", FusionText, "purge").0.split_once("🔄").unwrap().1,
        " CONTRACT CHANGED — 'notes.purge' since your last calibration. Worst change: BREAKING.\n  \
         • actions.purge [BREAKING] — Before: { all: string } — Now: (absent)\n  \
         • actions.change [SAFE] — Before: (absent) — Now: { id: string }\n\
         💡 Adjust your next call to the contract as it is now."
    );
}

fn engine(tools: &[Tool], guardrails: Guardrails, format: &ErrorFormat, awareness: &ContractAwareness) -> Engine {
    Engine::with_schemas(tools, &ToolSchemas::compile(tools).unwrap(), guardrails, format, awareness).unwrap()
}

#[test]
fn errors_show_the_changes_since_the_contract_that_agents_know() {
    let known = drifted().previous.unwrap();
    let current = Tool { previous: None, description: "Bills.".to_owned(), tags: vec!["new".to_owned()], ..drifted() };
    let fields = |tool: &Tool, awareness: &ContractAwareness| {
        let engine = engine(std::slice::from_ref(tool), Guardrails::ALL, &FusionText, awareness);
        let reply = engine.call(&mut world(WorldDef::default()), &call("billing", json!({"action": "create"})));
        let text = reply.response.text().into_owned();
        let fields = text.lines().filter_map(|line| line.strip_prefix("  • ")?.split_once(" [")?.0.to_owned().into());
        fields.filter(|field: &String| text.contains('🔄') && !field.contains('\'')).collect::<Vec<String>>()
    };
    let nothing = ContractAwareness::default();
    let locked = ContractAwareness {
        known_contracts: BTreeMap::from([("billing".to_owned(), ToolContract::from_tool(&known))]),
        ..nothing.clone()
    };
    assert_eq!(fields(&current, &nothing), Vec::<String>::new());
    assert_eq!(fields(&current, &locked), ["actions.create.inputSchema"]);
    let all = ContractAwareness { include_all_severities: true, ..locked.clone() };
    assert_eq!(fields(&current, &all), ["actions.create.inputSchema", "description", "tags.new"]);
    let two = ContractAwareness { max_deltas_per_error: 2, ..all.clone() };
    assert_eq!(fields(&current, &two), ["actions.create.inputSchema", "description"]);
    // What agents know goes before what the tool says about it.
    let unchanged = ContractAwareness {
        known_contracts: BTreeMap::from([("billing".to_owned(), ToolContract::from_tool(&drifted()))]),
        ..nothing.clone()
    };
    assert_eq!(fields(&drifted(), &nothing), ["actions.create.inputSchema"]);
    assert_eq!(fields(&drifted(), &unchanged), Vec::<String>::new());
}

#[test]
fn calls_of_a_renamed_or_removed_tool_get_its_delta() {
    let flat = |name: &str, field: &str| Tool {
        discriminator: None,
        ..tool(name, vec![ok(name, json!({"properties": {field: {"type": "string"}}, "required": [field]}))])
    };
    let known = |tool: &Tool| (tool.name.clone(), ToolContract::from_tool(tool));
    let awareness = ContractAwareness {
        known_contracts: [flat("ping", "to"), flat("kept", "a")].iter().map(known).collect(),
        ..ContractAwareness::default()
    };
    let tools = [flat("echo", "text"), flat("kept", "a")];
    let ask = |guardrails: &str, format: &ErrorFormat, tool: &str| {
        let engine = engine(&tools, guardrails.parse().unwrap(), format, &awareness);
        let reply = engine.call(&mut world(WorldDef::default()), &call(tool, json!({"to": "a"})));
        (reply.response.text().into_owned(), reply.contract_deltas)
    };
    for entry in ErrorFormat::named() {
        let (text, deltas) = ask("all", &entry.format, "ping");
        assert_eq!(deltas, 2, "{text}");
        assert!(text.contains("tools.ping") && text.contains("tools.echo"), "{text}");
        if [ErrorFormat::LlmFriendlyJson, ErrorFormat::ProblemJson].contains(&entry.format) {
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        }
        assert_eq!(ask("healing", &entry.format, "ping").1, 0);
        assert_eq!(ask("all", &entry.format, "pong").1, 0);
    }
    let text = ask("all", &FusionText, "ping").0;
    assert!(text.contains("• tools.ping [BREAKING] — Before: { to: string } — Now: (absent)"), "{text}");
    assert!(text.contains("• tools.echo [SAFE] — Before: (absent) — Now: { text: string }"), "{text}");
    // A text without an array of issues has the changes as text.
    let text = ask("all", &ErrorFormat::ZodJson, "ping").0;
    assert!(text.starts_with("MCP error -32602: Tool ping not found\n") && text.contains("\n  • tools.ping"), "{text}");
}

#[test]
fn calls_of_a_previous_name_get_its_delta() {
    let flat = |name: &str| Tool { discriminator: None, ..tool(name, vec![ok("get", json!({"type": "object"}))]) };
    let renamed = Tool { previous: Some(Box::new(flat("wit_get"))), ..flat("work_item_get") };
    let ask = |guardrails: &str, tool: &str| {
        let tools = std::slice::from_ref(&renamed);
        let engine = Engine::new(tools, guardrails.parse().unwrap(), &FusionText).unwrap();
        let reply = engine.call(&mut world(WorldDef::default()), &call(tool, json!({})));
        (reply.response.text().into_owned(), reply.contract_deltas)
    };
    let (text, deltas) = ask("all", "wit_get");
    assert_eq!(deltas, 2, "{text}");
    assert!(text.contains("tools.wit_get [BREAKING]") && text.contains("tools.work_item_get"), "{text}");
    assert_eq!(ask("healing", "wit_get").1, 0);
    assert_eq!(ask("all", "wit_put").1, 0);
}
