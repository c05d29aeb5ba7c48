use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::student::strata;
use super::tango::{interval_within, score, tango};
use super::{ClusterSums, ClusteredMean, Interval, NonInferiority, clustered_mean, mcnemar_mid_p, non_inferiority};

/// The pairs of one cluster, such as those of the trials of one scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClusterPairs {
    /// The number of pairs.
    pub pairs: u64,
    /// Pairs with a success only on the first side.
    pub gains: u64,
    /// Pairs with a success only on the second side.
    pub losses: u64,
    /// The number of its stratum: the family of its scenarios.
    pub stratum: u32,
}

/// The difference of two paired proportions over clusters that are a sample of more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClusteredDifference {
    /// The differences that the test does not reject.
    pub interval: Interval,
    /// The two-sided p-value of no difference.
    pub p_value: f64,
    /// The intraclass correlation of the pairs' differences, of which only values above 0 widen the interval. 0 with one pair per
    /// cluster, 1 if all differences are equal.
    pub icc: f64,
    /// The number of clusters with pairs.
    pub clusters: u64,
    /// [`Method::Score`] or [`Method::Strata`].
    pub method: Method,
}

/// The method of an interval for other scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The clustered score interval of a difference of paired proportions.
    Score,
    /// The BCa bootstrap over clusters of scenarios.
    Bootstrap,
    /// Student's t with families of scenarios as strata.
    Strata,
}

/// A difference of two paired proportions if the same scenarios were run again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ThisSuite {
    /// Tango's score interval.
    pub interval: Interval,
    /// McNemar's two-sided mid-p test.
    pub p_value: f64,
    /// The same, adjusted by Holm for the same family as the p-value on other scenarios.
    pub p_adjusted: Option<f64>,
}

impl ThisSuite {
    /// Returns `None` as [`tango()`] does.
    pub fn of(gains: u64, losses: u64, pairs: u64, confidence: f64) -> Option<ThisSuite> {
        let interval = tango(gains, losses, pairs, confidence)?;
        Some(ThisSuite { interval, p_value: mcnemar_mid_p(gains, losses), p_adjusted: None })
    }
}

/// Returns the difference with an interval that accounts for clusters: what a new sample of as many clusters would
/// show.
///
/// The score of Tango's test is divided by the square root of the design effect 1 + (m - 1) ICC, with
/// m = Σ mₛ² / Σ mₛ for mₛ pairs in cluster s, and compared with Student's t for one degree of freedom less than
/// clusters. Interval and p-value come from this statistic alone.
///
/// Clusters of several strata, whose shares are fixed, have the interval and the test of [`clustered_mean`] instead, unless they do not
/// differ within any.
///
/// Returns `None` for fewer than two clusters with pairs, for more discordant pairs than pairs in a cluster, or if
/// `confidence` is not between 0 and 1.
///
/// Z. Yang, X. Sun, J. W. Hardin (2012), "Confidence intervals for the difference of marginal probabilities in clustered
/// matched-pair binary data", Pharmaceutical Statistics 11, 386-393; V. L. Durkalski, Y. Y. Palesch, S. R. Lipsitz,
/// P. F. Rust (2003), "Analysis of clustered matched-pair data", Statistics in Medicine 22, 2417-2428.
pub fn clustered_difference(clusters: &[ClusterPairs], confidence: f64) -> Option<ClusteredDifference> {
    let used: Vec<&ClusterPairs> = clusters.iter().filter(|cluster| cluster.pairs > 0).collect();
    let is_valid = |c: &&ClusterPairs| c.gains.checked_add(c.losses).is_some_and(|discordant| discordant <= c.pairs);
    if used.len() < 2 || !used.iter().all(is_valid) || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let sum = |of: fn(&ClusterPairs) -> u64| used.iter().map(|cluster| of(cluster)).sum::<u64>();
    let (pairs, gains, losses) = (sum(|c| c.pairs), sum(|c| c.gains), sum(|c| c.losses));
    let icc = intraclass_correlation(&used);
    let clusters = used.len() as u64;
    let sums = sums_of(&used);
    if strata(&sums.iter().collect::<Vec<_>>()).len() > 1
        && let Some(ClusteredMean { interval: Interval { lower, upper }, p_value }) = clustered_mean(&sums, confidence)
    {
        let interval = Interval { lower: lower.max(-1.0), upper: upper.min(1.0) };
        return Some(ClusteredDifference { interval, p_value, icc, clusters, method: Method::Strata });
    }
    let squares: f64 = used.iter().map(|cluster| (cluster.pairs as f64).powi(2)).sum();
    let inflation = (1.0 + (squares / pairs as f64 - 1.0) * icc.max(0.0)).sqrt();
    let t = StudentsT::new(0.0, 1.0, used.len() as f64 - 1.0).ok()?;
    let size = pairs as f64;
    let statistic = score(gains as f64 / size, losses as f64 / size, size, 0.0) / inflation;
    Some(ClusteredDifference {
        interval: interval_within(gains, losses, pairs, t.inverse_cdf(0.5 + confidence / 2.0) * inflation),
        p_value: (2.0 * t.cdf(-statistic.abs())).min(1.0),
        icc,
        clusters,
        method: Method::Score,
    })
}

/// Returns gains minus losses, and pairs.
fn sums_of(clusters: &[&ClusterPairs]) -> Vec<ClusterSums> {
    let sums = |c: &&ClusterPairs| ClusterSums {
        numerator: c.gains as f64 - c.losses as f64,
        denominator: c.pairs as f64,
        stratum: c.stratum,
    };
    clusters.iter().map(sums).collect()
}

/// Compares gains and losses over clusters with a margin, for a new sample of as many clusters: the interval of
/// [`clustered_difference`] decides as in [`non_inferiority()`], and with fewer than [`fewest_clusters`] nothing holds.
///
/// Returns `None` as [`clustered_difference`] does.
pub fn clustered_non_inferiority(clusters: &[ClusterPairs], margin: f64, confidence: f64) -> Option<NonInferiority> {
    let found = clustered_difference(clusters, confidence)?;
    let is_enough = fewest_clusters(margin).is_some_and(|fewest| found.clusters >= fewest);
    Some(match non_inferiority(found.interval, margin) {
        NonInferiority::Holds if !is_enough => NonInferiority::Inconclusive,
        conclusion => conclusion,
    })
}

/// Returns the ANOVA estimate of the intraclass correlation of the differences: 1 for a gain, -1 for a loss, 0 for any
/// other pair. 0 with one pair per cluster. 1 if all differences are equal, which says nothing of their correlation: then
/// each cluster counts once.
fn intraclass_correlation(clusters: &[&ClusterPairs]) -> f64 {
    let sum = |of: fn(&ClusterPairs) -> f64| clusters.iter().map(|cluster| of(cluster)).sum::<f64>();
    let count = clusters.len() as f64;
    let pairs = sum(|c| c.pairs as f64);
    let difference = |c: &ClusterPairs| c.gains as f64 - c.losses as f64;
    let between_sum = sum(|c| (c.gains as f64 - c.losses as f64).powi(2) / c.pairs as f64)
        - sum(|c| c.gains as f64 - c.losses as f64).powi(2) / pairs;
    let within_sum: f64 =
        clusters.iter().map(|c| (c.gains + c.losses) as f64 - difference(c).powi(2) / c.pairs as f64).sum();
    if pairs <= count {
        return 0.0;
    }
    let (between, within) = (between_sum / (count - 1.0), within_sum / (pairs - count));
    let mean_size = (pairs - sum(|c| (c.pairs as f64).powi(2)) / pairs) / (count - 1.0);
    let total = between + (mean_size - 1.0) * within;
    // Rounding may leave a trace of a sum of squares that is 0.
    if total > 1e-12 { (between - within) / total } else { 1.0 }
}

/// Returns the smallest number of clusters of which a sample without a single loss rules out, at the one-sided level of 5%, that
/// losses beyond `margin` are in all clusters alike: ln 0.05 / ln(1 - margin). A margin of 5 points needs 59, of 10 points 29, of 15
/// points 19.
///
/// Returns `None` unless the margin is above 0 and below 1.
pub fn fewest_clusters(margin: f64) -> Option<u64> {
    (margin > 0.0 && margin < 1.0).then(|| (0.05_f64.ln() / (1.0 - margin).ln()).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clusters(counts: &[[u64; 3]]) -> Vec<ClusterPairs> {
        counts
            .iter()
            .map(|[pairs, gains, losses]| ClusterPairs { pairs: *pairs, gains: *gains, losses: *losses, stratum: 0 })
            .collect()
    }

    /// A second implementation computed these values: the variance by a numeric maximum of the likelihood, the ICC from
    /// single pairs, the ends by scipy 1.17.1's brentq.
    #[test]
    fn intervals_are_those_of_a_second_implementation() {
        let unequal = [[5, 1, 0], [3, 0, 1], [4, 2, 0], [6, 3, 0], [2, 0, 0], [5, 0, 0], [1, 1, 0]];
        let single = [[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 0]];
        let alike = [[20, 2, 1], [20, 1, 2], [20, 0, 1], [20, 2, 2], [20, 1, 1], [20, 1, 0], [20, 0, 0], [20, 3, 2]];
        let strong = [[20, 20, 0], [20, 0, 0], [20, 10, 0], [20, 0, 2], [20, 15, 1], [20, 0, 0]];
        let table: [(&[[u64; 3]], [f64; 4]); 4] = [
            (&strong, [0.633_720_275, -0.236_377_325, 0.735_107_722, 0.154_045_280]),
            (&unequal, [0.236_917_440, -0.170_048_370, 0.568_077_934, 0.166_921_849]),
            (&single, [0.0, -0.288_203_518, 0.778_966_442, 0.221_601_419]),
            (&alike, [-0.037_221_432, -0.064_152_462, 0.077_441_085, 0.825_104_936]),
        ];
        for (counts, [icc, lower, upper, p_value]) in table {
            let found = clustered_difference(&clusters(counts), 0.95).unwrap();
            let numbers = [found.icc, found.interval.lower, found.interval.upper, found.p_value];
            for (found, expected) in numbers.into_iter().zip([icc, lower, upper, p_value]) {
                assert!((found - expected).abs() < 1e-6, "{counts:?}: {numbers:?}");
            }
            assert_eq!(found.clusters, counts.len() as u64);
        }
        // If all differences are equal, the trials of a scenario count once: t² / (12 + t²) with 11 degrees of freedom.
        let same = clustered_difference(&clusters(&[[10, 0, 0]; 12]), 0.95).unwrap();
        assert!(
            (same.interval.upper - 0.287_594_344).abs() < 1e-6 && same.p_value == 1.0 && same.icc == 1.0,
            "{same:?}"
        );
        let once = clustered_difference(&clusters(&[[1, 0, 0]; 12]), 0.95).unwrap();
        assert!((same.interval.upper - once.interval.upper).abs() < 1e-9, "{once:?}");
        // A cluster without pairs is none.
        let mut with_empty = strong.to_vec();
        with_empty.push([0, 0, 0]);
        assert_eq!(clustered_difference(&clusters(&with_empty), 0.95), clustered_difference(&clusters(&strong), 0.95));
    }

    #[test]
    fn too_few_clusters_and_impossible_counts_have_no_difference() {
        assert_eq!(clustered_difference(&clusters(&[[20, 10, 0]]), 0.95), None);
        assert_eq!(clustered_difference(&clusters(&[[2, 2, 1], [2, 0, 0]]), 0.95), None);
        assert_eq!(clustered_difference(&clusters(&[[2, 2, 0], [2, 0, 0]]), 1.0), None);
    }

    #[test]
    fn the_fewest_clusters_of_a_margin() {
        assert_eq!([0.05, 0.1, 0.15].map(fewest_clusters), [Some(59), Some(29), Some(19)]);
        assert_eq!([0.0, 1.0, f64::NAN].map(fewest_clusters), [None; 3]);
    }
}
