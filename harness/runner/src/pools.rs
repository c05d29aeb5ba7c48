//! Runs plans with models: each model has a separate worker pool, so that a slow one does not delay the others.
//!
//! Episodes finish in any order, and each is passed on by the thread that ran it before that thread starts the next
//! one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use healbench_record::{EpisodeResult, RecordedTurn, RecordedTurns};

use crate::episode::{EpisodeAborted, EpisodeEvent, run_episode};
use crate::response_cache::ResponseCache;
use crate::{Job, RunError, ScenarioContext, ScenarioSetupError};

/// The agents that share threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerPool {
    /// The indices of the agents in the plan.
    pub agents: Vec<usize>,
    /// The number of threads; each runs one episode at a time.
    pub threads: usize,
}

/// Runs the episodes of a job that are not `done`; `Job::jobs` is ignored. Returns true if all of them were run.
///
/// `on_result` is called from many threads. Once `stopped` returns true, no episode starts; episodes in progress are
/// finished unless their agents report that they are stopped.
///
/// # Errors
/// [`RunError`]; the first one ends the run.
pub fn run_pools<E: Send>(
    job: &Job<'_>,
    pools: &[WorkerPool],
    done: &(dyn Fn(u64) -> bool + Sync),
    stopped: &(dyn Fn() -> bool + Sync),
    on_result: &(dyn Fn(EpisodeResult) -> Result<(), E> + Sync),
) -> Result<bool, RunError<E>> {
    let contexts: Vec<ContextCell<'_>> = job.plan.scenarios.iter().map(|_| OnceLock::new()).collect();
    let first_error: Mutex<Option<RunError<E>>> = Mutex::new(None);
    let (complete, halted) = (AtomicBool::new(true), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for pool in pools {
            let next = std::sync::Arc::new(AtomicU64::new(job.episodes.start));
            for _ in 0..pool.threads.max(1) {
                let next = std::sync::Arc::clone(&next);
                let (contexts, first_error, complete, halted) = (&contexts, &first_error, &complete, &halted);
                scope.spawn(move || {
                    let mut cache = ResponseCache::default();
                    loop {
                        let episode = next.fetch_add(1, Ordering::Relaxed);
                        let Some(cell) = job.plan.cell(episode).filter(|_| episode < job.episodes.end) else { return };
                        if !pool.agents.contains(&cell.agent) || done(episode) {
                            continue;
                        }
                        if stopped() || halted.load(Ordering::Relaxed) {
                            complete.store(false, Ordering::Relaxed);
                            return;
                        }
                        // A panic is a bug; the results of other threads must not be lost.
                        let result = catch_unwind(AssertUnwindSafe(|| run_one(job, episode, contexts, &mut cache)));
                        let outcome = match result.unwrap_or(Err(EpisodeError::Panicked)) {
                            Ok(result) => on_result(result).map_err(RunError::Event),
                            Err(EpisodeError::Stopped) => {
                                complete.store(false, Ordering::Relaxed);
                                return;
                            }
                            Err(EpisodeError::Setup(error)) => Err(RunError::Setup(error)),
                            Err(EpisodeError::RecordingMissing(miss)) => {
                                Err(RunError::RecordingMissing { episode, miss })
                            }
                            Err(EpisodeError::RecordingFailed(reason)) => {
                                Err(RunError::RecordingFailed { episode, reason })
                            }
                            Err(EpisodeError::Panicked) => Err(RunError::Panicked { episode }),
                        };
                        if let Err(error) = outcome {
                            first_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                            // The other threads end as if they had been stopped.
                            halted.store(true, Ordering::Relaxed);
                            return;
                        }
                    }
                });
            }
        }
    });
    match first_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(complete.into_inner()),
    }
}

type ContextCell<'a> = OnceLock<Result<ScenarioContext<'a>, ScenarioSetupError>>;

enum EpisodeError {
    Stopped,
    Setup(ScenarioSetupError),
    RecordingMissing(String),
    RecordingFailed(String),
    Panicked,
}

fn run_one<'a>(
    job: &Job<'a>,
    episode: u64,
    contexts: &[ContextCell<'a>],
    cache: &mut ResponseCache,
) -> Result<EpisodeResult, EpisodeError> {
    let cell = job.plan.cell(episode).ok_or(EpisodeError::Panicked)?;
    let context = contexts[cell.scenario].get_or_init(|| ScenarioContext::new(&job.scenarios[cell.scenario], job.plan));
    let context = context.as_ref().map_err(|error| EpisodeError::Setup(error.clone()))?;
    let mut recorded_turns = RecordedTurns { episode, ..RecordedTurns::default() };
    let rows = run_episode(job.plan, cell, context, job.make_agent, cache, &mut |event| match event {
        EpisodeEvent::Turn(turn, origin) => recorded_turns.turns.push(RecordedTurn { turn: turn.clone(), origin }),
        EpisodeEvent::Failed(error) => recorded_turns.failed = Some(error.clone()),
        EpisodeEvent::Call(..) | EpisodeEvent::End(..) => {}
    });
    let (row, calls) = rows.map_err(|aborted| match aborted {
        EpisodeAborted::Stopped => EpisodeError::Stopped,
        EpisodeAborted::RecordingMissing(miss) => EpisodeError::RecordingMissing(miss),
        EpisodeAborted::RecordingFailed(reason) => EpisodeError::RecordingFailed(reason),
    })?;
    let recorded_turns = row.model.is_some().then_some(recorded_turns);
    Ok(EpisodeResult { episode: row, calls, recorded_turns })
}
