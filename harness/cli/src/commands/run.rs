use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use healbench_record::{CassetteMode, FORMAT_VERSION, RunDir, RunDirError, RunLock, RunManifest, RunStatus};
use healbench_reports::render::{Detail, plain_text, shell_quote};
use healbench_reports::{FrameWriter, for_each_episode};
use healbench_runner::{Job, RunError, RunEvent, TOKENIZER, run as execute};

use super::model_run::{self, RunContext};
use super::report;
use crate::args::RunArgs;
use crate::budget::Budget;
use crate::error::{CliError, ExitStatus};
use crate::load::{AgentConfig, ModelSource, RunSpec, build_run_spec, run_spec_of};
use crate::models::ModelClients;
use crate::progress::{ProgressState, RunProgress};
use crate::terminal::Terminal;

/// Runs a plan, or the rest of an interrupted run, and prints the report.
pub(crate) fn run(args: &RunArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    // Install the Ctrl-C handler before creating files.
    let stop = stop_on_interrupt()?;
    let PreparedRun { run, mut manifest, run_spec, clients, frame_mode, lock: _lock } = match &args.resume {
        Some(path) => match prepare_resumed(path, args, &stop, terminal)? {
            Some(resumed) => resumed,
            None => {
                let (run, manifest) = RunDir::open(path)?;
                terminal.note("the run is complete already");
                report::print(&run, &manifest, detail(args), terminal)?;
                return Ok(ExitStatus::Success);
            }
        },
        None => prepare_new(args, &stop, terminal)?,
    };
    if let Some(clients) = &clients {
        let context = RunContext { run, manifest, run_spec: &run_spec, clients, jobs: jobs(args) };
        return model_run::run_models(context, args, &stop, terminal);
    }
    let done = match frame_mode {
        FrameMode::New => manifest.episodes().start..manifest.episodes().start,
        FrameMode::Resume => manifest.completed_episodes(),
    };
    let writer = FrameWriter::resume(&run, &manifest.plan, done.clone())?;
    let state = initial_state(&run, &manifest, done.clone(), args.live)?;
    let progress = RunProgress::start(terminal, &run, state);
    let result = run_and_write(&run_spec, writer, &manifest, done.end, jobs(args), &stop, &progress);
    drop(progress);
    let end = result?;
    manifest.status = if end.interrupted { RunStatus::Interrupted } else { RunStatus::Complete };
    manifest.episodes_done = end.next - manifest.episodes().start;
    run.write_manifest(&manifest)?;
    let quoted_path = shell_quote(&run.path().display().to_string());
    let printed = match manifest.episodes_done {
        0 => Ok(()),
        _ => report::print(&run, &manifest, detail(args), terminal),
    };
    if end.interrupted {
        // Print this even if the report failed.
        terminal.warn(&format!("continue with: healbench run --resume {quoted_path}"));
        return printed.map(|()| ExitStatus::Interrupted);
    }
    printed?;
    let episodes = manifest.episodes();
    if episodes.is_empty() {
        terminal.note("the shard has no episode: there are more shards than episodes");
        return Ok(ExitStatus::Success);
    }
    terminal.note(&format!(
        "run: {quoted_path}\nmore: healbench report {quoted_path}\none transcript: healbench show {quoted_path} {}",
        episodes.start
    ));
    Ok(ExitStatus::Success)
}

/// The choice between new frames and appending to existing ones.
enum FrameMode {
    New,
    Resume,
}

/// A run that is ready to start, with its lock.
struct PreparedRun {
    run: RunDir,
    manifest: RunManifest,
    run_spec: RunSpec,
    /// The clients of models; `None` without models.
    clients: Option<ModelClients>,
    frame_mode: FrameMode,
    lock: RunLock,
}

fn prepare_new(args: &RunArgs, stop: &Arc<AtomicBool>, terminal: &Terminal) -> Result<PreparedRun, CliError> {
    let run_spec = build_run_spec(&args.axes, args.replay.is_some(), terminal)?;
    // A run may be resumed from another working directory, so the manifest stores absolute paths.
    let absolute = |dir: &Path| std::path::absolute(dir).map_err(|source| CliError::read(dir, &source));
    let cassettes = match (&args.record, &args.replay) {
        (Some(dir), _) => Some(CassetteMode::Record(absolute(dir)?)),
        (_, Some(dir)) => Some(CassetteMode::Replay(absolute(dir)?)),
        (None, None) => None,
    };
    let has_models = run_spec.plan.agents.iter().any(|agent| agent.opening.is_some());
    if !has_models && (args.budget.is_some() || cassettes.is_some()) {
        terminal.note("the plan has no model: there is nothing to record, replay or limit");
    }
    if let Some(path) = args.out.as_ref().filter(|path| path.exists()) {
        return Err(RunDirError::Exists(path.clone()).into());
    }
    // Check all models before anything is written or spent.
    let clients = match has_models {
        true => Some(model_clients(&run_spec, cassettes.as_ref(), args.budget, stop, terminal)?),
        false => None,
    };
    let manifest = RunManifest {
        format_version: FORMAT_VERSION,
        healbench: env!("CARGO_PKG_VERSION").to_owned(),
        revision: option_env!("HEALBENCH_REVISION").map(str::to_owned),
        command: crate::command_line(),
        started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        tokenizer: TOKENIZER.to_owned(),
        status: RunStatus::Running,
        episodes_done: 0,
        shard: args.shard,
        cassettes: cassettes.filter(|_| has_models),
        prices: run_spec.prices.clone(),
        plan: run_spec.plan.clone(),
    };
    let sources: Vec<(&str, &str, &str)> = run_spec
        .scenarios
        .iter()
        .map(|scenario| (scenario.id.as_str(), scenario.source.extension.as_str(), scenario.source.text.as_str()))
        .collect();
    let run = match &args.out {
        Some(path) => RunDir::create(path, &manifest, &sources)?,
        None => create_default(&args.axes.scenarios, &manifest, &sources)?,
    };
    let lock = run.lock()?;
    Ok(PreparedRun { run, manifest, run_spec, clients, frame_mode: FrameMode::New, lock })
}

/// Creates the clients of a run's models and checks that they can be reached.
fn model_clients(
    run_spec: &RunSpec,
    cassettes: Option<&CassetteMode>,
    budget: Option<Budget>,
    stop: &Arc<AtomicBool>,
    terminal: &Terminal,
) -> Result<ModelClients, CliError> {
    let mut unpriced_models = std::collections::BTreeSet::new();
    for (spec, config) in run_spec.plan.agents.iter().zip(&run_spec.configs) {
        let AgentConfig::Model(model) = config else { continue };
        if model.price.is_none()
            && unpriced_models.insert(&spec.name)
            && let Some(Budget::Usd(_)) = budget
        {
            return Err(CliError::new(format_args!(
                "the price of {spec} is unknown, so a budget in money cannot limit the run"
            ))
            .help("set its `price` in healbench.toml, or limit tokens, as in `--budget 300ktokens`"));
        }
    }
    let clients = ModelClients::new(run_spec, cassettes, stop)?;
    clients.preflight(run_spec, stop, terminal)?;
    for name in unpriced_models {
        terminal.note(&format!("{}: its price is unknown, so is what it costs", plain_text(name)));
    }
    Ok(clients)
}

/// Creates `runs/TIME-SUITE`, with a numeric suffix if it exists.
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
    for number in 2.. {
        match RunDir::create(&path, manifest, sources) {
            Err(RunDirError::Exists(_)) if number < 1000 => {
                path = Path::new("runs").join(format!("{time}-{suite}-{number}"));
            }
            result => return Ok(result?),
        }
    }
    Err(RunDirError::Exists(path).into())
}

/// Prepares the rest of a run; `None` if it is complete.
fn prepare_resumed(
    path: &Path,
    args: &RunArgs,
    stop: &Arc<AtomicBool>,
    terminal: &Terminal,
) -> Result<Option<PreparedRun>, CliError> {
    // Read the manifest again under the lock, since another process may have changed it.
    let (run, _) = RunDir::open_any(path)?;
    let lock = run.lock()?;
    let (run, manifest) = RunDir::open_any(run.path())?;
    if manifest.has_models() {
        if model_run::is_finished(&run, &manifest)? {
            return Ok(None);
        }
        let run_spec = run_spec_of(&run, manifest.plan.clone())?;
        let clients = model_clients(&run_spec, manifest.cassettes.as_ref(), args.budget, stop, terminal)?;
        return Ok(Some(PreparedRun {
            run,
            manifest,
            run_spec,
            clients: Some(clients),
            frame_mode: FrameMode::New,
            lock,
        }));
    }
    let frame_mode = match (manifest.status, run.has_frames()) {
        (RunStatus::Complete, true) => return Ok(None),
        (RunStatus::Interrupted, true) => FrameMode::Resume,
        // The frames are incomplete or missing. Running scripted episodes again costs nothing.
        (RunStatus::Running, _) | (_, false) => FrameMode::New,
    };
    let run_spec = run_spec_of(&run, manifest.plan.clone())?;
    Ok(Some(PreparedRun { run, manifest, run_spec, clients: None, frame_mode, lock }))
}

/// Returns the initial progress of a run of scripted agents with `done` episodes in its frames.
fn initial_state(
    run: &RunDir,
    manifest: &RunManifest,
    done: Range<u64>,
    live: bool,
) -> Result<ProgressState, CliError> {
    let mut state = ProgressState::new(manifest, live, Instant::now());
    if !done.is_empty() {
        for_each_episode(run, &manifest.plan, &mut |_, row| {
            if done.contains(&row.episode) {
                state.add_earlier(row);
            }
            Ok(())
        })?;
        // Reading does not count as running time.
        state.started = Instant::now();
    }
    Ok(state)
}

/// Runs from episode `from` on and writes the rows. On an error, no complete-looking frames are left.
fn run_and_write(
    run_spec: &RunSpec,
    mut writer: FrameWriter,
    manifest: &RunManifest,
    from: u64,
    jobs: usize,
    stop: &AtomicBool,
    progress: &RunProgress,
) -> Result<healbench_runner::RunEnd, CliError> {
    let make_agent = run_spec.make_agent(ModelSource::Absent);
    let all = manifest.episodes();
    let episodes = from..all.end;
    let job = Job { plan: &run_spec.plan, scenarios: &run_spec.scenarios, episodes, jobs, make_agent: &make_agent };
    let end = execute(&job, stop, &mut |event| {
        if let RunEvent::Episodes { records, .. } = event {
            writer.write(&records)?;
            progress.add_finished(&records.episodes);
        }
        Ok::<(), CliError>(())
    });
    let end = end.map_err(run_error)?;
    writer.finish()?;
    Ok(end)
}

/// Converts the error of a run.
pub(crate) fn run_error<E>(error: RunError<E>) -> CliError
where
    CliError: From<E>,
{
    match error {
        RunError::Setup(error) => error.into(),
        RunError::Panicked { episode } => CliError::new(format_args!("a bug in healbench ended episode {episode}")),
        RunError::RecordingMissing { episode, miss } => {
            CliError::new(format_args!("episode {episode} cannot be replayed: {miss}"))
                .status(ExitStatus::Incomplete)
                .help("record the missing answers with `--record`; a replay sends no requests")
        }
        RunError::RecordingFailed { episode, reason } => {
            CliError::new(format_args!("the answer to a request of episode {episode} is lost: {reason}"))
        }
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

/// Returns a flag that the first Ctrl-C sets. The second ends the program at once.
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
