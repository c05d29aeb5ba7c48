//! The list of a run's episodes, filtered by its address; a page of `healbench view`.

use std::fmt::Write as _;

use healbench_core::{CellRef, ErrorClass, Outcome, Plan};
use maud::{Markup, html};

use super::page::{Page, page};
use super::{run_address, visible};
use crate::labels::condition_label;
use crate::number::{UNKNOWN, count, pluralize};
use healbench_analysis::{EpisodeFilter, FAILURE, FilteredEpisodes, IndexedEpisode};

/// The content of a list of episodes.
#[derive(Debug)]
pub struct EpisodesPage<'a> {
    pub name: &'a str,
    pub plan: &'a Plan,
    pub filter: &'a EpisodeFilter,
    /// The matches on this page.
    pub found: &'a FilteredEpisodes,
    /// The index of the first match on this page.
    pub start: usize,
    /// The number of matches on a page.
    pub page_size: usize,
    /// Episodes of the run.
    pub all: usize,
    /// True if the run has more responses than it stores, so that not all texts were searched.
    pub texts_left_out: bool,
}

pub fn episodes(input: &EpisodesPage<'_>) -> String {
    let EpisodesPage { name, filter, found, start, .. } = input;
    let title = format!("{name}, episodes");
    let body = html! {
        p.meta { a href=(run_address(name)) { (visible(name)) } }
        h1 { "Episodes" }
        (form(input))
        p role="status" {
            (count(found.total as u64)) " of " (pluralize(input.all as u64, "episode"))
            @if !found.rows.is_empty() { ", shown " (count(*start as u64 + 1)) " to " (count((start + found.rows.len()) as u64)) }
            @if input.texts_left_out && !filter.q.is_empty() { ". Texts that the run does not store were not searched" }
        }
        @if found.rows.is_empty() {
            p { "No episode fits. " @if !filter.is_empty() { a href=(episodes_address(name)) { "Show all" } } }
        } @else {
            (table(input))
            (pages(input))
        }
        p.note { kbd { "j" } " and " kbd { "k" } " go through the episodes, " kbd { "Enter" } " opens one." }
    };
    page(&Page { title: &title, served: true, body })
}

/// Returns the address of the list of episodes.
fn episodes_address(name: &str) -> String {
    format!("{}episodes", run_address(name))
}

/// Returns a filter as a query, starting with `?`; empty without a filter. `page` is left out if it is 1.
pub fn filter_query(filter: &EpisodeFilter, page: usize) -> String {
    let page = if page > 1 { page.to_string() } else { String::new() };
    let EpisodeFilter { scenario, agent, condition, outcome, error, q } = filter;
    let pairs = [
        ("scenario", scenario),
        ("agent", agent),
        ("condition", condition),
        ("outcome", outcome),
        ("error", error),
        ("q", q),
        ("page", &page),
    ];
    let mut query = String::new();
    for (key, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
        query.push(if query.is_empty() { '?' } else { '&' });
        query.push_str(key);
        query.push('=');
        for byte in value.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => query.push(char::from(byte)),
                // Writing to a `String` cannot fail.
                _ => drop(write!(query, "%{byte:02X}")),
            }
        }
    }
    query
}

fn form(input: &EpisodesPage<'_>) -> Markup {
    let EpisodesPage { name, plan, filter, .. } = input;
    let outcomes = Outcome::ALL.iter().map(|outcome| (outcome.name(), outcome.words()));
    let outcomes = [("", "all"), (FAILURE, "every failure")].into_iter().chain(outcomes);
    let agents = plan.agents.iter().map(|agent| agent.title());
    let conditions = plan.conditions.iter().map(condition_label);
    html! {
        form.tools action=(episodes_address(name)) method="get" role="search" {
            label { "Scenario" input type="search" name="scenario" value=(visible(&filter.scenario)) placeholder="part of the id"; }
            (select("Agent", "agent", &filter.agent, agents))
            (select("Condition", "condition", &filter.condition, conditions))
            label { "Outcome" select name="outcome" {
                @for (value, text) in outcomes { option value=(value) selected[filter.outcome == value] { (text) } }
            } }
            label { "Error class" input type="search" name="error" value=(visible(&filter.error)) placeholder=(ErrorClass::Validation.name()); }
            label { "Text of a response" input type="search" name="q" value=(visible(&filter.q)) aria-keyshortcuts="/" placeholder="any text  ( / )"; }
            button type="submit" { "Filter" }
        }
    }
}

/// Renders a choice of entries by their index.
fn select(label: &str, name: &str, chosen: &str, entries: impl Iterator<Item = String>) -> Markup {
    html! {
        label { (label) select name=(name) {
            option value="" { "all" }
            @for (index, entry) in entries.enumerate() {
                @let index = index.to_string();
                option value=(index) selected[chosen == index] { (visible(&entry)) }
            }
        } }
    }
}

fn table(input: &EpisodesPage<'_>) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Episodes" {
            table #episodes {
                thead { tr {
                    th scope="col" { "episode" }
                    @for head in ["scenario", "agent", "condition"] { th.text scope="col" { (head) } }
                    th scope="col" { "trial" }
                    th.text scope="col" { "outcome" }
                    @for head in ["calls", "errors", "billed tokens"] { th scope="col" { (head) } }
                } }
                tbody {
                    @for row in &input.found.rows {
                        @if let Some(cell) = input.plan.cell(row.episode) { (table_row(input, row, cell)) }
                    }
                }
            }
        }
    }
}

fn table_row(input: &EpisodesPage<'_>, row: &IndexedEpisode, cell: CellRef) -> Markup {
    let EpisodesPage { name, plan, filter, .. } = input;
    let condition = &plan.conditions[cell.condition];
    let class = if row.outcome == Outcome::Success { "good" } else { "bad" };
    html! {
        tr {
            th scope="row" { a href={ (run_address(name)) "episodes/" (row.episode) (filter_query(filter, 1)) } { (row.episode) } }
            td.text.wide-text { (visible(&plan.scenarios[cell.scenario].id)) }
            td.text.wide-text { (visible(&plan.agents[cell.agent].title())) }
            td.text.wide-text { (condition_label(condition)) }
            td { (cell.trial) }
            td.text { span class=(class) { (row.outcome.words()) } }
            td { (row.calls) }
            td { (row.errors) }
            td { (row.billed_tokens.map_or(UNKNOWN.to_owned(), count)) }
        }
    }
}

fn pages(input: &EpisodesPage<'_>) -> Markup {
    let EpisodesPage { name, filter, found, start, page_size, .. } = input;
    let number = start / page_size + 1;
    let last = found.total.div_ceil(*page_size);
    let link = |page: usize, rel: &str, text: &str| {
        html! { a rel=(rel) href={ (episodes_address(name)) (filter_query(filter, page)) } { (text) } }
    };
    html! {
        @if last > 1 {
            nav.pages aria-label="Pages of the list" {
                @if number > 1 { (link(1, "first", "First")) " " (link(number - 1, "prev", "Previous")) " " }
                "page " (count(number as u64)) " of " (count(last as u64))
                @if number < last { " " (link(number + 1, "next", "Next")) " " (link(last, "last", "Last")) }
            }
        }
    }
}
