//! The matrix as a heat map in an HTML table, with numbers and words in addition to shades.

use maud::{Markup, html};

use super::{estimate, visible};
use crate::comparison::{format_difference, format_interval};
use crate::labels::{clear_sign, pair_note};
use crate::matrix::{adjusted_for, intervals};
use crate::methods::Methods;
use crate::number::{p_value, percent, percent_interval, pluralize};
use healbench_analysis::{Matrix, MatrixCell, Metric};

/// The largest number of columns of the matrix in a page.
const MAX_COLUMNS: usize = 48;

/// Renders the matrix with its heading.
pub(super) fn heat_map(matrix: &Matrix) -> Markup {
    let plural = matrix.axis.plural();
    let what = plural[..1].to_uppercase() + &plural[1..];
    let layout = Layout::of(matrix);
    html! {
        h2 #matrix { (what) " compared" }
        p.note {
            "Success, and the difference to " b { (visible(&matrix.reference)) } " in points, over pairs of the same scenario and trial, with "
            "the interval for other scenarios of these suites" (Methods::of_matrix(matrix).with_rest("tokens")) ". "
            "p: of the same statistic, adjusted by Holm for " (adjusted_for(matrix)) "; clear differences are framed and shaded by their size, with ▲ where "
            "more succeed and ▼ where fewer do. tokens: the difference in billed tokens per episode."
            @if let Some(note) = pair_note(intervals(matrix)) { " " (note) }
        }
        div.scroll tabindex="0" role="region" aria-label=(what) {
            table.heat {
                thead { tr {
                    th.text scope="col" { (matrix.axis.singular()) }
                    @for column in &layout.columns { th scope="col" { (equal_names(column, |index| &matrix.columns[index].title)) } }
                } }
                tbody {
                    @for row in &layout.rows {
                        tr {
                            th scope="row" {
                                (equal_names(row, |index| &matrix.rows[index]))
                                @if matrix.rows[row[0]] == matrix.reference { " " span.badge { "reference" } }
                            }
                            @for column in &layout.columns { (cell(matrix.columns[column[0]].cells.get(row[0]).and_then(Option::as_ref))) }
                        }
                    }
                }
            }
        }
        @if !layout.left_out.is_empty() {
            p.note {
                (pluralize(layout.left_out.len() as u64, "column")) " that differ less from the reference left out: "
                (visible(&layout.left_out.join(", "))) ". " code { "healbench report --output json" } " has them all."
            }
        }
        @let equal: Vec<Vec<&str>> = layout.equal(matrix);
        @if !equal.is_empty() {
            details {
                summary { "Rows and columns with the same cells are shown once" }
                ul.note { @for names in &equal { li { (visible(&names.join(" = "))) } } }
            }
        }
    }
}

/// The rows and columns that are shown: those with the same cells once, by their indices.
struct Layout<'a> {
    rows: Vec<Vec<usize>>,
    columns: Vec<Vec<usize>>,
    /// The titles of the columns that have no room.
    left_out: Vec<&'a str>,
}

impl<'a> Layout<'a> {
    /// Keeps the columns that differ most from the reference.
    fn of(matrix: &'a Matrix) -> Layout<'a> {
        let text = |row: usize, column: usize| cell(matrix.columns[column].cells.get(row).and_then(Option::as_ref)).0;
        let texts: Vec<Vec<String>> = (0..matrix.columns.len())
            .map(|column| (0..matrix.rows.len()).map(|row| text(row, column)).collect())
            .collect();
        let is_reference = |row: usize| matrix.rows[row] == matrix.reference;
        let mut columns = group(matrix.columns.len(), |a, b| texts[a] == texts[b]);
        let rows = group(matrix.rows.len(), |a, b| {
            !is_reference(a) && !is_reference(b) && texts.iter().all(|column| column[a] == column[b])
        });
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by(|a, b| spread(matrix, columns[*b][0]).total_cmp(&spread(matrix, columns[*a][0])));
        let without = order.split_off(order.len().min(MAX_COLUMNS));
        let left_out: Vec<usize> = without.iter().flat_map(|index| columns[*index].clone()).collect();
        columns.retain(|column| !left_out.contains(&column[0]));
        let left_out = left_out.iter().map(|index| matrix.columns[*index].title.as_str()).collect();
        Layout { rows, columns, left_out }
    }

    /// Returns the names of the rows and columns that share one.
    fn equal(&self, matrix: &'a Matrix) -> Vec<Vec<&'a str>> {
        let rows = self.rows.iter().map(|row| row.iter().map(|index| matrix.rows[*index].as_str()).collect());
        let columns = self.columns.iter();
        let columns = columns.map(|column| column.iter().map(|index| matrix.columns[*index].title.as_str()).collect());
        columns.chain(rows).filter(|names: &Vec<&str>| names.len() > 1).collect()
    }
}

/// Groups the indices below `count` that are equal, in their order.
fn group(count: usize, is_equal: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in 0..count {
        match groups.iter_mut().find(|group| is_equal(group[0], index)) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// Returns the largest difference to the reference in a column.
fn spread(matrix: &Matrix, column: usize) -> f64 {
    let cells = matrix.columns[column].cells.iter().flatten().flat_map(|cell| &cell.differences);
    let success = cells.filter(|entry| entry.metric == Metric::Success);
    success.filter_map(|entry| entry.difference).fold(0.0, |most, difference| most.max(difference.abs()))
}

/// Renders the name of the first of these, and how many others are equal.
fn equal_names<'a>(indices: &[usize], name: impl Fn(usize) -> &'a String) -> Markup {
    html! { (visible(name(indices[0]))) @if indices.len() > 1 { " +" (indices.len() - 1) } }
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

fn cell(cell: Option<&MatrixCell>) -> Markup {
    let Some(cell) = cell else { return html! { td { span.hidden-text { "not in the plan" } } } };
    let of = |metric| cell.differences.iter().find(|entry| entry.metric == metric);
    let (success, tokens) = (of(Metric::Success), of(Metric::BilledTokens));
    let difference = success.and_then(|entry| entry.difference).unwrap_or(0.0);
    let sign = success.map_or(0, |entry| clear_sign(entry.verdict, entry.difference));
    let mark = match sign {
        1 => "▲ ",
        -1 => "▼ ",
        _ => "",
    };
    let class = if sign == 0 { String::new() } else { format!("{} significant", shade(difference)) };
    html! {
        td class=[(!class.is_empty()).then(|| class.trim())] {
            div.much { (estimate(cell.success.rate.map(percent), None)) }
            @if let Some(entry) = success {
                @if entry.difference.is_some() {
                    div.how { (mark) (format_difference(entry)) @if let Some(interval) = format_interval(entry) { " " (interval) } }
                }
                @if entry.p_adjusted.is_some() { div.how { "p " (p_value(entry.p_adjusted)) } }
                @if let Some(entry) = tokens.filter(|entry| entry.difference.is_some()) {
                    div.how { "tokens " (format_difference(entry)) @if let Some(interval) = format_interval(entry) { " " (interval) } }
                }
            } @else if let Some(interval) = cell.success_interval {
                div.how { (percent_interval(interval)) }
            }
        }
    }
}
