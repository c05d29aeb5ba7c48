//! The issues of a failed call: their order, and the branches of unions that they are about.

use healbench_core::ErrorFormat::{FusionText, FusionXml};
use healbench_engine::{Failure, IssueKind};
use serde_json::json;

use super::failures::billing;
use super::*;

#[test]
fn a_failed_call_has_every_issue_in_the_order_of_the_schema() {
    let schema = json!({
        "properties": {
            "zeta": {"type": "string", "minLength": 3, "pattern": "^z"},
            "env": {"type": "object", "properties": {"region": {"enum": ["eu"]}}, "required": ["region"]},
            "alpha": {"type": "integer", "multipleOf": 5},
        },
        "required": ["zeta", "alpha"],
    });
    let arguments = json!({"action": "a", "extra": 1, "alpha": 7, "env": {}, "zeta": "a"});
    let answer = answer(&[tool("t", vec![ok("a", schema)])], "all", FusionXml, "t", arguments);
    let Some(Failure::Validation { issues, .. }) = &answer.failure else { panic!("{answer:?}") };
    let paths: Vec<&str> = issues.iter().map(|issue| issue.path.as_str()).collect();
    assert_eq!(paths, ["zeta", "zeta", "env.region", "alpha", ""]);
    assert!(matches!(issues[2].kind, IssueKind::Missing { .. }));
    assert_eq!(answer.failure.unwrap().fields(), ["alpha", "env", "extra", "zeta"]);
}

/// Returns the paths of the issues in their order; `+` marks undeclared fields, `!` issues of a value as a whole.
fn order(schema: &Value, arguments: &Value) -> Vec<String> {
    let mark = |kind: &IssueKind| match kind {
        IssueKind::Undeclared { .. } => "+",
        IssueKind::OutOfBounds { .. } => "!",
        _ => "",
    };
    let issues = healbench_engine::validate(schema, arguments).unwrap();
    issues.iter().map(|issue| format!("{}{}", issue.path, mark(&issue.kind))).collect()
}

#[test]
fn inside_a_value_comes_first_then_the_value_then_undeclared_fields() {
    // The validator reports the parts of an `allOf` in sequence: here, undeclared fields before the value.
    for apart in [false, true] {
        let closed = |properties: Value| {
            if !apart {
                return json!({"properties": properties, "maxProperties": 1, "additionalProperties": false});
            }
            let names: Value = properties.as_object().unwrap().keys().map(|name| (name.clone(), json!(true))).collect();
            let parts = json!([{"properties": names, "additionalProperties": false}, {"maxProperties": 1}]);
            json!({"properties": properties, "allOf": parts})
        };
        let integer = || json!({"type": "integer"});
        let flat = closed(json!({"a": integer(), "b": integer()}));
        let arguments = json!({"z": 1, "b": "x", "a": "x"});
        assert_eq!(order(&flat, &arguments), ["a", "b", "!", "+"], "{flat}");

        let inner = closed(json!({"q": integer()}));
        let outer = closed(json!({"first": integer(), "inner": inner, "last": integer()}));
        let schema = closed(json!({"before": integer(), "outer": outer, "after": integer()}));
        let arguments = json!({
            "z": 1, "after": "x", "before": "x",
            "outer": {"z": 1, "last": "x", "first": "x", "inner": {"z": 1, "q": "x"}},
        });
        let expected = [
            "before",
            "outer.first",
            "outer.inner.q",
            "outer.inner!",
            "outer.inner+",
            "outer.last",
            "outer!",
            "outer+",
            "after",
            "!",
            "+",
        ];
        assert_eq!(order(&schema, &arguments), expected, "{schema}");
    }
}

#[test]
fn a_wrong_type_hides_other_issues_of_the_value() {
    let schema = json!({"properties": {"role": {"type": "string", "enum": ["admin", "user"]}}, "required": ["role"]});
    let shown = text(
        &[tool("users", vec![ok("create", schema)])],
        FusionXml,
        "users",
        json!({"action": "create", "role": null}),
    );
    assert!(
        shown.contains(
            "<field name=\"role\">Expected 'admin' | 'user', received null. You sent: null. Expected type: 'admin' | 'user'.</field>"
        ),
        "{shown}"
    );
    assert_eq!(shown.matches("<field").count(), 1);
}

#[test]
fn a_fraction_is_reported_as_expected_integer() {
    let schema = json!({"properties": {"count": {"type": "integer"}}});
    let says = |sent: Value| {
        text(&[tool("t", vec![ok("a", schema.clone())])], FusionText, "t", json!({"action": "a", "count": sent}))
    };
    assert!(says(json!(5.5)).contains("Expected integer, received float. You sent: 5.5. Expected type: integer."));
    assert!(says(json!("five")).contains("Expected number, received string. You sent: 'five'. Expected type: number."));
}

#[test]
fn arguments_that_are_no_object_and_tools_that_do_not_exist() {
    let answer_to = |tool, arguments| answer(&billing(), "all", FusionXml, tool, arguments);
    assert_eq!(answer_to("billing", json!("oops")).failure.unwrap().class().name(), "VALIDATION");
    assert_eq!(answer_to("biling", json!({})).failure.unwrap().class().name(), "UNKNOWN_TOOL");
    for nothing in [json!(null), json!(false), json!(0), json!("")] {
        let failure = answer_to("billing", json!({ "action": nothing })).failure.unwrap();
        assert_eq!(failure.class().name(), "MISSING_DISCRIMINATOR", "{nothing}");
    }
    let number = answer_to("billing", json!({"action": 7}));
    assert!(number.response.text().contains("The action \"7\" does not exist."), "{}", number.response.text());
}

/// Returns the issues of a call with `value` under `f`, in the format `fusion-text`.
fn issue_texts(schema: Value, value: Value) -> Vec<String> {
    let schema = json!({
        "$defs": {"Role": {"type": "string", "enum": ["admin", "user"]}},
        "properties": {"f": schema},
        "required": ["f"],
    });
    issue_texts_of(schema, json!({"f": value}))
}

fn issue_texts_of(schema: Value, mut arguments: Value) -> Vec<String> {
    arguments["action"] = json!("a");
    let shown = text(&[tool("t", vec![ok("a", schema)])], FusionText, "t", arguments);
    let lines = shown.lines().filter_map(|line| line.strip_prefix("  • "));
    lines.map(|line| line.split(". You sent").next().unwrap().to_owned()).collect()
}

#[test]
fn an_unmatched_union_is_reported_by_its_intended_branch() {
    let card =
        json!({"properties": {"t": {"const": "card"}, "number": {"type": "string"}}, "required": ["t", "number"]});
    let other =
        json!({"properties": {"t": {"enum": ["iban", "bic"]}, "code": {"type": "string"}}, "required": ["t", "code"]});
    let tagged = || json!({"oneOf": [card, other]});
    let string_or = |other: Value| json!({"anyOf": [{"type": "string"}, other]});
    let number = json!({"type": "object", "properties": {"b": {"type": "number"}}, "required": ["b"]});
    let cases = [
        // A tag selects the branch, and is the issue if it is missing or unknown.
        (tagged(), json!({"t": "card", "number": 1}), "f.number — Expected string, received number"),
        (tagged(), json!({"t": "bic"}), "f.code — Required"),
        (tagged(), json!({"t": "cash"}), "f.t — Invalid enum value. Expected 'card' | 'iban' | 'bic', received 'cash'"),
        (tagged(), json!({}), "f.t — Required"),
        // The only branch besides null is selected.
        (json!({"anyOf": [number, {"type": "null"}]}), json!({"b": "x"}), "f.b — Expected number, received string"),
        (string_or(json!({"type": "null"})), json!(1), "f — Expected string | null, received number"),
        (
            json!({"anyOf": [{"$ref": "#/$defs/Role"}, {"type": "null"}]}),
            json!("root"),
            "f — Invalid enum value. Expected 'admin' | 'user', received 'root'",
        ),
        // Otherwise, a branch that is only violated by a bound is selected.
        (
            json!({"anyOf": [{"type": "string", "minLength": 3}, {"type": "number"}]}),
            json!("ab"),
            "f — String must contain at least 3 character(s)",
        ),
        (string_or(number.clone()), json!({"b": "x"}), "f — Invalid input: it fits none of string | { b: number }"),
        (string_or(json!({"type": "number"})), json!(true), "f — Expected string | number, received boolean"),
        (
            json!({"anyOf": [{"$ref": "#/$defs/Role"}, {"const": "guest"}]}),
            json!("root"),
            "f — Invalid input: it fits none of \"admin\" | \"user\" | \"guest\"",
        ),
        // Options are found through `allOf` and `$ref`.
        (json!({"allOf": [{"$ref": "#/$defs/Role"}]}), json!(1), "f — Expected 'admin' | 'user', received number"),
    ];
    for (schema, value, expected) in cases {
        assert_eq!(issue_texts(schema.clone(), value.clone()), [expected], "{schema} {value}");
    }
}

#[test]
fn a_tag_with_a_default_or_a_discriminator_selects_the_branch() {
    let branch = |kind: &str, field: &str| {
        json!({
            "type": "object",
            "properties": {"kind": {"const": kind, "default": kind}, field: {"type": "integer"}},
            "required": [field],
        })
    };
    let pets = json!({"oneOf": [branch("cat", "meows"), branch("dog", "barks")]});
    // As pydantic writes a discriminated union.
    let mut named = pets.clone();
    named["discriminator"] = json!({"propertyName": "kind", "mapping": {"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"}});
    // Both branches are the same besides the tag, which neither restricts, as in OpenAPI.
    let open = json!({
        "oneOf": [{"$ref": "#/$defs/Role"}, {"$ref": "#/$defs/Group"}],
        "discriminator": {"propertyName": "type", "mapping": {"role": "#/$defs/Role"}},
    });
    let texts = |schema: &Value, value: Value| {
        let member = json!({"type": "object", "properties": {"type": {"type": "string"}, "id": {"type": "integer"}}});
        let schema = json!({
            "$defs": {"Role": member, "Group": {"allOf": [member], "required": ["size"]}},
            "properties": {"f": schema},
        });
        issue_texts_of(schema, json!({"f": value}))
    };
    let cases = [
        (&pets, json!({"kind": "dog", "barks": "x"}), "f.barks — Expected number, received string"),
        (&pets, json!({"kind": "cow"}), "f.kind — Invalid enum value. Expected 'cat' | 'dog', received 'cow'"),
        (&named, json!({"kind": "cat"}), "f.meows — Required"),
        (&named, json!({}), "f.kind — Required"),
        (&named, json!({"meows": 1, "barks": 1}), "f.kind — Required"),
        (&open, json!({"id": "x", "size": 1, "type": "Group"}), "f.id — Expected number, received string"),
        (&open, json!({"id": 1, "size": 1}), "f.type — Required"),
        (
            &open,
            json!({"type": "no", "size": 1}),
            "f.type — Invalid enum value. Expected 'role' | 'Group', received 'no'",
        ),
        (&open, json!({"id": "x", "type": "role"}), "f.id — Expected number, received string"),
    ];
    for (schema, value, expected) in cases {
        assert_eq!(texts(schema, value.clone()), [expected], "{schema} {value}");
    }
    // Without a tag and a discriminator, either branch may be meant.
    assert!(texts(&pets, json!({"size": 1}))[0].starts_with("f — Invalid input: it fits none of"));
}

#[test]
fn a_list_without_the_items_that_it_must_contain_says_which() {
    let list = |limits: Value| {
        let mut schema = json!({"type": "array", "contains": {"type": "integer"}});
        schema.as_object_mut().unwrap().extend(object(limits));
        schema
    };
    let cases = [
        (json!({}), json!(["x"]), "at least 1 of its items must be integer"),
        (json!({"minContains": 2}), json!([1, "x"]), "at least 2 of its items must be integer"),
        (json!({"minContains": 2, "maxContains": 3}), json!([1]), "at least 2 of its items must be integer"),
        (json!({"minContains": 2, "maxContains": 3}), json!([1, 2, 3, 4]), "at most 3 of its items must be integer"),
        (json!({"maxContains": 1}), json!([1, 2]), "at least 1 and at most 1 of its items must be integer"),
    ];
    for (limits, value, expected) in cases {
        let texts = issue_texts(list(limits.clone()), value);
        assert_eq!(texts, [format!("f — Invalid input: {expected}")], "{limits}");
    }
}

#[test]
fn a_field_with_an_empty_name_is_not_the_arguments() {
    let schema = json!({
        "properties": {"": {"type": "integer"}, "in": {"properties": {"": {"type": "integer"}}, "additionalProperties": false}},
        "required": [""],
    });
    let texts = |arguments| issue_texts_of(schema.clone(), arguments);
    assert_eq!(texts(json!({})), ["\"\" — Required"]);
    assert_eq!(texts(json!({"": "x"})), ["\"\" — Expected number, received string"]);
    assert_eq!(texts(json!({"": 1, "in": {"": "x"}})), ["in.\"\" — Expected number, received string"]);
    let tools = [tool("t", vec![ok("a", schema)])];
    let failed = |arguments| answer(&tools, "all", FusionXml, "t", arguments).failure.unwrap();
    assert_eq!(failed(json!({"action": "a", "": "x"})).fields(), [""]);
    let open = [tool("t", vec![ok("a", json!({"properties": {"b": {}}}))])];
    let undeclared = text(&open, FusionText, "t", json!({"action": "a", "": 1}));
    assert!(undeclared.contains("• \"\" — Unrecognized keys."), "{undeclared}");
}

#[test]
fn what_a_failed_branch_declares_is_not_undeclared() {
    let card = json!({"properties": {"kind": {"const": "card"}, "number": {"type": "string"}}, "required": ["kind", "number"]});
    let iban =
        json!({"properties": {"kind": {"const": "iban"}, "code": {"type": "string"}}, "required": ["kind", "code"]});
    let tools = [tool("t", vec![ok("pay", json!({"oneOf": [card, iban]}))])];
    let fields = |arguments| answer(&tools, "all", FusionXml, "t", arguments).failure.unwrap().fields();
    assert_eq!(fields(json!({"action": "pay", "kind": "card", "number": 4111})), ["number"]);
    assert_eq!(fields(json!({"action": "pay", "kind": "card", "number": 4111, "x": 1})), ["number", "x"]);
    assert_eq!(fields(json!({"action": "pay", "kind": "card", "number": "4111", "x": 1})), ["x"]);
}

#[test]
fn a_closed_object_without_properties_names_what_is_undeclared() {
    let closed = json!({"properties": {"env": {"type": "object", "additionalProperties": false}}});
    let flat = Tool { discriminator: None, ..tool("ping", vec![ok("ping", json!({"type": "object"}))]) };
    let tools = [tool("t", vec![ok("a", closed)]), flat];
    let shown = text(&tools, FusionXml, "t", json!({"action": "a", "env": {"x": 1, "y": 2}}));
    assert!(shown.contains("<field name=\"env\">Unrecognized key(s) in object: 'x', 'y'."), "{shown}");
    let shown = text(&tools, FusionXml, "ping", json!({"x": 1}));
    assert!(shown.contains("<field name=\"(root)\">Unrecognized key(s) in object: 'x'."), "{shown}");
    assert_eq!(answer(&tools, "none", FusionXml, "ping", json!({"x": 1, "y": 1})).leaked_fields, Some(2));
}

#[test]
fn an_integral_limit_has_no_fraction() {
    let schema = json!({"properties": {"n": {"type": "number", "minimum": 5.0}, "m": {"multipleOf": 0.1}}});
    let shown = text(&[tool("t", vec![ok("a", schema)])], FusionXml, "t", json!({"action": "a", "n": 4, "m": 0.25}));
    assert!(shown.contains("greater than or equal to 5. You sent: 4. Must be >= 5."), "{shown}");
    assert!(shown.contains("Must be a multiple of 0.1."), "{shown}");
}
