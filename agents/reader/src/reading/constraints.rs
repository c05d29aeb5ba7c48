//! Statements about formats and patterns.

use serde_json::Value;

use super::forms::{Literal, is_form, literal_at, pattern_of};
use super::lists::{sentence, skip_words};
use super::mentions::{is_same_word, words_of};
use super::patterns::is_format;
use super::statement_reader::{ARTICLES, PhraseContext, StatementReader};
use super::tokens::TokenKind;
use super::{ExpectedFormat, Statement};

/// Words that may stand between a phrase and its pattern.
const PATTERN_WORDS: [&str; 8] = ["the", "pattern", "regex", "regular", "expression", "of", "a", "is"];

/// Words that say more about a format.
const QUALIFIERS: [&str; 10] =
    ["calendar", "hexadecimal", "full", "absolute", "complete", "proper", "well-formed", "http", "https", "real"];

/// Returns true if a text begins with a class of characters, `[a-z]`, and not with a list in brackets.
fn is_class(text: &str) -> bool {
    let end = text.find([']', ' ', ',', '"', '\'', '`']).unwrap_or(text.len());
    text.starts_with("\\d")
        || text.starts_with("\\w")
        || text[end..].starts_with(']') && text[..end].contains(['-', '\\'])
}

impl StatementReader<'_> {
    pub(super) fn read_format(&mut self, context: &PhraseContext<'_>) -> bool {
        let tokens = context.tokens;
        let at = skip_words(tokens, context.next, &ARTICLES, 3);
        let at = skip_words(tokens, at, &QUALIFIERS, 2);
        let Some(name) = tokens.get(at).filter(|token| token.kind != TokenKind::Symbol) else { return false };
        // "RFC 3339", "ISO 8601"
        if (name.is_word("rfc") || name.is_word("iso"))
            && let Some(number) = tokens.get(at + 1).filter(|number| number.kind == TokenKind::Number)
        {
            self.push_format(ExpectedFormat::Named(format!("{} {}", name.text.to_lowercase(), number.text)), context);
            return true;
        }
        // A quoted pattern of letters for digits keeps its case.
        let is_pattern =
            name.kind == TokenKind::Quoted && (name.text.contains('%') || name.text.chars().any(char::is_uppercase));
        // "not a valid link"
        let is_link = name.is_word("link") && tokens[context.next - 1].is_word("valid");
        if !is_format(name.text) && !is_link {
            return false;
        }
        let expected = if is_link {
            "url".to_owned()
        } else if is_pattern {
            name.text.to_owned()
        } else {
            name.text.to_lowercase()
        };
        self.push_format(ExpectedFormat::Named(expected), context);
        true
    }

    /// Reads a form that stands for itself: `in the form owner/repo`.
    pub(super) fn read_form(&mut self, context: &PhraseContext<'_>) {
        let before = context.at.checked_sub(1).map(|before| context.tokens[before]);
        let at = skip_words(
            context.tokens,
            context.next,
            &["of", "the", "a", "an", "is", "form", "format", "like", "be"],
            4,
        );
        let before = before.filter(|_| context.next == context.at + 1).map(|token| Literal {
            text: token.text,
            is_quoted: token.kind == TokenKind::Quoted,
            rest: token.rest,
        });
        let after = literal_at(context.tokens[at - 1].rest).filter(|form| is_form(form, self.vocabulary));
        if let Some(form) = after.or_else(|| before.filter(|form| is_form(form, self.vocabulary))) {
            let pattern = pattern_of(form.text).map(ExpectedFormat::Pattern);
            self.push_format(pattern.unwrap_or_else(|| ExpectedFormat::Named(form.text.to_owned())), context);
        }
    }

    pub(super) fn push_format(&mut self, expected: ExpectedFormat, context: &PhraseContext<'_>) {
        let breaks = |sent: &Value| match &expected {
            ExpectedFormat::Pattern(pattern) => sent
                .as_str()
                .is_some_and(|sent| regex::Regex::new(pattern).is_ok_and(|pattern| !pattern.is_match(sent))),
            ExpectedFormat::Named(_) => false,
        };
        if let Some(field) = self.field(context).or_else(|| self.broken_by(breaks, context)) {
            self.push(Statement::Format { field, expected });
        }
    }

    /// Returns the only argument that a sentence names by its last word and that breaks a rule: "Bucket names may only contain letters".
    pub(super) fn broken_by(&self, breaks: impl Fn(&Value) -> bool, context: &PhraseContext<'_>) -> Option<String> {
        let words = &context.tokens[sentence(context.tokens, context.at)];
        let is_named = |name: &str| {
            let last = words_of(name).last().unwrap_or(name);
            words.iter().any(|token| token.kind == TokenKind::Word && is_same_word(token.text, last))
        };
        let mut broken = self.original.as_object()?.iter().filter(|(name, sent)| breaks(sent) && is_named(name));
        let (name, _) = broken.next()?;
        broken.next().is_none().then(|| name.clone())
    }

    pub(super) fn read_regex(&mut self, context: &PhraseContext<'_>) {
        let at = skip_words(context.tokens, context.next, &PATTERN_WORDS, 5);
        let rest = context.tokens[at - 1].rest.trim_start_matches([' ', ':', '`', '"', '\'']);
        // `[A-Za-z0-9_]+` has to match all of a text.
        let is_open = rest.starts_with(['[', '\\']) && is_class(rest);
        if !rest.starts_with(['^', '/']) && !is_open {
            return;
        }
        let end = rest.find([' ', '`', '"', '\n']).unwrap_or(rest.len());
        let pattern = rest[..end].trim_end_matches(['.', ',', '\'', ';']);
        // Between slashes, as JavaScript writes it: `/^\//`.
        let pattern = match pattern.strip_prefix('/') {
            Some(inner) => inner.rfind('/').map_or(inner, |close| &inner[..close]),
            None => pattern,
        };
        let pattern = pattern.replace("\\/", "/");
        let pattern = match is_open {
            true if pattern.contains('|') => format!("^(?:{pattern})$"),
            true => format!("^{}$", pattern.trim_end_matches('$')),
            false => pattern,
        };
        if !pattern.is_empty() {
            self.push_format(ExpectedFormat::Pattern(pattern), context);
        }
    }

    /// Reads the layout of a time in Go: `parsing time "02/01/2026" as "2006-01-02"`.
    pub(super) fn read_layout(&mut self, context: &PhraseContext<'_>) {
        if let [_, word, layout, ..] = &context.tokens[context.next..]
            && word.is_word("as")
            && layout.kind == TokenKind::Quoted
        {
            self.push_format(ExpectedFormat::Named(layout.text.to_owned()), context);
        }
    }
}
