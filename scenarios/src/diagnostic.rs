use std::fmt;

use crate::suggest;

/// The problems of a file that are reported.
pub(crate) const MAX_PROBLEMS: usize = 1000;

/// Sorts the problems of a file, and leaves out those beyond [`MAX_PROBLEMS`].
pub(crate) fn in_order(mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    problems.sort();
    problems.dedup();
    if problems.len() >= MAX_PROBLEMS {
        problems.truncate(MAX_PROBLEMS);
        let mut more = problems[MAX_PROBLEMS - 1].clone();
        more.message = format!("the file has more problems than these {MAX_PROBLEMS}");
        more.help = None;
        problems.push(more);
    }
    problems
}

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
    pub message: String,
    /// Advice on how to fix it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Names the variants of the file that have the problem; at least one.
    pub(crate) fn of_variants<S: AsRef<str>>(mut self, names: &[S]) -> Diagnostic {
        let names: Vec<&str> = names.iter().map(S::as_ref).collect();
        let variant = if names.len() == 1 { "variant" } else { "variants" };
        self.message = format!("{} (in the {variant} {})", self.message, suggest::list(&names));
        self
    }
}

impl fmt::Display for Diagnostic {
    /// Formats the diagnostic as `file:line:column: message` on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, crate::render::escape_unprintable(&self.message))
    }
}
