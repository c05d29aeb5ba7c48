//! What a reader has to know, and where the run comes from.

use healbench_record::{RunManifest, RunStatus};
use maud::{Markup, html};

use super::shown;
use crate::render::number::{count, counted, percent};
use crate::render::terminal::{about_agents, left_out};
use crate::summary::Report;

/// What has to be said before any number: that the run is not whole.
pub(super) fn warnings(manifest: &RunManifest) -> Markup {
    let all = manifest.episodes();
    html! {
        @if manifest.status == RunStatus::Interrupted {
            p { b.bad { "The run was interrupted: " } "this is " (counted(manifest.episodes_done, "episode")) " of " (count(all.end - all.start)) "." }
        }
        @if let Some(shard) = manifest.shard {
            p { b.bad { "A part: " } "this is shard " (shard) " of a run; " code { "healbench merge" } " puts them together." }
        }
    }
}

/// How the numbers are to be read.
pub(super) fn reading(report: &Report) -> Markup {
    html! {
        h2 #notes { "How to read this" }
        ul.note {
            li {
                "Intervals are " (percent(report.confidence)) ": Wilson for a rate, Tango for a paired difference in points, BCa bootstrap "
                "over scenarios for differences in tokens and for effects of guardrails, Kaplan and Meier for retries."
            }
            li { "Rates are over scored episodes. recovered: success where something was scheduled to go wrong. /ok: per success." }
            li { "Unknown is —, never zero. Tokens are counted by " (shown(&report.tokenizer)) ", unless a provider's count is named." }
            @for note in about_agents(report).into_iter().chain(left_out(report)) { li { (note) } }
        }
    }
}

/// Where the run comes from.
pub(super) fn origin(manifest: &RunManifest) -> Markup {
    html! {
        p {
            "Run of " (shown(&manifest.started)) " by healbench " (shown(&manifest.healbench))
            @if let Some(revision) = &manifest.revision { " (" (shown(revision)) ")" }
            ": " code { (shown(&manifest.command)) }
        }
        p { "Seed " (manifest.plan.seed) ": the same command gives the same rows of scripted agents." }
    }
}
