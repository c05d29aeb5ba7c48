//! Tests of profiles of moves: after an error one move is drawn.

use healbench_core::{ERROR_KINDS, Turn};
use healbench_reader::Profile;
use serde_json::{Value, json};

use crate::episode::*;

/// Returns a profile whose shares are the same after errors of every kind: changed, repeated, another tool.
fn toml(shares: [f64; 3], right_told: f64, right_untold: f64) -> String {
    let [changed, repeated, other_tool] = shares;
    let mut text = format!(
        "kind = \"moves\"\ncontext_window = 100000\n[moves]\nright_told = {right_told}\nright_untold = {right_untold}\n\
         repeat_again = 0.5\nlater_stop = 1.0\n"
    );
    for entry in &ERROR_KINDS {
        text +=
            &format!("[moves.{}]\nchanged = {changed}\nrepeated = {repeated}\nother_tool = {other_tool}\n", entry.name);
    }
    text
}

fn moves(shares: [f64; 3], right_told: f64, right_untold: f64) -> Profile {
    Profile::from_toml("m.toml", &toml(shares, right_told, right_untold)).unwrap()
}

const CHANGED: [f64; 3] = [1.0, 0.0, 0.0];

/// Returns the arguments of the calls of an episode whose intended call has `status` "paid", and whose draft has "payed". The text is
/// the answer to every other call.
fn arguments_sent(profile: &Profile, text: &str, trial: u32) -> (Vec<String>, Vec<Turn>) {
    let call = |status: &str| json!({"action": "list", "status": status});
    let steps = vec![step("billing", call("paid"), call("payed"))];
    let answer = |call: &healbench_core::ToolCall, _: usize| {
        if call.arguments["status"] == "paid" { ok("[]") } else { error(text) }
    };
    let turns = run_episode(profile, steps, trial, 6, answer);
    let sent = arguments(&turns).iter().map(Value::to_string).collect();
    (sent, turns)
}

const TOLD: &str = "Invalid value for `status`: expected one of \"paid\", \"open\".";
const UNTOLD: &str = "Something is not right here.";

#[test]
fn a_change_is_right_as_often_as_the_profile_says() {
    let fixed = [r#"{"action":"list","status":"payed"}"#, r#"{"action":"list","status":"paid"}"#];
    assert_eq!(arguments_sent(&moves(CHANGED, 1.0, 0.0), TOLD, 0).0, fixed);
    assert_eq!(arguments_sent(&moves(CHANGED, 0.0, 1.0), UNTOLD, 0).0, fixed);
    let share = |profile: &Profile, text: &str| {
        let right = (0..400)
            .filter(|trial| arguments_sent(profile, text, *trial).0.get(1).is_some_and(|sent| sent == fixed[1]));
        right.count()
    };
    // 400 draws: within 3.3 standard deviations.
    for (found, expected) in
        [(share(&moves(CHANGED, 0.7, 0.0), TOLD), 280_usize), (share(&moves(CHANGED, 0.0, 0.3), UNTOLD), 120)]
    {
        assert!(found.abs_diff(expected) <= 30, "{found} of 400, expected about {expected}");
    }
}

#[test]
fn repeating_and_stopping_read_nothing() {
    let (sent, turns) = arguments_sent(&moves([0.0; 3], 1.0, 1.0), TOLD, 0);
    assert_eq!((sent.len(), gave_up(&turns)), (1, true));
    let (sent, _) = arguments_sent(&moves([0.0, 1.0, 0.0], 1.0, 1.0), TOLD, 0);
    assert!(sent.len() > 1 && sent.iter().all(|call| *call == sent[0]), "{sent:?}");
    // A stated delay is waited for.
    let (_, turns) = arguments_sent(&moves([0.0, 1.0, 0.0], 1.0, 1.0), "Too many requests. Retry in 7 seconds.", 0);
    assert!(turns.iter().any(|turn| matches!(turn, Turn::Calls { waited_s: 7, .. })), "{turns:?}");
}

#[test]
fn another_tool_is_one_that_reads_or_the_next_step() {
    let (sent, turns) = arguments_sent(&moves([0.0, 0.0, 1.0], 1.0, 1.0), UNTOLD, 0);
    assert_eq!(sent, [r#"{"action":"list","status":"payed"}"#, r#"{"action":"get"}"#]);
    assert!(is_done(&turns), "nothing else reads, and there is no further step: {turns:?}");
}

#[test]
fn shares_are_checked_where_they_stand() {
    let error = |text: &str| Profile::from_toml("m.toml", text).unwrap_err().to_string();
    let text = toml([0.7, 0.2, 0.1], 1.0, 1.0);
    assert!(error(&text.replace("other_tool = 0.1", "other_tool = 0.2")).contains("add up to more than 1"));
    assert!(
        error(&text.replace("[moves.state]", "[moves.stat]")).contains("unknown key `moves.stat`"),
        "{}",
        error(&text.replace("[moves.state]", "[moves.stat]"))
    );
    assert!(error(&text.replace("kind = \"moves\"", "kind = \"move\"")).contains("`kind`"));
    let profile = Profile::from_toml("m.toml", &text).unwrap();
    assert_eq!(Profile::from_spec(&profile.spec("m")), Some(profile));
    let mut spec = profile.spec("m");
    spec.settings["moves"]["shares"]["state"]["changed"] = json!(2.0);
    assert_eq!(Profile::from_spec(&spec), None);
}

#[test]
fn where_nothing_can_change_the_named_call_is_made() {
    let call = json!({"action": "create", "amount": 5});
    let steps = || vec![step("billing", call.clone(), call.clone())];
    let profile = moves(CHANGED, 1.0, 0.0);
    let play = |text: &'static str| {
        let turns = run_episode(&profile, steps(), 0, 3, |call, _| {
            if call.arguments["action"] == "list" { ok("[]") } else { error(text) }
        });
        arguments(&turns).iter().map(|sent| sent["action"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        play("The amount is larger than what is left. Call billing.list to see it."),
        ["create", "list", "create"]
    );
    assert_eq!(play("The amount is larger than what is left."), ["create", "create", "create"]);
}

#[test]
fn a_tool_that_does_not_exist_is_replaced() {
    let wrong = healbench_core::ToolCall::new("documents", json!({"action": "create", "amount": 5}));
    let one = || healbench_core::Step { draft: wrong.clone(), ..step("billing", wrong.arguments.clone(), Value::Null) };
    for profile in [moves(CHANGED, 1.0, 0.0), profile("perfect")] {
        let turns = run_episode(&profile, vec![one()], 0, 4, |call, _| match call.tool.as_str() {
            "billing" => ok("{}"),
            _ => error("MCP error -32602: Tool documents not found"),
        });
        assert!(is_done(&turns), "{turns:?}");
    }
}

/// The list of tools has only the new name.
#[test]
fn a_tool_that_was_renamed_is_called_by_its_new_name() {
    let old = healbench_core::ToolCall::new("invoices", json!({"action": "create", "amount": 5}));
    let one = || healbench_core::Step { draft: old.clone(), ..step("billing", old.arguments.clone(), Value::Null) };
    for text in ["Tool invoices was renamed to billing.", "Unknown tool: invoices. Did you mean billing?"] {
        let turns = run_episode(&profile("perfect"), vec![one()], 0, 4, |call, _| match call.tool.as_str() {
            "billing" => ok("{}"),
            _ => error(text),
        });
        assert!(is_done(&turns), "{text}: {turns:?}");
    }
}
