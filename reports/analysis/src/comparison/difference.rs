//! The difference in one metric over the pairs of one cell.

use std::collections::BTreeMap;

use super::{EpisodeMetrics, MetricDifference};
use crate::metric::Metric;
use crate::rate::CONFIDENCE;
use crate::statistics::{ClusterPairs, ClusterSums, Resamples, ThisSuite, clustered_difference, holm, ratio_interval};
use crate::summary::{Compared, Verdict, verdict};

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

/// Computes candidate minus base. `is_exact` says that the same scenarios would give the same pairs again. What `known` says of success is
/// taken from there.
pub(crate) fn difference(
    metric: Metric,
    clusters: &[Cluster],
    known: Option<Compared>,
    is_exact: bool,
    resamples: &mut Resamples,
) -> MetricDifference {
    let sum = |of: fn(&Cluster) -> u64| clusters.iter().map(of).sum::<u64>();
    let total = |of: fn(&Cluster) -> f64| clusters.iter().map(of).sum::<f64>();
    let (pairs, more, fewer) = (sum(|c| c.pairs), sum(|c| c.more), sum(|c| c.fewer));
    // The mean cost is unknown if that of any episode is. A rate has its own denominator, and tokens are those of episodes of which no
    // request was too long.
    let is_partial = metric.is_rate() || matches!(metric, Metric::Tokens | Metric::BilledTokens);
    let is_known = pairs > 0 && (is_partial || sum(|c| c.unknown) == 0);
    let mean = |total: f64| is_known.then(|| total / pairs as f64);
    let (base, candidate) = (total(|c| c.base), total(|c| c.candidate));
    let found = MetricDifference {
        metric,
        pairs,
        base: mean(base),
        candidate: mean(candidate),
        difference: mean(candidate - base),
        interval: None,
        method: None,
        more,
        fewer,
        clusters: clusters.iter().filter(|cluster| cluster.pairs > 0).count() as u64,
        p_value: None,
        p_adjusted: None,
        verdict: Verdict::Unknown,
        icc: None,
        this_suite: None,
    };
    match known {
        Some(Compared { gain, method, icc, this_suite }) if metric == Metric::Success => MetricDifference {
            interval: gain.interval,
            method,
            p_value: gain.p_value,
            p_adjusted: gain.p_adjusted,
            verdict: gain.verdict,
            icc,
            this_suite,
            ..found
        },
        _ if metric.is_rate() => {
            let of_pairs =
                |c: &Cluster| ClusterPairs { pairs: c.pairs, gains: c.more, losses: c.fewer, stratum: c.stratum };
            let counts: Vec<ClusterPairs> = clusters.iter().map(of_pairs).collect();
            let clustered = clustered_difference(&counts, CONFIDENCE);
            let is_equal = pairs > 0 && more + fewer == 0;
            let tested = clustered.filter(|_| !is_equal);
            MetricDifference {
                interval: tested.map(|clustered| clustered.interval),
                method: tested.map(|clustered| clustered.method),
                p_value: tested.map(|clustered| clustered.p_value),
                verdict: if is_equal { Verdict::Equal } else { Verdict::Unknown },
                icc: clustered.map(|clustered| clustered.icc),
                this_suite: ThisSuite::of(more, fewer, pairs, CONFIDENCE).filter(|_| !is_equal && !is_exact),
                ..found
            }
        }
        _ => {
            let sums = clusters.iter().filter(|cluster| cluster.pairs > 0).map(|c| ClusterSums {
                numerator: c.candidate - c.base,
                denominator: c.pairs as f64,
                stratum: c.stratum,
            });
            let interval = ratio_interval(&sums.collect::<Vec<_>>(), resamples, CONFIDENCE).filter(|_| is_known);
            MetricDifference {
                interval: interval.map(|(interval, _)| interval),
                method: interval.map(|(_, method)| method),
                verdict: interval.map_or(Verdict::Unknown, |(interval, _)| verdict(interval, None, 0)),
                ..found
            }
        }
    }
}

/// Adjusts the p-values of each rate over all cells by Holm's method, and decides the differences. Those of equal values count as any other;
/// those that are decided stay.
pub(super) fn adjust<'a>(cells: impl Iterator<Item = &'a mut Vec<MetricDifference>>) {
    let mut families: BTreeMap<Metric, Vec<&mut MetricDifference>> = BTreeMap::new();
    for entry in cells.flatten().filter(|entry| entry.metric.is_rate() && entry.p_adjusted.is_none()) {
        families.entry(entry.metric).or_default().push(entry);
    }
    for entries in families.into_values() {
        let equal = entries.iter().filter(|entry| entry.verdict == Verdict::Equal).map(|_| 1.0);
        let others: Vec<f64> = entries.iter().filter_map(|entry| entry.p_value).chain(equal.clone()).collect();
        let this: Vec<f64> = entries.iter().filter_map(|entry| Some(entry.this_suite?.p_value)).chain(equal).collect();
        let (mut others, mut this) = (holm(&others).into_iter().flatten(), holm(&this).into_iter().flatten());
        for entry in entries {
            if let Some(interval) = entry.interval {
                entry.p_adjusted = others.next();
                entry.verdict = verdict(interval, entry.p_adjusted, entry.clusters);
            }
            if let Some(this_suite) = &mut entry.this_suite {
                this_suite.p_adjusted = this.next();
            }
        }
    }
}
