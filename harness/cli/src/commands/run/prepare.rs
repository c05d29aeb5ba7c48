//! Prepares a new run, or the rest of an interrupted one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use healbench_core::{Episodes, Plan};
use healbench_frames::count_outcomes;
use healbench_mcp::Supervisor;
use healbench_scenarios::Scenario;
use healbench_store::{
    CassetteMode, FORMAT_VERSION, NewRunDir, RunDir, RunDirError, RunLock, RunManifest, RunStatus, StoredScenario,
    VerifiedFiles,
};
use healbench_tokens::TOKENIZER;

use super::super::gate::refuse_trace;
use super::scratch::Scratch;
use super::settings::take_settings;
use crate::args::RunArgs;
use crate::clock::timestamp;
use crate::error::CliError;
use crate::load::{build_run_spec, run_spec_of};
use crate::models::ModelClients;
use crate::run_spec::RunSpec;
use crate::terminal::Terminal;

/// A run that is ready to start.
pub(super) struct PreparedRun {
    pub(super) run: RunDir,
    pub(super) manifest: RunManifest,
    pub(super) run_spec: RunSpec,
    pub(super) clients: ModelClients,
    /// The episodes whose rows are copied from the existing frames. Those of a run with models are in its journal.
    pub(super) done: Episodes,
    /// `None` if the run is written at its destination.
    pub(super) scratch: Option<Scratch>,
    /// The locks of the run, and of the run that it is to replace.
    pub(super) _locks: Vec<RunLock>,
}

/// A run that is ready to start, or has nothing left to run.
pub(super) enum Prepared {
    Ready(Box<PreparedRun>),
    Complete(RunDir, Box<RunManifest>),
}

/// The format of times in manifests.
pub(crate) const MANIFEST_TIME: &str = "%Y-%m-%dT%H:%M:%SZ";

/// Prepares the run that the arguments describe.
pub(super) fn prepare(args: &RunArgs, supervisor: &Supervisor, terminal: &Terminal) -> Result<Prepared, CliError> {
    match &args.resume {
        Some(path) => prepare_resumed(path, args, supervisor, terminal),
        None => prepare_new(args, supervisor, terminal),
    }
}

fn prepare_new(args: &RunArgs, supervisor: &Supervisor, terminal: &Terminal) -> Result<Prepared, CliError> {
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
    let shards = args.shard.as_ref();
    let clients = ModelClients::connect(&run_spec, cassettes.as_ref(), args.budget, shards, supervisor, terminal)?;
    let mut manifest = RunManifest {
        shards: args.shard.clone(),
        cassettes: cassettes.filter(|_| has_models),
        ..new_manifest(&run_spec)
    };
    let sources: Vec<StoredScenario<'_>> = run_spec.scenarios.iter().map(stored).collect();
    let scratch = match (&args.scratch, &args.out) {
        (Some(scratch), Some(out)) if !manifest.has_journal() => Some(Scratch::create(scratch, out)?),
        (Some(_), None) => return Err(CliError::new("`--scratch` needs `--out`, the destination of the run")),
        _ => None,
    };
    let started = manifest.started.clone();
    let mut create = |path: &Path| {
        let created = RunDir::create(path, &mut manifest, &sources, run_spec.lockfile.as_deref());
        created.and_then(NewRunDir::publish)
    };
    let (run, lock) = match scratch.as_ref().map(|scratch| &scratch.run).or(args.out.as_ref()) {
        Some(path) => create(path)?,
        None => create_default(&args.axes.scenarios, &started, &mut create)?,
    };
    let (done, locks) = (Episodes::from(0..0), vec![lock]);
    Ok(Prepared::Ready(Box::new(PreparedRun { run, manifest, run_spec, clients, done, scratch, _locks: locks })))
}

/// Returns the manifest of a run that starts now, of the whole plan and without recordings.
pub(crate) fn new_manifest(run_spec: &RunSpec) -> RunManifest {
    RunManifest { prices: run_spec.prices.clone(), ..manifest_of(run_spec.plan.clone()) }
}

/// Returns the manifest of a run of a plan that starts now.
pub(crate) fn manifest_of(plan: Plan) -> RunManifest {
    RunManifest {
        format_version: FORMAT_VERSION,
        healbench: env!("CARGO_PKG_VERSION").to_owned(),
        revision: option_env!("HEALBENCH_REVISION").map(str::to_owned),
        command: crate::command_line(),
        started: timestamp(MANIFEST_TIME),
        finished: None,
        tokenizer: TOKENIZER.to_owned(),
        reader: Some(healbench_reader::reading::VERSION),
        imported: Vec::new(),
        shell_tools: Vec::new(),
        status: RunStatus::Running,
        episodes_done: 0,
        shards: None,
        cassettes: None,
        prices: None,
        plan,
        changes: Vec::new(),
        files: BTreeMap::new(),
        replacing: BTreeMap::new(),
    }
}

fn stored(scenario: &Scenario) -> StoredScenario<'_> {
    StoredScenario {
        id: &scenario.id,
        extension: &scenario.source.extension,
        text: &scenario.source.text,
        server_tools: scenario.server.as_ref().map(|server| server.tools_text.as_str()),
    }
}

type CreatedRun = Result<(RunDir, RunLock), RunDirError>;

/// Creates `runs/TIME-SUITE`, with a numeric suffix if it exists.
fn create_default(
    paths: &[PathBuf],
    started: &str,
    create: &mut dyn FnMut(&Path) -> CreatedRun,
) -> Result<(RunDir, RunLock), CliError> {
    let suite = match paths {
        [only] => only.file_stem().map_or_else(|| "suite".into(), |stem| stem.to_string_lossy()),
        _ => "suites".into(),
    };
    let time: String = started.chars().filter(|c| !"-:Z".contains(*c)).collect();
    let mut path = Path::new("runs").join(format!("{time}-{suite}"));
    for number in 2.. {
        match create(&path) {
            Err(RunDirError::Exists(_)) if number < 1000 => {
                path = Path::new("runs").join(format!("{time}-{suite}-{number}"));
            }
            // The working directory may be read-only.
            Err(error @ RunDirError::Io { .. }) => {
                return Err(CliError::from(error).help("name a directory to write the run to, with `--out`"));
            }
            result => return Ok(result?),
        }
    }
    Err(RunDirError::Exists(path).into())
}

fn prepare_resumed(
    path: &Path,
    args: &RunArgs,
    supervisor: &Supervisor,
    terminal: &Terminal,
) -> Result<Prepared, CliError> {
    // Read the manifest again under the lock, since another process may have changed it.
    let (run, _) = RunDir::open_any(path)?;
    let mut locks = vec![run.lock()?];
    let (mut run, mut manifest) = RunDir::open_any(run.path())?;
    refuse_trace(path, &manifest)?;
    let files = run.verify(&manifest)?;
    let has_frames = run.has_frames();
    let is_complete = manifest.status == RunStatus::Complete && files == VerifiedFiles::Current;
    if is_complete && has_frames && (!manifest.has_journal() || all_scored(&run)?) {
        run.remove_journal()?;
        return Ok(Prepared::Complete(run, Box::new(manifest)));
    }
    let scratch = match &args.scratch {
        Some(scratch) if !manifest.has_journal() => {
            let scratch = Scratch::create(scratch, path)?;
            scratch.copy_from_destination()?;
            run = RunDir::open_any(&scratch.run)?.0;
            locks.push(run.lock()?);
            Some(scratch)
        }
        _ => None,
    };
    let mut run_spec = run_spec_of(&run, manifest.plan.clone())?;
    let has_changed = take_settings(&mut run_spec, &mut manifest, &args.axes, terminal)?;
    let (cassettes, shards) = (manifest.cassettes.as_ref(), manifest.shards.as_ref());
    let clients = ModelClients::connect(&run_spec, cassettes, args.budget, shards, supervisor, terminal)?;
    if has_changed {
        run.write_manifest(&manifest)?;
    }
    let done = match manifest.status {
        RunStatus::Interrupted if has_frames && !manifest.has_journal() => manifest.completed_episodes(),
        // The frames are incomplete or missing. Running scripted episodes again costs nothing.
        _ => Episodes::from(0..0),
    };
    Ok(Prepared::Ready(Box::new(PreparedRun { run, manifest, run_spec, clients, done, scratch, _locks: locks })))
}

/// Returns true if no episode of a run was lost.
pub(in crate::commands) fn all_scored(run: &RunDir) -> Result<bool, CliError> {
    Ok(count_outcomes(run)?.keys().all(|outcome| outcome.is_scored()))
}
