use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use healbench_record::{CassetteMode, FORMAT_VERSION, RunDir, RunDirError, RunLock, RunManifest, RunStatus};
use healbench_reports::render::{Detail, plain_text, shell_quote};
use healbench_reports::{FrameWriter, each_episode};
use healbench_runner::{Job, RunError, RunEvent, TOKENIZER, run as play};

use super::report;
use super::with_models::{self, Production};
use crate::args::RunArgs;
use crate::budget::Budget;
use crate::error::{CliError, ExitStatus};
use crate::load::{Cast, Models, Part, cast, cast_of_run};
use crate::models::Troupe;
use crate::progress::{Progress, Score};
use crate::terminal::Terminal;

/// Plays a plan, or the rest of one, and prints the report.
pub(crate) fn run(args: &RunArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    // Before anything is written: an interrupt must find somebody who listens.
    let stop = stop_on_interrupt()?;
    let Prepared { run, mut manifest, cast, troupe, frames, lock: _lock } = match &args.resume {
        Some(path) => match resume(path, args, &stop, terminal)? {
            Some(resumed) => resumed,
            None => {
                let (run, manifest) = RunDir::open(path)?;
                terminal.note("the run is complete already");
                report::print(&run, &manifest, detail(args), terminal)?;
                return Ok(ExitStatus::Fine);
            }
        },
        None => begin(args, &stop, terminal)?,
    };
    if let Some(troupe) = &troupe {
        let production = Production { run, manifest, cast: &cast, troupe, jobs: jobs(args) };
        return with_models::play(production, args, &stop, terminal);
    }
    let done = match frames {
        Frames::New => manifest.episodes().start..manifest.episodes().start,
        Frames::GoOn => manifest.completed_episodes(),
    };
    let writer = FrameWriter::resume(&run, &manifest.plan, done.clone())?;
    let score = score(&run, &manifest, done.clone(), args.live)?;
    let progress = Progress::start(terminal, &run, score);
    let result = record(&cast, writer, &manifest, done.end, jobs(args), &stop, &progress);
    drop(progress);
    let end = result?;
    manifest.status = if end.interrupted { RunStatus::Interrupted } else { RunStatus::Complete };
    manifest.episodes_done = end.next - manifest.episodes().start;
    run.write_manifest(&manifest)?;
    let shown = shell_quote(&run.path().display().to_string());
    let printed = match manifest.episodes_done {
        0 => Ok(()),
        _ => report::print(&run, &manifest, detail(args), terminal),
    };
    if end.interrupted {
        // Whatever became of the report: this has to be said.
        terminal.important(&format!("go on with: healbench run --resume {shown}"));
        return printed.map(|()| ExitStatus::Interrupted);
    }
    printed?;
    let episodes = manifest.episodes();
    if episodes.is_empty() {
        terminal.note("the shard has no episode: there are more shards than episodes");
        return Ok(ExitStatus::Fine);
    }
    terminal.note(&format!(
        "run: {shown}\nmore: healbench report {shown}\none transcript: healbench show {shown} {}",
        episodes.start
    ));
    Ok(ExitStatus::Fine)
}

/// Whether the frames are to be begun or gone on with.
enum Frames {
    New,
    GoOn,
}

/// A run that is about to be played, and the right to write it.
struct Prepared {
    run: RunDir,
    manifest: RunManifest,
    cast: Cast,
    /// The models, in a run with any.
    troupe: Option<Troupe>,
    frames: Frames,
    lock: RunLock,
}

fn begin(args: &RunArgs, stop: &Arc<AtomicBool>, terminal: &Terminal) -> Result<Prepared, CliError> {
    let cast = cast(&args.axes, args.replay.is_some(), terminal)?;
    // A resumed run has to find the folder from wherever it is started.
    let absolute =
        |dir: &Path| std::path::absolute(dir).map_err(|source| CliError::ConfigFile { path: dir.to_owned(), source });
    let cassettes = match (&args.record, &args.replay) {
        (Some(dir), _) => Some(CassetteMode::Record(absolute(dir)?)),
        (_, Some(dir)) => Some(CassetteMode::Replay(absolute(dir)?)),
        (None, None) => None,
    };
    let has_models = cast.plan.agents.iter().any(|agent| agent.opening.is_some());
    if !has_models && (args.budget.is_some() || cassettes.is_some()) {
        terminal.note("the plan has no model: there is nothing to record, replay or limit");
    }
    if let Some(path) = args.out.as_ref().filter(|path| path.exists()) {
        return Err(RunDirError::Exists(path.clone()).into());
    }
    // All that can be wrong with a model is told before anything is written or spent.
    let troupe = match has_models {
        true => Some(troupe(&cast, cassettes.as_ref(), args.budget, stop, terminal)?),
        false => None,
    };
    let manifest = RunManifest {
        format_version: FORMAT_VERSION,
        healbench: env!("CARGO_PKG_VERSION").to_owned(),
        revision: option_env!("HEALBENCH_REVISION").map(str::to_owned),
        command: crate::typed(),
        started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        tokenizer: TOKENIZER.to_owned(),
        status: RunStatus::Running,
        episodes_done: 0,
        shard: args.shard,
        cassettes: cassettes.filter(|_| has_models),
        prices: cast.prices.clone(),
        plan: cast.plan.clone(),
    };
    let sources: Vec<(&str, &str, &str)> = cast
        .scenarios
        .iter()
        .map(|scenario| (scenario.id.as_str(), scenario.source.extension.as_str(), scenario.source.text.as_str()))
        .collect();
    let run = match &args.out {
        Some(path) => RunDir::create(path, &manifest, &sources)?,
        None => create_default(&args.axes.scenarios, &manifest, &sources)?,
    };
    let lock = run.lock()?;
    Ok(Prepared { run, manifest, cast, troupe, frames: Frames::New, lock })
}

/// The models of a run, after a look at whether they can be asked.
fn troupe(
    cast: &Cast,
    cassettes: Option<&CassetteMode>,
    budget: Option<Budget>,
    stop: &Arc<AtomicBool>,
    terminal: &Terminal,
) -> Result<Troupe, CliError> {
    let mut seen = std::collections::BTreeSet::new();
    for (spec, part) in cast.plan.agents.iter().zip(&cast.parts) {
        let Part::Model(model) = part else { continue };
        if model.price.is_none()
            && seen.insert(&spec.name)
            && let Some(Budget::Usd(_)) = budget
        {
            return Err(CliError::NoPrice(spec.to_string()));
        }
    }
    let troupe = Troupe::new(cast, cassettes, stop)?;
    troupe.preflight(cast, stop, terminal)?;
    for name in seen {
        terminal.note(&format!("{}: its price is unknown, so is what it costs", plain_text(name)));
    }
    Ok(troupe)
}

/// `runs/TIME-SUITE`, with a number where two runs begin in the same second.
fn create_default(
    paths: &[PathBuf],
    manifest: &RunManifest,
    sources: &[(&str, &str, &str)],
) -> Result<RunDir, CliError> {
    let suite = match paths {
        [only] => only.file_stem().map_or_else(|| "suite".into(), |stem| stem.to_string_lossy()),
        _ => "suites".into(),
    };
    let time: String = manifest.started.chars().filter(|c| !"-:Z".contains(*c)).collect();
    let mut path = Path::new("runs").join(format!("{time}-{suite}"));
    for again in 2.. {
        match RunDir::create(&path, manifest, sources) {
            Err(RunDirError::Exists(_)) if again < 1000 => {
                path = Path::new("runs").join(format!("{time}-{suite}-{again}"));
            }
            result => return Ok(result?),
        }
    }
    Err(RunDirError::Exists(path).into())
}

/// What it takes to go on with a run; `None` when nothing of it is left to play.
fn resume(
    path: &Path,
    args: &RunArgs,
    stop: &Arc<AtomicBool>,
    terminal: &Terminal,
) -> Result<Option<Prepared>, CliError> {
    // The manifest is read anew once nobody else can write it.
    let (run, _) = RunDir::open_any(path)?;
    let lock = run.lock()?;
    let (run, manifest) = RunDir::open_any(run.path())?;
    if manifest.has_models() {
        if with_models::is_whole(&run, &manifest)? {
            return Ok(None);
        }
        let cast = cast_of_run(&run, manifest.plan.clone())?;
        let troupe = troupe(&cast, manifest.cassettes.as_ref(), args.budget, stop, terminal)?;
        return Ok(Some(Prepared { run, manifest, cast, troupe: Some(troupe), frames: Frames::New, lock }));
    }
    let frames = match (manifest.status, run.has_frames()) {
        (RunStatus::Complete, true) => return Ok(None),
        (RunStatus::Interrupted, true) => Frames::GoOn,
        // It was cut off before its frames were whole, or they are gone; scripted episodes cost nothing to play again.
        (RunStatus::Running, _) | (_, false) => Frames::New,
    };
    let cast = cast_of_run(&run, manifest.plan.clone())?;
    Ok(Some(Prepared { run, manifest, cast, troupe: None, frames, lock }))
}

/// What is known of a run of scripted agents, `done` of whose episodes are in its frames.
fn score(run: &RunDir, manifest: &RunManifest, done: Range<u64>, live: bool) -> Result<Score, CliError> {
    let mut score = Score::new(manifest, live, Instant::now());
    if !done.is_empty() {
        each_episode(run, &manifest.plan, &mut |_, row| {
            if done.contains(&row.episode) {
                score.before(row);
            }
            Ok(())
        })?;
        // Reading was not playing.
        score.began = Instant::now();
    }
    Ok(score)
}

/// Plays from episode `from` on and writes the rows. When that fails, no frames are left that look whole.
fn record(
    cast: &Cast,
    mut writer: FrameWriter,
    manifest: &RunManifest,
    from: u64,
    jobs: usize,
    stop: &AtomicBool,
    progress: &Progress,
) -> Result<healbench_runner::RunEnd, CliError> {
    let make_agent = cast.make_agent(Models::Absent);
    let all = manifest.episodes();
    let episodes = from..all.end;
    let job = Job { plan: &cast.plan, scenarios: &cast.scenarios, episodes, jobs, make_agent: &make_agent };
    let end = play(&job, stop, &mut |event| {
        if let RunEvent::Episodes { records, .. } = event {
            writer.write(&records)?;
            progress.played(&records.episodes);
        }
        Ok::<(), CliError>(())
    });
    let end = end.map_err(failed)?;
    writer.finish()?;
    Ok(end)
}

/// Why playing ended.
pub(crate) fn failed<E>(error: RunError<E>) -> CliError
where
    CliError: From<E>,
{
    match error {
        RunError::Setup(error) => CliError::Setup(error),
        RunError::Panicked { episode } => CliError::Defect(episode),
        RunError::RecordingMissing { episode, miss } => CliError::RecordingMissing { episode, miss },
        RunError::RecordingFailed { episode, reason } => CliError::RecordingFailed { episode, reason },
        RunError::Event(error) => error.into(),
    }
}

pub(super) fn detail(args: &RunArgs) -> Detail {
    if args.by_scenario { Detail::Scenarios } else { Detail::Summary }
}

fn jobs(args: &RunArgs) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    args.jobs.map_or_else(cores, usize::from)
}

/// A flag that the first interrupt raises. The second ends the program at once.
fn stop_on_interrupt() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if raised.swap(true, Ordering::Relaxed) {
            std::process::exit(ExitStatus::Interrupted as i32);
        }
    })?;
    Ok(stop)
}
