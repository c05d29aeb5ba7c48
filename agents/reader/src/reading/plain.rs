//! Reads texts in which no phrase gives a remedy: by what was sent, and by what stands beside it.
//!
//! A remedy has to contradict what was sent. "Room R1 sleeps four" is a limit for the only number above it, "red, green and blue" are the
//! values of an argument that has another one, and a name close to a name that was sent is the one that was meant.

mod amounts;
mod choices;
mod contradiction;
mod forms;
mod keys;
mod wanted;

use std::ops::Range;

use serde_json::Value;

pub(super) use self::choices::is_close;
pub(super) use self::contradiction::contradicts;
use super::Statement;
use super::bounds::number_at;
use super::lists::sentence;
use super::mentions::{is_same_word, words_of};
use super::statement_reader::StatementReader;
use super::tokens::{Token, TokenKind, lex};
use super::words::{CHARACTERS, NAME_ENDS, WordList};

/// Longer texts are documents.
pub(super) const MAX_BYTES: usize = 300;
/// Shorter words are no names in prose.
const MIN_NAME_BYTES: usize = 3;

/// A text with what was sent.
struct Plain<'t, 'v> {
    reader: &'t StatementReader<'v>,
    text: &'t str,
    tokens: Vec<Token<'t>>,
    /// The numbers, each with the token after it.
    amounts: Vec<Option<(f64, usize)>>,
    arguments: Vec<Argument<'t>>,
}

/// An argument that was sent.
struct Argument<'t> {
    name: &'t str,
    value: &'t Value,
    /// The tokens that name it.
    named: Vec<usize>,
    /// The tokens at which its value is shown.
    shown: Vec<usize>,
}

/// Returns what a text says in plain words about the arguments that were sent. `prose` are its sentences; they stand for the text if it
/// has tags or objects.
pub(super) fn statements_of(text: &str, prose: &str, reader: &StatementReader<'_>) -> Vec<Statement> {
    let trimmed = text.trim();
    let Some(sent) = reader.sent.as_object() else { return Vec::new() };
    let arguments = sent.iter().filter(|(name, _)| !reader.vocabulary.is_discriminator(name));
    let mut arguments: Vec<Argument<'_>> =
        arguments.map(|(name, value)| Argument { name, value, named: Vec::new(), shown: Vec::new() }).collect();
    if trimmed.starts_with('{')
        && text.len() <= MAX_BYTES
        && let Ok(Value::Object(object)) = serde_json::from_str(trimmed)
    {
        let found = keys::statements_of(&object, reader, &arguments);
        if !found.is_empty() {
            return found;
        }
    }
    // A brace or an angle that is left belongs to a value: "{dir}/none: not found".
    let is_marked = |text: &str| text.contains(['{', '<']);
    let text = if is_marked(text) { prose.trim() } else { text };
    if text.len() > MAX_BYTES || is_marked(text) {
        return Vec::new();
    }
    let mut tokens = Vec::with_capacity(text.len() / 5 + 4);
    lex(text, &mut tokens);
    // Only a number, a list and the length of a text may have a limit.
    let is_sized = |argument: &Argument<'_>| argument.value.is_number() || argument.value.is_array();
    let has_sizes = arguments.iter().any(is_sized) || tokens.iter().any(|token| token.is_one_of(&CHARACTERS));
    let amount_at = |at: usize| if has_sizes { number_at(&tokens, at) } else { None };
    let amounts: Vec<Option<(f64, usize)>> = (0..tokens.len()).map(amount_at).collect();
    let mut plain = Plain { reader, text, tokens, amounts, arguments: Vec::new() };
    for argument in &mut arguments {
        let initials: Vec<u8> = words_of(argument.name)
            .filter_map(|word| word.bytes().next())
            .map(|byte| byte.to_ascii_lowercase())
            .collect();
        let begins = |at: &usize| {
            plain.tokens[*at].text.bytes().next().is_some_and(|byte| initials.contains(&byte.to_ascii_lowercase()))
        };
        let named: Vec<usize> = plain.all().filter(begins).filter(|at| plain.names_at(argument, *at)).collect();
        let shown: Vec<usize> = plain.all().filter(|at| plain.shows_at(argument, *at)).collect();
        (argument.named, argument.shown) = (named, shown);
    }
    plain.arguments = arguments;
    let mut found = plain.waits();
    found.extend(plain.calls());
    for read in [
        Plain::removals,
        Plain::replacements,
        Plain::names,
        Plain::values,
        Plain::wanted_amounts,
        Plain::options,
        Plain::dates,
        Plain::ranges,
        Plain::limits,
        Plain::types,
        Plain::formats,
        Plain::missing,
    ] {
        let more = read(&plain);
        if !more.is_empty() {
            found.extend(more);
            break;
        }
    }
    found
}

impl<'t> Plain<'t, '_> {
    /// Returns the ranges of the sentences that are not empty.
    fn sentences(&self) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            let range = sentence(&self.tokens, at);
            let end = range.end.max(at);
            if end > at {
                found.push(at..end);
            }
            at = end + 1;
        }
        found
    }

    fn has_word(&self, range: &Range<usize>, words: &WordList) -> bool {
        self.tokens[range.clone()].iter().any(|token| token.is_one_of(words))
    }

    /// Returns true if the tokens name an argument: by its name, or by a word of it.
    fn is_named(&self, argument: &Argument<'_>, range: &Range<usize>) -> bool {
        argument.named.iter().any(|at| range.contains(at))
    }

    fn names_at(&self, argument: &Argument<'_>, at: usize) -> bool {
        let token = &self.tokens[at];
        if !matches!(token.kind, TokenKind::Word | TokenKind::Quoted) {
            return false;
        }
        let is_marked =
            || token.kind == TokenKind::Quoted || self.tokens.get(at + 1).is_some_and(|next| next.is_symbol(":="));
        if token.text.eq_ignore_ascii_case(argument.name) {
            return argument.name.len() >= MIN_NAME_BYTES || is_marked();
        }
        let is_word = |word: &str| word.len() >= MIN_NAME_BYTES && is_same_word(token.text, word);
        token.kind == TokenKind::Word && words_of(argument.name).any(|word| is_word(word) && !NAME_ENDS.has(word))
            || token.text.len() > argument.name.len()
                && self.reader.vocabulary.field_of_plural(token.text).as_deref() == Some(argument.name)
    }

    /// Returns true if the tokens show the value of an argument.
    fn is_shown(&self, argument: &Argument<'_>, range: &Range<usize>) -> bool {
        argument.shown.iter().any(|at| range.contains(at))
    }

    fn shows_at(&self, argument: &Argument<'_>, at: usize) -> bool {
        let token = &self.tokens[at];
        match argument.value {
            Value::String(text) => {
                let begins = token.text.bytes().next().map(|byte| byte.to_ascii_lowercase())
                    == text.bytes().next().map(|byte| byte.to_ascii_lowercase());
                begins
                    && (token.text.eq_ignore_ascii_case(text)
                        || token.kind != TokenKind::Quoted
                            && text.len() > token.text.len()
                            && self.rest_at(at).starts_with(text.as_str())
                            && text.contains(|c: char| !c.is_alphanumeric()))
            }
            Value::Number(number) => self.amounts[at].is_some_and(|(amount, _)| number.as_f64() == Some(amount)),
            Value::Bool(truth) => token.is_word(if *truth { "true" } else { "false" }),
            _ => false,
        }
    }

    /// Returns the text from a token on.
    fn rest_at(&self, at: usize) -> &'t str {
        let start = self.tokens[at].text.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        self.text.get(start..).unwrap_or_default()
    }

    fn all(&self) -> Range<usize> {
        0..self.tokens.len()
    }

    /// Returns the one of these arguments that a sentence is about: the only one that it names or shows, or that the text does, or the only
    /// one that there is.
    fn choose<'c>(&self, among: &[&'c Argument<'t>], range: &Range<usize>) -> Option<&'c Argument<'t>> {
        if self.reader.is_of_other(&self.tokens, range.clone()) {
            return None;
        }
        let only = |is: &dyn Fn(&Argument<'t>) -> bool| {
            let mut found = among.iter().filter(|argument| is(argument));
            found.next().filter(|_| found.next().is_none()).copied()
        };
        only(&|argument| self.is_named(argument, range))
            .or_else(|| only(&|argument| self.is_shown(argument, range)))
            .or_else(|| only(&|argument| self.is_shown(argument, &self.all())))
            .or_else(|| only(&|argument| self.is_named(argument, &self.all())))
            .or_else(|| only(&|_| true))
    }
}
