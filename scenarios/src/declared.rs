//! The arguments that an input schema declares.

use healbench_core::schema_parts;
use serde_json::Value;

use crate::suggest;

/// Returns the declared arguments of an input schema, with their schemas.
pub(crate) fn declared(input: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let parts = schema_parts(input, input).into_iter().filter_map(|part| part["properties"].as_object());
    parts.flatten().map(|(name, schema)| (name.as_str(), schema))
}

/// Returns true if an input schema declares the argument.
pub(crate) fn is_declared(input: &Value, argument: &str) -> bool {
    declared(input).any(|(name, _)| name == argument)
}

/// Returns help for an argument that is not declared: the declared one with a similar name.
pub(crate) fn declared_help(input: &Value, argument: &str) -> Option<String> {
    suggest::help(argument, declared(input).map(|(name, _)| name))
}
