use std::collections::BTreeMap;

use healbench_protocol::{DrawKey, Seed};
use statrs::distribution::{ContinuousCDF as _, Normal};

use super::{Interval, two_sided_z};

/// How many resamples an interval rests on, where not every possible one is taken.
pub const RESAMPLES: usize = 2000;

/// Up to this many clusters every possible resample is taken: 5^5 are 3,125.
const ENUMERATED: usize = 5;

/// The resamples of clusters that bootstrap intervals are made of: drawn once for a number of clusters, from the run's seed and
/// nothing else, and used for every interval over so many. The same rows have the same intervals, always.
#[derive(Debug, Clone)]
pub struct Resamples {
    key: DrawKey,
    count: usize,
    /// By number of clusters: the clusters of one resample after those of another.
    picks: BTreeMap<usize, Vec<u32>>,
}

impl Resamples {
    /// [`RESAMPLES`] resamples of any number of clusters; of up to five clusters, all there are.
    pub fn new(seed: Seed) -> Resamples {
        Resamples::with_count(seed, RESAMPLES)
    }

    /// As [`Resamples::new`], but this many.
    pub fn with_count(seed: Seed, count: usize) -> Resamples {
        Resamples { key: DrawKey::of_run(seed), count, picks: BTreeMap::new() }
    }

    fn of(&mut self, clusters: usize) -> impl Iterator<Item = &[u32]> {
        let picks = self.picks.entry(clusters).or_insert_with(|| {
            if clusters <= ENUMERATED { every(clusters) } else { drawn(&self.key, clusters, self.count) }
        });
        picks.chunks_exact(clusters.max(1))
    }
}

fn every(clusters: usize) -> Vec<u32> {
    let n = clusters as u32;
    (0..n.pow(n)).flat_map(|number| (0..n).map(move |place| number / n.pow(place) % n)).collect()
}

fn drawn(key: &DrawKey, clusters: usize, count: usize) -> Vec<u32> {
    let n = clusters as u64;
    let mut draws = key.draws("bootstrap", n);
    (0..clusters * count).map(|_| draws.below(n) as u32).collect()
}

/// What one cluster adds to both sides of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClusterSums {
    /// What is counted: tokens, successes.
    pub numerator: f64,
    /// Per what: episodes, pairs. Never negative.
    pub denominator: f64,
}

/// The interval of the mean of clusters, each counting the same: see [`bca_ratio`].
pub fn bca_mean(clusters: &[f64], resamples: &mut Resamples, confidence: f64) -> Option<Interval> {
    let clusters: Vec<ClusterSums> =
        clusters.iter().map(|value| ClusterSums { numerator: *value, denominator: 1.0 }).collect();
    bca_ratio(&clusters, resamples, confidence)
}

/// The bias-corrected and accelerated bootstrap interval of a ratio of sums over clusters, which are resampled whole.
///
/// B. Efron (1987), "Better bootstrap confidence intervals", JASA 82, 171-185, with the acceleration of the jackknife over clusters;
/// ties with the estimate count half, and percentiles are interpolated linearly, as scipy does both.
///
/// The estimate itself where every resample agrees with it. `None` for fewer than two clusters, where some cluster alone holds all
/// of the denominator, where so many resamples have no denominator that an end is not finite, for numbers that are not finite, and
/// when `confidence` is not between 0 and 1.
pub fn bca_ratio(clusters: &[ClusterSums], resamples: &mut Resamples, confidence: f64) -> Option<Interval> {
    let z = two_sided_z(confidence)?;
    let total = sum(clusters.iter());
    let estimate = ratio(total);
    let left_out: Vec<f64> = clusters
        .iter()
        .map(|cluster| {
            ratio(ClusterSums {
                numerator: total.numerator - cluster.numerator,
                denominator: total.denominator - cluster.denominator,
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
    percentiles(estimate, &resampled, acceleration(&left_out), z)
}

fn sum<'a>(clusters: impl Iterator<Item = &'a ClusterSums>) -> ClusterSums {
    let (mut numerator, mut denominator) = (0.0, 0.0);
    for cluster in clusters {
        numerator += cluster.numerator;
        denominator += cluster.denominator;
    }
    ClusterSums { numerator, denominator }
}

/// Without a denominator, larger than anything.
fn ratio(sums: ClusterSums) -> f64 {
    if sums.denominator > 0.0 { sums.numerator / sums.denominator } else { f64::INFINITY }
}

/// How fast the standard error changes with what is estimated, from the estimates that leave out one cluster each.
fn acceleration(left_out: &[f64]) -> f64 {
    let mean = left_out.iter().sum::<f64>() / left_out.len() as f64;
    let (mut squares, mut cubes) = (0.0, 0.0);
    for value in left_out {
        let distance = mean - value;
        squares += distance * distance;
        cubes += distance * distance * distance;
    }
    // Without spread every resample agrees as well, and the acceleration of nothing is not asked for.
    if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
}

/// The corrected percentiles of the sorted resamples.
fn percentiles(estimate: f64, sorted: &[f64], acceleration: f64, z: f64) -> Option<Interval> {
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    // The order of a sum moves its last digits; that is neither spread nor a difference.
    let largest =
        [estimate, first, last].into_iter().filter(|value| value.is_finite()).fold(0.0, |a, b| b.abs().max(a));
    let rounding = 1e-12 * largest;
    if first >= estimate - rounding && last <= estimate + rounding {
        return Some(Interval { lower: estimate, upper: estimate });
    }
    let below = sorted.partition_point(|value| *value < estimate - rounding);
    let not_above = sorted.partition_point(|value| *value <= estimate + rounding);
    let count = sorted.len() as f64;
    // Never quite 0 or 1, where the correction would be infinite.
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

/// Interpolated linearly between neighbours: definition 7 of R. J. Hyndman and Y. Fan (1996), "Sample quantiles in statistical
/// packages", The American Statistician 50, 361-365.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    // Equal neighbours may both be infinite.
    if low == high { low } else { low + (high - low) * place.fract() }
}
