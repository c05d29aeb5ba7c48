//! Undeclared fields at every depth: rejected, stripped, or passed on and counted.

use std::time::Instant;

use healbench_core::ErrorFormat::{FusionXml, LlmFriendly};
use healbench_core::Undeclared;
use healbench_engine::definition::{Action, Handler, WorldDef};
use healbench_engine::{Failure, IssueKind};
use serde_json::{Value, json};

use super::{FOR_EVER, action, call, engine, invoices, ok, text, tool, world};

/// Returns the undeclared fields of an answer under `reject`, as `path: a, b`.
fn rejected(schema: &Value, mut arguments: Value) -> Vec<String> {
    arguments["action"] = json!("a");
    let tools = [tool("t", vec![ok("a", schema.clone())])];
    let reply = super::answer(&tools, "all", FusionXml, "t", arguments);
    let Some(Failure::Validation { issues, .. }) = reply.failure else { return Vec::new() };
    let undeclared = |kind: &IssueKind| match kind {
        IssueKind::Undeclared { fields } => fields.join(", "),
        other => format!("{other:?}"),
    };
    issues.iter().map(|issue| format!("{}: {}", issue.path, undeclared(&issue.kind))).collect()
}

/// Returns the number of undeclared fields that are passed on, or `None` if the call fails.
fn leaked(schema: &Value, mut arguments: Value) -> Option<u32> {
    arguments["action"] = json!("a");
    let tools = [tool("t", vec![ok("a", schema.clone())])];
    let reply = super::answer(&tools, "none", FusionXml, "t", arguments);
    reply.leaked_fields.filter(|_| !reply.response.is_error)
}

/// Returns the row that reaches the table under `undeclared`.
fn stored(schema: &Value, mut arguments: Value, undeclared: Undeclared) -> Value {
    arguments["action"] = json!("a");
    arguments["id"] = json!("INV-1");
    let tools = [tool("t", vec![insert(schema.clone())])];
    let engine = engine(&tools, "healing".parse().unwrap()).with_undeclared(undeclared);
    let mut world = world(WorldDef { tables: vec![invoices(json!([]))], ..WorldDef::default() });
    let reply = engine.call(&mut world, &call("t", arguments));
    assert!(!reply.response.is_error, "{reply:?}");
    let mut row: Value = serde_json::from_str(&reply.response.text()).unwrap();
    row.as_object_mut().unwrap().remove("id");
    row
}

fn insert(mut schema: Value) -> Action {
    schema["properties"]["id"] = json!({"type": "string"});
    action("a", schema, Handler::Insert { table: "invoices".to_owned() })
}

fn address() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}}})
}

/// Schemas, valid arguments with undeclared fields, and these fields.
fn cases() -> Vec<(Value, Value, &'static [&'static str])> {
    let of = |field: Value| json!({"properties": {"f": field}});
    let person = json!({"properties": {"name": {}}, "required": ["name"]});
    let firm = json!({"properties": {"vat": {}}, "required": ["vat"]});
    let tagged = json!([
        {"properties": {"kind": {"const": "card"}, "number": {}}, "required": ["kind"]},
        {"properties": {"kind": {"const": "iban"}, "code": {}}, "required": ["kind"]},
    ]);
    let tree = json!({"properties": {"f": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": {
        "properties": {"name": {}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}}});
    vec![
        (of(address()), json!({"f": {"city": "x", "zip": 1, "zap": 2}, "g": 3}), &["f: zip, zap", ": g"]),
        (of(json!({"items": address()})), json!({"f": [{"city": "x"}, {"zip": 1}]}), &["f.1: zip"]),
        (
            of(json!({"prefixItems": [{}, address()], "items": address()})),
            json!({"f": [{"a": 1}, {"b": 1}, {"c": 1}]}),
            &["f.1: b", "f.2: c"],
        ),
        (of(json!({"oneOf": [person, firm]})), json!({"f": {"name": 1, "nick": 2}}), &["f: nick"]),
        (of(json!({"anyOf": [person, firm]})), json!({"f": {"name": 1, "vat": 2, "nick": 2}}), &["f: nick"]),
        (of(json!({"oneOf": tagged})), json!({"f": {"kind": "card", "code": 2}}), &["f: code"]),
        (json!({"oneOf": tagged}), json!({"kind": "card", "code": 2}), &[": code"]),
        (of(json!({"anyOf": [address(), {"type": "null"}]})), json!({"f": {"zip": 2}}), &["f: zip"]),
        (
            of(json!({"allOf": [person, {"properties": {"age": {}}}]})),
            json!({"f": {"name": 1, "age": 2, "nick": 2}}),
            &["f: nick"],
        ),
        (
            json!({"allOf": [of(json!({"properties": {"a": {}}})), of(json!({"properties": {"b": {}}}))]}),
            json!({"f": {"a": 1, "b": 2, "c": 3}}),
            &["f: c"],
        ),
        (
            tree,
            json!({"f": {"name": 1, "children": [{"children": [{"nick": 1}]}]}}),
            &["f.children.0.children.0: nick"],
        ),
        (
            of(json!({"patternProperties": {"^x-": address()}})),
            json!({"f": {"x-a": {"zip": 1}, "y": 1}}),
            &["f.x-a: zip", "f: y"],
        ),
        (of(json!({"additionalProperties": address()})), json!({"f": {"any": {"zip": 1}}}), &["f.any: zip"]),
        (of(json!({"unevaluatedProperties": address()})), json!({"f": {"any": {"zip": 1}}}), &["f.any: zip"]),
        (
            of(
                json!({"properties": {"a": {}}, "if": {"properties": {"a": {"const": 1}}}, "then": {"properties": {"b": {}}}, "else": {"properties": {"c": {}}}}),
            ),
            json!({"f": {"a": 1, "b": 1, "c": 1}}),
            &["f: c"],
        ),
        (
            of(json!({"properties": {"a": {}}, "dependentSchemas": {"a": {"properties": {"b": {}}}}})),
            json!({"f": {"a": 1, "b": 1, "c": 1}}),
            &["f: c"],
        ),
        // A name with a dot or a slash is one name.
        (of(json!({"properties": {"a/b": address()}})), json!({"f": {"a/b": {"zip": 1}}}), &["f.a/b: zip"]),
    ]
}

/// Schemas and valid arguments whose fields are all allowed.
fn allowed() -> Vec<(Value, Value)> {
    let of = |field: Value| json!({"properties": {"f": field}});
    vec![
        // The author allows further fields.
        (json!({"properties": {"a": {}}, "additionalProperties": true}), json!({"a": 1, "b": 2})),
        (json!({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}), json!({"a": 1, "b": 2})),
        (json!({"properties": {"a": {}}, "unevaluatedProperties": true, "allOf": [{}]}), json!({"a": 1, "b": 2})),
        (json!({"allOf": [{"properties": {"a": {}}, "additionalProperties": true}]}), json!({"a": 1, "b": 2})),
        (of(json!({"properties": {"a": {}}, "additionalProperties": true})), json!({"f": {"a": 1, "b": 2}})),
        (of(json!({"$ref": "#/$defs/Open"})), json!({"f": 1})),
        // An object without any declaration is a map, and a schema without a type allows anything.
        (of(json!({"type": "object"})), json!({"f": {"a": {"b": 1}}})),
        (of(json!({"type": "object", "properties": {}})), json!({"f": {"a": 1}})),
        (of(json!({})), json!({"f": {"a": 1}})),
        (of(json!(true)), json!({"f": {"a": 1}})),
        (of(json!({"type": "array"})), json!({"f": [{"a": 1}]})),
        // A required field is declared.
        (json!({"properties": {"a": {}}, "required": ["a", "b"]}), json!({"a": 1, "b": 2})),
        (of(json!({"properties": {"a": {}}, "required": ["b"]})), json!({"f": {"b": 2}})),
        (of(json!({"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]})), json!({"f": {"a": 1, "b": 2}})),
    ]
    .into_iter()
    .map(|(mut schema, arguments)| {
        schema["$defs"] = json!({"Open": {}});
        (schema, arguments)
    })
    .collect()
}

#[test]
fn undeclared_fields_are_rejected_at_every_depth() {
    for (schema, arguments, expected) in cases() {
        assert_eq!(rejected(&schema, arguments.clone()), expected, "{schema} {arguments}");
    }
    for (schema, arguments) in allowed() {
        assert_eq!(rejected(&schema, arguments.clone()), [""; 0], "{schema} {arguments}");
    }
}

#[test]
fn undeclared_fields_are_counted_at_every_depth() {
    for (schema, arguments, expected) in cases() {
        let fields: usize = expected.iter().map(|object| object.split(',').count()).sum();
        assert_eq!(leaked(&schema, arguments.clone()), Some(fields as u32), "{schema} {arguments}");
    }
    for (schema, arguments) in allowed() {
        assert_eq!(leaked(&schema, arguments.clone()), Some(0), "{schema} {arguments}");
    }
}

#[test]
fn undeclared_fields_are_stripped_at_every_depth() {
    for (schema, arguments, _) in cases().into_iter().chain(allowed().into_iter().map(|(s, a)| (s, a, &[][..]))) {
        let passed = stored(&schema, arguments.clone(), Undeclared::Pass);
        assert_eq!(passed, arguments, "{schema}");
        let kept = stored(&schema, arguments.clone(), Undeclared::Strip);
        assert_eq!(rejected(&schema, kept.clone()), [""; 0], "{schema} {kept}");
        assert_eq!(kept == passed, rejected(&schema, arguments.clone()).is_empty(), "{schema} {kept}");
    }
    let schema = json!({"properties": {"f": {"items": {"properties": {"city": {}}}}}});
    let arguments = json!({"f": [{"city": "x", "zip": {"deep": 1}}, 3], "g": 1});
    assert_eq!(stored(&schema, arguments, Undeclared::Strip), json!({"f": [{"city": "x"}, 3]}));
}

#[test]
fn stripped_fields_are_not_counted_as_leaked() {
    let tools = [tool("t", vec![ok("a", json!({"properties": {"f": address()}}))])];
    let engine = engine(&tools, "healing".parse().unwrap()).with_undeclared(Undeclared::Strip);
    let arguments = json!({"action": "a", "f": {"zip": 1}, "g": 1});
    let reply = engine.call(&mut world(WorldDef::default()), &call("t", arguments));
    assert_eq!((reply.response.is_error, reply.leaked_fields), (false, Some(0)));
}

#[test]
fn a_ban_of_the_author_holds_under_every_policy() {
    let closed = |mut schema: Value| {
        schema["additionalProperties"] = json!(false);
        schema
    };
    let nested = json!({"properties": {"f": closed(address())}});
    let at_root = closed(json!({"properties": {"a": {}}}));
    for (schema, arguments) in [(nested, json!({"f": {"zip": 1}})), (at_root, json!({"b": 1}))] {
        assert_eq!(leaked(&schema, arguments.clone()), None, "{schema}");
        assert_eq!(rejected(&schema, arguments).len(), 1, "{schema}");
    }
}

#[test]
fn undeclared_fields_stand_beside_other_issues() {
    let schema = json!({"properties": {"f": address(), "n": {"type": "integer"}}, "required": ["n"]});
    let arguments = json!({"action": "a", "f": {"city": 1, "zip": 1}, "g": 1});
    let shown = text(&[tool("t", vec![ok("a", schema)])], FusionXml, "t", arguments);
    let fields: Vec<&str> =
        shown.lines().filter_map(|line| line.trim().strip_prefix("<field name=\"")?.split('"').next()).collect();
    assert_eq!(fields, ["f.city", "f", "n", "(root)"], "{shown}");
    assert!(shown.contains("<field name=\"f\">Unrecognized key(s) in object: 'zip'."), "{shown}");
}

#[test]
fn looking_for_undeclared_fields_takes_bounded_time() {
    // Every branch fits every value, and leads to the schema itself.
    let filter = json!({"anyOf": [
        {"properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/Filter"}}}},
        {"properties": {"or": {"type": "array", "items": {"$ref": "#/$defs/Filter"}}}},
        {"properties": {"not": {"$ref": "#/$defs/Filter"}}},
        {"properties": {"eq": {"type": "integer"}}},
    ]});
    let schema = json!({"properties": {"f": {"$ref": "#/$defs/Filter"}}, "$defs": {"Filter": filter}});
    let value = (0..100).fold(json!({"eq": 1, "x": 1}), |inner, _| json!({"and": [{"or": [inner]}], "eq": 1}));
    let started = Instant::now();
    assert_eq!(leaked(&schema, json!({"f": value.clone()})), Some(1));
    assert_eq!(rejected(&schema, json!({"f": value})).len(), 1);
    // A schema that refers to itself in place.
    let itself = json!({"properties": {"f": {"$ref": "#/$defs/A"}}, "$defs": {
        "A": {"anyOf": [{"$ref": "#/$defs/A"}, {"allOf": [{"$ref": "#/$defs/A"}]}, {"$ref": "#/$defs/A"}]}}});
    let tools = [tool("t", vec![ok("a", itself)])];
    text(&tools, LlmFriendly, "t", json!({"action": "a", "g": 1}));
    assert!(started.elapsed() < FOR_EVER, "{:?}", started.elapsed());
}
