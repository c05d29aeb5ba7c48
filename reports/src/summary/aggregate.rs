//! One pass over both frames: what every cell adds up to, and how each compares to the same agent without guardrails.
//!
//! The plan has the episodes of a scenario and an agent stand together, whatever the setting, so pairs are made within one such
//! block and forgotten after it: memory grows with the episodes of one scenario and agent, and not with those of a run.

use std::collections::{BTreeMap, BTreeSet};

use healbench_record::{Plan, RunDir};

use super::ReportError;
use super::ablation::Effects;
use super::block::Block;
use super::claims::{self, Measured};
use super::headline::Example;
use super::positions::Positions;
use super::sums::{Pairs, Sums};
use crate::columns::{CALL, CHAIN, Column, ColumnType, EPISODE, ERROR_CLASS, IS_ERROR};
use crate::episodes::{ROWS, each_episode};
use crate::frames::{FrameError, Span, read_frame, spans};
use crate::statistics::Ended;

/// How many error chains ended after so many further attempts.
pub(super) type Retries = BTreeMap<u32, Ended>;

/// What the frames of a run add up to.
pub(super) struct Aggregates {
    conditions: usize,
    agents: usize,
    cells: Vec<Sums>,
    pairs: Vec<Pairs>,
    /// By scenario and agent: the contrast's right setting beside its left one.
    beside: Vec<Pairs>,
    /// By agent and setting.
    retries: Vec<Retries>,
    /// Of cells whose scenario claims something.
    measured: BTreeMap<usize, Measured>,
    /// By agent and setting.
    positions: Vec<Positions>,
    /// What guardrails are worth.
    pub(super) effects: Effects,
    /// The episodes that are worth reading, by scenario and agent.
    pub(super) examples: Vec<Example>,
}

impl Aggregates {
    fn new(plan: &Plan) -> Aggregates {
        let cells = plan.scenarios.len() * plan.agents.len() * plan.conditions.len();
        Aggregates {
            conditions: plan.conditions.len(),
            agents: plan.agents.len(),
            cells: vec![Sums::default(); cells],
            pairs: vec![Pairs::default(); cells],
            beside: vec![Pairs::default(); plan.scenarios.len() * plan.agents.len()],
            retries: vec![Retries::new(); plan.agents.len() * plan.conditions.len()],
            measured: BTreeMap::new(),
            positions: vec![Positions::default(); plan.agents.len() * plan.conditions.len()],
            effects: Effects::of(plan),
            examples: Vec::new(),
        }
    }

    fn index(&self, scenario: usize, agent: usize, condition: usize) -> usize {
        (scenario * self.agents + agent) * self.conditions + condition
    }

    /// Sets the pairs of a cell.
    pub(super) fn set_pairs(&mut self, scenario: usize, agent: usize, condition: usize, pairs: Pairs) {
        let index = self.index(scenario, agent, condition);
        self.pairs[index] = pairs;
    }

    /// Sets the pairs of the contrast.
    pub(super) fn set_beside(&mut self, scenario: usize, agent: usize, pairs: Pairs) {
        let index = scenario * self.agents + agent;
        self.beside[index] = pairs;
    }

    /// The pairs of the contrast.
    pub(super) fn beside(&self, scenario: usize, agent: usize) -> &Pairs {
        &self.beside[scenario * self.agents + agent]
    }

    /// The sums of a cell.
    pub(super) fn cell(&self, scenario: usize, agent: usize, condition: usize) -> &Sums {
        &self.cells[self.index(scenario, agent, condition)]
    }

    /// The pairs of a cell with the one under `none`.
    pub(super) fn pairs(&self, scenario: usize, agent: usize, condition: usize) -> &Pairs {
        &self.pairs[self.index(scenario, agent, condition)]
    }

    /// What the claims of a cell's scenario are about; `None` when it claims nothing or has no episode.
    pub(super) fn measured(&self, scenario: usize, agent: usize, condition: usize) -> Option<&Measured> {
        self.measured.get(&self.index(scenario, agent, condition))
    }

    /// The error chains of an agent under a setting, in scored episodes.
    pub(super) fn retries(&self, agent: usize, condition: usize) -> &Retries {
        &self.retries[agent * self.conditions + condition]
    }

    /// The calls of an agent under a setting by their number in the episode, in scored episodes.
    pub(super) fn positions(&self, agent: usize, condition: usize) -> &Positions {
        &self.positions[agent * self.conditions + condition]
    }
}

/// Reads both frames of a run.
///
/// # Errors
/// As [`super::summarise`].
pub(super) fn aggregate(run: &RunDir, plan: &Plan) -> Result<Aggregates, ReportError> {
    let mut aggregates = Aggregates::new(plan);
    let mut block = Block::of(plan);
    let mut unscored = BTreeSet::new();
    let mut made = 0;
    let next = each_episode(run, plan, &mut |cell, row| {
        let index = aggregates.index(cell.scenario, cell.agent, cell.condition);
        aggregates.cells[index].add_episode(row);
        made += u64::from(row.calls);
        let claims = &plan.scenarios[cell.scenario].claims;
        if !row.outcome.is_scored() {
            unscored.insert(row.episode);
        } else if !claims.is_empty() {
            claims::add(claims, aggregates.measured.entry(index).or_default(), row);
        }
        if !block.holds(cell) {
            block.close(plan, &mut aggregates)?;
            block.open(cell);
        }
        block.add(cell, row);
        Ok(())
    })?;
    block.close(plan, &mut aggregates)?;
    let is_scored = |episode: u64| episode < next && !unscored.contains(&episode);
    let found = aggregate_calls(run, plan, is_scored, &mut aggregates)?;
    if found != made {
        return Err(FrameError::Calls { path: run.calls_path(), found, expected: made }.into());
    }
    Ok(aggregates)
}

/// Follows every error chain of scored episodes from its first error to its end, counts their calls by number and error class, and gives
/// how many calls there are. The calls of an episode stand together.
fn aggregate_calls(
    run: &RunDir,
    plan: &Plan,
    is_scored: impl Fn(u64) -> bool,
    aggregates: &mut Aggregates,
) -> Result<u64, ReportError> {
    let row_of = |episode: u64| {
        let cell = plan.cell(episode).filter(|_| is_scored(episode))?;
        Some(cell.agent * plan.conditions.len() + cell.condition)
    };
    let (mut current, mut found) = (None, 0);
    // Chain to its calls so far, and whether the last of them succeeded.
    let mut chains: BTreeMap<u32, (u32, bool)> = BTreeMap::new();
    let mut close = |row: Option<usize>, chains: &mut BTreeMap<u32, (u32, bool)>| {
        let chains = std::mem::take(chains);
        let Some(row) = row else { return };
        for (calls, fixed) in chains.into_values() {
            let ended = aggregates.retries[row].entry(calls - 1).or_default();
            ended.fixed += u64::from(fixed);
            ended.censored += u64::from(!fixed);
        }
    };
    let mut row = None;
    for rows in spans(&run.calls_path(), ROWS)? {
        let frame = read_frame(&run.calls_path(), &CALL_COLUMNS, Span::Rows(rows))?;
        found += frame.height() as u64;
        let [episodes, calls, chain, is_error, class] = CALL_COLUMNS.map(|(name, _)| frame.column(name));
        let rows = episodes?.u64()?.iter().zip(calls?.u32()?.iter()).zip(chain?.u32()?.iter());
        for (((episode, call), chain), (is_error, class)) in
            rows.zip(is_error?.bool()?.iter().zip(class?.str()?.iter()))
        {
            if episode != current {
                close(row, &mut chains);
                current = episode;
                row = episode.and_then(row_of);
            }
            let is_ok = is_error == Some(false);
            if let (Some(row), Some(call)) = (row, call) {
                aggregates.positions[row].add(call, (!is_ok).then(|| class.unwrap_or(UNKNOWN_CLASS)));
            }
            if let Some(chain) = chain {
                let calls = chains.entry(chain).or_default();
                *calls = (calls.0 + 1, is_ok);
            }
        }
    }
    close(row, &mut chains);
    Ok(found)
}

/// A failed call has a class in every file that healbench writes.
const UNKNOWN_CLASS: &str = "unknown";

const CALL_COLUMNS: [Column; 5] = [
    (EPISODE, ColumnType::U64),
    (CALL, ColumnType::U32),
    (CHAIN, ColumnType::U32),
    (IS_ERROR, ColumnType::Bool),
    (ERROR_CLASS, ColumnType::Text),
];
