//! Decides whether a paired measurement passes. Times are not compared because they depend on the machine; decisions
//! use the ratio of two variants that took turns in one process.

use healbench_store::{MIN_ROUNDS, PairRole, PairRounds, PairedRun};

use super::policy::{Margin, PerfCheck};
use super::{GateReport, GateRow, IncompatibleRuns, Method, Policy, Subject, Tier, Verdict, counts, overall};
use crate::statistics::{Interval, sign_interval};

/// The confidence of a ratio's interval.
const CONFIDENCE: f64 = 0.95;
/// The metric name of all rows of a measurement.
const TIME: &str = "time";

/// Compares a measurement with a policy and, if given, with an `earlier` measurement on the same machine.
///
/// If a control's ratio is not shown to be within its margin of 1, the machine is too noisy and all rows are
/// inconclusive.
///
/// # Errors
/// [`IncompatibleRuns`] if the earlier measurement was made on another machine or with other settings.
pub fn gate_rounds(
    (name, run): (&str, &PairedRun),
    earlier: Option<(&str, &PairedRun)>,
    policy: &Policy,
) -> Result<GateReport, IncompatibleRuns> {
    if let Some((_, earlier)) = earlier {
        check_comparable(earlier, run)?;
    }
    let earlier_run = earlier.map(|(_, earlier)| earlier);
    let mut rows: Vec<GateRow> = run.pairs.iter().filter_map(|pair| row_of(pair, earlier_run, policy)).collect();
    rows.extend(undecided_rows(run, earlier_run, policy, &rows));
    let run_row = |name: &str, reason: &str| super::missing_row(Subject::Run { run: name.to_owned() }, TIME, reason);
    if run.pairs.iter().all(|pair| pair.role == PairRole::Control) {
        rows.push(run_row(name, "there is nothing to decide"));
    }
    if let Some((name, caveat)) = earlier.and_then(|(name, run)| Some((name, caveat(run, policy)?))) {
        let reason = format!("{caveat}, so nothing can be held against it");
        for row in rows.iter_mut().filter(|row| row.base.is_some()) {
            row.verdict = Verdict::Inconclusive;
            row.reason = format!("{}; of the earlier measurement, {caveat}", row.reason);
        }
        rows.push(GateRow { verdict: Verdict::Inconclusive, ..run_row(name, &reason) });
    }
    if let Some(caveat) = caveat(run, policy) {
        for row in rows.iter_mut().filter(|row| matches!(row.verdict, Verdict::Pass | Verdict::Fail)) {
            row.reason = format!("{}; {caveat}, so nothing can be decided", row.reason);
            row.verdict = Verdict::Inconclusive;
        }
        // A separate critical row, because all other rows may be advisory.
        let reason = format!("{caveat}, so nothing can be decided");
        rows.push(GateRow { verdict: Verdict::Inconclusive, ..run_row(name, &reason) });
    }
    Ok(GateReport {
        texts: Vec::new(),
        run_apart: None,
        base: earlier.map(|(name, _)| name.to_owned()),
        candidate: name.to_owned(),
        candidate_run: name.to_owned(),
        policy: policy.name.clone(),
        verdict: overall(&rows),
        counts: counts(&rows),
        rows,
        locations: Default::default(),
    })
}

/// Returns the row of a pair; `None` for a reference workload without a comparison.
fn row_of(pair: &PairRounds, earlier: Option<&PairedRun>, policy: &Policy) -> Option<GateRow> {
    let check = policy.perf.checks.iter().find(|check| check.pair == pair.name);
    match pair.role {
        PairRole::Control => Some(control_row(pair, policy)),
        PairRole::Equal => Some(equal(pair, check, policy)),
        PairRole::ReferenceWorkload => earlier.map(|earlier| versus_earlier(pair, earlier, check, policy)),
    }
}

/// Returns the reason why a measurement cannot be trusted, or `None`.
fn caveat(run: &PairedRun, policy: &Policy) -> Option<&'static str> {
    let mut controls = run.pairs.iter().filter(|pair| pair.role == PairRole::Control).peekable();
    if !run.optimized {
        Some("the code was not optimized")
    } else if controls.peek().is_none() {
        Some("there is no control")
    } else if controls.any(|pair| control_row(pair, policy).verdict != Verdict::Pass) {
        Some("the control is not within its margin")
    } else {
        None
    }
}

const NOT_DECIDED: &str = "the policy names this pair, and nothing was decided: it is not there, or a reference workload without an \
                           earlier measurement";

/// Returns rows for pairs without a decision that are named in the policy or part of the earlier measurement.
fn undecided_rows(run: &PairedRun, earlier: Option<&PairedRun>, policy: &Policy, rows: &[GateRow]) -> Vec<GateRow> {
    let is_control = |name: &str| run.pairs.iter().any(|pair| pair.role == PairRole::Control && pair.name == name);
    let required = policy.perf.checks.iter().map(|check| {
        let name = check.pair.as_str();
        match is_control(name) {
            true => (name, true, "a control has its margin in `control`, and no check"),
            false => (name, false, NOT_DECIDED),
        }
    });
    let earlier_pairs = earlier.iter().flat_map(|earlier| &earlier.pairs);
    let earlier_pairs = earlier_pairs.map(|pair| (pair.name.as_str(), false, "the earlier measurement has this pair"));
    let mut missing: Vec<GateRow> = Vec::new();
    for (name, wrong, reason) in required.chain(earlier_pairs) {
        let subject = Subject::Variants { pair: name.to_owned() };
        let decided = rows.iter().any(|row| row.subject == subject) && !wrong;
        if !decided && !missing.iter().any(|row| row.subject == subject) {
            missing.push(super::missing_row(subject, TIME, reason));
        }
    }
    missing
}

/// Ratios are comparable on the same machine only.
fn check_comparable(earlier: &PairedRun, run: &PairedRun) -> Result<(), IncompatibleRuns> {
    let incompatible = |property: &str, base: String, candidate: String| IncompatibleRuns {
        property: property.to_owned(),
        base,
        candidate,
        allow: None,
    };
    let cpu = |run: &PairedRun| run.cpu.clone().unwrap_or_else(|| "unknown".to_owned());
    if earlier.cpu != run.cpu || run.cpu.is_none() {
        return Err(incompatible("the processor", cpu(earlier), cpu(run)));
    }
    if earlier.optimized != run.optimized {
        let describe = |run: &PairedRun| if run.optimized { "optimized" } else { "not optimized" }.to_owned();
        return Err(incompatible("the code", describe(earlier), describe(run)));
    }
    if earlier.epoch_ns != run.epoch_ns {
        return Err(incompatible(
            "the length of an epoch",
            format!("{} ns", earlier.epoch_ns),
            format!("{} ns", run.epoch_ns),
        ));
    }
    for pair in &run.pairs {
        let Some(before) = earlier.pairs.iter().find(|before| before.name == pair.name) else { continue };
        let variants =
            |pair: &PairRounds| format!("{} over {}, {:?}", pair.candidate, pair.reference, pair.role).to_lowercase();
        if variants(before) != variants(pair) {
            return Err(incompatible(&format!("pair `{}`", pair.name), variants(before), variants(pair)));
        }
    }
    Ok(())
}

/// Returns the median log ratio with its interval; `None` for too few rounds.
fn ratio(pair: &PairRounds) -> Option<(f64, Interval)> {
    let logs = pair.log_ratios();
    let found = sign_interval(&logs, CONFIDENCE).filter(|_| logs.len() >= MIN_ROUNDS)?;
    Some((found.median, found.interval))
}

fn control_row(pair: &PairRounds, policy: &Policy) -> GateRow {
    let margin = policy.perf.control;
    let row = row(pair, margin, Tier::Critical);
    match ratio(pair) {
        None => too_few_rounds(row, pair),
        Some(found) => {
            let holds = within(found.1, margin);
            let reason = match holds {
                true => format!("the same thing twice, within {}", Margin::Percent(margin)),
                false => format!("the same thing twice is not shown to be within {}", Margin::Percent(margin)),
            };
            let verdict = if holds { Verdict::Pass } else { Verdict::Inconclusive };
            with_ratio(GateRow { verdict, reason, ..row }, found)
        }
    }
}

fn equal(pair: &PairRounds, check: Option<&PerfCheck>, policy: &Policy) -> GateRow {
    let margin = check.and_then(|check| check.margin).unwrap_or(policy.perf.equal);
    let row = row(pair, margin, tier(check));
    let Some(found) = ratio(pair) else { return too_few_rounds(row, pair) };
    let (_, interval) = found;
    let allowed = Margin::Percent(margin);
    let (verdict, reason) = if interval.upper <= margin.ln_1p() {
        (Verdict::Pass, format!("at most {allowed} slower than {}", pair.reference))
    } else if interval.lower > margin.ln_1p() {
        (Verdict::Fail, format!("more than {allowed} slower than {}", pair.reference))
    } else {
        (Verdict::Inconclusive, format!("{allowed} slower is neither shown nor ruled out"))
    };
    with_needed_rounds(with_ratio(GateRow { verdict, reason, ..row }, found), found, margin.ln_1p(), pair)
}

/// Compares a variant's ratio to its reference workload with that of an earlier measurement. Adding both intervals
/// gives an interval at least as wide as one of the difference.
fn versus_earlier(pair: &PairRounds, earlier: &PairedRun, check: Option<&PerfCheck>, policy: &Policy) -> GateRow {
    let margin = check.and_then(|check| check.margin).unwrap_or(policy.perf.slower);
    let row = row(pair, margin, tier(check));
    let Some(before) = earlier.pairs.iter().find(|before| before.name == pair.name) else {
        return GateRow {
            verdict: Verdict::Missing,
            reason: "the earlier measurement has no such pair; measure it anew".to_owned(),
            ..row
        };
    };
    let (Some(before), Some(now)) = (ratio(before), ratio(pair)) else { return too_few_rounds(row, pair) };
    let interval = Interval { lower: now.1.lower - before.1.upper, upper: now.1.upper - before.1.lower };
    let allowed = Margin::Percent(margin);
    let (verdict, reason) = if interval.upper < margin.ln_1p() {
        (Verdict::Pass, format!("slower by {allowed} or more is ruled out"))
    } else if interval.lower > margin.ln_1p() {
        (Verdict::Fail, format!("slower than before by more than {allowed}, relative to {}", pair.reference))
    } else {
        (Verdict::Inconclusive, format!("slower by {allowed} is neither shown nor ruled out"))
    };
    let found = (now.0 - before.0, interval);
    // More rounds of this measurement would not narrow the earlier interval.
    let row = with_ratio(GateRow { verdict, reason, ..row }, found);
    GateRow { base: Some(before.0.exp()), candidate: Some(now.0.exp()), ..row }
}

fn tier(check: Option<&PerfCheck>) -> Tier {
    check.map_or(Tier::Critical, |check| check.tier)
}

/// Returns true if the interval is within the margin on both sides.
fn within(interval: Interval, margin: f64) -> bool {
    interval.lower > -margin.ln_1p() && interval.upper < margin.ln_1p()
}

fn row(pair: &PairRounds, margin: f64, tier: Tier) -> GateRow {
    GateRow {
        tier,
        verdict: Verdict::Inconclusive,
        method: Method::SignTest,
        margin: Some(Margin::Percent(margin)),
        confidence: Some(CONFIDENCE),
        pairs: Some(pair.rounds.len() as u64),
        ..super::missing_row(Subject::Variants { pair: pair.name.clone() }, TIME, "")
    }
}

fn too_few_rounds(row: GateRow, pair: &PairRounds) -> GateRow {
    let reason = format!("{} rounds; at least {MIN_ROUNDS} decide", pair.rounds.len());
    GateRow { verdict: Verdict::Inconclusive, needed_pairs: Some(MIN_ROUNDS as u64), reason, ..row }
}

/// Fills in the ratio and its difference from 1.
fn with_ratio(row: GateRow, (median, interval): (f64, Interval)) -> GateRow {
    let share = |log: f64| log.exp_m1();
    GateRow {
        candidate: Some(median.exp()),
        difference: Some(share(median)),
        interval: Some(Interval { lower: share(interval.lower), upper: share(interval.upper) }),
        ..row
    }
}

/// Fills in the number of rounds that would settle an inconclusive row: the interval's width is proportional to the
/// inverse square root of that number. `limit` is the largest log ratio that passes.
fn with_needed_rounds(row: GateRow, (median, interval): (f64, Interval), limit: f64, pair: &PairRounds) -> GateRow {
    if row.verdict != Verdict::Inconclusive {
        return row;
    }
    let half = (interval.upper - interval.lower) / 2.0;
    let distance = (limit - median).abs();
    let rounds = (half / distance).powi(2) * pair.rounds.len() as f64;
    let needed_pairs = (rounds.is_finite() && rounds < 1e9).then(|| rounds.ceil() as u64);
    let reason = match needed_pairs {
        Some(rounds) => format!("{}; about {rounds} rounds would settle it", row.reason),
        None => row.reason,
    };
    GateRow { needed_pairs, reason, ..row }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an equal pair whose candidate takes `ratio` times as long as its reference.
    fn pair(ratio: f64) -> PairRounds {
        let b = (50_000.0 * ratio) as u64;
        PairRounds {
            name: "pair".to_owned(),
            role: PairRole::Equal,
            reference: "reference".to_owned(),
            candidate: "candidate".to_owned(),
            iterations: [10, 10],
            rounds: vec![[50_000, b, b, 50_000]; MIN_ROUNDS],
        }
    }

    #[test]
    fn only_a_slower_candidate_fails() {
        let verdict = |ratio: f64| equal(&pair(ratio), None, &Policy::default()).verdict;
        assert_eq!(verdict(0.5), Verdict::Pass);
        assert_eq!(verdict(0.95), Verdict::Pass);
        assert_eq!(verdict(1.0), Verdict::Pass);
        assert_eq!(verdict(1.05), Verdict::Fail);
    }

    #[test]
    fn needed_rounds_follow_from_the_distance_to_the_upper_limit() {
        let needed = |median: f64| {
            let pair = pair(1.0);
            let found = (median, Interval { lower: median - 0.02, upper: median + 0.02 });
            with_needed_rounds(row(&pair, 0.01, Tier::Critical), found, 0.01, &pair).needed_pairs
        };
        let rounds = MIN_ROUNDS as u64;
        // An interval of twice the distance needs four times the rounds.
        assert_eq!(needed(0.0), Some(4 * rounds));
        // The limit is 0.015 away, not 0.005.
        assert_eq!(needed(-0.005), Some((rounds * 16).div_ceil(9)));
        // Within the interval's half width of the limit on the slow side.
        assert_eq!(needed(0.02), Some(4 * rounds));
    }
}
