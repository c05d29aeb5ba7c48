//! Tells whether a statement contradicts what was sent. A text that nothing calls an error is one if it does.

use serde_json::Value;

use crate::paths;
use crate::reading::{ExpectedFormat, Relation, Statement};
use crate::repair::{has_type, is_among, is_within};
use crate::wrong_values::is_date;

/// Returns true if what was sent does not keep to a statement.
pub(in crate::reading) fn contradicts(statement: &Statement, sent: &Value) -> bool {
    let value = |field: &str| paths::get(sent, field);
    match statement {
        Statement::WrongType { field, expected } => value(field).is_some_and(|sent| !has_type(sent, expected)),
        Statement::Options { field, values } => value(field)
            .is_some_and(|sent| !is_among(sent, values) && (sent.is_string() || sent.is_number()) && values.len() > 1),
        Statement::Bound { field, relation, limit } => value(field)
            .is_some_and(|sent| (sent.is_number() || sent.is_array()) && !is_within(sent, *relation, *limit)),
        Statement::Compared { field, relation, other } => {
            let other = if is_date(other) { Some(other.as_str()) } else { value(other).and_then(Value::as_str) };
            value(field).and_then(Value::as_str).zip(other).is_some_and(|(sent, other)| match relation {
                Relation::AtLeast => sent < other,
                Relation::Above => sent <= other,
                Relation::AtMost => sent > other,
                Relation::Below => sent >= other,
                Relation::MultipleOf => false,
            })
        }
        Statement::Format { field, expected: ExpectedFormat::Named(form) } => {
            value(field).and_then(Value::as_str).is_some_and(|sent| shape(sent) != shape(form))
        }
        Statement::Format { field, expected: ExpectedFormat::Pattern(pattern) } => {
            let sent = value(field).and_then(Value::as_str);
            sent.is_some_and(|sent| regex::Regex::new(pattern).is_ok_and(|pattern| !pattern.is_match(sent)))
        }
        Statement::Value { field, value: Some(stated) } => value(field).is_some_and(|sent| sent != stated),
        Statement::Unrecognized { field } => value(field).is_some(),
        Statement::Rename { field, .. } => value(field).is_some(),
        Statement::Missing { field } => value(field).is_none(),
        _ => false,
    }
}

/// Returns the shape of a value: runs of letters and of digits count as one sign each.
pub(super) fn shape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let sign = match c {
            c if c.is_alphabetic() => 'a',
            c if c.is_numeric() => '0',
            other => other,
        };
        if !out.ends_with(sign) || !sign.is_alphanumeric() {
            out.push(sign);
        }
    }
    out
}
