//! Property tests of schema changes, on generated pairs of schemas and calls.

use healbench_engine::contract::{Severity, ToolContract};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::schema_changes::{delta, severity};
use super::*;

/// Generates schemas over few names and values, so that two of them are likely to overlap.
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
            1 => (inner.clone(), prop::collection::vec(inner.clone(), 1..3)).prop_map(
                |(one, branches)| json!({"prefixItems": [one], "anyOf": branches, "unevaluatedItems": false})),
            1 => (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(one, two, three)| json!({"if": one, "then": two, "else": three})),
            1 => inner.clone().prop_map(|schema| json!({"contains": schema})),
            1 => inner.clone().prop_map(|schema| json!({"patternProperties": {"^a": schema}})),
            1 => inner.clone().prop_map(|schema| json!({"propertyNames": schema})),
            1 => inner.clone().prop_map(|schema| json!({"dependentSchemas": {"a": schema}})),
        ]
    })
}

/// Generates an input schema: an object with another schema at `#/$defs/d`.
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
            // The definition must not refer to itself.
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

/// Collects the pointers to all subschemas that can be replaced.
fn pointers(schema: &Value, at: String, found: &mut Vec<String>) {
    found.push(at.clone());
    match schema {
        Value::Object(map) => map.iter().for_each(|(key, value)| pointers(value, format!("{at}/{key}"), found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| pointers(value, format!("{at}/{index}"), found))
        }
        _ => {}
    }
}

/// Returns `schema` after a small change: a keyword removed, a part replaced by another schema, or one added.
fn mutated(schema: &Value, place: Index, other: &Value, how: u8) -> Value {
    let mut found = Vec::new();
    pointers(schema, String::new(), &mut found);
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

/// Returns the validity of each call under `schema`, with undeclared fields rejected.
fn accepted(schema: &Value, calls: &[Value]) -> Vec<bool> {
    let tools = [Tool { discriminator: None, ..tool("t", vec![ok("a", schema.clone())]) }];
    let engine = engine(&tools, "strict".parse().unwrap());
    let mut world = world(WorldDef::default());
    let is_accepted = |arguments: &Value| !engine.call(&mut world, &call("t", arguments.clone())).response.is_error;
    calls.iter().map(is_accepted).collect()
}

fn compiles(schema: &Value) -> bool {
    schema.is_object() && healbench_engine::check_schema(schema).is_ok()
}

/// Returns the same schema with every irrelevant order reversed.
fn reversed(schema: &Value, in_place: bool) -> Value {
    match schema {
        Value::Object(map) => {
            let turn = |(key, value): (&String, &Value)| {
                let unordered = ["required", "enum", "type", "anyOf", "oneOf", "allOf"].contains(&key.as_str());
                (
                    key.clone(),
                    if ["const", "default"].contains(&key.as_str()) {
                        value.clone()
                    } else {
                        reversed(value, unordered)
                    },
                )
            };
            Value::Object(map.iter().rev().map(turn).collect())
        }
        Value::Array(items) if in_place => items.iter().rev().map(|item| reversed(item, false)).collect(),
        Value::Array(items) => items.iter().map(|item| reversed(item, false)).collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 1_000_000, ..ProptestConfig::default() })]

    #[test]
    fn a_call_that_is_rejected_now_makes_the_change_breaking(
        schema in inputs(), other in prop_oneof![3 => schemas(), 1 => inputs()], place in any::<Index>(), how in 0_u8..4, calls in arguments(),
    ) {
        let now = mutated(&schema, place, &other, how);
        prop_assume!(compiles(&schema) && compiles(&now));
        let accepted = [&schema, &now].map(|schema| accepted(schema, &calls));
        for (previous, current, was, is) in
            [(&schema, &now, &accepted[0], &accepted[1]), (&now, &schema, &accepted[1], &accepted[0])]
        {
            if severity(previous, current) == Some(Severity::Cosmetic) {
                prop_assert_eq!(was, is, "{} -> {}", previous, current);
            }
            if let Some(index) = (0..calls.len()).find(|index| was[*index] && !is[*index]) {
                let found = severity(previous, current);
                prop_assert_eq!(found, Some(Severity::Breaking), "{} -> {} by {}", previous, current, &calls[index]);
            }
        }
    }

    #[test]
    fn a_change_reads_as_one(
        schema in inputs(), other in schemas(), place in any::<Index>(), how in 0_u8..4,
    ) {
        let now = mutated(&schema, place, &other, how);
        // `severity` compares both the texts and the digests.
        let (there, back) = (severity(&schema, &now), severity(&now, &schema));
        prop_assert_eq!(there.is_some(), back.is_some());
    }

    #[test]
    fn order_that_means_nothing_is_no_change(schema in inputs()) {
        prop_assert_eq!(delta(&schema, &reversed(&schema, false)), None);
        let digest = |schema: &Value| ToolContract::from_tool(&tool("t", vec![ok("a", schema.clone())])).digest();
        prop_assert_eq!(digest(&schema), digest(&reversed(&schema, false)));
    }
}
