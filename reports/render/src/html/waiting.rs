//! The page that stands in for a report while it is made.

use std::collections::BTreeMap;

use healbench_core::Outcome;
use maud::{PreEscaped, html};

use super::page::{Page, page};
use super::{run_address, visible};
use crate::number::{count, rate_percent};
use healbench_analysis::Rate;

/// Renders the page that waits for the report of a run and becomes it; with the outcomes of its episodes, if they are known.
pub fn waiting_page(name: &str, outcomes: Option<&BTreeMap<Outcome, u64>>) -> String {
    let sum = |is_counted: fn(Outcome) -> bool| -> u64 {
        outcomes.into_iter().flatten().filter(|(outcome, _)| is_counted(**outcome)).map(|(_, count)| *count).sum()
    };
    let (all, scored) = (sum(|_| true), sum(Outcome::is_scored));
    let success = Rate::of(sum(|outcome| outcome == Outcome::Success), scored);
    let body = html! {
        h1 { (visible(name)) }
        section data-progress={ (run_address(name)) "ready" } data-waiting {
            p.lead role="status" { "The report is being made. This page becomes the report." }
            p { progress aria-label="Report" {} }
        }
        @if let Some(outcomes) = outcomes {
            p { (count(all)) " episodes, of which " (count(scored)) " are scored: " (rate_percent(success)) " succeed over all agents and conditions." }
            div.scroll tabindex="0" role="region" aria-label="Outcomes" {
                table {
                    thead { tr { th.text scope="col" { "outcome" } th scope="col" { "episodes" } } }
                    tbody { @for (outcome, number) in outcomes { tr { th scope="row" { (outcome) } td { (count(*number)) } } } }
                }
            }
        }
        p { a href={ (run_address(name)) "episodes" } { "all episodes" } }
        // With scripts, the page polls instead.
        noscript { (PreEscaped("<meta http-equiv=\"refresh\" content=\"5\">")) p.note { "This page reloads every five seconds." } }
    };
    page(&Page { title: name, served: true, body })
}
