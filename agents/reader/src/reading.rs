//! Extracts the statements of a text: what it says about a failed call, or about how to get a better response.
//!
//! One reader reads all texts. It knows common text structures (elements, JSON objects, bullets, indentation,
//! quotes) and the meaning of phrases. It does not know the error format and must not depend on it. It makes no
//! guesses: `Error: Invalid arguments` yields no statement.

mod advice;
mod arguments;
mod bounds;
mod characters;
mod clauses;
mod complaint;
mod constraints;
mod content;
mod describe;
mod echoed_values;
mod entries;
mod error_kind;
mod fields;
mod folders;
mod forms;
mod layout;
mod lists;
mod markup;
mod mentions;
mod options;
mod orders;
mod outcome;
mod patterns;
mod phrases;
mod plain;
mod prediction;
mod relevance;
mod segment;
mod segments;
mod sent_paths;
mod shape;
mod statement_reader;
mod tokens;
mod values;
mod vocabulary;
mod words;

use std::borrow::Cow;

use healbench_core::{ErrorKind, ErrorReading, Object};
use serde_json::Value;

use self::statement_reader::{Faults, StatementReader};
pub(crate) use arguments::is_empty;
pub(crate) use outcome::denies_existence;
pub use prediction::{InvalidRecord, predict};
pub use shape::ShapeField;
pub use vocabulary::Vocabulary;

/// The version of the reader: it grows whenever a text may be read in another way. Rows hold what a version found.
pub const VERSION: u32 = 10;

/// A statement extracted from a text. Fields are dotted paths (`address.city`, `lines.0.qty`).
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// The field is required.
    Missing { field: String },
    /// The field has to have this JSON type.
    WrongType {
        field: String,
        /// `string`, `number`, `integer`, `boolean`, `array`, `object` or `null`.
        expected: &'static str,
    },
    /// The field has to be one of these values.
    Options {
        field: String,
        /// The values as written, without quotes.
        values: Vec<String>,
    },
    /// A limit on a number, on the length of a text in characters, or on the length of a list.
    Bound {
        field: String,
        /// The required relation of the value to `limit`.
        relation: Relation,
        limit: f64,
    },
    /// The field has a required format.
    Format {
        field: String,
        /// The format's name (`email`) or a pattern.
        expected: ExpectedFormat,
    },
    /// The field is not known to the tool.
    Unrecognized {
        /// The field as the text names it.
        field: String,
    },
    /// The field's value is already in use, alone or together with other fields, and must be changed.
    Conflict { field: String },
    /// The valid values of the discriminator.
    Actions {
        /// The actions' names as written.
        names: Vec<String>,
    },
    /// The discriminator was not sent.
    MissingDiscriminator { field: String },
    /// Another action should be called first.
    Suggest {
        /// The action's tool; `None` if the text names none, which means the tool that was called.
        tool: Option<String>,
        action: String,
    },
    /// The call should be sent again after a delay.
    Delay { seconds: u32 },
    /// The failure is transient: the same call may succeed later.
    Transient,
    /// A retry cannot succeed: someone else has to act.
    Stop,
    /// The response was truncated, and this filter would reduce it.
    Narrow {
        field: String,
        /// Its valid values; empty if the text does not list them.
        values: Vec<String>,
    },
    /// The response was truncated; a higher value of this field returns the next rows.
    Page {
        field: String,
        /// The amount to add.
        step: u64,
    },
    /// The contract changed, and this is the input's current shape.
    Contract {
        /// The action whose input it is; `None` if the text does not say.
        action: Option<String>,
        /// The fields of the current shape.
        fields: Vec<ShapeField>,
        /// The fields of the previous shape that no longer exist.
        dropped: Vec<String>,
    },
    /// An example of valid arguments.
    Example { object: Object },
    /// The value that the field should have.
    Value {
        field: String,
        /// `None` if the text describes it only: "the slug of the account".
        value: Option<Value>,
    },
    /// The tool that was called does not exist. Which tools do, an agent knows.
    UnknownTool,
    /// The value has to be higher or lower than that of another field, or than a date.
    Compared {
        field: String,
        /// The required relation of the value to that of `other`.
        relation: Relation,
        /// A field, or a date as ISO 8601 writes it.
        other: String,
    },
    /// The field has another name.
    Rename {
        /// The field as it was sent.
        field: String,
        name: String,
    },
    /// Something has to be read before, and no tool is named.
    Lookup {
        /// The field whose value it gives, if the text names one.
        field: Option<String>,
    },
    /// A search that found nothing should be made with other words or filters.
    SearchDifferently { field: Option<String> },
    /// The field is at fault, and nothing else is said about it.
    Fault { field: String, fault: Fault },
}

/// The fault that a text names without a remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A value that is not accepted.
    Invalid,
    /// The thing that a value names does not exist.
    NotFound,
    /// A search found nothing.
    NothingFound,
    /// The thing exists, but its state does not allow the call.
    State,
    /// A fault of the server.
    Internal,
}

impl Statement {
    /// Returns the field that the statement is about.
    pub fn field(&self) -> Option<&str> {
        match self {
            Statement::Missing { field }
            | Statement::WrongType { field, .. }
            | Statement::Options { field, .. }
            | Statement::Bound { field, .. }
            | Statement::Format { field, .. }
            | Statement::Unrecognized { field }
            | Statement::Conflict { field }
            | Statement::MissingDiscriminator { field }
            | Statement::Narrow { field, .. }
            | Statement::Page { field, .. }
            | Statement::Value { field, .. }
            | Statement::Compared { field, .. }
            | Statement::Rename { field, .. }
            | Statement::Fault { field, .. } => Some(field),
            Statement::Lookup { field } | Statement::SearchDifferently { field } => field.as_deref(),
            Statement::Actions { .. }
            | Statement::Suggest { .. }
            | Statement::Delay { .. }
            | Statement::Transient
            | Statement::UnknownTool
            | Statement::Stop
            | Statement::Contract { .. }
            | Statement::Example { .. } => None,
        }
    }
}

/// The required relation of a value to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `>=`
    AtLeast,
    /// `>`
    Above,
    /// `<=`
    AtMost,
    /// `<`
    Below,
    /// A multiple of the limit.
    MultipleOf,
}

/// A required format of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedFormat {
    /// A format's name in lower case, the letters of a date (`DD/MM/YYYY`), or an example.
    Named(String),
    Pattern(String),
}

/// The result of reading a text.
#[derive(Debug, Clone)]
pub struct Reading {
    pub statements: Vec<Statement>,
    /// The words that each statement was read from: a sentence, a line or a value.
    pub words: Vec<String>,
    /// The kind of the error; `None` if the text reports none.
    pub kind: Option<ErrorKind>,
    pub facts: Facts,
}

impl Reading {
    /// Returns what is stored in rows; `None` if the text reports no error.
    pub fn row(&self) -> Option<ErrorReading> {
        let Facts { names_field, states_remedy, names_tool } = self.facts;
        self.kind.map(|kind| ErrorReading { kind, names_field, states_remedy, names_tool })
    }
}

/// Facts about an error text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// It names an argument as missing or at fault.
    pub names_field: bool,
    /// It says what to do.
    pub states_remedy: bool,
    /// It names another tool or action to call.
    pub names_tool: bool,
}

impl Statement {
    /// Returns true if the statement says what to do.
    pub fn is_remedy(&self) -> bool {
        !matches!(self, Statement::Fault { .. } | Statement::Transient | Statement::UnknownTool)
    }
}

/// Reads `text` as the answer to a call with the arguments `sent`, or null if they are not known. `is_error` is what the protocol says of
/// it; if that is `None`, the text itself decides. A text that reports no error has no statements but those about getting more of it.
pub fn read(text: &str, vocabulary: &Vocabulary<'_>, sent: &Value, is_error: Option<bool>) -> Reading {
    read_as(text, vocabulary, sent, is_error, true)
}

/// Reads the text of an error as [`read`] does. The words of the result are empty.
pub fn read_error(text: &str, vocabulary: &Vocabulary<'_>, sent: &Value) -> Reading {
    read_as(text, vocabulary, sent, Some(true), false)
}

/// Reads a text. The words are empty unless they are wanted; they decide only where `is_error` is `None`.
fn read_as(text: &str, vocabulary: &Vocabulary<'_>, sent: &Value, is_error: Option<bool>, keep_words: bool) -> Reading {
    let masked = echoed_values::mask_echoed_values(text, sent);
    // What was sent may be called an error, and is none.
    let plainly = is_error.or_else(|| outcome::reports_plainly(&masked.0));
    let says_error = plainly.unwrap_or_else(|| outcome::complains(&masked.0));
    // What is sent as an error is one, whatever it begins with: "Ticket 'T-9' does not exist".
    let is_diagnostic = content::is_diagnostic(text.trim_start());
    let is_document = is_error != Some(true) && content::is_document(&text.trim_start().to_lowercase());
    let mut found = read_all(&masked, vocabulary, sent, keep_words, says_error);
    let is_implied = || is_error.is_none() && complaint::implies_error(text, &found.0, &found.1);
    let mut fails = says_error || is_implied();
    if !fails && is_error.is_none() && complaint::may_complain(text) {
        let as_error = read_all(&masked, vocabulary, sent, keep_words, true);
        if relevance::contradicts_call(text, &as_error.0, sent) {
            (fails, found) = (true, as_error);
        }
    }
    let (is_error, (statements, words, faults)) = (fails, found);
    let passes = statements.is_empty() && is_error && !is_document && is_passing(text, &statements, &faults);
    let (statements, words): (Vec<Statement>, Vec<String>) = if passes {
        (vec![Statement::Transient], vec![text.trim().lines().next().unwrap_or_default().to_owned()])
    } else {
        (statements, words)
    };
    let (statements, words): (Vec<Statement>, Vec<String>) = statements
        .into_iter()
        .zip(words)
        .filter(|(statement, _)| {
            // What only complains, and of something else, gives no advice.
            let is_about = plainly.is_some() || relevance::is_about_call(text, statement, sent);
            let is_about = is_about && !(is_diagnostic && statement.field().is_some());
            is_error && !is_document && is_about
                || matches!(statement, Statement::Narrow { .. } | Statement::Page { .. })
        })
        .unzip();
    let keeps = relevance::may_change(text, &statements, sent, plainly.is_some());
    let (statements, words): (Vec<Statement>, Vec<String>) =
        statements.into_iter().zip(words).zip(keeps).filter(|(_, keeps)| *keeps).map(|(pair, _)| pair).unzip();
    let facts = Facts::of(&statements);
    let kind = is_error.then(|| match error_kind::kind_of(&statements, &faults) {
        ErrorKind::Unclear => error_kind::kind_by_words(text).unwrap_or(ErrorKind::Unclear),
        // What a server misses and no argument names is its own: "(sqlite3.OperationalError) no such table: project".
        ErrorKind::Reference if faults.iter().all(|(field, _)| field.is_none()) => {
            error_kind::kind_by_words(text).filter(|kind| *kind == ErrorKind::Internal).unwrap_or(ErrorKind::Reference)
        }
        kind => kind,
    });
    Reading { statements, words, kind, facts }
}

impl Facts {
    fn of(statements: &[Statement]) -> Facts {
        let is_page = |statement: &&Statement| matches!(statement, Statement::Narrow { .. } | Statement::Page { .. });
        Facts {
            names_field: statements
                .iter()
                .filter(|statement| !is_page(statement))
                .any(|statement| statement.field().is_some()),
            states_remedy: statements.iter().any(Statement::is_remedy),
            names_tool: statements.iter().any(|statement| matches!(statement, Statement::Suggest { .. })),
        }
    }
}

/// Returns all statements of `text`, without duplicates, in the order of the text. `sent` are the arguments of the call, or null: if a text
/// names no field but quotes a value (``unknown variant `superadmin` ``) that occurs once in them, the statement is about that argument.
/// Words inside quoted values of arguments are ignored.
pub fn read_statements(text: &str, vocabulary: &Vocabulary<'_>, sent: &Value) -> Vec<Statement> {
    let masked = echoed_values::mask_echoed_values(text, sent);
    let (statements, _, faults) = read_all(&masked, vocabulary, sent, false, true);
    if statements.is_empty() && is_passing(text, &statements, &faults) {
        vec![Statement::Transient]
    } else {
        statements
    }
}

/// Returns true if a text that says nothing about the call reports a passing failure: "Connection reset by peer".
fn is_passing(text: &str, statements: &[Statement], faults: &Faults) -> bool {
    error_kind::kind_of(statements, faults) == ErrorKind::Unclear
        && error_kind::kind_by_words(text) == Some(ErrorKind::Transient)
}

/// Returns the statements of a text, which is given with the sent values as [`echoed_values`] masks both, the words of each if they are wanted,
/// and the faults. `of_error` is true if it answers a failed call.
fn read_all(
    (text, sent): &(Cow<'_, str>, Cow<'_, Value>),
    vocabulary: &Vocabulary<'_>,
    original: &Value,
    keep_words: bool,
    of_error: bool,
) -> (Vec<Statement>, Vec<String>, Faults) {
    let text = orders::without_orders(text);
    let mut reader = StatementReader::new(vocabulary, sent, original, phrases::PhraseTable::built_in());
    reader.of_error = of_error;
    if keep_words {
        reader.keep_words();
    }
    segments::walk(&text, &mut reader);
    let (statements, mut words, faults) = reader.finish(&text);
    words.resize_with(statements.len(), String::new);
    (statements, words, faults)
}
