//! Severities of schema changes: BREAKING exactly if a call that was valid may now be rejected.

use healbench_core::{UNDECLARED, Undeclared};
use healbench_engine::contract::{
    Delta, Severity, ToolContract, diff_contracts, diff_contracts_under, readable_schema,
};

use super::*;

/// Returns the delta of a tool whose only action changes its schema.
pub(super) fn delta(previous: &Value, current: &Value) -> Option<Delta> {
    let contract = |input: &Value| ToolContract::from_tool(&tool("t", vec![ok("a", input.clone())]));
    let diff = diff_contracts(&contract(previous), &contract(current));
    assert_eq!(diff.digest_changed, !diff.deltas.is_empty(), "{previous} -> {current}");
    assert!(diff.deltas.len() <= 1);
    diff.deltas.into_iter().next()
}

pub(super) fn severity(previous: &Value, current: &Value) -> Option<Severity> {
    let delta = delta(previous, current)?;
    assert_ne!(delta.previous, delta.current, "{previous} -> {current}");
    Some(delta.severity)
}

/// Returns the schema of an object with an optional field.
fn field(schema: Value) -> Value {
    json!({"type": "object", "properties": {"f": schema}})
}

#[track_caller]
fn check(cases: Vec<(Value, Value)>, there: Severity, back: Severity) {
    for (previous, current) in cases {
        assert_eq!(severity(&previous, &current), Some(there), "{previous} -> {current}");
        assert_eq!(severity(&current, &previous), Some(back), "back from {current} to {previous}");
    }
}

#[test]
fn what_breaks_in_one_direction_widens_in_the_other() {
    let fields = [
        (json!({"type": "number"}), json!({"type": "integer"})),
        (json!({"type": ["string", "null"]}), json!({"type": "string"})),
        (json!({}), json!({"type": ["string", "integer", "boolean"]})),
        (json!({"enum": ["a", "b"]}), json!({"enum": ["b"]})),
        (json!({"enum": ["a", "b"]}), json!({"const": "b"})),
        (json!({"type": "string"}), json!({"type": "string", "enum": ["a"]})),
        (json!({"type": "boolean"}), json!({"const": true})),
        (json!({"type": "integer", "minimum": 1}), json!({"type": "integer", "minimum": 2})),
        (json!({"type": "integer"}), json!({"type": "integer", "maximum": 2})),
        (json!({"type": "number", "minimum": 0}), json!({"type": "number", "exclusiveMinimum": 0})),
        (json!({"maximum": 9_007_199_254_740_993_i64}), json!({"maximum": 9_007_199_254_740_992_i64})),
        (json!({"type": "integer", "multipleOf": 2}), json!({"type": "integer", "multipleOf": 6})),
        (json!({"type": "string", "minLength": 1}), json!({"type": "string", "minLength": 2})),
        (json!({"type": "string"}), json!({"type": "string", "pattern": "^a"})),
        (json!({"type": "string"}), json!({"type": "string", "format": "email"})),
        (json!({"type": "array"}), json!({"type": "array", "items": {"type": "string"}})),
        (json!({"type": "array", "items": {"type": "number"}}), json!({"type": "array", "items": {"type": "integer"}})),
        (json!({"type": "array"}), json!({"type": "array", "uniqueItems": true})),
        (json!({"type": "array", "prefixItems": [{}]}), json!({"type": "array", "prefixItems": [{"type": "null"}]})),
        (json!({"type": "array"}), json!({"type": "array", "contains": {"const": 1}})),
        (json!({"type": "object"}), json!({"type": "object", "additionalProperties": false})),
        (json!({"type": "object"}), json!({"type": "object", "additionalProperties": {"type": "string"}})),
        (json!({"type": "object"}), json!({"type": "object", "patternProperties": {"^x": {"type": "string"}}})),
        (json!({"type": "object"}), json!({"type": "object", "propertyNames": {"maxLength": 3}})),
        (json!({"type": "object"}), json!({"type": "object", "dependentRequired": {"a": ["b"]}})),
        (json!({"type": "object"}), json!({"type": "object", "properties": {"a": {"type": "string"}}})),
        (json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}), json!({"anyOf": [{"type": "integer"}]})),
        (json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}), json!({"oneOf": [{"type": "string"}]})),
        (json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}), json!({"type": "string"})),
        (json!({"type": "string"}), json!({"type": "string", "not": {"const": "a"}})),
        (json!({"not": {"type": "null"}}), json!({"not": {"type": ["null", "string"]}})),
        (json!({"type": "string"}), json!({"allOf": [{"type": "string"}, {"maxLength": 3}]})),
        (json!({"if": {"type": "string"}}), json!({"if": {"type": "string"}, "then": {"maxLength": 3}})),
        (
            json!({"type": "array", "contains": {"const": 1}}),
            json!({"type": "array", "contains": {"const": 1}, "minContains": 2}),
        ),
        // `oneOf` rejects a value that matches both branches.
        (
            json!({"oneOf": [{"type": "string"}]}),
            json!({"oneOf": [{"type": "string"}, {"type": "string", "minLength": 2}]}),
        ),
        (json!({}), json!(false)),
    ];
    let cases = fields.into_iter().map(|(previous, current)| (field(previous), field(current))).collect();
    check(cases, Severity::Breaking, Severity::Safe);
    // With `strict`, calls with a removed property are rejected; an added property breaks nothing.
    check(vec![(field(json!({})), json!({"type": "object"}))], Severity::Breaking, Severity::Safe);
}

#[test]
fn both_directions_break() {
    let renamed = |name: &str| json!({"properties": {name: {"type": "string"}}});
    check(vec![(renamed("a"), renamed("b"))], Severity::Breaking, Severity::Breaking);
    let fields = [
        (json!({"type": "number"}), json!({"type": "string"})),
        (json!({"enum": ["a", "b"]}), json!({"enum": ["a", "c"]})),
        (json!({"const": "a"}), json!({"const": "b"})),
        (json!({"type": "string", "pattern": "^a"}), json!({"type": "string", "pattern": "^b"})),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}),
            json!({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": false}),
        ),
    ];
    let cases = fields.into_iter().map(|(previous, current)| (field(previous), field(current))).collect();
    check(cases, Severity::Breaking, Severity::Breaking);
}

#[test]
fn neither_direction_breaks() {
    let shared =
        |schema: Value| json!({"type": "object", "properties": {"f": {"$ref": "#/$defs/f"}}, "$defs": {"f": schema}});
    let closed = |kind: &str| json!({"properties": {"kind": {"const": kind}}, "required": ["kind"]});
    let cases = vec![
        // The location of the definition does not matter.
        (shared(json!({"type": "string", "maxLength": 3})), field(json!({"type": "string", "maxLength": 3}))),
        (field(json!({"type": ["string", "null"]})), field(json!({"anyOf": [{"type": "string"}, {"type": "null"}]}))),
        (field(json!({"type": "integer", "minimum": 1})), field(json!({"type": "integer", "exclusiveMinimum": 0}))),
        (field(json!({"enum": ["a"]})), field(json!({"const": "a"}))),
        (field(json!({"type": "string"})), field(json!({"type": "string", "maxItems": 3}))),
        (
            field(json!({"type": "object", "required": ["a", "b"]})),
            field(json!({"type": "object", "allOf": [{"required": ["a"]}, {"required": ["b"]}]})),
        ),
        (field(json!({"type": "string"})), field(json!({"type": "string", "minimum": 3}))),
        (
            field(json!({"oneOf": [closed("a"), closed("b")], "type": "object"})),
            field(json!({"anyOf": [closed("a"), closed("b")], "type": "object"})),
        ),
        (
            json!({"type": "object", "properties": {"f": {}}}),
            json!({"type": "object", "properties": {"f": {}}, "additionalProperties": false}),
        ),
    ];
    check(cases, Severity::Cosmetic, Severity::Cosmetic);
}

#[test]
fn widenings_are_safe_and_rewrites_cosmetic() {
    let with =
        |fields: Value, definitions: Value| json!({"type": "object", "properties": fields, "$defs": definitions});
    let reference = |name: &str| json!({"f": {"$ref": format!("#/$defs/{name}")}});
    let tree = |name: &str| {
        let child = json!({"type": "array", "items": {"$ref": format!("#/$defs/{name}")}});
        with(
            reference(name),
            json!({name: {"type": "object", "properties": {"label": {"type": "string"}, "children": child}}}),
        )
    };
    let text = json!({"type": "string", "pattern": "^[A-Z]"});
    let rewrites = vec![
        // A renamed, inlined, unused or moved definition.
        (with(reference("a"), json!({"a": text})), with(reference("b"), json!({"b": text}))),
        (with(reference("a"), json!({"a": text})), field(text.clone())),
        (field(text.clone()), with(json!({"f": text}), json!({"unused": {"type": "integer"}}))),
        (
            with(reference("a"), json!({"a": text})),
            json!({"properties": {"f": {"$ref": "#/definitions/a"}}, "definitions": {"a": text}}),
        ),
        (tree("node"), tree("tree")),
        // Another draft.
        (
            field(json!({"type": "array", "prefixItems": [text], "items": false})),
            field(json!({"type": "array", "items": [text], "additionalItems": false})),
        ),
        (field(json!({"exclusiveMinimum": 1})), field(json!({"minimum": 1, "exclusiveMinimum": true}))),
        (field(text.clone()), {
            let mut named = field(text.clone());
            named["$id"] = json!("https://example.com/t.json");
            named
        }),
        (field(json!({"enum": ["a"]})), field(json!({"const": "a", "type": "string"}))),
        (field(json!({"anyOf": [text]})), field(text.clone())),
        (field(json!({"type": "string", "default": null})), field(json!({"type": "string", "deprecated": true}))),
    ];
    check(rewrites, Severity::Cosmetic, Severity::Cosmetic);
    let widenings = vec![
        (field(json!({})), with(json!({"f": {}, "g": {"type": "string", "default": "x"}}), json!({}))),
        (field(json!({"enum": ["a"]})), field(json!({"enum": ["a", "b"]}))),
        (field(text.clone()), field(json!({"type": "string"}))),
        (field(json!({"type": "string"})), field(json!({"anyOf": [{"type": "string"}, {"type": "null"}]}))),
    ];
    check(widenings, Severity::Safe, Severity::Breaking);
    // Another default changes what a call without the field means.
    let defaults = |value: Value| field(json!({"type": "array", "items": {"properties": {"a": {"default": value}}}}));
    check(vec![(defaults(json!(1)), defaults(json!(2)))], Severity::Risky, Severity::Risky);
    let plain = (field(json!({"type": "string"})), field(json!({"type": "string", "default": "x"})));
    check(vec![plain], Severity::Risky, Severity::Risky);
}

#[test]
fn the_previous_schema_reads_in_the_order_of_the_current_one() {
    // As it comes from a lockfile, in canonical order.
    let previous = json!({"properties": {
        "a": {"enum": ["x", "y"]},
        "b": {"properties": {"c": {}, "d": {}}},
        "e": {"type": "array", "prefixItems": [{"type": "null"}, {"type": "string"}]},
        "z": {},
    }});
    let current = json!({"properties": {
        "e": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "null"}]},
        "b": {"properties": {"d": {}, "c": {}}},
        "n": {},
        "a": {"enum": ["y", "w", "x"]},
    }});
    let delta = delta(&previous, &current).unwrap();
    let text = "{ e?: [null, string, ...any[]], b?: { d?: any, c?: any }, a?: \"y\" | \"x\", z?: any }";
    assert_eq!(delta.previous.as_deref(), Some(text));
}

#[test]
fn removed_fields_are_ignored_by_a_server_that_does_not_reject_them() {
    let contract = |input: &Value| ToolContract::from_tool(&tool("t", vec![ok("a", input.clone())]));
    let severity = |previous: &Value, current: &Value, undeclared| {
        diff_contracts_under(&contract(previous), &contract(current), undeclared).max_severity()
    };
    let two = json!({"properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    let one = json!({"properties": {"a": {"type": "string"}}});
    let required = json!({"properties": {"a": {"type": "string"}}, "required": ["a"]});
    for (previous, current, rejecting, others) in [
        (&two, &one, Severity::Breaking, Severity::Risky),
        (&one, &two, Severity::Safe, Severity::Safe),
        (&two, &required, Severity::Breaking, Severity::Breaking),
        (&required, &one, Severity::Safe, Severity::Safe),
    ] {
        for policy in UNDECLARED {
            let expected = if policy.value == Undeclared::Reject { rejecting } else { others };
            let found = severity(previous, current, policy.value);
            assert_eq!(found, Some(expected), "{previous} -> {current}, {}", policy.name);
        }
    }
}

#[test]
fn branches_at_the_root_keep_undeclared_fields_out() {
    let one_of = |names: &[&str]| {
        let branch = |name: &&str| json!({"properties": {*name: {"type": "string"}}, "required": [name]});
        json!({"type": "object", "anyOf": names.iter().map(branch).collect::<Vec<_>>()})
    };
    check(vec![(one_of(&["a", "b", "c"]), one_of(&["a", "b"]))], Severity::Breaking, Severity::Safe);
    // A branch that declares fewer properties closes the object further.
    let either = |extra: Value| json!({"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"properties": extra}]});
    check(vec![(either(json!({"b": {}})), either(json!({})))], Severity::Breaking, Severity::Safe);
    // A branch that allows any other property opens the object.
    let inside = |others: Value| {
        let branch = json!({"anyOf": [{"type": "null"}, {"minProperties": 0}], "unevaluatedProperties": others});
        json!({"type": "object", "anyOf": [{"type": "null"}, branch]})
    };
    assert_eq!(severity(&inside(json!({"type": "object"})), &inside(json!(false))), Some(Severity::Breaking));
    let places = |places: Value| field(json!({"prefixItems": places, "anyOf": [{}], "unevaluatedItems": false}));
    assert_eq!(severity(&places(json!([{}, {}])), &places(json!([{}]))), Some(Severity::Breaking));
    // A definition declares what it requires.
    let required = |names: Value| {
        let definition = json!({"allOf": [{"required": names}]});
        json!({"type": "object", "anyOf": [{"$ref": "#/$defs/d"}], "$defs": {"d": definition}})
    };
    assert_eq!(severity(&required(json!(["a"])), &required(json!([]))), Some(Severity::Breaking));
    // `unevaluatedProperties` at the root sees through two nested choices.
    let nested = json!({
        "type": "object",
        "properties": {"c": false},
        "anyOf": [{"properties": {"a": {}}, "anyOf": [{"required": []}, {"minProperties": 1}]}],
    });
    let plain = json!({"type": "object", "properties": {"a": {"type": "null"}}});
    assert_eq!(severity(&nested, &plain), Some(Severity::Breaking));
}

#[test]
fn a_recursive_schema_is_compared_by_what_it_is_made_of() {
    let tree = |label: Value| {
        json!({
            "type": "object",
            "properties": {"root": {"$ref": "#/$defs/node"}},
            "$defs": {"node": {"type": "object", "properties": {
                "label": label, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            }}},
        })
    };
    check(
        vec![(tree(json!({"type": ["string", "null"]})), tree(json!({"type": "string"})))],
        Severity::Breaking,
        Severity::Safe,
    );
    // A schema that refers to itself in place is still compared.
    let endless = |schema: Value| {
        json!({"type": "object", "properties": {"f": {"$ref": "#/$defs/f"}},
               "$defs": {"f": {"anyOf": [{"$ref": "#/$defs/f"}, {"$ref": "#/$defs/f"}, schema]}}})
    };
    assert!(severity(&endless(json!({"type": "string"})), &endless(json!({"type": "null"}))).is_some());
    // Neither deep nor wide schemas exhaust the stack or take long.
    let deep = |leaf: Value| (0..100).fold(leaf, |inner, _| json!({"type": "array", "items": inner}));
    assert_eq!(severity(&field(deep(json!({}))), &field(deep(json!(false)))), Some(Severity::Breaking));
    let wide = |leaf: Value| {
        (0..9)
            .fold(leaf, |inner, _| json!({"anyOf": [{"items": inner}, {"properties": {"f": inner}}, {"minItems": 1}]}))
    };
    assert!(severity(&field(wide(json!({}))), &field(wide(json!({"type": "null"})))).is_some());
}

#[test]
fn less_that_is_required_is_safe_at_any_depth_and_words_are_cosmetic() {
    let two = json!({"a": {}, "b": {}});
    let asks = |names: Value| json!({"type": "object", "properties": two, "required": names});
    check(
        vec![
            (asks(json!(["a"])), asks(json!(["a", "b"]))),
            (asks(json!([])), asks(json!(["b"]))),
            (field(asks(json!(["a"]))), field(asks(json!(["b", "a"])))),
            (
                field(json!({"type": "array", "items": asks(json!([]))})),
                field(json!({"type": "array", "items": asks(json!(["a"]))})),
            ),
        ],
        Severity::Breaking,
        Severity::Safe,
    );
    let words =
        [json!({"description": "D"}), json!({"title": "T"}), json!({"examples": [1]}), json!({"$comment": "C"})];
    let cases = words.into_iter().map(|words| (field(json!({})), field(words))).collect();
    check(cases, Severity::Cosmetic, Severity::Cosmetic);
    let annotation_delta =
        delta(&field(json!({"description": "Old"})), &field(json!({"description": "New", "title": "T"}))).unwrap();
    assert_eq!(annotation_delta.previous.as_deref(), Some("f.description: \"Old\""));
    assert_eq!(annotation_delta.current.as_deref(), Some("f.description: \"New\"; f.title: \"T\""));
    // Requiring another name is not requiring less.
    assert_eq!(severity(&asks(json!(["a"])), &asks(json!(["b"]))), Some(Severity::Breaking));
    let wider = json!({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}});
    assert_eq!(severity(&asks(json!(["a"])), &wider), Some(Severity::Safe));
}

#[test]
fn schemas_read_as_a_person_would_write_them() {
    let table = [
        (
            json!({"type": "array", "items": {"type": ["string", "null"]}, "uniqueItems": true}),
            "(optional string)[] unique",
        ),
        (json!({"prefixItems": [{"type": "string"}], "items": false, "type": "array"}), "[string]"),
        (json!({"type": "array", "prefixItems": [{"type": "string"}]}), "[string, ...any[]]"),
        (json!({"properties": {"a": {"const": 1}}, "additionalProperties": false}), "{ a?: 1 } and no others"),
        (json!({"type": "object", "additionalProperties": {"type": "number"}}), "{} and others: number"),
        (json!({"properties": {"a b": {"type": "string", "default": "x"}}}), "{ \"a b\"?: string = \"x\" }"),
        (json!({"type": "object", "anyOf": [{"required": ["a"]}, {"type": "null"}]}), "optional { a: any }"),
        (json!({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "integer"}}}), "{ a?: integer }"),
        (json!({"allOf": [{"type": "string"}, {"maxLength": 3}]}), "string & (any length <= 3)"),
        (json!({"not": {"type": "null"}}), "any with not: {\"type\":\"null\"}"),
        (json!({"type": ["object", "null"], "properties": {"a": true}}), "optional { a?: any }"),
        (json!({"properties": {"a": {}}, "patternProperties": {"^x": {"type": "null"}}}), "{ a?: any } and [^x]: null"),
        (json!({"type": "array", "items": {"properties": {"a": {"properties": {"b": {}}}}}}), "{ a?: { b?: any } }[]"),
        (
            json!({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}}}),
            "{ a?: optional string = null }",
        ),
        (json!({"enum": ["open", "paid", null]}), "optional (\"open\" | \"paid\")"),
        (json!({"type": ["string", "integer", "null"], "maxLength": 3}), "optional (string | integer) length <= 3"),
        (json!({"type": "null"}), "null"),
        (json!({"enum": [null]}), "null"),
        (json!({"oneOf": [{"type": "null"}, {"type": "null"}]}), "null"),
        (json!(false), "never"),
    ];
    for (schema, text) in table {
        assert_eq!(readable_schema(&schema), text, "{schema}");
    }
}
