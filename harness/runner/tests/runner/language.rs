//! The scenario language: what faults do and what rows say of them, and the examples, which are played as they are in runs.

use healbench_core::{CallRecord, FaultKind, Origin, ToolCall};
use healbench_reader::{Profile, ScriptedAgent, shipped_profile};
use serde_json::{Value, json};

use super::outcomes::{TurnsAgent, run_agent};
use super::*;

const PARCELS: &str = r#"
id: post/parcels
title: A parcel is sent
task: {prompt: Send a parcel to Ana., max_calls: 12}
tools:
  parcels:
    description: Parcels.
    actions:
      send:
        description: Send one.
        input: {properties: {to: {type: string}}, required: [to]}
        handler: {insert: parcels}
      list: {description: List them., input: {}, handler: {select: parcels}, read_only: true}
      get: {description: Get one., input: {properties: {id: {type: string}}, required: [id]}, handler: {get: parcels}, read_only: true}
world:
  parcels: {key_prefix: P-, rows: [{id: P-1, to: Bo, grams: 70}, {id: P-2, to: Cy, grams: 20}, {id: P-3, to: Di, grams: 30}]}
faults: [{FAULT}]
expect:
  - count: {in: parcels, where: {to: Ana}, equals: 1}
  - called: {tool: parcels, action: send, arguments: {to: Ana}}
script: [{call: {tool: parcels, action: send, arguments: {to: Ana}}}]
"#;

/// Returns the outcome of an agent that makes these calls, its rows, and what it was shown.
fn play(fault: &str, calls: &[(&str, Value)]) -> (Outcome, Vec<CallRecord>) {
    let turn = |(action, arguments): &(&str, Value)| {
        let mut all = json!({ "action": action });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        let calls = vec![ToolCall::new("parcels", all)];
        (Turn::Calls { calls, waited_s: 0, text: String::new() }, Origin::Script)
    };
    let done = (Turn::Done { answer: "Done.".to_owned() }, Origin::Script);
    let agent = TurnsAgent::new(calls.iter().map(turn).chain([done]).collect());
    let (episode, rows) = run_agent(&PARCELS.replace("FAULT", fault), AgentKind::Scripted, agent);
    (episode.outcome, rows)
}

/// Returns the responses to these calls.
fn texts(fault: &str, calls: &[(&str, Value)], seed: u64, trial: u32) -> Vec<String> {
    let text = PARCELS.replace("FAULT", fault);
    let scenario = healbench_scenarios::load_str("task.yaml", &text, healbench_scenarios::Syntax::Yaml).unwrap();
    let engine = healbench_engine::Engine::new(&scenario.tools, Guardrails::ALL, &ErrorFormat::FusionXml).unwrap();
    let mut world = healbench_engine::World::new(std::sync::Arc::new(healbench_engine::WorldBase::new(
        scenario.world(Seed(seed), 0),
    )))
    .with_draws(healbench_core::DrawKey::of_trial(Seed(seed), &scenario.id, trial));
    let answer = |(action, arguments): &(&str, Value)| {
        let mut all = json!({ "action": action });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        engine.call(&mut world, &ToolCall::new("parcels", all)).response.text().into_owned()
    };
    calls.iter().map(answer).collect()
}

fn send() -> (&'static str, Value) {
    ("send", json!({"to": "Ana"}))
}

fn list() -> (&'static str, Value) {
    ("list", json!({}))
}

/// Returns what a row says of a call: the fault, and whether it was told to have failed, and changed the state.
fn facts(row: &CallRecord) -> (Option<&'static str>, bool, bool, bool) {
    (row.fault.map(FaultKind::name), row.injected, row.is_error, row.state_changed == Some(true))
}

#[test]
fn a_call_that_times_out_after_its_commit_is_executed() {
    let (outcome, rows) = play("kind: timeout_after, on: parcels.send", &[send()]);
    assert_eq!((outcome, facts(&rows[0])), (Outcome::Success, (Some("timeout_after"), true, true, true)));
    assert_eq!(rows[0].error_class.as_ref().map(|class| class.name()), Some("TIMEOUT"));
    assert_eq!(rows[0].chain, None, "nothing has to be repaired");
    let (outcome, rows) = play("kind: timeout_after, on: parcels.send", &[send(), send()]);
    assert_eq!((outcome, facts(&rows[1])), (Outcome::TaskFail, (None, false, false, true)));
    // Calls whose handler fails are not counted.
    let (_, rows) = play("kind: timeout_after, on: parcels", &[("get", json!({"id": "P-9"})), send()]);
    assert_eq!((facts(&rows[0]), facts(&rows[1]).0), ((None, false, true, false), Some("timeout_after")));
}

#[test]
fn a_write_without_effect_is_told_as_a_success() {
    let (outcome, rows) = play("kind: no_op, on: parcels", &[list(), send()]);
    assert_eq!((outcome, facts(&rows[1])), (Outcome::TaskFail, (Some("no_op"), true, false, false)));
    let (outcome, rows) = play("kind: no_op, on: parcels.send", &[send(), list(), send()]);
    assert_eq!((outcome, facts(&rows[2])), (Outcome::Success, (None, false, false, true)));
    let shown = texts("kind: no_op, on: parcels.send", &[send(), list()], 1, 0);
    assert!(shown[0].contains("\"to\":\"Ana\"") && !shown[1].contains("Ana"), "{shown:?}");
}

#[test]
fn a_stale_read_shows_the_state_at_the_start() {
    let shown = texts("kind: stale, on: parcels", &[send(), list(), list()], 1, 0);
    assert!(!shown[1].contains("Ana") && shown[2].contains("Ana"), "{shown:?}");
    let (_, rows) = play("kind: stale, on: parcels", &[send(), list()]);
    assert_eq!((facts(&rows[0]).0, facts(&rows[1])), (None, (Some("stale"), true, false, false)));
    // A row that did not exist then cannot be read.
    let (_, rows) = play("kind: stale, on: parcels.get", &[send(), ("get", json!({"id": "P-4"}))]);
    assert_eq!(facts(&rows[1]), (Some("stale"), true, true, false));
}

#[test]
fn a_result_is_cut_or_has_other_values() {
    let rows = |fault: &str, seed: u64, trial: u32| -> Vec<Value> {
        let shown = texts(fault, &[list()], seed, trial).remove(0);
        serde_json::from_str(&shown).unwrap()
    };
    let right = rows("kind: stale, on: parcels", 1, 0);
    assert_eq!(right.len(), 3);
    assert_eq!(rows("kind: cut, on: parcels", 1, 0), right[..1]);
    let cut = rows("kind: cut, on: parcels, column: grams", 1, 0);
    assert!(cut.iter().all(|row| row.get("grams").is_none() && row.get("to").is_some()), "{cut:?}");
    let corrupt = |seed, trial| rows("kind: corrupt, on: parcels", seed, trial);
    let changed: Vec<Value> = (0..8).map(|trial| Value::from(corrupt(1, trial))).collect();
    for (trial, rows) in changed.iter().enumerate() {
        let differing = right.iter().zip(rows.as_array().unwrap()).filter(|(a, b)| a != b).count();
        assert_eq!(differing, 1, "{rows}");
        assert_eq!(&Value::from(corrupt(1, trial as u32)), rows);
    }
    assert!(changed.iter().any(|rows| rows != &changed[0]), "it is drawn for every trial");
    let all = rows("kind: corrupt, on: parcels, column: grams", 1, 0);
    assert!(right.iter().zip(&all).all(|(a, b)| a["grams"] != b["grams"] && a["to"] == b["to"]), "{all:?}");
    // One row that is no list.
    let get = |fault: &str| texts(fault, &[("get", json!({"id": "P-1"}))], 1, 0).remove(0);
    assert_ne!(get("kind: corrupt, on: parcels.get"), get("kind: stale, on: parcels.get"));
    assert_eq!(
        serde_json::from_str::<Value>(&get("kind: cut, on: parcels.get")).unwrap().as_object().unwrap().len(),
        2
    );
}

#[test]
fn bugs_of_servers_are_told_as_they_are() {
    let shown = |fault: &str| texts(fault, &[send(), list()], 1, 0);
    assert!(shown("kind: stack_trace, on: parcels.send")[0].contains("Traceback"));
    assert_eq!(shown("kind: protocol_error, on: parcels.send")[0], "MCP error -32603: Internal error");
    let silent = shown("kind: not_an_error, on: parcels.send, message: Oops.");
    assert!(silent[0].contains("Oops.") && !silent[1].contains("Ana"), "{silent:?}");
    let (outcome, rows) = play("kind: not_an_error, on: parcels.send", &[send()]);
    assert_eq!((outcome, facts(&rows[0])), (Outcome::TaskFail, (Some("not_an_error"), true, false, false)));
    assert!(rows[0].error_class.is_some());
    let (outcome, rows) = play("kind: not_an_error, on: parcels.send", &[send(), send()]);
    assert_eq!(outcome, Outcome::Success);
    assert_eq!(rows.iter().map(|row| row.chain_end.is_some()).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_misleading_text_is_marked_and_tells_no_answer() {
    let fault = "kind: internal, on: parcels.send, misleading: true, recovery: Set 'to' to Ana.";
    let bad = ("send", json!({"to": "Anna"}));
    let (_, rows) = play(fault, std::slice::from_ref(&bad));
    assert_eq!((facts(&rows[0]).0, rows[0].told_answer), (Some("misleading"), None));
    let (_, rows) = play(&fault.replace(", misleading: true", ""), &[bad]);
    assert_eq!((facts(&rows[0]).0, rows[0].told_answer), (Some("internal"), Some(true)));
}

#[test]
fn one_fault_strikes_a_call_and_all_count_it() {
    let two =
        "kind: no_op, on: parcels.send, from_call: 2}, {kind: timeout_after, on: parcels.send, from_call: 2, calls: 2";
    let (_, rows) = play(two, &[send(), send(), send()]);
    let faults: Vec<_> = rows.iter().map(|row| facts(row).0).collect();
    assert_eq!(faults, [None, Some("no_op"), Some("timeout_after")]);
}

/// Returns the scenarios that show the language.
pub(super) fn examples() -> Vec<Scenario> {
    load_suite(&[PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/examples"))]).unwrap()
}

fn perfect(trials: u32, conditions: &[&str]) -> (Plan, Vec<Scenario>, Profile) {
    let scenarios = examples();
    let profile: Profile = shipped_profile("perfect").unwrap();
    let entry = |name: &&str| healbench_core::CONDITIONS.iter().find(|entry| entry.name == *name).unwrap();
    let conditions = conditions.iter().map(|name| Condition::of(entry(name))).collect();
    let axes = Axes { agents: vec![profile.spec("perfect")], conditions, trials, seed: Seed(3) };
    (build_plan(&axes, &scenarios), scenarios, profile)
}

/// Rows do not depend on the cache or on the number of threads, whatever kind of state an example has.
#[test]
fn examples_have_the_same_rows_with_and_without_a_cache_on_any_number_of_threads() {
    let (plan, scenarios, profile) = perfect(6, &["bare", "fusion"]);
    let reader = super::memory_server::agent_factory(|_, start, script| {
        Box::new(ScriptedAgent::new(&profile, start, script.unwrap()))
    });
    let factories: [&AgentFactory<'_>; 3] = [&reader, &draft_first_agent, &endless_caller];
    for make_agent in factories {
        let one = run_from(&plan, &scenarios, 1, 0, make_agent).unwrap();
        assert_eq!(run_from(&plan, &scenarios, 8, 0, make_agent).unwrap(), one);
        let alone = run_without_cache(&plan, &scenarios, make_agent);
        assert!(
            one == alone,
            "{} rows differ with a cache",
            one.calls.iter().zip(&alone.calls).filter(|(a, b)| a != b).count()
        );
        assert!(one.calls.iter().any(|row| row.state_changed == Some(true)));
    }
}

/// A reader that understands everything solves each example under the guardrails. Without a text that helps, it solves those that need
/// none.
#[test]
fn a_perfect_reader_solves_the_examples_where_a_text_can_help() {
    let (plan, scenarios, profile) = perfect(10, &["bare", "fusion"]);
    let reader = super::memory_server::agent_factory(|_, start, script| {
        Box::new(ScriptedAgent::new(&profile, start, script.unwrap()))
    });
    let records = run_from(&plan, &scenarios, 2, 0, &reader).unwrap();
    let mut successes = vec![[0; 2]; scenarios.len()];
    for row in &records.episodes {
        let cell = plan.cell(row.episode).unwrap();
        successes[cell.scenario][cell.condition] += u32::from(row.outcome == Outcome::Success);
    }
    let mut without: Vec<&str> = Vec::new();
    for (scenario, [bare, fusion]) in scenarios.iter().zip(successes) {
        // An error of the protocol is sent by no tool, and nothing in it says what to do.
        let can_help = scenario.id != "post/faults/protocol-error";
        assert_eq!(fusion, if can_help { 10 } else { 0 }, "{}", scenario.id);
        assert!([0, 10].contains(&bare), "{}: {bare} of 10", scenario.id);
        without.extend((bare == 10).then_some(scenario.id.as_str()));
    }
    // In `birds/pages` and `bank/session` what is needed was read before, faults pass, and some mistakes are told by no server.
    let of = |file: &str, variants: &str| -> Vec<String> {
        variants.split(' ').map(|variant| format!("{file}/{variant}")).collect()
    };
    let expected = [
        of("bank", "session"),
        of("birds", "pages"),
        of("charity", "gift-timeout"),
        of("library", "state"),
        of("market/mistakes", "hallucinated-field old-tool-name unfiltered-list previous-value double-submission"),
        of("museum", "closed"),
        of("post/faults", "rate-limited timeout busy not-an-error no-op stale cut corrupt"),
    ];
    assert_eq!(without, expected.concat());
}

const CLINIC: &str = include_str!("../../../../scenarios/examples/clinic-expectations.yaml");

/// Returns the outcome of an agent that makes these calls and closes with this text, and its rows.
fn visit(text: &str, calls: &[(&str, Value)], answer: &str) -> (Outcome, Vec<CallRecord>) {
    let turn = |(action, arguments): &(&str, Value)| {
        let mut all = json!({ "action": action });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        let calls = vec![ToolCall::new("visits", all)];
        (Turn::Calls { calls, waited_s: 0, text: String::new() }, Origin::Script)
    };
    let done = (Turn::Done { answer: answer.to_owned() }, Origin::Script);
    let (episode, rows) =
        run_agent(text, AgentKind::Scripted, TurnsAgent::new(calls.iter().map(turn).chain([done]).collect()));
    (episode.outcome, rows)
}

#[test]
fn each_expectation_decides() {
    let (moved, got) = (("move", json!({"id": "V-2", "time": "15:00"})), ("get", json!({"id": "V-2"})));
    let right = "V-2 takes 1,253 minutes";
    let outcome = |calls: &[(&str, Value)], answer: &str| visit(CLINIC, calls, answer).0;
    let all = [moved.clone(), got.clone()];
    assert_eq!(outcome(&all, right), Outcome::Success);
    assert_eq!(outcome(&all, "V-2 takes 1256 minutes"), Outcome::TaskFail, "beyond the tolerance");
    assert_eq!(outcome(&all, "It takes 1250 minutes"), Outcome::TaskFail, "one text of two");
    assert_eq!(outcome(&[got.clone(), moved.clone()], right), Outcome::TaskFail, "in another order");
    assert_eq!(outcome(&[moved.clone(), got.clone(), moved.clone()], right), Outcome::TaskFail, "moved twice");
    let cancel = ("cancel", json!({"id": "V-1"}));
    assert_eq!(outcome(&[moved.clone(), got.clone(), cancel], right), Outcome::TaskFail, "a forbidden call");
    // Another row does not verify it, nor a result that a silent fault has struck.
    let without = CLINIC.replace(
        "  - in_order: [{tool: visits, action: move}, {tool: visits, action: get, arguments: {id: V-2}}]\n",
        "",
    );
    let outcome = |text: &str, calls: &[(&str, Value)]| visit(text, calls, right).0;
    assert_eq!(outcome(&without, &[got.clone(), moved.clone()]), Outcome::TaskFail, "not read after the write");
    let other = ("move", json!({"id": "V-1", "time": "16:00"}));
    let twice = without.replace("calls: 1,", "calls: 2,");
    assert_eq!(
        outcome(&twice, &[moved.clone(), got.clone(), other]),
        Outcome::Success,
        "another row was written after it"
    );
    let faulty = format!("{without}faults: [{{kind: corrupt, on: visits.get, column: minutes}}]\n");
    assert_eq!(outcome(&faulty, &all), Outcome::TaskFail);
    assert_eq!(outcome(&faulty, &[moved, got.clone(), got]), Outcome::Success);
}

#[test]
fn a_step_that_fails_by_design_opens_no_chain() {
    let (_, rows) = visit(CLINIC, &[("get", json!({"id": "V-9"})), ("get", json!({"id": "V-8"}))], "");
    assert_eq!(
        rows.iter().map(|row| (row.intended, row.chain)).collect::<Vec<_>>(),
        [(Some(true), None), (Some(false), Some(1))]
    );
    let (_, rows) = visit(CLINIC, &[("list", json!({"id": "V-2"}))], "");
    assert_eq!(rows[0].intended, Some(true), "an alternative is intended too");
}

/// Values that have to be found, inside of lists too, are looked up before they are sent, under whatever name.
#[test]
fn values_are_found_before_they_are_sent() {
    let text = r#"
id: shop/order-by-name
title: Order a lamp and a rug for the studio
task: {prompt: "Order a lamp and a rug, billed to the studio.", max_calls: 12}
tools:
  goods:
    description: Goods.
    actions:
      list: {description: List goods., input: {properties: {name: {type: string}}}, handler: {select: goods}, read_only: true}
      order:
        description: Order goods.
        input:
          properties:
            lines: {type: array, items: {type: object, properties: {sku: {type: string}, pieces: {type: integer}}, required: [sku, pieces]}}
            gifts: {type: array, items: {type: string}}
            customer: {type: string}
          required: [lines, gifts, customer]
        handler: {insert: orders}
world:
  goods: {rows: [{id: sku-81, name: Lamp}, {id: sku-44, name: Rug}, {id: sku-12, name: Bell}, {id: cus-7, name: Studio}]}
  orders: {}
expect:
  - row: {in: orders, where: {gifts: [sku-12], customer: cus-7, lines: [{sku: sku-81, pieces: 1}, {sku: sku-44, pieces: 2}]}}
script:
  - call:
      tool: goods
      action: order
      arguments: {lines: [{sku: sku-81, pieces: 1}, {sku: sku-44, pieces: 2}], gifts: [sku-12], customer: cus-7}
    find:
      customer: {column: id, matching: {name: Studio}}
      "lines[0].sku": {column: id, matching: {name: Lamp}}
      "lines[pieces=2].sku": {column: id, matching: {name: Rug}}
      "gifts[0]": {column: id, matching: {name: Bell}}
"#;
    let load = |text: &str| healbench_scenarios::load_str("task.yaml", text, healbench_scenarios::Syntax::Yaml);
    let mistakes = [
        "",
        "{kind: missing, field: gifts}",
        "{kind: missing, field: lines}",
        "{kind: null_value, field: gifts}",
        "missing_all",
        "{kind: json_text, field: lines}",
        "{kind: broken_json, field: lines}",
        "{kind: single_item, field: lines}",
        "{kind: misspelled_field, field: lines}",
        "{kind: wrong_type, field: gifts}",
        r#"{kind: number_text, field: "lines[0].pieces"}"#,
        r#"{kind: missing, field: "lines[1].pieces"}"#,
        "{kind: misspelled_field, field: customer}",
        "{kind: wrong_type, field: customer}",
    ];
    for mistake in mistakes {
        let scenarios =
            [load(&format!("{text}    mistakes: [{mistake}]\n")).unwrap_or_else(|error| panic!("{error:?}"))];
        for reader in ["perfect", "typical", "persistent"] {
            let formats = [ErrorFormat::FusionXml];
            let (_, records) = super::suites::run_profile(reader, &scenarios, &["all"], &formats, 5);
            for episode in &records.episodes {
                let calls: Vec<&CallRecord> =
                    records.calls.iter().filter(|call| call.episode == episode.episode).collect();
                let sent: Vec<Value> =
                    calls.iter().map(|call| serde_json::from_str(&call.arguments).unwrap()).collect();
                let listed = sent.iter().position(|sent| sent["action"] == "list").unwrap_or(sent.len());
                for sent in &sent[..listed] {
                    let text = sent.to_string();
                    // What a mistake sends instead is nothing that was found.
                    let is_told = ["sku-81", "sku-12", "cus-7"].iter().any(|id| text.contains(id));
                    assert!(!is_told, "{reader}, {mistake}: {text}");
                }
                assert!(reader != "perfect" || episode.outcome == Outcome::Success, "{mistake}: {sent:?}");
            }
        }
    }
    for (wrong, path) in
        [("lines[2].sku", "no such element"), ("lines[].sku", "several"), ("lines[0].name", "no such name")]
    {
        let error = format!("{:?}", load(&text.replace("lines[0].sku", wrong)).unwrap_err());
        assert!(error.contains(&format!("the call has no one value `{wrong}` to find")), "{path}: {error}");
    }
}

/// A mistake in an optional argument that the right call leaves out is mended by leaving it out again.
#[test]
fn a_mistake_in_an_argument_that_the_call_leaves_out_is_mended() {
    let text = r#"
id: notes/search
title: Search notes
task: {prompt: Find the notes about rent., max_calls: 4}
tools:
  notes:
    description: Notes.
    actions:
      search:
        description: Search notes.
        input:
          properties:
            query: {type: string}
            after: {type: string}
            limit: {type: integer, minimum: 1, maximum: 50}
            order: {enum: [newest, oldest]}
            since: {type: string, format: date}
          required: [query]
        handler: {return: []}
        read_only: true
expect: [{called: {tool: notes, action: search, arguments: {query: rent}}}]
script:
  - call: {tool: notes, action: search, arguments: {query: rent}}
"#;
    for (kind, field, value) in [
        ("wrong_type", "after", ", value: 5"),
        ("null_value", "after", ""),
        ("wrong_type", "limit", ""),
        ("out_of_range", "limit", ", value: 500"),
        ("wrong_enum", "order", ""),
        ("bad_format", "since", ""),
    ] {
        let text = format!("{text}    mistakes: [{{kind: {kind}, field: {field}{value}}}]\n");
        let scenario = healbench_scenarios::load_str("task.yaml", &text, healbench_scenarios::Syntax::Yaml);
        let scenarios = [scenario.unwrap_or_else(|error| panic!("{error:?}"))];
        let (_, records) = super::suites::run_profile("perfect", &scenarios, &["all"], &[ErrorFormat::FusionXml], 3);
        let mut calls = records.calls.iter();
        for episode in &records.episodes {
            assert_eq!(episode.outcome, Outcome::Success, "{kind}, {field}");
            let sent = [calls.next().unwrap(), calls.next().unwrap()];
            assert!(sent[0].is_error && sent[0].arguments.contains(field), "{}", sent[0].arguments);
            assert!(!sent[1].is_error && !sent[1].arguments.contains(field), "{}", sent[1].arguments);
        }
        assert!(calls.next().is_none());
    }
}

/// A tool is called by its previous name, and then by the name that it has.
#[test]
fn a_renamed_tool_is_found() {
    let text = r#"
id: notes/renamed
title: A tool was renamed
task: {prompt: Read note 7., max_calls: 4}
tools:
  note_get:
    description: Get a note.
    discriminator: null
    actions:
      get: {description: Get a note., input: {properties: {id: {type: integer}}, required: [id]}, handler: {return: {}}, read_only: true}
    previous: {name: nt_get, actions: {get: {input: {properties: {id: {type: string}}, required: [id]}}}}
expect: [{called: {tool: note_get, arguments: {id: 7}}}]
script:
  - call: {tool: note_get, arguments: {id: 7}}
    mistakes: [MISTAKE]
"#;
    for mistake in ["stale_contract", "old_tool_name"] {
        let text = text.replace("MISTAKE", mistake);
        let scenario = healbench_scenarios::load_str("task.yaml", &text, healbench_scenarios::Syntax::Yaml);
        let scenarios = [scenario.unwrap_or_else(|error| panic!("{error:?}"))];
        let (_, records) = super::suites::run_profile("perfect", &scenarios, &["all"], &[ErrorFormat::FusionXml], 1);
        let calls: Vec<(&str, bool)> = records.calls.iter().map(|call| (&*call.tool, call.is_error)).collect();
        assert_eq!(calls.first(), Some(&("nt_get", true)), "{mistake}");
        assert_eq!(calls.last(), Some(&("note_get", false)), "{mistake}: {calls:?}");
        assert_eq!(records.episodes[0].outcome, Outcome::Success, "{mistake}");
    }
}
