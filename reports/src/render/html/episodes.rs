//! Episodes as a page of their own.

use maud::html;

use super::page::{Page, page};
use super::playback::beside;
use super::shown;
use crate::playback::Playback;

/// Playbacks beside each other, each to its last character. `back` is the address of their run's page.
pub fn episodes(back: &str, run: &str, playbacks: &[&Playback]) -> String {
    let title = playbacks.first().map_or(run, |first| first.scenario.as_str());
    let body = html! {
        p.meta {
            a href=(back) { (shown(run)) }
            @if let Some(first) = playbacks.first() { " · " (shown(&first.agent)) " · trial " (first.trial) }
        }
        h1 { (shown(title)) }
        (beside(playbacks, true))
    };
    page(&Page { title, served: true, body })
}
