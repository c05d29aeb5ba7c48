//! Resolves names of models into clients: settings, prices, keys, connections and recordings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use healbench_agents::external::{Program, ProgramFactory, ProgramTable, parse_program_tables};
use healbench_agents::llm::cassette::Cassette;
use healbench_agents::llm::{
    Endpoint, HOST_VARIABLE, LlmAgentFactory, Model, ModelBackend, ModelRef, ModelTable, Network, Preflight,
    PreflightError, PriceTable, SetupError, parse_model_tables, resolve_model,
};
use healbench_core::{AgentKind, AgentSpec, EnvironmentKind, Opening, Plan, Shards, fingerprint};
use healbench_files::hint;
use healbench_mcp::Supervisor;
use healbench_runner::{Budget, WorkerPool};
use healbench_store::{CassetteMode, PriceSource, ServerWait};
use healbench_text::plain_text;

use crate::args::AxisArgs;
use crate::clock::timestamp;
use crate::error::{CliError, ErrorKind, ExitStatus};
use crate::progress::ServerWaits;
use crate::run_spec::{AgentConfig, RunSpec};
use crate::signals::own_program;
use crate::terminal::Terminal;

/// The settings of models and agent programs, and the prices of models.
pub(crate) struct ModelCatalog {
    tables: BTreeMap<String, ModelTable>,
    programs: BTreeMap<String, ProgramTable>,
    prices: PriceTable,
}

impl ModelCatalog {
    /// Reads the settings file, if there is one, and the price table.
    pub(crate) fn read(args: &AxisArgs) -> Result<ModelCatalog, CliError> {
        let prices = match &args.prices {
            Some(path) => PriceTable::parse(&path.display().to_string(), &read_config(path)?)?,
            None => PriceTable::shipped(),
        };
        let (tables, programs) = match &args.config {
            Some(path) => {
                let text = read_config(path)?;
                (parse_model_tables(path, &text, &|path| read_text(path))?, parse_program_tables(path, &text)?)
            }
            None => (BTreeMap::new(), BTreeMap::new()),
        };
        Ok(ModelCatalog { tables, programs, prices })
    }

    /// Resolves a value of `--agent` into a model.
    pub(crate) fn model(&self, model_ref: &str) -> Result<Model, CliError> {
        Ok(resolve_model(model_ref, &self.tables, &self.prices)?)
    }

    /// Returns the agent program with this name.
    pub(crate) fn program(&self, name: &str) -> Result<Program, CliError> {
        match self.programs.get(name) {
            Some(table) => Ok(table.program.clone()),
            None => {
                let help = match self.programs.is_empty() {
                    true => "there are no tables of agent programs: write one into `healbench.toml` (docs/agent-programs.md)".to_owned(),
                    false => hint(name, self.programs.keys().map(String::as_str)),
                };
                Err(CliError::new(format_args!("there is no table `[agent.{}]`", plain_text(name)))
                    .kind(ErrorKind::Invalid)
                    .help(help))
            }
        }
    }

    /// Returns what the settings file has for an agent of a plan; `None` if it has no table of it, or if the agent sends no requests.
    pub(crate) fn current(&self, spec: &AgentSpec) -> Result<Option<AgentConfig>, CliError> {
        Ok(match (spec.kind, ModelRef::parse(&spec.name)) {
            (AgentKind::Llm, Ok(ModelRef::Table(name))) if self.tables.contains_key(name) => {
                Some(AgentConfig::Model(Box::new(self.model(&spec.name)?)))
            }
            (AgentKind::Program, _) => {
                self.programs.get(&spec.name).map(|table| AgentConfig::Program(Box::new(table.program.clone())))
            }
            _ => None,
        })
    }

    /// Returns the price table's entry in the manifest.
    pub(crate) fn price_source(&self) -> PriceSource {
        PriceSource { date: self.prices.date.clone(), sha256: self.prices.sha256().to_owned() }
    }
}

fn read_text(path: &Path) -> std::io::Result<String> {
    healbench_files::read_text_file(path, healbench_files::MAX_WRITTEN_BYTES)
}

fn read_config(path: &Path) -> Result<String, CliError> {
    read_text(path).map_err(|source| CliError::read(path, &source))
}

/// Builds the plan's entry for a model. It includes a hash of the system prompt, so that different prompts are easy to
/// see.
pub(crate) fn agent_spec(model: &Model, model_ref: &str, opening: Opening, replayed: bool) -> AgentSpec {
    let kind = if replayed { AgentKind::Replay } else { AgentKind::Llm };
    let mut spec = model.spec(model_ref, opening, kind);
    if let Some(settings) = spec.settings.as_object_mut() {
        settings.insert("system_sha256".to_owned(), fingerprint(model.system.as_bytes()).into());
    }
    spec
}

/// An agent of a plan with what it needs to begin an episode.
pub(crate) enum ReadyAgent {
    /// A simulated reader, which needs nothing.
    Reader,
    /// A model with its endpoint or its recordings.
    Model(Arc<LlmAgentFactory>),
    /// A program that can be started.
    Program(Arc<ProgramFactory>),
}

/// The agents of a plan, connected with their models and programs.
pub(crate) struct ModelClients {
    /// In the order of the plan.
    pub(crate) agents: Vec<ReadyAgent>,
    /// The recording that is replayed or written.
    pub(crate) cassette: Option<Arc<Cassette>>,
}

impl ModelClients {
    /// Creates the clients of a run and checks that all models can be reached, and their cost be limited.
    pub(crate) fn connect(
        run_spec: &RunSpec,
        cassettes: Option<&CassetteMode>,
        budget: Option<Budget>,
        shards: Option<&Shards>,
        supervisor: &Supervisor,
        terminal: &Terminal,
    ) -> Result<ModelClients, CliError> {
        let mut unpriced_models = BTreeSet::new();
        for (spec, config) in run_spec.plan.agents.iter().zip(&run_spec.configs) {
            if let (AgentConfig::Program(_), Some(Budget::Usd(_))) = (config, budget) {
                return Err(CliError::new(format_args!(
                    "the price of {spec} is unknown, so a budget in money cannot limit the run"
                ))
                .help("limit tokens, as in `--budget 300ktokens`"));
            }
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
        let clients = ModelClients::new(run_spec, cassettes, shards, supervisor)?;
        clients.preflight(run_spec, supervisor.stop(), terminal)?;
        for name in unpriced_models {
            terminal.note(&format!("{}: its price is unknown, so its cost is unknown too", plain_text(name)));
        }
        Ok(clients)
    }

    /// Creates the clients of a process that runs these shards, or all of the plan: reads keys and opens recordings. Sends no requests. Does nothing for a plan without models.
    pub(crate) fn new(
        run_spec: &RunSpec,
        cassettes: Option<&CassetteMode>,
        shards: Option<&Shards>,
        supervisor: &Supervisor,
    ) -> Result<ModelClients, CliError> {
        let has_models = run_spec.configs.iter().any(|config| matches!(config, AgentConfig::Model(_)));
        let cassette = match cassettes.filter(|_| has_models) {
            None => None,
            Some(CassetteMode::Record(dir)) => Some(Arc::new(Cassette::open_or_create(dir)?)),
            Some(CassetteMode::Replay(dir)) => Some(Arc::new(Cassette::open(dir)?)),
        };
        let replays = matches!(cassettes, Some(CassetteMode::Replay(_)));
        let network = match has_models && !replays {
            true => Some(Arc::new(Network::new().map_err(CliError::network)?)),
            false => None,
        };
        let recording_date = timestamp("%Y-%m-%d");
        let mut backends: Vec<(&str, Arc<ModelBackend>)> = Vec::new();
        let mut agents = Vec::new();
        for (spec, config) in run_spec.plan.agents.iter().zip(&run_spec.configs) {
            let model = match config {
                AgentConfig::Scripted(_) => {
                    agents.push(ReadyAgent::Reader);
                    continue;
                }
                AgentConfig::Program(program) => {
                    agents.push(ReadyAgent::Program(Arc::new(program_factory(spec, program, supervisor)?)));
                    continue;
                }
                AgentConfig::Model(model) => model,
            };
            // Agents with the same model but different openings share its connections.
            let known = backends.iter().find(|(name, _)| *name == spec.name).map(|(_, backend)| Arc::clone(backend));
            let backend = match (known, &network) {
                (Some(backend), _) => backend,
                (None, Some(network)) => {
                    let endpoint = Endpoint::new(network, &share_of(model, shards), &variable)
                        .map_err(|source| endpoint_error(spec, &source))?;
                    Arc::new(match &cassette {
                        Some(cassette) => ModelBackend::Recording(endpoint, Arc::clone(cassette)),
                        None => ModelBackend::Live(endpoint),
                    })
                }
                (None, None) => match &cassette {
                    Some(cassette) => Arc::new(ModelBackend::Replay(Arc::clone(cassette))),
                    None => return Err(CliError::unknown_agent(spec)),
                },
            };
            backends.push((&spec.name, Arc::clone(&backend)));
            let (model, recording_date) = (model.as_ref().clone(), recording_date.clone());
            let stop = Arc::clone(supervisor.stop());
            agents.push(ReadyAgent::Model(Arc::new(LlmAgentFactory { model, backend, stop, recording_date })));
        }
        Ok(ModelClients { agents, cassette })
    }

    /// Returns the models.
    fn models(&self) -> impl Iterator<Item = &LlmAgentFactory> {
        self.agents.iter().filter_map(|agent| match agent {
            ReadyAgent::Model(factory) => Some(&**factory),
            ReadyAgent::Reader | ReadyAgent::Program(_) => None,
        })
    }

    /// Returns a function that says which servers requests wait for, for two seconds or more.
    pub(crate) fn waits(&self, plan: &Plan) -> ServerWaits {
        let models = plan.agents.iter().zip(&self.agents).filter_map(|(spec, agent)| match agent {
            ReadyAgent::Model(factory) => Some((spec.to_string(), Arc::clone(factory))),
            ReadyAgent::Reader | ReadyAgent::Program(_) => None,
        });
        let models: Vec<(String, Arc<LlmAgentFactory>)> = models.collect();
        Box::new(move || {
            let waits = models.iter().filter_map(|(agent, factory)| {
                let wait = factory.backend.endpoint()?.waiting()?;
                let seconds = wait.until.saturating_duration_since(Instant::now()).as_secs();
                (seconds >= 2).then(|| ServerWait { agent: agent.clone(), seconds, reason: wait.reason })
            });
            waits.collect()
        })
    }

    /// Merges new recordings into the files of the cassette folder.
    pub(crate) fn finish(&self) -> Result<(), CliError> {
        let records = self.models().any(|factory| factory.backend.endpoint().is_some());
        match self.cassette.as_ref().filter(|_| records) {
            Some(cassette) => Ok(cassette.finish()?),
            None => Ok(()),
        }
    }

    /// Returns one worker pool per model that is called, and one for all agents that send no requests, with `jobs`
    /// threads.
    pub(crate) fn pools(&self, run_spec: &RunSpec, jobs: usize) -> Vec<WorkerPool> {
        let mut pools: Vec<(Option<&Arc<ModelBackend>>, WorkerPool)> = Vec::new();
        // An episode on a server takes seconds.
        let on_server = run_spec.plan.environment.kind != EnvironmentKind::Simulator;
        for (index, agent) in self.agents.iter().enumerate() {
            let (backend, threads) = match agent {
                ReadyAgent::Program(_) => {
                    pools.push((None, WorkerPool { agents: vec![index], threads: jobs, costly: true }));
                    continue;
                }
                ReadyAgent::Model(factory) if factory.backend.endpoint().is_some() => {
                    (Some(&factory.backend), factory.model.connections.max as usize)
                }
                ReadyAgent::Model(_) | ReadyAgent::Reader => (None, jobs),
            };
            let is_program = |agent: &usize| matches!(self.agents[*agent], ReadyAgent::Program(_));
            let is_shared = |pool: &WorkerPool| !pool.agents.iter().any(is_program);
            let same = |known: &Option<&Arc<ModelBackend>>| known.map(Arc::as_ptr) == backend.map(Arc::as_ptr);
            match pools.iter_mut().find(|(known, pool)| same(known) && is_shared(pool)) {
                Some((_, pool)) => pool.agents.push(index),
                None => {
                    let costly = backend.is_some() || on_server;
                    pools.push((backend, WorkerPool { agents: vec![index], threads, costly }));
                }
            }
        }
        pools.into_iter().map(|(_, pool)| pool).collect()
    }

    /// Checks each endpoint before anything is spent: that it can be reached, accepts the key and has the model. Checks
    /// that each recording was made with that endpoint.
    pub(crate) fn preflight(&self, run_spec: &RunSpec, stop: &AtomicBool, terminal: &Terminal) -> Result<(), CliError> {
        let mut seen: Vec<&Arc<ModelBackend>> = Vec::new();
        for (spec, agent) in run_spec.plan.agents.iter().zip(&self.agents) {
            let ReadyAgent::Model(factory) = agent else { continue };
            if seen.iter().any(|backend| Arc::ptr_eq(backend, &factory.backend)) {
                continue;
            }
            seen.push(&factory.backend);
            let Some(endpoint) = factory.backend.endpoint() else { continue };
            let checked =
                endpoint.preflight(stop, &|reason| terminal.note(&format!("{spec}: waiting for the server: {reason}")));
            if stop.load(Ordering::Relaxed) {
                return Err(CliError::interrupted());
            }
            let checked = checked.map_err(|source| preflight_error(spec, &source))?;
            if checked == Preflight::Unchecked && factory.model.check_model {
                terminal.note(&format!("{spec}: cannot list the server's models; continuing"));
            }
            if let ModelBackend::Recording(_, cassette) = &*factory.backend {
                cassette.bind(factory.model.api, &factory.model.model, &factory.model.base_url)?;
            }
        }
        Ok(())
    }
}

/// Returns a model with its limits for a process that runs these shards, or all of the plan.
fn share_of(model: &Model, shards: Option<&Shards>) -> Model {
    let mut model = model.clone();
    if let Some(shards) = shards {
        model.limits = model.limits.share(shards.numbers().len() as u32, shards.count());
    }
    model
}

/// Checks that a program can be started.
fn program_factory(spec: &AgentSpec, program: &Program, supervisor: &Supervisor) -> Result<ProgramFactory, CliError> {
    let variable = |name: &str| std::env::var(name).ok();
    ProgramFactory::new(program.clone(), own_program()?, supervisor.clone(), &variable)
        .map_err(|source| CliError::new(format_args!("{spec}: {source}")).help(source.help()))
}

/// Returns an environment variable. The name of the machine is that of the system unless it is set.
fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok().filter(|value| name != HOST_VARIABLE || !value.is_empty());
    if name == HOST_VARIABLE { value.or_else(host_name) } else { value }
}

/// Returns the name of this machine, if it is known.
pub(crate) fn host_name() -> Option<String> {
    // Linux has the name in this file; shells of other systems may export it.
    let of_system = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    of_system.or_else(|| std::env::var("HOSTNAME").ok()).map(|name| name.trim().to_owned())
}

fn endpoint_error(agent: &AgentSpec, source: &SetupError) -> CliError {
    let error = CliError::new(format_args!("{agent}: {source}"));
    match source {
        SetupError::NoKey { variable, .. } => {
            error.help(format!("export {variable}=… and try again; a server that needs no key has `key_env = \"\"`"))
        }
        SetupError::NoHost => error.help(format!("export {HOST_VARIABLE}=… with the name or address of this machine")),
        _ => error,
    }
}

fn preflight_error(agent: &AgentSpec, source: &PreflightError) -> CliError {
    let error = CliError::new(format_args!("{agent}: {source}")).help(source.help());
    match source {
        PreflightError::Unavailable { .. } => error.status(ExitStatus::Incomplete),
        _ => error,
    }
}
