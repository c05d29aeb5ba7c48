//! The page of an episode, with links to other conditions and a form to run it in another one.

use healbench_protocol::{AgentKind, ErrorFormat, Guardrails};
use healbench_record::{CellRef, Condition, Plan};
use maud::{Markup, html};

use super::episodes::filter_query;
use super::page::{Page, page};
use super::transcript::side_by_side;
use super::{run_address, visible};
use crate::episode_index::EpisodeFilter;
use crate::render::labels::condition_label;
use crate::render::plain_text;
use crate::transcript::Transcript;

/// The content of an episode page.
#[derive(Debug)]
pub struct EpisodePage<'a> {
    pub name: &'a str,
    /// The index of the requested episode.
    pub episode: u64,
    /// The run's plan, which contains the episode.
    pub plan: &'a Plan,
    /// The transcripts of the episode and of those it is compared with.
    pub transcripts: &'a [Transcript],
    /// The episodes before and after it among those of the filter.
    pub neighbors: &'a EpisodeNeighbors,
}

/// The place of an episode in a filtered list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EpisodeNeighbors {
    pub filter: EpisodeFilter,
    pub previous: Option<u64>,
    pub next: Option<u64>,
}

/// Renders the page.
pub fn episode(episode: &EpisodePage<'_>) -> String {
    let EpisodePage { name, episode: number, plan, transcripts, neighbors } = episode;
    let title = format!("{name}, episode {number}");
    let body = html! {
        p.meta {
            a href=(run_address(name)) { (visible(name)) }
            @if let Some(first) = transcripts.first() { " · " (visible(&first.agent)) " · trial " (first.trial) }
        }
        (navigation(name, neighbors))
        @if let Some(first) = transcripts.first() { h1 { (visible(&first.scenario)) } }
        (copies(name, *number))
        @if let Some(cell) = plan.cell(*number) {
            (other_conditions(episode, cell))
            @if plan.agents[cell.agent].kind == AgentKind::Scripted && plan.is_reproducible(cell.agent) { (rerun_form(episode)) }
        }
        div data-hits=(visible(&neighbors.filter.q)) { (side_by_side(&transcripts.iter().collect::<Vec<_>>(), true)) }
    };
    page(&Page { title: &title, served: true, body })
}

/// Links the neighbors and the list.
fn navigation(name: &str, neighbors: &EpisodeNeighbors) -> Markup {
    let query = filter_query(&neighbors.filter, 1);
    let address = run_address(name);
    html! {
        nav.pages aria-label="Episodes" {
            @if let Some(previous) = neighbors.previous { a rel="prev" href={ (address) "episodes/" (previous) (query) } { "← previous (k)" } " " }
            a href={ (address) "episodes" (query) } { @if neighbors.filter.is_empty() { "all episodes" } @else { "filtered episodes" } }
            @if let Some(next) = neighbors.next { " " a rel="next" href={ (address) "episodes/" (next) (query) } { "next (j) →" } }
        }
    }
}

/// Links the transcript in other forms; the script turns the links into buttons that copy.
fn copies(name: &str, episode: u64) -> Markup {
    let address = format!("{}episodes/{episode}", run_address(name));
    html! {
        p.copies data-copies {
            a href=(address) data-copy="link" { "Link" } " "
            a href={ (address) ".md" } data-copy="Markdown" { "Markdown" } " "
            a href={ (address) ".json" } data-copy="JSON" { "JSON" } " "
            span role="status" {}
        }
    }
}

/// Links the same scenario, agent and trial in the plan's other conditions.
fn other_conditions(page: &EpisodePage<'_>, cell: CellRef) -> Markup {
    let episodes = page.plan.conditions.iter().enumerate().filter(|(index, _)| *index != cell.condition);
    html! {
        @if page.plan.conditions.len() > 1 {
            p.note {
                "Compare with: "
                @for (index, (index_in_plan, Condition { name, guardrails, format, .. })) in episodes.enumerate() {
                    @if index > 0 { ", " }
                    @let other = page.plan.episode(CellRef { condition: index_in_plan, ..cell });
                    a href={ (run_address(page.name)) "episodes/" (page.episode) "?versus=" (other) } {
                        (visible(&condition_label(name, *guardrails, format)))
                    }
                }
            }
        }
    }
}

/// Renders the form that runs a simulated reader in any other condition.
fn rerun_form(page: &EpisodePage<'_>) -> Markup {
    let templates = page.plan.conditions.iter().map(|condition| &condition.format);
    let templates = templates.filter(|format| matches!(format, ErrorFormat::Template(_)));
    let mut formats: Vec<String> =
        ErrorFormat::named().map(|entry| &entry.format).chain(templates).map(|format| format.name().into()).collect();
    let mut seen = std::collections::BTreeSet::new();
    // A browser may change invisible characters in a form, so formats with such names are left out.
    formats.retain(|format| plain_text(format) == *format && seen.insert(format.clone()));
    html! {
        form.tools action={ (run_address(page.name)) "episodes/" (page.episode) } method="get" {
            label { "Guardrails" select name="guardrails" {
                option value="" { "as in the run" }
                @for set in Guardrails::sets().rev() { @let set = set.to_string(); option value=(set) { (set) } }
            } }
            label { "Error format" select name="format" {
                option value="" { "as in the run" }
                @for format in &formats { option value=(format) { (visible(format)) } }
            } }
            button type="submit" { "Run" }
        }
    }
}
