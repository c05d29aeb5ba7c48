//! Texts and truth values that pydantic reads as numbers, and then finds out of bounds.

use serde_json::{Value, json};

use super::parse::parses_as;
use crate::failure::{Expected, IssueKind};
use crate::schema::validate;

/// Returns what is wrong with the number that pydantic reads in a value; `None` if there is none in it, or nothing is.
pub(super) fn kinds_after_conversion(kind: &IssueKind, schema: Option<&Value>, sent: &Value) -> Option<Vec<IssueKind>> {
    let IssueKind::WrongType { expected: Expected::Types(types) } = kind else { return None };
    let mut types = types.iter().map(String::as_str).filter(|name| *name != "null");
    let (Some(name @ ("integer" | "number")), None) = (types.next(), types.next()) else { return None };
    let number: f64 = match sent {
        Value::Bool(flag) => f64::from(u8::from(*flag)),
        Value::String(text) if parses_as(text, name) => text.trim().parse().ok()?,
        _ => return None,
    };
    let is_whole = number.fract() == 0.0 && number.abs() < 9.0e15;
    let number = if is_whole { json!(number as i64) } else { json!(number) };
    let found = validate(schema?, &number).ok().filter(|found| !found.is_empty() && !number.is_null())?;
    Some(found.into_iter().map(|issue| issue.kind).collect())
}
