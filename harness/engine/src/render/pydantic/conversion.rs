//! Values that pydantic converts where JSON Schema has an error.

use serde_json::{Value, json};

use super::parse::{is_date, is_date_time, is_time, parses_as};
use crate::failure::{Expected, IssueKind};
use crate::schema::validate;

/// Returns what is wrong with a value after pydantic has converted it to the type or the format that the issue misses; `None` if
/// it cannot be converted.
pub(super) fn kinds_after_conversion(kind: &IssueKind, schema: Option<&Value>, sent: &Value) -> Option<Vec<IssueKind>> {
    match kind {
        IssueKind::WrongType { expected: Expected::Types(types) } => {
            let types: Vec<&str> = types.iter().map(String::as_str).filter(|name| *name != "null").collect();
            let [name] = types.as_slice() else { return None };
            let converted = converted(name, sent)?;
            let found = schema.and_then(|schema| validate(schema, &converted).ok()).unwrap_or_default();
            Some(found.into_iter().map(|issue| issue.kind).collect())
        }
        IssueKind::BadFormat { format } => {
            let text = sent.as_str()?;
            let is_accepted = match format.as_str() {
                "time" => is_time(text),
                "date" => is_date(text),
                "date-time" => is_date_time(text),
                _ => false,
            };
            is_accepted.then(Vec::new)
        }
        _ => None,
    }
}

fn converted(name: &str, sent: &Value) -> Option<Value> {
    match (name, sent) {
        ("integer" | "number", Value::Bool(flag)) => Some(json!(u8::from(*flag))),
        ("integer" | "number", Value::String(text)) if parses_as(text, name) => {
            let number: f64 = text.trim().parse().ok()?;
            let is_whole = number.fract() == 0.0 && number.abs() < 9.0e15;
            Some(if is_whole { json!(number as i64) } else { json!(number) }).filter(|value| !value.is_null())
        }
        ("boolean", Value::String(text)) if parses_as(text, name) => Some(json!(true)),
        ("boolean", Value::Number(number)) if matches!(number.as_f64(), Some(0.0 | 1.0)) => Some(json!(true)),
        _ => None,
    }
}
