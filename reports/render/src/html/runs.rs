//! The list of runs, which is the first page of `healbench view`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use healbench_core::Outcome;
use healbench_store::{Progress, RunManifest, RunStatus};
use maud::{Markup, html};

use super::page::{Page, page};
use super::{sort_header, sort_key, visible};
use crate::number::{UNKNOWN, count, percent, pluralize};
use healbench_analysis::suite_name;
use healbench_text::{plain_text, shell_quote};

/// An entry of the folder of runs.
#[derive(Debug)]
pub struct ListedRun {
    /// The name of the run's folder.
    pub name: String,
    /// The run, or the reason why it cannot be shown.
    pub summary: Result<RunSummary, String>,
}

#[derive(Debug)]
pub struct RunSummary {
    pub manifest: RunManifest,
    pub state: RunState,
    /// The number of episodes by outcome; `None` if unknown.
    pub outcomes: Option<BTreeMap<Outcome, u64>>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RunState {
    /// The run is active, with its progress if known.
    Running(Option<Progress>),
    /// The run ended with the status in its manifest.
    Ended,
    /// The run is not active and has no frames.
    Aborted,
}

/// Returns the address of a run's page. Any folder name is allowed.
pub fn run_address(name: &str) -> String {
    let mut address = "/runs/".to_owned();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => address.push(char::from(byte)),
            // Dots are encoded too: a segment of only dots would refer to a parent folder.
            _ => {
                // Writing to a `String` cannot fail.
                let _ = write!(address, "%{byte:02X}");
            }
        }
    }
    address.push('/');
    address
}

/// Renders the page: `runs` in their order, from the folder named `folder`.
pub fn runs(folder: &str, runs: &[ListedRun]) -> String {
    let comparable = runs.iter().filter(|run| is_comparable(run)).count() > 1;
    let body = html! {
        h1 { "Runs" }
        p.meta { (pluralize(runs.len() as u64, "folder")) " in " code { (visible(folder)) } }
        @if runs.is_empty() {
            @let out = format!("{}/first", folder.trim_end_matches('/'));
            p { "Nothing is here yet. " code { "healbench run --out " (visible(&shell_quote(&out))) } " creates the first run." }
        } @else {
            form action="/compare" method="get" {
                (table(runs, comparable))
                @if comparable { p { button type="submit" { "Compare the selected runs" } } }
            }
        }
    };
    page(&Page { title: "Runs", served: true, body })
}

/// Returns true if a run can be selected for comparison: it has a report, and a form preserves its name.
fn is_comparable(run: &ListedRun) -> bool {
    let has_report = run.summary.as_ref().is_ok_and(|summary| summary.state == RunState::Ended);
    has_report && plain_text(&run.name) == run.name
}

fn table(runs: &[ListedRun], comparable: bool) -> Markup {
    html! {
        div.tools data-tools="runs" hidden {
            label { "Search" input type="search" aria-keyshortcuts="/" placeholder="run, suite, agent  ( / )"; }
            span role="status" {}
        }
        div.scroll tabindex="0" role="region" aria-label="Runs" {
            table id="runs" data-sort {
                thead { tr {
                    (sort_header("run", "text"))
                    @for column in ["success, all conditions", "episodes"] { (sort_header(column, "")) }
                    @for column in ["status", "scenarios", "agents", "began (UTC)"] { (sort_header(column, "text")) }
                    @if comparable { th scope="col" { "base" } th scope="col" { "candidate" } }
                } }
                tbody { @for run in runs { (row(run, comparable)) } }
            }
        }
    }
}

fn row(run: &ListedRun, comparable: bool) -> Markup {
    html! {
        tr {
            @match &run.summary {
                Ok(summary) => {
                    th.wide-text scope="row" { a href=(run_address(&run.name)) { (visible(&run.name)) } }
                    (cells(summary))
                    @if comparable { @for side in ["base", "candidate"] { td { @if is_comparable(run) { (radio_button(run, side)) } } } }
                }
                Err(problem) => {
                    th.wide-text scope="row" { (visible(&run.name)) }
                    td.text.wide-text data-v="" colspan=(if comparable { 8 } else { 6 }) {
                        span.bad { "cannot be shown: " } (visible(problem))
                    }
                }
            }
        }
    }
}

fn radio_button(run: &ListedRun, side: &str) -> Markup {
    html! { input type="radio" name=(side) value=(run.name) required aria-label={ (side) ": " (visible(&run.name)) }; }
}

fn cells(summary: &RunSummary) -> Markup {
    let manifest = &summary.manifest;
    let total = manifest.episodes().len();
    let done = match &summary.state {
        RunState::Running(Some(progress)) => Some(progress.done),
        RunState::Running(None) | RunState::Aborted => None,
        RunState::Ended => Some(manifest.episodes_done),
    };
    let scored = summary.outcomes.as_ref().map(|outcomes| {
        let scored: u64 = outcomes.iter().filter(|(outcome, _)| outcome.is_scored()).map(|(_, number)| number).sum();
        (outcomes.get(&Outcome::Success).copied().unwrap_or(0), scored)
    });
    let success = scored.filter(|(_, scored)| *scored > 0).map(|(good, scored)| good as f64 / scored as f64);
    html! {
        td data-v=(sort_key(success)) {
            @match (success, scored) {
                (Some(share), Some((good, scored))) => {
                    (percent(share)) " " span.sure { (count(good)) "/" (count(scored)) }
                }
                _ => { (UNKNOWN) }
            }
        }
        td data-v=(sort_key(done.map(|done| done as f64))) {
            (done.map_or(UNKNOWN.to_owned(), count)) @if done != Some(total) { " of " (count(total)) }
        }
        td.text { (status(summary)) }
        td.text.wide-text { (suite(manifest)) }
        td.text.wide-text { (agents(manifest)) }
        td.text { (visible(&manifest.started.replace('T', " ").replace('Z', ""))) }
    }
}

fn status(summary: &RunSummary) -> Markup {
    html! {
        @match (&summary.state, summary.manifest.status) {
            (RunState::Running(_), _) => { b { "under way" } }
            (RunState::Aborted, _) => { span.bad { "cut off" } }
            (RunState::Ended, RunStatus::Complete) => { "complete" }
            (RunState::Ended, _) => { span.bad { "interrupted" } }
        }
        @if let Some(shard) = &summary.manifest.shards { ", shard " (shard) }
    }
}

fn suite(manifest: &RunManifest) -> Markup {
    html! {
        @match manifest.plan.scenarios.as_slice() {
            [only] => { (visible(&only.id)) }
            scenarios => {
                @if let Some(suite) = suite_name(scenarios) { (visible(&suite)) ": " }
                (count(scenarios.len() as u64))
            }
        }
    }
}

/// The largest number of names shown in a row.
const MAX_NAMED: usize = 3;

fn agents(manifest: &RunManifest) -> Markup {
    let agents = &manifest.plan.agents;
    html! {
        @for (index, agent) in agents.iter().take(MAX_NAMED).enumerate() {
            @if index > 0 { ", " }
            (visible(&agent.to_string()))
        }
        @if agents.len() > MAX_NAMED { " and " (agents.len() - MAX_NAMED) " more" }
    }
}
