//! The clusters of scenarios that a difference stands on.

use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{PlannedScenario, family};

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

/// Returns the sums of a metric by cluster or family, over the scenarios that have episodes under both conditions.
fn sums_by<'a>(
    key: fn(&PlannedScenario) -> &str,
    context: &Context<'a>,
    agent: usize,
    conditions: [usize; 2],
    metric: RowMetric,
) -> BTreeMap<&'a str, Sums> {
    let mut groups: BTreeMap<&str, Sums> = BTreeMap::new();
    for (scenario, planned) in context.plan.scenarios.iter().enumerate() {
        let rates = conditions.map(|condition| (context.cell_rate)([scenario, agent, condition], metric));
        if rates.iter().all(|rate| rate.denominator > 0) {
            let sums = groups.entry(key(planned)).or_default();
            for (sum, rate) in sums.iter_mut().zip(rates) {
                *sum = [sum[0] + rate.numerator, sum[1] + rate.denominator];
            }
        }
    }
    groups
}

/// The absolute difference of the means.
fn size([here, there]: Sums) -> f64 {
    let mean = |[sum, episodes]: [u64; 2]| sum as f64 / episodes as f64;
    (mean(here) - mean(there)).abs()
}

/// Returns the cluster with the largest share of the absolute differences; `None` if it does not carry them.
fn carrier<'a>(clusters: &BTreeMap<&'a str, Sums>) -> Option<&'a str> {
    let all: f64 = clusters.values().map(|sums| size(*sums)).sum();
    let (largest, sums) = clusters.iter().max_by(|a, b| size(*a.1).total_cmp(&size(*b.1)))?;
    (clusters.len() >= FEWEST_CLUSTERS && size(*sums) / all > LARGE_SHARE).then_some(*largest)
}

/// Returns the share that the first of two conditions saves against the second without a group; `None` if nothing is left to save.
fn saved(groups: &BTreeMap<&str, Sums>, without: Option<&str>) -> Option<f64> {
    let mut sums = Sums::default();
    for (_, group) in groups.iter().filter(|(name, _)| Some(**name) != without) {
        for (sum, part) in sums.iter_mut().zip(group) {
            *sum = [sum[0] + part[0], sum[1] + part[1]];
        }
    }
    let [here, there] = sums.map(|[sum, episodes]| sum as f64 / episodes as f64);
    (there > 0.0).then_some(1.0 - here / there)
}

/// Returns the share of billed tokens that a condition saves against the cheapest of others, over the scenarios that have episodes under
/// both; and the least that it saves without a cluster that carries most of it, or without a family that turns it into a loss.
pub(super) fn saving(
    context: &Context<'_>,
    agent: usize,
    condition: usize,
    others: &[usize],
) -> Option<(f64, Option<SavingWithout>)> {
    let by = |key: fn(&PlannedScenario) -> &str| {
        let sums = |other: &usize| sums_by(key, context, agent, [condition, *other], RowMetric::BilledTokensPerEpisode);
        others.iter().map(sums).collect::<Vec<_>>()
    };
    let least = |groups: &[BTreeMap<&str, Sums>], without: Option<&str>| {
        groups.iter().filter_map(|groups| saved(groups, without)).min_by(f64::total_cmp)
    };
    let (clusters, families) = (by(|scenario| &scenario.cluster), by(|scenario| family(&scenario.id)));
    let without = |groups: &[BTreeMap<&str, Sums>], name: &str, is_family| {
        Some(SavingWithout { left_out: name.to_owned(), is_family, saving: least(groups, Some(name))? })
    };
    let carriers: BTreeSet<&str> = clusters.iter().filter_map(carrier).collect();
    let names: BTreeSet<&str> =
        families.iter().flat_map(BTreeMap::keys).copied().filter(|name| !name.is_empty()).collect();
    let of_clusters = carriers.into_iter().filter_map(|name| without(&clusters, name, false));
    let of_families = names.into_iter().filter_map(|name| without(&families, name, true));
    let candidates = of_clusters.chain(of_families.filter(|without| without.saving <= 0.0));
    Some((least(&clusters, None)?, candidates.min_by(|a, b| a.saving.total_cmp(&b.saving))))
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
    let clusters = sums_by(|scenario| &scenario.cluster, context, agent, [first, second], metric);
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
