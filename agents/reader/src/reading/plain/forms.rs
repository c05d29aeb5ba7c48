//! Types, forms and missing arguments in plain words.

use std::ops::Range;

use serde_json::Value;

use super::contradiction::shape;
use super::wanted::is_any;
use super::{Argument, Plain};
use crate::reading::bounds::number_at;
use crate::reading::forms::{is_phrase, literal_at};
use crate::reading::lists::sentence;
use crate::reading::mentions::words_of;
use crate::reading::statement_reader::StatementReader;
use crate::reading::tokens::{Token, TokenKind};
use crate::reading::words::{ASKING, EVERYDAY, EXAMPLE_WORDS, WANTING};
use crate::reading::{ExpectedFormat, Statement};
use crate::repair::has_type;

/// Words for types.
const TYPES: [(&str, &str); 14] = [
    ("number", "number"),
    ("numbers", "number"),
    ("numeric", "number"),
    ("nombre", "number"),
    ("zahl", "number"),
    ("integer", "integer"),
    ("object", "object"),
    ("list", "array"),
    ("array", "array"),
    ("boolean", "boolean"),
    ("true", "boolean"),
    ("string", "string"),
    ("text", "string"),
    ("whole", "integer"),
];
/// Kinds of characters that are counted, each with its class.
const COUNTED: [(&str, &str); 6] = [
    ("digits", "0-9"),
    ("numbers", "0-9"),
    ("letters", "A-Za-z"),
    ("ziffern", "0-9"),
    ("chiffres", "0-9"),
    ("dígitos", "0-9"),
];

/// A sentence that is no longer says only what is wanted: "Six digits, please."
const MAX_SHORT_TOKENS: usize = 6;

impl<'t> Plain<'t, '_> {
    /// Reads a type that was not sent: "I was hoping for a whole number in age".
    pub(super) fn types(&self) -> Vec<Statement> {
        for at in self.all() {
            let token = &self.tokens[at];
            let Some((_, expected)) = TYPES.iter().find(|(word, _)| token.is_word(word)) else { continue };
            let range = sentence(&self.tokens, at);
            let next = self.tokens[..range.end].get(at + 1);
            // "a whole number", "true or false"
            let before = at.checked_sub(1).map(|before| &self.tokens[before]);
            let is_split = token.is_word("whole") && !next.is_some_and(|next| next.is_word("number"))
                || before.is_some_and(|before| before.is_word("whole"))
                || token.is_word("true") && !next.is_some_and(|next| next.is_word("or") || next.is_symbol("/"));
            // "a list of", "the text is", "number 5" are no types.
            let is_noun = next.is_some_and(|next| next.is_word("of") || next.kind == TokenKind::Number)
                || before.is_some_and(|before| before.is_word("the"))
                    && next.is_some_and(|next| is_any(next, &["has", "is", "was", "cannot", "could", "does", "will"]));
            let is_named = self.reader.vocabulary.field_path(token.text).is_some();
            let wanted = range.start..at;
            if is_split || is_noun || is_named || !self.has_word(&range, &WANTING) || self.is_denied(&wanted) {
                continue;
            }
            let is_other = |argument: &&Argument<'t>| {
                let is_scalar = !argument.value.is_object() && !argument.value.is_null();
                is_scalar && !has_type(argument.value, expected)
            };
            let others: Vec<&Argument<'t>> = self.arguments.iter().filter(is_other).collect();
            if let Some(argument) = self.choose(&others, &range) {
                let is_told = self.is_named(argument, &self.all()) || self.is_shown(argument, &self.all());
                if is_told || self.reader.of_error && self.arguments.len() == 1 {
                    return vec![Statement::WrongType { field: argument.name.to_owned(), expected }];
                }
            }
        }
        Vec::new()
    }

    /// Returns true if the words before something say that it was sent or is not wanted.
    fn is_denied(&self, before: &Range<usize>) -> bool {
        let near = before.end.saturating_sub(4).max(before.start)..before.end;
        let is_due = self.tokens[before.clone()].windows(2).any(|pair| {
            is_any(&pair[0], &["must", "should"])
                || is_any(&pair[0], &["has", "have", "needs"]) && pair[1].is_word("to")
        });
        self.tokens[near]
            .iter()
            .any(|token| is_any(token, &["not", "isn't", "no", "got", "than"]) || token.is_word("as") && !is_due)
    }

    /// Reads the form of a value: "Say owner/name, for instance acme/web", "six hex digits".
    pub(super) fn formats(&self) -> Vec<Statement> {
        let texts: Vec<&Argument<'t>> = self.arguments.iter().filter(|argument| argument.value.is_string()).collect();
        for at in self.all() {
            let has_cue = self.tokens[at].is_one_of(&EXAMPLE_WORDS) || self.tokens[at].is_word("as");
            let counted = if has_cue { None } else { self.counted_at(at) };
            if !has_cue && counted.is_none() {
                continue;
            }
            let Some(argument) = self.choose(&texts, &sentence(&self.tokens, at)) else { continue };
            let is_told = self.is_named(argument, &self.all()) || self.is_shown(argument, &self.all());
            let is_only = self.reader.of_error && texts.len() == 1;
            if !is_told && !is_only && self.arguments.len() > 1 {
                continue;
            }
            if let Some(expected) = self.example_after(at, argument).or(counted) {
                return vec![Statement::Format { field: argument.name.to_owned(), expected }];
            }
        }
        Vec::new()
    }

    /// Returns the example that follows the words for one.
    fn example_after(&self, at: usize, argument: &Argument<'_>) -> Option<ExpectedFormat> {
        let token = &self.tokens[at];
        let is_cue = token.is_one_of(&EXAMPLE_WORDS) && !token.rest.starts_with('=')
            || token.is_word("as") && self.tokens.get(at + 1).is_some_and(|next| next.is_symbol("#"));
        if !is_cue {
            return None;
        }
        // "style 'winter'" names a style, "in the style of x" shows one.
        let is_noun = ["style", "shape", "pattern"].iter().any(|noun| token.is_word(noun));
        if is_noun && !at.checked_sub(1).is_some_and(|before| self.tokens[before].is_word("the")) {
            return None;
        }
        let literal = literal_at(token.rest)?;
        let sent = argument.value.as_str()?;
        if is_phrase(literal.text) || !literal.text.contains(char::is_alphanumeric) {
            return None;
        }
        let has_sign = |c: char| c.is_ascii_digit() || "#/+-_@:.".contains(c);
        // "no such table: x" has a colon, and is no form.
        let is_form = literal.text.trim_end_matches(':').contains(has_sign) || literal.is_quoted;
        (is_form && literal.text != sent && shape(literal.text) != shape(sent))
            .then(|| ExpectedFormat::Named(literal.text.to_owned()))
    }

    /// Returns the form that a number of characters makes: "six hex digits".
    fn counted_at(&self, at: usize) -> Option<ExpectedFormat> {
        let (count, next) = number_at(&self.tokens, at).filter(|(count, _)| (1.0..=64.0).contains(count))?;
        let is_hex = self.tokens.get(next).is_some_and(|token| token.is_word("hex") || token.is_word("hexadecimal"));
        let kind = self.tokens.get(next + usize::from(is_hex))?;
        let (_, class) = COUNTED.iter().find(|(word, _)| kind.is_word(word))?;
        let range = sentence(&self.tokens, at);
        if range.len() > MAX_SHORT_TOKENS && !self.has_word(&range, &WANTING) {
            return None;
        }
        let class = if is_hex { "0-9a-fA-F" } else { class };
        Some(ExpectedFormat::Pattern(format!("^[{class}]{{{count}}}$")))
    }

    /// Reads an argument that a text asks for: "an address would help".
    pub(super) fn missing(&self) -> Vec<Statement> {
        for range in self.sentences() {
            let asks = self.has_word(&range, &ASKING)
                || self.tokens.get(range.end).is_some_and(|end| end.text == "?")
                || self.text.contains('必');
            if !asks {
                continue;
            }
            let tokens = &self.tokens[range.clone()];
            let named: Vec<String> = (0..tokens.len()).filter_map(|at| unsent_at(tokens, at, self.reader)).collect();
            // "we also need a name and an address"
            let is_sum = (2..=3).contains(&named.len()) && tokens.iter().any(|token| token.is_word("and"));
            let is_choice = tokens.iter().any(|token| token.is_word("or"));
            if named.len() == 1 || is_sum && !is_choice {
                return named.into_iter().map(|field| Statement::Missing { field }).collect();
            }
        }
        Vec::new()
    }
}

/// Returns the argument that the words at `at` name and that was not sent.
fn unsent_at(tokens: &[Token<'_>], at: usize, reader: &StatementReader<'_>) -> Option<String> {
    let token = &tokens[at];
    if !matches!(token.kind, TokenKind::Word | TokenKind::Quoted) {
        return None;
    }
    let spoken = || reader.vocabulary.spoken_field(tokens, at, tokens.len()).map(|(_, path)| path);
    let is_marked = token.kind == TokenKind::Quoted
        || at > 0 && tokens[at - 1].is_symbol("(")
        || words_of(token.text).nth(1).is_some();
    let name = || {
        let field = reader.vocabulary.field_path(token.text)?;
        (is_marked || !EVERYDAY.has(token.text)).then_some(field)
    };
    spoken().or_else(name).filter(|field| {
        crate::paths::get(reader.sent, field).is_none_or(Value::is_null) && !reader.vocabulary.is_discriminator(field)
    })
}
