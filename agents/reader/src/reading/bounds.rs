//! Statements about limits: of a number, of the length of a text, and of the number of entries of a list.

use std::ops::Range;

use serde_json::Value;

use super::clauses::is_negated;
use super::lists::{sentence, skip_words};
use super::statement_reader::{PhraseContext, StatementReader};
use super::tokens::{Token, TokenKind};
use super::words::{DEMANDS, MEASURES, UNITS};
use super::{Relation, Statement};
use crate::paths;
use crate::repair::is_within;

/// Words that may stand between a phrase and its limit.
const BEFORE_LIMIT: [&str; 19] = [
    "than",
    "or",
    "equal",
    "to",
    "of",
    "be",
    "is",
    "a",
    "value",
    "length",
    "the",
    "allowed",
    "for",
    "limit",
    "maximum",
    "minimum",
    "permitted",
    "accepted",
    "size",
];
/// Words that may stand between a limit and a phrase: "5 is the smallest value".
const AFTER_LIMIT: [&str; 7] = ["is", "are", "the", "at", "a", "as", "of"];
/// The maximum number of tokens between a limit and the phrase after it.
const MAX_LIMIT_DISTANCE: usize = 4;
/// Words for things that are counted per time, which no argument is: "at most 5 requests per minute".
const OCCASIONS: [&str; 8] = ["request", "requests", "call", "calls", "attempts", "retries", "times", "queries"];

/// Returns true for a number of minutes: "93 min."
fn are_minutes(tokens: &[Token<'_>], range: &Range<usize>, at: usize) -> bool {
    tokens[at].is_word("min")
        && at > range.start
        && tokens[at - 1].kind == TokenKind::Number
        && !at.checked_sub(2).is_some_and(|before| tokens[before].is_symbol(":"))
        && !tokens[range.clone()].iter().any(|token| token.is_word("max"))
}

impl StatementReader<'_> {
    pub(super) fn read_bound(&mut self, relation: Relation, context: &PhraseContext<'_>) {
        let tokens = context.tokens;
        let range = sentence(tokens, context.at);
        if self.is_argument(context) || are_minutes(tokens, &range, context.at) {
            return;
        }
        let found = self.limit_after(context, &range).or_else(|| limit_before(relation, context, &range));
        let Some((limit, end)) = found.filter(|(_, end)| !is_of_occasions(&tokens[..range.end], *end)) else { return };
        let Some(field) = self.field(context).filter(|field| self.has_size(field, context, &range, end)) else {
            return;
        };
        let begins_with_no = tokens[context.at].is_word("not");
        let is_denied = !begins_with_no
            && (is_negated(tokens, &range, context.at)
                || context.at > range.start && tokens[context.at - 1].is_word("no"));
        let sent = paths::get(self.original, &field);
        let relation = match relation {
            // "can't be more than 7"
            Relation::Above | Relation::Below if is_denied => opposite(relation),
            // "21 > 20" says what was sent, and not what is wanted.
            Relation::Above | Relation::Below | Relation::AtLeast | Relation::AtMost
                if is_comparison(&tokens[context.at..context.next])
                    && !is_demanded(tokens, &range, context.at, end)
                    && (is_between_numbers(tokens, context) || !tokens[context.at].is_symbol("<>=≥≤"))
                    && (matches!(relation, Relation::Above | Relation::Below)
                        || has_number(tokens, range.start..context.at))
                    && sent.is_some_and(|sent| is_within(sent, relation, limit)) =>
            {
                opposite(relation)
            }
            other => other,
        };
        // A number is no limit of itself: "The maximum is exceeded by 501".
        let is_own = matches!(relation, Relation::AtLeast | Relation::AtMost | Relation::MultipleOf)
            && sent.and_then(Value::as_f64) == Some(limit);
        if !is_own {
            self.push(Statement::Bound { field, relation, limit });
        }
    }

    /// Returns false for a field of which the text shows the identifier that was sent, where neither its name nor a unit says that its length
    /// is meant: "A-1: 12 reserved, at least 5".
    fn has_size(&self, field: &str, context: &PhraseContext<'_>, range: &Range<usize>, end: usize) -> bool {
        let sent = paths::get(self.original, field).and_then(Value::as_str);
        // "The letter is for up to 2 kg"
        let is_measure = |unit: &Token<'_>| unit.is_one_of(&MEASURES);
        if sent.is_some_and(|sent| sent.parse::<f64>().is_err()) && context.tokens.get(end).is_some_and(is_measure) {
            return false;
        }
        let is_identifier = sent.is_some_and(|sent| sent.contains(|c: char| c.is_ascii_digit()));
        let is_shown = |token: &Token<'_>| token.kind == TokenKind::Word && Some(token.text) == sent;
        !(is_identifier && context.tokens.iter().any(is_shown))
            || context.tokens[range.clone()].iter().any(|token| token.is_one_of(&UNITS))
            || context.segment.subject.is_some_and(|subject| subject.known)
            || self.field_by_name(context).is_some()
    }

    /// Returns true if a phrase is the name of an argument, or that of one in a URL: "limit: 5 is not valid", "?limit=5".
    fn is_argument(&self, context: &PhraseContext<'_>) -> bool {
        let tokens = context.tokens;
        let is_known = || self.vocabulary.field_path(tokens[context.at].text).is_some();
        // "expected string to have >=3 characters at limit"
        let is_place = |before: &Token<'_>| before.is_symbol("&?") || before.is_word("at");
        let is_in_url = || context.at.checked_sub(1).is_some_and(|before| is_place(&tokens[before]));
        context.next == context.at + 1 && tokens[context.at].is_word("limit") && (is_known() || is_in_url())
    }

    /// Returns the limit after a phrase, and the index after it.
    fn limit_after(&self, context: &PhraseContext<'_>, range: &Range<usize>) -> Option<(f64, usize)> {
        let tokens = &context.tokens[..range.end];
        // "3 or more", "3+"
        if tokens[context.at].is_word("or") || tokens[context.at].is_symbol("+") {
            return None;
        }
        let at = skip_words(tokens, context.next, &BEFORE_LIMIT, 5);
        // "0 is less than the minimum of 1": the minimum is read by itself.
        let is_limit = |token: &Token<'_>| ["minimum", "maximum", "limit"].iter().any(|word| token.is_word(word));
        if is_comparison(&tokens[context.at..context.next]) && tokens[context.next..at].iter().any(is_limit) {
            return None;
        }
        // "the maximum allowed limit is 100"
        let is_name = |token: &Token<'_>| self.vocabulary.field_path(token.text).is_some();
        let named = tokens.get(at).is_some_and(is_name);
        let at = if named { skip_words(tokens, at + 1, &BEFORE_LIMIT, 3) } else { at };
        number_at(tokens, at).filter(|(_, end)| !is_fraction(tokens, *end))
    }

    pub(super) fn push_bound(&mut self, relation: Relation, limit: f64, context: &PhraseContext<'_>) {
        if let Some(field) = self.field(context) {
            self.push(Statement::Bound { field, relation, limit });
        }
    }

    pub(super) fn read_between(&mut self, context: &PhraseContext<'_>) {
        let tokens = context.tokens;
        let words = ["of", "the", "is", "in", "range", "a", "number", "are", "values", "value"];
        let at = skip_words(tokens, context.next, &words, 4);
        // "the range of valid ports is 30000-32767"
        let noun = tokens.iter().skip(at).take(3).position(|token| token.is_word("is") || token.is_word("are"));
        let is_range = tokens[context.next - 1].is_word("range") && context.next + 4 > at;
        let at = noun.filter(|_| is_range).map_or(at, |noun| skip_words(tokens, at + noun, &words, 4));
        let is_bracket = tokens.get(at).is_some_and(|token| token.is_symbol("["));
        let at = at + usize::from(is_bracket);
        let number = |at: usize| tokens.get(at).and_then(Token::number);
        let is_joint = |t: &Token<'_>| {
            ["and", "to", "through", "till", "until", "und", "et", "bis", "à"].iter().any(|word| t.is_word(word))
                || t.is_symbol("–—-.…")
                || is_bracket && t.is_symbol(",")
        };
        let joints = tokens.iter().skip(at + 1).take(3).take_while(|token| is_joint(token)).count();
        // "1.5.0" is a version.
        let joints = if joints == 1 && tokens[at + 1].is_symbol(".") { 0 } else { joints };
        let limits = match (number(at), number(at + 1 + joints)) {
            (Some(low), Some(high)) if joints > 0 => Some((low, high)),
            // `18-120` is one word.
            _ => tokens
                .get(at)
                .and_then(|token| token.text.split_once('-'))
                .and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?))),
        };
        let Some((low, high)) = limits else { return };
        let is_outside = |sent: &Value| sent.as_f64().is_some_and(|sent| sent < low || sent > high);
        if let Some(field) = self.field(context).or_else(|| self.broken_by(is_outside, context)) {
            self.push(Statement::Bound { field: field.clone(), relation: Relation::AtLeast, limit: low });
            self.push(Statement::Bound { field, relation: Relation::AtMost, limit: high });
        }
    }
}

/// Returns the limit before a phrase, and the index after the phrase: "20 characters max", "3 or more".
fn limit_before(relation: Relation, context: &PhraseContext<'_>, range: &Range<usize>) -> Option<(f64, usize)> {
    let tokens = context.tokens;
    let phrase = &tokens[context.at];
    let is_abbreviation = context.next == context.at + 1
        && phrase.text.len() <= 3
        && !["max", "min", "+"].iter().any(|known| phrase.says(known));
    let compares = is_comparison(&tokens[context.at..context.next]) && !phrase.is_word("or");
    if !matches!(relation, Relation::AtLeast | Relation::AtMost) || is_abbreviation || compares {
        return None;
    }
    let from = range.start.max(context.at.saturating_sub(MAX_LIMIT_DISTANCE));
    let is_link = |token: &Token<'_>| token.is_one_of(&UNITS) || AFTER_LIMIT.iter().any(|word| token.is_word(word));
    let at = (from..context.at).rev().find(|at| !is_link(&tokens[*at]))?;
    // A word for a number may have two words: "one hundred".
    let has_two = at > from && scale_of(&tokens[at]).is_some() && number_at(tokens, at - 1).is_some();
    let at = if has_two { at - 1 } else { at };
    let (limit, end) = number_at(tokens, at).filter(|(_, end)| *end <= context.at)?;
    let before = at.checked_sub(1).filter(|before| *before >= range.start).map(|before| &tokens[before]);
    // "at least 1 or more"
    let is_part = before.is_some_and(|before| before.is_symbol("/.-"));
    let next = tokens[..range.end].get(context.next);
    // "one or more arguments are wrong" counts something else.
    let counts = end == context.at
        && tokens[at].kind == TokenKind::Word
        && next.is_some_and(|next| next.kind == TokenKind::Word && !next.is_one_of(&UNITS));
    // "3+ characters", "must be 18+"
    let is_sum = tokens[context.at].is_symbol("+")
        && (end != context.at
            || match next {
                Some(next) if next.kind == TokenKind::Word => !next.is_one_of(&UNITS),
                Some(next) if next.kind == TokenKind::Number => true,
                _ => !tokens[range.start..at].iter().any(|token| token.is_one_of(&DEMANDS)),
            });
    (!is_part && !counts && !is_sum).then_some((limit, context.next))
}

/// Returns the value of a number at `at`, in digits or in words, and the index after it.
pub(super) fn number_at(tokens: &[Token<'_>], at: usize) -> Option<(f64, usize)> {
    let first = tokens.get(at)?;
    let article = first.is_word("a") && tokens.get(at + 1).is_some_and(|next| scale_of(next).is_some());
    let number = if article { 1.0 } else { number_of(first)? };
    match tokens.get(at + 1).and_then(scale_of).filter(|_| first.kind == TokenKind::Word) {
        Some(scale) => Some((number * scale, at + 2)),
        None => Some((number, at + 1)),
    }
}

fn scale_of(token: &Token<'_>) -> Option<f64> {
    [("hundred", 100.0), ("thousand", 1000.0)].iter().find(|(word, _)| token.is_word(word)).map(|(_, scale)| *scale)
}

/// Returns the value of a number, in digits or in a word.
fn number_of(token: &Token<'_>) -> Option<f64> {
    const WORDS: [&str; 21] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    const TENS: [&str; 7] = ["thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let word = |words: &[&str]| words.iter().position(|word| token.is_word(word));
    token
        .number()
        .or_else(|| word(&WORDS).map(|number| number as f64))
        .or_else(|| word(&TENS).map(|tens| (tens * 10 + 30) as f64))
        .or_else(|| scale_of(token))
}

/// Returns true if a fraction continues at `end`: Go writes numbers that were sent as `501/1`.
fn is_fraction(tokens: &[Token<'_>], end: usize) -> bool {
    tokens.get(end).is_some_and(|token| token.is_symbol("/"))
        && tokens.get(end + 1).is_some_and(|token| token.kind == TokenKind::Number)
}

/// Returns true if what a number before `end` counts happens, "5 requests per minute", or if it is a share: "3 in 100".
pub(super) fn is_of_occasions(tokens: &[Token<'_>], end: usize) -> bool {
    let is_occasion = |token: &Token<'_>| OCCASIONS.iter().any(|word| token.is_word(word));
    let is_rate = |token: &Token<'_>| token.is_word("per");
    let is_share = |token: &Token<'_>| token.is_word("in") || token.is_word("of");
    tokens.get(end).is_some_and(|token| is_occasion(token) || is_rate(token))
        || tokens.get(end).is_some_and(is_share)
            && tokens.get(end + 1).is_some_and(|next| next.kind == TokenKind::Number)
        || tokens.get(end + 1).is_some_and(is_rate)
}

/// Returns true for a phrase that compares: "greater than", "below", ">".
fn is_comparison(phrase: &[Token<'_>]) -> bool {
    phrase.iter().any(|token| {
        token.is_symbol("<><=>=≥≤")
            || ["than", "above", "below", "under", "over", "equal"].iter().any(|word| token.is_word(word))
    })
}

/// Returns true if a comparison stands between two numbers: "21 > 20".
fn is_between_numbers(tokens: &[Token<'_>], context: &PhraseContext<'_>) -> bool {
    let is_number = |token: &Token<'_>| token.kind == TokenKind::Number;
    context.at.checked_sub(1).is_some_and(|before| is_number(&tokens[before]))
        && tokens.get(context.next).is_some_and(is_number)
}

fn has_number(tokens: &[Token<'_>], range: Range<usize>) -> bool {
    tokens[range].iter().any(|token| token.kind == TokenKind::Number)
}

/// Returns true if words around a comparison make it a demand: "must be", "is required".
fn is_demanded(tokens: &[Token<'_>], range: &Range<usize>, at: usize, end: usize) -> bool {
    let is_demand = |token: &Token<'_>| token.is_one_of(&DEMANDS);
    tokens[range.start..at].iter().any(is_demand) || tokens[..range.end].iter().skip(end).take(4).any(is_demand)
}

fn opposite(relation: Relation) -> Relation {
    match relation {
        Relation::Above => Relation::AtMost,
        Relation::AtLeast => Relation::Below,
        Relation::Below => Relation::AtLeast,
        Relation::AtMost => Relation::Above,
        Relation::MultipleOf => Relation::MultipleOf,
    }
}
