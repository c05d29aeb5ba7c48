use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use healbench_record::{PairedRun, RunDir, RunDirError, RunManifest};
use healbench_reports::Baseline;
use healbench_reports::gate::{self, Candidate, GateError, GateReport, Place, Policy, Verdict, gate_rounds, places};
use healbench_reports::render::gate::{GateOptions, github, junit, markdown, terminal as for_terminal};
use healbench_reports::render::json;

use crate::args::{GateArgs, GateForm, GateOutput};
use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

/// Decides whether a run, or a measurement, may pass.
pub(crate) fn gate(args: &GateArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let policy = policy(args.policy.as_deref())?;
    refuse_clashes(args)?;
    let to_stdout = args.output.iter().filter(|output| output.file.is_none()).count();
    if to_stdout > 1 {
        return Err(CliError::ManyForms(to_stdout));
    }
    let report = match (&args.perf, &args.base, &args.candidate) {
        (Some(rounds), earlier, _) => of_rounds(rounds, earlier.as_deref(), &policy)?,
        (None, Some(base), Some(candidate)) => of_runs(base, candidate, &policy)?,
        // The arguments' own rules ask for both.
        (None, _, _) => return Err(CliError::RunDir(RunDirError::Missing(PathBuf::new()))),
    };
    let asked = [GateOutput { form: GateForm::Terminal, file: None }];
    let outputs = if args.output.is_empty() { &asked[..] } else { &args.output };
    for output in outputs {
        let text = written(&report, output.form, output.file.is_none(), terminal)?;
        match &output.file {
            None => terminal.result(&text)?,
            Some(path) => {
                fs::write(path, text).map_err(|source| CliError::Output { path: path.clone(), source })?;
            }
        }
    }
    Ok(match report.verdict {
        Verdict::Pass => ExitStatus::Fine,
        Verdict::Fail => ExitStatus::Regression,
        Verdict::Inconclusive => ExitStatus::Inconclusive,
        Verdict::Missing => ExitStatus::Incomplete,
    })
}

/// No file is written twice, and none that is read.
fn refuse_clashes(args: &GateArgs) -> Result<(), CliError> {
    let read = [&args.base, &args.candidate, &args.perf, &args.policy].into_iter().flatten();
    let mut taken: Vec<PathBuf> = read.map(|path| real(path)).collect();
    for file in args.output.iter().filter_map(|output| output.file.as_deref()) {
        // Within a run that is read, every file is.
        if taken.iter().any(|taken| real(file).starts_with(taken)) {
            return Err(CliError::OutputClash(file.to_owned()));
        }
        taken.push(real(file));
    }
    Ok(())
}

/// Where a path leads, however it is spelled and whether or not something is there yet.
fn real(path: &Path) -> PathBuf {
    let of_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
    };
    fs::canonicalize(path).ok().or_else(of_folder).unwrap_or_else(|| path.to_owned())
}

fn written(report: &GateReport, form: GateForm, to_stdout: bool, terminal: &Terminal) -> Result<String, CliError> {
    Ok(match form {
        GateForm::Terminal => {
            let color = to_stdout && terminal.colors_results();
            for_terminal(report, GateOptions { width: terminal.width(), color })
        }
        GateForm::Json => json(report)?,
        GateForm::Junit => junit(report),
        GateForm::Github => github(report),
        GateForm::Markdown => markdown(report),
    })
}

/// The policy of a file, or the one that is built in.
pub(super) fn policy(file: Option<&Path>) -> Result<Policy, CliError> {
    let Some(path) = file else { return Ok(Policy::default()) };
    let text = fs::read_to_string(path).map_err(|source| CliError::PolicyFile { path: path.to_owned(), source })?;
    Ok(Policy::parse(&path.to_string_lossy(), &text)?)
}

fn of_runs(base: &Path, candidate: &Path, policy: &Policy) -> Result<GateReport, CliError> {
    let named = |path: &Path| path.to_string_lossy().into_owned();
    let (base_name, candidate_name) = (named(base), named(candidate));
    let before = if base.is_dir() {
        let (run, manifest) = open(base)?;
        reduced(&base_name, &run, &manifest)?
    } else {
        let file = base.to_owned();
        let text = fs::read_to_string(base).map_err(|source| CliError::BaselineFile { path: file, source })?;
        Baseline::parse(&text).map_err(|source| GateError::Baseline { file: base_name.clone(), source })?
    };
    let (run, manifest) = open(candidate)?;
    let after = reduced(&candidate_name, &run, &manifest)?;
    let places: BTreeMap<String, Place> = places(&run, &manifest.plan);
    let (base, candidate) =
        (Candidate { name: &base_name, baseline: &before }, Candidate { name: &candidate_name, baseline: &after });
    Ok(gate::gate(base, candidate, policy, &places).map_err(GateError::IncompatibleRuns)?)
}

/// How many of its episodes a run lost is for the gate to say.
fn reduced(name: &str, run: &RunDir, manifest: &RunManifest) -> Result<Baseline, GateError> {
    Baseline::of(run, manifest, 1.0).map_err(|source| GateError::Run { run: name.to_owned(), source })
}

/// Opens a run that has to be whole.
pub(super) fn open(path: &Path) -> Result<(RunDir, RunManifest), CliError> {
    RunDir::open(path).map_err(|error| match error {
        RunDirError::Incomplete(_) | RunDirError::Locked(_) | RunDirError::UnsupportedVersion { .. } => {
            CliError::NotWhole(error)
        }
        other => CliError::RunDir(other),
    })
}

fn of_rounds(rounds: &Path, earlier: Option<&Path>, policy: &Policy) -> Result<GateReport, CliError> {
    let named = |path: &Path| path.to_string_lossy().into_owned();
    let (name, run) = (named(rounds), PairedRun::read(rounds)?);
    let earlier = match earlier {
        Some(path) => Some((named(path), PairedRun::read(path)?)),
        None => None,
    };
    let earlier = earlier.as_ref().map(|(name, run)| (name.as_str(), run));
    Ok(gate_rounds((&name, &run), earlier, policy).map_err(GateError::UnlikeRounds)?)
}
