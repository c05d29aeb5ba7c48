//! Runs with models that are killed at any moment: nothing is lost, paid for twice, or spent beyond the budget.
//!
//! `HEALBENCH_KILLS` sets the number of kills; more of them take more time.

#![expect(clippy::print_stderr, reason = "the figures that a run with many kills reports")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::time::{Duration, Instant};

use healbench_core::{DrawKey, Outcome};
use healbench_store::RunDir;
use serde_json::Value;

use super::*;
use crate::model_server::{ModelServer, ReceivedRequest, repairing_model};
use crate::models::{RUN, outcomes, sandbox_with};

const CONNECTIONS: usize = 4;
/// The tokens of each answer of the server.
const ANSWER_TOKENS: usize = 420;

fn kills() -> usize {
    std::env::var("HEALBENCH_KILLS").map_or(12, |kills| kills.parse().unwrap())
}

/// A request of a run with one condition: the seed identifies its episode, the messages of the model its turn.
type Request = (u64, usize);

fn request(received: &ReceivedRequest) -> Request {
    let messages = received.body["messages"].as_array().unwrap();
    let turns = messages.iter().filter(|message| message["role"] == "assistant").count();
    (received.body["seed"].as_u64().unwrap(), turns - 1)
}

/// A server that takes its time, and the folder of a run that is killed.
struct KilledRun {
    server: ModelServer,
    sandbox: Sandbox,
    begin: Vec<String>,
    /// The state of the pseudo-random moments.
    moment: u64,
}

const RESUME: [&str; 4] = ["run", "--resume", "run", "--quiet"];

impl KilledRun {
    fn new(trials: usize, more: &[&str]) -> KilledRun {
        let server = ModelServer::start(|number, request| {
            std::thread::sleep(Duration::from_millis(15));
            repairing_model(number, request)
        });
        let sandbox = sandbox_with(&server, &format!("connections = {CONNECTIONS}\nmax_output_tokens = 100\n"));
        let trials = format!("--trials={trials}");
        let args =
            [&RUN[..4], &["--guardrails=all", "--format=fusion-xml", "--quiet", "--out=run", &trials], more].concat();
        let begin = args.into_iter().map(str::to_owned).collect();
        KilledRun { server, sandbox, begin, moment: 0x2545_f491_4f6c_dd1d }
    }

    /// Starts or resumes the run and kills it a little after its first request. Returns its exit code if it ended before.
    fn start_and_kill(&mut self, more: &[&str]) -> Option<i32> {
        let exists = self.sandbox.path("run/manifest.json").exists();
        let begin: Vec<&str> = self.begin.iter().map(String::as_str).collect();
        let args = [if exists { &RESUME[..] } else { &begin }, more].concat();
        let asked = self.server.requests().len();
        let mut child = self.sandbox.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while self.server.requests().len() == asked && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.moment ^= self.moment << 13;
        self.moment ^= self.moment >> 7;
        self.moment ^= self.moment << 17;
        std::thread::sleep(Duration::from_millis(self.moment % 60));
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code().unwrap());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        None
    }

    /// Returns the answers that the run has, by the seed of their episode.
    fn kept(&self) -> BTreeSet<Request> {
        let run = self.sandbox.path("run");
        let (_, manifest) = RunDir::open_any(&run).unwrap();
        let plan = &manifest.plan;
        let seeds: BTreeMap<u64, u64> = (0..plan.len())
            .map(|episode| {
                let trial = plan.cell(episode).unwrap().trial;
                let key = DrawKey::of_trial(plan.seed, &plan.scenarios[0].id, trial);
                (episode, key.draws("model", 0).bits() >> 33)
            })
            .collect();
        let lines = |file: &str| -> Vec<Value> {
            let text = std::fs::read_to_string(run.join(file)).unwrap_or_default();
            let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            whole.map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        let mut kept = BTreeSet::new();
        let mut finished = BTreeSet::new();
        for line in lines("journal.jsonl") {
            let episode = line["episode"]["episode"].as_u64().unwrap();
            assert!(finished.insert(episode), "episode {episode} is in the journal twice");
            kept.extend([(seeds[&episode], 0), (seeds[&episode], 1)]);
        }
        for line in lines("requests.jsonl") {
            if let Some(id) = line.pointer("/answered/id") {
                let turn = id["turn"].as_u64().unwrap() as usize;
                kept.insert((seeds[&id["episode"].as_u64().unwrap()], turn));
            }
        }
        kept
    }
}

/// Every planned episode occurs once, and no answer that arrived is asked for again.
fn pays_for_nothing_twice(more: &[&str]) {
    let kills = kills();
    let trials = 20 + 8 * kills;
    let mut killed = KilledRun::new(trials, more);
    for _ in 0..kills {
        let kept = if killed.sandbox.path("run/manifest.json").exists() { killed.kept() } else { BTreeSet::new() };
        let asked = killed.server.requests().len();
        assert_eq!(killed.start_and_kill(&[]), None, "the run ended too soon: give it more trials");
        for received in &killed.server.requests()[asked..] {
            assert!(!kept.contains(&request(received)), "an answer that had arrived was asked for again");
        }
    }
    let (kept, asked) = (killed.kept(), killed.server.requests().len());
    killed.sandbox.ok(&RESUME);
    let requests: Vec<Request> = killed.server.requests().iter().map(request).collect();
    assert!(requests[asked..].iter().all(|request| !kept.contains(request)));
    assert_eq!(outcomes(&killed.sandbox.path("run")), vec![Outcome::Success; trials]);
    let distinct: BTreeSet<Request> = requests.iter().copied().collect();
    let lost = requests.len() - distinct.len();
    eprintln!("{kills} kills: {} answers for {} requests, {lost} of them twice", requests.len(), distinct.len());
    assert_eq!(distinct.len(), 2 * trials);
    assert!(lost <= kills * CONNECTIONS, "only what was under way at a kill is asked for again");
    assert!(!killed.sandbox.path("run/requests.jsonl").exists() && !killed.sandbox.path("run/journal.jsonl").exists());
}

#[cfg(unix)]
#[test]
fn a_killed_run_is_complete_and_pays_for_nothing_twice() {
    pays_for_nothing_twice(&[]);
}

#[cfg(unix)]
#[test]
fn a_killed_recording_is_complete_and_pays_for_nothing_twice() {
    pays_for_nothing_twice(&["--record=tape"]);
}

/// A run is killed until it stops by itself, since its budget is spent.
fn stays_within_its_budget(more: &[&str]) {
    let kills = kills();
    let budget = kills * 6_000;
    let mut killed = KilledRun::new(40 * kills, more);
    let limit = format!("--budget={budget}tokens");
    let mut code = None;
    for _ in 0..20 * kills {
        code = killed.start_and_kill(&[&limit]);
        if code.is_some() {
            break;
        }
    }
    assert_eq!(code, Some(4), "the budget is never spent");
    let handed_out = killed.server.requests().len() * ANSWER_TOKENS;
    eprintln!("{handed_out} tokens of a budget of {budget}");
    assert!(handed_out <= budget + ANSWER_TOKENS, "{handed_out} of {budget}");
    // Requests that were under way at a kill count by their upper bound, so something may be left.
    assert!(handed_out > budget / 8, "{handed_out} of {budget}");
    let again = killed.sandbox.start(&[&RESUME[..], &[&limit]].concat());
    assert_eq!(again.code, Some(4), "{}", again.err);
    assert_eq!(killed.server.requests().len() * ANSWER_TOKENS, handed_out, "a spent budget buys nothing");
}

#[cfg(unix)]
#[test]
fn a_killed_run_stays_within_its_budget() {
    stays_within_its_budget(&[]);
}

#[cfg(unix)]
#[test]
fn a_killed_recording_stays_within_its_budget() {
    stays_within_its_budget(&["--record=tape"]);
}

/// A container is killed ten seconds after SIGTERM; the time is printed.
#[cfg(unix)]
#[test]
fn a_terminated_recording_ends_soon_and_keeps_what_was_paid_for() {
    let server = ModelServer::start(|number, request| {
        std::thread::sleep(if number < 200 { Duration::ZERO } else { GENEROUS });
        repairing_model(number, request)
    });
    let sandbox = sandbox_with(&server, "connections = 32\n");
    let args = [&RUN[..], &["--trials=400", "--out=run", "--record=tape"]].concat();
    let child = sandbox.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while server.requests().len() < 232 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let started = Instant::now();
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let result = CommandResult::new(child.wait_with_output().unwrap());
    eprintln!("ended after {:?}", started.elapsed());
    assert_eq!(result.code, Some(130), "{}", result.err);
    assert!(started.elapsed() < GENEROUS, "it waits for the model");
    assert!(result.err.contains("continue with: healbench run --resume run"), "{}", result.err);
    assert!(result.out.is_empty(), "no report is made: {}", result.out);
    let tape = std::fs::read_to_string(sandbox.path("tape/journal.jsonl")).unwrap();
    assert_eq!(tape.lines().count(), 1 + 200, "what was answered is recorded");
}
