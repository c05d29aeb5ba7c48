//! What a reader has to know, and where the run comes from.

use healbench_record::RunManifest;
use maud::{Markup, html};

use super::{visible, with_code_spans};
use crate::render::number::percent;
use crate::render::terminal::{agent_notes, exclusion_notes};
use crate::render::warnings::incomplete_warnings;
use crate::summary::Report;

/// What has to be said before any number: that the run is not whole.
pub(super) fn warnings(report: &Report) -> Markup {
    html! { @for (what, rest) in incomplete_warnings(report) { p { b.bad { (what) ": " } (with_code_spans(&rest)) } } }
}

/// How the numbers are to be read.
pub(super) fn reading_guide(report: &Report) -> Markup {
    html! {
        h2 #notes { "How to read this" }
        ul.note {
            li {
                "Intervals are " (percent(report.confidence)) ": Wilson for a rate, Tango for a paired difference in points, BCa bootstrap "
                "over scenarios for differences in tokens, for effects of guardrails and for pass^k, Kaplan and Meier for retries. Those over "
                "scenarios are mostly wider: they say what other scenarios like these may show, the others what more trials of these may."
            }
            li {
                "median retries: Kaplan and Meier's, for chains as long as they were tried; what was given up counts as cut off. mended, and "
                "within k: of all chains."
            }
            li { "p: McNemar's mid-p, adjusted by Holm: in an answer for all agents, in the table for all its rows." }
            li { "Rates are over scored episodes. recovered: success where something was scheduled to go wrong. /ok: per success." }
            li { "Unknown is —, never zero. Tokens are counted by " (visible(&report.tokenizer)) ", unless a provider's count is named." }
            @for note in agent_notes(report).into_iter().chain(exclusion_notes(report)) { li { (with_code_spans(&note)) } }
        }
    }
}

/// Where the run comes from.
pub(super) fn provenance(manifest: &RunManifest) -> Markup {
    html! {
        p {
            "Run of " (visible(&manifest.started)) " by healbench " (visible(&manifest.healbench))
            @if let Some(revision) = &manifest.revision { " (" (visible(revision)) ")" }
            ": " code { (visible(&manifest.command)) }
        }
        p { "Seed " (manifest.plan.seed) ": the same plan gives the same rows of scripted agents." }
    }
}
