//! Valid values, suggestions and other calls in plain words.

use std::ops::Range;

use serde_json::Value;

use super::contradiction::shape;
use super::{Argument, Plain};
use crate::reading::Statement;
use crate::reading::lists::sentence;
use crate::reading::mentions::is_same_word;
use crate::reading::patterns::json_type;
use crate::reading::tokens::{Token, TokenKind};
use crate::reading::words::{
    CURRENT_WORDS, EVERYDAY, HINTING, LIMITS, LIST_JOINTS, LISTING, REPLACED, SUGGESTING, WORDS_BETWEEN,
};
use crate::wrong_values::is_date;

/// Shorter texts are close to many words.
const MIN_CLOSE_CHARS: usize = 3;
/// The fewest values of a list that no conjunction ends.
const MIN_LISTED: usize = 3;

impl<'t> Plain<'t, '_> {
    fn is_known_name(&self, text: &str) -> bool {
        self.reader.vocabulary.field_path(text).is_some() || self.reader.vocabulary.resolve_action(text).is_some()
    }

    fn is_sent(&self, text: &str) -> bool {
        self.arguments.iter().any(|argument| match argument.value {
            Value::String(sent) => sent == text,
            Value::Number(number) => number.to_string() == text,
            _ => false,
        })
    }

    /// Reads an argument that must not be sent: "Do not send an id", "prio is not something this call takes, leave it out".
    pub(super) fn removals(&self) -> Vec<Statement> {
        const GIVES: [&str; 8] = ["send", "include", "pass", "set", "provide", "give", "specify", "add"];
        const LEAVES: [&str; 5] = ["leave", "drop", "omit", "remove", "skip"];
        for range in self.sentences() {
            let tokens = &self.tokens[range.clone()];
            let is = |token: &Token<'_>, words: &[&str]| words.iter().any(|word| token.is_word(word));
            let forbids = tokens.windows(2).position(|pair| {
                is(&pair[0], &["not", "don't", "never", "cannot"]) && is(&pair[1], &GIVES)
                    || is(&pair[0], &LEAVES) && is(&pair[1], &["it", "that", "this"])
            });
            let Some(at) = forbids else { continue };
            let is_of_it = is(&tokens[at], &LEAVES);
            let reach =
                if is_of_it { range.clone() } else { range.start + at + 2..range.end.min(range.start + at + 6) };
            let is_exact = |argument: &&Argument<'t>| {
                reach.clone().any(|at| {
                    let token = &self.tokens[at];
                    matches!(token.kind, TokenKind::Word | TokenKind::Quoted)
                        && token.text.eq_ignore_ascii_case(argument.name)
                })
            };
            let mut named = self.arguments.iter().filter(is_exact);
            if let Some(argument) = named.next().filter(|_| named.next().is_none()) {
                return vec![Statement::Unrecognized { field: argument.name.to_owned() }];
            }
        }
        Vec::new()
    }

    /// Reads the other name of an argument that was sent: "use due_date, not due".
    pub(super) fn names(&self) -> Vec<Statement> {
        for range in self.sentences() {
            let tokens = &self.tokens[range.clone()];
            if !tokens.iter().any(|token| token.is_one_of(&REPLACED) || token.is_word("not")) {
                continue;
            }
            let is_sent = |token: &&Token<'_>| self.arguments.iter().any(|argument| argument.name == token.text);
            let is_other = |token: &&Token<'_>| {
                matches!(token.kind, TokenKind::Word | TokenKind::Quoted)
                    && !EVERYDAY.has(token.text)
                    && self.reader.vocabulary.field_path(token.text).is_some()
                    && self.reader.sent.get(token.text).is_none()
            };
            let old = tokens.iter().filter(is_sent).collect::<Vec<_>>();
            let new = tokens.iter().filter(is_other).collect::<Vec<_>>();
            if let ([old], [new]) = (&old[..], &new[..]) {
                return vec![Statement::Rename { field: old.text.to_owned(), name: new.text.to_owned() }];
            }
        }
        Vec::new()
    }

    /// Reads the value that stands in place of the one that was sent: "v1 is gone, use v3", "No branch mian. Closest match: main".
    pub(super) fn replacements(&self) -> Vec<Statement> {
        let has_texts = self.arguments.iter().any(|argument| argument.value.is_string());
        let words = if has_texts { self.candidates() } else { Vec::new() };
        for argument in &self.arguments {
            let Some(sent) = argument.value.as_str().filter(|sent| sent.chars().count() <= 60 && !sent.is_empty())
            else {
                continue;
            };
            let is_shown = self.is_shown(argument, &self.all());
            let mut close: Vec<&str> = Vec::new();
            let mut alike: Vec<&str> = Vec::new();
            for (word, at) in &words {
                let (near, is_alike) = (is_close(sent, word), is_shown && !is_plain(word));
                let is_no_value = || self.is_of_a_holder(*at) || self.is_known_name(word) || json_type(word).is_some();
                if !near && !is_alike || is_no_value() {
                    continue;
                }
                let range = sentence(&self.tokens, *at);
                let before = range.start..*at;
                let hints = self.has_word(&range, &HINTING);
                let suggests = hints || self.has_word(&range, &SUGGESTING);
                let replaces = self.has_word(&before, &REPLACED);
                // "moved to", "merged into"
                let follows = *at >= range.start + 2
                    && ["to", "into", "by", "as"].iter().any(|word| self.tokens[*at - 1].is_word(word))
                    && self.tokens[*at - 2].is_one_of(&REPLACED);
                let is_marked = suggests || replaces;
                let is_quoted = self.tokens[*at].kind == TokenKind::Quoted;
                if near && (hints || is_long(word) && is_marked || is_shown && (is_quoted || !is_plain(word))) {
                    push_once(&mut close, word);
                } else if replaces && is_shown && !is_plain(word) && (follows || shape(word) == shape(sent)) {
                    push_once(&mut alike, word);
                }
            }
            let found = if close.is_empty() { alike } else { close };
            if let [value] = found[..] {
                let value = Value::from(self.reader.in_place(argument.name, value));
                return vec![Statement::Value { field: argument.name.to_owned(), value: Some(value) }];
            }
        }
        self.suggestion().into_iter().collect()
    }

    /// Reads the word that follows a suggestion at its end: "Perhaps Hamburg?"
    fn suggestion(&self) -> Option<Statement> {
        let texts: Vec<&Argument<'t>> = self
            .arguments
            .iter()
            .filter(|argument| argument.value.is_string() && self.is_shown(argument, &self.all()))
            .collect();
        for at in self.all().filter(|at| self.tokens[*at].is_one_of(&HINTING)) {
            let end = sentence(&self.tokens, at).end;
            let filler = |token: &Token<'_>| token.is_one_of(&WORDS_BETWEEN) || token.is_symbol(":=");
            let skipped = self.tokens[at + 1..end].iter().take_while(|token| filler(token)).count();
            let next = at + 1 + skipped;
            let Some(token) = self.tokens[..end].get(next) else { continue };
            let is_last = next + 1 >= end || self.tokens[next + 1].kind == TokenKind::Symbol;
            let is_value = matches!(token.kind, TokenKind::Word | TokenKind::Quoted)
                && is_last
                && !self.is_known_name(token.text)
                && !self.is_sent(token.text)
                && json_type(token.text).is_none();
            if is_value && let Some(argument) = self.choose(&texts, &(0..end)) {
                let value = Value::from(token.text);
                return Some(Statement::Value { field: argument.name.to_owned(), value: Some(value) });
            }
        }
        None
    }

    /// Returns the words and quotations that may be values, each with its token.
    fn candidates(&self) -> Vec<(&'t str, usize)> {
        let mut found = Vec::new();
        let mut until = 0;
        for at in self.all() {
            let token = &self.tokens[at];
            let start = self.text.len() - self.rest_at(at).len();
            if start < until || !matches!(token.kind, TokenKind::Word | TokenKind::Quoted | TokenKind::Number) {
                continue;
            }
            let word = if token.kind == TokenKind::Quoted {
                token.text.trim_matches(['[', ']', '(', ')', '<', '>'])
            } else {
                // A name may have signs that tokens are split at: `https://a.example`.
                let rest = self.rest_at(at);
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                rest[..end].trim_end_matches([',', ';', '.', ')', '!', '?', '"', '\'', '`', ':', '»', '”'])
            };
            let word = ["'s", "’s"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
            until = start + word.len();
            if !word.is_empty() && !self.is_sent(word) {
                found.push((word, at));
            }
        }
        found
    }

    /// Reads the value beside the name of an argument: "it is at revision 6 now", "Pass force=true".
    pub(super) fn values(&self) -> Vec<Statement> {
        for at in self.all() {
            let token = &self.tokens[at];
            let is_name = |argument: &&Argument<'t>| {
                matches!(token.kind, TokenKind::Word | TokenKind::Quoted)
                    && (token.text.eq_ignore_ascii_case(argument.name)
                        || self.stands_for(argument, at)
                        || token.text.rsplit_once('_').is_some_and(|(head, last)| {
                            last.eq_ignore_ascii_case(argument.name) && CURRENT_WORDS.has(head)
                        }))
            };
            let Some(argument) = self.arguments.iter().find(is_name) else { continue };
            if self.is_of_a_holder(at) {
                continue;
            }
            let range = sentence(&self.tokens, at);
            // "start over with an empty cursor"
            let is_emptied = at > 0 && (self.tokens[at - 1].is_word("empty") || self.tokens[at - 1].is_word("blank"));
            if is_emptied && argument.value.as_str().is_some_and(|sent| !sent.is_empty()) {
                return vec![Statement::Value { field: argument.name.to_owned(), value: Some(Value::from("")) }];
            }
            let link = |token: &Token<'_>| {
                let links = ["is", "at", "now", "to", "number", "due", "owed", "needed", "required"];
                token.is_symbol(":=") || links.iter().any(|word| token.is_word(word))
            };
            let links = self.tokens[at + 1..range.end].iter().take(2).take_while(|token| link(token)).count();
            let Some(value) = self.tokens[..range.end].get(at + 1 + links) else { continue };
            let is_equal = self.tokens[at + 1].is_symbol("=");
            let is_current = at > range.start && self.is_stated(at, links)
                || self.has_word(&range, &CURRENT_WORDS)
                || CURRENT_WORDS.has(head_of(token.text));
            let is_limit = self.has_word(&range, &LIMITS);
            let is_ordered = token.is_word("it");
            let stated = match argument.value {
                Value::Bool(truth) => {
                    let is_other = value.is_word(if *truth { "false" } else { "true" });
                    (is_other && is_equal).then_some(Value::Bool(!truth))
                }
                Value::Number(_) if is_ordered || is_current && !is_limit => {
                    serde_json::from_str(value.text).ok().filter(Value::is_number)
                }
                Value::String(sent) => {
                    let is_id = shape(sent) == shape(value.text) && !is_plain(value.text);
                    // "Queue printer is closed. Put it in queue office."
                    let is_elsewhere = self.is_shown(argument, &(0..at)) && links == 0 && self.is_put(at, &range);
                    let is_text = matches!(value.kind, TokenKind::Word | TokenKind::Quoted);
                    let is_wanted = || {
                        let is_expected = at > 0 && self.tokens[at - 1].is_word("expected") && links == 0;
                        (is_expected || self.is_told_apart(argument, &range)) && !EVERYDAY.has(value.text)
                    };
                    (is_text && (is_id && (is_current || is_ordered) || is_elsewhere || is_wanted()))
                        .then(|| Value::from(value.text))
                }
                _ => None,
            };
            if let Some(stated) = stated.filter(|stated| stated != argument.value && !self.is_known_name(value.text)) {
                return vec![Statement::Value { field: argument.name.to_owned(), value: Some(stated) }];
            }
        }
        Vec::new()
    }

    /// Returns true if a sentence says what the thing named at `at` is: "The fee is 8000 cents.", "Its bay is 4."
    fn is_stated(&self, at: usize, links: usize) -> bool {
        self.reader.of_error
            && ["the", "its", "their"].iter().any(|word| self.tokens[at - 1].is_word(word))
            && self.tokens[at + 1..at + 1 + links].last().is_some_and(|last| last.is_word("is"))
    }

    /// Returns true if a word stands for the argument that was named last: "set it to 5", "(current: c7e2)".
    fn stands_for(&self, argument: &Argument<'t>, at: usize) -> bool {
        let token = &self.tokens[at];
        let set = || ["set", "change", "raise", "lower"].iter().any(|verb| self.tokens[at - 1].is_word(verb));
        let next = || self.tokens.get(at + 1);
        let is_order = at > 0 && token.is_word("it") && set() && next().is_some_and(|next| next.is_word("to"));
        let is_label = token.is_one_of(&CURRENT_WORDS) && next().is_some_and(|next| next.is_symbol(":"));
        let last =
            self.arguments.iter().filter_map(|other| Some((other.named.iter().rev().find(|by| **by < at)?, other)));
        (is_order || is_label) && last.max_by_key(|(by, _)| **by).is_some_and(|(_, last)| last.name == argument.name)
    }

    /// Returns true if what stands at `at` says who has something: "in use by session S-9". What something was replaced by is another value.
    fn is_of_a_holder(&self, at: usize) -> bool {
        (at.saturating_sub(2)..at).any(|by| {
            let is_by = self.tokens[by].is_word("by") || self.tokens[by].is_word("from");
            // "superseded by"
            let replaces = |verb: &Token<'_>| verb.is_one_of(&REPLACED) && verb.text.ends_with("ed");
            is_by && !by.checked_sub(1).is_some_and(|verb| replaces(&self.tokens[verb]))
        })
    }

    /// Returns true if an order puts something where the word after `at` says.
    fn is_put(&self, at: usize, range: &Range<usize>) -> bool {
        let is_end = |at: usize| at >= range.end || self.tokens[at].kind != TokenKind::Word;
        let verbs = ["put", "use", "try", "move", "send", "choose", "pick", "take", "set"];
        is_end(at + 2) && verbs.iter().any(|verb| self.tokens[range.start].is_word(verb))
    }

    /// Reads a list of the values of an argument that has another one: "We know these colours: red, green and blue."
    pub(super) fn options(&self) -> Vec<Statement> {
        for list in self.lists() {
            let is_item = |sent: &str| list.values.iter().any(|value| value.eq_ignore_ascii_case(sent));
            let is_other = |argument: &&Argument<'t>| match argument.value {
                Value::String(sent) => {
                    let digits = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
                    !is_item(sent)
                        && !sent.contains(' ')
                        && !list.values.iter().any(|value| value.contains(' '))
                        && (digits(sent) || !list.values.iter().all(|value| digits(value)))
                        && !is_date(sent)
                }
                Value::Number(number) => {
                    !is_item(&number.to_string()) && list.values.iter().all(|value| value.parse::<f64>().is_ok())
                }
                _ => false,
            };
            let others: Vec<&Argument<'t>> = self.arguments.iter().filter(is_other).collect();
            let argument = self.choose(&others, &(list.start..list.at));
            let is_meant = |argument: &&Argument<'t>| {
                let is_told = self.is_named(argument, &self.all()) || self.is_shown(argument, &self.all());
                is_told || self.reader.of_error && !list.is_below && self.arguments.len() == 1
            };
            if let Some(argument) = argument.filter(is_meant) {
                let values = list.values.iter().map(|value| (*value).to_owned()).collect();
                return vec![Statement::Options { field: argument.name.to_owned(), values }];
            }
        }
        Vec::new()
    }

    /// Returns the lists of values that a sentence or bullets announce.
    fn lists(&self) -> Vec<Listed<'t>> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            match self.list_at(at) {
                Some((list, end)) => {
                    found.push(list);
                    at = end;
                }
                None => at += 1,
            }
        }
        found.extend(self.bullets());
        found
    }

    fn list_at(&self, at: usize) -> Option<(Listed<'t>, usize)> {
        let tokens = &self.tokens;
        let before = tokens.get(at.checked_sub(1)?)?;
        let is_named = |at: usize| self.arguments.iter().any(|argument| argument.named.contains(&at));
        let is_announced = before.is_symbol(":") || before.is_one_of(&LISTING) || is_named(at - 1);
        if !is_announced {
            return None;
        }
        let range = sentence(tokens, at);
        let is_item = |token: &&Token<'t>| {
            matches!(token.kind, TokenKind::Word | TokenKind::Quoted | TokenKind::Number)
                && !token.is_one_of(&LIST_JOINTS)
                && !token.is_one_of(&LISTING)
        };
        let mut values: Vec<&'t str> = Vec::new();
        let mut next = at;
        let mut joined = false;
        while let Some(item) = tokens[..range.end].get(next).filter(is_item) {
            values.push(item.text);
            let is_joint = |token: &Token<'_>| token.is_symbol(",/|") || token.is_one_of(&LIST_JOINTS);
            let mut joints = tokens[next + 1..range.end].iter().take(2).take_while(|token| is_joint(token)).count();
            // "walk, trot or canter, but not run": no value follows.
            let follows = |joints: usize| tokens[..range.end].get(next + 1 + joints);
            if follows(joints).is_none_or(|token| !is_item(&token) || token.is_word("but") || token.is_word("not")) {
                joints = 0;
            }
            joined |= tokens[next + 1..next + 1 + joints].iter().any(|token| token.is_one_of(&LIST_JOINTS));
            next += 1 + joints;
            if joints == 0 {
                break;
            }
        }
        let is_end = tokens[..range.end].get(next).is_none_or(|token| {
            token.kind == TokenKind::Symbol && !token.is_symbol(":=")
                || ["but", "not", "instead", "only", "here"].iter().any(|word| token.is_word(word))
        });
        let is_list = (values.len() >= MIN_LISTED || values.len() == 2 && (joined || introduces(before))) && is_end;
        let is_truth = |value: &str| value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false");
        let is_value = |value: &&str| {
            !self.is_known_name(value) && !self.is_sent(value) && json_type(value).is_none() && !is_truth(value)
        };
        let are_numbers = values.iter().filter(|value| value.parse::<f64>().is_ok()).count();
        let is_list = is_list && (joined || are_numbers == 0 || are_numbers == values.len());
        (is_list && values.iter().all(is_value))
            .then_some((Listed { values, start: range.start, at, is_below: false }, next))
    }

    /// Returns the items of a list with a bullet each, below a line that ends with a colon.
    fn bullets(&self) -> Option<Listed<'t>> {
        let lines: Vec<&'t str> = self.text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let first = lines.iter().position(|line| line.starts_with(['-', '*', '•'])).filter(|first| *first > 0)?;
        let items = lines[first..].iter().map_while(|line| line.strip_prefix(['-', '*', '•']));
        let values: Vec<&'t str> = items
            .map(|item| item.trim().trim_matches(['`', '"', '\'']))
            .take_while(|item| !item.contains(' '))
            .collect();
        let is_value = |value: &&str| !value.is_empty() && !self.is_known_name(value) && !self.is_sent(value);
        (values.len() > 1 && lines[first - 1].ends_with(':') && values.iter().all(is_value)).then_some(Listed {
            values,
            start: 0,
            at: self.tokens.len(),
            is_below: true,
        })
    }
}

/// Values that a text lists, with the tokens before them in their sentence.
struct Listed<'t> {
    values: Vec<&'t str>,
    start: usize,
    at: usize,
    /// True for bullets below a line.
    is_below: bool,
}

/// Returns true for what only a list follows.
fn introduces(before: &Token<'_>) -> bool {
    before.is_symbol(":") || ["are", "is", "sind", "sont", "son"].iter().any(|word| before.is_word(word))
}

fn push_once<'t>(words: &mut Vec<&'t str>, word: &'t str) {
    if !words.contains(&word) {
        words.push(word);
    }
}

/// Returns what stands before the last part of a name: `current` of `current_etag`.
fn head_of(name: &str) -> &str {
    name.rsplit_once('_').map_or("", |(head, _)| head)
}

/// Returns true for a word that no short word of prose is by chance.
fn is_long(word: &str) -> bool {
    !is_plain(word) || word.chars().count() > MIN_CLOSE_CHARS
}

/// Returns true for a word as prose has them.
fn is_plain(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next();
    word.chars().all(char::is_alphabetic) && chars.all(char::is_lowercase)
}

/// Returns true if a word is probably what somebody meant who sent another one.
pub(in crate::reading) fn is_close(sent: &str, word: &str) -> bool {
    let ends = |text: &str| (text.bytes().next().map(|b| b.to_ascii_lowercase()), text.bytes().next_back());
    // Hardly anybody mistypes both ends.
    let ((first, last), (other_first, other_last)) = (ends(sent), ends(word));
    let is_case_only = || sent.len() == word.len() && sent.eq_ignore_ascii_case(word);
    if sent.len().abs_diff(word.len()) > 4 || first != other_first && last != other_last && !is_case_only() {
        return false;
    }
    let (a, b) = (sent.to_lowercase(), word.to_lowercase());
    if a == b {
        return sent != word;
    }
    let (length, other_length) = (a.chars().count(), b.chars().count());
    let shorter = length.min(other_length);
    if shorter < MIN_CLOSE_CHARS || length.abs_diff(other_length) > 2 || is_same_word(sent, word) {
        return false;
    }
    strsim::osa_distance(&a, &b) <= (shorter / 3).clamp(1, 3)
}
