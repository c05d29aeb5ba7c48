//! The last known-good contracts in text form. The caller reads and writes the file.

use std::collections::BTreeMap;

use healbench_core::Undeclared;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::diff::{SCHEMA_MEMBER, action_field};
use super::fields::{FieldChanges, field_changes};
use super::renamed::{renamed_tools, with_action_of};
use super::{ContractDiff, Severity, ToolContract, diff_contracts_under};
use crate::definition::Tool;

/// The supported version of the text.
const VERSION: u64 = 1;

/// Contracts by scenario and tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lockfile {
    /// The contracts, by the scenario's id and the tool's name.
    pub scenarios: BTreeMap<String, BTreeMap<String, LockedContract>>,
}

/// A contract and its digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedContract {
    /// The contract's [`ToolContract::digest`].
    pub digest: String,
    /// The contract, in canonical order.
    pub contract: ToolContract,
}

/// The error for an invalid lockfile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockfileError {
    /// It is not JSON.
    #[error("not JSON, at {line}:{column}: {message}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The problem at that position.
        message: String,
    },
    /// The version is unsupported or missing.
    #[error("the lockfile has version {}, and this program reads version {VERSION}", .found.as_deref().unwrap_or("none"))]
    Version {
        /// The version, as it is written.
        found: Option<String>,
    },
    /// A key is unknown or missing, or a value has the wrong type.
    #[error("not a lockfile, at {line}:{column}: {message}")]
    Shape {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The problem at that position.
        message: String,
    },
    /// The digest does not match the contract: one of them was edited by hand.
    #[error("the digest of `{tool}` in `{scenario}` does not fit its contract: {expected} would")]
    Digest {
        /// The scenario.
        scenario: String,
        /// The tool.
        tool: String,
        /// The digest of the contract.
        expected: String,
    },
    /// A contract is stored under a name other than its own.
    #[error("`{scenario}` has the contract of `{name}` as that of `{tool}`")]
    Name {
        /// The scenario.
        scenario: String,
        /// The name under which it is stored.
        tool: String,
        /// The contract's own name.
        name: String,
    },
}

/// A changed contract of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractChange {
    /// The scenario.
    pub scenario: String,
    /// The tool.
    pub tool: String,
    /// The kind of change.
    pub kind: ChangeKind,
    /// The changes in the input schemas, by the field of their delta.
    pub fields: BTreeMap<String, FieldChanges>,
}

/// The kind of a contract change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// The contract has changed.
    Changed(ContractDiff),
    /// The tool is new.
    Added,
    /// The tool no longer exists.
    Removed,
    /// The tool has another name.
    Renamed {
        /// The name now.
        current: String,
        /// False if this is a guess: its contract is nearly equal to that of a new tool.
        is_stated: bool,
        /// The other changes, and the name.
        diff: ContractDiff,
    },
}

/// The names that tools have now, by scenario and name before.
pub type ToolNames = BTreeMap<(String, String), String>;

impl ContractChange {
    /// Returns the severity for callers that do not adapt.
    pub fn severity(&self) -> Severity {
        match &self.kind {
            ChangeKind::Changed(diff) | ChangeKind::Renamed { diff, .. } => {
                diff.max_severity().unwrap_or(Severity::Cosmetic)
            }
            ChangeKind::Added => Severity::Safe,
            ChangeKind::Removed => Severity::Breaking,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockfileText {
    version: u64,
    scenarios: BTreeMap<String, BTreeMap<String, LockedContract>>,
}

impl Lockfile {
    /// Creates a lockfile with the current contracts of the scenarios' tools.
    pub fn from_tools<'a>(scenarios: impl IntoIterator<Item = (&'a str, &'a [Tool])>) -> Lockfile {
        let locked = |tool: &Tool| {
            let contract = ToolContract::from_tool(tool).canonical();
            (tool.name.clone(), LockedContract { digest: contract.digest(), contract })
        };
        let scenario = |(id, tools): (&str, &'a [Tool])| (id.to_owned(), tools.iter().map(locked).collect());
        Lockfile { scenarios: scenarios.into_iter().map(scenario).collect() }
    }

    /// Formats the lockfile as indented JSON with sorted keys and a final line break: equal contracts give equal text.
    pub fn to_text(&self) -> String {
        let text = LockfileText { version: VERSION, scenarios: self.scenarios.clone() };
        // Serializing plain data with string keys cannot fail.
        let mut value = serde_json::to_value(text).unwrap_or_default();
        value.sort_all_objects();
        format!("{value:#}\n")
    }

    /// Parses the result of [`to_text`](Lockfile::to_text).
    ///
    /// # Errors
    /// [`LockfileError`] if the text is not a valid lockfile.
    pub fn parse(text: &str) -> Result<Lockfile, LockfileError> {
        // Check the version first: another version may have other keys.
        let value: Value = serde_json::from_str(text).map_err(|error| LockfileError::Syntax {
            line: error.line(),
            column: error.column(),
            message: reason(&error),
        })?;
        let version = value.get("version");
        if version.and_then(Value::as_u64) != Some(VERSION) {
            return Err(LockfileError::Version { found: version.map(Value::to_string) });
        }
        let read: LockfileText = serde_json::from_str(text).map_err(|error| LockfileError::Shape {
            line: error.line(),
            column: error.column(),
            message: reason(&error),
        })?;
        for (scenario, tools) in &read.scenarios {
            for (tool, locked) in tools {
                let name = &locked.contract.surface.name;
                if name != tool {
                    let (scenario, tool, name) = (scenario.clone(), tool.clone(), name.clone());
                    return Err(LockfileError::Name { scenario, tool, name });
                }
                let expected = locked.contract.digest();
                if expected != locked.digest {
                    return Err(LockfileError::Digest { scenario: scenario.clone(), tool: tool.clone(), expected });
                }
            }
        }
        Ok(Lockfile { scenarios: read.scenarios })
    }

    /// Returns the differences in `current`, by scenario and tool, of servers that reject undeclared fields.
    pub fn diff(&self, current: &Lockfile) -> Vec<ContractChange> {
        self.diff_under(current, Undeclared::Reject)
    }

    /// Returns the differences in `current`, by scenario and tool, of servers with this treatment of undeclared fields.
    pub fn diff_under(&self, current: &Lockfile, undeclared: Undeclared) -> Vec<ContractChange> {
        self.diff_renamed(current, undeclared, &ToolNames::new())
    }

    /// Returns the differences in `current` of tools of which some are known to have other names. For the other tools that are gone,
    /// names are guessed.
    pub fn diff_renamed(&self, current: &Lockfile, undeclared: Undeclared, stated: &ToolNames) -> Vec<ContractChange> {
        let mut changes = Vec::new();
        for (scenario, tools) in &self.scenarios {
            let none = BTreeMap::new();
            let now = current.scenarios.get(scenario).unwrap_or(&none);
            let mut push_change = |tool: &str, kind, fields| {
                changes.push(ContractChange { scenario: scenario.to_owned(), tool: tool.to_owned(), kind, fields });
            };
            let names = renamed(scenario, tools, now, stated);
            for (tool, locked) in tools {
                let renamed = names.iter().find(|(old, ..)| old == tool);
                match (renamed, now.get(tool)) {
                    (Some((_, name, is_stated)), _) => {
                        let Some(now) = now.get(*name) else { continue };
                        let before = with_action_of(&locked.contract, &now.contract);
                        let (diff, fields) = changed(&before, &now.contract, undeclared);
                        let (current, is_stated) = ((*name).to_owned(), *is_stated);
                        push_change(tool, ChangeKind::Renamed { current, is_stated, diff }, fields);
                    }
                    (None, Some(now)) if now.digest == locked.digest => {}
                    (None, Some(now)) => {
                        let (diff, fields) = changed(&locked.contract, &now.contract, undeclared);
                        push_change(tool, ChangeKind::Changed(diff), fields);
                    }
                    (None, None) => push_change(tool, ChangeKind::Removed, BTreeMap::new()),
                }
            }
            let is_renamed = |tool: &String| names.iter().any(|(_, new, _)| new == tool);
            for tool in now.keys().filter(|tool| !tools.contains_key(*tool) && !is_renamed(tool)) {
                push_change(tool, ChangeKind::Added, BTreeMap::new());
            }
        }
        for ((scenario, tool), _) in
            current.tools().filter(|((scenario, _), _)| !self.scenarios.contains_key(*scenario))
        {
            let (scenario, tool) = (scenario.to_owned(), tool.to_owned());
            changes.push(ContractChange { scenario, tool, kind: ChangeKind::Added, fields: BTreeMap::new() });
        }
        changes.sort_by(|a, b| (&a.scenario, &a.tool).cmp(&(&b.scenario, &b.tool)));
        changes
    }

    /// Returns the contract of a scenario's tool.
    pub fn get(&self, scenario: &str, tool: &str) -> Option<&LockedContract> {
        self.scenarios.get(scenario)?.get(tool)
    }

    fn tools(&self) -> impl Iterator<Item = ((&str, &str), &LockedContract)> {
        self.scenarios.iter().flat_map(|(scenario, tools)| {
            tools.iter().map(move |(tool, locked)| ((scenario.as_str(), tool.as_str()), locked))
        })
    }
}

/// Returns the old and the new names of renamed tools, and whether they are stated.
fn renamed<'a>(
    scenario: &str,
    before: &'a BTreeMap<String, LockedContract>,
    now: &'a BTreeMap<String, LockedContract>,
    stated: &'a ToolNames,
) -> Vec<(&'a str, &'a str, bool)> {
    let of_scenario = stated.iter().filter(|((id, _), new)| id == scenario && now.contains_key(*new));
    let mut names: Vec<(&str, &str, bool)> =
        of_scenario.map(|((_, old), new)| (old.as_str(), new.as_str(), true)).collect();
    let is_stated = |tool: &str| names.iter().any(|(old, new, _)| *old == tool || *new == tool);
    let only_in = |one: &'a BTreeMap<String, LockedContract>, other: &BTreeMap<String, LockedContract>| {
        let only = one.iter().filter(|(name, _)| !other.contains_key(*name) && !is_stated(name));
        only.map(|(_, locked)| &locked.contract).collect::<Vec<_>>()
    };
    let guessed = renamed_tools(&only_in(before, now), &only_in(now, before));
    names.extend(guessed.into_iter().map(|(old, new)| (old, new, false)));
    names
}

/// Returns the changes of a contract, and those within each input schema that has a delta.
fn changed(
    previous: &ToolContract,
    current: &ToolContract,
    undeclared: Undeclared,
) -> (ContractDiff, BTreeMap<String, FieldChanges>) {
    let diff = diff_contracts_under(previous, current, undeclared);
    let mut fields = BTreeMap::new();
    for (name, before) in &previous.surface.actions {
        let Some(now) = current.surface.actions.get(name) else { continue };
        let field = action_field(name, SCHEMA_MEMBER);
        if let Some(delta) = diff.deltas.iter().find(|delta| delta.field == field) {
            let changes = field_changes(&before.input_schema, &now.input_schema, undeclared, delta.severity);
            fields.insert(field, changes);
        }
    }
    (diff, fields)
}

/// Returns the message of a serde_json error without the position, which is reported separately.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}
