//! Tests of the format of MCP's proposal SEP-3313.

use healbench_core::ErrorFormat;
use healbench_engine::definition::ToolFailure;

use super::*;

/// Returns the text and the classification of a failure.
fn classified(failure: ToolFailure) -> (String, Value) {
    let tools = [tool("t", vec![action("a", json!({}), Handler::Fail(failure))])];
    split(&text(&tools, ErrorFormat::ToolFailure, "t", json!({"action": "a"})))
}

fn split(text: &str) -> (String, Value) {
    let (text, classification) = text.rsplit_once('\n').unwrap();
    (text.to_owned(), serde_json::from_str(classification).unwrap())
}

#[test]
fn domain_errors_have_the_class_that_says_what_to_do() {
    let cases = [
        ("NOT_FOUND", "capability", "resource_not_found", false),
        ("VALIDATION_ERROR", "capability", "invalid_input", false),
        ("DEPRECATED", "capability", "capability_unsupported", false),
        ("CONFLICT", "capability", "conflict", false),
        ("UNAUTHORIZED", "governance", "auth_required", false),
        ("FORBIDDEN", "governance", "permission_denied", false),
        ("RATE_LIMITED", "reliability", "retryable_transient_error", true),
        ("SERVER_BUSY", "reliability", "retryable_transient_error", true),
        ("INTERNAL_ERROR", "capability", "internal_error", false),
        ("OUT_OF_STOCK", "capability", "out_of_stock", false),
    ];
    for (code, class, expected, is_retryable) in cases {
        let (text, found) = classified(ToolFailure::new(code, "It failed."));
        assert_eq!(text, "It failed.", "{code}");
        assert_eq!((&found["class"], &found["code"]), (&json!(class), &json!(expected)), "{code}");
        // The proposal allows `retryable` for the class `reliability` only.
        assert_eq!(found.get("retryable"), is_retryable.then_some(&json!(true)), "{code}");
        assert_eq!(found.get("agentGuidance"), None, "{code}");
    }
}

#[test]
fn guidance_is_what_the_author_and_the_schema_say() {
    let failure = ToolFailure {
        recovery: Some("Ask the owner.".to_owned()),
        available_actions: vec!["t.list".to_owned()],
        retry_after: Some(30),
        ..ToolFailure::new("LOCKED", "It is locked.")
    };
    let (_, found) = classified(failure);
    assert_eq!(found["agentGuidance"], "Ask the owner. Available actions: t.list. Retry after 30 seconds.");
    assert_eq!(found["class"], "reliability");
    let tools = [tool("t", vec![ok("a", json!({"properties": {"age": {"type": "integer", "minimum": 1}}}))])];
    let said = |tool: &str, arguments| split(&text(&tools, ErrorFormat::ToolFailure, tool, arguments));
    let (text, found) = said("t", json!({"action": "a", "age": 0, "agee": 1}));
    assert!(
        text.starts_with("MCP error -32602: Input validation error: Invalid arguments for tool t: Too small"),
        "{text}"
    );
    let guidance = "age: Must be >= 1. Remove or correct unrecognized fields: 'agee'. Check for typos.";
    assert_eq!(found, json!({"class": "capability", "code": "invalid_input", "agentGuidance": guidance}));
    assert_eq!(said("t", json!({"action": "b"})).1["agentGuidance"], "Choose one of: a.");
    assert_eq!(
        said("u", json!({})).1,
        json!({"class": "capability", "code": "capability_unsupported", "agentGuidance": "Choose one of: t."})
    );
}
