//! The page of an active run, and the update that it polls once a second.

use std::collections::BTreeMap;

use healbench_store::{Progress, RunManifest, RunStatus};
use maud::{PreEscaped, html};
use serde::Serialize;

use super::page::{Page, page};
use super::{run_address, visible};
use crate::number::{UNKNOWN, count};
use crate::progress::{duration, failures, spending, throughput};

/// The update that the page polls.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProgressUpdate {
    /// True if the run is no longer active.
    pub ended: bool,
    /// The number of finished episodes; null if unknown.
    pub done: Option<u64>,
    /// The number of episodes to run.
    pub total: u64,
    /// The progress, if known.
    pub progress: Option<Progress>,
    /// The texts of the page's fields.
    pub fields: BTreeMap<&'static str, String>,
}

/// The ids and labels of the page's fields, in order.
const FIELDS: [(&str, &str); 6] = [
    ("episodes", "Episodes"),
    ("pace", "Pace"),
    ("left", "Time left"),
    ("spent", "Spent"),
    ("failures", "Failures"),
    ("said", "Last news"),
];

impl ProgressUpdate {
    /// Creates the update of an active run. `now` is in seconds since 1970.
    pub fn running(manifest: &RunManifest, progress: Option<Progress>, now: u64) -> ProgressUpdate {
        let total = manifest.episodes().len();
        let unknown = || UNKNOWN.to_owned();
        let known = progress.as_ref();
        let none = |failed: Vec<String>| if failed.is_empty() { "none".to_owned() } else { failed.join(", ") };
        let last_update = |progress: &Progress| {
            let ago = now.saturating_sub(progress.updated_unix_s);
            format!("{} ago", duration(ago as f64))
        };
        let fields = BTreeMap::from([
            (
                "episodes",
                known.map_or_else(unknown, |state| format!("{} of {}", count(state.done), count(state.total))),
            ),
            ("pace", known.and_then(|state| state.per_second).map_or_else(unknown, throughput)),
            ("left", known.and_then(|state| state.eta_s).map_or_else(unknown, duration)),
            ("spent", known.and_then(spending).unwrap_or_else(unknown)),
            ("failures", known.map_or_else(unknown, |state| none(failures(state)))),
            (
                "said",
                known.map_or_else(
                    || "none yet, or all episodes are done and the results are being written".to_owned(),
                    last_update,
                ),
            ),
        ]);
        ProgressUpdate { ended: false, done: known.map(|state| state.done), total, progress, fields }
    }

    /// Creates the update of a run that is no longer active.
    pub fn ended(manifest: &RunManifest) -> ProgressUpdate {
        // The manifest of an aborted run has no number of finished episodes.
        let done = (manifest.status != RunStatus::Running).then_some(manifest.episodes_done);
        let total = manifest.episodes().len();
        ProgressUpdate { ended: true, done, total, progress: None, fields: BTreeMap::new() }
    }
}

/// Renders the page of the run of this name.
pub fn progress_page(name: &str, manifest: &RunManifest, update: &ProgressUpdate) -> String {
    let body = html! {
        p.meta { "started " (visible(&manifest.started)) }
        h1 { (visible(name)) }
        section data-progress={ (run_address(name)) "progress" } aria-live="off" {
            p { progress max=(update.total.max(1)) value=[update.done] aria-label="Finished episodes" {} }
            div.scroll tabindex="0" role="region" aria-label="Progress of the run" {
                table { tbody {
                    @for (field, label) in FIELDS {
                        tr { th scope="row" { (label) } td.text data-field=(field) { (update.fields.get(field).map_or(UNKNOWN, String::as_str)) } }
                    }
                } }
            }
        }
        // With scripts, the page polls instead.
        noscript { (PreEscaped("<meta http-equiv=\"refresh\" content=\"5\">")) p.note { "This page reloads every five seconds." } }
        p.note { "The page becomes the report once the run has ended." }
        footer { p { code { (visible(&manifest.command)) } } }
    };
    page(&Page { title: &format!("{name}, under way"), served: true, body })
}
