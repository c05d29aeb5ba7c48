//! Mistakes: changes that turn the intended call of a step, which a perfect agent would make, into the draft that an
//! agent sends first.
//!
//! The possible changes of a step are computed once, when the file is loaded, so a trial only draws from them. Changes of values
//! are checked against the schema; the other kinds are wrong by construction.

mod confusions;
mod fields;
mod ids;
mod kind;
mod lists;
mod mutate;
mod routing;
mod shapes;
mod similar;
mod stale;
mod values;

pub use kind::{MISTAKES, MistakeEntry, MistakeKind};
pub(crate) use mutate::{Edit, ExistingKeys, Mutation, MutationPlan, mutate};

use healbench_core::{Object, ValuePath};
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
    /// The arguments of the earlier steps with the same action, in order.
    pub(crate) earlier: &'a [&'a Object],
    /// The names of all tools with those of their actions, empty without a discriminator.
    pub(crate) tools: &'a [(String, Option<String>, Vec<String>)],
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

    /// Returns true if the schema rejects the intended arguments with `argument`, a name or a path, set to `value`.
    fn rejects(&self, argument: &str, value: &Value) -> bool {
        let mut arguments = self.arguments.clone();
        set(&mut arguments, argument, value.clone());
        !self.validator.is_valid(&Value::Object(arguments))
    }

    /// Returns the values that a mistake in `field` concerns, with their names or paths and their schemas: the arguments that
    /// the schema declares, in its order, or the value inside of one that a path leads to.
    fn places<'t>(&'t self, field: Option<&'t String>) -> Vec<(&'t str, &'t Value, &'t Value)> {
        let path =
            field.filter(|field| !self.arguments.contains_key(*field)).and_then(|field| ValuePath::parse(field).ok());
        if let (Some(path), Some(field)) = (path.filter(|path| !path.is_name()), field) {
            let right = path.get(self.arguments);
            return right.map(|right| (field.as_str(), path.schema(&self.action.input), right)).into_iter().collect();
        }
        let is_meant = |name: &str| field.is_none_or(|field| field == name);
        let declared = self.properties().filter(|(name, _)| is_meant(name));
        declared.filter_map(|(name, schema)| Some((name, schema, self.arguments.get(name)?))).collect()
    }
}

/// Sets the value of an argument, or of what a path leads to inside of one.
fn set(arguments: &mut Object, argument: &str, value: Value) {
    let path = ValuePath::parse(argument).ok().filter(|path| !path.is_name() && !arguments.contains_key(argument));
    match path {
        Some(path) => {
            if let Some(place) = path.get_mut(arguments) {
                *place = value;
            }
        }
        None => _ = arguments.insert(argument.to_owned(), value),
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
    (kind.entry().plan)(target, params)
}

/// Rejects a field or a value for a kind that has none.
fn reject_params(kind: &str, params: &MistakeParams) -> Result<(), InapplicableMistake> {
    match params {
        MistakeParams { field: Some(_), .. } => Err(InapplicableMistake::field(format!("`{kind}` takes no field"))),
        MistakeParams { value: Some(_), .. } => Err(InapplicableMistake::value(format!("`{kind}` takes no value"))),
        _ => Ok(()),
    }
}
