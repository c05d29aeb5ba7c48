//! Whether what was measured in paired rounds may pass. The time itself says nothing, for every machine has its own; what decides is
//! the ratio of two pieces of work that took turns within one process.

use healbench_record::{MIN_ROUNDS, PairRole, PairRounds, PairedRun};

use super::policy::{Margin, PerfCheck};
use super::{GateReport, GateRow, IncompatibleRuns, Method, Policy, Subject, Tier, Verdict, counts, overall};
use crate::statistics::{Interval, sign_interval};

/// The confidence of a ratio's interval.
const CONFIDENCE: f64 = 0.95;
/// The metric's name.
const TIME: &str = "time";

/// Holds a measurement to a policy, and beside an `earlier` one of the same machine, where it is given, also to that.
///
/// A control whose ratio is not shown to be 1 leaves everything inconclusive: the machine does not hold still.
///
/// # Errors
/// [`IncompatibleRuns`] when the earlier measurement was made on another machine or in another way.
pub fn gate_rounds(
    (name, run): (&str, &PairedRun),
    earlier: Option<(&str, &PairedRun)>,
    policy: &Policy,
) -> Result<GateReport, IncompatibleRuns> {
    if let Some((_, earlier)) = earlier {
        check_alike(earlier, run)?;
    }
    let earlier_run = earlier.map(|(_, earlier)| earlier);
    let mut rows: Vec<GateRow> = run.pairs.iter().filter_map(|pair| row_of(pair, earlier_run, policy)).collect();
    rows.extend(undecided(run, earlier_run, policy, &rows));
    let about_run = |name: &str, says: &str| super::missing(Subject::Run { run: name.to_owned() }, TIME, says);
    if run.pairs.iter().all(|pair| pair.role == PairRole::Control) {
        rows.push(about_run(name, "there is nothing to decide"));
    }
    if let Some((name, doubt)) = earlier.and_then(|(name, run)| Some((name, doubt(run, policy)?))) {
        let says = format!("{doubt}, so nothing can be held against it");
        for row in rows.iter_mut().filter(|row| row.base.is_some()) {
            row.verdict = Verdict::Inconclusive;
            row.says = format!("{}; of the earlier measurement, {doubt}", row.says);
        }
        rows.push(GateRow { verdict: Verdict::Inconclusive, ..about_run(name, &says) });
    }
    if let Some(doubt) = doubt(run, policy) {
        for row in rows.iter_mut().filter(|row| matches!(row.verdict, Verdict::Pass | Verdict::Fail)) {
            row.says = format!("{}; {doubt}, so nothing can be told", row.says);
            row.verdict = Verdict::Inconclusive;
        }
        // Of its own, for every other row may be advisory.
        let says = format!("{doubt}, so nothing can be told");
        rows.push(GateRow { verdict: Verdict::Inconclusive, ..about_run(name, &says) });
    }
    Ok(GateReport {
        base: earlier.map(|(name, _)| name.to_owned()),
        candidate: name.to_owned(),
        policy: policy.name.clone(),
        verdict: overall(&rows),
        counts: counts(&rows),
        rows,
        places: Default::default(),
    })
}

/// The row of a pair; none of a yardstick that there is nothing to hold against.
fn row_of(pair: &PairRounds, earlier: Option<&PairedRun>, policy: &Policy) -> Option<GateRow> {
    let check = policy.perf.checks.iter().find(|check| check.pair == pair.name);
    match pair.role {
        PairRole::Control => Some(control_row(pair, policy)),
        PairRole::Equal => Some(equal(pair, check, policy)),
        PairRole::ReferenceWorkload => earlier.map(|earlier| beside(pair, earlier, check, policy)),
    }
}

/// Why a measurement cannot be trusted; `None` when it can.
fn doubt(run: &PairedRun, policy: &Policy) -> Option<&'static str> {
    let mut controls = run.pairs.iter().filter(|pair| pair.role == PairRole::Control).peekable();
    if !run.optimized {
        Some("the code was not optimised")
    } else if controls.peek().is_none() {
        Some("there is no control")
    } else if controls.any(|pair| control_row(pair, policy).verdict != Verdict::Pass) {
        Some("the control is not within its margin")
    } else {
        None
    }
}

const NOT_DECIDED: &str = "the policy names this pair, and nothing was decided: it is not there, or a yardstick without an \
                           earlier measurement";

/// What should have been decided and was not: pairs that a policy names, and those of an earlier measurement.
fn undecided(run: &PairedRun, earlier: Option<&PairedRun>, policy: &Policy, rows: &[GateRow]) -> Vec<GateRow> {
    let is_control = |name: &str| run.pairs.iter().any(|pair| pair.role == PairRole::Control && pair.name == name);
    let wanted = policy.perf.checks.iter().map(|check| {
        let name = check.pair.as_str();
        match is_control(name) {
            true => (name, true, "a control has its margin in `control`, and no check"),
            false => (name, false, NOT_DECIDED),
        }
    });
    let had = earlier.iter().flat_map(|earlier| &earlier.pairs);
    let had = had.map(|pair| (pair.name.as_str(), false, "the earlier measurement has this pair"));
    let mut gone: Vec<GateRow> = Vec::new();
    for (name, wrong, says) in wanted.chain(had) {
        let subject = Subject::Arms { pair: name.to_owned() };
        let decided = rows.iter().any(|row| row.subject == subject) && !wrong;
        if !decided && !gone.iter().any(|row| row.subject == subject) {
            gone.push(super::missing(subject, TIME, says));
        }
    }
    gone
}

/// A ratio means the same on the same machine alone.
fn check_alike(earlier: &PairedRun, run: &PairedRun) -> Result<(), IncompatibleRuns> {
    let incompatible = |what: &str, base: String, candidate: String| IncompatibleRuns {
        what: what.to_owned(),
        base,
        candidate,
        allow: None,
    };
    let cpu = |run: &PairedRun| run.cpu.clone().unwrap_or_else(|| "unknown".to_owned());
    if earlier.cpu != run.cpu || run.cpu.is_none() {
        return Err(incompatible("the processor", cpu(earlier), cpu(run)));
    }
    if earlier.optimized != run.optimized {
        let word = |run: &PairedRun| if run.optimized { "optimised" } else { "not optimised" }.to_owned();
        return Err(incompatible("the code", word(earlier), word(run)));
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
        let arms =
            |pair: &PairRounds| format!("{} over {}, {:?}", pair.candidate, pair.reference, pair.role).to_lowercase();
        if arms(before) != arms(pair) {
            return Err(incompatible(&format!("pair `{}`", pair.name), arms(before), arms(pair)));
        }
    }
    Ok(())
}

/// The median log ratio with its interval; `None` of too few rounds.
fn ratio(pair: &PairRounds) -> Option<(f64, Interval)> {
    let logs = pair.log_ratios();
    let found = sign_interval(&logs, CONFIDENCE).filter(|_| logs.len() >= MIN_ROUNDS)?;
    Some((found.median, found.interval))
}

fn control_row(pair: &PairRounds, policy: &Policy) -> GateRow {
    let margin = policy.perf.control;
    let row = row(pair, margin, Tier::Critical);
    match ratio(pair) {
        None => too_few(row, pair),
        Some(found) => {
            let holds = within(found.1, margin);
            let says = match holds {
                true => format!("the same thing twice, within {}", Margin::Percent(margin)),
                false => format!("the same thing twice is not shown to be within {}", Margin::Percent(margin)),
            };
            let verdict = if holds { Verdict::Pass } else { Verdict::Inconclusive };
            measured(GateRow { verdict, says, ..row }, found)
        }
    }
}

fn equal(pair: &PairRounds, check: Option<&PerfCheck>, policy: &Policy) -> GateRow {
    let margin = check.and_then(|check| check.margin).unwrap_or(policy.perf.equal);
    let row = row(pair, margin, tier(check));
    let Some(found) = ratio(pair) else { return too_few(row, pair) };
    let (_, interval) = found;
    let allowed = Margin::Percent(margin);
    let (verdict, says) = if within(interval, margin) {
        (Verdict::Pass, format!("as fast as {}, within {allowed}", pair.reference))
    } else if interval.lower > margin.ln_1p() {
        (Verdict::Fail, format!("slower than {} by more than {allowed}", pair.reference))
    } else if interval.upper < -margin.ln_1p() {
        (Verdict::Fail, format!("faster than {} by more than {allowed}: they are not the same", pair.reference))
    } else {
        (Verdict::Inconclusive, format!("a difference of {allowed} is neither shown nor ruled out"))
    };
    settled(measured(GateRow { verdict, says, ..row }, found), found, margin.ln_1p(), pair)
}

/// Beside an earlier measurement: how the arm's ratio to its yardstick moved. Both intervals together are at least as wide as one of
/// the difference would be.
fn beside(pair: &PairRounds, earlier: &PairedRun, check: Option<&PerfCheck>, policy: &Policy) -> GateRow {
    let margin = check.and_then(|check| check.margin).unwrap_or(policy.perf.slower);
    let row = row(pair, margin, tier(check));
    let Some(before) = earlier.pairs.iter().find(|before| before.name == pair.name) else {
        return GateRow {
            verdict: Verdict::Missing,
            says: "the earlier measurement has no such pair; measure it anew".to_owned(),
            ..row
        };
    };
    let (Some(before), Some(now)) = (ratio(before), ratio(pair)) else { return too_few(row, pair) };
    let interval = Interval { lower: now.1.lower - before.1.upper, upper: now.1.upper - before.1.lower };
    let allowed = Margin::Percent(margin);
    let (verdict, says) = if interval.upper < margin.ln_1p() {
        (Verdict::Pass, format!("slower by {allowed} or more is ruled out"))
    } else if interval.lower > margin.ln_1p() {
        (Verdict::Fail, format!("slower than before by more than {allowed}, beside {}", pair.reference))
    } else {
        (Verdict::Inconclusive, format!("slower by {allowed} is neither shown nor ruled out"))
    };
    let found = (now.0 - before.0, interval);
    // More rounds of this measurement would not make the earlier one any sharper.
    let row = measured(GateRow { verdict, says, ..row }, found);
    GateRow { base: Some(before.0.exp()), candidate: Some(now.0.exp()), ..row }
}

fn tier(check: Option<&PerfCheck>) -> Tier {
    check.map_or(Tier::Critical, |check| check.tier)
}

/// A ratio within a margin on both sides, with all of its interval.
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
        ..super::missing(Subject::Arms { pair: pair.name.clone() }, TIME, "")
    }
}

fn too_few(row: GateRow, pair: &PairRounds) -> GateRow {
    let says = format!("{} rounds; at least {MIN_ROUNDS} decide", pair.rounds.len());
    GateRow { verdict: Verdict::Inconclusive, settles: Some(MIN_ROUNDS as u64), says, ..row }
}

/// A row with what was found: the ratio, and how far it is from 1.
fn measured(row: GateRow, (median, interval): (f64, Interval)) -> GateRow {
    let share = |log: f64| log.exp_m1();
    GateRow {
        candidate: Some(median.exp()),
        difference: Some(share(median)),
        interval: Some(Interval { lower: share(interval.lower), upper: share(interval.upper) }),
        ..row
    }
}

/// How many rounds would settle an inconclusive row: the interval shrinks with their root.
fn settled(row: GateRow, (median, interval): (f64, Interval), margin: f64, pair: &PairRounds) -> GateRow {
    if row.verdict != Verdict::Inconclusive {
        return row;
    }
    let half = (interval.upper - interval.lower) / 2.0;
    let distance = (median.abs() - margin).abs();
    let rounds = (half / distance).powi(2) * pair.rounds.len() as f64;
    let settles = (rounds.is_finite() && rounds < 1e9).then(|| rounds.ceil() as u64);
    let says = match settles {
        Some(rounds) => format!("{}; about {rounds} rounds would settle it", row.says),
        None => row.says,
    };
    GateRow { settles, says, ..row }
}
