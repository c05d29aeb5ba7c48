//! Statements about formats and patterns.

use super::lists::skip_words;
use super::patterns::is_format;
use super::statement_reader::{ARTICLES, PhraseContext, StatementReader};
use super::tokens::TokenKind;
use super::{ExpectedFormat, Statement};

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
