//! The error texts that two traces have in common.

use healbench_analysis::{ErrorChange, ErrorChanges, TextChange};
use healbench_text::{Paint, StyledSpan, Table, TableLine, escape_markdown, plain_text, wrap};

use super::{Column, ErrorOptions, Record, csv_counts, markdown_head_of, markdown_row};
use crate::labels::{INDENT, plain_cell};
use crate::number::{UNKNOWN, amount, count, percent, pluralize, points, points_interval, rate_percent};

/// The columns: two lines of a heading, and the value of each side.
const COLUMNS: [Column; 4] = [
    Column { head: ["", "chains"], value: |counts| count(counts.chains) },
    Column { head: ["", "tasks"], value: |counts| count(counts.tasks) },
    Column { head: ["wasted", "tokens"], value: |counts| amount(counts.wasted_tokens as f64) },
    Column { head: ["repaired", "next"], value: |counts| rate_percent(counts.repaired_next.rate) },
];

/// Formats the changes for a terminal, ending with a line break.
pub fn error_changes(changes: &ErrorChanges, options: ErrorOptions) -> String {
    let ErrorOptions { width, color, limit } = options;
    let mut lines = wrap(&answer(changes), " ", width);
    let mut rows = Vec::new();
    for text in changes.texts.iter().take(limit) {
        let title = plain_text(&format!("{}: {}", text.tool, text.template)).into_owned();
        rows.extend(
            wrap(&title, " ", width).into_iter().map(|line| TableLine::Title(StyledSpan::new(line, Paint::Bold))),
        );
        let cells = cells(&text.change).into_iter().map(plain_cell).collect();
        rows.push(TableLine::Row { label: INDENT.to_owned(), cells });
    }
    if !rows.is_empty() {
        lines.push(String::new());
        let table = Table { heads: heads(), lines: rows };
        lines.extend(table.lines(width, color).into_iter().map(|line| line.trim_end().to_owned()));
    }
    lines.push(String::new());
    for note in notes(changes, limit) {
        lines.extend(wrap(&note, " ", width));
    }
    lines.join("\n") + "\n"
}

/// Formats the changes as Markdown.
pub fn error_changes_markdown(changes: &ErrorChanges, limit: usize) -> String {
    let mut lines = vec!["## healbench: error texts of two traces".to_owned(), String::new()];
    lines.extend([escape_markdown(&answer(changes)), String::new()]);
    lines.extend(markdown_head_of(&["tool", "text"], &titles()));
    for text in changes.texts.iter().take(limit) {
        let names = [text.tool.clone(), text.template.clone()];
        lines.push(markdown_row(names.into_iter().chain(cells(&text.change))));
    }
    lines.push(String::new());
    lines.extend(notes(changes, limit).iter().map(|note| escape_markdown(note)));
    lines.join("\n") + "\n"
}

/// Formats a line of CSV for each text that both traces have. Rates are 0 to 1; unknown values are empty.
///
/// # Errors
/// None in practice: the text is built in memory.
pub fn error_changes_csv(changes: &ErrorChanges) -> Result<String, csv::Error> {
    let record = |text: &TextChange| {
        let mut record = Record::default();
        record.add("tool", &text.tool);
        record.add("template", &text.template);
        csv_counts(&mut record, "before_", &text.change.before);
        csv_counts(&mut record, "after_", &text.change.after);
        let found = text.change.repaired_next;
        record.add_optional("repaired_next_difference", found.map(|found| found.difference));
        record.interval("repaired_next_difference", found.and_then(|found| found.interval));
        record
    };
    crate::csv::write(changes.texts.iter().map(record).collect())
}

/// Returns the headings of the numbers, each on one line.
pub(crate) fn titles() -> Vec<String> {
    heads().iter().map(|head| head.join(" ").trim().to_owned()).collect()
}

fn heads() -> Vec<[String; 2]> {
    let heads = COLUMNS.iter().map(|column| column.head).chain([["", "difference"]]);
    heads.map(|head| head.map(str::to_owned)).collect()
}

pub(crate) fn cells(change: &ErrorChange) -> Vec<String> {
    let sides =
        COLUMNS.iter().map(|Column { value, .. }| format!("{} → {}", value(&change.before), value(&change.after)));
    sides.chain([difference(change)]).collect()
}

fn difference(change: &ErrorChange) -> String {
    let Some(found) = change.repaired_next else { return UNKNOWN.to_owned() };
    let interval = found.interval.map(|interval| format!(" {}", points_interval(interval)));
    format!("{}{}", points(found.difference), interval.unwrap_or_default())
}

/// `Repaired next: 43% → 61%, +18 [2, 33] points, over all errors. 12 texts are in both.`
pub(crate) fn answer(changes: &ErrorChanges) -> String {
    let ErrorChange { before, after, .. } = &changes.totals;
    let rates = [before, after].map(|counts| rate_percent(counts.repaired_next.rate)).join(" → ");
    let errors = [before, after].map(|counts| count(counts.calls)).join(" → ");
    format!(
        "Repaired next: {rates}, {} points, over all {errors} errors. In both: {}; only in the first: {}, only in the second: {}.",
        difference(&changes.totals),
        pluralize(changes.texts.len() as u64, "text"),
        count(changes.only_before),
        count(changes.only_after),
    )
}

pub(crate) fn notes(changes: &ErrorChanges, limit: usize) -> Vec<String> {
    let left_out = changes.texts.len().checked_sub(limit).filter(|more| *more > 0);
    let mut notes: Vec<String> =
        left_out.map(|more| format!("Left out: {}.", pluralize(more as u64, "more text"))).into_iter().collect();
    notes.push("Observational: the texts were not assigned to agents at random, and tasks may differ.".to_owned());
    notes.push(format!(
        "difference: of repaired next, in points, with intervals of {} from 10 tasks on.",
        percent(changes.confidence)
    ));
    notes
}
