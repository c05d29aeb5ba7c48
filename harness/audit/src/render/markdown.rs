use healbench_text::{escape_markdown, plain_text, pluralize};

use super::{
    accepted, answer, by_finding, coverage, examples, headline, kind_rows, line, reached, sentence, softly_refused,
    template_line, title, tool_rows, worst,
};
use crate::baseline::Change;
use crate::report::{AuditReport, Template};

/// The tools that are named for a finding.
const TOOLS: usize = 20;

/// Formats an audit as Markdown, with the changes since a baseline if there is one.
pub fn markdown(report: &AuditReport, changes: Option<&[Change]>) -> String {
    let mut lines = vec![
        format!("## healbench audit: {}", escape_markdown(&title(report))),
        String::new(),
        format!("**{}.** {}.", headline(report), coverage(report)),
    ];
    if let Some(answer) = answer(report) {
        lines.push(String::new());
        lines.push(escape_markdown(&answer));
    }
    if let Some(changes) = changes {
        lines.push(String::new());
        lines.push(
            if changes.is_empty() { "Nothing changed since the baseline." } else { "Since the baseline:" }.to_owned(),
        );
        lines.push(String::new());
        lines.extend(changes.iter().map(|change| {
            format!("- {}{}", if change.is_worse { "**worse**: " } else { "" }, escape_markdown(&change.text))
        }));
    }
    if let Some(reached) = reached(report) {
        lines.push(String::new());
        lines.push(escape_markdown(&reached));
    }
    for sentence in softly_refused(report).into_iter().chain(accepted(report)) {
        lines.extend([String::new(), escape_markdown(&sentence)]);
    }
    if let Some((sentence, templates)) = worst(report) {
        lines.push(String::new());
        lines.push(format!("### {sentence}"));
        for (index, template) in templates.iter().enumerate() {
            lines.extend(template_lines(index + 1, template));
        }
    }
    for (heads, rows) in [tool_rows(report), kind_rows(report)] {
        if rows.is_empty() {
            continue;
        }
        lines.push(String::new());
        lines.push(format!("| {} |", heads.join(" | ")));
        lines.push(format!("|---{}|", "|--:".repeat(heads.len() - 1)));
        lines.extend(rows.iter().map(|row| {
            let cells: Vec<String> = row.iter().map(|cell| escape_markdown(cell)).collect();
            format!("| {} |", cells.join(" | "))
        }));
    }
    lines.extend(finding_lines(report));
    if !report.notes.is_empty() {
        lines.push(String::new());
        lines.extend(report.notes.iter().map(|note| format!("- {}", escape_markdown(&line(note)))));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn finding_lines(report: &AuditReport) -> Vec<String> {
    let mut lines = Vec::new();
    if !report.findings.is_empty() {
        lines.push(String::new());
        lines.push("### Findings".to_owned());
        lines.push(String::new());
    }
    for (id, found) in by_finding(report) {
        let mut tools: Vec<String> =
            found.iter().take(TOOLS).filter_map(|finding| finding.tool.as_deref()).map(escape_markdown).collect();
        if found.len() > TOOLS {
            tools.push(format!("{} more", found.len() - TOOLS));
        }
        lines.push(format!("- {} `{id}`: {}. {}.", found[0].severity.name(), sentence(id), tools.join(", ")));
        let examples = examples(&found);
        let item = if examples.len() > 1 { "  - " } else { "  " };
        lines.extend(examples.iter().map(|example| format!("{item}{}", escape_markdown(example))));
    }
    lines
}

fn template_lines(number: usize, template: &Template) -> Vec<String> {
    let mut lines = vec![
        String::new(),
        format!("{number}. {}", template_line(template)),
        format!("   {} {}", escape_markdown(&template.tool), escape_markdown(&line(&template.arguments.to_string()))),
    ];
    lines.extend(block(&template.example));
    if let Some(better) = &template.better {
        lines.push(String::new());
        lines.push(format!("   With what it lacks, {} tokens:", better.tokens));
        lines.extend(block(&better.text));
    }
    if template.formats.is_empty() {
        return lines;
    }
    lines.push(String::new());
    lines.push(format!(
        "   <details><summary>{} tokens; the same failure in {}</summary>",
        template.tokens,
        pluralize(template.formats.len() as u64, "format")
    ));
    for format in &template.formats {
        lines.push(String::new());
        lines.push(format!("   {}, {} tokens:", escape_markdown(&format.format), format.tokens));
        lines.extend(block(&format.text));
    }
    lines.push(String::new());
    lines.push("   </details>".to_owned());
    lines
}

/// Returns text in a block that it cannot end: the fence is longer than any in the text.
fn block(text: &str) -> Vec<String> {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let mut lines = vec![String::new(), format!("   {fence}text")];
    lines.extend(text.lines().map(|line| format!("   {}", plain_text(line))));
    lines.push(format!("   {fence}"));
    lines
}
