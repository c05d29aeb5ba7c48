use super::{
    by_severity, difference, example_command, format_change, is_listed, means, subject, verdict, verdict_counts,
};
use crate::gate::{GateReport, GateRow, Verdict};
use crate::render::count;
use crate::render::markdown::escape_markdown;

/// Rows of the table.
const ROWS: usize = 50;
/// Changed scenarios that are listed of a row.
const CHANGES: usize = 20;
/// Bytes after which changes are left out. GitHub takes 1 MiB of a step, all that it writes together.
const MAX_BYTES: usize = 512 * 1024;

/// The report as Markdown for the summary of a job. Exact rows that pass are counted, and not listed.
pub fn markdown(report: &GateReport) -> String {
    let mut text = heading(report);
    let rows: Vec<&GateRow> = by_severity(report).into_iter().filter(|row| is_listed(row)).collect();
    let (shown, rest) = rows.split_at(rows.len().min(ROWS));
    if !shown.is_empty() {
        text.push_str(
            "\n| verdict | subject | metric | base → candidate | difference | why |\n|---|---|---|---|---|---|\n",
        );
    }
    for row in shown {
        text.push_str(&table_row(row));
    }
    if !rest.is_empty() {
        text.push_str(&format!("\nand {} more rows: `--output json` has all\n", count(rest.len() as u64)));
    }
    let mut left_out = 0;
    for row in shown.iter().filter(|row| row.verdict != Verdict::Pass && !row.changes.is_empty()) {
        let changes = changes(report, row);
        if text.len() + changes.len() > MAX_BYTES {
            left_out += 1;
        } else {
            text.push_str(&changes);
        }
    }
    if left_out > 0 {
        text.push_str(&format!("\nThe changes of {left_out} rows are left out: `--output json` has all\n"));
    }
    text.push_str(&closing(report));
    text
}

fn heading(report: &GateReport) -> String {
    let policy = report.policy.as_deref().map_or("built in".to_owned(), escape_markdown);
    let against = report.base.as_deref().map(|base| format!(" against {}", escape_markdown(base))).unwrap_or_default();
    format!(
        "## healbench gate: {} **{}**\n\nCandidate {}{against}, policy {policy}: {}\n",
        emoji(report.verdict),
        report.verdict.name(),
        escape_markdown(&report.candidate),
        verdict_counts(report)
    )
}

fn emoji(verdict: Verdict) -> char {
    match verdict {
        Verdict::Pass => '✅',
        Verdict::Fail => '❌',
        Verdict::Inconclusive | Verdict::Missing => '❔',
    }
}

/// `❌ FAIL (advisory)`.
fn verdict_with_emoji(row: &GateRow) -> String {
    format!("{} {}", emoji(row.verdict), verdict(row))
}

fn table_row(row: &GateRow) -> String {
    let data = [subject(&row.subject), row.metric.clone(), means(row), difference(row), row.says.clone()];
    format!("| {} | {} |\n", verdict_with_emoji(row), data.map(|text| escape_markdown(&text)).join(" | "))
}

/// The scenarios that changed in a row, folded away.
fn changes(report: &GateReport, row: &GateRow) -> String {
    let mut text = format!(
        "\n<details><summary>{}: {} · {}</summary>\n\n| scenario | base → candidate |\n|---|---|\n",
        verdict_with_emoji(row),
        escape_markdown(&subject(&row.subject)),
        escape_markdown(&row.metric)
    );
    for change in row.changes.iter().take(CHANGES) {
        text.push_str(&format!(
            "| {} | {} |\n",
            escape_markdown(&change.scenario),
            escape_markdown(&format_change(row, change))
        ));
    }
    if row.changes.len() > CHANGES {
        text.push_str(&format!("\nand {} more\n", count((row.changes.len() - CHANGES) as u64)));
    }
    if let Some(command) = example_command(report, row) {
        // One line that begins with a word: nothing in it can end the block.
        text.push_str(&format!("\n```sh\n{}\n```\n", command));
    }
    text.push_str("\n</details>\n");
    text
}

/// What the verdicts mean that are neither yes nor no.
fn closing(report: &GateReport) -> String {
    let has = |verdict| report.rows.iter().any(|row| row.verdict == verdict);
    let mut sentences = Vec::new();
    if has(Verdict::Inconclusive) {
        sentences.push("INCONCLUSIVE: what was measured neither shows a regression nor rules it out; it is no pass.");
    }
    if has(Verdict::Missing) {
        sentences.push("MISSING: what the row is about is not there, so nothing was compared.");
    }
    if sentences.is_empty() { String::new() } else { format!("\n{}\n", sentences.join(" ")) }
}
