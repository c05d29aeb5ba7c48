//! Tells whether a sentence speaks of something else than an argument of the call: a column of a file, a variable, a field of another object.

use std::ops::Range;

use serde_json::Value;

use super::lists::sentence;
use super::patterns::{is_format, json_type};
use super::statement_reader::{PhraseContext, StatementReader};
use super::tokens::{Token, TokenKind};
use super::words::{NAME_NOUNS, SUBJECT_VERBS, UNITS};

/// Words for parts of a file, which have a number.
const PLACES: [&str; 6] = ["row", "line", "record", "entry", "column", "zeile"];

impl StatementReader<'_> {
    /// Returns true if the words before a phrase name something else, which the phrase is then about: "`country` must be two letters" in
    /// answer to a call without such an argument.
    pub(super) fn is_of_other(&self, context: &PhraseContext<'_>) -> bool {
        context.segment.subject.is_none_or(|subject| !subject.known)
            && self.names_other(context.tokens, &sentence(context.tokens, context.at), context.at)
    }

    /// Returns true if the last thing that the tokens of a sentence name before `end` is none of the call.
    pub(super) fn names_other(&self, tokens: &[Token<'_>], range: &Range<usize>, end: usize) -> bool {
        let other = (range.start..end).rev().find(|at| self.is_other(tokens, range, *at, end));
        let is_assertion = |token: &Token<'_>| token.is_word("assert") || token.is_word("assertion");
        let assertion = || tokens[range.start..end].iter().rposition(is_assertion).map(|at| range.start + at);
        let after = match other.or_else(assertion) {
            Some(other) => other + 1,
            None if self.begins_with_place(&tokens[range.clone()]) => range.start + 2,
            None => return false,
        };
        !tokens[after.min(end)..end].iter().any(|token| self.is_own(token))
    }

    /// Returns true if "like" at `at` begins examples of some other things: "You can say things like …".
    pub(super) fn is_like_things(&self, tokens: &[Token<'_>], at: usize) -> bool {
        let Some(before) = at.checked_sub(1).map(|before| &tokens[before]) else { return false };
        tokens[at].is_word("like")
            && before.kind == TokenKind::Word
            && before.text.len() > 3
            && before.text.ends_with('s')
            && !before.text.ends_with("ss")
            && !before.is_word("looks")
            && !before.is_one_of(&UNITS)
            && self.vocabulary.field_path(before.text).is_none()
            && self.vocabulary.field_of_plural(before.text).is_none()
    }

    /// Returns true for the name of something that was not sent and that the tool does not have.
    fn is_other(&self, tokens: &[Token<'_>], range: &Range<usize>, at: usize, end: usize) -> bool {
        let token = &tokens[at];
        let is_subject = || {
            let is_beside = |next: &&Token<'_>| next.is_one_of(&NAME_NOUNS) || next.is_symbol(")]:");
            let next = tokens[at + 1..end].iter().find(|next| !is_beside(next));
            next.is_none_or(|next| next.is_one_of(&SUBJECT_VERBS))
        };
        // "minLength: …" and "INVALID_VALUE: …" are labels of what follows.
        let next = tokens.get(at + 1);
        let is_label = next.is_some_and(|next| next.is_symbol(":") || at == range.start && next.is_symbol("[(—–-,"));
        let is_code = is_label || token.text.ends_with("Error") || token.text.ends_with("Exception");
        let is_name = match token.kind {
            TokenKind::Word => is_identifier(token.text) && !is_code,
            TokenKind::Quoted => is_word(token.text) && is_subject(),
            _ => false,
        };
        is_name
            && json_type(token.text).is_none()
            && !is_format(token.text)
            && !self.is_own(token)
            && !self.sent_any(token.text)
            && self.vocabulary.resolve_action(token.text).is_none()
    }

    fn is_own(&self, token: &Token<'_>) -> bool {
        matches!(token.kind, TokenKind::Word | TokenKind::Quoted)
            && (self.vocabulary.field_path(token.text).is_some()
                || self.vocabulary.field_in_other_form(token.text).is_some()
                || self.path_sent(token.text).is_some())
    }

    /// Returns true if a name or a value that was sent has these letters in any case.
    fn sent_any(&self, text: &str) -> bool {
        self.original.to_string().to_lowercase().contains(&text.to_lowercase())
    }

    /// Returns true for a sentence about a part of a file, if nothing that was sent has such parts: "Row 90: department unknown".
    fn begins_with_place(&self, sentence: &[Token<'_>]) -> bool {
        let [place, number, ..] = sentence else { return false };
        let has_parts = |value: &Value| match value {
            Value::String(text) => text.contains([' ', '\n']),
            other => other.is_array() || other.is_object(),
        };
        number.kind == TokenKind::Number
            && PLACES.iter().any(|word| place.is_word(word))
            && !self.original.as_object().is_some_and(|sent| sent.values().any(has_parts))
    }
}

/// Returns true for a word in the form of a name, which prose does not have: `due_date`, `dueDate`.
fn is_identifier(text: &str) -> bool {
    let inner = text.trim_matches('_');
    let is_camel = || {
        let is_hump = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
        inner.starts_with(|c: char| c.is_ascii_lowercase()) && inner.as_bytes().windows(2).any(is_hump)
    };
    is_word(inner) && (inner.contains('_') || is_camel())
}

fn is_word(text: &str) -> bool {
    text.len() > 1
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}
