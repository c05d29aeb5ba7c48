use healbench_text::{plain_text, pluralize};
use unicode_width::UnicodeWidthStr as _;

use super::{
    MAX_BETTER, accepted, answer, better, by_finding, coverage, examples, headline, kind_rows, line, reached, sentence,
    shortened, softly_refused, template_line, title, tool_rows, worst,
};
use crate::baseline::Change;
use crate::report::{AuditReport, Template};

/// The tools that are named for a finding.
const TOOLS: usize = 6;

/// Formats an audit for a terminal, with the changes since a baseline if there is one.
pub fn terminal(report: &AuditReport, changes: Option<&[Change]>) -> String {
    let mut lines = vec![title(report), format!("{}.", coverage(report)), String::new(), headline(report)];
    if let Some(reached) = reached(report) {
        lines.push(reached);
    }
    for sentence in softly_refused(report).into_iter().chain(accepted(report)) {
        lines.extend([String::new(), sentence]);
    }
    if let Some((sentence, templates)) = worst(report) {
        lines.push(String::new());
        lines.push(sentence);
        for (index, template) in templates.iter().enumerate() {
            lines.extend(template_lines(index + 1, template));
        }
    }
    for (heads, rows) in [tool_rows(report), kind_rows(report)] {
        if !rows.is_empty() {
            lines.push(String::new());
            lines.extend(table(&heads, &rows));
        }
    }
    lines.extend(finding_lines(report));
    if let Some(changes) = changes {
        lines.push(String::new());
        lines.push(
            if changes.is_empty() { "Nothing changed since the baseline" } else { "Since the baseline" }.to_owned(),
        );
        lines.extend(changes.iter().map(|change| {
            format!("  {} {}", if change.is_worse { "worse " } else { "other " }, plain_text(&change.text))
        }));
    }
    if !report.notes.is_empty() {
        lines.push(String::new());
        lines.extend(report.notes.iter().map(|note| line(note)));
    }
    if let Some(answer) = answer(report) {
        lines.push(String::new());
        lines.push(answer);
    }
    lines.push(String::new());
    lines.join("\n")
}

fn finding_lines(report: &AuditReport) -> Vec<String> {
    let mut lines = Vec::new();
    if !report.findings.is_empty() {
        lines.push(String::new());
        lines.push("Findings".to_owned());
    }
    for (id, found) in by_finding(report) {
        let mut tools: Vec<String> = found
            .iter()
            .take(TOOLS)
            .filter_map(|finding| finding.tool.as_deref())
            .map(|tool| plain_text(tool).into_owned())
            .collect();
        if found.len() > TOOLS {
            tools.push(format!("{} more", found.len() - TOOLS));
        }
        let calls: usize = found.iter().map(|finding| finding.count).sum();
        lines.push(format!("  {:<8} {id}: {}", found[0].severity.name(), sentence(id)));
        lines.push(format!(
            "           {}, {}: {}",
            pluralize(found.len() as u64, "tool"),
            pluralize(calls as u64, "call"),
            tools.join(", ")
        ));
        lines.extend(examples(&found).iter().map(|example| format!("           {example}")));
    }
    lines
}

fn template_lines(number: usize, template: &Template) -> Vec<String> {
    let mut lines = vec![format!("  {number}. {}", template_line(template))];
    lines.push(format!("     {} {}", plain_text(&template.tool), line(&template.arguments.to_string())));
    lines.push(format!("     {} tokens: {}", template.tokens, line(&template.example)));
    if let Some((tokens, what, text)) = better(template) {
        lines.push(format!("     {tokens} tokens {what}: {}", shortened(text, MAX_BETTER, MAX_BETTER / 2)));
    }
    let formats: Vec<String> =
        template.formats.iter().map(|format| format!("{} {}", format.format, format.tokens)).collect();
    if !formats.is_empty() {
        lines.push(format!("     tokens in the formats: {}", formats.join(", ")));
    }
    lines
}

/// Formats a table: the first column to the left, the others to the right, but for words in the last.
fn table(heads: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).fold(heads[column].width(), usize::max)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let format_row = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::from("  ");
        for (column, (cell, width)) in cells.zip(&widths).enumerate() {
            let space = " ".repeat(width - cell.width());
            match column {
                0 => line.push_str(&format!("{cell}{space}")),
                _ => line.push_str(&format!("  {space}{cell}")),
            }
        }
        line.trim_end().to_owned()
    };
    let head = format_row(&mut heads.iter().copied());
    std::iter::once(head).chain(rows.iter().map(|row| format_row(&mut row.iter().map(String::as_str)))).collect()
}
