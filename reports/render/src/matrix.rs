//! The matrix of one run's cells as text for a terminal.

use unicode_width::UnicodeWidthStr as _;

use super::comparison::{estimate, format_difference, paint};
use super::labels::{Estimate, INDENT, READERS_NOTE, align_estimates, pair_note, plain_cell};
use super::methods::Methods;
use super::number::{
    UNKNOWN, count, p_value, percent, percent_digits, pluralize, points, points_interval, rate_percent,
};
use healbench_analysis::statistics::Interval;
use healbench_analysis::{
    Axis, Interaction, Matrix, MatrixCell, MatrixColumn, Metric, MetricDifference, RowConclusion, Verdict,
};
use healbench_text::{Paint, StyledSpan, Table, TableCell, TableLine, plain_text, wrap};

/// Formats the matrix for a terminal, ending with a line break: first an overview, then every interval.
pub fn matrix(matrix: &Matrix, width: usize, color: bool) -> String {
    let title = [
        plain_text(&matrix.run).into_owned(),
        format!("{} compared with {}", matrix.axis.plural(), plain_text(&matrix.reference)),
        pluralize(matrix.scenarios, "scenario"),
        pluralize(u64::from(matrix.trials), "trial"),
    ];
    let mut lines = wrap(&title.join(" · "), " · ", width);
    lines.extend(wrap(&conclusion(matrix), " ", width));
    if matrix.columns.len() > 1 {
        for table in overview_tables(matrix, width) {
            lines.push(String::new());
            // The second line of the headings may be empty.
            lines.extend(table.lines(width, color).into_iter().filter(|line| !line.is_empty()));
        }
    }
    lines.push(String::new());
    let with_intervals = detail_table(matrix, true);
    let table =
        if with_intervals.body_width() + INDENT.len() <= width { with_intervals } else { detail_table(matrix, false) };
    lines.extend(table.lines(width, color));
    lines.push(String::new());
    if !matrix.interactions.is_empty() {
        lines.extend(interaction_table(&matrix.interactions).lines(width, color));
        lines.push(String::new());
    }
    for note in notes(matrix) {
        lines.extend(wrap(&note, " ", width));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// The rows that are shown to be better than the reference, worse or as good, in a sentence each.
pub(super) fn conclusion(matrix: &Matrix) -> String {
    let of_models = if matrix.mixes_models_and_readers() { " for models" } else { "" };
    let reference = format!("{}{of_models}", plain_text(&matrix.reference));
    let rows = |number: fn(&RowConclusion) -> u64| {
        let shown = matrix.conclusions.iter().filter(|row| number(row) > 0);
        let shown: Vec<String> = shown
            .map(|row| match (number(row), row.columns) {
                (_, 1) => plain_text(&row.row).into_owned(),
                (number, columns) => format!("{} in {} of {}", plain_text(&row.row), count(number), count(columns)),
            })
            .collect();
        shown.join(", ")
    };
    let [better, worse, as_good] = [rows(|row| row.better), rows(|row| row.worse), rows(|row| row.as_good)];
    let mut sentences = Vec::new();
    for (relation, to, rows) in
        [("Better", "than", &better), ("Worse", "than", &worse), ("As good, within 5 points,", "as", &as_good)]
    {
        match sentences.is_empty() {
            _ if rows.is_empty() => {}
            true => sentences.push(format!("{relation} {to} {reference}: {rows}.")),
            false => sentences.push(format!("{}: {rows}.", relation.trim_end_matches(','))),
        }
    }
    match (better.is_empty(), worse.is_empty()) {
        (true, true) if as_good.is_empty() => {
            let speaks_of = if of_models.is_empty() { "No" } else { "For models, no" };
            sentences.push(format!("{speaks_of} clear difference in success to {}.", plain_text(&matrix.reference)));
        }
        (true, true) => sentences.push("None is clearly better or worse.".to_owned()),
        (false, true) => sentences.push("None is clearly worse.".to_owned()),
        (true, false) => sentences.push("None is clearly better.".to_owned()),
        (false, false) => {}
    }
    sentences.join(" ")
}

fn metric_difference(cell: &MatrixCell, metric: Metric) -> Option<&MetricDifference> {
    cell.differences.iter().find(|entry| entry.metric == metric)
}

/// Builds tables of success by row and column with the difference from the reference; as many as needed to stay within
/// the width.
fn overview_tables(matrix: &Matrix, width: usize) -> Vec<Table> {
    let label = |row: &str| plain_text(row).into_owned();
    let labels = matrix.rows.iter().map(|row| label(row).width()).max().unwrap_or(0);
    let build = |columns: &[MatrixColumn]| {
        let heads = columns.iter().map(|column| column_heading(matrix, column));
        let mut lines: Vec<TableLine> =
            matrix.rows.iter().map(|row| TableLine::Row { label: label(row), cells: Vec::new() }).collect();
        for column in columns {
            let estimates = align_estimates(column.cells.iter().map(|cell| overview_cell(cell.as_ref())).collect());
            for (line, cell) in lines.iter_mut().zip(estimates) {
                if let TableLine::Row { cells, .. } = line {
                    cells.push(cell);
                }
            }
        }
        Table { heads: heads.collect(), lines }
    };
    let room = width.saturating_sub(labels.min(width / 2));
    let mut tables = Vec::new();
    let mut columns = matrix.columns.as_slice();
    while !columns.is_empty() {
        let fitting = (2..=columns.len()).take_while(|count| build(&columns[..*count]).body_width() <= room).last();
        let (now, later) = columns.split_at(fitting.unwrap_or(1));
        tables.push(build(now));
        columns = later;
    }
    tables
}

/// Returns a short heading with only what distinguishes the column from the others.
fn column_heading(matrix: &Matrix, column: &MatrixColumn) -> [String; 2] {
    let Some(agent) = &column.agent else {
        // The guardrails above the error format.
        let (first, second) = column.condition.split_once(' ').unwrap_or((&column.condition, ""));
        return [first, second].map(|text| plain_text(text).into_owned());
    };
    let other = |other: &&MatrixColumn| other.agent.as_ref() != Some(agent);
    let same_name = |other: &MatrixColumn| other.agent_name == column.agent_name;
    let is_ambiguous = matrix.columns.iter().filter(other).any(same_name);
    let agent = column.agent_name.as_ref().filter(|_| !is_ambiguous).unwrap_or(agent);
    let one_condition = matrix.columns.iter().all(|other| other.condition == column.condition);
    let condition = if one_condition { "" } else { column.condition.as_str() };
    [agent.as_str(), condition].map(|text| plain_text(text).into_owned())
}

/// `20% +7*`.
fn overview_cell(cell: Option<&MatrixCell>) -> Estimate {
    let Some(cell) = cell else { return (StyledSpan::new(UNKNOWN, Paint::Plain), StyledSpan::new("", Paint::Plain)) };
    let success = metric_difference(cell, Metric::Success);
    let mark = if success.is_some_and(|entry| entry.verdict == Verdict::Clear) { "*" } else { " " };
    let difference = success.filter(|entry| entry.difference.is_some()).map(|entry| format_difference(entry) + mark);
    let paint = success.map_or(Paint::Plain, paint);
    (StyledSpan::new(rate_percent(cell.success), Paint::Plain), StyledSpan::new(difference.unwrap_or_default(), paint))
}

fn detail_table(matrix: &Matrix, intervals: bool) -> Table {
    let cells = || matrix.columns.iter().flat_map(|column| column.cells.iter().flatten());
    let column = |metric: Metric| {
        align_estimates(cells().map(|cell| estimate(metric_difference(cell, metric), intervals)).collect()).into_iter()
    };
    let (mut success, mut tokens) = (column(Metric::Success), column(Metric::BilledTokens));
    let mut lines = Vec::new();
    for column in &matrix.columns {
        lines.push(TableLine::Title(StyledSpan::new(plain_text(&column.title), Paint::Bold)));
        for (row, cell) in matrix.rows.iter().zip(&column.cells) {
            let Some(cell) = cell else { continue };
            let mut cells: Vec<TableCell> =
                vec![plain_cell(cell.success.rate.map_or(UNKNOWN.to_owned(), percent_digits))];
            cells.push(success.next().unwrap_or_default());
            cells
                .push(plain_cell(p_value(metric_difference(cell, Metric::Success).and_then(|entry| entry.p_adjusted))));
            cells.push(tokens.next().unwrap_or_default());
            lines.push(TableLine::Row { label: format!("{INDENT}{}", plain_text(row)), cells });
        }
    }
    let versus = "delta".to_owned();
    let heads = vec![
        ["success".to_owned(), "%".to_owned()],
        [versus.clone(), "points".to_owned()],
        ["p".to_owned(), "Holm".to_owned()],
        [versus, "billed".to_owned()],
    ];
    Table { heads, lines }
}

fn interaction_table(interactions: &[Interaction]) -> Table {
    let value = |entry: &Interaction| {
        let interval = entry.interval.map(points_interval).unwrap_or_default();
        let difference = entry.difference.map_or(UNKNOWN.to_owned(), points);
        (StyledSpan::new(difference, Paint::Plain), StyledSpan::new(interval, Paint::Dim))
    };
    let mut lines = Vec::new();
    let mut title = String::new();
    for (entry, estimate) in interactions.iter().zip(align_estimates(interactions.iter().map(value).collect())) {
        let group = plain_text(&format!("{} {}", entry.agent, entry.guardrails)).into_owned();
        if group != title {
            lines.push(TableLine::Title(StyledSpan::new(group.clone(), Paint::Bold)));
            title = group;
        }
        lines.push(TableLine::Row {
            label: format!("{INDENT}{}", interaction_label(entry)),
            cells: vec![estimate, plain_cell(p_value(entry.p_adjusted))],
        });
    }
    Table { heads: vec![["interaction".to_owned(), "points".to_owned()], ["p".to_owned(), "Holm".to_owned()]], lines }
}

/// `next-step in zod-json`.
pub(super) fn interaction_label(entry: &Interaction) -> String {
    format!("{} in {}", plain_text(&entry.content), plain_text(&entry.format))
}

/// Returns a sentence about interactions; `None` without any.
pub(super) fn interaction_note(matrix: &Matrix) -> Option<String> {
    let first = matrix.interactions.first()?;
    Some(format!(
        "interaction: the difference of a level of content to {} in one format, minus that difference in {}, in trials that all four \
         conditions have. Student's t over scenarios, each interval for its interaction alone; p adjusted by Holm for all interactions. No interval where no scenario differs \
         from another.",
        plain_text(&first.reference_content),
        plain_text(&first.reference_format)
    ))
}

/// The comparisons that p-values of success are adjusted for.
pub(super) fn adjusted_for(matrix: &Matrix) -> &'static str {
    if matrix.axis == Axis::Agent { "the whole matrix" } else { "all pairs of conditions of an agent" }
}

/// Returns the intervals of the differences in success.
pub(super) fn intervals(matrix: &Matrix) -> impl Iterator<Item = (Option<Interval>, Verdict)> {
    let cells = matrix.columns.iter().flat_map(|column| column.cells.iter().flatten());
    cells.filter_map(|cell| metric_difference(cell, Metric::Success)).map(|entry| (entry.interval, entry.verdict))
}

pub(super) fn notes(matrix: &Matrix) -> Vec<String> {
    let level = percent(matrix.confidence);
    let mut notes = vec![format!(
        "delta: the difference to {} in pairs of the same scenario and trial. Intervals are {level}, for other scenarios of \
         these suites{}. p: of the same statistic, adjusted by Holm for {}{}.",
        plain_text(&matrix.reference),
        Methods::of_matrix(matrix).with_rest("billed tokens per episode"),
        adjusted_for(matrix),
        if matrix.columns.len() > 1 { "; * where a difference is clear" } else { "" }
    )];
    notes.extend(pair_note(intervals(matrix)).map(str::to_owned));
    notes.extend(interaction_note(matrix));
    if matrix.unpaired > 0 {
        notes.push(format!(
            "Left out because one episode is missing or not scored: {}.",
            pluralize(matrix.unpaired, "pair")
        ));
    }
    if matrix.columns.iter().any(|column| column.scripted) {
        notes.push(READERS_NOTE.to_owned());
    }
    notes
}
