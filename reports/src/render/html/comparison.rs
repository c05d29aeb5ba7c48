//! Two runs side by side as a page.

use maud::{Markup, html};

use super::page::{Page, page};
use super::{estimate, key, shown, worded};
use crate::comparison::{CellComparison, Comparison, Flip, MetricDifference};
use crate::metric::{Better, Metric};
use crate::render::comparison::{difference_of, interval_of, mean, not_paired, notes, paint, successes};
use crate::render::layout::Paint;
use crate::render::number::{UNKNOWN, count, counted, p_value};
use crate::render::shell::show_flip;
use crate::render::terminal::setting;

/// What the page of a comparison is made from.
#[derive(Debug)]
pub struct ComparisonPage<'a> {
    /// The numbers.
    pub found: &'a Comparison,
    /// Where the pages of base and candidate are, each ending with `/`; null in a file, which says commands instead.
    pub addresses: Option<[&'a str; 2]>,
}

/// Flips that a page lists.
const MOST_FLIPS: usize = 500;

/// The page.
pub fn comparison(comparison: &ComparisonPage<'_>) -> String {
    let found = comparison.found;
    let title = format!("{} → {}", found.base, found.candidate);
    let changed: Vec<&CellComparison> = found.cells.iter().filter(|cell| cell.changed > 0).collect();
    let body = html! {
        p.meta { (counted(found.pairs, "pair")) " · " (count(found.changed)) " changed" }
        h1 { (name(comparison, 0)) " → " (name(comparison, 1)) }
        @for partial in &found.partial { p { b.bad { (shown(partial)) } } }
        @if found.pairs == 0 { p { b.bad { "Nothing could be paired." } } }
        @if found.pairs > 0 && found.changed == 0 { p { b { "No metric differs in any pair." } } }
        @if !found.differs.is_empty() {
            h2 { "What else differs" }
            ul { @for differs in &found.differs { li { (shown(differs)) } } }
        }
        @if !changed.is_empty() { (cells(&changed)) }
        @if !found.flips.is_empty() { (flips(comparison)) }
        @if !found.unpaired.is_empty() {
            h2 { "Not paired" }
            ul { @for unpaired in not_paired(&found.unpaired) { li { (unpaired) } } }
        }
        h2 { "How to read this" }
        ul.note { @for note in notes(found, &changed) { li { (worded(&note)) } } }
    };
    page(&Page { title: &title, served: comparison.addresses.is_some(), body })
}

fn name(comparison: &ComparisonPage<'_>, side: usize) -> Markup {
    let found = comparison.found;
    let name = [&found.base, &found.candidate][side];
    html! {
        @match comparison.addresses {
            Some(addresses) => { a href=(addresses[side]) { (shown(name)) } }
            None => { (shown(name)) }
        }
    }
}

/// The metrics of the cells that changed.
fn cells(cells: &[&CellComparison]) -> Markup {
    html! {
        h2 { "What changed" }
        @for metric in Metric::ALL {
            @let moved: Vec<(&CellComparison, &MetricDifference)> = cells
                .iter()
                .filter_map(|cell| Some((*cell, cell.metrics.iter().find(|entry| entry.metric == metric)?)))
                .filter(|(_, entry)| entry.more + entry.fewer > 0)
                .collect();
            @if !moved.is_empty() { (table(metric, &moved)) }
        }
    }
}

fn table(metric: Metric, moved: &[(&CellComparison, &MetricDifference)]) -> Markup {
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
                    @for (head, class) in [("agent", "text"), ("setting", "text"), ("base", ""), ("candidate", ""), ("difference", ""), ("pairs up", ""), ("pairs down", ""), ("p, Holm", "")] {
                        (super::head(head, class))
                    }
                } }
                tbody {
                    @for (cell, entry) in moved {
                        tr {
                            th scope="row" { (shown(&cell.title)) }
                            td.text { (setting(cell.guardrails, &cell.format)) }
                            td data-v=(key(entry.base)) { (mean(entry, entry.base)) }
                            td data-v=(key(entry.candidate)) { (mean(entry, entry.candidate)) }
                            td data-v=(key(entry.difference)) class=(class(entry)) { (estimate(Some(difference_of(entry)), interval_of(entry))) }
                            td data-v=(entry.more) { (count(entry.more)) }
                            td data-v=(entry.fewer) { (count(entry.fewer)) }
                            td data-v=(key(entry.p_adjusted)) { @if metric.is_rate() { (p_value(entry.p_adjusted)) } @else { (UNKNOWN) } }
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

fn flips(comparison: &ComparisonPage<'_>) -> Markup {
    let found = comparison.found;
    let lost = found.flips.iter().filter(|flip| flip.is_loss()).count() as u64;
    let more = found.flips.len().saturating_sub(MOST_FLIPS);
    html! {
        h2 { (successes(lost)) " lost, " (count(found.flips.len() as u64 - lost)) " gained" }
        div.tools data-tools="flips" hidden {
            label { "Search" input type="search" placeholder="scenario, agent, setting"; }
            span role="status" {}
        }
        div.scroll tabindex="0" role="region" aria-label="Flips" {
            table #flips data-sort {
                thead { tr {
                    @for (head, class) in [("", "text"), ("scenario", "text"), ("agent", "text"), ("setting", "text"), ("trial", ""), ("base", "text"), ("candidate", "text")] {
                        th scope="col" class=(class) {
                            @if head.is_empty() { span.hidden-text { "lost or gained" } } @else { button type="button" disabled { (head) } }
                        }
                    }
                    th.text scope="col" { "transcripts" }
                } }
                tbody { @for flip in found.flips.iter().take(MOST_FLIPS) { (flip_row(comparison, flip)) } }
            }
        }
        @if more > 0 { p.note { (counted(more as u64, "flip")) " left out; " code { "healbench compare --json" } " has them all." } }
    }
}

fn flip_row(comparison: &ComparisonPage<'_>, flip: &Flip) -> Markup {
    let found = comparison.found;
    html! {
        tr {
            td.text { @if flip.is_loss() { b.bad { "lost" } } @else { b.good { "gained" } } }
            th scope="row" { (shown(&flip.scenario)) }
            td.text { (shown(&flip.title)) }
            td.text { (setting(flip.guardrails, &flip.format)) }
            td { (flip.trial) }
            td.text { (flip.base) }
            td.text { (flip.candidate) }
            td.text {
                @match comparison.addresses {
                    Some([base, candidate]) => {
                        a href={ (candidate) "episodes/" (flip.candidate_episode) } { "candidate" } ", "
                        a href={ (base) "episodes/" (flip.base_episode) } { "base" }
                    }
                    None => { @for command in show_flip(&found.base, &found.candidate, flip) { code { (command) } br; } }
                }
            }
        }
    }
}
