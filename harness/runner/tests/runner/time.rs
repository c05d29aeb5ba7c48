//! Simulated time: who can let it pass, and what it ends.

use healbench_core::{CallRecord, Origin, ToolCall, canonical_json};
use healbench_runner::ScenarioContext;
use healbench_scenarios::{Syntax, load_str};
use serde_json::{Value, json};

use super::memory_server::agent_factory;
use super::outcomes::{TurnsAgent, run_agent};
use super::*;

const SCENARIO: &str = r"
id: limited
title: A rate limit
task: {prompt: Text Ana., max_calls: 12}
CLOCK
tools:
  texting:
    description: Text messages.
    actions:
      send:
        description: Send one.
        input: {properties: {to: {type: string}}, required: [to]}
        handler: {insert: messages}
      sent: {description: List them., input: {}, handler: {select: messages}}
world: {messages: {}}
faults: [{kind: rate_limited, on: texting.send, calls: 5, retry_after: 30}]
expect: [{count: {in: messages, equals: 1}}]
script: [{call: {tool: texting, action: send, arguments: {to: Ana}}}]
";

fn with_clock(line: &str) -> String {
    SCENARIO.replace("CLOCK", line)
}

fn turn(tool: &str, arguments: Value) -> (Turn, Origin) {
    let call = ToolCall::new(tool, arguments);
    (Turn::Calls { calls: vec![call], waited_s: 0, text: String::new() }, Origin::Script)
}

fn send() -> (Turn, Origin) {
    turn("texting", json!({"action": "send", "to": "Ana"}))
}

fn wait(seconds: u32) -> (Turn, Origin) {
    turn("wait", json!({ "seconds": seconds }))
}

/// Returns the rows of an agent that takes these turns.
fn play(clock: &str, turns: Vec<(Turn, Origin)>) -> Vec<CallRecord> {
    let done = (Turn::Done { answer: "Done.".to_owned() }, Origin::Script);
    let turns = turns.into_iter().chain([done]).collect();
    run_agent(&with_clock(clock), AgentKind::Scripted, TurnsAgent::new(turns)).1
}

fn failed(rows: &[CallRecord]) -> Vec<bool> {
    rows.iter().map(|row| row.is_error).collect()
}

fn waited(rows: &[CallRecord]) -> Vec<u32> {
    rows.iter().map(|row| row.waited_s).collect()
}

#[test]
fn the_tool_lets_time_pass_for_every_agent() {
    let rows = play("clock: wait_tool", vec![send(), wait(29), send(), wait(30), send()]);
    assert_eq!(failed(&rows), [true, false, true, false, false]);
    assert_eq!(waited(&rows), [0, 29, 0, 30, 0]);
    let rows = play("clock: wait_tool", vec![wait(0), wait(3601), turn("wait", json!({"seconds": 30.0}))]);
    assert_eq!((failed(&rows), waited(&rows)), (vec![true, true, false], vec![0, 0, 30]));
    // Without the tool there is none to call.
    let rows = play("", vec![send(), wait(30), send()]);
    assert_eq!((failed(&rows), waited(&rows)), (vec![true; 3], vec![0; 3]));
}

#[test]
fn a_later_call_counts_as_made_after_the_delay() {
    let rows = play("clock: on_retry", vec![send(), send()]);
    assert_eq!((failed(&rows), waited(&rows)), (vec![true, false], vec![0, 30]));
    // Calls that the limit does not concern wait for nothing.
    let rows = play("clock: on_retry", vec![send(), turn("texting", json!({"action": "sent"})), send()]);
    assert_eq!((failed(&rows), waited(&rows)), (vec![true, false, false], vec![0, 0, 30]));
}

#[test]
fn a_clock_is_in_the_hash_and_has_the_name_of_its_tool_to_itself() {
    let load = |text: &str| load_str("task.yaml", text, Syntax::Yaml);
    let hash = |clock: &str| {
        let scenario = load(&with_clock(clock)).unwrap();
        scenario.schedule(Seed(1), 0, &scenario.world(Seed(1), 0)).hash
    };
    let hashes = ["", "clock: none", "clock: wait_tool", "clock: on_retry"].map(hash);
    assert_eq!(hashes[0], hashes[1]);
    assert_eq!(hashes.iter().collect::<BTreeSet<_>>().len(), 3);
    let taken = with_clock("clock: wait_tool").replace("  texting:\n", "  wait:\n").replace("texting", "wait");
    let problems = load(&taken).unwrap_err();
    assert!(problems.iter().any(|problem| problem.message == "a second tool `wait`"), "{problems:?}");
}

/// Makes six calls for each step: the draft twice, a short wait, the intended call, a long wait, the intended call. Without
/// a tool to wait it makes the intended call instead.
struct Restless<'s> {
    script: &'s Script,
    waits: bool,
    turn: usize,
}

impl Agent for Restless<'_> {
    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        let Some(step) = self.script.steps.get(self.turn / 6) else {
            return Ok(Turn::Done { answer: "done".to_owned() });
        };
        let call = match self.turn % 6 {
            0 | 1 => step.draft.clone(),
            2 if self.waits => ToolCall::new("wait", json!({"seconds": 5})),
            4 if self.waits => ToolCall::new("wait", json!({"seconds": 40})),
            _ => step.intended.clone(),
        };
        self.turn += 1;
        // Texts show arguments in their order, and rows have them in the order of their names.
        let arguments = serde_json::from_str(&canonical_json(&call.arguments)).unwrap();
        let call = ToolCall::new(call.tool, arguments);
        Ok(Turn::Calls { calls: vec![call], waited_s: 0, text: String::new() })
    }
}

/// Plays every scenario of a suite with state and faults, with each clock, and each call again in a session that has
/// no cache.
#[test]
fn the_cache_changes_no_answer_whatever_the_clock() {
    let built_in = load_suite(&[PathBuf::from("transient")]).unwrap();
    for clock in ["none", "wait_tool", "on_retry"] {
        let with_clock = |scenario: &Scenario| {
            let own = scenario.source.text.lines().filter(|line| !line.starts_with("clock: "));
            let text = format!("{}\nclock: {clock}\n", own.collect::<Vec<_>>().join("\n"));
            load_str("task.yaml", &text, Syntax::Yaml).unwrap_or_else(|error| panic!("{error:?}"))
        };
        let scenarios: Vec<Scenario> = built_in.iter().map(with_clock).collect();
        let (plan, _) = quickstart(3);
        let plan = build_plan(
            &Axes { agents: plan.agents, conditions: plan.conditions, trials: 3, seed: Seed(1) },
            &scenarios,
        );
        let waits = clock == "wait_tool";
        let make_agent =
            agent_factory(move |_, _, script| Box::new(Restless { script: script.unwrap(), waits, turn: 0 }));
        let run = |threads: usize| run_from(&plan, &scenarios, threads, 0, &make_agent).unwrap();
        let records = run(1);
        assert!(run(8) == records, "{clock}");
        let contexts: Vec<ScenarioContext<'_>> =
            scenarios.iter().map(|scenario| ScenarioContext::new(scenario, &plan, None).unwrap()).collect();
        for calls in records.calls.chunk_by(|a, b| a.episode == b.episode) {
            let cell = plan.cell(calls[0].episode).unwrap();
            let mut session = contexts[cell.scenario].open(cell.condition, cell.trial).unwrap();
            for row in calls {
                let call = ToolCall::new(&*row.tool, serde_json::from_str(&row.arguments).unwrap());
                let answer = session.call(&call).unwrap();
                let id = &scenarios[cell.scenario].id;
                assert_eq!(hash(&answer.response), row.response_hash, "{id} {clock} {call:?}");
            }
        }
    }
}
