//! The moves after failed calls, from the rows of a run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use healbench_core::{CallRecord, CellRef, EpisodeRecord, ErrorKind, Move, Plan};
use healbench_store::RunManifest;
use serde::Serialize;

use crate::errors::chains::{Chain, FailedCalls, chains};
use crate::report_error::ReportError;
use crate::run_rows::RunRows;

/// The failed calls to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MoveQuery {
    /// True to take episodes with an injected attack too.
    pub with_attacks: bool,
    /// True to take errors that are known by their text alone for successes.
    pub flagged_only: bool,
}

/// The moves after the failed calls of a run, and what was left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Observations {
    /// The titles of the agents, in their order.
    pub agents: Vec<String>,
    /// The clusters of scenarios, in their order.
    pub tasks: Vec<String>,
    /// The beginnings of scenarios' ids, up to the last `/`, in their order.
    pub suites: Vec<String>,
    /// The moves, in the order of the rows.
    pub moves: Vec<Observation>,
    /// Episodes with failed calls that are left out, since an attack was injected.
    pub attacked_episodes: u64,
    /// Failed calls of shells, which are left out.
    pub shell_errors: u64,
    /// Failed calls whose move the end of a record cuts off.
    pub cut_off: u64,
    /// Failed calls that no reader has read.
    pub not_read: u64,
}

/// The move after a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Observation {
    /// The index of the agent.
    pub agent: usize,
    /// The index of the task.
    pub task: usize,
    /// The index of the suite.
    pub suite: usize,
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The move; never [`Move::CutOff`].
    pub made: Move,
    /// The place of the error in its chain.
    pub place: Place,
    /// True if the text says what to do.
    pub states_remedy: bool,
    /// True if the next attempt succeeded; null without one, or without a response to it.
    pub succeeded: Option<bool>,
}

/// The place of an error in its chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The first error of a chain.
    First {
        /// True if the first attempt succeeded in one of the next three turns; null if that is not known.
        repaired_next: Option<bool>,
        /// True if one of the first three attempts succeeded; null if the record ends before.
        repaired_within_3: Option<bool>,
    },
    /// An attempt that failed.
    Later {
        /// The move that led to it.
        follows: Move,
    },
}

impl Observation {
    /// Returns true for the first error of a chain.
    pub fn is_first(&self) -> bool {
        matches!(self.place, Place::First { .. })
    }

    /// Returns the position of the move in [`SCORED_MOVES`](super::SCORED_MOVES).
    pub(super) fn column(&self) -> usize {
        match self.made {
            Move::Changed => 0,
            Move::Repeated => 1,
            Move::OtherTool => 2,
            Move::Stopped | Move::CutOff => 3,
        }
    }
}

impl Observations {
    /// Returns the first errors of chains.
    pub fn first(&self) -> Vec<Observation> {
        self.moves.iter().copied().filter(Observation::is_first).collect()
    }

    /// Takes some agents, given by their indices, for one with this name. It is the last; if these are all agents, each keeps its own name.
    pub(super) fn pooled(&self, agents: &BTreeSet<usize>, name: &str) -> Observations {
        if agents.len() == self.agents.len() {
            return self.clone();
        }
        let others: Vec<usize> = (0..self.agents.len()).filter(|agent| !agents.contains(agent)).collect();
        let index = |agent: usize| others.iter().position(|other| *other == agent).unwrap_or(others.len());
        let named = others.iter().map(|other| self.agents[*other].clone()).chain([name.to_owned()]);
        Observations {
            agents: named.collect(),
            moves: self.moves.iter().map(|made| Observation { agent: index(made.agent), ..*made }).collect(),
            ..self.clone()
        }
    }
}

/// Collects the moves after the failed calls of runs.
#[derive(Debug, Default)]
pub struct MoveReader {
    query: MoveQuery,
    named: NamedObservations,
    found: Observations,
}

/// Returns the name under which the moves of a cell count; `None` to leave them out.
pub type NameOfAgent<'n> = &'n dyn Fn(CellRef) -> Option<String>;

impl MoveReader {
    /// Returns a reader without moves.
    pub fn new(query: MoveQuery) -> MoveReader {
        MoveReader { query, ..MoveReader::default() }
    }

    /// Adds the moves of a run. Holds the calls of one episode at a time.
    ///
    /// # Errors
    /// [`ReportError::Rows`] and [`ReportError::ForeignEpisode`] if the rows cannot be read; [`ReportError::NoAftermath`] if an older version
    /// wrote them.
    pub fn read(
        &mut self,
        run: &dyn RunRows,
        manifest: &RunManifest,
        agent: NameOfAgent<'_>,
    ) -> Result<(), ReportError> {
        let plan = &manifest.plan;
        let mut cells: HashMap<u64, CellRef> = HashMap::new();
        run.for_each_episode(plan, &mut |cell, row: &EpisodeRecord| {
            if row.counts.errors > 0 && agent(cell).is_some() {
                match row.is_attacked() && !self.query.with_attacks {
                    true => self.found.attacked_episodes += 1,
                    false => _ = cells.insert(row.episode, cell),
                }
            }
            Ok(())
        })?;
        let mut calls: Vec<CallRecord> = Vec::new();
        run.for_each_call(&mut |call| {
            if manifest.shell_tools.iter().any(|shell| **shell == *call.tool) {
                self.found.shell_errors += u64::from(call.is_error && cells.contains_key(&call.episode));
                return Ok(());
            }
            if calls.first().is_some_and(|first| first.episode != call.episode) {
                self.add(plan, &cells, &calls, agent)?;
                calls.clear();
            }
            calls.push(call);
            Ok(())
        })?;
        self.add(plan, &cells, &calls, agent)
    }

    /// Adds the moves of an episode.
    fn add(
        &mut self,
        plan: &Plan,
        cells: &HashMap<u64, CellRef>,
        calls: &[CallRecord],
        agent: NameOfAgent<'_>,
    ) -> Result<(), ReportError> {
        let Some(cell) = calls.first().and_then(|first| cells.get(&first.episode)) else { return Ok(()) };
        let Some(agent) = agent(*cell) else { return Ok(()) };
        let found = chains(calls, self.query.flagged_only)?;
        let scenario = &plan.scenarios[cell.scenario];
        let names = [agent, scenario.cluster.clone(), suite_of(&scenario.id).to_owned()];
        for at in &found.failed {
            let made = calls[*at].aftermath.map(|aftermath| aftermath.next_move).filter(|made| *made != Move::CutOff);
            match (made, calls[*at].reading) {
                (None, _) => self.found.cut_off += 1,
                (_, None) => self.found.not_read += 1,
                (Some(made), Some(reading)) => self.named.add(
                    names.clone(),
                    Observation {
                        agent: 0,
                        task: 0,
                        suite: 0,
                        kind: reading.kind,
                        made,
                        place: place(calls, &found, *at),
                        states_remedy: reading.states_remedy,
                        succeeded: succeeded(calls, &found, *at),
                    },
                ),
            }
        }
        Ok(())
    }

    /// Returns the moves of all runs.
    pub fn finish(self) -> Observations {
        self.named.finish(self.found)
    }
}

/// Returns the suite of a scenario: its id up to the last `/`.
pub fn suite_of(id: &str) -> &str {
    id.rsplit_once('/').map_or(id, |(suite, _)| suite)
}

/// Returns the index of the call that a failed call is tried again with.
fn next_attempt(calls: &[CallRecord], at: usize) -> Option<usize> {
    let number = calls[at].aftermath?.next_attempt?;
    Some(at + 1 + calls[at + 1..].iter().position(|call| call.call == number)?)
}

fn place(calls: &[CallRecord], found: &FailedCalls, at: usize) -> Place {
    // A call that serves several chains follows the move of the first.
    let before = found.failed.iter().take_while(|earlier| **earlier < at);
    let before = before.copied().find(|earlier| next_attempt(calls, *earlier) == Some(at));
    if let Some(follows) = before.and_then(|before| calls[before].aftermath) {
        return Place::Later { follows: follows.next_move };
    }
    // Chains are in the order of their first calls.
    let chain: Option<&Chain> =
        found.chains.binary_search_by_key(&at, |chain| chain.first).ok().map(|chain| &found.chains[chain]);
    Place::First {
        repaired_next: chain.and_then(|chain| chain.after_first.is_repaired_next),
        repaired_within_3: chain.and_then(|chain| chain.is_repaired_within_3),
    }
}

/// Returns true if the next attempt succeeded; `None` without one, and without a response to it.
fn succeeded(calls: &[CallRecord], found: &FailedCalls, at: usize) -> Option<bool> {
    let next = next_attempt(calls, at)?;
    (calls[next].response_hash != 0).then(|| found.failed.binary_search(&next).is_err())
}

/// Moves with the names of their agent, task and suite.
#[derive(Debug, Default)]
pub(super) struct NamedObservations(Vec<([String; 3], Observation)>);

impl NamedObservations {
    /// Adds a move; its indices are set by [`NamedObservations::finish`].
    pub(super) fn add(&mut self, [agent, task, suite]: [String; 3], observation: Observation) {
        self.0.push(([agent, task, suite], observation));
    }

    /// Returns `found` with these moves.
    pub(super) fn finish(self, found: Observations) -> Observations {
        let index = |of: usize| -> BTreeMap<String, usize> {
            let names: BTreeMap<String, usize> = self.0.iter().map(|(names, _)| (names[of].clone(), 0)).collect();
            names.into_keys().enumerate().map(|(index, name)| (name, index)).collect()
        };
        let [agents, tasks, suites] = [0, 1, 2].map(index);
        let indexed = self.0.iter().map(|([agent, task, suite], observation)| Observation {
            agent: agents[agent],
            task: tasks[task],
            suite: suites[suite],
            ..*observation
        });
        let moves = indexed.collect();
        let [agents, tasks, suites] = [agents, tasks, suites].map(|names| names.into_keys().collect());
        Observations { agents, tasks, suites, moves, ..found }
    }
}
