//! Outcomes: one definition of success for every agent and every way to end, and error chains with their repairs.

use healbench_core::{CallRecord, Origin, ToolCall, TurnCost};
use healbench_scenarios::{Syntax, load_str};
use serde_json::{Value, json};

use super::memory_server::agent_factory;
use super::*;

/// A deployment has to be rolled back; `release` is a valid but wrong call.
pub(crate) const TASK: &str = r#"
id: lab/outcomes
title: Roll back
task: {prompt: "Roll back D-1.", max_calls: 6}
tools:
  deploys:
    description: Deployments.
    actions:
      rollback:
        description: Roll back a deployment.
        input: {properties: {id: {type: string}, note: {type: string}}, required: [id]}
        handler: {delete: deploys, by: id}
      release:
        description: Release a deployment.
        input: {properties: {id: {type: string}}, required: [id]}
        handler: {insert: releases}
      list:
        description: List deployments.
        read_only: true
        input: {properties: {id: {type: string}}}
        handler: {select: deploys}
world:
  deploys:
    rows: [{id: D-1}, {id: D-2}, {id: D-3}]
  releases: {key_prefix: R-}
expect:
"#;

pub(crate) const ROLLED_BACK: &str = "  - no_row: {in: deploys, where: {id: D-1}}\n";
const STOPS: &str = "  - stops: true\n  - unchanged: deploys\n";
pub(crate) const SCRIPT: &str = "script:\n  - call: {tool: deploys, action: rollback, arguments: {id: D-1}}\n";

/// Takes these turns, and then fails.
#[derive(Clone)]
pub(crate) struct TurnsAgent {
    pub(crate) turns: std::vec::IntoIter<(Turn, Origin)>,
    pub(crate) origin: Origin,
    pub(crate) preamble: String,
    pub(crate) window: Option<u64>,
}

impl TurnsAgent {
    /// Creates an agent whose turns have these origins.
    pub(crate) fn new(turns: Vec<(Turn, Origin)>) -> TurnsAgent {
        TurnsAgent { turns: turns.into_iter(), origin: Origin::Script, preamble: String::new(), window: None }
    }
}

impl Agent for TurnsAgent {
    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        let (turn, origin) = self.turns.next().ok_or_else(|| AgentError::Infra("asked again".to_owned()))?;
        self.origin = origin;
        Ok(turn)
    }

    fn origin(&self) -> Origin {
        self.origin
    }

    fn preamble(&self) -> std::borrow::Cow<'_, str> {
        self.preamble.as_str().into()
    }

    fn context_window(&self) -> Option<u64> {
        self.window
    }
}

/// Returns the episode in which an agent of this kind takes these turns.
fn run_turns(scenario: &str, kind: AgentKind, turns: &[Turn]) -> (EpisodeRecord, Vec<CallRecord>) {
    let origin = if kind == AgentKind::Llm { Origin::Model(TurnCost::default()) } else { Origin::Script };
    run_agent(scenario, kind, TurnsAgent::new(turns.iter().map(|turn| (turn.clone(), origin)).collect()))
}

/// Returns the episode of an agent of this kind.
pub(crate) fn run_agent(scenario: &str, kind: AgentKind, agent: TurnsAgent) -> (EpisodeRecord, Vec<CallRecord>) {
    let turns_agent = agent;
    let scenarios = vec![load_str("task.yaml", scenario, Syntax::Yaml).unwrap_or_else(|error| panic!("{error:?}"))];
    let agent = AgentSpec {
        kind,
        name: "turns".to_owned(),
        opening: (kind == AgentKind::Llm).then_some(healbench_core::Opening::Natural),
        tools: None,
        settings: Value::Null,
    };
    let axes = Axes {
        agents: vec![agent],
        conditions: vec![Condition::new(Guardrails::ALL, ErrorFormat::FusionXml)],
        trials: 1,
        seed: Seed(1),
    };
    let plan = build_plan(&axes, &scenarios);
    let make_agent = agent_factory(move |_, _, _| Box::new(turns_agent.clone()));
    let job = Job {
        plan: &plan,
        scenarios: &scenarios,
        episodes: (0..plan.len()).into(),
        pools: &[WorkerPool::of_all_agents(&plan, 1)],
        make_agent: &make_agent,
        make_environment: None,
    };
    let (mut records, _) = run_job(&job).unwrap();
    (records.episodes.remove(0), records.calls)
}

pub(crate) fn call(action: &str, arguments: Value) -> Turn {
    let mut arguments = arguments;
    arguments["action"] = action.into();
    let call = ToolCall::new("deploys", arguments);
    Turn::Calls { calls: vec![call], waited_s: 0, text: String::new() }
}

fn rollback() -> Turn {
    call("rollback", json!({"id": "D-1"}))
}

fn done() -> Turn {
    Turn::Done { answer: "Done.".to_owned() }
}

fn give_up() -> Turn {
    Turn::GiveUp { reason: "I cannot.".to_owned() }
}

fn refused() -> Turn {
    Turn::Refused { reason: "blocked by the provider's filter".to_owned() }
}

/// Returns the outcome and the ending.
fn ending(expect: &str, kind: AgentKind, turns: &[Turn]) -> (Outcome, EndedBy) {
    let (row, _) = run_turns(&[TASK, expect, SCRIPT].concat(), kind, turns);
    (row.outcome, row.ended_by)
}

#[test]
fn expectations_that_hold_are_a_success_however_the_episode_ends() {
    let list = || call("list", json!({}));
    let over_the_limit = [vec![rollback()], vec![list(); 6]].concat();
    for (kind, turns, ended_by) in [
        (AgentKind::Scripted, vec![rollback(), done()], EndedBy::Done),
        (AgentKind::Scripted, vec![rollback(), give_up()], EndedBy::GaveUp),
        (AgentKind::Scripted, vec![rollback(), refused()], EndedBy::Refused),
        (AgentKind::Scripted, over_the_limit.clone(), EndedBy::CallLimit),
        (AgentKind::Scripted, vec![rollback(), Turn::Incomplete { text: String::new() }], EndedBy::Incomplete),
        (AgentKind::Llm, over_the_limit, EndedBy::GoalReached),
    ] {
        assert_eq!(ending(ROLLED_BACK, kind, &turns), (Outcome::Success, ended_by), "{kind:?}");
    }
}

#[test]
fn an_episode_without_success_is_named_by_its_ending() {
    let list = || call("list", json!({}));
    for kind in [AgentKind::Scripted, AgentKind::Llm] {
        assert_eq!(ending(ROLLED_BACK, kind, &[done()]), (Outcome::TaskFail, EndedBy::Done));
        assert_eq!(ending(ROLLED_BACK, kind, &[give_up()]), (Outcome::GaveUp, EndedBy::GaveUp));
        assert_eq!(ending(ROLLED_BACK, kind, &[refused()]), (Outcome::Refused, EndedBy::Refused));
        assert_eq!(ending(ROLLED_BACK, kind, &vec![list(); 7]), (Outcome::Limit, EndedBy::CallLimit));
    }
}

#[test]
fn where_stopping_is_right_only_the_agent_can_stop() {
    let answer = |text: &str| Turn::Answer { text: text.to_owned() };
    let list = || call("list", json!({}));
    for (turns, expected) in [
        (vec![give_up()], (Outcome::Success, EndedBy::GaveUp)),
        (vec![answer("Only an admin can.")], (Outcome::Success, EndedBy::Answer)),
        (vec![answer("")], (Outcome::TaskFail, EndedBy::Answer)),
        (vec![done()], (Outcome::TaskFail, EndedBy::Done)),
        (vec![refused()], (Outcome::Refused, EndedBy::Refused)),
        (vec![list(); 7], (Outcome::Limit, EndedBy::CallLimit)),
        (vec![rollback(), give_up()], (Outcome::GaveUp, EndedBy::GaveUp)),
    ] {
        for kind in [AgentKind::Scripted, AgentKind::Llm] {
            assert_eq!(ending(STOPS, kind, &turns), expected, "{kind:?}: {turns:?}");
        }
    }
}

/// Returns the error chains of a scripted episode with these turns: all, the fixed ones, and those that a wrong repair
/// ended.
fn chains(scenario: &str, turns: &[Turn]) -> (u32, u32, u32) {
    let (row, _) = run_turns(scenario, AgentKind::Scripted, &[turns, &[done()]].concat());
    (row.counts.chains, row.counts.errors_fixed, row.counts.wrong_repairs)
}

#[test]
fn a_valid_but_wrong_call_fixes_no_error() {
    let task = [TASK, ROLLED_BACK, SCRIPT].concat();
    let fails = || call("rollback", json!({"id": 1}));
    let other = || call("rollback", json!({"id": "D-2"}));
    let release = || call("release", json!({"id": "D-1"}));
    let list = || call("list", json!({"id": "D-1"}));
    assert_eq!(chains(&task, &[fails(), rollback()]), (1, 1, 0));
    assert_eq!(chains(&task, &[fails(), call("rollback", json!({"id": "D-1", "note": "n"}))]), (1, 1, 0));
    assert_eq!(chains(&task, &[fails(), other()]), (1, 0, 1));
    assert_eq!(chains(&task, &[fails(), release(), rollback()]), (1, 0, 1));
    assert_eq!(chains(&task, &[fails(), list(), fails(), list(), rollback()]), (1, 1, 0));
    assert_eq!(chains(&task, &[fails(), list()]), (1, 0, 0));
    // The failed action was the wrong one.
    assert_eq!(chains(&task, &[call("release", json!({})), rollback()]), (1, 1, 0));
}

#[test]
fn an_intended_call_has_the_tool_the_action_and_the_arguments_of_a_step() {
    let task = [TASK, ROLLED_BACK, SCRIPT].concat();
    let turns = [
        call("rollback", json!({"id": "D-2"})),
        call("release", json!({"id": "D-1"})),
        call("rollback", json!({"id": "D-1", "note": "n", "x": 1})),
        call("rollback", json!({"id": "D-1", "note": "n"})),
        done(),
    ];
    for kind in [AgentKind::Scripted, AgentKind::Llm] {
        let (_, rows) = run_turns(&task, kind, &turns);
        let intended: Vec<_> = rows.iter().map(|row| (row.is_error, row.intended.unwrap())).collect();
        assert_eq!(intended, [(false, false), (false, false), (true, true), (false, true)]);
    }
}
