//! What has to be said before any number: that a run is not whole.

use healbench_record::RunStatus;

use super::number::{count, pluralize};
use crate::summary::Report;

/// A warning: what it is about, and the rest of the sentence.
pub(super) type Warning = (&'static str, String);

/// In the order of their weight; none of a whole run.
pub(super) fn incomplete_warnings(report: &Report) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if report.status == RunStatus::Interrupted {
        let (done, all) = (count(report.totals.episodes), pluralize(report.planned, "episode"));
        warnings.push(("The run was interrupted", format!("this is {done} of {all}{}.", scenarios(report))));
    }
    if let Some(shard) = &report.shard {
        warnings.push(("A part", format!("this is shard {shard} of a run; `healbench merge` puts them together.")));
    }
    warnings
}

/// Scripted agents play scenario by scenario, so that what is there is no sample of the plan.
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
