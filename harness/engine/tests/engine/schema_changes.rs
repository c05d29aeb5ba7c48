//! What a change of an input schema is worth: BREAKING exactly when a call that was valid may be rejected now.

use healbench_engine::contract::{Delta, Severity, ToolContract, diff_contracts, readable_schema};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;

/// The delta of a tool whose one action had one schema and has the other.
fn delta(previous: &Value, current: &Value) -> Option<Delta> {
    let contract = |input: &Value| ToolContract::of(&tool("t", vec![ok("a", input.clone())]));
    let diff = diff_contracts(&contract(previous), &contract(current));
    assert_eq!(diff.digest_changed, !diff.deltas.is_empty(), "{previous} -> {current}");
    assert!(diff.deltas.len() <= 1);
    diff.deltas.into_iter().next()
}

fn severity(previous: &Value, current: &Value) -> Option<Severity> {
    let delta = delta(previous, current)?;
    assert_ne!(delta.previous, delta.current, "{previous} -> {current}");
    Some(delta.severity)
}

/// The schema of an optional field.
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
        (json!({}), json!(false)),
    ];
    let cases = fields.into_iter().map(|(previous, current)| (field(previous), field(current))).collect();
    check(cases, Severity::Breaking, Severity::Risky);
    // A property that goes is rejected by `strict`; one that comes, or was not closed off inside, is not.
    check(vec![(field(json!({})), json!({"type": "object"}))], Severity::Breaking, Severity::Risky);
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
        // What fits both branches fits `oneOf` no more.
        (
            json!({"oneOf": [{"type": "string"}]}),
            json!({"oneOf": [{"type": "string", "maxLength": 3}, {"minLength": 2}]}),
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
        // Where the definition stands does not matter.
        (shared(json!({"type": "string", "maxLength": 3})), field(json!({"type": "string", "maxLength": 3}))),
        (field(json!({"type": ["string", "null"]})), field(json!({"anyOf": [{"type": "string"}, {"type": "null"}]}))),
        (field(json!({"type": "integer", "minimum": 1})), field(json!({"type": "integer", "exclusiveMinimum": 0}))),
        (field(json!({"enum": ["a"]})), field(json!({"const": "a"}))),
        (field(json!({"type": "string"})), field(json!({"type": "string", "default": "x"}))),
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
    check(cases, Severity::Risky, Severity::Risky);
}

#[test]
fn branches_at_the_root_keep_undeclared_fields_out() {
    let one_of = |names: &[&str]| {
        let branch = |name: &&str| json!({"properties": {*name: {"type": "string"}}, "required": [name]});
        json!({"type": "object", "anyOf": names.iter().map(branch).collect::<Vec<_>>()})
    };
    check(vec![(one_of(&["a", "b", "c"]), one_of(&["a", "b"]))], Severity::Breaking, Severity::Risky);
    // A branch that declares less closes the object further.
    let either = |extra: Value| json!({"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"properties": extra}]});
    check(vec![(either(json!({"b": {}})), either(json!({})))], Severity::Breaking, Severity::Risky);
    // A branch that lets any other property in opens it.
    let inside = |others: Value| {
        let branch = json!({"anyOf": [{"type": "null"}, {"minProperties": 0}], "unevaluatedProperties": others});
        json!({"type": "object", "anyOf": [{"type": "null"}, branch]})
    };
    assert_eq!(severity(&inside(json!({"type": "object"})), &inside(json!(false))), Some(Severity::Breaking));
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
        Severity::Risky,
    );
    // In place it has no end, and still an answer.
    let endless = |schema: Value| {
        json!({"type": "object", "properties": {"f": {"$ref": "#/$defs/f"}},
               "$defs": {"f": {"anyOf": [{"$ref": "#/$defs/f"}, {"$ref": "#/$defs/f"}, schema]}}})
    };
    assert!(severity(&endless(json!({"type": "string"})), &endless(json!({"type": "null"}))).is_some());
    // Nor is there a stack that a deep one could exhaust, or a time that a wide one could take.
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
    let told =
        delta(&field(json!({"description": "Old"})), &field(json!({"description": "New", "title": "T"}))).unwrap();
    assert_eq!(told.previous.as_deref(), Some("f.description: \"Old\""));
    assert_eq!(told.current.as_deref(), Some("f.description: \"New\"; f.title: \"T\""));
    // Required by another name is not less.
    assert_eq!(severity(&asks(json!(["a"])), &asks(json!(["b"]))), Some(Severity::Breaking));
    // Less and wider is not only less.
    let wider = json!({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}});
    assert_eq!(severity(&asks(json!(["a"])), &wider), Some(Severity::Risky));
}

#[test]
fn schemas_read_as_a_person_would_write_them() {
    let table = [
        (
            json!({"type": "array", "items": {"type": ["string", "null"]}, "uniqueItems": true}),
            "(string | null)[] unique",
        ),
        (json!({"prefixItems": [{"type": "string"}], "items": false, "type": "array"}), "[string]"),
        (json!({"type": "array", "prefixItems": [{"type": "string"}]}), "[string, ...any[]]"),
        (json!({"properties": {"a": {"const": 1}}, "additionalProperties": false}), "{ a?: 1, no others }"),
        (json!({"type": "object", "additionalProperties": {"type": "number"}}), "{ ...others: number }"),
        (json!({"properties": {"a b": {"type": "string", "default": "x"}}}), "{ \"a b\"?: string = \"x\" }"),
        (json!({"type": "object", "anyOf": [{"required": ["a"]}, {"type": "null"}]}), "{ a: any } | null"),
        (json!({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "integer"}}}), "{ a?: integer }"),
        (json!({"allOf": [{"type": "string"}, {"maxLength": 3}]}), "string & (any length <= 3)"),
        (json!({"not": {"type": "null"}}), "any with not: {\"type\":\"null\"}"),
        (json!({"type": ["object", "null"], "properties": {"a": true}}), "{ a?: any } | null"),
        (json!(false), "never"),
    ];
    for (schema, text) in table {
        assert_eq!(readable_schema(&schema), text, "{schema}");
    }
}

/// Schemas over few names and values, so that two of them have something to do with each other.
fn schemas() -> impl Strategy<Value = Value> {
    let value = || {
        select(vec![
            json!(null),
            json!(true),
            json!(0),
            json!(1),
            json!(2),
            json!(1.5),
            json!(""),
            json!("a"),
            json!("ab"),
        ])
    };
    let kind = || select(vec!["null", "boolean", "integer", "number", "string", "array", "object"]);
    let number = || select(vec![json!(0), json!(1), json!(1.5), json!(2)]);
    let count = || select(vec![json!(0), json!(1), json!(2)]);
    let word = |words: &[&str]| select(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    let leaf = prop_oneof![
        3 => kind().prop_map(|kind| json!({"type": kind})),
        1 => (kind(), kind()).prop_filter("types differ", |(a, b)| a != b).prop_map(|(a, b)| json!({"type": [a, b]})),
        2 => prop::collection::btree_map(any::<u8>(), value(), 1..4).prop_map(|values| {
            let mut options: Vec<Value> = Vec::new();
            values.into_values().for_each(|value| if !options.contains(&value) { options.push(value) });
            json!({"enum": options})
        }),
        1 => value().prop_map(|value| json!({"const": value})),
        2 => (word(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]), number(), kind())
            .prop_map(|(keyword, limit, kind)| json!({"type": kind, keyword: limit})),
        2 => (word(&["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]), count())
            .prop_map(|(keyword, limit)| json!({keyword: limit})),
        1 => word(&["^a", "b$"]).prop_map(|pattern| json!({"type": "string", "pattern": pattern})),
        1 => Just(json!({"multipleOf": 2})),
        1 => Just(json!({"$ref": "#/$defs/d"})),
        1 => Just(json!({"uniqueItems": true})),
        1 => Just(json!({"required": ["a"]})),
        1 => Just(json!(true)),
        1 => Just(json!(false)),
        1 => Just(json!({})),
    ];
    leaf.prop_recursive(3, 16, 3, move |inner| {
        let fields = || prop::collection::btree_map(select(vec!["a", "b", "c"]), inner.clone(), 0..3);
        prop_oneof![
            4 => (fields(), prop::collection::btree_set(select(vec!["a", "b"]), 0..2), prop::option::of(inner.clone()))
                .prop_map(|(fields, required, others)| {
                    let mut schema = json!({"type": "object", "properties": fields, "required": required});
                    if let Some(others) = others {
                        schema["additionalProperties"] = others;
                    }
                    schema
                }),
            2 => inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            1 => (inner.clone(), inner.clone()).prop_map(|(one, items)| json!({"prefixItems": [one], "items": items})),
            2 => (word(&["anyOf", "oneOf", "allOf"]), prop::collection::vec(inner.clone(), 1..3))
                .prop_map(|(keyword, branches)| json!({keyword: branches})),
            1 => (fields(), word(&["anyOf", "oneOf", "allOf"]), prop::collection::vec(inner.clone(), 1..3))
                .prop_map(|(fields, keyword, branches)| json!({"properties": fields, keyword: branches})),
            1 => (fields(), prop::collection::vec(inner.clone(), 1..3)).prop_map(
                |(fields, branches)| json!({"properties": fields, "anyOf": branches, "unevaluatedProperties": false})),
            1 => inner.clone().prop_map(|schema| json!({"not": schema})),
            1 => (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(one, two, three)| json!({"if": one, "then": two, "else": three})),
            1 => inner.clone().prop_map(|schema| json!({"contains": schema})),
            1 => inner.clone().prop_map(|schema| json!({"patternProperties": {"^a": schema}})),
            1 => inner.clone().prop_map(|schema| json!({"propertyNames": schema})),
            1 => inner.clone().prop_map(|schema| json!({"dependentSchemas": {"a": schema}})),
        ]
    })
}

/// An input schema: an object with one more schema for `#/$defs/d` to lead to.
fn inputs() -> impl Strategy<Value = Value> {
    let fields = prop::collection::btree_map(select(vec!["a", "b", "c"]), schemas(), 0..3);
    (
        fields,
        prop::collection::btree_set(select(vec!["a", "b"]), 0..2),
        prop::option::weighted(0.4, schemas()),
        schemas(),
    )
        .prop_map(|(fields, required, besides, definition)| {
            let mut schema = json!({"type": "object", "properties": fields, "required": required});
            if let Some(Value::Object(besides)) = besides {
                for (keyword, value) in besides {
                    schema.as_object_mut().unwrap().entry(keyword).or_insert(value);
                }
            }
            // It may not lead to itself.
            schema["$defs"] =
                json!({"d": if definition.to_string().contains("$ref") { json!({}) } else { definition }});
            schema
        })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = select(vec![
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(2),
        json!(1.5),
        json!(-1),
        json!(3),
        json!(""),
        json!("a"),
        json!("ab"),
        json!("abc"),
        json!([]),
        json!({}),
    ]);
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(select(vec!["a", "b", "c"]), inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

fn arguments() -> impl Strategy<Value = Vec<Value>> {
    let one = prop::collection::btree_map(select(vec!["a", "b", "c", "d"]), values(), 0..4).prop_map(|map| json!(map));
    prop::collection::vec(one, 24)
}

/// The places in `schema` where another one could stand.
fn places(schema: &Value, at: String, found: &mut Vec<String>) {
    found.push(at.clone());
    match schema {
        Value::Object(map) => map.iter().for_each(|(key, value)| places(value, format!("{at}/{key}"), found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| places(value, format!("{at}/{index}"), found))
        }
        _ => {}
    }
}

/// `schema` after a small change: a keyword gone, or a part of it replaced by another schema, or one put beside.
fn changed(schema: &Value, place: Index, other: &Value, how: u8) -> Value {
    let mut found = Vec::new();
    places(schema, String::new(), &mut found);
    let at = place.get(&found).clone();
    let mut schema = schema.clone();
    let Some((parent, key)) = at.rsplit_once('/').map(|(parent, key)| (parent.to_owned(), key.to_owned())) else {
        return schema;
    };
    match (how, schema.pointer_mut(&parent).unwrap()) {
        (0, Value::Object(map)) => drop(map.shift_remove(&key)),
        (0, Value::Array(items)) => drop(items.remove(key.parse().unwrap())),
        (1, Value::Object(map)) => map.extend(other.as_object().cloned().unwrap_or_default()),
        _ => *schema.pointer_mut(&at).unwrap() = other.clone(),
    }
    schema
}

/// Which calls are valid under `schema`, with undeclared fields rejected.
fn accepted(schema: &Value, calls: &[Value]) -> Vec<bool> {
    let tools = [Tool { discriminator: None, ..tool("t", vec![ok("a", schema.clone())]) }];
    let engine = engine(&tools, "strict".parse().unwrap());
    let mut world = world(WorldDef::default());
    let mut is_accepted = |arguments: &Value| !engine.call(&mut world, &call("t", arguments.clone())).response.is_error;
    calls
        .iter()
        .map(|arguments| {
            let accepted = is_accepted(arguments);
            accepted
        })
        .collect()
}

fn compiles(schema: &Value) -> bool {
    schema.is_object() && healbench_engine::check_schema(schema).is_ok()
}

/// The same schema with the order of everything turned round that means nothing.
fn turned(schema: &Value, in_place: bool) -> Value {
    match schema {
        Value::Object(map) => {
            let turn = |(key, value): (&String, &Value)| {
                let unordered = ["required", "enum", "type", "anyOf", "oneOf", "allOf"].contains(&key.as_str());
                (
                    key.clone(),
                    if ["const", "default"].contains(&key.as_str()) { value.clone() } else { turned(value, unordered) },
                )
            };
            Value::Object(map.iter().rev().map(turn).collect())
        }
        Value::Array(items) if in_place => items.iter().rev().map(|item| turned(item, false)).collect(),
        Value::Array(items) => items.iter().map(|item| turned(item, false)).collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 1_000_000, ..ProptestConfig::default() })]

    #[test]
    fn a_call_that_is_rejected_now_makes_the_change_breaking(
        schema in inputs(), other in prop_oneof![3 => schemas(), 1 => inputs()], place in any::<Index>(), how in 0_u8..4, calls in arguments(),
    ) {
        let now = changed(&schema, place, &other, how);
        prop_assume!(compiles(&schema) && compiles(&now));
        let accepted = [&schema, &now].map(|schema| accepted(schema, &calls));
        for (previous, current, was, is) in
            [(&schema, &now, &accepted[0], &accepted[1]), (&now, &schema, &accepted[1], &accepted[0])]
        {
            if let Some(index) = (0..calls.len()).find(|index| was[*index] && !is[*index]) {
                let found = severity(previous, current);
                prop_assert_eq!(found, Some(Severity::Breaking), "{} -> {} by {}", previous, current, &calls[index]);
            }
        }
    }

    #[test]
    fn order_that_means_nothing_is_no_change(schema in inputs()) {
        prop_assert_eq!(delta(&schema, &turned(&schema, false)), None);
        let digest = |schema: &Value| ToolContract::of(&tool("t", vec![ok("a", schema.clone())])).digest();
        prop_assert_eq!(digest(&schema), digest(&turned(&schema, false)));
    }
}
