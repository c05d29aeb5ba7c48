//! The moment after the first error, under two formats or the two conditions of the headline comparison: what the same call is answered,
//! and what the agent does then.

use healbench_core::Outcome;
use maud::{Markup, html};

use super::payload::row_id;
use super::run_page::RunPage;
use super::transcript::{outcome_badge, render_call, render_lines};
use super::visible;
use crate::labels::row_label;
use crate::number::{count, pluralize};
use healbench_analysis::{CallStep, SpanChange, Transcript, TranscriptStep};

/// The first failed call of an episode, or its first call, and the call after it.
#[derive(Debug)]
pub(super) struct Moment {
    outcome: Markup,
    pub(super) succeeded: bool,
    markup: Markup,
    task: Markup,
    has_error: bool,
    has_marked_changes: bool,
}

/// The largest response that is shown in full, in bytes.
const MAX_RESPONSE_BYTES: usize = 4_000;

impl Moment {
    pub(super) fn of(transcript: &Transcript) -> Moment {
        let calls: Vec<&CallStep> = transcript
            .steps
            .iter()
            .filter_map(|step| if let TranscriptStep::Call(call) = step { Some(&**call) } else { None })
            .collect();
        let failed = calls.iter().position(|call| call.row.is_error);
        let first = failed.unwrap_or(0);
        let shown = calls.get(first..calls.len().min(first + 2)).unwrap_or_default();
        let has_marked_changes =
            shown.iter().skip(1).any(|call| call.arguments.iter().any(|span| span.change != SpanChange::Same));
        let left_out = calls.len() - shown.len();
        let markup = html! {
            ol { @for call in shown { li { (render_call(call, call.response.len() <= MAX_RESPONSE_BYTES)) } } }
            @if shown.is_empty() { p.note { "No call." } }
            @if left_out > 0 { p.note { (pluralize(left_out as u64, "other call")) " not shown here." } }
        };
        let task = render_lines(&transcript.prompt, false);
        let succeeded = transcript.outcome == Outcome::Success;
        let outcome = outcome_badge(transcript);
        Moment { outcome, succeeded, markup, task, has_error: failed.is_some(), has_marked_changes }
    }

    /// Returns how much a moment shows: an error, and changes of the arguments after it.
    pub(super) fn tells(&self) -> u32 {
        u32::from(self.has_error) + 2 * u32::from(self.has_marked_changes)
    }
}

/// Renders the moment of the scenario that shows most; nothing if no trial ended differently.
pub(super) fn moment(run: &RunPage<'_>) -> Markup {
    let report = run.report;
    let Some((candidate, moments)) = run.transcripts.moment() else { return html! {} };
    let Some(example) = report.examples.get(candidate.example) else { return html! {} };
    let rows = &report.agents[example.agent].rows;
    let conditions = rows.len();
    let names = candidate.conditions.map(|row| row_label(&rows[row]));
    html! {
        h2 #moment { "What does an agent do with the error?" }
        p.note {
            "The same moment under both conditions: " b { (visible(&report.scenarios[example.scenario])) } " with "
            (visible(&report.agents[example.agent].title))
            @if example.trials > 1 { ". " (count(example.alike)) " of " (count(example.trials)) " trials went like this one" }
            ". Arguments that the agent changed are marked. "
            a href={ "#" (row_id(example.scenario, example.agent)) } data-c="all" {
                "Complete transcripts"
                @if conditions > 2 { " under all " (count(conditions as u64)) " conditions" }
            }
        }
        p { span.who { "task " } span.task { (moments[0].task) } }
        div.pair {
            @for (moment, name) in moments.into_iter().zip(names) {
                section.transcript {
                    h3 { (name) " " (moment.outcome) }
                    (moment.markup)
                }
            }
        }
    }
}
