//! Reports of changed input schemas, which name each field that changed.

use healbench_core::Undeclared;
use healbench_engine::contract::{Lockfile, report_text};

use super::*;

fn locked(input: &Value) -> Lockfile {
    let tool = Tool { discriminator: None, ..tool("search", vec![ok("search", input.clone())]) };
    Lockfile::from_tools([("tools", &[tool][..])])
}

/// Returns the report of a changed input schema without its first line and its totals.
fn report(previous: &Value, current: &Value, undeclared: Undeclared) -> String {
    let text = report_text(&locked(previous).diff_under(&locked(current), undeclared));
    let lines: Vec<&str> = text.lines().skip(1).take_while(|line| !line.is_empty()).collect();
    lines.join("\n")
}

fn fields(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

fn rejecting(previous: &Value, current: &Value) -> String {
    report(previous, current, Undeclared::Reject)
}

#[test]
fn renamed_fields_name_what_they_may_be_now() {
    let text = json!({"type": "string"});
    let previous = fields(
        json!({"entityFqn": text, "entity_type": text, "pageSize": {"type": "integer"}, "via": text}),
        &["entityFqn", "entity_type"],
    );
    let current = fields(
        json!({"fqn": text, "entityType": text, "page_size": {"type": "integer"}, "sizes": {"type": "array"}}),
        &["fqn", "entityType"],
    );
    insta::assert_snapshot!(rejecting(&previous, &current), @r#"
    BREAKING  actions.search.inputSchema
              BREAKING  entityFqn: removed: string; it may now be `fqn`
              BREAKING  entityType: added, required: string
              BREAKING  entity_type: removed: string; it may now be `entityType`
              BREAKING  fqn: added, required: string
              BREAKING  pageSize: removed: integer; it may now be `page_size`
              BREAKING  via: removed: string
              SAFE      page_size: added, optional: integer
              SAFE      sizes: added, optional: any[]
    "#);
    // A field of another type is another field, and a removed one is ignored where undeclared fields are.
    let other = fields(json!({"page_size": {"type": "string"}}), &[]);
    insta::assert_snapshot!(report(&fields(json!({"pageSize": {"type": "integer"}}), &[]), &other, Undeclared::Pass), @r#"
    RISKY     actions.search.inputSchema
              RISKY     pageSize: removed: integer
              SAFE      page_size: added, optional: string
    "#);
}

#[test]
fn each_keyword_of_a_field_is_a_change() {
    let previous = fields(
        json!({
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
            "status": {"type": "string", "enum": ["open", "closed", "draft"]},
            "name": {"type": "string", "maxLength": 80},
            "count": {"type": "integer"},
            "words": {"type": "string", "description": "Words."},
            "odd name": {"type": "string", "not": {"const": "a"}},
        }),
        &["status", "count"],
    );
    let current = fields(
        json!({
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 20},
            "status": {"type": "string", "enum": ["open", "paid"]},
            "name": {"type": ["string", "null"], "maxLength": 120, "pattern": "^[a-z]"},
            "count": {"type": "string"},
            "words": {"type": "string", "description": "Some words."},
            "odd name": {"type": "string", "not": {"const": "b"}},
        }),
        &["count", "name"],
    );
    insta::assert_snapshot!(rejecting(&previous, &current), @r#"
    BREAKING  actions.search.inputSchema
              BREAKING  "odd name": string with not: {"const":"a"} -> string with not: {"const":"b"}
              BREAKING  count: type: integer -> string
              BREAKING  limit: maximum: 100 -> 50
              BREAKING  name: optional -> required
              BREAKING  name: pattern: (absent) -> ^[a-z]
              BREAKING  status: no longer an option: "closed", "draft"
              RISKY     limit: default: 10 -> 20
              SAFE      name: maxLength: 80 -> 120
              SAFE      name: type: string -> string | null
              SAFE      status: required -> optional
              SAFE      status: new option: "paid"
              COSMETIC  words: described otherwise
    "#);
}

#[test]
fn fields_inside_of_objects_lists_and_definitions_have_a_path() {
    let schema = |line: Value, address: Value| {
        json!({
            "type": "object",
            "properties": {
                "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
                "address": {"type": "object", "properties": {"street": address}},
                "parent": {"$ref": "#/$defs/Node"},
            },
            "$defs": {
                "Line": {"type": "object", "properties": {"amount": line}, "required": ["amount"]},
                "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "value": line}},
            },
        })
    };
    let previous = schema(json!({"type": "integer"}), json!({"type": "string"}));
    let current = schema(json!({"type": "integer", "maximum": 9}), json!({"type": "object"}));
    insta::assert_snapshot!(rejecting(&previous, &current), @r#"
    BREAKING  actions.search.inputSchema
              BREAKING  address.street: type: string -> object
              BREAKING  lines[].amount: maximum: (absent) -> 9
              BREAKING  parent.value: maximum: (absent) -> 9
    "#);
}

#[test]
fn a_schema_that_differs_in_more_than_fields_is_shown_too() {
    let previous = fields(json!({"a": {"type": "string"}, "b": {"type": "string"}}), &[]);
    let mut current = fields(json!({"a": {"type": "integer"}, "b": {"type": "string"}}), &[]);
    current["anyOf"] = json!([{"required": ["a"]}, {"required": ["b"]}]);
    insta::assert_snapshot!(rejecting(&previous, &current), @r#"
    BREAKING  actions.search.inputSchema
              BREAKING  a: type: string -> integer
              before  { a?: string, b?: string }
              now     { a?: integer, b?: string } & ({ a: any } | { b: any })
    "#);
    // Words about the whole are no change of a field.
    let mut titled = previous.clone();
    titled["title"] = json!("Search");
    insta::assert_snapshot!(rejecting(&previous, &titled), @r#"
    COSMETIC  actions.search.inputSchema
              before  (absent)
              now     title: "Search"
    "#);
}

#[test]
fn totals_count_what_is_listed() {
    let previous = fields(json!({"a": {"type": "string"}, "b": {"type": "string"}}), &[]);
    let current = fields(json!({"c": {"type": "integer"}}), &[]);
    let text = report_text(&locked(&previous).diff(&locked(&current)));
    assert!(text.ends_with("Changes: 2 BREAKING, 0 RISKY, 1 SAFE, 0 COSMETIC.\n"), "{text}");
}
