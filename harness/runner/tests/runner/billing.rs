//! Billed tokens: everything that is in the conversation is sent with every turn.

use healbench_core::{BilledTokens, Origin, TurnCost};
use healbench_tokens::TokenCounter;
use serde_json::json;

use super::outcomes::{ROLLED_BACK, SCRIPT, TASK, TurnsAgent, call, run_agent};
use super::*;

const PREAMBLE: &str = "Carry out the task with these tools.";
const TALK: &str = "I look at the list first.";
const ANSWER: &str = "All done.";

fn origin(kind: AgentKind) -> Origin {
    if kind == AgentKind::Llm { Origin::Model(TurnCost::default()) } else { Origin::Script }
}

/// Returns the episode of an agent that says something, makes a call that fails, lists, and possibly answers.
fn run(
    kind: AgentKind,
    first: Origin,
    ends_with_answer: bool,
    window: Option<u64>,
) -> (EpisodeRecord, [u64; 4], [u64; 2]) {
    let mut turns = vec![
        (Turn::Message { text: TALK.to_owned() }, first),
        (call("rollback", json!({"ids": "D-1"})), first),
        (call("list", json!({})), origin(kind)),
    ];
    if ends_with_answer {
        turns.push((Turn::Done { answer: ANSWER.to_owned() }, origin(kind)));
    } else {
        turns.push((call("list", json!({"id": "D-2"})), origin(kind)));
    }
    let agent = TurnsAgent { preamble: PREAMBLE.to_owned(), window, ..TurnsAgent::new(turns) };
    let max_calls = if ends_with_answer { 6 } else { 2 };
    let scenario = TASK.replace("max_calls: 6", &format!("max_calls: {max_calls}"));
    let (row, calls) = run_agent(&[&scenario, ROLLED_BACK, SCRIPT].concat(), kind, agent);
    assert_eq!(calls.len(), 2, "{calls:?}");
    let mut counter = TokenCounter::new();
    let mut tokens = |text: &str| u64::from(counter.count(text));
    let task = ["Roll back D-1.", PREAMBLE, TALK, ANSWER].map(&mut tokens);
    let responses = [0, 1].map(|at: usize| u64::from(calls[at].response_tokens));
    let requests: u64 = calls.iter().map(|call| u64::from(call.request_tokens)).sum();
    assert!(responses[0] > 20 && requests > 0);
    (row, task, responses)
}

fn request(arguments: serde_json::Value) -> u64 {
    let Turn::Calls { calls, .. } = call("list", arguments) else { unreachable!() };
    TokenCounter::new().count(&calls[0].wire_text()).into()
}

fn rollback() -> u64 {
    let Turn::Calls { calls, .. } = call("rollback", json!({"ids": "D-1"})) else { unreachable!() };
    TokenCounter::new().count(&calls[0].wire_text()).into()
}

#[test]
fn each_turn_is_billed_for_the_conversation_so_far() {
    for kind in [AgentKind::Scripted, AgentKind::Llm] {
        let (row, [prompt, preamble, talk, answer], [error, list]) = run(kind, origin(kind), true, None);
        let (first, second) = (rollback(), request(json!({})));
        let input = 4 * (preamble + prompt) + 3 * talk + 2 * (first + error) + (second + list);
        let output = talk + first + second + answer;
        assert_eq!(row.billed.unwrap(), BilledTokens { input, output, unsent: 0 }, "{kind:?}");
    }
}

#[test]
fn what_comes_after_the_last_turn_is_unsent() {
    for kind in [AgentKind::Scripted, AgentKind::Llm] {
        // The third call is over the limit: it was written, and never made.
        let (row, [prompt, preamble, talk, _], [error, list]) = run(kind, origin(kind), false, None);
        assert_eq!(row.ended_by, EndedBy::CallLimit);
        let (first, second, dropped) = (rollback(), request(json!({})), request(json!({"id": "D-2"})));
        let input = 4 * (preamble + prompt) + 3 * talk + 2 * (first + error) + (second + list);
        let output = talk + first + second + dropped;
        assert_eq!(row.billed.unwrap(), BilledTokens { input, output, unsent: 0 }, "{kind:?}");
    }
    // A model that has met all expectations is not asked again.
    let turn = (call("rollback", json!({"id": "D-1"})), origin(AgentKind::Llm));
    let scenario = [TASK, ROLLED_BACK, SCRIPT].concat();
    let (row, calls) = run_agent(&scenario, AgentKind::Llm, TurnsAgent::new(vec![turn]));
    assert_eq!(row.ended_by, EndedBy::GoalReached);
    assert!(row.billed.unwrap().unsent > 0);
    assert_eq!(row.billed.unwrap().unsent, u64::from(calls[0].response_tokens));
}

#[test]
fn the_turns_of_an_opening_are_not_billed() {
    let (row, [prompt, preamble, talk, answer], [error, list]) = run(AgentKind::Llm, Origin::Opening, true, None);
    let (first, second) = (rollback(), request(json!({})));
    let input = 2 * (preamble + prompt + talk + first + error) + (second + list);
    assert_eq!(row.billed.unwrap(), BilledTokens { input, output: second + answer, unsent: 0 });
}

#[test]
fn what_does_not_fit_into_the_context_window_is_unsent() {
    let (whole, [prompt, preamble, talk, _], [error, list]) = run(AgentKind::Scripted, Origin::Script, true, None);
    let (first, second) = (rollback(), request(json!({})));
    let before = preamble + prompt + talk + first;
    // Half of the error fits; nothing that comes later does.
    let window = before + error / 2;
    let (row, ..) = run(AgentKind::Scripted, Origin::Script, true, Some(window));
    let input = 2 * (preamble + prompt) + talk + 2 * window;
    let unsent = error - error / 2 + list;
    assert_eq!(row.billed.unwrap(), BilledTokens { input, unsent, ..whole.billed.unwrap() });
    // Everything fits exactly.
    let (row, ..) = run(AgentKind::Scripted, Origin::Script, true, Some(before + error + second + list));
    assert_eq!(row.billed, whole.billed);
}
