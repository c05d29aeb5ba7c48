use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use healbench_record::{CallRecord, EpisodeRecord, Plan};
use healbench_scenarios::Scenario;

use crate::episode::{EpisodeEvent, run_episode};
use crate::response_cache::ResponseCache;
use crate::{AgentFactory, Job, ScenarioContext, ScenarioSetupError};

/// Plays episodes of a plan again, any number of them: a scenario is set up once.
pub struct Replayer<'a> {
    plan: &'a Plan,
    scenarios: &'a [Scenario],
    /// By the scenario's index.
    contexts: BTreeMap<usize, ScenarioContext<'a>>,
    cache: ResponseCache,
}

impl<'a> Replayer<'a> {
    /// For the episodes of `plan`, whose scenarios are these, in its order.
    pub fn new(plan: &'a Plan, scenarios: &'a [Scenario]) -> Replayer<'a> {
        Replayer { plan, scenarios, contexts: BTreeMap::new(), cache: ResponseCache::default() }
    }

    /// Plays one episode again and tells of it. An episode past the end of the plan gives `None`.
    ///
    /// # Errors
    /// [`ScenarioSetupError`] when the scenario cannot be set up. An agent that cannot play it gives `None` as well.
    pub fn run(
        &mut self,
        episode: u64,
        make_agent: &AgentFactory<'_>,
        observe: &mut dyn FnMut(EpisodeEvent<'_>),
    ) -> Result<Option<(EpisodeRecord, Vec<CallRecord>)>, ScenarioSetupError> {
        let Some(cell) = self.plan.cell(episode) else { return Ok(None) };
        let context = match self.contexts.entry(cell.scenario) {
            Entry::Occupied(context) => context.into_mut(),
            Entry::Vacant(place) => place.insert(ScenarioContext::new(&self.scenarios[cell.scenario], self.plan)?),
        };
        Ok(run_episode(self.plan, cell, context, make_agent, &mut self.cache, observe).ok())
    }
}

/// Plays one episode of a job again and tells of it, as [`Replayer::run`] does.
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
