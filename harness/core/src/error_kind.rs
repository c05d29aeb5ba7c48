//! The kinds of errors, as far as their texts tell.

use serde::{Deserialize, Serialize};

use crate::NamedEntry;

/// The kind of an error, as its text tells it. Of several that apply it is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the registry describes them")]
pub enum ErrorKind {
    Missing,
    UnknownField,
    Shape,
    Value,
    NothingFound,
    Reference,
    Transient,
    State,
    Internal,
    Unclear,
}

/// The kinds in their order, each with its name in rows and documents, and its meaning.
#[rustfmt::skip]
pub const ERROR_KINDS: [NamedEntry<ErrorKind>; 10] = [
    NamedEntry { value: ErrorKind::Missing, name: "missing", summary: "a required argument is missing" },
    NamedEntry { value: ErrorKind::UnknownField, name: "unknown_field", summary: "an argument is not known" },
    NamedEntry { value: ErrorKind::Shape, name: "shape", summary: "a value has the wrong type, or is not valid JSON" },
    NamedEntry { value: ErrorKind::Value, name: "value", summary: "a value is not among the options, out of bounds, or in the wrong format" },
    NamedEntry { value: ErrorKind::NothingFound, name: "nothing_found", summary: "a search has no result" },
    NamedEntry { value: ErrorKind::Reference, name: "reference", summary: "a thing that an argument names does not exist" },
    NamedEntry { value: ErrorKind::Transient, name: "transient", summary: "the same call may succeed later" },
    NamedEntry { value: ErrorKind::State, name: "state", summary: "a rule, a conflict or a missing permission prevents the call" },
    NamedEntry { value: ErrorKind::Internal, name: "internal", summary: "the server failed by itself" },
    NamedEntry { value: ErrorKind::Unclear, name: "unclear", summary: "the reader cannot tell" },
];

impl ErrorKind {
    /// Returns the name in rows and documents.
    pub fn name(self) -> &'static str {
        ERROR_KINDS.iter().find(|entry| entry.value == self).map_or("", |entry| entry.name)
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<ErrorKind> {
        ERROR_KINDS.iter().find(|entry| entry.name == name).map(|entry| entry.value)
    }
}

/// The findings of the simulated reader in an error text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReading {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// True if it names an argument as missing or at fault.
    pub names_field: bool,
    /// True if it says what to do.
    pub states_remedy: bool,
    /// True if it names another tool or action to call.
    pub names_tool: bool,
}

/// The sign that a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorSource {
    /// A flag of the source.
    Flag,
    /// The text: an error that was sent as a success.
    Text,
}

impl ErrorSource {
    /// Both sources.
    pub const ALL: [ErrorSource; 2] = [ErrorSource::Flag, ErrorSource::Text];

    /// Returns the name used in columns and documents.
    pub fn name(self) -> &'static str {
        match self {
            ErrorSource::Flag => "flag",
            ErrorSource::Text => "text",
        }
    }
}
