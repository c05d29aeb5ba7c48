//! The difference in one metric over the pairs of one cell.

use super::{EpisodeMetrics, MetricDifference};
use crate::metric::Metric;
use crate::statistics::{ClusterPairs, ClusterSums, Resamples, ThisSuite, bca_ratio, clustered_difference};

/// The pairs of one cluster of scenarios in one metric.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cluster {
    pairs: u64,
    base: f64,
    candidate: f64,
    more: u64,
    fewer: u64,
    /// The number of pairs in which at least one side is null.
    unknown: u64,
    /// The number of its scenarios' family.
    stratum: u32,
}

impl Cluster {
    pub(crate) fn of_family(stratum: u32) -> Cluster {
        Cluster { stratum, ..Cluster::default() }
    }

    pub(crate) fn add(&mut self, metric: Metric, base: &EpisodeMetrics, candidate: &EpisodeMetrics) {
        let (Some(before), Some(after)) = (base.get(metric), candidate.get(metric)) else {
            self.unknown += 1;
            return;
        };
        self.pairs += 1;
        self.base += before;
        self.candidate += after;
        self.more += u64::from(after > before);
        self.fewer += u64::from(after < before);
    }
}

/// Computes candidate minus base. `is_exact` says that the same scenarios would give the same pairs again.
pub(crate) fn difference(
    metric: Metric,
    clusters: &[Cluster],
    confidence: f64,
    is_exact: bool,
    resamples: &mut Resamples,
) -> MetricDifference {
    let sum = |of: fn(&Cluster) -> u64| clusters.iter().map(of).sum::<u64>();
    let total = |of: fn(&Cluster) -> f64| clusters.iter().map(of).sum::<f64>();
    let (pairs, more, fewer) = (sum(|c| c.pairs), sum(|c| c.more), sum(|c| c.fewer));
    // The mean cost is unknown if that of any episode is. A rate has its own denominator.
    let known = pairs > 0 && (metric.is_rate() || sum(|c| c.unknown) == 0);
    let mean = |total: f64| known.then(|| total / pairs as f64);
    let (base, candidate) = (total(|c| c.base), total(|c| c.candidate));
    let of_pairs = |c: &Cluster| ClusterPairs { pairs: c.pairs, gains: c.more, losses: c.fewer, stratum: c.stratum };
    let counts: Vec<ClusterPairs> = clusters.iter().map(of_pairs).collect();
    let clustered = if metric.is_rate() { clustered_difference(&counts, confidence) } else { None };
    let interval = if metric.is_rate() {
        clustered.map(|clustered| clustered.interval)
    } else {
        let clusters: Vec<ClusterSums> = clusters
            .iter()
            .filter(|cluster| cluster.pairs > 0)
            .map(|c| ClusterSums { numerator: c.candidate - c.base, denominator: c.pairs as f64, stratum: c.stratum })
            .collect();
        bca_ratio(&clusters, resamples, confidence)
    };
    MetricDifference {
        metric,
        pairs,
        base: mean(base),
        candidate: mean(candidate),
        difference: mean(candidate - base),
        interval: interval.filter(|_| known),
        more,
        fewer,
        p_value: clustered.map(|clustered| clustered.p_value),
        p_adjusted: None,
        icc: clustered.map(|clustered| clustered.icc),
        this_suite: ThisSuite::of(more, fewer, pairs, confidence).filter(|_| metric.is_rate() && !is_exact),
    }
}
