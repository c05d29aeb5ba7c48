//! Suggestions for a validation failure as a whole, by category, in the order of document 002.

use std::borrow::Cow;

use crate::failure::{Expected, Issue, IssueKind, Quantity, join_path};

/// Returns the categories that apply. `options`: the schema has fields with options, which document 002 mentions even
/// if none of them failed. `example`: the text ends with a valid example.
pub(crate) fn suggestions(issues: &[Issue], options: bool, example: bool) -> Vec<Cow<'static, str>> {
    let any = |test: fn(&IssueKind) -> bool| issues.iter().any(|issue| test(&issue.kind));
    let mut out = Vec::new();
    let missing: Vec<&str> = issues
        .iter()
        .filter(|issue| matches!(issue.kind, IssueKind::Missing { .. }))
        .map(|issue| issue.path.as_str())
        .collect();
    if !missing.is_empty() {
        out.push(format!("Add missing required fields: {}", missing.join(", ")).into());
    }
    if any(|kind| matches!(kind, IssueKind::WrongType { expected: Expected::Types(_) | Expected::Any })) {
        out.push("Check that every field has the type given in the schema".into());
    }
    // The fix explains a named format; for a pattern, the agent must read the schema.
    if any(|kind| matches!(kind, IssueKind::BadPattern { .. })) {
        out.push("Check that strings match the pattern given in the schema".into());
    }
    let measured = |kind: &IssueKind| match kind {
        IssueKind::OutOfBounds { measure, .. } => Some(*measure),
        IssueKind::NotAMultiple { .. } => Some(Quantity::Number),
        _ => None,
    };
    let measures = || issues.iter().filter_map(|issue| measured(&issue.kind));
    if measures().any(|measure| matches!(measure, Quantity::Number | Quantity::Characters)) {
        out.push("Check that numeric values and string lengths are within the allowed range".into());
    }
    if measures().any(|measure| matches!(measure, Quantity::Items | Quantity::Properties)) {
        out.push("Check that arrays and objects have an allowed number of entries".into());
    }
    let wrong_option = |kind: &IssueKind| {
        matches!(kind, IssueKind::NotAnOption { .. } | IssueKind::WrongType { expected: Expected::Options(_) })
    };
    if options || any(wrong_option) {
        out.push("Use only allowed enum values (see the schema for valid options)".into());
    }
    let undeclared: Vec<String> = issues
        .iter()
        .filter_map(|issue| match &issue.kind {
            IssueKind::Undeclared { fields } => Some((issue, fields)),
            _ => None,
        })
        .flat_map(|(issue, fields)| fields.iter().map(move |field| join_path(&issue.path, field)))
        .collect();
    if !undeclared.is_empty() {
        out.push(format!("Remove undeclared fields: {}", undeclared.join(", ")).into());
    }
    if example {
        out.push("Review the validExample below for a correctly formatted request".into());
    }
    out
}
