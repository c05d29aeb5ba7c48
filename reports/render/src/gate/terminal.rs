use super::{
    MAX_TEXTS, also, by_severity, diff_lines, difference, example_command, first_line, format_change, is_listed, means,
    more_texts, per_episode, subject, unit_of_changes, verdict, verdict_counts,
};
use crate::labels::INDENT;
use healbench_analysis::gate::{GateReport, GateRow, Verdict};
use healbench_text::{Paint, StyledSpan, plain_text, wrap};

/// Options of the terminal output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateOptions {
    /// The terminal's width in columns.
    pub width: usize,
    /// True if ANSI sequences may be used.
    pub color: bool,
}

/// The largest number of changed scenarios named per row.
const CHANGES: usize = 5;
/// The largest number of rows of each kind described in full.
const ROWS: usize = 20;

/// Formats the gate's report for a terminal, ending with a line break. Deterministic rows that pass are counted, not
/// listed.
pub fn terminal(report: &GateReport, options: GateOptions) -> String {
    let parts = [plain_text(&report.candidate).into_owned(), verdict_counts(report)].into_iter();
    let line =
        format!("{}  {}", report.verdict.name(), parts.chain(first_line(report)).collect::<Vec<_>>().join(" · "));
    let mut lines = wrap(&line, " ", options.width.max(60));
    lines[0] =
        lines[0].replacen(report.verdict.name(), &painted(report.verdict, report.verdict.name(), options.color), 1);
    if let Some(base) = &report.base {
        let policy = report.policy.as_deref().unwrap_or("built in");
        lines.push(format!("against {}, policy {}", plain_text(base), plain_text(policy)));
    }
    if let Some(sentence) = &report.run_apart {
        lines.extend(wrap(&plain_text(sentence), " ", options.width.max(60)));
    }
    let listed: Vec<&GateRow> = by_severity(report).into_iter().filter(|row| is_listed(row)).collect();
    for row in listed.iter().take(ROWS) {
        let word = painted(row.verdict, &verdict(row), options.color);
        lines.push(String::new());
        lines.extend(row_lines(report, row, &format!("{word}  "), options));
    }
    if listed.len() > ROWS {
        lines.push(String::new());
        lines.push(format!("and {} more rows: `--output json` has all", listed.len() - ROWS));
    }
    for change in report.texts.iter().take(MAX_TEXTS) {
        lines.extend([String::new(), format!("changed: {}", plain_text(&change.name))]);
        lines.extend(diff_lines(change).into_iter().map(|line| format!("{INDENT}{line}").trim_end().to_owned()));
    }
    lines.extend(more_texts(report));
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// Formats the rows that changed, leaving out their verdicts, for a user who is about to accept the changes; empty if there is none.
pub fn changes(report: &GateReport, options: GateOptions) -> String {
    let rows: Vec<&GateRow> =
        by_severity(report).into_iter().filter(|row| row.verdict != Verdict::Pass || !row.changes.is_empty()).collect();
    let mut text = String::new();
    for row in rows.iter().take(ROWS) {
        // The way out of a scenario that was not compared is to accept it, as is done here.
        let reason = row.reason.split(": not compared; ").next().unwrap_or_default().to_owned();
        let accepted = (reason != row.reason).then(|| GateRow { reason, ..(*row).clone() });
        let row = accepted.as_ref().unwrap_or(row);
        for line in row_lines(report, row, "", options) {
            text.push_str(&line);
            text.push('\n');
        }
        text.push('\n');
    }
    if !rows.is_empty() {
        let more = if rows.len() > ROWS { format!(", of which {ROWS} are above") } else { String::new() };
        text.push_str(&format!("{}{more}\n", healbench_text::pluralize(rows.len() as u64, "changed row")));
    }
    text
}

/// Colors a word by its verdict.
fn painted(verdict: Verdict, word: &str, color: bool) -> String {
    let paint = match verdict {
        Verdict::Pass => Paint::Green,
        Verdict::Fail => Paint::Red,
        Verdict::Inconclusive | Verdict::Missing => Paint::Bold,
    };
    StyledSpan::new(word, paint).painted(color)
}

fn row_lines(report: &GateReport, row: &GateRow, word: &str, options: GateOptions) -> Vec<String> {
    let mut head = format!("{word}{} · {}", subject(&row.subject), plain_text(&row.metric));
    let means = means(row);
    if !means.is_empty() {
        head = format!("{head}: {means}{}", per_episode(row));
    }
    let mut lines = wrap(&head, " ", options.width.max(60));
    let difference = difference(row);
    let room = options.width.saturating_sub(INDENT.len());
    let reason = plain_text(&row.reason);
    let reason = if difference.is_empty() { reason.into_owned() } else { format!("{difference}; {reason}") };
    lines.extend(wrap(&reason, " ", room).into_iter().map(|line| format!("{INDENT}{line}")));
    lines.extend(unit_of_changes(row).map(|unit| format!("{INDENT}{INDENT}{unit}:")));
    for change in row.changes.iter().take(CHANGES) {
        let numbers = format_change(row, change);
        lines.push(format!("{INDENT}{INDENT}{}  {numbers}", plain_text(&change.scenario)).trim_end().to_owned());
    }
    if row.changes.len() > CHANGES {
        lines.push(format!("{INDENT}{INDENT}and {} more", row.changes.len() - CHANGES));
    }
    let also = also(report, row);
    for other in also.iter().take(CHANGES) {
        lines.extend(wrap(&format!("and {other}"), " ", room).into_iter().map(|line| format!("{INDENT}{line}")));
    }
    if also.len() > CHANGES {
        lines.push(format!("{INDENT}and {} more of the same cause", also.len() - CHANGES));
    }
    lines.extend(example_command(report, row).map(|command| format!("{INDENT}{command}")));
    lines
}
