//! Transcripts side by side in a table, aligned by call.

use maud::{Markup, html};

use super::transcript::{outcome_badge, render_header, render_lines, render_step};
use crate::labels::condition_label;
use healbench_analysis::{Transcript, TranscriptStep};
use healbench_text::pluralize;

/// The steps up to a call, and the call; without a call at the end of the episode.
struct Unit<'a> {
    steps: &'a [TranscriptStep],
    is_end: bool,
}

/// Renders the transcripts of several episodes of one scenario; texts are complete.
pub(super) fn aligned(transcripts: &[&Transcript]) -> Markup {
    let columns: Vec<Vec<Unit<'_>>> = transcripts.iter().map(|transcript| by_call(transcript)).collect();
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let label = |transcript: &Transcript| condition_label(&transcript.condition);
    html! {
        @if let Some(first) = transcripts.first() { (render_header(first, true)) }
        div.scroll tabindex="0" role="region" aria-label="Transcripts, aligned by call" {
            table.aligned {
                thead { tr {
                    @for transcript in transcripts {
                        th scope="col" {
                            div { (label(transcript)) " " (outcome_badge(transcript)) }
                            div.sure {
                                @match transcript.episode {
                                    Some(episode) => { "episode " (episode) }
                                    None => { "run now: the run has no episode under this condition" }
                                }
                            }
                        }
                    }
                } }
                tbody {
                    @for row in 0..rows {
                        tr {
                            @for (transcript, units) in transcripts.iter().zip(&columns) {
                                td data-label=(label(transcript)) { @if let Some(unit) = units.get(row) { (cell(transcript, unit)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn by_call(transcript: &Transcript) -> Vec<Unit<'_>> {
    let mut units = Vec::new();
    let mut rest = transcript.steps.as_slice();
    while let Some(call) = rest.iter().position(|step| matches!(step, TranscriptStep::Call(_))) {
        let (steps, after) = rest.split_at(call + 1);
        units.push(Unit { steps, is_end: false });
        rest = after;
    }
    units.push(Unit { steps: rest, is_end: true });
    units
}

fn cell(transcript: &Transcript, unit: &Unit<'_>) -> Markup {
    html! {
        @for step in unit.steps { (render_step(step, true)) }
        @if unit.is_end {
            @for expectation in &transcript.unmet { div { span class="who bad" { "unmet " } (render_lines(expectation, true)) } }
            (outcome_badge(transcript)) " after " (pluralize(u64::from(transcript.calls), "call"))
        }
    }
}
