//! One row per scenario and agent, which opens into transcripts of all conditions, aligned by call.
//!
//! The transcripts are compressed data in a template at the end of the section. Browsers that run no script show the headline pair
//! of the first rows instead.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::payload::row_id;
use super::run_page::RunPage;
use super::transcript::{EncodedChunk, MAX_PAGE_BYTES, MAX_ROWS};
use super::{run_address, sort_key, visible};
use crate::labels::row_label;
use crate::number::{count, pluralize, rate_amount, rate_decimal, rate_percent};
use crate::shell::show_command;
use healbench_analysis::{AgentReport, Example, Report, ScenarioRate};
use healbench_text::{plain_text, shell_quote};

/// Rows after these are listed on demand.
const MAX_LISTED: usize = 60;
/// The largest size of a row without its transcripts in bytes.
const MAX_ROW_BYTES: usize = 1_200;

/// The rows of a page and what they contain.
struct Rows<'a> {
    examples: Vec<&'a Example>,
    inside: Vec<Markup>,
    /// The chunks that have room, by the index that their rows name.
    chunks: Vec<&'a EncodedChunk>,
    /// The chunk of each row.
    chunk_of: BTreeMap<&'a str, usize>,
}

/// Renders the rows with their search form. The rest of the page takes `before` bytes.
pub(super) fn scenarios(run: &RunPage<'_>, before: usize) -> Markup {
    let report = run.report;
    let rows = Rows::of(run, before);
    let shown_episodes: u64 = rows.chunks.iter().map(|chunk| chunk.episodes).sum();
    let left_out = report.examples.len().saturating_sub(MAX_ROWS);
    let without = rows.examples.len().saturating_sub(rows.chunk_of.len());
    html! {
        h2 #scenarios { "What happened in each scenario?" }
        p.note {
            "Each row opens into transcripts of one trial under every condition, aligned by call: first a trial that went like most others, then one that "
            "went differently. Rows are ordered by how much success differs between conditions."
            " Of " (pluralize(report.totals.episodes, "episode")) " " (count(shown_episodes)) " are shown; "
            @if run.served { a href={ (run_address(run.name)) "episodes" } { "all episodes" } " has the others." }
            @else { code { (view_command(run.name)) } " shows all of them, " code { "healbench show" } " any of them." }
            " " code { "healbench show " (plain_text(&shell_quote(run.name))) " N --format NAME" } " shows episode N with the error texts of another format."
            @if without > 0 && shown_episodes > 0 { " The transcripts of " (pluralize(without as u64, "row")) " are left out to limit the size of the page." }
            @if left_out > 0 {
                " " (pluralize(left_out as u64, "row")) " after the first " (count(MAX_ROWS as u64)) " left out; "
                code { "healbench report --output csv --by-scenario" } " has them all."
            }
        }
        div.tools data-tools="rows" data-limit=(MAX_LISTED) hidden {
            label { "Search" input type="search" aria-keyshortcuts="/" placeholder="scenario, agent  ( / )"; }
            label { "Agent" select data-key="agent" {
                option value="" { "all" }
                @for (index, agent) in report.agents.iter().enumerate() { option value=(index) { (visible(&agent.title)) } }
            } }
            label { "Order" select data-order {
                option value="" { "most different between conditions" }
                option value="n 1" { "of the plan" }
                option value="best 1" { "least success in the best condition" }
                option value="gain -1" { "most gained" }
                option value="gain 1" { "most lost" }
                option value="tokens -1" { "most billed tokens" }
                option value="calls -1" { "most calls" }
            } }
            label.check { input type="checkbox" data-key="flips"; "ended differently" }
            span role="status" {}
        }
        div.rows #rows {
            @for (example, inside) in rows.examples.iter().zip(&rows.inside) {
                @if let Some(agent) = report.agents.get(example.agent) { (row(&rows, report, agent, example, inside)) }
            }
        }
        button data-more="rows" hidden {}
        (data(run, &rows))
    }
}

/// Returns the command that serves the folder of the run.
fn view_command(run: &str) -> String {
    format!("healbench view {} --open", plain_text(&shell_quote(run)))
}

/// Renders the data that the script shows in the rows.
fn data(run: &RunPage<'_>, rows: &Rows<'_>) -> Markup {
    let report = run.report;
    let json = |words: Vec<String>| serde_json::Value::from(words).to_string();
    let conditions = report.agents.first().map(|agent| agent.rows.iter().map(row_label).collect()).unwrap_or_default();
    let agents = report.agents.iter().map(|agent| plain_text(&agent.title).into_owned()).collect();
    let compared = report.headline.map_or("0".to_owned(), |headline| format!("{},{}", headline.left, headline.right));
    html! {
        @if !rows.chunks.is_empty() {
            template #transcripts data-conditions=(json(conditions)) data-agents=(json(agents)) data-compared=(compared)
                data-run=(plain_text(&shell_quote(run.name))) data-served=(u8::from(run.served)) {
                @for chunk in &rows.chunks { (chunk.text) "\n" }
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

fn row(rows: &Rows<'_>, report: &Report, agent: &AgentReport, example: &Example, inside: &Markup) -> Markup {
    let Some([left, right]) = compared_rates(report, agent, example) else { return html! {} };
    let single = report.headline.is_none();
    let both = |text: fn(&ScenarioRate) -> String| {
        if single { text(right) } else { format!("{} → {}", text(left), text(right)) }
    };
    let id = row_id(example.scenario, example.agent);
    let rates = agent.rows.iter().filter_map(|row| row.scenarios.get(example.scenario)?.success.rate);
    let best = rates.fold(None, |best: Option<f64>, rate| Some(best.map_or(rate, |best| best.max(rate))));
    let order = example.scenario * report.agents.len() + example.agent;
    html! {
        details id=(id) data-agent=(example.agent) data-flips=(u8::from(example.shows_flip())) data-gain=(sort_key(example.difference))
            data-tokens=(sort_key(right.billed_tokens_per_episode.rate)) data-calls=(sort_key(right.calls_per_episode.rate))
            data-n=(order) data-best=(sort_key(best)) data-chunk=[rows.chunk_of.get(id.as_str())] {
            summary {
                span { (visible(&left.scenario)) }
                span { (visible(&agent.title)) }
                span { span.k { "success" } (both(|cell| rate_percent(cell.success))) }
                span { span.k { "calls/episode" } (both(|cell| rate_decimal(cell.calls_per_episode))) }
                span { span.k { "billed tokens/episode" } (both(|cell| rate_amount(cell.billed_tokens_per_episode))) }
                span { (flip_badge(example)) }
            }
            div.inside { (inside) }
        }
    }
}

/// Says in how many trials one of the two conditions succeeded and the other did not.
fn flip_badge(example: &Example) -> Markup {
    html! {
        @if example.flipped > 0 {
            span.badge { "ended differently" }
            @if example.trials > 1 { " " span.k { "in " (count(example.flipped)) " of " (count(example.trials)) " trials" } }
        }
    }
}

impl<'a> Rows<'a> {
    /// Fills the room with chunks, those with the largest spread first.
    fn of(run: &'a RunPage<'_>, before: usize) -> Rows<'a> {
        let examples: Vec<&Example> = run.report.examples_by_spread().into_iter().take(MAX_ROWS).collect();
        // The size of what every row contains in any case.
        let always: usize = examples.iter().map(|example| MAX_ROW_BYTES + links(run, example, true).0.len()).sum();
        let mut room = MAX_PAGE_BYTES.saturating_sub(before + always);
        let mut rendered: BTreeMap<String, Markup> = BTreeMap::new();
        for example in &examples {
            let Some(text) = run.transcripts.side_by_side(episodes(example)) else { continue };
            if text.0.len() <= room {
                room -= text.0.len();
                rendered.insert(row_id(example.scenario, example.agent), text);
            }
        }
        let mut chunks: Vec<&EncodedChunk> = Vec::new();
        let mut chunk_of = BTreeMap::new();
        for chunk in run.transcripts.chunks() {
            if chunk.text.len() < room {
                room -= chunk.text.len() + 1;
                chunk_of.extend(chunk.rows.iter().map(|row| (row.as_str(), chunks.len())));
                chunks.push(chunk);
            }
        }
        let inside = |example: &&Example| {
            let id = row_id(example.scenario, example.agent);
            html! {
                @if let Some(text) = rendered.get(&id) { noscript { (text) } }
                (links(run, example, !chunk_of.contains_key(id.as_str())))
            }
        };
        let inside = examples.iter().map(inside).collect();
        Rows { examples, inside, chunks, chunk_of }
    }
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
        p.note data-full="1" {
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
