use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use healbench_record::{Plan, Records};
use healbench_scenarios::Scenario;

use crate::episode::{Unplayed, run_episode};
use crate::memory::Memory;
use crate::{MakeAgent, Stage, StageError};

/// What to play, and how.
pub struct Job<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Its scenarios, in its order.
    pub scenarios: &'a [Scenario],
    /// The episodes to play, by their index in the plan.
    pub episodes: Range<u64>,
    /// Threads.
    pub jobs: usize,
    /// Makes the agents.
    pub make_agent: &'a MakeAgent<'a>,
}

/// What happens while a plan is played.
#[derive(Debug)]
pub enum RunEvent {
    /// Playing begins.
    Started,
    /// The next episodes of the plan are played.
    Played {
        /// Their rows.
        records: Records,
        /// The index of the episode after them.
        next: u64,
    },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunEnd {
    /// The index of the first episode that was not played.
    pub next: u64,
    /// Whether somebody stopped it before the end.
    pub interrupted: bool,
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E> {
    /// A scenario cannot be set up.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// A recorded answer is missing: the episode cannot be played again as it was.
    #[error("episode {episode}: {miss}")]
    NotRecorded {
        /// The episode.
        episode: u64,
        /// What is missing, and what is there.
        miss: String,
    },
    /// An answer cannot be recorded, and is lost.
    #[error("episode {episode}: {reason}")]
    NotKept {
        /// The episode.
        episode: u64,
        /// Why.
        reason: String,
    },
    /// The program has a defect, and this episode shows it; the panic's own message went to stderr.
    #[error("a defect of healbench ended episode {episode}")]
    Panicked {
        /// The episode.
        episode: u64,
    },
    /// The receiver of events failed.
    #[error("{0}")]
    Event(E),
}

/// Plays the episodes of a plan on all threads and hands over their rows in the order of the plan.
///
/// Memory does not grow with the plan: a thread that is too far ahead of the slowest one waits. `stop` ends the run after the
/// episodes under way; what was handed over by then is the beginning of the plan.
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
    let shared = Shared::new(job, jobs, stop);
    std::thread::scope(|scope| {
        // It holds no more pieces than the window: `wait_for_room` sees to that.
        let (send, receive) = channel();
        for _ in 0..jobs {
            let send = send.clone();
            let shared = &shared;
            scope.spawn(move || shared.work(&send));
        }
        drop(send);
        let result = shared.collect(&receive, on_event);
        // Whatever the reason, nobody may wait for a collector that is gone.
        shared.halt();
        drop(receive);
        result
    })
}

/// Episodes a piece of work; smaller when there are few, so that every thread gets some.
const MAX_CHUNK: u64 = 256;
/// Pieces that a thread may be ahead of the collector.
const WINDOW: u64 = 32;

/// What the threads share.
struct Shared<'a> {
    job: &'a Job<'a>,
    stop: &'a AtomicBool,
    stages: Vec<OnceLock<Result<Stage<'a>, StageError>>>,
    chunk: u64,
    next: AtomicU64,
    window: u64,
    /// Pieces that the collector has handed over; guards the wait for it.
    collected: Mutex<u64>,
    moved: Condvar,
    halted: AtomicBool,
}

/// The rows of a piece, and whether all of it was played.
type Played = Result<(Records, bool), PieceError>;

/// A piece with its number.
type Piece = (u64, Played);

enum PieceError {
    Stage(StageError),
    Panicked(u64),
    NotRecorded(u64, String),
    NotKept(u64, String),
}

impl<'a> Shared<'a> {
    fn new(job: &'a Job<'a>, jobs: usize, stop: &'a AtomicBool) -> Shared<'a> {
        let left = job.episodes.end.saturating_sub(job.episodes.start);
        Shared {
            job,
            stop,
            stages: job.plan.scenarios.iter().map(|_| OnceLock::new()).collect(),
            chunk: (left / (jobs as u64 * 8)).clamp(1, MAX_CHUNK),
            next: AtomicU64::new(0),
            window: WINDOW * jobs as u64,
            collected: Mutex::new(0),
            moved: Condvar::new(),
            halted: AtomicBool::new(false),
        }
    }

    fn episodes(&self, piece: u64) -> Range<u64> {
        let first = self.job.episodes.start + piece * self.chunk;
        first..(first + self.chunk).min(self.job.episodes.end)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.halted.load(Ordering::Relaxed)
    }

    fn halt(&self) {
        self.halted.store(true, Ordering::Relaxed);
        let _guard = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        self.moved.notify_all();
    }

    fn work(&self, send: &Sender<Piece>) {
        let mut memory = Memory::default();
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if self.episodes(piece).is_empty() || self.stopped() || !self.wait_for_room(piece) {
                return;
            }
            let mut reached = self.episodes(piece).start;
            // A panic is a defect; it must not leave the other threads waiting for a piece that never comes.
            let played = catch_unwind(AssertUnwindSafe(|| self.play(piece, &mut memory, &mut reached)));
            let played = played.unwrap_or(Err(PieceError::Panicked(reached)));
            if send.send((piece, played)).is_err() {
                return;
            }
        }
    }

    /// Waits until the piece is near enough to what was collected; false when the run is over.
    fn wait_for_room(&self, piece: u64) -> bool {
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        while piece >= *collected + self.window && !self.stopped() {
            // Whoever raises `stop` notifies nobody.
            let waited = self.moved.wait_timeout(collected, Duration::from_millis(50));
            collected = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        !self.stopped()
    }

    fn play(&self, piece: u64, memory: &mut Memory, reached: &mut u64) -> Played {
        let mut records = Records::default();
        let episodes = self.episodes(piece);
        // Rows are large: growing step by step would move them again and again.
        records.episodes.reserve((episodes.end - episodes.start) as usize);
        records.calls.reserve(4 * (episodes.end - episodes.start) as usize);
        for episode in episodes {
            *reached = episode;
            if self.stopped() {
                return Ok((records, false));
            }
            let Some(cell) = self.job.plan.cell(episode) else { break };
            let scenario = &self.job.scenarios[cell.scenario];
            let stage = self.stages[cell.scenario].get_or_init(|| Stage::new(scenario, self.job.plan));
            let stage = stage.as_ref().map_err(|error| PieceError::Stage(error.clone()))?;
            let played = run_episode(self.job.plan, cell, stage, self.job.make_agent, memory, &mut |_| ());
            let (row, calls) = match played {
                Ok(rows) => rows,
                Err(Unplayed::Stopped) => return Ok((records, false)),
                Err(Unplayed::NotRecorded(miss)) => return Err(PieceError::NotRecorded(episode, miss)),
                Err(Unplayed::NotKept(reason)) => return Err(PieceError::NotKept(episode, reason)),
            };
            records.episodes.push(row);
            records.calls.extend(calls);
        }
        Ok((records, true))
    }

    /// Hands pieces over in their order; those that come early wait here.
    fn collect<E>(
        &self,
        receive: &Receiver<Piece>,
        on_event: &mut dyn FnMut(RunEvent) -> Result<(), E>,
    ) -> Result<RunEnd, RunError<E>> {
        let mut early: BTreeMap<u64, Played> = BTreeMap::new();
        let mut next = self.job.episodes.start;
        let mut due = 0;
        while let Ok((piece, played)) = receive.recv() {
            early.insert(piece, played);
            while let Some(played) = early.remove(&due) {
                let (records, whole) = played.map_err(|error| match error {
                    PieceError::Stage(error) => RunError::Stage(error),
                    PieceError::Panicked(episode) => RunError::Panicked { episode },
                    PieceError::NotRecorded(episode, miss) => RunError::NotRecorded { episode, miss },
                    PieceError::NotKept(episode, reason) => RunError::NotKept { episode, reason },
                })?;
                next += records.episodes.len() as u64;
                on_event(RunEvent::Played { records, next }).map_err(RunError::Event)?;
                if !whole {
                    return Ok(RunEnd { next, interrupted: true });
                }
                due += 1;
                *self.collected.lock().unwrap_or_else(PoisonError::into_inner) = due;
                self.moved.notify_all();
            }
        }
        Ok(RunEnd { next, interrupted: next < self.job.episodes.end })
    }
}
