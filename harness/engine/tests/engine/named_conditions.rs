//! Tests of the named conditions of SDKs against the answers of servers whose authors set nothing.
//! `fixtures/servers/README.md` describes the recording.

use healbench_core::{ConditionEntry, DOMAIN_ERRORS, DomainErrors, FORMATS};
use healbench_engine::definition::{FaultDef, FaultKind, ToolFailure};

use super::*;

const CORPUS: &str = include_str!("../fixtures/servers/defaults.json");
const TYPESCRIPT: &str = include_str!("../fixtures/servers/typescript-lines-defaults.json");
const TYPESCRIPT_1_29: &str = include_str!("../fixtures/servers/typescript-defaults.json");
const PYTHON: &str = include_str!("../fixtures/servers/python-defaults.json");

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn engine_of(name: &str, tools: &[Tool]) -> Engine {
    let ConditionEntry { values, .. } = name.parse::<&ConditionEntry>().unwrap();
    let engine = Engine::new(tools, values.guardrails(), &values.errors).unwrap();
    engine.with_undeclared(values.undeclared).with_domain_errors(values.domain_errors)
}

fn corpus_tools(corpus: &Value) -> Vec<Tool> {
    let one = |described: &Value| {
        let handler = match &described["fails"] {
            Value::Null => Handler::Insert { table: "invoices".to_owned() },
            fails => Handler::Fail(ToolFailure {
                recovery: fails["recovery"].as_str().map(str::to_owned),
                ..ToolFailure::new("REFUSED", fails["message"].as_str().unwrap())
            }),
        };
        let name = described["name"].as_str().unwrap();
        Tool { discriminator: None, ..tool(name, vec![action(name, described["input"].clone(), handler)]) }
    };
    corpus["tools"].as_array().unwrap().iter().map(one).collect()
}

/// Compares the engine's answers with those of a server, to the byte. An accepted call is compared by the arguments that
/// reached the handler.
fn check(name: &str, recorded: &str, texts_in_message: &str) {
    let (corpus, recorded) = (parsed(CORPUS), parsed(recorded));
    let engine = engine_of(name, &corpus_tools(&corpus));
    let calls = corpus["calls"].as_array().unwrap();
    assert_eq!(calls.len(), recorded["answers"].as_object().unwrap().len());
    for each in calls {
        let label = each["name"].as_str().unwrap();
        let mut world = world(WorldDef { tables: vec![invoices(json!([]))], ..WorldDef::default() });
        let reply = engine.call(&mut world, &call(each["tool"].as_str().unwrap(), each["arguments"].clone())).response;
        let theirs = &recorded["answers"][label];
        let text = theirs["text"].as_str().unwrap();
        assert_eq!(reply.is_error, theirs["isError"].as_bool().unwrap(), "{label}");
        if !reply.is_error {
            let mut row = parsed(&reply.text());
            row.as_object_mut().unwrap().remove("id");
            assert_eq!(row, parsed(text), "{label}");
        } else if label == "message and recovery" {
            assert_eq!(reply.text(), text.replace(" Create a new invoice instead.", texts_in_message), "{label}");
        } else {
            assert_eq!(reply.text(), text, "{label}");
        }
    }
}

#[test]
fn the_condition_of_the_typescript_sdk_is_what_such_a_server_sends() {
    check("sdk-typescript", TYPESCRIPT, "");
    check("sdk-typescript+recovery", TYPESCRIPT, " Create a new invoice instead.");
    check("sdk-typescript-1.29", TYPESCRIPT_1_29, "");
}

#[test]
fn the_condition_of_the_python_sdk_is_what_such_a_server_sends() {
    check("sdk-python", PYTHON, "");
}

/// Returns the text of one call in an environment with an invoice, under a named condition.
fn text_under(name: &str, tools: &[Tool], faults: Vec<FaultDef>, arguments: Value) -> String {
    let tables = vec![invoices(json!([{"id": "INV-1"}]))];
    let mut world = world(WorldDef { tables, faults, ..WorldDef::default() });
    engine_of(name, tools).call(&mut world, &call("billing", arguments)).response.text().into_owned()
}

#[test]
fn recoveries_that_the_engine_makes_belong_to_fusion() {
    let id = json!({"properties": {"id": {"type": "string"}}});
    let table = "invoices".to_owned();
    let list = Handler::Select { table: table.clone(), filters: Vec::new(), page: None };
    let fail = Handler::Fail(ToolFailure {
        recovery: Some("Ask the owner.".to_owned()),
        available_actions: vec!["billing.list".to_owned()],
        retry_after: Some(30),
        ..ToolFailure::new("FORBIDDEN", "This invoice is locked.")
    });
    let tools = [tool(
        "billing",
        vec![
            action("list", json!({}), list),
            action("get", id.clone(), Handler::Get { table: table.clone(), by: "id".to_owned() }),
            action("create", id, Handler::Insert { table }),
            action("lock", json!({}), fail),
        ],
    )];
    let busy = FaultDef::new(FaultKind::Busy, "billing");
    let cases = [
        (
            Vec::new(),
            json!({"action": "get", "id": "INV-9"}),
            "Invoice 'INV-9' does not exist.",
            "Call billing.list first",
        ),
        (
            Vec::new(),
            json!({"action": "create", "id": "INV-1"}),
            "Invoice 'INV-1' already has the same id.",
            "Use the existing",
        ),
        (vec![busy], json!({"action": "list"}), "The server is busy.", "Try the same call again."),
    ];
    for (faults, arguments, message, generated) in cases {
        let shown = |name: &str| text_under(name, &tools, faults.clone(), arguments.clone());
        assert_eq!(shown("sdk-typescript"), message);
        assert_eq!(shown("sdk-typescript+recovery"), message);
        assert_eq!(shown("sdk-python"), format!("Error executing tool billing: {message}"));
        for name in ["sdk-typescript-2", "fastmcp", "sdk-python-lowlevel"] {
            assert_eq!(shown(name), message);
        }
        assert!(shown("tool-failure").contains(generated));
        assert!(shown("fusion").contains(&format!("<recovery>{generated}")));
        assert!(shown("bare").starts_with("Error: ") && !shown("bare").contains(generated));
    }
    let locked = |name: &str| text_under(name, &tools, Vec::new(), json!({"action": "lock"}));
    assert_eq!(locked("bare"), "Error: Forbidden");
    assert_eq!(locked("sdk-typescript"), "This invoice is locked.");
    assert_eq!(locked("sdk-typescript+recovery"), "This invoice is locked. Ask the owner.");
    assert!(locked("fusion").contains("<recovery>Ask the owner.</recovery>"));
}

#[test]
fn every_format_states_what_the_condition_lets_it() {
    let failure = ToolFailure {
        recovery: Some("Ask the owner.".to_owned()),
        available_actions: vec!["billing.list".to_owned()],
        details: vec![("owner".to_owned(), json!("ana"))],
        retry_after: Some(30),
        ..ToolFailure::new("LOCKED_BY", "This invoice is locked.")
    };
    let tools = [tool("t", vec![action("a", json!({}), Handler::Fail(failure))])];
    let facts = ["This invoice is locked.", "Ask the owner.", "billing.list", "ana", "30", "LOCKED_BY"];
    for entry in FORMATS.iter().filter(|entry| entry.format != ErrorFormat::Bare) {
        for setting in &DOMAIN_ERRORS {
            let engine = Engine::new(&tools, Guardrails::ALL, &entry.format).unwrap().with_domain_errors(setting.value);
            let reply = engine.call(&mut world(WorldDef::default()), &call("t", json!({"action": "a"}))).response;
            assert!(reply.is_error);
            let stated = facts.map(|fact| reply.text().contains(fact));
            let label = format!("{} {}: {}", entry.name, setting.name, reply.text());
            match setting.value {
                DomainErrors::Bare => assert_eq!(reply.text(), "Error: This invoice is locked.", "{label}"),
                DomainErrors::Message => assert_eq!(stated, [true, false, false, false, false, false], "{label}"),
                DomainErrors::Recovery => assert_eq!(stated, [true, true, false, false, false, false], "{label}"),
                DomainErrors::Everything => assert!(stated[0], "{label}"),
            }
        }
    }
}
