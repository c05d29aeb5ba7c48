//! The conditions of each agent, ranked by success, with the difference to the reference condition on a shared axis.

use maud::{Markup, html};

use super::interval_axis::Axis;
use super::{estimate, visible};
use crate::labels::{is_reference, pair_interval, pair_note, points_or_equal, row_intervals, row_label};
use crate::number::{amount_interval, percent_interval, pluralize, rate_amount, rate_percent, signed_amount};
use healbench_analysis::{AgentReport, Report, ReportRow, RowMetric, Verdict, agents_by_information};

/// The largest number of ranked conditions of an agent.
const MAX_ROWS: usize = 12;
/// The number of agents whose list is open from the start.
const MAX_OPEN: usize = 3;

/// Renders the ranked lists; nothing if there are fewer than three conditions, which the headline compares.
pub(super) fn rankings(report: &Report) -> Markup {
    let conditions = report.agents.first().map_or(0, |agent| agent.rows.len());
    if conditions < 3 {
        return html! {};
    }
    let axis = shared_axis(report);
    let reference = reference_label(report);
    html! {
        h2 #ranking { "Which condition succeeds most?" }
        p.note {
            "Conditions by success"
            @if let Some(reference) = &reference { ", each with its difference to " b { (reference) } " in points over pairs of the same scenario and trial. A filled mark: a clear difference" }
            "."
            @if let Some(note) = pair_note(row_intervals(report)) { " " (note) }
        }
        @for (index, agent) in agents_by_information(report).into_iter().enumerate() {
            details.map open[index < MAX_OPEN] {
                summary { (visible(&report.agents[agent].title)) }
                (ranking(report, agent, axis, reference.is_some()))
            }
        }
    }
}

/// Returns the label of the reference condition.
fn reference_label(report: &Report) -> Option<String> {
    let reference = report.reference.as_ref()?;
    let row = report.agents.first()?.rows.iter().find(|row| row.condition.label() == *reference)?;
    Some(row_label(row))
}

/// Returns the axis of all differences of the report.
fn shared_axis(report: &Report) -> Axis {
    let rows = report.agents.iter().flat_map(|agent| &agent.rows);
    Axis::of(rows.filter_map(|row| row.vs_reference).map(|paired| (paired.difference, paired.interval)))
}

fn ranking(report: &Report, agent: usize, axis: Axis, has_reference: bool) -> Markup {
    let AgentReport { title, rows, .. } = &report.agents[agent];
    let mut order: Vec<(usize, &ReportRow)> = rows.iter().enumerate().collect();
    order.sort_by(|(_, a), (_, b)| {
        let success = |row: &ReportRow| row.rate(RowMetric::Success).rate.unwrap_or(-1.0);
        let billed = |row: &ReportRow| row.rate(RowMetric::BilledTokensPerEpisode).rate.unwrap_or(f64::INFINITY);
        success(b).total_cmp(&success(a)).then(billed(a).total_cmp(&billed(b)))
    });
    // The reference stays, wherever it is.
    let is_shown = |index: usize, row: &ReportRow| index < MAX_ROWS || is_reference(report, row);
    let shown: Vec<(usize, &(usize, &ReportRow))> =
        order.iter().enumerate().filter(|(index, (_, row))| is_shown(*index, row)).collect();
    let more = order.len() - shown.len();
    let label = format!("Conditions of {title}, ranked");
    html! {
        div.scroll tabindex="0" role="region" aria-label=(visible(&label)) {
            table.ranked {
                thead { tr {
                    th scope="col" { "rank" }
                    th.text scope="col" { "condition" }
                    th scope="col" { "success" }
                    @if has_reference {
                        th scope="col" { "difference in points" }
                        th.text scope="col" { span.hidden-text { "interval" } (axis.scale()) }
                    }
                    th scope="col" { "billed tokens/episode" }
                    @if has_reference { th scope="col" { "difference in tokens" } }
                } }
                tbody {
                    @for (rank, (condition, row)) in shown {
                        tr {
                            td { (rank + 1) }
                            th scope="row" {
                                a href="#scenarios" data-agent=(agent) data-c=(condition) { (row_label(row)) }
                            }
                            td { (estimate(Some(rate_percent(row.rate(RowMetric::Success))), row.success_interval.map(percent_interval))) }
                            @if has_reference { (difference(row, axis, agent)) }
                            td { (rate_amount(row.rate(RowMetric::BilledTokensPerEpisode))) }
                            @if has_reference { (token_difference(row)) }
                        }
                    }
                }
            }
        }
        @if more > 0 { p.note { (pluralize(more as u64, "condition")) " left out; the table of all conditions has them." } }
    }
}

/// Renders the difference to the reference as a number and as a mark on the axis.
fn difference(row: &ReportRow, axis: Axis, agent: usize) -> Markup {
    let paired = row.vs_reference;
    let value = paired.and_then(|paired| paired.difference);
    let interval = paired.and_then(|paired| paired.interval);
    let verdict = paired.map_or(Verdict::Unknown, |paired| paired.verdict);
    html! {
        td { @if paired.is_none() { span.badge { "reference" } } @else { (estimate(value.map(|value| points_or_equal(value, verdict)), interval.map(|interval| pair_interval(interval, verdict)))) } }
        td.axis { (axis.mark(value, interval, verdict, agent)) }
    }
}

fn token_difference(row: &ReportRow) -> Markup {
    let tokens = row.billed_tokens_vs_reference;
    let value = tokens.and_then(|tokens| tokens.difference);
    let interval = tokens.and_then(|tokens| tokens.interval);
    html! { td { (estimate(value.map(signed_amount), interval.map(amount_interval))) } }
}
