//! Rows of models that were asked: they never come again, so a difference may be chance. A check says how much worse something may
//! be, and passes when that much can be ruled out.

use healbench_protocol::Seed;
use healbench_record::Outcome;

use super::policy::{Check, Direction, Margin};
use super::{Change, GateRow, Lines, Method, Policy, Subject, Verdict, mean};
use crate::baseline::{CellName, Ending, Line};
use crate::metric::Metric;
use crate::statistics::{
    ClusterSums, GATE_CONFIDENCE, Interval, NonInferiority, Resamples, bca_ratio, non_inferiority,
    paired_non_inferiority, pairs_to_settle, tango,
};

/// How likely the number of pairs that is named settles a row.
const POWER: f64 = 0.8;

/// One row a check that is about this cell.
pub(super) fn rows(cell: &CellName, lines: &Lines<'_>, policy: &Policy, seed: u64) -> Vec<GateRow> {
    let mut resamples = Resamples::new(Seed(seed));
    let checks = policy.checks.iter().filter(|check| check.is_of(cell));
    checks.map(|check| row(cell, check, lines, &mut resamples)).collect()
}

fn row(cell: &CellName, check: &Check, lines: &Lines<'_>, resamples: &mut Resamples) -> GateRow {
    let base = mean(check.metric, lines.iter().map(|(_, before, _)| *before));
    let candidate = mean(check.metric, lines.iter().map(|(_, _, after)| *after));
    let margin = match (check.margin, base) {
        (Margin::Points(margin) | Margin::Amount(margin), _) => Some(margin),
        (Margin::Percent(share), Some(base)) => Some(share * base.abs()),
        (Margin::Percent(_), None) => None,
    };
    let found = margin.map(|margin| match check.metric {
        Metric::Success => paired(check, lines, margin, |ending| ending.outcome == Outcome::Success),
        Metric::FalseSuccess => paired(check, lines, margin, |ending| ending.false_success),
        _ => other(check, lines, margin, resamples),
    });
    let found = found.unwrap_or_default();
    let verdict = match (base, candidate) {
        (Some(_), Some(_)) => found.verdict(),
        _ => Verdict::Missing,
    };
    GateRow {
        subject: Subject::of(cell),
        metric: check.metric.name().to_owned(),
        tier: check.tier,
        verdict,
        method: if is_paired(check.metric) { Method::Tango } else { Method::Bootstrap },
        base,
        candidate,
        difference: found.difference,
        interval: found.interval,
        confidence: Some(GATE_CONFIDENCE),
        margin: Some(check.margin),
        pairs: Some(found.pairs),
        settles: found.settles.filter(|_| verdict == Verdict::Inconclusive),
        changes: if verdict == Verdict::Pass { Vec::new() } else { changes(check.metric, lines) },
        says: says(check, verdict, &found),
    }
}

/// Whether a baseline has the metric trial by trial.
fn is_paired(metric: Metric) -> bool {
    matches!(metric, Metric::Success | Metric::FalseSuccess)
}

/// What was found, and what it says: `None` where nothing can be said.
#[derive(Default)]
struct Found {
    difference: Option<f64>,
    interval: Option<Interval>,
    pairs: u64,
    settles: Option<u64>,
    settled: Option<NonInferiority>,
}

impl Found {
    fn verdict(&self) -> Verdict {
        match self.settled {
            Some(NonInferiority::Holds) => Verdict::Pass,
            Some(NonInferiority::Fails) => Verdict::Fail,
            Some(NonInferiority::Open) | None => Verdict::Inconclusive,
        }
    }
}

/// Pairs of the same scenario and trial, one by one.
fn paired(check: &Check, lines: &Lines<'_>, margin: f64, is: fn(&Ending) -> bool) -> Found {
    let (mut pairs, mut gains, mut losses) = (0, 0, 0);
    for (_, before, after) in lines {
        for (before, after) in before.outcomes.iter().zip(after.outcomes.iter()) {
            if !before.outcome.is_scored() || !after.outcome.is_scored() {
                continue;
            }
            let (before, after) = (is(&before), is(&after));
            pairs += 1;
            gains += u64::from(after && !before);
            losses += u64::from(before && !after);
        }
    }
    let higher = || paired_non_inferiority(gains, losses, pairs, margin, GATE_CONFIDENCE);
    let lower = || paired_non_inferiority(losses, gains, pairs, margin, GATE_CONFIDENCE);
    let settle_higher = || pairs_to_settle(gains, losses, pairs, margin, GATE_CONFIDENCE, POWER);
    let settle_lower = || pairs_to_settle(losses, gains, pairs, margin, GATE_CONFIDENCE, POWER);
    Found {
        difference: (pairs > 0).then(|| (gains as f64 - losses as f64) / pairs as f64),
        interval: tango(gains, losses, pairs, GATE_CONFIDENCE),
        pairs,
        settled: either(check.direction, higher(), lower()),
        settles: match check.direction {
            Direction::Higher => settle_higher(),
            Direction::Lower => settle_lower(),
            Direction::Same => settle_higher().zip(settle_lower()).map(|(higher, lower)| higher.max(lower)),
        },
    }
}

/// Sums over a scenario's trials; scenarios are the clusters.
fn other(check: &Check, lines: &Lines<'_>, margin: f64, resamples: &mut Resamples) -> Found {
    let of = |line: &Line| Some(line.sum(check.metric)).filter(|sum| sum.of > 0).map(|sum| sum.total / sum.of as f64);
    let clusters: Vec<(ClusterSums, u64)> = lines
        .iter()
        .filter_map(|(_, before, after)| {
            let trials = before.sum(check.metric).of.min(after.sum(check.metric).of);
            let (before, after) = (of(before)?, of(after)?);
            let weight = trials as f64;
            Some((ClusterSums { numerator: (after - before) * weight, denominator: weight }, trials))
        })
        .collect();
    let pairs = clusters.iter().map(|(_, trials)| trials).sum::<u64>();
    let sums: Vec<ClusterSums> = clusters.into_iter().map(|(cluster, _)| cluster).collect();
    let total: f64 = sums.iter().map(|cluster| cluster.numerator).sum();
    let interval = bca_ratio(&sums, resamples, GATE_CONFIDENCE);
    let negated = |interval: Interval| Interval { lower: -interval.upper, upper: -interval.lower };
    Found {
        difference: (pairs > 0).then(|| total / pairs as f64),
        interval,
        pairs,
        settled: either(
            check.direction,
            interval.map(|interval| non_inferiority(interval, margin)),
            interval.map(|interval| non_inferiority(negated(interval), margin)),
        ),
        settles: None,
    }
}

/// The answer of the direction that is asked for; of both, the worse.
fn either(
    direction: Direction,
    higher: Option<NonInferiority>,
    lower: Option<NonInferiority>,
) -> Option<NonInferiority> {
    use NonInferiority::{Fails, Holds, Open};
    match direction {
        Direction::Higher => higher,
        Direction::Lower => lower,
        Direction::Same => match (higher?, lower?) {
            (Fails, _) | (_, Fails) => Some(Fails),
            (Open, _) | (_, Open) => Some(Open),
            (Holds, _) => Some(Holds),
        },
    }
}

/// The scenarios that moved, for somebody who looks for the cause.
fn changes(metric: Metric, lines: &Lines<'_>) -> Vec<Change> {
    let number = |line: &Line| Some(line.sum(metric)).filter(|sum| sum.of > 0).map(|sum| sum.total);
    let moved = lines.iter().filter(|(_, before, after)| before.sum(metric) != after.sum(metric));
    moved
        .map(|(scenario, before, after)| Change {
            scenario: (*scenario).to_owned(),
            base: number(before),
            candidate: number(after),
            trial: super::exact::first_other(before, after),
        })
        .collect()
}

fn says(check: &Check, verdict: Verdict, found: &Found) -> String {
    let margin = check.margin;
    let worse = match check.direction {
        Direction::Higher => "lower",
        Direction::Lower => "higher",
        Direction::Same => "different",
    };
    match verdict {
        Verdict::Pass => format!("{worse} by {margin} or more is ruled out"),
        Verdict::Fail => format!("{worse} by more than {margin}"),
        Verdict::Missing => "the number is not known on both sides".to_owned(),
        Verdict::Inconclusive => match (found.interval, found.settles) {
            (None, _) => "too little was played to tell".to_owned(),
            (Some(_), Some(pairs)) => {
                format!(
                    "{worse} by {margin} or more is neither shown nor ruled out; about {pairs} pairs would settle it"
                )
            }
            (Some(_), None) if found.settled.is_some() && !is_paired(check.metric) => {
                format!("{worse} by {margin} or more is neither shown nor ruled out; more scenarios would tell")
            }
            (Some(_), None) => {
                format!(
                    "{worse} by {margin} or more is neither shown nor ruled out, and the difference is too near to it"
                )
            }
        },
    }
}
