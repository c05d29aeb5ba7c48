//! Statements about arguments: that they are missing or unknown, their types and their options.

use serde_json::Value;

use super::lists::{List, list_at, sentence, skip_words};
use super::patterns::{is_format, is_unsigned, json_type};
use super::sent_paths::{path_missing_in_item, path_of_value};
use super::statement_reader::{ARTICLES, PhraseContext, StatementReader, owned_items};
use super::tokens::{Token, TokenKind};
use super::{Fault, Relation, Statement};
use crate::paths;

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
        }
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
        let follows = tokens.get(at).filter(|token| !matches!(token.kind, TokenKind::Symbol | TokenKind::End));
        let Some(token) = follows.or_else(before) else { return false };
        // "expected text; got number"
        let is_text = token.is_word("text")
            && tokens.get(at + 1).is_none_or(|next| {
                matches!(next.kind, TokenKind::Symbol | TokenKind::End) || next.is_word("got") || next.is_word("but")
            });
        let Some(expected) = json_type(token.text).or(is_text.then_some("string")) else { return false };
        if token.kind == TokenKind::Quoted {
            // `'list' or 'create'` are values; `"string" or "number"` leave the type open.
            let items = list_at(tokens, at).items;
            if items.len() > 1 {
                return items.iter().all(|item| json_type(item).is_some());
            }
        }
        if let Some(field) = self.named_field(context).or_else(|| Some(String::new())) {
            if is_unsigned(token.text) {
                self.push(Statement::Bound { field: field.clone(), relation: Relation::AtLeast, limit: 0.0 });
            }
            self.push(Statement::WrongType { field, expected });
        }
        true
    }

    pub(super) fn push_type(&mut self, expected: &'static str, context: &PhraseContext<'_>) {
        if let Some(field) = self.field(context) {
            self.push(Statement::WrongType { field, expected });
        }
    }

    pub(super) fn read_options(&mut self, list: &List<'_>, context: &PhraseContext<'_>) {
        if list.items.is_empty() {
            // "must be one of the allowed values" does not say which.
            return self.read_fault(Fault::Invalid, context);
        }
        let is_sent = |item: &&str| path_of_value(self.sent, item).is_some();
        if list.items.iter().all(|item| self.vocabulary.resolve_action(item).is_some())
            || list.items.iter().all(is_sent)
        {
            return;
        }
        let own = context.segment.subject.is_some_and(|subject| subject.known);
        // Do not identify the field by a sent value: the values in this sentence are the valid ones.
        let named = || self.field_by_name(context).or_else(|| self.field_named_before(context));
        let before = sentence(context.tokens, context.at).start..context.at;
        let field = if own { self.subfield(context, before) } else { named() }.or_else(|| self.field(context));
        let discriminator = field.as_deref().is_some_and(|field| self.vocabulary.is_discriminator(field));
        if discriminator
            || (!own
                && (list.announced || list.items.len() > 1)
                && list.items.iter().all(|item| self.vocabulary.is_action(item)))
        {
            self.push_actions(list);
        } else if let Some(field) = field
            && !list.items.iter().all(|item| self.vocabulary.field_path(item).as_ref() == Some(&field))
        {
            self.push(Statement::Options { field, values: owned_items(list) });
        }
    }

    /// Reads "Only SELECT queries are allowed" as a description of the right value, and "Only GET and POST are supported" as options.
    pub(super) fn read_only(&mut self, context: &PhraseContext<'_>) -> bool {
        let rest = &context.tokens[context.next..sentence(context.tokens, context.at).end];
        // What is written so stands for itself.
        let is_literal = |token: &Token<'_>| {
            let is_name = token.text.len() > 1
                && token.text.bytes().any(|byte| byte.is_ascii_uppercase())
                && !token.text.bytes().any(|byte| byte.is_ascii_lowercase());
            token.kind == TokenKind::Quoted || token.kind == TokenKind::Word && (is_name || token.text.starts_with('.'))
        };
        let is_joint = |token: &Token<'_>| token.is_symbol(",/|") || token.is_word("and") || token.is_word("or");
        let list: Vec<&Token<'_>> = rest.iter().take_while(|token| is_literal(token) || is_joint(token)).collect();
        let verb = rest.iter().skip(list.len()).take(3).position(|token| token.is_word("is") || token.is_word("are"));
        let is_allowed = verb.and_then(|verb| rest.get(list.len() + verb + 1)).is_some_and(|token| {
            ["allowed", "supported", "accepted", "permitted"].iter().any(|word| token.is_word(word))
        });
        let is_only = context.tokens[context.at].is_word("only") && !list.is_empty() && is_allowed;
        let Some(field) = self.field(context).filter(|_| is_only) else { return false };
        let values: Vec<String> =
            list.iter().filter(|token| is_literal(token)).map(|token| token.text.to_owned()).collect();
        if verb == Some(0) && values.len() > 1 {
            self.push(Statement::Options { field, values });
        } else {
            self.note_stated(field, None);
        }
        true
    }

    /// Reads the names of unknown fields: those after the phrase, before it, or else the segment's.
    pub(super) fn read_unrecognized(&mut self, context: &PhraseContext<'_>) {
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

/// Returns true for a list of at least two values without quotes, which says no type and no comparison.
pub(super) fn is_list_of_words(list: &List<'_>) -> bool {
    const COMPARISONS: [&str; 12] =
        ["more", "less", "greater", "fewer", "above", "below", "higher", "lower", "longer", "shorter", "equal", "null"];
    let is_value = |item: &&str| {
        json_type(item).is_none() && !is_format(item) && item.parse::<f64>().is_err() && !COMPARISONS.contains(item)
    };
    list.items.len() > 1 && list.items.iter().all(is_value)
}

/// Returns true for what counts as not given.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}
