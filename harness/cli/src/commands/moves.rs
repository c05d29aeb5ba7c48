//! `calibrate` and `predict`: simulated readers and what agents did after errors.

use std::collections::BTreeSet;
use std::path::PathBuf;

use healbench_analysis::moves::{
    Calibration, MoveQuery, MoveReader, Observations, calibrate as fit_and_judge, predict as predict_moves, suite_of,
};
use healbench_core::{AxisError, CellRef, Condition, Fitted, Plan, Seed};
use healbench_frames::Rows;
use healbench_render::{calibration, json, prediction, profile_toml, verdict_sentence};
use healbench_store::{RunDir, RunManifest};
use healbench_text::shell_quote;

use super::one_state::{of_one_state, until_one_state};
use super::outputs;
use crate::args::{CalibrateArgs, ErrorSources, MoveArgs, PredictArgs, TextForm};
use crate::error::{CliError, ErrorKind, ExitStatus};
use crate::load::load_profile_file;
use crate::output::write_atomically;
use crate::terminal::Terminal;

/// The seed of the draws for a perfect profile.
const SEED: Seed = Seed(1);

/// Fits a profile, prints how it fares on what it was not fitted to, and writes it.
pub(crate) fn calibrate(args: &CalibrateArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    outputs::check(&args.moves.output, std::iter::empty())?;
    let read = read_moves(&args.runs, &args.moves)?;
    let fitted = read.agents(&args.agent)?;
    let found = fit_and_judge(&read.observations, &fitted, SEED).ok_or_else(|| {
        CliError::new("no error of these agents counts, so there is nothing to fit").kind(ErrorKind::Invalid)
    })?;
    let head = head(&found, &read, args.source.as_deref());
    if let Some(file) = &args.out {
        write_atomically(file, &profile_toml(&found, &head))?;
    }
    outputs::write(&args.moves.output, TextForm::Terminal, terminal, |form, _| match form {
        TextForm::Json => Ok(json(&found)?),
        TextForm::Terminal => Ok(calibration(&found, terminal.width())),
    })?;
    if let Some(file) = &args.out {
        let file = file.to_string_lossy();
        terminal.note(&format!(
            "profile: {}\nuse it: healbench run --agent {}",
            shell_quote(&file),
            shell_quote(&format!("scripted:{file}"))
        ));
    }
    Ok(ExitStatus::Success)
}

fn head(found: &Calibration, read: &ReadMoves, source: Option<&str>) -> Fitted {
    Fitted {
        source: source.map_or_else(|| read.names.join(", "), str::to_owned),
        agents: found.agents.clone(),
        tasks: found.profile.tasks,
        moves: found.profile.moves,
        date: read.date.clone(),
        verdict: verdict_sentence(found),
    }
}

/// Prints predicted beside observed moves.
pub(crate) fn predict(args: &PredictArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let file = load_profile_file(&args.profile)?;
    let Some(moves) = file.profile.moves else {
        let message = format!("`{}` is a profile of uptake: it predicts no moves", args.profile);
        let help = "use a profile of the kind `moves`, such as one that `healbench calibrate` wrote";
        return Err(CliError::new(message).kind(ErrorKind::Invalid).help(help));
    };
    outputs::check(&args.moves.output, std::iter::empty())?;
    let mut read = read_moves(&args.runs, &args.moves)?;
    let agents = read.agents(&args.agent)?;
    read.observations.moves.retain(|made| agents.contains(&made.agent));
    let found = predict_moves(&moves, &read.observations, SEED);
    if found.first.is_empty() {
        return Err(
            CliError::new("no error of these agents counts, so there is nothing to predict").kind(ErrorKind::Invalid)
        );
    }
    outputs::write(&args.moves.output, TextForm::Terminal, terminal, |form, _| match form {
        TextForm::Json => Ok(json(&found)?),
        TextForm::Terminal => Ok(prediction(&found, &args.profile, file.fitted.as_ref(), terminal.width())),
    })?;
    Ok(ExitStatus::Success)
}

/// The moves of runs, and where they come from.
struct ReadMoves {
    observations: Observations,
    /// The names of the runs.
    names: Vec<String>,
    /// The day of the newest run.
    date: String,
}

impl ReadMoves {
    /// Returns the indices of these agents; those of all if none is given.
    fn agents(&self, given: &[String]) -> Result<BTreeSet<usize>, CliError> {
        let known = &self.observations.agents;
        if given.is_empty() {
            return Ok((0..known.len()).collect());
        }
        let index = |name: &String| {
            // Titles of models are long: a beginning that only one has is enough.
            let mut beginning = (0..known.len()).filter(|at| known[*at].starts_with(name.as_str()));
            let only = beginning.next().filter(|_| beginning.next().is_none());
            let found = known.iter().position(|each| each == name).or(only);
            found.ok_or_else(|| unknown("agent (of those with an error that counts)", name, known.iter().cloned()))
        };
        given.iter().map(index).collect()
    }
}

fn read_moves(runs: &[PathBuf], args: &MoveArgs) -> Result<ReadMoves, CliError> {
    until_one_state(|| {
        let query = MoveQuery { with_attacks: args.with.is_some(), flagged_only: args.errors == ErrorSources::Flag };
        let mut reader = MoveReader::new(query);
        let (mut names, mut date) = (Vec::new(), String::new());
        let opened: Vec<(RunDir, RunManifest)> =
            runs.iter().map(|run| Ok(RunDir::open(run)?)).collect::<Result<_, CliError>>()?;
        check_filters(args, &opened)?;
        let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
        for ((run, manifest), path) in opened.iter().zip(runs) {
            let full = std::fs::canonicalize(path).map_err(|source| CliError::read(path, &source))?;
            if !seen.insert(full.clone()) {
                let message = format!(
                    "{} is named twice, and its errors would count twice",
                    shell_quote(&path.to_string_lossy())
                );
                return Err(CliError::new(message).kind(ErrorKind::Invalid));
            }
            let plan = &manifest.plan;
            let agent = |cell: CellRef| accepts(args, plan, cell).then(|| plan.agents[cell.agent].title());
            of_one_state(run, manifest, || Ok(reader.read(&Rows(run), manifest, &agent)?))?;
            names.extend(full.file_name().map(|name| name.to_string_lossy().into_owned()));
            date = date.max(manifest.started.chars().take_while(|c| *c != 'T').collect());
        }
        Ok(ReadMoves { observations: reader.finish(), names, date })
    })
}

fn accepts(args: &MoveArgs, plan: &Plan, cell: CellRef) -> bool {
    let condition = &plan.conditions[cell.condition];
    (args.condition.is_empty() || args.condition.iter().any(|name| is_called(condition, name)))
        && (args.suite.is_empty() || args.suite.iter().any(|name| name == suite_of(&plan.scenarios[cell.scenario].id)))
}

fn is_called(condition: &Condition, name: &str) -> bool {
    condition.is_named(name) || condition.title() == name
}

/// Refuses conditions and suites that no run has.
fn check_filters(args: &MoveArgs, runs: &[(RunDir, RunManifest)]) -> Result<(), CliError> {
    let plans = || runs.iter().map(|(_, manifest)| &manifest.plan);
    let conditions = || plans().flat_map(|plan| &plan.conditions);
    let suites = || plans().flat_map(|plan| &plan.scenarios).map(|scenario| suite_of(&scenario.id).to_owned());
    if let Some(name) = args.condition.iter().find(|name| !conditions().any(|condition| is_called(condition, name))) {
        return Err(unknown("condition", name, conditions().map(Condition::title)));
    }
    match args.suite.iter().find(|name| !suites().any(|suite| suite == **name)) {
        Some(name) => Err(unknown("suite", name, suites())),
        None => Ok(()),
    }
}

/// Returns the error for a name that is in no run.
fn unknown(axis: &'static str, name: &str, known: impl Iterator<Item = String>) -> CliError {
    let known: BTreeSet<String> = known.collect();
    AxisError { axis, word: name.to_owned(), known: known.into_iter().collect() }.into()
}
