use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use healbench_record::{Plan, Records};
use healbench_scenarios::Scenario;

use crate::episode::{EpisodeAborted, run_episode};
use crate::response_cache::ResponseCache;
use crate::{AgentFactory, ScenarioContext, ScenarioSetupError};

/// A plan to run, and the settings for it.
pub struct Job<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The scenarios, in the order of the plan.
    pub scenarios: &'a [Scenario],
    /// The episodes to run, by their index in the plan.
    pub episodes: Range<u64>,
    /// The number of threads.
    pub jobs: usize,
    /// Creates the agents.
    pub make_agent: &'a AgentFactory<'a>,
}

/// An event of a run.
#[derive(Debug)]
pub enum RunEvent {
    /// The run begins.
    Started,
    /// The next episodes of the plan are finished.
    Episodes {
        /// The rows of these episodes.
        records: Records,
        /// The index of the first episode after them.
        next: u64,
    },
}

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunEnd {
    /// The index of the first episode that was not run.
    pub next: u64,
    /// True if the run was stopped before the end.
    pub interrupted: bool,
}

/// The reason why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E> {
    /// A scenario cannot be set up.
    #[error(transparent)]
    Setup(#[from] ScenarioSetupError),
    /// A recorded answer is missing, so the episode cannot be replayed.
    #[error("episode {episode}: {miss}")]
    RecordingMissing {
        /// The episode.
        episode: u64,
        /// The missing answer, and the available ones.
        miss: String,
    },
    /// An answer cannot be recorded and is lost.
    #[error("episode {episode}: {reason}")]
    RecordingFailed {
        /// The episode.
        episode: u64,
        /// The reason.
        reason: String,
    },
    /// A bug in healbench caused a panic in this episode; the panic's message went to stderr.
    #[error("a defect of healbench ended episode {episode}")]
    Panicked {
        /// The episode.
        episode: u64,
    },
    /// The receiver of events failed.
    #[error("{0}")]
    Event(E),
}

/// Runs the episodes of a plan on all threads and passes on their rows in the order of the plan.
///
/// Memory does not grow with the plan: a thread that is too far ahead of the slowest one waits. `stop` ends the run
/// after the episodes in progress; the rows passed on by then are a prefix of the plan.
///
/// # Errors
/// [`RunError`]; the first one ends the run.
pub fn run<E>(
    job: &Job<'_>,
    stop: &AtomicBool,
    on_event: &mut dyn FnMut(RunEvent) -> Result<(), E>,
) -> Result<RunEnd, RunError<E>> {
    on_event(RunEvent::Started).map_err(RunError::Event)?;
    let jobs = job.jobs.max(1);
    let state = SharedState::new(job, jobs, stop);
    std::thread::scope(|scope| {
        // `wait_for_room` limits the number of batches in the channel.
        let (send, receive) = channel();
        for _ in 0..jobs {
            let send = send.clone();
            let state = &state;
            scope.spawn(move || state.work(&send));
        }
        drop(send);
        let result = state.collect(&receive, on_event);
        // In any case, no thread may wait for a collector that no longer exists.
        state.halt();
        drop(receive);
        result
    })
}

/// The maximum number of episodes in a batch; smaller if there are few, so that every thread gets some.
const MAX_BATCH: u64 = 256;
/// The number of batches ahead of the collector that may be in progress, per thread.
const WINDOW: u64 = 32;

/// The state shared by the threads.
struct SharedState<'a> {
    job: &'a Job<'a>,
    stop: &'a AtomicBool,
    contexts: Vec<OnceLock<Result<ScenarioContext<'a>, ScenarioSetupError>>>,
    batch_size: u64,
    next: AtomicU64,
    window: u64,
    /// The number of batches passed on by the collector; the mutex of `advanced`.
    collected: Mutex<u64>,
    advanced: Condvar,
    halted: AtomicBool,
}

/// The rows of a batch, and true if all of its episodes were run.
type BatchResult = Result<(Records, bool), BatchError>;

/// A batch with its number.
type NumberedBatch = (u64, BatchResult);

enum BatchError {
    Setup(ScenarioSetupError),
    Panicked(u64),
    RecordingMissing(u64, String),
    RecordingFailed(u64, String),
}

impl<'a> SharedState<'a> {
    fn new(job: &'a Job<'a>, jobs: usize, stop: &'a AtomicBool) -> SharedState<'a> {
        let left = job.episodes.end.saturating_sub(job.episodes.start);
        SharedState {
            job,
            stop,
            contexts: job.plan.scenarios.iter().map(|_| OnceLock::new()).collect(),
            batch_size: (left / (jobs as u64 * 8)).clamp(1, MAX_BATCH),
            next: AtomicU64::new(0),
            window: WINDOW * jobs as u64,
            collected: Mutex::new(0),
            advanced: Condvar::new(),
            halted: AtomicBool::new(false),
        }
    }

    fn episodes(&self, batch: u64) -> Range<u64> {
        let first = self.job.episodes.start + batch * self.batch_size;
        first..(first + self.batch_size).min(self.job.episodes.end)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.halted.load(Ordering::Relaxed)
    }

    fn halt(&self) {
        self.halted.store(true, Ordering::Relaxed);
        let _guard = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        self.advanced.notify_all();
    }

    fn work(&self, send: &Sender<NumberedBatch>) {
        let mut cache = ResponseCache::default();
        loop {
            let batch = self.next.fetch_add(1, Ordering::Relaxed);
            if self.episodes(batch).is_empty() || self.stopped() || !self.wait_for_room(batch) {
                return;
            }
            let mut current = self.episodes(batch).start;
            // A panic is a bug; it must not leave the other threads waiting for a batch that never arrives.
            let result = catch_unwind(AssertUnwindSafe(|| self.run_batch(batch, &mut cache, &mut current)));
            let result = result.unwrap_or(Err(BatchError::Panicked(current)));
            if send.send((batch, result)).is_err() {
                return;
            }
        }
    }

    /// Waits until the batch is within the window; returns false when the run is over.
    fn wait_for_room(&self, batch: u64) -> bool {
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        while batch >= *collected + self.window && !self.stopped() {
            // Setting `stop` does not notify the condition variable.
            let waited = self.advanced.wait_timeout(collected, Duration::from_millis(50));
            collected = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        !self.stopped()
    }

    fn run_batch(&self, batch: u64, cache: &mut ResponseCache, current: &mut u64) -> BatchResult {
        let mut records = Records::default();
        let episodes = self.episodes(batch);
        // Rows are large: growing step by step would copy them repeatedly.
        records.episodes.reserve((episodes.end - episodes.start) as usize);
        records.calls.reserve(4 * (episodes.end - episodes.start) as usize);
        for episode in episodes {
            *current = episode;
            if self.stopped() {
                return Ok((records, false));
            }
            let Some(cell) = self.job.plan.cell(episode) else { break };
            let scenario = &self.job.scenarios[cell.scenario];
            let context = self.contexts[cell.scenario].get_or_init(|| ScenarioContext::new(scenario, self.job.plan));
            let context = context.as_ref().map_err(|error| BatchError::Setup(error.clone()))?;
            let result = run_episode(self.job.plan, cell, context, self.job.make_agent, cache, &mut |_| ());
            let (row, calls) = match result {
                Ok(rows) => rows,
                Err(EpisodeAborted::Stopped) => return Ok((records, false)),
                Err(EpisodeAborted::RecordingMissing(miss)) => return Err(BatchError::RecordingMissing(episode, miss)),
                Err(EpisodeAborted::RecordingFailed(reason)) => {
                    return Err(BatchError::RecordingFailed(episode, reason));
                }
            };
            records.episodes.push(row);
            records.calls.extend(calls);
        }
        Ok((records, true))
    }

    /// Passes on batches in order, and keeps those that arrive early.
    fn collect<E>(
        &self,
        receive: &Receiver<NumberedBatch>,
        on_event: &mut dyn FnMut(RunEvent) -> Result<(), E>,
    ) -> Result<RunEnd, RunError<E>> {
        let mut pending: BTreeMap<u64, BatchResult> = BTreeMap::new();
        let mut next = self.job.episodes.start;
        let mut next_batch = 0;
        while let Ok((batch, result)) = receive.recv() {
            pending.insert(batch, result);
            while let Some(result) = pending.remove(&next_batch) {
                let (records, complete) = result.map_err(|error| match error {
                    BatchError::Setup(error) => RunError::Setup(error),
                    BatchError::Panicked(episode) => RunError::Panicked { episode },
                    BatchError::RecordingMissing(episode, miss) => RunError::RecordingMissing { episode, miss },
                    BatchError::RecordingFailed(episode, reason) => RunError::RecordingFailed { episode, reason },
                })?;
                next += records.episodes.len() as u64;
                on_event(RunEvent::Episodes { records, next }).map_err(RunError::Event)?;
                if !complete {
                    return Ok(RunEnd { next, interrupted: true });
                }
                next_batch += 1;
                *self.collected.lock().unwrap_or_else(PoisonError::into_inner) = next_batch;
                self.advanced.notify_all();
            }
        }
        Ok(RunEnd { next, interrupted: next < self.job.episodes.end })
    }
}
