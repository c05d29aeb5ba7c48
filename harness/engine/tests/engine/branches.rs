//! Errors about a value in a union: they speak of the branch that it was held against.

use healbench_core::ErrorFormat::{FusionXml, LlmFriendlyJson, Pydantic, ZodJson};

use super::*;

/// Two shapes whose `size` differs in all that can be said about it.
fn shapes() -> Value {
    json!({"oneOf": [
        {"type": "object", "required": ["shape", "size"], "properties": {
            "shape": {"const": "box"}, "size": {"enum": ["s", "m", "l"]},
        }},
        {"type": "object", "required": ["shape", "size"], "properties": {
            "shape": {"const": "disc"}, "size": {"type": "integer", "minimum": 4, "maximum": 9},
        }},
    ]})
}

fn schema_of(union: &Value, wrap: &str) -> (Value, fn(Value) -> Value) {
    match wrap {
        "property" => (json!({"properties": {"x": union}}), |value| json!({ "x": value })),
        "list" => (
            json!({"properties": {"x": {"items": union}}}),
            |value| json!({"x": [{"shape": "box", "size": "s"}, value]}),
        ),
        "reference" => {
            let schema = json!({"properties": {"x": {"$ref": "#/$defs/inner"}}, "$defs": {
                "inner": {"type": "object", "properties": {"y": {"$ref": "#/$defs/shape"}}}, "shape": union,
            }});
            (schema, |value| json!({"x": {"y": value}}))
        }
        "root" => (union.clone(), |value| value),
        "allOf" => (json!({"properties": {"x": {"allOf": [union]}}}), |value| json!({ "x": value })),
        other => panic!("{other}"),
    }
}

fn said(format: ErrorFormat, schema: &Value, arguments: Value) -> String {
    let tools = [Tool { name: "t".to_owned(), actions: vec![ok("t", schema.clone())], ..Tool::default() }];
    text(&tools, format, "t", arguments)
}

fn fixes(schema: &Value, arguments: Value) -> Vec<String> {
    let shown: Value = serde_json::from_str(&said(LlmFriendlyJson, schema, arguments)).unwrap();
    let issues = shown["error"]["issues"].as_array().unwrap();
    issues.iter().map(|issue| issue["fix"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_sent_tag_selects_the_branch() {
    let mut unions = vec![shapes()];
    let mut any_of = shapes();
    any_of["anyOf"] = any_of["oneOf"].take();
    any_of.as_object_mut().unwrap().shift_remove("oneOf");
    unions.push(any_of);
    for union in &unions {
        for wrap in ["property", "list", "reference", "root", "allOf"] {
            let (schema, arguments) = schema_of(union, wrap);
            let of =
                |value: Value| (said(FusionXml, &schema, arguments(value.clone())), fixes(&schema, arguments(value)));
            let (shown, fixes) = of(json!({"shape": "disc", "size": "m"}));
            assert!(shown.contains("Expected number, received string") && !shown.contains("'s'"), "{wrap}: {shown}");
            assert_eq!(fixes, ["Provide a integer >= 4 and <= 9."], "{wrap}");
            let (shown, fixes) = of(json!({"shape": "disc"}));
            assert!(shown.contains("Expected type: number.") && !shown.contains("'s'"), "{wrap}: {shown}");
            assert_eq!(fixes, ["Provide a integer >= 4 and <= 9."], "{wrap}");
            let (shown, fixes) = of(json!({"shape": "disc", "size": 3}));
            assert!(shown.contains("greater than or equal to 4"), "{wrap}: {shown}");
            assert_eq!(fixes, ["Provide a integer >= 4 and <= 9."], "{wrap}");
            let (shown, fixes) = of(json!({"shape": "box", "size": 5}));
            assert!(shown.contains("'s' | 'm' | 'l'"), "{wrap}: {shown}");
            assert_eq!(fixes, [r#"Use one of these values: "s", "m", "l""#], "{wrap}");
            let (_, fixes) = of(json!({"size": 5}));
            assert_eq!(fixes[0], r#"Use one of these values: "box", "disc""#, "{wrap}");
        }
    }
}

#[test]
fn a_discriminator_selects_the_branch() {
    let schema = json!({
        "properties": {"pet": {
            "discriminator": {"propertyName": "kind", "mapping": {"c": "#/$defs/Cat", "d": "#/$defs/Dog"}},
            "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
        }},
        "$defs": {
            "Cat": {"type": "object", "properties": {"kind": {"const": "c"}, "lives": {"type": "string", "maxLength": 2}}, "required": ["kind", "lives"]},
            "Dog": {"type": "object", "properties": {"kind": {"const": "d"}, "lives": {"type": "boolean"}}, "required": ["kind", "lives"]},
        },
    });
    assert_eq!(fixes(&schema, json!({"pet": {"kind": "d", "lives": "yes"}})), ["Provide a boolean (true or false)."]);
    assert_eq!(fixes(&schema, json!({"pet": {"kind": "c"}})), ["Provide a string with at most 2 characters."]);
}

#[test]
fn conditions_and_patterns_select_schemas() {
    let schema = json!({
        "properties": {"mode": {"enum": ["fast", "safe"]}, "m": {"type": "object", "patternProperties": {
            "^is_": {"type": "boolean"}, "^at_": {"type": "string", "format": "date"},
        }}},
        "if": {"properties": {"mode": {"const": "safe"}}, "required": ["mode"]},
        "then": {"properties": {"checks": {"type": "array", "items": {"type": "string"}, "minItems": 1}}, "required": ["checks"]},
        "dependentSchemas": {"m": {"properties": {"n": {"type": "integer", "maximum": 3}}, "required": ["n"]}},
    });
    assert_eq!(fixes(&schema, json!({"mode": "safe"})), ["Provide an array of string with at least 1 item."]);
    assert_eq!(fixes(&schema, json!({"m": {"is_on": 1}, "n": 1})), ["Provide a boolean (true or false)."]);
    assert_eq!(fixes(&schema, json!({"m": {"at_end": "x"}, "n": 1})), ["Provide a string in date format."]);
    assert_eq!(fixes(&schema, json!({"m": {}})), ["Provide a integer <= 3."]);
}

#[test]
fn alternatives_without_a_tag_are_all_named() {
    let groups = json!({
        "properties": {"name": {}, "street": {}, "city": {}},
        "oneOf": [{"required": ["name"]}, {"required": ["street", "city"]}],
    });
    let both = "Send only one of these groups of fields: name; street and city.";
    assert_eq!(fixes(&groups, json!({})), [both]);
    assert_eq!(fixes(&groups, json!({"name": 1, "street": 1, "city": 1})), [both]);
    let any = json!({"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert_eq!(fixes(&any, json!({})), ["Send at least one of these fields: a, b."]);
    let union = json!({"properties": {"x": {"anyOf": [
        {"type": "object", "properties": {"low": {"type": "integer"}}, "required": ["low"]},
        {"type": "object", "properties": {"high": {"type": "string"}}, "required": ["high"]},
    ]}}});
    assert_eq!(
        fixes(&union, json!({"x": {}})),
        ["Provide an object with required fields: low or an object with required fields: high."]
    );
    // Libraries list what is wrong under each of them.
    let zod = said(ZodJson, &union, json!({"x": {"low": "a"}}));
    assert!(
        zod.contains("expected number, received string") && zod.contains("expected string, received undefined"),
        "{zod}"
    );
    let pydantic = said(
        Pydantic,
        &json!({
            "properties": {"x": {"anyOf": [{"$ref": "#/$defs/Low"}, {"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}},
            "$defs": {"Low": {"type": "object", "properties": {"low": {"type": "integer"}}, "required": ["low"]}},
        }),
        json!({"x": {}}),
    );
    assert!(pydantic.contains("\nx.Low.low\n  Field required") && pydantic.contains("\nx.list[int]\n"), "{pydantic}");
}

#[test]
fn issues_behind_references_have_the_order_of_the_schema() {
    let schema = json!({
        "properties": {"order": {"$ref": "#/$defs/Order"}, "note": {"type": "string"}},
        "$defs": {
            "Order": {"properties": {
                "buyer": {"$ref": "#/$defs/Buyer"}, "count": {"type": "integer"}, "paid": {"type": "boolean"},
            }},
            "Buyer": {"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}},
        },
    });
    let sent = json!({"note": 1, "order": {"paid": 1, "count": "a", "buyer": {"age": "a", "name": 1}}});
    let shown = said(FusionXml, &schema, sent);
    let fields: Vec<&str> = shown.split("name=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(fields, ["order.buyer.name", "order.buyer.age", "order.count", "order.paid", "note"]);
}

#[test]
fn a_format_and_its_pattern_are_one_issue() {
    let own = json!({"properties": {"x": {"type": "string", "format": "email", "pattern": "@corp\\.example$"}}});
    let of_zod = json!({"properties": {"x": {
        "type": "string", "format": "date", "pattern": "^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26])-02-29|\\d{4}-\\d\\d-\\d\\d)$",
    }}});
    assert_eq!(fixes(&own, json!({"x": "nobody"})).len(), 1);
    // An author's own pattern says more than the format.
    assert!(said(FusionXml, &own, json!({"x": "a@b.example"})).contains("@corp"), "the pattern alone is violated");
    let shown = said(FusionXml, &of_zod, json!({"x": "2024-01-1"}));
    assert!(shown.contains("Invalid date") && shown.matches("<field").count() == 1, "{shown}");
}

/// A recursive union of a leaf and a node whose `value` differs.
fn tree() -> Value {
    json!({
        "properties": {"e": {"$ref": "#/$defs/E"}},
        "$defs": {
            "E": {"oneOf": [{"$ref": "#/$defs/Leaf"}, {"$ref": "#/$defs/Node"}]},
            "Leaf": {"type": "object", "required": ["kind", "value"], "properties": {
                "kind": {"const": "leaf"}, "value": {"type": "integer", "minimum": 5},
            }},
            "Node": {"type": "object", "required": ["kind"], "properties": {
                "kind": {"const": "node"}, "value": {"enum": ["x", "y"]}, "left": {"$ref": "#/$defs/E"},
            }},
        },
    })
}

#[test]
fn a_branch_counts_at_its_own_depth() {
    let leaf = |value: Value| json!({"e": {"kind": "node", "left": {"kind": "leaf", "value": value}}});
    assert_eq!(fixes(&tree(), leaf(json!(3))), ["Provide a integer >= 5."]);
    assert_eq!(fixes(&tree(), json!({"e": {"kind": "node", "value": 3}})), [r#"Use one of these values: "x", "y""#]);
}

#[test]
fn a_union_hides_no_other_issue() {
    let schema = json!({"properties": {
        "x": {"anyOf": [{"type": "array", "items": {"type": "string"}, "minItems": 2}, {"type": "string"}]},
        "y": {"type": "integer"},
    }});
    let shown = said(FusionXml, &schema, json!({"x": vec![true; 500], "y": "q"}));
    assert!(shown.contains("name=\"y\"") && !shown.contains("checking stopped"), "{shown}");
}

#[test]
fn a_property_has_the_schemas_of_all_patterns_that_match() {
    let schema = json!({"properties": {"p": {"patternProperties": {
        "^a": {"type": "integer", "minimum": 3}, "b$": {"multipleOf": 5},
    }}}});
    assert_eq!(fixes(&schema, json!({"p": {"ab": 4}})), ["Provide a integer >= 3 and multiple of 5."]);
}
