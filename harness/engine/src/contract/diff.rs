//! Differences between two contracts of a tool, with their severity for callers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use healbench_core::Undeclared;
use serde::Serialize;
use serde_json::Value;

use super::canonical::{annotations, canonical_schema, without_annotations};
use super::readable::{readable_change, readable_schema};
use super::schema_change::{is_rewrite, severity_of_change};
use super::tool_contract::{ActionSurface, PresenterContract, ToolContract};

/// The severity of a change for callers that do not adapt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Calls cannot notice the change.
    Cosmetic,
    /// Calls continue to work.
    Safe,
    /// Calls continue to work, but their meaning may change.
    Risky,
    /// Calls that worked may fail.
    Breaking,
}

impl Severity {
    /// Returns the name used in reports and error texts.
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
    /// The path of the changed field: `description`, `actions.create.inputSchema`.
    pub field: String,
    /// The severity.
    pub severity: Severity,
    /// The previous value; `None` if there was none.
    pub previous: Option<String>,
    /// The current value; `None` if it was removed.
    pub current: Option<String>,
}

/// All changes, by descending severity and then by field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContractDiff {
    /// The changes.
    pub deltas: Vec<Delta>,
    /// True if the contracts have different digests; always the case if there is a delta.
    pub digest_changed: bool,
}

impl ContractDiff {
    /// Returns the worst severity; `None` if nothing changed.
    pub fn max_severity(&self) -> Option<Severity> {
        self.deltas.iter().map(|delta| delta.severity).max()
    }

    /// Returns true if every call that worked still works.
    pub fn is_backwards_compatible(&self) -> bool {
        self.max_severity() != Some(Severity::Breaking)
    }
}

/// Compares two contracts of one tool whose server rejects undeclared fields.
pub fn diff_contracts(previous: &ToolContract, current: &ToolContract) -> ContractDiff {
    diff_contracts_under(previous, current, Undeclared::Reject)
}

/// Compares two contracts of one tool whose server treats undeclared fields as `undeclared` says.
pub fn diff_contracts_under(previous: &ToolContract, current: &ToolContract, undeclared: Undeclared) -> ContractDiff {
    let mut deltas = Vec::new();
    diff_surfaces(previous, current, undeclared, &mut deltas);
    diff_behavior(previous, current, &mut deltas);
    diff_economics(previous, current, &mut deltas);
    for gained in current.entitlements.difference(&previous.entitlements) {
        let name = gained.name();
        push_delta(&mut deltas, format!("entitlements.{name}"), Severity::Breaking, None, Some(name.to_owned()));
    }
    for lost in previous.entitlements.difference(&current.entitlements) {
        let name = lost.name();
        push_delta(&mut deltas, format!("entitlements.{name}"), Severity::Safe, Some(name.to_owned()), None);
    }
    deltas.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.field.cmp(&b.field)));
    ContractDiff { deltas, digest_changed: previous.digest() != current.digest() }
}

/// The start of the fields of added and removed tools.
pub(super) const TOOL_FIELD: &str = "tools.";

/// Returns the changes for callers of a tool that no longer exists. `added` are the tools that did not exist before.
pub(crate) fn removed_tool(removed: &ToolContract, added: &[ToolContract]) -> ContractDiff {
    let shape =
        |contract: &ToolContract| match (&contract.surface.discriminator, contract.surface.actions.first_key_value()) {
            (None, Some((_, action))) => readable_schema(&action.input_schema),
            _ => contract.surface.actions.keys().cloned().collect::<Vec<_>>().join(", "),
        };
    let field = |contract: &ToolContract| format!("{TOOL_FIELD}{}", contract.surface.name);
    let mut deltas = Vec::new();
    push_delta(&mut deltas, field(removed), Severity::Breaking, Some(shape(removed)), None);
    for contract in added {
        push_delta(&mut deltas, field(contract), Severity::Safe, None, Some(shape(contract)));
    }
    ContractDiff { deltas, digest_changed: true }
}

fn push_delta(
    deltas: &mut Vec<Delta>,
    field: impl Into<String>,
    severity: Severity,
    previous: Option<String>,
    current: Option<String>,
) {
    deltas.push(Delta { field: field.into(), severity, previous, current });
}

/// Records a change of a value that both contracts have, formatted with `Display`.
fn push_change<T: PartialEq + Display>(
    deltas: &mut Vec<Delta>,
    field: impl Into<String>,
    severity: Severity,
    previous: &T,
    current: &T,
) {
    if previous != current {
        push_delta(deltas, field, severity, Some(previous.to_string()), Some(current.to_string()));
    }
}

/// Records a change of a list, formatted as JSON; an empty list counts as absent.
fn push_list_change<T: PartialEq + Serialize>(
    deltas: &mut Vec<Delta>,
    field: impl Into<String>,
    severity: Severity,
    previous: &T,
    current: &T,
) {
    let text = |list: &T| serde_json::to_string(list).ok().filter(|text| text != "[]");
    if previous != current {
        push_delta(deltas, field, severity, text(previous), text(current));
    }
}

fn diff_surfaces(previous: &ToolContract, current: &ToolContract, undeclared: Undeclared, deltas: &mut Vec<Delta>) {
    let (old, new) = (&previous.surface, &current.surface);
    push_change(deltas, "name", Severity::Breaking, &old.name, &new.name);
    push_change(deltas, "description", Severity::Cosmetic, &old.description, &new.description);
    if old.discriminator != new.discriminator {
        // Every call must name its action in another argument.
        push_delta(deltas, "discriminator", Severity::Breaking, old.discriminator.clone(), new.discriminator.clone());
    }
    for tag in new.tags.difference(&old.tags) {
        push_delta(deltas, format!("tags.{tag}"), Severity::Cosmetic, None, Some(tag.clone()));
    }
    for tag in old.tags.difference(&new.tags) {
        push_delta(deltas, format!("tags.{tag}"), Severity::Safe, Some(tag.clone()), None);
    }
    for (name, action) in &new.actions {
        match old.actions.get(name) {
            Some(before) => diff_actions(name, before, action, undeclared, deltas),
            None => {
                let shape = readable_schema(&action.input_schema);
                push_delta(deltas, format!("actions.{name}"), Severity::Safe, None, Some(shape));
            }
        }
    }
    for (name, before) in old.actions.iter().filter(|(name, _)| !new.actions.contains_key(*name)) {
        let shape = readable_schema(&before.input_schema);
        push_delta(deltas, format!("actions.{name}"), Severity::Breaking, Some(shape), None);
    }
}

/// The member of an action with its input schema.
pub(super) const SCHEMA_MEMBER: &str = "inputSchema";

/// Returns the field of a member of an action.
pub(super) fn action_field(action: &str, member: &str) -> String {
    format!("actions.{action}.{member}")
}

fn diff_actions(
    name: &str,
    before: &ActionSurface,
    now: &ActionSurface,
    undeclared: Undeclared,
    deltas: &mut Vec<Delta>,
) {
    let field = |member: &str| action_field(name, member);
    if let Some(severity) = severity_of_change(&before.input_schema, &now.input_schema, undeclared) {
        let (old, new) = schema_texts(&before.input_schema, &now.input_schema);
        push_delta(deltas, field(SCHEMA_MEMBER), severity, old, new);
    }
    push_change(deltas, field("description"), Severity::Cosmetic, &before.description, &now.description);
    push_change(deltas, field("destructive"), Severity::Breaking, &before.destructive, &now.destructive);
    push_change(deltas, field("readOnly"), Severity::Breaking, &before.read_only, &now.read_only);
    push_change(deltas, field("idempotent"), Severity::Risky, &before.idempotent, &now.idempotent);
}

/// Formats a changed schema in readable form; if only annotations changed, formats those.
fn schema_texts(previous: &Value, current: &Value) -> (Option<String>, Option<String>) {
    if without_annotations(previous) != without_annotations(current) {
        let (old, new) = readable_change(previous, current);
        return (Some(old), Some(new));
    }
    let (old, new) = (annotations(previous), annotations(current));
    let changed_annotations = |left: &BTreeMap<String, Value>, right: &BTreeMap<String, Value>| {
        let changed = left.iter().filter(|(path, value)| right.get(*path) != Some(*value));
        let lines: Vec<String> = changed.map(|(path, value)| format!("{path}: {value}")).collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    };
    (changed_annotations(&old, &new), changed_annotations(&new, &old))
}

fn diff_behavior(previous: &ToolContract, current: &ToolContract, deltas: &mut Vec<Delta>) {
    let (old, new) = (&previous.behavior, &current.behavior);
    push_list_change(deltas, "middleware", Severity::Risky, &old.middleware, &new.middleware);
    push_list_change(deltas, "stateSync", Severity::Risky, &old.state_sync, &new.state_sync);
    let text = |limit: Option<u32>| limit.map(|limit| limit.to_string());
    if old.concurrency != new.concurrency {
        push_delta(deltas, "concurrency", Severity::Risky, text(old.concurrency), text(new.concurrency));
    }
    // For an added or removed action, its own delta is sufficient.
    let common = previous.surface.actions.keys().filter(|name| current.surface.actions.contains_key(*name));
    for name in common.clone() {
        diff_presenters(name, old.presenters.get(name), new.presenters.get(name), deltas);
    }
    let limits: [(&str, Limit); 2] = [
        ("agentLimitMax", |presenter| presenter.agent_limit_max),
        ("egressMaxBytes", |presenter| presenter.egress_max_bytes),
    ];
    for (limit_name, limit) in limits {
        let pairs: Vec<_> =
            common.clone().map(|name| (name, old.presenters.get(name), new.presenters.get(name))).collect();
        diff_limits(limit_name, limit, &pairs, [previous, current], deltas);
    }
}

/// A limit of a presenter.
type Limit = fn(&PresenterContract) -> Option<u64>;

/// Reports the limit once for the tool if all its presenters have the same limit, or else for each action.
fn diff_limits(
    limit_name: &str,
    limit: Limit,
    pairs: &[(&String, Option<&PresenterContract>, Option<&PresenterContract>)],
    [previous, current]: [&ToolContract; 2],
    deltas: &mut Vec<Delta>,
) {
    let shared = |contract: &ToolContract| {
        let limits: BTreeSet<Option<u64>> = contract.behavior.presenters.values().map(limit).collect();
        (limits.len() == 1).then(|| limits.first().copied().flatten())
    };
    let presenting = pairs.iter().any(|(_, old, new)| old.is_some() && new.is_some());
    let same_actions = pairs.iter().all(|(_, old, new)| old.is_some() == new.is_some());
    match (shared(previous), shared(current)) {
        (Some(old), Some(new)) if presenting && same_actions => {
            push_limit_change(format!("cognitiveGuardrails.{limit_name}"), old, new, deltas);
        }
        _ => {
            for (name, old, new) in pairs {
                push_limit_change(
                    format!("actions.{name}.{limit_name}"),
                    old.and_then(limit),
                    new.and_then(limit),
                    deltas,
                );
            }
        }
    }
}

fn push_limit_change(field: String, old: Option<u64>, new: Option<u64>, deltas: &mut Vec<Delta>) {
    let severity = match (old, new) {
        _ if old == new => return,
        (Some(_), None) => Severity::Risky,
        (Some(old), Some(new)) if new <= old / 2 => Severity::Risky,
        // Added, raised, or slightly lowered.
        _ => Severity::Safe,
    };
    push_delta(deltas, field, severity, old.map(|limit| limit.to_string()), new.map(|limit| limit.to_string()));
}

fn diff_presenters(
    name: &str,
    before: Option<&PresenterContract>,
    now: Option<&PresenterContract>,
    deltas: &mut Vec<Delta>,
) {
    let field = |member: &str| format!("actions.{name}.{member}");
    let presenter_name =
        |presenter: &PresenterContract| presenter.name.clone().unwrap_or_else(|| "(unnamed)".to_owned());
    let (old, new) = (before.map(presenter_name), now.map(presenter_name));
    if old != new {
        let severity = if new.is_none() { Severity::Breaking } else { Severity::Risky };
        push_delta(deltas, field("presenter"), severity, old, new);
    }
    let nothing = PresenterContract::default();
    let (before, now) = (before.unwrap_or(&nothing), now.unwrap_or(&nothing));
    match (&before.egress_schema, &now.egress_schema) {
        (Some(old), Some(new)) if canonical_schema(old) != canonical_schema(new) => {
            let severity = if is_rewrite(old, new) { Severity::Cosmetic } else { Severity::Breaking };
            let (old, new) = schema_texts(old, new);
            push_delta(deltas, field("egressSchema"), severity, old, new);
        }
        (Some(_), Some(_)) | (None, None) => {}
        (old, new) => {
            let text = |schema: &Option<Value>| schema.as_ref().map(readable_schema);
            push_delta(deltas, field("egressSchema"), Severity::Breaking, text(old), text(new));
        }
    }
    push_list_change(deltas, field("systemRules"), Severity::Breaking, &before.system_rules, &now.system_rules);
    push_list_change(deltas, field("affordances"), Severity::Risky, &before.affordances, &now.affordances);
    let (old, new) = (&before.embedded_presenters, &now.embedded_presenters);
    push_list_change(deltas, field("embeddedPresenters"), Severity::Risky, old, new);
}

fn diff_economics(previous: &ToolContract, current: &ToolContract, deltas: &mut Vec<Delta>) {
    let (old, new) = (&previous.token_economics, &current.token_economics);
    let severity = if new.inflation_risk > old.inflation_risk { Severity::Breaking } else { Severity::Safe };
    push_change(
        deltas,
        "tokenEconomics.inflationRisk",
        severity,
        &old.inflation_risk.name(),
        &new.inflation_risk.name(),
    );
    let severity = if new.unbounded_collection { Severity::Risky } else { Severity::Safe };
    push_change(
        deltas,
        "tokenEconomics.unboundedCollection",
        severity,
        &old.unbounded_collection,
        &new.unbounded_collection,
    );
}
