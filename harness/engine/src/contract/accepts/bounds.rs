//! Bounds of numbers, lengths and counts.

use std::cmp::Ordering;

use serde_json::Value;

use super::conjuncts::{Conjunct, TypeSet, types_of};

/// Returns true if every value under `old` satisfies the bound `keyword: limit`.
pub(super) fn bound_holds(keyword: &str, limit: &Value, old: &[Conjunct]) -> bool {
    let is_integer = types_of(old).intersection(TypeSet::NUMBER) == TypeSet::INTEGER;
    let known =
        |keyword: &str| old.iter().filter_map(move |conjunct| conjunct.get(keyword).cloned()).collect::<Vec<_>>();
    let any = |keyword: &str, test: &dyn Fn(&Value) -> bool| known(keyword).iter().any(test);
    let at_least = |value: &Value| matches!(compare(value, limit), Some(Ordering::Greater | Ordering::Equal));
    let at_most = |value: &Value| matches!(compare(value, limit), Some(Ordering::Less | Ordering::Equal));
    // For integers, `> 0` is `>= 1`.
    let step = |value: &Value, by: f64| {
        let number = value.as_f64().filter(|number| is_integer && number.abs() < 1e15)?;
        Some(Value::from(if by > 0.0 { number.floor() + 1.0 } else { number.ceil() - 1.0 }))
    };
    let round = |value: &Value, up: bool| {
        let number = value.as_f64().filter(|number| is_integer && number.abs() < 1e15)?;
        Some(Value::from(if up { number.ceil() } else { number.floor() }))
    };
    match keyword {
        "minimum" => {
            any("minimum", &at_least)
                || any("exclusiveMinimum", &at_least)
                || any("exclusiveMinimum", &|value| step(value, 1.0).is_some_and(|value| at_least(&value)))
        }
        "maximum" => {
            any("maximum", &at_most)
                || any("exclusiveMaximum", &at_most)
                || any("exclusiveMaximum", &|value| step(value, -1.0).is_some_and(|value| at_most(&value)))
        }
        "exclusiveMinimum" => {
            let above = |value: &Value| compare(value, limit) == Some(Ordering::Greater);
            any("exclusiveMinimum", &at_least)
                || any("minimum", &above)
                || any("minimum", &|value| round(value, true).is_some_and(|value| above(&value)))
        }
        "exclusiveMaximum" => {
            let below = |value: &Value| compare(value, limit) == Some(Ordering::Less);
            any("exclusiveMaximum", &at_most)
                || any("maximum", &below)
                || any("maximum", &|value| round(value, false).is_some_and(|value| below(&value)))
        }
        "multipleOf" => {
            any("multipleOf", &|value| is_multiple(value, limit)) || is_integer && limit.as_f64() == Some(1.0)
        }
        "minLength" | "minItems" => limit.as_f64() == Some(0.0) || any(keyword, &at_least),
        "minProperties" => {
            let names = |conjunct: &Conjunct| conjunct.get("required").and_then(Value::as_array).map_or(0, Vec::len);
            limit.as_f64() == Some(0.0)
                || any(keyword, &at_least)
                || old.iter().any(|conjunct| at_least(&Value::from(names(conjunct))))
        }
        _ => any(keyword, &at_most),
    }
}

/// Compares by value: exactly for integers, which a float would round above 2^53.
fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    let as_integer = |value: &Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    match (as_integer(a), as_integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Returns true if every multiple of `value` is a multiple of `of`. Fractions must be equal, because their division is
/// inexact.
fn is_multiple(value: &Value, of: &Value) -> bool {
    match (value.as_u64(), of.as_u64()) {
        (Some(value), Some(of)) if of > 0 => value % of == 0,
        _ => compare(value, of) == Some(Ordering::Equal),
    }
}
