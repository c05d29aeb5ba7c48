//! Standard errors and intervals of fitted numbers. Tasks are the clusters.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF as _, Normal, StudentsT};

use super::model::{Estimate, times_odds};
use crate::rate::CONFIDENCE;
use crate::statistics::{ClusterSums, Interval};

/// The degrees of freedom from which on Student's t is taken for the normal distribution.
const MANY: f64 = 200.0;

/// The largest logarithm of a factor of odds that is looked for.
const LARGEST_LOG: f64 = 12.0;

/// The moves that inform a share, by task.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    /// By task: the weight of the moves that count, and that of all.
    clusters: BTreeMap<usize, ClusterSums>,
    /// The sum of all weights.
    weight: f64,
    /// The sum of their squares.
    squares: f64,
    moves: u64,
}

impl Sample {
    pub(super) fn add(&mut self, task: usize, weight: f64, counts: bool) {
        let sums = self.clusters.entry(task).or_insert(ClusterSums { numerator: 0.0, denominator: 0.0, stratum: 0 });
        sums.numerator += if counts { weight } else { 0.0 };
        sums.denominator += weight;
        self.weight += weight;
        self.squares += weight * weight;
        self.moves += 1;
    }

    /// Returns the share, drawn towards another with the weight of `strength` moves.
    pub(super) fn shrunk(&self, towards: f64, strength: f64) -> f64 {
        let counted: f64 = self.clusters.values().map(|sums| sums.numerator).sum();
        (counted + strength * towards) / (self.weight + strength)
    }

    /// Returns the estimate of a share whose value was drawn towards another with the weight of `strength` moves.
    ///
    /// The variance of the sample is that of a ratio over clusters, and at least that of independent moves. Where the other share depends on the
    /// sample too, `whole` is the variance of both together. The other share is taken for the mean of a distribution of which this one was
    /// drawn, as a Dirichlet distribution with this strength. The interval is Wilson's for the number of independent moves that would have the
    /// same standard error, with Student's t.
    pub(super) fn estimate(&self, value: f64, strength: f64, whole: Option<f64>) -> Estimate {
        let (tasks, moves) = (self.clusters.len() as u64, self.moves);
        if moves == 0 {
            return Estimate { value, standard_error: None, interval: None, tasks, moves };
        }
        let spread = value * (1.0 - value);
        let count = tasks as f64;
        let own_share = self.weight / (self.weight + strength);
        let whole = whole.filter(|_| tasks > 1).map_or(0.0, |whole| whole * count / (count - 1.0));
        let own = whole.max(own_share.powi(2) * self.variance(spread));
        let others = (1.0 - own_share).powi(2) * spread / (strength + 1.0);
        let variance = own + others;
        // Welch and Satterthwaite: only the sample has few degrees of freedom.
        let freedom = (count - 1.0).max(1.0) * (variance / own).powi(2);
        Estimate {
            value,
            standard_error: Some(variance.sqrt()),
            interval: Some(wilson_like(value, variance, quantile(freedom))),
            tasks,
            moves,
        }
    }

    /// Returns the variance of the share of the sample.
    fn variance(&self, spread: f64) -> f64 {
        let count = self.clusters.len() as f64;
        let independent = spread * self.squares / self.weight.powi(2);
        if count < 2.0 {
            // Nothing tells how much other tasks differ: this one counts once.
            return spread;
        }
        let mean = self.shrunk(0.0, 0.0);
        let squares = self.clusters.values().map(|sums| (sums.numerator - sums.denominator * mean).powi(2));
        independent.max(count / (count - 1.0) * squares.sum::<f64>() / self.weight.powi(2))
    }
}

fn quantile(freedom: f64) -> f64 {
    let share = 0.5 + CONFIDENCE / 2.0;
    let student = (freedom < MANY).then(|| StudentsT::new(0.0, 1.0, freedom).ok()).flatten();
    student.map_or_else(|| Normal::standard().inverse_cdf(share), |student| student.inverse_cdf(share))
}

/// Returns Wilson's interval of a share with this variance.
fn wilson_like(share: f64, variance: f64, quantile: f64) -> Interval {
    let spread = share * (1.0 - share);
    if spread <= 0.0 || variance <= 0.0 {
        return Interval { lower: share, upper: share };
    }
    let q = quantile.powi(2) * variance / spread;
    let (centre, half) = (share + q / 2.0, (q * spread + q * q / 4.0).sqrt());
    Interval { lower: ((centre - half) / (1.0 + q)).max(0.0), upper: ((centre + half) / (1.0 + q)).min(1.0) }
}

/// A move that stopped or did not, and the share that was to be expected.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpectedStop {
    pub(super) task: usize,
    pub(super) weight: f64,
    /// The expected share, between 0 and 1.
    pub(super) share: f64,
    pub(super) stopped: bool,
}

/// Returns the natural logarithm of the factor of the odds of stopping: expected stops are equated with observed ones, among them half a move that
/// stopped and half a move that did not, of even odds.
pub(super) fn log_factor(moves: &[ExpectedStop]) -> f64 {
    let excess = |log: f64| {
        let shares = moves.iter().map(|made| made.weight * (stopped(made) - times_odds(made.share, log.exp())));
        shares.sum::<f64>() + 0.5 - times_odds(0.5, log.exp())
    };
    let (mut low, mut high) = (-LARGEST_LOG, LARGEST_LOG);
    // The excess falls as the factor grows.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if excess(middle) > 0.0 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Returns the factor of the odds of stopping, 1 unless its interval excludes it, and the standard error of its logarithm. `whole` is the
/// variance of the logarithm with that of the expected shares; the least is the variance with known shares, of the sums over tasks.
pub(super) fn stop_factor(moves: &[ExpectedStop], whole: f64) -> Estimate {
    let log = log_factor(moves);
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    let (mut slope, mut independent) = (0.25, 0.25);
    for made in moves {
        let share = times_odds(made.share, log.exp());
        *sums.entry(made.task).or_default() += made.weight * (stopped(made) - share);
        slope += made.weight * share * (1.0 - share);
        independent += made.weight.powi(2) * share * (1.0 - share);
    }
    let (tasks, moves) = (sums.len() as u64, moves.len() as u64);
    if tasks < 2 {
        return Estimate { value: 1.0, standard_error: None, interval: None, tasks, moves };
    }
    let count = tasks as f64;
    let clustered = count / (count - 1.0) * sums.values().map(|sum| sum * sum).sum::<f64>();
    let error = (clustered.max(independent) / (slope * slope)).max(whole).sqrt();
    let width = quantile(count - 1.0) * error;
    let interval = Interval { lower: (log - width).exp(), upper: (log + width).exp() };
    let is_one = interval.lower <= 1.0 && interval.upper >= 1.0;
    let value = if is_one { 1.0 } else { log.exp() };
    Estimate { value, standard_error: Some(error), interval: Some(interval), tasks, moves }
}

fn stopped(made: &ExpectedStop) -> f64 {
    if made.stopped { 1.0 } else { 0.0 }
}
