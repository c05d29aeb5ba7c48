use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use healbench_core::{CallRecord, EpisodeRecord, Plan};
use healbench_scenarios::Scenario;

use crate::episode::{EpisodeEvent, run_episode};
use crate::response_cache::ResponseCache;
use crate::{AgentFactory, Job, ScenarioContext, ScenarioSetupError};

/// Replays any number of episodes of a plan, setting up each scenario only once.
pub struct Replayer<'a> {
    plan: &'a Plan,
    scenarios: &'a [Scenario],
    /// The contexts, by the index of the scenario.
    contexts: BTreeMap<usize, ScenarioContext<'a>>,
    cache: ResponseCache,
}

impl<'a> Replayer<'a> {
    /// Creates a replayer for `plan` with its scenarios, in the order of the plan.
    pub fn new(plan: &'a Plan, scenarios: &'a [Scenario]) -> Replayer<'a> {
        Replayer { plan, scenarios, contexts: BTreeMap::new(), cache: ResponseCache::default() }
    }

    /// Replays one episode and reports its events. Returns `None` if the episode is past the end of the plan or the
    /// agent cannot run it.
    ///
    /// # Errors
    /// [`ScenarioSetupError`] if the scenario cannot be set up.
    pub fn run(
        &mut self,
        episode: u64,
        make_agent: &AgentFactory<'_>,
        observe: &mut dyn FnMut(EpisodeEvent<'_>),
    ) -> Result<Option<(EpisodeRecord, Vec<CallRecord>)>, ScenarioSetupError> {
        let Some(cell) = self.plan.cell(episode) else { return Ok(None) };
        let context = match self.contexts.entry(cell.scenario) {
            Entry::Occupied(context) => context.into_mut(),
            Entry::Vacant(place) => {
                place.insert(ScenarioContext::new(&self.scenarios[cell.scenario], self.plan, None)?)
            }
        };
        Ok(run_episode(self.plan, cell, context, make_agent, &mut self.cache, observe).ok())
    }
}

/// Replays one episode of a job like [`Replayer::run`].
///
/// # Errors
/// As [`Replayer::run`].
pub fn replay(
    job: &Job<'_>,
    episode: u64,
    observe: &mut dyn FnMut(EpisodeEvent<'_>),
) -> Result<Option<(EpisodeRecord, Vec<CallRecord>)>, ScenarioSetupError> {
    Replayer::new(job.plan, job.scenarios).run(episode, job.make_agent, observe)
}
