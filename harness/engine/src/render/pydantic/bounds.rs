//! The errors for numbers, lengths and counts out of bounds.

use serde_json::Value;

use super::{PydanticError, error};
use crate::failure::{Bound, Quantity};

pub(super) fn out_of_bounds<'a>(
    measure: Quantity,
    relation: Bound,
    limit: &Value,
    sent: &'a Value,
) -> PydanticError<'a> {
    let limit = limit_text(limit);
    let s = if limit == "1" { "" } else { "s" };
    let at_least = matches!(relation, Bound::AtLeast | Bound::MoreThan);
    let amount = if at_least { "at least" } else { "at most" };
    let size = if at_least { "too_short" } else { "too_long" };
    match measure {
        Quantity::Number => {
            let (phrase, kind) = match relation {
                Bound::AtLeast => ("greater than or equal to", "greater_than_equal"),
                Bound::MoreThan => ("greater than", "greater_than"),
                Bound::AtMost => ("less than or equal to", "less_than_equal"),
                Bound::LessThan => ("less than", "less_than"),
            };
            error(format!("Input should be {phrase} {limit}"), kind, sent)
        }
        Quantity::Characters => {
            let kind = if at_least { "string_too_short" } else { "string_too_long" };
            error(format!("String should have {amount} {limit} character{s}"), kind, sent)
        }
        Quantity::Items => {
            let count = sent.as_array().map_or(0, Vec::len);
            error(format!("List should have {amount} {limit} item{s} after validation, not {count}"), size, sent)
        }
        Quantity::Properties => {
            // pydantic stops counting at the limit.
            let count = sent.as_object().map_or(0, serde_json::Map::len).to_string();
            let found = if at_least { count.as_str() } else { "more" };
            error(format!("Dictionary should have {amount} {limit} item{s} after validation, not {found}"), size, sent)
        }
    }
}

/// Formats a limit without scientific notation.
pub(super) fn limit_text(limit: &Value) -> String {
    match limit.as_f64() {
        Some(float) if limit.is_f64() => float.to_string(),
        _ => limit.to_string(),
    }
}

/// The largest number of missing items of a tuple that are reported.
pub(super) const MAX_MISSING_ITEMS: usize = 100;

pub(super) fn tuple_too_long(limit: usize, items: usize, sent: &Value) -> PydanticError<'_> {
    let s = if limit == 1 { "" } else { "s" };
    error(format!("Tuple should have at most {limit} item{s} after validation, not {items}"), "too_long", sent)
}
