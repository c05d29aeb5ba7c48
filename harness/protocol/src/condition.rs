//! The kind of an environment, and the parts of a condition besides guardrails and error format. A new value is a
//! variant and its entry in a table; columns, documents and schemas follow.

use serde::{Deserialize, Serialize};

use crate::Guardrails;

/// A named value, with a sentence about it.
#[derive(Debug, Clone, Copy)]
pub struct NamedEntry<T> {
    /// The value.
    pub value: T,
    /// The name in plans, columns and documents.
    pub name: &'static str,
    /// The meaning, as a sentence.
    pub summary: &'static str,
}

const fn entry<T: Copy>(value: T, name: &'static str, summary: &'static str) -> NamedEntry<T> {
    NamedEntry { value, name, summary }
}

fn name_of<T: PartialEq>(entries: &'static [NamedEntry<T>], value: &T) -> &'static str {
    entries.iter().find(|entry| entry.value == *value).map_or("", |entry| entry.name)
}

/// The kind of an environment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the registry describes them")]
pub enum EnvironmentKind {
    #[default]
    Simulator,
    Mcp,
}

/// All kinds of environments.
pub const ENVIRONMENTS: [NamedEntry<EnvironmentKind>; 2] = [
    entry(EnvironmentKind::Simulator, "simulator", "The built-in simulator executes the calls."),
    entry(EnvironmentKind::Mcp, "mcp", "An MCP server executes the calls."),
];

impl EnvironmentKind {
    /// Returns the name used in plans, columns and documents.
    pub fn name(self) -> &'static str {
        name_of(&ENVIRONMENTS, &self)
    }
}

/// The treatment of fields that an action does not declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the registry describes them")]
pub enum Undeclared {
    Reject,
    Strip,
    Pass,
}

/// All treatments of undeclared fields.
pub const UNDECLARED: [NamedEntry<Undeclared>; 3] = [
    entry(Undeclared::Reject, "reject", "The call fails, and each field is named."),
    entry(Undeclared::Strip, "strip", "The fields are removed, and the call goes on without them."),
    entry(Undeclared::Pass, "pass", "The fields reach the environment."),
];

impl Undeclared {
    /// Returns the treatment under these guardrails, unless a condition without `strict` names another one.
    pub fn of(guardrails: Guardrails) -> Undeclared {
        if guardrails.strict { Undeclared::Reject } else { Undeclared::Pass }
    }

    /// Returns the name used in plans, columns and documents.
    pub fn name(self) -> &'static str {
        name_of(&UNDECLARED, &self)
    }
}

/// The part of a failure's facts that its text may state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the registry describes them")]
pub enum Content {
    #[default]
    Native,
}

/// All levels of content.
pub const CONTENTS: [NamedEntry<Content>; 1] =
    [entry(Content::Native, "native", "Each error format states what it always states.")];

impl Content {
    /// Returns the name used in plans, columns and documents.
    pub fn name(self) -> &'static str {
        name_of(&CONTENTS, &self)
    }
}

/// The presentation of responses by the agent's client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the registry describes them")]
pub enum Client {
    #[default]
    Raw,
}

/// All clients.
pub const CLIENTS: [NamedEntry<Client>; 1] = [entry(Client::Raw, "raw", "The agent sees responses as they were sent.")];

impl Client {
    /// Returns the name used in plans, columns and documents.
    pub fn name(self) -> &'static str {
        name_of(&CLIENTS, &self)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use serde::de::DeserializeOwned;

    use super::*;

    fn check<T: Copy + fmt::Debug + PartialEq + Serialize + DeserializeOwned>(entries: &'static [NamedEntry<T>]) {
        for entry in entries {
            assert_eq!(name_of(entries, &entry.value), entry.name);
            assert_eq!(serde_json::to_value(entry.value).unwrap(), entry.name);
            assert_eq!(serde_json::from_value::<T>(entry.name.into()).unwrap(), entry.value);
            assert!(entry.summary.ends_with('.'));
        }
    }

    #[test]
    fn names_in_tables_are_those_of_plans() {
        check(&ENVIRONMENTS);
        check(&UNDECLARED);
        check(&CONTENTS);
        check(&CLIENTS);
    }
}
