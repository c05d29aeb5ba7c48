//! The notes below the tables of a report.

use std::collections::BTreeMap;

use healbench_core::{AgentKind, Opening, diagnostics};
use healbench_text::plain_text;

use crate::ablation;
use crate::claims;
use crate::labels::{Detail, condition_label, pair_note, row_intervals};
use crate::methods::Methods;
use crate::moves::{fitted_readers, fitted_readers_in_short};
use crate::number::{count, percent, pluralize};
use healbench_analysis::{AgentReport, Report, ReportRow};

/// Returns the note on simulated readers; `None` without any.
pub(crate) fn readers_note(report: &Report) -> Option<String> {
    let readers = readers(report);
    (!readers.is_empty()).then(|| fitted_readers(&readers))
}

/// Returns the same in short, without what each was fitted to; `None` beside models, where the note stands below the answer.
pub(super) fn short_readers_note(report: &Report) -> Option<String> {
    let readers = readers(report);
    (!has_model(report) && !readers.is_empty()).then(|| fitted_readers_in_short(&readers))
}

fn readers(report: &Report) -> Vec<&AgentReport> {
    report.agents.iter().filter(|agent| agent.kind == AgentKind::Scripted).collect()
}

pub(super) fn has_model(report: &Report) -> bool {
    report.agents.iter().any(|agent| agent.kind != AgentKind::Scripted)
}

/// Returns the first agent's row of the reference condition.
pub(super) fn reference_row(report: &Report) -> Option<&ReportRow> {
    let reference = report.reference.as_ref()?;
    report.agents.first()?.rows.iter().find(|row| row.condition.label() == *reference)
}

/// Returns the notes below all tables.
pub(super) fn notes(report: &Report, intervals: bool, detail: Detail) -> Vec<String> {
    let mut notes = Vec::new();
    let level = percent(report.confidence);
    let methods = Methods::of_rows(report);
    if let Some(row) = reference_row(report) {
        let label = condition_label(&row.condition);
        notes.push(format!("The reference is `{label}`."));
    }
    notes.push(if intervals {
        format!(
            "Intervals are {level}. Of differences: for other scenarios of these suites{}. Of a rate: for the same scenarios run again \
             (Wilson); simulated readers and replays have none: they never vary with the same seed.",
            match detail {
                Detail::Summary => methods.of_points(),
                _ => methods.with_rest("the rest"),
            }
        )
    } else {
        format!(
            "The {level} intervals are left out because the terminal is too narrow. Differences are in percentage points."
        )
    });
    if intervals {
        notes.extend(pair_note(row_intervals(report).chain(ablation::intervals(&report.ablation))).map(str::to_owned));
    }
    if detail >= Detail::Metrics {
        notes
            .push("retries (median): the Kaplan-Meier estimate; chains that were never fixed are censored.".to_owned());
    }
    notes.push("recovered: success in episodes with a scheduled mistake or fault.".to_owned());
    notes.push(
        "billed: tokens of every turn, which is sent everything that is in the conversation then, and of its output."
            .to_owned(),
    );
    notes.extend(agent_notes(report));
    if detail >= Detail::Metrics && report.agents.iter().any(|agent| agent.opening.is_some()) {
        notes.push(
            "o200k /: exact o200k_base counts of requests and responses, as a share of the provider's counts."
                .to_owned(),
        );
    }
    if !report.claims.is_empty() {
        notes.push(claims::NOTE.to_owned());
    }
    notes.extend(exclusion_notes(report));
    notes
}

/// Returns notes on the agents and on what they can do. Beside models, that on simulated readers is not among them: it stands below the answer.
pub(crate) fn agent_notes(report: &Report) -> Vec<String> {
    let readers = readers_note(report).filter(|_| !has_model(report));
    readers.into_iter().chain(model_notes(report)).collect()
}

/// Returns the notes on agents that are not simulated, and on what none can show.
pub(super) fn model_notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if report.agents.iter().any(|agent| agent.opening == Some(Opening::Seeded)) {
        notes.push("seeded: the conversation begins with the scheduled mistake as the model's first call.".to_owned());
    }
    // One line for all agents: those of each are in JSON and in the rows.
    let mut answers: BTreeMap<&str, u64> = BTreeMap::new();
    for found in report.agents.iter().flat_map(|agent| &agent.diagnostics) {
        *answers.entry(&found.word).or_default() += found.answers;
    }
    let said: Vec<String> = answers.into_iter().map(|(word, answers)| diagnostics::sentence(word, answers)).collect();
    if !said.is_empty() {
        notes.push(format!("Servers: {}.", plain_text(&said.join("; "))));
    }
    if let Some(first) = report.waits_on_retry.first() {
        let others = match report.waits_on_retry.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        notes.push(format!("Whether an agent waits is not measured in `{first}`{others} (`clock: on_retry`)."));
    }
    notes
}

/// Returns notes on the episodes that are not scored.
pub(crate) fn exclusion_notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    let lost = [(report.totals.infra, "infrastructure"), (report.totals.config, "configuration")];
    let lost: Vec<String> = lost
        .into_iter()
        .filter(|(lost, _)| *lost > 0)
        .map(|(lost, reason)| format!("{} lost to {reason}", pluralize(lost, "episode")))
        .collect();
    if !lost.is_empty() {
        notes.push(format!("Not scored: {}.", lost.join(", ")));
    }
    let too_long: u64 = report.agents.iter().flat_map(|agent| &agent.rows).map(|row| row.too_long).sum();
    if too_long > 0 {
        notes.push(format!(
            "{} with a request too long for the model: in success and not in tokens.",
            pluralize(too_long, "episode")
        ));
    }
    if report.totals.unmatched > 0 {
        let unmatched = report.agents.iter().flat_map(|agent| {
            let rows = agent.rows.iter().filter_map(|row| Some((row, row.vs_reference?.unmatched)));
            rows.filter(|(_, unmatched)| *unmatched > 0).map(|(row, unmatched)| {
                format!("{} {} {}", plain_text(&agent.title), condition_label(&row.condition), count(unmatched))
            })
        });
        let unmatched: Vec<String> = unmatched.collect();
        notes.push(format!(
            "Left out of the differences because one of the two episodes is missing or not scored: {}.",
            unmatched.join("; ")
        ));
    }
    notes
}
