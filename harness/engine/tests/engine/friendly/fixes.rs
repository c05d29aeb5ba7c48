use healbench_core::ErrorFormat::{LlmFriendly, LlmFriendlyJson};

use super::*;

/// Returns every issue of a call as its field and `problem; expected; fix`.
fn issues(input: Value, arguments: Value) -> Vec<(String, String)> {
    let shown = text(&single("t", "", input), LlmFriendlyJson, "t", arguments);
    let error = serde_json::from_str::<Value>(&shown).unwrap()["error"].take();
    let said = |issue: &Value, name: &str| issue[name].as_str().unwrap().to_owned();
    let line = |issue: &Value| {
        let words = ["problem", "expected", "fix"].map(|name| said(issue, name));
        (said(issue, "field"), words.join("; "))
    };
    error["issues"].as_array().unwrap().iter().map(line).collect()
}

/// Returns the only issue of `value` under `schema`.
fn issue(schema: Value, value: Value) -> String {
    let found = issues(json!({"properties": {"x": schema}}), json!({"x": value}));
    let [(field, words)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(field, "x");
    words.clone()
}

#[test]
fn each_row_of_the_fix_table_of_document_002() {
    let table = [
        (json!({"type": "string", "minLength": 3}), json!("a"), "Provide a string with at least 3 characters"),
        (json!({"type": "integer", "minimum": 18, "maximum": 120}), json!(5), "Provide a integer >= 18 and <= 120"),
        (json!({"type": "string", "format": "email"}), json!("a"), "Provide a string in email format"),
        // The document's table has single quotes, its samples have double quotes.
        (json!({"enum": ["a", "b", "c"]}), json!("d"), r#"Use one of these values: "a", "b", "c""#),
        (json!({"type": "integer", "multipleOf": 5}), json!(7), "Provide a integer multiple of 5"),
        (
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            json!(["a", "a"]),
            "Provide an array of string with all items must be unique",
        ),
    ];
    for (schema, value, fix) in table {
        let words = issue(schema, value);
        let said = words.rsplit_once("; ").unwrap().1;
        assert_eq!(said.trim_end_matches('.'), fix);
    }
}

#[test]
fn every_issue_kind_follows_document_002() {
    let table = [
        (
            json!({"type": "string", "maxLength": 1}),
            json!("ab"),
            "String must be at most 1 character; string; Provide a string with at most 1 character.",
        ),
        (
            json!({"type": "string", "pattern": "^a+$"}),
            json!("b"),
            "String does not match the required pattern; valid value; Provide a string matching pattern ^a+$.",
        ),
        (
            json!({"type": "string", "minLength": 2, "format": "uri"}),
            json!("ab"),
            "Invalid uri format; valid value; Provide a string with at least 2 characters and in uri format.",
        ),
        (
            json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
            json!(0),
            "Number must be greater than 0; exclusive minimum 0; Provide a number > 0 and < 1.",
        ),
        (
            json!({"type": "number", "maximum": 1.5, "multipleOf": 0.5}),
            json!(2),
            "Number must be at most 1.5; maximum 1.5; Provide a number <= 1.5 and multiple of 0.5.",
        ),
        (
            json!({"type": "integer", "multipleOf": 5}),
            json!(7),
            "Number must be a multiple of 5; multiple of 5; Provide a integer multiple of 5.",
        ),
        (json!({"type": "integer"}), json!(1.5), "Expected integer, received float; integer; Provide a integer."),
        (
            json!({"type": "boolean"}),
            json!("true"),
            "Expected boolean, received string; boolean; Provide a boolean (true or false).",
        ),
        (json!({"const": "v2"}), json!("v1"), "Invalid literal value; 'v2'; Use this value: \"v2\""),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!(null),
            "Expected 'a' | 'b', received null; 'a' | 'b'; Use one of these values: \"a\", \"b\"",
        ),
        (
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}),
            json!([]),
            "Array must have at least 1 item; array; Provide an array of integer with at least 1 item and at most 2 items.",
        ),
        (
            json!({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
            json!("a"),
            "Expected array, received string; array; Provide an array of array of number.",
        ),
        (
            json!({"type": "array", "items": {"type": "object", "properties": {"a": {}}}}),
            json!("a"),
            "Expected array, received string; array; Provide an array of object.",
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]}),
            json!({}),
            "Expected array, received object; array; Provide an array of [string, number].",
        ),
        (
            json!({"type": "object", "minProperties": 2}),
            json!({}),
            "Object must have at least 2 properties; object; Provide an object with at least 2 properties.",
        ),
        (
            json!({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}),
            json!(1),
            "Expected object, received number; object; Provide an object with required fields: b.",
        ),
        (
            json!({"type": ["string", "null"], "minLength": 2}),
            json!("a"),
            "String must be at least 2 characters; string; Provide a string with at least 2 characters or null.",
        ),
        (
            json!({"anyOf": [{"type": "string", "maxLength": 2}, {"type": "null"}]}),
            json!("abc"),
            "String must be at most 2 characters; string; Provide a string with at most 2 characters or null.",
        ),
        (
            json!({"anyOf": [{"type": "string", "maxLength": 2}, {"type": "null"}]}),
            json!(7),
            "Expected string | null, received number; string | null; Provide a string with at most 2 characters or null.",
        ),
        (
            json!({"not": {"type": "string"}}),
            json!("abc"),
            "Invalid input: it must not be string; valid value; Provide another value: it must not be string.",
        ),
    ];
    for (schema, value, words) in table {
        assert_eq!(issue(schema, value), words);
    }
}

#[test]
fn undeclared_fields_are_named_one_by_one() {
    let input = json!({"properties": {"a": {}, "env": {"properties": {"b": {}}, "additionalProperties": false}}});
    let arguments = json!({"env": {"c": 1}, "x": "v", "y": 2});
    let words = |names: &str| {
        let fix = format!("Remove this field or correct its name. Allowed fields: {names}.");
        format!("Unrecognized field; no such field; {fix}")
    };
    let expected = [("env.c", words("b")), ("x", words("a, env")), ("y", words("a, env"))];
    let tools = single("t", "", input.clone());
    assert_eq!(issues(input, arguments.clone()), expected.map(|(field, words)| (field.to_owned(), words)));
    let shown = text(&tools, LlmFriendly, "t", arguments);
    assert!(shown.contains("3 validation error(s) found."), "{shown}");
    assert!(shown.contains("2. **x**: Unrecognized field\n   - Received: \"v\"\n"), "{shown}");
}

#[test]
fn the_schema_at_a_nested_place_is_found() {
    let input = json!({
        "properties": {
            "env": {"$ref": "#/$defs/env"},
            "lines": {"type": "array", "items": {"allOf": [
                {"properties": {"qty": {"type": "integer", "minimum": 1, "maximum": 9}}},
            ]}},
            "pair": {"prefixItems": [{}, {"type": "string", "minLength": 2, "maxLength": 4}]},
            "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 3, "minLength": 1}},
            "maybe": {"anyOf": [
                {"type": "null"},
                {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5, "minimum": 1}}},
            ]},
            "dotted.name": {"type": "object", "properties": {"a.b": {"type": "integer", "minimum": 1, "maximum": 2}}},
        },
        "$defs": {"env": {"type": "object", "properties": {
            "region": {"type": "string", "minLength": 2, "format": "hostname"},
        }}},
    });
    let arguments = json!({
        "env": {"region": "a"}, "lines": [{"qty": 0}], "pair": [1, "a"], "labels": {"any": "long"},
        "dotted.name": {"a.b": 3},
    });
    let fixes: Vec<(String, String)> = issues(input.clone(), arguments)
        .into_iter()
        .map(|(field, words)| (field, words.rsplit_once("; ").unwrap().1.to_owned()))
        .collect();
    let expected = [
        ("env.region", "Provide a string with at least 2 characters and in hostname format."),
        ("lines.0.qty", "Provide a integer >= 1 and <= 9."),
        ("pair.1", "Provide a string with at least 2 characters and at most 4 characters."),
        ("labels.any", "Provide a string with at least 1 character and at most 3 characters."),
        ("dotted.name.a.b", "Provide a integer >= 1 and <= 2."),
    ];
    let mut expected: Vec<_> = expected.map(|(field, fix)| (field.to_owned(), fix.to_owned())).into();
    let mut fixes = fixes;
    fixes.sort();
    expected.sort();
    assert_eq!(fixes, expected);
    let maybe = &issues(input, json!({"maybe": {"n": 9}}))[0];
    assert_eq!(maybe.0, "maybe.n");
    assert!(maybe.1.ends_with("Provide a integer >= 1 and <= 5."), "{maybe:?}");
}

#[test]
fn what_a_condition_asks_for_is_in_the_fix() {
    let input = json!({
        "properties": {"kind": {"type": "string"}, "n": {"type": "integer", "minimum": 1}},
        "if": {"properties": {"kind": {"const": "big"}}},
        "then": {"properties": {"n": {"minimum": 10}}},
    });
    let found = issues(input, json!({"kind": "big", "n": 5}));
    assert_eq!(found[0].1, "Number must be at least 10; minimum 10; Provide a integer >= 10.");
}
