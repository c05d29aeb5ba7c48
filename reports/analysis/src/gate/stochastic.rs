//! Decides the rows of live model agents. Their results vary by chance, so a check names a margin and passes if the
//! interval excludes a change for the worse beyond it.

use std::collections::{BTreeMap, BTreeSet};

use healbench_core::Seed;
use healbench_text::{agree, part_of};

use super::policy::{Check, Direction, Margin};
use super::{GateRow, MatchedScenarios, Method, OtherScenarios, Policy, Subject, Verdict, changes, missing_row};
use crate::baseline::{CellName, CellScenario};
use crate::metric::Metric;
use crate::statistics::{
    ClusterPairs, ClusterSums, GATE_CONFIDENCE, Interval, NonInferiority, Resamples, bca_ratio, clustered_difference,
    clustered_non_inferiority, fewest_clusters, fisher_less, holm, non_inferiority, paired_non_inferiority,
    pairs_to_settle, tango,
};

/// The probability with which the reported number of pairs would settle a row.
const POWER: f64 = 0.8;

/// The scenarios of a cell, as a sample of more.
pub(super) struct Sampled<'a> {
    pub(super) matched: &'a MatchedScenarios<'a>,
    /// The cluster of each scenario, by id.
    pub(super) clusters: &'a BTreeMap<&'a str, &'a str>,
    /// The seed of the bootstrap.
    pub(super) seed: u64,
}

/// Returns one row per check that applies to this cell, or one row with the verdict MISSING if there is none.
pub(super) fn rows(cell: &CellName, sampled: &Sampled<'_>, policy: &Policy) -> Vec<GateRow> {
    let mut resamples = Resamples::new(Seed(sampled.seed));
    let checks = policy.checks.iter().filter(|check| check.applies_to(cell));
    let rows: Vec<GateRow> = checks.map(|check| row(cell, check, sampled, policy, &mut resamples)).collect();
    if rows.is_empty() {
        return vec![missing_row(Subject::of(cell), "cell", "no check of the policy is about this cell")];
    }
    rows
}

fn row(cell: &CellName, check: &Check, sampled: &Sampled<'_>, policy: &Policy, resamples: &mut Resamples) -> GateRow {
    let matched = sampled.matched;
    let paired = check.metric.is_rate();
    let scenarios: Vec<ScenarioPairs<'_>> = matched
        .iter()
        .map(|(scenario, before, after)| match paired {
            true => pair_by_trial(check.metric, scenario, before, after),
            false => pair_by_scenario(check.metric, scenario, before, after),
        })
        .collect();
    let pairs: u64 = scenarios.iter().map(|scenario| scenario.pairs).sum();
    let mean =
        |of: fn(&ScenarioPairs<'_>) -> f64| (pairs > 0).then(|| scenarios.iter().map(of).sum::<f64>() / pairs as f64);
    let (base, candidate) = (mean(|scenario| scenario.base), mean(|scenario| scenario.candidate));
    let margin = match (check.margin, base) {
        (Margin::Points(margin) | Margin::Amount(margin), _) => Some(margin),
        (Margin::Percent(share), Some(base)) => Some(share * base.abs()),
        (Margin::Percent(_), None) => None,
    };
    let estimate = margin.map(|margin| match paired {
        true => estimate_from_pairs(check.direction, &scenarios, margin),
        false => estimate_from_scenarios(check.direction, &scenarios, margin, resamples),
    });
    let estimate = estimate.unwrap_or_default();
    let unpaired: Vec<&str> =
        scenarios.iter().filter(|scenario| scenario.is_unpaired()).map(|scenario| scenario.id).collect();
    let this_suite = match (unpaired.is_empty(), pairs) {
        (false, _) | (_, 0) => Verdict::Missing,
        _ => verdict_of(estimate.conclusion),
    };
    let broken = if paired { broken_scenarios(check.direction, &scenarios) } else { BrokenScenarios::default() };
    let others = margin.filter(|_| paired);
    let others = others.and_then(|margin| other_scenarios(check.direction, &scenarios, sampled.clusters, margin));
    let mut verdict = match (this_suite, broken.ids.is_empty()) {
        (Verdict::Pass | Verdict::Inconclusive, false) => Verdict::Fail,
        (verdict, _) => verdict,
    };
    if policy.generalize && verdict == Verdict::Pass && paired {
        verdict = others.map_or(Verdict::Inconclusive, |others| others.verdict);
    }
    let needed_pairs = estimate.needed_pairs.filter(|_| this_suite == Verdict::Inconclusive && verdict == this_suite);
    let mut reason = match unpaired.first() {
        Some(first) => format!(
            "{} {} no pair, `{first}` the first",
            part_of(unpaired.len() as u64, matched.len() as u64, "scenario"),
            agree(unpaired.len() as u64, "has", "have")
        ),
        None => explain(check, this_suite, &estimate, base),
    };
    if let Some(first) = broken.ids.first() {
        let more = match broken.ids.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        reason = format!("scenario `{first}`{more} is worse beyond chance; over all scenarios, {reason}");
    } else if paired && this_suite != Verdict::Missing {
        reason.push_str(&explain_blind(&broken));
    }
    if let Some(others) = others {
        reason = format!("{reason}; {}", explain_others(&others, policy.generalize));
    } else if policy.generalize && paired && this_suite != Verdict::Missing {
        let missing_scenarios = missing_clusters(margin, 1);
        reason = format!("{reason}; on other scenarios: {}", explain_missing(Verdict::Inconclusive, missing_scenarios));
    }
    let left_out: u64 = scenarios.iter().map(|scenario| scenario.left_out).sum();
    let copies: u64 = scenarios.iter().map(|scenario| scenario.copies).sum();
    if copies > 0 {
        reason = format!(
            "{reason}; excluded because the agent is deterministic: {copies} copies of trials with the same schedule"
        );
    }
    if left_out > 0 {
        reason = format!("{reason}; excluded because one side was lost: {left_out}");
    }
    let unknown: u64 = scenarios.iter().map(|scenario| scenario.unknown).sum();
    if unknown > 0 {
        reason = format!("{reason}; excluded because the number is unknown: {unknown}");
    }
    GateRow {
        subject: Subject::of(cell),
        metric: check.metric.name().to_owned(),
        tier: check.tier,
        verdict,
        method: if paired { Method::Tango } else { Method::Bootstrap },
        base,
        candidate,
        difference: base.zip(candidate).map(|(base, candidate)| candidate - base),
        interval: estimate.interval,
        other_scenarios: others,
        confidence: Some(GATE_CONFIDENCE),
        margin: Some(check.margin),
        pairs: Some(pairs),
        needed_pairs,
        unseen_scenarios: broken.unseen.len() as u64,
        changes: match verdict {
            Verdict::Pass => Vec::new(),
            // Starting points for a search for the cause.
            _ => changes(check.metric, matched, |before, after| before.sum(check.metric) != after.sum(check.metric)),
        },
        cause: None,
        unlike: None,
        reason,
    }
}

fn verdict_of(conclusion: Option<NonInferiority>) -> Verdict {
    match conclusion {
        Some(NonInferiority::Holds) => Verdict::Pass,
        Some(NonInferiority::Fails) => Verdict::Fail,
        Some(NonInferiority::Inconclusive) | None => Verdict::Inconclusive,
    }
}

/// The probability that any scenario is called broken though none is.
const TRIPWIRE_LEVEL: f64 = 0.05;

/// The scenarios that became worse beyond chance.
#[derive(Default)]
struct BrokenScenarios<'a> {
    ids: Vec<&'a str>,
    /// The scenarios with so few pairs that not even a fall from all to none would be called one, if it were the only
    /// one.
    unseen: Vec<&'a str>,
    /// The number of scenarios with pairs.
    counted: usize,
}

/// Tests each scenario by Fisher's one-sided exact test, adjusted by Holm for all scenarios: a scenario that broke is
/// lost in the mean of many.
fn broken_scenarios<'a>(direction: Direction, scenarios: &[ScenarioPairs<'a>]) -> BrokenScenarios<'a> {
    let counted: Vec<&ScenarioPairs<'a>> = scenarios.iter().filter(|scenario| scenario.pairs > 0).collect();
    let worse = |s: &ScenarioPairs<'_>| {
        let (base, candidate) = (s.base as u64, s.candidate as u64);
        let fewer = fisher_less(candidate, s.pairs, base, s.pairs).unwrap_or(1.0);
        let more = fisher_less(base, s.pairs, candidate, s.pairs).unwrap_or(1.0);
        match direction {
            Direction::Higher => fewer,
            Direction::Lower => more,
            Direction::Same => (2.0 * fewer.min(more)).min(1.0),
        }
    };
    let sides = if direction == Direction::Same { 2.0 } else { 1.0 };
    // Holm multiplies the smallest p-value by the number of scenarios.
    let least = |s: &ScenarioPairs<'_>| fisher_less(0, s.pairs, s.pairs, s.pairs).unwrap_or(1.0) * sides;
    let is_unseen = |s: &&&ScenarioPairs<'a>| least(s) * counted.len() as f64 > TRIPWIRE_LEVEL;
    let p_values: Vec<f64> = counted.iter().map(|scenario| worse(scenario)).collect();
    let adjusted = holm(&p_values).unwrap_or_default();
    let broken = counted.iter().zip(adjusted).filter(|(_, p)| *p <= TRIPWIRE_LEVEL);
    BrokenScenarios {
        ids: broken.map(|(scenario, _)| scenario.id).collect(),
        unseen: counted.iter().filter(is_unseen).map(|scenario| scenario.id).collect(),
        counted: counted.len(),
    }
}

/// Says which scenarios could break without being seen.
fn explain_blind(broken: &BrokenScenarios<'_>) -> String {
    let why = "too few trials to tell a break from chance";
    match broken.unseen.as_slice() {
        [] => String::new(),
        unseen if unseen.len() == broken.counted => format!("; every scenario has {why}"),
        [only] => format!("; scenario `{only}` has {why}"),
        [first, ..] => {
            let unseen = part_of(broken.unseen.len() as u64, broken.counted as u64, "scenario");
            format!("; {unseen}, `{first}` the first, have {why}")
        }
    }
}

/// Decides a rate for other scenarios of the same suites; `None` for fewer than two clusters of scenarios.
fn other_scenarios(
    direction: Direction,
    scenarios: &[ScenarioPairs<'_>],
    clusters: &BTreeMap<&str, &str>,
    margin: f64,
) -> Option<OtherScenarios> {
    let counts = |turned: bool| -> Vec<ClusterPairs> {
        let mut sums: BTreeMap<&str, ClusterPairs> = BTreeMap::new();
        for scenario in scenarios {
            let sum = sums.entry(clusters.get(scenario.id).copied().unwrap_or(scenario.id)).or_default();
            let (more, fewer) = (scenario.more, scenario.fewer);
            let (gains, losses) = if turned { (fewer, more) } else { (more, fewer) };
            sum.pairs += scenario.pairs;
            sum.gains += gains;
            sum.losses += losses;
        }
        sums.into_values().collect()
    };
    let clustered = clustered_difference(&counts(false), GATE_CONFIDENCE)?;
    let holds = |turned| clustered_non_inferiority(&counts(turned), margin, GATE_CONFIDENCE);
    let verdict = verdict_of(for_direction(direction, || holds(false), || holds(true)));
    let missing_scenarios = missing_clusters(Some(margin), clustered.clusters);
    Some(OtherScenarios { interval: clustered.interval, verdict, scenarios: clustered.clusters, missing_scenarios })
}

fn explain_others(others: &OtherScenarios, decides: bool) -> String {
    let advisory = if decides { "" } else { ", advisory" };
    format!("on other scenarios{advisory}: {}", explain_missing(others.verdict, others.missing_scenarios))
}

/// The verdict with the reason why it is not PASS.
fn explain_missing(verdict: Verdict, missing_scenarios: u64) -> String {
    let why = match (verdict, missing_scenarios) {
        (Verdict::Inconclusive, 1) => " (a PASS needs 1 more scenario)".to_owned(),
        (Verdict::Inconclusive, 2..) => format!(" (a PASS needs {missing_scenarios} more scenarios)"),
        (Verdict::Inconclusive, 0) => " (the interval contains the margin)".to_owned(),
        _ => String::new(),
    };
    format!("{}{why}", verdict.name())
}

/// Returns how many clusters of scenarios are missing for a PASS.
fn missing_clusters(margin: Option<f64>, clusters: u64) -> u64 {
    margin.and_then(fewest_clusters).map_or(0, |fewest| fewest.saturating_sub(clusters))
}

/// The pairs of a scenario.
#[derive(Default)]
pub(super) struct ScenarioPairs<'a> {
    id: &'a str,
    pub(super) pairs: u64,
    /// The number of pairs that are true only in the candidate; `fewer` counts those true only in the base.
    pub(super) more: u64,
    pub(super) fewer: u64,
    /// Sums over the pairs.
    base: f64,
    candidate: f64,
    /// The number of trials without a partner.
    left_out: u64,
    /// The number of trials that both sides have, without a known number.
    unknown: u64,
    /// The number of pairs that repeat the schedule of another, of a deterministic agent.
    copies: u64,
}

impl ScenarioPairs<'_> {
    /// Returns true if the scenario has trials to pair but no pair.
    fn is_unpaired(&self) -> bool {
        self.pairs == 0 && self.left_out + self.unknown > 0
    }
}

/// Pairs a rate trial by trial. A trial that is null on both sides is ignored.
pub(super) fn pair_by_trial<'a>(
    metric: Metric,
    id: &'a str,
    before: &CellScenario,
    after: &CellScenario,
) -> ScenarioPairs<'a> {
    let mut paired = ScenarioPairs { id, ..ScenarioPairs::default() };
    let mut counted = BTreeSet::new();
    for (trial, (before, ending)) in before.outcomes.iter().zip(after.outcomes.iter()).enumerate() {
        let lost = !before.outcome.is_scored() || !ending.outcome.is_scored();
        match (before.flag(metric), ending.flag(metric)) {
            (Some(_), Some(_)) if after.copy_of.get(trial).is_some_and(|first| !counted.insert(*first)) => {
                paired.copies += 1;
            }
            (Some(before), Some(after)) => {
                paired.pairs += 1;
                paired.more += u64::from(after && !before);
                paired.fewer += u64::from(before && !after);
                paired.base += f64::from(u8::from(before));
                paired.candidate += f64::from(u8::from(after));
            }
            (None, None) if !lost => {}
            _ => paired.left_out += 1,
        }
    }
    paired
}

/// Pairs the sums of a scenario's trials. If trials were lost, the sum is scaled by the mean of the others.
fn pair_by_scenario<'a>(metric: Metric, id: &'a str, before: &CellScenario, after: &CellScenario) -> ScenarioPairs<'a> {
    let trials = before.outcomes.len() as u64;
    let (base, candidate) = (before.sum(metric), after.sum(metric));
    let pairs = base.count.min(candidate.count);
    // If the cost of some episodes is unknown, so is the sum.
    let is_unknown =
        |scenario: &CellScenario| metric == Metric::CostUsd && scenario.sum(metric).count < scenario.outcomes.scored();
    let scored = before.outcomes.scored().min(after.outcomes.scored());
    let left_out = trials - scored;
    if pairs == 0 || is_unknown(before) || is_unknown(after) {
        return ScenarioPairs { id, left_out, unknown: scored, ..ScenarioPairs::default() };
    }
    let sum = |total: f64, count: u64| total / count as f64 * pairs as f64;
    ScenarioPairs {
        id,
        pairs,
        base: sum(base.total, base.count),
        candidate: sum(candidate.total, candidate.count),
        left_out,
        unknown: scored.saturating_sub(pairs),
        ..ScenarioPairs::default()
    }
}

/// An estimate and the decision by it; `None` fields if nothing can be estimated.
#[derive(Default)]
struct Estimate {
    interval: Option<Interval>,
    needed_pairs: Option<u64>,
    conclusion: Option<NonInferiority>,
}

/// Estimates a rate, with trials as pairs.
fn estimate_from_pairs(direction: Direction, scenarios: &[ScenarioPairs<'_>], margin: f64) -> Estimate {
    let sum = |of: fn(&ScenarioPairs<'_>) -> u64| scenarios.iter().map(of).sum::<u64>();
    let (pairs, more, fewer) = (sum(|s| s.pairs), sum(|s| s.more), sum(|s| s.fewer));
    let holds = |gains, losses| paired_non_inferiority(gains, losses, pairs, margin, GATE_CONFIDENCE);
    let needed_pairs = |gains, losses| pairs_to_settle(gains, losses, pairs, margin, GATE_CONFIDENCE, POWER);
    Estimate {
        interval: tango(more, fewer, pairs, GATE_CONFIDENCE),
        conclusion: for_direction(direction, || holds(more, fewer), || holds(fewer, more)),
        needed_pairs: match direction {
            Direction::Higher => needed_pairs(more, fewer),
            Direction::Lower => needed_pairs(fewer, more),
            Direction::Same => needed_pairs(more, fewer).zip(needed_pairs(fewer, more)).map(|(a, b)| a.max(b)),
        },
    }
}

/// Estimates a mean, with scenarios as clusters.
fn estimate_from_scenarios(
    direction: Direction,
    scenarios: &[ScenarioPairs<'_>],
    margin: f64,
    resamples: &mut Resamples,
) -> Estimate {
    let clusters: Vec<ClusterSums> = scenarios
        .iter()
        .filter(|scenario| scenario.pairs > 0)
        .map(|s| ClusterSums { numerator: s.candidate - s.base, denominator: s.pairs as f64, stratum: 0 })
        .collect();
    let interval = bca_ratio(&clusters, resamples, GATE_CONFIDENCE);
    let negated = |interval: Interval| Interval { lower: -interval.upper, upper: -interval.lower };
    let conclusion = for_direction(
        direction,
        || interval.map(|interval| non_inferiority(interval, margin)),
        || interval.map(|interval| non_inferiority(negated(interval), margin)),
    );
    Estimate { interval, conclusion, needed_pairs: None }
}

/// Returns the decision for the requested direction; for both directions, the worse.
fn for_direction(
    direction: Direction,
    higher: impl Fn() -> Option<NonInferiority>,
    lower: impl Fn() -> Option<NonInferiority>,
) -> Option<NonInferiority> {
    use NonInferiority::{Fails, Holds, Inconclusive};
    match direction {
        Direction::Higher => higher(),
        Direction::Lower => lower(),
        Direction::Same => match (higher()?, lower()?) {
            (Fails, _) | (_, Fails) => Some(Fails),
            (Inconclusive, _) | (_, Inconclusive) => Some(Inconclusive),
            (Holds, _) => Some(Holds),
        },
    }
}

fn explain(check: &Check, verdict: Verdict, estimate: &Estimate, base: Option<f64>) -> String {
    let margin = check.margin;
    let worse = match check.direction {
        Direction::Higher => "lower",
        Direction::Lower => "higher",
        Direction::Same => "different",
    };
    if verdict == Verdict::Inconclusive && matches!(margin, Margin::Percent(_)) && base == Some(0.0) {
        return "the base's mean is 0, and no percentage of it can be ruled out; give the margin as a number"
            .to_owned();
    }
    let open = format!("{worse} by {margin} or more is neither shown nor ruled out");
    match verdict {
        Verdict::Pass => format!("{worse} by {margin} or more is ruled out"),
        Verdict::Fail => format!("{worse} by more than {margin}"),
        Verdict::Missing => "the number is not known on both sides".to_owned(),
        Verdict::Inconclusive => match (estimate.interval, estimate.needed_pairs) {
            (None, _) => "too few episodes to decide".to_owned(),
            (Some(_), Some(pairs)) => format!("{open}; about {pairs} pairs would settle it"),
            (Some(_), None) if !check.metric.is_rate() => format!("{open}; more scenarios would tell"),
            (Some(_), None) => format!("{open}, and the difference is too near to it"),
        },
    }
}
