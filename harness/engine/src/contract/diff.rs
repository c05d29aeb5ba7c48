//! What changed between two contracts of a tool, and how much it matters to a caller.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use serde::Serialize;
use serde_json::Value;

use super::canonical::{annotations, bare_schema, canonical_schema};
use super::readable::{readable_change, readable_schema};
use super::schema_change::severity_of_change;
use super::tool_contract::{ActionSurface, PresenterContract, ToolContract};

/// How much a change matters to somebody who calls as before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing that a call could notice.
    Cosmetic,
    /// Calls go on working.
    Safe,
    /// Calls go on working, and may mean something else.
    Risky,
    /// A call that worked may fail now.
    Breaking,
}

impl Severity {
    /// The word in reports and error texts.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Cosmetic => "COSMETIC",
            Severity::Safe => "SAFE",
            Severity::Risky => "RISKY",
            Severity::Breaking => "BREAKING",
        }
    }
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// What changed, as a path: `description`, `actions.create.inputSchema`.
    pub field: String,
    /// How much it matters.
    pub severity: Severity,
    /// What it was; `None` when it was not there.
    pub previous: Option<String>,
    /// What it is; `None` when it is gone.
    pub current: Option<String>,
}

/// Everything that changed, the worst first, then by field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContractDiff {
    /// The changes.
    pub deltas: Vec<Delta>,
    /// Whether the contracts have different digests; they have whenever there is a delta.
    pub digest_changed: bool,
}

impl ContractDiff {
    /// The worst severity; `None` when nothing changed.
    pub fn max_severity(&self) -> Option<Severity> {
        self.deltas.iter().map(|delta| delta.severity).max()
    }

    /// Whether every call that worked still does.
    pub fn is_backwards_compatible(&self) -> bool {
        self.max_severity() != Some(Severity::Breaking)
    }
}

/// Compares two contracts of one tool.
pub fn diff_contracts(previous: &ToolContract, current: &ToolContract) -> ContractDiff {
    let mut deltas = Vec::new();
    diff_surfaces(previous, current, &mut deltas);
    diff_behavior(previous, current, &mut deltas);
    diff_economics(previous, current, &mut deltas);
    for gained in current.entitlements.difference(&previous.entitlements) {
        let name = gained.name();
        note(&mut deltas, format!("entitlements.{name}"), Severity::Breaking, None, Some(name.to_owned()));
    }
    for lost in previous.entitlements.difference(&current.entitlements) {
        let name = lost.name();
        note(&mut deltas, format!("entitlements.{name}"), Severity::Safe, Some(name.to_owned()), None);
    }
    deltas.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.field.cmp(&b.field)));
    ContractDiff { deltas, digest_changed: previous.digest() != current.digest() }
}

fn note(
    deltas: &mut Vec<Delta>,
    field: impl Into<String>,
    severity: Severity,
    previous: Option<String>,
    current: Option<String>,
) {
    deltas.push(Delta { field: field.into(), severity, previous, current });
}

/// Notes a change of something that both contracts have, written as it is.
fn note_changed<T: PartialEq + Display>(
    deltas: &mut Vec<Delta>,
    field: impl Into<String>,
    severity: Severity,
    previous: &T,
    current: &T,
) {
    if previous != current {
        note(deltas, field, severity, Some(previous.to_string()), Some(current.to_string()));
    }
}

/// Notes a change of a list, written as JSON; an empty one is not there.
fn note_list<T: PartialEq + Serialize>(
    deltas: &mut Vec<Delta>,
    field: impl Into<String>,
    severity: Severity,
    previous: &T,
    current: &T,
) {
    let text = |list: &T| serde_json::to_string(list).ok().filter(|text| text != "[]");
    if previous != current {
        note(deltas, field, severity, text(previous), text(current));
    }
}

fn diff_surfaces(previous: &ToolContract, current: &ToolContract, deltas: &mut Vec<Delta>) {
    let (was, is) = (&previous.surface, &current.surface);
    note_changed(deltas, "name", Severity::Breaking, &was.name, &is.name);
    note_changed(deltas, "description", Severity::Cosmetic, &was.description, &is.description);
    if was.discriminator != is.discriminator {
        // Every call names its action in another argument now.
        note(deltas, "discriminator", Severity::Breaking, was.discriminator.clone(), is.discriminator.clone());
    }
    for tag in is.tags.difference(&was.tags) {
        note(deltas, format!("tags.{tag}"), Severity::Cosmetic, None, Some(tag.clone()));
    }
    for tag in was.tags.difference(&is.tags) {
        note(deltas, format!("tags.{tag}"), Severity::Safe, Some(tag.clone()), None);
    }
    for (name, action) in &is.actions {
        match was.actions.get(name) {
            Some(before) => diff_actions(name, before, action, deltas),
            None => {
                let shape = readable_schema(&action.input_schema);
                note(deltas, format!("actions.{name}"), Severity::Safe, None, Some(shape));
            }
        }
    }
    for (name, before) in was.actions.iter().filter(|(name, _)| !is.actions.contains_key(*name)) {
        let shape = readable_schema(&before.input_schema);
        note(deltas, format!("actions.{name}"), Severity::Breaking, Some(shape), None);
    }
}

fn diff_actions(name: &str, before: &ActionSurface, now: &ActionSurface, deltas: &mut Vec<Delta>) {
    let field = |what: &str| format!("actions.{name}.{what}");
    if let Some(severity) = severity_of_change(&before.input_schema, &now.input_schema) {
        let (was, is) = schema_texts(&before.input_schema, &now.input_schema);
        note(deltas, field("inputSchema"), severity, was, is);
    }
    note_changed(deltas, field("description"), Severity::Cosmetic, &before.description, &now.description);
    note_changed(deltas, field("destructive"), Severity::Breaking, &before.destructive, &now.destructive);
    note_changed(deltas, field("readOnly"), Severity::Breaking, &before.read_only, &now.read_only);
    note_changed(deltas, field("idempotent"), Severity::Risky, &before.idempotent, &now.idempotent);
}

/// How a changed schema is shown: readable, or where only its annotations changed, those that did.
fn schema_texts(previous: &Value, current: &Value) -> (Option<String>, Option<String>) {
    if bare_schema(previous) != bare_schema(current) {
        let (was, is) = readable_change(previous, current);
        return (Some(was), Some(is));
    }
    let (was, is) = (annotations(previous), annotations(current));
    let moved = |these: &BTreeMap<String, Value>, those: &BTreeMap<String, Value>| {
        let told = these.iter().filter(|(path, value)| those.get(*path) != Some(*value));
        let lines: Vec<String> = told.map(|(path, value)| format!("{path}: {value}")).collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    };
    (moved(&was, &is), moved(&is, &was))
}

fn diff_behavior(previous: &ToolContract, current: &ToolContract, deltas: &mut Vec<Delta>) {
    let (was, is) = (&previous.behavior, &current.behavior);
    note_list(deltas, "middleware", Severity::Risky, &was.middleware, &is.middleware);
    note_list(deltas, "stateSync", Severity::Risky, &was.state_sync, &is.state_sync);
    let text = |limit: Option<u32>| limit.map(|limit| limit.to_string());
    if was.concurrency != is.concurrency {
        note(deltas, "concurrency", Severity::Risky, text(was.concurrency), text(is.concurrency));
    }
    // Of an action that came or went, its own delta tells enough.
    let kept = previous.surface.actions.keys().filter(|name| current.surface.actions.contains_key(*name));
    for name in kept.clone() {
        diff_presenters(name, was.presenters.get(name), is.presenters.get(name), deltas);
    }
    let limits: [(&str, Limit); 2] = [
        ("agentLimitMax", |presenter| presenter.agent_limit_max),
        ("egressMaxBytes", |presenter| presenter.egress_max_bytes),
    ];
    for (word, limit) in limits {
        let pairs: Vec<_> =
            kept.clone().map(|name| (name, was.presenters.get(name), is.presenters.get(name))).collect();
        diff_limits(word, limit, &pairs, [previous, current], deltas);
    }
}

/// A limit of a presenter.
type Limit = fn(&PresenterContract) -> Option<u64>;

/// Where the tool has one limit for all that it presents, it is the tool's; otherwise it is each action's own.
fn diff_limits(
    word: &str,
    limit: Limit,
    pairs: &[(&String, Option<&PresenterContract>, Option<&PresenterContract>)],
    [previous, current]: [&ToolContract; 2],
    deltas: &mut Vec<Delta>,
) {
    let shared = |contract: &ToolContract| {
        let limits: BTreeSet<Option<u64>> = contract.behavior.presenters.values().map(limit).collect();
        (limits.len() == 1).then(|| limits.first().copied().flatten())
    };
    let presenting = pairs.iter().any(|(_, was, is)| was.is_some() && is.is_some());
    let same_actions = pairs.iter().all(|(_, was, is)| was.is_some() == is.is_some());
    match (shared(previous), shared(current)) {
        (Some(was), Some(is)) if presenting && same_actions => {
            note_limit(format!("cognitiveGuardrails.{word}"), was, is, deltas);
        }
        _ => {
            for (name, was, is) in pairs {
                note_limit(format!("actions.{name}.{word}"), was.and_then(limit), is.and_then(limit), deltas);
            }
        }
    }
}

fn note_limit(field: String, was: Option<u64>, is: Option<u64>, deltas: &mut Vec<Delta>) {
    let severity = match (was, is) {
        _ if was == is => return,
        (Some(_), None) => Severity::Risky,
        (Some(was), Some(is)) if is <= was / 2 => Severity::Risky,
        // Added, raised, or tightened a little.
        _ => Severity::Safe,
    };
    note(deltas, field, severity, was.map(|limit| limit.to_string()), is.map(|limit| limit.to_string()));
}

fn diff_presenters(
    name: &str,
    before: Option<&PresenterContract>,
    now: Option<&PresenterContract>,
    deltas: &mut Vec<Delta>,
) {
    let field = |what: &str| format!("actions.{name}.{what}");
    let called = |presenter: &PresenterContract| presenter.name.clone().unwrap_or_else(|| "(unnamed)".to_owned());
    let (was, is) = (before.map(called), now.map(called));
    if was != is {
        let severity = if is.is_none() { Severity::Breaking } else { Severity::Risky };
        note(deltas, field("presenter"), severity, was, is);
    }
    let nothing = PresenterContract::default();
    let (before, now) = (before.unwrap_or(&nothing), now.unwrap_or(&nothing));
    match (&before.egress_schema, &now.egress_schema) {
        (Some(was), Some(is)) if bare_schema(was) != bare_schema(is) => {
            let (was, is) = schema_texts(was, is);
            note(deltas, field("egressSchema"), Severity::Breaking, was, is);
        }
        (Some(was), Some(is)) if canonical_schema(was) != canonical_schema(is) => {
            let (was, is) = schema_texts(was, is);
            note(deltas, field("egressSchema"), Severity::Cosmetic, was, is);
        }
        (Some(_), Some(_)) | (None, None) => {}
        (was, is) => {
            let text = |schema: &Option<Value>| schema.as_ref().map(readable_schema);
            note(deltas, field("egressSchema"), Severity::Breaking, text(was), text(is));
        }
    }
    note_list(deltas, field("systemRules"), Severity::Breaking, &before.system_rules, &now.system_rules);
    note_list(deltas, field("affordances"), Severity::Risky, &before.affordances, &now.affordances);
    let (was, is) = (&before.embedded_presenters, &now.embedded_presenters);
    note_list(deltas, field("embeddedPresenters"), Severity::Risky, was, is);
}

fn diff_economics(previous: &ToolContract, current: &ToolContract, deltas: &mut Vec<Delta>) {
    let (was, is) = (&previous.token_economics, &current.token_economics);
    let severity = if is.inflation_risk > was.inflation_risk { Severity::Breaking } else { Severity::Safe };
    note_changed(
        deltas,
        "tokenEconomics.inflationRisk",
        severity,
        &was.inflation_risk.name(),
        &is.inflation_risk.name(),
    );
    let severity = if is.unbounded_collection { Severity::Risky } else { Severity::Safe };
    note_changed(
        deltas,
        "tokenEconomics.unboundedCollection",
        severity,
        &was.unbounded_collection,
        &is.unbounded_collection,
    );
}
