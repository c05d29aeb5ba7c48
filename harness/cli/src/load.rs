//! Resolves arguments into scenarios, agents and plans.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use healbench_agents::ReplayAgent;
use healbench_agents::external::Program;
use healbench_agents::llm::{Model, preamble_of};
use healbench_core::{
    Agent, AgentKind, AgentSpec, Condition, Content, EnvironmentKind, EpisodeStart, Opening, PROGRAM_PREFIX, Plan,
    PlannedEnvironment, RecordedTurns, RequestLog, Script, Seed, Undeclared,
};
use healbench_reader::{Profile, ProfileError, ProfileFile, ScriptedAgent, shipped_profile_file, shipped_profiles};
use healbench_runner::{Axes, build_plan};
use healbench_scenarios::{
    Findings, LoadError, Scenario, Source, Syntax, ToolList, load_stored, load_suite, load_tools, render_diagnostics,
    render_warnings,
};
use healbench_store::{MAX_CELLS, PriceSource, RunDir};
use healbench_text::{count, plain_text, pluralize};

use crate::args::AxisArgs;
use crate::axis_values::{parse_formats, parse_guardrails, reject_duplicates};
use crate::conditions::{DEFAULT_CONDITIONS, NamedFiles, SERVER_CONDITIONS, VARIED_CONDITION, named_conditions, vary};
use crate::error::{CliError, ErrorKind};
use crate::lockfiles::{lock_scenarios, lock_scenarios_of_run};
use crate::models::{self, ModelCatalog, ModelClients, ReadyAgent};
use crate::run_spec::{AgentConfig, RunSpec};
use crate::terminal::Terminal;

/// The source of replies for the models of a plan.
pub(crate) enum ModelSource<'a> {
    /// No source, because the plan has no models.
    Absent,
    /// The models' endpoints or their recordings, and the log of requests.
    Clients(&'a ModelClients, Option<Arc<dyn RequestLog>>),
    /// The recorded turns of a model in the current episode.
    RecordedTurns(&'a RecordedTurns),
}

impl RunSpec {
    /// Creates an agent of the plan, by its index, for one episode.
    pub(crate) fn make_agent<'a>(
        &'a self,
        models: ModelSource<'a>,
    ) -> impl for<'s> Fn(usize, EpisodeStart<'s>, Option<&'s Script>) -> Box<dyn Agent + 's> + Sync + 'a {
        let nobody = || Box::new(ReplayAgent::new(Vec::new(), None, String::new()));
        move |index, start, script| match (&self.configs[index], &models) {
            (AgentConfig::Scripted(profile), _) => scripted_agent(profile, start, script),
            (_, ModelSource::Clients(clients, requests)) => match &clients.agents[index] {
                ReadyAgent::Model(factory) => Box::new(factory.agent(start, requests.clone())),
                ReadyAgent::Program(factory) => Box::new(factory.agent(start)),
                ReadyAgent::Reader => nobody(),
            },
            (AgentConfig::Model(model), ModelSource::RecordedTurns(recorded_turns)) => {
                let turns =
                    recorded_turns.turns.iter().map(|recorded| (recorded.turn.clone(), recorded.origin)).collect();
                Box::new(ReplayAgent::new(turns, recorded_turns.failed.clone(), preamble_of(model, start.tools)))
            }
            (AgentConfig::Model(_) | AgentConfig::Program(_), _) => nobody(),
        }
    }
}

/// Creates a simulated reader. Without a script it has nothing to do and declares the task complete.
pub(crate) fn scripted_agent<'s>(
    profile: &Profile,
    start: EpisodeStart<'s>,
    script: Option<&'s Script>,
) -> Box<dyn Agent + 's> {
    static EMPTY: Script = Script { steps: Vec::new(), answer: None };
    Box::new(ScriptedAgent::new(profile, start, script.unwrap_or(&EMPTY)))
}

/// Returns the given values, or the defaults.
fn given_or(given: &[String], defaults: &[&str]) -> Vec<String> {
    if given.is_empty() { defaults.iter().map(|&value| value.to_owned()).collect() } else { given.to_vec() }
}

/// Reads scenarios. All problems are returned as one rendered error.
pub(crate) fn scenarios(paths: &[PathBuf], terminal: &Terminal) -> Result<Vec<Scenario>, CliError> {
    load_suite(paths).map_err(|error| render_load_error(error, terminal))
}

/// Reads a list of tools. The problems of some tools are printed as a warning; those of a file without a valid tool are
/// returned as one rendered error.
pub(crate) fn tools(path: &Path, terminal: &Terminal) -> Result<ToolList, CliError> {
    let list = load_tools(path).map_err(|error| render_load_error(error, terminal))?;
    if !list.problems.is_empty() {
        let problems = render_diagnostics(&list.problems, &list.sources, terminal.colors_messages());
        let used = pluralize(list.tools.len() as u64, "tool");
        terminal.warn(&format!("{problems}\nused: {used} of `{}`, without those that have problems", path.display()));
    }
    Ok(list)
}

/// Plays the scripts of scenarios, prints warnings, and returns their number, or what no author can mean as one rendered error.
pub(crate) fn findings(scenarios: &[Scenario], terminal: &Terminal) -> Result<usize, CliError> {
    let (mut diagnostics, mut warnings) = (Vec::new(), Vec::new());
    for Findings { problems, warnings: more } in scenarios.iter().map(Scenario::findings) {
        diagnostics.extend(problems);
        warnings.extend(more);
    }
    let written = scenarios.iter().map(|scenario| scenario.source.written());
    let sources = written.map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
    if !warnings.is_empty() {
        terminal.warn(&render_warnings(&warnings, &sources, terminal.colors_messages()));
    }
    match diagnostics.is_empty() {
        true => Ok(warnings.len()),
        false => Err(render_load_error(LoadError::Invalid { diagnostics, sources }, terminal)),
    }
}

fn render_load_error(error: LoadError, terminal: &Terminal) -> CliError {
    match error {
        LoadError::Invalid { diagnostics, sources } => {
            CliError::new(render_diagnostics(&diagnostics, &sources, terminal.colors_messages()))
                .kind(ErrorKind::Diagnostics)
        }
        other => other.into(),
    }
}

/// The default of `--agent`.
const DEFAULT_AGENTS: [&str; 3] = ["scripted:perfect", "scripted:persistent", "scripted:yielding"];
/// The defaults of `--guardrails` and `--format` if one of them is given.
const DEFAULT_GUARDRAILS: [&str; 2] = ["none", "all"];
const DEFAULT_FORMATS: [&str; 2] = ["fusion-xml", "fusion-text"];
/// The value of `--agent` that means the shipped profiles that are ordered by skill.
const ALL_PROFILES: &str = "scripted";

/// Builds the plan of the given axes; `replayed` marks its models as replayed.
pub(crate) fn build_run_spec(args: &AxisArgs, replayed: bool, terminal: &Terminal) -> Result<RunSpec, CliError> {
    // A wrong name is told before files are read.
    let given: Vec<&str> = args.agent.iter().map(String::as_str).collect();
    let given = if given.is_empty() { None } else { Some(agents(args, &given, replayed)?) };
    let mut scenarios = scenarios(&args.scenarios, terminal)?;
    let (agents, prices) = match given {
        Some(given) => given,
        None => agents(args, default_agents(&scenarios), replayed)?,
    };
    let environment = environment_of(&scenarios)?;
    let files = NamedFiles::default();
    let conditions = conditions(args, environment.kind, &files)?;
    let lockfile = files.lockfile(&conditions)?;
    let lockfile = lockfile.map(|path| lock_scenarios(&path, &mut scenarios)).transpose()?;
    let (agents, configs) = agents.into_iter().unzip();
    let axes = Axes { agents, conditions, trials: args.trials, seed: Seed(args.seed) };
    let plan = Plan { environment, ..build_plan(&axes, &scenarios) };
    check_plan(&plan)?;
    Ok(RunSpec { plan, scenarios, configs, prices, lockfile })
}

/// An agent of the plan and what it is run with.
type PlannedAgent = (AgentSpec, AgentConfig);

/// Returns the agents of a run that names none.
fn default_agents(scenarios: &[Scenario]) -> &'static [&'static str] {
    if scenarios.iter().all(|scenario| !scenario.claims.is_empty()) { &[ALL_PROFILES] } else { &DEFAULT_AGENTS }
}

/// Returns the agents with these names, and the source of prices if one of them has settings.
fn agents(
    args: &AxisArgs,
    names: &[&str],
    replayed: bool,
) -> Result<(Vec<PlannedAgent>, Option<PriceSource>), CliError> {
    let openings = args.opening.iter().map(|value| value.parse()).collect::<Result<Vec<Opening>, _>>()?;
    reject_duplicates("--opening", openings.iter().map(|opening| opening.name().to_owned()))?;
    let mut agents: Vec<PlannedAgent> = Vec::new();
    // The settings are read only if an agent needs them, and once.
    let mut catalog = None;
    for value in names.iter().copied() {
        match value.split_once(':') {
            None if value == ALL_PROFILES => {
                agents.extend(shipped_profiles().map(load_profile).collect::<Result<Vec<_>, _>>()?);
                continue;
            }
            Some((ALL_PROFILES, profile)) => {
                agents.push(load_profile(profile)?);
                continue;
            }
            _ => {}
        }
        let catalog = match &mut catalog {
            Some(catalog) => catalog,
            none => none.insert(ModelCatalog::read(args)?),
        };
        if let Some((PROGRAM_PREFIX, name)) = value.split_once(':') {
            agents.push(program(catalog, value, name, replayed)?);
        } else {
            agents.extend(model(catalog, value, &openings, replayed)?);
        }
    }
    let names = agents.iter().map(|(agent, _)| match agent.opening {
        Some(opening) => format!("{agent} {}", opening.name()),
        None => agent.to_string(),
    });
    reject_duplicates("--agent", names)?;
    Ok((agents, catalog.map(|catalog| catalog.price_source())))
}

/// Returns an agent program.
fn program(catalog: &ModelCatalog, value: &str, name: &str, replayed: bool) -> Result<PlannedAgent, CliError> {
    if replayed {
        return Err(CliError::new(format_args!("{value}: the answers of an agent program cannot be replayed"))
            .help("leave it out, or run it without `--replay`"));
    }
    let program = catalog.program(name)?;
    Ok((program.spec(name), AgentConfig::Program(Box::new(program))))
}

/// Refuses a model that cannot begin its episodes like this.
pub(crate) fn check_opening(value: &str, model: &Model, opening: Option<Opening>) -> Result<(), CliError> {
    if opening == Some(Opening::Seeded) && !model.supports_seeded_opening() {
        return Err(CliError::new(format_args!(
            "{value}: with thinking enabled, the API rejects calls it did not make, so an opening cannot be seeded"
        ))
        .help("choose `--opening natural`, or `tools = \"prompt\"`, or leave `thinking` out of `extra_body`"));
    }
    Ok(())
}

/// Returns a model once for each opening.
fn model(
    catalog: &ModelCatalog,
    value: &str,
    openings: &[Opening],
    replayed: bool,
) -> Result<Vec<PlannedAgent>, CliError> {
    let model = catalog.model(value)?;
    openings.iter().try_for_each(|opening| check_opening(value, &model, Some(*opening)))?;
    let agent = |opening: &Opening| {
        let spec = models::agent_spec(&model, value, *opening, replayed);
        (spec, AgentConfig::Model(Box::new(model.clone())))
    };
    Ok(openings.iter().map(agent).collect())
}

/// Returns the conditions, in the order of the report's rows.
fn conditions(args: &AxisArgs, kind: EnvironmentKind, files: &NamedFiles) -> Result<Vec<Condition>, CliError> {
    let conditions = if args.guardrails.is_empty() && args.format.is_empty() {
        let defaults = match kind {
            _ if !args.vary.is_empty() => &VARIED_CONDITION[..],
            EnvironmentKind::Simulator => &DEFAULT_CONDITIONS,
            EnvironmentKind::Mcp | EnvironmentKind::Observed => &SERVER_CONDITIONS,
        };
        named_conditions(&given_or(&args.condition, defaults), args.config.as_deref(), kind, files)?
    } else {
        if !args.format.is_empty() && args.vary.iter().any(|option| option.trim_start().starts_with("errors=")) {
            return Err(CliError::new("`--format` and the axis `errors` both name error formats")
                .kind(ErrorKind::Invalid)
                .help("name all of them with one of the two"));
        }
        let guardrails = parse_guardrails(&given_or(&args.guardrails, &DEFAULT_GUARDRAILS))?;
        Condition::of_parts(&guardrails, &parse_formats(&given_or(&args.format, &DEFAULT_FORMATS))?)
    };
    vary(conditions, &args.vary, files)
}

/// Refuses plans whose parts exclude each other, and those that are too large.
fn check_plan(plan: &Plan) -> Result<(), CliError> {
    if plan.environment.kind == EnvironmentKind::Mcp {
        reject_values_of_the_simulator(&plan.conditions)?;
    }
    let program = plan.agents.iter().find(|agent| agent.kind == AgentKind::Program);
    let shown = plan.conditions.iter().find(|condition| !condition.values.client.is_raw());
    if let (Some(program), Some(condition)) = (program, shown) {
        return Err(CliError::new(format_args!(
            "{} has a client of its own, and the condition `{}` has another",
            plain_text(&program.title()),
            plain_text(&condition.label())
        ))
        .kind(ErrorKind::Invalid)
        .help("run agent programs under conditions without a client, and other agents in a run of their own"));
    }
    if plan.cells() > MAX_CELLS {
        return Err(CliError::new(format_args!(
            "the plan has {} cells; a run has at most {}",
            count(plan.cells()),
            count(MAX_CELLS)
        ))
        .help("split it into several runs with fewer scenarios, agents or conditions"));
    }
    Ok(())
}

/// Returns the environment of all scenarios.
fn environment_of(scenarios: &[Scenario]) -> Result<PlannedEnvironment, CliError> {
    let mut names: Vec<&str> = scenarios.iter().filter_map(|scenario| Some(scenario.server.as_ref()?.name())).collect();
    if names.is_empty() {
        return Ok(PlannedEnvironment::default());
    }
    if let Some(simulated) = scenarios.iter().find(|scenario| scenario.server.is_none()) {
        return Err(CliError::new(format_args!(
            "`{}` runs in the simulator, and other scenarios on servers",
            simulated.id
        ))
        .kind(ErrorKind::Invalid)
        .help("a run has one kind of environment: use a separate run for each"));
    }
    names.sort_unstable();
    names.dedup();
    Ok(PlannedEnvironment { kind: EnvironmentKind::Mcp, server: Some(names.join(", ")) })
}

/// Refuses conditions with values that decide what the simulator says, since a server has its own texts.
pub(crate) fn reject_values_of_the_simulator(conditions: &[Condition]) -> Result<(), CliError> {
    let of_the_simulator = |condition: &&Condition| {
        let other_undeclared = condition.values.undeclared != Undeclared::of(condition.guardrails());
        other_undeclared
            || !condition.values.domain_errors.is_everything()
            || condition.values.content != Content::Native
            || condition.values.contract.label().is_some()
    };
    match conditions.iter().find(of_the_simulator) {
        None => Ok(()),
        Some(condition) => Err(CliError::new(format_args!(
            "the condition `{}` sets undeclared fields, domain errors, content or contract changes, which a server decides itself",
            plain_text(&condition.label())
        ))
        .kind(ErrorKind::Invalid)
        .help("on servers, conditions differ in guardrails, error format and client")),
    }
}

/// Loads the run specification of an existing run from the texts stored in it.
pub(crate) fn run_spec_of(run: &RunDir, plan: Plan) -> Result<RunSpec, CliError> {
    if plan.is_trace() {
        return Ok(RunSpec { plan, scenarios: Vec::new(), configs: Vec::new(), prices: None, lockfile: None });
    }
    let mut scenarios: Vec<Scenario> = plan
        .scenarios
        .iter()
        .enumerate()
        .map(|(index, planned)| {
            let (text, extension) = run.scenario_text(index, &planned.id)?;
            let tools = run.server_tools(index, &planned.id)?;
            if Source::hash(&text, tools.as_deref()) != planned.sha256 {
                return Err(CliError::scenario_changed(&planned.id));
            }
            let syntax = if extension == "json" { Syntax::Json } else { Syntax::Yaml };
            load_stored(&planned.path, &text, syntax, tools.as_deref())
                .map_err(|_| CliError::unreadable_scenario(&planned.id))
        })
        .collect::<Result<_, _>>()?;
    let lockfile = lock_scenarios_of_run(run, &plan, &mut scenarios)?;
    let config_of = |spec: &AgentSpec| {
        let model = || Model::from_spec(spec).map(|model| AgentConfig::Model(Box::new(model)));
        let program = || Program::from_spec(spec).map(|program| AgentConfig::Program(Box::new(program)));
        let known = Profile::from_spec(spec)
            .map(|profile| AgentConfig::Scripted(Box::new(profile)))
            .or_else(model)
            .or_else(program);
        known.ok_or_else(|| CliError::unknown_agent(spec))
    };
    let configs = plan.agents.iter().map(config_of).collect::<Result<_, _>>()?;
    Ok(RunSpec { plan, scenarios, configs, prices: None, lockfile })
}

/// Loads a shipped profile, or a profile from a TOML file, as an agent.
fn load_profile(profile_name: &str) -> Result<PlannedAgent, CliError> {
    let file = load_profile_file(profile_name)?;
    Ok((file.spec(profile_name), AgentConfig::Scripted(Box::new(file.profile))))
}

/// Loads a shipped profile, or a profile from a TOML file.
pub(crate) fn load_profile_file(profile_name: &str) -> Result<ProfileFile, CliError> {
    match shipped_profile_file(profile_name) {
        Err(ProfileError::Unknown { .. }) if profile_name.ends_with(".toml") => {
            let path = Path::new(profile_name);
            let text = healbench_files::read_text_file(path, healbench_files::MAX_WRITTEN_BYTES)
                .map_err(|source| CliError::read(path, &source))?;
            Ok(ProfileFile::parse(profile_name, &text)?)
        }
        found => Ok(found?),
    }
}
