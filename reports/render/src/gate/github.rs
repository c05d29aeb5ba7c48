use std::collections::BTreeMap;

use super::{
    MAX_TEXTS, by_severity, diff_lines, difference, first_line, format_change, joined, means, show_command, subject,
    unit_of_changes, verdict, verdict_counts,
};
use healbench_analysis::gate::{
    ChangeEffect, GateReport, GateRow, Method, ScenarioChange, SourceLocation, Tier, Verdict,
};
use healbench_text::plain_text;

/// GitHub shows at most this many errors, this many warnings and this many notices per step.
const ANNOTATIONS: usize = 10;
/// The largest number of rows described per scenario.
const ROWS: usize = 5;

/// Formats the report as GitHub workflow commands, one per line: a notice with the verdict, then the failures, the
/// worst first. A changed scenario is annotated once at its location, for all of its rows.
pub fn github(report: &GateReport) -> String {
    let parts = [verdict_counts(report), plain_text(&report.candidate).into_owned()];
    let parts: Vec<String> = parts.into_iter().chain(first_line(report)).collect();
    let overall = format!("{}: {}", report.verdict.name(), parts.join(" · "));
    let mut text = workflow_command("notice", None, "healbench", &overall);
    // With the verdict these are ten notices at most.
    for change in report.texts.iter().take(MAX_TEXTS) {
        let title = format!("changed: {}", plain_text(&change.name));
        text.push_str(&workflow_command("notice", None, &title, &diff_lines(change).join("\n")));
    }
    let annotations = annotations(report);
    for level in ["error", "warning"] {
        let these: Vec<&Annotation<'_>> = annotations.iter().filter(|annotation| annotation.level() == level).collect();
        let shown = if these.len() > ANNOTATIONS { ANNOTATIONS - 1 } else { these.len() };
        for annotation in &these[..shown] {
            text.push_str(&annotation.command(report));
        }
        if these.len() > shown {
            let more = format!("and {} more {level}s: `--output json` has all", these.len() - shown);
            text.push_str(&workflow_command(level, None, "healbench", &more));
        }
    }
    text
}

enum Annotation<'a> {
    /// A row without changes.
    Row(&'a GateRow),
    /// A scenario and its changes: at least one, the worst first.
    Scenario(&'a str, Vec<(&'a GateRow, &'a ScenarioChange)>),
}

/// Returns the annotations of everything that does not pass, the worst first.
fn annotations(report: &GateReport) -> Vec<Annotation<'_>> {
    let mut annotations: Vec<Annotation<'_>> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for row in by_severity(report).into_iter().filter(|row| row.verdict != Verdict::Pass) {
        if row.changes.is_empty() {
            annotations.push(Annotation::Row(row));
        }
        let rows = std::iter::once(row).chain(joined(report, row));
        let changes = rows.flat_map(|row| row.changes.iter().map(move |change| (row, change)));
        for (row, change) in
            changes.filter(|(_, change)| change.effect != ChangeEffect::Better || change.worse_trials > 0)
        {
            let at = *known.entry(&change.scenario).or_insert(annotations.len());
            match annotations.get_mut(at) {
                Some(Annotation::Scenario(_, changes)) => changes.push((row, change)),
                _ => annotations.push(Annotation::Scenario(&change.scenario, vec![(row, change)])),
            }
        }
    }
    annotations
}

impl Annotation<'_> {
    /// Returns the most severe row.
    fn first_row(&self) -> &GateRow {
        match self {
            Annotation::Row(row) => row,
            Annotation::Scenario(_, changes) => changes[0].0,
        }
    }

    fn level(&self) -> &'static str {
        let row = self.first_row();
        match (row.tier, row.verdict) {
            (Tier::Critical, Verdict::Fail | Verdict::Missing) => "error",
            _ => "warning",
        }
    }

    fn command(&self, report: &GateReport) -> String {
        let word = verdict(self.first_row());
        match self {
            Annotation::Row(row) => {
                let title = format!("{word}: {} · {}", subject(&row.subject), plain_text(&row.metric));
                let numbers = [means(row), difference(row), plain_text(&row.reason).into_owned()];
                let numbers: Vec<String> = numbers.into_iter().filter(|text| !text.is_empty()).collect();
                workflow_command(self.level(), None, &title, &numbers.join("; "))
            }
            Annotation::Scenario(id, changes) => {
                let mut lines: Vec<String> =
                    changes.iter().take(ROWS).map(|change| change_line(change, &word)).collect();
                if changes.len() > ROWS {
                    lines.push(format!("and {} more", changes.len() - ROWS));
                }
                let (row, change) = changes[0];
                lines.extend(show_command(report, row, change));
                let title = format!("{word}: {}", plain_text(id));
                workflow_command(self.level(), report.locations.get(*id), &title, &lines.join("\n"))
            }
        }
    }
}

/// `tokens 8,123 → 16,246 (sums over trials) in scripted:typical · all fusion-xml`. Adds the row's verdict if it differs from the
/// annotation's, and the reason unless the change explains it.
fn change_line((row, change): &(&GateRow, &ScenarioChange), title_verdict: &str) -> String {
    if row.method == Method::Presence {
        return plain_text(&row.reason).into_owned();
    }
    let numbers = format_change(row, change);
    let numbers = if numbers.is_empty() { "changed" } else { &numbers };
    let unit = unit_of_changes(row).map(|unit| format!(" ({unit})")).unwrap_or_default();
    let mut line = format!("{} {numbers}{unit} in {}", plain_text(&row.metric), subject(&row.subject));
    if verdict(row) != title_verdict {
        line = format!("{}: {line}", verdict(row));
    }
    if row.method != Method::Exact {
        line = format!("{line} ({})", plain_text(&row.reason));
    }
    line
}

/// Formats a workflow command. A file outside the repository has no location.
fn workflow_command(name: &str, location: Option<&SourceLocation>, title: &str, message: &str) -> String {
    let location = location.filter(|location| !location.path.starts_with("built-in:")).map(|location| {
        let path = plain_text(&location.path).replace('\\', "/");
        format!("file={},line={},", escape_property(path.trim_start_matches("./")), location.line)
    });
    format!("::{name} {}title={}::{}\n", location.unwrap_or_default(), escape_property(title), escape_data(message))
}

/// Escapes a message as GitHub's toolkit does.
fn escape_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property, which ends at the next comma or colon.
fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}
