//! Reads sentences from what they mention: the argument that is at fault, and the call that is advised.

use std::ops::Range;
use std::rc::Rc;

use super::forms::{is_form, is_phrase, literal_at};
use super::lists::{sentence, skip_words};
use super::mentions::{Mention, Sign, mentions, words_of};
use super::segment::{Segment, Subject};
use super::statement_reader::{PhraseContext, StatementReader};
use super::tokens::{Token, TokenKind};
use super::values::is_value;
use super::words::ORDERS;
use super::{Fault, Relation, Statement};
use crate::paths;

/// Longer sentences are read in parts, which keeps the time linear.
const MAX_SENTENCE_TOKENS: usize = 120;

/// Verbs of orders to read something.
const READS: [&str; 10] = ["take", "get", "fetch", "read", "open", "load", "check", "retrieve", "capture", "request"];

impl StatementReader<'_> {
    /// Returns the fields that a phrase is about, the one that is meant most likely first. They are several only where they are listed.
    pub(super) fn about(&self, context: &PhraseContext<'_>) -> Vec<String> {
        self.about_by(Sign::Thing, context)
    }

    /// Like [`StatementReader::about`], with mentions up to this sign only.
    pub(super) fn about_by(&self, least: Sign, context: &PhraseContext<'_>) -> Vec<String> {
        if let Some(Subject { name, known: true }) = context.segment.subject {
            return vec![name.clone()];
        }
        let range = sentence(context.tokens, context.at);
        let found = self.mentions_in(context.tokens, range);
        let found: Vec<&Mention> = found.iter().filter(|mention| mention.sign <= least).collect();
        let before: Vec<&Mention> = found.iter().copied().filter(|mention| mention.at < context.at).collect();
        // "a must be … , b must be …": only what follows the comma.
        let begins_clause = |pair: &[&Mention]| {
            let between = &context.tokens[pair[0].end..pair[1].at];
            between.len() > 2
                && between
                    .last()
                    .is_some_and(|token| token.is_symbol(",(—–") || token.is_word("but") || token.is_word("and"))
                && pair[1].sign <= Sign::Name
        };
        let own = before.windows(2).rposition(begins_clause).map_or(0, |last| last + 1);
        let before = before[own..].to_vec();
        let after: Vec<&Mention> = found.iter().copied().filter(|mention| mention.at >= context.next).collect();
        let first = |from: &[&Mention], sign: &dyn Fn(Sign) -> bool| from.iter().position(|mention| sign(mention.sign));
        let sure = |sign: Sign| sign <= Sign::Name;
        for (from, is_meant) in [
            (&before, &(|sign| sign == Sign::Value) as &dyn Fn(Sign) -> bool),
            (&before, &sure),
            (&before, &|sign| sign == Sign::Words),
            (&after, &sure),
            (&after, &|sign| sign == Sign::Words),
            (&before, &|_| true),
            (&after, &|_| true),
        ] {
            if let Some(first) = first(from, is_meant) {
                return listed(context.tokens, &from[first..]);
            }
        }
        Vec::new()
    }

    /// Returns the mentions of a sentence of the segment.
    pub(super) fn mentions_in(&self, tokens: &[Token<'_>], range: Range<usize>) -> Rc<[Mention]> {
        let mut latest = self.mentions.borrow_mut();
        match &*latest {
            Some((known, found)) if *known == range => found.clone(),
            _ if self.searches_left.get() == 0 => Rc::new([]),
            _ => {
                self.searches_left.set(self.searches_left.get() - 1);
                let found: Rc<[Mention]> = mentions(tokens, range.clone(), self.vocabulary, self.sent_values()).into();
                *latest = Some((range, found.clone()));
                found
            }
        }
    }

    pub(super) fn read_fault(&mut self, fault: Fault, context: &PhraseContext<'_>) {
        let is_heading = context.tokens[context.next..].iter().all(|token| token.is_symbol(":"));
        let range = sentence(context.tokens, context.at);
        if (is_heading && context.next < context.tokens.len()) || is_negated(context.tokens, &range, context.at) {
            return;
        }
        let is_mismatch = context.tokens[context.at..context.next]
            .iter()
            .any(|token| token.is_word("match") || token.is_word("none"));
        if is_mismatch {
            // "does not match '^[a-z]+$'"
            self.read_regex(context);
        }
        if fault == Fault::Invalid && is_mismatch && context.next == range.end {
            let fields = self.about(context);
            for field in fields {
                self.note_stated(field, None);
            }
            return;
        }
        let fields = self.about(context);
        // "no such column: 'x'", "no such table: nope"
        let is_shown = |at: &usize| match context.tokens[*at].kind {
            TokenKind::Quoted => true,
            TokenKind::Word => *at > range.start && context.tokens[*at - 1].is_symbol(":"),
            _ => false,
        };
        let field = fields.first().cloned().or_else(|| self.sole_field());
        let is_part = |part: &str| {
            let sent = field.as_ref().and_then(|field| paths::get(self.original, field)?.as_str());
            sent.is_some_and(|sent| sent.len() > part.len() && sent.contains(part))
        };
        let shown = range.clone().filter(is_shown).map(|at| context.tokens[at].text);
        self.part = shown.into_iter().find(|part| is_part(part)).map(str::to_owned);
        if fields.is_empty() {
            let is_tool = |token: &Token<'_>| token.is_word("tool") || token.is_word("tools");
            if fault == Fault::NotFound && context.tokens[sentence(context.tokens, context.at)].iter().any(is_tool) {
                self.push(Statement::UnknownTool);
            }
            self.note_fault(None, fault);
        }
        for field in fields {
            self.note_fault(Some(field), fault);
        }
    }

    /// Reads "must be after `start`".
    pub(super) fn read_compared(&mut self, relation: Relation, context: &PhraseContext<'_>) {
        let range = sentence(context.tokens, context.at);
        let found = self.mentions_in(context.tokens, range.clone());
        let other = found.iter().find(|mention| mention.at >= context.next && mention.at <= context.next + 3);
        let named = || {
            let next = skip_words(context.tokens, context.next, &["the", "its", "field"], 2);
            self.vocabulary.field_path(context.tokens[..range.end].get(next)?.text)
        };
        let other = other.map(|other| other.path.clone()).or_else(named);
        let field = self.about(context).into_iter().next().or_else(|| self.field_before(context, &range));
        let relation = match relation {
            Relation::Above if is_negated(context.tokens, &range, context.at) => Relation::AtMost,
            Relation::Below if is_negated(context.tokens, &range, context.at) => Relation::AtLeast,
            other => other,
        };
        if let (Some(field), Some(other)) = (field, other)
            && field != other
        {
            self.push(Statement::Compared { field, relation, other });
        }
    }

    fn field_before(&self, context: &PhraseContext<'_>, range: &Range<usize>) -> Option<String> {
        context.tokens[range.start..context.at].iter().rev().find_map(|token| self.vocabulary.field_path(token.text))
    }

    /// Reads "`name` was renamed to `query`".
    pub(super) fn read_renamed(&mut self, context: &PhraseContext<'_>) {
        let next = skip_words(context.tokens, context.next, &["the", "field", "argument", "parameter", "tool"], 3);
        // "Tool `wit_fetch` was renamed to `work_item_get`."
        let name = context.tokens.get(next).map_or("", |token| token.text);
        if self.vocabulary.has_tool(name) && self.vocabulary.field_path(name).is_none() {
            self.push(Statement::UnknownTool);
            if let Some((tool, action)) = self.vocabulary.resolve_action(name) {
                self.push(Statement::Suggest { tool: Some(tool), action });
            }
            return;
        }
        // A name that was sent and that the tool does not have is no mention.
        let start = sentence(context.tokens, context.at).start;
        let is_sent = |token: &&Token<'_>| self.sent.get(token.text).is_some() && token.text != name;
        let sent = context.tokens[start..context.at].iter().rev().find(is_sent).map(|token| token.text.to_owned());
        let old = sent.or_else(|| self.about(context).into_iter().next()).filter(|old| old != name);
        if let (Some(field), Some(name)) = (old, context.tokens.get(next))
            && name.kind != TokenKind::End
        {
            let name = self.path_or_name(name.text);
            self.push(Statement::Rename { field, name });
        }
    }

    /// Reads "Branch vv not found; the default branch is main".
    pub(super) fn read_default(&mut self, context: &PhraseContext<'_>) {
        let range = sentence(context.tokens, context.at);
        let [name, link, value, rest @ ..] = &context.tokens[context.next..range.end] else { return };
        let is_link = link.is_word("is") || link.is_symbol(":=");
        let is_end = rest.first().is_none_or(|next| next.kind == TokenKind::Symbol);
        let field = self.vocabulary.field_path(name.text).or_else(|| self.vocabulary.field_of_noun(name.text));
        if let Some(field) = field.filter(|_| is_link && is_end && value.kind != TokenKind::Symbol)
            && self.faults.iter().any(|(faulty, _)| faulty.as_ref() == Some(&field))
        {
            self.note_value(Some(field), value);
        }
    }

    /// Notes an example of a value's form: "such as 2026-01-31".
    pub(super) fn note_example(&mut self, context: &PhraseContext<'_>) {
        let tokens = context.tokens;
        let next = skip_words(tokens, context.next, &["a", "the", "this", "is"], 2);
        let value = tokens.get(next).filter(|token| is_value(token, self.vocabulary)).map(|token| token.text);
        let form =
            || literal_at(tokens[next - 1].rest).filter(|form| is_form(form, self.vocabulary)).map(|form| form.text);
        if let Some(example) = value.or_else(form).filter(|example| !is_phrase(example))
            && let Some(field) = self.field(context)
        {
            let noted = (field, example.to_owned());
            if self.examples.is_empty() || !self.examples.contains(&noted) && self.examples.len() < 20 {
                self.examples.push(noted);
            }
        }
    }

    /// Returns the only field that the text has named so far.
    pub(super) fn only_fault(&self) -> Option<String> {
        let stated = self.statements.iter().filter_map(Statement::field);
        let mut named = self.faults.iter().filter_map(|(field, _)| field.as_deref()).chain(stated);
        let first = named.next()?;
        named.all(|other| other == first).then(|| first.to_owned())
    }

    /// Returns the argument of a search: the only one that was sent, or the one whose name says so.
    pub(super) fn search_field(&self) -> Option<String> {
        let sent = self.sent.as_object()?;
        let is_query = |name: &&String| {
            ["query", "search", "q", "term", "keyword", "keywords", "pattern", "text", "name"]
                .iter()
                .any(|word| words_of(name).any(|part| part.eq_ignore_ascii_case(word)))
        };
        let only = sent.keys().next().filter(|_| sent.len() == 1);
        sent.keys().find(is_query).or(only).cloned()
    }

    /// Returns the field that was named last as being at fault.
    pub(super) fn last_fault(&self) -> Option<String> {
        let stated = || self.statements.iter().rev().find_map(|statement| statement.field().map(str::to_owned));
        self.faults.iter().rev().find_map(|(field, _)| field.clone()).or_else(stated)
    }

    /// Reads the sentences of a segment for what no phrase says.
    pub(super) fn read_sentences(&mut self, segment: &Segment<'_>, tokens: &[Token<'_>], start: usize) {
        if segment.attribute {
            return;
        }
        let end = |token: &Token<'_>| token.kind == TokenKind::End;
        let mut at = start;
        while at < tokens.len() {
            let rest = &tokens[at..tokens.len().min(at + MAX_SENTENCE_TOKENS)];
            let length = rest.iter().position(end).unwrap_or(rest.len());
            let range = at..at + length;
            if length > 1 {
                self.read_values(segment, tokens, range.clone());
                self.read_advised_calls(tokens, range);
            }
            at += length.max(1) + usize::from(length > 0 && tokens.get(at + length).is_some_and(end));
        }
    }

    /// Reads calls that a sentence advises: a tool that comes "first" or "instead", `action=list`, or an order in the words of an action.
    fn read_advised_calls(&mut self, tokens: &[Token<'_>], range: Range<usize>) {
        let known = self.statements.len();
        let mut reads_first = false;
        for at in range.clone() {
            let token = &tokens[at];
            if !matches!(token.kind, TokenKind::Word | TokenKind::Quoted) {
                continue;
            }
            if is_negated(tokens, &range, at) {
                continue;
            }
            let follows_first = at > range.start && tokens[at - 1].is_word("first");
            let is_first = |next: &Token<'_>| {
                let shows = at == range.start
                    && ["shows", "lists", "returns", "gives", "tells"].iter().any(|word| next.is_word(word));
                shows || ["first", "instead"].iter().any(|word| next.is_word(word))
            };
            if (follows_first || tokens.get(at + 1).is_some_and(is_first))
                && let Some((tool, action)) = self.vocabulary.resolve_action(token.text)
            {
                self.push(Statement::Suggest { tool: Some(tool), action });
            }
            if let [equals, action, ..] = &tokens[at + 1..range.end]
                && equals.is_symbol("=")
                && self.vocabulary.is_discriminator(token.text)
                && self.vocabulary.is_action(action.text)
            {
                let named = tokens[range.clone()]
                    .iter()
                    .find_map(|token| self.vocabulary.tool_with_action(token.text, action.text));
                self.push(Statement::Suggest { tool: named, action: action.text.to_owned() });
            }
            if begins_order(tokens, &range, at) {
                // "Take a new snapshot first."
                let is_first = |next: &Token<'_>| next.is_word("first");
                reads_first |= READS.iter().any(|verb| token.is_word(verb))
                    && tokens[at + 1..range.end].iter().take(8).any(is_first);
                let words: Vec<&str> = tokens[at..range.end].iter().take(8).map(|token| token.text).collect();
                if let Some((tool, action)) = self.vocabulary.spoken_action(&words) {
                    let tool = Some(tool);
                    self.push(Statement::Suggest { tool, action });
                }
            }
        }
        if reads_first && self.statements.len() == known {
            self.push(Statement::Lookup { field: self.last_fault() });
        }
    }
}

/// Returns true for a word that forbids what follows it.
pub(super) fn is_forbidding(token: &Token<'_>) -> bool {
    ["not", "don't", "never"].iter().any(|word| token.is_word(word))
}

/// Returns true if the words before `at` forbid what follows.
pub(super) fn is_negated(tokens: &[Token<'_>], range: &Range<usize>, at: usize) -> bool {
    let before = &tokens[range.start.max(at.saturating_sub(4))..at];
    before.iter().any(|token| {
        ["not", "don't", "never", "cannot", "can't", "isn't", "wasn't"].iter().any(|word| token.is_word(word))
    })
}

/// Returns true if the word at `at` begins an order: a verb at the beginning of a sentence, or after "please", "then" or a comma.
pub(super) fn is_order(tokens: &[Token<'_>], range: &Range<usize>, at: usize) -> bool {
    tokens[at].is_one_of(&ORDERS) && begins_order(tokens, range, at)
}

/// Returns true if a verb at `at` would be an order.
pub(super) fn begins_order(tokens: &[Token<'_>], range: &Range<usize>, at: usize) -> bool {
    let before = tokens[range.start..at].last();
    before.is_none_or(|before| {
        before.is_symbol(",:—–-(•*👉→")
            || ["please", "then", "and", "or", "instead", "to", "must", "should", "can", "first", "could", "need"]
                .iter()
                .any(|word| before.is_word(word))
    })
}

/// Returns the paths of the first mention and of those that are listed with it: "first_name, last_name and born".
fn listed(tokens: &[Token<'_>], from: &[&Mention]) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    let mut end = None;
    for mention in from {
        let joins = |end: usize| {
            let between = &tokens[end..mention.at];
            let is_joint = |token: &Token<'_>| {
                token.is_symbol(",&/") || ["and", "or", "the"].iter().any(|word| token.is_word(word))
            };
            !between.is_empty() && between.iter().all(is_joint)
        };
        if end.is_some_and(|end| !joins(end)) {
            break;
        }
        if !paths.contains(&mention.path) {
            paths.push(mention.path.clone());
        }
        end = Some(mention.end);
    }
    paths
}
