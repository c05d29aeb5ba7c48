//! The summary of an import.

use std::collections::BTreeMap;

use crate::options::Router;
use crate::problem::Problems;

/// The summary of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// The files that were read, in their order. The position in this list is that of [`crate::Conversation::origin`].
    pub files: Vec<FileRead>,
    /// The counts, by source.
    pub sources: BTreeMap<&'static str, Counts>,
    /// Routers that the logs suggest.
    pub routers: Vec<Router>,
    /// Problems of the logs.
    pub problems: Problems,
    /// True if the receiver wanted no more conversations.
    pub is_stopped: bool,
}

/// A file that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileRead {
    /// The name, relative to the path that was given.
    pub name: String,
    /// The size as it is stored.
    pub bytes: u64,
    /// The SHA-256 of it as it is stored, in hexadecimal digits; empty if it was not read to its end.
    pub sha256: String,
}

/// Counts of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Logs, in files and archives.
    pub logs: u64,
    /// Conversations.
    pub conversations: u64,
    /// Conversations with an injected attack.
    pub attacks: u64,
    /// Calls, of shell tools too.
    pub calls: u64,
    /// Calls with a result, of shell tools too.
    pub results: u64,
    /// Errors that the source flags, without those of shell tools.
    pub flag_errors: u64,
    /// Errors that only their text tells, without those of shell tools.
    pub text_errors: u64,
    /// Calls of shell tools.
    pub shell_calls: u64,
    /// Errors of shell tools.
    pub shell_errors: u64,
    /// Calls that the user refused, which are no errors.
    pub refused: u64,
    /// Calls that `tools` and `skip_tools` left out, which nothing else counts.
    pub left_out: u64,
    /// Counts by model; `None` where the source names none.
    pub models: BTreeMap<Option<String>, ModelCounts>,
}

/// Counts of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelCounts {
    pub conversations: u64,
    pub calls: u64,
    /// Errors without those of shell tools.
    pub errors: u64,
}
