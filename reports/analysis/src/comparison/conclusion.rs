//! The conclusion of a comparison of two runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{CellComparison, Flip, MetricDifference};
use crate::changed_scenarios::{by_gain, rank};
use crate::metric::Metric;
use crate::summary::{Verdict, verdict};

/// What a comparison says about success, on the suite of the runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Conclusion {
    /// The direction.
    pub change: Change,
    /// Cells in which the candidate is clearly worse.
    pub worse: u64,
    /// Cells in which it is clearly better.
    pub better: u64,
    /// The index of the cell with the largest clear loss, or gain if there is no loss; null if no difference is clear.
    pub cell: Option<usize>,
    /// The scenarios of that cell in which more trials changed in its direction than in the other, those with most first.
    pub scenarios: Vec<String>,
    /// The scenarios that became worse although no cell is clearly worse; null if none did.
    pub setback: Option<Setback>,
}

/// The scenarios that became worse in a cell that is not worse on the whole, and in which the same seed gives the same rows again. The gate
/// fails on them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Setback {
    /// The index of the cell: of those with such scenarios, the one that gained least.
    pub cell: usize,
    /// The scenarios in which more trials became worse than better, those with most first.
    pub scenarios: Vec<String>,
}

/// The direction of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The candidate is clearly worse in some cell, and clearly better in none.
    Worse,
    /// It is clearly better in some cell, and clearly worse in none.
    Better,
    /// Both.
    Mixed,
    /// Success differs in some pair, and clearly in no cell.
    Unclear,
    /// Success is the same in all pairs.
    Same,
    /// No metric differs in any pair.
    Unchanged,
    /// Nothing could be paired.
    NotComparable,
}

/// Draws the conclusion.
pub(super) fn conclude(cells: &[CellComparison], flips: &[Flip]) -> Conclusion {
    let success = |cell: &CellComparison| cell.metrics.iter().find(|entry| entry.metric == Metric::Success).cloned();
    let clear: Vec<(usize, f64)> = cells
        .iter()
        .enumerate()
        .filter_map(|(index, cell)| Some((index, clear_difference(&success(cell)?)?)))
        .collect();
    let worse = clear.iter().filter(|(_, difference)| *difference < 0.0).count() as u64;
    let better = clear.len() as u64 - worse;
    let change = match (worse, better) {
        (1.., 1..) => Change::Mixed,
        (1.., 0) => Change::Worse,
        (0, 1..) => Change::Better,
        (0, 0) if cells.iter().all(|cell| cell.pairs == 0) => Change::NotComparable,
        (0, 0) if !flips.is_empty() => Change::Unclear,
        (0, 0) if cells.iter().any(|cell| cell.changed > 0) => Change::Same,
        (0, 0) => Change::Unchanged,
    };
    // A loss stands for all of them, and a gain only without one.
    let shown =
        clear.into_iter().filter(|(_, difference)| worse == 0 || *difference < 0.0).map(|(index, difference)| {
            let scenarios = changed_scenarios(&cells[index], difference < 0.0, flips);
            (rank(-difference.abs(), scenarios.clone()), (index, scenarios))
        });
    let shown = shown.min_by(|a, b| a.0.cmp(&b.0)).map(|(_, shown)| shown).unzip();
    let setback = || {
        let reproducible = cells.iter().enumerate().filter(|(_, cell)| cell.is_exact);
        let lost = reproducible.map(|(cell, of)| {
            let scenarios = changed_scenarios(of, true, flips);
            let gain = success(of).and_then(|entry| entry.difference).unwrap_or(0.0);
            (rank(gain, scenarios.clone()), (cell, scenarios))
        });
        let worst = lost.filter(|(_, (_, scenarios))| !scenarios.is_empty()).min_by(|a, b| a.0.cmp(&b.0));
        worst.map(|(_, (cell, scenarios))| Setback { cell, scenarios: owned(scenarios) })
    };
    Conclusion {
        change,
        worse,
        better,
        cell: shown.0,
        scenarios: owned(shown.1.unwrap_or_default()),
        setback: if worse == 0 { setback() } else { None },
    }
}

/// Returns a difference that is clear on the suite of the runs: any where the same scenarios would give the same pairs again, and
/// otherwise one whose interval excludes 0.
fn clear_difference(entry: &MetricDifference) -> Option<f64> {
    let difference = entry.difference.filter(|difference| *difference != 0.0)?;
    match entry.this_suite {
        // One pair has no interval, and is no fact either.
        None => (entry.pairs >= 2).then_some(difference),
        Some(this) => (verdict(this.interval, this.p_adjusted, 0) == Verdict::Clear).then_some(difference),
    }
}

/// Returns the scenarios of a cell in which more trials changed in one direction than in the other.
fn changed_scenarios<'f>(cell: &CellComparison, losses: bool, flips: &'f [Flip]) -> Vec<&'f str> {
    let mut gains: BTreeMap<&'f str, f64> = BTreeMap::new();
    for flip in flips.iter().filter(|flip| flip.title == cell.title && flip.condition == cell.condition) {
        *gains.entry(&flip.scenario).or_default() += if flip.is_loss() { -1.0 } else { 1.0 };
    }
    let gains = by_gain(gains.into_iter().map(|(scenario, gain)| (scenario, gain, ())).collect());
    let is_wanted = |gain: f64| if losses { gain < 0.0 } else { gain > 0.0 };
    gains.into_iter().filter(|(_, gain, ())| is_wanted(*gain)).map(|(scenario, ..)| scenario).collect()
}

fn owned(scenarios: Vec<&str>) -> Vec<String> {
    scenarios.into_iter().map(str::to_owned).collect()
}
