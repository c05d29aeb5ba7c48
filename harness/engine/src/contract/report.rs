//! The terminal report of the differences between a lockfile and the current contracts.

use super::{ChangeKind, ContractChange, Delta, FieldChange, Severity};
use crate::render::single_line;

/// The line width; continuation lines of a value are aligned with its first line.
const WIDTH: usize = 100;
/// The column of the fields, after the longest severity.
const FIELD: usize = 12;
/// The column of the values.
const VALUE: usize = 20;
/// The column of the changes of a schema's fields, after the longest severity.
const FIELD_CHANGE: usize = 22;

/// Formats one block per tool, ordered by descending severity, scenario and tool, and a line of totals.
pub fn report_text(changes: &[ContractChange]) -> String {
    let mut sorted: Vec<&ContractChange> = changes.iter().collect();
    sorted.sort_by(|a, b| {
        b.severity().cmp(&a.severity()).then_with(|| (&a.scenario, &a.tool).cmp(&(&b.scenario, &b.tool)))
    });
    let blocks: String = sorted.into_iter().map(|change| change_block(change) + "\n").collect();
    blocks + &totals(changes)
}

fn change_block(change: &ContractChange) -> String {
    let description = match &change.kind {
        ChangeKind::Changed(_) => "changed".to_owned(),
        ChangeKind::Added => "added".to_owned(),
        ChangeKind::Removed => "removed".to_owned(),
        ChangeKind::Renamed { current, is_stated: true, .. } => format!("renamed to `{}`", single_line(current)),
        ChangeKind::Renamed { current, .. } => format!("it may now be `{}`", single_line(current)),
    };
    let mut out = String::new();
    let head = format!("{} in {}: {description}", single_line(&change.tool), single_line(&change.scenario));
    write_wrapped(&mut out, "", 0, &head);
    match &change.kind {
        ChangeKind::Changed(diff) | ChangeKind::Renamed { diff, .. } => {
            diff.deltas.iter().for_each(|delta| write_delta(&mut out, delta, change))
        }
        ChangeKind::Added | ChangeKind::Removed => {
            let description = format!("the tool is {}", if change.kind == ChangeKind::Added { "new" } else { "gone" });
            write_wrapped(&mut out, change.severity().name(), FIELD, &description);
        }
    }
    out
}

fn write_delta(out: &mut String, delta: &Delta, change: &ContractChange) {
    write_wrapped(out, delta.severity.name(), FIELD, &single_line(&delta.field));
    let fields = change.fields.get(&delta.field);
    fields.iter().flat_map(|fields| &fields.changes).for_each(|field| write_field(out, field));
    if fields.is_some_and(|fields| fields.is_complete) {
        return;
    }
    for (word, value) in [("before", &delta.previous), ("now", &delta.current)] {
        let text = match value.as_deref() {
            None => "(absent)",
            Some("") => "\"\"",
            Some(text) => text,
        };
        write_wrapped(out, &format!("{:FIELD$}{word}", "", FIELD = FIELD - 2), VALUE, &single_line(text));
    }
}

fn write_field(out: &mut String, field: &FieldChange) {
    let label = format!("{:indent$}{}", "", field.severity.name(), indent = FIELD - 2);
    write_wrapped(out, &label, FIELD_CHANGE, &single_line(&format!("{}: {}", field.field, field.change)));
}

/// Appends `label`, indented by two spaces, and the text wrapped from `column` on.
fn write_wrapped(out: &mut String, label: &str, column: usize, text: &str) {
    let room = WIDTH - column;
    let mut label = if column == 0 { String::new() } else { format!("  {label}") };
    let mut rest: Vec<char> = text.chars().collect();
    loop {
        // Break after the last space that fits, or within a word that is longer than a line.
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

fn totals(changes: &[ContractChange]) -> String {
    let count = |kind: fn(&ChangeKind) -> bool| changes.iter().filter(|change| kind(&change.kind)).count();
    let changed = count(|kind| matches!(kind, ChangeKind::Changed(_)));
    let added = count(|kind| *kind == ChangeKind::Added);
    let removed = count(|kind| *kind == ChangeKind::Removed);
    let severities: Vec<Severity> = changes.iter().flat_map(severities).collect();
    let count_of = |wanted: Severity| severities.iter().filter(|severity| **severity == wanted).count();
    let renamed = count(|kind| matches!(kind, ChangeKind::Renamed { .. }));
    let mut out = format!("Tools: {changed} changed, {added} added, {removed} removed");
    out.push_str(&if renamed > 0 { format!(", {renamed} with another name.") } else { ".".to_owned() });
    if changed + renamed > 0 {
        let order = [Severity::Breaking, Severity::Risky, Severity::Safe, Severity::Cosmetic];
        let counts: Vec<String> =
            order.iter().map(|severity| format!("{} {}", count_of(*severity), severity.name())).collect();
        out.push_str(&format!(" Changes: {}.", counts.join(", ")));
    }
    out + "\n"
}

/// Returns the severity of each change of a tool that is listed. A schema counts as its fields if these are all.
fn severities(change: &ContractChange) -> Vec<Severity> {
    let (ChangeKind::Changed(diff) | ChangeKind::Renamed { diff, .. }) = &change.kind else { return Vec::new() };
    let of_delta = |delta: &Delta| match change.fields.get(&delta.field).filter(|fields| fields.is_complete) {
        Some(fields) => fields.changes.iter().map(|field| field.severity).collect(),
        None => vec![delta.severity],
    };
    diff.deltas.iter().flat_map(of_delta).collect()
}
