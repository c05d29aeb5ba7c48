//! Extracts statements from segments: finds phrases, and the fields and values near them.

use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use serde_json::Value;

use super::clauses::is_forbidding;
use super::lists::{List, list_at};
use super::mentions::{Mention, SentValue, Sign, sent_values};
use super::patterns::{is_format, json_type};
use super::phrases::{Meaning, PhraseTable};
use super::segment::Segment;
use super::shape::ShapeField;
use super::tokens::{Token, TokenKind, lex};
use super::vocabulary::Vocabulary;
use super::{ExpectedFormat, Fault, Relation, Statement, plain};
use crate::paths;

/// Faults that a text names, each with the field, if one is named.
pub(super) type Faults = Vec<(Option<String>, Fault)>;

/// A sentence, and what it mentions.
type SentenceMentions = (Range<usize>, Rc<[Mention]>);

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
    pub(super) action: Option<String>,
    /// The input shape before a change of the contract: one that is marked as previous, or the first of two without
    /// such marks. It waits for the current shape.
    pub(super) previous_shape: Option<Vec<ShapeField>>,
    /// The faults that the text names. They become statements if nothing else is said about their fields.
    pub(super) faults: Faults,
    /// True if the text answers a failed call, so that what it says without a name may be about the only argument.
    pub(super) of_error: bool,
    /// The part of a sent text that is at fault: a column of a query.
    pub(super) part: Option<String>,
    /// The values that the text gives for fields. They become statements if there is one for the field.
    pub(super) values: Vec<(String, Option<Value>)>,
    /// The words that the faults and the values were read from, if they are kept.
    fault_words: Vec<String>,
    value_words: Vec<String>,
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
    pub(super) mentions: RefCell<Option<SentenceMentions>>,
    /// The sentences of a text with tags or objects, a line for each part, up to a limit.
    prose: String,
    /// The words that the statements were read from, and those that are being read; `None` if nobody wants them.
    words: Option<(Vec<String>, String)>,
}

pub(super) const ARTICLES: [&str; 13] =
    ["a", "an", "the", "valid", "type", "of", "be", "one", "single", "following", "by", "calling", "json"];
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
            of_error: true,
            part: None,
            phrases,
            statements: Vec::new(),
            truncated: false,
            in_action_list: false,
            action: None,
            previous_shape: None,
            faults: Vec::new(),
            values: Vec::new(),
            fault_words: Vec::new(),
            value_words: Vec::new(),
            sent_values: OnceCell::new(),
            sure: Vec::new(),
            last_mention: None,
            examples: Vec::new(),
            searches_left: Cell::new(MAX_SEARCHES),
            mentions: RefCell::new(None),
            prose: String::new(),
            words: None,
        }
    }

    pub(super) fn note_fault(&mut self, field: Option<String>, fault: Fault) {
        let noted = (field, fault);
        if self.faults.len() < MAX_NOTES && !self.faults.contains(&noted) {
            self.faults.push(noted);
            self.fault_words.push(self.words_now());
        }
    }

    pub(super) fn note_stated(&mut self, field: String, value: Option<Value>) {
        let noted = (field, value);
        if self.values.len() < MAX_NOTES && !self.values.contains(&noted) {
            self.values.push(noted);
            self.value_words.push(self.words_now());
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

    /// Notes a line, or a part of one between tags, unless it is a single word.
    pub(super) fn note_prose(&mut self, part: &str) {
        let is_word = !part.is_empty() && !part.ends_with(':') && part.split_whitespace().nth(1).is_none();
        if self.prose.len() <= plain::MAX_BYTES && !is_word {
            self.prose.push_str(part);
            self.prose.push('\n');
        }
    }

    pub(super) fn take_value_words(&mut self) -> Vec<String> {
        std::mem::take(&mut self.value_words)
    }

    fn words_now(&self) -> String {
        self.words.as_ref().map(|(_, now)| now.clone()).unwrap_or_default()
    }

    /// Returns the statements, the words of each if they were kept, and the faults.
    pub(super) fn finish(mut self, text: &str) -> (Vec<Statement>, Vec<String>, Faults) {
        self.push_rest(text);
        (self.statements, self.words.unwrap_or_default().0, self.faults)
    }

    /// Makes statements of what could not be judged before the end of the text.
    fn push_rest(&mut self, text: &str) {
        // A text with a single mention and no known phrase is about it.
        let is_silent = self.statements.is_empty()
            && self.values.is_empty()
            && self.faults.iter().all(|(field, _)| field.is_none());
        if is_silent && let [only] = self.sure.as_slice() {
            self.note_fault(Some(only.clone()), Fault::Invalid);
        }
        self.push_values();
        // A type whose field only another sentence names.
        let only = self.last_mention.clone().or_else(|| self.sole_field());
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
        if !self.statements.iter().any(|statement| statement.is_remedy() || *statement == Statement::UnknownTool) {
            self.note_words(text);
            plain::statements_of(text, &self.prose, self).into_iter().for_each(|statement| self.push(statement));
        }
        for ((field, fault), words) in self.faults.clone().into_iter().zip(std::mem::take(&mut self.fault_words)) {
            let Some(field) = field else { continue };
            self.note_words(&words);
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
        let sent = self.original;
        self.statements.iter_mut().for_each(|statement| statement.locate(sent));
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
            Meaning::MissingNamed => self.read_missing_named(context),
            // `unknown field x, expected one of a, b` lists fields and not values.
            Meaning::Expected | Meaning::Options | Meaning::Valid if sentence_state.unrecognized => {}
            Meaning::Expected => self.read_expected_value(context),
            // "must not be one of"
            Meaning::Options
                if context.at >= 2 && tokens[context.at - 1].is_word("be") && tokens[context.at - 2].is_word("not") => {
            }
            Meaning::Options => self.read_announced_options(context),
            Meaning::Valid => self.read_valid(context),
            Meaning::Invalid => {
                let _ = self.read_format(context) || self.read_wrong_type(context);
            }
            Meaning::Format => {
                // "in email format", but not "email must be given as …"
                let names = tokens[next - 1].is_word("format") || tokens[next - 1].is_word("formatted");
                let before = context.at.checked_sub(1).filter(|_| names).map(|before| tokens[before]);
                match before.filter(|token| is_format(token.text)) {
                    Some(token) => self.push_format(ExpectedFormat::Named(token.text.to_lowercase()), context),
                    None => {
                        if !self.read_format(context) {
                            self.read_form(context);
                        }
                    }
                }
            }
            Meaning::FormatName => {
                let words: Vec<String> = tokens[context.at..next]
                    .iter()
                    .filter(|token| !token.is_word("be"))
                    .map(|token| token.text.to_lowercase())
                    .collect();
                self.push_format(ExpectedFormat::Named(words.join(" ")), context);
            }
            Meaning::Regex => self.read_regex(context),
            Meaning::Characters => self.read_characters(context),
            Meaning::Without => self.read_forbidden_characters(context),
            Meaning::Prefix => self.read_affix(true, context),
            Meaning::Suffix if tokens[next - 1].is_symbol("(") => self.read_file_ends(context),
            Meaning::Suffix => self.read_affix(false, context),
            Meaning::Folder => self.read_folders(context),
            Meaning::Exclusive => self.read_exclusive(context),
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
            Meaning::Boolean => self.push_type("boolean", context),
            Meaning::Layout => self.read_layout(context),
            Meaning::Unrecognized => {
                sentence_state.unrecognized = true;
                self.read_unrecognized(context);
            }
            Meaning::ConflictNamed => self.read_conflict(context),
            Meaning::Conflict => {
                // "Shift already exists" is about a thing, even if an argument has its name.
                let own = context.segment.subject.filter(|subject| subject.known).map(|subject| subject.name.clone());
                let named = || self.about_by(Sign::Name, context).into_iter().next();
                match own.or_else(|| self.field_in_sentence(context)).or_else(named) {
                    Some(field) => self.push(Statement::Conflict { field }),
                    None => self.read_fault(Fault::State, context),
                }
            }
            Meaning::Actions => self.push_actions(&list_at(tokens, next)),
            Meaning::Call if context.at >= 1 && is_forbidding(&tokens[context.at - 1]) => {}
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
            Meaning::Default => self.read_default(context),
            Meaning::AtFault => self.read_fault(Fault::Invalid, context),
            Meaning::NotFound => self.read_fault(Fault::NotFound, context),
            Meaning::State => self.read_fault(Fault::State, context),
            Meaning::NothingFound => self.note_fault(None, Fault::NothingFound),
            Meaning::Internal => self.note_fault(None, Fault::Internal),
            // "refresh of the view failed"
            Meaning::Lookup if tokens.get(next).is_some_and(|after| after.is_word("of")) => {}
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
}

/// The state of the current sentence.
#[derive(Default)]
struct SentenceState {
    unrecognized: bool,
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
