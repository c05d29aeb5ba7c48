//! Tests of the conditions of today's SDKs against the answers of servers on them, with the tools as these servers list
//! them. `fixtures/servers/README.md` describes the recordings.
//!
//! `fixtures/servers/today/departures.tsv` lists the calls that the engine answers in another way, each with its reason.

use std::collections::BTreeMap;

use healbench_core::{ConditionEntry, ToolResponse};
use healbench_engine::definition::ToolFailure;
use healbench_engine::upgrade_schema;

use super::*;

const DEPARTURES: &str = include_str!("../fixtures/servers/today/departures.tsv");
const TYPESCRIPT_CALLS: &str = include_str!("../fixtures/servers/today/typescript-calls.json");
const PYTHON_CALLS: &str = include_str!("../fixtures/servers/today/python-calls.json");

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Returns the calls of a recording that the engine answers in another way, with the reasons.
fn departures(recording: &str) -> BTreeMap<&'static str, &'static str> {
    let fields = DEPARTURES.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let of_recording = fields.filter(|fields| fields[0] == recording);
    of_recording.map(|fields| (fields[1], fields[2])).collect()
}

/// Returns the tools as the server lists them. What their handlers do is in their answers to accepted calls.
fn tools(list: &Value) -> Vec<Tool> {
    let one = |listed: &Value| {
        let name = listed["name"].as_str().unwrap();
        let handler = match listed["_meta"]["fails"].as_str() {
            Some(message) => Handler::Fail(ToolFailure::new("REFUSED", message)),
            None => Handler::Return(json!("OK")),
        };
        // As the loader of lists of tools does.
        let actions = vec![action(name, upgrade_schema(&listed["inputSchema"]), handler)];
        Tool { discriminator: None, ..tool(name, actions) }
    };
    list.as_array().unwrap().iter().map(one).collect()
}

/// Compares the answers of a condition with those of a server, to the byte. A protocol error is compared by its message.
fn check(condition: &str, name: &str, recording: &str, calls: &str) {
    let ConditionEntry { values, .. } = condition.parse::<&ConditionEntry>().unwrap();
    let recording = parsed(recording);
    let tools = tools(&recording["list"]);
    let engine = Engine::new(&tools, values.guardrails(), &values.errors).unwrap();
    let engine = engine.with_undeclared(values.undeclared).with_domain_errors(values.domain_errors);
    let mut departures = departures(name);
    let (mut differences, mut equal) = (Vec::new(), 0);
    for each in parsed(calls).as_array().unwrap() {
        let label = each["name"].as_str().unwrap();
        let Some(theirs) = recording["answers"].get(label) else { continue };
        let sent = call(each["tool"].as_str().unwrap(), each["arguments"].clone());
        let ours = engine.call(&mut world(WorldDef::default()), &sent).response;
        let (text, is_error) = match theirs["protocolError"]["message"].as_str() {
            Some(message) => (message, true),
            None => (theirs["text"].as_str().unwrap(), theirs["isError"].as_bool().unwrap()),
        };
        let is_equal = ours == ToolResponse { content: vec![text.to_owned()], is_error };
        match (is_equal, departures.remove(label)) {
            (true, None) => equal += 1,
            (false, Some(_)) => {}
            (true, Some(reason)) => differences.push(format!("# {label}\nno longer departs ({reason})\n")),
            (false, None) => differences.push(format!(
                "# {label}\n{}\n--- engine\n{}\n--- server\n{text}\n",
                sent.arguments,
                ours.text()
            )),
        }
    }
    let unknown: Vec<&&str> = departures.keys().collect();
    assert!(unknown.is_empty(), "no such calls of {name}: {unknown:?}");
    assert!(differences.is_empty(), "{equal} equal, {} not\n{}", differences.len(), differences.join("\n"));
    assert!(equal >= 150, "{equal}");
}

#[test]
fn the_typescript_sdk_1() {
    let recording = include_str!("../fixtures/servers/today/typescript-1.json");
    check("sdk-typescript", "typescript-1", recording, TYPESCRIPT_CALLS);
}

#[test]
fn the_typescript_sdk_2() {
    let recording = include_str!("../fixtures/servers/today/typescript-2.json");
    check("sdk-typescript-2", "typescript-2", recording, TYPESCRIPT_CALLS);
}

#[test]
fn the_python_sdk() {
    check("sdk-python", "python", include_str!("../fixtures/servers/today/python.json"), PYTHON_CALLS);
}

#[test]
fn fastmcp() {
    check("fastmcp", "fastmcp", include_str!("../fixtures/servers/today/fastmcp.json"), PYTHON_CALLS);
}

#[test]
fn the_low_level_of_the_python_sdk() {
    let recording = include_str!("../fixtures/servers/today/python-lowlevel.json");
    check("sdk-python-lowlevel", "python-lowlevel", recording, PYTHON_CALLS);
}
