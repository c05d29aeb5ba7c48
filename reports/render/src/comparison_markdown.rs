//! Comparisons for a pull request.

use healbench_text::{Paint, escape_markdown};

use super::comparison::{
    conclusion, flips_by_scenario, format_difference, format_interval, lost_and_gained, notes, pairing_failures,
    this_suite,
};
use super::labels::condition_label;
use super::markdown::{interactions, matrix as matrix_table};
use super::matrix::{conclusion as matrix_conclusion, notes as matrix_notes};
use super::number::{UNKNOWN, count, pluralize};
use healbench_analysis::{CellComparison, Comparison, Matrix, Metric};

/// The largest number of rows of a table.
const MAX_ROWS: usize = 20;

/// Formats the comparison of two runs as Markdown: the conclusion, the cells that changed, and the flips by scenario.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let (sentence, paint) = conclusion(comparison);
    let sentence = escape_markdown(&sentence);
    let sentence = if paint == Paint::Plain { sentence } else { format!("**{sentence}**") };
    let title = format!("{} → {}", comparison.base, comparison.candidate);
    let mut lines = vec![format!("## healbench: {}", escape_markdown(&title)), String::new(), sentence];
    let others = comparison.partial.iter().chain(&comparison.differs).chain(&comparison.run_apart);
    let others: Vec<String> = others.map(|other| format!("- {}", escape_markdown(other))).collect();
    lines.extend(section(others));
    let changed: Vec<&CellComparison> = comparison.cells.iter().filter(|cell| cell.changed > 0).collect();
    lines.extend(section(cells(&changed)));
    let groups = flips_by_scenario(&comparison.flips);
    let mut flips = vec!["| scenario | flips |".to_owned(), "|---|---|".to_owned()];
    flips.extend(groups.iter().take(MAX_ROWS).map(|(scenario, flips)| {
        format!("| {} | {} |", escape_markdown(scenario), lost_and_gained(flips.iter().copied()))
    }));
    if !groups.is_empty() {
        lines.extend(section(flips));
        lines.extend(more(groups.len(), "scenario"));
    }
    let failures = pairing_failures(&comparison.unpaired);
    let notes =
        failures.into_iter().chain(notes(comparison, &changed)).map(|note| escape_markdown(&note.replace('`', "")));
    lines.extend(section(vec![notes.collect::<Vec<_>>().join(" ")]));
    lines.join("\n") + "\n"
}

/// Formats the comparison of one run's cells as Markdown.
pub fn matrix_markdown(matrix: &Matrix) -> String {
    let title = format!("{}: {} compared with {}", matrix.run, matrix.axis.plural(), matrix.reference);
    let mut lines = vec![format!("## healbench: {}", escape_markdown(&title)), String::new()];
    lines.push(escape_markdown(&matrix_conclusion(matrix)));
    lines.extend(matrix_table(matrix));
    lines.extend(interactions(matrix));
    let notes: Vec<String> = matrix_notes(matrix).iter().map(|note| escape_markdown(&note.replace('`', ""))).collect();
    lines.extend(section(vec![notes.join(" ")]));
    lines.join("\n") + "\n"
}

/// Puts an empty line before lines that are not empty.
fn section(lines: Vec<String>) -> Vec<String> {
    if lines.iter().all(String::is_empty) { Vec::new() } else { std::iter::once(String::new()).chain(lines).collect() }
}

fn more(all: usize, noun: &str) -> Option<String> {
    let more = all.checked_sub(MAX_ROWS).filter(|more| *more > 0)?;
    Some(format!(
        "\nand {}: `healbench compare BASE CANDIDATE --output json`",
        pluralize(more as u64, &format!("more {noun}"))
    ))
}

fn cells(changed: &[&CellComparison]) -> Vec<String> {
    if changed.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        "| agent | condition | pairs changed | success, this suite | other scenarios | billed tokens per episode |"
            .to_owned(),
        "|---|---|---:|---:|---:|---:|".to_owned(),
    ];
    for cell in changed.iter().take(MAX_ROWS) {
        let entry = |metric| cell.metrics.iter().find(|entry| entry.metric == metric);
        let estimate = |metric| {
            let Some(entry) = entry(metric) else { return UNKNOWN.to_owned() };
            format!("{} {}", format_difference(entry), format_interval(entry).unwrap_or_default()).trim_end().to_owned()
        };
        let cells = [
            escape_markdown(&cell.title),
            escape_markdown(&condition_label(&cell.condition)),
            count(cell.changed),
            this_suite(entry(Metric::Success)),
            estimate(Metric::Success),
            estimate(Metric::BilledTokens),
        ];
        lines.push(format!("| {} |", cells.join(" | ")));
    }
    lines.extend(more(changed.len(), "row"));
    lines
}
