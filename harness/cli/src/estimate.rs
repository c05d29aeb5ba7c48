//! What models would take of a plan, as far as it can be told without asking them.
//!
//! The scripted agent `typical` plays the same scenarios under the same settings. What its conversations would take if a model had
//! led them is the estimate: a real model may call more or less, and say more.

use std::convert::Infallible;
use std::sync::atomic::AtomicBool;

use healbench_agents::llm::{Model, opening_steps, preamble_of};
use healbench_agents::scripted::{ScriptedAgent, scripted};
use healbench_protocol::{Agent, EpisodeStart, Opening, Usage};
use healbench_record::{CallRecord, EpisodeRecord, Outcome, Plan, Records};
use healbench_runner::{Job, RunEvent, TokenCounter, run};
use healbench_scenarios::Scenario;

use crate::error::CliError;
use crate::load::{Cast, Part};

/// What one agent of a plan would take.
pub(crate) struct Estimate {
    pub(crate) agent: usize,
    pub(crate) turns: u64,
    pub(crate) input: u64,
    pub(crate) output: u64,
    /// US dollars; `None` when the price is unknown. Caches are not counted on.
    pub(crate) usd: Option<f64>,
}

/// Trials that are played for an estimate; it is scaled to those of the plan.
const TRIALS: u32 = 2;
const PROFILE: &str = "typical";

/// An estimate for each model of the plan.
pub(crate) fn estimates(cast: &Cast) -> Result<Vec<Estimate>, CliError> {
    let models: Vec<(usize, &Model, Opening)> = cast
        .parts
        .iter()
        .enumerate()
        .filter_map(|(index, part)| match part {
            Part::Model(model) => Some((index, model.as_ref(), cast.plan.agents[index].opening?)),
            Part::Scripted(_) => None,
        })
        .collect();
    if models.is_empty() {
        return Ok(Vec::new());
    }
    let (plan, played) = play(cast)?;
    let openings = openings(cast, plan.trials);
    let mut tokens = TokenCounter::new();
    models
        .into_iter()
        .map(|(agent, model, opening)| {
            let preambles: Vec<u64> = cast
                .scenarios
                .iter()
                .map(|scenario| u64::from(tokens.count(&preamble_of(model, &scenario.advertised()))))
                .collect();
            let mut sum = Estimate { agent, turns: 0, input: 0, output: 0, usd: None };
            let mut calls = played.calls.as_slice();
            for episode in &played.episodes {
                let (mine, rest) = calls.split_at(episode.calls as usize);
                calls = rest;
                let Some(cell) = plan.cell(episode.episode) else { continue };
                let opened = match opening {
                    Opening::Seeded => openings[cell.scenario][cell.trial as usize],
                    Opening::Natural => 0,
                };
                add(&mut sum, episode, mine.get(opened..).unwrap_or_default(), preambles[cell.scenario], mine);
            }
            let scale = |count: u64| count * u64::from(cast.plan.trials) / u64::from(plan.trials);
            let (input, output) = (scale(sum.input), scale(sum.output));
            let usage = Usage { input, output, ..Usage::default() };
            let usd = model.price.map(|price| price.usd(&usage));
            Ok(Estimate { agent, turns: scale(sum.turns), input, output, usd })
        })
        .collect()
}

/// A turn for each call, and one for the closing words of who did not reach the goal.
fn add(sum: &mut Estimate, episode: &EpisodeRecord, asked: &[CallRecord], preamble: u64, all: &[CallRecord]) {
    let closes = episode.outcome != Outcome::Success || asked.is_empty();
    sum.turns += asked.len() as u64 + u64::from(closes);
    for call in asked {
        sum.input += preamble + call.context_tokens;
        sum.output += u64::from(call.request_tokens);
    }
    if !closes {
        return;
    }
    let said: u64 = all.iter().map(|call| u64::from(call.request_tokens) + u64::from(call.response_tokens)).sum();
    sum.input += preamble + u64::from(episode.prompt_tokens) + said;
    sum.output += u64::from(episode.prose_tokens);
}

/// By scenario and trial, the calls that a seeded opening makes.
fn openings(cast: &Cast, trials: u32) -> Vec<Vec<usize>> {
    let seed = cast.plan.seed;
    let of_scenario = |scenario: &Scenario| {
        let world = scenario.world(seed);
        let schedules = (0..trials).map(|trial| scenario.schedule(seed, trial, &world));
        schedules.map(|schedule| opening_steps(&schedule.script, schedule.scheduled)).collect()
    };
    cast.scenarios.iter().map(of_scenario).collect()
}

/// Tells the compiler that a closure makes agents that live as long as what they begin with.
fn for_any_episode<F>(make_agent: F) -> F
where
    F: for<'s> Fn(usize, EpisodeStart<'s>) -> Box<dyn Agent + 's>,
{
    make_agent
}

/// Plays the plan with one scripted agent, in memory.
fn play(cast: &Cast) -> Result<(Plan, Records), CliError> {
    let profile = scripted(PROFILE)?;
    let trials = cast.plan.trials.min(TRIALS);
    let plan = Plan { agents: vec![profile.spec(PROFILE)], trials, ..cast.plan.clone() };
    let mut played = Records::default();
    let make_agent = for_any_episode(|_, start| Box::new(ScriptedAgent::new(&profile, start)));
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let job = Job { plan: &plan, scenarios: &cast.scenarios, episodes: 0..plan.len(), jobs, make_agent: &make_agent };
    run(&job, &AtomicBool::new(false), &mut |event| {
        if let RunEvent::Episodes { records, .. } = event {
            played.episodes.extend(records.episodes);
            played.calls.extend(records.calls);
        }
        Ok::<(), Infallible>(())
    })
    .map_err(super::commands::run::failed)?;
    Ok((plan.clone(), played))
}
