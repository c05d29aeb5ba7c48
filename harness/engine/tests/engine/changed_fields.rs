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

/// Returns the contracts of tools with one action, as a server lists them: a name, a description and a schema.
fn listed(tools: &[(&str, &str, Value)]) -> Lockfile {
    let tool = |(name, description, input): &(&str, &str, Value)| Tool {
        discriminator: None,
        description: (*description).to_owned(),
        ..tool(name, vec![ok(name, input.clone())])
    };
    let tools: Vec<Tool> = tools.iter().map(tool).collect();
    Lockfile::from_tools([("tools", tools.as_slice())])
}

#[test]
fn a_tool_that_is_nearly_equal_to_a_new_one_may_be_renamed() {
    let id = fields(json!({"id": {"type": "integer"}}), &["id"]);
    let paged = |size: &str| fields(json!({"id": {"type": "integer"}, size: {"type": "integer"}}), &["id"]);
    let before = listed(&[
        ("wit_get", "Get a work item.", id.clone()),
        ("wit_list", "List work items.", paged("pageSize")),
        ("ping", "", json!({"type": "object"})),
    ]);
    let now = listed(&[
        ("work_item_get", "Get a work item.", id.clone()),
        ("work_item_list", "List all work items.", paged("page_size")),
        ("pipeline_get", "Get a pipeline.", id.clone()),
        ("pong", "", json!({"type": "object"})),
    ]);
    insta::assert_snapshot!(report_text(&before.diff(&now)), @r#"
    ping in tools: removed
      BREAKING  the tool is gone

    wit_get in tools: it may now be `work_item_get`
      BREAKING  name
                before  wit_get
                now     work_item_get

    wit_list in tools: it may now be `work_item_list`
      BREAKING  actions.work_item_list.inputSchema
                BREAKING  pageSize: removed: integer; it may now be `page_size`
                SAFE      page_size: added, optional: integer
      BREAKING  name
                before  wit_list
                now     work_item_list
      COSMETIC  description
                before  List work items.
                now     List all work items.

    pipeline_get in tools: added
      SAFE      the tool is new

    pong in tools: added
      SAFE      the tool is new

    Tools: 0 changed, 2 added, 1 removed, 2 with another name. Changes: 3 BREAKING, 0 RISKY, 1 SAFE, 1 COSMETIC.
    "#);
    // Without descriptions the names have to be similar.
    let one = |name: &str| listed(&[(name, "", id.clone())]);
    assert!(report_text(&one("get_item").diff(&one("item_get"))).contains("it may now be `item_get`"));
    assert!(!report_text(&one("wit_get").diff(&one("pipeline"))).contains("may"));
}

#[test]
fn a_stated_name_is_no_guess() {
    let before = listed(&[("wit_get", "Get.", fields(json!({"id": {"type": "integer"}}), &["id"]))]);
    let now = listed(&[(
        "work_item_get",
        "Get a work item of a project.",
        fields(json!({"key": {"type": "string"}}), &["key"]),
    )]);
    let names = [(("tools".to_owned(), "wit_get".to_owned()), "work_item_get".to_owned())].into();
    insta::assert_snapshot!(report_text(&before.diff_renamed(&now, Undeclared::Reject, &names)), @r#"
    wit_get in tools: renamed to `work_item_get`
      BREAKING  actions.work_item_get.inputSchema
                BREAKING  id: removed: integer
                BREAKING  key: added, required: string
      BREAKING  name
                before  wit_get
                now     work_item_get
      COSMETIC  description
                before  Get.
                now     Get a work item of a project.

    Tools: 0 changed, 0 added, 0 removed, 1 with another name. Changes: 3 BREAKING, 0 RISKY, 0 SAFE, 1 COSMETIC.
    "#);
    assert!(report_text(&before.diff(&now)).contains("1 added, 1 removed."));
}
