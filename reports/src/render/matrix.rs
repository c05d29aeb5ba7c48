//! The matrix of one run's cells on a terminal.

use unicode_width::UnicodeWidthStr as _;

use super::comparison::estimate;
use super::layout::{Cell, Line, Paint, Piece, Table, wrap};
use super::number::{UNKNOWN, counted, p_value, percent, percent_digits, points, rate_percent};
use super::plain_text;
use super::terminal::{Estimate, INDENT, estimates, plain};
use crate::comparison::{Matrix, MatrixCell, MatrixColumn, MetricDifference};
use crate::metric::Metric;

/// Below this a difference is marked.
pub(super) const LEVEL: f64 = 0.05;

/// The matrix as text for a terminal, ending with a line break: first at a glance, then with every interval.
pub fn matrix(found: &Matrix, width: usize, color: bool) -> String {
    let title = [
        plain_text(&found.run).into_owned(),
        format!("{} beside {}", found.axis.plural(), plain_text(&found.reference)),
        counted(found.scenarios, "scenario"),
        counted(u64::from(found.trials), "trial"),
    ];
    let mut lines = wrap(&title.join(" · "), " · ", width);
    if found.columns.len() > 1 {
        for table in glances(found, width) {
            lines.push(String::new());
            // The second line of the heads may have nothing to say.
            lines.extend(table.lines(width, color).into_iter().filter(|line| !line.is_empty()));
        }
    }
    lines.push(String::new());
    let whole = details(found, true);
    let table = if whole.body_width() + INDENT.len() <= width { whole } else { details(found, false) };
    lines.extend(table.lines(width, color));
    lines.push(String::new());
    for note in notes(found) {
        lines.extend(wrap(&note, " ", width));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

fn metric(cell: &MatrixCell, metric: Metric) -> Option<&MetricDifference> {
    cell.differences.iter().find(|entry| entry.metric == metric)
}

/// Success by row and column with the difference to the reference; as many tables as it takes to stay within the width.
fn glances(found: &Matrix, width: usize) -> Vec<Table> {
    let label = |row: &str| plain_text(row).into_owned();
    let labels = found.rows.iter().map(|row| label(row).width()).max().unwrap_or(0);
    let build = |columns: &[MatrixColumn]| {
        let heads = columns.iter().map(|column| head(found, column));
        let mut lines: Vec<Line> =
            found.rows.iter().map(|row| Line::Row { label: label(row), cells: Vec::new() }).collect();
        for column in columns {
            let glanced = estimates(column.cells.iter().map(|cell| glance(cell.as_ref())).collect());
            for (line, cell) in lines.iter_mut().zip(glanced) {
                if let Line::Row { cells, .. } = line {
                    cells.push(cell);
                }
            }
        }
        Table { heads: heads.collect(), lines }
    };
    let room = width.saturating_sub(labels.min(width / 2));
    let mut tables = Vec::new();
    let mut columns = found.columns.as_slice();
    while !columns.is_empty() {
        let fitting = (2..=columns.len()).take_while(|count| build(&columns[..*count]).body_width() <= room).last();
        let (now, later) = columns.split_at(fitting.unwrap_or(1));
        tables.push(build(now));
        columns = later;
    }
    tables
}

/// What a column is headed with at a glance: only what tells it from the others.
fn head(found: &Matrix, column: &MatrixColumn) -> [String; 2] {
    let Some(agent) = &column.agent else {
        // Guardrails over the error format.
        let (first, second) = column.setting.split_once(' ').unwrap_or((&column.setting, ""));
        return [first, second].map(|text| plain_text(text).into_owned());
    };
    let name = |agent: &str| agent.split(" · ").next().unwrap_or_default().to_owned();
    let other = |other: &&MatrixColumn| other.agent.as_ref() != Some(agent);
    let same_name = |other: &MatrixColumn| other.agent.as_deref().map(name) == Some(name(agent));
    let agent = if found.columns.iter().filter(other).any(same_name) { agent.clone() } else { name(agent) };
    let one_setting = found.columns.iter().all(|other| other.setting == column.setting);
    let setting = if one_setting { "" } else { column.setting.as_str() };
    [agent.as_str(), setting].map(|text| plain_text(text).into_owned())
}

/// `20% +7*`.
fn glance(cell: Option<&MatrixCell>) -> Estimate {
    let Some(cell) = cell else { return (Piece::new(UNKNOWN, Paint::Plain), Piece::new("", Paint::Plain)) };
    let success = metric(cell, Metric::Success);
    let told = success.is_some_and(is_told);
    let mark = if told { "*" } else { " " };
    let difference = success.and_then(|entry| entry.difference).map(|difference| points(difference) + mark);
    let paint = match success.and_then(|entry| entry.difference) {
        Some(difference) if told && difference > 0.0 => Paint::Green,
        Some(difference) if told && difference < 0.0 => Paint::Red,
        _ => Paint::Plain,
    };
    (Piece::new(rate_percent(cell.success), Paint::Plain), Piece::new(difference.unwrap_or_default(), paint))
}

fn is_told(entry: &MetricDifference) -> bool {
    entry.p_adjusted.is_some_and(|p| p < LEVEL)
}

fn details(found: &Matrix, intervals: bool) -> Table {
    let cells = || found.columns.iter().flat_map(|column| column.cells.iter().flatten());
    let column = |metric_of: Metric| {
        estimates(cells().map(|cell| estimate(metric(cell, metric_of), intervals)).collect()).into_iter()
    };
    let (mut success, mut tokens) = (column(Metric::Success), column(Metric::Tokens));
    let mut lines = Vec::new();
    for column in &found.columns {
        lines.push(Line::Title(Piece::new(plain_text(&column.title), Paint::Bold)));
        for (row, cell) in found.rows.iter().zip(&column.cells) {
            let Some(cell) = cell else { continue };
            let mut cells: Vec<Cell> = vec![plain(cell.success.rate.map_or(UNKNOWN.to_owned(), percent_digits))];
            cells.push(success.next().unwrap_or_default());
            cells.push(plain(p_value(metric(cell, Metric::Success).and_then(|entry| entry.p_adjusted))));
            cells.push(tokens.next().unwrap_or_default());
            lines.push(Line::Row { label: format!("{INDENT}{}", plain_text(row)), cells });
        }
    }
    let beside = "beside".to_owned();
    let heads = vec![
        ["success".to_owned(), "%".to_owned()],
        [beside.clone(), "points".to_owned()],
        ["p".to_owned(), "Holm".to_owned()],
        [beside, "tokens".to_owned()],
    ];
    Table { heads, lines }
}

fn notes(found: &Matrix) -> Vec<String> {
    let level = percent(found.confidence);
    let mut notes = vec![format!(
        "beside: the difference to {} in pairs of the same scenario and trial. Intervals are {level}: Tango for points, BCa bootstrap \
         over scenarios for tokens an episode. p: McNemar's mid-p, adjusted by Holm for the whole matrix{}.",
        plain_text(&found.reference),
        if found.columns.len() > 1 { "; * where it is below 0.05" } else { "" }
    )];
    if found.unpaired > 0 {
        notes.push(format!("Left out, for one episode is missing or not scored: {}.", counted(found.unpaired, "pair")));
    }
    if found.columns.iter().any(|column| column.scripted) {
        notes.push("`scripted:` rows show what the texts say, and nothing about a real model.".to_owned());
    }
    notes
}
