//! Removes issues of which another one says more.

use std::collections::BTreeSet;

use crate::failure::{Issue, IssueKind};

/// Removes issues of which another one says more.
pub(super) fn tidy(issues: &mut Vec<Issue>) {
    if issues.len() > 1 {
        drop_redundant(issues);
        drop_patterns_of_formats(issues);
    }
}

/// Removes the issue of a pattern that stands beside a format in the schema if the format is violated too: the schemas
/// that libraries write for a format contain it as a pattern.
fn drop_patterns_of_formats(issues: &mut Vec<Issue>) {
    let parent = |issue: &Issue| issue.keyword_locations.last()?.parent().map(|(parent, _)| parent.to_owned());
    let formats: Vec<(String, Option<String>)> = issues
        .iter()
        .filter(|issue| matches!(issue.kind, IssueKind::BadFormat { .. }))
        .map(|issue| (issue.path.clone(), parent(issue)))
        .collect();
    if formats.is_empty() {
        return;
    }
    let is_of_format = |issue: &Issue| formats.contains(&(issue.path.clone(), parent(issue)));
    issues.retain(|issue| !matches!(issue.kind, IssueKind::BadPattern { .. }) || !is_of_format(issue));
}

/// The beginnings of the patterns that zod 4 writes beside formats.
const PATTERNS_OF_FORMATS: [(&str, &str); 7] = [
    ("email", r"^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@"),
    ("uuid", r"^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-"),
    ("date", r"^(?:(?:\d\d[2468][048]|"),
    ("date-time", r"^(?:(?:\d\d[2468][048]|"),
    ("duration", r"^P(?:(\d+W)|"),
    ("ipv4", r"^(?:(?:25[0-5]|2[0-4][0-9]|"),
    ("ipv6", r"^(([0-9a-fA-F]{1,4}:){7}"),
];

/// Returns true if a library wrote the pattern to say what the format beside it says. An author's own pattern says more.
pub(super) fn is_pattern_of_format(format: &str, pattern: &str) -> bool {
    PATTERNS_OF_FORMATS.iter().any(|(name, start)| *name == format && pattern.starts_with(start))
}

/// Up to this size, comparing all pairs is faster than a set.
const SMALL_COUNT: usize = 16;

/// Removes other issues of a value that also has the wrong type.
fn drop_redundant(issues: &mut Vec<Issue>) {
    let is_type = |issue: &Issue| matches!(issue.kind, IssueKind::WrongType { .. });
    if !issues.iter().any(is_type) || issues.iter().all(is_type) {
        return;
    }
    let is_redundant: Vec<bool> = if issues.len() <= SMALL_COUNT {
        let has_type_issue = |issue: &Issue| issues.iter().any(|other| is_type(other) && other.path == issue.path);
        issues.iter().map(|issue| !is_type(issue) && has_type_issue(issue)).collect()
    } else {
        let has_type_issue: BTreeSet<&str> =
            issues.iter().filter(|issue| is_type(issue)).map(|issue| issue.path.as_str()).collect();
        issues.iter().map(|issue| !is_type(issue) && has_type_issue.contains(issue.path.as_str())).collect()
    };
    let mut redundant = is_redundant.into_iter();
    issues.retain(|_| redundant.next() != Some(true));
}
