use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use healbench_core::{
    AxisValues, Condition, ContractChanges, Deadline, DrawKey, Environment, EnvironmentError, EnvironmentKind, Plan,
    SERVER_NAME, Seed, Session, ToolSpec, tool_definitions,
};
use healbench_engine::contract::ContractAwareness;
use healbench_engine::definition::Tool;
use healbench_engine::{
    ClientProfile, CompileError, Engine, Faults, ForeignSettings, Simulator, ToolSchemas, WorldBase,
};
use healbench_mcp::Supervisor;
use healbench_scenarios::{EpisodeState, Scenario, Schedule};
use rustc_hash::FxHashMap;

use crate::server::ServerEnvironment;
use healbench_tokens::count_tokens;

/// Creates the environment of a scenario of a plan with this seed.
pub type EnvironmentFactory<'a> =
    dyn for<'s> Fn(&'s Scenario, Seed) -> Result<Box<dyn Environment + 's>, EnvironmentError> + Sync + 'a;

/// Returns what creates the environments of scenarios with servers, whose processes belong to `supervisor`.
pub fn server_environments(
    supervisor: Supervisor,
) -> impl for<'s> Fn(&'s Scenario, Seed) -> Result<Box<dyn Environment + 's>, EnvironmentError> + Sync {
    move |scenario, _| match &scenario.server {
        Some(server) => Ok(Box::new(ServerEnvironment::new(scenario, server, Some(supervisor.clone())))),
        None => Err(EnvironmentError::Unavailable(format!("`{}` has no server", scenario.id).into())),
    }
}

/// The data shared by all episodes of a scenario: the environment, and the guardrails of each condition.
pub struct ScenarioContext<'a> {
    /// True if a call may change the state although it changes nothing by itself.
    pub(crate) may_change_meanwhile: bool,
    pub(crate) scenario: &'a Scenario,
    pub(crate) environment: Box<dyn Environment + 'a>,
    /// One for each condition.
    pub(crate) engines: Vec<Engine>,
    /// One for each condition; `None` for those whose agents see responses as they were sent.
    pub(crate) clients: Vec<Option<ClientProfile>>,
    /// True if expectations on the state may be checked between turns.
    pub(crate) state_is_cheap: bool,
    /// The tokens of the preamble of each agent, once they are known.
    pub(crate) preamble_tokens: Vec<OnceLock<u32>>,
    /// The initial states by number, of which the first one belongs to `environment`.
    worlds: Vec<OnceLock<InitialState>>,
    seed: Seed,
    /// The schedules of the first trials, reused in every cell of the scenario.
    schedules: Vec<OnceLock<Arc<Schedule>>>,
    /// The distinct schedules: many trials have equal ones. The key contains the drafts as sent, since their hash does not
    /// depend on the order of arguments.
    distinct_schedules: Mutex<FxHashMap<String, Arc<Schedule>>>,
}

/// An initial state of a scenario.
pub(crate) struct InitialState {
    /// The tables, from which mistakes are drawn, and the faults.
    pub(crate) base: Arc<WorldBase>,
    /// The simulator in this state; `None` for the environment of the context.
    simulator: Option<Simulator>,
    /// The number of expectations that do not hold. Those on a state that is not cheap count as unmet.
    pub(crate) unmet: usize,
}

/// The error for a scenario that cannot be set up.
#[derive(Debug, Clone, thiserror::Error)]
#[error("scenario `{scenario}` cannot be run: {source}")]
pub struct ScenarioSetupError {
    pub scenario: String,
    pub source: SetupFailure,
}

/// The reason why a scenario cannot be set up.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SetupFailure {
    /// A tool or a template does not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The environment cannot be started.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
}

/// The tokens above which the guardrail `truncation` shortens a result of a server.
const MAX_RESULT_TOKENS: u32 = 10_000;

/// The maximum number of trials of a scenario whose schedules are cached, and of distinct schedules; others are computed
/// for each cell.
const MAX_CACHED_TRIALS: u32 = 1 << 18;
const MAX_CACHED_SCHEDULES: usize = 1024;

/// Returns the contract changes that errors show: those of the scenario, unless the condition has others.
fn awareness(scenario: &ContractAwareness, deltas: &ContractChanges) -> ContractAwareness {
    ContractAwareness {
        include_all_severities: deltas.include_all_severities.unwrap_or(scenario.include_all_severities),
        max_deltas_per_error: deltas.max_deltas_per_error.map_or(scenario.max_deltas_per_error, usize::from),
        known_contracts: if deltas.lock.is_some() { scenario.known_contracts.clone() } else { BTreeMap::new() },
    }
}

/// Returns the engine of a condition with the simulator's tools. `awareness` is that of the scenario, with the contracts of the lockfile.
///
/// # Errors
/// [`CompileError::Template`].
pub fn simulator_engine(
    tools: &[Tool],
    schemas: &ToolSchemas,
    awareness: &ContractAwareness,
    condition: &Condition,
) -> Result<Engine, CompileError> {
    let awareness = self::awareness(awareness, &condition.values.contract);
    let engine = Engine::with_schemas(tools, schemas, condition.guardrails(), condition.format(), &awareness)?;
    let AxisValues { undeclared, domain_errors, content, .. } = condition.values;
    Ok(engine.with_undeclared(undeclared).with_domain_errors(domain_errors).with_content(content, count_tokens))
}

/// Returns the client of each condition. Of a server it knows the output schemas too.
fn clients(plan: &Plan, scenario: &Scenario, tools: &[ToolSpec]) -> Vec<Option<ClientProfile>> {
    if plan.conditions.iter().all(|condition| condition.values.client.is_raw()) {
        return plan.conditions.iter().map(|_| None).collect();
    }
    let mut definitions = tool_definitions(tools);
    for tool in scenario.tools.iter().filter(|_| scenario.server.is_some()) {
        let schema = tool.actions.first().and_then(|action| action.presenter.as_ref()?.egress.as_ref());
        if let (Some(definition), Some(schema)) = (definitions.iter_mut().find(|one| one["name"] == *tool.name), schema)
        {
            definition["outputSchema"] = schema.clone();
        }
    }
    let client = |condition: &Condition| ClientProfile::new(condition.values.client, SERVER_NAME, &definitions);
    plan.conditions.iter().map(client).collect()
}

/// Returns the number of expectations that do not hold in the initial state of an environment; all on a state that is not cheap.
fn initially_unmet(scenario: &Scenario, environment: &dyn Environment) -> Result<usize, EnvironmentError> {
    let state = match environment.capabilities().state_is_cheap {
        true => environment.open()?.check(Deadline::NONE)?,
        false => Vec::new(),
    };
    Ok(scenario.unmet(&EpisodeState { state: &state, ..EpisodeState::default() }).len())
}

impl<'a> ScenarioContext<'a> {
    /// Sets up `scenario` for the conditions of `plan`, in its simulator unless `make_environment` is given. A scenario with a server
    /// has no session then.
    ///
    /// # Errors
    /// [`ScenarioSetupError`] if a tool does not compile; cannot occur for a loaded scenario with valid error formats.
    pub fn new(
        scenario: &'a Scenario,
        plan: &Plan,
        make_environment: Option<&EnvironmentFactory<'_>>,
    ) -> Result<ScenarioContext<'a>, ScenarioSetupError> {
        let failed = |source: SetupFailure| ScenarioSetupError { scenario: scenario.id.clone(), source };
        let base = Arc::new(WorldBase::new(scenario.world(plan.seed, 0)));
        let environment: Box<dyn Environment + 'a> = match make_environment {
            None => match &scenario.server {
                None => Box::new(scenario.simulator(Arc::clone(&base))),
                Some(server) => Box::new(ServerEnvironment::new(scenario, server, None)),
            },
            Some(make) => make(scenario, plan.seed).map_err(|error| failed(error.into()))?,
        };
        let simulated: &[Tool] = if environment.kind() == EnvironmentKind::Simulator { &scenario.tools } else { &[] };
        let schemas = ToolSchemas::compile(simulated).map_err(|error| failed(error.into()))?;
        let engine = |condition: &Condition| match environment.kind() {
            EnvironmentKind::Simulator => simulator_engine(simulated, &schemas, &scenario.awareness, condition),
            EnvironmentKind::Mcp | EnvironmentKind::Observed => {
                let settings = ForeignSettings { max_tokens: MAX_RESULT_TOKENS, count_tokens };
                let tools = current_tools(scenario, environment.tools());
                Engine::for_server(&tools, condition.guardrails(), condition.format(), settings)
            }
        };
        let engines = plan.conditions.iter().map(engine).collect::<Result<_, CompileError>>();
        let engines = engines.map_err(|error| failed(error.into()))?;
        let clients = clients(plan, scenario, environment.tools());
        let state_is_cheap = environment.capabilities().state_is_cheap;
        let unmet = initially_unmet(scenario, environment.as_ref()).map_err(|error| failed(error.into()))?;
        let planned = plan.scenarios.iter().find(|planned| planned.id == scenario.id);
        let drawn = planned.filter(|_| environment.kind() == EnvironmentKind::Simulator);
        let worlds: Vec<OnceLock<_>> =
            (0..drawn.map_or(1, |planned| planned.worlds.max(1))).map(|_| OnceLock::new()).collect();
        worlds[0].get_or_init(|| InitialState { base, simulator: None, unmet });
        let cached = plan.trials.min(MAX_CACHED_TRIALS);
        let mut actions = scenario.tools.iter().flat_map(|tool| &tool.actions);
        let may_change_meanwhile = actions.any(|action| !action.effects.meanwhile.is_empty());
        Ok(ScenarioContext {
            may_change_meanwhile,
            scenario,
            state_is_cheap,
            preamble_tokens: plan.agents.iter().map(|_| OnceLock::new()).collect(),
            engines,
            clients,
            environment,
            worlds,
            seed: plan.seed,
            schedules: (0..cached).map(|_| OnceLock::new()).collect(),
            distinct_schedules: Mutex::default(),
        })
    }

    /// Returns true if calls fail that are right as far as an agent can tell: by faults, or because the tools are listed in a
    /// previous contract. An agent that makes its own calls meets no other scheduled error.
    pub(crate) fn fails_by_itself(&self) -> bool {
        self.scenario.has_faults() || self.scenario.tools.iter().any(|tool| tool.previous.is_some())
    }

    /// Returns true if a server answers the calls.
    pub(crate) fn has_server(&self) -> bool {
        self.environment.kind() != EnvironmentKind::Simulator
    }

    /// Returns the number of the initial state of this trial.
    pub(crate) fn world_number(&self, trial: u32) -> u32 {
        trial % self.worlds.len() as u32
    }

    /// Returns the initial state of this trial.
    pub(crate) fn initial_state(&self, trial: u32) -> &InitialState {
        let number = self.world_number(trial);
        self.worlds[number as usize].get_or_init(|| {
            let base = Arc::new(WorldBase::new(self.scenario.world(self.seed, number)));
            let simulator = self.scenario.simulator(Arc::clone(&base));
            // A simulator always replies.
            let unmet = initially_unmet(self.scenario, &simulator).unwrap_or_default();
            InitialState { base, simulator: Some(simulator), unmet }
        })
    }

    /// Starts a session in the initial state of this trial.
    ///
    /// # Errors
    /// [`EnvironmentError`] if the environment cannot be opened.
    pub(crate) fn open_session(&self, trial: u32) -> Result<Box<dyn Session + '_>, EnvironmentError> {
        match &self.initial_state(trial).simulator {
            Some(simulator) => simulator.open(),
            None => self.environment.open(),
        }
    }

    /// Returns the faults of a new episode of this trial.
    pub(crate) fn new_faults(&self, trial: u32) -> Faults {
        self.initial_state(trial).base.new_faults().with_draws(DrawKey::of_trial(
            self.seed,
            self.scenario.draw_id(),
            trial,
        ))
    }

    /// Returns the schedule of this trial, which is the same in every cell.
    pub(crate) fn schedule(&self, trial: u32) -> Arc<Schedule> {
        self.shared_schedule(trial).unwrap_or_else(|schedule| Arc::new(*schedule))
    }

    /// Like [`Self::schedule`], in the memory that trials with equal schedules share as long as the context exists.
    ///
    /// # Errors
    /// Returns a schedule that is not cached.
    pub(crate) fn shared_schedule(&self, trial: u32) -> Result<Arc<Schedule>, Box<Schedule>> {
        let cached = self.schedules.get(trial as usize);
        if let Some(schedule) = cached.and_then(OnceLock::get) {
            return Ok(Arc::clone(schedule));
        }
        let schedule = Box::new(self.scenario.schedule(self.seed, trial, self.initial_state(trial).base.def()));
        match cached.and_then(|cached| Some((cached, self.share(&schedule)?))) {
            Some((cached, shared)) => Ok(Arc::clone(cached.get_or_init(|| shared))),
            None => Err(schedule),
        }
    }

    /// Returns the cached schedule that is equal to this one; `None` if it is not cached and the cache is full.
    fn share(&self, schedule: &Schedule) -> Option<Arc<Schedule>> {
        let mut key = schedule.hash.clone();
        schedule.script.steps.iter().for_each(|step| key.push_str(&step.draft.wire_text()));
        // A panic while the lock is held leaves the map usable.
        let mut distinct = self.distinct_schedules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = distinct.get(&key) {
            return Some(Arc::clone(known));
        }
        if distinct.len() >= MAX_CACHED_SCHEDULES {
            return None;
        }
        let shared = Arc::new(schedule.clone());
        distinct.insert(key, Arc::clone(&shared));
        Some(shared)
    }
}

/// Returns the tools of a server as it has them, where agents are shown those of before.
fn current_tools(scenario: &Scenario, shown: &[ToolSpec]) -> Vec<ToolSpec> {
    let current = |spec: &ToolSpec| {
        let changed = scenario.tools.iter().find(|tool| tool.name == spec.name && tool.previous.is_some());
        changed.map_or_else(|| spec.clone(), Tool::spec)
    };
    shown.iter().map(current).collect()
}

#[cfg(test)]
mod tests {
    use healbench_core::{ErrorFormat, Guardrails};
    use healbench_scenarios::load_suite;

    use super::*;
    use crate::{Axes, build_plan};

    /// The drafts of equal schedules may have their arguments in another order, which the texts of errors show.
    #[test]
    fn a_shared_schedule_is_sent_as_it_was_drawn() {
        let scenarios = load_suite(&["quickstart".into()]).unwrap();
        let conditions = vec![Condition::new(Guardrails::NONE, ErrorFormat::Bare)];
        let axes = Axes { agents: Vec::new(), conditions, trials: 60, seed: Seed(1) };
        let plan = build_plan(&axes, &scenarios);
        let drafts = |schedule: &Schedule| -> Vec<String> {
            schedule.script.steps.iter().map(|step| step.draft.wire_text()).collect()
        };
        let mut distinct = 0;
        for scenario in &scenarios {
            let context = ScenarioContext::new(scenario, &plan, None).unwrap();
            for trial in 0..60 {
                let drawn = drafts(&scenario.schedule(Seed(1), trial, context.initial_state(trial).base.def()));
                assert_eq!(drafts(&context.schedule(trial)), drawn, "{} {trial}", scenario.id);
            }
            distinct += context.distinct_schedules.lock().unwrap().len();
            assert!(context.worlds.len() == 1 || context.worlds[31].get().is_some(), "{}", scenario.id);
        }
        assert!(distinct < 60 * scenarios.len() * 3 / 4, "{distinct} schedules are distinct");
    }
}
