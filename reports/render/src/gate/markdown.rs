use super::{
    MAX_TEXTS, also, by_severity, diff_lines, difference, example_command, first_line, format_change, is_listed, means,
    more_texts, per_episode, subject, unit_of_changes, verdict, verdict_counts,
};
use healbench_analysis::gate::{GateReport, GateRow, Verdict};
use healbench_text::{count, escape_markdown};

/// The largest number of rows in the table.
const ROWS: usize = 50;
/// The largest number of changed scenarios listed per row.
const CHANGES: usize = 20;
/// The size in bytes after which changes are left out. GitHub limits all summaries of a step to 1 MiB.
const MAX_BYTES: usize = 512 * 1024;

/// Formats the report as Markdown for a job summary. Deterministic rows that pass are counted, not listed.
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
        text.push_str(&table_row(report, row));
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
    for change in report.texts.iter().take(MAX_TEXTS) {
        // Indented lines end at no mark that a text may have.
        let lines: Vec<String> = diff_lines(change).iter().map(|line| format!("    {line}")).collect();
        let (name, lines) = (escape_markdown(&change.name), lines.join("\n"));
        text.push_str(&format!("\n<details><summary>Changed: {name}</summary>\n\n{lines}\n\n</details>\n"));
    }
    text.extend(more_texts(report).map(|more| format!("\n{more}\n")));
    text.push_str(&closing(report));
    text
}

fn heading(report: &GateReport) -> String {
    let policy = report.policy.as_deref().map_or("built in".to_owned(), escape_markdown);
    let against = report.base.as_deref().map(|base| format!(" against {}", escape_markdown(base))).unwrap_or_default();
    let apart =
        report.run_apart.as_deref().map(|sentence| format!("\n{}\n", escape_markdown(sentence))).unwrap_or_default();
    let first = first_line(report);
    let first = if first.is_empty() { String::new() } else { format!("{}\n\n", escape_markdown(&first.join(" · "))) };
    format!(
        "## healbench gate: {} **{}**\n\n{first}Candidate {}{against}, policy {policy}: {}\n{apart}",
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

fn table_row(report: &GateReport, row: &GateRow) -> String {
    let reason = std::iter::once(row.reason.clone()).chain(also(report, row)).collect::<Vec<_>>().join("; ");
    let data = [subject(&row.subject), row.metric.clone(), means(row) + per_episode(row), difference(row), reason];
    format!("| {} | {} |\n", verdict_with_emoji(row), data.map(|text| escape_markdown(&text)).join(" | "))
}

/// Formats the changed scenarios of a row as a collapsed block.
fn changes(report: &GateReport, row: &GateRow) -> String {
    let mut text = format!(
        "\n<details><summary>{}: {} · {}</summary>\n\n| scenario | base → candidate{} |\n|---|---|\n",
        verdict_with_emoji(row),
        escape_markdown(&subject(&row.subject)),
        escape_markdown(&row.metric),
        unit_of_changes(row).map(|unit| format!(", {unit}")).unwrap_or_default()
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
        // The command is one line that begins with a word, so it cannot end the code block.
        text.push_str(&format!("\n```sh\n{}\n```\n", command));
    }
    text.push_str("\n</details>\n");
    text
}

/// Explains the verdicts other than PASS and FAIL.
fn closing(report: &GateReport) -> String {
    let has = |verdict| report.rows.iter().any(|row| row.verdict == verdict);
    let mut sentences = Vec::new();
    if has(Verdict::Inconclusive) {
        sentences
            .push("INCONCLUSIVE: the measurement neither shows a regression nor rules one out; this is not a pass.");
    }
    if has(Verdict::Missing) {
        sentences.push("MISSING: what one side does not have was not compared.");
    }
    if sentences.is_empty() { String::new() } else { format!("\n{}\n", sentences.join(" ")) }
}
