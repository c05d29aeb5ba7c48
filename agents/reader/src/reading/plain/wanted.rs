//! Calls and amounts that are wanted, in plain words.

use std::ops::Range;

use serde_json::Value;

use super::{Argument, Plain};
use crate::reading::Statement;
use crate::reading::clauses::{begins_order, is_negated, is_order};
use crate::reading::lists::sentence;
use crate::reading::tokens::{Token, TokenKind};
use crate::reading::words::{CALLED, LIMITS, NEXT_STEPS, TOOL_VERBS};

/// Shorter words are seldom names of tools.
const MIN_TOOL_BYTES: usize = 4;

pub(super) fn is_any(token: &Token<'_>, words: &[&str]) -> bool {
    words.iter().any(|word| token.is_word(word))
}

impl<'t> Plain<'t, '_> {
    /// Reads a tool that is needed, or does what is wanted: "mount_tyres can only be called after lift_car", "remove_dir takes care of
    /// those".
    pub(super) fn calls(&self) -> Vec<Statement> {
        let mut found = None;
        for at in self.all() {
            let token = &self.tokens[at];
            let is_name =
                matches!(token.kind, TokenKind::Word | TokenKind::Quoted) && token.text.len() >= MIN_TOOL_BYTES;
            let Some((tool, action)) = self.reader.vocabulary.resolve_action(token.text).filter(|_| is_name) else {
                continue;
            };
            let range = sentence(&self.tokens, at);
            if is_negated(&self.tokens, &range, at) {
                continue;
            }
            let suggestion = Statement::Suggest { tool: Some(tool), action };
            if self.is_needed(at, &range) {
                return vec![suggestion];
            }
            let is_subject = self.tokens.get(at + 1).is_some_and(|next| next.is_one_of(&TOOL_VERBS));
            let is_called = at > 0 && self.tokens[at - 1].is_one_of(&CALLED)
                || at > 1 && self.tokens[at - 1].is_symbol(":") && self.tokens[at - 2].is_one_of(&CALLED);
            if is_subject || is_called {
                found.get_or_insert(suggestion);
            }
        }
        found.into_iter().collect()
    }

    /// Returns true if a sentence says that the tool at `at` has to be called first.
    fn is_needed(&self, at: usize, range: &Range<usize>) -> bool {
        let (before, after) = (&self.tokens[range.start..at], &self.tokens[at + 1..range.end]);
        let has = |tokens: &[Token<'_>], words: &[&str]| tokens.iter().any(|token| is_any(token, words));
        let Some(last) = before.last() else { return self.must_be_called(after) };
        let is_condition = last.is_word("after") && has(before, &["only", "first", "must", "can", "has", "should"])
            || is_any(last, &["requires", "require", "forget", "forgot"]);
        // "the car has to be lifted first (lift_car)"
        let is_named = last.is_symbol("(")
            && after.first().is_some_and(|next| next.is_symbol(")"))
            && has(before, &["first", "before"]);
        // "Next step: lift_car", "Allowed in state received: lift_car"
        let is_headed =
            last.is_symbol(":") && after.is_empty() && before.iter().any(|token| token.is_one_of(&NEXT_STEPS));
        is_condition || is_named || is_headed || self.must_be_called(after)
    }

    /// Returns true if what follows a tool says that it comes first: "has to be called first", "comes first", "must run before it".
    fn must_be_called(&self, after: &[Token<'_>]) -> bool {
        let Some((verb, rest)) = after.split_first() else { return false };
        let near = &rest[..rest.len().min(4)];
        let has = |words: &[&str]| near.iter().any(|token| is_any(token, words));
        is_any(verb, &["must", "has", "needs", "should"])
            && has(&["called", "run", "used", "made", "done", "come", "go"])
            || is_any(verb, &["comes", "goes"]) && has(&["first", "before"])
    }

    /// Reads an amount that is wanted, beside the unit that names its argument: "Use 3000 rpm", "The speed must be 3000 rpm", "The fee is
    /// 8000 cents, not 7500".
    pub(super) fn wanted_amounts(&self) -> Vec<Statement> {
        for (at, amount) in self.amounts.iter().enumerate() {
            let Some((value, unit)) = *amount else { continue };
            let range = sentence(&self.tokens, at);
            let before = &self.tokens[range.start..at];
            let is_necessary = matches!(before, [.., must, be] if is_any(must, &["must", "should"]) && be.is_word("be"))
                || matches!(before, [.., has, to, be]
                    if is_any(has, &["has", "have"]) && to.is_word("to") && be.is_word("be"));
            let is_meant = |argument: &&Argument<'t>| {
                let is_subject = |named: &usize| (range.start..at).contains(named);
                argument.value.is_number()
                    && (unit < range.end && argument.named.contains(&unit)
                        || is_necessary && argument.named.iter().any(is_subject))
            };
            let Some(argument) = self.arguments.iter().find(is_meant) else { continue };
            let is_sent = argument.value.as_f64() == Some(value);
            let is_told_apart = self.is_told_apart(argument, &range);
            let is_limit = self.has_word(&range, &LIMITS) && !is_told_apart;
            if is_sent || is_limit || is_negated(&self.tokens, &range, at) {
                continue;
            }
            let is_order = |at: usize| {
                is_order(&self.tokens, &range, at)
                    || begins_order(&self.tokens, &range, at)
                        && self.reader.vocabulary.is_verb_of_action(self.tokens[at].text)
            };
            let is_ordered = (range.start..at).any(is_order);
            if is_ordered || is_necessary || is_told_apart {
                let value = if value.fract() == 0.0 { Value::from(value as i64) } else { Value::from(value) };
                return vec![Statement::Value { field: argument.name.to_owned(), value: Some(value) }];
            }
        }
        Vec::new()
    }

    /// Returns true if a sentence tells what is wanted from what was sent: "the panel electrolytes, not lipids".
    pub(super) fn is_told_apart(&self, argument: &Argument<'t>, range: &Range<usize>) -> bool {
        argument.shown.iter().any(|at| range.contains(at) && *at > range.start && self.tokens[at - 1].is_word("not"))
    }
}
