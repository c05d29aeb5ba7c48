use std::fmt;

/// A problem in a scenario file, with its position.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// The path of the file as given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The number of characters to mark in the line, at least 1.
    pub length: usize,
    /// The problem.
    pub message: String,
    /// Advice on how to fix it.
    pub help: Option<String>,
}

impl fmt::Display for Diagnostic {
    /// Formats the diagnostic as `file:line:column: message` on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, crate::render::escape_unprintable(&self.message))
    }
}
