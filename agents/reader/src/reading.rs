//! Extracts the statements of a text: what it says about a failed call, or about how to get a better response.
//!
//! One reader reads all texts. It knows common text structures (elements, JSON objects, bullets, indentation,
//! quotes) and the meaning of phrases. It does not know the error format and must not depend on it. It makes no
//! guesses: `Error: Invalid arguments` yields no statement.

mod advice;
mod constraints;
mod echoed_values;
mod lists;
mod markup;
mod patterns;
mod phrases;
mod segment;
mod segments;
mod sent_paths;
mod shape;
mod statement_reader;
mod tokens;
mod vocabulary;

use healbench_core::Object;
use serde_json::Value;

pub use shape::ShapeField;
pub use vocabulary::Vocabulary;

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
    /// A format's name, in lower case.
    Named(String),
    Pattern(String),
}

/// Returns all statements of `text`, without duplicates, in the order of the text. `sent` are the arguments of the call, or null: if a text
/// names no field but quotes a value (``unknown variant `superadmin` ``) that occurs once in them, the statement is about that argument.
/// Words inside quoted values of arguments are ignored.
pub fn read_statements(text: &str, vocabulary: &Vocabulary<'_>, sent: &Value) -> Vec<Statement> {
    let (text, sent) = echoed_values::mask_echoed_values(text, sent);
    let mut reader = statement_reader::StatementReader::new(vocabulary, &sent, phrases::PhraseTable::built_in());
    segments::walk(&text, &mut reader);
    reader.into_statements()
}
