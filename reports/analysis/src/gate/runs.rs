//! Compares a candidate run with a base: matches their cells and decides each.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{Plan, PlannedScenario};
use healbench_store::RunDir;
use healbench_text::{agree, part_of};

use super::inputs::{self, Inputs};
use super::stochastic::Sampled;
use super::{
    GateReport, GateRow, INFRA, IncompatibleRuns, Margin, MatchedScenarios, NamedBaseline, Policy, SourceLocation,
    Subject, Verdict,
};
use super::{causes, counts, deterministic, incompatible, missing_row, overall, stochastic};
use crate::baseline::{Baseline, CellName, CellScenario, ScenarioFingerprint};
use crate::run_apart::run_apart;

/// Compares a candidate with a base. Scenarios that are not the same on both sides get a row, and the others are compared.
///
/// # Errors
/// [`IncompatibleRuns`] with the first property that differs and must not, also if no scenario can be compared.
pub fn gate(
    base: NamedBaseline<'_>,
    candidate: NamedBaseline<'_>,
    policy: &Policy,
) -> Result<GateReport, IncompatibleRuns> {
    let renamed = under_present_ids(base.baseline, candidate.baseline);
    let base = NamedBaseline { baseline: &renamed, ..base };
    incompatible::check(base.baseline, candidate.baseline, policy)?;
    let inputs = Inputs::of(base.baseline, candidate.baseline);
    let unlike = inputs::unlike_scenarios(base, candidate, policy)?;
    let mut rows = vec![lost_row(base, policy), lost_row(candidate, policy)];
    rows.extend(unlike.rows);
    rows.extend(missing_cells(candidate.baseline, policy));
    let clusters = clusters(base.baseline, candidate.baseline);
    for (cell, before) in &base.baseline.cells {
        let Some(after) = candidate.baseline.cells.get(cell) else {
            rows.push(missing_row(
                Subject::of(cell),
                "cell",
                "the candidate has no such cell; run it, or bless without it",
            ));
            continue;
        };
        let matched = match_scenarios(before, after, &unlike.ids);
        match is_deterministic(&matched) {
            true => rows.extend(deterministic::rows(cell, &matched, policy, &inputs)),
            false => {
                let sampled = Sampled { matched: &matched, clusters: &clusters, seed: base.baseline.seed };
                rows.extend(stochastic::rows(cell, &sampled, policy));
            }
        }
    }
    rows.extend(unused_checks(base.baseline, policy));
    for cell in candidate.baseline.cells.keys().filter(|cell| !base.baseline.cells.contains_key(cell)) {
        rows.push(missing_row(Subject::of(cell), "cell", "the base has no such cell; bless a run that has it"));
    }
    causes::join(&mut rows, &inputs);
    let changed: BTreeSet<&str> =
        rows.iter().flat_map(|row| &row.changes).map(|change| change.scenario.as_str()).collect();
    let locations = candidate.sources.iter().filter(|(id, _)| changed.contains(id.as_str()));
    let locations = locations.map(|(id, source)| (id.clone(), source.location.clone())).collect();
    Ok(GateReport {
        // Only runs with a live model have times.
        run_apart: run_apart(base.baseline.times.as_ref(), candidate.baseline.times.as_ref()),
        base: Some(base.name.to_owned()),
        candidate: candidate.name.to_owned(),
        candidate_run: candidate.run.to_owned(),
        policy: policy.name.clone(),
        verdict: overall(&rows),
        counts: counts(&rows),
        texts: inputs::text_changes(base, candidate, &inputs),
        locations,
        rows,
    })
}

/// Returns the base with each scenario under the id that it has in the candidate, if it was renamed since.
fn under_present_ids<'b>(base: &'b Baseline, candidate: &Baseline) -> Cow<'b, Baseline> {
    let mut renamed = Cow::Borrowed(base);
    for (id, scenario) in &candidate.scenarios {
        let Some(former) = &scenario.former else { continue };
        let is_taken = base.scenarios.contains_key(id) || candidate.scenarios.contains_key(&former.id);
        let Some(known) = base.scenarios.get(&former.id).filter(|_| !is_taken) else { continue };
        let renamed = renamed.to_mut();
        renamed.scenarios.remove(&former.id);
        // The text differs by more than the id if it is not the one that is expected.
        let text = if known.text == former.sha256 { &scenario.text } else { &known.text };
        let cluster = if known.cluster == former.id { id } else { &known.cluster };
        let known = ScenarioFingerprint { text: text.clone(), cluster: cluster.clone(), ..known.clone() };
        renamed.scenarios.insert(id.clone(), known);
        for results in renamed.cells.values_mut() {
            if let Some(result) = results.remove(&former.id) {
                results.insert(id.clone(), result);
            }
        }
    }
    renamed
}

/// Returns the cluster of each scenario: that of the candidate, unless only the base names one.
fn clusters<'a>(base: &'a Baseline, candidate: &'a Baseline) -> BTreeMap<&'a str, &'a str> {
    let of = |(id, scenario): (&'a String, &'a ScenarioFingerprint)| {
        let other = candidate.scenarios.get(id).filter(|other| other.cluster != *id);
        (id.as_str(), other.unwrap_or(scenario).cluster.as_str())
    };
    base.scenarios.iter().map(of).collect()
}

fn match_scenarios<'a>(
    before: &'a BTreeMap<String, CellScenario>,
    after: &'a BTreeMap<String, CellScenario>,
    unlike: &BTreeSet<&str>,
) -> MatchedScenarios<'a> {
    let same = before.iter().filter(|(id, _)| !unlike.contains(id.as_str()));
    same.filter_map(|(id, scenario)| Some((id.as_str(), scenario, after.get(id)?))).collect()
}

/// Returns true if both sides are reproducible bit by bit.
fn is_deterministic(matched: &MatchedScenarios<'_>) -> bool {
    matched.iter().all(|(_, before, after)| before.rows.is_some() && after.rows.is_some())
}

/// Returns the row about the share of lost episodes of one side.
fn lost_row(side: NamedBaseline<'_>, policy: &Policy) -> GateRow {
    let scenarios = || side.baseline.cells.values().flat_map(BTreeMap::values);
    let planned: u64 = scenarios().map(|scenario| scenario.outcomes.len() as u64).sum();
    let lost = planned - scenarios().map(|scenario| scenario.outcomes.scored()).sum::<u64>();
    let share = if planned == 0 { 0.0 } else { lost as f64 / planned as f64 };
    let holds = share <= policy.infra_share && planned > 0;
    let row = missing_row(Subject::Run { run: side.name.to_owned() }, INFRA, "");
    let were_lost = format!("{} {} lost", part_of(lost, planned, "episode"), agree(lost, "was", "were"));
    GateRow {
        verdict: if holds { Verdict::Pass } else { Verdict::Missing },
        candidate: Some(share),
        reason: match holds {
            true => were_lost,
            false => format!(
                "{were_lost} to infrastructure or configuration; {} is the most",
                Margin::Percent(policy.infra_share)
            ),
        },
        ..row
    }
}

/// Returns rows for cells that the policy requires and the candidate does not have.
fn missing_cells(candidate: &Baseline, policy: &Policy) -> Vec<GateRow> {
    // A policy names an agent by its title.
    let same = |cell: &CellName, wanted: &CellName| {
        let by_title =
            |cell: &CellName| (cell.agent.to_string(), cell.guardrails, cell.format.clone(), cell.condition.clone());
        by_title(cell) == by_title(wanted)
    };
    let absent = policy.require.iter().filter(|wanted| !candidate.cells.keys().any(|cell| same(cell, wanted)));
    absent.map(|cell| missing_row(Subject::of(cell), "cell", "the policy requires this cell")).collect()
}

/// Returns rows for checks that apply to no cell of the base and therefore would check nothing.
fn unused_checks(base: &Baseline, policy: &Policy) -> Vec<GateRow> {
    let unused = policy
        .checks
        .iter()
        .filter(|check| check.selects_cells() && !base.cells.keys().any(|cell| check.applies_to(cell)));
    unused
        .map(|check| {
            let reason = format!(
                "the policy's check of {} is about no cell of the base: {}",
                check.metric,
                check.describe_cells()
            );
            GateRow {
                tier: check.tier,
                ..missing_row(Subject::Run { run: "policy".to_owned() }, check.metric.name(), &reason)
            }
        })
        .collect()
}

/// A scenario's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioSource {
    /// The location of the scenario in it.
    pub location: SourceLocation,
    pub text: String,
}

/// Returns the files of a run's scenarios, without those whose texts are not stored in the run.
pub fn scenario_sources(run: &RunDir, plan: &Plan) -> BTreeMap<String, ScenarioSource> {
    let source = |(index, scenario): (usize, &PlannedScenario)| {
        let (text, _) = run.scenario_text(index, &scenario.id).ok()?;
        let location = SourceLocation { path: scenario.path.clone(), line: line_of_id(&text) };
        Some((scenario.id.clone(), ScenarioSource { location, text }))
    };
    plan.scenarios.iter().enumerate().filter_map(source).collect()
}

/// Returns the line of a scenario's id in YAML or JSON; 1 if it is not found.
fn line_of_id(text: &str) -> u32 {
    let names_it = |line: &str| {
        line.starts_with("id:") || line.trim_start().trim_start_matches('{').trim_start().starts_with("\"id\"")
    };
    text.lines().position(names_it).map_or(1, |line| line as u32 + 1)
}
