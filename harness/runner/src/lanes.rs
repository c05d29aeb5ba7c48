//! Playing with models: every one has a lane of its own, so that a slow one does not keep the others waiting.
//!
//! Episodes end in any order and are handed over at once, on the thread that played them: whoever keeps them has done so before
//! that thread begins the next one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use healbench_record::{Played, TakenTurn, Transcript};

use crate::episode::{Moment, Unplayed, run_episode};
use crate::memory::Memory;
use crate::{Job, RunError, Stage, StageError};

/// The agents that share threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Their indices in the plan.
    pub agents: Vec<usize>,
    /// Threads; each plays an episode at a time.
    pub threads: usize,
}

/// Plays the episodes of a job that are not `done` yet; `Job::jobs` does not matter. True when all of them were played.
///
/// `on_played` is called on many threads. Once `stopped` is true no episode begins; those under way are played to their end,
/// unless their agents say that they are stopped.
///
/// # Errors
/// [`RunError`]; the first one ends the run.
pub fn play_lanes<E: Send>(
    job: &Job<'_>,
    lanes: &[Lane],
    done: &(dyn Fn(u64) -> bool + Sync),
    stopped: &(dyn Fn() -> bool + Sync),
    on_played: &(dyn Fn(Played) -> Result<(), E> + Sync),
) -> Result<bool, RunError<E>> {
    let stages: Vec<Staged<'_>> = job.plan.scenarios.iter().map(|_| OnceLock::new()).collect();
    let first_error: Mutex<Option<RunError<E>>> = Mutex::new(None);
    let (whole, halted) = (AtomicBool::new(true), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for lane in lanes {
            let next = std::sync::Arc::new(AtomicU64::new(job.episodes.start));
            for _ in 0..lane.threads.max(1) {
                let next = std::sync::Arc::clone(&next);
                let (stages, first_error, whole, halted) = (&stages, &first_error, &whole, &halted);
                scope.spawn(move || {
                    let mut memory = Memory::default();
                    loop {
                        let episode = next.fetch_add(1, Ordering::Relaxed);
                        let Some(cell) = job.plan.cell(episode).filter(|_| episode < job.episodes.end) else { return };
                        if !lane.agents.contains(&cell.agent) || done(episode) {
                            continue;
                        }
                        if stopped() || halted.load(Ordering::Relaxed) {
                            whole.store(false, Ordering::Relaxed);
                            return;
                        }
                        // A panic is a defect; what the others have played must not be lost by it.
                        let played = catch_unwind(AssertUnwindSafe(|| play(job, episode, stages, &mut memory)));
                        let kept = match played.unwrap_or(Err(Failed::Panicked)) {
                            Ok(played) => on_played(played).map_err(RunError::Event),
                            Err(Failed::Stopped) => {
                                whole.store(false, Ordering::Relaxed);
                                return;
                            }
                            Err(Failed::Stage(error)) => Err(RunError::Stage(error)),
                            Err(Failed::NotRecorded(miss)) => Err(RunError::NotRecorded { episode, miss }),
                            Err(Failed::NotKept(reason)) => Err(RunError::NotKept { episode, reason }),
                            Err(Failed::Panicked) => Err(RunError::Panicked { episode }),
                        };
                        if let Err(error) = kept {
                            first_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                            // The others end as if they had been stopped.
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
        None => Ok(whole.into_inner()),
    }
}

type Staged<'a> = OnceLock<Result<Stage<'a>, StageError>>;

enum Failed {
    Stopped,
    Stage(StageError),
    NotRecorded(String),
    NotKept(String),
    Panicked,
}

fn play<'a>(job: &Job<'a>, episode: u64, stages: &[Staged<'a>], memory: &mut Memory) -> Result<Played, Failed> {
    let cell = job.plan.cell(episode).ok_or(Failed::Panicked)?;
    let stage = stages[cell.scenario].get_or_init(|| Stage::new(&job.scenarios[cell.scenario], job.plan));
    let stage = stage.as_ref().map_err(|error| Failed::Stage(error.clone()))?;
    let mut transcript = Transcript { episode, ..Transcript::default() };
    let rows = run_episode(job.plan, cell, stage, job.make_agent, memory, &mut |moment| match moment {
        Moment::Turn(turn, origin) => transcript.turns.push(TakenTurn { turn: turn.clone(), origin }),
        Moment::Failed(error) => transcript.failed = Some(error.clone()),
        Moment::Answer(..) | Moment::End(..) => {}
    });
    let (row, calls) = rows.map_err(|unplayed| match unplayed {
        Unplayed::Stopped => Failed::Stopped,
        Unplayed::NotRecorded(miss) => Failed::NotRecorded(miss),
        Unplayed::NotKept(reason) => Failed::NotKept(reason),
    })?;
    let transcript = row.model.is_some().then_some(transcript);
    Ok(Played { episode: row, calls, transcript })
}
