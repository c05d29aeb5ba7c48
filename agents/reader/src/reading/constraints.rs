//! Statements about formats, patterns and bounds.

use super::clauses::is_negated;
use super::lists::{sentence, skip_words};
use super::patterns::is_format;
use super::statement_reader::{ARTICLES, PhraseContext, StatementReader};
use super::tokens::{Token, TokenKind};
use super::{ExpectedFormat, Relation, Statement};

/// Words that may stand between a phrase and its pattern.
const PATTERN_WORDS: [&str; 8] = ["the", "pattern", "regex", "regular", "expression", "of", "a", "is"];

/// Kinds of characters, as they stand within the brackets of a pattern.
const CHARACTERS: [(&str, &str); 24] = [
    ("letters", "A-Za-z"),
    ("letter", "A-Za-z"),
    ("lowercase", "a-z"),
    ("lower-case", "a-z"),
    ("uppercase", "A-Z"),
    ("upper-case", "A-Z"),
    ("a-z", "a-z"),
    ("0-9", "0-9"),
    ("digits", "0-9"),
    ("numbers", "0-9"),
    ("numerals", "0-9"),
    ("alphanumeric", "A-Za-z0-9"),
    ("alphanumerics", "A-Za-z0-9"),
    ("hyphens", "\\-"),
    ("dashes", "\\-"),
    ("underscores", "_"),
    ("dots", "."),
    ("periods", "."),
    ("spaces", " "),
    ("slashes", "/"),
    ("colons", ":"),
    ("commas", ","),
    ("plus", "+"),
    ("apostrophes", "'"),
];
/// Words that may stand between kinds of characters.
const FILLERS: [&str; 14] = [
    "contain",
    "contains",
    "use",
    "of",
    "be",
    "the",
    "and",
    "or",
    "ascii",
    "latin",
    "characters",
    "signs",
    "english",
    "single",
];

/// Returns the value of a number, in digits or in words.
fn number_of(token: &Token<'_>) -> Option<f64> {
    const WORDS: [&str; 11] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    token.number().or_else(|| WORDS.iter().position(|word| token.is_word(word)).map(|number| number as f64))
}

impl StatementReader<'_> {
    pub(super) fn read_format(&mut self, context: &PhraseContext<'_>) -> bool {
        let tokens = context.tokens;
        let at = skip_words(tokens, context.next, &ARTICLES, 3);
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
        if !is_format(name.text) {
            return false;
        }
        let expected = if is_pattern { name.text.to_owned() } else { name.text.to_lowercase() };
        self.push_format(ExpectedFormat::Named(expected), context);
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
        let pattern = rest[..end].trim_end_matches(['.', ',', '\'', ';']);
        // Between slashes, as JavaScript writes it: `/^\//`.
        let pattern = match pattern.strip_prefix('/') {
            Some(inner) => inner.rfind('/').map_or(inner, |close| &inner[..close]),
            None => pattern,
        };
        let pattern = pattern.replace("\\/", "/");
        if !pattern.is_empty() {
            self.push_format(ExpectedFormat::Pattern(pattern), context);
        }
    }

    /// Reads the kinds of characters that a text may have: `only letters, digits and hyphens`.
    pub(super) fn read_characters(&mut self, context: &PhraseContext<'_>) {
        let mut classes = String::new();
        let mut case = None;
        for token in &context.tokens[context.next..] {
            let word = token.text.to_lowercase();
            match CHARACTERS.iter().find(|(name, _)| *name == word) {
                Some((_, "A-Za-z")) => classes.push_str(case.take().unwrap_or("A-Za-z")),
                Some((_, class @ ("a-z" | "A-Z"))) => {
                    classes.push_str(case.replace(class).unwrap_or_default());
                }
                Some((_, class)) => classes.push_str(class),
                None if token.is_symbol(",()") || FILLERS.contains(&word.as_str()) => {}
                None => break,
            }
        }
        classes.push_str(case.unwrap_or_default());
        if !classes.is_empty() {
            self.push_format(ExpectedFormat::Pattern(format!("^[{classes}]*$")), context);
        }
    }

    pub(super) fn read_bound(&mut self, relation: Relation, context: &PhraseContext<'_>) {
        const WORDS: [&str; 13] =
            ["than", "or", "equal", "to", "of", "be", "is", "a", "value", "length", "the", "allowed", "for"];
        let at = skip_words(context.tokens, context.next, &WORDS, 5);
        // "the maximum allowed limit is 100"
        let is_name = |token: &Token<'_>| self.vocabulary.field_path(token.text).is_some();
        let named = context.tokens.get(at).is_some_and(is_name);
        let at = if named { skip_words(context.tokens, at + 1, &WORDS, 3) } else { at };
        if let Some(limit) = context.tokens.get(at).and_then(number_of) {
            let range = sentence(context.tokens, context.at);
            let begins_with_no = context.tokens[context.at].is_word("no") || context.tokens[context.at].is_word("not");
            let relation = match relation {
                _ if begins_with_no || !is_negated(context.tokens, &range, context.at) => relation,
                // "can't be more than 7"
                Relation::Above => Relation::AtMost,
                Relation::Below => Relation::AtLeast,
                other => other,
            };
            self.push_bound(relation, limit, context);
        }
    }

    pub(super) fn push_bound(&mut self, relation: Relation, limit: f64, context: &PhraseContext<'_>) {
        if let Some(field) = self.field(context) {
            self.push(Statement::Bound { field, relation, limit });
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

    pub(super) fn read_between(&mut self, context: &PhraseContext<'_>) {
        let tokens = context.tokens;
        let words = ["of", "the", "is", "in", "range", "a", "number", "are", "values", "value"];
        let at = skip_words(tokens, context.next, &words, 4);
        let at = at + usize::from(tokens.get(at).is_some_and(|token| token.is_symbol("[")));
        let number = |at: usize| tokens.get(at).and_then(Token::number);
        let is_joint = |t: &Token<'_>| {
            ["and", "to", "through", "till", "until", "und", "et", "bis", "à"].iter().any(|word| t.is_word(word))
                || t.is_symbol("–—,-.…")
        };
        let joints = tokens.iter().skip(at + 1).take(3).take_while(|token| is_joint(token)).count();
        let limits = match (number(at), number(at + 1 + joints)) {
            (Some(low), Some(high)) if joints > 0 => Some((low, high)),
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
