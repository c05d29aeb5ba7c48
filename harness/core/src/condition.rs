//! The kind of an environment, the values of the axes of a condition, and the named conditions. A new value is a variant and its
//! entry in a table; columns, documents and schemas follow.

mod axis;
mod value;

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{AxisError, ErrorFormat, Guardrails};

pub use axis::{AXES, Axis, AxisValueError, AxisValues, ContractChanges, Files, Need, axis};
pub use value::{Condition, ConditionId};

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
    Observed,
}

/// All kinds of environments.
pub const ENVIRONMENTS: [NamedEntry<EnvironmentKind>; 3] = [
    entry(EnvironmentKind::Simulator, "simulator", "The built-in simulator executes the calls."),
    entry(EnvironmentKind::Mcp, "mcp", "An MCP server executes the calls."),
    entry(EnvironmentKind::Observed, "observed", "Another program recorded the calls and their results."),
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
    RejectArguments,
    Strip,
    Pass,
}

/// All treatments of undeclared fields.
#[rustfmt::skip]
pub const UNDECLARED: [NamedEntry<Undeclared>; 4] = [
    entry(Undeclared::Reject, "reject", "The call fails, and each field is named."),
    entry(Undeclared::RejectArguments, "reject-arguments", "An argument fails the call, and is named; fields within arguments are removed."),
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

/// The facts that the text of a domain error may state. A domain error is a failure of a valid call: a rule, a handler
/// or a fault rejects it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the registry describes them")]
pub enum DomainErrors {
    Bare,
    Message,
    Recovery,
    #[default]
    Everything,
}

/// All settings of domain errors.
#[rustfmt::skip]
pub const DOMAIN_ERRORS: [NamedEntry<DomainErrors>; 4] = [
    entry(DomainErrors::Bare, "bare", "One bare line, as with `healing` off."),
    entry(DomainErrors::Message, "message", "The author's message."),
    entry(DomainErrors::Recovery, "recovery", "The author's message and the recovery that the author wrote, as one text."),
    entry(DomainErrors::Everything, "everything", "All that the error format can state, with recoveries that the engine makes."),
];

impl DomainErrors {
    /// Returns the name used in plans, columns and documents.
    pub fn name(self) -> &'static str {
        name_of(&DOMAIN_ERRORS, &self)
    }

    /// Returns true for [`DomainErrors::Everything`], the default.
    pub fn is_everything(&self) -> bool {
        *self == DomainErrors::Everything
    }
}

/// The part of a failure's facts that its text may state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the registry describes them")]
pub enum Content {
    #[default]
    Native,
    Diagnosis,
    Expected,
    NextStep,
    Example,
    Placebo,
}

/// All levels of content.
#[rustfmt::skip]
pub const CONTENTS: [NamedEntry<Content>; 6] = [
    entry(Content::Native, "native", "Each error format states what it always states."),
    entry(Content::Diagnosis, "diagnosis", "The code, and for each field its path, the rule that failed and the value that was sent."),
    entry(Content::Expected, "expected", "The same, and the expected type, format, bounds and options, or the nearest name."),
    entry(Content::NextStep, "next-step", "The same, and advice, the available actions and the delay."),
    entry(Content::Example, "example", "The same, and a valid call made from the schema alone."),
    entry(Content::Placebo, "placebo", "What `diagnosis` states, and filler that makes it as long as `next-step`."),
];

impl Content {
    /// Returns the name used in plans, columns and documents.
    pub fn name(self) -> &'static str {
        name_of(&CONTENTS, &self)
    }

    /// Returns true for [`Content::Native`], the default.
    pub fn is_native(self) -> bool {
        self == Content::Native
    }
}

impl FromStr for Content {
    type Err = AxisError;

    fn from_str(text: &str) -> Result<Content, AxisError> {
        let unknown = || AxisError::new("level of content", text, CONTENTS.iter().map(|entry| entry.name));
        CONTENTS.iter().find(|entry| entry.name == text).map(|entry| entry.value).ok_or_else(unknown)
    }
}

/// The presentation of responses by the agent's client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the registry describes them")]
pub enum Client {
    #[default]
    #[serde(rename = "raw")]
    Raw,
    #[serde(rename = "codex-0.169.0")]
    Codex,
    #[serde(rename = "opencode-1.18.33")]
    OpenCode,
    #[serde(rename = "qwen-code-0.15.10")]
    QwenCode,
}

/// All clients. The engine has a profile for each but the first.
#[rustfmt::skip]
pub const CLIENTS: [NamedEntry<Client>; 4] = [
    entry(Client::Raw, "raw", "The agent sees responses as they were sent."),
    entry(Client::Codex, "codex-0.169.0", "As Codex shows them: structured content alone, a line before each, 12,000 bytes."),
    entry(Client::OpenCode, "opencode-1.18.33", "As opencode shows them: the texts, without the data of protocol errors."),
    entry(Client::QwenCode, "qwen-code-0.15.10", "As qwen-code showed them in that old version: errors in JSON, and wrong arguments in its own words."),
];

impl Client {
    /// Returns the name used in plans, columns and documents.
    pub fn name(self) -> &'static str {
        name_of(&CLIENTS, &self)
    }

    /// Returns true for [`Client::Raw`], the default.
    pub fn is_raw(self) -> bool {
        self == Client::Raw
    }
}

impl FromStr for Client {
    type Err = AxisError;

    fn from_str(text: &str) -> Result<Client, AxisError> {
        let unknown = || AxisError::new("client", text, CLIENTS.iter().map(|entry| entry.name));
        CLIENTS.iter().find(|entry| entry.name == text).map(|entry| entry.value).ok_or_else(unknown)
    }
}

/// A named condition.
#[derive(Debug)]
pub struct ConditionEntry {
    /// The name in plans, columns and documents.
    pub name: &'static str,
    /// A sentence that says which servers behave in this way.
    pub summary: &'static str,
    /// The only environment that the condition applies to; `None` for all.
    pub environment: Option<EnvironmentKind>,
    /// The values that the name stands for.
    pub values: AxisValues,
}

/// A server without guardrails that answers with bare lines.
const PLAIN: AxisValues = AxisValues {
    errors: ErrorFormat::Bare,
    undeclared: Undeclared::Pass,
    content: Content::Native,
    domain_errors: DomainErrors::Everything,
    truncation: false,
    contract: ContractChanges { shown: false, lock: None, include_all_severities: None, max_deltas_per_error: None },
    client: Client::Raw,
};

/// A server on an SDK of MCP, or on a framework. Lists are whole.
const fn sdk(errors: ErrorFormat, undeclared: Undeclared, domain_errors: DomainErrors) -> AxisValues {
    AxisValues { errors, undeclared, domain_errors, ..PLAIN }
}

/// The named conditions. The tests of the engine compare those of SDKs with answers of servers on these SDKs.
pub static CONDITIONS: [ConditionEntry; 11] = [
    ConditionEntry {
        name: "bare",
        summary: "A server that answers every error with one bare line, and checks no undeclared fields: the lower bound.",
        environment: Some(EnvironmentKind::Simulator),
        values: AxisValues { domain_errors: DomainErrors::Bare, ..PLAIN },
    },
    ConditionEntry {
        name: "sdk-typescript",
        summary: "A server on the TypeScript SDK 1.32, whose author writes a message for each domain error.",
        environment: Some(EnvironmentKind::Simulator),
        values: sdk(ErrorFormat::ZodLines, Undeclared::Strip, DomainErrors::Message),
    },
    ConditionEntry {
        name: "sdk-typescript+recovery",
        summary: "The same, and the author's text for a domain error also says how to recover.",
        environment: Some(EnvironmentKind::Simulator),
        values: sdk(ErrorFormat::ZodLines, Undeclared::Strip, DomainErrors::Recovery),
    },
    ConditionEntry {
        name: "sdk-typescript-1.29",
        summary: "A server on the TypeScript SDK 1.29 or an earlier one, whose issues are JSON.",
        environment: Some(EnvironmentKind::Simulator),
        values: sdk(ErrorFormat::ZodJson, Undeclared::Strip, DomainErrors::Message),
    },
    ConditionEntry {
        name: "sdk-typescript-2",
        summary: "A server on the TypeScript SDK 2.4.",
        environment: Some(EnvironmentKind::Simulator),
        values: sdk(ErrorFormat::ZodInline, Undeclared::Strip, DomainErrors::Message),
    },
    ConditionEntry {
        name: "sdk-python",
        summary: "A server on the Python SDK 2.3, whose author writes a message for each domain error.",
        environment: Some(EnvironmentKind::Simulator),
        values: sdk(ErrorFormat::Pydantic, Undeclared::Strip, DomainErrors::Message),
    },
    ConditionEntry {
        name: "sdk-python-lowlevel",
        summary: "A server on the low-level API of the Python SDK 1.30, which lets undeclared fields pass.",
        environment: Some(EnvironmentKind::Simulator),
        values: sdk(ErrorFormat::JsonSchema, Undeclared::Pass, DomainErrors::Message),
    },
    ConditionEntry {
        name: "fastmcp",
        summary: "A server on FastMCP 4.2, which rejects undeclared arguments.",
        environment: Some(EnvironmentKind::Simulator),
        values: sdk(ErrorFormat::FastMcp, Undeclared::RejectArguments, DomainErrors::Message),
    },
    ConditionEntry {
        name: "tool-failure",
        summary: "A server that follows SEP-3313, whose author says how to recover from each domain error.",
        environment: Some(EnvironmentKind::Simulator),
        values: sdk(ErrorFormat::ToolFailure, Undeclared::Strip, DomainErrors::Everything),
    },
    ConditionEntry {
        name: "fusion",
        summary: "All guardrails of MCP Fusion in the format `fusion-xml`.",
        environment: None,
        values: AxisValues {
            errors: ErrorFormat::FusionXml,
            undeclared: Undeclared::Reject,
            truncation: true,
            contract: ContractChanges {
                shown: true,
                lock: None,
                include_all_severities: None,
                max_deltas_per_error: None,
            },
            ..PLAIN
        },
    },
    ConditionEntry {
        name: "as-is",
        summary: "An MCP server as it is, without anything in front of it.",
        environment: Some(EnvironmentKind::Mcp),
        values: PLAIN,
    },
];

/// The named condition that others are compared with: what most servers send today.
pub const REFERENCE_CONDITION: &str = "sdk-typescript";

impl FromStr for &'static ConditionEntry {
    type Err = AxisError;

    fn from_str(text: &str) -> Result<&'static ConditionEntry, AxisError> {
        let unknown = || AxisError::new("condition", text, CONDITIONS.iter().map(|entry| entry.name));
        CONDITIONS.iter().find(|entry| entry.name == text).ok_or_else(unknown)
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
        check(&DOMAIN_ERRORS);
        check(&CONTENTS);
        check(&CLIENTS);
    }

    #[test]
    fn conditions_have_names_of_their_own() {
        for entry in &CONDITIONS {
            assert_eq!(entry.name.parse::<&ConditionEntry>().unwrap().values, entry.values);
            assert!(entry.summary.ends_with('.') && !entry.name.contains(' '));
        }
        let error = "sdk-rust".parse::<&ConditionEntry>().unwrap_err();
        assert_eq!((error.to_string().as_str(), error.known.len()), ("unknown condition `sdk-rust`", 11));
    }
}
