use std::collections::BTreeMap;

use healbench_core::{DrawKey, Seed};
use statrs::distribution::{ContinuousCDF as _, Normal};

use super::student::strata;
use super::{Interval, Method, clustered_mean, two_sided_z};

/// The number of resamples, unless all possible resamples are enumerated.
pub const RESAMPLES: usize = 2000;

/// Up to this number of clusters, all possible resamples are enumerated: 5^5 = 3,125.
const MAX_ENUMERATED: usize = 5;

/// The resamples of clusters for bootstrap intervals. They depend only on the run's seed and the number of clusters,
/// and are used for every interval over that many clusters, so that equal rows always have equal intervals.
#[derive(Debug, Clone)]
pub struct Resamples {
    key: DrawKey,
    count: usize,
    /// The cluster indices of all resamples, one resample after another, by number of clusters.
    picks: BTreeMap<usize, Vec<u32>>,
}

impl Resamples {
    /// Creates [`RESAMPLES`] resamples for any number of clusters; all possible ones for up to five clusters.
    pub fn new(seed: Seed) -> Resamples {
        Resamples::with_count(seed, RESAMPLES)
    }

    /// Creates `count` resamples instead of [`RESAMPLES`]; otherwise as [`Resamples::new`].
    pub fn with_count(seed: Seed, count: usize) -> Resamples {
        Resamples { key: DrawKey::of_run(seed), count, picks: BTreeMap::new() }
    }

    fn of(&mut self, clusters: usize) -> impl Iterator<Item = &[u32]> {
        let picks = self.picks.entry(clusters).or_insert_with(|| {
            if clusters <= MAX_ENUMERATED {
                all_resamples(clusters)
            } else {
                drawn_resamples(&self.key, clusters, self.count)
            }
        });
        picks.chunks_exact(clusters.max(1))
    }
}

fn all_resamples(clusters: usize) -> Vec<u32> {
    let n = clusters as u32;
    (0..n.pow(n)).flat_map(|number| (0..n).map(move |position| number / n.pow(position) % n)).collect()
}

fn drawn_resamples(key: &DrawKey, clusters: usize, count: usize) -> Vec<u32> {
    let n = clusters as u64;
    let mut draws = key.draws("bootstrap", n);
    (0..clusters * count).map(|_| draws.below(n) as u32).collect()
}

/// The contribution of one cluster to both sides of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClusterSums {
    /// The sum of the counted quantity, such as tokens or successes.
    pub numerator: f64,
    /// The number of units, such as episodes or pairs. Never negative.
    pub denominator: f64,
    /// The number of its stratum: the family of its scenarios.
    pub stratum: u32,
}

/// Returns the interval of the mean of clusters with equal weights; see [`bca_ratio`].
pub fn bca_mean(clusters: &[f64], resamples: &mut Resamples, confidence: f64) -> Option<Interval> {
    let clusters: Vec<ClusterSums> =
        clusters.iter().map(|value| ClusterSums { numerator: *value, denominator: 1.0, stratum: 0 }).collect();
    bca_ratio(&clusters, resamples, confidence)
}

/// Returns the bias-corrected and accelerated bootstrap interval of a ratio of sums over clusters. Whole clusters are
/// resampled.
///
/// B. Efron (1987), "Better bootstrap confidence intervals", JASA 82, 171-185, with the jackknife acceleration over
/// clusters. Ties with the estimate count half and percentiles are interpolated linearly, as in scipy.
///
/// Clusters of several strata have the interval of [`clustered_mean`] instead, unless they do not differ within any.
///
/// If every resample equals the estimate, both ends are the estimate. Returns `None` for fewer than two clusters, if
/// one cluster holds all of the denominator, if so many resamples have no denominator that an end is not finite, for
/// numbers that are not finite, and if `confidence` is not between 0 and 1.
pub fn bca_ratio(clusters: &[ClusterSums], resamples: &mut Resamples, confidence: f64) -> Option<Interval> {
    ratio_interval(clusters, resamples, confidence).map(|(interval, _)| interval)
}

/// Returns the interval of [`bca_ratio`] with its method.
pub fn ratio_interval(
    clusters: &[ClusterSums],
    resamples: &mut Resamples,
    confidence: f64,
) -> Option<(Interval, Method)> {
    let used: Vec<&ClusterSums> = clusters.iter().filter(|cluster| cluster.denominator > 0.0).collect();
    if strata(&used).len() > 1
        && let Some(mean) = clustered_mean(clusters, confidence)
    {
        return Some((mean.interval, Method::Strata));
    }
    let z = two_sided_z(confidence)?;
    let total = sum(clusters.iter());
    let estimate = ratio(total);
    let left_out: Vec<f64> = clusters
        .iter()
        .map(|cluster| {
            ratio(ClusterSums {
                numerator: total.numerator - cluster.numerator,
                denominator: total.denominator - cluster.denominator,
                stratum: 0,
            })
        })
        .collect();
    if clusters.len() < 2 || !estimate.is_finite() || left_out.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut resampled: Vec<f64> = resamples
        .of(clusters.len())
        .map(|picks| ratio(sum(picks.iter().map(|pick| &clusters[*pick as usize]))))
        .collect();
    resampled.sort_unstable_by(f64::total_cmp);
    percentiles(estimate, &resampled, acceleration(&left_out), z).map(|interval| (interval, Method::Bootstrap))
}

fn sum<'a>(clusters: impl Iterator<Item = &'a ClusterSums>) -> ClusterSums {
    let (mut numerator, mut denominator) = (0.0, 0.0);
    for cluster in clusters {
        numerator += cluster.numerator;
        denominator += cluster.denominator;
    }
    ClusterSums { numerator, denominator, stratum: 0 }
}

/// Returns infinity if the denominator is 0.
fn ratio(sums: ClusterSums) -> f64 {
    if sums.denominator > 0.0 { sums.numerator / sums.denominator } else { f64::INFINITY }
}

/// Returns the acceleration, the rate of change of the standard error with the estimate, from the leave-one-out
/// estimates.
fn acceleration(left_out: &[f64]) -> f64 {
    let mean = left_out.iter().sum::<f64>() / left_out.len() as f64;
    let (mut squares, mut cubes) = (0.0, 0.0);
    for value in left_out {
        let distance = mean - value;
        squares += distance * distance;
        cubes += distance * distance * distance;
    }
    // Without spread the acceleration is undefined and not needed: every resample equals the estimate.
    if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
}

/// Returns the corrected percentiles of the sorted resamples.
fn percentiles(estimate: f64, sorted: &[f64], acceleration: f64, z: f64) -> Option<Interval> {
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    // The order of summation changes the last digits of a sum. Differences that small count as none.
    let largest =
        [estimate, first, last].into_iter().filter(|value| value.is_finite()).fold(0.0, |a, b| b.abs().max(a));
    let rounding = 1e-12 * largest;
    if first >= estimate - rounding && last <= estimate + rounding {
        return Some(Interval { lower: estimate, upper: estimate });
    }
    let below = sorted.partition_point(|value| *value < estimate - rounding);
    let not_above = sorted.partition_point(|value| *value <= estimate + rounding);
    let count = sorted.len() as f64;
    // At exactly 0 or 1 the correction would be infinite.
    let share = ((below + not_above) as f64 / (2.0 * count)).clamp(0.5 / count, 1.0 - 0.5 / count);
    let normal = Normal::standard();
    let bias = normal.inverse_cdf(share);
    let end = |z: f64| {
        let moved = bias + z;
        let share = normal.cdf(bias + moved / (1.0 - acceleration * moved));
        Some(percentile(sorted, share)).filter(|value| value.is_finite())
    };
    Some(Interval { lower: end(-z)?, upper: end(z)? })
}

/// Interpolates linearly between neighbours: definition 7 of R. J. Hyndman and Y. Fan (1996), "Sample quantiles in
/// statistical packages", The American Statistician 50, 361-365.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    // Equal neighbours may both be infinite, and their difference NaN.
    if low == high { low } else { low + (high - low) * position.fract() }
}
