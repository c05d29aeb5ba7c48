//! Numbers within bounds: the middle of the range, as in document 002, and nearby numbers.

use serde_json::{Number, Value};

use super::super::schema_node::SchemaNode;

/// Returns more than `want` candidates, the best first.
pub(super) fn candidates(node: &SchemaNode<'_>, integer: bool, want: usize) -> Vec<Value> {
    let limit = |value: Option<&Value>| value.and_then(Value::as_f64);
    let range = Range {
        minimum: higher(limit(node.lower_bound("minimum")), limit(node.lower_bound("exclusiveMinimum"))),
        exclusive_minimum: limit(node.lower_bound("exclusiveMinimum")),
        maximum: lower(limit(node.upper_bound("maximum")), limit(node.upper_bound("exclusiveMaximum"))),
        exclusive_maximum: limit(node.upper_bound("exclusiveMaximum")),
    };
    let middle = range.middle(integer);
    let multiple = node.lower_bound("multipleOf").and_then(Value::as_f64).filter(|of| *of > 0.0);
    let count = i32::try_from(want).unwrap_or(i32::MAX).saturating_add(8).min(256);
    let mut out: Vec<Value> = Vec::new();
    let mut offer = |number: Option<f64>| out.extend(number.filter(|n| range.allows(*n)).and_then(json_number));
    if let Some(of) = multiple.filter(|of| !integer || of.fract() == 0.0) {
        let steps = (middle / of).floor();
        for step in offsets(count) {
            offer(multiple_of(steps + f64::from(step), of));
        }
    } else if integer {
        offsets(count).for_each(|step| offer(Some(middle.floor() + f64::from(step))));
    } else {
        offer(Some(middle));
        if let (Some(minimum), Some(maximum)) = (range.minimum, range.maximum) {
            (1..=count)
                .for_each(|part| offer(Some(minimum + (maximum - minimum) * f64::from(part) / f64::from(count + 1))));
        }
        offsets(count).for_each(|step| offer(Some(middle + f64::from(step))));
    }
    [range.minimum, range.maximum].into_iter().for_each(offer);
    out
}

/// Returns 0, 1, -1, 2, -2, …
fn offsets(count: i32) -> impl Iterator<Item = i32> {
    std::iter::once(0).chain((1..=count).flat_map(|step| [step, -step]))
}

#[derive(Debug)]
struct Range {
    minimum: Option<f64>,
    exclusive_minimum: Option<f64>,
    maximum: Option<f64>,
    exclusive_maximum: Option<f64>,
}

impl Range {
    fn allows(&self, number: f64) -> bool {
        number.is_finite()
            && self.minimum.is_none_or(|minimum| number >= minimum)
            && self.exclusive_minimum.is_none_or(|exclusive_minimum| number > exclusive_minimum)
            && self.maximum.is_none_or(|maximum| number <= maximum)
            && self.exclusive_maximum.is_none_or(|exclusive_maximum| number < exclusive_maximum)
    }

    /// Returns the middle of the range. A missing bound is replaced by 1 or 0 if that is in the range.
    fn middle(&self, integer: bool) -> f64 {
        let middle = match (self.minimum, self.maximum) {
            // Halve before adding if the sum overflows.
            (Some(minimum), Some(maximum)) if (minimum + maximum).is_finite() => (minimum + maximum) / 2.0,
            (Some(minimum), Some(maximum)) => minimum / 2.0 + maximum / 2.0,
            (Some(minimum), None) if self.allows(1.0) => minimum.max(1.0),
            (Some(minimum), None) if self.allows(minimum) => minimum,
            (Some(minimum), None) => minimum + 1.0,
            (None, Some(maximum)) if maximum >= 2.0 => maximum / 2.0,
            (None, Some(maximum)) if self.allows(1.0) => maximum.min(1.0),
            (None, Some(maximum)) if self.allows(maximum) => maximum,
            (None, Some(maximum)) => maximum - 1.0,
            (None, None) => 1.0,
        };
        let nearest = |number: f64| if self.allows(number.floor()) { number.floor() } else { number.ceil() };
        if integer { nearest(middle) } else { middle }
    }
}

fn higher(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}

fn lower(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::min)
}

/// Returns `steps * of` without rounding errors: 0.3 for three times 0.1.
fn multiple_of(steps: f64, of: f64) -> Option<f64> {
    let written = of.to_string();
    let places = written.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    format!("{:.places$}", steps * of).parse().ok()
}

fn json_number(number: f64) -> Option<Value> {
    // Up to 2^53, every integer is represented exactly.
    if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 {
        return Some(Value::from(number as i64));
    }
    Number::from_f64(number).map(Value::Number)
}
