use healbench_core::ErrorFormat::{Bare, FusionText, FusionXml};
use healbench_engine::Failure;
use healbench_engine::definition::{Code, Handler, Severity, ToolFailure};
use serde_json::json;

use super::*;

fn users() -> Vec<Tool> {
    let create = json!({
        "properties": {"email": {"type": "string", "format": "email"}, "role": {"enum": ["admin", "user"]}},
        "required": ["email", "role"],
    });
    vec![tool("users", vec![ok("create", create)])]
}

pub(crate) fn billing() -> Vec<Tool> {
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
