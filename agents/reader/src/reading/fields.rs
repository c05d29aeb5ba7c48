//! Finds the field that a phrase is about.

use serde_json::Value;

use super::arguments::is_empty;
use super::lists::sentence;
use super::mentions::{Sign, is_meant};
use super::segment::Subject;
use super::sent_paths::{is_null, path_of_length, path_of_name, path_of_value};
use super::statement_reader::{PhraseContext, StatementReader};
use super::tokens::{Token, TokenKind};

/// Nouns by which error messages refer to any argument.
const GENERIC_NOUNS: [&str; 10] =
    ["value", "values", "type", "name", "field", "input", "argument", "key", "length", "error"];
/// The maximum distance in tokens between a phrase and the name it refers to.
const MAX_NAME_DISTANCE: usize = 12;

impl StatementReader<'_> {
    /// Returns the field that a phrase is about: the segment's, one that its sentence names, or the only one there can be.
    pub(super) fn field(&self, context: &PhraseContext<'_>) -> Option<String> {
        self.named_field(context).or_else(|| self.sole_field().filter(|_| !self.names_other(context)))
    }

    /// Returns true if the sentence of a phrase names something else before it.
    pub(super) fn names_other(&self, context: &PhraseContext<'_>) -> bool {
        self.is_of_other(context.tokens, sentence(context.tokens, context.at).start..context.at)
    }

    /// Returns true if tokens are about something that is no argument: "`vat_rate` should be a number", "DB_PORT='x', should be integer".
    pub(super) fn is_of_other(&self, tokens: &[Token<'_>], range: std::ops::Range<usize>) -> bool {
        let Some(sent) = self.original.as_object() else { return false };
        let is_subject = |at: usize| {
            let next = tokens.get(at + 1);
            let verbs = ["must", "should", "is", "was", "has", "needs", "cannot", "may"];
            at + 1 == range.end || next.is_some_and(|next| verbs.iter().any(|verb| next.is_word(verb)))
        };
        let is_other = |at: usize| {
            let token = &tokens[at];
            let is_name = token.text.len() > 2
                && token.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && token.text.bytes().any(|byte| byte.is_ascii_lowercase());
            let is_formed = token.kind == TokenKind::Quoted || token.text.contains('_');
            let is_set = || token.text.contains('_') && tokens.get(at + 1).is_some_and(|next| next.is_symbol("="));
            let is_part = |text: &str| text.contains(token.text) || token.text.contains(text);
            let is_shown = || self.sent_values().iter().any(|value| value.has_part(is_part));
            let is_key = || sent.values().any(|value| value.to_string().contains(&format!("\"{}\":", token.text)));
            (is_name && is_formed && is_subject(at) || is_set())
                && self.vocabulary.field_in_other_form(token.text).is_none()
                && self.vocabulary.resolve_action(token.text).is_none()
                && !is_shown()
                && !is_key()
        };
        range.clone().any(|at| matches!(tokens[at].kind, TokenKind::Word | TokenKind::Quoted) && is_other(at))
    }

    /// Returns the only argument that was sent beside a discriminator, if the text has named no other field so far. What a text says
    /// without a name is about it: "Unknown zone. Did you mean 'north'?"
    pub(super) fn sole_field(&self) -> Option<String> {
        let mut sent = self
            .sent
            .as_object()
            .filter(|_| self.of_error)?
            .iter()
            .filter(|(name, _)| !self.vocabulary.is_discriminator(name));
        let (name, value) = sent.next()?;
        let is_given = matches!(value, Value::String(_) | Value::Number(_) | Value::Array(_)) && !is_empty(value);
        let is_named = |field: Option<&str>| field.is_none_or(|field| field == name || field.is_empty());
        let is_only = sent.next().is_none()
            && self.statements.iter().all(|statement| is_named(statement.field()))
            && self.faults.iter().all(|(field, _)| is_named(field.as_deref()));
        (is_given && is_only).then(|| name.clone())
    }

    /// Returns the field that a phrase is about: the segment's, or one that its sentence names.
    pub(super) fn named_field(&self, context: &PhraseContext<'_>) -> Option<String> {
        match context.segment.subject {
            Some(Subject { name, known: true }) => Some(name.clone()),
            _ => {
                let about = || self.about_by(Sign::Word, context).into_iter().next();
                let before = || {
                    self.only_fault().or_else(|| self.field_named_before(context)).or_else(|| self.last_mention.clone())
                };
                let earlier = || before().filter(|_| !self.names_other(context));
                self.field_in_sentence(context).or_else(about).or_else(earlier)
            }
        }
    }

    /// Returns the known field that the sentence names, or whose value it quotes. Quoted names are preferred over
    /// unquoted ones, and names before the phrase over those after it.
    pub(super) fn field_in_sentence(&self, context: &PhraseContext<'_>) -> Option<String> {
        let tokens = context.tokens;
        let field_by_value = || {
            // A number after the phrase is what it says of the field, and not what was sent.
            let is_shown = |at: &usize| match tokens[*at].kind {
                TokenKind::Quoted => true,
                TokenKind::Number => *at < context.at,
                TokenKind::Word => *at < context.at && is_null(tokens[*at].text),
                _ => false,
            };
            let values = nearby_tokens(context).filter(is_shown);
            values.into_iter().find_map(|at| {
                let length = at.checked_sub(1).is_some_and(|before| tokens[before].is_word("length"));
                if length {
                    path_of_length(self.sent, tokens[at].number()?)
                } else {
                    path_of_value(self.sent, tokens[at].text)
                }
            })
        };
        let field_in_list = || {
            let said = self.mentions_in(tokens, sentence(tokens, context.at));
            let nested = said.iter().find(|mention| mention.sign != Sign::Value && mention.path.contains('.'));
            nested.map(|mention| mention.path.clone())
        };
        self.field_by_name(context).or_else(field_in_list).or_else(field_by_value).or_else(|| {
            let words = nearby_tokens(context).filter(|at| tokens[*at].kind == TokenKind::Word);
            words.into_iter().find_map(|at| self.vocabulary.field_path(tokens[at].text))
        })
    }

    /// Returns the known field that the sentence names. A generic noun, as in `invalid value: …`, is skipped unless it
    /// is in quotes.
    pub(super) fn field_by_name(&self, context: &PhraseContext<'_>) -> Option<String> {
        let tokens = context.tokens;
        let range = sentence(tokens, context.at);
        let of = |kind: TokenKind| {
            let is_specific = |at: &usize| kind == TokenKind::Quoted || !is_generic_noun(&tokens[*at]);
            let mut names = nearby_tokens(context).filter(|at| tokens[*at].kind == kind).filter(is_specific);
            names.find_map(|at| {
                let path = self.vocabulary.field_path(tokens[at].text)?;
                (kind == TokenKind::Quoted || is_meant(tokens, at, &range)).then_some(path)
            })
        };
        of(TokenKind::Quoted).or_else(|| of(TokenKind::Word))
    }

    /// Returns the field of the segment's object that the last of these tokens quotes, such as the tag of a union:
    /// `payment: 'by' has to be one of …`.
    pub(super) fn subfield(&self, context: &PhraseContext<'_>, tokens: std::ops::Range<usize>) -> Option<String> {
        let object = context.segment.subject.filter(|subject| subject.known)?;
        let quoted = context.tokens.get(tokens)?.iter().rev().filter(|token| token.kind == TokenKind::Quoted);
        quoted.map(|token| format!("{}.{}", object.name, token.text)).find(|path| self.vocabulary.has_nested(path))
    }

    /// Returns the known field that the line names, or whose value it shows, before the sentence: `Bad role. Options: a, b`.
    pub(super) fn field_named_before(&self, context: &PhraseContext<'_>) -> Option<String> {
        let start = sentence(context.tokens, context.at).start;
        let before = context.tokens[..start].iter().rev().take(MAX_NAME_DISTANCE);
        let names = before.filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Quoted));
        let named =
            names.filter(|token| !is_generic_noun(token)).find_map(|token| self.vocabulary.field_path(token.text));
        // "No order ORD-99. Ids look like ORD-17."
        let shown = || {
            let before = sentence(context.tokens, start.checked_sub(1)?);
            let said = self.mentions_in(context.tokens, before.start..start - 1);
            said.iter().find(|mention| mention.sign == Sign::Value).map(|mention| mention.path.clone())
        };
        named.or_else(shown)
    }

    pub(super) fn name_at(&self, tokens: &[Token<'_>], at: usize) -> Option<String> {
        let token = tokens.get(at).filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Quoted))?;
        self.vocabulary.field_path(token.text)
    }

    /// Returns the name of a field of a nested object, which a segment or a quotation names and the list of tools does not.
    pub(super) fn unknown_field(&self, context: &PhraseContext<'_>) -> Option<String> {
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-[]".contains(&byte))
        };
        let is_phrase = |name: &str| context.tokens[context.at].says(name);
        if let Some(subject) =
            context.segment.subject.filter(|subject| is_name(&subject.name) && !is_phrase(&subject.name))
        {
            return Some(self.path_or_name(&subject.name));
        }
        let is_near = |at: &usize| at.abs_diff(context.at) <= 3 || at.abs_diff(context.next) <= 3;
        // "because "room" is null" is said of a variable of the server.
        let is_state = context.tokens[context.at].is_word("undefined")
            || context.tokens[context.at].is_word("is")
                && ["null", "none", "nan"].iter().any(|word| context.tokens[context.next - 1].is_word(word));
        let quoted = nearby_tokens(context).find(|at| context.tokens[*at].kind == TokenKind::Quoted).filter(is_near)?;
        let name = context.tokens[quoted].text;
        if is_state {
            return None;
        }
        (is_name(name) && path_of_value(self.sent, name).is_none()).then(|| self.path_or_name(name))
    }

    pub(super) fn path_or_name(&self, raw: &str) -> String {
        let sent = || path_of_name(self.sent, raw);
        self.vocabulary.field_path(raw).or_else(sent).unwrap_or_else(|| raw.to_owned())
    }
}

pub(super) fn is_generic_noun(token: &Token<'_>) -> bool {
    GENERIC_NOUNS.iter().any(|noun| token.is_word(noun))
}

/// Returns the indices of the tokens around a phrase in its sentence: backward from it, then forward.
pub(super) fn nearby_tokens(context: &PhraseContext<'_>) -> impl Iterator<Item = usize> {
    let sentence = sentence(context.tokens, context.at);
    (sentence.start..context.at).rev().chain(context.next..sentence.end)
}
