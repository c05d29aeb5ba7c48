//! Reads both frames once and computes the sums of each cell and its pairs with the same agent in the reference condition.
//!
//! The plan orders the episodes of a scenario and an agent consecutively over all conditions. Pairs are computed within
//! one such block, which is then dropped, so memory grows with the episodes of one block instead of those of the run.

use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{ChainEnd, Plan};

use super::ablation::Effects;
use super::answer::ToolChains;
use super::block::Block;
use super::claims::{self, ClaimMoments};
use super::diagnostics::AnswerCounts;
use super::examples::{Example, example};
use super::headline::HeadlineConditions;
use super::outcomes::Outcomes;
use super::positions::CallPositions;
use super::sums::{PairSums, Sums};
use crate::report_error::{CallCountError, ReportError};
use crate::run_rows::RunRows;
use crate::statistics::EndedChains;

/// The numbers of error chains, by retries until their end.
pub(super) type ChainsByRetries = BTreeMap<u32, EndedChains>;

/// The sums over the frames of a run.
pub(super) struct Aggregates {
    conditions: usize,
    agents: usize,
    cells: Vec<Sums>,
    pairs: Vec<PairSums>,
    /// The headline comparison's pairs, by scenario and agent.
    headline_pairs: Vec<PairSums>,
    /// The successes and the number of scored episodes without copies, by agent and condition.
    distinct_trials: Vec<[u64; 2]>,
    /// By agent and condition.
    retries: Vec<ChainsByRetries>,
    /// By cell, for scenarios with claims.
    claim_moments: BTreeMap<usize, ClaimMoments>,
    /// By agent and condition.
    positions: Vec<CallPositions>,
    /// By agent.
    pub(super) answers: Vec<AnswerCounts>,
    /// The outcome of each episode.
    pub(super) outcomes: Outcomes,
    /// The error chains by the tool that they begin with; empty unless a server answered the calls.
    pub(super) tool_chains: ToolChains,
    /// The effects of guardrails.
    pub(super) effects: Effects,
    /// The example episodes, by scenario and agent.
    pub(super) examples: Vec<Example>,
}

impl Aggregates {
    fn new(plan: &Plan) -> Aggregates {
        let cells = plan.scenarios.len() * plan.agents.len() * plan.conditions.len();
        Aggregates {
            conditions: plan.conditions.len(),
            agents: plan.agents.len(),
            cells: vec![Sums::default(); cells],
            pairs: vec![PairSums::default(); cells],
            headline_pairs: vec![PairSums::default(); plan.scenarios.len() * plan.agents.len()],
            distinct_trials: vec![[0; 2]; plan.agents.len() * plan.conditions.len()],
            retries: vec![ChainsByRetries::new(); plan.agents.len() * plan.conditions.len()],
            claim_moments: BTreeMap::new(),
            positions: vec![CallPositions::default(); plan.agents.len() * plan.conditions.len()],
            answers: plan.agents.iter().map(|_| AnswerCounts::default()).collect(),
            outcomes: Outcomes::new(plan),
            tool_chains: ToolChains::new(),
            effects: Effects::of(plan),
            examples: Vec::new(),
        }
    }

    fn index(&self, scenario: usize, agent: usize, condition: usize) -> usize {
        (scenario * self.agents + agent) * self.conditions + condition
    }

    fn set_pairs(&mut self, scenario: usize, agent: usize, condition: usize, pairs: PairSums) {
        let index = self.index(scenario, agent, condition);
        self.pairs[index] = pairs;
    }

    fn set_headline_pairs(&mut self, scenario: usize, agent: usize, pairs: PairSums) {
        let index = scenario * self.agents + agent;
        self.headline_pairs[index] = pairs;
    }

    /// Returns the headline comparison's pairs of a scenario and agent.
    pub(super) fn headline_pairs(&self, scenario: usize, agent: usize) -> &PairSums {
        &self.headline_pairs[scenario * self.agents + agent]
    }

    pub(super) fn cell(&self, scenario: usize, agent: usize, condition: usize) -> &Sums {
        &self.cells[self.index(scenario, agent, condition)]
    }

    /// Returns the pairs of a cell with the reference condition.
    pub(super) fn pairs(&self, scenario: usize, agent: usize, condition: usize) -> &PairSums {
        &self.pairs[self.index(scenario, agent, condition)]
    }

    /// Returns the measurements for the claims of a cell's scenario; `None` without a claim or an episode.
    pub(super) fn claim_moments(&self, scenario: usize, agent: usize, condition: usize) -> Option<&ClaimMoments> {
        self.claim_moments.get(&self.index(scenario, agent, condition))
    }

    /// Returns the error chains of an agent in a condition, in scored episodes.
    pub(super) fn retries(&self, agent: usize, condition: usize) -> &ChainsByRetries {
        &self.retries[agent * self.conditions + condition]
    }

    /// Returns the successes and the number of the scored episodes of an agent in a condition, where copies count once.
    pub(super) fn distinct_trials(&self, agent: usize, condition: usize) -> [u64; 2] {
        self.distinct_trials[agent * self.conditions + condition]
    }

    /// Returns the calls of an agent in a condition by their number in the episode, in scored episodes.
    pub(super) fn positions(&self, agent: usize, condition: usize) -> &CallPositions {
        &self.positions[agent * self.conditions + condition]
    }
}

/// Reads both frames of a run.
///
/// # Errors
/// As [`super::summarize`].
pub(super) fn aggregate(run: &dyn RunRows, plan: &Plan) -> Result<Aggregates, ReportError> {
    let mut aggregates = Aggregates::new(plan);
    let mut block = Block::of(plan);
    let mut unscored = BTreeSet::new();
    let mut made = 0;
    let next = run.for_each_episode(plan, &mut |cell, row| {
        let index = aggregates.index(cell.scenario, cell.agent, cell.condition);
        aggregates.cells[index].add_episode(row);
        aggregates.answers[cell.agent].add(row);
        made += u64::from(row.calls);
        let claims = &plan.scenarios[cell.scenario].claims;
        if !row.outcome.is_scored() {
            unscored.insert(row.episode);
        } else if !claims.is_empty() {
            claims::add(claims, aggregates.claim_moments.entry(index).or_default(), row);
        }
        if !block.holds(cell) {
            close_block(&block, plan, &mut aggregates)?;
            block.open(cell);
        }
        block.add(cell, row);
        Ok(())
    })?;
    close_block(&block, plan, &mut aggregates)?;
    let is_scored = |episode: u64| episode < next && !unscored.contains(&episode);
    let found = aggregate_calls(run, plan, is_scored, &mut aggregates)?;
    if found != made {
        return Err(CallCountError { path: run.calls_path(), found, expected: made }.into());
    }
    Ok(aggregates)
}

/// Adds the pairs of a complete block, its example, and the effects of guardrails in it.
fn close_block(block: &Block, plan: &Plan, aggregates: &mut Aggregates) -> Result<(), ReportError> {
    let Some((scenario, agent)) = block.current() else { return Ok(()) };
    for (condition, pairs) in block.pairs_with_reference(plan)? {
        aggregates.set_pairs(scenario, agent, condition, pairs);
    }
    for condition in 0..plan.conditions.len() {
        let sums = &mut aggregates.distinct_trials[agent * plan.conditions.len() + condition];
        let added = block.distinct_trials(condition);
        *sums = [sums[0] + added[0], sums[1] + added[1]];
    }
    if !aggregates.effects.is_empty() {
        block.check_schedules(plan)?;
        aggregates.effects.add(agent, block);
    }
    aggregates.outcomes.add(plan, (scenario, agent), block.trials(), |condition, trial| {
        let values = block.values(condition, trial).filter(|values| values.scored)?;
        Some((values.schedule_hash, values.success))
    });
    aggregates.examples.extend(example(block, plan, scenario, agent));
    if let Some(headline) = HeadlineConditions::of(plan) {
        aggregates.set_headline_pairs(scenario, agent, block.pairs_of(headline.right, headline.left));
    }
    Ok(())
}

/// Follows each error chain of scored episodes to its end, counts calls by number and error class, and returns the
/// number of calls. The rows of an episode's calls must be consecutive.
fn aggregate_calls(
    run: &dyn RunRows,
    plan: &Plan,
    is_scored: impl Fn(u64) -> bool,
    aggregates: &mut Aggregates,
) -> Result<u64, ReportError> {
    let row_of = |episode: u64| {
        let cell = plan.cell(episode).filter(|_| is_scored(episode))?;
        Some(cell.agent * plan.conditions.len() + cell.condition)
    };
    let mut current = None;
    let mut chains: BTreeMap<u32, Chain> = BTreeMap::new();
    let mut close = |row: Option<usize>, chains: &mut BTreeMap<u32, Chain>| {
        let chains = std::mem::take(chains);
        let Some(row) = row else { return };
        for Chain { calls, fixed, tool } in chains.into_values() {
            let ended = aggregates.retries[row].entry(calls - 1).or_default();
            ended.fixed += u64::from(fixed);
            ended.censored += u64::from(!fixed);
            if let Some(tool) = tool {
                let tools = aggregates.tool_chains.entry((row / plan.conditions.len(), row % plan.conditions.len()));
                let counts = tools.or_default().entry(tool).or_default();
                *counts = [counts[0] + u64::from(fixed), counts[1] + 1];
            }
        }
    };
    let mut row = None;
    let found = run.for_each_call_in_chain(plan.environment.server.is_some(), &mut |call| {
        if call.episode != current {
            close(row, &mut chains);
            current = call.episode;
            row = call.episode.and_then(row_of);
        }
        if let (Some(row), Some(number)) = (row, call.call) {
            let is_ok = call.is_error == Some(false);
            aggregates.positions[row].add(number, (!is_ok).then(|| call.error_class.unwrap_or(UNKNOWN_CLASS)));
        }
        if let Some(chain) = call.chain {
            let first_tool = || call.tool.map(str::to_owned);
            let chain = chains.entry(chain).or_insert_with(|| Chain { calls: 0, fixed: false, tool: first_tool() });
            chain.calls += 1;
            chain.fixed = call.chain_end == Some(ChainEnd::Fixed.name());
        }
    })?;
    close(row, &mut chains);
    Ok(found)
}

/// An error chain as far as its calls are read.
struct Chain {
    calls: u32,
    /// True if the last call fixed it.
    fixed: bool,
    /// The tool of its first call, if a server answers.
    tool: Option<String>,
}

/// The class of a failed call whose row has none. healbench writes no such row.
const UNKNOWN_CLASS: &str = "unknown";
