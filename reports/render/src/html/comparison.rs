//! The page of a comparison of two runs.

use maud::{Markup, html};

use super::matrix::heat_map;
use super::page::{Page, page};
use super::scenario_diff::{ScenarioChange, scenario_changes};
use super::{estimate, sort_key, visible, with_code_spans};
use crate::comparison::{
    conclusion, flips_by_scenario, format_difference, format_interval, lost_and_gained, mean, notes, paint,
    pairing_failures,
};
use crate::labels::condition_label;
use crate::matrix::{conclusion as matrix_conclusion, notes as matrix_notes};
use crate::number::{UNKNOWN, count, p_value, pluralize};
use crate::shell::show_flip_commands;
use healbench_analysis::{Better, CellComparison, Comparison, Flip, Matrix, Metric, MetricDifference};
use healbench_text::Paint;

/// The content of a comparison page.
#[derive(Debug)]
pub struct ComparisonPage<'a> {
    pub comparison: &'a Comparison,
    /// The addresses of the pages of base and candidate, each ending with `/`; `None` in a file, which shows commands
    /// instead.
    pub addresses: Option<[&'a str; 2]>,
    /// The scenarios whose texts differ.
    pub scenario_changes: &'a [ScenarioChange],
}

/// The largest number of flips listed.
const MAX_FLIPS: usize = 500;

/// The largest number of scenarios with flips listed above them.
const MAX_SCENARIOS: usize = 20;

/// Renders the page of the comparison of one run's cells.
pub fn matrix(matrix: &Matrix) -> String {
    let title = format!("{}: {}", matrix.run, matrix.axis.plural());
    let body = html! {
        p.meta { (pluralize(matrix.scenarios, "scenario")) " · " (pluralize(u64::from(matrix.trials), "trial")) }
        h1 { (visible(&title)) }
        p.lead { (matrix_conclusion(matrix)) }
        (heat_map(matrix))
        h2 { "How to read this" }
        ul.note { @for note in matrix_notes(matrix) { li { (with_code_spans(&note)) } } }
    };
    page(&Page { title: &title, served: false, body })
}

pub fn comparison(input: &ComparisonPage<'_>) -> String {
    let comparison = input.comparison;
    let title = format!("{} → {}", comparison.base, comparison.candidate);
    let changed: Vec<&CellComparison> = comparison.cells.iter().filter(|cell| cell.changed > 0).collect();
    let body = html! {
        p.meta { (pluralize(comparison.pairs, "pair")) " · " (count(comparison.changed)) " changed" }
        h1 { (name(input, 0)) " → " (name(input, 1)) }
        @for partial in &comparison.partial { p { b.bad { (visible(partial)) } } }
        p.lead { (conclusion(comparison).0) }
        @if let Some(sentence) = &comparison.run_apart { p { (visible(sentence)) } }
        @if !comparison.differs.is_empty() {
            h2 { "Other differences" }
            ul { @for differs in &comparison.differs { li { (visible(differs)) } } }
        }
        (scenario_changes(input.scenario_changes))
        @if !changed.is_empty() { (cells(&changed)) }
        @if !comparison.flips.is_empty() { (flips(input)) }
        @if !comparison.unpaired.is_empty() {
            h2 { "Not paired" }
            ul { @for unpaired in pairing_failures(&comparison.unpaired) { li { (unpaired) } } }
        }
        h2 { "How to read this" }
        ul.note { @for note in notes(comparison, &changed) { li { (with_code_spans(&note)) } } }
    };
    page(&Page { title: &title, served: input.addresses.is_some(), body })
}

fn name(input: &ComparisonPage<'_>, side: usize) -> Markup {
    let comparison = input.comparison;
    let name = [&comparison.base, &comparison.candidate][side];
    html! {
        @match input.addresses {
            Some(addresses) => { a href=(addresses[side]) { (visible(name)) } }
            None => { (visible(name)) }
        }
    }
}

/// Renders the metrics of the changed cells.
fn cells(cells: &[&CellComparison]) -> Markup {
    html! {
        h2 { "What changed" }
        @for metric in Metric::ALL {
            @let changed: Vec<(&CellComparison, &MetricDifference)> = cells
                .iter()
                .filter_map(|cell| Some((*cell, cell.metrics.iter().find(|entry| entry.metric == metric)?)))
                .filter(|(_, entry)| entry.more + entry.fewer > 0)
                .collect();
            @if !changed.is_empty() { (table(metric, &changed)) }
        }
    }
}

fn table(metric: Metric, changed: &[(&CellComparison, &MetricDifference)]) -> Markup {
    let name = metric.name().replace('_', " ");
    let better = match metric.better() {
        Better::Higher => "more is better",
        Better::Lower => "less is better",
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label=(name) {
            table data-sort {
                caption { b { (name) } ", " (better) }
                thead { tr {
                    @for (head, class) in [("agent", "text"), ("condition", "text"), ("base", ""), ("candidate", ""), ("difference", ""), ("pairs up", ""), ("pairs down", ""), ("p, Holm", "")] {
                        (super::sort_header(head, class))
                    }
                } }
                tbody {
                    @for (cell, entry) in changed {
                        tr {
                            th scope="row" { (visible(&cell.title)) }
                            td.text { (condition_label(&cell.condition)) }
                            td data-v=(sort_key(entry.base)) { (mean(entry, entry.base)) }
                            td data-v=(sort_key(entry.candidate)) { (mean(entry, entry.candidate)) }
                            td data-v=(sort_key(entry.difference)) class=(class(entry)) { (estimate(Some(format_difference(entry)), format_interval(entry))) }
                            td data-v=(entry.more) { (count(entry.more)) }
                            td data-v=(entry.fewer) { (count(entry.fewer)) }
                            td data-v=(sort_key(entry.p_adjusted)) { @if metric.is_rate() { (p_value(entry.p_adjusted)) } @else { (UNKNOWN) } }
                        }
                    }
                }
            }
        }
    }
}

fn class(entry: &MetricDifference) -> &'static str {
    match paint(entry) {
        Paint::Green => "good",
        Paint::Red => "bad",
        _ => "",
    }
}

fn flips(input: &ComparisonPage<'_>) -> Markup {
    let comparison = input.comparison;
    let groups = flips_by_scenario(&comparison.flips);
    let more = comparison.flips.len().saturating_sub(MAX_FLIPS);
    html! {
        h2 { (lost_and_gained(comparison.flips.iter())) }
        ul {
            @for (scenario, flips) in groups.iter().take(MAX_SCENARIOS) {
                li { (visible(scenario)) ": " (lost_and_gained(flips.iter().copied())) }
            }
            @let unlisted = groups.len().saturating_sub(MAX_SCENARIOS);
            @if unlisted > 0 { li { "and " (pluralize(unlisted as u64, "more scenario")) } }
        }
        div.tools data-tools="flips" hidden {
            label { "Search" input type="search" placeholder="scenario, agent, condition"; }
            span role="status" {}
        }
        div.scroll tabindex="0" role="region" aria-label="Flips" {
            table #flips data-sort {
                thead { tr {
                    @for (head, class) in [("", "text"), ("scenario", "text"), ("agent", "text"), ("condition", "text"), ("trial", ""), ("base", "text"), ("candidate", "text")] {
                        th scope="col" class=(class) {
                            @if head.is_empty() { span.hidden-text { "lost or gained" } } @else { button type="button" disabled { (head) } }
                        }
                    }
                    th.text scope="col" { "transcripts" }
                } }
                tbody { @for flip in groups.iter().flat_map(|(_, flips)| flips).take(MAX_FLIPS) { (flip_row(input, flip)) } }
            }
        }
        @if more > 0 { p.note { (pluralize(more as u64, "flip")) " left out; " code { "healbench compare --output json" } " has them all." } }
    }
}

fn flip_row(input: &ComparisonPage<'_>, flip: &Flip) -> Markup {
    let comparison = input.comparison;
    html! {
        tr {
            td.text { @if flip.is_loss() { b.bad { "lost" } } @else { b.good { "gained" } } }
            th scope="row" { (visible(&flip.scenario)) }
            td.text { (visible(&flip.title)) }
            td.text { (condition_label(&flip.condition)) }
            td { (flip.trial) }
            td.text { (flip.base.words()) }
            td.text { (flip.candidate.words()) }
            td.text data-pair[input.addresses.is_some()] {
                @match input.addresses {
                    Some([base, candidate]) => {
                        a href={ (candidate) "episodes/" (flip.candidate_episode) } { "candidate" } ", "
                        a href={ (base) "episodes/" (flip.base_episode) } { "base" }
                    }
                    None => { @for command in show_flip_commands(&comparison.base, &comparison.candidate, flip) { code { (command) } br; } }
                }
            }
        }
    }
}
