//! One row per scenario and agent, which expands to the transcripts of the two headline conditions.

use maud::{Markup, html};

use super::run_page::RunPage;
use super::transcript::{MAX_PAGE_BYTES, MAX_ROWS};
use super::{sort_key, visible};
use crate::render::number::{count, pluralize, rate_amount, rate_decimal, rate_percent};
use crate::render::shell::show_command;
use crate::summary::{AgentReport, Example, Report, ScenarioRate};

/// The largest size of a row without its transcripts in bytes.
const MAX_ROW_BYTES: usize = 1_000;

/// Renders the rows with their search form. The rest of the page takes `before` bytes.
pub(super) fn scenarios(run: &RunPage<'_>, before: usize) -> Markup {
    let report = run.report;
    let (texts, shown_episodes) = render_examples(run, before);
    let left_out = report.examples.len().saturating_sub(MAX_ROWS);
    html! {
        h2 #scenarios { "Scenarios" }
        p.note {
            "Each row opens into the transcripts of one trial: the first that ended differently under both conditions, else the first in which a "
            "call failed, else the first."
            " Of " (pluralize(report.totals.episodes, "episode")) " " (count(shown_episodes)) " are shown; " code { "healbench show" } " has any of them."
            @if left_out > 0 {
                " " (pluralize(left_out as u64, "row")) " after the first " (count(MAX_ROWS as u64)) " left out; "
                code { "healbench report --csv --by-scenario" } " has them all."
            }
        }
        div.tools data-tools="rows" hidden {
            label { "Search" input type="search" aria-keyshortcuts="/" placeholder="any word ( / )"; }
            label { "Agent" select data-key="agent" {
                option value="" { "all" }
                @for (index, agent) in report.agents.iter().enumerate() { option value=(index) { (visible(&agent.title)) } }
            } }
            label { "Order" select data-order {
                option value="" { "of the plan" }
                option value="gain -1" { "most gained" }
                option value="gain 1" { "most lost" }
                option value="tokens -1" { "most billed tokens" }
                option value="calls -1" { "most calls" }
            } }
            label.check { input type="checkbox" data-key="flips"; "ended differently" }
            span role="status" {}
        }
        div.rows #rows {
            @for (example, text) in report.examples.iter().zip(&texts) {
                @if let Some(agent) = report.agents.get(example.agent) { (row(report, agent, example, text)) }
            }
        }
    }
}

/// Returns the scenario's rates of an agent in the left and right headline condition; both are the same in a plan with
/// one condition.
fn compared_rates<'a>(report: &Report, agent: &'a AgentReport, example: &Example) -> Option<[&'a ScenarioRate; 2]> {
    let rows = report.headline.map_or([0, 0], |headline| [headline.left, headline.right]);
    let [left, right] = rows.map(|row| agent.rows.get(row)?.scenarios.get(example.scenario));
    Some([left?, right?])
}

fn row(report: &Report, agent: &AgentReport, example: &Example, inside: &Markup) -> Markup {
    let Some([left, right]) = compared_rates(report, agent, example) else { return html! {} };
    let single = report.headline.is_none();
    let both = |text: fn(&ScenarioRate) -> String| {
        if single { text(right) } else { format!("{} → {}", text(left), text(right)) }
    };
    html! {
        details data-agent=(example.agent) data-flips=(u8::from(example.flips)) data-gain=(sort_key(example.difference))
            data-tokens=(sort_key(right.billed_tokens_per_episode.rate)) data-calls=(sort_key(right.calls_per_episode.rate)) {
            summary {
                span { (visible(&left.scenario)) }
                span { (visible(&agent.title)) }
                span { span.k { "success" } (both(|cell| rate_percent(cell.success))) }
                span { span.k { "calls/episode" } (both(|cell| rate_decimal(cell.calls_per_episode))) }
                span { span.k { "billed tokens/episode" } (both(|cell| rate_amount(cell.billed_tokens_per_episode))) }
                span { @if example.flips { span.badge { "ended differently" } } }
            }
            div.inside { (inside) }
        }
    }
}

/// Renders the details of the first rows, and returns the number of episodes shown. While there is room, transcripts
/// are included, those with different outcomes first.
fn render_examples(run: &RunPage<'_>, before: usize) -> (Vec<Markup>, u64) {
    let examples = &run.report.examples[..run.report.examples.len().min(MAX_ROWS)];
    let mut order: Vec<usize> = (0..examples.len()).collect();
    order.sort_by_key(|index| !examples[*index].flips);
    let mut texts: Vec<Markup> = examples.iter().map(|_| html! {}).collect();
    // The size of what every row contains in any case.
    let always: usize = examples.iter().map(|example| MAX_ROW_BYTES + links(run, example, true).0.len()).sum();
    let mut room = MAX_PAGE_BYTES.saturating_sub(before + always);
    let mut shown = 0;
    for index in order {
        let example = &examples[index];
        let text = run.transcripts.side_by_side(episodes(example)).filter(|text| text.0.len() <= room);
        if let Some(text) = &text {
            room -= text.0.len();
            shown += episodes(example).count() as u64;
        }
        texts[index] = html! {
            @if let Some(text) = &text { (text) }
            (links(run, example, text.is_none()))
        };
    }
    (texts, shown)
}

fn episodes(example: &Example) -> impl Iterator<Item = u64> {
    [example.left, example.right].into_iter().flatten()
}

/// Renders the links to the complete transcripts.
fn links(run: &RunPage<'_>, example: &Example, left_out: bool) -> Markup {
    html! {
        @for episode in episodes(example) {
            @if let Some(reason) = run.transcripts.failure(episode) { p.note { "Episode " (episode) " is not shown: " (visible(reason)) } }
        }
        p.note {
            @if left_out && episodes(example).all(|episode| run.transcripts.failure(episode).is_none()) { "Left out to limit the size of the page. " }
            "Full transcript: "
            @for (index, episode) in episodes(example).enumerate() {
                @if index > 0 { ", " }
                @if run.served {
                    a href={ "episodes/" (episode) } { "episode " (episode) }
                } @else {
                    code { (show_command(run.name, episode)) }
                }
            }
        }
    }
}
