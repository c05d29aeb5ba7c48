//! Scores of shares by the moves that were made.

use std::collections::BTreeMap;

use healbench_core::Draws;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::Shares;
use super::observations::Observation;
use crate::statistics::Interval;

/// The draws of moves for the scores of a perfect profile.
pub(super) const DRAWS: u32 = 200;

/// The least share that a logarithm is taken of, so that one move does not decide all.
const LEAST_SHARE: f64 = 1e-6;

/// Scores of shares; the lower, the better.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Scores {
    /// The negative natural logarithm of the share of the move that was made. A share of 0 counts as one of 10^-6.
    pub log: f64,
    /// The sum of the squared differences to the shares, with 1 for the move that was made and 0 for the others: from 0 to 2.
    pub brier: f64,
}

impl Scores {
    /// The scores of equal shares of all moves, whatever is made.
    pub const EQUAL_SHARES: Scores = Scores { log: 2.0 * std::f64::consts::LN_2, brier: 0.75 };

    /// Returns the scores of shares if the move in `column` was made.
    pub(super) fn of(shares: Shares, column: usize) -> Scores {
        let made = |at: usize| if at == column { 1.0 } else { 0.0 };
        Scores {
            log: -shares[column].max(LEAST_SHARE).ln(),
            brier: shares.iter().enumerate().map(|(at, share)| (share - made(at)).powi(2)).sum(),
        }
    }

    /// Returns the scores of moves, averaged within a task, then over tasks; `None` without moves.
    pub(super) fn over_tasks(scores: &[(usize, Scores)]) -> Option<Scores> {
        Some(Scores {
            log: mean_over_tasks(scores.iter().map(|(task, scores)| (*task, scores.log)))?,
            brier: mean_over_tasks(scores.iter().map(|(task, scores)| (*task, scores.brier)))?,
        })
    }
}

/// The scores of a profile with the true shares, over draws of as many moves in the same tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PerfectScore {
    /// The means.
    pub mean: Scores,
    /// The log scores of 95% of the draws.
    pub log_range: Interval,
}

impl PerfectScore {
    /// Takes `shares` for true. Returns `None` without moves.
    pub(super) fn of(moves: &[Observation], shares: &[Shares], draws: &mut Draws) -> Option<PerfectScore> {
        let mut found: Vec<Scores> = Vec::new();
        for _ in 0..DRAWS {
            let drawn =
                moves.iter().zip(shares).map(|(made, shares)| (made.task, Scores::of(*shares, draw(shares, draws))));
            found.push(Scores::over_tasks(&drawn.collect::<Vec<(usize, Scores)>>())?);
        }
        let mean = |of: fn(&Scores) -> f64| found.iter().map(of).sum::<f64>() / found.len() as f64;
        let mut logs: Vec<f64> = found.iter().map(|scores| scores.log).collect();
        logs.sort_by(f64::total_cmp);
        let cut = (f64::from(DRAWS) * 0.025) as usize;
        Some(PerfectScore {
            mean: Scores { log: mean(|scores| scores.log), brier: mean(|scores| scores.brier) },
            log_range: Interval { lower: logs[cut], upper: logs[logs.len() - 1 - cut] },
        })
    }
}

/// Draws a move.
pub(super) fn draw(shares: &Shares, draws: &mut Draws) -> usize {
    let mut rest = draws.unit();
    for (column, share) in shares.iter().enumerate() {
        if rest < *share {
            return column;
        }
        rest -= share;
    }
    // Rounding may leave a trace of the last share that is not 0.
    shares.iter().rposition(|share| *share > 0.0).unwrap_or(0)
}

/// Returns the mean of each task.
pub(super) fn task_means(values: impl Iterator<Item = (usize, f64)>) -> BTreeMap<usize, f64> {
    let mut sums: BTreeMap<usize, [f64; 2]> = BTreeMap::new();
    for (task, value) in values {
        let [sum, count] = sums.entry(task).or_default();
        *sum += value;
        *count += 1.0;
    }
    sums.into_iter().map(|(task, [sum, count])| (task, sum / count)).collect()
}

/// Returns the mean over tasks of the means within each; `None` without values.
pub(super) fn mean_over_tasks(values: impl Iterator<Item = (usize, f64)>) -> Option<f64> {
    let means = task_means(values);
    (!means.is_empty()).then(|| means.values().sum::<f64>() / means.len() as f64)
}
