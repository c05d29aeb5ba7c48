use healbench_core::ErrorFormat::{Bare, FusionText, FusionXml};
use healbench_engine::definition::{Code, Handler, Severity, ToolFailure};
use healbench_engine::{Failure, IssueKind};
use serde_json::json;

use super::*;

fn users() -> Vec<Tool> {
    let create = json!({
        "properties": {"email": {"type": "string", "format": "email"}, "role": {"enum": ["admin", "user"]}},
        "required": ["email", "role"],
    });
    vec![tool("users", vec![ok("create", create)])]
}

fn billing() -> Vec<Tool> {
    let create = json!({
        "properties": {"name": {"type": "string"}, "amount_cents": {"type": "integer", "minimum": 1}},
        "required": ["name", "amount_cents"],
    });
    let any = json!({"properties": {}});
    vec![tool("billing", vec![ok("list", any.clone()), ok("create", create), ok("delete", any)])]
}

fn failing(failure: ToolFailure) -> Vec<Tool> {
    vec![tool("projects", vec![action("get", json!({}), Handler::Fail(failure))])]
}

#[test]
fn validation_error_of_document_001() {
    let arguments = json!({"action": "create", "email": "bad-email", "role": "superadmin"});
    assert_eq!(
        text(&users(), FusionXml, "users", arguments),
        "\
<validation_error action=\"users/create\">
  <field name=\"email\">Invalid email. You sent: 'bad-email'. Expected: a valid email address (e.g. user@example.com).</field>
  <field name=\"role\">Invalid enum value. Expected 'admin' | 'user', received 'superadmin'. You sent: 'superadmin'. Valid options: 'admin', 'user'.</field>
  <recovery>Fix the fields above and call the tool again. Do not explain the error.</recovery>
</validation_error>"
    );
}

#[test]
fn undeclared_field_of_document_001() {
    let arguments = json!({"action": "create", "name": "Q4", "amount_cents": 1, "hallucinated_param": 1});
    assert_eq!(
        text(&billing(), FusionXml, "billing", arguments),
        "\
<validation_error action=\"billing/create\">
  <field name=\"(root)\">Unrecognized key(s) in object: 'hallucinated_param'. Remove or correct unrecognized fields: 'hallucinated_param'. Check for typos.</field>
  <recovery>Fix the fields above and call the tool again. Do not explain the error.</recovery>
</validation_error>"
    );
}

#[test]
fn routing_errors_of_document_001() {
    assert_eq!(
        text(&billing(), FusionXml, "billing", json!({"name": "Q4"})),
        "\
<tool_error code=\"MISSING_DISCRIMINATOR\">
  <message>The required field \"action\" is missing.</message>
  <available_actions>list, create, delete</available_actions>
  <recovery>Add the \"action\" field and call the tool again.</recovery>
</tool_error>"
    );
    assert_eq!(
        text(&billing(), FusionXml, "billing", json!({"action": "destory"})),
        "\
<tool_error code=\"UNKNOWN_ACTION\">
  <message>The action \"destory\" does not exist.</message>
  <available_actions>list, create, delete</available_actions>
  <recovery>Choose a valid action from available_actions and call the tool again.</recovery>
</tool_error>"
    );
}

#[test]
fn tool_errors_of_document_001() {
    let shown = |failure| text(&failing(failure), FusionXml, "projects", json!({"action": "get"}));
    let plain = ToolFailure::error("Project \"proj_xyz\" not found");
    assert_eq!(shown(plain), "<tool_error>\n  <message>Project \"proj_xyz\" not found</message>\n</tool_error>");
    let recovery = ToolFailure {
        recovery: Some("Call projects.list first to get valid IDs, then retry.".to_owned()),
        available_actions: vec!["projects.list".to_owned()],
        ..ToolFailure::new("ProjectNotFound", "Project 'proj_xyz' does not exist.")
    };
    assert_eq!(
        shown(recovery),
        "\
<tool_error code=\"ProjectNotFound\" severity=\"error\">
  <message>Project 'proj_xyz' does not exist.</message>
  <recovery>Call projects.list first to get valid IDs, then retry.</recovery>
  <available_actions>
    <action>projects.list</action>
  </available_actions>
</tool_error>"
    );
    let details = [("entity_id", "inv_123"), ("entity_type", "invoice"), ("searched_workspace", "ws_42")];
    let details = ToolFailure {
        details: details.map(|(key, value)| (key.to_owned(), value.into())).to_vec(),
        ..ToolFailure::new("NOT_FOUND", "Invoice not found.")
    };
    assert_eq!(
        shown(details),
        "\
<tool_error code=\"NOT_FOUND\" severity=\"error\">
  <message>Invoice not found.</message>
  <details>
    <detail key=\"entity_id\">inv_123</detail>
    <detail key=\"entity_type\">invoice</detail>
    <detail key=\"searched_workspace\">ws_42</detail>
  </details>
</tool_error>"
    );
    let limited = ToolFailure { retry_after: Some(30), ..ToolFailure::new("RATE_LIMITED", "Too many requests.") };
    assert_eq!(
        shown(limited),
        "\
<tool_error code=\"RATE_LIMITED\" severity=\"error\">
  <message>Too many requests.</message>
  <retry_after>30 seconds</retry_after>
</tool_error>"
    );
}

#[test]
fn a_required_field_of_document_001() {
    let missing = ToolFailure::required("workspace_id");
    assert_eq!(
        text(&failing(missing), FusionXml, "projects", json!({"action": "get"})),
        "\
<tool_error code=\"MISSING_REQUIRED_FIELD\">
  <message>Required field \"workspace_id\" is missing.</message>
  <recovery>Provide the \"workspace_id\" parameter and retry.</recovery>
</tool_error>"
    );
}

#[test]
fn the_canonical_codes_of_document_001() {
    let codes = [
        "NOT_FOUND",
        "VALIDATION_ERROR",
        "UNAUTHORIZED",
        "FORBIDDEN",
        "CONFLICT",
        "RATE_LIMITED",
        "TIMEOUT",
        "INTERNAL_ERROR",
        "DEPRECATED",
        "SERVER_BUSY",
    ];
    assert_eq!(Code::ALL.map(Code::name), codes);
    for code in codes.into_iter().chain(["InvoiceAlreadyPaid"]) {
        let shown = text(&failing(ToolFailure::new(code, "No.")), FusionXml, "projects", json!({"action": "get"}));
        assert!(shown.starts_with(&format!("<tool_error code=\"{code}\" severity=\"error\">\n")), "{shown}");
        assert_eq!(Code::from_name(code).is_some(), code != "InvoiceAlreadyPaid");
    }
}

/// The pipeline of document 001: each step returns a value or the failure that ends the call.
#[test]
fn failures_compose_as_in_document_001() {
    struct User {
        id: String,
        may_delete: bool,
    }
    fn find_user(users: &[User], id: &str) -> Result<usize, ToolFailure> {
        let found = users.iter().position(|user| user.id == id);
        found.ok_or_else(|| ToolFailure::error(format!("User \"{id}\" not found")))
    }
    fn check_permission(user: &User) -> Result<&User, ToolFailure> {
        let refused = || ToolFailure::error(format!("User \"{}\" cannot delete", user.id));
        user.may_delete.then_some(user).ok_or_else(refused)
    }
    let users = [("ann", true), ("bob", false)].map(|(id, may_delete)| User { id: id.to_owned(), may_delete });
    let delete = |id: &str| -> Result<&str, Failure> {
        let user = find_user(&users, id)?;
        check_permission(&users[user])?;
        Ok("Deleted")
    };
    let response = |id: &str| match delete(id) {
        Ok(text) => text.to_owned(),
        Err(Failure::Tool(failure)) => text(&failing(failure), FusionXml, "projects", json!({"action": "get"})),
        Err(other) => panic!("{other:?}"),
    };
    assert_eq!(response("ann"), "Deleted");
    assert_eq!(response("bob"), "<tool_error>\n  <message>User \"bob\" cannot delete</message>\n</tool_error>");
    assert_eq!(response("eve"), "<tool_error>\n  <message>User \"eve\" not found</message>\n</tool_error>");
}

#[test]
fn a_warning_is_not_an_error() {
    let warning = ToolFailure {
        severity: Some(Severity::Warning),
        ..ToolFailure::new("DEPRECATED", "This endpoint is deprecated. Use billing.invoices_v2 instead.")
    };
    let answer = answer(&failing(warning), "all", FusionXml, "projects", json!({"action": "get"}));
    assert!(!answer.response.is_error);
    assert_eq!(answer.failure.unwrap().class().name(), "DEPRECATED");
    assert!(answer.response.text().contains("severity=\"warning\""));
}

#[test]
fn coaching_texts_of_document_003() {
    let create = json!({
        "properties": {"name": {"type": "string"}, "budget": {"type": "number"}},
        "required": ["name", "budget"],
    });
    let projects = [tool("projects", vec![ok("create", create)])];
    assert_eq!(
        text(&projects, FusionText, "projects", json!({"action": "create", "budget": "fifty thousand"})),
        "\
⚠️ VALIDATION FAILED — ACTION 'PROJECTS.CREATE'
  • name — Required. You sent: (missing). Expected type: string.
  • budget — Expected number, received string. You sent: 'fifty thousand'. Expected type: number.
💡 Fix the fields above and call the tool again. Do not explain the error."
    );
    let arguments = json!({
        "action": "create",
        "name": "Q4 Invoice",
        "amount_cents": 45000,
        "customer_email": "john@example.com",
        "priority": "high",
        "internal_notes": "Important client",
    });
    assert_eq!(
        text(&billing(), FusionText, "billing", arguments),
        "\
⚠️ VALIDATION FAILED — ACTION 'BILLING.CREATE'
  • customer_email — Unrecognized keys. You sent: 'customer_email'. Remove or correct unrecognized fields: 'customer_email'. Check for typos.
  • priority — Unrecognized keys. You sent: 'priority'. Remove or correct unrecognized fields: 'priority'. Check for typos.
  • internal_notes — Unrecognized keys. You sent: 'internal_notes'. Remove or correct unrecognized fields: 'internal_notes'. Check for typos.
💡 Fix the fields above and call the tool again. Do not explain the error."
    );
}

#[test]
fn not_found_of_document_003() {
    let list =
        action("list", json!({}), Handler::Select { table: "invoices".to_owned(), filters: Vec::new(), page: None });
    let by_id = json!({"properties": {"id": {"type": "string"}}, "required": ["id"]});
    let get = action("get", by_id, Handler::Get { table: "invoices".to_owned(), by: "id".to_owned() });
    let tools = [tool("billing", vec![list, get])];
    let ask = |guardrails: &str, format| {
        let engine = Engine::new(&tools, guardrails.parse().unwrap(), &format).unwrap();
        let mut world = world(WorldDef { tables: vec![invoices(json!([]))], ..WorldDef::default() });
        let answer = engine.call(&mut world, &call("billing", json!({"action": "get", "id": "INV-999"})));
        assert!(answer.response.is_error);
        answer.response.text().into_owned()
    };
    assert_eq!(
        ask("all", FusionText),
        "\
[NOT_FOUND] Invoice 'INV-999' does not exist.
💡 Suggestion: Call billing.list first to get valid invoice IDs.
📋 Try: billing.list"
    );
    assert_eq!(ask("none", FusionText), "Error: Invoice not found");
}

#[test]
fn healing_off_is_one_bare_line_in_any_format() {
    for format in [FusionXml, FusionText, Bare] {
        let bare = |arguments| {
            answer(&billing(), "strict+truncation", format.clone(), "billing", arguments).response.text().into_owned()
        };
        assert_eq!(bare(json!({"action": "create"})), "Error: Invalid arguments");
        assert_eq!(bare(json!({"action": "creat"})), "Error: Unknown action");
        assert_eq!(bare(json!({})), "Error: Unknown action");
    }
}

#[test]
fn strict_off_lets_undeclared_fields_through_and_counts_them() {
    let arguments = json!({"action": "create", "name": "Q4", "amount_cents": 1, "priority": "high", "notes": ""});
    let answer = answer(&billing(), "healing", FusionXml, "billing", arguments);
    assert!(!answer.response.is_error);
    assert_eq!(answer.leaked_fields, Some(2));
}

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
