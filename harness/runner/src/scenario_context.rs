use std::sync::{Arc, OnceLock};

use healbench_engine::{CompileError, Engine, World, WorldBase};
use healbench_protocol::{Seed, ToolSpec};
use healbench_record::{Condition, Plan};
use healbench_scenarios::{Beginning, Observed, Scenario, Schedule};

/// Everything about a scenario that its episodes share: the world's base rows, the advertised tools, and an engine a setting.
#[derive(Debug)]
pub struct ScenarioContext<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) base: Arc<WorldBase>,
    pub(crate) beginning: Beginning,
    pub(crate) advertised: Vec<ToolSpec>,
    pub(crate) engines: Vec<Engine>,
    /// Whether anything that is expected is not so from the beginning.
    pub(crate) has_goal: bool,
    seed: Seed,
    /// The schedules of the first trials: every cell of the scenario plays them again.
    schedules: Vec<OnceLock<Schedule>>,
}

/// A scenario that cannot be set up.
#[derive(Debug, Clone, thiserror::Error)]
#[error("scenario `{scenario}` cannot be played: {source}")]
pub struct ScenarioSetupError {
    /// The scenario's id.
    pub scenario: String,
    /// Why.
    pub source: CompileError,
}

/// Schedules kept a scenario; later trials compute theirs anew for each cell.
const MAX_CACHED_SCHEDULES: u32 = 1024;

impl<'a> ScenarioContext<'a> {
    /// Sets up `scenario` for the settings of `plan`.
    ///
    /// # Errors
    /// [`ScenarioSetupError`] when one of its tools does not compile, which a loaded scenario's tools do.
    pub fn new(scenario: &'a Scenario, plan: &Plan) -> Result<ScenarioContext<'a>, ScenarioSetupError> {
        let engine = |condition: &Condition| {
            Engine::new(&scenario.tools, condition.guardrails, &condition.format)
                .map_err(|source| ScenarioSetupError { scenario: scenario.id.clone(), source })
        };
        let base = Arc::new(WorldBase::new(scenario.world(plan.seed)));
        let cached = plan.trials.min(MAX_CACHED_SCHEDULES);
        let beginning = scenario.beginning(base.def());
        let world = World::new(Arc::clone(&base));
        let fresh = Observed { world: &world, gave_up: false, succeeded: &[] };
        Ok(ScenarioContext {
            scenario,
            has_goal: !scenario.unmet_since(&beginning, &fresh).is_empty(),
            beginning,
            base,
            advertised: scenario.advertised(),
            engines: plan.conditions.iter().map(engine).collect::<Result<_, _>>()?,
            seed: plan.seed,
            schedules: (0..cached).map(|_| OnceLock::new()).collect(),
        })
    }

    /// Calls `then` with the schedule of this trial, the same in every cell.
    pub(crate) fn with_schedule<T>(&self, trial: u32, then: impl FnOnce(&Schedule) -> T) -> T {
        let make = || self.scenario.schedule(self.seed, trial, self.base.def());
        match self.schedules.get(trial as usize) {
            Some(cached) => then(cached.get_or_init(make)),
            None => then(&make()),
        }
    }
}
