//! Reads the value that a sentence gives for an argument: "Set `cursor` to C-010", "The page is at version 5, not 3".

use std::ops::Range;

use serde_json::Value;

use super::clauses::is_order;
use super::mentions::{Mention, Sign};
use super::patterns::{is_format, json_type};
use super::segment::Segment;
use super::statement_reader::StatementReader;
use super::tokens::{Token, TokenKind};
use super::{Statement, Vocabulary};
use crate::paths;

/// Words between a field and its value.
const LINKS: &[&str] = &[
    "to",
    "as",
    "of",
    "is",
    "at",
    "now",
    "the",
    "value",
    "be",
    "equal",
    "exactly",
    "currently",
    "was",
    "are",
    "number",
];
/// Words after which a value is an example.
const EXAMPLES: &[&str] = &[
    "like", "example", "instance", "e.g", "eg", "than", "least", "most", "between", "over", "under", "maximum",
    "minimum",
];
/// Words that say that a value beside a field is the one that it has to have.
const CURRENT: &[&str] =
    &["current", "currently", "now", "actual", "latest", "stale", "not", "newest", "changed", "outdated"];
/// Words that say that a value is given by its description.
const DESCRIBED: &[&str] = &["the", "a", "an", "its", "another", "different", "other"];

impl StatementReader<'_> {
    pub(super) fn read_values(&mut self, segment: &Segment<'_>, tokens: &[Token<'_>], range: Range<usize>) {
        let said = self.mentions_in(tokens, range.clone());
        let subject = segment.subject.filter(|subject| subject.known).map(|subject| subject.name.clone());
        let names: Vec<&Mention> = said.iter().filter(|mention| mention.sign != Sign::Value).collect();
        for at in range.clone() {
            let token = &tokens[at];
            self.read_plural(tokens, at);
            if token.is_word("mean") || token.is_word("meant") {
                self.read_meant(tokens, at + 1..range.end, &said, subject.as_deref());
            } else if is_order(tokens, &range, at) {
                self.read_order(tokens, at..range.end, &names, &said, subject.as_deref());
            } else if is_demand(tokens, at) {
                let named = names.iter().rev().find(|mention| mention.end <= at && at - mention.end <= 2);
                if let Some(field) =
                    named.map(|mention| mention.path.clone()).or_else(|| subject.clone().filter(|_| at == range.start))
                {
                    self.read_required(tokens, at + 1..range.end, field);
                }
            } else if token.is_word("expected") || token.is_word("expecting") {
                self.read_expected(tokens, at + 1, &range, &said, subject.as_deref());
            }
        }
        self.read_current(tokens, &range, &names);
        for mention in said.iter().filter(|mention| mention.sign == Sign::Name) {
            if self.sure.len() < 2 && !self.sure.contains(&mention.path) {
                self.sure.push(mention.path.clone());
            }
        }
        let meant = said.iter().find(|mention| mention.sign <= Sign::Words);
        if let Some(path) = meant.map(|mention| mention.path.clone()).or(subject) {
            self.last_mention = Some(path);
        }
    }

    /// Reads "did you mean X?".
    fn read_meant(&mut self, tokens: &[Token<'_>], range: Range<usize>, said: &[Mention], subject: Option<&str>) {
        let is_named = |token: &&Token<'_>| {
            token.kind == TokenKind::Quoted
                || is_value(token, self.vocabulary)
                || self.vocabulary.resolve_action(token.text).is_some()
        };
        let near = &tokens[range.start..range.end.min(range.start + 8)];
        // A single word is a value here, whatever it looks like.
        let is_word = |token: &&Token<'_>| {
            token.kind == TokenKind::Word && near.get(1).is_none_or(|next| next.kind == TokenKind::Symbol)
        };
        let Some(token) = near.iter().find(is_named).or_else(|| near.first().filter(is_word)) else { return };
        // "Did you mean a or b?" does not say which.
        let at = tokens.iter().position(|other| std::ptr::eq(other, token)).unwrap_or(range.start);
        if is_listed(tokens, at, range.end) {
            return;
        }
        if let Some((tool, action)) = self.vocabulary.resolve_action(token.text) {
            return self.push(Statement::Suggest { tool: Some(tool), action });
        }
        let unknown = self.statements.iter().rev().find_map(|statement| match statement {
            Statement::Unrecognized { field } => Some(field.clone()),
            _ => None,
        });
        if let Some(name) =
            self.vocabulary.field_path(token.text).or_else(|| unknown.as_ref().map(|_| token.text.to_owned()))
        {
            if let Some(field) = unknown {
                self.push(Statement::Rename { field, name });
            }
            return;
        }
        let field = self.field_of_value(said, subject);
        self.note_value(field, token);
    }

    /// Reads an order with a field and a value in it.
    fn read_order(
        &mut self,
        tokens: &[Token<'_>],
        range: Range<usize>,
        names: &[&Mention],
        said: &[Mention],
        subject: Option<&str>,
    ) {
        let inside = names
            .iter()
            .filter(|mention| mention.at > range.start && mention.at <= range.start + 8 && mention.end <= range.end);
        for mention in inside.clone() {
            let at = skip(tokens, mention.end, range.end, LINKS);
            let is_next = |token: &&Token<'_>| {
                // "'pallet', 'fragile'" is a list of names.
                !tokens.get(mention.end).is_some_and(|next| next.is_symbol(","))
                    && (is_value(token, self.vocabulary) || self.is_set_word(tokens, &range, at))
            };
            if let Some(value) = tokens[..range.end].get(at).filter(is_next)
                && !is_example(tokens, at)
                && !is_listed(tokens, at, range.end)
            {
                return self.note_value(Some(mention.path.clone()), value);
            }
            // "Send 5 as version."
            if mention.at >= 2
                && ["as", "for", "in"].iter().any(|word| tokens[mention.at - 1].is_word(word))
                && is_value(&tokens[mention.at - 2], self.vocabulary)
                && !is_example(tokens, mention.at - 2)
            {
                return self.note_value(Some(mention.path.clone()), &tokens[mention.at - 2]);
            }
        }
        let verb = &tokens[range.start];
        self.read_other_name(tokens, &range, names);
        let gives =
            ["send", "provide", "specify", "include", "add", "supply", "give", "pass", "enter", "submit", "set"];
        if gives.iter().any(|word| verb.is_word(word))
            && let Some(mention) = inside.clone().find(|mention| mention.at <= range.start + 3)
            && paths::get(self.sent, &mention.path).is_none_or(Value::is_null)
            && self.sent.is_object()
        {
            return self.push_missing(mention.path.clone());
        }
        let is_simple =
            ["use", "try", "send", "pass", "enter", "choose", "retry"].iter().any(|word| verb.is_word(word));
        if !is_simple {
            return;
        }
        let at =
            skip(tokens, range.start + 1, range.end, &["the", "value", "with", "it", "again", "instead", "of", "id"]);
        let instead = tokens[range.clone()].iter().any(|token| token.is_word("instead"));
        if let Some(value) = tokens[..range.end].get(at).filter(|token| is_value(token, self.vocabulary))
            && !is_listed(tokens, at, range.end)
            && !tokens.get(at + 1).is_some_and(|next| next.is_symbol(":="))
            && (instead || value.kind == TokenKind::Quoted || at + 1 == range.end)
        {
            let replaced = tokens[at..range.end]
                .iter()
                .rposition(|token| token.is_word("of"))
                .and_then(|of| tokens.get(at + of + 1));
            let replaced = replaced.filter(|_| instead).and_then(|token| self.path_sent(token.text));
            let field = replaced.or_else(|| self.field_of_value(said, subject));
            return self.note_value(field, value);
        }
        // "Send in `cursor` the id of the last contact.", "Use the account's slug instead of its display name."
        let described = inside.clone().find(|mention| {
            let after = &tokens[mention.end..range.end];
            let is_owner = after.first().is_some_and(|token| token.is_symbol("'’")) && instead;
            let next = after.first();
            is_owner
                || mention.sign <= Sign::Words
                    && after.len() > 2
                    && next.is_some_and(|next| DESCRIBED.iter().any(|word| next.is_word(word)))
        });
        if let Some(mention) = described {
            self.note_stated(mention.path.clone(), None);
        }
    }

    /// Returns true if the word at `at` is all that an order gives: "Set `kind` to unpaid, or …".
    fn is_set_word(&self, tokens: &[Token<'_>], range: &Range<usize>, at: usize) -> bool {
        let verb = &tokens[range.start];
        let (word, before) = (&tokens[at], &tokens[at - 1]);
        let is_end =
            |next: &Token<'_>| matches!(next.kind, TokenKind::End | TokenKind::Symbol) || next.is_word("instead");
        ["set", "change", "switch"].iter().any(|known| verb.is_word(known))
            && before.is_word("to")
            && word.kind == TokenKind::Word
            && !DESCRIBED.iter().chain(&["one", "null", "today", "now"]).any(|other| word.is_word(other))
            && json_type(word.text).is_none()
            && self.vocabulary.field_path(word.text).is_none()
            && tokens.get(at + 1).is_none_or(is_end)
    }

    /// Reads "use `query` instead of `name`" and "`name` is deprecated, use `query`".
    fn read_other_name(&mut self, tokens: &[Token<'_>], range: &Range<usize>, names: &[&Mention]) {
        let Some(new) = names.iter().find(|mention| mention.at > range.start && mention.at <= range.start + 3) else {
            return;
        };
        let instead = tokens[new.end..range.end].iter().position(|token| token.is_word("instead"));
        let after = names.iter().find(|mention| instead.is_some_and(|instead| mention.at > new.end + instead));
        let deprecated = tokens[..range.start].iter().rev().take(6).any(|token| token.is_word("deprecated"));
        let before = names.iter().rev().find(|mention| deprecated && mention.end <= range.start);
        // "Unknown option '--count'. Use `lines` instead."
        let unknown = self.statements.iter().rev().find_map(|statement| match statement {
            Statement::Unrecognized { field } if *field != new.path => Some(field.clone()),
            _ => None,
        });
        if let Some(field) = unknown.filter(|_| instead.is_some() && paths::get(self.sent, &new.path).is_none()) {
            return self.push(Statement::Rename { field, name: new.path.clone() });
        }
        if let Some(old) = after.or(before)
            && old.path != new.path
            && paths::get(self.sent, &old.path).is_some()
        {
            self.push(Statement::Rename { field: old.path.clone(), name: new.path.clone() });
        }
    }

    /// Reads "must be 5" and "must be different from …".
    fn read_required(&mut self, tokens: &[Token<'_>], range: Range<usize>, field: String) {
        let at = skip(
            tokens,
            range.start,
            range.end,
            &["be", "equal", "to", "exactly", "set", "have", "the", "value", "been", "read"],
        );
        let Some(token) = tokens[..range.end].get(at).filter(|_| at > range.start) else { return };
        // "should be the original payment method"
        let is_described = at > range.start
            && tokens[at - 1].is_word("the")
            && token.kind == TokenKind::Word
            && ends_phrase(tokens, at, range.end);
        if token.is_word("different") || is_described {
            self.note_stated(field, None);
        } else if is_value(token, self.vocabulary)
            && !is_listed(tokens, at, range.end)
            && ends_value(tokens, at + 1, range.end)
        {
            self.note_value(Some(field), token);
        }
    }

    /// Reads "expected 5, got 3" and "expected version 7, current version 9".
    fn read_expected(
        &mut self,
        tokens: &[Token<'_>],
        at: usize,
        range: &Range<usize>,
        said: &[Mention],
        subject: Option<&str>,
    ) {
        let Some(value) = tokens[..range.end].get(at).filter(|token| is_value(token, self.vocabulary)) else { return };
        let sent = tokens[at + 1..range.end].iter().take(5).skip_while(|token| !is_contrast(token)).find(|token| {
            matches!(token.kind, TokenKind::Quoted | TokenKind::Number | TokenKind::Word)
                && self.path_sent(token.text).is_some()
        });
        if let Some(sent) = sent {
            let field = subject.map(str::to_owned).or_else(|| said.first().map(|mention| mention.path.clone()));
            let field = field.or_else(|| self.path_sent(sent.text));
            self.note_value(field, value);
        }
    }

    /// Reads a value beside a field of which another value was sent: "The page is at version 5, not 3", "580, but paid 290".
    fn read_current(&mut self, tokens: &[Token<'_>], range: &Range<usize>, names: &[&Mention]) {
        let is_current = tokens[range.clone()].iter().any(|token| CURRENT.iter().any(|word| token.is_word(word)));
        let has_bound = tokens[range.clone()].iter().any(|token| {
            ["between", "than", "least", "most", "maximum", "minimum", "range", "up", "max", "min"]
                .iter()
                .any(|word| token.is_word(word))
        });
        if is_current && !has_bound {
            for mention in names {
                let at = skip(tokens, mention.end, range.end, LINKS);
                if let Some(value) = tokens[..range.end].get(at).filter(|token| is_value(token, self.vocabulary))
                    && paths::get(self.sent, &mention.path).is_some_and(|sent| !is_same(sent, value.text))
                    && !is_listed(tokens, at, range.end)
                {
                    self.note_value(Some(mention.path.clone()), value);
                }
            }
        }
        // "You sent 3, but the document is at 5."
        let sent = range.clone().find(|at| {
            let before = at.checked_sub(1).filter(|before| *before >= range.start);
            before.is_some_and(|before| {
                ["sent", "have", "had", "got", "gave"].iter().any(|word| tokens[before].is_word(word))
            }) && self.path_sent(tokens[*at].text).is_some()
        });
        if let Some(sent) = sent
            && let Some(at) = (sent + 1..range.end).find(|at| {
                tokens[at - 1].is_word("at")
                    || tokens[at - 1].is_word("now")
                    || tokens[at - 1].is_word("is") && tokens[*at].kind == TokenKind::Number
            })
            && is_value(&tokens[at], self.vocabulary)
        {
            let field = self.path_sent(tokens[sent].text);
            self.note_value(field, &tokens[at]);
        }
        for at in range.clone() {
            let value = &tokens[at];
            let contrast = skip(tokens, at + 1, range.end, &[]);
            // "'open' or 'rejected', not 'done'"
            let ends_list = at > range.start && (tokens[at - 1].is_word("or") || tokens[at - 1].is_word("and"));
            if is_value(value, self.vocabulary)
                && !ends_list
                && !has_bound
                && let Some(word) = tokens[..range.end].get(contrast)
                && (word.is_word("not") || word.is_word("but"))
                && let Some(path) =
                    tokens[contrast + 1..range.end].iter().take(3).find_map(|token| self.path_sent(token.text))
            {
                let named = names
                    .iter()
                    .rev()
                    .find(|mention| mention.end <= at && paths::get(self.sent, &mention.path).is_some());
                let field = named.map_or(path, |mention| mention.path.clone());
                self.note_value(Some(field), value);
            }
        }
    }

    /// Returns the field that a stated value is for, if the text around it names one.
    fn field_of_value(&self, said: &[Mention], subject: Option<&str>) -> Option<String> {
        let shown = said.iter().find(|mention| mention.sign == Sign::Value).or_else(|| said.first());
        let shown = shown.map(|mention| mention.path.clone());
        let before = || self.last_fault().or_else(|| self.last_mention.clone()).or_else(|| self.sole_field());
        subject.map(str::to_owned).or(shown).or_else(before)
    }

    pub(super) fn path_sent(&self, text: &str) -> Option<String> {
        super::sent_paths::path_of_value(self.sent, text)
    }

    /// Notes a value for a field, in the type of the value that was sent. A value that was sent is none.
    pub(super) fn note_value(&mut self, field: Option<String>, token: &Token<'_>) {
        let Some(field) = field else { return };
        // The value that was sent is no remedy, in whatever brackets it is shown.
        let shown = token.text.trim_matches(['[', ']', '(', ')', '"', '\'', '`', '<', '>']);
        if self.path_sent(shown).is_some() {
            return;
        }
        let sent = paths::get(self.sent, &field);
        let number = || serde_json::from_str::<Value>(token.text).ok().filter(Value::is_number);
        let value = match sent {
            Some(Value::Number(_)) => number(),
            Some(Value::String(_)) => Some(Value::from(self.in_place(&field, token.text))),
            Some(Value::Null) | None if token.kind == TokenKind::Number => number(),
            Some(Value::Null) | None => Some(Value::from(token.text)),
            _ => None,
        };
        if let Some(value) = value.filter(|value| sent != Some(value)) {
            self.note_stated(field, Some(value));
        }
    }

    /// Makes statements of the values, where a text gives one for a field.
    pub(super) fn push_values(&mut self) {
        let values = std::mem::take(&mut self.values);
        let words = self.take_value_words();
        for ((field, value), words) in values.iter().zip(&words) {
            self.note_words(words);
            let mut others = values.iter().filter(|(other, other_value)| other == field && other_value.is_some());
            let is_only = others.all(|(_, other)| other == value);
            let is_constrained = self.statements.iter().any(|statement| {
                matches!(statement, Statement::Options { .. } | Statement::Bound { .. })
                    && statement.field() == Some(field)
            });
            if is_only && !is_constrained {
                self.push(Statement::Value { field: field.clone(), value: value.clone() });
            }
        }
    }
}

/// Returns true for "must", "should", "has to" and "needs to".
fn is_demand(tokens: &[Token<'_>], at: usize) -> bool {
    let is_to = || tokens.get(at + 1).is_some_and(|next| next.is_word("to"));
    let is = |word: &str| tokens[at].is_word(word);
    is("must") || is("should") || (is("has") || is("needs")) && is_to()
}

/// Returns true if a token may be the value of an argument: in quotes, a number, or a word as identifiers are.
pub(super) fn is_value(token: &Token<'_>, vocabulary: &Vocabulary<'_>) -> bool {
    match token.kind {
        TokenKind::Number => true,
        TokenKind::Quoted => {
            !token.text.trim().is_empty()
                && json_type(token.text).is_none()
                && !is_format(token.text)
                && vocabulary.field_path(token.text).is_none()
                && vocabulary.resolve_action(token.text).is_none()
        }
        TokenKind::Word => {
            token.text.contains(|c: char| c.is_ascii_digit())
                && json_type(token.text).is_none()
                && !is_format(token.text)
                && vocabulary.field_path(token.text).is_none()
                && vocabulary.resolve_action(token.text).is_none()
        }
        _ => false,
    }
}

fn is_same(sent: &Value, shown: &str) -> bool {
    sent.as_str().map_or_else(|| sent.to_string(), str::to_owned) == shown
}

fn skip(tokens: &[Token<'_>], at: usize, end: usize, words: &[&str]) -> usize {
    let skipped = tokens[at.min(end)..end].iter().take(5);
    at + skipped.take_while(|token| token.is_symbol("=:,()") || words.iter().any(|word| token.is_word(word))).count()
}

fn is_contrast(token: &Token<'_>) -> bool {
    ["got", "received", "but", "not", "found", "was", "have", "is"].iter().any(|word| token.is_word(word))
}

/// Returns true if the words before a value make it an example or a bound.
fn is_example(tokens: &[Token<'_>], at: usize) -> bool {
    tokens[at.saturating_sub(2)..at].iter().any(|token| EXAMPLES.iter().any(|word| token.is_word(word)))
        || at >= 2 && tokens[at - 1].is_word("as") && tokens[at - 2].is_word("such")
}

/// Returns true if a value is one of a list.
fn is_listed(tokens: &[Token<'_>], at: usize, end: usize) -> bool {
    let next = tokens[..end].get(at + 1);
    let after = tokens[..end].get(at + 2);
    let joins = |token: &&Token<'_>| token.is_symbol("|/") || token.is_word("or");
    let is_other = |token: &Token<'_>| matches!(token.kind, TokenKind::Quoted | TokenKind::Number);
    next.filter(joins).is_some()
        || next.is_some_and(|next| next.is_word("to")) && after.is_some_and(is_other)
        || next.is_some_and(|next| next.is_symbol(",") || next.is_word("and")) && after.is_some_and(is_other)
        || next.is_some_and(|next| next.is_symbol("-–")) && after.is_some_and(is_other)
}

/// Returns true if only words follow in the sentence: a description, and no list.
fn ends_phrase(tokens: &[Token<'_>], at: usize, end: usize) -> bool {
    let rest = &tokens[at..end];
    rest.len() > 1
        && rest.len() <= 6
        && rest.iter().all(|token| token.kind == TokenKind::Word)
        && !rest.iter().any(|token| {
            ["format", "form", "pattern", "range", "following", "allowed", "values", "type"]
                .iter()
                .any(|word| token.is_word(word))
        })
}

/// Returns true if nothing follows that makes a number a measure: "5 characters".
fn ends_value(tokens: &[Token<'_>], at: usize, end: usize) -> bool {
    tokens[..end].get(at).is_none_or(|next| {
        next.kind == TokenKind::Symbol && !next.is_symbol("%")
            || ["not", "instead", "but", "for", "and", "when", "if", "because", "here", "now", "got", "in"]
                .iter()
                .any(|word| next.is_word(word))
    })
}
