//! The moment that parts two episodes, under two formats or the two conditions of the headline comparison: the answers to the same call, and
//! the agent's next calls.

use healbench_core::Outcome;
use maud::{Markup, html};

use super::payload::row_id;
use super::run_page::RunPage;
use super::transcript::{outcome_badge, render_call, render_lines};
use super::visible;
use crate::labels::row_label;
use crate::number::{count, pluralize};
use healbench_analysis::{SpanChange, Transcript, TranscriptStep};

/// The calls of an episode, of which two are shown.
#[derive(Debug)]
pub(super) struct Moment {
    outcome: Markup,
    pub(super) succeeded: bool,
    calls: Vec<MomentCall>,
    task: Markup,
}

#[derive(Debug)]
struct MomentCall {
    /// The tool and the arguments.
    sent: String,
    is_error: bool,
    is_marked: bool,
    markup: Markup,
}

/// The largest response that is shown in full, in bytes.
const MAX_RESPONSE_BYTES: usize = 4_000;

impl Moment {
    pub(super) fn of(transcript: &Transcript) -> Moment {
        let call = |step: &TranscriptStep| {
            let TranscriptStep::Call(call) = step else { return None };
            Some(MomentCall {
                sent: format!("{} {}", call.row.tool, call.row.arguments),
                is_error: call.row.is_error,
                is_marked: call.arguments.iter().any(|span| span.change != SpanChange::Same),
                markup: render_call(call, call.response.len() <= MAX_RESPONSE_BYTES),
            })
        };
        Moment {
            outcome: outcome_badge(transcript),
            succeeded: transcript.outcome == Outcome::Success,
            calls: transcript.steps.iter().filter_map(call).collect(),
            task: render_lines(&transcript.prompt, false),
        }
    }

    fn first_failed(&self) -> Option<usize> {
        self.calls.iter().position(|call| call.is_error)
    }

    /// Returns the place of the calls that are shown beside those of `other`: the last call that both agents made alike, if it failed, else
    /// the first failed one or the first.
    fn shown_from(&self, other: &Moment) -> usize {
        let alike = self.calls.iter().zip(&other.calls).take_while(|(own, other)| own.sent == other.sent).count();
        let has_failed = |last: &usize| self.calls[*last].is_error || other.calls[*last].is_error;
        let last = alike.checked_sub(1).filter(|_| alike < self.calls.len().max(other.calls.len())).filter(has_failed);
        last.or_else(|| self.first_failed()).unwrap_or(0)
    }

    /// Returns the calls that are shown beside those of `other`.
    fn shown(&self, other: &Moment) -> &[MomentCall] {
        let from = self.shown_from(other);
        self.calls.get(from..self.calls.len().min(from + 2)).unwrap_or_default()
    }

    /// Returns how much a moment shows beside `other`: an error, and changes of the arguments after it.
    pub(super) fn tells(&self, other: &Moment) -> u32 {
        let is_marked = self.shown(other).iter().skip(1).any(|call| call.is_marked);
        u32::from(self.first_failed().is_some()) + 2 * u32::from(is_marked)
    }

    fn render(&self, other: &Moment) -> Markup {
        let (from, shown) = (self.shown_from(other), self.shown(other));
        let after = self.calls.len() - from - shown.len();
        let number = |calls: usize, place: &str| format!("{} {place}", pluralize(calls as u64, "call"));
        html! {
            @if from > 0 { p.note { (number(from, "before these.")) } }
            ol { @for call in shown { li { (call.markup) } } }
            @if shown.is_empty() { p.note { "No call." } }
            @if after > 0 { p.note { (number(after, "after these.")) } }
        }
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
            @for (at, name) in names.into_iter().enumerate() {
                section.transcript {
                    h3 { (name) " " (moments[at].outcome) }
                    (moments[at].render(moments[1 - at]))
                }
            }
        }
    }
}
