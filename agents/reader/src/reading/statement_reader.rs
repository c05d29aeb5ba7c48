//! Extracts statements from segments: finds phrases, and the fields and values near them.

use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use serde_json::Value;

use super::lists::{List, list_at, sentence, skip_words};
use super::mentions::{Mention, SentValue, Sign, is_meant, sent_values};
use super::patterns::{is_format, is_unsigned, json_type};
use super::phrases::{Meaning, PhraseTable};
use super::segment::{Segment, Subject};
use super::sent_paths::{path_missing_in_item, path_of_length, path_of_name, path_of_value};
use super::shape::ShapeField;
use super::tokens::{Token, TokenKind, lex};
use super::vocabulary::Vocabulary;
use super::{ExpectedFormat, Fault, Relation, Statement};
use crate::paths;

/// Collects the statements of a text, segment by segment.
pub(super) struct StatementReader<'v> {
    pub(super) vocabulary: &'v Vocabulary<'v>,
    /// The arguments that were sent, with masks for what the text repeats of them.
    pub(super) sent: &'v Value,
    /// The arguments as they were sent.
    pub(super) original: &'v Value,
    pub(super) phrases: &'v PhraseTable,
    pub(super) statements: Vec<Statement>,
    /// True if the text has said that the response is truncated. The fields it names from there on are filters.
    pub(super) truncated: bool,
    /// True if the following bulleted lines list actions.
    pub(super) in_action_list: bool,
    /// The action named last in a path such as `actions.create.inputSchema`.
    action: Option<String>,
    /// The input shape before a change of the contract: one that is marked as previous, or the first of two without
    /// such marks. It waits for the current shape.
    previous_shape: Option<Vec<ShapeField>>,
    /// What the text says to be at fault. It becomes a statement if nothing else is said about the field.
    pub(super) faults: Vec<(Option<String>, Fault)>,
    /// The part of a sent text that is at fault: a column of a query.
    pub(super) part: Option<String>,
    /// The values that the text gives for fields. They become statements if there is one for the field.
    pub(super) values: Vec<(String, Option<Value>)>,
    sent_values: OnceCell<Vec<SentValue<'v>>>,
    /// The fields whose names are mentioned in a sure way, up to two.
    pub(super) sure: Vec<String>,
    /// The field that a sentence mentioned last.
    pub(super) last_mention: Option<String>,
    /// Examples of the form of a field's value. They become statements if nothing else is said about it.
    pub(super) examples: Vec<(String, String)>,
    /// The number of sentences that may still be searched for mentions. It bounds the time for texts without an end of a sentence.
    pub(super) searches_left: Cell<usize>,
    /// The mentions of the sentence that was searched last.
    pub(super) mentions: RefCell<Option<(Range<usize>, Rc<[Mention]>)>>,
    /// The words that the statements were read from, and those that are being read; `None` if nobody wants them.
    words: Option<(Vec<String>, String)>,
}

pub(super) const ARTICLES: [&str; 12] =
    ["a", "an", "the", "valid", "type", "of", "be", "one", "single", "following", "by", "calling"];
const NOUNS: [&str; 10] =
    ["field", "fields", "parameter", "property", "argument", "key", "keys", "input", "attribute", "parameters"];
/// Nouns by which error messages refer to any argument.
const GENERIC_NOUNS: [&str; 10] =
    ["value", "values", "type", "name", "field", "input", "argument", "key", "length", "error"];
/// The maximum distance in tokens between a phrase and the name it refers to.
const MAX_NAME_DISTANCE: usize = 12;
/// The maximum number of statements of a text. It bounds the search for duplicates.
const MAX_STATEMENTS: usize = 500;
/// The maximum number of sentences that are searched for mentions.
const MAX_SEARCHES: usize = 200;
/// The maximum number of faults, and of stated values, that are kept of a text.
const MAX_NOTES: usize = 50;

impl<'v> StatementReader<'v> {
    pub(super) fn new(
        vocabulary: &'v Vocabulary<'v>,
        sent: &'v Value,
        original: &'v Value,
        phrases: &'v PhraseTable,
    ) -> StatementReader<'v> {
        StatementReader {
            vocabulary,
            sent,
            original,
            part: None,
            phrases,
            statements: Vec::new(),
            truncated: false,
            in_action_list: false,
            action: None,
            previous_shape: None,
            faults: Vec::new(),
            values: Vec::new(),
            sent_values: OnceCell::new(),
            sure: Vec::new(),
            last_mention: None,
            examples: Vec::new(),
            searches_left: Cell::new(MAX_SEARCHES),
            mentions: RefCell::new(None),
            words: None,
        }
    }

    pub(super) fn note_fault(&mut self, field: Option<String>, fault: Fault) {
        let noted = (field, fault);
        if self.faults.len() < MAX_NOTES && !self.faults.contains(&noted) {
            self.faults.push(noted);
        }
    }

    pub(super) fn note_stated(&mut self, field: String, value: Option<Value>) {
        let noted = (field, value);
        if self.values.len() < MAX_NOTES && !self.values.contains(&noted) {
            self.values.push(noted);
        }
    }

    fn remove(&mut self, is_wrong: impl Fn(&Statement) -> bool) {
        let keep: Vec<bool> = self.statements.iter().map(|statement| !is_wrong(statement)).collect();
        let mut kept = keep.iter();
        self.statements.retain(|_| kept.next().copied().unwrap_or(true));
        if let Some((words, _)) = &mut self.words {
            let mut kept = keep.iter();
            words.retain(|_| kept.next().copied().unwrap_or(true));
        }
    }

    /// Keeps the words that statements are read from.
    pub(super) fn keep_words(&mut self) {
        self.words = Some((Vec::new(), String::new()));
    }

    /// Notes what is being read.
    pub(super) fn note_words(&mut self, read: &str) {
        if let Some((_, now)) = &mut self.words {
            now.clear();
            now.push_str(read.trim());
        }
    }

    /// Like [`StatementReader::finish`], with the words of each statement between.
    pub(super) fn finish_with_words(mut self) -> (Vec<Statement>, Vec<String>, Vec<(Option<String>, Fault)>) {
        self.push_rest();
        (self.statements, self.words.unwrap_or_default().0, self.faults)
    }

    /// Returns the statements, and what the text says to be at fault.
    pub(super) fn finish(mut self) -> (Vec<Statement>, Vec<(Option<String>, Fault)>) {
        self.push_rest();
        (self.statements, self.faults)
    }

    /// Makes statements of what could not be judged before the end of the text.
    fn push_rest(&mut self) {
        // What nobody listed is at fault where nothing else is named.
        let is_silent = self.statements.is_empty()
            && self.values.is_empty()
            && self.faults.iter().all(|(field, _)| field.is_none());
        if is_silent && let [only] = self.sure.as_slice() {
            self.note_fault(Some(only.clone()), Fault::Invalid);
        }
        self.push_values();
        // A type whose field only another sentence names.
        let only = self.last_mention.clone();
        for statement in &mut self.statements {
            if let Statement::WrongType { field, .. } | Statement::Bound { field, .. } = statement
                && field.is_empty()
                && let Some(only) = &only
            {
                field.clone_from(only);
            }
        }
        self.remove(|statement| statement.field() == Some(""));
        let renamed: Vec<String> = self
            .statements
            .iter()
            .filter_map(|statement| match statement {
                Statement::Rename { field, .. } => Some(field.clone()),
                _ => None,
            })
            .collect();
        if !renamed.is_empty() {
            let is_renamed = |statement: &Statement| matches!(statement, Statement::Unrecognized { field } if renamed.contains(field));
            self.remove(is_renamed);
        }
        for (field, example) in std::mem::take(&mut self.examples) {
            if !self.statements.iter().any(|statement| statement.field() == Some(&field)) {
                self.push(Statement::Format { field, expected: ExpectedFormat::Named(example) });
            }
        }
        for (field, fault) in self.faults.clone() {
            let Some(field) = field else { continue };
            let is_part = |whole: &str, part: &str| {
                part.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let is_explained = self.statements.iter().any(|statement| match statement {
                Statement::Actions { .. } => self.vocabulary.is_discriminator(&field),
                _ => statement.field().is_some_and(|other| is_part(&field, other) || is_part(other, &field)),
            });
            if !is_explained {
                self.push(Statement::Fault { field, fault });
            }
        }
    }

    pub(super) fn sent_values(&self) -> &[SentValue<'v>] {
        self.sent_values.get_or_init(|| sent_values(self.sent, self.original))
    }

    pub(super) fn push(&mut self, statement: Statement) {
        if self.statements.len() < MAX_STATEMENTS && !self.statements.contains(&statement) {
            self.statements.push(statement);
            if let Some((words, now)) = &mut self.words {
                words.push(now.clone());
            }
        }
    }

    /// Reads a line that begins with a known field; `rest` is the text after the field.
    pub(super) fn read_heading(&mut self, field: &str, rest: &str) {
        if self.truncated {
            let mut tokens = Vec::new();
            lex(rest, &mut tokens);
            let list = list_at(&tokens, 0);
            // A single unquoted word is a type (`assignee: string`), not a value.
            let values = if list.quoted || list.items.len() > 1 { owned_items(&list) } else { Vec::new() };
            self.push_narrow(field.to_owned(), values);
        }
        // `role (string): …` states the type.
        let kind = rest.strip_prefix('(').and_then(|rest| rest.split([')', ',']).next());
        if let Some(expected) = kind.and_then(json_type) {
            self.push(Statement::WrongType { field: field.to_owned(), expected });
        }
    }

    /// Reads a JSON object that the text calls an example, or the first of a list of them.
    pub(super) fn read_example(&mut self, value: &Value) {
        let object = match value {
            Value::Object(object) => Some(object),
            Value::Array(items) => items.first().and_then(Value::as_object),
            _ => None,
        };
        if let Some(object) = object.filter(|object| !object.is_empty()) {
            self.push(Statement::Example { object: object.clone() });
        }
    }

    /// Reads an input shape. `words` (the text before it, or the label around it) may say whether it is the previous or
    /// the current one.
    pub(super) fn read_shape(&mut self, fields: Vec<ShapeField>, words: &str) {
        let mut tokens = Vec::new();
        lex(words, &mut tokens);
        let last =
            |known: &[&str]| tokens.iter().rposition(|t| known.iter().any(|word| t.is_word(word) || t.is_symbol(word)));
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
        let previous_shape = self.previous_shape.take();
        if previous > current || (previous.is_none() && current.is_none() && previous_shape.is_none()) {
            self.previous_shape = Some(fields);
            return;
        }
        let dropped_field = |field: &&ShapeField| !fields.iter().any(|kept| kept.path == field.path);
        let dropped = previous_shape.iter().flatten().filter(dropped_field).map(|field| field.path.clone()).collect();
        self.push(Statement::Contract { action: self.action.clone(), fields, dropped });
    }

    fn note_action(&mut self, tokens: &[Token<'_>]) {
        for token in tokens {
            if let Some(rest) = token.text.strip_prefix("actions.")
                && matches!(token.kind, TokenKind::Word | TokenKind::Quoted)
            {
                self.action = rest.split('.').next().map(str::to_owned);
            }
        }
    }

    pub(super) fn read_segment(&mut self, segment: &Segment<'_>) {
        self.note_words(segment.text);
        self.mentions.replace(None);
        let mut tokens = Vec::with_capacity(segment.text.len() / 5 + 4);
        lex(segment.label, &mut tokens);
        if !tokens.is_empty() {
            tokens.push(Token { kind: TokenKind::Symbol, text: ":", rest: segment.text });
        }
        let text_start = tokens.len();
        lex(segment.text, &mut tokens);
        self.note_action(&tokens);
        if !segment.attribute && segment.label.eq_ignore_ascii_case("action") {
            self.read_action_element(segment, &tokens[text_start..]);
        }
        let phrases = self.phrases;
        let mut sentence_state = SentenceState::default();
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at].kind == TokenKind::End {
                sentence_state = SentenceState::default();
            }
            let mut length = 1;
            for (pattern, words) in phrases.patterns_at(&tokens, at) {
                length = words;
                let context = PhraseContext { segment, tokens: &tokens, at, next: at + words };
                self.read_phrase(pattern, &context, &mut sentence_state);
            }
            at += length;
        }
        self.read_sentences(segment, &tokens, text_start);
    }

    fn read_phrase(&mut self, pattern: Meaning, context: &PhraseContext<'_>, sentence_state: &mut SentenceState) {
        let tokens = context.tokens;
        let next = context.next;
        match pattern {
            Meaning::Missing => self.read_missing(context),
            Meaning::MissingNamed => {
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
                }
            }
            // `unknown field x, expected one of a, b` lists fields and not values.
            Meaning::Expected | Meaning::Options | Meaning::Valid if sentence_state.unrecognized => {}
            Meaning::Expected => {
                let list = list_at(tokens, next);
                if !self.read_wrong_type(context) {
                    let is_advice = ["use", "provide"].iter().any(|word| tokens[context.at].is_word(word));
                    let only = list.items.len() == 1;
                    let set = tokens.get(next).filter(|word| word.is_word("in")).and_then(|_| tokens.get(next + 1));
                    if set.is_some_and(|bracket| bracket.is_symbol("([{")) {
                        self.read_options(&list_at(tokens, next + 1), context);
                    } else if list.quoted && only && is_advice {
                        // One value is advice, which `read_order` reads.
                    } else if list.quoted && !(only && is_format(list.items[0])) {
                        self.read_options(&list, context);
                    } else if !only && is_list_of_words(&list) {
                        // "expected C or K"
                        self.read_options(&list, context);
                    } else if !self.read_format(context) {
                        // "must be in 18 to 20"
                        self.read_between(context);
                    }
                }
            }
            Meaning::Options => {
                // `valid options for 'currency': …` names the field after the words.
                if let [of, name, colon, ..] = &tokens[next..]
                    && of.is_word("for")
                    && colon.is_symbol(":")
                    && let Some(field) = self.vocabulary.field_path(name.text)
                {
                    let list = list_at(tokens, next + 2);
                    if !list.items.is_empty() {
                        self.push(Statement::Options { field, values: owned_items(&list) });
                    }
                    return;
                }
                // `choose 'currency' from …` names it between the words.
                if let [name, from, ..] = &tokens[next..]
                    && ["from", "among", "between"].iter().any(|word| from.is_word(word))
                    && let Some(field) = self.vocabulary.field_path(name.text)
                {
                    let list = list_at(tokens, next + 1);
                    if !list.items.is_empty() {
                        self.push(Statement::Options { field, values: owned_items(&list) });
                    }
                    return;
                }
                let list = list_at(tokens, next);
                // "one of the values accepted for Enum class: [full, part]"
                let range = sentence(tokens, context.at);
                let colon = tokens[next..range.end].iter().take(8).position(|token| token.is_symbol(":"));
                let list = match colon.filter(|_| list.items.is_empty()) {
                    Some(colon) => list_at(tokens, next + colon),
                    None => list,
                };
                if list.items.is_empty() && tokens[next - 1].is_word("of") {
                    // "one of your verified numbers" does not say which.
                    self.read_fault(Fault::Invalid, context);
                } else if list.quoted || list.announced || list.items.len() > 1 {
                    self.read_options(&list, context);
                }
            }
            Meaning::Valid => {
                let named = self.read_format(context) || self.read_wrong_type(context);
                let noun = usize::from(!tokens.get(next).is_some_and(|token| token.is_symbol(":")));
                let introduces = |token: &Token<'_>| {
                    token.is_symbol(":") || ["are", "include", "is"].iter().any(|word| token.is_word(word))
                };
                if !named && tokens.get(next + noun).is_some_and(introduces) {
                    let list = list_at(tokens, next + noun);
                    match tokens[next..next + noun].first().and_then(|word| self.vocabulary.field_of_plural(word.text))
                    {
                        Some(field) if !list.items.is_empty() => {
                            self.push(Statement::Options { field, values: owned_items(&list) });
                        }
                        _ => self.read_options(&list, context),
                    }
                }
            }
            Meaning::Invalid => {
                let _ = self.read_format(context) || self.read_wrong_type(context);
            }
            Meaning::Format => {
                let before = context.at.checked_sub(1).map(|before| tokens[before]);
                match before.filter(|token| is_format(token.text)) {
                    Some(token) => self.push_format(ExpectedFormat::Named(token.text.to_lowercase()), context),
                    None => {
                        self.read_format(context);
                    }
                }
            }
            Meaning::FormatName => {
                let words: Vec<String> =
                    tokens[context.at..next].iter().map(|token| token.text.to_lowercase()).collect();
                self.push_format(ExpectedFormat::Named(words.join(" ")), context);
            }
            Meaning::Regex => self.read_regex(context),
            Meaning::AtLeast => self.read_bound(Relation::AtLeast, context),
            Meaning::Above => self.read_bound(Relation::Above, context),
            Meaning::AtMost => self.read_bound(Relation::AtMost, context),
            Meaning::Below => self.read_bound(Relation::Below, context),
            Meaning::MultipleOf => self.read_bound(Relation::MultipleOf, context),
            Meaning::Between => self.read_between(context),
            Meaning::Positive => self.push_bound(Relation::Above, 0.0, context),
            Meaning::NotNegative => self.push_bound(Relation::AtLeast, 0.0, context),
            Meaning::Number => self.push_type("number", context),
            Meaning::Integer => self.push_type("integer", context),
            Meaning::Layout => self.read_layout(context),
            Meaning::Unrecognized => {
                sentence_state.unrecognized = true;
                self.read_unrecognized(context);
            }
            Meaning::ConflictNamed => self.read_conflict(context),
            Meaning::Conflict => {
                if let Some(field) = self.field(context) {
                    self.push(Statement::Conflict { field });
                }
            }
            Meaning::Actions => self.push_actions(&list_at(tokens, next)),
            Meaning::Call if !context.segment.attribute => self.read_call(context),
            Meaning::Call | Meaning::Ignored => {}
            Meaning::Delay => self.read_delay(context),
            Meaning::Transient => self.push(Statement::Transient),
            Meaning::Stop if context.segment.subject.is_none_or(|subject| !subject.known) => self.push(Statement::Stop),
            Meaning::Stop => {}
            Meaning::Truncated => self.read_truncation(context),
            Meaning::Page => self.read_page(context),
            Meaning::After => self.read_compared(Relation::Above, context),
            Meaning::Before => self.read_compared(Relation::Below, context),
            Meaning::Renamed => self.read_renamed(context),
            Meaning::Example => self.note_example(context),
            Meaning::AtFault => self.read_fault(Fault::Invalid, context),
            Meaning::NotFound => self.read_fault(Fault::NotFound, context),
            Meaning::State => self.read_fault(Fault::State, context),
            Meaning::NothingFound => self.note_fault(None, Fault::NothingFound),
            Meaning::Internal => self.note_fault(None, Fault::Internal),
            Meaning::Lookup => {
                let field = self.about(context).into_iter().next().or_else(|| self.last_fault());
                self.push(Statement::Lookup { field });
            }
            Meaning::SearchDifferently => {
                let is_sent = |field: &String| paths::get(self.sent, field).is_some();
                let field = self.about(context).into_iter().find(is_sent).or_else(|| self.search_field());
                self.push(Statement::SearchDifferently { field });
            }
        }
    }

    /// Returns the field that a phrase is about: the segment's, or one that its sentence names.
    pub(super) fn field(&self, context: &PhraseContext<'_>) -> Option<String> {
        match context.segment.subject {
            Some(Subject { name, known: true }) => Some(name.clone()),
            _ => {
                let about = || self.about_by(Sign::Word, context).into_iter().next();
                let before = || {
                    self.only_fault().or_else(|| self.field_named_before(context)).or_else(|| self.last_mention.clone())
                };
                self.field_in_sentence(context).or_else(about).or_else(before)
            }
        }
    }

    /// Returns the known field that the sentence names, or whose value it quotes. Quoted names are preferred over
    /// unquoted ones, and names before the phrase over those after it.
    fn field_in_sentence(&self, context: &PhraseContext<'_>) -> Option<String> {
        let tokens = context.tokens;
        let field_by_value = || {
            // A number after the phrase is what it says of the field, and not what was sent.
            let is_shown = |at: &usize| match tokens[*at].kind {
                TokenKind::Quoted => true,
                TokenKind::Number => *at < context.at,
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
    fn field_by_name(&self, context: &PhraseContext<'_>) -> Option<String> {
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
    fn subfield(&self, context: &PhraseContext<'_>, tokens: std::ops::Range<usize>) -> Option<String> {
        let object = context.segment.subject.filter(|subject| subject.known)?;
        let quoted = context.tokens.get(tokens)?.iter().rev().filter(|token| token.kind == TokenKind::Quoted);
        quoted.map(|token| format!("{}.{}", object.name, token.text)).find(|path| self.vocabulary.has_nested(path))
    }

    /// Returns the known field that the line names before the sentence: `Bad role. Options: a, b`.
    fn field_named_before(&self, context: &PhraseContext<'_>) -> Option<String> {
        let start = sentence(context.tokens, context.at).start;
        let before = context.tokens[..start].iter().rev().take(MAX_NAME_DISTANCE);
        let names = before.filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Quoted));
        names.filter(|token| !is_generic_noun(token)).find_map(|token| self.vocabulary.field_path(token.text))
    }

    fn name_at(&self, tokens: &[Token<'_>], at: usize) -> Option<String> {
        let token = tokens.get(at).filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Quoted))?;
        self.vocabulary.field_path(token.text)
    }

    fn read_missing(&mut self, context: &PhraseContext<'_>) {
        let list = list_at(context.tokens, context.next);
        let path = |item: &&str| self.vocabulary.field_path(item).or_else(|| path_missing_in_item(self.sent, item));
        let fields: Vec<String> = list.items.iter().filter_map(path).collect();
        // A list in the segment of a known field names its subfields, which have their own segments.
        let own = context.segment.subject.is_some_and(|subject| subject.known);
        if !own && !fields.is_empty() && fields.len() == list.items.len() {
            fields.into_iter().for_each(|field| self.push_missing(field));
        } else if let Some(field) = self.field(context).or_else(|| self.unknown_field(context)) {
            self.push_missing(field);
        }
    }

    /// Returns the name of a field of a nested object, which a segment or a quotation names and the list of tools does not.
    fn unknown_field(&self, context: &PhraseContext<'_>) -> Option<String> {
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
        let undefined = context.tokens[context.at].is_word("undefined");
        let quoted = nearby_tokens(context).find(|at| context.tokens[*at].kind == TokenKind::Quoted).filter(is_near)?;
        let name = context.tokens[quoted].text;
        if undefined {
            return None;
        }
        (is_name(name) && path_of_value(self.sent, name).is_none()).then(|| self.path_or_name(name))
    }

    pub(super) fn push_missing(&mut self, field: String) {
        // What was sent is not missing, whatever is said to be empty about it.
        if paths::get(self.sent, &field).is_some_and(|sent| !is_empty(sent)) {
            return self.note_fault(Some(field), Fault::Invalid);
        }
        self.push(if self.vocabulary.is_discriminator(&field) {
            Statement::MissingDiscriminator { field }
        } else {
            Statement::Missing { field }
        });
    }

    fn read_wrong_type(&mut self, context: &PhraseContext<'_>) -> bool {
        let tokens = context.tokens;
        let at = skip_words(tokens, context.next, &ARTICLES, 4);
        // "string found, integer expected"
        let before =
            || context.at.checked_sub(1).map(|before| &tokens[before]).filter(|token| json_type(token.text).is_some());
        let follows = tokens.get(at).filter(|token| !matches!(token.kind, TokenKind::Symbol | TokenKind::End));
        let Some(token) = follows.or_else(before) else { return false };
        let Some(expected) = json_type(token.text) else { return false };
        if token.kind == TokenKind::Quoted {
            // `'list' or 'create'` are values; `"string" or "number"` leave the type open.
            let items = list_at(tokens, at).items;
            if items.len() > 1 {
                return items.iter().all(|item| json_type(item).is_some());
            }
        }
        if let Some(field) = self.field(context).or_else(|| Some(String::new())) {
            if is_unsigned(token.text) {
                self.push(Statement::Bound { field: field.clone(), relation: Relation::AtLeast, limit: 0.0 });
            }
            self.push(Statement::WrongType { field, expected });
        }
        true
    }

    fn push_type(&mut self, expected: &'static str, context: &PhraseContext<'_>) {
        if let Some(field) = self.field(context) {
            self.push(Statement::WrongType { field, expected });
        }
    }

    fn read_options(&mut self, list: &List<'_>, context: &PhraseContext<'_>) {
        if list.items.is_empty() {
            // "must be one of the allowed values" does not say which.
            return self.read_fault(Fault::Invalid, context);
        }
        if list.items.iter().all(|item| self.vocabulary.resolve_action(item).is_some()) {
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

    /// Reads the names of unknown fields: those after the phrase, before it, or else the segment's.
    fn read_unrecognized(&mut self, context: &PhraseContext<'_>) {
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
            for item in &list.items {
                self.push(Statement::Unrecognized { field: self.path_or_name(item) });
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
    fn read_conflict(&mut self, context: &PhraseContext<'_>) {
        let list = list_at(context.tokens, context.next);
        let fields: Vec<String> = list.items.iter().filter_map(|item| self.vocabulary.field_path(item)).collect();
        if fields.len() == list.items.len() {
            fields.into_iter().for_each(|field| self.push(Statement::Conflict { field }));
        }
    }

    pub(super) fn path_or_name(&self, raw: &str) -> String {
        let sent = || path_of_name(self.sent, raw);
        self.vocabulary.field_path(raw).or_else(sent).unwrap_or_else(|| raw.to_owned())
    }
}

/// The state of the current sentence.
#[derive(Default)]
struct SentenceState {
    unrecognized: bool,
}

/// Returns true for a list of at least two values without quotes, which says no type and no comparison.
fn is_list_of_words(list: &List<'_>) -> bool {
    const COMPARISONS: [&str; 12] =
        ["more", "less", "greater", "fewer", "above", "below", "higher", "lower", "longer", "shorter", "equal", "null"];
    let is_value = |item: &&str| {
        json_type(item).is_none() && !is_format(item) && item.parse::<f64>().is_err() && !COMPARISONS.contains(item)
    };
    list.items.len() > 1 && list.items.iter().all(is_value)
}

/// Returns true for what counts as not given.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}

fn is_generic_noun(token: &Token<'_>) -> bool {
    GENERIC_NOUNS.iter().any(|noun| token.is_word(noun))
}

/// Returns the indices of the tokens around a phrase in its sentence: backward from it, then forward.
fn nearby_tokens(context: &PhraseContext<'_>) -> impl Iterator<Item = usize> {
    let sentence = sentence(context.tokens, context.at);
    (sentence.start..context.at).rev().chain(context.next..sentence.end)
}

/// A phrase in its segment.
pub(super) struct PhraseContext<'t> {
    pub(super) segment: &'t Segment<'t>,
    pub(super) tokens: &'t [Token<'t>],
    /// The index of the phrase's first token.
    pub(super) at: usize,
    /// The index of the first token after the phrase.
    pub(super) next: usize,
}

pub(super) fn owned_items(list: &List<'_>) -> Vec<String> {
    list.items.iter().map(|item| (*item).to_owned()).collect()
}
