//! Statements about the entries of a list whose index a text does not say.

use serde_json::Value;

use super::Statement;
use crate::paths;
use crate::repair::{has_type, is_among, is_within};

/// The part of a path that stands for any entry of a list, as in a JSON Schema.
pub(super) const ENTRY: &str = "items";

impl Statement {
    /// Replaces a part of the field's path that stands for any entry of a list by the index of the entry that is at fault.
    pub(super) fn locate(&mut self, sent: &Value) {
        let Some(field) = self.field() else { return };
        let parts: Vec<&str> = field.split('.').collect();
        // Objects may have a member of this name.
        let Some(at) = (1..parts.len())
            .find(|at| parts[*at] == ENTRY && paths::get(sent, &parts[..*at].join(".")).is_some_and(Value::is_array))
        else {
            return;
        };
        let path = |index: usize| {
            let index = index.to_string();
            [&parts[..at], &[&index], &parts[at + 1..]].concat().join(".")
        };
        let length = paths::get(sent, &parts[..at].join(".")).and_then(Value::as_array).map_or(0, Vec::len);
        let wrong = (0..length).find(|index| self.is_violated(paths::get(sent, &path(*index))));
        let located = path(wrong.unwrap_or(0));
        if let Some(field) = self.field_mut() {
            *field = located;
        }
    }

    fn is_violated(&self, value: Option<&Value>) -> bool {
        match (self, value) {
            (Statement::Missing { .. }, value) => value.is_none(),
            (Statement::Unrecognized { .. }, value) => value.is_some(),
            (Statement::WrongType { expected, .. }, Some(value)) => !has_type(value, expected),
            (Statement::Options { values, .. }, Some(value)) => !is_among(value, values),
            (Statement::Bound { relation, limit, .. }, Some(value)) => !is_within(value, *relation, *limit),
            _ => false,
        }
    }

    fn field_mut(&mut self) -> Option<&mut String> {
        match self {
            Statement::Missing { field }
            | Statement::WrongType { field, .. }
            | Statement::Options { field, .. }
            | Statement::Bound { field, .. }
            | Statement::Format { field, .. }
            | Statement::Unrecognized { field }
            | Statement::Value { field, .. }
            | Statement::Fault { field, .. } => Some(field),
            _ => None,
        }
    }
}
