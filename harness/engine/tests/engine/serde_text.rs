//! Tests of `serde` against the recorded answers of a server on the Rust SDK, and against serde with the same types.

use std::collections::BTreeSet;
use std::fmt;

use healbench_core::ErrorFormat::Serde;
use healbench_engine::definition::ToolFailure;
use proptest::prelude::*;
use proptest::sample::select;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error, SeqAccess, Unexpected, Visitor};

use super::*;

#[path = "../fixtures/servers/rust_types.rs"]
#[allow(dead_code, unreachable_pub)]
mod rust_types;

/// Creates the schemas of `rust_types.rs`, and a handler that fails.
fn tools() -> Vec<Tool> {
    let count = json!({"type": "integer", "minimum": 0});
    let text = json!({"type": "string"});
    let env = json!({
        "type": "object",
        "properties": {"region": text, "zone": count},
        "required": ["region"],
        "additionalProperties": false,
    });
    let steps = json!({
        "type": "object", "properties": {"name": text}, "required": ["name"], "additionalProperties": false,
    });
    let create = json!({
        "properties": {
            "email": text,
            "role": {"type": "string", "enum": ["admin", "user"]},
            "age": count,
            "env": env,
            "tags": {"type": "array", "items": text},
        },
        "required": ["email", "role"],
    });
    let deploy = json!({
        "properties": {
            "version": text,
            "stage": {"enum": ["dev", "test", "prod"]},
            "replicas": count,
            "offset": {"type": "integer"},
            "ratio": {"type": "number"},
            "force": {"type": "boolean"},
            "env": env,
            "steps": {"type": "array", "items": steps},
            "labels": {"type": "object", "additionalProperties": text},
            "only": {"const": "web"},
        },
        "required": ["version", "stage", "replicas", "offset"],
    });
    let list = json!({"properties": {"limit": count}});
    let users = tool("users", vec![ok("list", list), ok("create", create), ok("delete", json!({}))]);
    let refusal = ToolFailure::new("NOT_FOUND", "Invoice 'INV-999' does not exist.");
    vec![users, plain("deploy", ok("", deploy)), plain("refuse", action("", json!({}), Handler::Fail(refusal)))]
}

/// Creates a tool without a discriminator.
fn plain(name: &str, action: Action) -> Tool {
    Tool { discriminator: None, ..tool(name, vec![Action { name: name.to_owned(), ..action }]) }
}

/// Returns the error of a plain tool with this schema, without the introduction.
fn error_text(schema: &Value, arguments: Value) -> String {
    let shown = text(&[plain("t", ok("t", schema.clone()))], Serde, "t", arguments);
    shown.strip_prefix("failed to deserialize parameters: ").unwrap().to_owned()
}

#[test]
fn the_same_as_a_server_on_the_rust_sdk() {
    let fixture: Value = serde_json::from_str(include_str!("../fixtures/servers/rust.json")).unwrap();
    let calls = fixture["calls"].as_array().unwrap();
    assert!(calls.len() > 60);
    let tools = tools();
    for call in calls {
        let answer = answer(&tools, "all", Serde, call["tool"].as_str().unwrap(), call["arguments"].clone());
        assert_eq!(answer.response.text(), call["text"].as_str().unwrap(), "{call}");
        assert!(answer.response.is_error && (call["is_error"] == true || call.get("protocol_error").is_some()));
    }
}

/// Returns serde's error for these arguments, with sorted keys like in the SDK's map.
fn serde_error_text<T: DeserializeOwned>(mut arguments: Value) -> Option<String> {
    arguments.sort_all_objects();
    let error = serde_json::from_value::<T>(arguments).err()?;
    // The only difference: escaped line breaks and control characters in names.
    let shown =
        |c: char| if c.is_control() || c == '\u{2028}' { c.escape_default().to_string() } else { c.to_string() };
    Some(format!("failed to deserialize parameters: {error}").chars().map(shown).collect())
}

fn some_value() -> impl Strategy<Value = Value> {
    let words = vec!["web", "dev", "prod", "admin", "user", "x", "", "say \"hi\"\n\u{2028}\\", "é\u{0}"];
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3..9i64).prop_map(Value::from),
        // JSON Schema accepts `1.0` as an integer, serde does not.
        (-1e3..1e3f64).prop_filter("a fraction", |x| x.fract() != 0.0).prop_map(Value::from),
        (-1e-9..1e-9f64).prop_filter("a fraction", |x| x.fract() != 0.0).prop_map(Value::from),
        select(words).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let key = select(vec!["region", "zone", "name", "dev", "admin", "extra"]);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key, inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

/// The required fields: for optional ones, serde accepts a null, but the engine does not.
const REQUIRED: [&str; 6] = ["version", "stage", "replicas", "offset", "email", "role"];

/// Generates valid arguments for `deploy` or `create` of `users`, with some of them omitted or replaced, in any order.
fn near_arguments() -> impl Strategy<Value = (&'static str, Value)> {
    let deploy = json!({
        "version": "1", "stage": "dev", "replicas": 1, "offset": -1, "ratio": 0.5, "force": true,
        "env": {"region": "eu"}, "steps": [{"name": "a"}], "labels": {"a": "b"}, "only": "web",
    });
    let create = json!({
        "action": "create", "email": "a@b.c", "role": "user", "age": 1, "env": {"region": "eu", "zone": 2}, "tags": ["a"],
    });
    let broken = |tool: &'static str, valid: Value| {
        let names: Vec<String> = object(valid.clone()).keys().cloned().chain(["extra".to_owned()]).collect();
        let change = prop_oneof![1 => Just(None), 1 => Just(Some(Value::Null)), 4 => some_value().prop_map(Some)];
        let changes = proptest::collection::vec((select(names), change), 1..4);
        (changes, any::<bool>()).prop_map(move |(changes, reverse)| {
            let mut arguments = object(valid.clone());
            for (name, value) in changes {
                match value {
                    Some(Value::Null) if !REQUIRED.contains(&name.as_str()) => None,
                    Some(value) => arguments.insert(name, value),
                    None => arguments.shift_remove(&name),
                };
            }
            let mut pairs: Vec<_> = arguments.into_iter().collect();
            if reverse {
                pairs.reverse();
            }
            (tool, Value::Object(pairs.into_iter().collect()))
        })
    };
    prop_oneof![broken("deploy", deploy), broken("users", create)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn the_same_as_serde_on_any_arguments((tool, arguments) in near_arguments()) {
        let answer = answer(&tools(), "all", Serde, tool, arguments.clone());
        let own = match tool {
            "users" => serde_error_text::<rust_types::Users>(arguments),
            _ => serde_error_text::<rust_types::Deploy>(arguments),
        };
        // serde accepts a matching sequence as a struct; the engine does not.
        prop_assume!(!answer.response.text().contains("invalid type: sequence, expected struct"));
        // In an internally tagged enum, serde accepts an empty map as a unit; the engine does not.
        prop_assume!(!answer.response.text().contains("invalid type: map, expected unit"));
        prop_assert_eq!(answer.response.is_error.then(|| answer.response.text().into_owned()), own);
    }

    #[test]
    fn one_line_and_the_same_twice(value in some_value(), name in any::<String>(), word in any::<String>()) {
        let schema = json!({"properties": {
            name.clone(): {"type": "integer"}, "a": {"anyOf": [{"type": "integer"}, {"pattern": "^x"}]},
        }, "required": [name]});
        let tools = [tool(&word, vec![ok("a", schema)])];
        for arguments in [
            value.clone(), json!({"action": "a"}), json!({"action": word}), json!({"action": value}),
            json!({"action": "a", name.clone(): word}), json!({"action": "a", name: 1, word.clone(): word, "a": value}),
        ] {
            for called in [&word, "other"] {
                let shown = text(&tools, Serde, called, arguments.clone());
                prop_assert!(shown.lines().count() == 1 && !shown.contains(char::is_control), "{}", shown);
                prop_assert_eq!(shown, text(&tools, Serde, called, arguments.clone()));
            }
        }
    }
}

/// A newtype with a check, as an author would write it.
#[derive(Debug)]
struct Adult;

impl<'de> Deserialize<'de> for Adult {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Adult, D::Error> {
        let age = u64::deserialize(from)?;
        let refused = || D::Error::invalid_value(Unexpected::Unsigned(age), &"a number >= 18");
        if age >= 18 { Ok(Adult) } else { Err(refused()) }
    }
}

/// A list without duplicates.
#[derive(Debug)]
struct Distinct;

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Distinct, D::Error> {
        struct Items;
        impl<'de> Visitor<'de> for Items {
            type Value = Distinct;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Distinct, A::Error> {
                let mut seen = BTreeSet::new();
                while let Some(item) = items.next_element::<i64>()? {
                    if !seen.insert(item) {
                        return Err(A::Error::invalid_value(Unexpected::Seq, &"unique elements"));
                    }
                }
                if seen.len() < 2 { Err(A::Error::invalid_length(seen.len(), &">= 2 elements")) } else { Ok(Distinct) }
            }
        }
        from.deserialize_seq(Items)
    }
}

#[test]
fn constraints_are_reported_as_newtype_errors() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Person {
        age: Adult,
        codes: Distinct,
    }
    let schema = json!({
        "properties": {
            "age": {"type": "integer", "minimum": 18},
            "codes": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": true},
        },
        "required": ["age", "codes"],
    });
    for arguments in [
        json!({"age": 15}),
        json!({"age": -15}),
        json!({"age": "15"}),
        json!({"age": 20, "codes": [1, 1]}),
        json!({"age": 20, "codes": [1]}),
        json!({"age": 20, "codes": [1, "1"]}),
        json!({"age": 20, "codes": 1}),
        json!({"age": 20}),
    ] {
        let own = serde_json::from_value::<Person>(arguments.clone()).unwrap_err();
        assert_eq!(error_text(&schema, arguments), own.to_string());
    }
}

#[test]
fn what_has_no_serde_type() {
    let schema = |property: Value| json!({"properties": {"x": property}});
    for (property, sent, expected) in [
        (
            json!({"type": "string", "format": "email"}),
            json!("no"),
            r#"invalid value: string "no", expected a valid email"#,
        ),
        (
            json!({"type": "string", "pattern": "^PRJ"}),
            json!("7"),
            r#"invalid value: string "7", expected a string that matches `^PRJ`"#,
        ),
        (
            json!({"type": "string", "minLength": 3}),
            json!("ab"),
            r#"invalid value: string "ab", expected a string of >= 3 characters"#,
        ),
        (
            json!({"type": "number", "exclusiveMaximum": 1.5}),
            json!(1.5),
            "invalid value: floating point `1.5`, expected a number < 1.5",
        ),
        (json!({"multipleOf": 5}), json!(7), "invalid value: integer `7`, expected a multiple of 5"),
        (json!({"type": "object", "maxProperties": 0}), json!({"a": 1}), "invalid length 1, expected <= 0 entries"),
        (json!({"enum": [1, 2, 3]}), json!("1"), r#"invalid value: string "1", expected one of `1`, `2`, `3`"#),
        (json!({"enum": ["a", null]}), json!("b"), "unknown variant `b`, expected `a`"),
        (json!({"type": ["string", "null"]}), json!(1), "invalid type: integer `1`, expected a string"),
        (json!({"type": "null"}), json!(1), "invalid type: integer `1`, expected unit"),
        (json!({"type": "string"}), json!(null), "invalid type: null, expected a string"),
    ] {
        assert_eq!(error_text(&schema(property), json!({"x": sent})), expected);
    }
    // A keyword without a message of the format uses the validator's message.
    assert!(error_text(&schema(json!({"not": {}})), json!({"x": 1})).contains("not"));
}

#[test]
fn several_types_are_an_untagged_enum() {
    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code)]
    enum LimitOrAll {
        Limit(i64),
        All(String),
    }
    let own = serde_json::from_value::<LimitOrAll>(json!(true)).unwrap_err().to_string();
    for schema in [
        json!({"type": ["integer", "string"]}),
        json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        json!({"oneOf": [{"type": "integer"}, {"type": "string"}]}),
    ] {
        let schema = json!({"properties": {"limit_or_all": schema}});
        assert_eq!(error_text(&schema, json!({"limit_or_all": true})), own);
    }
}

#[test]
fn a_struct_is_named_by_its_title_its_reference_or_its_field() {
    let point = json!({"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]});
    let schema = json!({
        "properties": {
            "a": {"$ref": "#/$defs/Point"},
            "b": {"title": "Position", "type": "object", "properties": {}},
            "ship_to": {"type": "object", "properties": {}},
            "stops": {"type": "array", "items": {"$ref": "#/$defs/Point"}},
        },
        "$defs": {"Point": point},
    });
    assert_eq!(error_text(&schema, json!({"a": 1})), "invalid type: integer `1`, expected struct Point");
    assert_eq!(error_text(&schema, json!({"a": {}})), "missing field `x`");
    assert_eq!(error_text(&schema, json!({"b": 1})), "invalid type: integer `1`, expected struct Position");
    assert_eq!(error_text(&schema, json!({"ship_to": 1})), "invalid type: integer `1`, expected struct ShipTo");
    assert_eq!(
        error_text(&schema, json!({"stops": [{"x": 1}, []]})),
        "invalid length 0, expected struct Point with 1 element"
    );
}

#[test]
fn contract_changes_follow_as_text() {
    let now = json!({"properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let before = tool("t", vec![ok("a", json!({"properties": {}}))]);
    let tools = [Tool { previous: Some(Box::new(before)), ..tool("t", vec![ok("a", now)]) }];
    let shown = text(&tools, Serde, "t", json!({"action": "a"}));
    assert!(shown.starts_with("failed to deserialize parameters: missing field `a`\n\n🔄 CONTRACT CHANGED"), "{shown}");
}
