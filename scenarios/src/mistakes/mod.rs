//! Mistakes: changes that turn the intended call of a step, which a perfect agent would make, into the draft that an
//! agent sends first.
//!
//! The possible changes of a step are computed once, when the file is loaded, so a trial only draws from them. Changes of values
//! are checked against the schema; the other kinds are wrong by construction.

mod fields;
mod ids;
mod kind;
mod lists;
mod mutate;
mod routing;
mod similar;
mod stale;
mod values;

pub use kind::MistakeKind;
pub(crate) use mutate::{Edit, ExistingKeys, Mutation, MutationPlan, mutate};

use healbench_core::Object;
use healbench_engine::definition::{Action, Tool, WorldDef};
use jsonschema::Validator;
use serde_json::Value;

/// The step that a mistake changes.
pub(crate) struct Target<'a> {
    /// The current tool, as the engine enforces it.
    pub(crate) tool: &'a Tool,
    pub(crate) action: &'a Action,
    /// The action in the previous contract, if both exist.
    pub(crate) previous: Option<&'a Action>,
    /// The intended arguments without the discriminator.
    pub(crate) arguments: &'a Object,
    /// The compiled input schema of the action, with format validation.
    pub(crate) validator: &'a Validator,
    /// The tables, with the rows listed in the file.
    pub(crate) world: &'a WorldDef,
    /// True if the tool is that of a server, whose data is not known.
    pub(crate) on_server: bool,
}

impl Target<'_> {
    /// Returns the declared properties of the action.
    fn properties(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.action.input["properties"].as_object().into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
    }

    /// Returns the declared schema of an argument, or `null` if there is none.
    fn schema(&self, argument: &str) -> &Value {
        &self.action.input["properties"][argument]
    }

    fn is_required(&self, argument: &str) -> bool {
        self.action.input["required"].as_array().is_some_and(|required| required.iter().any(|name| name == argument))
    }

    /// Returns true if the schema rejects the intended arguments with `argument` set to `value`.
    fn rejects(&self, argument: &str, value: &Value) -> bool {
        let mut arguments = self.arguments.clone();
        arguments.insert(argument.to_owned(), value.clone());
        !self.validator.is_valid(&Value::Object(arguments))
    }
}

/// The parts of a mistake that the scenario file fixes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MistakeParams {
    /// The argument to change.
    pub(crate) field: Option<String>,
    /// The value to send instead.
    pub(crate) value: Option<Value>,
}

/// The reason why a mistake cannot be made in a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InapplicableMistake {
    pub(crate) reason: String,
    /// The part of the mistake that is not applicable.
    pub(crate) part: MistakePart,
}

/// The part of a mistake that a diagnostic marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MistakePart {
    Kind,
    Field,
    Value,
}

impl InapplicableMistake {
    fn kind(reason: impl Into<String>) -> InapplicableMistake {
        InapplicableMistake { reason: reason.into(), part: MistakePart::Kind }
    }

    fn field(reason: impl Into<String>) -> InapplicableMistake {
        InapplicableMistake { reason: reason.into(), part: MistakePart::Field }
    }

    fn value(reason: impl Into<String>) -> InapplicableMistake {
        InapplicableMistake { reason: reason.into(), part: MistakePart::Value }
    }
}

/// Returns all changes that a mistake of this kind can make to the step, grouped by field.
///
/// # Errors
/// Returns an [`InapplicableMistake`] if the kind, the given field or the given value is not possible in this step.
pub(crate) fn plan_mutations(
    kind: MistakeKind,
    target: &Target<'_>,
    params: &MistakeParams,
) -> Result<MutationPlan, InapplicableMistake> {
    match kind {
        MistakeKind::Missing => fields::missing(target, params),
        MistakeKind::WrongType => values::wrong_type(target, params),
        MistakeKind::WrongEnum => values::wrong_enum(target, params),
        MistakeKind::OutOfRange => values::out_of_range(target, params),
        MistakeKind::BadFormat => values::bad_format(target, params),
        MistakeKind::HallucinatedField => fields::hallucinated(target, params),
        MistakeKind::MisspelledField => fields::misspelled(target, params),
        MistakeKind::MisspelledAction => routing::misspelled_action(target, params),
        MistakeKind::MissingDiscriminator => routing::missing_discriminator(target, params),
        MistakeKind::UnknownId => ids::unknown_id(target, params),
        MistakeKind::UnfilteredList => lists::unfiltered(target, params),
        MistakeKind::StaleContract => stale::stale_contract(target, params),
    }
}

/// Rejects a field or a value for a kind that has none.
fn reject_params(kind: MistakeKind, params: &MistakeParams) -> Result<(), InapplicableMistake> {
    match params {
        MistakeParams { field: Some(_), .. } => Err(InapplicableMistake::field(format!("`{kind}` takes no field"))),
        MistakeParams { value: Some(_), .. } => Err(InapplicableMistake::value(format!("`{kind}` takes no value"))),
        _ => Ok(()),
    }
}
