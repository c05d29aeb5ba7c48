//! Statements about the folder that a path has to be in.

use serde_json::Value;

use super::lists::{list_at, sentence, skip_words};
use super::sent_paths::path_of_value;
use super::statement_reader::{PhraseContext, StatementReader};
use super::{ExpectedFormat, Fault, Statement};
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

/// Words of a sentence that says where something has to be.
const DEMANDS_PLACE: [&str; 10] =
    ["must", "should", "has", "have", "needs", "allowed", "permitted", "outside", "restricted", "root"];

/// Returns true for the path of a file with an extension.
fn has_file_end(item: &str) -> bool {
    let name = item.rsplit(['/', '\\']).next().unwrap_or(item);
    name.rfind('.').is_some_and(|dot| dot > 0 && dot + 1 < name.len())
}

/// Returns true for an absolute path, or one within a folder that a placeholder stands for.
fn is_path(item: &str) -> bool {
    item.starts_with(['/', '~', '{']) && item.len() > 1 || item.get(1..3) == Some(":\\")
}

impl StatementReader<'_> {
    /// Reads the folders that a path has to be in: `outside the allowed directories: /srv/a, /srv/b`.
    pub(super) fn read_folders(&mut self, context: &PhraseContext<'_>) {
        let at = skip_words(context.tokens, context.next, &WORDS, 10);
        let mut list = list_at(context.tokens, at);
        list.items.retain(|item| path_of_value(self.original, item).is_none());
        let is_folder = |item: &&str| is_path(item) && !has_file_end(item);
        if list.items.is_empty() || !list.items.iter().all(is_folder) {
            return;
        }
        let range = sentence(context.tokens, context.at);
        let words = &context.tokens[range.clone()];
        let is_negative = ["outside", "not"].iter().any(|word| context.tokens[context.at].is_word(word))
            || context.tokens[context.at..context.next].iter().any(|token| token.is_word("not"));
        // "must not be inside /etc"
        if !is_negative && words.iter().any(|token| DEMANDS_PLACE.iter().any(|word| token.is_word(word))) {
            let before = &context.tokens[range.start..context.at];
            let is_refused = before
                .iter()
                .rev()
                .take(4)
                .any(|token| ["not", "cannot", "can't"].iter().any(|word| token.is_word(word)));
            let is_absence = before.last().is_some_and(|token| token.is_word("not"));
            if is_refused && !is_absence {
                return self.read_fault(Fault::Invalid, context);
            }
        }
        let is_demanded = context.tokens[context.at].is_word("outside")
            || words.iter().any(|token| DEMANDS_PLACE.iter().any(|word| token.is_word(word)));
        let is_text = |field: &String| paths::get(self.original, field).is_none_or(Value::is_string);
        let is_place = |field: &String| {
            let sent = paths::get(self.original, field).and_then(Value::as_str);
            let name = field.to_lowercase();
            sent.is_some_and(|sent| sent.contains(['/', '\\']))
                || ["path", "file", "dir", "folder"].iter().any(|part| name.contains(part))
        };
        let named = self.about(context).into_iter().find(is_text).filter(|field| is_demanded || is_place(field));
        let field = match is_demanded {
            true => named.or_else(|| self.last_fault()).or_else(|| self.sole_field()),
            false => named,
        };
        if let Some(field) = field {
            let folders: Vec<String> =
                list.items.iter().map(|item| regex::escape(item.trim_end_matches(['/', '\\']))).collect();
            let pattern = format!("^(?:{})(?:[/\\\\]|$)", folders.join("|"));
            self.push(Statement::Format { field, expected: ExpectedFormat::Pattern(pattern) });
        }
    }
}
