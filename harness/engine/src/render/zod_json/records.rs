//! Records: objects whose schema describes the names.

use std::collections::BTreeSet;

use healbench_core::Undeclared;
use serde_json::{Map, Value, json};

use super::formats::bad_pattern;
use super::{custom_issue, out_of_bounds, unrecognized_keys};
use crate::failure::{Issue, IssueKind, PathSegment};
use crate::schema::{InputSchema, resolve_refs};

/// The largest number of names of a record that are reported.
const MAX_KEYS: usize = 100;

/// Returns true for `z.record()`.
pub(super) fn is_record(schema: Option<&Value>) -> bool {
    let has = |keyword| schema.is_some_and(|schema| schema.get(keyword).is_some());
    has("propertyNames") && has("additionalProperties") && !has("properties")
}

/// Leaves one issue about the names of each record, which stands for all of them.
pub(super) fn once_a_record<'i>(issues: impl Iterator<Item = &'i Issue>) -> impl Iterator<Item = &'i Issue> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    issues.filter(move |issue| {
        let is_of_names = matches!(&issue.kind, IssueKind::Other { keyword, .. } if keyword == "propertyNames");
        !is_of_names || known.insert(&issue.path)
    })
}

/// Creates the issues of names that a record does not allow. `root` is the whole schema.
pub(super) fn key_issues(
    root: Option<&Value>,
    schema: Option<&Value>,
    issue: &Issue,
    segments: &[PathSegment<'_>],
) -> Vec<Value> {
    let path: Vec<Value> = segments.iter().map(|segment| segment.to_json()).collect();
    let (Some(root), Some(names)) = (root, schema.and_then(|schema| schema.get("propertyNames"))) else {
        return vec![custom_issue(Value::Array(path))];
    };
    let names = resolve_refs(root, names);
    let sent = issue.sent.as_ref().and_then(Value::as_object).into_iter().flat_map(Map::keys);
    if let Some(Value::Array(options)) = names.get("enum") {
        let is_known = |name: &&String| options.iter().any(|option| option == name.as_str());
        let keys: Vec<String> = sent.filter(|name| !is_known(name)).cloned().collect();
        return vec![unrecognized_keys(&keys, Value::Array(path))];
    }
    let Ok(checked) = InputSchema::compile(names, None) else { return vec![custom_issue(Value::Array(path))] };
    let invalid_key = |name: &String| {
        let found = checked.issues(&json!(name), Undeclared::Pass);
        let path: Vec<Value> = path.iter().cloned().chain([json!(name)]).collect();
        (!found.is_empty()).then(|| {
            json!({
                "code": "invalid_key",
                "origin": "record",
                "issues": found.iter().map(issue_of_name).collect::<Vec<_>>(),
                "path": path,
                "message": "Invalid key in record",
            })
        })
    };
    let issues: Vec<Value> = sent.filter_map(invalid_key).take(MAX_KEYS).collect();
    if issues.is_empty() { vec![custom_issue(Value::Array(path))] } else { issues }
}

fn issue_of_name(issue: &Issue) -> Value {
    match &issue.kind {
        IssueKind::BadPattern { pattern } => bad_pattern(None, pattern, json!([])),
        IssueKind::OutOfBounds { measure, relation, limit } => out_of_bounds(*measure, *relation, limit, json!([])),
        _ => custom_issue(json!([])),
    }
}

/// Removes what zod does not look at, the values of names that are not allowed, and puts the issues of names in the order of
/// the names.
pub(super) fn without_values_of_bad_keys(arguments: &Value, mut issues: Vec<Value>) -> Vec<Value> {
    let path = |issue: &Value| issue["path"].as_array().cloned().unwrap_or_default();
    let bad_keys = |issue: &Value| -> Vec<Vec<Value>> {
        let inside = |key: &Value| path(issue).into_iter().chain([key.clone()]).collect();
        match issue["code"].as_str() {
            Some("invalid_key") => vec![path(issue)],
            Some("unrecognized_keys") => issue["keys"].as_array().into_iter().flatten().map(inside).collect(),
            _ => Vec::new(),
        }
    };
    let bad: Vec<Vec<Value>> = issues.iter().flat_map(bad_keys).collect();
    if !bad.is_empty() {
        issues.retain(|issue| issue["code"] == "invalid_key" || !bad.iter().any(|key| path(issue).starts_with(key)));
        issues.dedup();
        for at in 0..issues.len() {
            if issues[at]["code"] == "invalid_key" {
                let place = place_of_key(arguments, &issues[..at], &path(&issues[at])).unwrap_or(at);
                issues[place..=at].rotate_right(1);
            }
        }
    }
    issues
}

/// Returns the index of the first issue of a later name of the same record.
fn place_of_key(arguments: &Value, issues: &[Value], path: &[Value]) -> Option<usize> {
    let (key, record) = path.split_last()?;
    let object = record.iter().try_fold(arguments, |value, step| match step {
        Value::String(name) => value.get(name),
        index => value.get(index.as_u64()? as usize),
    })?;
    let position = |key: &Value| object.as_object()?.keys().position(|name| key == name.as_str());
    let own = position(key)?;
    issues.iter().position(|issue| {
        let rest = issue["path"].as_array().and_then(|path| path.strip_prefix(record));
        rest.and_then(|rest| position(rest.first()?)).is_some_and(|other| other > own)
    })
}
