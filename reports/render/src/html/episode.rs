//! The page of an episode, with links to other conditions and a form to run it in another one.

use healbench_core::{AgentKind, CellRef, Condition, ErrorFormat, Guardrails, Plan};
use maud::{Markup, html};

use super::aligned::aligned;
use super::episodes::filter_query;
use super::page::{Page, page};
use super::transcript::side_by_side;
use super::{run_address, visible};
use crate::labels::condition_label;
use healbench_analysis::{EpisodeFilter, Transcript};
use healbench_text::plain_text;

/// The content of an episode page.
#[derive(Debug)]
pub struct EpisodePage<'a> {
    pub name: &'a str,
    /// The index of the requested episode.
    pub episode: u64,
    /// The run's plan, which contains the episode.
    pub plan: &'a Plan,
    /// The episodes that are shown beside it.
    pub versus: &'a [u64],
    /// The transcripts of the episode and of those it is compared with.
    pub transcripts: &'a [Transcript],
    /// The episodes before and after it among those of the filter.
    pub neighbors: &'a EpisodeNeighbors,
}

/// The largest number of episodes beside the requested one.
pub const MAX_VERSUS: usize = 24;

/// The place of an episode in a filtered list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EpisodeNeighbors {
    pub filter: EpisodeFilter,
    pub previous: Option<u64>,
    pub next: Option<u64>,
}

pub fn episode(episode: &EpisodePage<'_>) -> String {
    let EpisodePage { name, episode: number, plan, versus: _, transcripts, neighbors } = episode;
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
        @let transcripts: Vec<&Transcript> = transcripts.iter().collect();
        div data-hits=(visible(&neighbors.filter.q)) {
            @if transcripts.len() > 1 { (aligned(&transcripts)) } @else { (side_by_side(&transcripts, true)) }
        }
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

/// Links the same scenario, agent and trial under the plan's other conditions: each is shown beside this episode, or taken away again.
fn other_conditions(page: &EpisodePage<'_>, cell: CellRef) -> Markup {
    let episode_of = |condition: usize| page.plan.episode(CellRef { condition, ..cell });
    let others: Vec<u64> =
        (0..page.plan.conditions.len()).map(episode_of).filter(|other| *other != page.episode).collect();
    let shown: Vec<u64> = others.iter().copied().filter(|other| page.versus.contains(other)).collect();
    let address = |episodes: &[u64]| {
        let list = episodes.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let query = filter_query(&page.neighbors.filter, 1);
        let versus = match (episodes.is_empty(), query.is_empty()) {
            (true, _) => query,
            (false, true) => format!("?versus={list}"),
            (false, false) => format!("{query}&versus={list}"),
        };
        format!("{}episodes/{}{versus}", run_address(page.name), page.episode)
    };
    let toggled = |episode: u64| -> Vec<u64> {
        others.iter().copied().filter(|other| shown.contains(other) != (*other == episode)).collect()
    };
    html! {
        @if !others.is_empty() {
            nav.switch aria-label="The same trial under other conditions" {
                span.note { "The same trial under" }
                @for (index, condition) in page.plan.conditions.iter().enumerate() {
                    @let episode = episode_of(index);
                    @let label = condition_label(condition);
                    @if episode == page.episode {
                        span.chosen { (visible(&label)) }
                    } @else if shown.contains(&episode) {
                        a.chosen href=(address(&toggled(episode))) { (visible(&label)) span.hidden-text { ": shown; take away" } }
                    } @else if shown.len() < MAX_VERSUS {
                        a href=(address(&toggled(episode))) { (visible(&label)) }
                    }
                }
                @if others.len() > 1 && others.len() <= MAX_VERSUS && shown.len() < others.len() { a href=(address(&others)) { "all" } }
            }
        }
    }
}

/// Renders the form that runs a simulated reader in any other condition.
fn rerun_form(page: &EpisodePage<'_>) -> Markup {
    let templates = page.plan.conditions.iter().map(Condition::format);
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
