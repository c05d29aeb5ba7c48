//! A candidate run held against a base: which cells there are to compare, and how each is decided.

use std::collections::{BTreeMap, BTreeSet};

use healbench_record::{Plan, PlannedScenario, RunDir};

use super::{Candidate, GateReport, GateRow, INFRA, IncompatibleRuns, Lines, Margin, Place, Policy, Subject, Verdict};
use super::{counts, deterministic, incompatible, missing, overall, stochastic};
use crate::baseline::{Baseline, CellScenario};

/// Holds a candidate against a base. `places` are those of the candidate's scenarios.
///
/// # Errors
/// [`IncompatibleRuns`], with the first difference, when they are not of the same thing.
pub fn gate(
    base: Candidate<'_>,
    candidate: Candidate<'_>,
    policy: &Policy,
    places: &BTreeMap<String, Place>,
) -> Result<GateReport, IncompatibleRuns> {
    incompatible::check(base.baseline, candidate.baseline, policy)?;
    let mut rows = vec![lost(base, policy), lost(candidate, policy)];
    rows.extend(required(candidate.baseline, policy));
    for (cell, before) in &base.baseline.cells {
        let Some(after) = candidate.baseline.cells.get(cell) else {
            rows.push(missing(
                Subject::of(cell),
                "cell",
                "the candidate has no such cell; play it, or bless without it",
            ));
            continue;
        };
        let lines = paired(before, after);
        match is_exact(&lines) {
            true => rows.extend(deterministic::rows(cell, &lines, policy)),
            false => rows.extend(stochastic::rows(cell, &lines, policy, base.baseline.seed)),
        }
    }
    rows.extend(idle(base.baseline, policy));
    for cell in candidate.baseline.cells.keys().filter(|cell| !base.baseline.cells.contains_key(cell)) {
        rows.push(missing(Subject::of(cell), "cell", "the base has no such cell; bless a run that has it"));
    }
    let changed: BTreeSet<&str> =
        rows.iter().flat_map(|row| &row.changes).map(|change| change.scenario.as_str()).collect();
    let places = places.iter().filter(|(id, _)| changed.contains(id.as_str()));
    let places = places.map(|(id, place)| (id.clone(), place.clone())).collect();
    Ok(GateReport {
        base: Some(base.name.to_owned()),
        candidate: candidate.name.to_owned(),
        policy: policy.name.clone(),
        verdict: overall(&rows),
        counts: counts(&rows),
        places,
        rows,
    })
}

fn paired<'a>(before: &'a BTreeMap<String, CellScenario>, after: &'a BTreeMap<String, CellScenario>) -> Lines<'a> {
    before.iter().filter_map(|(id, line)| Some((id.as_str(), line, after.get(id)?))).collect()
}

/// Whether both sides come again bit by bit.
fn is_exact(lines: &Lines<'_>) -> bool {
    lines.iter().all(|(_, before, after)| before.rows.is_some() && after.rows.is_some())
}

/// The share of a side's episodes that were lost.
fn lost(side: Candidate<'_>, policy: &Policy) -> GateRow {
    let lines = || side.baseline.cells.values().flat_map(BTreeMap::values);
    let planned: u64 = lines().map(|line| line.outcomes.len() as u64).sum();
    let lost = planned - lines().map(|line| line.outcomes.scored()).sum::<u64>();
    let share = if planned == 0 { 0.0 } else { lost as f64 / planned as f64 };
    let holds = share <= policy.infra_share && planned > 0;
    let row = missing(Subject::Run { run: side.name.to_owned() }, INFRA, "");
    GateRow {
        verdict: if holds { Verdict::Pass } else { Verdict::Missing },
        candidate: Some(share),
        says: match holds {
            true => format!("{lost} of {planned} episodes were lost"),
            false => format!(
                "{lost} of {planned} episodes were lost to infrastructure or configuration; {} is the most",
                Margin::Percent(policy.infra_share)
            ),
        },
        ..row
    }
}

/// The cells that a policy asks for and the candidate does not have.
fn required(candidate: &Baseline, policy: &Policy) -> Vec<GateRow> {
    let absent = policy.require.iter().filter(|wanted| !candidate.cells.contains_key(*wanted));
    absent.map(|cell| missing(Subject::of(cell), "cell", "the policy requires this cell")).collect()
}

/// The checks of a policy that name what the base does not have: they would hold nothing to anything.
fn idle(base: &Baseline, policy: &Policy) -> Vec<GateRow> {
    let idle =
        policy.checks.iter().filter(|check| check.names_a_cell() && !base.cells.keys().any(|cell| check.is_of(cell)));
    idle.map(|check| {
        let says = format!("the policy's check of {} is about no cell of the base: {}", check.metric, check.cells());
        GateRow { tier: check.tier, ..missing(Subject::Run { run: "policy".to_owned() }, check.metric.name(), &says) }
    })
    .collect()
}

/// Where the scenarios of a run are written down. One whose text is gone from the run has no place.
pub fn places(run: &RunDir, plan: &Plan) -> BTreeMap<String, Place> {
    let place = |(index, scenario): (usize, &PlannedScenario)| {
        let (text, _) = run.scenario_text(index, &scenario.id).ok()?;
        Some((scenario.id.clone(), Place { path: scenario.path.clone(), line: line_of_id(&text) }))
    };
    plan.scenarios.iter().enumerate().filter_map(place).collect()
}

/// The line of a scenario's id, in YAML or JSON; the first where it is not found.
fn line_of_id(text: &str) -> u32 {
    let names_it = |line: &str| {
        line.starts_with("id:") || line.trim_start().trim_start_matches('{').trim_start().starts_with("\"id\"")
    };
    text.lines().position(names_it).map_or(1, |line| line as u32 + 1)
}
