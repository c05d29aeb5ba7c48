//! Tests that calls are repaired by what an error says, and only by that.

use healbench_core::{Step, Turn};
use healbench_reader::Profile;
use serde_json::{Value, json};

use crate::episode::*;

fn intended() -> Value {
    json!({
        "action": "create", "amount": 120, "currency": "USD", "email": "a@example.com", "due": "2026-01-31",
        "address": {"city": "Graz", "zip": "8010"}, "lines": [{"qty": 2}],
    })
}

/// Returns the intended arguments with one change.
fn mutated(change: impl FnOnce(&mut Value)) -> Value {
    let mut draft = intended();
    change(&mut draft);
    draft
}

fn field_xml(name: &str, message: &str) -> String {
    format!(
        "<validation_error action=\"billing/create\">\n  <field name=\"{name}\">{message}</field>\n  <recovery>Fix the fields \
         above and call the tool again. Do not explain the error.</recovery>\n</validation_error>"
    )
}

fn field_text(name: &str, message: &str) -> String {
    format!(
        "⚠️ VALIDATION FAILED — ACTION 'BILLING.CREATE'\n  • {name} — {message}\n💡 Fix the fields above and call the tool again. \
         Do not explain the error."
    )
}

const ROUTING_XML: &str = "<tool_error code=\"UNKNOWN_ACTION\">\n  <message>The action \"craete\" does not exist.</message>\n  \
     <available_actions>list, create, get</available_actions>\n  <recovery>Choose a valid action from available_actions and \
     call the tool again.</recovery>\n</tool_error>";
const MISSING_XML: &str = "<tool_error code=\"MISSING_DISCRIMINATOR\">\n  <message>The required field \"action\" is \
     missing.</message>\n  <available_actions>list, create, get</available_actions>\n  <recovery>Add the \"action\" field and \
     call the tool again.</recovery>\n</tool_error>";

const ROUTING_TEXT: &str = "[UNKNOWN_ACTION] The action \"craete\" does not exist.\n💡 Suggestion: Choose a valid action and call the \
     tool again.\n📋 Try: list, create, get";
const MISSING_TEXT: &str = "[MISSING_DISCRIMINATOR] The required field \"action\" is missing.\n💡 Suggestion: Add the \"action\" \
     field and call the tool again.\n📋 Try: list, create, get";

/// Returns mistakes: name, arguments of the draft call, and error texts that name the mistake.
fn mistakes() -> Vec<(&'static str, Value, Vec<String>)> {
    let both_formats = |name: &str, message: &str| vec![field_xml(name, message), field_text(name, message)];
    let put = |path: &str, value: Value| mutated(|draft| *draft.pointer_mut(path).unwrap() = value);
    let drop = |name: &str| mutated(|draft| _ = draft.as_object_mut().unwrap().shift_remove(name));
    let unrecognized = |name: &str| {
        vec![
            field_xml(
                "(root)",
                &format!(
                    "Unrecognized key(s) in object: '{name}'. Remove or correct unrecognized fields: '{name}'. Check for typos."
                ),
            ),
            field_text(
                name,
                &format!(
                    "Unrecognized keys. You sent: '{name}'. Remove or correct unrecognized fields: '{name}'. Check for typos."
                ),
            ),
        ]
    };
    let mut hallucinated = intended();
    hallucinated["priority"] = json!("high");
    let mut misspelled = drop("currency");
    misspelled["curency"] = json!("USD");
    vec![
        (
            "missing",
            drop("currency"),
            both_formats("currency", "Required. You sent: (missing). Expected type: string."),
        ),
        (
            "wrong_type",
            put("/amount", json!("a lot")),
            both_formats("amount", "Expected number, received string. You sent: 'a lot'. Expected type: number."),
        ),
        (
            "wrong_enum",
            put("/currency", json!("USDD")),
            both_formats(
                "currency",
                "Invalid enum value. Expected 'USD' | 'EUR', received 'USDD'. You sent: 'USDD'. Valid options: 'USD', 'EUR'.",
            ),
        ),
        (
            "out_of_range",
            put("/amount", json!(0)),
            both_formats("amount", "Number must be greater than or equal to 1. You sent: 0. Expected: >= 1."),
        ),
        (
            "bad_format",
            put("/email", json!("bad-email")),
            both_formats(
                "email",
                "Invalid email. You sent: 'bad-email'. Expected: a valid email address (e.g. user@example.com).",
            ),
        ),
        ("bad_format", put("/due", json!("31.1.26")), both_formats("due", "Invalid date. Expected: YYYY-MM-DD.")),
        ("hallucinated_field", hallucinated, unrecognized("priority")),
        ("misspelled_field", misspelled, unrecognized("curency")),
        ("misspelled_action", put("/action", json!("craete")), vec![ROUTING_XML.to_owned(), ROUTING_TEXT.to_owned()]),
        ("missing_discriminator", drop("action"), vec![MISSING_XML.to_owned(), MISSING_TEXT.to_owned()]),
        (
            "nested",
            put("/address/city", json!(5)),
            both_formats("address.city", "Expected string, received number. You sent: 5. Expected type: string."),
        ),
        (
            "nested",
            put("/lines/0/qty", json!(0)),
            both_formats("lines.0.qty", "Number must be at least 1. You sent: 0."),
        ),
    ]
}

/// Runs one step that fails with `text` until the call equals the intended one.
fn run_repair(profile: &Profile, draft: &Value, text: &str) -> Vec<Turn> {
    let right = intended();
    run_episode(profile, vec![step("billing", right.clone(), draft.clone())], 0, 40, |call, _| {
        if canonical(&call.arguments) == canonical(&right) { ok("{}") } else { error(text) }
    })
}

fn canonical(value: &Value) -> String {
    healbench_core::canonical_json(value)
}

#[test]
fn perfect_fixes_every_mistake_at_once() {
    for (mistake, draft, texts) in mistakes() {
        for text in texts {
            let turns = run_repair(&profile("perfect"), &draft, &text);
            assert!(is_done(&turns), "{mistake}: {turns:#?}\n{text}");
            assert_eq!(turns.len(), 3, "{mistake}: {turns:#?}\n{text}");
        }
    }
}

#[test]
fn perfect_never_fixes_from_a_bare_line() {
    for (mistake, draft, _) in mistakes() {
        for bare in
            ["Error: Invalid arguments", "Error: Unknown action", "Error: Invoice not found", "Error: Internal error"]
        {
            let turns = run_repair(&profile("perfect"), &draft, bare);
            assert!(gave_up(&turns), "{mistake}: {turns:#?}");
            assert_eq!(turns.len(), 2, "{mistake}: {turns:#?}");
        }
    }
}

/// The calls of an agent that follows no statements do not depend on the texts.
#[test]
fn blind_ignores_the_text_of_errors() {
    for (mistake, draft, texts) in mistakes() {
        for trial in 0..8 {
            let turns = |text: &str| {
                let steps = vec![step("billing", intended(), draft.clone())];
                run_episode(&profile("blind"), steps, trial, 40, |_, _| error(text))
            };
            for text in &texts {
                assert_eq!(turns(text), turns("Error: Invalid arguments"), "{mistake}");
            }
        }
    }
}

/// The tool list is older than the server, so the intended action is known from the script only.
#[test]
fn an_action_that_is_newer_than_the_tool_list_is_found_among_those_that_are_listed() {
    let right = mutated(|intended| intended["action"] = json!("add_invoice"));
    let text = "[UNKNOWN_ACTION] The action \"create\" does not exist.\n💡 Suggestion: Choose a valid action and call the tool \
         again.\n📋 Try: find_invoices, add_invoice, void_invoice";
    let turns = run_episode(&profile("perfect"), vec![step("billing", right.clone(), intended())], 0, 8, |call, _| {
        if call.arguments == right { ok("{}") } else { error(text) }
    });
    assert!(is_done(&turns) && turns.len() == 3, "{turns:#?}");
}

#[test]
fn several_fields_are_fixed_up_to_the_profiles_limit() {
    let draft = mutated(|draft| {
        draft["amount"] = json!("x");
        draft["email"] = json!("x");
        draft["currency"] = json!("x");
    });
    let text =
        "  • amount — Expected type: number.\n  • email — Invalid email.\n  • currency — Valid options: 'USD', 'EUR'.";
    assert_eq!(run_repair(&profile("perfect"), &draft, text).len(), 3);
    let one = Profile { fixes_per_turn: 1, ..profile("perfect") };
    let sent = arguments(&run_repair(&one, &draft, text));
    assert_eq!(sent.len(), 4);
    assert_eq!((&sent[1]["amount"], &sent[1]["email"]), (&json!(120), &json!("x")));
}

/// A statement that the intended value does not satisfy changes nothing.
#[test]
fn unexplained_values_are_not_changed() {
    for (name, wrong, message) in [
        ("currency", json!("USDD"), "Valid options: 'EUR', 'GBP'."),
        ("amount", json!(0), "Number must be at least 500."),
        ("amount", json!("x"), "Expected type: boolean."),
        ("amount", json!(0), "Expected type: number."),
        ("email", json!("bad"), "must match pattern ^[0-9]+$"),
        ("iban", json!("x"), "Required."),
    ] {
        let draft = mutated(|draft| draft[name] = wrong);
        let turns = run_repair(&profile("perfect"), &draft, &field_text(name, message));
        assert_eq!(arguments(&turns), [draft], "{name}: {message}");
    }
}

/// Servers report missing fields in other words than `missing`, too.
#[test]
fn any_message_about_a_missing_field_fills_it() {
    for (name, message) in [
        ("currency", r#"[{"code": "invalid_value", "values": ["USD", "EUR"], "path": ["currency"]}]"#),
        ("amount", "amount: Expected type: number."),
        ("amount", "amount has to be at least 1."),
        ("email", "email: Invalid email"),
        ("due", "due must match the pattern ^[0-9-]+$"),
        ("address", "address.city must be a string"),
        ("lines", "lines[0].qty: must be at least 1"),
        ("lines", "lines[0].qty is required"),
    ] {
        let draft = mutated(|draft| _ = draft.as_object_mut().unwrap().shift_remove(name));
        assert!(is_done(&run_repair(&profile("perfect"), &draft, message)), "{message}");
    }
    // The known value is not among the options.
    let draft = mutated(|draft| _ = draft.as_object_mut().unwrap().shift_remove("currency"));
    assert_eq!(run_repair(&profile("perfect"), &draft, "currency: valid options: 'GBP', 'CHF'").len(), 2);
}

/// A schema in the error lists valid fields too. A valid value stays even if the intended call has another.
#[test]
fn a_listed_constraint_changes_no_value_that_fits_it() {
    let draft = mutated(|draft| {
        draft["email"] = json!("other@example.com");
        draft["amount"] = json!("x");
    });
    let text = "1. **amount**: Expected number, received string\n\n- **email** (string)\n  Constraints: Format: email";
    let sent = arguments(&run_repair(&profile("perfect"), &draft, text));
    assert_eq!((&sent[1]["amount"], &sent[1]["email"]), (&json!(120), &json!("other@example.com")));
}

#[test]
fn a_changed_contract_adds_and_drops_fields() {
    let right = json!({"action": "create", "amount": 5, "currency": "USD"});
    let stale = json!({"action": "create", "amount": 5, "state": "open"});
    let text = |action: &str| {
        format!(
            "Error: Invalid arguments\n\n<contract_awareness><contract_deltas><delta severity=\"BREAKING\" \
             field=\"actions.{action}.inputSchema\"><previous>{{ amount: number, state: string }}</previous><current>{{ amount: \
             number, currency: string }}</current></delta></contract_deltas></contract_awareness>"
        )
    };
    let turns = |action: &str| {
        run_episode(&profile("perfect"), vec![step("billing", right.clone(), stale.clone())], 0, 9, |call, _| {
            if call.arguments == right { ok("{}") } else { error(&text(action)) }
        })
    };
    assert!(is_done(&turns("create")));
    // The path segment has to be the action's, and not one that only begins with it.
    assert!(gave_up(&turns("create_bulk")));
}

#[test]
fn a_delay_is_waited_for() {
    let steps = || vec![step("billing", intended(), intended())];
    for (text, expected) in [
        (
            "<tool_error code=\"RATE_LIMITED\"><message>Too many requests.</message><retry_after>30 seconds</retry_after></tool_error>",
            30,
        ),
        ("[RATE_LIMITED] Too many requests. Retry after 7 s.", 7),
        (r#"{"error": "slow down", "retry_after": 12}"#, 12),
        ("Error: Too many requests", 0),
        ("Error: Operation timed out", 0),
    ] {
        let turns = run_episode(&profile("perfect"), steps(), 0, 9, |_, n| if n == 0 { error(text) } else { ok("{}") });
        assert!(is_done(&turns), "{text}");
        let Turn::Calls { waited_s, .. } = &turns[1] else { panic!("{turns:?}") };
        assert_eq!(*waited_s, expected, "{text}");
    }
}

#[test]
fn a_forbidden_call_is_given_up() {
    let text =
        "[FORBIDDEN] Only administrators can delete projects.\n💡 Suggestion: Contact an admin to perform this action.";
    let eager = Profile { repeat: 1.0, ..profile("perfect") };
    let turns = run_episode(&eager, vec![step("billing", intended(), intended())], 0, 9, |_, _| error(text));
    assert_eq!(turns.len(), 2);
    assert!(gave_up(&turns));
}

#[test]
fn an_agent_gives_up_when_its_patience_ends() {
    let stubborn = Profile { repeat: 1.0, patience: 4, ..profile("perfect") };
    let turns = run_episode(&stubborn, vec![step("billing", intended(), intended())], 0, 99, |_, _| {
        error("Error: Invalid arguments")
    });
    assert_eq!(arguments(&turns).len(), 4);
    assert!(gave_up(&turns));
}

#[test]
fn chatter_comes_before_a_call_and_costs_a_turn() {
    let talker = Profile { chatter: 1.0, ..profile("perfect") };
    let turns = run_episode(&talker, vec![step("billing", intended(), intended())], 0, 9, |_, _| ok("{}"));
    assert!(matches!(turns.as_slice(), [Turn::Message { .. }, Turn::Calls { .. }, Turn::Done { .. }]), "{turns:?}");
}

#[test]
fn a_guess_changes_the_call() {
    let guesser = Profile { guess: 1.0, patience: 30, ..profile("blind") };
    let guesser = Profile { repeat: 0.0, ..guesser };
    let turns = run_episode(&guesser, vec![step("billing", intended(), intended())], 0, 99, |_, _| {
        error("Error: Invalid arguments")
    });
    let sent = arguments(&turns);
    assert_eq!(sent.len(), 30);
    assert!(sent.windows(2).filter(|pair| pair[0] != pair[1]).count() > 20);
}

#[test]
fn text_past_the_context_window_is_not_read() {
    let (_, draft, texts) = mistakes().swap_remove(0);
    let text = &texts[0];
    let needed = (text.len() as u64).div_ceil(4);
    let with = |context_window| Profile { context_window, ..profile("perfect") };
    assert!(is_done(&run_repair(&with(needed), &draft, text)));
    // The field's element stands in the first half, the advice in the second.
    assert!(is_done(&run_repair(&with(needed * 2 / 3), &draft, text)));
    assert!(gave_up(&run_repair(&with(10), &draft, text)));
    // The first text has filled the context window.
    let steps: Vec<Step> = vec![step("billing", intended(), intended()), step("billing", intended(), draft.clone())];
    let turns =
        run_episode(&with(needed), steps, 0, 9, |_, n| if n == 0 { ok(&"x".repeat(400_000)) } else { error(text) });
    assert!(gave_up(&turns));
}

#[test]
fn episodes_are_deterministic() {
    let (_, draft, texts) = mistakes().swap_remove(2);
    let turns = |trial| {
        let steps = vec![step("billing", intended(), draft.clone())];
        run_episode(&profile("careless"), steps, trial, 40, |_, _| error(&texts[0]))
    };
    let all: Vec<_> = (0..20).map(turns).collect();
    assert_eq!(all, (0..20).map(turns).collect::<Vec<_>>());
    assert!(all.iter().any(|episode| *episode != all[0]), "trials draw differently");
}

/// Equal statements get equal draws in all formats.
#[test]
fn formats_with_the_same_content_have_the_same_uptake() {
    for (mistake, draft, texts) in mistakes().iter().filter(|(_, _, texts)| texts.len() == 2) {
        for trial in 0..30 {
            let turns = |text: &str| {
                let steps = vec![step("billing", intended(), draft.clone())];
                run_episode(&profile("careless"), steps, trial, 40, |call, _| {
                    if canonical(&call.arguments) == canonical(&intended()) { ok("{}") } else { error(text) }
                })
            };
            assert_eq!(turns(&texts[0]), turns(&texts[1]), "{mistake}");
        }
    }
}

#[test]
fn a_script_without_steps_is_done() {
    assert!(is_done(&run_episode(&profile("typical"), Vec::new(), 0, 9, |_, _| ok(""))));
}

#[test]
fn a_conflicting_value_is_replaced_by_the_intended_one() {
    let mut draft = intended();
    draft["currency"] = json!("EUR");
    let text = "[CONFLICT] Invoice '7' already has the same currency and due.\n💡 Suggestion: Use the existing invoice, or send \
                another currency and due.";
    let turns = run_repair(&profile("perfect"), &draft, text);
    assert_eq!(arguments(&turns).len(), 2);
    assert!(is_done(&turns));
    // The value in use is the one that the task states, so there is no other to try.
    let turns =
        run_episode(&profile("perfect"), vec![step("billing", intended(), intended())], 0, 9, |_, _| error(text));
    assert_eq!(arguments(&turns).len(), 1);
    assert!(gave_up(&turns));
}

/// Returns what `perfect` sends last, if each call but the intended one is answered with this text.
fn last_sent(draft: Value, intended: &Value, text: &str) -> Value {
    let steps = vec![step("billing", intended.clone(), draft)];
    let turns =
        run_episode(
            &profile("perfect"),
            steps,
            0,
            6,
            |call, _| {
                if call.arguments == *intended { ok("{}") } else { error(text) }
            },
        );
    arguments(&turns).last().cloned().unwrap_or_default()
}

#[test]
fn an_argument_that_is_refused_and_not_needed_is_left_out() {
    let intended = json!({"action": "create", "amount": 5});
    for (draft, text) in [
        (json!({"action": "create", "amount": 5, "due": null}), "Invalid input: expected string, received null at due"),
        (json!({"action": "create", "amount": 5, "due": "soon"}), "due: must be a valid date"),
        (json!({"action": "create", "amount": 5, "currency": "XX"}), "currency: must be one of \"USD\", \"EUR\""),
        (json!({"action": "create", "amount": 5, "address": {"zip": 8010}}), "address: expected string"),
    ] {
        assert_eq!(last_sent(draft, &intended, text), intended, "{text}");
    }
}

#[test]
fn an_unknown_key_whose_value_was_meant_for_an_argument_is_renamed() {
    let intended = json!({"action": "create", "amount": 5, "due": "2026-01-31"});
    let text = "Unrecognized key(s) in object: 'deadline'";
    assert_eq!(
        last_sent(json!({"action": "create", "amount": 5, "deadline": "2026-01-31"}), &intended, text),
        intended
    );
    // Another value was not meant for it.
    let other = last_sent(json!({"action": "create", "amount": 5, "deadline": "high"}), &intended, text);
    assert_eq!(other, json!({"action": "create", "amount": 5}));
}

#[test]
fn after_an_empty_call_all_of_it_is_sent() {
    let intended = json!({"action": "create", "amount": 5, "due": "2026-01-31"});
    for text in ["amount is required", "Invalid input: expected number, received undefined at amount"] {
        assert_eq!(last_sent(json!({"action": "create"}), &intended, text), intended, "{text}");
    }
    // Of a call with arguments only what the text names.
    let partial = last_sent(json!({"action": "create", "currency": "USD"}), &intended, "amount is required");
    assert_eq!(partial, json!({"action": "create", "currency": "USD", "amount": 5}));
}

#[test]
fn an_empty_value_may_be_called_missing() {
    let intended = json!({"action": "create", "title": "Rent", "tags": ["a"]});
    for (field, empty, text) in
        [("title", json!(""), "title cannot be blank"), ("tags", json!([]), "tags must not be empty")]
    {
        let mut draft = intended.clone();
        draft[field] = empty;
        assert_eq!(last_sent(draft, &intended, text), intended, "{text}");
    }
    let meant = json!({"action": "create", "title": ""});
    assert_eq!(last_sent(meant.clone(), &meant, "title cannot be blank"), meant);
}

#[test]
fn the_text_of_a_number_is_no_valid_number() {
    let intended = json!({"action": "create", "amount": 20});
    for text in ["Expected 20 | 32, received string at amount", "amount: expected one of 20|32"] {
        assert_eq!(last_sent(json!({"action": "create", "amount": "20"}), &intended, text), intended, "{text}");
    }
}

/// Wordings that no format of the harness uses lead to the right call.
#[test]
fn what_is_said_in_other_words_is_repaired() {
    for (field, wrong, right, text) in [
        ("amount", json!(7), json!(123_456), "amount must be a 6-digit number"),
        ("amount", json!(700), json!(70), "amount: the largest value allowed is 100"),
        ("currency", json!("euro!"), json!("EUR"), "currency must be 3 uppercase letters"),
        ("email", json!("a"), json!("a/b"), "email must be given as owner/repo"),
        ("email", json!("a"), json!("b"), "Email a not found; the default email is b."),
        (
            "lines",
            json!(["x"]),
            json!([1]),
            "validating /properties/lines/items: type: x has type \"string\", want \"integer\"",
        ),
        ("currency", json!("x"), json!("EUR"), "Invalid currency. Valid currencies are:\n- EUR\n- CHF"),
    ] {
        let call = |value: &Value| json!({"action": "create", field: value});
        let steps = vec![step("billing", call(&right), call(&wrong))];
        let turns = run_episode(&profile("perfect"), steps, 0, 4, |call, _| {
            if call.arguments[field] == right { ok("{}") } else { error(text) }
        });
        assert_eq!(arguments(&turns), [call(&wrong), call(&right)], "{text}");
        assert!(is_done(&turns), "{text}");
    }
}
