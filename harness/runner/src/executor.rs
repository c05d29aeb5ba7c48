//! Runs the episodes of a plan on the threads of one or more pools.
//!
//! The caller's thread collects the results. Pools whose episodes cost nothing take batches of neighboring episodes, and
//! their results are passed on in the order of the plan. A costly episode is a batch of its own and is passed on as soon
//! as it has finished. Costly episodes alternate between the conditions, trial by trial, so that a provider that changes
//! during the run changes for all of them. No thread starts a batch while too many of its earlier ones are waiting to be passed on, so
//! memory does not grow with the plan, and a thread never has two costly results that could be lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use healbench_core::{
    Agent, CallRecord, CellRef, DrawKey, EnvironmentKind, EpisodeStart, Episodes, Plan, RecordedTurn, RecordedTurns,
    ResponseRecord, Script, record_decisions,
};
use healbench_engine::GuardedReply;
use healbench_scenarios::Scenario;
use healbench_store::{EpisodeResult, JournalError};
use rustc_hash::FxHashSet;

use crate::checkpoints::Checkpoints;
use crate::episode::{EpisodeAborted, EpisodeEvent, run_episode};
use crate::episode_memory::{EpisodeMemory, StartKey};
use crate::limits::StopRule;
use crate::response_cache::ResponseCache;
use crate::{AgentFactory, EnvironmentFactory, ScenarioContext, ScenarioSetupError};

/// A plan to run, and the threads for it.
pub struct Job<'a> {
    pub plan: &'a Plan,
    /// The scenarios, in the order of the plan.
    pub scenarios: &'a [Scenario],
    /// The episodes to run.
    pub episodes: Episodes,
    /// The pools, of which each agent is in one.
    pub pools: &'a [WorkerPool],
    pub make_agent: &'a AgentFactory<'a>,
    /// Creates the environments; the simulators of the scenarios if `None`.
    pub make_environment: Option<&'a EnvironmentFactory<'a>>,
}

/// The agents that share threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerPool {
    /// The indices of the agents in the plan.
    pub agents: Vec<usize>,
    /// The number of threads; each runs one episode at a time.
    pub threads: usize,
    /// True if an episode costs money or takes long.
    pub costly: bool,
}

impl WorkerPool {
    /// Returns a pool for all agents of a plan, whose episodes cost nothing.
    pub fn of_all_agents(plan: &Plan, threads: usize) -> WorkerPool {
        WorkerPool { agents: (0..plan.agents.len()).collect(), threads, costly: false }
    }

    /// The number of episodes in a batch of a pool that is not costly.
    fn batch_size(&self, episodes: &Episodes) -> u64 {
        (episodes.len() / (self.threads.max(1) as u64 * 8)).clamp(1, MAX_BATCH)
    }
}

/// An event of a run.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// Episodes have finished. With checkpoints, they are in the journal.
    Finished(&'a [EpisodeResult]),
    /// The next results in the order of the plan, for the frames. With checkpoints, they come at the end of the run.
    /// Without, they come while it runs, and are in the order of the plan if there is one pool that costs nothing.
    Rows(Vec<EpisodeResult>),
}

/// The end of a run whose results were all passed on.
#[derive(Debug)]
pub struct RunEnd<E> {
    /// The reason why episodes are missing or lost; `None` if the run is complete, or lost episodes without stopping.
    pub stopped: Option<StopReason<E>>,
    /// The numbers of lost episodes by reason.
    pub lost: BTreeMap<String, u64>,
}

/// The reason why a run stopped early.
#[derive(Debug)]
pub enum StopReason<E> {
    /// The caller's flag was set.
    Interrupt,
    /// A limit was reached.
    Rule(StopRule),
    /// An error ended a run with checkpoints.
    Failed(RunError<E>),
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
        episode: u64,
        /// The missing answer, and the available ones.
        miss: String,
    },
    /// An answer cannot be recorded and is lost.
    #[error("episode {episode}: {reason}")]
    RecordingFailed { episode: u64, reason: String },
    /// A bug in healbench caused a panic in this episode; the panic's message went to stderr.
    #[error("a defect of healbench ended episode {episode}")]
    Panicked { episode: u64 },
    /// The journal cannot be written or read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The receiver of events failed.
    #[error("{0}")]
    Event(E),
}

/// Runs the episodes of a job and passes on their results. With checkpoints, each result is first appended to the
/// journal, and results of earlier processes are passed on too.
///
/// Setting `stop` ends the run after the episodes in progress. Without checkpoints, the rows passed on by then are a
/// prefix of the plan.
///
/// # Errors
/// [`RunError`] if not all results were passed on as rows. With checkpoints, an error of an episode is a
/// [`StopReason`] instead, since the other results were paid for.
pub fn execute<E: Send>(
    job: &Job<'_>,
    checkpoints: Option<&mut Checkpoints<'_>>,
    stop: &AtomicBool,
    on_event: &mut dyn FnMut(RunEvent<'_>) -> Result<(), E>,
) -> Result<RunEnd<E>, RunError<E>> {
    let Some(checkpoints) = checkpoints else {
        let complete = run_pools(job, &BTreeSet::new(), stop, &mut |results| {
            on_event(RunEvent::Finished(&results)).map_err(RunError::Event)?;
            on_event(RunEvent::Rows(results)).map_err(RunError::Event)?;
            Ok(true)
        })?;
        return Ok(RunEnd { stopped: (!complete).then_some(StopReason::Interrupt), lost: BTreeMap::new() });
    };
    let done = checkpoints.scored_episodes();
    let executed = match checkpoints.stop_rule() {
        Some(_) => Ok(done.len() as u64 == job.episodes.len()),
        None => run_pools(job, &done, stop, &mut |results| {
            results.iter().try_for_each(|result| checkpoints.add(result))?;
            on_event(RunEvent::Finished(&results)).map_err(RunError::Event)?;
            Ok(checkpoints.stop_rule().is_none())
        }),
    };
    let lost = checkpoints.pass_on(&mut |results| on_event(RunEvent::Rows(results)).map_err(RunError::Event))?;
    let stopped = match executed {
        Err(error) => Some(StopReason::Failed(error)),
        // If the last episode reaches the budget, the run is complete nevertheless.
        Ok(true) if lost.is_empty() => None,
        Ok(complete) => match checkpoints.stop_rule() {
            Some(rule) => Some(StopReason::Rule(rule)),
            None => (!complete).then_some(StopReason::Interrupt),
        },
    };
    Ok(RunEnd { stopped, lost })
}

/// The maximum number of episodes in a batch; smaller if there are few, so that every thread gets some.
const MAX_BATCH: u64 = 256;
/// The number of batches per thread that may wait for an earlier batch of another thread.
const MAX_WAITING: usize = 32;

/// The number of scenarios with a simulator that stay set up although no thread is at them.
const MAX_KEPT: usize = 8;

/// Runs the episodes that are not `done`. Returns true if all of them were run. No episode starts after `on_results`
/// returned false or an error, but the costly results in progress are still passed on.
fn run_pools<'a, E: Send>(
    job: &'a Job<'a>,
    done: &BTreeSet<u64>,
    stop: &AtomicBool,
    on_results: &mut dyn FnMut(Vec<EpisodeResult>) -> Result<bool, RunError<E>>,
) -> Result<bool, RunError<E>> {
    let state = SharedState {
        job,
        done,
        stop,
        halted: AtomicBool::new(false),
        contexts: job.plan.scenarios.iter().map(|_| Mutex::default()).collect(),
        kept: Mutex::default(),
        next_batch: job.pools.iter().map(|_| AtomicU64::new(0)).collect(),
        costly_episodes: job.pools.iter().map(|pool| costly_episodes(job, pool, done)).collect(),
    };
    std::thread::scope(|scope| {
        let (send, receive) = channel();
        for (index, pool) in job.pools.iter().enumerate() {
            for _ in 0..pool.threads.max(1) {
                let (state, send) = (&state, send.clone());
                scope.spawn(move || state.work(index, &send));
            }
        }
        drop(send);
        state.collect(&receive, on_results)
    })
}

/// The state shared by the threads.
struct SharedState<'a> {
    job: &'a Job<'a>,
    done: &'a BTreeSet<u64>,
    stop: &'a AtomicBool,
    /// Set by the collector to stop all threads.
    halted: AtomicBool,
    /// By scenario: what threads that run it have set up.
    contexts: Vec<Mutex<Weak<ScenarioContext<'a>>>>,
    /// Those with a server, which starts once, and the latest ones with a simulator, which another thread may not have reached yet.
    kept: Mutex<Vec<Arc<ScenarioContext<'a>>>>,
    /// The number of the next batch, by pool.
    next_batch: Vec<AtomicU64>,
    /// The episodes of costly pools in the order in which they start, by pool.
    costly_episodes: Vec<Vec<u64>>,
}

/// Returns the episodes of a costly pool that are not done, with the conditions of one trial next to each other.
fn costly_episodes(job: &Job<'_>, pool: &WorkerPool, done: &BTreeSet<u64>) -> Vec<u64> {
    if !pool.costly {
        return Vec::new();
    }
    let planned = job.episodes.iter().filter_map(|episode| Some((episode, job.plan.cell(episode)?)));
    let mut own: Vec<_> =
        planned.filter(|(episode, cell)| pool.agents.contains(&cell.agent) && !done.contains(episode)).collect();
    own.sort_by_key(|(_, cell)| (cell.scenario, cell.trial, cell.agent, cell.condition));
    own.into_iter().map(|(episode, _)| episode).collect()
}

/// What a thread keeps across episodes.
#[derive(Default)]
struct ThreadMemory<'a> {
    /// The scenario that the thread is at.
    context: Option<(usize, Arc<ScenarioContext<'a>>)>,
    cache: ResponseCache,
    episodes: EpisodeMemory,
    responses: KnownResponses,
}

/// The hashes of the responses that a thread has passed on. Since it runs episodes in the order of the plan, each response
/// is in the result of the first episode of the plan that got it.
#[derive(Default)]
struct KnownResponses(FxHashSet<u64>);

/// The number of hashes at which they are forgotten. Responses may then be passed on again.
const MAX_KNOWN_RESPONSES: usize = 1 << 20;

impl KnownResponses {
    /// Adds a hash, and returns true if it is new.
    fn add(&mut self, hash: u64) -> bool {
        if self.0.len() >= MAX_KNOWN_RESPONSES {
            self.0.clear();
        }
        self.0.insert(hash)
    }
}

/// Returns a factory that also shows each agent.
fn noting<'a>(
    make_agent: &'a AgentFactory<'a>,
    note: impl Fn(&dyn Agent) + Sync + 'a,
) -> impl for<'s> Fn(usize, EpisodeStart<'s>, Option<&'s Script>) -> Box<dyn Agent + 's> + Sync + 'a {
    move |agent, start, script| {
        let agent = make_agent(agent, start, script);
        note(agent.as_ref());
        agent
    }
}

fn response_record(reply: &GuardedReply, row: &CallRecord) -> ResponseRecord {
    ResponseRecord {
        response_hash: row.response_hash,
        is_error: reply.response.is_error,
        content: reply.response.content.clone(),
        unguarded_text: reply.unguarded_text(),
        tokens: row.response_tokens,
    }
}

/// The results of a batch.
struct Batch<E> {
    pool: usize,
    number: u64,
    results: Vec<EpisodeResult>,
    end: BatchEnd<E>,
    /// Dropped once the batch was passed on, which the thread that ran it observes.
    pending: Sender<()>,
}

enum BatchEnd<E> {
    Complete,
    Stopped,
    Failed(RunError<E>),
}

impl<'a> SharedState<'a> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.halted.load(Ordering::Relaxed)
    }

    fn work<E>(&self, index: usize, send: &Sender<Batch<E>>) {
        let pool = &self.job.pools[index];
        let batch_size = pool.batch_size(&self.job.episodes);
        let max_pending = if pool.costly { 1 } else { MAX_WAITING };
        let mut pending: VecDeque<Receiver<()>> = VecDeque::new();
        let mut memory = ThreadMemory::default();
        loop {
            while pending.len() >= max_pending {
                // Nothing is sent. Receiving fails when the collector drops the batch.
                let _ = pending.pop_front().map(|passed_on| passed_on.recv());
            }
            let number = self.next_batch[index].fetch_add(1, Ordering::Relaxed);
            let (results, end) = if pool.costly {
                let Some(episode) = self.costly_episodes[index].get(number as usize) else { return };
                self.run_batch(pool, std::iter::once(*episode), &mut memory)
            } else {
                let first = number.saturating_mul(batch_size);
                let positions = first..first.saturating_add(batch_size).min(self.job.episodes.len());
                if positions.is_empty() {
                    return;
                }
                self.run_batch(pool, positions.filter_map(|position| self.job.episodes.get(position)), &mut memory)
            };
            let is_last = !matches!(end, BatchEnd::Complete);
            let (passing_on, passed_on) = channel();
            let sent = send.send(Batch { pool: index, number, results, end, pending: passing_on });
            if is_last || sent.is_err() {
                return;
            }
            pending.push_back(passed_on);
        }
    }

    fn run_batch<E>(
        &self,
        pool: &WorkerPool,
        episodes: impl Iterator<Item = u64>,
        memory: &mut ThreadMemory<'a>,
    ) -> (Vec<EpisodeResult>, BatchEnd<E>) {
        let mut results = Vec::with_capacity(episodes.size_hint().1.unwrap_or_default());
        for episode in episodes {
            let Some(cell) = self.job.plan.cell(episode) else { break };
            if !pool.agents.contains(&cell.agent) || self.done.contains(&episode) {
                continue;
            }
            if self.stopped() {
                return (results, BatchEnd::Stopped);
            }
            // A panic is a bug; the results of other episodes must not be lost.
            let run = catch_unwind(AssertUnwindSafe(|| self.run_one(pool, episode, cell, memory)));
            match run.unwrap_or(Err(BatchEnd::Failed(RunError::Panicked { episode }))) {
                Ok(result) => results.push(result),
                Err(end) => return (results, end),
            }
        }
        (results, BatchEnd::Complete)
    }

    /// Returns the context of a scenario, which is set up unless a thread has it.
    fn context(&self, scenario: usize) -> Result<Arc<ScenarioContext<'a>>, ScenarioSetupError> {
        let Job { plan, scenarios, make_environment, .. } = self.job;
        // A panic while a lock is held leaves what it guards usable.
        let mut known = self.contexts[scenario].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(context) = known.upgrade() {
            return Ok(context);
        }
        let context = Arc::new(ScenarioContext::new(&scenarios[scenario], plan, *make_environment)?);
        *known = Arc::downgrade(&context);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(Arc::clone(&context));
        let simulators = || kept.iter().enumerate().filter(|(_, kept)| !kept.has_server());
        if simulators().count() > MAX_KEPT
            && let Some((oldest, _)) = simulators().next()
        {
            kept.remove(oldest);
        }
        Ok(context)
    }

    fn run_one<E>(
        &self,
        pool: &WorkerPool,
        episode: u64,
        cell: CellRef,
        memory: &mut ThreadMemory<'a>,
    ) -> Result<EpisodeResult, BatchEnd<E>> {
        let Job { plan, make_agent, .. } = self.job;
        let ThreadMemory { context, cache, episodes, responses: known } = memory;
        episodes.enter(cell.scenario);
        if context.as_ref().is_none_or(|(scenario, _)| *scenario != cell.scenario) {
            let next = self.context(cell.scenario).map_err(|error| BatchEnd::Failed(RunError::Setup(error)))?;
            *context = Some((cell.scenario, next));
        }
        let Some((_, context)) = &*context else { return Err(BatchEnd::Stopped) };
        let records_turns =
            plan.agents[cell.agent].opening.is_some() || plan.environment.kind != EnvironmentKind::Simulator;
        let key = DrawKey::of_trial(plan.seed, context.scenario.draw_id(), cell.trial);
        let schedule = if records_turns || pool.costly { None } else { context.shared_schedule(cell.trial).ok() };
        let start = schedule
            .map(|schedule| StartKey::new(cell.agent, cell.condition, context.world_number(cell.trial), &schedule));
        if let Some((row, calls)) = start.as_ref().and_then(|start| episodes.rows(start, key, episode)) {
            return Ok(EpisodeResult { episode: row, calls, recorded_turns: None, responses: Vec::new() });
        }
        let is_decided_by_draws = AtomicBool::new(false);
        let make_agent = noting(*make_agent, |agent| {
            is_decided_by_draws.store(agent.is_decided_by_draws(), Ordering::Relaxed);
        });
        let mut responses = Vec::new();
        let mut recorded_turns = RecordedTurns { episode, ..RecordedTurns::default() };
        let mut observe = |event: EpisodeEvent<'_>| match event {
            EpisodeEvent::Turn(turn, origin) if records_turns => {
                recorded_turns.turns.push(RecordedTurn { turn: turn.clone(), origin });
            }
            EpisodeEvent::Turn(..) => {}
            EpisodeEvent::Call(_, reply, row) => {
                // A lost episode may be replaced, so the result of a costly one has all of its responses.
                let is_new = match pool.costly {
                    true => responses.iter().all(|known: &ResponseRecord| known.response_hash != row.response_hash),
                    false => known.add(row.response_hash),
                };
                if is_new {
                    responses.push(response_record(reply, row));
                }
            }
            EpisodeEvent::Program(report) => recorded_turns.program = Some(report.clone()),
            EpisodeEvent::Failed(error) => recorded_turns.failed = Some(error.clone()),
            EpisodeEvent::End(_, unmet) if records_turns => recorded_turns.unmet = unmet.to_vec(),
            EpisodeEvent::End(..) => {}
        };
        let (rows, decisions) = match start {
            Some(_) => record_decisions(key, || run_episode(plan, cell, context, &make_agent, cache, &mut observe)),
            None => (run_episode(plan, cell, context, &make_agent, cache, &mut observe), None),
        };
        let rows = rows.map_err(|aborted| match aborted {
            EpisodeAborted::Stopped => BatchEnd::Stopped,
            EpisodeAborted::RecordingMissing(miss) => BatchEnd::Failed(RunError::RecordingMissing { episode, miss }),
            EpisodeAborted::RecordingFailed(reason) => BatchEnd::Failed(RunError::RecordingFailed { episode, reason }),
        })?;
        if let (Some(start), Some(decisions), true) = (start, decisions, is_decided_by_draws.load(Ordering::Relaxed)) {
            episodes.add(start, decisions, &rows);
        }
        let (row, calls) = rows;
        Ok(EpisodeResult { episode: row, calls, recorded_turns: records_turns.then_some(recorded_turns), responses })
    }

    /// Passes on the batches of all threads. Returns true if all episodes were run, and otherwise the first error.
    fn collect<E>(
        &self,
        receive: &Receiver<Batch<E>>,
        on_results: &mut dyn FnMut(Vec<EpisodeResult>) -> Result<bool, RunError<E>>,
    ) -> Result<bool, RunError<E>> {
        let (mut complete, mut first_error) = (true, None);
        // Returns false if no batch may follow this one in its pool.
        let mut pass_on = |Batch { results, end, pending, .. }: Batch<E>| {
            let accepted = if results.is_empty() { Ok(true) } else { on_results(results) };
            let may_go_on = accepted.is_ok() && matches!(end, BatchEnd::Complete);
            if !may_go_on || matches!(accepted, Ok(false)) {
                self.halted.store(true, Ordering::Relaxed);
            }
            complete &= matches!(end, BatchEnd::Complete);
            let failed = if let BatchEnd::Failed(error) = end { Some(error) } else { None };
            if let Some(error) = accepted.err().or(failed) {
                first_error.get_or_insert(error);
            }
            drop(pending);
            may_go_on
        };
        // By pool: the number of the next batch, and later ones that have arrived; `None` after the last one.
        let mut waiting: Vec<_> = self.job.pools.iter().map(|_| Some((0, BTreeMap::new()))).collect();
        while let Ok(batch) = receive.recv() {
            let index = batch.pool;
            if self.job.pools[index].costly {
                pass_on(batch);
                continue;
            }
            let Some((next, early)) = &mut waiting[index] else { continue };
            early.insert(batch.number, batch);
            while let Some(batch) = early.remove(next) {
                *next += 1;
                if !pass_on(batch) {
                    // The results without a gap are a prefix of the plan. Running the others again costs nothing.
                    waiting[index] = None;
                    break;
                }
            }
        }
        first_error.map_or(Ok(complete), Err)
    }
}
