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

pub(crate) use ids::identifiers;
pub use kind::{MISTAKES, MistakeEntry, MistakeKind};
pub(crate) use mutate::{Edit, ExistingKeys, Mutation, MutationPlan, mutate};

use std::borrow::Cow;

use healbench_core::{Object, ValuePath, property, schema_parts};
use healbench_engine::definition::{Action, Rule, Tool, WorldDef};
use jsonschema::Validator;
use serde_json::Value;

use crate::declared::declared;

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
        declared(&self.action.input)
    }

    /// Returns the names of the call's arguments, and then of those that it leaves out.
    pub(crate) fn argument_names(&self) -> impl Iterator<Item = &str> {
        let left_out = self.properties().map(|(name, _)| name).filter(|name| !self.arguments.contains_key(*name));
        self.arguments.keys().map(String::as_str).chain(left_out)
    }

    /// Returns the declared schema of an argument, or `null` if there is none.
    fn schema(&self, argument: &str) -> &Value {
        property(&self.action.input, &self.action.input, argument)
    }

    /// Returns true if the schema or a rule requires an argument.
    fn is_required(&self, argument: &str) -> bool {
        let by_rule = |rule: &Rule| matches!(rule, Rule::Required { argument: required } if required == argument);
        let parts = schema_parts(&self.action.input, &self.action.input);
        let mut required = parts.into_iter().filter_map(|part| part["required"].as_array()).flatten();
        required.any(|name| name == argument) || self.action.rules.iter().any(by_rule)
    }

    /// Returns true if the schema rejects the intended arguments with `argument`, a name or a path, set to `value`.
    fn rejects(&self, argument: &str, value: &Value) -> bool {
        let mut arguments = self.arguments.clone();
        if self.schema(argument).is_null() {
            set(&mut arguments, argument, value.clone());
        } else {
            arguments.insert(argument.to_owned(), value.clone());
        }
        !self.validator.is_valid(&Value::Object(arguments))
    }

    /// Returns the values that a mistake in `field` concerns: the arguments that the schema declares, in its order, or the value
    /// inside of one that a path leads to. A declared value that the call leaves out is one only if `field` names it.
    fn places<'t>(&'t self, field: Option<&'t String>) -> Vec<Place<'t>> {
        let place = |(name, schema, right)| Place {
            name,
            schema,
            right: Cow::Borrowed(right),
            is_left_out: false,
            is_new_argument: false,
        };
        let path =
            field.filter(|field| !self.arguments.contains_key(*field)).and_then(|field| ValuePath::parse(field).ok());
        let found: Vec<Place<'t>> = match (path.filter(|path| !path.is_name()), field) {
            (Some(path), Some(field)) => {
                let right = path.get(self.arguments);
                right.map(|right| place((field, path.schema(&self.action.input), right))).into_iter().collect()
            }
            _ => {
                let is_meant = |name: &str| field.is_none_or(|field| field == name);
                let declared = self.properties().filter(|(name, _)| is_meant(name));
                declared.filter_map(|(name, schema)| Some(place((name, schema, self.arguments.get(name)?)))).collect()
            }
        };
        match field {
            Some(field) if found.is_empty() => self.left_out(field).into_iter().collect(),
            _ => found,
        }
    }

    /// Returns the place of a declared value that the call leaves out.
    fn left_out<'t>(&'t self, field: &'t str) -> Option<Place<'t>> {
        let path = match self.schema(field).is_null() {
            true => ValuePath::parse(field).ok()?,
            false => ValuePath::of_name(field),
        };
        let schema = path.schema(&self.action.input);
        let mut arguments = self.arguments.clone();
        let is_left_out = path.get(&arguments).is_none() && path.insert(&mut arguments, Value::Null);
        (is_left_out && !schema.is_null()).then(|| Place {
            name: field,
            schema,
            right: Cow::Owned(example(schema, &self.action.input)),
            is_left_out: true,
            is_new_argument: path.is_name(),
        })
    }

    /// Returns the declared arguments that the call leaves out.
    fn all_left_out(&self) -> impl Iterator<Item = Place<'_>> {
        self.properties().filter_map(|(name, _)| self.left_out(name))
    }
}

/// A value of a call that may go wrong.
struct Place<'a> {
    /// The name of the argument, or the path to the value inside of one.
    name: &'a str,
    schema: &'a Value,
    /// The right value; an example of it, or null, if the call leaves it out.
    right: Cow<'a, Value>,
    is_left_out: bool,
    /// True if it is an argument, so that its name is no path.
    is_new_argument: bool,
}

impl Place<'_> {
    /// Returns the edit that sends this value.
    fn edit(&self, value: Value) -> Edit {
        let edit = if self.is_new_argument { Edit::Add } else { Edit::Set };
        edit(self.name.to_owned(), value)
    }
}

/// Returns a value that `schema`, a part of `root`, accepts; null if none is found.
fn example(schema: &Value, root: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(map) = &mut schema {
        for key in ["$defs", "definitions"] {
            if let Some(definitions) = root.get(key) {
                map.entry(key).or_insert_with(|| definitions.clone());
            }
        }
    }
    healbench_engine::valid_example(&schema).unwrap_or_default()
}

/// Sets the value of an argument, or of what a path leads to inside of one.
fn set(arguments: &mut Object, argument: &str, value: Value) {
    let path = ValuePath::parse(argument).ok().filter(|path| !path.is_name() && !arguments.contains_key(argument));
    match path {
        Some(path) => match path.get_mut(arguments) {
            Some(place) => *place = value,
            // A member that the call leaves out.
            None => _ = path.insert(arguments, value),
        },
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
    /// Advice; if there is none, the arguments that `field` could name are listed.
    pub(crate) help: Option<String>,
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
        InapplicableMistake { reason: reason.into(), part: MistakePart::Kind, help: None }
    }

    fn field(reason: impl Into<String>) -> InapplicableMistake {
        InapplicableMistake { reason: reason.into(), part: MistakePart::Field, help: None }
    }

    fn value(reason: impl Into<String>) -> InapplicableMistake {
        InapplicableMistake { reason: reason.into(), part: MistakePart::Value, help: None }
    }

    fn help(self, help: impl Into<Option<String>>) -> InapplicableMistake {
        InapplicableMistake { help: help.into(), ..self }
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
