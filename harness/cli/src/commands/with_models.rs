//! Playing a plan with models: what an answer cost is not lost by a kill, a limit is kept, and what the network lost is played again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use healbench_agents::llm::Line;
use healbench_protocol::Usage;
use healbench_record::{
    Journal, Outcome, Played, Records, RunDir, RunManifest, RunStatus, read_transcripts, write_transcripts,
};
use healbench_reports::{FrameWriter, episode_rows};
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
    let Production { run, mut manifest, cast, troupe, jobs } = production;
    let (journal, mut played) = Journal::open(&run)?;
    recover(&run, &manifest, &mut played)?;
    let episodes = manifest.episodes();
    let spent = Spending::of(cast, &played, args.budget);
    let store = Mutex::new(Store { journal, played, spent });
    let broke = AtomicBool::new(false);
    let progress = Mutex::new(Progress::start(terminal, 0, episodes.end - episodes.start));
    let done = {
        let store = store.lock().unwrap_or_else(PoisonError::into_inner);
        let done: std::collections::BTreeSet<u64> =
            store.played.iter().filter(|(_, played)| !is_lost(played)).map(|(episode, _)| *episode).collect();
        broke.store(store.spent.is_over(), Ordering::Relaxed);
        done
    };
    let keep = |played: Played| {
        let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
        store.journal.append(&played)?;
        store.spent.add(&played);
        if store.spent.is_over() {
            broke.store(true, Ordering::Relaxed);
        }
        store.played.insert(played.episode.episode, played);
        let count = store.played.len() as u64;
        progress.lock().unwrap_or_else(PoisonError::into_inner).set(count);
        Ok::<(), CliError>(())
    };
    let make_agent = cast.make_agent(Models::Players(troupe));
    let job =
        Job { plan: &cast.plan, scenarios: &cast.scenarios, episodes: episodes.clone(), jobs, make_agent: &make_agent };
    let stopped = || stop.load(Ordering::Relaxed) || broke.load(Ordering::Relaxed);
    let result = play_lanes(&job, &lanes(cast, troupe, jobs), &|episode| done.contains(&episode), &stopped, &keep);
    progress.lock().unwrap_or_else(PoisonError::into_inner).finish();

    let Store { journal, played, .. } = store.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Whatever ended the run: what was played is paid for, and has its frames.
    journal.sync()?;
    if let Some(cassette) = &troupe.cassette
        && troupe.players.iter().flatten().any(|player| !matches!(*player.line, Line::Replay(_)))
    {
        cassette.finish()?;
    }
    let whole = played.len() as u64 == episodes.end - episodes.start;
    write(&run, &manifest, &played)?;
    manifest.status = if whole { RunStatus::Complete } else { RunStatus::Interrupted };
    manifest.episodes_done = played.len() as u64;
    run.write_manifest(&manifest)?;
    let lost = played.values().filter(|played| is_lost(played)).count() as u64;
    if whole && lost == 0 {
        journal.remove()?;
    }
    result.map_err(super::run::failed)?;
    if !played.is_empty() {
        super::report::print(&run, &manifest, super::run::detail(args), terminal)?;
    }
    let cut = match args.budget.filter(|_| broke.load(Ordering::Relaxed)) {
        _ if whole => None,
        Some(budget) => Some(Cut::Budget(budget)),
        None => Some(Cut::Interrupt),
    };
    Ok(farewell(&run, cut, (lost, played.len() as u64), terminal))
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

/// A journal that is gone or empty beside frames that are whole (somebody removed it, or the process was killed while it was being
/// removed): the frames and transcripts have everything.
fn recover(run: &RunDir, manifest: &RunManifest, played: &mut BTreeMap<u64, Played>) -> Result<(), CliError> {
    if !played.is_empty() || manifest.status == RunStatus::Running || !run.has_frames() {
        return Ok(());
    }
    let mut transcripts = BTreeMap::new();
    read_transcripts(run, &mut |transcript| {
        transcripts.insert(transcript.episode, transcript);
        true
    })?;
    for episode in manifest.episodes() {
        if let Some((row, calls)) = episode_rows(run, episode)? {
            played.insert(episode, Played { episode: row, calls, transcript: transcripts.remove(&episode) });
        }
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
