use healbench_core::ErrorFormat::{LlmFriendly, LlmFriendlyJson};
use healbench_engine::definition::{Severity, ToolFailure};

use super::*;

fn billing(failure: ToolFailure) -> Vec<Tool> {
    vec![tool("billing", vec![ok("list", json!({})), action("get", json!({}), Handler::Fail(failure))])]
}

fn both(tools: &[Tool], name: &str, arguments: Value) -> (String, Value) {
    let markdown = text(tools, LlmFriendly, name, arguments.clone());
    let json = text(tools, LlmFriendlyJson, name, arguments);
    assert!(json.starts_with("{\n  \"error\": {\n") && json.ends_with("\n  }\n}"), "{json}");
    (markdown, serde_json::from_str::<Value>(&json).unwrap()["error"].take())
}

#[test]
fn routing_failures_list_what_there_is() {
    let tools = billing(ToolFailure::error("no"));
    let (markdown, json) = both(&tools, "billing", json!({"action": "destory"}));
    let expected = "\
❌ [UNKNOWN_ACTION] Tool 'billing' has no action 'destory'.

## Available Actions:

- list
- get

## Suggestions:

1. Choose one of the available actions and call the tool again";
    assert_eq!(markdown, expected);
    let expected = json!({
        "type": "routing",
        "code": "UNKNOWN_ACTION",
        "summary": "Tool 'billing' has no action 'destory'.",
        "availableActions": ["list", "get"],
        "recovery": "Choose one of the available actions and call the tool again",
    });
    assert_eq!(json, expected);
    let (markdown, json) = both(&tools, "billing", json!({}));
    assert!(
        markdown.starts_with("❌ [MISSING_DISCRIMINATOR] Tool 'billing' needs the field 'action', which is missing.")
    );
    assert_eq!(json["code"], "MISSING_DISCRIMINATOR");
    let (markdown, json) = both(&tools, "biling", json!({}));
    assert!(markdown.contains("## Available Tools:\n\n- billing\n"), "{markdown}");
    assert_eq!(json["availableTools"], json!(["billing"]));
}

#[test]
fn tool_failures_show_all_members() {
    let failure = ToolFailure {
        severity: Some(Severity::Critical),
        recovery: Some("Call billing.list first.".to_owned()),
        available_actions: vec!["billing.list".to_owned()],
        details: vec![("entity".to_owned(), "INV-1".into())],
        retry_after: Some(30),
        ..ToolFailure::new("NOT_FOUND", "Invoice not found.")
    };
    let (markdown, json) = both(&billing(failure), "billing", json!({"action": "get"}));
    let expected = "\
❌ [NOT_FOUND] Tool 'billing' (action 'get') failed: Invoice not found.

**Severity**: critical

## Details:

- **entity**: INV-1

## Available Actions:

- billing.list

## Suggestions:

1. Call billing.list first.
2. Retry after 30 seconds";
    assert_eq!(markdown, expected);
    let expected = json!({
        "type": "tool",
        "code": "NOT_FOUND",
        "severity": "critical",
        "summary": "Tool 'billing' (action 'get') failed: Invoice not found.",
        "details": {"entity": "INV-1"},
        "availableActions": ["billing.list"],
        "recovery": "Call billing.list first.",
        "retryAfter": 30,
    });
    assert_eq!(json, expected);
}

#[test]
fn a_plain_error_has_its_message_and_a_warning_its_sign() {
    let (markdown, json) = both(&billing(ToolFailure::error("No.")), "billing", json!({"action": "get"}));
    assert_eq!(markdown, "❌ Tool 'billing' (action 'get') failed: No.");
    assert_eq!(json, json!({"type": "tool", "summary": "Tool 'billing' (action 'get') failed: No."}));
    let warning = ToolFailure { severity: Some(Severity::Warning), ..ToolFailure::new("DEPRECATED", "Use get_v2.") };
    let (markdown, json) = both(&billing(warning), "billing", json!({"action": "get"}));
    assert_eq!(markdown, "⚠️ [DEPRECATED] Tool 'billing' (action 'get') gave a warning: Use get_v2.");
    assert_eq!(json["severity"], "warning");
}

#[test]
fn arguments_that_are_no_object() {
    let (markdown, json) = both(&billing(ToolFailure::error("no")), "billing", json!("oops"));
    let expected = "\
❌ Tool 'billing' received invalid arguments. 1 validation error(s) found.

## Issues Found:

1. **(root)**: Expected object, received string
   - Received: \"oops\"
   - Expected: object
   - Fix: Provide an object.

## Suggestions:

1. Check that every field has the type given in the schema";
    assert_eq!(markdown, expected);
    assert_eq!(json["issues"][0]["received"], "oops");
}
