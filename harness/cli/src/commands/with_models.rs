//! Playing a plan with models: what an answer cost is not lost by a kill, a limit is kept, and what the network lost is played again.

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
use crate::load::{Cast, Models, Part};
use crate::models::Troupe;
use crate::progress::{Progress, Score, Spent};
use crate::terminal::Terminal;

/// A run with models that is about to be played.
pub(super) struct Production<'a> {
    pub(super) run: RunDir,
    pub(super) manifest: RunManifest,
    pub(super) cast: &'a Cast,
    pub(super) troupe: &'a Troupe,
    /// Threads for agents that ask nobody.
    pub(super) jobs: usize,
}

/// Why a run with models ended before its last episode.
#[derive(Clone)]
enum Cut {
    Interrupt,
    Budget(Budget),
    /// So many episodes of an agent in a row were lost: the next one would be too.
    Row {
        agent: String,
        episodes: u64,
    },
}

/// The share of episodes that may be lost to the infrastructure in a run that counts as whole.
const INFRA_LIMIT: f64 = 0.05;
/// Episodes of an agent that are lost in a row before the run stops: to the infrastructure, and to a configuration that no wait mends.
const LOST_IN_A_ROW: (u64, u64) = (20, 3);

/// Plays what is missing, writes the frames of what is there, and says how it ended.
pub(super) fn play(
    production: Production<'_>,
    args: &RunArgs,
    stop: &Arc<AtomicBool>,
    terminal: &Terminal,
) -> Result<ExitStatus, CliError> {
    let store = Mutex::new(Store::open(&production, args.budget)?);
    let score = store.lock().unwrap_or_else(PoisonError::into_inner).score(&production.manifest, args.live);
    let progress = Progress::start(terminal, &production.run, score);
    let performed = perform(&production, &store, stop, &progress);
    drop(progress);
    let Production { run, mut manifest, troupe, .. } = production;
    let mut store = store.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Whatever ended the run: what was played is paid for, and has its frames.
    let closed = close(&run, &mut manifest, troupe, &store);
    let printed = match store.played.is_empty() || closed.is_err() {
        true => Ok(()),
        false => super::report::print(&run, &manifest, super::run::detail(args), terminal),
    };
    let lost = store.lost();
    let done = matches!(closed, Ok(true)) && lost.is_empty();
    // The last episode may reach the budget; nothing is left then to go on with.
    let cut = store.cut.take().or(matches!(performed, Ok(false)).then_some(Cut::Interrupt)).filter(|_| !done);
    if done {
        store.journal.remove()?;
    }
    // How to go on has to be said, whatever else went wrong.
    let (all, first) = (store.played.len(), store.played.keys().next().copied().unwrap_or(0));
    let status = match (&performed, &closed) {
        (Ok(_), Ok(_)) => farewell(&run, cut, &lost, all, first, terminal),
        _ => {
            terminal.important(&format!("go on with: {}", resume(&run)));
            ExitStatus::Incomplete
        }
    };
    performed?;
    closed?;
    printed?;
    Ok(status)
}

/// Plays the episodes that are not in the store; true once all were. False when somebody stops it, the budget is spent, or one episode
/// after the other is lost.
fn perform(
    production: &Production<'_>,
    store: &Mutex<Store<'_>>,
    stop: &AtomicBool,
    progress: &Progress,
) -> Result<bool, CliError> {
    let Production { manifest, cast, troupe, jobs, .. } = production;
    let lock = || store.lock().unwrap_or_else(PoisonError::into_inner);
    let episodes = manifest.episodes();
    let done = lock().scored();
    let cut = AtomicBool::new(lock().is_cut());
    let keep = |played: EpisodeResult| {
        let mut store = lock();
        let episode = played.episode.episode;
        store.keep(played)?;
        cut.fetch_or(store.is_cut(), Ordering::Relaxed);
        if let Some(kept) = store.played.get(&episode) {
            progress.played(std::slice::from_ref(&kept.episode));
        }
        Ok::<(), CliError>(())
    };
    let make_agent = cast.make_agent(Models::Players(troupe));
    let job = Job { plan: &cast.plan, scenarios: &cast.scenarios, episodes, jobs: *jobs, make_agent: &make_agent };
    let stopped = || stop.load(Ordering::Relaxed) || cut.load(Ordering::Relaxed);
    let pools = pools(cast, troupe, *jobs);
    run_pools(&job, &pools, &|episode| done.contains(&episode), &stopped, &keep).map_err(super::run::failed)
}

/// Writes everything that the run leaves behind. True when every planned episode has a row.
fn close(run: &RunDir, manifest: &mut RunManifest, troupe: &Troupe, store: &Store<'_>) -> Result<bool, CliError> {
    store.journal.sync()?;
    let written = write(run, manifest, &store.played);
    // Before the run counts as complete, and even if its frames do not fit on the disk.
    let merged = troupe.finish();
    written?;
    let episodes = manifest.episodes();
    let whole = store.played.len() as u64 == episodes.end - episodes.start;
    manifest.status = if whole { RunStatus::Complete } else { RunStatus::Interrupted };
    manifest.episodes_done = store.played.len() as u64;
    if merged.is_err() {
        manifest.status = RunStatus::Interrupted;
    }
    run.write_manifest(manifest)?;
    merged?;
    Ok(whole)
}

fn resume(run: &RunDir) -> String {
    format!("healbench run --resume {}", shell_quote(&run.path().display().to_string()))
}

/// Reasons that are listed.
const LISTED: usize = 3;

/// Says how the run ended and how to go on, and gives the exit code. `lost` has the reasons why episodes were lost, with their number;
/// `first` is an episode of the run.
fn farewell(
    run: &RunDir,
    cut: Option<Cut>,
    lost: &BTreeMap<String, u64>,
    all: usize,
    first: u64,
    terminal: &Terminal,
) -> ExitStatus {
    let count: u64 = lost.values().sum();
    if count > 0 {
        let noun = if count == 1 { "episode was" } else { "episodes were" };
        terminal.important(&format!("{count} of {all} {noun} lost:"));
        let mut reasons: Vec<(&String, &u64)> = lost.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (reason, count) in reasons.iter().take(LISTED) {
            terminal.important(&format!("  {count} times: {}", plain_text(reason)));
        }
        if reasons.len() > LISTED {
            terminal.important(&format!("  and {} more", pluralize((reasons.len() - LISTED) as u64, "reason")));
        }
    }
    let resume = resume(run);
    match cut {
        Some(Cut::Interrupt) => {
            terminal.important(&format!("go on with: {resume}"));
            ExitStatus::Interrupted
        }
        Some(Cut::Budget(budget)) => {
            terminal.important(&format!("the budget of {budget} is spent; go on with: {resume} --budget …"));
            ExitStatus::Incomplete
        }
        Some(Cut::Row { agent, episodes }) => {
            let lost = pluralize(episodes, "episode");
            terminal.important(&format!(
                "stopped: {lost} of {agent} in a row were lost; once it is mended, go on with: {resume}"
            ));
            ExitStatus::Incomplete
        }
        None if count > 0 => {
            terminal.important(&format!("play them again with: {resume}"));
            if count as f64 > INFRA_LIMIT * all as f64 { ExitStatus::Incomplete } else { ExitStatus::Fine }
        }
        None => {
            let shown = shell_quote(&run.path().display().to_string());
            terminal.note(&format!(
                "run: {shown}\nmore: healbench report {shown}\none transcript: healbench show {shown} {first}"
            ));
            ExitStatus::Fine
        }
    }
}

/// What was played so far.
struct Store<'a> {
    journal: Journal,
    played: BTreeMap<u64, EpisodeResult>,
    spent: Spending<'a>,
    cast: &'a Cast,
    /// By agent, the episodes that were lost to the infrastructure and to the configuration since the last one that was not.
    in_a_row: BTreeMap<usize, (u64, u64)>,
    cut: Option<Cut>,
}

impl<'a> Store<'a> {
    fn open(production: &Production<'a>, budget: Option<Budget>) -> Result<Store<'a>, CliError> {
        let (journal, lines) = Journal::open(&production.run)?;
        let mut spent = Spending { cast: production.cast, budget, usd: 0.0, tokens: 0, measured: Spent::default() };
        let mut played = BTreeMap::new();
        for line in lines {
            // An episode that was lost and played again was paid twice.
            spent.add(&line);
            played.insert(line.episode.episode, line);
        }
        for recovered in recover(&production.run, &played)? {
            spent.add(&recovered);
            played.insert(recovered.episode.episode, recovered);
        }
        let cast = production.cast;
        let mut store = Store { journal, played, spent, cast, in_a_row: BTreeMap::new(), cut: None };
        store.cut_if_spent();
        Ok(store)
    }

    fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// What is known of the run before it goes on. What was lost is played again, but was paid for.
    fn score(&self, manifest: &RunManifest, live: bool) -> Score {
        let mut score = Score::new(manifest, live, Instant::now());
        self.played.values().filter(|played| !is_lost(played)).for_each(|played| score.before(&played.episode));
        score.spent_before(self.spent.measured);
        score
    }

    fn cut_if_spent(&mut self) {
        if let Some(budget) = self.spent.budget.filter(|_| self.spent.is_over()) {
            self.cut.get_or_insert(Cut::Budget(budget));
        }
    }

    /// Why episodes were lost, and how many.
    fn lost(&self) -> BTreeMap<String, u64> {
        let mut reasons = BTreeMap::new();
        for played in self.played.values().filter(|played| is_lost(played)) {
            let failed = played.recorded_turns.as_ref().and_then(|recorded_turns| recorded_turns.failed.as_ref());
            let reason = failed.map_or("for a reason that is not known".to_owned(), ToString::to_string);
            *reasons.entry(reason).or_default() += 1;
        }
        reasons
    }

    /// The episodes that need not be played again.
    fn scored(&self) -> BTreeSet<u64> {
        self.played.iter().filter(|(_, played)| !is_lost(played)).map(|(episode, _)| *episode).collect()
    }

    fn keep(&mut self, played: EpisodeResult) -> Result<(), CliError> {
        self.journal.append(&played)?;
        self.spent.add(&played);
        self.cut_if_spent();
        if let Some(cell) = self.cast.plan.cell(played.episode.episode) {
            let row = self.in_a_row.entry(cell.agent).or_default();
            match played.episode.outcome {
                Outcome::Infra => row.0 += 1,
                Outcome::Config => row.1 += 1,
                _ => *row = (0, 0),
            }
            let (infra, config) = LOST_IN_A_ROW;
            if row.0 >= infra || row.1 >= config {
                let (agent, episodes) = (self.cast.plan.agents[cell.agent].title(), row.0 + row.1);
                self.cut.get_or_insert(Cut::Row { agent, episodes });
            }
        }
        self.played.insert(played.episode.episode, played);
        Ok(())
    }
}

/// What models cost, against the budget.
struct Spending<'a> {
    cast: &'a Cast,
    budget: Option<Budget>,
    usd: f64,
    tokens: u64,
    /// Without what is only supposed to have been paid.
    measured: Spent,
}

impl Spending<'_> {
    fn add(&mut self, played: &EpisodeResult) {
        let Some(model) = &played.episode.model else { return };
        // Where the provider did not count, healbench's own count is the nearest thing that a limit can be held against.
        let counted = Usage { input: model.bpe_input, output: model.bpe_output, ..Usage::default() };
        let usage = model.usage.unwrap_or(counted);
        self.tokens = self.tokens.saturating_add(usage.input).saturating_add(usage.output);
        let Some(cell) = self.cast.plan.cell(played.episode.episode) else { return };
        self.measured.add(self.cast.plan.agents[cell.agent].kind, Some(model));
        let price = match self.cast.parts.get(cell.agent) {
            Some(Part::Model(model)) => model.price,
            _ => None,
        };
        self.usd += model.usd.or(price.map(|price| price.usd(&usage))).unwrap_or_default();
    }

    fn is_over(&self) -> bool {
        match self.budget {
            None => false,
            Some(Budget::Usd(limit)) => self.usd >= limit,
            Some(Budget::Tokens(limit)) => self.tokens >= limit,
        }
    }
}

/// Whether the episode has to be played again: it says nothing about its agent.
fn is_lost(played: &EpisodeResult) -> bool {
    matches!(played.episode.outcome, Outcome::Infra | Outcome::Config)
}

/// What is in the frames and not in the journal: somebody may have removed it, and what it had is paid for.
fn recover(run: &RunDir, played: &BTreeMap<u64, EpisodeResult>) -> Result<Vec<EpisodeResult>, CliError> {
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
        if !played.contains_key(&number) {
            found.push(EpisodeResult { episode, calls, recorded_turns: all_turns.remove(&number) });
        }
    }
    Ok(found)
}

/// A lane for each model, and one for all agents that ask nobody.
fn pools(cast: &Cast, troupe: &Troupe, jobs: usize) -> Vec<WorkerPool> {
    let mut pools: Vec<(Option<&Arc<ModelBackend>>, WorkerPool)> = Vec::new();
    for (index, (factory, part)) in troupe.players.iter().zip(&cast.parts).enumerate() {
        let backend = factory.as_ref().map(|factory| &factory.backend).filter(|backend| backend.endpoint().is_some());
        let threads = match (backend, part) {
            (Some(_), Part::Model(model)) => model.connections.max as usize,
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

/// The frames and transcripts of what was played, in the order of the plan.
fn write(run: &RunDir, manifest: &RunManifest, played: &BTreeMap<u64, EpisodeResult>) -> Result<(), CliError> {
    let mut writer = FrameWriter::create(run, &manifest.plan)?;
    for played in played.values() {
        writer.write(&Records { episodes: vec![played.episode.clone()], calls: played.calls.clone() })?;
    }
    writer.finish()?;
    write_recorded_turns(run, played.values().filter_map(|played| played.recorded_turns.as_ref()))?;
    Ok(())
}

/// Whether a run with models has nothing left to play. A journal that a process was killed before it removed is removed.
pub(super) fn is_whole(run: &RunDir, manifest: &RunManifest) -> Result<bool, CliError> {
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

/// Whether no episode of a run was lost.
pub(super) fn all_scored(run: &RunDir) -> Result<bool, CliError> {
    Ok(read_records(run)?.episodes.iter().all(|row| row.outcome.is_scored()))
}
