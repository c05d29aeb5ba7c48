//! Numbers within bounds: the middle of the range, as document 002 has it, and others near by.

use serde_json::{Number, Value};

use super::super::place::Place;

/// Candidates, the best first, more than `want` of them.
pub(super) fn candidates(place: &Place<'_>, whole: bool, want: usize) -> Vec<Value> {
    let limit = |value: Option<&Value>| value.and_then(Value::as_f64);
    let range = Range {
        least: higher(limit(place.floor("minimum")), limit(place.floor("exclusiveMinimum"))),
        above: limit(place.floor("exclusiveMinimum")),
        most: lower(limit(place.ceiling("maximum")), limit(place.ceiling("exclusiveMaximum"))),
        below: limit(place.ceiling("exclusiveMaximum")),
    };
    let middle = range.middle(whole);
    let multiple = place.floor("multipleOf").and_then(Value::as_f64).filter(|of| *of > 0.0);
    let count = i32::try_from(want).unwrap_or(i32::MAX).saturating_add(8).min(256);
    let mut out: Vec<Value> = Vec::new();
    let mut offer = |number: Option<f64>| out.extend(number.filter(|n| range.allows(*n)).and_then(json_number));
    if let Some(of) = multiple.filter(|of| !whole || of.fract() == 0.0) {
        let steps = (middle / of).floor();
        for step in around(count) {
            offer(multiple_of(steps + f64::from(step), of));
        }
    } else if whole {
        around(count).for_each(|step| offer(Some(middle.floor() + f64::from(step))));
    } else {
        offer(Some(middle));
        if let (Some(least), Some(most)) = (range.least, range.most) {
            (1..=count).for_each(|part| offer(Some(least + (most - least) * f64::from(part) / f64::from(count + 1))));
        }
        around(count).for_each(|step| offer(Some(middle + f64::from(step))));
    }
    [range.least, range.most].into_iter().for_each(offer);
    out
}

/// 0, 1, -1, 2, -2, …
fn around(count: i32) -> impl Iterator<Item = i32> {
    std::iter::once(0).chain((1..=count).flat_map(|step| [step, -step]))
}

#[derive(Debug)]
struct Range {
    least: Option<f64>,
    above: Option<f64>,
    most: Option<f64>,
    below: Option<f64>,
}

impl Range {
    fn allows(&self, number: f64) -> bool {
        number.is_finite()
            && self.least.is_none_or(|least| number >= least)
            && self.above.is_none_or(|above| number > above)
            && self.most.is_none_or(|most| number <= most)
            && self.below.is_none_or(|below| number < below)
    }

    /// Where a bound is missing, 1 or 0 stands in for it if that is in the range.
    fn middle(&self, whole: bool) -> f64 {
        let middle = match (self.least, self.most) {
            // Not halved after the sum where that would overflow.
            (Some(least), Some(most)) if (least + most).is_finite() => (least + most) / 2.0,
            (Some(least), Some(most)) => least / 2.0 + most / 2.0,
            (Some(least), None) if self.allows(1.0) => least.max(1.0),
            (Some(least), None) if self.allows(least) => least,
            (Some(least), None) => least + 1.0,
            (None, Some(most)) if most >= 2.0 => most / 2.0,
            (None, Some(most)) if self.allows(1.0) => most.min(1.0),
            (None, Some(most)) if self.allows(most) => most,
            (None, Some(most)) => most - 1.0,
            (None, None) => 1.0,
        };
        let nearest = |number: f64| if self.allows(number.floor()) { number.floor() } else { number.ceil() };
        if whole { nearest(middle) } else { middle }
    }
}

fn higher(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}

fn lower(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::min)
}

/// `steps * of` as somebody would write it: 0.3 for three times 0.1.
fn multiple_of(steps: f64, of: f64) -> Option<f64> {
    let written = of.to_string();
    let places = written.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    format!("{:.places$}", steps * of).parse().ok()
}

fn json_number(number: f64) -> Option<Value> {
    // 2^53: up to here every whole number is itself.
    if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 {
        return Some(Value::from(number as i64));
    }
    Number::from_f64(number).map(Value::Number)
}
