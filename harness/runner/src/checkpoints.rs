//! The finished episodes of a run with models, which survive a killed process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use healbench_core::{Plan, RequestLog};
use healbench_store::{EpisodeResult, Journal, JournalEntry, JournalError, RunDir};

use crate::limits::{Limits, Losses, StopRule};
use crate::requests::Requests;

/// The journal of a run, with an index of its results, and the log of its requests. Memory holds no results.
pub struct Checkpoints<'a> {
    plan: &'a Plan,
    journal: Journal,
    entries: BTreeMap<u64, Checkpoint>,
    requests: Arc<Requests>,
    losses: Losses,
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
    /// Opens the journal of a run and passes each row in it to `visit`. A lost episode that was run again occurs twice.
    /// `is_recorded` tells the keys of requests whose answer is in a recording.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(
        run: &RunDir,
        plan: &'a Plan,
        limits: Limits,
        is_recorded: &dyn Fn(&str) -> bool,
        visit: &mut dyn FnMut(&EpisodeResult),
    ) -> Result<Checkpoints<'a>, JournalError> {
        let requests = Arc::new(Requests::open(run, plan, limits, is_recorded)?);
        let mut entries = BTreeMap::new();
        let journal = Journal::open(run, &mut |entry, result| {
            insert(&mut entries, &requests, entry, &result);
            visit(&result);
        })?;
        Ok(Checkpoints { plan, journal, entries, requests, losses: Losses::default() })
    }

    /// Returns the log for the requests of the run's agents.
    pub fn request_log(&self) -> Arc<dyn RequestLog> {
        Arc::<Requests>::clone(&self.requests)
    }

    /// Returns the tokens that may have been paid for without an answer that was kept.
    pub fn lost_tokens(&self) -> u64 {
        self.requests.lost_tokens()
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
        insert(&mut self.entries, &self.requests, entry, result);
        Ok(())
    }

    /// Adds a result of this process.
    pub(crate) fn add(&mut self, result: &EpisodeResult) -> Result<(), JournalError> {
        self.recover(result)?;
        if let Some(cell) = self.plan.cell(result.episode.episode) {
            self.losses.add(cell.agent, result.episode.outcome);
        }
        self.requests.compact()
    }

    /// Returns the limit that the run has reached.
    pub(crate) fn stop_rule(&self) -> Option<StopRule> {
        self.requests.spent_budget().map(StopRule::Budget).or_else(|| self.losses.reached().cloned())
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

fn insert(entries: &mut BTreeMap<u64, Checkpoint>, requests: &Requests, entry: JournalEntry, result: &EpisodeResult) {
    let row = &result.episode;
    entries.insert(row.episode, Checkpoint { entry, is_scored: row.outcome.is_scored() });
    requests.add_row(row);
}

fn loss_reason(result: &EpisodeResult) -> String {
    let failed = result.recorded_turns.as_ref().and_then(|recorded_turns| recorded_turns.failed.as_ref());
    failed.map_or("for a reason that is not known".to_owned(), ToString::to_string)
}
