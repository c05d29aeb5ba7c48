//! Rules for what `compile` refuses although each key has the right shape, as far as a JSON Schema can say them. Only editors get these rules: the
//! loader has messages of its own.

use serde_json::{Value, json};

use crate::compile::MAX_CLAIMED;

/// The keys that only the simulator has.
const OF_THE_SIMULATOR: [&str; 5] = ["world", "faults", "clock", "self_healing", "claims"];
/// The expectations that only a server has, and those that only the simulator has.
const SERVER_EXPECTATIONS: [&str; 2] = ["result", "command"];
const SIMULATOR_EXPECTATIONS: [&str; 5] = ["row", "no_row", "count", "unchanged", "verified"];

/// Words without blanks and without punctuation other than `-`, `_` and `.`, joined by `/`.
const ID: &str = r"^[^\s!-,/:-@\[-^`{-~]+(/[^\s!-,/:-@\[-^`{-~]+)*$";
/// One number of a row, with up to 20 digits.
const SEQUENCE: &str = r"^((?!\{n)[\s\S])*\{n(:00*(1?[0-9]|20))?\}((?!\{n)[\s\S])*$";
const META_SCHEMA: &str = "https://json-schema.org/draft/2020-12/schema";

/// A rule and the definition that it is of; the empty name is the file.
type Rule = (&'static str, Value);

/// Returns the rules of each definition.
pub(super) fn rules() -> Vec<Rule> {
    [of_file(), of_tools(), of_rows_and_expectations(), of_servers_and_claims()].concat()
}

/// Returns the rules of the file as a whole.
fn of_file() -> Vec<Rule> {
    vec![
        ("", exactly_one(&["tools", "server"])),
        (
            "",
            json!({
                "if": {"required": ["server"]},
                "then": both(&none_of(&OF_THE_SIMULATOR), &expectations(&SIMULATOR_EXPECTATIONS)),
                "else": expectations(&SERVER_EXPECTATIONS),
            }),
        ),
        ("", json!({"properties": {"id": {"pattern": ID}, "cluster": {"pattern": ID}}})),
        ("", json!({"properties": {"tools": {"propertyNames": {"minLength": 1}}}})),
        (
            "",
            json!({
                "if": {"properties": {"clock": {"const": "wait_tool"}}, "required": ["clock"]},
                "then": {"properties": {"tools": none_of(&["wait"])}},
            }),
        ),
    ]
}

/// Returns the rules of tools, their actions and handlers.
fn of_tools() -> Vec<Rule> {
    let severity_of_warning = json!({"properties": {"warning": {"properties": {"severity": {"const": "warning"}}}}});
    vec![
        ("ToolFile", json!({"properties": {"actions": {"propertyNames": {"minLength": 1}}}})),
        (
            "ToolFile",
            json!({
                "if": {"properties": {"discriminator": {"type": "null"}}, "required": ["discriminator"]},
                "then": {"properties": {"actions": {"maxProperties": 1}}},
            }),
        ),
        (
            "ToolFile",
            json!({
                "if": {"not": {"required": ["discriminator"]}},
                "then": {"properties": {"actions": {"additionalProperties": {"properties": {"input": {
                    "properties": {"properties": {"properties": {"action": false}}}
                }}}}}},
            }),
        ),
        ("ActionFile", json!({"properties": {"input": input()}})),
        ("ActionFile", severity_of_warning),
        ("PreviousActionFile", json!({"properties": {"input": input()}})),
        ("PresenterFile", json!({"properties": {"egress": {"$ref": META_SCHEMA}}})),
        ("HandlerFile", exactly_one(&["insert", "select", "get", "update", "delete", "return", "fail"])),
        (
            "HandlerFile",
            json!({"dependentSchemas": {
                "by": {"anyOf": [{"required": ["get"]}, {"required": ["update"]}, {"required": ["delete"]}]},
                "filters": {"anyOf": [{"required": ["select"]}, {"properties": {"filters": {"maxProperties": 0}}}]},
                "set": {"anyOf": [{"required": ["insert"]}, {"required": ["update"]}, {"properties": {"set": {"maxProperties": 0}}}]},
                "except": {"anyOf": [{"required": ["insert"]}, {"required": ["update"]}, {"properties": {"except": {"maxItems": 0}}}]},
                "also": {"not": {"anyOf": [{"required": ["select"]}, {"required": ["get"]}, {"required": ["fail"]}]}},
            }}),
        ),
    ]
}

/// Returns the rules of writes, rules, tables and expectations.
fn of_rows_and_expectations() -> Vec<Rule> {
    vec![
        ("WriteFile", exactly_one(&["insert", "update", "delete"])),
        ("RuleFile", exactly_one(&["required", "deny", "allow", "conflict", "missing"])),
        ("WorldFile", json!({"propertyNames": {"minLength": 1}})),
        ("FieldFile", exactly_one(&["pick", "range", "sequence", "phrase", "value"])),
        (
            "FieldFile",
            json!({"properties": {
                "sequence": {"pattern": SEQUENCE},
                "phrase": {"items": {"minItems": 1}},
            }}),
        ),
        ("ExpectFile", exactly_one(&crate::compile::EXPECTATIONS)),
        ("ExpectFile", json!({"properties": {"stops": {"const": true}}, "dependentRequired": {"within": ["answer"]}})),
    ]
}

/// Returns the rules of servers and claims.
fn of_servers_and_claims() -> Vec<Rule> {
    vec![
        ("ServerFile", exactly_one(&["command", "url"])),
        (
            "ServerFile",
            json!({
                "dependentRequired": {"token_env": ["url"]},
                "properties": {
                    // A host with `@` has the name of a user before it.
                    "url": {"pattern": "^https?://[^/@]*(/|$)"},
                    "setup": {"items": {"minItems": 1}},
                    "env": {"items": {"pattern": "^[^=\u{0}]+$"}},
                },
            }),
        ),
        (
            "ClaimFile",
            json!({
                "if": {"properties": {"measure": {"const": "response_usd"}}, "required": ["measure"]},
                "then": {"required": ["usd_per_million_tokens"]},
                "else": none_of(&["usd_per_million_tokens"]),
            }),
        ),
        (
            "SpanFile",
            json!({"properties": {
                "about": {"maximum": MAX_CLAIMED}, "from": {"maximum": MAX_CLAIMED}, "to": {"maximum": MAX_CLAIMED},
            }}),
        ),
        (
            "SpanFile",
            json!({"oneOf": [
                both(&json!({"required": ["about"]}), &none_of(&["from", "to"])),
                both(&json!({"required": ["from", "to"]}), &none_of(&["about"])),
            ]}),
        ),
    ]
}

/// Returns the rules of an input schema: a JSON Schema of an object whose properties have no dot in their names.
fn input() -> Value {
    let properties = json!({"type": {"const": "object"}, "properties": {"propertyNames": {"pattern": r"^[^.]*$"}}});
    json!({"$ref": META_SCHEMA, "properties": properties})
}

fn exactly_one(keys: &[&str]) -> Value {
    let required: Vec<Value> = keys.iter().map(|key| json!({"required": [key]})).collect();
    json!({"oneOf": required})
}

fn none_of(keys: &[&str]) -> Value {
    let refused: serde_json::Map<String, Value> = keys.iter().map(|key| ((*key).to_owned(), false.into())).collect();
    json!({"properties": refused})
}

/// Returns the rule that no expectation has one of these keys.
fn expectations(keys: &[&str]) -> Value {
    json!({"properties": {"expect": {"items": none_of(keys)}}})
}

fn both(one: &Value, other: &Value) -> Value {
    json!({"allOf": [one, other]})
}
