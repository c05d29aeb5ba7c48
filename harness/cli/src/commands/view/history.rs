//! The history of the suites whose runs are in the folder.

use std::collections::{BTreeMap, BTreeSet};

use healbench_analysis::gate::{NamedBaseline, Policy, gate};
use healbench_analysis::{Baseline, Rate, suite_name};
use healbench_core::{Condition, Plan};
use healbench_frames::{Rows, run_totals};
use healbench_render::html::{self, HistoryRun, RunState, SuiteHistory};
use healbench_store::{RunDir, RunDirError, RunManifest, RunStatus};
use healbench_text::plain_text;

use super::cache::KnownOutcomes;
use super::folder::RunFolder;
use super::response::{PageResponse, PageResult};
use crate::error::CliError;

/// The largest number of runs of a suite in its history.
const MAX_RUNS: usize = 30;
/// The largest number of episodes of a run that the gate is asked about.
const MAX_GATED_EPISODES: u64 = 200_000;

/// A complete run of the folder.
struct CompleteRun {
    name: String,
    run: RunDir,
    manifest: RunManifest,
}

/// The history of all suites, the one with the newest run first.
pub(super) fn history(runs: &RunFolder, known: &mut KnownOutcomes) -> PageResult {
    let folder = runs.path();
    let read_error = |source| RunDirError::Io { operation: "read", path: folder.to_owned(), source };
    let listed = runs.list(known).map_err(read_error)?;
    let mut suites: BTreeMap<(String, String), Vec<CompleteRun>> = BTreeMap::new();
    for listed in listed {
        let is_complete = listed
            .summary
            .is_ok_and(|summary| summary.state == RunState::Ended && summary.manifest.status == RunStatus::Complete);
        let Some(path) = runs.find(&listed.name).filter(|_| is_complete) else { continue };
        let (run, manifest) = RunDir::open_any(&path)?;
        if manifest.shards.is_none() {
            let key = (suite_label(&manifest.plan), plan_label(&manifest.plan));
            suites.entry(key).or_default().push(CompleteRun { name: listed.name, run, manifest });
        }
    }
    let newest = |runs: &[CompleteRun]| runs.iter().map(|run| run.manifest.started.clone()).max();
    let mut suites: Vec<_> = suites.into_iter().collect();
    suites.sort_by_key(|(_, runs)| std::cmp::Reverse(newest(runs)));
    let histories: Vec<SuiteHistory> = suites
        .into_iter()
        .map(|((suite, plan), runs)| suite_history(suite, plan, runs))
        .collect::<Result<_, CliError>>()?;
    Ok(PageResponse::Page(html::history(&folder.to_string_lossy(), &histories)))
}

fn suite_label(plan: &Plan) -> String {
    match (suite_name(&plan.scenarios), plan.scenarios.as_slice()) {
        (_, [only]) => only.id.clone(),
        (Some(suite), _) => suite,
        (None, _) => "scenarios of several folders".to_owned(),
    }
}

/// Returns what has to be equal for two runs to be in one history, as a sentence.
fn plan_label(plan: &Plan) -> String {
    let agents: Vec<String> = plan.agents.iter().map(|agent| agent.title()).collect();
    let conditions: Vec<String> = plan.conditions.iter().map(Condition::label).collect();
    format!("{}; {}; on {}", agents.join(", "), conditions.join(", "), plan.environment)
}

fn suite_history(suite: String, plan: String, mut runs: Vec<CompleteRun>) -> Result<SuiteHistory, CliError> {
    runs.sort_by(|a, b| (&a.manifest.started, &a.name).cmp(&(&b.manifest.started, &b.name)));
    let left_out = runs.len().saturating_sub(MAX_RUNS);
    let mut shown: Vec<HistoryRun> = Vec::new();
    let mut before: Option<(&CompleteRun, Option<Baseline>)> = None;
    for run in &runs[left_out..] {
        let totals = run_totals(&run.run)?;
        let baseline = (run.manifest.plan.len() <= MAX_GATED_EPISODES)
            .then(|| Baseline::from_run(&Rows(&run.run), &run.manifest, 1.0).ok())
            .flatten();
        let changes = before.as_ref().map(|(before, _)| suite_changes(&before.manifest.plan, &run.manifest.plan));
        let verdict = match &before {
            None => Err("first run".to_owned()),
            Some((earlier, earlier_baseline)) => {
                verdict((&earlier.name, earlier_baseline.as_ref()), (&run.name, baseline.as_ref()))
            }
        };
        shown.push(HistoryRun {
            name: run.name.clone(),
            started: run.manifest.started.clone(),
            success: Rate::of(totals.successes, totals.scored),
            billed_tokens: totals.billed_tokens.map(|billed| billed as f64 / totals.scored as f64),
            usd: totals.usd.map(|usd| usd / totals.scored as f64),
            changes: changes.unwrap_or_default(),
            verdict,
        });
        before = Some((run, baseline));
    }
    Ok(SuiteHistory { suite, plan, runs: shown, left_out })
}

/// Returns the verdict of the gate on two runs, or the reason why there is none.
fn verdict(
    (base_name, base): (&str, Option<&Baseline>),
    (name, candidate): (&str, Option<&Baseline>),
) -> Result<healbench_analysis::gate::Verdict, String> {
    let (Some(base), Some(candidate)) = (base, candidate) else { return Err("not compared".to_owned()) };
    let (base, candidate) = (NamedBaseline::summary(base_name, base), NamedBaseline::summary(name, candidate));
    match gate(base, candidate, &Policy::default()) {
        Ok(report) => Ok(report.verdict),
        Err(incompatible) => Err(format!("not comparable: {}", plain_text(&incompatible.to_string()))),
    }
}

/// The largest number of scenarios that are named.
const MAX_NAMED: usize = 5;

/// Returns the differences between the scenarios of two plans.
fn suite_changes(before: &Plan, after: &Plan) -> Vec<String> {
    let texts = |plan: &Plan| -> BTreeMap<String, String> {
        plan.scenarios.iter().map(|scenario| (scenario.id.clone(), scenario.sha256.clone())).collect()
    };
    let (old, new) = (texts(before), texts(after));
    let changed = old.iter().filter(|(id, text)| new.get(*id).is_some_and(|other| other != *text));
    let changed: BTreeSet<&String> = changed.map(|(id, _)| id).collect();
    let added: BTreeSet<&String> = new.keys().filter(|id| !old.contains_key(*id)).collect();
    let removed: BTreeSet<&String> = old.keys().filter(|id| !new.contains_key(*id)).collect();
    let mut changes = Vec::new();
    for (what, ids) in [("changed", changed), ("added", added), ("removed", removed)] {
        if ids.is_empty() {
            continue;
        }
        let names: Vec<&str> = ids.iter().take(MAX_NAMED).map(|id| id.as_str()).collect();
        let more = ids.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        changes.push(format!("{what}: {}{more}", names.join(", ")));
    }
    changes
}
