use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use healbench_record::{CallRecord, EpisodeRecord, Plan};
use healbench_scenarios::Scenario;

use crate::episode::{Moment, run_episode};
use crate::memory::Memory;
use crate::{Job, MakeAgent, Stage, StageError};

/// Plays episodes of a plan again, any number of them: a scenario is set up once.
pub struct Replays<'a> {
    plan: &'a Plan,
    scenarios: &'a [Scenario],
    /// By the scenario's index.
    stages: BTreeMap<usize, Stage<'a>>,
    memory: Memory,
}

impl<'a> Replays<'a> {
    /// For the episodes of `plan`, whose scenarios are these, in its order.
    pub fn new(plan: &'a Plan, scenarios: &'a [Scenario]) -> Replays<'a> {
        Replays { plan, scenarios, stages: BTreeMap::new(), memory: Memory::default() }
    }

    /// Plays one episode again and tells of it. An episode past the end of the plan gives `None`.
    ///
    /// # Errors
    /// [`StageError`] when the scenario cannot be set up. An agent that cannot play it gives `None` as well.
    pub fn play(
        &mut self,
        episode: u64,
        make_agent: &MakeAgent<'_>,
        observe: &mut dyn FnMut(Moment<'_>),
    ) -> Result<Option<(EpisodeRecord, Vec<CallRecord>)>, StageError> {
        let Some(cell) = self.plan.cell(episode) else { return Ok(None) };
        let stage = match self.stages.entry(cell.scenario) {
            Entry::Occupied(stage) => stage.into_mut(),
            Entry::Vacant(place) => place.insert(Stage::new(&self.scenarios[cell.scenario], self.plan)?),
        };
        Ok(run_episode(self.plan, cell, stage, make_agent, &mut self.memory, observe).ok())
    }
}

/// Plays one episode of a job again and tells of it, as [`Replays::play`] does.
///
/// # Errors
/// As [`Replays::play`].
pub fn replay(
    job: &Job<'_>,
    episode: u64,
    observe: &mut dyn FnMut(Moment<'_>),
) -> Result<Option<(EpisodeRecord, Vec<CallRecord>)>, StageError> {
    Replays::new(job.plan, job.scenarios).play(episode, job.make_agent, observe)
}
