use healbench_core::ErrorFormat::{LlmFriendly, LlmFriendlyJson};
use proptest::prelude::*;

use super::*;

/// Returns the example for this schema from the text of a failing call, and checks that the engine accepts it.
fn example(input: &Value) -> Option<Value> {
    let mut shown = Vec::new();
    for tools in [single("t", "", input.clone()), vec![tool("t", vec![ok("a", input.clone())])]] {
        let engine = Engine::new(&tools, Guardrails::ALL, &LlmFriendly).unwrap();
        let mut world = world(WorldDef::default());
        let markdown = engine.call(&mut world, &call("t", json!({"action": "a", "\u{1}undeclared": 1})));
        let markdown = markdown.response.text().into_owned();
        let example = example_of(&markdown);
        assert_eq!(example.is_some(), markdown.contains("Review the validExample below"));
        if let Some(example) = &example {
            let sent = engine.call(&mut world, &call("t", example.clone()));
            assert!(!sent.response.is_error, "{example} for {input}: {:?}", sent.failure);
        }
        shown.push(example);
    }
    let (grouped, single) = (shown.pop().unwrap(), shown.pop().unwrap());
    if let (Some(Value::Object(grouped)), Some(Value::Object(mut single))) = (grouped, single.clone()) {
        assert_eq!(grouped.keys().next().unwrap(), "action");
        single.insert("action".to_owned(), json!("a"));
        assert_eq!(grouped, single);
    }
    single
}

fn of(schema: Value) -> Value {
    let mut input = json!({"properties": {"x": schema}, "required": ["x"]});
    if let Some(defs) = input["properties"]["x"].as_object_mut().unwrap().remove("$defs") {
        input["$defs"] = defs;
    }
    example(&input).map_or(json!("none"), |mut example| example["x"].take())
}

#[test]
fn one_rule_for_each_construct() {
    let table = [
        // Document 002: 69, 363.425, example, user@example.com, the first option, ["example"].
        (json!({"type": "integer", "minimum": 18, "maximum": 120}), json!(69)),
        (json!({"type": "number", "exclusiveMinimum": -273.15, "maximum": 1000}), json!(363.425)),
        (json!({"type": "string", "pattern": "^[a-zA-Z0-9_]+$", "minLength": 3, "maxLength": 20}), json!("example")),
        (json!({"type": "string", "format": "email"}), json!("user@example.com")),
        (json!({"enum": ["admin", "user"]}), json!("admin")),
        (json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}), json!(["example"])),
        // Numbers.
        (json!({"type": "integer"}), json!(1)),
        (json!({"type": "integer", "minimum": 10}), json!(10)),
        (json!({"type": "integer", "exclusiveMinimum": 10}), json!(11)),
        (json!({"type": "integer", "maximum": -3}), json!(-3)),
        (json!({"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 6}), json!(5)),
        (json!({"type": "integer", "minimum": 1, "maximum": 100, "multipleOf": 5}), json!(50)),
        (json!({"type": "integer", "minimum": 1.5, "maximum": 2.5}), json!(2)),
        (json!({"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.1}), json!(0.5)),
        (json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.2, "multipleOf": 0.1}), json!(0.1)),
        (json!({"type": "integer", "minimum": 3, "maximum": 2}), json!("none")),
        // Texts.
        (json!({"type": "string", "maxLength": 3}), json!("exa")),
        (json!({"type": "string", "minLength": 10}), json!("exampleexa")),
        (json!({"type": "string", "pattern": "^INV-\\d{4}$"}), json!("INV-1234")),
        (json!({"type": "string", "pattern": "^[A-Z]{3}(-[0-9]+)?$"}), json!("EXA")),
        (json!({"type": "string", "pattern": "^(foo|bar)+$", "minLength": 7}), json!("foofoofoo")),
        (json!({"type": "string", "pattern": "^(?=.*[A-Z])(?=.*\\d).{8,}$"}), json!("Example123!")),
        (json!({"type": "string", "format": "date"}), json!("2024-01-15")),
        (json!({"type": "string", "format": "date-time"}), json!("2024-01-15T10:30:00Z")),
        (json!({"type": "string", "format": "time"}), json!("10:30:00Z")),
        (json!({"type": "string", "format": "duration"}), json!("P1D")),
        (json!({"type": "string", "format": "uuid"}), json!("123e4567-e89b-12d3-a456-426614174000")),
        (json!({"type": "string", "format": "uri", "minLength": 25}), json!("https://example.com/aaaaaa")),
        (json!({"type": "string", "format": "ipv4"}), json!("192.0.2.1")),
        (json!({"type": "string", "format": "ipv6"}), json!("2001:db8::1")),
        (json!({"type": "string", "format": "hostname"}), json!("example.com")),
        (json!({"type": "string", "format": "json-pointer"}), json!("/example")),
        (json!({"type": "string", "format": "regex"}), json!("^example$")),
        (json!({"type": "string", "format": "email", "pattern": "@acme\\.org$"}), json!("example@acme.org")),
        (json!({"type": "string", "format": "uri", "pattern": "^ftp://"}), json!("ftp://example.com")),
        (json!({"type": "string", "format": "unheard-of"}), json!("example")),
        // Values given in the schema are preferred if they are valid.
        (json!({"type": "integer", "default": 7, "examples": [9]}), json!(9)),
        (json!({"type": "integer", "default": 7, "examples": ["nine"]}), json!(7)),
        (json!({"const": {"a": 1}}), json!({"a": 1})),
        (json!({"type": "integer", "enum": ["a", 2, 3]}), json!(2)),
        // Lists.
        (json!({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": true}), json!([1, 2, 0])),
        (
            json!({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "uniqueItems": true}),
            json!(["a", "b"]),
        ),
        (json!({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 3, "uniqueItems": true}), json!("none")),
        (json!({"type": "array", "maxItems": 0}), json!([])),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": false}),
            json!(["example", true]),
        ),
        (json!({"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 5}}), json!([5])),
        // Objects.
        (
            json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "null"}}}}}),
            json!({"a": {"b": null}}),
        ),
        (
            json!({"type": "object", "properties": {"a": {}, "b": {}, "c": false}, "required": ["b"], "maxProperties": 1}),
            json!({"b": "example"}),
        ),
        (json!({"type": "object", "additionalProperties": {"type": "number"}}), json!({"example": 1})),
        (json!({"type": "object", "minProperties": 2}), json!({"example": "example", "example2": "example"})),
        (json!({"type": "object", "required": ["a"]}), json!({"a": "example"})),
        // Combinations.
        (json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer", "minimum": 5}}}), json!(5)),
        (json!({"allOf": [{"type": "number", "minimum": 2}, {"type": "integer", "maximum": 4}]}), json!(3)),
        (json!({"anyOf": [{"type": "null"}, {"type": "string"}]}), json!(null)),
        (json!({"oneOf": [{"type": "integer", "minimum": 1}, {"type": "number", "maximum": 5}]}), json!(6)),
        (json!({"type": ["null", "integer"]}), json!(1)),
        (json!({"not": {"type": "string"}}), json!(1)),
        (
            json!({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "required": ["children"], "properties": {
                "name": {"type": "string"}, "parent": {"$ref": "#/$defs/tree"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            }}}}),
            json!({"name": "example", "children": []}),
        ),
        (
            json!({"$ref": "#/$defs/endless", "$defs": {"endless": {
                "type": "object", "properties": {"next": {"$ref": "#/$defs/endless"}}, "required": ["next"],
            }}}),
            json!("none"),
        ),
        (
            json!({"type": "object", "properties": {"kind": {"enum": ["card", "cash"]}, "number": {"type": "string"}},
                "if": {"properties": {"kind": {"const": "card"}}}, "then": {"required": ["number", "cvc"]}}),
            json!({"kind": "card", "number": "example", "cvc": "example"}),
        ),
    ];
    for (schema, expected) in table {
        assert_eq!(of(schema.clone()), expected, "{schema}");
    }
}

#[test]
fn optional_fields_stand_in_the_example_when_the_whole_allows_it() {
    let both = json!({"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"]});
    assert_eq!(example(&both), Some(json!({"a": 1, "b": 1})));
    let mut one = both;
    one["oneOf"] =
        json!([{"required": ["a"], "properties": {"b": false}}, {"required": ["b"], "properties": {"a": false}}]);
    assert_eq!(example(&one), Some(json!({"a": 1})));
}

#[test]
fn no_example_is_better_than_a_wrong_one() {
    let input = json!({"properties": {"x": {"type": "string", "minLength": 3, "maxLength": 2}}, "required": ["x"]});
    let markdown = text(&single("t", "", input.clone()), LlmFriendly, "t", json!({}));
    assert!(!markdown.contains("xample"), "{markdown}");
    let json = text(&single("t", "", input), LlmFriendlyJson, "t", json!({}));
    assert!(!json.contains("xample") && json.ends_with("\n  }\n}"), "{json}");
}

/// Generates schemas with keywords that authors of tools use.
fn schemas() -> impl Strategy<Value = Value> {
    let number = (prop::option::of(-50..50i32), prop::option::of(0..60i32), 0..4u8, any::<bool>(), any::<bool>());
    let number = number.prop_map(|(least, span, multiple, whole, exclusive)| {
        let mut schema = json!({"type": if whole { "integer" } else { "number" }});
        if let Some(least) = least {
            schema[if exclusive { "exclusiveMinimum" } else { "minimum" }] = json!(least);
        }
        if let Some(span) = span {
            schema["maximum"] = json!(f64::from(least.unwrap_or(0) + span) + 0.5);
        }
        match multiple {
            1 => schema["multipleOf"] = json!(5),
            2 => schema["multipleOf"] = json!(0.25),
            _ => {}
        }
        schema
    });
    let patterns = ["^[a-z]+$", "^\\d{2,5}$", "[A-Z]", "^(ab|cd)*$", "^\\w+\\.txt$", "^(?!x).*$", "^\\p{L}+ \\S$"];
    let formats = ["email", "uri", "uuid", "date", "date-time", "time", "ipv4", "ipv6", "hostname", "duration"];
    let text = (
        prop::option::of(0..12usize),
        prop::option::of(0..12usize),
        prop::option::of(prop::sample::select(patterns.to_vec())),
        prop::option::of(prop::sample::select(formats.to_vec())),
    );
    let text = text.prop_map(|(least, span, pattern, format)| {
        let mut schema = json!({"type": "string"});
        least.into_iter().for_each(|least| schema["minLength"] = json!(least));
        span.into_iter().for_each(|span| schema["maxLength"] = json!(least.unwrap_or(0) + span));
        pattern.into_iter().for_each(|pattern| schema["pattern"] = json!(pattern));
        format.into_iter().for_each(|format| schema["format"] = json!(format));
        schema
    });
    let other = prop_oneof![
        Just(json!({"type": "boolean"})),
        Just(json!({"type": ["string", "null"]})),
        Just(json!({"enum": ["a", 1, null]})),
        Just(json!({"const": "`# `"})),
        Just(json!({"type": "integer", "default": "no", "examples": [3]})),
        Just(json!({"$ref": "#/$defs/shared"})),
        Just(json!({})),
        Just(json!(true)),
    ];
    let leaf = prop_oneof![number, text, other];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let object = (prop::collection::vec((inner.clone(), any::<bool>()), 0..4), any::<bool>()).prop_map(object_of);
        let list = (inner.clone(), 0..4usize, prop::option::of(0..4usize), any::<bool>());
        let list = list.prop_map(|(item, least, span, unique)| {
            let mut schema = json!({"type": "array", "items": item, "minItems": least, "uniqueItems": unique});
            span.into_iter().for_each(|span| schema["maxItems"] = json!(least + span));
            schema
        });
        let several = prop::collection::vec(inner, 1..3);
        let combined = (several, prop::sample::select(vec!["anyOf", "oneOf", "allOf", "prefixItems"]));
        prop_oneof![object, list, combined.prop_map(|(schemas, keyword)| json!({ keyword: schemas }))]
    })
}

fn object_of((fields, closed): (Vec<(Value, bool)>, bool)) -> Value {
    let names = ["a", "b.c", "d", "e"];
    let required: Vec<&str> = names.iter().zip(&fields).filter(|(_, field)| field.1).map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Value> =
        names.iter().zip(&fields).map(|(name, (schema, _))| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": !closed})
}

proptest! {
    #[test]
    fn an_example_is_valid_whenever_there_is_one(
        fields in prop::collection::vec((schemas(), any::<bool>()), 0..4),
        shared in schemas(),
    ) {
        let mut input = object_of((fields, false));
        input.as_object_mut().unwrap().shift_remove("additionalProperties");
        input["$defs"] = json!({"shared": shared});
        example(&input);
    }
}
