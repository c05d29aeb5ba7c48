//! Playing a plan with models: what an answer cost is not lost by a kill, a limit is kept, and what the network lost is played again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use healbench_agents::llm::Line;
use healbench_protocol::Usage;
use healbench_record::{
    Journal, Outcome, Played, Records, RunDir, RunManifest, RunStatus, read_transcripts, write_transcripts,
};
use healbench_reports::{FrameWriter, read_records};
use healbench_runner::{Job, Lane, play_lanes};

use crate::args::RunArgs;
use crate::budget::Budget;
use crate::error::{CliError, ExitStatus, shell_word};
use crate::load::{Cast, Models, Part};
use crate::models::Troupe;
use crate::progress::Progress;
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
enum Cut {
    Interrupt,
    Budget(Budget),
}

/// The share of episodes that may be lost to the infrastructure in a run that counts as whole.
const INFRA_LIMIT: f64 = 0.05;

/// Plays what is missing, writes the frames of what is there, and says how it ended.
pub(super) fn play(
    production: Production<'_>,
    args: &RunArgs,
    stop: &Arc<AtomicBool>,
    terminal: &Terminal,
) -> Result<ExitStatus, CliError> {
    let store = Mutex::new(Store::open(&production, args.budget)?);
    let result = perform(&production, &store, stop, terminal);
    let Production { run, mut manifest, troupe, .. } = production;
    let store = store.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Whatever ended the run: what was played is paid for, and has its frames.
    let (lost, whole) = close(&run, &mut manifest, troupe, &store)?;
    let over = store.spent.is_over();
    let played = store.played.len() as u64;
    if whole && lost == 0 {
        store.journal.remove()?;
    }
    result?;
    if played > 0 {
        super::report::print(&run, &manifest, super::run::detail(args), terminal)?;
    }
    let cut = match args.budget.filter(|_| over) {
        _ if whole => None,
        Some(budget) => Some(Cut::Budget(budget)),
        None => Some(Cut::Interrupt),
    };
    Ok(farewell(&run, cut, (lost, played), terminal))
}

/// Plays the episodes that are not in the store, until all are, somebody stops it, or the budget is spent.
fn perform(
    production: &Production<'_>,
    store: &Mutex<Store<'_>>,
    stop: &AtomicBool,
    terminal: &Terminal,
) -> Result<(), CliError> {
    let Production { manifest, cast, troupe, jobs, .. } = production;
    let lock = || store.lock().unwrap_or_else(PoisonError::into_inner);
    let episodes = manifest.episodes();
    let done = lock().scored();
    let broke = AtomicBool::new(lock().spent.is_over());
    let progress = Progress::start(terminal, done.len() as u64, episodes.end - episodes.start);
    let progress = Mutex::new(progress);
    let keep = |played: Played| {
        let mut store = lock();
        store.keep(played)?;
        broke.fetch_or(store.spent.is_over(), Ordering::Relaxed);
        progress.lock().unwrap_or_else(PoisonError::into_inner).set(store.played.len() as u64);
        Ok::<(), CliError>(())
    };
    let make_agent = cast.make_agent(Models::Players(troupe));
    let job = Job { plan: &cast.plan, scenarios: &cast.scenarios, episodes, jobs: *jobs, make_agent: &make_agent };
    let stopped = || stop.load(Ordering::Relaxed) || broke.load(Ordering::Relaxed);
    let result = play_lanes(&job, &lanes(cast, troupe, *jobs), &|episode| done.contains(&episode), &stopped, &keep);
    progress.lock().unwrap_or_else(PoisonError::into_inner).finish();
    result.map(|_| ()).map_err(super::run::failed)
}

/// Writes everything that the run leaves behind. Gives how many episodes were lost, and whether all are there.
fn close(
    run: &RunDir,
    manifest: &mut RunManifest,
    troupe: &Troupe,
    store: &Store<'_>,
) -> Result<(u64, bool), CliError> {
    store.journal.sync()?;
    let records = troupe.players.iter().flatten().any(|player| player.line.endpoint().is_some());
    if let Some(cassette) = troupe.cassette.as_ref().filter(|_| records) {
        cassette.finish()?;
    }
    write(run, manifest, &store.played)?;
    let episodes = manifest.episodes();
    let whole = store.played.len() as u64 == episodes.end - episodes.start;
    manifest.status = if whole { RunStatus::Complete } else { RunStatus::Interrupted };
    manifest.episodes_done = store.played.len() as u64;
    run.write_manifest(manifest)?;
    let lost = store.played.values().filter(|played| is_lost(played)).count() as u64;
    Ok((lost, whole))
}

/// Says how to go on, and gives the exit code.
fn farewell(run: &RunDir, cut: Option<Cut>, (lost, all): (u64, u64), terminal: &Terminal) -> ExitStatus {
    let shown = shell_word(&run.path().display().to_string());
    let resume = format!("healbench run --resume {shown}");
    match cut {
        Some(Cut::Interrupt) => {
            terminal.important(&format!("go on with: {resume}"));
            ExitStatus::Interrupted
        }
        Some(Cut::Budget(budget)) => {
            terminal.important(&format!("the budget of {budget} is spent; go on with: {resume} --budget …"));
            ExitStatus::Incomplete
        }
        None if lost > 0 => {
            let noun = if lost == 1 { "episode was" } else { "episodes were" };
            terminal.important(&format!("{lost} of {all} {noun} lost; play them again with: {resume}"));
            if lost as f64 > INFRA_LIMIT * all as f64 { ExitStatus::Incomplete } else { ExitStatus::Fine }
        }
        None => {
            terminal.note(&format!("run: {shown}\nmore: healbench report {shown}"));
            ExitStatus::Fine
        }
    }
}

/// What was played so far.
struct Store<'a> {
    journal: Journal,
    played: BTreeMap<u64, Played>,
    spent: Spending<'a>,
}

impl<'a> Store<'a> {
    fn open(production: &Production<'a>, budget: Option<Budget>) -> Result<Store<'a>, CliError> {
        let (journal, mut played) = Journal::open(&production.run)?;
        recover(&production.run, &mut played)?;
        let spent = Spending::of(production.cast, &played, budget);
        Ok(Store { journal, played, spent })
    }

    /// The episodes that need not be played again.
    fn scored(&self) -> BTreeSet<u64> {
        self.played.iter().filter(|(_, played)| !is_lost(played)).map(|(episode, _)| *episode).collect()
    }

    fn keep(&mut self, played: Played) -> Result<(), CliError> {
        self.journal.append(&played)?;
        self.spent.add(&played);
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
}

impl<'a> Spending<'a> {
    fn of(cast: &'a Cast, played: &BTreeMap<u64, Played>, budget: Option<Budget>) -> Spending<'a> {
        let mut spent = Spending { cast, budget, usd: 0.0, tokens: 0 };
        played.values().for_each(|played| spent.add(played));
        spent
    }

    fn add(&mut self, played: &Played) {
        let Some(model) = &played.episode.model else { return };
        // Where the provider did not count, healbench's own count is the nearest thing that a limit can be held against.
        let counted = Usage { input: model.bpe_input, output: model.bpe_output, ..Usage::default() };
        let usage = model.usage.unwrap_or(counted);
        self.tokens += usage.input + usage.output;
        let part = self.cast.plan.cell(played.episode.episode).and_then(|cell| self.cast.parts.get(cell.agent));
        let price = match part {
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
fn is_lost(played: &Played) -> bool {
    matches!(played.episode.outcome, Outcome::Infra | Outcome::Config)
}

/// Adds what is in the frames and not in the journal: somebody may have removed it, and what it had is paid for.
fn recover(run: &RunDir, played: &mut BTreeMap<u64, Played>) -> Result<(), CliError> {
    if !run.has_frames() {
        return Ok(());
    }
    let records = read_records(run)?;
    let mut transcripts = BTreeMap::new();
    read_transcripts(run, &mut |transcript| {
        transcripts.insert(transcript.episode, transcript);
        true
    })?;
    let mut calls = records.calls.into_iter().peekable();
    for episode in records.episodes {
        let number = episode.episode;
        let calls = std::iter::from_fn(|| calls.next_if(|call| call.episode == number)).collect();
        let transcript = transcripts.remove(&number);
        played.entry(number).or_insert(Played { episode, calls, transcript });
    }
    Ok(())
}

/// A lane for each model, and one for all agents that ask nobody.
fn lanes(cast: &Cast, troupe: &Troupe, jobs: usize) -> Vec<Lane> {
    let mut lanes: Vec<(Option<&Arc<Line>>, Lane)> = Vec::new();
    for (index, (player, part)) in troupe.players.iter().zip(&cast.parts).enumerate() {
        let line = player.as_ref().map(|player| &player.line).filter(|line| line.endpoint().is_some());
        let threads = match (line, part) {
            (Some(_), Part::Model(model)) => model.connections.max as usize,
            _ => jobs,
        };
        let same = |(known, _): &(Option<&Arc<Line>>, Lane)| match (known, line) {
            (Some(known), Some(line)) => Arc::ptr_eq(known, line),
            (None, None) => true,
            _ => false,
        };
        match lanes.iter().position(same) {
            Some(at) => lanes[at].1.agents.push(index),
            None => lanes.push((line, Lane { agents: vec![index], threads })),
        }
    }
    lanes.into_iter().map(|(_, lane)| lane).collect()
}

/// The frames and transcripts of what was played, in the order of the plan.
fn write(run: &RunDir, manifest: &RunManifest, played: &BTreeMap<u64, Played>) -> Result<(), CliError> {
    let mut writer = FrameWriter::create(run, &manifest.plan)?;
    for played in played.values() {
        writer.write(&Records { episodes: vec![played.episode.clone()], calls: played.calls.clone() })?;
    }
    writer.finish()?;
    write_transcripts(run, played.values().filter_map(|played| played.transcript.as_ref()))?;
    Ok(())
}

/// Whether a run with models has anything left to play.
pub(super) fn is_whole(run: &RunDir, manifest: &RunManifest) -> bool {
    manifest.status == RunStatus::Complete && run.has_frames() && !Path::new(&run.journal()).exists()
}
