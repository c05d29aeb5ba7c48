//! The error texts of a run, as text for a terminal, as Markdown and as CSV. All show the same columns of [`columns`].

mod answer;
pub(crate) mod changes;
mod columns;

use healbench_analysis::{ErrorCounts, ErrorText, ErrorTexts, Rate, TaskRate};
use healbench_text::{Paint, StyledSpan, Table, TableLine, escape_markdown, plain_text, wrap};

pub(crate) use self::answer::{
    about, answer, conditions, example, fields, found, notes, other_chains, template, totals,
};
pub use self::changes::{error_changes, error_changes_csv, error_changes_markdown};
pub(crate) use self::columns::{COLUMNS, Column, SECOND_COLUMNS};
use super::csv::Record;
use super::labels::{INDENT, plain_cell};
use super::number::pluralize;

/// Options of the terminal output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorOptions {
    /// The terminal's width in columns.
    pub width: usize,
    /// True if ANSI sequences may be used.
    pub color: bool,
    /// The largest number of texts.
    pub limit: usize,
}

/// Formats error texts for a terminal, ending with a line break. The answer comes first.
pub fn errors(texts: &ErrorTexts, options: ErrorOptions) -> String {
    let ErrorOptions { width, color, limit } = options;
    let mut lines = wrap(&plain_text(&answer(texts)), " ", width);
    if texts.totals.calls > 0 {
        lines.extend(wrap(&totals(texts), " ", width));
        let groups = group_table(texts);
        for table in groups.into_iter().chain([text_table(texts, limit, width)]) {
            lines.push(String::new());
            lines.extend(table.lines(width, color).into_iter().map(|line| line.trim_end().to_owned()));
        }
        lines.push(String::new());
        for note in left_out(texts.texts.len(), limit).into_iter().chain(notes(texts)) {
            lines.extend(wrap(&note, " ", width));
        }
    }
    lines.join("\n") + "\n"
}

fn heads() -> Vec<[String; 2]> {
    COLUMNS.iter().map(|column| column.head.map(str::to_owned)).collect()
}

fn cells(counts: &ErrorCounts) -> Vec<String> {
    COLUMNS.iter().map(|column| (column.value)(counts)).collect()
}

fn group_table(texts: &ErrorTexts) -> Option<Table> {
    texts.by?;
    let row = |name: &str, counts| TableLine::Row {
        label: plain_text(name).into_owned(),
        cells: cells(counts).into_iter().map(plain_cell).collect(),
    };
    Some(Table { heads: heads(), lines: texts.groups.iter().map(|group| row(&group.name, &group.counts)).collect() })
}

fn text_table(texts: &ErrorTexts, limit: usize, width: usize) -> Table {
    let mut lines = Vec::new();
    for text in texts.texts.iter().take(limit) {
        let title = format!("{}: {}", text.tool, template(text));
        for line in wrap(&plain_text(&title), " ", width) {
            lines.push(TableLine::Title(StyledSpan::new(line, Paint::Bold)));
        }
        let cells = cells(&text.counts).into_iter().map(plain_cell).collect();
        lines.push(TableLine::Row { label: format!("{INDENT}{}", about(text)), cells });
        for line in wrap(&plain_text(&details(text)), " ", width.saturating_sub(INDENT.len())) {
            lines.push(TableLine::Title(StyledSpan::new(format!("{INDENT}{line}"), Paint::Dim)));
        }
    }
    Table { heads: heads(), lines }
}

/// `reader found: field, no remedy, no tool · fields: title · under bare · example: episode 3, call 1`.
fn details(text: &ErrorText) -> String {
    let mut parts = vec![format!("reader found: {}", found(text))];
    parts.extend(fields(text).map(|fields| format!("fields: {fields}")));
    parts.extend(conditions(text));
    parts.push(format!("example: {}", example(text)));
    parts.join(" · ")
}

/// Returns a sentence about the texts beyond the limit.
pub(crate) fn left_out(texts: usize, limit: usize) -> Option<String> {
    let more = texts.checked_sub(limit).filter(|more| *more > 0)?;
    Some(format!("Left out: {}.", pluralize(more as u64, "more text")))
}

/// Formats error texts as Markdown.
pub fn errors_markdown(texts: &ErrorTexts, limit: usize) -> String {
    let mut lines = vec!["## healbench: error texts".to_owned(), String::new()];
    lines.extend(markdown_section(texts, limit));
    if texts.totals.calls > 0 {
        let notes = left_out(texts.texts.len(), limit).into_iter().chain(notes(texts));
        let notes: Vec<String> = notes.map(|note| escape_markdown(&note)).collect();
        lines.extend([String::new(), notes.join(" ")]);
    }
    lines.join("\n") + "\n"
}

/// Returns the answer, the totals and the tables as Markdown.
pub(crate) fn markdown_section(texts: &ErrorTexts, limit: usize) -> Vec<String> {
    let mut lines = vec![format!("**{}**", escape_markdown(&answer(texts)))];
    if texts.totals.calls == 0 {
        return lines;
    }
    lines.extend([String::new(), escape_markdown(&totals(texts)), String::new()]);
    if let Some(by) = texts.by {
        lines.extend(markdown_head(&[by.name()], &[]));
        for group in &texts.groups {
            lines.push(markdown_row([group.name.clone()].into_iter().chain(cells(&group.counts))));
        }
        lines.push(String::new());
    }
    lines.extend(markdown_head(&["tool", "text", "kind"], &["reader found", "fields", "conditions", "example"]));
    for text in texts.texts.iter().take(limit) {
        let before = [text.tool.clone(), template(text), about(text)];
        let after = [found(text), fields(text).unwrap_or_default(), text.conditions.join(", "), example(text)];
        lines.push(markdown_row(before.into_iter().chain(cells(&text.counts)).chain(after)));
    }
    lines
}

fn markdown_head(before: &[&str], after: &[&str]) -> [String; 2] {
    let titles: Vec<String> = COLUMNS.iter().map(Column::title).collect();
    let [titles, rules] = markdown_head_of(before, &titles);
    let more = after.iter().map(|title| format!(" {title} |")).collect::<String>();
    [titles + &more, rules + &"---|".repeat(after.len())]
}

/// Returns the head of a table with names on the left and numbers on the right.
fn markdown_head_of(names: &[&str], numbers: &[String]) -> [String; 2] {
    let titles = names.iter().map(ToString::to_string).chain(numbers.iter().cloned());
    let rules = ["---"].repeat(names.len()).into_iter().chain(["---:"].repeat(numbers.len()));
    [markdown_row(titles), format!("|{}|", rules.collect::<Vec<_>>().join("|"))]
}

fn markdown_row(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |", cells.map(|cell| escape_markdown(&cell)).collect::<Vec<_>>().join(" | "))
}

/// Formats a line of CSV for each text or, if there are groups, for each group. Rates are 0 to 1; unknown values are empty.
///
/// # Errors
/// None in practice: the text is built in memory.
pub fn errors_csv(texts: &ErrorTexts) -> Result<String, csv::Error> {
    let records = match texts.by {
        Some(by) => texts.groups.iter().map(|group| csv_group(by.name(), &group.name, &group.counts)).collect(),
        None => texts.texts.iter().map(csv_text).collect(),
    };
    super::csv::write(records)
}

fn csv_group(axis: &str, name: &str, counts: &ErrorCounts) -> Record {
    let mut record = Record::default();
    record.add(axis, name);
    csv_counts(&mut record, "", counts);
    record
}

fn csv_text(text: &ErrorText) -> Record {
    let mut record = Record::default();
    record.add("tool", &text.tool);
    record.add_optional("template", text.template.as_ref());
    csv_counts(&mut record, "", &text.counts);
    record.add("soft_calls", text.soft_calls);
    record.add_optional("kind", text.kind.map(|kind| kind.name()));
    let facts: [(&str, Rate); 3] =
        [("names_field", text.names_field), ("states_remedy", text.states_remedy), ("names_tool", text.names_tool)];
    facts.into_iter().for_each(|(name, rate)| record.rate(name, rate));
    record.add("fields", text.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(" "));
    record.add("conditions", text.conditions.join(", "));
    record.add("example_episode", text.example.episode);
    record.add("example_call", text.example.call);
    record
}

/// Adds counts under names with a prefix.
fn csv_counts(record: &mut Record, prefix: &str, counts: &ErrorCounts) {
    let numbers = [
        ("calls", counts.calls),
        ("chains", counts.chains),
        ("tasks", counts.tasks),
        ("wasted_tokens", counts.wasted_tokens),
        ("unrepaired", counts.unrepaired),
    ];
    for (name, number) in numbers {
        record.add(&format!("{prefix}{name}"), number);
    }
    let rates: [(&str, TaskRate); 7] = [
        ("repaired_next", counts.repaired_next),
        ("repaired_next_same_errand", counts.repaired_next_same_errand),
        ("repaired_within_3", counts.repaired_within_3),
        ("changed", counts.changed),
        ("repeated", counts.repeated),
        ("other_tool", counts.other_tool),
        ("stopped", counts.stopped),
    ];
    for (name, found) in rates {
        let name = format!("{prefix}{name}");
        record.rate(&name, found.rate);
        record.interval(&name, found.interval);
    }
    record.add(&format!("{prefix}second_errors"), counts.after_second.chains);
    let second = &counts.after_second;
    let rates: [(&str, TaskRate); 5] = [
        ("second_repaired_next", second.repaired_next),
        ("second_changed", second.changed),
        ("second_repeated", second.repeated),
        ("second_other_tool", second.other_tool),
        ("second_stopped", second.stopped),
    ];
    rates.into_iter().for_each(|(name, found)| record.rate(&format!("{prefix}{name}"), found.rate));
}
