//! The clusters of scenarios that a difference stands on.

use std::collections::BTreeMap;

use super::decide::{Context, Names};
use super::{Carried, Carrier, EQUIVALENCE, SavingWithout};
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

/// The sum and the number of episodes under each of two conditions.
type Sums = [[u64; 2]; 2];

/// Returns the sums of a metric by cluster, over the scenarios that have episodes under both conditions.
fn clusters<'a>(
    context: &Context<'a>,
    agent: usize,
    conditions: [usize; 2],
    metric: RowMetric,
) -> BTreeMap<&'a str, Sums> {
    let mut clusters: BTreeMap<&str, Sums> = BTreeMap::new();
    for (scenario, planned) in context.plan.scenarios.iter().enumerate() {
        let rates = conditions.map(|condition| (context.cell_rate)([scenario, agent, condition], metric));
        if rates.iter().all(|rate| rate.denominator > 0) {
            let sums = clusters.entry(&planned.cluster).or_default();
            for (sum, rate) in sums.iter_mut().zip(rates) {
                *sum = [sum[0] + rate.numerator, sum[1] + rate.denominator];
            }
        }
    }
    clusters
}

/// The absolute difference of the means.
fn size([here, there]: Sums) -> f64 {
    let mean = |[sum, episodes]: [u64; 2]| sum as f64 / episodes as f64;
    (mean(here) - mean(there)).abs()
}

/// Returns the share of billed tokens that a condition saves against another one, over the scenarios that have episodes under both, and
/// without the cluster that carries most of it.
pub(super) fn saving(
    context: &Context<'_>,
    agent: usize,
    conditions: [usize; 2],
) -> Option<(f64, Option<SavingWithout>)> {
    let clusters = clusters(context, agent, conditions, RowMetric::BilledTokensPerEpisode);
    let saved = |without: Option<&str>| {
        let mut sums = Sums::default();
        for (_, cluster) in clusters.iter().filter(|(name, _)| Some(**name) != without) {
            for (sum, part) in sums.iter_mut().zip(cluster) {
                *sum = [sum[0] + part[0], sum[1] + part[1]];
            }
        }
        let [here, there] = sums.map(|[sum, episodes]| sum as f64 / episodes as f64);
        (there > 0.0).then_some(1.0 - here / there)
    };
    let all: f64 = clusters.values().map(|sums| size(*sums)).sum();
    let largest = clusters.iter().max_by(|a, b| size(*a.1).total_cmp(&size(*b.1)));
    let carrier = largest.filter(|(_, sums)| clusters.len() >= FEWEST_CLUSTERS && size(**sums) / all > LARGE_SHARE);
    let without = carrier
        .and_then(|(cluster, _)| Some(SavingWithout { cluster: (*cluster).to_owned(), saving: saved(Some(cluster))? }));
    Some((saved(None)?, without))
}

/// Returns the number of scenarios in which the first condition costs less than the second in the mean, and of those with episodes under
/// both.
pub(super) fn cheaper_scenarios(context: &Context<'_>, agent: usize, conditions: [usize; 2]) -> [u64; 2] {
    let costs = (0..context.plan.scenarios.len()).filter_map(|scenario| {
        let cost =
            |condition| (context.cell_rate)([scenario, agent, condition], RowMetric::BilledTokensPerEpisode).rate;
        cost(conditions[0]).zip(cost(conditions[1]))
    });
    costs.fold([0, 0], |[cheaper, all], (here, there)| [cheaper + u64::from(here < there), all + 1])
}

fn carriers_of(
    context: &Context<'_>,
    names: &Names,
    agent: usize,
    [first, second]: [usize; 2],
    of: Carried,
    metric: RowMetric,
) -> Vec<Carrier> {
    let clusters = clusters(context, agent, [first, second], metric);
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
