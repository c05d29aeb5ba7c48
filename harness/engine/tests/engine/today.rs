//! Tests of the conditions of today's SDKs against the answers of servers on them, with the tools as these servers list
//! them. `fixtures/servers/README.md` describes the recordings.
//!
//! `fixtures/servers/today/departures.tsv` lists the calls that the engine answers in another way, each with the reason and the first
//! 16 digits of the SHA-256 of the engine's text.

use std::collections::BTreeMap;

use healbench_core::{ConditionEntry, ToolResponse, fingerprint};
use healbench_engine::definition::ToolFailure;
use healbench_engine::upgrade_schema;

use super::*;

const DEPARTURES: &str = include_str!("../fixtures/servers/today/departures.tsv");
const TYPESCRIPT_CALLS: &str = include_str!("../fixtures/servers/today/typescript-calls.json");
const PYTHON_CALLS: &str = include_str!("../fixtures/servers/today/python-calls.json");

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Returns the calls of a recording that the engine answers in another way, with the hashes of its texts.
fn departures(recording: &str) -> BTreeMap<&'static str, &'static str> {
    let fields = DEPARTURES.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let of_recording = fields.filter(|fields| fields[0] == recording);
    of_recording.map(|fields| (fields[1], fields[3])).collect()
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
            (false, Some(hash)) if fingerprint(ours.text().as_bytes()).starts_with(hash) => {}
            (true, Some(_)) => differences.push(format!("# {label}\nno longer departs\n")),
            (false, Some(_)) => differences.push(format!("# {label}\nanother text than listed\n{}\n", ours.text())),
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
    assert!(equal >= 250, "{equal}");
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

/// Returns the text of a condition for arguments of a tool with this schema.
fn said(condition: &str, schema: Value, arguments: Value) -> String {
    let ConditionEntry { values, .. } = condition.parse::<&ConditionEntry>().unwrap();
    let tools = [Tool { discriminator: None, ..tool("t", vec![ok("t", schema)]) }];
    let engine = Engine::new(&tools, values.guardrails(), &values.errors).unwrap().with_undeclared(values.undeclared);
    engine.call(&mut world(WorldDef::default()), &call("t", arguments)).response.text().into_owned()
}

#[test]
fn each_bad_name_of_a_record_is_one_issue() {
    let names = |names: Value| json!({"properties": {"r": {"type": "object", "propertyNames": names, "additionalProperties": {"type": "number"}}}});
    let pattern = names(json!({"type": "string", "pattern": "^[a-z]+$"}));
    let text = said("sdk-typescript", pattern.clone(), json!({"r": {"A": 1, "b": "x", "C": "y"}}));
    let issues = [
        "Invalid key in record at r.A",
        "Invalid input: expected number, received string at r.b",
        "Invalid key in record at r.C",
    ];
    assert_eq!(
        text,
        format!("MCP error -32602: Input validation error: Invalid arguments for tool t: {}", issues.join("\n"))
    );
    let many: serde_json::Map<String, Value> = (0..2000).map(|number| (format!("K{number}"), json!(1))).collect();
    let text = said("sdk-typescript", pattern, json!({ "r": many }));
    assert_eq!(text.lines().count(), 100);
    let mut referred = names(json!({"$ref": "#/$defs/name"}));
    referred["$defs"] = json!({"name": {"pattern": "^[a-z]+$"}});
    assert!(said("sdk-typescript", referred, json!({"r": {"AB": 1}})).ends_with(": Invalid key in record at r.AB"));
}

/// Texts of the library for what the recordings do not have, by hand: jsonschema 4.26.0.
#[test]
fn the_library_of_the_low_level_has_rules_of_its_own() {
    let said = |schema, arguments| said("sdk-python-lowlevel", schema, arguments);
    let cases = [
        (
            json!({"properties": {"r": false, "s": {"type": "array", "minItems": 2}}}),
            json!({"r": false, "s": []}),
            "False schema does not allow False",
        ),
        (
            json!({"propertyNames": {"maxLength": 0}, "additionalProperties": false}),
            json!({"b": "a", "c": {}, "bb": {}}),
            "'b' is expected to be empty",
        ),
        (json!({"dependentSchemas": {"a": {"required": ["b"]}}}), json!({"a": "q"}), "'b' is a required property"),
        (
            json!({"properties": {"n": {"maximum": 9_007_199_254_740_992_u64}}}),
            json!({"n": 9_007_199_254_740_993_u64}),
            "9007199254740993 is greater than the maximum of 9007199254740992",
        ),
        (
            json!({"properties": {"l": {"uniqueItems": true}}}),
            json!({"l": [[1], [1]]}),
            "[[1], [1]] has non-unique elements",
        ),
    ];
    for (schema, arguments, expected) in cases {
        assert_eq!(said(schema, arguments), format!("Input validation error: {expected}"));
    }
    let grouped =
        [tool("t", vec![ok("a", json!({"properties": {"to": {"type": "string"}}, "additionalProperties": false}))])];
    let text = text(&grouped, healbench_core::ErrorFormat::JsonSchema, "t", json!({"action": "a", "to": 1}));
    assert_eq!(text, "Input validation error: 1 is not of type 'string'");
    // Names lead to names, twice each.
    let endless = json!({"$defs": {"k": {"allOf": [{"$ref": "#/$defs/k"}, {"$ref": "#/$defs/k"}]}}, "required": ["z"], "propertyNames": {"$ref": "#/$defs/k"}});
    let many: serde_json::Map<String, Value> = (0..1000).map(|number| (format!("k{number}"), json!(1))).collect();
    assert_eq!(said(endless, Value::Object(many)), "Input validation error: 'z' is a required property");
}
