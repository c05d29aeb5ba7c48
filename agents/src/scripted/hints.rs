//! What a text says about a failed call, or about how to get a better answer.
//!
//! One extractor reads any text. It knows how texts are built in general (elements, JSON objects, bullets, indentation, quotes)
//! and which phrases say what; it does not know which error format wrote a text, and nothing here may ask. What a text does not
//! say, no evidence says: `Error: Invalid arguments` yields nothing.

mod advice;
mod constraints;
mod echoed_values;
mod extractor;
mod lists;
mod markup;
mod patterns;
mod phrases;
mod segments;
mod sent_paths;
mod shape;
mod tokens;
mod vocabulary;

use healbench_protocol::Object;
use serde_json::Value;

pub use shape::ShapeField;
pub use vocabulary::Vocabulary;

/// One thing that a text says. Fields are dotted paths (`address.city`, `lines.0.qty`).
#[derive(Debug, Clone, PartialEq)]
pub enum Hint {
    /// The field has to be there.
    Missing {
        /// The field.
        field: String,
    },
    /// The field has to have this JSON type.
    WrongType {
        /// The field.
        field: String,
        /// `string`, `number`, `integer`, `boolean`, `array`, `object` or `null`.
        expected: &'static str,
    },
    /// The field has to be one of these values.
    Options {
        /// The field.
        field: String,
        /// The values as written, without quotes.
        values: Vec<String>,
    },
    /// The field has a limit: of the number, of the text's length in characters, or of the list's length.
    Bound {
        /// The field.
        field: String,
        /// How the value relates to `limit`.
        relation: Relation,
        /// The limit.
        limit: f64,
    },
    /// The field has to be written in a certain way.
    Format {
        /// The field.
        field: String,
        /// What the text names: a word (`email`) or a pattern.
        expected: ExpectedFormat,
    },
    /// The field is not known to the tool.
    Unrecognized {
        /// The field as the text names it.
        field: String,
    },
    /// The field's value is in use elsewhere, alone or together with other fields: another one is needed.
    Conflict {
        /// The field.
        field: String,
    },
    /// The valid values of the discriminator.
    Actions {
        /// The actions' names as written.
        names: Vec<String>,
    },
    /// The discriminator was not sent.
    MissingDiscriminator {
        /// The discriminator's name.
        field: String,
    },
    /// Another action should be called first.
    Suggest {
        /// The action's tool; `None` when the text does not name one, and means the tool that answered.
        tool: Option<String>,
        /// The action.
        action: String,
    },
    /// The call should be sent again after a delay.
    Delay {
        /// Seconds, rounded up.
        seconds: u32,
    },
    /// The failure will pass; the same call may succeed later.
    Transient,
    /// Trying again is of no use: someone else has to act.
    Stop,
    /// The answer was cut, and this filter would narrow it.
    Narrow {
        /// The filter.
        field: String,
        /// Its valid values, where the text lists them.
        values: Vec<String>,
    },
    /// The answer was cut, and the rows after it come with a higher value of this field.
    Page {
        /// The field.
        field: String,
        /// How much higher.
        step: u64,
    },
    /// The contract changed, and this is the input's current shape.
    Contract {
        /// The action whose input it is, where the text says so.
        action: Option<String>,
        /// The fields of the current shape.
        fields: Vec<ShapeField>,
        /// Fields of the previous shape that are gone.
        dropped: Vec<String>,
    },
    /// Arguments that are said to be valid.
    Example {
        /// The arguments.
        object: Object,
    },
}

/// How a valid value relates to a limit.
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
    /// A whole multiple.
    MultipleOf,
}

/// What a text says about how a value has to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedFormat {
    /// A format's name, in lower case.
    Named(String),
    /// A regular expression.
    Pattern(String),
}

/// Takes from `text` everything that it says, each thing once, in the order of the text.
pub fn extract(text: &str, vocabulary: &Vocabulary<'_>) -> Vec<Hint> {
    extract_with_arguments(text, vocabulary, &Value::Null)
}

/// As [`extract`], for a reader that also remembers the arguments it sent: a text that names no field but quotes a value
/// (``unknown variant `superadmin` ``) is about the only place in them that had this value. What it said itself it does not take for an
/// answer: the words inside of such a value are no evidence.
pub fn extract_with_arguments(text: &str, vocabulary: &Vocabulary<'_>, sent: &Value) -> Vec<Hint> {
    let (text, sent) = echoed_values::mask_echoed_values(text, sent);
    let mut extractor = extractor::HintExtractor::new(vocabulary, &sent, phrases::PhraseTable::shipped());
    segments::walk(&text, &mut extractor);
    extractor.into_hints()
}
