//! Limits, dates and delays in plain words.

use std::ops::Range;

use serde_json::Value;

use super::{Argument, Plain};
use crate::reading::advice::in_seconds;
use crate::reading::bounds::{is_of_occasions, number_at};
use crate::reading::lists::sentence;
use crate::reading::tokens::{Token, TokenKind};
use crate::reading::words::{
    CHARACTERS, CODES, DATE_LIMITS, HIGHEST, LIMITS, LOWEST, MONTHS, RANGE_JOINTS, SOON, WAITING_WORDS,
};
use crate::reading::{Relation, Statement};
use crate::wrong_values::is_date;

/// Arguments whose names say how much of a result is wanted. Numbers in results are seldom about them.
const AMOUNTS: [&str; 6] = ["limit", "page", "offset", "size", "count", "tail"];

/// A number of a text.
struct Number {
    at: usize,
    end: usize,
    value: f64,
}

impl<'t> Plain<'t, '_> {
    /// Reads a delay: "Give it another 20 minutes", "in half a minute".
    pub(super) fn waits(&self) -> Vec<Statement> {
        if !self.has_word(&self.all(), &WAITING_WORDS) {
            return Vec::new();
        }
        for at in self.all() {
            if !self.is_pause(at) {
                continue;
            }
            let Some((seconds, unit)) = self.delay_at(at) else { continue };
            let is_amount = |argument: &Argument<'_>| {
                argument.value.is_number() && argument.named.contains(&unit)
                    || argument.value.as_f64().is_some_and(|sent| sent == seconds)
            };
            if !self.arguments.iter().any(is_amount) {
                // `as` saturates at a delay longer than any real one.
                return vec![Statement::Delay { seconds: seconds.ceil() as u32 }];
            }
        }
        Vec::new()
    }

    /// Returns true if the words before a time at `at` say that it passes before another call. How long something lasts ("held for 9 s")
    /// and when there is news ("next update in 30 minutes") is none.
    fn is_pause(&self, at: usize) -> bool {
        let near = at.saturating_sub(3)..at;
        // "Give it 2 minutes"
        let gives = |at: usize| self.tokens[at.saturating_sub(2)..at].iter().any(|token| token.is_word("give"));
        if gives(at) {
            return true;
        }
        let Some(cue) = near.rev().find(|cue| self.tokens[*cue].is_one_of(&SOON)) else { return false };
        let before = &self.tokens[cue.saturating_sub(2)..cue];
        let is = |words: &[&str]| before.iter().any(|token| words.iter().any(|word| token.is_word(word)));
        if self.tokens[cue].is_word("for") {
            return is(&[
                "wait", "waiting", "pause", "sleep", "off", "down", "retry", "cool", "busy", "back", "patience",
            ]);
        }
        !is(&["update", "updates", "news", "report", "reports", "post", "posts", "notice"])
    }

    /// Returns the seconds of a time at `at`, and the index of its unit.
    fn delay_at(&self, at: usize) -> Option<(f64, usize)> {
        let tokens = &self.tokens;
        let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
        let (amount, unit) = if is(at, "half") && (is(at + 1, "a") || is(at + 1, "an")) {
            (0.5, at + 2)
        } else if is(at, "a") || is(at, "an") {
            (1.0, at + 1)
        } else {
            number_at(tokens, at)?
        };
        let token = tokens.get(unit)?;
        Some((in_seconds(amount, token.text)?, unit))
    }

    /// Reads two limits: "Stars run 1 through 5."
    pub(super) fn ranges(&self) -> Vec<Statement> {
        let numbers = self.numbers(true);
        for pair in numbers.windows(2) {
            let [low, high] = pair else { continue };
            let joint = &self.tokens[low.end..high.at];
            let is_joint = |token: &Token<'_>| token.is_one_of(&RANGE_JOINTS) || token.is_symbol("-–—…");
            // "between 3 and 5", but not "writers 3 and 5"
            let is_sum = joint.iter().any(|token| ["and", "und", "et"].iter().any(|word| token.is_word(word)));
            let opens = |before: &Token<'_>| {
                before.is_symbol("([:") || ["between", "zwischen", "entre"].iter().any(|word| before.is_word(word))
            };
            let is_open = !is_sum || low.at.checked_sub(1).is_some_and(|before| opens(&self.tokens[before]));
            let is_range =
                is_open && (1..=2).contains(&joint.len()) && joint.iter().all(is_joint) && low.value < high.value;
            let is_outside = |argument: &&Argument<'t>| {
                self.size(argument, low.at).is_some_and(|sent| sent < low.value || sent > high.value)
            };
            let broken: Vec<&Argument<'t>> = self.arguments.iter().filter(is_outside).collect();
            if is_range && let Some(argument) = self.choose(&broken, &sentence(&self.tokens, low.at)) {
                let bound = |relation, limit| Statement::Bound { field: argument.name.to_owned(), relation, limit };
                return vec![bound(Relation::AtLeast, low.value), bound(Relation::AtMost, high.value)];
            }
        }
        Vec::new()
    }

    /// Reads a limit that was broken: "Room R1 sleeps four, and you have nine guests."
    pub(super) fn limits(&self) -> Vec<Statement> {
        let numbers: Vec<Number> = self.numbers(false);
        let near = |number: &&Number| {
            let before = &self.tokens[number.at.saturating_sub(3)..number.at];
            let own = before
                .iter()
                .rposition(|token| token.kind == TokenKind::End || token.is_symbol("(,"))
                .map_or(0, |end| end + 1);
            before[own..].iter().any(|token| token.is_one_of(&LIMITS) && !token.is_word("has"))
        };
        let ordered = numbers.iter().filter(near).chain(numbers.iter().filter(|number| !near(number)));
        for number in ordered {
            let range = sentence(&self.tokens, number.at);
            let relations: Vec<Relation> = self.relations(&range);
            let is_broken = |argument: &&Argument<'t>| {
                self.size(argument, number.at).is_some_and(|sent| {
                    relations.iter().any(|relation| match relation {
                        Relation::AtMost => sent > number.value,
                        _ => sent < number.value,
                    })
                })
            };
            let broken: Vec<&Argument<'t>> = self.arguments.iter().filter(is_broken).collect();
            let is_meant =
                |argument: &Argument<'t>| self.is_named(argument, &range) || self.is_shown(argument, &self.all());
            let has_cue = self.has_word(&range, &LIMITS);
            let chosen: Vec<&Argument<'t>> = match self.choose(&broken, &range) {
                Some(argument) => vec![argument],
                // "a.py has only 120 lines" is a limit of both the start and the end.
                None if relations.len() == 1 => broken.iter().copied().take(2).collect(),
                None => Vec::new(),
            };
            let fits = |argument: &&Argument<'t>| {
                let is_amount = AMOUNTS.iter().any(|name| argument.name.eq_ignore_ascii_case(name));
                let is_of_text = argument.value.is_string();
                if is_meant(argument) {
                    has_cue || self.is_shown(argument, &self.all()) && self.is_named(argument, &range)
                } else {
                    near(&number) && !is_of_text && !is_amount && !self.text.trim().contains('\n')
                }
            };
            let bounds: Vec<Statement> = chosen
                .into_iter()
                .filter(fits)
                .filter_map(|argument| {
                    let sent = self.size(argument, number.at)?;
                    let relation = if sent > number.value { Relation::AtMost } else { Relation::AtLeast };
                    Some(Statement::Bound { field: argument.name.to_owned(), relation, limit: number.value })
                })
                .collect();
            if !bounds.is_empty() {
                return bounds;
            }
        }
        Vec::new()
    }

    /// Returns the relations that the words of a sentence leave open.
    fn relations(&self, range: &Range<usize>) -> Vec<Relation> {
        match (self.has_word(range, &HIGHEST), self.has_word(range, &LOWEST)) {
            (true, false) => vec![Relation::AtMost],
            (false, true) => vec![Relation::AtLeast],
            _ => vec![Relation::AtMost, Relation::AtLeast],
        }
    }

    /// Returns the numbers of the text that nobody sent and that are no codes. With `one`, words that stand for things are numbers too.
    fn numbers(&self, one: bool) -> Vec<Number> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            let Some((value, end)) = self.amounts[at] else {
                at += 1;
                continue;
            };
            let token = &self.tokens[at];
            let before = at.checked_sub(1).map(|before| &self.tokens[before]);
            let is_pronoun = !one && (token.is_word("one") || token.is_word("zero"));
            let is_code = before.is_some_and(|before| before.is_one_of(&CODES) || before.is_symbol("#/.[$€=&"));
            let unit = self.tokens.get(end);
            let is_time = unit.is_some_and(|unit| in_seconds(1.0, unit.text).is_some())
                && !self.arguments.iter().any(|argument| argument.named.contains(&end));
            // "3 in 100", "31 January"
            let is_whole = at > 1 && is_of_occasions(&self.tokens[..=at], at - 1);
            let is_part = unit.is_some_and(|unit| unit.is_symbol("/%")) && !one
                || is_of_occasions(&self.tokens, end)
                || is_whole && self.amounts[at - 2].is_some()
                || unit.is_some_and(|unit| unit.is_one_of(&MONTHS));
            let is_sent = self.arguments.iter().any(|argument| argument.value.as_f64() == Some(value));
            if !is_pronoun && !is_code && !is_time && !is_part && (one || !is_sent) {
                found.push(Number { at, end, value });
            }
            at = end;
        }
        found
    }

    /// Returns what a number at `at` may limit of an argument: its number, its entries, or its characters if the sentence says so.
    fn size(&self, argument: &Argument<'_>, at: usize) -> Option<f64> {
        let range = sentence(&self.tokens, at);
        // "letter" may be the value that was sent.
        let says_characters = |at: usize| self.tokens[at].is_one_of(&CHARACTERS) && !argument.shown.contains(&at);
        match argument.value {
            Value::Number(number) => number.as_f64(),
            Value::Array(items) if self.is_named(argument, &range) => Some(items.len() as f64),
            Value::String(_) if range.clone().any(says_characters) => {
                let original = self.reader.original.get(argument.name).and_then(Value::as_str)?;
                Some(original.chars().count() as f64)
            }
            _ => None,
        }
    }

    /// Reads a date that was not kept to: "Rates are known up to 2024-05-31."
    pub(super) fn dates(&self) -> Vec<Statement> {
        let is_sent =
            |token: &Token<'_>| self.arguments.iter().any(|argument| argument.value.as_str() == Some(token.text));
        let shown = self.all().filter(|at| {
            let token = &self.tokens[*at];
            token.kind != TokenKind::End && is_date(token.text) && !is_sent(token)
        });
        let shown: Vec<usize> = shown.collect();
        let [at] = shown[..] else { return Vec::new() };
        let date = self.tokens[at].text;
        let range = sentence(&self.tokens, at);
        let dated: Vec<&Argument<'t>> =
            self.arguments.iter().filter(|argument| argument.value.as_str().is_some_and(is_date)).collect();
        let limits = self.has_word(&range, &DATE_LIMITS) || self.has_word(&range, &LIMITS);
        let Some(argument) = self.choose(&dated, &range).filter(|_| limits) else { return Vec::new() };
        let is_later = argument.value.as_str().is_some_and(|sent| sent > date);
        let relation = if is_later { Relation::AtMost } else { Relation::AtLeast };
        vec![Statement::Compared { field: argument.name.to_owned(), relation, other: date.to_owned() }]
    }
}
