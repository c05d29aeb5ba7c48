//! Runs a plan with models. Paid responses survive a killed process, the budget is enforced, and episodes lost to the
//! network are run again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use healbench_agents::llm::ModelBackend;
use healbench_protocol::Usage;
use healbench_record::{
    EpisodeResult, Journal, Outcome, Records, RunDir, RunManifest, RunStatus, visit_recorded_turns,
    write_recorded_turns,
};
use healbench_reports::{FrameWriter, read_records};
use healbench_runner::{Job, WorkerPool, run_pools};

use healbench_reports::render::{plain_text, pluralize, shell_quote};

use crate::args::RunArgs;
use crate::budget::Budget;
use crate::error::{CliError, ExitStatus};
use crate::load::{AgentConfig, ModelSource, RunSpec};
use crate::models::ModelClients;
use crate::progress::{ModelCost, ProgressState, RunProgress};
use crate::terminal::Terminal;

/// A run with models that is ready to start.
pub(super) struct RunContext<'a> {
    pub(super) run: RunDir,
    pub(super) manifest: RunManifest,
    pub(super) run_spec: &'a RunSpec,
    pub(super) clients: &'a ModelClients,
    /// The number of threads for agents that send no requests.
    pub(super) jobs: usize,
}

/// The reason why a run with models stopped early.
#[derive(Clone)]
enum StopReason {
    Interrupt,
    Budget(Budget),
    /// Several episodes of an agent in a row were lost, so the next one probably would be too.
    LostInARow {
        agent: String,
        episodes: u64,
    },
}

/// The largest share of episodes lost to infrastructure in a run that counts as complete.
const INFRA_LIMIT: f64 = 0.05;
/// The number of lost episodes of an agent in a row at which the run stops: to infrastructure, and to configuration,
/// which does not improve by waiting.
const MAX_CONSECUTIVE_LOSSES: (u64, u64) = (20, 3);

/// Runs the missing episodes, writes the frames, and prints how the run ended.
pub(super) fn run_models(
    context: RunContext<'_>,
    args: &RunArgs,
    stop: &Arc<AtomicBool>,
    terminal: &Terminal,
) -> Result<ExitStatus, CliError> {
    let store = Mutex::new(EpisodeStore::open(&context, args.budget)?);
    let state = store.lock().unwrap_or_else(PoisonError::into_inner).progress_state(&context.manifest, args.live);
    let progress = RunProgress::start(terminal, &context.run, state);
    let executed = execute(&context, &store, stop, &progress);
    drop(progress);
    let RunContext { run, mut manifest, clients, .. } = context;
    let mut store = store.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Finished episodes are paid for, so they are saved even if the run failed.
    let saved = save(&run, &mut manifest, clients, &store);
    let printed = match store.results.is_empty() || saved.is_err() {
        true => Ok(()),
        false => super::report::print(&run, &manifest, super::run::detail(args), terminal),
    };
    let lost = store.loss_reasons();
    let done = matches!(saved, Ok(true)) && lost.is_empty();
    // If the last episode reaches the budget, the run is complete nevertheless.
    let stop_reason =
        store.stop_reason.take().or(matches!(executed, Ok(false)).then_some(StopReason::Interrupt)).filter(|_| !done);
    if done {
        store.journal.remove()?;
    }
    // Print how to resume before returning any error.
    let (all, first) = (store.results.len(), store.results.keys().next().copied().unwrap_or(0));
    let status = match (&executed, &saved) {
        (Ok(_), Ok(_)) => print_ending(&run, stop_reason, &lost, all, first, terminal),
        _ => {
            terminal.warn(&format!("continue with: {}", resume_command(&run)));
            ExitStatus::Incomplete
        }
    };
    executed?;
    saved?;
    printed?;
    Ok(status)
}

/// Runs the episodes that are not in the store. Returns true if all were run, false if the run was interrupted, reached
/// its budget, or lost too many episodes in a row.
fn execute(
    context: &RunContext<'_>,
    store: &Mutex<EpisodeStore<'_>>,
    stop: &AtomicBool,
    progress: &RunProgress,
) -> Result<bool, CliError> {
    let RunContext { manifest, run_spec, clients, jobs, .. } = context;
    let lock = || store.lock().unwrap_or_else(PoisonError::into_inner);
    let episodes = manifest.episodes();
    let done = lock().scored_episodes();
    let stop_reason = AtomicBool::new(lock().has_stopped());
    let on_result = |result: EpisodeResult| {
        let mut store = lock();
        let episode = result.episode.episode;
        store.add(result)?;
        stop_reason.fetch_or(store.has_stopped(), Ordering::Relaxed);
        if let Some(stored) = store.results.get(&episode) {
            progress.add_finished(std::slice::from_ref(&stored.episode));
        }
        Ok::<(), CliError>(())
    };
    let make_agent = run_spec.make_agent(ModelSource::Clients(clients));
    let job =
        Job { plan: &run_spec.plan, scenarios: &run_spec.scenarios, episodes, jobs: *jobs, make_agent: &make_agent };
    let stopped = || stop.load(Ordering::Relaxed) || stop_reason.load(Ordering::Relaxed);
    let pools = pools(run_spec, clients, *jobs);
    run_pools(&job, &pools, &|episode| done.contains(&episode), &stopped, &on_result).map_err(super::run::run_error)
}

/// Writes all files of the run. Returns true if every planned episode has a row.
fn save(
    run: &RunDir,
    manifest: &mut RunManifest,
    clients: &ModelClients,
    store: &EpisodeStore<'_>,
) -> Result<bool, CliError> {
    store.journal.sync()?;
    let written = write_frames(run, manifest, &store.results);
    // Merge the recordings first, so that they are kept even if writing the frames fails.
    let merged = clients.finish();
    written?;
    let episodes = manifest.episodes();
    let complete = store.results.len() as u64 == episodes.end - episodes.start;
    manifest.status = if complete { RunStatus::Complete } else { RunStatus::Interrupted };
    manifest.episodes_done = store.results.len() as u64;
    if merged.is_err() {
        manifest.status = RunStatus::Interrupted;
    }
    run.write_manifest(manifest)?;
    merged?;
    Ok(complete)
}

fn resume_command(run: &RunDir) -> String {
    format!("healbench run --resume {}", shell_quote(&run.path().display().to_string()))
}

/// The largest number of reasons listed.
const MAX_LISTED_REASONS: usize = 3;

/// Prints how the run ended and how to resume it, and returns the exit status. `lost` counts lost episodes by reason;
/// `first` is an episode of the run.
fn print_ending(
    run: &RunDir,
    stop_reason: Option<StopReason>,
    lost: &BTreeMap<String, u64>,
    all: usize,
    first: u64,
    terminal: &Terminal,
) -> ExitStatus {
    let count: u64 = lost.values().sum();
    if count > 0 {
        let noun = if count == 1 { "episode was" } else { "episodes were" };
        terminal.warn(&format!("{count} of {all} {noun} lost:"));
        let mut reasons: Vec<(&String, &u64)> = lost.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (reason, count) in reasons.iter().take(MAX_LISTED_REASONS) {
            terminal.warn(&format!("  {count} times: {}", plain_text(reason)));
        }
        if reasons.len() > MAX_LISTED_REASONS {
            terminal.warn(&format!("  and {} more", pluralize((reasons.len() - MAX_LISTED_REASONS) as u64, "reason")));
        }
    }
    let resume_command = resume_command(run);
    match stop_reason {
        Some(StopReason::Interrupt) => {
            terminal.warn(&format!("continue with: {resume_command}"));
            ExitStatus::Interrupted
        }
        Some(StopReason::Budget(budget)) => {
            terminal.warn(&format!("the budget of {budget} is spent; continue with: {resume_command} --budget …"));
            ExitStatus::Incomplete
        }
        Some(StopReason::LostInARow { agent, episodes }) => {
            let lost = pluralize(episodes, "episode");
            terminal.warn(&format!(
                "stopped: {lost} of {agent} in a row were lost; after fixing the cause, continue with: {resume_command}"
            ));
            ExitStatus::Incomplete
        }
        None if count > 0 => {
            terminal.warn(&format!("run them again with: {resume_command}"));
            if count as f64 > INFRA_LIMIT * all as f64 { ExitStatus::Incomplete } else { ExitStatus::Success }
        }
        None => {
            let quoted_path = shell_quote(&run.path().display().to_string());
            terminal.note(&format!(
                "run: {quoted_path}\nmore: healbench report {quoted_path}\none transcript: healbench show {quoted_path} {first}"
            ));
            ExitStatus::Success
        }
    }
}

/// The finished episodes.
struct EpisodeStore<'a> {
    journal: Journal,
    results: BTreeMap<u64, EpisodeResult>,
    spending: Spending<'a>,
    run_spec: &'a RunSpec,
    /// The numbers of episodes lost in a row to infrastructure and to configuration, by agent.
    consecutive_losses: BTreeMap<usize, (u64, u64)>,
    stop_reason: Option<StopReason>,
}

impl<'a> EpisodeStore<'a> {
    fn open(context: &RunContext<'a>, budget: Option<Budget>) -> Result<EpisodeStore<'a>, CliError> {
        let (journal, lines) = Journal::open(&context.run)?;
        let mut spending =
            Spending { run_spec: context.run_spec, budget, usd: 0.0, tokens: 0, measured: ModelCost::default() };
        let mut results = BTreeMap::new();
        for line in lines {
            // A lost episode that was run again was paid for twice.
            spending.add(&line);
            results.insert(line.episode.episode, line);
        }
        for recovered in recover(&context.run, &results)? {
            spending.add(&recovered);
            results.insert(recovered.episode.episode, recovered);
        }
        let run_spec = context.run_spec;
        let mut store = EpisodeStore {
            journal,
            results,
            spending,
            run_spec,
            consecutive_losses: BTreeMap::new(),
            stop_reason: None,
        };
        store.stop_if_spent();
        Ok(store)
    }

    fn has_stopped(&self) -> bool {
        self.stop_reason.is_some()
    }

    /// Returns the progress at the start. Lost episodes are run again, but their cost counts.
    fn progress_state(&self, manifest: &RunManifest, live: bool) -> ProgressState {
        let mut state = ProgressState::new(manifest, live, Instant::now());
        self.results.values().filter(|result| !is_lost(result)).for_each(|result| state.add_earlier(&result.episode));
        state.set_earlier_cost(self.spending.measured);
        state
    }

    fn stop_if_spent(&mut self) {
        if let Some(budget) = self.spending.budget.filter(|_| self.spending.is_exhausted()) {
            self.stop_reason.get_or_insert(StopReason::Budget(budget));
        }
    }

    /// Counts lost episodes by reason.
    fn loss_reasons(&self) -> BTreeMap<String, u64> {
        let mut reasons = BTreeMap::new();
        for result in self.results.values().filter(|result| is_lost(result)) {
            let failed = result.recorded_turns.as_ref().and_then(|recorded_turns| recorded_turns.failed.as_ref());
            let reason = failed.map_or("for a reason that is not known".to_owned(), ToString::to_string);
            *reasons.entry(reason).or_default() += 1;
        }
        reasons
    }

    /// Returns the episodes that need not be run again.
    fn scored_episodes(&self) -> BTreeSet<u64> {
        self.results.iter().filter(|(_, result)| !is_lost(result)).map(|(episode, _)| *episode).collect()
    }

    fn add(&mut self, result: EpisodeResult) -> Result<(), CliError> {
        self.journal.append(&result)?;
        self.spending.add(&result);
        self.stop_if_spent();
        if let Some(cell) = self.run_spec.plan.cell(result.episode.episode) {
            let losses = self.consecutive_losses.entry(cell.agent).or_default();
            match result.episode.outcome {
                Outcome::Infra => losses.0 += 1,
                Outcome::Config => losses.1 += 1,
                _ => *losses = (0, 0),
            }
            let (infra, config) = MAX_CONSECUTIVE_LOSSES;
            if losses.0 >= infra || losses.1 >= config {
                let (agent, episodes) = (self.run_spec.plan.agents[cell.agent].title(), losses.0 + losses.1);
                self.stop_reason.get_or_insert(StopReason::LostInARow { agent, episodes });
            }
        }
        self.results.insert(result.episode.episode, result);
        Ok(())
    }
}

/// The cost of models so far, and the budget.
struct Spending<'a> {
    run_spec: &'a RunSpec,
    budget: Option<Budget>,
    usd: f64,
    tokens: u64,
    /// The cost without estimates.
    measured: ModelCost,
}

impl Spending<'_> {
    fn add(&mut self, result: &EpisodeResult) {
        let Some(model) = &result.episode.model else { return };
        // If the provider did not count tokens, the budget uses healbench's own count.
        let counted = Usage { input: model.bpe_input, output: model.bpe_output, ..Usage::default() };
        let usage = model.usage.unwrap_or(counted);
        self.tokens = self.tokens.saturating_add(usage.input).saturating_add(usage.output);
        let Some(cell) = self.run_spec.plan.cell(result.episode.episode) else { return };
        self.measured.add(self.run_spec.plan.agents[cell.agent].kind, Some(model));
        let price = match self.run_spec.configs.get(cell.agent) {
            Some(AgentConfig::Model(model)) => model.price,
            _ => None,
        };
        self.usd += model.usd.or(price.map(|price| price.usd(&usage))).unwrap_or_default();
    }

    fn is_exhausted(&self) -> bool {
        match self.budget {
            None => false,
            Some(Budget::Usd(limit)) => self.usd >= limit,
            Some(Budget::Tokens(limit)) => self.tokens >= limit,
        }
    }
}

/// Returns true if the episode must be run again because its outcome does not depend on the agent's behavior.
fn is_lost(result: &EpisodeResult) -> bool {
    matches!(result.episode.outcome, Outcome::Infra | Outcome::Config)
}

/// Reads paid episodes that are in the frames but not in the journal, for example because the journal was deleted.
fn recover(run: &RunDir, results: &BTreeMap<u64, EpisodeResult>) -> Result<Vec<EpisodeResult>, CliError> {
    if !run.has_frames() {
        return Ok(Vec::new());
    }
    let records = read_records(run)?;
    let mut all_turns = BTreeMap::new();
    visit_recorded_turns(run, &mut |recorded_turns| {
        all_turns.insert(recorded_turns.episode, recorded_turns);
        true
    })?;
    let mut found = Vec::new();
    let mut calls = records.calls.into_iter().peekable();
    for episode in records.episodes {
        let number = episode.episode;
        let calls = std::iter::from_fn(|| calls.next_if(|call| call.episode == number)).collect();
        if !results.contains_key(&number) {
            found.push(EpisodeResult { episode, calls, recorded_turns: all_turns.remove(&number) });
        }
    }
    Ok(found)
}

/// Creates one worker pool per model, and one for all agents that send no requests.
fn pools(run_spec: &RunSpec, clients: &ModelClients, jobs: usize) -> Vec<WorkerPool> {
    let mut pools: Vec<(Option<&Arc<ModelBackend>>, WorkerPool)> = Vec::new();
    for (index, (factory, config)) in clients.factories.iter().zip(&run_spec.configs).enumerate() {
        let backend = factory.as_ref().map(|factory| &factory.backend).filter(|backend| backend.endpoint().is_some());
        let threads = match (backend, config) {
            (Some(_), AgentConfig::Model(model)) => model.connections.max as usize,
            _ => jobs,
        };
        let same = |(known, _): &(Option<&Arc<ModelBackend>>, WorkerPool)| match (known, backend) {
            (Some(known), Some(backend)) => Arc::ptr_eq(known, backend),
            (None, None) => true,
            _ => false,
        };
        match pools.iter().position(same) {
            Some(at) => pools[at].1.agents.push(index),
            None => pools.push((backend, WorkerPool { agents: vec![index], threads })),
        }
    }
    pools.into_iter().map(|(_, pool)| pool).collect()
}

/// Writes frames and transcripts in the order of the plan.
fn write_frames(run: &RunDir, manifest: &RunManifest, results: &BTreeMap<u64, EpisodeResult>) -> Result<(), CliError> {
    let mut writer = FrameWriter::create(run, &manifest.plan)?;
    for result in results.values() {
        writer.write(&Records { episodes: vec![result.episode.clone()], calls: result.calls.clone() })?;
    }
    writer.finish()?;
    write_recorded_turns(run, results.values().filter_map(|result| result.recorded_turns.as_ref()))?;
    Ok(())
}

/// Returns true if a run with models has no episodes left to run. Removes a journal that a killed process left.
pub(super) fn is_finished(run: &RunDir, manifest: &RunManifest) -> Result<bool, CliError> {
    if manifest.status != RunStatus::Complete || !run.has_frames() {
        return Ok(false);
    }
    if !all_scored(run)? {
        return Ok(false);
    }
    if run.journal_path().exists() {
        Journal::open(run)?.0.remove()?;
    }
    Ok(true)
}

/// Returns true if no episode of a run was lost.
pub(super) fn all_scored(run: &RunDir) -> Result<bool, CliError> {
    Ok(read_records(run)?.episodes.iter().all(|row| row.outcome.is_scored()))
}
