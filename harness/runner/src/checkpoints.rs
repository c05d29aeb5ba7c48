//! The finished episodes of a run with models, which survive a killed process.

use std::collections::{BTreeMap, BTreeSet};

use healbench_record::{EpisodeResult, Journal, JournalEntry, JournalError, Plan, RunDir};

use crate::limits::{LimitState, Limits, StopRule};

/// The journal of a run, with an index of its results and the sums for its limits. Memory holds no results.
pub struct Checkpoints<'a> {
    plan: &'a Plan,
    journal: Journal,
    entries: BTreeMap<u64, Checkpoint>,
    limits: LimitState<'a>,
}

/// The latest result of an episode.
struct Checkpoint {
    entry: JournalEntry,
    /// False if the episode was lost, so it must be run again: its outcome does not depend on the agent's behavior.
    is_scored: bool,
}

/// The number of results passed on at once.
const BATCH: usize = 256;

impl<'a> Checkpoints<'a> {
    /// Opens the journal of a run and passes each row in it to `visit`. A lost episode that was run again occurs twice;
    /// both were paid for.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(
        run: &RunDir,
        plan: &'a Plan,
        limits: Limits<'a>,
        visit: &mut dyn FnMut(&EpisodeResult),
    ) -> Result<Checkpoints<'a>, JournalError> {
        let (mut entries, mut limits) = (BTreeMap::new(), LimitState::new(limits));
        let journal = Journal::open(run, &mut |entry, result| {
            insert(plan, &mut entries, &mut limits, entry, &result);
            visit(&result);
        })?;
        Ok(Checkpoints { plan, journal, entries, limits })
    }

    /// Returns true if the journal has a result of the episode.
    pub fn contains(&self, episode: u64) -> bool {
        self.entries.contains_key(&episode)
    }

    /// Adds a result of an earlier process that is not in the journal.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn recover(&mut self, result: &EpisodeResult) -> Result<(), JournalError> {
        let entry = self.journal.append(result)?;
        insert(self.plan, &mut self.entries, &mut self.limits, entry, result);
        Ok(())
    }

    /// Adds a result of this process.
    pub(crate) fn add(&mut self, result: &EpisodeResult) -> Result<(), JournalError> {
        self.recover(result)?;
        if let Some(cell) = self.plan.cell(result.episode.episode) {
            self.limits.add_outcome(cell.agent, result.episode.outcome);
        }
        Ok(())
    }

    /// Returns the limit that the run has reached.
    pub(crate) fn stop_rule(&self) -> Option<&StopRule> {
        self.limits.reached()
    }

    /// Returns the episodes that need not be run again.
    pub(crate) fn scored_episodes(&self) -> BTreeSet<u64> {
        self.entries.iter().filter(|(_, checkpoint)| checkpoint.is_scored).map(|(episode, _)| *episode).collect()
    }

    /// Passes on all results in the order of the plan, and returns the numbers of lost episodes by reason.
    pub(crate) fn pass_on<E: From<JournalError>>(
        &mut self,
        on_rows: &mut dyn FnMut(Vec<EpisodeResult>) -> Result<(), E>,
    ) -> Result<BTreeMap<String, u64>, E> {
        self.journal.sync()?;
        let mut lost = BTreeMap::new();
        let mut batch = Vec::with_capacity(BATCH);
        for checkpoint in self.entries.values() {
            let result = self.journal.read(checkpoint.entry)?;
            if !checkpoint.is_scored {
                *lost.entry(loss_reason(&result)).or_default() += 1;
            }
            batch.push(result);
            if batch.len() == BATCH {
                on_rows(std::mem::replace(&mut batch, Vec::with_capacity(BATCH)))?;
            }
        }
        on_rows(batch)?;
        Ok(lost)
    }
}

fn insert(
    plan: &Plan,
    entries: &mut BTreeMap<u64, Checkpoint>,
    limits: &mut LimitState<'_>,
    entry: JournalEntry,
    result: &EpisodeResult,
) {
    let row = &result.episode;
    entries.insert(row.episode, Checkpoint { entry, is_scored: row.outcome.is_scored() });
    if let Some(cell) = plan.cell(row.episode) {
        limits.add_cost(cell.agent, row);
    }
}

fn loss_reason(result: &EpisodeResult) -> String {
    let failed = result.recorded_turns.as_ref().and_then(|recorded_turns| recorded_turns.failed.as_ref());
    failed.map_or("for a reason that is not known".to_owned(), ToString::to_string)
}
