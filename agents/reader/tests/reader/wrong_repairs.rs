//! Tests of wrong repairs: wrong values and wrong actions.

use healbench_core::Turn;
use healbench_reader::Profile;
use serde_json::{Value, json};

use crate::episode::*;

fn intended() -> Value {
    json!({"action": "create", "amount": 120, "currency": "USD", "email": "anna@example.com"})
}

fn draft(field: &str, value: Value) -> Value {
    let mut draft = intended();
    draft[field] = value;
    draft
}

/// Runs one step of which the first call fails with `text`; all others succeed unless `accepts` says no.
fn run(profile: &Profile, draft: Value, text: &str, trial: u32, accepts: impl Fn(&Value) -> bool) -> Vec<Turn> {
    run_episode(profile, vec![step("billing", intended(), draft)], trial, 40, |call, n| {
        if n > 0 && accepts(&call.arguments) { ok("{}") } else { error(text) }
    })
}

fn wrong_values(wrong_value: f64) -> Profile {
    Profile { wrong_value, ..profile("perfect") }
}

fn wrong_actions(wrong_action: f64) -> Profile {
    Profile { wrong_action, ..profile("perfect") }
}

#[test]
fn a_wrong_value_resembles_the_right_one() {
    for (field, sent, text, expected) in [
        ("amount", json!("many"), "amount: Expected type: number.", json!([119, 121])),
        ("email", json!("anna"), "email: Invalid email.", json!(["anna@exampl.com"])),
        ("currency", Value::Null, "currency: Required.", json!(["US"])),
        // A text that says more offers no other wrong value: of two texts for one failure, neither leads to worse ones.
        ("currency", json!("USDD"), "currency: valid options: 'USD', 'EUR', 'GBP'.", json!(["US"])),
        ("amount", json!(0), "amount: Number must be at least 10.", json!([119, 121])),
        ("amount", json!("many"), "amount: Expected type: number. Example: {\"amount\": 20}", json!([119, 121])),
    ] {
        let mut seen = Vec::new();
        for trial in 0..40 {
            let sent = arguments(&run(&wrong_values(1.0), draft(field, sent.clone()), text, trial, |_| true));
            assert_eq!(sent.len(), 2, "{text}");
            assert_eq!(draft(field, sent[1][field].clone()), sent[1], "only `{field}` is changed");
            seen.push(sent[1][field].to_string());
        }
        seen.sort();
        seen.dedup();
        let mut expected: Vec<String> = expected.as_array().unwrap().iter().map(Value::to_string).collect();
        expected.sort();
        assert_eq!(seen, expected, "{text}");
    }
}

#[test]
fn a_wrong_value_that_is_refused_is_repaired_in_a_later_turn() {
    let half = wrong_values(0.5);
    let text = "amount: Expected type: number. It has to be at most 120, and at least 120.";
    let turns: Vec<_> = (0..40)
        .map(|trial| run(&half, draft("amount", json!("many")), text, trial, |sent| sent["amount"] == 120))
        .collect();
    assert!(turns.iter().all(|turns| is_done(turns)));
    assert!(turns.iter().any(|turns| turns.len() > 3));
    // The right amount ends every episode.
    assert!(turns.iter().all(|turns| arguments(turns).last() == Some(&intended())));
}

#[test]
fn a_renamed_field_keeps_its_value() {
    let mut misspelled = intended();
    misspelled.as_object_mut().unwrap().shift_remove("currency");
    misspelled["curency"] = json!("USD");
    let text = "Unrecognized key(s) in object: 'curency'. Remove or correct unrecognized fields: 'curency'.";
    let sent = arguments(&run(&wrong_values(1.0), misspelled, text, 0, |_| true));
    assert_eq!(sent[1]["currency"], "USD");
}

#[test]
fn one_value_of_an_object_is_wrong() {
    let mut right = intended();
    right["address"] = json!({"city": "Bad Ischl", "zip": "4820"});
    for trial in 0..20 {
        let turns =
            run_episode(&wrong_values(1.0), vec![step("billing", right.clone(), intended())], trial, 9, |_, n| {
                if n == 0 { error("address: Required.") } else { ok("{}") }
            });
        let address = &arguments(&turns)[1]["address"];
        let right = &right["address"];
        assert!((address["city"] == right["city"]) ^ (address["zip"] == right["zip"]), "{address}");
    }
}

const UNKNOWN: &str = "[UNKNOWN_ACTION] The action \"craete\" does not exist.\n💡 Suggestion: Choose a valid action and call the \
     tool again.\n📋 Try: list, create, get";

#[test]
fn a_wrong_action_is_another_one_of_the_tool_and_is_corrected_if_it_fails() {
    let mut seen = Vec::new();
    for trial in 0..20 {
        let accepted = run(&wrong_actions(1.0), draft("action", json!("craete")), UNKNOWN, trial, |_| true);
        let action = arguments(&accepted)[1]["action"].as_str().unwrap().to_owned();
        assert!(is_done(&accepted) && accepted.len() == 3, "a reader does not notice what succeeds: {accepted:?}");
        seen.push(action);
        let refused =
            run(&wrong_actions(1.0), draft("action", json!("craete")), UNKNOWN, trial, |sent| *sent == intended());
        assert!(is_done(&refused) && refused.len() == 4, "{refused:?}");
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen, ["get", "list"]);
}

#[test]
fn a_wrong_action_replaces_one_that_is_suggested() {
    let text = "[CONFLICT] The customer has open invoices.\n📋 Try: list";
    let turns = run_episode(&wrong_actions(1.0), vec![step("billing", intended(), intended())], 0, 9, |_, n| {
        if n == 0 { error(text) } else { ok("{}") }
    });
    let actions: Vec<Value> = arguments(&turns).iter().map(|sent| sent["action"].clone()).collect();
    assert_eq!(json!(actions), json!(["create", "get", "create"]));
    let right = run_episode(&wrong_actions(0.0), vec![step("billing", intended(), intended())], 0, 9, |_, n| {
        if n == 0 { error(text) } else { ok("{}") }
    });
    assert_eq!(arguments(&right)[1]["action"], "list");
}

/// The frequency of wrong repairs is the probability given.
#[test]
fn wrong_repairs_are_as_frequent_as_the_profile_says() {
    const TRIALS: u32 = 4000;
    let frequency = |profile: &Profile, draft: &Value, text: &str| {
        let wrong = (0..TRIALS).filter(|trial| {
            arguments(&run(profile, draft.clone(), text, *trial, |_| true)).get(1) != Some(&intended())
        });
        wrong.count() as f64 / f64::from(TRIALS)
    };
    for probability in [0.05_f64, 0.3, 0.8] {
        // Four standard errors: with a fixed seed, the test does not fail by chance.
        let error = 4.0 * (probability * (1.0 - probability) / f64::from(TRIALS)).sqrt();
        let amount = draft("amount", json!("many"));
        let value = frequency(&wrong_values(probability), &amount, "amount: Expected type: number.");
        assert!((value - probability).abs() < error, "{value} for {probability}");
        let action = frequency(&wrong_actions(probability), &draft("action", json!("craete")), UNKNOWN);
        assert!((action - probability).abs() < error, "{action} for {probability}");
    }
}

/// All other decisions have the same draws whatever the probabilities of wrong repairs are.
#[test]
fn wrong_repairs_change_no_other_decision() {
    let base = Profile { wrong_value: 0.0, wrong_action: 0.0, ..profile("typical") };
    let text = "  • amount — Expected type: number.\n  • currency — Valid options: 'USD', 'EUR'.";
    let both = Profile { wrong_value: 1.0, wrong_action: 1.0, ..base };
    let mut wrong = draft("amount", json!("many"));
    wrong["currency"] = json!("USDD");
    for trial in 0..200 {
        let sent = |profile: &Profile| run(profile, wrong.clone(), text, trial, |_| true);
        let (right, other) = (sent(&base), sent(&both));
        assert_eq!(right.len(), other.len());
        let changed = |turns: &[Turn]| {
            let sent = arguments(turns);
            sent.get(1).map(|sent| (sent["amount"] != wrong["amount"], sent["currency"] != wrong["currency"]))
        };
        assert_eq!(changed(&right), changed(&other));
    }
}
