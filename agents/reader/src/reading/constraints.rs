//! Statements about formats, patterns and bounds.

use super::lists::skip_words;
use super::patterns::is_format;
use super::statement_reader::{ARTICLES, PhraseContext, StatementReader};
use super::tokens::{Token, TokenKind};
use super::{ExpectedFormat, Relation, Statement};

/// Words that may stand between a phrase and its pattern.
const PATTERN_WORDS: [&str; 8] = ["the", "pattern", "regex", "regular", "expression", "of", "a", "is"];

impl StatementReader<'_> {
    pub(super) fn read_format(&mut self, context: &PhraseContext<'_>) -> bool {
        let tokens = context.tokens;
        let at = skip_words(tokens, context.next, &ARTICLES, 3);
        let Some(name) = tokens.get(at).filter(|token| token.kind != TokenKind::Symbol && is_format(token.text)) else {
            return false;
        };
        self.push_format(ExpectedFormat::Named(name.text.to_lowercase()), context);
        true
    }

    pub(super) fn push_format(&mut self, expected: ExpectedFormat, context: &PhraseContext<'_>) {
        if let Some(field) = self.field(context) {
            self.push(Statement::Format { field, expected });
        }
    }

    pub(super) fn read_regex(&mut self, context: &PhraseContext<'_>) {
        let at = skip_words(context.tokens, context.next, &PATTERN_WORDS, 5);
        let rest = context.tokens[at - 1].rest.trim_start_matches([' ', ':', '`', '"', '\'']);
        if !rest.starts_with(['^', '/']) {
            return;
        }
        let end = rest.find([' ', '`', '"', '\n']).unwrap_or(rest.len());
        let pattern = rest[..end].trim_end_matches(['.', ',', '\'', ';', '/']).trim_start_matches('/');
        if !pattern.is_empty() {
            self.push_format(ExpectedFormat::Pattern(pattern.to_owned()), context);
        }
    }

    pub(super) fn read_bound(&mut self, relation: Relation, context: &PhraseContext<'_>) {
        const WORDS: [&str; 12] =
            ["than", "or", "equal", "to", "of", "be", "is", "a", "value", "length", "the", "allowed"];
        let at = skip_words(context.tokens, context.next, &WORDS, 5);
        if let Some(limit) = context.tokens.get(at).and_then(Token::number)
            && let Some(field) = self.field(context)
        {
            self.push(Statement::Bound { field, relation, limit });
        }
    }

    pub(super) fn read_between(&mut self, context: &PhraseContext<'_>) {
        let tokens = context.tokens;
        let at = skip_words(tokens, context.next, &["of", "the", "is"], 3);
        let number = |at: usize| tokens.get(at).and_then(Token::number);
        let joined = tokens.get(at + 1).is_some_and(|t| t.is_word("and") || t.is_word("to") || t.is_symbol("–—,-"));
        let limits = match (number(at), number(at + 2)) {
            (Some(low), Some(high)) if joined => Some((low, high)),
            // `18-120` is one word.
            _ => tokens
                .get(at)
                .and_then(|token| token.text.split_once('-'))
                .and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?))),
        };
        if let Some((low, high)) = limits
            && let Some(field) = self.field(context)
        {
            self.push(Statement::Bound { field: field.clone(), relation: Relation::AtLeast, limit: low });
            self.push(Statement::Bound { field, relation: Relation::AtMost, limit: high });
        }
    }
}
