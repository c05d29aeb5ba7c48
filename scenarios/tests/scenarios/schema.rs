use healbench_scenarios::{Syntax, load_str};
use jsonschema::Validator;
use serde_json::Value;

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(&healbench_scenarios::schema_json()).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

#[test]
fn the_committed_schema_is_the_generated_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenario.schema.json");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == healbench_scenarios::schema_json(),
        "scenarios/scenario.schema.json is stale; regenerate it: cargo run --release -- schema > scenarios/scenario.schema.json"
    );
}

#[test]
fn the_schema_is_one_and_every_key_is_documented() {
    let schema: Value = serde_json::from_str(&healbench_scenarios::schema_json()).unwrap();
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    let mut undocumented = Vec::new();
    let root = "root".to_owned();
    let objects = schema["$defs"].as_object().unwrap().iter().chain([(&root, &schema)]);
    for (name, object) in objects {
        for (key, property) in object["properties"].as_object().into_iter().flatten() {
            if !property["description"].is_string() {
                undocumented.push(format!("{name}.{key}"));
            }
        }
    }
    assert_eq!(undocumented, Vec::<String>::new());
    // With these keywords, error messages would name branches instead of keys. The loader does not use the rules in `allOf`.
    let mut schema = schema;
    schema.as_object_mut().unwrap().remove("allOf");
    for definition in schema["$defs"].as_object_mut().unwrap().values_mut() {
        definition.as_object_mut().unwrap().remove("allOf");
    }
    let text = schema.to_string();
    assert!(!text.contains("oneOf") && !text.contains("anyOf"));
}

#[test]
fn shipped_scenarios_are_valid_under_it() {
    let validator = validator();
    for scenario in crate::quickstart() {
        let value: Value = serde_saphyr::from_str(&scenario.source.text).unwrap();
        assert!(validator.is_valid(&value), "{}", scenario.id);
    }
}

const VALID: &str = r#"
id: shop/refund
title: Refund an order
task: {prompt: Refund the order of Kim., max_calls: 6}
world:
  role: clerk
  orders:
    key: number
    rows: [{number: A-1, name: Kim, paid: true}]
    generate: {count: 3, fields: {name: {pick: [Ana, Bo]}, paid: {value: false}}}
tools:
  orders:
    description: Orders.
    actions:
      list: {input: {properties: {name: {type: string}}}, handler: {select: orders}}
      refund:
        input: {properties: {number: {type: string}}, required: [number]}
        handler: {delete: orders, by: number}
        rules: [{deny: {unless_role: clerk, message: No.}}]
claims: [{says: Fewer., measure: calls, without: {about: 3}, with: {from: 1, to: 2}}]
expect: [{no_row: {in: orders, where: {number: A-1}}}]
script: [{call: {tool: orders, action: refund, arguments: {number: A-1}}, mistakes: [missing]}]
"#;

/// Changes of a valid file that make it wrong: a part, and what replaces it.
const WRONG: &[(&str, &str)] = &[
    ("id: shop/refund", "id: shop//refund"),
    ("id: shop/refund", "id: shop refund"),
    ("id: shop/refund", "id: shop/refund\ncluster: a:b"),
    ("claims:", "server: {command: [x], tools_file: t.json}\nclaims:"),
    ("tools:\n", "tuls:\n"),
    ("{select: orders}", "{select: orders, get: orders}"),
    ("{select: orders}", "{}"),
    ("{select: orders}", "{select: orders, by: name}"),
    ("{delete: orders, by: number}", "{delete: orders, filters: {number: {column: number}}}"),
    ("rules: [{", "rules: [{required: {argument: number}, "),
    ("rules: [{deny: {unless_role: clerk, message: No.}}]", "rules: [{}]"),
    ("{pick: [Ana, Bo]}", "{pick: [Ana, Bo], value: Ana}"),
    ("{pick: [Ana, Bo]}", "{}"),
    ("{pick: [Ana, Bo]}", "{sequence: Order}"),
    ("{pick: [Ana, Bo]}", "{sequence: \"{n}{n}\"}"),
    ("{pick: [Ana, Bo]}", "{sequence: \"{n:21}\"}"),
    ("{pick: [Ana, Bo]}", "{phrase: [[a], []]}"),
    ("expect: [{", "expect: [{stops: true, "),
    ("expect: [{no_row: {in: orders, where: {number: A-1}}}]", "expect: [{stops: false}]"),
    ("expect: [{no_row: {in: orders, where: {number: A-1}}}]", "expect: [{command: [ls]}]"),
    ("measure: calls", "measure: response_usd"),
    ("measure: calls", "measure: calls, usd_per_million_tokens: 1"),
    ("{about: 3}", "{about: 3, from: 1}"),
    ("{about: 3}", "{from: 1}"),
    ("{about: 3}", "{about: 2.0e+15}"),
    ("input: {properties: {name", "input: {type: array, properties: {name"),
    ("{type: string}}}, handler: {select", "{type: strng}}}, handler: {select"),
    ("{properties: {name:", "{properties: {full.name:"),
    ("{properties: {name:", "{properties: {action:"),
    ("    description: Orders.", "    description: Orders.\n    discriminator: null"),
    ("handler: {select: orders}}", "handler: {select: orders}, warning: {message: Old., severity: error}}"),
    ("      list:", "      \"\":"),
    ("world:\n", "clock: wait_tool\nworld:\n  \"\": {}\n"),
];

#[test]
fn the_schema_refuses_what_the_loader_refuses() {
    let validator = validator();
    let is_valid = |text: &str| validator.is_valid(&serde_saphyr::from_str::<Value>(text).unwrap());
    load_str("x.yaml", VALID, Syntax::Yaml).unwrap();
    assert!(is_valid(VALID));
    for (part, wrong) in WRONG {
        assert_eq!(VALID.matches(part).count(), 1, "{part}");
        let text = VALID.replace(part, wrong);
        assert!(load_str("x.yaml", &text, Syntax::Yaml).is_err(), "the loader takes {wrong}");
        assert!(!is_valid(&text), "the schema takes {wrong}");
    }
}
