//! The differences between the texts of a scenario in two runs.

use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};

use super::visible;
use crate::number::{count, pluralize};

/// A scenario whose text differs between two runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioChange {
    pub id: String,
    /// The texts in base and candidate; an error says why one cannot be read.
    pub texts: Result<[String; 2], String>,
}

/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;
/// The number of scenarios whose changes are open from the start.
const MAX_OPEN: usize = 3;
/// The largest number of lines shown of a scenario.
const MAX_LINES: usize = 400;

/// Renders the changed lines of each scenario.
pub(super) fn scenario_changes(changes: &[ScenarioChange]) -> Markup {
    html! {
        @if !changes.is_empty() {
            h2 #changed { "Changed scenarios" }
            @for (index, change) in changes.iter().enumerate() {
                details.map open[index < MAX_OPEN] {
                    summary { (visible(&change.id)) }
                    @match &change.texts {
                        Ok([before, after]) => { (diff(before, after)) }
                        Err(reason) => { p.note { (visible(reason)) } }
                    }
                }
            }
        }
    }
}

fn diff(before: &str, after: &str) -> Markup {
    let diff = TextDiff::from_lines(before, after);
    let mut lines = Vec::new();
    for (index, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if index > 0 {
            lines.push(html! { span.cut { "…\n" } });
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let text = change.value().trim_end_matches(['\n', '\r']);
            lines.push(match change.tag() {
                ChangeTag::Delete => html! { del { "- " (visible(text)) } "\n" },
                ChangeTag::Insert => html! { ins { "+ " (visible(text)) } "\n" },
                ChangeTag::Equal => html! { "  " (visible(text)) "\n" },
            });
        }
    }
    let more = lines.len().saturating_sub(MAX_LINES);
    html! {
        pre.diff { @for line in lines.iter().take(MAX_LINES) { (line) } }
        @if more > 0 { p.note { (pluralize(more as u64, "line")) " after the first " (count(MAX_LINES as u64)) " left out." } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_line_is_shown_with_its_neighbors_and_escaped() {
        let lines = |changed: &str| {
            let lines = (0..20).map(|line| if line == 10 { changed.to_owned() } else { format!("line {line}") });
            lines.collect::<Vec<_>>().join("\n")
        };
        let change = ScenarioChange { id: "<b>".to_owned(), texts: Ok([lines("<old>"), lines("new \u{202e}")]) };
        let markup = scenario_changes(&[change]).into_string();
        assert!(markup.contains("&lt;b&gt;") && !markup.contains("<b>"), "{markup}");
        assert!(markup.contains("<del>- &lt;old&gt;</del>\n<ins>+ new \\u{202e}</ins>\n"), "{markup}");
        assert!(
            markup.contains("  line 7\n") && !markup.contains("line 6\n") && !markup.contains("line 14\n"),
            "{markup}"
        );
        let unread = ScenarioChange { id: "a".to_owned(), texts: Err("gone".to_owned()) };
        assert!(scenario_changes(&[unread]).into_string().contains("gone"));
        assert_eq!(scenario_changes(&[]).into_string(), "");
    }
}
