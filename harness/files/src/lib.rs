//! Files that people and programs write: how they are opened, read within bounds and created, lines with checksums, and the reader of TOML files (settings, prices,
//! profiles and policies).
//!
//! Every error of a TOML file has a position, the path of its key and help. No error shows a value that may be a secret.

mod checksum;
mod names;
mod open;
mod table;

use std::fmt::Display;

use healbench_text::looks_like_secret;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml_parser::lexer::TokenKind;

pub use checksum::{ChecksumError, checked_members, line_with_checksum};
pub use names::{hint, is_name, list, printable, quote};
pub use open::{
    MAX_GENERATED_BYTES, MAX_LIST_BYTES, MAX_WRITTEN_BYTES, check_own_file, create_own_file, fingerprint_file,
    normal_text, open_regular_file, private_file, read_bounded_line, read_file, read_stored_text, read_text_file,
};
pub use table::{Table, Value};

/// An error in a TOML file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct ConfigError {
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The problem, with the path of the key.
    pub message: String,
    /// The way to fix it.
    pub help: String,
}

#[derive(Debug)]
pub struct Document<'t> {
    source: Source<'t>,
    root: Spanned<DeTable<'t>>,
}

impl<'t> Document<'t> {
    /// Parses a text; `file` is named in errors.
    ///
    /// # Errors
    /// Returns an error for a text that is not TOML, and for the first key or value that looks like a secret.
    pub fn parse(file: &'t str, text: &'t str) -> Result<Document<'t>, ConfigError> {
        let source = Source { file, text };
        if let Some(offset) = nested_too_deep(text) {
            let problem = format_args!("arrays and inline tables are nested more than {MAX_NESTING} deep");
            return Err(source.error(offset, problem, "close them, or write tables of their own"));
        }
        let root = DeTable::parse(text).map_err(|error| {
            let message = error.message().replace('\n', " ");
            source.error(error.span().map_or(0, |span| span.start), message, "the file has to be valid TOML")
        })?;
        let mut secrets = Vec::new();
        find_secrets("", root.get_ref(), &mut secrets);
        match secrets.into_iter().min() {
            Some((offset, place)) => Err(source.error(
                offset,
                format_args!("something in {place} looks like a secret, which has no place in a file and is not shown"),
                "put it into an environment variable, and the variable's name into `key_env` or `headers_env` of a model",
            )),
            None => Ok(Document { source, root }),
        }
    }

    /// Returns the table of the whole file.
    pub fn root(&self) -> Table<'_> {
        Table { source: self.source, path: String::new(), offset: 0, table: self.root.get_ref() }
    }
}

/// The deepest nesting of arrays and inline tables: the limit that the parser has for valid files.
const MAX_NESTING: usize = 80;

/// Returns the byte offset of the first bracket that is nested too deep. The parser applies no limit while it recovers from an error,
/// and would exhaust the stack.
pub fn nested_too_deep(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    for token in toml_parser::Source::new(text).lex() {
        let opening = match token.kind() {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket if open.len() == MAX_NESTING => {
                return Some(token.span().start());
            }
            kind @ (TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket) => {
                open.push(kind);
                continue;
            }
            TokenKind::RightSquareBracket => TokenKind::LeftSquareBracket,
            TokenKind::RightCurlyBracket => TokenKind::LeftCurlyBracket,
            _ => continue,
        };
        // The parser may read on over a bracket that closes nothing.
        open.pop_if(|last| *last == opening);
    }
    None
}

/// Collects the positions of keys and values that look like secrets, each with the key that contains it.
fn find_secrets(path: &str, table: &DeTable<'_>, found: &mut Vec<(usize, String)>) {
    for (key, value) in table {
        if looks_like_secret(key.get_ref()) {
            let place = if path.is_empty() { "the file".to_owned() } else { format!("`{path}`") };
            found.push((key.span().start, place));
        } else {
            find_secrets_of_value(&join(path, key.get_ref()), value, found);
        }
    }
}

fn find_secrets_of_value(path: &str, value: &Spanned<DeValue<'_>>, found: &mut Vec<(usize, String)>) {
    match value.get_ref() {
        DeValue::String(text) if looks_like_secret(text) => found.push((value.span().start, format!("`{path}`"))),
        DeValue::Array(items) => items.iter().for_each(|item| find_secrets_of_value(path, item, found)),
        DeValue::Table(table) => find_secrets(path, table, found),
        _ => {}
    }
}

/// Appends a key to the path of a table.
fn join(path: &str, key: &str) -> String {
    let dot = if path.is_empty() { "" } else { "." };
    format!("{path}{dot}{}", printable(key))
}

/// The text of a file and its name.
#[derive(Debug, Clone, Copy)]
struct Source<'t> {
    file: &'t str,
    text: &'t str,
}

impl Source<'_> {
    fn error(&self, offset: usize, message: impl Display, help: impl Into<String>) -> ConfigError {
        let (line, column) = self.line_and_column(offset);
        ConfigError { file: printable(self.file), line, column, message: message.to_string(), help: help.into() }
    }

    fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (1 + before.matches('\n').count(), 1 + before[line_start..].chars().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_nested_too_deep_is_an_error() {
        let deep = "arrays and inline tables are nested more than 80 deep";
        for part in ["a = {b = c = {d = 4}\n", "a = [{", "a = {] ", "a = [ } ", "x = {\"X\" = y = {\n"] {
            let error = Document::parse("f", &part.repeat(70_000)).unwrap_err();
            assert_eq!(error.message, deep, "{part}");
        }
        let nested = |depth: usize| format!("a = {}{}\n# [[[\nb = \"{{{{\"", "[".repeat(depth), "]".repeat(depth));
        assert!(Document::parse("f", &nested(80)).is_ok());
        assert_eq!(Document::parse("f", &nested(81)).unwrap_err().to_string(), format!("f:1:85: {deep}"));
        let tables: String = (0..200).map(|index| format!("[[t]]\na = {{b = [{index}]}}\n")).collect();
        assert!(Document::parse("f", &tables).is_ok());
    }
}
