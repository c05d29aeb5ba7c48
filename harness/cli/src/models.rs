//! From the names of models to models that can be asked: settings, prices, keys, connections, recordings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use healbench_agents::llm::cassette::Cassette;
use healbench_agents::llm::{
    Endpoint, LlmAgentFactory, Model, ModelBackend, ModelTable, Network, Preflight, PriceTable, parse_model_tables,
    resolve_model,
};
use healbench_protocol::{AgentKind, AgentSpec, Opening, fingerprint};
use healbench_record::{CassetteMode, PriceSource};

use crate::args::AxisArgs;
use crate::error::CliError;
use crate::load::{Cast, Part};
use crate::terminal::Terminal;

/// The settings file that is looked for.
const CONFIG: &str = "healbench.toml";

/// Where models and prices come from.
pub(crate) struct Sources {
    tables: BTreeMap<String, ModelTable>,
    prices: PriceTable,
}

impl Sources {
    /// Reads the settings file, if there is one, and the price table.
    pub(crate) fn read(args: &AxisArgs) -> Result<Sources, CliError> {
        let prices = match &args.prices {
            Some(path) => PriceTable::parse(&path.display().to_string(), &read(path)?)?,
            None => PriceTable::shipped(),
        };
        let tables = match args.config.clone().or_else(nearest_config) {
            Some(path) => parse_model_tables(&path, &read(&path)?, &|path| std::fs::read_to_string(path))?,
            None => BTreeMap::new(),
        };
        Ok(Sources { tables, prices })
    }

    /// The model that a word of `--agent` means.
    pub(crate) fn model(&self, word: &str) -> Result<Model, CliError> {
        Ok(resolve_model(word, &self.tables, &self.prices)?)
    }

    /// The price table as a manifest names it.
    pub(crate) fn price_source(&self) -> PriceSource {
        PriceSource { date: self.prices.date.clone(), sha256: self.prices.sha256().to_owned() }
    }
}

fn read(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(|source| CliError::ConfigFile { path: path.to_owned(), source })
}

fn nearest_config() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(CONFIG)).find(|path| path.is_file())
}

/// The plan's entry for a model. Its system text has its hash beside it, by which runs are told apart at a glance.
pub(crate) fn spec(model: &Model, word: &str, opening: Opening, replayed: bool) -> AgentSpec {
    let kind = if replayed { AgentKind::Replay } else { AgentKind::Llm };
    let mut spec = model.spec(word, opening, kind);
    if let Some(settings) = spec.settings.as_object_mut() {
        settings.insert("system_sha256".to_owned(), fingerprint(model.system.as_bytes()).into());
    }
    spec
}

/// The models of a plan, ready to be asked.
pub(crate) struct Troupe {
    /// By agent of the plan; `None` for a scripted one.
    pub(crate) players: Vec<Option<Arc<LlmAgentFactory>>>,
    /// The recording that is replayed or made.
    pub(crate) cassette: Option<Arc<Cassette>>,
}

impl Troupe {
    /// Sets up a way to every model: keys are read, recordings opened. Nothing is asked yet.
    pub(crate) fn new(
        cast: &Cast,
        cassettes: Option<&CassetteMode>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Troupe, CliError> {
        let cassette = match cassettes {
            None => None,
            Some(CassetteMode::Record(dir)) => Some(Arc::new(Cassette::open_or_create(dir)?)),
            Some(CassetteMode::Replay(dir)) => Some(Arc::new(Cassette::open(dir)?)),
        };
        let replays = matches!(cassettes, Some(CassetteMode::Replay(_)));
        let network = match replays {
            true => None,
            false => Some(Arc::new(Network::new().map_err(CliError::Network)?)),
        };
        let recording_date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
        let mut backends: Vec<(&str, Arc<ModelBackend>)> = Vec::new();
        let mut players = Vec::new();
        for (spec, part) in cast.plan.agents.iter().zip(&cast.parts) {
            let (Part::Model(model), Some(opening)) = (part, spec.opening) else {
                players.push(None);
                continue;
            };
            // A model that is asked in both openings is one model: its connections are shared.
            let known = backends.iter().find(|(name, _)| *name == spec.name).map(|(_, backend)| Arc::clone(backend));
            let backend = match (known, &network) {
                (Some(backend), _) => backend,
                (None, Some(network)) => {
                    let endpoint = Endpoint::new(network, model, &|name| std::env::var(name).ok())
                        .map_err(|source| CliError::Endpoint { agent: spec.to_string(), source })?;
                    Arc::new(match &cassette {
                        Some(cassette) => ModelBackend::Recording(endpoint, Arc::clone(cassette)),
                        None => ModelBackend::Live(endpoint),
                    })
                }
                (None, None) => match &cassette {
                    Some(cassette) => Arc::new(ModelBackend::Replay(Arc::clone(cassette))),
                    None => return Err(CliError::OldAgent(spec.to_string())),
                },
            };
            backends.push((&spec.name, Arc::clone(&backend)));
            let (model, stop, recording_date) = (model.as_ref().clone(), Arc::clone(stop), recording_date.clone());
            players.push(Some(Arc::new(LlmAgentFactory { model, opening, backend, stop, recording_date })));
        }
        Ok(Troupe { players, cassette })
    }

    /// Merges what was recorded into the files of its folder.
    pub(crate) fn finish(&self) -> Result<(), CliError> {
        let records = self.players.iter().flatten().any(|factory| factory.backend.endpoint().is_some());
        match self.cassette.as_ref().filter(|_| records) {
            Some(cassette) => Ok(cassette.finish()?),
            None => Ok(()),
        }
    }

    /// Asks every server whether it is there, takes the key and has the model, before anything is spent; and every recording whether it
    /// is of that server.
    pub(crate) fn preflight(&self, cast: &Cast, stop: &AtomicBool, terminal: &Terminal) -> Result<(), CliError> {
        let mut asked: Vec<&Arc<ModelBackend>> = Vec::new();
        for (spec, factory) in cast.plan.agents.iter().zip(&self.players) {
            let Some(factory) = factory else { continue };
            if asked.iter().any(|backend| Arc::ptr_eq(backend, &factory.backend)) {
                continue;
            }
            asked.push(&factory.backend);
            let Some(endpoint) = factory.backend.endpoint() else { continue };
            let checked = endpoint.preflight(stop);
            if stop.load(Ordering::Relaxed) {
                return Err(CliError::Stopped);
            }
            let checked = checked.map_err(|source| CliError::Preflight { agent: spec.to_string(), source })?;
            if checked == Preflight::Unchecked && factory.model.check_model {
                terminal.note(&format!("{spec}: the server does not tell which models it has; going on"));
            }
            if let ModelBackend::Recording(_, cassette) = &*factory.backend {
                cassette.bind(factory.model.api, &factory.model.model, &factory.model.base_url)?;
            }
        }
        Ok(())
    }
}
