//! The differences between two audits of a server.

use std::collections::BTreeSet;

use crate::report::Severity;
use crate::report::{AuditReport, Finding};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// True if the later audit is worse in this.
    pub is_worse: bool,
    pub text: String,
}

/// Returns a score as reports show it. What looks equal is no change.
fn shown(score: f64) -> String {
    format!("{score:.1}")
}

/// Returns what changed from an earlier audit: the score of the server and of each tool, tools, and findings.
pub fn changes(earlier: &AuditReport, later: &AuditReport) -> Vec<Change> {
    let mut out = Vec::new();
    let mut score = |subject: &str, before: Option<f64>, after: Option<f64>| {
        let show = |score: Option<f64>| score.map_or("none".to_owned(), shown);
        let is_worse = match (before, after) {
            (Some(before), Some(after)) if shown(before) == shown(after) => return,
            (Some(before), Some(after)) => after < before,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return,
        };
        out.push(Change { is_worse, text: format!("{subject}: {} → {}", show(before), show(after)) });
    };
    score("score", earlier.score, later.score);
    for tool in &later.tools {
        if let Some(before) = earlier.tools.iter().find(|before| before.name == tool.name) {
            score(&tool.name, before.score, tool.score);
        }
    }
    let names = |report: &AuditReport| report.tools.iter().map(|tool| tool.name.clone()).collect::<BTreeSet<_>>();
    let (before, after) = (names(earlier), names(later));
    out.extend(before.difference(&after).map(|name| Change {
        // A tool that is audited no longer may hide anything.
        is_worse: true,
        text: format!("{name}: no longer audited"),
    }));
    out.extend(after.difference(&before).map(|name| Change { is_worse: false, text: format!("{name}: audited now") }));
    let key = |finding: &Finding| (finding.severity, finding.id.clone(), finding.tool.clone());
    let keys = |report: &AuditReport| report.findings.iter().map(key).collect::<BTreeSet<_>>();
    let (before, after) = (keys(earlier), keys(later));
    let subject = |tool: &Option<String>| tool.clone().unwrap_or_else(|| "server".to_owned());
    out.extend(after.difference(&before).map(|(severity, id, tool)| Change {
        is_worse: *severity != Severity::Info,
        text: format!("{}: {} {id}, new", subject(tool), severity.name()),
    }));
    out.extend(before.difference(&after).map(|(severity, id, tool)| Change {
        is_worse: false,
        text: format!("{}: {} {id}, gone", subject(tool), severity.name()),
    }));
    out
}
