//! What moved between a lockfile and the contracts as they are, for a terminal.

use super::{Delta, Moved, Movement, Severity};
use crate::render::single_line;

/// Lines are broken here; values go on under where they began.
const WIDTH: usize = 100;
/// Where the fields begin, after the longest severity.
const FIELD: usize = 12;
/// Where the values begin.
const VALUE: usize = 20;

/// A block for each tool, the worst first, then by scenario and tool; and a line of totals.
pub fn report_text(moved: &[Moved]) -> String {
    let mut sorted: Vec<&Moved> = moved.iter().collect();
    sorted.sort_by(|a, b| {
        b.severity().cmp(&a.severity()).then_with(|| (&a.scenario, &a.tool).cmp(&(&b.scenario, &b.tool)))
    });
    let blocks: String = sorted.into_iter().map(|moved| block(moved) + "\n").collect();
    blocks + &totals(moved)
}

fn block(moved: &Moved) -> String {
    let what = match &moved.movement {
        Movement::Changed(_) => "changed",
        Movement::Added => "added",
        Movement::Removed => "removed",
    };
    let mut out = String::new();
    let head = format!("{} in {}: {what}", single_line(&moved.tool), single_line(&moved.scenario));
    write_wrapped(&mut out, "", 0, &head);
    match &moved.movement {
        Movement::Changed(diff) => diff.deltas.iter().for_each(|delta| write_delta(&mut out, delta)),
        Movement::Added | Movement::Removed => {
            let what = format!("the tool is {}", if moved.movement == Movement::Added { "new" } else { "gone" });
            write_wrapped(&mut out, moved.severity().name(), FIELD, &what);
        }
    }
    out
}

fn write_delta(out: &mut String, delta: &Delta) {
    write_wrapped(out, delta.severity.name(), FIELD, &single_line(&delta.field));
    for (word, value) in [("before", &delta.previous), ("now", &delta.current)] {
        let text = match value.as_deref() {
            None => "(absent)",
            Some("") => "\"\"",
            Some(text) => text,
        };
        write_wrapped(out, &format!("{:FIELD$}{word}", "", FIELD = FIELD - 2), VALUE, &single_line(text));
    }
}

/// `label`, indented by two, and the text from `column` on, over as many lines as it takes.
fn write_wrapped(out: &mut String, label: &str, column: usize, text: &str) {
    let room = WIDTH - column;
    let mut label = if column == 0 { String::new() } else { format!("  {label}") };
    let mut rest: Vec<char> = text.chars().collect();
    loop {
        // After the last space that fits; a word that is longer than a line is cut.
        let fits = rest.len() <= room;
        let space = rest.iter().take(room + 1).rposition(|c| *c == ' ').filter(|at| *at > 0);
        let at = if fits { rest.len() } else { space.unwrap_or(room) };
        let line: String = rest[..at].iter().collect();
        out.push_str(format!("{label:column$}{line}").trim_end());
        out.push('\n');
        label.clear();
        let skipped = usize::from(!fits && space.is_some());
        rest.drain(..at + skipped);
        if rest.is_empty() {
            return;
        }
    }
}

fn totals(moved: &[Moved]) -> String {
    let count = |kind: fn(&Movement) -> bool| moved.iter().filter(|moved| kind(&moved.movement)).count();
    let changed = count(|movement| matches!(movement, Movement::Changed(_)));
    let added = count(|movement| *movement == Movement::Added);
    let removed = count(|movement| *movement == Movement::Removed);
    let deltas = moved.iter().filter_map(|moved| match &moved.movement {
        Movement::Changed(diff) => Some(&diff.deltas),
        _ => None,
    });
    let severities: Vec<Severity> = deltas.flatten().map(|delta| delta.severity).collect();
    let of = |wanted: Severity| severities.iter().filter(|severity| **severity == wanted).count();
    let mut out = format!("Tools: {changed} changed, {added} added, {removed} removed.");
    if changed > 0 {
        let order = [Severity::Breaking, Severity::Risky, Severity::Safe, Severity::Cosmetic];
        let counts: Vec<String> =
            order.iter().map(|severity| format!("{} {}", of(*severity), severity.name())).collect();
        out.push_str(&format!(" Changes: {}.", counts.join(", ")));
    }
    out + "\n"
}
