//! Damage and oddities of logs.

use std::collections::BTreeMap;
use std::fmt;

/// The number of problems that are kept one by one; all are counted.
const MAX_LISTED: usize = 100;

/// A kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// A line or an entry that cannot be read was left out.
    Broken,
    /// Bytes that are no UTF-8 were replaced.
    BrokenUtf8,
    /// A conversation of more than 64 MiB was left out.
    TooLong,
    /// The log ends in the middle of a line, an entry or a compressed file.
    EndsInTheMiddle,
    /// A conversation ends with calls, a limit or an error of its program: nothing tells what the agent would have done next.
    CutOff,
    /// A file of a folder or an archive is a log of no source.
    UnknownFile,
    /// A conversation has no messages.
    Empty,
    /// A file, a conversation with an id, or a record of a session, that was read before.
    Repeated,
    /// A call has no result.
    NoResult,
    /// A result belongs to no call.
    NoCall,
    /// Calls of one turn, or results, have the same id.
    DuplicateId,
    /// The arguments of a call are no JSON object.
    ArgumentsNoJson,
    /// A message is older than the one before it.
    ClockBackwards,
}

impl ProblemKind {
    /// Returns the problem in words.
    pub fn text(self) -> &'static str {
        match self {
            ProblemKind::Broken => "it cannot be read and was left out",
            ProblemKind::BrokenUtf8 => "bytes that are no UTF-8 were replaced",
            ProblemKind::TooLong => "a conversation of more than 64 MiB was left out",
            ProblemKind::EndsInTheMiddle => "the log ends in the middle",
            ProblemKind::CutOff => "the conversation ends with calls, a limit or an error of its program",
            ProblemKind::UnknownFile => "it is a log of no known source and was left out",
            ProblemKind::Empty => "it has no messages and was left out",
            ProblemKind::Repeated => "it was read before and was left out",
            ProblemKind::NoResult => "a call has no result",
            ProblemKind::NoCall => "a result belongs to no call",
            ProblemKind::DuplicateId => "several calls or results have the same id",
            ProblemKind::ArgumentsNoJson => "arguments are no JSON object and were kept as text",
            ProblemKind::ClockBackwards => "a message is older than the one before it",
        }
    }

    /// Returns true if a part of the log was lost. With `strict`, these end an import.
    pub fn is_damage(self) -> bool {
        matches!(
            self,
            ProblemKind::Broken | ProblemKind::BrokenUtf8 | ProblemKind::TooLong | ProblemKind::EndsInTheMiddle
        )
    }
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// The file as a whole.
    File,
    /// A line, from 1.
    Line(u64),
    /// An entry of an array, from 0.
    Entry(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::File => Ok(()),
            Position::Line(line) => write!(f, ":{line}"),
            Position::Entry(entry) => write!(f, "[{entry}]"),
        }
    }
}

/// A problem with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub kind: ProblemKind,
    /// The file, relative to the path that was given.
    pub file: String,
    pub position: Position,
    /// More about it: the name of the tool, the message of a parser. May be empty.
    pub detail: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}: {}", self.file, self.position, self.kind.text())?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, " ({})", self.detail) }
    }
}

/// The problems of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems {
    /// The first ones.
    pub listed: Vec<Problem>,
    /// Their number, by kind.
    pub counts: BTreeMap<ProblemKind, u64>,
}

impl Problems {
    pub(crate) fn add(&mut self, problem: Problem) {
        *self.counts.entry(problem.kind).or_default() += 1;
        if self.listed.len() < MAX_LISTED {
            self.listed.push(problem);
        }
    }
}
