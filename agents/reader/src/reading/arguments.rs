//! Statements about arguments: that they are missing or unknown, their types and their options.

use serde_json::Value;

use super::lists::{list_at, sentence, skip_words};
use super::mentions::Sign;
use super::patterns::{is_unsigned, json_type, only_type};
use super::sent_paths::{path_missing_in_item, path_of_value};
use super::statement_reader::{ARTICLES, PhraseContext, StatementReader};
use super::tokens::{Token, TokenKind};
use super::{Fault, Relation, Statement};
use crate::paths;
use crate::repair::has_type;

/// Returns true where a verb tells what was tried: "cannot remove", "failed to remove".
fn tells_of_attempt(context: &PhraseContext<'_>) -> bool {
    const FAILS: [&str; 5] = ["failed", "unable", "cannot", "not", "couldn't"];
    let start = sentence(context.tokens, context.at).start.max(context.at.saturating_sub(2));
    let fails = |token: &Token<'_>| FAILS.iter().any(|word| token.is_word(word));
    context.tokens[context.at].is_word("remove") && context.tokens[start..context.at].iter().any(fails)
}

/// Nouns for an argument.
pub(super) const NOUNS: [&str; 10] =
    ["field", "fields", "parameter", "property", "argument", "key", "keys", "input", "attribute", "parameters"];

impl StatementReader<'_> {
    pub(super) fn read_missing(&mut self, context: &PhraseContext<'_>) {
        let list = list_at(context.tokens, context.next);
        let path = |item: &&str| self.vocabulary.field_path(item).or_else(|| path_missing_in_item(self.sent, item));
        let fields: Vec<String> = list.items.iter().filter_map(path).collect();
        // A list in the segment of a known field names its subfields, which have their own segments.
        let own = context.segment.subject.is_some_and(|subject| subject.known);
        if !own && !fields.is_empty() && fields.len() == list.items.len() {
            fields.into_iter().for_each(|field| self.push_missing(field));
        } else if let Some(field) = self.named_field(context).or_else(|| self.unknown_field(context)) {
            self.push_missing(field);
        } else if let Some(field) = self.sole_empty_field(context) {
            self.push_missing(field);
        }
    }

    /// Reads a phrase that the name of a missing field follows.
    pub(super) fn read_missing_named(&mut self, context: &PhraseContext<'_>) {
        let tokens = context.tokens;
        let next = context.next;
        let at = skip_words(tokens, next, &["the", "a", "an", "required", "missing"], 3);
        if let Some(field) = self.subfield(context, at..at + 1).or_else(|| self.name_at(tokens, at)) {
            self.push_missing(field);
        } else if let [name, noun, ..] = &tokens[at.min(tokens.len())..]
            && name.kind == TokenKind::Quoted
            && NOUNS.iter().any(|known| noun.is_word(known))
        {
            // "Attachment must have a 'type' field": a field of an item.
            let holder = self.about(context).into_iter().next();
            let path = holder.map(|holder| match paths::get(self.sent, &holder) {
                Some(Value::Array(_)) => format!("{holder}.0.{}", name.text),
                _ => format!("{holder}.{}", name.text),
            });
            self.push_missing(path.unwrap_or_else(|| self.path_or_name(name.text)));
        } else if tokens[context.at].is_word("no") {
            // "No order ORD-99."
            let said = self.mentions_in(tokens, sentence(tokens, context.at));
            let shown =
                said.iter().find(|mention| mention.sign == Sign::Value && (next + 1..next + 4).contains(&mention.at));
            if let Some(field) = shown.map(|mention| mention.path.clone()) {
                self.note_fault(Some(field), Fault::NotFound);
            }
        }
    }

    /// Returns the only argument that was sent empty, where a phrase is about what is empty: "null is not allowed".
    fn sole_empty_field(&self, context: &PhraseContext<'_>) -> Option<String> {
        const EMPTY: [&str; 7] = ["null", "none", "nan", "nil", "empty", "blank", "non-empty"];
        let phrase = &context.tokens[context.at..context.next];
        let mut empty = self.sent.as_object()?.iter().filter(|(_, value)| is_empty(value));
        let (name, _) =
            empty.next().filter(|_| phrase.iter().any(|token| EMPTY.iter().any(|word| token.is_word(word))))?;
        empty.next().is_none().then(|| name.clone())
    }

    pub(super) fn push_missing(&mut self, field: String) {
        // A value that was sent is not missing, whatever is said to be empty about it.
        if paths::get(self.sent, &field).is_some_and(|sent| !is_empty(sent)) {
            return self.note_fault(Some(field), Fault::Invalid);
        }
        self.push(if self.vocabulary.is_discriminator(&field) {
            Statement::MissingDiscriminator { field }
        } else {
            Statement::Missing { field }
        });
    }

    pub(super) fn read_wrong_type(&mut self, context: &PhraseContext<'_>) -> bool {
        let tokens = context.tokens;
        let at = skip_words(tokens, context.next, &ARTICLES, 4);
        // "string found, integer expected"
        let before =
            || context.at.checked_sub(1).map(|before| &tokens[before]).filter(|token| json_type(token.text).is_some());
        // `[]string`, as Go writes it
        let is_list = tokens.get(at).is_some_and(|token| token.is_symbol("["))
            && tokens.get(at + 1).is_some_and(|token| token.is_symbol("]"))
            && tokens.get(at + 2).is_some_and(|token| token.kind == TokenKind::Word);
        if is_list {
            self.push_expected_type("array", context);
            return true;
        }
        let follows = tokens.get(at).filter(|token| !matches!(token.kind, TokenKind::Symbol | TokenKind::End));
        let Some(token) = follows.or_else(before) else { return false };
        // "expected text; got number"
        let is_text = token.is_word("text")
            && tokens.get(at + 1).is_none_or(|next| {
                matches!(next.kind, TokenKind::Symbol | TokenKind::End) || next.is_word("got") || next.is_word("but")
            });
        // `want one of "null, array"`
        let listed =
            || Some(token).filter(|token| token.kind == TokenKind::Quoted).and_then(|token| only_type(token.text));
        // "expected set, received string"
        let is_collection = (token.is_word("collection") || token.is_word("set"))
            && tokens[context.at].text.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("expect"))
            && tokens.get(at + 1).is_none_or(|next| {
                matches!(next.kind, TokenKind::Symbol | TokenKind::End) || next.is_word("got") || next.is_word("but")
            });
        let named = json_type(token.text).or(is_text.then_some("string")).or(is_collection.then_some("array"));
        let Some(expected) = named.or_else(listed) else {
            return false;
        };
        if token.kind == TokenKind::Quoted {
            // `'list' or 'create'` are values; `"string" or "number"` leave the type open.
            let items = list_at(tokens, at).items;
            if items.len() > 1 {
                return items.iter().all(|item| json_type(item).is_some());
            }
        }
        if is_unsigned(token.text) {
            let field = self.named_field(context).unwrap_or_default();
            self.push(Statement::Bound { field, relation: Relation::AtLeast, limit: 0.0 });
        }
        self.push_expected_type(expected, context);
        true
    }

    /// Adds a type whose field another sentence may name.
    fn push_expected_type(&mut self, expected: &'static str, context: &PhraseContext<'_>) {
        match self.named_field(context) {
            Some(field) => self.push(Statement::WrongType { field, expected }),
            None if self.names_other(context) => {}
            None => self.push(Statement::WrongType { field: String::new(), expected }),
        }
    }

    /// Adds a type, unless the value that was sent has it: "5 is a number" may be said of that.
    pub(super) fn push_type(&mut self, expected: &'static str, context: &PhraseContext<'_>) {
        let is_met = |field: &String| paths::get(self.original, field).is_some_and(|sent| has_type(sent, expected));
        if let Some(field) = self.field(context).filter(|field| !is_met(field)) {
            self.push(Statement::WrongType { field, expected });
        }
    }

    /// Reads that two fields cannot be sent together: the last one must be left out.
    pub(super) fn read_exclusive(&mut self, context: &PhraseContext<'_>) {
        // "both a and b" follow, "a and b cannot be combined" precede.
        let range = sentence(context.tokens, context.at);
        let is_end = |token: &Token<'_>| token.is_symbol(":;");
        let after = &context.tokens[context.next..range.end];
        let after = &after[..after.iter().position(is_end).unwrap_or(after.len())];
        let before = &context.tokens[range.start..context.at];
        let before = &before[before.iter().rposition(is_end).map_or(0, |end| end + 1)..];
        let named = |tokens: &[Token<'_>]| {
            let is_name = |token: &&Token<'_>| matches!(token.kind, TokenKind::Word | TokenKind::Quoted);
            let mut fields: Vec<String> = Vec::new();
            for field in tokens.iter().filter(is_name).filter_map(|token| self.vocabulary.field_path(token.text)) {
                if !fields.contains(&field) {
                    fields.push(field);
                }
            }
            fields
        };
        let (after, before) = (named(after), named(before));
        let both = || before.iter().chain(&after).cloned().collect();
        let fields = [&after, &before].into_iter().find(|fields| fields.len() > 1).cloned().unwrap_or_else(both);
        let [one, other] = fields.as_slice() else { return };
        let is_sent = |field: &String| self.original.is_null() || paths::get(self.original, field).is_some();
        // "Use name" keeps it.
        let is_kept = |field: &String| {
            let pairs = context.tokens.windows(2);
            pairs.into_iter().any(|pair| {
                ["use", "keep", "set"].iter().any(|verb| pair[0].is_word(verb))
                    && self.vocabulary.field_path(pair[1].text).as_ref() == Some(field)
            })
        };
        if is_sent(one) && is_sent(other) {
            let field = if is_kept(other) { one } else { other }.clone();
            self.push(Statement::Unrecognized { field });
        }
    }

    /// Reads the names of unknown fields: those after the phrase, before it, or else the segment's.
    pub(super) fn read_unrecognized(&mut self, context: &PhraseContext<'_>) {
        if tells_of_attempt(context) || self.read_refused_characters(context) {
            return;
        }
        let tokens = context.tokens;
        let remove = tokens[context.at].is_word("remove");
        let words =
            [NOUNS.as_slice(), &["s", "in", "object", "or", "correct", "unrecognized", "unrecognised", "the", "named"]];
        let words = words.concat();
        let start = tokens[context.next..]
            .iter()
            .take(12)
            .take_while(|token| token.is_symbol(":()*") || words.iter().any(|word| token.is_word(word)));
        let start = context.next + start.count();
        let list = list_at(tokens, start);
        let quoted = |token: &&Token<'_>| token.kind == TokenKind::Quoted;
        if list.quoted {
            // The name of an element or a key says where: `<field name="rows.0">Unrecognized key(s) in object: 'date'`.
            let holder = context.segment.subject.filter(|subject| subject.known).map(|subject| subject.name.as_str());
            for item in &list.items {
                let inner = holder.map(|holder| format!("{holder}.{item}"));
                let inner = inner.filter(|path| paths::get(self.sent, path).is_some());
                self.push(Statement::Unrecognized { field: inner.unwrap_or_else(|| self.path_or_name(item)) });
            }
        } else if remove {
            if let Some(field) = self.name_at(tokens, start) {
                self.push(Statement::Unrecognized { field });
            }
        } else if let Some(subject) = context.segment.subject
            && (subject.known
                || subject.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)))
        {
            self.push(Statement::Unrecognized { field: subject.name.clone() });
        } else {
            let sentence = sentence(tokens, context.at);
            let before = tokens[sentence.start..context.at].iter().rev().find(quoted);
            let named = before.or_else(|| tokens[context.next..sentence.end].iter().find(quoted));
            let field = named.map(|token| self.path_or_name(token.text));
            let bare =
                || list.items.first().map(|item| self.path_or_name(item)).or_else(|| self.field_in_sentence(context));
            // "Path not allowed: /etc/x"
            let is_value = |item: &&str| {
                path_of_value(self.original, item).is_some()
                    && self.vocabulary.field_path(item).is_none()
                    && paths::get(self.original, item).is_none()
            };
            if list.items.iter().any(is_value) {
                return self.read_fault(Fault::Invalid, context);
            }
            // "unknown key bb (expected b)": a sent name right after the phrase is the one.
            let next = tokens.get(start).filter(|token| self.sent.get(token.text).is_some());
            let field = field.or_else(|| next.map(|token| token.text.to_owned()));
            // "property foo is not allowed", "unrecognized arguments: --foo"
            let is_sent = |token: &&Token<'_>| token.kind == TokenKind::Word && self.sent.get(token.text).is_some();
            let own = || tokens[sentence.clone()].iter().find(is_sent).map(|token| self.path_or_name(token.text));
            if let Some(field) = field.or_else(bare).or_else(own) {
                self.push(Statement::Unrecognized { field });
            }
        }
    }

    /// Reads `already has the same room and date`. Ignored unless all names are known fields.
    pub(super) fn read_conflict(&mut self, context: &PhraseContext<'_>) {
        let list = list_at(context.tokens, context.next);
        let fields: Vec<String> = list.items.iter().filter_map(|item| self.vocabulary.field_path(item)).collect();
        if fields.len() == list.items.len() {
            fields.into_iter().for_each(|field| self.push(Statement::Conflict { field }));
        }
    }
}

/// Returns true for what counts as not given.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}
