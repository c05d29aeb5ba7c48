//! Notes for the reader and the provenance of the run.

use healbench_store::RunManifest;
use maud::{Markup, html};

use super::{visible, with_code_spans};
use crate::methods::Methods;
use crate::number::percent;
use crate::terminal::{agent_notes, exclusion_notes, readers_note};
use crate::warnings::incomplete_warnings;
use healbench_analysis::Report;

/// Renders the warnings about an incomplete run.
pub(super) fn warnings(report: &Report) -> Markup {
    html! { @for (what, rest) in incomplete_warnings(report) { p { b.bad { (what) ": " } (with_code_spans(&rest)) } } }
}

/// Renders the explanation of the numbers.
pub(super) fn reading_guide(report: &Report) -> Markup {
    html! {
        h2 #notes { "How to read this" }
        ul.note {
            li {
                "Intervals are " (percent(report.confidence)) ". Of differences, effects of guardrails and pass^k, they say what other scenarios of these suites would show"
                (Methods::of_report(report).with_rest("the rest")) ". Of a rate (Wilson) and of retries (Kaplan-Meier), they say what the same scenarios "
                "would show if they were run again; a rate of simulated readers and of replays has none: they never vary with the same seed."
            }
            li {
                "retries (median): the Kaplan-Meier estimate; chains that were never fixed are censored. errors fixed and "
                "within k: of all chains."
            }
            li { "p: of the same statistic, for other scenarios, adjusted by Holm for all pairs of conditions of an agent." }
            li { "Rates are over scored episodes. recovered: success in episodes with a scheduled mistake or fault. /success: per success." }
            li { "Unknown is —, never zero. Tokens are counted by " (visible(&report.tokenizer)) ", unless a provider's count is named." }
            @let readers = readers_note(report).filter(|_| report.answer.recorded.is_none());
            @for note in agent_notes(report).into_iter().chain(readers).chain(exclusion_notes(report)) { li { (with_code_spans(&note)) } }
        }
    }
}

/// Renders the provenance of the run.
pub(super) fn provenance(manifest: &RunManifest) -> Markup {
    html! {
        p {
            "Run of " (visible(&manifest.started)) " by healbench " (visible(&manifest.healbench))
            @if let Some(revision) = &manifest.revision { " (" (visible(revision)) ")" }
            ": " code { (visible(&manifest.command)) }
        }
        @if !manifest.plan.is_trace() { p { "Seed " (manifest.plan.seed) ": the same plan gives the same rows of simulated readers." } }
    }
}
