//! What goes wrong in a call: each kind of mistake spoils the intended call into the one that an agent believes in at first.
//!
//! What a mistake could do to a step is worked out once, when the file is loaded, and held against the schema there; a trial
//! only draws from it. So a spoiled call really is wrong, and a schedule costs microseconds.

mod fields;
mod ids;
mod kind;
mod lists;
mod near;
mod routing;
mod spoil;
mod stale;
mod values;

pub use kind::MistakeKind;
pub(crate) use spoil::{Change, Edit, Known, Plan, spoil};

use healbench_engine::definition::{Action, Tool, WorldDef};
use healbench_protocol::Object;
use jsonschema::Validator;
use serde_json::Value;

/// The step that a mistake is to spoil.
pub(crate) struct Target<'a> {
    /// The tool, as the engine enforces it.
    pub(crate) tool: &'a Tool,
    /// The action.
    pub(crate) action: &'a Action,
    /// The action by the previous contract: `None` when there is no previous contract, or the action was not there yet.
    pub(crate) previous: Option<&'a Action>,
    /// The intended arguments without the discriminator.
    pub(crate) arguments: &'a Object,
    /// The compiled input schema of the action, formats included.
    pub(crate) validator: &'a Validator,
    /// The tables, with the rows that are written down.
    pub(crate) world: &'a WorldDef,
}

impl Target<'_> {
    /// The declared properties of the action.
    fn properties(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.action.input["properties"].as_object().into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
    }

    /// The declared schema of an argument; `null` when there is none.
    fn schema(&self, argument: &str) -> &Value {
        &self.action.input["properties"][argument]
    }

    fn is_required(&self, argument: &str) -> bool {
        self.action.input["required"].as_array().is_some_and(|required| required.iter().any(|name| name == argument))
    }

    /// Whether the schema rejects the intended arguments once `argument` is `value`.
    fn rejects(&self, argument: &str, value: &Value) -> bool {
        let mut arguments = self.arguments.clone();
        arguments.insert(argument.to_owned(), value.clone());
        !self.validator.is_valid(&Value::Object(arguments))
    }
}

/// What the file fixes about a mistake.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Fixed {
    /// The argument that goes wrong.
    pub(crate) field: Option<String>,
    /// What is sent instead.
    pub(crate) value: Option<Value>,
}

/// Why a mistake cannot be made in a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inapplicable {
    /// What is in the way.
    pub(crate) reason: String,
    /// Whether it is the field, the value, or the kind itself that is in the way.
    pub(crate) blames: Blame,
}

/// The part of a mistake that a diagnostic points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blame {
    Kind,
    Field,
    Value,
}

impl Inapplicable {
    fn kind(reason: impl Into<String>) -> Inapplicable {
        Inapplicable { reason: reason.into(), blames: Blame::Kind }
    }

    fn field(reason: impl Into<String>) -> Inapplicable {
        Inapplicable { reason: reason.into(), blames: Blame::Field }
    }

    fn value(reason: impl Into<String>) -> Inapplicable {
        Inapplicable { reason: reason.into(), blames: Blame::Value }
    }
}

/// Everything that a mistake of this kind could do to the step: for each field the changes to draw from.
///
/// # Errors
/// [`Inapplicable`] when the kind, the named field or the named value cannot go wrong in this step.
pub(crate) fn plan(kind: MistakeKind, target: &Target<'_>, fixed: &Fixed) -> Result<Plan, Inapplicable> {
    match kind {
        MistakeKind::Missing => fields::missing(target, fixed),
        MistakeKind::WrongType => values::wrong_type(target, fixed),
        MistakeKind::WrongEnum => values::wrong_enum(target, fixed),
        MistakeKind::OutOfRange => values::out_of_range(target, fixed),
        MistakeKind::BadFormat => values::bad_format(target, fixed),
        MistakeKind::HallucinatedField => fields::hallucinated(target, fixed),
        MistakeKind::MisspelledField => fields::misspelled(target, fixed),
        MistakeKind::MisspelledAction => routing::misspelled_action(target, fixed),
        MistakeKind::MissingDiscriminator => routing::missing_discriminator(target, fixed),
        MistakeKind::UnknownId => ids::unknown_id(target, fixed),
        MistakeKind::UnfilteredList => lists::unfiltered(target, fixed),
        MistakeKind::StaleContract => stale::stale_contract(target, fixed),
    }
}

/// Refuses a field or a value where the kind has none.
fn nothing_fixed(kind: MistakeKind, fixed: &Fixed) -> Result<(), Inapplicable> {
    match fixed {
        Fixed { field: Some(_), .. } => Err(Inapplicable::field(format!("`{kind}` takes no field"))),
        Fixed { value: Some(_), .. } => Err(Inapplicable::value(format!("`{kind}` takes no value"))),
        _ => Ok(()),
    }
}
