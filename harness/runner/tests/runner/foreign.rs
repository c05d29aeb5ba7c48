//! Runs on a server, in front of which the guardrails are.

use std::collections::BTreeMap;

use healbench_core::{CallRecord, ChainEnd, ErrorClass};
use healbench_store::EpisodeResult;
use serde_json::{Value, json};

use super::*;
use crate::memory_server::{Mode, SCENARIO, STUB, run_on_server, run_scenario};

/// Runs the scenario of the server, and returns the plan and the rows.
fn rows_on_server(mode: Mode, trials: u32) -> (Plan, Records) {
    let (plan, results) = run_on_server(mode, trials);
    (plan, records_of(results))
}

fn records_of(results: Vec<EpisodeResult>) -> Records {
    let calls = results.iter().flat_map(|result| result.calls.clone()).collect();
    Records { episodes: results.into_iter().map(|result| result.episode).collect(), calls }
}

#[test]
fn a_server_is_played_by_all_agents_under_all_guardrails() {
    let (plan, records) = rows_on_server(Mode::Works, 3);
    assert_eq!(records.episodes.len() as u64, plan.len());
    let mut successes: BTreeMap<String, u32> = BTreeMap::new();
    for row in &records.episodes {
        let cell = plan.cell(row.episode).unwrap();
        let agent = &plan.agents[cell.agent].name;
        assert!(row.outcome.is_scored(), "{row:?}");
        let mut calls = records.calls.iter().filter(|call| call.episode == row.episode);
        let reached_the_server = calls.any(|call| call.error_class != Some(ErrorClass::Validation));
        assert_eq!(row.counts.leaked_fields.is_none(), reached_the_server, "unknown is null: {row:?}");
        if agent == STUB {
            // The server's text and that of a format name the role; the line of a bare refusal does not.
            let guardrails = plan.conditions[cell.condition].guardrails();
            let is_bare = guardrails.strict && !guardrails.healing;
            assert_eq!(row.outcome == Outcome::Success, !is_bare, "{guardrails}: {row:?}");
        }
        *successes.entry(agent.clone()).or_default() += u32::from(row.outcome == Outcome::Success);
    }
    assert_eq!(successes["blind"], 0, "{successes:?}");
    assert!(successes["perfect"] > 0, "{successes:?}");
    for call in &records.calls {
        let cell = plan.cell(call.episode).unwrap();
        let guardrails = plan.conditions[cell.condition].guardrails();
        check_row(call, guardrails);
    }
}

/// Checks what a row says about its call by the table of guardrails in front of a server.
fn check_row(call: &CallRecord, guardrails: Guardrails) {
    let class = call.error_class.as_ref();
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    let is_valid = call.tool.as_ref() == "list_people" || arguments == json!({"name": "Ada", "role": "editor"});
    match (call.is_error, guardrails.strict) {
        (false, _) => assert_eq!(class, None),
        // What does not fit the schema is refused before it reaches the server.
        (true, true) => assert_eq!(class, Some(&ErrorClass::Validation), "{call:?}"),
        (true, false) => assert_eq!(class, Some(&ErrorClass::ServerError), "{call:?}"),
    }
    if is_valid {
        assert!(!call.is_error, "{call:?}");
    }
    if class == Some(&ErrorClass::ServerError) {
        assert_eq!(call.state_changed, None);
        assert_eq!(call.leaked_fields, None);
        let names: Vec<String> = call.named_fields.as_deref().unwrap_or_default().to_vec();
        assert!(names == ["role"] || names == ["name"], "{names:?}: {call:?}");
    }
    if guardrails == Guardrails::NONE {
        assert_eq!(call.guardrail_tokens, 0, "nothing is added without guardrails: {call:?}");
    }
    assert_eq!((call.injected, call.omitted_rows, call.contract_deltas), (false, 0, 0));
}

#[test]
fn no_two_sessions_answer_alike_and_nothing_is_cached() {
    let (plan, records) = rows_on_server(Mode::Works, 3);
    let mut hashes: Vec<u64> = Vec::new();
    for call in &records.calls {
        let cell = plan.cell(call.episode).unwrap();
        let reached_the_server = call.error_class != Some(ErrorClass::Validation) && call.tool.as_ref() == "invite";
        if reached_the_server && plan.conditions[cell.condition].guardrails() == Guardrails::NONE {
            hashes.push(call.response_hash);
        }
    }
    let distinct: BTreeSet<u64> = hashes.iter().copied().collect();
    assert!(hashes.len() > 10);
    assert_eq!(distinct.len(), hashes.len());
}

#[test]
fn protocol_errors_have_their_own_class() {
    let (_, records) = rows_on_server(Mode::ProtocolErrors, 1);
    let classes: BTreeSet<&str> =
        records.calls.iter().filter_map(|call| Some(call.error_class.as_ref()?.name())).collect();
    assert_eq!(classes, BTreeSet::from(["PROTOCOL_ERROR", "VALIDATION"]));
}

#[test]
fn an_episode_without_its_server_is_lost_and_not_scored() {
    for mode in [Mode::Missing, Mode::Dies] {
        let (plan, records) = rows_on_server(mode, 1);
        assert_eq!(records.episodes.len() as u64, plan.len());
        for row in &records.episodes {
            let cell = plan.cell(row.episode).unwrap();
            let refused = records.calls.iter().any(|call| call.episode == row.episode);
            // Only what the guardrails refuse needs no server.
            assert!(!refused || plan.conditions[cell.condition].guardrails().strict, "{row:?}");
            if !refused {
                assert_eq!(row.outcome, Outcome::Infra, "{row:?}");
            }
        }
    }
}

#[test]
fn everything_that_a_transcript_needs_is_recorded() {
    let (plan, results) = run_on_server(Mode::Works, 2);
    for result in &results {
        let turns = result.recorded_turns.as_ref().unwrap();
        let sent = turns.turns.iter().filter_map(|recorded| match &recorded.turn {
            Turn::Calls { calls, .. } => Some(calls.len()),
            _ => None,
        });
        assert!(sent.sum::<usize>() >= result.calls.len(), "{result:?}");
        assert_eq!(turns.unmet.is_empty(), result.episode.outcome == Outcome::Success, "{result:?}");
        for call in &result.calls {
            let mut found = result.responses.iter().filter(|response| response.response_hash == call.response_hash);
            let response = found.next().unwrap();
            assert!(found.next().is_none(), "a response is there once");
            assert_eq!((response.is_error, response.tokens), (call.is_error, call.response_tokens));
            assert_eq!(response.unguarded_text.is_some(), call.is_error);
            let cell = plan.cell(call.episode).unwrap();
            if call.error_class == Some(ErrorClass::ServerError) && plan.conditions[cell.condition].guardrails().healing
            {
                let sent = response.unguarded_text.as_deref().unwrap();
                assert!(sent.contains("(request ") && response.text() != sent, "{response:?}");
            }
        }
    }
}

/// The state of a server is checked only at the end, which decides about the last write.
#[test]
fn the_last_write_is_no_wrong_repair_if_the_expectations_hold_at_the_end() {
    let with_note = SCENARIO
        .replace("name: {type: string}", "name: {type: string}\n            note: {type: string}")
        .replace("arguments: {name: Ada, role: editor}", "arguments: {name: Ada, role: editor, note: hi}");
    let never_met = with_note.replace("\nexpect:\n", "\nexpect:\n  - called: {tool: list_people}\n");
    for (text, end, outcome) in
        [(&with_note, ChainEnd::Fixed, Outcome::Success), (&never_met, ChainEnd::WrongRepair, Outcome::TaskFail)]
    {
        let (plan, results) = run_scenario(text, Mode::Works, 1);
        let records = records_of(results);
        let mut ends = Vec::new();
        for row in &records.episodes {
            let calls = || records.calls.iter().filter(|call| call.episode == row.episode);
            let is_stub = plan.agents[plan.cell(row.episode).unwrap().agent].name == STUB;
            if is_stub && calls().count() == 2 {
                assert!(calls().all(|call| call.intended == Some(false)));
                assert_eq!(row.outcome, outcome);
                ends.extend(calls().map(|call| call.chain_end));
            }
        }
        assert!(!ends.is_empty() && ends.chunks(2).all(|pair| *pair == [None, Some(end)]), "{ends:?}");
    }
}
