use std::sync::{Arc, OnceLock};

use healbench_engine::{CompileError, Engine, World, WorldBase};
use healbench_protocol::{Seed, ToolSpec};
use healbench_record::{Condition, Plan};
use healbench_scenarios::{EpisodeState, InitialCounts, Scenario, Schedule};

/// The data shared by all episodes of a scenario: the world's base rows, the advertised tools, and one engine per
/// condition.
#[derive(Debug)]
pub struct ScenarioContext<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) base: Arc<WorldBase>,
    pub(crate) initial_counts: InitialCounts,
    pub(crate) advertised: Vec<ToolSpec>,
    pub(crate) engines: Vec<Engine>,
    /// True if an expectation does not hold in the initial state.
    pub(crate) has_goal: bool,
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
    pub source: CompileError,
}

/// The maximum number of cached schedules per scenario; those of later trials are computed for each cell.
const MAX_CACHED_SCHEDULES: u32 = 1024;

impl<'a> ScenarioContext<'a> {
    /// Sets up `scenario` for the conditions of `plan`.
    ///
    /// # Errors
    /// [`ScenarioSetupError`] if a tool does not compile; cannot occur for a loaded scenario with valid error formats.
    pub fn new(scenario: &'a Scenario, plan: &Plan) -> Result<ScenarioContext<'a>, ScenarioSetupError> {
        let engine = |condition: &Condition| {
            Engine::new(&scenario.tools, condition.guardrails, &condition.format)
                .map_err(|source| ScenarioSetupError { scenario: scenario.id.clone(), source })
        };
        let base = Arc::new(WorldBase::new(scenario.world(plan.seed)));
        let cached = plan.trials.min(MAX_CACHED_SCHEDULES);
        let initial_counts = scenario.initial_counts(base.def());
        let world = World::new(Arc::clone(&base));
        let fresh = EpisodeState { world: &world, gave_up: false, succeeded: &[] };
        Ok(ScenarioContext {
            scenario,
            has_goal: !scenario.unmet_with(&initial_counts, &fresh).is_empty(),
            initial_counts,
            base,
            advertised: scenario.advertised(),
            engines: plan.conditions.iter().map(engine).collect::<Result<_, _>>()?,
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
