//! What changed between two contracts of a tool, and how much it matters to a caller.

use crate::contract::readable::readable_schema;
use crate::contract::schema_change::severity_of_change;
use crate::definition::{Action, Presenter, Tool};

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
pub fn diff_contracts(previous: &Tool, current: &Tool) -> ContractDiff {
    let mut deltas = Vec::new();
    let mut changed = |field: String, severity, previous: Option<String>, current: Option<String>| {
        if previous != current {
            deltas.push(Delta { field, severity, previous, current });
        }
    };
    changed("name".to_owned(), Severity::Breaking, Some(previous.name.clone()), Some(current.name.clone()));
    changed(
        "description".to_owned(),
        Severity::Cosmetic,
        Some(previous.description.clone()),
        Some(current.description.clone()),
    );
    changed(
        "discriminator".to_owned(),
        Severity::Breaking,
        previous.discriminator.clone(),
        current.discriminator.clone(),
    );
    for tag in current.tags.iter().filter(|tag| !previous.tags.contains(tag)) {
        changed(format!("tags.{tag}"), Severity::Cosmetic, None, Some(tag.clone()));
    }
    for tag in previous.tags.iter().filter(|tag| !current.tags.contains(tag)) {
        changed(format!("tags.{tag}"), Severity::Safe, Some(tag.clone()), None);
    }
    for action in &current.actions {
        if !previous.actions.iter().any(|before| before.name == action.name) {
            let shape = readable_schema(&action.input);
            changed(format!("actions.{}", action.name), Severity::Safe, None, Some(shape));
        }
    }
    for before in &previous.actions {
        match current.actions.iter().find(|action| action.name == before.name) {
            None => {
                let shape = readable_schema(&before.input);
                changed(format!("actions.{}", before.name), Severity::Breaking, Some(shape), None);
            }
            Some(now) => diff_actions(before, now, &mut changed),
        }
    }
    deltas.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.field.cmp(&b.field)));
    ContractDiff { deltas }
}

fn diff_actions(
    before: &Action,
    now: &Action,
    changed: &mut impl FnMut(String, Severity, Option<String>, Option<String>),
) {
    let field = |what: &str| format!("actions.{}.{what}", now.name);
    if let Some(severity) = severity_of_change(&before.input, &now.input) {
        let (was, is) = (readable_schema(&before.input), readable_schema(&now.input));
        changed(field("inputSchema"), severity, Some(was), Some(is));
    }
    changed(field("description"), Severity::Cosmetic, Some(before.description.clone()), Some(now.description.clone()));
    let flags = [
        ("destructive", Severity::Breaking, before.destructive, now.destructive),
        ("readOnly", Severity::Breaking, before.read_only, now.read_only),
        ("idempotent", Severity::Risky, before.idempotent, now.idempotent),
    ];
    for (name, severity, was, is) in flags {
        changed(field(name), severity, Some(was.to_string()), Some(is.to_string()));
    }
    diff_presenters(before.presenter.as_ref(), now.presenter.as_ref(), &field, changed);
}

fn diff_presenters(
    before: Option<&Presenter>,
    now: Option<&Presenter>,
    field: &impl Fn(&str) -> String,
    changed: &mut impl FnMut(String, Severity, Option<String>, Option<String>),
) {
    let limit = |presenter: Option<&Presenter>| presenter.map(|presenter| presenter.max);
    let severity = match (limit(before), limit(now)) {
        // The presenter is gone, and with it the limit: lists have no bound any more.
        (Some(_), None) => Severity::Breaking,
        (Some(was), Some(is)) if is <= was / 2 => Severity::Risky,
        _ => Severity::Safe,
    };
    let text = |presenter: Option<&Presenter>| limit(presenter).map(|max| max.to_string());
    changed(field("agentLimitMax"), severity, text(before), text(now));
    let (Some(before), Some(now)) = (before, now) else { return };
    let lines = |lines: &[String]| (!lines.is_empty()).then(|| lines.join("; "));
    changed(field("systemRules"), Severity::Breaking, lines(&before.rules), lines(&now.rules));
    changed(field("affordances"), Severity::Risky, lines(&before.suggest_actions), lines(&now.suggest_actions));
}
