//! Finding the issues of a call takes bounded work, whatever the schema and the arguments.

use std::time::Instant;

use healbench_core::ErrorFormat;
use healbench_engine::{Issue, IssueKind, check_schema, upgrade_schema, validate};
use serde_json::{Value, json};

use healbench_engine::contract::{ToolContract, diff_contracts};
use healbench_engine::definition::Tool;

use super::{FOR_EVER, ok, text, tool};

/// A filter of nested conditions, as in query tools.
fn filter() -> Value {
    let list = json!({"type": "array", "items": {"$ref": "#/$defs/filter"}});
    let branch =
        |name: &str, schema: &Value| json!({"type": "object", "properties": {name: schema}, "required": [name]});
    json!({
        "properties": {"filter": {"$ref": "#/$defs/filter"}},
        "required": ["filter"],
        "$defs": {"filter": {"oneOf": [
            branch("and", &list),
            branch("or", &list),
            branch("not", &json!({"$ref": "#/$defs/filter"})),
            branch("eq", &json!({"type": "integer"})),
        ]}},
    })
}

/// A value under `levels` levels of alternating nesting.
fn nested(levels: usize, leaf: Value) -> Value {
    (0..levels).fold(leaf, |inner, level| match level % 3 {
        0 => json!({"and": [inner]}),
        1 => json!({"or": [inner]}),
        _ => json!({"not": inner}),
    })
}

/// Returns the issues, whose search must be bounded.
fn issues(schema: &Value, arguments: &Value) -> Vec<Issue> {
    let begin = Instant::now();
    let issues = validate(schema, arguments).unwrap();
    assert!(begin.elapsed() < FOR_EVER, "{:?}", begin.elapsed());
    issues
}

#[test]
fn the_issue_of_a_deeply_nested_value_is_found() {
    for levels in [1, 2, 4, 16, 20, 60] {
        let found = issues(&filter(), &json!({"filter": nested(levels, json!({"eq": "x"}))}));
        assert_eq!(found.len(), 1, "{levels}: {found:?}");
        let IssueKind::Other { message, .. } = &found[0].kind else { panic!("{found:?}") };
        assert!(found[0].path == "filter" && message.contains("eq: integer"), "{levels}: {found:?}");
        assert!(issues(&filter(), &json!({"filter": nested(levels, json!({"eq": 1}))})).is_empty());
    }
}

#[test]
fn schemas_that_share_parts_take_no_exponential_time() {
    // Each definition leads to the next one twice, at the same value.
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let mut defs = serde_json::Map::new();
        for level in 0..40 {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            defs.insert(format!("d{level}"), json!({keyword: [next, next, {"not": {"not": next}}]}));
        }
        defs.insert("d40".to_owned(), json!({"type": "integer"}));
        let schema = json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs});
        let found = issues(&schema, &json!({"a": "x"}));
        assert!(!found.is_empty() && found.len() <= 101, "{keyword}: {}", found.len());
    }
    // Every level of the value is a level of a schema with two branches that both descend.
    let node = json!({"anyOf": [
        {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "a": {"type": "integer"}}},
        {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "b": {"type": "integer"}}},
    ]});
    let schema = json!({"properties": {"list": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}});
    let value = (0..60).fold(json!(7), |next, _| json!({"next": next}));
    assert!(!issues(&schema, &json!({"list": value})).is_empty());
}

#[test]
fn a_chain_of_references_is_no_stack_overflow() {
    let mut defs = serde_json::Map::new();
    for level in 0..10_000 {
        defs.insert(format!("d{level}"), json!({"$ref": format!("#/$defs/d{}", level + 1)}));
    }
    defs.insert("d10000".to_owned(), json!({"type": "integer"}));
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    check_schema(&schema).unwrap();
    // It is refused, since nobody knows whether it fits.
    for sent in [json!(1), json!("x")] {
        let found = issues(&schema, &json!({"a": sent}));
        assert!(found.last().unwrap().is_end_mark(), "{found:?}");
    }
    // A reference to itself says nothing.
    let endless = json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}});
    assert!(issues(&endless, &json!({"a": 1})).is_empty());
}

#[test]
fn checking_stops_after_a_hundred_issues() {
    let schema = json!({"properties": {"list": {"type": "array", "items": {"type": "integer"}}}});
    let wrong = |count: usize| json!({"list": vec!["x"; count]});
    let found = issues(&schema, &wrong(99));
    assert_eq!((found.len(), found.last().unwrap().is_end_mark()), (99, false));
    let found = issues(&schema, &wrong(50_000));
    assert_eq!((found.len(), found.last().unwrap().is_end_mark()), (101, true));
    // Undeclared fields count too.
    let fields: serde_json::Map<String, Value> =
        (0..500).map(|number| (format!("f{number}"), json!({"known": 1, "unknown": 2}))).collect();
    let properties: Value = fields.keys().map(|name| (name.clone(), json!({"properties": {"known": {}}}))).collect();
    let found = issues(&json!({"properties": properties}), &Value::Object(fields));
    assert_eq!((found.len(), found.last().unwrap().is_end_mark()), (101, true));
}

#[test]
fn own_formats_say_that_checking_stopped_and_those_of_servers_just_end() {
    let schema = json!({"properties": {"list": {"type": "array", "items": {"type": "integer"}}}});
    let tools = [tool("t", vec![ok("a", schema)])];
    for entry in ErrorFormat::named() {
        let arguments = json!({"action": "a", "list": vec!["x"; 300]});
        let text = text(&tools, entry.format.clone(), "t", arguments);
        let is_said = !entry.is_of_servers && entry.format != ErrorFormat::ToolFailure;
        assert_eq!(text.contains("checking stopped"), is_said, "{}: {text}", entry.name);
    }
}

#[test]
fn every_kind_of_reference_is_bounded() {
    let recursive = |reference: Value| {
        json!({"anyOf": [
            {"type": "object", "properties": {"a": reference, "$id": {}, "$ref": {}}, "required": ["a"]},
            {"type": "object", "properties": {"a": reference}},
        ], "default": {"$ref": "#/nowhere", "$id": "x"}})
    };
    let dynamic = recursive(json!({"$dynamicRef": "#node"}));
    let plain = recursive(json!({"$ref": "#/$defs/node"}));
    let anchored = recursive(json!({"$ref": "https://example.com/node#node"}));
    let with = |mut schema: Value, name: &str, value: &str| {
        schema[name] = json!(value);
        schema
    };
    for (reference, node) in [
        ("#/$defs/node", plain),
        ("#node", with(dynamic, "$dynamicAnchor", "node")),
        ("https://example.com/node", with(with(anchored, "$id", "https://example.com/node"), "$anchor", "node")),
    ] {
        let input = json!({"$defs": {"node": node}, "properties": {"q": {"$ref": reference}}});
        // The loader of lists of tools converts schemas.
        let tools = [tool("t", vec![ok("a", upgrade_schema(&input))])];
        let sent = (0..40).fold(json!({"a": 1}), |inner, _| json!({"a": inner}));
        let begin = Instant::now();
        let text = text(&tools, ErrorFormat::FusionXml, "t", json!({"action": "a", "q": sent}));
        assert!(begin.elapsed() < FOR_EVER, "{reference}: {:?}", begin.elapsed());
        assert!(text.contains("<field name=\"q"), "{reference}: {text}");
    }
}

#[test]
fn the_error_for_a_large_value_is_small() {
    let schema = json!({"properties": {
        "text": {"type": "string", "maxLength": 5}, "list": {"type": "object"}, "kind": {"enum": ["a", "b"]},
    }});
    let tools = [tool("t", vec![ok("a", schema)])];
    let large = "é".repeat(1 << 20);
    let sent = json!({"action": "a", "text": large, "list": [large], "kind": large, "unknown": large});
    for entry in ErrorFormat::named() {
        let text = text(&tools, entry.format.clone(), "t", sent.clone());
        assert!(text.len() < 40_000, "{}: {} bytes", entry.name, text.len());
        // zod never shows what was sent, and pydantic has a way of its own to cut it.
        let is_cut_here = !matches!(
            entry.format,
            ErrorFormat::ZodLines
                | ErrorFormat::ZodInline
                | ErrorFormat::ZodJson
                | ErrorFormat::ToolFailure
                | ErrorFormat::Pydantic
                | ErrorFormat::FastMcp
        );
        assert_eq!(text.contains("… (1048576 characters)"), is_cut_here, "{}: {text}", entry.name);
    }
    // Up to 2,000 characters, a value is shown as it was sent.
    let sent = json!({"action": "a", "text": "é".repeat(2000)});
    assert!(text(&tools, ErrorFormat::FusionXml, "t", sent).contains(&"é".repeat(2000)));
}

/// A schema in which each definition leads to the next one by two branches.
fn chain(levels: usize, last: &str) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        let branch = |name: &str| json!({"type": "object", "properties": {name: next}, "required": [name]});
        defs.insert(format!("d{level}"), json!({"anyOf": [branch("left"), branch("right")]}));
    }
    defs.insert(format!("d{levels}"), json!({"type": last}));
    json!({"properties": {"n": {"$ref": "#/$defs/d0"}}, "$defs": defs})
}

/// Types that all refer to each other.
fn web(types: usize) -> Value {
    let fields = || (0..types).map(|to| (format!("to{to}"), json!({"$ref": format!("#/$defs/t{to}")})));
    let one = |_| {
        let properties: serde_json::Map<String, Value> =
            fields().chain([("name".to_owned(), json!({"type": "string"}))]).collect();
        json!({"type": "object", "properties": properties, "required": ["name"]})
    };
    let defs: serde_json::Map<String, Value> = (0..types).map(|at| (format!("t{at}"), one(at))).collect();
    json!({"properties": {"n": {"$ref": "#/$defs/t0"}}, "$defs": defs})
}

fn only(input: Value) -> Tool {
    Tool { name: "t".to_owned(), actions: vec![ok("t", input)], ..Tool::default() }
}

#[test]
fn explanations_of_any_schema_are_small_and_say_what_is_cut() {
    let many = |count: usize| {
        let field = |at: usize| {
            let options: Vec<String> = (0..15).map(|option| format!("option-{at}-{option}")).collect();
            (format!("field_{at}"), json!({"enum": options, "description": "What this field is for, in some words."}))
        };
        json!({"properties": (0..count).map(field).collect::<serde_json::Map<String, Value>>()})
    };
    for (schema, is_cut) in
        [(chain(18, "integer"), false), (chain(50, "integer"), false), (web(3), true), (web(6), true), (many(90), true)]
    {
        for format in [ErrorFormat::LlmFriendly, ErrorFormat::LlmFriendlyJson] {
            let begin = Instant::now();
            let shown = text(&[only(schema.clone())], format, "t", json!({"n": "x", "other": 1}));
            assert!(begin.elapsed() < FOR_EVER, "{:?}", begin.elapsed());
            assert!(shown.len() < 20_000, "{} bytes", shown.len());
            assert_eq!(shown.contains("left out"), is_cut, "{shown}");
        }
    }
}

#[test]
fn contracts_of_any_schema_are_compared() {
    let contract = |last: &str| {
        let mut schema = chain(20, last);
        for level in 0..20 {
            schema["$defs"][format!("d{level}")]["anyOf"][1] = json!({"type": "object", "properties": {
                "left": {"$ref": format!("#/$defs/d{}", level + 1)}, "more": {},
            }, "required": ["left"]});
        }
        ToolContract::from_tool(&only(schema))
    };
    let begin = Instant::now();
    let found = diff_contracts(&contract("number"), &contract("integer"));
    assert!(begin.elapsed() < FOR_EVER, "{:?}", begin.elapsed());
    assert_eq!(found.deltas.len(), 1, "{found:?}");
}
