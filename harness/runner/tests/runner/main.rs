//! Tests of the runner with custom agents: the rows of a plan for any behavior of its agents.

#![allow(clippy::unwrap_used)]

mod billing;
mod checkpoints;
mod content;
mod foreign;
mod frozen;
mod language;
mod leaks;
mod memory_server;
mod outcomes;
mod progress;
mod random_templates;
mod repeated_episodes;
mod servers;
mod suites;
mod time;
mod whole_language;
mod wrong_repairs;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use healbench_core::{
    Agent, AgentError, AgentKind, AgentSpec, Condition, EndedBy, EpisodeRecord, EpisodeStart, ErrorFormat, Guardrails,
    Outcome, Plan, Records, Script, Seed, ToolResponse, Turn, fingerprint,
};
use healbench_runner::{
    AgentFactory, Axes, EpisodeEvent, Job, RunError, RunEvent, StopReason, WorkerPool, build_plan, execute, replay,
};
use healbench_scenarios::{Scenario, load_suite};

/// Makes each call of its script once and declares the task complete.
struct ScriptAgent<'a> {
    script: &'a Script,
    step: usize,
}

impl Agent for ScriptAgent<'_> {
    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        let Some(step) = self.script.steps.get(self.step) else {
            return Ok(Turn::Done { answer: "done".to_owned() });
        };
        self.step += 1;
        Ok(Turn::Calls { calls: vec![step.intended.clone()], waited_s: 0, text: String::new() })
    }
}

/// Fails with the given error, or panics.
struct FailingAgent(Option<AgentError>);

impl Agent for FailingAgent {
    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        match self.0.take() {
            Some(error) => Err(error),
            None => panic!("a defect, made by a test"),
        }
    }
}

/// Sends messages or calls forever.
struct EndlessAgent<'a>(Option<&'a Script>);

impl Agent for EndlessAgent<'_> {
    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        Ok(match self.0 {
            None => Turn::Message { text: "hm".to_owned() },
            Some(script) => {
                Turn::Calls { calls: vec![script.steps[0].intended.clone(); 3], waited_s: 0, text: String::new() }
            }
        })
    }
}

/// Sends for each step the draft (the call with the scheduled mistakes), the intended call, and the draft again.
struct DraftFirstAgent<'a> {
    script: &'a Script,
    turn: usize,
}

impl Agent for DraftFirstAgent<'_> {
    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        let Some(step) = self.script.steps.get(self.turn / 3) else {
            return Ok(Turn::Done { answer: "done".to_owned() });
        };
        let call = if self.turn % 3 == 1 { &step.intended } else { &step.draft };
        self.turn += 1;
        Ok(Turn::Calls { calls: vec![call.clone()], waited_s: 0, text: String::new() })
    }
}

fn draft_first_agent<'s>(_: usize, _: EpisodeStart<'s>, script: Option<&'s Script>) -> Box<dyn Agent + 's> {
    Box::new(DraftFirstAgent { script: script.unwrap(), turn: 0 })
}

fn script_agent<'s>(index: usize, start: EpisodeStart<'s>, script: Option<&'s Script>) -> Box<dyn Agent + 's> {
    match script {
        Some(script) => Box::new(ScriptAgent { script, step: 0 }),
        // A model gets no script.
        None => answers(index, start, None),
    }
}

fn panics_in_one_scenario<'s>(
    index: usize,
    start: EpisodeStart<'s>,
    script: Option<&'s Script>,
) -> Box<dyn Agent + 's> {
    if start.prompt.contains("Warehouse Move") {
        Box::new(FailingAgent(None))
    } else {
        script_agent(index, start, script)
    }
}

fn unreachable<'s>(_: usize, _: EpisodeStart<'s>, _: Option<&'s Script>) -> Box<dyn Agent + 's> {
    Box::new(FailingAgent(Some(AgentError::Infra("gone".to_owned()))))
}

fn misconfigured<'s>(_: usize, _: EpisodeStart<'s>, _: Option<&'s Script>) -> Box<dyn Agent + 's> {
    Box::new(FailingAgent(Some(AgentError::Config("no key".to_owned()))))
}

fn endless_talker<'s>(_: usize, _: EpisodeStart<'s>, _: Option<&'s Script>) -> Box<dyn Agent + 's> {
    Box::new(EndlessAgent(None))
}

fn endless_caller<'s>(_: usize, _: EpisodeStart<'s>, script: Option<&'s Script>) -> Box<dyn Agent + 's> {
    Box::new(EndlessAgent(script))
}

/// Takes one turn, which ends the episode.
struct OneTurnAgent(Option<Turn>);

impl Agent for OneTurnAgent {
    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        self.0.take().ok_or_else(|| AgentError::Infra("asked twice".to_owned()))
    }
}

fn breaks_off<'s>(_: usize, _: EpisodeStart<'s>, _: Option<&'s Script>) -> Box<dyn Agent + 's> {
    Box::new(OneTurnAgent(Some(Turn::Incomplete { text: "I will".to_owned() })))
}

fn gives_up<'s>(_: usize, _: EpisodeStart<'s>, _: Option<&'s Script>) -> Box<dyn Agent + 's> {
    Box::new(OneTurnAgent(Some(Turn::GiveUp { reason: "no".to_owned() })))
}

fn answers<'s>(_: usize, _: EpisodeStart<'s>, _: Option<&'s Script>) -> Box<dyn Agent + 's> {
    Box::new(OneTurnAgent(Some(Turn::Answer { text: "it is done".to_owned() })))
}

fn quickstart(trials: u32) -> (Plan, Vec<Scenario>) {
    let scenarios = load_suite(&[PathBuf::from("quickstart")]).unwrap();
    let agent = AgentSpec {
        kind: AgentKind::Scripted,
        name: "test".to_owned(),
        opening: None,
        tools: None,
        settings: serde_json::Value::Null,
    };
    let axes = Axes {
        agents: vec![agent],
        conditions: Condition::of_parts(
            &[Guardrails::NONE, Guardrails::ALL],
            &[ErrorFormat::FusionXml, ErrorFormat::FusionText],
        ),
        trials,
        seed: Seed(1),
    };
    (build_plan(&axes, &scenarios), scenarios)
}

/// Runs a job without checkpoints and returns its rows, and true if it was interrupted.
fn run_job(job: &Job<'_>) -> Result<(Records, bool), RunError<Infallible>> {
    let mut all = Records::default();
    let end = execute(job, None, &AtomicBool::new(false), &mut |event| {
        if let RunEvent::Rows(results) = event {
            for result in results {
                all.episodes.push(result.episode);
                all.calls.extend(result.calls);
            }
        }
        Ok(())
    })?;
    Ok((all, end.stopped.is_some()))
}

fn run_plan(
    trials: u32,
    jobs: usize,
    from: u64,
    make_agent: &AgentFactory<'_>,
) -> Result<Records, RunError<Infallible>> {
    let (plan, scenarios) = quickstart(trials);
    run_from(&plan, &scenarios, jobs, from, make_agent)
}

/// Runs the episodes of a plan from this one on.
fn run_from(
    plan: &Plan,
    scenarios: &[Scenario],
    jobs: usize,
    from: u64,
    make_agent: &AgentFactory<'_>,
) -> Result<Records, RunError<Infallible>> {
    let pools = [WorkerPool::of_all_agents(plan, jobs)];
    let episodes = (from..plan.len()).into();
    let job = Job { plan, scenarios, episodes, pools: &pools, make_agent, make_environment: None };
    let (records, interrupted) = run_job(&job)?;
    assert!(!interrupted);
    Ok(records)
}

#[test]
fn rows_come_in_the_order_of_the_plan_at_any_number_of_threads() {
    let one = run_plan(7, 1, 0, &script_agent).unwrap();
    let (plan, _) = quickstart(7);
    assert!(one.episodes.iter().map(|row| row.episode).eq(0..plan.len()));
    assert!(one.calls.is_sorted_by_key(|row| (row.episode, row.call)));
    for jobs in [2, 5, 32] {
        assert_eq!(run_plan(7, jobs, 0, &script_agent).unwrap(), one);
    }
    let rest = run_plan(7, 2, 100, &script_agent).unwrap();
    assert_eq!(rest.episodes, one.episodes[100..]);
}

#[test]
fn caching_changes_no_row() {
    let records = run_plan(5, 1, 0, &draft_first_agent).unwrap();
    let (plan, scenarios) = quickstart(5);
    assert_eq!(records, run_without_cache(&plan, &scenarios, &draft_first_agent));
    let hashes: BTreeSet<u64> = records.calls.iter().map(|call| call.response_hash).collect();
    assert!(hashes.len() > 50, "{}", hashes.len());
}

/// Runs each episode of a plan with an empty cache, and compares the hash of each row with its response.
fn run_without_cache(plan: &Plan, scenarios: &[Scenario], make_agent: &AgentFactory<'_>) -> Records {
    let episodes = (0..plan.len()).into();
    let job = Job { plan, scenarios, episodes, pools: &[], make_agent, make_environment: None };
    let mut records = Records::default();
    for episode in 0..plan.len() {
        let (row, calls) = replay(&job, episode, &mut |event| {
            if let EpisodeEvent::Call(_, answer, row) = event {
                assert_eq!(row.response_hash, hash(&answer.response));
            }
        })
        .unwrap()
        .unwrap();
        records.episodes.push(row);
        records.calls.extend(calls);
    }
    records
}

/// Computes a row's hash in another way.
fn hash(response: &ToolResponse) -> u64 {
    let blocks = response.content.iter().map(|block| [&block.len().to_le_bytes()[..], block.as_bytes()].concat());
    let bytes = [vec![u8::from(response.is_error)], blocks.collect::<Vec<_>>().concat()].concat();
    u64::from_str_radix(&fingerprint(&bytes)[..16], 16).unwrap()
}

#[test]
fn a_panic_ends_the_run_without_a_deadlock() {
    for jobs in [1, 2, 4] {
        let error = run_plan(200, jobs, 0, &panics_in_one_scenario).unwrap_err();
        assert!(matches!(error, RunError::Panicked { .. }), "{error}");
    }
}

#[test]
fn stopping_hands_over_the_beginning_of_the_plan() {
    let (plan, scenarios) = quickstart(400);
    for jobs in [1, 2, 4] {
        let stop = AtomicBool::new(false);
        let pools = [WorkerPool::of_all_agents(&plan, jobs)];
        let episodes = 0..plan.len();
        let job = Job {
            plan: &plan,
            scenarios: &scenarios,
            episodes: episodes.into(),
            pools: &pools,
            make_agent: &script_agent,
            make_environment: None,
        };
        let mut episodes = Vec::new();
        let end = execute(&job, None, &stop, &mut |event| {
            if let RunEvent::Rows(results) = event {
                episodes.extend(results.into_iter().map(|result| result.episode.episode));
                stop.store(episodes.len() > 500, Ordering::Relaxed);
            }
            Ok::<(), Infallible>(())
        })
        .unwrap();
        assert!(matches!(end.stopped, Some(StopReason::Interrupt)), "{end:?}");
        let next = episodes.len() as u64;
        assert!(next > 500 && next < plan.len(), "{next}");
        assert!(episodes.into_iter().eq(0..next));
    }
}

#[test]
fn a_receiver_that_fails_ends_the_run() {
    let (plan, scenarios) = quickstart(400);
    let pools = [WorkerPool::of_all_agents(&plan, 3)];
    let job = Job {
        plan: &plan,
        scenarios: &scenarios,
        episodes: (0..plan.len()).into(),
        pools: &pools,
        make_agent: &script_agent,
        make_environment: None,
    };
    let mut received = 0;
    let result = execute(&job, None, &AtomicBool::new(false), &mut |event| match event {
        RunEvent::Rows(results) => {
            assert!(received <= 300, "nothing may follow the error");
            received += results.len();
            if received > 300 { Err("full") } else { Ok(()) }
        }
        RunEvent::Finished(_) => Ok(()),
    });
    assert!(matches!(result, Err(RunError::Event("full"))));
}

#[test]
fn every_way_to_fail_is_one_row() {
    let outcome = |make: &AgentFactory<'_>| {
        let records = run_plan(1, 2, 0, make).unwrap();
        let first = (records.episodes[0].outcome, records.episodes[0].ended_by);
        // Giving up is a success where it is expected.
        let same = |row: &EpisodeRecord| [first.0, Outcome::Success].contains(&row.outcome) && row.ended_by == first.1;
        assert!(records.episodes.iter().all(same), "{first:?}");
        (first, records)
    };
    assert_eq!(outcome(&unreachable).0, (Outcome::Infra, EndedBy::AgentError));
    assert_eq!(outcome(&misconfigured).0, (Outcome::Config, EndedBy::AgentError));
    let (limit, records) = outcome(&endless_talker);
    assert_eq!((limit, records.calls.len()), ((Outcome::Limit, EndedBy::TurnLimit), 0));
    assert_eq!(outcome(&breaks_off).0, (Outcome::Limit, EndedBy::Incomplete));
    assert_eq!(outcome(&gives_up).0.1, EndedBy::GaveUp);
    assert_eq!(outcome(&answers).0.1, EndedBy::Answer);
    let (limit, records) = outcome(&endless_caller);
    assert_eq!(limit, (Outcome::Limit, EndedBy::CallLimit));
    let (_, scenarios) = quickstart(1);
    assert!(records.episodes.iter().all(|row| scenarios.iter().any(|scenario| scenario.task.max_calls == row.calls)));
}
