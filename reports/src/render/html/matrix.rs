//! The matrix as a heat map that is a table: shades for those who see them, numbers and words for everybody.

use maud::{Markup, html};

use super::{estimate, shown};
use crate::comparison::{Axis, Matrix, MatrixCell};
use crate::metric::Metric;
use crate::render::number::{p_value, percent, percent_interval, points, points_interval};
use crate::statistics::Interval;

/// The matrix with its heading.
pub(super) fn heat_map(found: &Matrix) -> Markup {
    let what = match found.axis {
        Axis::Format => "Error formats",
        Axis::Guardrails => "Sets of guardrails",
        Axis::Agent => "Agents",
    };
    html! {
        h2 #matrix { (what) " beside each other" }
        p.note {
            "Success, and the difference to " b { (shown(&found.reference)) } " in points, over pairs of the same scenario and trial, with "
            "Tango's interval. Shaded and marked where the interval leaves zero out: ▲ more succeed, ▼ fewer do. p: McNemar's mid-p, "
            "adjusted by Holm for the whole matrix."
        }
        div.scroll tabindex="0" role="region" aria-label=(what) {
            table.heat {
                thead { tr {
                    th.text scope="col" { (singular(found.axis)) }
                    @for column in &found.columns { th scope="col" { (shown(&column.title)) } }
                } }
                tbody {
                    @for (index, row) in found.rows.iter().enumerate() {
                        tr {
                            th scope="row" { (shown(row)) @if *row == found.reference { " " span.badge { "reference" } } }
                            @for column in &found.columns { (cell(column.cells.get(index).and_then(Option::as_ref))) }
                        }
                    }
                }
            }
        }
    }
}

fn singular(axis: Axis) -> &'static str {
    match axis {
        Axis::Format => "error format",
        Axis::Guardrails => "guardrails",
        Axis::Agent => "agent",
    }
}

fn cell(cell: Option<&MatrixCell>) -> Markup {
    let Some(cell) = cell else { return html! { td { span.hidden-text { "not in the plan" } } } };
    let success = cell.differences.iter().find(|entry| entry.metric == Metric::Success);
    let (class, mark) = match success.and_then(|entry| entry.interval) {
        Some(Interval { lower, .. }) if lower > 0.0 => ("up", "▲ "),
        Some(Interval { upper, .. }) if upper < 0.0 => ("down", "▼ "),
        _ => ("", ""),
    };
    html! {
        td class=(class) {
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
