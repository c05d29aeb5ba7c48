//! Estimates the usage of models without sending requests.
//!
//! The simulated reader `typical` runs the same scenarios in the same conditions. The estimate is the usage of its
//! conversations if a model had led them. A real model may make more or fewer calls, and write longer turns.

use std::convert::Infallible;
use std::sync::atomic::AtomicBool;

use healbench_agents::llm::{Model, preamble_of};
use healbench_core::{
    Agent, CallRecord, EnvironmentKind, EpisodeRecord, EpisodeStart, Opening, Outcome, Plan, Records, Script, Usage,
};
use healbench_reader::shipped_profile;
use healbench_runner::{Job, RunEvent, WorkerPool, execute};
use healbench_scenarios::Scenario;
use healbench_tokens::TokenCounter;

use crate::error::CliError;
use crate::load::scripted_agent;
use crate::run_spec::{AgentConfig, RunSpec};

/// The estimated usage of one agent of a plan.
pub(crate) struct Estimate {
    pub(crate) agent: usize,
    pub(crate) turns: u64,
    pub(crate) input: u64,
    pub(crate) output: u64,
    /// US dollars; `None` if the price is unknown. Assumes no cache reads.
    pub(crate) usd: Option<f64>,
}

/// The number of trials run for an estimate, which is scaled to the plan's number of trials.
const TRIALS: u32 = 2;
const PROFILE: &str = "typical";

/// Returns an estimate for each model agent of the plan.
pub(crate) fn estimates(run_spec: &RunSpec) -> Result<Vec<Estimate>, CliError> {
    let models: Vec<(usize, &Model, Opening)> = run_spec
        .configs
        .iter()
        .enumerate()
        .filter_map(|(index, config)| match config {
            AgentConfig::Model(model) => Some((index, model.as_ref(), run_spec.plan.agents[index].opening?)),
            AgentConfig::Scripted(_) | AgentConfig::Program(_) => None,
        })
        .collect();
    // Only the simulator tells beforehand what an episode takes.
    if models.is_empty() || run_spec.plan.environment.kind != EnvironmentKind::Simulator {
        return Ok(Vec::new());
    }
    let (plan, records) = run_profile(run_spec)?;
    let openings = opening_call_counts(run_spec, plan.trials);
    let mut tokens = TokenCounter::new();
    models
        .into_iter()
        .map(|(agent, model, opening)| {
            let preambles: Vec<u64> = run_spec
                .scenarios
                .iter()
                .map(|scenario| u64::from(tokens.count(&preamble_of(model, &scenario.advertised()))))
                .collect();
            let mut sum = Estimate { agent, turns: 0, input: 0, output: 0, usd: None };
            let mut calls = records.calls.as_slice();
            for episode in &records.episodes {
                let (episode_calls, rest) = calls.split_at(episode.calls as usize);
                calls = rest;
                let Some(cell) = plan.cell(episode.episode) else { continue };
                let opening_calls = match opening {
                    Opening::Seeded => openings[cell.scenario][cell.trial as usize],
                    Opening::Natural => 0,
                };
                add_episode(
                    &mut sum,
                    episode,
                    episode_calls.get(opening_calls..).unwrap_or_default(),
                    preambles[cell.scenario],
                    episode_calls,
                );
            }
            let scale = |count: u64| count * u64::from(run_spec.plan.trials) / u64::from(plan.trials);
            let (input, output) = (scale(sum.input), scale(sum.output));
            let usage = Usage { input, output, ..Usage::default() };
            let usd = model.price.map(|price| price.usd(&usage));
            Ok(Estimate { agent, turns: scale(sum.turns), input, output, usd })
        })
        .collect()
}

/// Adds one turn per call, and a final turn without a call if the goal was not reached.
fn add_episode(
    sum: &mut Estimate,
    episode: &EpisodeRecord,
    model_calls: &[CallRecord],
    preamble: u64,
    episode_calls: &[CallRecord],
) {
    let has_closing_turn = episode.outcome != Outcome::Success || model_calls.is_empty();
    sum.turns += model_calls.len() as u64 + u64::from(has_closing_turn);
    for call in model_calls {
        // A simulated reader's turns are known.
        sum.input += preamble + call.context_tokens.unwrap_or_default();
        sum.output += u64::from(call.request_tokens);
    }
    if !has_closing_turn {
        return;
    }
    let transcript_tokens: u64 =
        episode_calls.iter().map(|call| u64::from(call.request_tokens) + u64::from(call.response_tokens)).sum();
    sum.input += preamble + u64::from(episode.prompt_tokens) + transcript_tokens;
    sum.output += u64::from(episode.prose_tokens.unwrap_or_default());
}

/// Returns the number of calls of a seeded opening, by scenario and trial.
fn opening_call_counts(run_spec: &RunSpec, trials: u32) -> Vec<Vec<usize>> {
    let seed = run_spec.plan.seed;
    let scenario_counts = |scenario: &Scenario| {
        let worlds: Vec<_> = (0..scenario.worlds().min(trials)).map(|number| scenario.world(seed, number)).collect();
        let world = |trial: u32| &worlds[trial as usize % worlds.len()];
        let schedules = (0..trials).map(|trial| scenario.schedule(seed, trial, world(trial)));
        schedules.map(|schedule| schedule.opening_turns().iter().flatten().count()).collect()
    };
    run_spec.scenarios.iter().map(scenario_counts).collect()
}

/// Makes the compiler infer a closure that is generic over the lifetime of the episode.
fn for_any_episode<F>(make_agent: F) -> F
where
    F: for<'s> Fn(usize, EpisodeStart<'s>, Option<&'s Script>) -> Box<dyn Agent + 's>,
{
    make_agent
}

/// Runs the plan with one simulated reader in memory.
fn run_profile(run_spec: &RunSpec) -> Result<(Plan, Records), CliError> {
    let profile = shipped_profile(PROFILE)?;
    let trials = run_spec.plan.trials.min(TRIALS);
    let plan = Plan { agents: vec![profile.spec(PROFILE)], trials, ..run_spec.plan.clone() };
    let mut records = Records::default();
    let make_agent = for_any_episode(|_, start, script| scripted_agent(&profile, start, script));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let pools = [WorkerPool::of_all_agents(&plan, threads)];
    let episodes = (0..plan.len()).into();
    let job = Job {
        plan: &plan,
        scenarios: &run_spec.scenarios,
        episodes,
        pools: &pools,
        make_agent: &make_agent,
        make_environment: None,
    };
    execute(&job, None, &AtomicBool::new(false), &mut |event| {
        if let RunEvent::Rows(results) = event {
            for result in results {
                records.episodes.push(result.episode);
                records.calls.extend(result.calls);
            }
        }
        Ok::<(), Infallible>(())
    })?;
    Ok((plan.clone(), records))
}
