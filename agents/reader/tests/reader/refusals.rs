//! Tests of refusals: advice that can be followed comes before a reason to stop, whatever the words of the refusal.

use healbench_core::{ToolResponse, Turn};
use healbench_reader::Profile;
use serde_json::{Value, json};

use crate::episode::*;

const REFUSALS: [&str; 20] = [
    "Unauthorized",
    "401 Unauthorized: the session has expired",
    "Forbidden",
    "403 Forbidden",
    "Permission denied",
    "You don't have permission to create invoices",
    "Insufficient permissions",
    "Insufficient privileges for this operation",
    "Access denied",
    "Access to this resource is restricted",
    "You are not authorized to perform this action",
    "You are not authorised",
    "You are not allowed to do this yet",
    "Operation not permitted",
    "Missing credentials",
    "Your role lacks the scope invoices:write",
    "Only administrators can do this directly",
    "Do not retry this call",
    "This cannot be undone",
    "Contact an administrator if the problem persists",
];

fn create() -> Value {
    json!({"action": "create", "amount": 5, "currency": "EUR"})
}

/// Returns the turns of the perfect reader if `text` is the response until `is_unlocked` by a call.
fn turns(steps: &[Value], text: &str, is_unlocked: impl Fn(&Value) -> bool) -> Vec<Turn> {
    let steps = steps.iter().map(|arguments| step("billing", arguments.clone(), arguments.clone()));
    let mut unlocked = false;
    run_episode(&profile("perfect"), steps.collect(), 0, 12, |call, _| -> ToolResponse {
        unlocked |= is_unlocked(&call.arguments);
        if unlocked { ok("{}") } else { error(text) }
    })
}

fn actions(turns: &[Turn]) -> Vec<String> {
    arguments(turns).iter().map(|arguments| arguments["action"].as_str().unwrap_or("none").to_owned()).collect()
}

/// Returns error texts with this refusal and this advice.
fn texts(refusal: &str, advice: &str) -> Vec<String> {
    vec![
        format!("{refusal}. {advice}"),
        format!("Error: {advice} {refusal}."),
        format!("[FORBIDDEN] {refusal}.\n💡 Suggestion: {advice}"),
        format!(
            "<tool_error code=\"FORBIDDEN\"><message>{refusal}.</message><recovery>{advice}</recovery></tool_error>"
        ),
        json!({"error": {"code": "UNAUTHORIZED", "message": refusal, "suggestion": advice}}).to_string(),
        json!({"type": "about:blank", "title": refusal, "status": 403, "detail": format!("{refusal}. {advice}")})
            .to_string(),
    ]
}

#[test]
fn a_read_only_action_is_called_before_stopping() {
    for refusal in REFUSALS {
        for advice in [
            "Call billing.list first.",
            "Use billing.list to see what is open.",
            "Try: billing.list",
            "Please request access via billing.list",
            "Run the list action before this.",
        ] {
            let next = json!({"error": refusal, "next_action": "billing.list"}).to_string();
            for text in texts(refusal, advice).into_iter().chain([next]) {
                let turns = turns(&[create()], &text, |arguments| arguments["action"] == "list");
                assert_eq!(actions(&turns), ["create", "list", "create"], "{text}");
                assert!(is_done(&turns), "{text}");
            }
        }
    }
}

#[test]
fn an_action_that_the_task_asks_for_is_called_before_stopping() {
    for refusal in REFUSALS {
        for text in texts(refusal, "Call billing.create first.") {
            let steps = [json!({"action": "get", "invoice_id": "INV-1"}), create()];
            let turns = turns(&steps, &text, |arguments| arguments["action"] == "create");
            assert_eq!(actions(&turns)[..3], ["get", "create", "get"], "{text}");
            assert!(is_done(&turns), "{text}");
        }
    }
}

#[test]
fn a_write_that_the_task_does_not_ask_for_is_not_called() {
    for text in texts("Forbidden", "Call billing.create first.") {
        let turns = turns(&[json!({"action": "get", "invoice_id": "INV-1"})], &text, |_| false);
        assert_eq!(actions(&turns), ["get"], "{text}");
        assert!(gave_up(&turns));
    }
}

#[test]
fn a_field_is_repaired_before_stopping() {
    for refusal in REFUSALS {
        for text in texts(refusal, "The field `currency` must be one of: EUR, USD.") {
            let mut draft = create();
            draft["currency"] = json!("DKK");
            let steps = vec![step("billing", create(), draft)];
            let answer = |arguments: &Value| if arguments["currency"] == "EUR" { ok("{}") } else { error(&text) };
            let turns = run_episode(&profile("perfect"), steps, 0, 9, |call, _| answer(&call.arguments));
            assert_eq!(arguments(&turns).len(), 2, "{text}");
            assert!(is_done(&turns), "{text}");
        }
    }
}

#[test]
fn a_delay_is_waited_for_once_before_stopping() {
    for refusal in REFUSALS {
        let text = format!("{refusal}. Retry after 30 seconds.");
        let turns = turns(&[create()], &text, |_| false);
        let waits = turns.iter().filter(|turn| matches!(turn, Turn::Calls { waited_s: 30, .. })).count();
        assert!(gave_up(&turns) || arguments(&turns).len() > 2, "{text}");
        assert!(waits >= 1, "{text}");
    }
}

#[test]
fn without_advice_that_is_left_a_refusal_is_final() {
    for refusal in ["Unauthorized", "403 Forbidden", "You do not have permission", "Access denied"] {
        let eager = Profile { repeat: 1.0, ..profile("perfect") };
        let steps = vec![step("billing", create(), create())];
        let turns = run_episode(&eager, steps.clone(), 0, 9, |_, _| error(refusal));
        assert_eq!(actions(&turns), ["create"], "{refusal}");
        assert!(gave_up(&turns));
        // The advice was followed and did not help.
        let text = format!("{refusal}. Call billing.list first.");
        let turns =
            run_episode(
                &eager,
                steps,
                0,
                9,
                |call, _| {
                    if call.arguments["action"] == "list" { ok("[]") } else { error(&text) }
                },
            );
        assert_eq!(actions(&turns), ["create", "list", "create"], "{refusal}");
        assert!(gave_up(&turns));
    }
}

/// A careless reader must not do better than a perfect one because it overlooks the refusal.
#[test]
fn better_readers_do_no_worse() {
    let text = "[FORBIDDEN] You do not have permission.\n💡 Suggestion: Call billing.list first.";
    let successes = |name: &str| {
        let success = |trial: &u32| {
            let mut unlocked = false;
            let steps = vec![step("billing", create(), create())];
            let turns = run_episode(&profile(name), steps, *trial, 40, |call, _| {
                unlocked |= call.arguments["action"] == "list";
                if unlocked { ok("{}") } else { error(text) }
            });
            is_done(&turns)
        };
        (0..100).filter(success).count()
    };
    let rates = ["blind", "careless", "typical", "careful", "perfect"].map(successes);
    assert!(rates.is_sorted(), "{rates:?}");
    assert_eq!(rates[4], 100, "{rates:?}");
}
