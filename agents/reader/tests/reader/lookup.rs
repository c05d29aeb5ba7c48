//! Tests of lookups: values that must be found in lists, by suggestions, or in truncated responses.

use healbench_core::{Step, ToolResponse, Turn};
use healbench_reader::Profile;
use serde_json::{Value, json};

use crate::episode::*;

fn rows(range: std::ops::Range<u32>) -> String {
    let rows: Vec<Value> = range
        .map(|n| json!({"id": format!("inv_{n}"), "number": format!("INV-{n}"), "status": "open", "customer": {"name": "x"}}))
        .collect();
    Value::Array(rows).to_string()
}

fn list(arguments: Value) -> Step {
    step("billing", arguments.clone(), arguments)
}

/// Returns a step whose invoice must be found. The intended call contains a value that no agent may use.
fn get() -> Step {
    let arguments = json!({"action": "get", "invoice_id": "secret"});
    with_query(
        step("billing", arguments.clone(), arguments),
        "invoice_id",
        "id",
        json!({"number": "INV-70", "status": "open"}),
    )
}

const TRUNCATION_NOTICE: &str = "⚠️ Dataset truncated. Showing 50 of 3,200 invoices.\nUse filters to narrow results:\n  • status: \"open\", \
     \"paid\"\n  • customer: user ID or name";

/// Returns a list of 3,200 rows of which 50 are shown, unless it is filtered by status.
fn billing(arguments: &Value) -> ToolResponse {
    match (arguments["action"].as_str(), arguments["invoice_id"].as_str()) {
        (Some("list"), _) if arguments["status"] == "open" => ok(&rows(60..80)),
        (Some("list"), _) => ToolResponse { content: vec![rows(0..50), TRUNCATION_NOTICE.to_owned()], is_error: false },
        (Some("get"), Some("inv_70")) => ok(r#"{"id": "inv_70"}"#),
        _ => error(
            "[NOT_FOUND] Invoice 'INV-999' does not exist.\n💡 Suggestion: Call billing.list first to get valid invoice IDs.\n\
             📋 Try: billing.list",
        ),
    }
}

fn sent(turns: &[Turn]) -> Vec<String> {
    arguments(turns).iter().map(Value::to_string).collect()
}

#[test]
fn a_listed_record_gives_the_value() {
    let turns = run_episode(
        &profile("perfect"),
        vec![list(json!({"action": "list", "status": "open"})), get()],
        0,
        9,
        |call, _| billing(&call.arguments),
    );
    assert_eq!(sent(&turns), [r#"{"action":"list","status":"open"}"#, r#"{"action":"get","invoice_id":"inv_70"}"#]);
    assert!(is_done(&turns));
}

#[test]
fn records_inside_of_an_envelope_are_records() {
    let answer = format!("Here they are:\n{{\"invoices\": {}, \"total\": 20}}\nEnd.", rows(60..80));
    let turns =
        run_episode(&profile("perfect"), vec![list(json!({"action": "list"})), get()], 0, 9, |_, _| ok(&answer));
    assert_eq!(sent(&turns)[1], r#"{"action":"get","invoice_id":"inv_70"}"#);
}

#[test]
fn a_truncated_list_is_narrowed_by_named_filters() {
    let steps = || vec![list(json!({"action": "list"})), get()];
    let turns = run_episode(&profile("perfect"), steps(), 0, 9, |call, _| billing(&call.arguments));
    assert_eq!(
        sent(&turns),
        [r#"{"action":"list"}"#, r#"{"action":"list","status":"open"}"#, r#"{"action":"get","invoice_id":"inv_70"}"#,]
    );
    // The same list, truncated without a notice.
    let turns = run_episode(&profile("perfect"), steps(), 0, 9, |_, _| ok(&rows(0..50)));
    assert_eq!(sent(&turns), [r#"{"action":"list"}"#]);
    assert!(gave_up(&turns));
    // The known value is not used if the text does not list it as valid.
    let other = TRUNCATION_NOTICE.replace("\"open\"", "\"void\"");
    let turns = run_episode(&profile("perfect"), steps(), 0, 9, |_, _| ok(&other));
    assert_eq!(sent(&turns), [r#"{"action":"list"}"#]);
    assert!(gave_up(&turns));
}

#[test]
fn a_filter_without_listed_values_takes_the_intended_value() {
    for statement in ["string", "user ID or name", "filter by customer"] {
        let notice = format!(
            "⚠️ Dataset truncated. Showing 50 of 3,200 invoices.\nUse filters to narrow results:\n  • customer: {statement}"
        );
        let intended = json!({"action": "list", "customer": "Ann"});
        let steps = vec![step("billing", intended, json!({"action": "list"}))];
        let answer = ToolResponse { content: vec![rows(0..50), notice], is_error: false };
        let turns = run_episode(&profile("perfect"), steps, 0, 9, |_, _| answer.clone());
        assert_eq!(sent(&turns), [r#"{"action":"list"}"#, r#"{"action":"list","customer":"Ann"}"#], "{statement}");
    }
}

/// Returns a list that shows 30 of 100 rows from `offset` on, and says how to request more if there are any.
fn paged(arguments: &Value) -> ToolResponse {
    if arguments["action"] == "get" {
        return ok(r#"{"id": "inv_70"}"#);
    }
    let from = arguments["offset"].as_u64().unwrap_or(0) as u32;
    let mut content = vec![rows(from..(from + 30).min(100))];
    if from + 30 < 100 {
        content.push("Showing 30 of 100 invoices.\nFor the next ones, raise offset by 30.".to_owned());
    }
    ToolResponse { content, is_error: false }
}

#[test]
fn a_truncated_list_is_paged_where_the_text_says_how() {
    let turns = run_episode(&profile("perfect"), vec![list(json!({"action": "list"})), get()], 0, 9, |call, _| {
        paged(&call.arguments)
    });
    assert_eq!(
        sent(&turns),
        [
            r#"{"action":"list"}"#,
            r#"{"action":"list","offset":30}"#,
            r#"{"action":"list","offset":60}"#,
            r#"{"action":"get","invoice_id":"inv_70"}"#,
        ]
    );
    assert!(is_done(&turns));
    // If no page contains the record, the search ends with the last page.
    let mut lost = get();
    lost.find.get_mut("invoice_id").unwrap().matching.insert("number".to_owned(), json!("INV-700"));
    let turns = run_episode(&profile("perfect"), vec![list(json!({"action": "list"})), lost], 0, 9, |call, _| {
        paged(&call.arguments)
    });
    assert_eq!(sent(&turns).len(), 4);
    assert!(gave_up(&turns));
}

#[test]
fn blind_does_not_narrow() {
    for trial in 0..20 {
        let turns =
            run_episode(&profile("blind"), vec![list(json!({"action": "list"})), get()], trial, 30, |call, _| {
                billing(&call.arguments)
            });
        assert!(sent(&turns).iter().all(|call| !call.contains("open") && !call.contains("secret")));
    }
}

#[test]
fn an_unfiltered_list_is_filtered_when_the_text_names_filters() {
    let unfiltered = || vec![step("billing", json!({"action": "list", "status": "open"}), json!({"action": "list"}))];
    let turns = run_episode(&profile("perfect"), unfiltered(), 0, 9, |call, _| billing(&call.arguments));
    assert_eq!(sent(&turns), [r#"{"action":"list"}"#, r#"{"action":"list","status":"open"}"#]);
    assert!(is_done(&turns));
    // Nothing is said about filters, and nothing later needs one.
    let turns = run_episode(&profile("perfect"), unfiltered(), 0, 9, |_, _| ok(&rows(0..50)));
    assert_eq!(sent(&turns), [r#"{"action":"list"}"#]);
    assert!(is_done(&turns));
}

/// Returns a step with a wrong id in the draft call, which the agent sends until a response rejects it.
fn wrong_id() -> Step {
    let mut step = get();
    step.draft.arguments["invoice_id"] = json!("INV-999");
    step
}

#[test]
fn a_suggestion_is_followed_and_the_value_found() {
    let turns = run_episode(&profile("perfect"), vec![wrong_id()], 0, 9, |call, _| billing(&call.arguments));
    assert_eq!(
        sent(&turns),
        [
            r#"{"action":"get","invoice_id":"INV-999"}"#,
            r#"{"action":"list","status":"open"}"#,
            r#"{"action":"get","invoice_id":"inv_70"}"#,
        ]
    );
    assert!(is_done(&turns));
}

#[test]
fn a_suggested_list_that_is_truncated_is_narrowed() {
    let mut step = wrong_id();
    for find in step.find.values_mut() {
        find.matching.shift_remove("status");
        find.matching.insert("customer".to_owned(), json!("acme"));
    }
    let row = r#"[{"id": "inv_70", "number": "INV-70", "customer": "acme"}]"#;
    // The tool list has no filter `customer`; only the text names it.
    let turns = run_episode(&profile("perfect"), vec![step], 0, 9, |call, n| match n {
        0 => billing(&call.arguments),
        1 => {
            assert_eq!(call.arguments, json!({"action": "list", "customer": "acme"}));
            ok(row)
        }
        _ => ok("{}"),
    });
    assert_eq!(sent(&turns)[2], r#"{"action":"get","invoice_id":"inv_70"}"#);
}

#[test]
fn an_unknown_id_is_not_fixed_from_a_bare_line() {
    let turns = run_episode(&profile("perfect"), vec![wrong_id()], 0, 9, |_, _| error("Error: Invoice not found"));
    assert_eq!(turns.len(), 2);
    assert!(gave_up(&turns));
}

/// A suggested action that changes data is called only if the task needs it.
#[test]
fn advice_to_change_something_is_not_followed() {
    let text = "Invoice 'INV-999' does not exist. You can use create / list.";
    let answer = |call: &Value| match call["action"].as_str() {
        Some("list") => ok(&rows(60..80)),
        Some("get") if call["invoice_id"] == "INV-999" => error(text),
        _ => ok("{}"),
    };
    let turns = run_episode(&profile("perfect"), vec![wrong_id()], 0, 9, |call, _| answer(&call.arguments));
    assert!(is_done(&turns), "{turns:#?}");
    assert!(sent(&turns).iter().all(|call| !call.contains("create")), "{turns:#?}");
    let create = json!({"action": "create", "amount": 1});
    let steps = vec![wrong_id(), step("billing", create.clone(), create)];
    let turns = run_episode(&profile("perfect"), steps, 0, 9, |call, _| answer(&call.arguments));
    assert!(sent(&turns)[1].contains("create"), "{turns:#?}");
}

#[test]
fn advice_is_followed_once() {
    let turns =
        run_episode(&profile("perfect"), vec![wrong_id()], 0, 30, |call, _| match call.arguments["action"].as_str() {
            Some("list") => ok(&rows(60..80)),
            _ => billing(&json!({})),
        });
    assert_eq!(sent(&turns).len(), 3);
    assert!(gave_up(&turns));
}

#[test]
fn a_refused_lookup_can_name_the_call_that_was_meant() {
    let steps = vec![step("billing", json!({"action": "create", "amount": 1}), json!({"action": "get", "amount": 1}))];
    let mut created = false;
    let turns = run_episode(&profile("perfect"), steps, 0, 9, |call, _| match call.arguments["action"].as_str() {
        Some("create") => {
            created = true;
            ok("{}")
        }
        Some("list") => error("There is no invoice yet. Call billing.create first."),
        _ => error("The invoice is not listed. Call billing.list first."),
    });
    let actions: Vec<Value> = arguments(&turns).iter().map(|sent| sent["action"].clone()).collect();
    assert_eq!(actions, ["get", "list", "create"], "{turns:#?}");
    assert!(created && is_done(&turns));
}

#[test]
fn a_failed_lookup_is_repaired() {
    let mut calls = 0;
    let turns = run_episode(&profile("perfect"), vec![wrong_id()], 0, 9, |call, _| {
        calls += 1;
        if calls == 2 { error("[RATE_LIMITED] Too many requests. Retry after 5 s.") } else { billing(&call.arguments) }
    });
    assert!(is_done(&turns), "{turns:#?}");
    assert!(matches!(turns[2], Turn::Calls { waited_s: 5, .. }));
}

#[test]
fn records_past_the_context_window_are_not_read() {
    let steps = || vec![list(json!({"action": "list"})), get()];
    let text = rows(0..400);
    let with = |context_window| Profile { context_window, ..profile("perfect") };
    assert!(is_done(&run_episode(&with(100_000), steps(), 0, 9, |_, _| ok(&text))));
    // Row 70 lies in the first quarter; what is read of a list that breaks off counts.
    assert!(is_done(&run_episode(&with(text.len() as u64 / 16), steps(), 0, 9, |_, _| ok(&text))));
    assert!(gave_up(&run_episode(&with(text.len() as u64 / 4 / 8), steps(), 0, 9, |_, _| ok(&text))));
}

#[test]
fn the_intended_value_is_never_used_where_it_has_to_be_found() {
    for (text, name) in [
        ("  • invoice_id — Required. Expected type: string.", "perfect"),
        ("  • invoice_id — must match pattern ^secret$", "perfect"),
        ("invoice_id: valid options: 'secret'", "perfect"),
    ] {
        let mut step = get();
        step.draft.arguments = json!({"action": "get", "invoice_id": "INV-999"});
        let turns = run_episode(&profile(name), vec![step], 0, 30, |_, _| error(text));
        assert!(sent(&turns).iter().all(|call| !call.contains("secret")), "{text}: {turns:?}");
    }
}

/// Returns a step that needs two identifiers from one list, of which both are sent wrong.
fn two_values() -> Step {
    let call = |from: &str, to: &str| json!({"action": "create", "email": from, "currency": to});
    let step = step("billing", call("inv_61", "inv_65"), call("BAU", "VIL"));
    let step = with_query(step, "email", "id", json!({"customer": "Ann"}));
    with_query(step, "currency", "id", json!({"customer": "Bob"}))
}

#[test]
fn two_values_of_a_call_are_looked_up_one_after_the_other() {
    let turns = run_episode(&profile("perfect"), vec![two_values()], 0, 9, |call, _| {
        match (call.arguments["action"].as_str(), call.arguments["customer"].as_str()) {
            (Some("list"), Some("Ann")) => ok(r#"[{"id": "inv_61", "customer": "Ann"}]"#),
            (Some("list"), Some("Bob")) => ok(r#"[{"id": "inv_65", "customer": "Bob"}]"#),
            (Some("create"), _) if call.arguments["email"] == "inv_61" && call.arguments["currency"] == "inv_65" => {
                ok("{}")
            }
            _ => error("Not found. Call billing.list first."),
        }
    });
    assert_eq!(sent(&turns).len(), 4, "{:?}", sent(&turns));
    assert!(is_done(&turns));
}

#[test]
fn a_value_that_was_shown_replaces_one_that_does_not_exist() {
    let find = |draft: &str| {
        let call = |id: &str| json!({"action": "get", "invoice_id": id});
        with_query(step("billing", call("inv_70"), call(draft)), "invoice_id", "id", json!({"number": "INV-70"}))
    };
    let answer = |call: &healbench_core::ToolCall, _: usize| match call.arguments["invoice_id"].as_str() {
        None => ok(&rows(60..80)),
        Some("inv_70") => ok("{}"),
        Some(other) => error(&format!("No such invoice_id: '{other}'")),
    };
    let listed = vec![list(json!({"action": "list"})), find("INV-70")];
    let turns = run_episode(&profile("perfect"), listed, 0, 9, answer);
    assert!(is_done(&turns), "{:?}", sent(&turns));
    // What no response has shown is not used.
    let turns = run_episode(&profile("perfect"), vec![find("INV-70")], 0, 9, answer);
    assert!(gave_up(&turns), "{:?}", sent(&turns));
}

#[test]
fn what_is_needed_before_the_first_call_is_read_from_what_the_tools_offer() {
    let turns =
        run_episode(&profile("perfect"), vec![get()], 0, 9, |call, _| match call.arguments["action"].as_str() {
            Some("list") => ok(&rows(60..80)),
            _ => ok("{}"),
        });
    assert_eq!(sent(&turns), [r#"{"action":"list","status":"open"}"#, r#"{"action":"get","invoice_id":"inv_70"}"#]);
    assert!(is_done(&turns));
}

#[test]
fn a_value_that_the_mistaken_call_leaves_out_is_read_before_the_next_attempt() {
    let play = |name: &str, draft: Value, told: &str| {
        let mut missing = get();
        missing.draft.arguments = draft;
        run_episode(&profile(name), vec![missing], 0, 9, |call, _| {
            match (call.arguments["action"].as_str(), call.arguments["invoice_id"].as_str()) {
                (Some("list"), _) => ok(&rows(60..80)),
                (_, Some("inv_70")) => ok("{}"),
                _ => error(told),
            }
        })
    };
    let (list, right) =
        (r#"{"action":"list","status":"open"}"#, json!({"action": "get", "invoice_id": "inv_70"}).to_string());
    let left_out = json!({"action": "get"});
    for (draft, told) in [
        (left_out.clone(), "invoice_id is required"),
        (
            left_out.clone(),
            r#"[{"code":"invalid_type","expected":"string","received":"undefined","path":["invoice_id"],"message":"Required"}]"#,
        ),
        (json!({"action": "get", "invoice_id": null}), "invoice_id: expected string, received null"),
    ] {
        let turns = play("perfect", draft.clone(), told);
        assert_eq!(sent(&turns), [draft.to_string(), list.to_owned(), right.clone()], "{told}");
        assert!(is_done(&turns), "{told}");
    }
    // Nothing is asked for.
    assert!(gave_up(&play("perfect", left_out.clone(), "Something went wrong.")));
    assert!(gave_up(&play("blind", left_out, "invoice_id is required")));
}

#[test]
fn a_mistake_in_one_value_is_made_although_another_is_looked_up() {
    let right = json!({"action": "get", "invoice_id": "secret", "customer": "secret"});
    for (draft, told) in [
        (json!({"action": "get", "invoice_id": "secret"}), "customer is required"),
        (
            json!({"action": "get", "invoice_id": "secret", "customer": null}),
            "customer: expected string, received null",
        ),
        (json!({"action": "get", "invoice_id": "secret", "customer": "acme"}), "No such customer: 'acme'"),
    ] {
        let matching = json!({"number": "INV-70"});
        let step = with_query(step("billing", right.clone(), draft), "invoice_id", "id", matching.clone());
        let turns =
            run_episode(&profile("perfect"), vec![with_query(step, "customer", "owner", matching)], 0, 9, |call, _| {
                match (call.arguments["action"].as_str(), call.arguments["customer"].as_str()) {
                    (Some("list"), _) => ok(r#"[{"id": "inv_70", "number": "INV-70", "owner": "C-5"}]"#),
                    (_, Some("C-5")) => ok("{}"),
                    _ => error(told),
                }
            });
        let calls = arguments(&turns);
        assert_ne!(calls[1]["customer"], "C-5", "{calls:?}");
        assert_eq!(calls[1]["invoice_id"], "inv_70", "{calls:?}");
        assert_eq!(calls.last().unwrap()["customer"], "C-5", "{calls:?}");
        assert!(is_done(&turns));
    }
}

#[test]
fn a_list_is_read_again_for_another_record() {
    for list in
        [json!({"action": "list", "status": "open", "number": "INV-61"}), json!({"action": "list", "status": "paid"})]
    {
        let steps = vec![step("billing", list.clone(), list.clone()), get()];
        let turns = run_episode(&profile("perfect"), steps, 0, 9, |call, _| match call.arguments["action"].as_str() {
            Some("list") if call.arguments == list => ok(&rows(61..62)),
            Some("list") => ok(&rows(60..80)),
            _ => ok("{}"),
        });
        assert_eq!(arguments(&turns)[1], json!({"action": "list", "status": "open"}), "{:?}", sent(&turns));
        assert_eq!(arguments(&turns)[2]["invoice_id"], "inv_70");
        assert!(is_done(&turns));
    }
}

/// A refusal shows no record, whatever it was asked for.
#[test]
fn a_list_that_was_refused_is_not_read() {
    let all = Step { optional: true, ..list(json!({"action": "list"})) };
    let turns = run_episode(&profile("perfect"), vec![all, get()], 0, 9, |call, _| {
        match (call.arguments["action"].as_str(), call.arguments["status"].as_str()) {
            (Some("list"), Some(_)) => ok(&rows(60..80)),
            (Some("list"), _) => error("There are too many rows."),
            _ => ok("{}"),
        }
    });
    assert_eq!(arguments(&turns)[1], json!({"action": "list", "status": "open"}), "{:?}", sent(&turns));
    assert_eq!(arguments(&turns)[2]["invoice_id"], "inv_70");
    assert!(is_done(&turns));
}

#[test]
fn a_number_for_the_text_that_has_to_be_found_is_sent_after_it_was_looked_up() {
    let call = |id: Value| json!({"action": "get", "invoice_id": id});
    let mistaken = step("billing", call(json!("8842")), call(json!(8842)));
    let mistaken = with_query(mistaken, "invoice_id", "id", json!({"number": "INV-70"}));
    let turns = run_episode(&profile("perfect"), vec![mistaken], 0, 9, |call, _| match &call.arguments["invoice_id"] {
        Value::Null => ok(r#"[{"id": "8842", "number": "INV-70"}]"#),
        Value::String(_) => ok("{}"),
        _ => error("invoice_id: Expected string, received number"),
    });
    let calls = arguments(&turns);
    assert_eq!(calls[1..], [call(json!(8842)), call(json!("8842"))], "{calls:?}");
    assert!(is_done(&turns));
}

#[test]
fn a_call_that_took_effect_before_a_timeout_is_not_repeated() {
    let call = json!({"action": "create", "email": "a@example.com", "amount": 120});
    let play = |listed: &str| {
        run_episode(&profile("perfect"), vec![step("billing", call.clone(), call.clone())], 0, 9, |call, index| {
            match call.arguments["action"].as_str() {
                Some("list") => ok(listed),
                _ if index == 0 => {
                    error("The request timed out. Call billing.list to check before you create it again.")
                }
                _ => ok("{}"),
            }
        })
    };
    let made = play(r#"[{"id": 1, "email": "a@example.com", "amount": 120}]"#);
    assert_eq!(sent(&made).len(), 2, "{:?}", sent(&made));
    for other in ["[]", r#"[{"id": 1, "email": "a@example.com", "amount": 12}]"#] {
        let turns = play(other);
        assert_eq!(sent(&turns).len(), 3, "{:?}", sent(&turns));
    }
}
