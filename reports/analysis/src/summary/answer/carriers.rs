//! The clusters of scenarios that a difference stands on.

use std::collections::BTreeMap;

use super::decide::{Context, Names};
use super::{Carried, Carrier, EQUIVALENCE};
use crate::metric::RowMetric;
use crate::rate::Rate;

/// A larger share of the absolute differences carries them.
const LARGE_SHARE: f64 = 0.2;
/// Of fewer clusters, one has a large share as a rule.
const FEWEST_CLUSTERS: usize = 10;

/// Returns the clusters that carry the difference between two conditions, in success if it is at least 5 points, and in billed tokens, the
/// largest shares first.
pub(super) fn carriers(
    context: &Context<'_>,
    names: &Names,
    agent: usize,
    [first, second]: [usize; 2],
) -> Vec<Carrier> {
    let metrics = [(Carried::Success, RowMetric::Success), (Carried::Tokens, RowMetric::BilledTokensPerEpisode)];
    metrics
        .into_iter()
        .flat_map(|(of, metric)| carriers_of(context, names, agent, [first, second], of, metric))
        .collect()
}

fn carriers_of(
    context: &Context<'_>,
    names: &Names,
    agent: usize,
    [first, second]: [usize; 2],
    of: Carried,
    metric: RowMetric,
) -> Vec<Carrier> {
    let mut clusters: BTreeMap<&str, [[u64; 2]; 2]> = BTreeMap::new();
    for (scenario, planned) in context.plan.scenarios.iter().enumerate() {
        let sums = clusters.entry(&planned.cluster).or_default();
        for (sum, condition) in sums.iter_mut().zip([first, second]) {
            let rate = (context.cell_rate)([scenario, agent, condition], metric);
            *sum = [sum[0] + rate.numerator, sum[1] + rate.denominator];
        }
    }
    clusters.retain(|_, sums| sums.iter().all(|[_, episodes]| *episodes > 0));
    let size = |[here, there]: [[u64; 2]; 2]| {
        let mean = |[sum, episodes]: [u64; 2]| sum as f64 / episodes as f64;
        (mean(here) - mean(there)).abs()
    };
    let all: f64 = clusters.values().map(|sums| size(*sums)).sum();
    let is_small = || {
        let difference = context.pairs.gain(agent, first, second).difference;
        of == Carried::Success && difference.is_none_or(|difference| difference.abs() < EQUIVALENCE)
    };
    if clusters.len() < FEWEST_CLUSTERS || all <= 0.0 || is_small() {
        return Vec::new();
    }
    let total = |side: usize, part: usize| clusters.values().map(|sums| sums[side][part]).sum::<u64>();
    let without = |sums: &[[u64; 2]; 2]| {
        [0, 1].map(|side| Rate::of(total(side, 0) - sums[side][0], total(side, 1) - sums[side][1]))
    };
    let mut found: Vec<Carrier> = clusters
        .iter()
        .map(|(name, sums)| Carrier {
            cluster: (*name).to_owned(),
            of,
            conditions: [first, second].map(|condition| names.names[condition].clone()),
            share: size(*sums) / all,
            without: without(sums),
        })
        .filter(|carrier| carrier.share > LARGE_SHARE)
        .collect();
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}
