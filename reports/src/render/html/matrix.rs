//! The matrix as a heat map in an HTML table, with numbers and words in addition to shades.

use maud::{Markup, html};

use super::{estimate, visible};
use crate::comparison::{Axis, Matrix, MatrixCell};
use crate::metric::Metric;
use crate::render::matrix::ALPHA;
use crate::render::number::{p_value, percent, percent_interval, pluralize, points, points_interval};

/// The largest number of columns of the matrix in a page.
const MAX_COLUMNS: usize = 48;

/// Renders the matrix with its heading.
pub(super) fn heat_map(matrix: &Matrix) -> Markup {
    let what = match matrix.axis {
        Axis::Format => "Error formats",
        Axis::Guardrails => "Sets of guardrails",
        Axis::Agent => "Agents",
        Axis::Condition => "Conditions",
        Axis::Content => "Levels of content",
        Axis::Client => "Clients",
    };
    html! {
        h2 #matrix { (what) " compared" }
        p.note {
            "Success, and the difference to " b { (visible(&matrix.reference)) } " in points, over pairs of the same scenario and trial, with "
            "the interval for other scenarios of these suites (clustered score). The shade grows with the difference. p: of the same statistic, adjusted by Holm for the whole matrix; cells below 0.05 are framed, with "
            "▲ where more succeed and ▼ where fewer do."
        }
        @let more = matrix.columns.len().saturating_sub(MAX_COLUMNS);
        @if more > 0 {
            p.note { (pluralize(more as u64, "column")) " after the first " (MAX_COLUMNS) " left out; " code { "healbench report --json" } " has them all." }
        }
        div.scroll tabindex="0" role="region" aria-label=(what) {
            table.heat {
                thead { tr {
                    th.text scope="col" { (singular(matrix.axis)) }
                    @for column in matrix.columns.iter().take(MAX_COLUMNS) { th scope="col" { (visible(&column.title)) } }
                } }
                tbody {
                    @for (index, row) in matrix.rows.iter().enumerate() {
                        tr {
                            th scope="row" { (visible(row)) @if *row == matrix.reference { " " span.badge { "reference" } } }
                            @for column in matrix.columns.iter().take(MAX_COLUMNS) { (cell(column.cells.get(index).and_then(Option::as_ref))) }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the class of a cell's shade: steps at 5, 15 and 30 points.
fn shade(difference: f64) -> &'static str {
    match difference {
        _ if difference >= 0.30 => "up3",
        _ if difference >= 0.15 => "up2",
        _ if difference >= 0.05 => "up1",
        _ if difference <= -0.30 => "down3",
        _ if difference <= -0.15 => "down2",
        _ if difference <= -0.05 => "down1",
        _ => "",
    }
}

fn singular(axis: Axis) -> &'static str {
    match axis {
        Axis::Format => "error format",
        Axis::Guardrails => "guardrails",
        Axis::Agent => "agent",
        Axis::Condition => "condition",
        Axis::Content => "content",
        Axis::Client => "client",
    }
}

fn cell(cell: Option<&MatrixCell>) -> Markup {
    let Some(cell) = cell else { return html! { td { span.hidden-text { "not in the plan" } } } };
    let success = cell.differences.iter().find(|entry| entry.metric == Metric::Success);
    let difference = success.and_then(|entry| entry.difference).unwrap_or(0.0);
    let significant = success.and_then(|entry| entry.p_adjusted).is_some_and(|p| p < ALPHA);
    let mark = match difference {
        _ if !significant => "",
        _ if difference > 0.0 => "▲ ",
        _ => "▼ ",
    };
    let class = format!("{} {}", shade(difference), if significant { "significant" } else { "" });
    html! {
        td class=(class.trim()) {
            div.much { (estimate(cell.success.rate.map(percent), None)) }
            @if let Some(entry) = success {
                @if let Some(difference) = entry.difference {
                    div.how { (mark) (points(difference)) @if let Some(interval) = entry.interval { " " (points_interval(interval)) } }
                }
                @if entry.p_adjusted.is_some() { div.how { "p " (p_value(entry.p_adjusted)) } }
            } @else if let Some(interval) = cell.success_interval {
                div.how { (percent_interval(interval)) }
            }
        }
    }
}
