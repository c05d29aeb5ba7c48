//! Warnings about incomplete runs, shown before any number.

use healbench_store::RunStatus;

use super::number::{count, pluralize};
use healbench_analysis::Report;

/// A warning: its subject and the rest of the sentence.
pub(super) type Warning = (&'static str, String);

/// Returns the warnings in order of importance; none for a complete run.
pub(super) fn incomplete_warnings(report: &Report) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if report.status == RunStatus::Interrupted {
        let (done, all) = (count(report.totals.episodes), pluralize(report.planned, "episode"));
        warnings.push(("The run was interrupted", format!("this is {done} of {all}{}.", scenarios(report))));
    }
    if let Some(shard) = &report.shard {
        warnings
            .push(("Partial run", format!("this is shard {shard} of a run; `healbench merge` combines the shards.")));
    }
    warnings
}

/// Simulated readers run scenario by scenario, so the finished episodes are not a random sample of the plan.
fn scenarios(report: &Report) -> String {
    let rows = || report.agents.iter().flat_map(|agent| &agent.rows);
    let is_scored = |index: usize| {
        rows().any(|row| row.scenarios.get(index).is_some_and(|scenario| scenario.calls_per_episode.denominator > 0))
    };
    let (scored, all) = ((0..report.scenarios.len()).filter(|index| is_scored(*index)).count(), report.scenarios.len());
    if scored == all {
        return String::new();
    }
    format!("; {} of {} are in it", count(scored as u64), pluralize(all as u64, "scenario"))
}
