//! Statements about the folder that a path has to be in.

use serde_json::Value;

use super::lists::{list_at, skip_words};
use super::sent_paths::path_of_value;
use super::statement_reader::{PhraseContext, StatementReader};
use super::{ExpectedFormat, Statement};
use crate::paths;

/// Words between a phrase and the folders.
const WORDS: [&str; 28] = [
    "the",
    "a",
    "an",
    "one",
    "of",
    "these",
    "your",
    "allowed",
    "permitted",
    "configured",
    "directory",
    "directories",
    "folder",
    "folders",
    "root",
    "roots",
    "path",
    "paths",
    "base",
    "workspace",
    "working",
    "project",
    "repository",
    "sandbox",
    "is",
    "are",
    "accessible",
    "in",
];

/// Returns true for an absolute path, or one within a folder that a placeholder stands for.
fn is_path(item: &str) -> bool {
    item.starts_with(['/', '~', '{']) || item.get(1..3) == Some(":\\")
}

impl StatementReader<'_> {
    /// Reads the folders that a path has to be in: `outside the allowed directories: /srv/a, /srv/b`.
    pub(super) fn read_folders(&mut self, context: &PhraseContext<'_>) {
        let at = skip_words(context.tokens, context.next, &WORDS, 10);
        let mut list = list_at(context.tokens, at);
        list.items.retain(|item| path_of_value(self.original, item).is_none());
        if list.items.is_empty() || !list.items.iter().all(|item| is_path(item)) {
            return;
        }
        let is_text = |field: &String| paths::get(self.original, field).is_none_or(Value::is_string);
        let field =
            self.about(context).into_iter().find(is_text).or_else(|| self.last_fault()).or_else(|| self.sole_field());
        if let Some(field) = field {
            let folders: Vec<String> =
                list.items.iter().map(|item| regex::escape(item.trim_end_matches(['/', '\\']))).collect();
            let pattern = format!("^(?:{})(?:[/\\\\]|$)", folders.join("|"));
            self.push(Statement::Format { field, expected: ExpectedFormat::Pattern(pattern) });
        }
    }
}
