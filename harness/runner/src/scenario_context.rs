use std::sync::{Arc, OnceLock};

use healbench_engine::contract::ContractAwareness;
use healbench_engine::{CompileError, Engine, ForeignSettings, WorldBase};
use healbench_protocol::{Deadline, Environment, EnvironmentError, EnvironmentKind, Seed};
use healbench_record::{Condition, DeltaOptions, Plan};
use healbench_scenarios::{EpisodeState, Scenario, Schedule};

use crate::tokens::count_tokens;

/// Creates the environment of a scenario of a plan with this seed.
pub type EnvironmentFactory<'a> =
    dyn for<'s> Fn(&'s Scenario, Seed) -> Result<Box<dyn Environment + 's>, EnvironmentError> + Sync + 'a;

/// The data shared by all episodes of a scenario: the environment, and the guardrails of each condition.
pub struct ScenarioContext<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) environment: Box<dyn Environment + 'a>,
    /// One for each condition.
    pub(crate) engines: Vec<Engine>,
    /// True if an expectation does not hold in the initial state and expectations may be checked between turns.
    pub(crate) has_goal: bool,
    /// The tables, from which mistakes are drawn, and the faults.
    pub(crate) base: Arc<WorldBase>,
    seed: Seed,
    /// The schedules of the first trials, reused in every cell of the scenario.
    schedules: Vec<OnceLock<Schedule>>,
}

/// The error for a scenario that cannot be set up.
#[derive(Debug, Clone, thiserror::Error)]
#[error("scenario `{scenario}` cannot be run: {source}")]
pub struct ScenarioSetupError {
    /// The scenario's id.
    pub scenario: String,
    /// The reason.
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

/// The maximum number of cached schedules per scenario; those of later trials are computed for each cell.
const MAX_CACHED_SCHEDULES: u32 = 1024;

/// Returns the contract changes that errors show: those of the scenario, unless the condition has others.
fn awareness(scenario: &ContractAwareness, deltas: DeltaOptions) -> ContractAwareness {
    ContractAwareness {
        include_all_severities: deltas.include_all_severities.unwrap_or(scenario.include_all_severities),
        max_deltas_per_error: deltas.max_deltas_per_error.map_or(scenario.max_deltas_per_error, usize::from),
        known_contracts: scenario.known_contracts.clone(),
    }
}

impl<'a> ScenarioContext<'a> {
    /// Sets up `scenario` for the conditions of `plan`, in its simulator unless `make_environment` is given.
    ///
    /// # Errors
    /// [`ScenarioSetupError`] if a tool does not compile; cannot occur for a loaded scenario with valid error formats.
    pub fn new(
        scenario: &'a Scenario,
        plan: &Plan,
        make_environment: Option<&EnvironmentFactory<'_>>,
    ) -> Result<ScenarioContext<'a>, ScenarioSetupError> {
        let failed = |source: SetupFailure| ScenarioSetupError { scenario: scenario.id.clone(), source };
        let base = Arc::new(WorldBase::new(scenario.world(plan.seed)));
        let environment: Box<dyn Environment + 'a> = match make_environment {
            None => Box::new(scenario.simulator(Arc::clone(&base))),
            Some(make) => make(scenario, plan.seed).map_err(|error| failed(error.into()))?,
        };
        let engine = |condition: &Condition| match environment.kind() {
            EnvironmentKind::Simulator => {
                let awareness = awareness(&scenario.awareness, condition.deltas);
                Engine::with_awareness(&scenario.tools, condition.guardrails, &condition.format, &awareness)
            }
            EnvironmentKind::Mcp => {
                let settings = ForeignSettings { max_tokens: MAX_RESULT_TOKENS, count_tokens };
                Engine::for_server(environment.tools(), condition.guardrails, &condition.format, settings)
            }
        };
        let engines = plan.conditions.iter().map(engine).collect::<Result<_, _>>();
        let engines = engines.map_err(|error| failed(error.into()))?;
        let has_goal = environment.capabilities().state_is_cheap && {
            let mut session = environment.open().map_err(|error| failed(error.into()))?;
            let state = session.check(Deadline::NONE).map_err(|error| failed(error.into()))?;
            let initial = EpisodeState { state: &state, gave_up: false, succeeded: &[] };
            !scenario.unmet(&initial).is_empty()
        };
        let cached = plan.trials.min(MAX_CACHED_SCHEDULES);
        Ok(ScenarioContext {
            scenario,
            has_goal,
            engines,
            environment,
            base,
            seed: plan.seed,
            schedules: (0..cached).map(|_| OnceLock::new()).collect(),
        })
    }

    /// Calls `then` with the schedule of this trial, which is the same in every cell.
    pub(crate) fn with_schedule<T>(&self, trial: u32, then: impl FnOnce(&Schedule) -> T) -> T {
        let make = || self.scenario.schedule(self.seed, trial, self.base.def());
        match self.schedules.get(trial as usize) {
            Some(cached) => then(cached.get_or_init(make)),
            None => then(&make()),
        }
    }
}
