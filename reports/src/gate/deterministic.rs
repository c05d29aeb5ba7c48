//! Rows of scripted agents and of replays: they come again bit by bit, so any difference is a change.

use super::{Change, GateRow, Lines, Method, Policy, Subject, Tier, Verdict};
use crate::baseline::{CellName, CellScenario};
use crate::metric::{Better, Metric};

/// What stands for everything in the frames that no metric tells of.
const ROWS: &str = "rows";

/// One row a metric, and one for whatever else is in the frames.
pub(super) fn rows(cell: &CellName, lines: &Lines<'_>, policy: &Policy) -> Vec<GateRow> {
    let mut rows: Vec<GateRow> =
        Metric::ALL.into_iter().filter_map(|metric| of_metric(cell, lines, metric, policy)).collect();
    // A row that decides nothing may not hide what does.
    let decide = |row: &&GateRow| row.tier == Tier::Critical;
    let told = |scenario: &str| {
        rows.iter().filter(decide).any(|row| row.changes.iter().any(|change| change.scenario == scenario))
    };
    let silent: Vec<Change> = lines
        .iter()
        .filter(|(scenario, before, after)| before.rows != after.rows && !told(scenario))
        .map(|(scenario, before, after)| Change {
            scenario: (*scenario).to_owned(),
            base: None,
            candidate: None,
            trial: first_other(before, after),
        })
        .collect();
    let says = match silent.len() {
        0 => "nothing else differs".to_owned(),
        count => format!("rows of {count} of {} scenarios differ where no sum does", lines.len()),
    };
    let tier = policy.tier_of(ROWS);
    rows.push(GateRow { tier, ..row(cell, ROWS, lines, (None, None), silent, says) });
    rows
}

fn of_metric(cell: &CellName, lines: &Lines<'_>, metric: Metric, policy: &Policy) -> Option<GateRow> {
    // Nobody has the number: a price of what costs nothing.
    if lines.iter().all(|(_, before, after)| before.sum(metric).of == 0 && after.sum(metric).of == 0) {
        return None;
    }
    let differs = |before: &CellScenario, after: &CellScenario| match metric {
        // An ending that is another one, and a success in neither, is no less of a change.
        Metric::Success => before.outcomes != after.outcomes,
        _ => before.sum(metric) != after.sum(metric),
    };
    let number = |line: &CellScenario| Some(line.sum(metric)).filter(|sum| sum.of > 0).map(|sum| sum.total);
    let changes: Vec<Change> = lines
        .iter()
        .filter(|(_, before, after)| differs(before, after))
        .map(|(scenario, before, after)| Change {
            scenario: (*scenario).to_owned(),
            base: number(before),
            candidate: number(after),
            trial: first_other(before, after),
        })
        .collect();
    let means = (
        mean(metric, lines.iter().map(|(_, before, _)| *before)),
        mean(metric, lines.iter().map(|(_, _, after)| *after)),
    );
    let says = match (changes.len(), means) {
        (0, _) => "the same in every scenario".to_owned(),
        (count, means) => format!("changed in {count} of {} scenarios{}", lines.len(), direction(metric, means)),
    };
    let tier = policy.tier_of(metric.name());
    Some(GateRow { tier, ..row(cell, metric.name(), lines, means, changes, says) })
}

fn direction(metric: Metric, means: (Option<f64>, Option<f64>)) -> &'static str {
    let (Some(before), Some(after)) = means else { return "" };
    match (metric.better(), after.total_cmp(&before)) {
        (_, std::cmp::Ordering::Equal) => ", the mean is the same",
        (Better::Higher, std::cmp::Ordering::Greater) | (Better::Lower, std::cmp::Ordering::Less) => ", for the better",
        _ => ", for the worse",
    }
}

fn row(
    cell: &CellName,
    metric: &str,
    lines: &Lines<'_>,
    (base, candidate): (Option<f64>, Option<f64>),
    changes: Vec<Change>,
    says: String,
) -> GateRow {
    GateRow {
        subject: Subject::of(cell),
        metric: metric.to_owned(),
        tier: Tier::Critical,
        verdict: if changes.is_empty() { Verdict::Pass } else { Verdict::Fail },
        method: Method::Exact,
        base,
        candidate,
        difference: base.zip(candidate).map(|(base, candidate)| candidate - base),
        interval: None,
        confidence: None,
        margin: None,
        pairs: Some(lines.iter().map(|(_, before, _)| before.outcomes.len() as u64).sum()),
        settles: None,
        changes,
        says,
    }
}

/// The first trial that ended otherwise.
pub(super) fn first_other(before: &CellScenario, after: &CellScenario) -> Option<u32> {
    let at = before.outcomes.iter().zip(after.outcomes.iter()).position(|(before, after)| before != after)?;
    u32::try_from(at).ok()
}

/// The mean of a metric over lines: the sum over episodes by their number; null without any.
fn mean<'a>(metric: Metric, lines: impl Iterator<Item = &'a CellScenario>) -> Option<f64> {
    let (mut total, mut of) = (0.0, 0);
    for line in lines {
        let sum = line.sum(metric);
        // The cost of some episodes is not the cost of all.
        if metric == Metric::CostUsd && sum.of != line.outcomes.scored() {
            return None;
        }
        total += sum.total;
        of += sum.of;
    }
    (of > 0).then(|| total / of as f64)
}
