//! The runner with agents of the tests' own: what becomes of a plan whatever its agents do.

#![allow(clippy::unwrap_used)]

mod frozen;
mod made_up;
mod suites;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use healbench_protocol::{
    Agent, AgentError, AgentKind, AgentSpec, ErrorFormat, Guardrails, Script, Seed, Start, ToolResponse, Turn,
    fingerprint,
};
use healbench_record::{Outcome, Plan, Records};
use healbench_runner::{Axes, Job, MakeAgent, Moment, RunEnd, RunError, RunEvent, build_plan, replay, run};
use healbench_scenarios::{Scenario, load_suite};

/// Makes each call of its script once and says that it is done.
struct Reciter<'a> {
    script: &'a Script,
    step: usize,
}

impl Agent for Reciter<'_> {
    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        let Some(step) = self.script.steps.get(self.step) else {
            return Ok(Turn::Done { answer: "done".to_owned() });
        };
        self.step += 1;
        Ok(Turn::Calls { calls: vec![step.intent.clone()], waited_s: 0, text: String::new() })
    }
}

/// Fails as it is told.
struct Failing(Option<AgentError>);

impl Agent for Failing {
    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        match self.0.take() {
            Some(error) => Err(error),
            None => panic!("a defect, made by a test"),
        }
    }
}

/// Talks for ever, or calls for ever.
struct Endless<'a>(Option<&'a Script>);

impl Agent for Endless<'_> {
    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        Ok(match self.0 {
            None => Turn::Say { text: "hm".to_owned() },
            Some(script) => {
                Turn::Calls { calls: vec![script.steps[0].intent.clone(); 3], waited_s: 0, text: String::new() }
            }
        })
    }
}

/// Sends of each step what it believes, what it intends, and what it believes again.
struct Fumbler<'a> {
    script: &'a Script,
    turn: usize,
}

impl Agent for Fumbler<'_> {
    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        let Some(step) = self.script.steps.get(self.turn / 3) else {
            return Ok(Turn::Done { answer: "done".to_owned() });
        };
        let call = if self.turn % 3 == 1 { &step.intent } else { &step.belief };
        self.turn += 1;
        Ok(Turn::Calls { calls: vec![call.clone()], waited_s: 0, text: String::new() })
    }
}

fn fumbler<'s>(_: usize, start: Start<'s>) -> Box<dyn Agent + 's> {
    Box::new(Fumbler { script: start.script, turn: 0 })
}

fn reciter<'s>(_: usize, start: Start<'s>) -> Box<dyn Agent + 's> {
    Box::new(Reciter { script: start.script, step: 0 })
}

fn sometimes_defect<'s>(index: usize, start: Start<'s>) -> Box<dyn Agent + 's> {
    if start.prompt.contains("Warehouse Move") { Box::new(Failing(None)) } else { reciter(index, start) }
}

fn unreachable<'s>(_: usize, _: Start<'s>) -> Box<dyn Agent + 's> {
    Box::new(Failing(Some(AgentError::Infra("gone".to_owned()))))
}

fn misconfigured<'s>(_: usize, _: Start<'s>) -> Box<dyn Agent + 's> {
    Box::new(Failing(Some(AgentError::Config("no key".to_owned()))))
}

fn talker<'s>(_: usize, _: Start<'s>) -> Box<dyn Agent + 's> {
    Box::new(Endless(None))
}

fn caller<'s>(_: usize, start: Start<'s>) -> Box<dyn Agent + 's> {
    Box::new(Endless(Some(start.script)))
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
        guardrails: vec![Guardrails::NONE, Guardrails::ALL],
        formats: vec![ErrorFormat::FusionXml, ErrorFormat::FusionText],
        trials,
        seed: Seed(1),
    };
    (build_plan(&axes, &scenarios), scenarios)
}

type Played = Result<(Records, RunEnd), RunError<Infallible>>;

fn play(trials: u32, jobs: usize, from: u64, make_agent: &MakeAgent<'_>) -> Played {
    let (plan, scenarios) = quickstart(trials);
    let episodes = from..plan.len();
    let job = Job { plan: &plan, scenarios: &scenarios, episodes, jobs, make_agent };
    let mut all = Records::default();
    let end = run(&job, &AtomicBool::new(false), &mut |event| {
        if let RunEvent::Played { records, next } = event {
            all.episodes.extend(records.episodes);
            all.calls.extend(records.calls);
            assert_eq!(next, from + all.episodes.len() as u64);
        }
        Ok(())
    })?;
    Ok((all, end))
}

#[test]
fn rows_come_in_the_order_of_the_plan_at_any_number_of_threads() {
    let (one, end) = play(7, 1, 0, &reciter).unwrap();
    let (plan, _) = quickstart(7);
    assert_eq!(end, RunEnd { next: plan.len(), interrupted: false });
    assert!(one.episodes.iter().map(|row| row.episode).eq(0..plan.len()));
    assert!(one.calls.is_sorted_by_key(|row| (row.episode, row.call)));
    for jobs in [2, 5, 32] {
        assert_eq!(play(7, jobs, 0, &reciter).unwrap().0, one);
    }
    let (rest, _) = play(7, 2, 100, &reciter).unwrap();
    assert_eq!(rest.episodes, one.episodes[100..]);
}

#[test]
fn what_a_thread_remembers_changes_no_row() {
    let (played, _) = play(5, 1, 0, &fumbler).unwrap();
    let (plan, scenarios) = quickstart(5);
    let job = Job { plan: &plan, scenarios: &scenarios, episodes: 0..plan.len(), jobs: 1, make_agent: &fumbler };
    let mut alone = Records::default();
    for episode in 0..plan.len() {
        // A replay begins with an empty memory.
        let (row, calls) = replay(&job, episode, &mut |moment| {
            if let Moment::Answer(_, answer, row) = moment {
                assert_eq!(row.response_hash, hash(&answer.response));
            }
        })
        .unwrap()
        .unwrap();
        alone.episodes.push(row);
        alone.calls.extend(calls);
    }
    assert_eq!(played, alone);
    let hashes: BTreeSet<u64> = played.calls.iter().map(|call| call.response_hash).collect();
    assert!(hashes.len() > 50, "{}", hashes.len());
}

/// What a row's hash is of, put together in another way.
fn hash(response: &ToolResponse) -> u64 {
    let blocks = response.content.iter().map(|block| [&block.len().to_le_bytes()[..], block.as_bytes()].concat());
    let bytes = [vec![u8::from(response.is_error)], blocks.collect::<Vec<_>>().concat()].concat();
    u64::from_str_radix(&fingerprint(&bytes)[..16], 16).unwrap()
}

#[test]
fn a_panic_ends_the_run_with_an_error_and_leaves_nobody_waiting() {
    for jobs in [1, 2, 4] {
        let error = play(200, jobs, 0, &sometimes_defect).unwrap_err();
        assert!(matches!(error, RunError::Panicked { .. }), "{error}");
    }
}

#[test]
fn stopping_hands_over_the_beginning_of_the_plan() {
    let (plan, scenarios) = quickstart(400);
    for jobs in [1, 2, 4] {
        let stop = AtomicBool::new(false);
        let job = Job { plan: &plan, scenarios: &scenarios, episodes: 0..plan.len(), jobs, make_agent: &reciter };
        let mut episodes = Vec::new();
        let end = run(&job, &stop, &mut |event| {
            if let RunEvent::Played { records, .. } = event {
                episodes.extend(records.episodes.into_iter().map(|row| row.episode));
                stop.store(episodes.len() > 500, Ordering::Relaxed);
            }
            Ok::<(), Infallible>(())
        })
        .unwrap();
        assert!(end.interrupted && end.next > 500 && end.next < plan.len(), "{end:?}");
        assert!(episodes.into_iter().eq(0..end.next));
    }
}

#[test]
fn a_receiver_that_fails_ends_the_run() {
    let (plan, scenarios) = quickstart(400);
    let job = Job { plan: &plan, scenarios: &scenarios, episodes: 0..plan.len(), jobs: 3, make_agent: &reciter };
    let result = run(&job, &AtomicBool::new(false), &mut |event| match event {
        RunEvent::Played { next, .. } if next > 300 => Err("full"),
        _ => Ok(()),
    });
    assert!(matches!(result, Err(RunError::Event("full"))));
}

#[test]
fn every_way_to_fail_is_one_row() {
    let outcome = |make: &MakeAgent<'_>| {
        let (records, _) = play(1, 2, 0, make).unwrap();
        let first = records.episodes[0].outcome;
        assert!(records.episodes.iter().all(|row| row.outcome == first), "{first}");
        (first, records)
    };
    assert_eq!(outcome(&unreachable).0, Outcome::Infra);
    assert_eq!(outcome(&misconfigured).0, Outcome::Config);
    let (limit, records) = outcome(&talker);
    assert_eq!((limit, records.calls.len()), (Outcome::Limit, 0));
    let (limit, records) = outcome(&caller);
    assert_eq!(limit, Outcome::Limit);
    let (_, scenarios) = quickstart(1);
    assert!(records.episodes.iter().all(|row| scenarios.iter().any(|scenario| scenario.task.max_calls == row.calls)));
}
