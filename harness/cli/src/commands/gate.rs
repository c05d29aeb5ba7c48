use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use healbench_analysis::Baseline;
use healbench_analysis::gate::{
    self, GateError, GateReport, MayDiffer, NamedBaseline, Policy, Verdict, gate_rounds, scenario_sources,
};
use healbench_frames::Rows;
use healbench_render::gate::{GateOptions, github, junit, markdown, terminal as render_terminal};
use healbench_render::json;
use healbench_store::{PairedRun, RunDir, RunDirError, RunManifest};
use healbench_text::{plain_text, shell_quote};

use super::outputs;

use super::one_state::{of_one_state, until_one_state};
use crate::args::{GateArgs, GateRenderer};
use crate::error::{CliError, ErrorKind, ExitStatus};
use crate::terminal::Terminal;

/// Decides whether a run or a measurement passes.
pub(crate) fn gate(args: &GateArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let policy = read_policy(args.policy.as_deref())?;
    let inputs = [&args.base, &args.candidate, &args.perf, &args.policy].into_iter().flatten();
    outputs::check(&args.output, inputs.map(PathBuf::as_path))?;
    let report = match (&args.perf, &args.base, &args.candidate) {
        (Some(rounds), earlier, _) => rounds_report(rounds, earlier.as_deref(), &policy)?,
        (None, Some(base), Some(candidate)) => until_one_state(|| run_report(base, candidate, &policy))?,
        (None, Some(run), None) => {
            let agents = args.between.as_deref().unwrap_or_default();
            until_one_state(|| agents_report(run, agents, policy.clone()))?
        }
        // Clap requires both arguments.
        (None, _, _) => return Err(RunDirError::Missing(PathBuf::new()).into()),
    };
    outputs::write(&args.output, GateRenderer::Terminal, terminal, |renderer, to_stdout| {
        render(&report, renderer, to_stdout, terminal)
    })?;
    Ok(match report.verdict {
        Verdict::Pass => ExitStatus::Success,
        Verdict::Fail => ExitStatus::Regression,
        Verdict::Inconclusive => ExitStatus::Inconclusive,
        Verdict::Missing => ExitStatus::Incomplete,
    })
}

fn render(
    report: &GateReport,
    renderer: GateRenderer,
    to_stdout: bool,
    terminal: &Terminal,
) -> Result<String, CliError> {
    Ok(match renderer {
        GateRenderer::Terminal => {
            let color = to_stdout && terminal.colors_results();
            render_terminal(report, GateOptions { width: terminal.width(), color })
        }
        GateRenderer::Json => json(report)?,
        GateRenderer::Junit => junit(report),
        GateRenderer::Github => github(report),
        GateRenderer::Markdown => markdown(report),
    })
}

/// Reads a policy file, or returns the built-in policy.
pub(super) fn read_policy(file: Option<&Path>) -> Result<Policy, CliError> {
    let Some(path) = file else { return Ok(Policy::default()) };
    let text = healbench_files::read_text_file(path, healbench_files::MAX_WRITTEN_BYTES)
        .map_err(|source| CliError::read(path, &source))?;
    Ok(Policy::parse(&path.to_string_lossy(), &text)?)
}

fn run_report(base: &Path, candidate: &Path, policy: &Policy) -> Result<GateReport, CliError> {
    let display_name = |path: &Path| path.to_string_lossy().into_owned();
    let (base_name, candidate_name) = (display_name(base), display_name(candidate));
    let (before, sources) = if base.is_dir() {
        let (run, manifest) = open_complete(base)?;
        (run_baseline(&base_name, &run, &manifest)?, scenario_sources(&run, &manifest.plan))
    } else {
        let text =
            healbench_files::read_text_file(base, healbench_files::MAX_GENERATED_BYTES).map_err(
                |source| match source.kind() {
                    io::ErrorKind::NotFound => {
                        CliError::read(base, &source).help("write one with `healbench bless RUN --out FILE`")
                    }
                    _ => CliError::read(base, &source),
                },
            )?;
        let before = Baseline::parse(&text);
        (before.map_err(|source| GateError::Baseline { file: base_name.clone(), source })?, BTreeMap::new())
    };
    let (run, manifest) = open_complete(candidate)?;
    let after = run_baseline(&candidate_name, &run, &manifest)?;
    let base = NamedBaseline { name: &base_name, run: &base_name, baseline: &before, sources: &sources };
    let sources = scenario_sources(&run, &manifest.plan);
    let candidate = NamedBaseline { name: &candidate_name, run: &candidate_name, baseline: &after, sources: &sources };
    Ok(gate::gate(base, candidate, policy).map_err(GateError::IncompatibleRuns)?)
}

/// Compares two agents of one run.
fn agents_report(path: &Path, agents: &[String], policy: Policy) -> Result<GateReport, CliError> {
    let name = path.to_string_lossy().into_owned();
    let (run, manifest) = open_complete(path)?;
    let both = run_baseline(&name, &run, &manifest)?;
    let [base, candidate] = agents else { return Err(RunDirError::Missing(path.to_owned()).into()) };
    let sides = both.between(base, candidate).map_err(|unknown| {
        let known: Vec<String> =
            both.agents.keys().map(|agent| format!("`{}`", plain_text(&agent.to_string()))).collect();
        CliError::new(format_args!("the run has no agent `{}`", plain_text(unknown)))
            .kind(ErrorKind::Invalid)
            .help(format!("its agents are {}", known.join(", ")))
    })?;
    let names = [base, candidate].map(|agent| format!("{name}, {agent}"));
    let sources = scenario_sources(&run, &manifest.plan);
    let side =
        |side: usize| NamedBaseline { name: &names[side], run: &name, baseline: &sides[side], sources: &sources };
    // They are two agents.
    let mut policy = policy;
    policy.may_differ.push(MayDiffer::Agents);
    Ok(gate::gate(side(0), side(1), &policy).map_err(GateError::IncompatibleRuns)?)
}

/// Accepts any number of lost episodes, because the gate checks them.
fn run_baseline(name: &str, run: &RunDir, manifest: &RunManifest) -> Result<Baseline, CliError> {
    of_one_state(run, manifest, || {
        let baseline = Baseline::from_run(&Rows(run), manifest, 1.0);
        Ok(baseline.map_err(|source| GateError::Run { run: name.to_owned(), source })?)
    })
}

/// Opens a run that must be complete.
pub(super) fn open_complete(path: &Path) -> Result<(RunDir, RunManifest), CliError> {
    let (run, manifest) = RunDir::open(path).map_err(|error| match error {
        RunDirError::Incomplete(_) | RunDirError::Locked(_) | RunDirError::UnsupportedVersion { .. } => {
            CliError::from(error).status(ExitStatus::Incomplete)
        }
        other => other.into(),
    })?;
    refuse_trace(path, &manifest)?;
    Ok((run, manifest))
}

/// Refuses a trace, whose episodes were not assigned and cannot be run.
pub(super) fn refuse_trace(path: &Path, manifest: &RunManifest) -> Result<(), CliError> {
    if !manifest.plan.is_trace() {
        return Ok(());
    }
    let name = path.to_string_lossy();
    Err(CliError::new(format_args!(
        "{} is a trace: other programs recorded it, so it cannot be a baseline and cannot be run",
        shell_quote(&name)
    ))
    .kind(ErrorKind::Invalid)
    .help("`healbench errors`, `show`, `view`, `report` and `compare` read it"))
}

fn rounds_report(rounds: &Path, earlier: Option<&Path>, policy: &Policy) -> Result<GateReport, CliError> {
    let display_name = |path: &Path| path.to_string_lossy().into_owned();
    let (name, run) = (display_name(rounds), PairedRun::read(rounds)?);
    let earlier = match earlier {
        Some(path) => Some((display_name(path), PairedRun::read(path)?)),
        None => None,
    };
    let earlier = earlier.as_ref().map(|(name, run)| (name.as_str(), run));
    Ok(gate_rounds((&name, &run), earlier, policy).map_err(GateError::IncompatibleRounds)?)
}
