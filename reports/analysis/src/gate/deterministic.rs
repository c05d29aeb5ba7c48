//! Decides the rows of simulated readers and of replays. They are reproducible bit by bit, so any difference is a change. One for the
//! better passes, and so does one that is neither better nor worse where an input differs that explains it.

use super::inputs::Inputs;
use super::{
    ChangeEffect, GateRow, MatchedScenarios, Method, Policy, ScenarioChange, Subject, Tier, Verdict,
    first_differing_trial,
};
use crate::baseline::{CellName, CellScenario};
use crate::metric::Metric;
use healbench_text::part_of;

/// The metric name of the row about everything in the frames that no metric covers.
const ROWS: &str = "rows";

/// Returns one row per metric, and one for everything else in the frames.
pub(super) fn rows(
    cell: &CellName,
    matched: &MatchedScenarios<'_>,
    policy: &Policy,
    inputs: &Inputs<'_>,
) -> Vec<GateRow> {
    let mut rows: Vec<GateRow> =
        Metric::ALL.into_iter().filter_map(|metric| metric_row(cell, matched, metric, policy, inputs)).collect();
    // An advisory row must not hide a critical one.
    let decide = |row: &&GateRow| row.tier == Tier::Critical;
    let reported = |scenario: &str| {
        rows.iter().filter(decide).any(|row| row.changes.iter().any(|change| change.scenario == scenario))
    };
    let unreported: Vec<ScenarioChange> = matched
        .iter()
        .filter(|(scenario, before, after)| before.rows != after.rows && !reported(scenario))
        .map(|(scenario, before, after)| ScenarioChange {
            trial: first_differing_trial(before, after),
            ..ScenarioChange::named(scenario)
        })
        .collect();
    let reason = match unreported.len() {
        0 => "nothing else differs".to_owned(),
        count => {
            format!("rows of {} differ where no sum does", part_of(count as u64, matched.len() as u64, "scenario"))
        }
    };
    let effects = Effects::of(cell, &unreported, inputs);
    let tier = policy.tier_of(ROWS);
    rows.push(GateRow { tier, ..row(cell, ROWS, matched, (None, None), (unreported, effects.verdict()), reason) });
    rows
}

/// The effects of the changes of a row, as numbers of scenarios.
struct Effects {
    changed: u64,
    worse: u64,
    better: u64,
    /// Neither better nor worse, and no input differs.
    unexplained: u64,
    /// Not worse, though a trial is, for which others make up.
    made_up: u64,
}

impl Effects {
    fn of(cell: &CellName, changes: &[ScenarioChange], inputs: &Inputs<'_>) -> Effects {
        let count = |is: &dyn Fn(&ScenarioChange) -> bool| changes.iter().filter(|change| is(change)).count() as u64;
        Effects {
            changed: changes.len() as u64,
            worse: count(&|change| change.effect == ChangeEffect::Worse),
            better: count(&|change| change.effect == ChangeEffect::Better),
            unexplained: count(&|change| {
                change.effect == ChangeEffect::Neutral && !inputs.explain(cell, &change.scenario)
            }),
            made_up: count(&|change| change.effect != ChangeEffect::Worse && change.worse_trials > 0),
        }
    }

    fn verdict(&self) -> Verdict {
        if self.worse + self.unexplained + self.made_up == 0 { Verdict::Pass } else { Verdict::Fail }
    }

    /// `, for the worse in 3`.
    fn describe(&self) -> String {
        let made_up = match self.made_up {
            0 => String::new(),
            count => format!("; a trial is worse and another one makes up for it in {count}"),
        };
        self.describe_scenarios() + &made_up
    }

    fn describe_scenarios(&self) -> String {
        match *self {
            Effects { changed, worse, .. } if worse == changed => ", for the worse".to_owned(),
            Effects { changed, better, .. } if better == changed => ", for the better".to_owned(),
            Effects { worse: 0, better: 0, .. } => ", neither for the better nor for the worse".to_owned(),
            Effects { worse: 0, better, .. } => format!(", for the better in {better}, for the worse in none"),
            Effects { worse, better: 0, .. } => format!(", for the worse in {worse}"),
            Effects { worse, better, .. } => format!(", for the worse in {worse}, for the better in {better}"),
        }
    }
}

fn metric_row(
    cell: &CellName,
    matched: &MatchedScenarios<'_>,
    metric: Metric,
    policy: &Policy,
    inputs: &Inputs<'_>,
) -> Option<GateRow> {
    // No episode has a value, such as a cost without a model.
    if matched.iter().all(|(_, before, after)| before.sum(metric).count == 0 && after.sum(metric).count == 0) {
        return None;
    }
    let differs = |before: &CellScenario, after: &CellScenario| match metric {
        // A different outcome is a change even if neither is a success.
        Metric::Success => before.outcomes != after.outcomes,
        _ => before.sum(metric) != after.sum(metric),
    };
    let changes = super::changes(metric, matched, differs);
    let means = (
        mean(metric, matched.iter().map(|(_, before, _)| *before)),
        mean(metric, matched.iter().map(|(_, _, after)| *after)),
    );
    let effects = Effects::of(cell, &changes, inputs);
    let reason = match changes.len() as u64 {
        0 => "the same in every scenario".to_owned(),
        count => {
            format!("changed in {}{}", part_of(count, matched.len() as u64, "scenario"), effects.describe())
        }
    };
    let tier = policy.tier_of(metric.name());
    Some(GateRow { tier, ..row(cell, metric.name(), matched, means, (changes, effects.verdict()), reason) })
}

fn row(
    cell: &CellName,
    metric: &str,
    matched: &MatchedScenarios<'_>,
    (base, candidate): (Option<f64>, Option<f64>),
    (changes, verdict): (Vec<ScenarioChange>, Verdict),
    reason: String,
) -> GateRow {
    GateRow {
        subject: Subject::of(cell),
        metric: metric.to_owned(),
        tier: Tier::Critical,
        verdict,
        method: Method::Exact,
        base,
        candidate,
        difference: base.zip(candidate).map(|(base, candidate)| candidate - base),
        interval: None,
        other_scenarios: None,
        confidence: None,
        margin: None,
        pairs: Some(matched.iter().map(|(_, before, _)| before.outcomes.len() as u64).sum()),
        needed_pairs: None,
        unseen_scenarios: 0,
        changes,
        cause: None,
        unlike: None,
        reason,
    }
}

/// Returns the mean of a metric over scenarios: the sum over episodes divided by their number; null without episodes.
fn mean<'a>(metric: Metric, matched: impl Iterator<Item = &'a CellScenario>) -> Option<f64> {
    let (mut total, mut count) = (0.0, 0);
    for scenario in matched {
        let sum = scenario.sum(metric);
        // If the cost of some episodes is unknown, so is the mean.
        if metric == Metric::CostUsd && sum.count != scenario.outcomes.scored() {
            return None;
        }
        total += sum.total;
        count += sum.count;
    }
    (count > 0).then(|| total / count as f64)
}
