//! From segments to evidence: the phrases of a segment, and what stands around them.

use serde_json::Value;

use super::cues::{Cue, cues_at, is_format, is_unsigned, json_type};
use super::lists::{List, list_at, past, sentence};
use super::segments::{Segment, Subject};
use super::shape::ShapeField;
use super::tokens::{Kind, Token, lex};
use super::vocabulary::Vocabulary;
use super::{Evidence, Hint, Relation};
use crate::scripted::paths;

/// Collects evidence while a text is walked.
pub(super) struct Reader<'v> {
    pub(super) vocabulary: &'v Vocabulary<'v>,
    sent: &'v Value,
    pub(super) evidence: Vec<Evidence>,
    /// The text says that its answer was cut: from here on, named fields are filters.
    pub(super) truncated: bool,
    /// The lines with bullets that follow are actions.
    pub(super) in_list: bool,
    /// The action that was named last in a path such as `actions.create.inputSchema`.
    action: Option<String>,
    /// A shape that has no successor yet: the previous one, or the first of two that are not labelled.
    earlier: Option<Vec<ShapeField>>,
}

const ARTICLES: [&str; 12] =
    ["a", "an", "the", "valid", "type", "of", "be", "one", "single", "following", "by", "calling"];
const NOUNS: [&str; 10] =
    ["field", "fields", "parameter", "property", "argument", "key", "keys", "input", "attribute", "parameters"];
/// What error messages call any argument.
const PLAIN_NOUNS: [&str; 10] =
    ["value", "values", "type", "name", "field", "input", "argument", "key", "length", "error"];
/// A name further away than this many tokens belongs to something else.
const MOST_BEFORE: usize = 12;
/// Nobody acts on more than this, and the limit keeps the search for repetitions short.
const MOST_EVIDENCE: usize = 500;
/// `(…)` around a pattern, or a closing quote, is not part of it.
const PATTERN_WORDS: [&str; 8] = ["the", "pattern", "regex", "regular", "expression", "of", "a", "is"];

impl<'v> Reader<'v> {
    pub(super) fn new(vocabulary: &'v Vocabulary<'v>, sent: &'v Value) -> Reader<'v> {
        Reader { vocabulary, sent, evidence: Vec::new(), truncated: false, in_list: false, action: None, earlier: None }
    }

    pub(super) fn into_evidence(self) -> Vec<Evidence> {
        self.evidence
    }

    pub(super) fn push(&mut self, evidence: Evidence) {
        if self.evidence.len() < MOST_EVIDENCE && !self.evidence.contains(&evidence) {
            self.evidence.push(evidence);
        }
    }

    /// A known field at the head of a line, with what stands after it.
    pub(super) fn heading(&mut self, field: &str, rest: &str) {
        if self.truncated {
            let mut tokens = Vec::new();
            lex(rest, &mut tokens);
            let list = list_at(&tokens, 0);
            // One bare word says what kind of value it is (`assignee: string`), not which.
            let values = if list.quoted || list.items.len() > 1 { owned(&list) } else { Vec::new() };
            self.narrow(field.to_owned(), values);
        }
        // `role (string): …` names the type.
        let kind = rest.strip_prefix('(').and_then(|rest| rest.split([')', ',']).next());
        if let Some(expected) = kind.and_then(json_type) {
            self.push(Evidence::WrongType { field: field.to_owned(), expected });
        }
    }

    /// A JSON object that the text calls an example, or the first of a list of them.
    pub(super) fn example(&mut self, value: &Value) {
        let object = match value {
            Value::Object(object) => Some(object),
            Value::Array(items) => items.first().and_then(Value::as_object),
            _ => None,
        };
        if let Some(object) = object.filter(|object| !object.is_empty()) {
            self.push(Evidence::Example { object: object.clone() });
        }
    }

    /// An input's shape; `words` (before it, or the label around it) may say whether it is the previous or the current one.
    pub(super) fn shape(&mut self, fields: Vec<ShapeField>, words: &str) {
        let mut tokens = Vec::new();
        lex(words, &mut tokens);
        let last =
            |known: &[&str]| tokens.iter().rposition(|t| known.iter().any(|word| t.is_word(word) || t.is_mark(word)));
        let previous = last(&["previous", "previously", "before", "old", "was", "formerly", "from"]);
        let current = last(&[
            "current",
            "currently",
            "now",
            "new",
            "after",
            "to",
            "→",
            "->",
            "=>",
            "became",
            "is",
            "expected",
            "schema",
        ]);
        self.note_action(&tokens);
        let earlier = self.earlier.take();
        if previous > current || (previous.is_none() && current.is_none() && earlier.is_none()) {
            self.earlier = Some(fields);
            return;
        }
        let gone = |field: &&ShapeField| !fields.iter().any(|kept| kept.path == field.path);
        let dropped = earlier.iter().flatten().filter(gone).map(|field| field.path.clone()).collect();
        self.push(Evidence::Contract { action: self.action.clone(), fields, dropped });
    }

    fn note_action(&mut self, tokens: &[Token<'_>]) {
        for token in tokens {
            if let Some(rest) = token.text.strip_prefix("actions.")
                && matches!(token.kind, Kind::Word | Kind::Quoted)
            {
                self.action = rest.split('.').next().map(str::to_owned);
            }
        }
    }

    pub(super) fn segment(&mut self, segment: &Segment<'_>) {
        let mut tokens = Vec::with_capacity(segment.text.len() / 5 + 4);
        lex(segment.label, &mut tokens);
        if !tokens.is_empty() {
            tokens.push(Token { kind: Kind::Mark, text: ":", rest: segment.text });
        }
        let text_start = tokens.len();
        lex(segment.text, &mut tokens);
        self.note_action(&tokens);
        if !segment.attribute && segment.label.eq_ignore_ascii_case("action") {
            self.action_element(segment, &tokens[text_start..]);
        }
        let mut heard = Heard::default();
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at].kind == Kind::End {
                heard = Heard::default();
            }
            let mut length = 1;
            for (cue, words) in cues_at(&tokens, at) {
                length = words;
                let context = Context { segment, tokens: &tokens, at, next: at + words };
                self.cue(cue, &context, &mut heard);
            }
            at += length;
        }
    }

    fn cue(&mut self, cue: Cue, context: &Context<'_>, heard: &mut Heard) {
        let tokens = context.tokens;
        let next = context.next;
        match cue {
            Cue::Missing => self.missing(context),
            Cue::MissingNamed => {
                if let Some(field) =
                    self.name_at(tokens, past(tokens, next, &["the", "a", "an", "required", "missing"], 3))
                {
                    self.missing_field(field);
                }
            }
            // `unknown field x, expected one of a, b` lists fields and not values.
            Cue::Expected | Cue::Options | Cue::Valid if heard.unrecognised => {}
            Cue::Expected => {
                let list = list_at(tokens, next);
                if !self.wrong_type(context) && list.quoted {
                    self.options(&list, context);
                }
            }
            Cue::Options => {
                // `valid options for 'currency': …` names the field after the words.
                if let [of, name, colon, ..] = &tokens[next..]
                    && of.is_word("for")
                    && colon.is_mark(":")
                    && let Some(field) = self.vocabulary.path(name.text)
                {
                    let list = list_at(tokens, next + 2);
                    if !list.items.is_empty() {
                        self.push(Evidence::Options { field, values: owned(&list) });
                    }
                    return;
                }
                // `choose 'currency' from …` has it between.
                if let [name, from, ..] = &tokens[next..]
                    && ["from", "among", "between"].iter().any(|word| from.is_word(word))
                    && let Some(field) = self.vocabulary.path(name.text)
                {
                    let list = list_at(tokens, next + 1);
                    if !list.items.is_empty() {
                        self.push(Evidence::Options { field, values: owned(&list) });
                    }
                    return;
                }
                let list = list_at(tokens, next);
                if list.quoted || list.announced || list.items.len() > 1 {
                    self.options(&list, context);
                }
            }
            Cue::Valid => {
                let named = self.format(context) || self.wrong_type(context);
                let noun = usize::from(!tokens.get(next).is_some_and(|token| token.is_mark(":")));
                if !named && tokens.get(next + noun).is_some_and(|token| token.is_mark(":")) {
                    let list = list_at(tokens, next + noun);
                    match tokens[next..next + noun].first().and_then(|word| self.vocabulary.one_of(word.text)) {
                        Some(field) if !list.items.is_empty() => {
                            self.push(Evidence::Options { field, values: owned(&list) });
                        }
                        _ => self.options(&list, context),
                    }
                }
            }
            Cue::Invalid => {
                let _ = self.format(context) || self.wrong_type(context);
            }
            Cue::Format => {
                let before = context.at.checked_sub(1).map(|before| tokens[before]);
                match before.filter(|token| is_format(token.text)) {
                    Some(token) => self.push_format(Hint::Named(token.text.to_lowercase()), context),
                    None => {
                        self.format(context);
                    }
                }
            }
            Cue::FormatItself => {
                let words: Vec<String> =
                    tokens[context.at..next].iter().map(|token| token.text.to_lowercase()).collect();
                self.push_format(Hint::Named(words.join(" ")), context);
            }
            Cue::Pattern => self.pattern(context),
            Cue::AtLeast => self.bound(Relation::AtLeast, context),
            Cue::Above => self.bound(Relation::Above, context),
            Cue::AtMost => self.bound(Relation::AtMost, context),
            Cue::Below => self.bound(Relation::Below, context),
            Cue::MultipleOf => self.bound(Relation::MultipleOf, context),
            Cue::Between => self.between(context),
            Cue::Unrecognised => {
                heard.unrecognised = true;
                self.unrecognised(context);
            }
            Cue::TakenNamed => self.taken(context),
            Cue::Taken => {
                if let Some(field) = self.field(context) {
                    self.push(Evidence::Taken { field });
                }
            }
            Cue::Actions => self.actions(&list_at(tokens, next)),
            Cue::Call if !context.segment.attribute => self.call(context),
            Cue::Call | Cue::Nothing => {}
            Cue::Delay => self.delay(context),
            Cue::Transient => self.push(Evidence::Transient),
            Cue::Stop if context.segment.subject.is_none_or(|subject| !subject.known) => self.push(Evidence::Stop),
            Cue::Stop => {}
            Cue::Truncated => self.truncation(context),
            Cue::Page => self.page(context),
        }
    }

    /// The field that a phrase is about: the segment's, or one that its sentence names.
    fn field(&self, context: &Context<'_>) -> Option<String> {
        match context.segment.subject {
            Some(Subject { name, known: true }) => Some(name.clone()),
            _ => self.named(context),
        }
    }

    /// The known field that the sentence names or quotes a value of: in quotes rather than bare, before the phrase rather than
    /// after it.
    fn named(&self, context: &Context<'_>) -> Option<String> {
        let tokens = context.tokens;
        let as_sent = || {
            let values = near(context).filter(|at| matches!(tokens[*at].kind, Kind::Quoted | Kind::Number));
            values.into_iter().find_map(|at| {
                let length = at.checked_sub(1).is_some_and(|before| tokens[before].is_word("length"));
                if length {
                    sent_with_length(self.sent, tokens[at].number()?)
                } else {
                    sent_as(self.sent, tokens[at].text)
                }
            })
        };
        self.spelled(context).or_else(as_sent).or_else(|| {
            let words = near(context).filter(|at| tokens[*at].kind == Kind::Word);
            words.into_iter().find_map(|at| self.vocabulary.path(tokens[at].text))
        })
    }

    /// The known field that the sentence names. `invalid value: …` speaks of any field, and of one that is called `value` only if
    /// nothing else is meant.
    fn spelled(&self, context: &Context<'_>) -> Option<String> {
        let tokens = context.tokens;
        let of = |kind: Kind| {
            let telling = |at: &usize| kind == Kind::Quoted || !is_plain(&tokens[*at]);
            let names = near(context).filter(|at| tokens[*at].kind == kind).filter(telling);
            names.into_iter().find_map(|at| self.vocabulary.path(tokens[at].text))
        };
        of(Kind::Quoted).or_else(|| of(Kind::Word))
    }

    /// The known field that the line names before the sentence: `Bad role. Options: a, b`.
    fn named_before(&self, context: &Context<'_>) -> Option<String> {
        let start = sentence(context.tokens, context.at).start;
        let before = context.tokens[..start].iter().rev().take(MOST_BEFORE);
        let names = before.filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
        names.filter(|token| !is_plain(token)).find_map(|token| self.vocabulary.path(token.text))
    }

    fn name_at(&self, tokens: &[Token<'_>], at: usize) -> Option<String> {
        let token = tokens.get(at).filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted))?;
        self.vocabulary.path(token.text)
    }

    fn missing(&mut self, context: &Context<'_>) {
        let list = list_at(context.tokens, context.next);
        let path = |item: &&str| self.vocabulary.path(item).or_else(|| lacking(self.sent, item));
        let fields: Vec<String> = list.items.iter().filter_map(path).collect();
        // Of a known field's own segment, a list can only be of fields inside of it; those have their own segments.
        let own = context.segment.subject.is_some_and(|subject| subject.known);
        if !own && !fields.is_empty() && fields.len() == list.items.len() {
            fields.into_iter().for_each(|field| self.missing_field(field));
        } else if let Some(field) = self.field(context) {
            self.missing_field(field);
        }
    }

    fn missing_field(&mut self, field: String) {
        self.push(if self.vocabulary.is_discriminator(&field) {
            Evidence::MissingDiscriminator { field }
        } else {
            Evidence::Missing { field }
        });
    }

    fn wrong_type(&mut self, context: &Context<'_>) -> bool {
        let tokens = context.tokens;
        let at = past(tokens, context.next, &ARTICLES, 4);
        let Some(token) = tokens.get(at).filter(|token| token.kind != Kind::Mark) else { return false };
        let Some(expected) = json_type(token.text) else { return false };
        if token.kind == Kind::Quoted {
            // `'list' or 'create'` are values; `"string" or "number"` leave the type open.
            let items = list_at(tokens, at).items;
            if items.len() > 1 {
                return items.iter().all(|item| json_type(item).is_some());
            }
        }
        if let Some(field) = self.field(context) {
            if is_unsigned(token.text) {
                self.push(Evidence::Bound { field: field.clone(), relation: Relation::AtLeast, limit: 0.0 });
            }
            self.push(Evidence::WrongType { field, expected });
        }
        true
    }

    fn options(&mut self, list: &List<'_>, context: &Context<'_>) {
        if list.items.is_empty() {
            return;
        }
        let own = context.segment.subject.is_some_and(|subject| subject.known);
        // Values that are listed as valid name no field by having been sent.
        let named = || self.spelled(context).or_else(|| self.named_before(context));
        let field = if own { None } else { named() }.or_else(|| self.field(context));
        let discriminator = field.as_deref().is_some_and(|field| self.vocabulary.is_discriminator(field));
        if discriminator
            || (!own
                && (list.announced || list.items.len() > 1)
                && list.items.iter().all(|item| self.vocabulary.is_action(item)))
        {
            self.actions(list);
        } else if let Some(field) = field
            && !list.items.iter().all(|item| self.vocabulary.path(item).as_ref() == Some(&field))
        {
            self.push(Evidence::Options { field, values: owned(list) });
        }
    }

    fn format(&mut self, context: &Context<'_>) -> bool {
        let tokens = context.tokens;
        let at = past(tokens, context.next, &ARTICLES, 3);
        let Some(name) = tokens.get(at).filter(|token| token.kind != Kind::Mark && is_format(token.text)) else {
            return false;
        };
        self.push_format(Hint::Named(name.text.to_lowercase()), context);
        true
    }

    fn push_format(&mut self, hint: Hint, context: &Context<'_>) {
        if let Some(field) = self.field(context) {
            self.push(Evidence::Format { field, hint });
        }
    }

    fn pattern(&mut self, context: &Context<'_>) {
        let at = past(context.tokens, context.next, &PATTERN_WORDS, 5);
        let rest = context.tokens[at - 1].rest.trim_start_matches([' ', ':', '`', '"', '\'']);
        if !rest.starts_with(['^', '/']) {
            return;
        }
        let end = rest.find([' ', '`', '"', '\n']).unwrap_or(rest.len());
        let pattern = rest[..end].trim_end_matches(['.', ',', '\'', ';', '/']).trim_start_matches('/');
        if !pattern.is_empty() {
            self.push_format(Hint::Pattern(pattern.to_owned()), context);
        }
    }

    fn bound(&mut self, relation: Relation, context: &Context<'_>) {
        const WORDS: [&str; 12] =
            ["than", "or", "equal", "to", "of", "be", "is", "a", "value", "length", "the", "allowed"];
        let at = past(context.tokens, context.next, &WORDS, 5);
        if let Some(limit) = context.tokens.get(at).and_then(Token::number)
            && let Some(field) = self.field(context)
        {
            self.push(Evidence::Bound { field, relation, limit });
        }
    }

    fn between(&mut self, context: &Context<'_>) {
        let tokens = context.tokens;
        let at = past(tokens, context.next, &["of", "the", "is"], 3);
        let number = |at: usize| tokens.get(at).and_then(Token::number);
        let joined = tokens.get(at + 1).is_some_and(|t| t.is_word("and") || t.is_word("to") || t.is_mark("–—,-"));
        let limits = match (number(at), number(at + 2)) {
            (Some(low), Some(high)) if joined => Some((low, high)),
            // `18-120` is one word.
            _ => tokens
                .get(at)
                .and_then(|token| token.text.split_once('-'))
                .and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?))),
        };
        if let Some((low, high)) = limits
            && let Some(field) = self.field(context)
        {
            self.push(Evidence::Bound { field: field.clone(), relation: Relation::AtLeast, limit: low });
            self.push(Evidence::Bound { field, relation: Relation::AtMost, limit: high });
        }
    }

    /// Names after the phrase, before it, or else the segment's own.
    fn unrecognised(&mut self, context: &Context<'_>) {
        let tokens = context.tokens;
        let remove = tokens[context.at].is_word("remove");
        let words =
            [NOUNS.as_slice(), &["s", "in", "object", "or", "correct", "unrecognized", "unrecognised", "the", "named"]];
        let words = words.concat();
        let start = tokens[context.next..]
            .iter()
            .take(12)
            .take_while(|token| token.is_mark(":()*") || words.iter().any(|word| token.is_word(word)));
        let start = context.next + start.count();
        let list = list_at(tokens, start);
        let quoted = |token: &&Token<'_>| token.kind == Kind::Quoted;
        if list.quoted {
            for item in &list.items {
                self.push(Evidence::Unrecognised { field: self.path_or_name(item) });
            }
        } else if remove {
            if let Some(field) = self.name_at(tokens, start) {
                self.push(Evidence::Unrecognised { field });
            }
        } else if let Some(subject) = context.segment.subject
            && (subject.known
                || subject.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)))
        {
            self.push(Evidence::Unrecognised { field: subject.name.clone() });
        } else {
            let sentence = sentence(tokens, context.at);
            let before = tokens[sentence.start..context.at].iter().rev().find(quoted);
            let named = before.or_else(|| tokens[context.next..sentence.end].iter().find(quoted));
            let field = named.map(|token| self.path_or_name(token.text));
            let bare = || list.items.first().map(|item| self.path_or_name(item)).or_else(|| self.named(context));
            if let Some(field) = field.or_else(bare) {
                self.push(Evidence::Unrecognised { field });
            }
        }
    }

    /// `already has the same room and date`: known fields, or the list says something else.
    fn taken(&mut self, context: &Context<'_>) {
        let list = list_at(context.tokens, context.next);
        let fields: Vec<String> = list.items.iter().filter_map(|item| self.vocabulary.path(item)).collect();
        if fields.len() == list.items.len() {
            fields.into_iter().for_each(|field| self.push(Evidence::Taken { field }));
        }
    }

    fn path_or_name(&self, raw: &str) -> String {
        self.vocabulary.path(raw).unwrap_or_else(|| raw.to_owned())
    }
}

/// What was said so far in a sentence.
#[derive(Default)]
struct Heard {
    unrecognised: bool,
}

fn is_plain(token: &Token<'_>) -> bool {
    PLAIN_NOUNS.iter().any(|noun| token.is_word(noun))
}

/// The tokens of the sentence around a phrase: backwards from it, then onwards.
fn near(context: &Context<'_>) -> impl Iterator<Item = usize> {
    let sentence = sentence(context.tokens, context.at);
    (sentence.start..context.at).rev().chain(context.next..sentence.end)
}

/// A phrase in its segment: its first token, and the first after it.
pub(super) struct Context<'t> {
    pub(super) segment: &'t Segment<'t>,
    pub(super) tokens: &'t [Token<'t>],
    pub(super) at: usize,
    pub(super) next: usize,
}

pub(super) fn owned(list: &List<'_>) -> Vec<String> {
    list.items.iter().map(|item| (*item).to_owned()).collect()
}

/// The only place of the arguments that was sent with this value: a field, or one inside of it.
fn sent_as(sent: &Value, shown: &str) -> Option<String> {
    only_place(sent, &|value| match value {
        Value::String(text) => text == shown,
        Value::Number(number) => number.to_string() == shown,
        Value::Bool(truth) => shown == if *truth { "true" } else { "false" },
        _ => false,
    })
}

/// The only list or text that was sent with this length.
fn sent_with_length(sent: &Value, length: f64) -> Option<String> {
    only_place(sent, &|value| match value {
        Value::Array(items) => items.len() as f64 == length,
        Value::String(text) => text.chars().count() as f64 == length,
        _ => false,
    })
}

/// The field of this name in the only item of a list that lacks it while others have it.
fn lacking(sent: &Value, name: &str) -> Option<String> {
    let list = |value: &Value| {
        let items = value.as_array().map_or(&[][..], Vec::as_slice);
        let lacks = |item: &&Value| item.as_object().is_some_and(|object| !object.contains_key(name));
        (items.iter().filter(lacks).count() == 1 && items.iter().any(|item| item.get(name).is_some()))
            .then(|| items.iter().position(|item| lacks(&item)))
            .flatten()
    };
    let path = only_place(sent, &|value| list(value).is_some())?;
    let index = list(paths::get(sent, &path)?)?;
    Some(format!("{path}.{index}.{name}"))
}

/// The path of the only value inside of `sent` that is `meant`.
fn only_place(sent: &Value, meant: &dyn Fn(&Value) -> bool) -> Option<String> {
    let mut found = Vec::new();
    places(sent, "", meant, &mut found);
    if found.len() == 1 { found.pop() } else { None }
}

fn places(value: &Value, path: &str, meant: &dyn Fn(&Value) -> bool, found: &mut Vec<String>) {
    // Two are as good as many.
    if found.len() > 1 {
        return;
    }
    if !path.is_empty() && meant(value) {
        found.push(path.to_owned());
    }
    let inner = |part: &str| if path.is_empty() { part.to_owned() } else { format!("{path}.{part}") };
    match value {
        Value::Object(object) => object.iter().for_each(|(name, item)| places(item, &inner(name), meant, found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| places(item, &inner(&index.to_string()), meant, found));
        }
        _ => {}
    }
}
