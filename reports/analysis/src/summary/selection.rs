//! What an output with little room leaves out: one rule for all of them.
//!
//! Rows that say the same are shown once. Then the rows that differ most from the reference are kept, with the reference, the best one and
//! the recommended one. Agents that are least like a model are left out first, and of those that are alike those whose rows differ least.

use std::cmp::Reverse;

use healbench_core::AgentKind;

use super::{AgentReport, Report, ReportRow};
use crate::metric::RowMetric;

/// The rows of a report that fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The agents with their rows, in the order of the plan.
    pub agents: Vec<SelectedAgent>,
    /// The number of rows that are shown, alone or with another one.
    pub shown: usize,
    /// The number of rows in the report.
    pub total: usize,
}

/// The rows of one agent that fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedAgent {
    /// The index of the agent in the report.
    pub agent: usize,
    /// Its rows: in the order of the plan if none is left out, and otherwise by success in descending order.
    pub rows: Vec<EqualRows>,
}

/// Rows of one agent with the same results, as indices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EqualRows {
    /// The row that is shown.
    pub first: usize,
    /// The rows that say the same.
    pub others: Vec<usize>,
}

/// The labels of conditions whose errors are one line without details.
const BARE: [&str; 2] = ["bare", "none"];
/// Billed tokens that differ by a smaller share count as the same.
const SAME_TOKENS: f64 = 0.01;
/// The fewest rows of an agent that say something.
const MIN_ROWS: usize = 2;
/// The rows that the first agent keeps: the reference, the one that differs most from it, and the best.
const FIRST_ROWS: usize = 3;

/// Selects what fits in a number of lines, of which each agent needs `lines_per_agent` besides its rows. If not everything fits, at least
/// three rows of one agent are kept.
pub fn select(report: &Report, lines: usize, lines_per_agent: usize) -> Selection {
    let groups: Vec<Vec<EqualRows>> = report.agents.iter().map(equal_rows).collect();
    let mut room = lines;
    let mut agents = Vec::new();
    let needed: usize = groups.iter().map(|groups| groups.len() + lines_per_agent).sum();
    if needed <= lines {
        let all = groups.into_iter().enumerate();
        agents.extend(all.map(|(agent, rows)| SelectedAgent { agent, rows }));
    } else {
        let mut order = agents_by_information(report);
        // Agents whose rows do not differ say nothing that another's rows should be left out for.
        let tells = |agent: &usize| groups[*agent].len() > 1 && spread(&report.agents[*agent]) > 0.0;
        if order.iter().any(tells) {
            order.retain(tells);
        }
        for (position, agent) in order.iter().enumerate() {
            let least = if position == 0 { FIRST_ROWS } else { MIN_ROWS }.min(groups[*agent].len());
            if position > 0 && room < least + lines_per_agent {
                break;
            }
            // Later agents get a share if it suffices for them.
            let fitting = (room / (MIN_ROWS + 1 + lines_per_agent)).clamp(1, order.len() - position);
            let share = (room / fitting).saturating_sub(lines_per_agent).max(least);
            let rows = most_informative(report, *agent, &groups[*agent], share);
            room = room.saturating_sub(rows.len() + lines_per_agent);
            agents.push(SelectedAgent { agent: *agent, rows });
        }
        agents.sort_by_key(|selected| selected.agent);
    }
    let shown = agents.iter().flat_map(|agent| &agent.rows).map(|rows| 1 + rows.others.len()).sum();
    Selection { agents, shown, total: report.agents.iter().map(|agent| agent.rows.len()).sum() }
}

/// Returns the indices of the agents in the order of cards, rankings and short screens: models, then simulated readers that were fitted to logs, then
/// the others; of each those whose rows differ most first.
pub fn agents_by_information(report: &Report) -> Vec<usize> {
    let mut order: Vec<usize> = (0..report.agents.len()).collect();
    order.sort_by(|a, b| {
        let [a, b] = [a, b].map(|agent| &report.agents[*agent]);
        let is_reader = |agent: &AgentReport| agent.kind == AgentKind::Scripted;
        let distance = |agent: &AgentReport| (is_reader(agent), is_reader(agent) && agent.fitted.is_none());
        distance(a).cmp(&distance(b)).then(spread(b).total_cmp(&spread(a)))
    });
    order
}

/// Returns the difference between the best and the worst row of an agent, which is negative without any. The row of a bare line, which nobody
/// would choose, counts only beside one other.
fn spread(agent: &AgentReport) -> f64 {
    let is_bare = |row: &&ReportRow| BARE.contains(&row.condition.label().as_str());
    let counts_bare = agent.rows.len() < 3;
    let rows = || agent.rows.iter().filter(move |row| counts_bare || !is_bare(row));
    let rates = || rows().filter_map(|row| row.rate(RowMetric::Success).rate);
    rates().fold(0.0, f64::max) - rates().fold(1.0, f64::min)
}

/// Returns the rows of an agent, with those that say the same as an earlier one joined to it.
pub fn equal_rows(agent: &AgentReport) -> Vec<EqualRows> {
    let mut found: Vec<EqualRows> = Vec::new();
    for (index, row) in agent.rows.iter().enumerate() {
        match found.iter_mut().find(|group| is_equal(&agent.rows[group.first], row)) {
            Some(group) => group.others.push(index),
            None => found.push(EqualRows { first: index, others: Vec::new() }),
        }
    }
    found
}

/// Returns true if both rows have the same success in every scenario, and almost the same billed tokens.
fn is_equal(row: &ReportRow, other: &ReportRow) -> bool {
    let success = |row: &ReportRow| row.scenarios.iter().map(|scenario| scenario.success).collect::<Vec<_>>();
    let billed = |row: &ReportRow| row.rate(RowMetric::BilledTokensPerEpisode).rate;
    let is_close = match (billed(row), billed(other)) {
        (Some(here), Some(there)) => (here - there).abs() <= SAME_TOKENS * here.max(there),
        (here, there) => here == there,
    };
    is_close && row.scored > 0 && row.scored == other.scored && success(row) == success(other)
}

/// Returns at most `count` rows of an agent: the reference, the one that differs most from it, or without a reference from the best one, the
/// best one, the one that the answer recommends, and those that differ most of the others.
fn most_informative(report: &Report, agent: usize, groups: &[EqualRows], count: usize) -> Vec<EqualRows> {
    let rows = &report.agents[agent].rows;
    let success = |group: &EqualRows| rows[group.first].rate(RowMetric::Success).rate.unwrap_or(-1.0);
    let has = |group: &EqualRows, wanted: Option<&str>| {
        let mut names = std::iter::once(&group.first).chain(&group.others).map(|row| &rows[*row].condition);
        names.any(|condition| wanted == Some(condition.label().as_str()))
    };
    let is_reference = |group: &EqualRows| has(group, report.reference.as_deref());
    let is_chosen = |group: &EqualRows| has(group, report.answer.choice(&report.agents[agent].title));
    if groups.len() <= count {
        return groups.to_vec();
    }
    let mut ranked: Vec<&EqualRows> = groups.iter().collect();
    ranked.sort_by(|a, b| success(b).total_cmp(&success(a)));
    let best = ranked.first().map(|group| group.first);
    let base = groups.iter().find(|group| is_reference(group)).or(ranked.first().copied()).map_or(0.0, success);
    let mut kept = ranked.clone();
    let difference = |group: &EqualRows| (success(group) - base).abs();
    kept.sort_by(|a, b| difference(b).total_cmp(&difference(a)));
    let farthest = kept.first().map(|group| group.first);
    kept.sort_by_key(|group| {
        let is = |row: Option<usize>| row == Some(group.first);
        Reverse((is_reference(group), is(farthest), is(best), is_chosen(group)))
    });
    kept.truncate(count);
    ranked.into_iter().filter(|group| kept.contains(group)).cloned().collect()
}
