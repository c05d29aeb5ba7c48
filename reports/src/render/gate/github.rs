use std::collections::BTreeMap;

use super::{by_weight, change_of, counted, difference, means, show, subject, verdict};
use crate::gate::{Change, GateReport, GateRow, Method, Place, Tier, Verdict};
use crate::render::plain_text;

/// Errors and warnings that GitHub shows of one step, of each.
const ANNOTATIONS: usize = 10;
/// Rows that are told of one scenario.
const ROWS: usize = 5;

/// The report as GitHub's workflow commands, one a line: a notice with the verdict, then what does not pass, the worst first. A
/// scenario that changed is annotated where it is written down, once for all of its rows.
pub fn github(report: &GateReport) -> String {
    let overall = format!("{}: {} · {}", report.verdict.name(), counted(report), plain_text(&report.candidate));
    let mut text = command("notice", None, "healbench", &overall);
    let abouts = abouts(report);
    for level in ["error", "warning"] {
        let these: Vec<&About<'_>> = abouts.iter().filter(|about| about.level() == level).collect();
        let shown = if these.len() > ANNOTATIONS { ANNOTATIONS - 1 } else { these.len() };
        for about in &these[..shown] {
            text.push_str(&about.command(report));
        }
        if these.len() > shown {
            let more = format!("and {} more {level}s: `--output json` has all", these.len() - shown);
            text.push_str(&command(level, None, "healbench", &more));
        }
    }
    text
}

/// What an annotation is about.
enum About<'a> {
    /// A row without changes.
    Row(&'a GateRow),
    /// A scenario, and what changed in it; never empty, the worst first.
    Scenario(&'a str, Vec<(&'a GateRow, &'a Change)>),
}

/// What does not pass, the worst first.
fn abouts(report: &GateReport) -> Vec<About<'_>> {
    let mut abouts: Vec<About<'_>> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for row in by_weight(report).into_iter().filter(|row| row.verdict != Verdict::Pass) {
        if row.changes.is_empty() {
            abouts.push(About::Row(row));
        }
        for change in &row.changes {
            let at = *known.entry(&change.scenario).or_insert(abouts.len());
            match abouts.get_mut(at) {
                Some(About::Scenario(_, changes)) => changes.push((row, change)),
                _ => abouts.push(About::Scenario(&change.scenario, vec![(row, change)])),
            }
        }
    }
    abouts
}

impl About<'_> {
    /// The row that weighs most.
    fn head(&self) -> &GateRow {
        match self {
            About::Row(row) => row,
            About::Scenario(_, changes) => changes[0].0,
        }
    }

    fn level(&self) -> &'static str {
        let row = self.head();
        match (row.tier, row.verdict) {
            (Tier::Critical, Verdict::Fail | Verdict::Missing) => "error",
            _ => "warning",
        }
    }

    fn command(&self, report: &GateReport) -> String {
        let word = verdict(self.head());
        match self {
            About::Row(row) => {
                let title = format!("{word}: {} · {}", subject(&row.subject), plain_text(&row.metric));
                let numbers = [means(row), difference(row), plain_text(&row.says).into_owned()];
                let numbers: Vec<String> = numbers.into_iter().filter(|text| !text.is_empty()).collect();
                command(self.level(), None, &title, &numbers.join("; "))
            }
            About::Scenario(id, changes) => {
                let mut lines: Vec<String> = changes.iter().take(ROWS).map(|change| line(change, &word)).collect();
                if changes.len() > ROWS {
                    lines.push(format!("and {} more", changes.len() - ROWS));
                }
                let (row, change) = changes[0];
                lines.extend(show(report, row, change));
                let title = format!("{word}: {}", plain_text(id));
                command(self.level(), report.places.get(*id), &title, &lines.join("\n"))
            }
        }
    }
}

/// `tokens 8,123 → 16,246 in scripted:typical · all fusion-xml`: with its verdict where the annotation's is another, and with why
/// where a change alone is no reason.
fn line((row, change): &(&GateRow, &Change), head: &str) -> String {
    let numbers = change_of(row, change);
    let numbers = if numbers.is_empty() { "changed" } else { &numbers };
    let mut line = format!("{} {numbers} in {}", plain_text(&row.metric), subject(&row.subject));
    if verdict(row) != head {
        line = format!("{}: {line}", verdict(row));
    }
    if row.method != Method::Exact {
        line = format!("{line} ({})", plain_text(&row.says));
    }
    line
}

/// A workflow command; what has no file of the repository has no place.
fn command(name: &str, place: Option<&Place>, title: &str, message: &str) -> String {
    let place = place.filter(|place| !place.path.starts_with("built-in:")).map(|place| {
        let path = plain_text(&place.path).replace('\\', "/");
        format!("file={},line={},", property(path.trim_start_matches("./")), place.line)
    });
    format!("::{name} {}title={}::{}\n", place.unwrap_or_default(), property(title), data(message))
}

/// A message, as GitHub's toolkit escapes it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property, which ends at the next comma or colon.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
