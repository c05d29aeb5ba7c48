//! Rows of models that were asked: they never come again, so a difference may be chance. A check says how much worse something may
//! be, and passes when that much can be ruled out.

use healbench_protocol::Seed;

use super::policy::{Check, Direction, Margin};
use super::{Change, GateRow, Lines, Method, Policy, Subject, Verdict, missing};
use crate::baseline::{CellName, CellScenario};
use crate::metric::Metric;
use crate::statistics::{
    ClusterSums, GATE_CONFIDENCE, Interval, NonInferiority, Resamples, bca_ratio, non_inferiority,
    paired_non_inferiority, pairs_to_settle, tango,
};

/// How likely the number of pairs that is named settles a row.
const POWER: f64 = 0.8;

/// One row a check that is about this cell; a cell without any is not held to anything, which no policy can mean.
pub(super) fn rows(cell: &CellName, lines: &Lines<'_>, policy: &Policy, seed: u64) -> Vec<GateRow> {
    let mut resamples = Resamples::new(Seed(seed));
    let checks = policy.checks.iter().filter(|check| check.is_of(cell));
    let rows: Vec<GateRow> = checks.map(|check| row(cell, check, lines, &mut resamples)).collect();
    if rows.is_empty() {
        return vec![missing(Subject::of(cell), "cell", "no check of the policy is about this cell")];
    }
    rows
}

fn row(cell: &CellName, check: &Check, lines: &Lines<'_>, resamples: &mut Resamples) -> GateRow {
    let paired = check.metric.is_rate();
    let scenarios: Vec<Paired<'_>> = lines
        .iter()
        .map(|(scenario, before, after)| match paired {
            true => by_trial(check.metric, scenario, before, after),
            false => by_scenario(check.metric, scenario, before, after),
        })
        .collect();
    let pairs: u64 = scenarios.iter().map(|scenario| scenario.pairs).sum();
    let mean = |of: fn(&Paired<'_>) -> f64| (pairs > 0).then(|| scenarios.iter().map(of).sum::<f64>() / pairs as f64);
    let (base, candidate) = (mean(|scenario| scenario.base), mean(|scenario| scenario.candidate));
    let margin = match (check.margin, base) {
        (Margin::Points(margin) | Margin::Amount(margin), _) => Some(margin),
        (Margin::Percent(share), Some(base)) => Some(share * base.abs()),
        (Margin::Percent(_), None) => None,
    };
    let found = margin.map(|margin| match paired {
        true => of_pairs(check.direction, &scenarios, margin),
        false => of_scenarios(check.direction, &scenarios, margin, resamples),
    });
    let found = found.unwrap_or_default();
    let alone: Vec<&str> =
        scenarios.iter().filter(|scenario| scenario.is_alone()).map(|scenario| scenario.id).collect();
    let verdict = match (alone.is_empty(), pairs, found.settled) {
        (false, ..) | (_, 0, _) => Verdict::Missing,
        (_, _, Some(NonInferiority::Holds)) => Verdict::Pass,
        (_, _, Some(NonInferiority::Fails)) => Verdict::Fail,
        (_, _, Some(NonInferiority::Open) | None) => Verdict::Inconclusive,
    };
    let settles = found.settles.filter(|_| verdict == Verdict::Inconclusive);
    let mut says = match alone.first() {
        Some(first) => format!("{} of {} scenarios have no pair, `{first}` the first", alone.len(), lines.len()),
        None => says(check, verdict, &found, base),
    };
    let left_out: u64 = scenarios.iter().map(|scenario| scenario.left_out).sum();
    if left_out > 0 {
        says = format!("{says}; left out, for one side was lost: {left_out}");
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
        interval: found.interval,
        confidence: Some(GATE_CONFIDENCE),
        margin: Some(check.margin),
        pairs: Some(pairs),
        settles,
        changes: if verdict == Verdict::Pass { Vec::new() } else { changes(check.metric, lines) },
        says,
    }
}

/// What is paired of one scenario.
#[derive(Default)]
struct Paired<'a> {
    id: &'a str,
    pairs: u64,
    /// Pairs in which only the candidate's is a yes, and only the base's.
    more: u64,
    fewer: u64,
    /// Sums over the pairs.
    base: f64,
    candidate: f64,
    /// Trials that have no partner.
    left_out: u64,
}

impl Paired<'_> {
    /// Whether the scenario has something to pair and no pair.
    fn is_alone(&self) -> bool {
        self.pairs == 0 && self.left_out > 0
    }
}

/// A rate, trial by trial. A trial that is null on both sides has nothing to pair.
fn by_trial<'a>(metric: Metric, id: &'a str, before: &CellScenario, after: &CellScenario) -> Paired<'a> {
    let mut paired = Paired { id, ..Paired::default() };
    for (before, after) in before.outcomes.iter().zip(after.outcomes.iter()) {
        let lost = !before.outcome.is_scored() || !after.outcome.is_scored();
        match (before.is(metric), after.is(metric)) {
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

/// A sum over a scenario's trials. Where some were lost, the mean of those that were not stands for them.
fn by_scenario<'a>(metric: Metric, id: &'a str, before: &CellScenario, after: &CellScenario) -> Paired<'a> {
    let trials = before.outcomes.len() as u64;
    let (base, candidate) = (before.sum(metric), after.sum(metric));
    let pairs = base.of.min(candidate.of);
    // The cost of some episodes is not the cost of all.
    let unknown = |line: &CellScenario| metric == Metric::CostUsd && line.sum(metric).of < line.outcomes.scored();
    if pairs == 0 || unknown(before) || unknown(after) {
        return Paired { id, left_out: trials, ..Paired::default() };
    }
    let sum = |total: f64, of: u64| total / of as f64 * pairs as f64;
    Paired {
        id,
        pairs,
        base: sum(base.total, base.of),
        candidate: sum(candidate.total, candidate.of),
        left_out: trials - pairs,
        ..Paired::default()
    }
}

/// What was found, and what it says: `None` where nothing can be said.
#[derive(Default)]
struct Found {
    interval: Option<Interval>,
    settles: Option<u64>,
    settled: Option<NonInferiority>,
}

/// Trials are the pairs.
fn of_pairs(direction: Direction, scenarios: &[Paired<'_>], margin: f64) -> Found {
    let sum = |of: fn(&Paired<'_>) -> u64| scenarios.iter().map(of).sum::<u64>();
    let (pairs, more, fewer) = (sum(|s| s.pairs), sum(|s| s.more), sum(|s| s.fewer));
    let holds = |gains, losses| paired_non_inferiority(gains, losses, pairs, margin, GATE_CONFIDENCE);
    let settles = |gains, losses| pairs_to_settle(gains, losses, pairs, margin, GATE_CONFIDENCE, POWER);
    Found {
        interval: tango(more, fewer, pairs, GATE_CONFIDENCE),
        settled: either(direction, || holds(more, fewer), || holds(fewer, more)),
        settles: match direction {
            Direction::Higher => settles(more, fewer),
            Direction::Lower => settles(fewer, more),
            Direction::Same => settles(more, fewer).zip(settles(fewer, more)).map(|(a, b)| a.max(b)),
        },
    }
}

/// Scenarios are the clusters.
fn of_scenarios(direction: Direction, scenarios: &[Paired<'_>], margin: f64, resamples: &mut Resamples) -> Found {
    let clusters: Vec<ClusterSums> = scenarios
        .iter()
        .filter(|scenario| scenario.pairs > 0)
        .map(|s| ClusterSums { numerator: s.candidate - s.base, denominator: s.pairs as f64 })
        .collect();
    let interval = bca_ratio(&clusters, resamples, GATE_CONFIDENCE);
    let negated = |interval: Interval| Interval { lower: -interval.upper, upper: -interval.lower };
    let settled = either(
        direction,
        || interval.map(|interval| non_inferiority(interval, margin)),
        || interval.map(|interval| non_inferiority(negated(interval), margin)),
    );
    Found { interval, settled, settles: None }
}

/// The answer of the direction that is asked for; of both, the worse.
fn either(
    direction: Direction,
    higher: impl Fn() -> Option<NonInferiority>,
    lower: impl Fn() -> Option<NonInferiority>,
) -> Option<NonInferiority> {
    use NonInferiority::{Fails, Holds, Open};
    match direction {
        Direction::Higher => higher(),
        Direction::Lower => lower(),
        Direction::Same => match (higher()?, lower()?) {
            (Fails, _) | (_, Fails) => Some(Fails),
            (Open, _) | (_, Open) => Some(Open),
            (Holds, _) => Some(Holds),
        },
    }
}

/// The scenarios that moved, for somebody who looks for the cause.
fn changes(metric: Metric, lines: &Lines<'_>) -> Vec<Change> {
    let number = |line: &CellScenario| Some(line.sum(metric)).filter(|sum| sum.of > 0).map(|sum| sum.total);
    let moved = lines.iter().filter(|(_, before, after)| before.sum(metric) != after.sum(metric));
    moved
        .map(|(scenario, before, after)| Change {
            scenario: (*scenario).to_owned(),
            base: number(before),
            candidate: number(after),
            trial: super::deterministic::first_other(before, after),
        })
        .collect()
}

fn says(check: &Check, verdict: Verdict, found: &Found, base: Option<f64>) -> String {
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
        Verdict::Inconclusive => match (found.interval, found.settles) {
            (None, _) => "too little was played to tell".to_owned(),
            (Some(_), Some(pairs)) => format!("{open}; about {pairs} pairs would settle it"),
            (Some(_), None) if !check.metric.is_rate() => format!("{open}; more scenarios would tell"),
            (Some(_), None) => format!("{open}, and the difference is too near to it"),
        },
    }
}
