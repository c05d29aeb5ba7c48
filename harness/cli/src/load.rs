//! From what was typed to what is meant: scenarios, agents and plans.

use std::path::{Path, PathBuf};

use healbench_agents::ReplayAgent;
use healbench_agents::llm::{Model, preamble_of};
use healbench_agents::scripted::{Profile, ProfileError, ScriptedAgent, scripted, shipped};
use healbench_engine::check_template;
use healbench_engine::definition::Tool;
use healbench_protocol::{
    Agent, AgentSpec, EpisodeStart, ErrorFormat, Guardrails, Opening, Seed, TemplateSource, fingerprint,
};
use healbench_record::{MAX_CELLS, Plan, PriceSource, RecordedTurns, RunDir};
use healbench_runner::{Axes, build_plan};
use healbench_scenarios::{LoadError, Scenario, Syntax, load_str, load_suite, load_tools, render_diagnostics};

use crate::args::AxisArgs;
use crate::error::CliError;
use crate::models::{self, Sources, Troupe};
use crate::terminal::Terminal;

/// A plan with what it takes to play it.
pub(crate) struct Cast {
    pub(crate) plan: Plan,
    pub(crate) scenarios: Vec<Scenario>,
    /// Who plays each agent of the plan.
    pub(crate) parts: Vec<Part>,
    /// The price table that models have their prices from; `None` without models, and for a run that was made before.
    pub(crate) prices: Option<PriceSource>,
}

/// What plays an agent.
pub(crate) enum Part {
    /// A profile.
    Scripted(Profile),
    /// A model.
    Model(Box<Model>),
}

/// What stands for the models of a plan.
pub(crate) enum Models<'a> {
    /// Nothing: the plan has none.
    Absent,
    /// Themselves, or their recordings.
    Players(&'a Troupe),
    /// The turns that one of them took in the episode at hand.
    RecordedTurns(&'a RecordedTurns),
}

impl Cast {
    /// Makes the agent with an index of the plan for one episode.
    pub(crate) fn make_agent<'a>(
        &'a self,
        models: Models<'a>,
    ) -> impl for<'s> Fn(usize, EpisodeStart<'s>) -> Box<dyn Agent + 's> + Sync + 'a {
        move |index, start| match (&self.parts[index], &models) {
            (Part::Scripted(profile), _) => Box::new(ScriptedAgent::new(profile, start)),
            (Part::Model(_), Models::Players(troupe)) => match &troupe.players[index] {
                Some(factory) => Box::new(factory.agent(start)),
                None => Box::new(ReplayAgent::new(Vec::new(), None, String::new())),
            },
            (Part::Model(model), Models::RecordedTurns(recorded_turns)) => {
                let turns =
                    recorded_turns.turns.iter().map(|recorded| (recorded.turn.clone(), recorded.origin)).collect();
                Box::new(ReplayAgent::new(turns, recorded_turns.failed.clone(), preamble_of(model, start.tools)))
            }
            (Part::Model(_), Models::Absent) => Box::new(ReplayAgent::new(Vec::new(), None, String::new())),
        }
    }
}

/// Reads scenarios; problems in them become one rendered error.
pub(crate) fn scenarios(paths: &[PathBuf], terminal: &Terminal) -> Result<Vec<Scenario>, CliError> {
    load_suite(paths).map_err(|error| rendered(error, terminal))
}

/// Reads a list of tools; problems in it become one rendered error.
pub(crate) fn tools(path: &Path, terminal: &Terminal) -> Result<Vec<Tool>, CliError> {
    load_tools(path).map_err(|error| rendered(error, terminal))
}

fn rendered(error: LoadError, terminal: &Terminal) -> CliError {
    match error {
        LoadError::Invalid { diagnostics, sources } => {
            CliError::Diagnostics(render_diagnostics(&diagnostics, &sources, terminal.colors_messages()))
        }
        other => CliError::Load(other),
    }
}

/// Who plays when nobody is named.
const DEFAULT_AGENTS: [&str; 3] = ["scripted:blind", "scripted:typical", "scripted:perfect"];
/// Stands for the agents of all shipped profiles.
const ALL_PROFILES: &str = "scripted";

/// The plan that the axes span, with models that are `replayed` or asked.
pub(crate) fn cast(args: &AxisArgs, replayed: bool, terminal: &Terminal) -> Result<Cast, CliError> {
    let scenarios = scenarios(&args.scenarios, terminal)?;
    let claims_only = scenarios.iter().all(|scenario| !scenario.claims.is_empty());
    let words: Vec<&str> = match (args.agent.is_empty(), claims_only) {
        (false, _) => args.agent.iter().map(String::as_str).collect(),
        (true, true) => vec![ALL_PROFILES],
        (true, false) => DEFAULT_AGENTS.to_vec(),
    };
    let openings = args.opening.iter().map(|word| word.parse()).collect::<Result<Vec<Opening>, _>>()?;
    no_repeats("--opening", openings.iter().map(|opening| opening.name().to_owned()))?;
    let mut named: Vec<(AgentSpec, Part)> = Vec::new();
    let mut sources = None;
    for word in words {
        match word.split_once(':') {
            None if word == ALL_PROFILES => named.extend(shipped().map(scripted_agent).collect::<Result<Vec<_>, _>>()?),
            Some((ALL_PROFILES, profile)) => named.push(scripted_agent(profile)?),
            _ => {
                // Settings are read once, and only for those who need them.
                let sources = match &mut sources {
                    Some(sources) => sources,
                    none => none.insert(Sources::read(args)?),
                };
                let model = sources.model(word)?;
                if openings.contains(&Opening::Seeded) && !model.supports_seeded_opening() {
                    return Err(CliError::SeededThoughts(word.to_owned()));
                }
                for opening in &openings {
                    let spec = models::spec(&model, word, *opening, replayed);
                    named.push((spec, Part::Model(Box::new(model.clone()))));
                }
            }
        }
    }
    let (agents, parts): (Vec<AgentSpec>, Vec<Part>) = named.into_iter().unzip();
    let names = agents.iter().map(|agent| match agent.opening {
        Some(opening) => format!("{agent} {}", opening.name()),
        None => agent.to_string(),
    });
    no_repeats("--agent", names)?;
    let guardrails = guardrails(&args.guardrails)?;
    let formats = formats(&args.format)?;
    let axes = Axes { agents, guardrails, formats, trials: args.trials, seed: Seed(args.seed) };
    let plan = build_plan(&axes, &scenarios);
    if plan.cells() > MAX_CELLS {
        return Err(CliError::ManyCells(plan.cells()));
    }
    Ok(Cast { plan, scenarios, parts, prices: sources.map(|sources| sources.price_source()) })
}

/// The cast of a run that was made before, from the texts that lie in it.
pub(crate) fn cast_of_run(run: &RunDir, plan: Plan) -> Result<Cast, CliError> {
    let scenarios = plan
        .scenarios
        .iter()
        .enumerate()
        .map(|(index, planned)| {
            let (text, extension) = run.scenario_text(index, &planned.id)?;
            if fingerprint(text.as_bytes()) != planned.sha256 {
                return Err(CliError::ScenarioChanged(planned.id.clone()));
            }
            let syntax = if extension == "json" { Syntax::Json } else { Syntax::Yaml };
            load_str(&planned.path, &text, syntax).map_err(|_| CliError::OldScenario(planned.id.clone()))
        })
        .collect::<Result<_, _>>()?;
    let part_of = |spec: &AgentSpec| {
        let model = || Model::from_spec(spec).map(|model| Part::Model(Box::new(model)));
        Profile::of(spec).map(Part::Scripted).or_else(model).ok_or_else(|| CliError::OldAgent(spec.to_string()))
    };
    let parts = plan.agents.iter().map(part_of).collect::<Result<_, _>>()?;
    Ok(Cast { plan, scenarios, parts, prices: None })
}

/// A shipped profile, or the path of a TOML file.
fn scripted_agent(profile_name: &str) -> Result<(AgentSpec, Part), CliError> {
    let profile = match scripted(profile_name) {
        Ok(profile) => profile,
        Err(ProfileError::Unknown { .. }) if profile_name.ends_with(".toml") => {
            let path = Path::new(profile_name);
            let text = std::fs::read_to_string(path)
                .map_err(|source| CliError::ProfileFile { path: path.to_owned(), source })?;
            Profile::from_toml(profile_name, &text)?
        }
        Err(error) => return Err(error.into()),
    };
    Ok((profile.spec(profile_name), Part::Scripted(profile)))
}

fn guardrails(words: &[String]) -> Result<Vec<Guardrails>, CliError> {
    let mut sets: Vec<Guardrails> = Vec::new();
    for word in words {
        let named = match Guardrails::sweep(word) {
            Some(sweep) => sweep,
            None => vec![word.parse().map_err(with_sweeps)?],
        };
        for set in named {
            // A sweep may hold a set that was named beside it; that is no mistake.
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
    }
    Ok(sets)
}

fn with_sweeps(mut error: healbench_protocol::AxisError) -> CliError {
    error.known.extend(["full", "one-out", "one-in"].map(str::to_owned));
    CliError::Axis(error)
}

/// Stands for all formats that have a name.
const ALL_FORMATS: &str = "all";

pub(crate) fn formats(words: &[String]) -> Result<Vec<ErrorFormat>, CliError> {
    let mut formats = Vec::new();
    for word in words {
        match word.as_str() {
            // Beside `all` only templates have anything to add.
            ALL_FORMATS => formats.extend(ErrorFormat::NAMED),
            word => formats.push(format(word)?),
        }
    }
    if words.iter().any(|word| word == ALL_FORMATS) {
        let mut seen = std::collections::BTreeSet::new();
        formats.retain(|format| seen.insert(format.clone()));
    }
    no_repeats("--format", formats.iter().map(ErrorFormat::to_string))?;
    Ok(formats)
}

/// A format's name, or `template:FILE`.
fn format(word: &str) -> Result<ErrorFormat, CliError> {
    let Some(file) = word.strip_prefix("template:") else { return word.parse().map_err(with_templates) };
    let text =
        std::fs::read_to_string(file).map_err(|source| CliError::TemplateFile { path: PathBuf::from(file), source })?;
    let source = TemplateSource { file: file.to_owned(), text };
    check_template(&source)?;
    Ok(ErrorFormat::Template(source))
}

/// One format, as `--format` takes it.
pub(crate) fn one_format(word: &str) -> Result<ErrorFormat, CliError> {
    match word == ALL_FORMATS || (word.contains(',') && !word.starts_with("template:")) {
        true => Err(CliError::OneOnly { option: "--format", word: word.to_owned() }),
        false => format(word),
    }
}

fn with_templates(mut error: healbench_protocol::AxisError) -> CliError {
    error.known.extend([ALL_FORMATS, "template:FILE"].map(str::to_owned));
    CliError::Axis(error)
}

fn no_repeats(option: &'static str, values: impl Iterator<Item = String>) -> Result<(), CliError> {
    let mut seen = std::collections::BTreeSet::new();
    for value in values {
        if !seen.insert(value.clone()) {
            return Err(CliError::Twice { option, value });
        }
    }
    Ok(())
}
