//! The values that an argument can have.

use std::collections::BTreeSet;

use healbench_core::same_json;
use serde_json::{Value, json};

use super::occurrences::{integers, occurrences};

/// The values that an argument can have.
pub(super) struct PossibleValues {
    /// Their number; `None` if it has no limit.
    pub(super) count: Option<u64>,
    /// True for the argument that selects the action.
    pub(super) is_discriminator: bool,
    /// Empty if there is no limit.
    values: Values,
}

impl PossibleValues {
    pub(super) fn unlimited() -> PossibleValues {
        PossibleValues { count: None, is_discriminator: false, values: Values::default() }
    }

    pub(super) fn options(options: &[Value]) -> PossibleValues {
        PossibleValues::of(Values::listed(options))
    }

    pub(super) fn actions<'a>(names: impl Iterator<Item = &'a str>) -> PossibleValues {
        let names: Vec<Value> = names.map(Value::from).collect();
        PossibleValues { is_discriminator: true, ..PossibleValues::options(&names) }
    }

    /// Returns the values that the schema of the argument at this path allows. Those of the branches of a choice are
    /// added; of schemas that apply together, the one with the fewest values counts.
    pub(super) fn of_schema(schema: &Value, path: &str) -> PossibleValues {
        let path: Vec<&str> = path.split('.').collect();
        match (Search { root: schema, references: Vec::new(), visits: 0 }).find(schema, &path) {
            Found::Values(values) => PossibleValues::of(values),
            Found::Absent | Found::Unlimited => PossibleValues::unlimited(),
        }
    }

    fn of(values: Values) -> PossibleValues {
        PossibleValues { count: Some(values.count()), is_discriminator: false, values }
    }

    /// Returns the number of possible values other than `expected` that stand at least `count` times in the text.
    pub(super) fn standing_at_least(&self, text: &str, expected: &Value, count: usize) -> u64 {
        let Values { listed, ranges } = &self.values;
        let stands = |value: &Value| !same_json(value, expected) && occurrences(text, value) >= count;
        let others = listed.iter().filter(|value| stands(value)).count();
        let in_range = |number: &i64| ranges.iter().any(|(min, max)| (min..=max).contains(&number));
        let numbers: BTreeSet<i64> = integers(text).into_iter().filter(in_range).collect();
        (others + numbers.iter().filter(|number| stands(&json!(number))).count()) as u64
    }
}

/// A finite set of values.
#[derive(Default)]
struct Values {
    /// Distinct, and not in the ranges.
    listed: Vec<Value>,
    /// Integers from the first to the second; disjoint.
    ranges: Vec<(i64, i64)>,
}

impl Values {
    fn listed(options: &[Value]) -> Values {
        let mut values = Values::default();
        values.add(Values { listed: options.to_vec(), ranges: Vec::new() });
        values
    }

    fn add(&mut self, other: Values) {
        self.ranges.extend(other.ranges);
        self.ranges.sort_unstable();
        self.ranges.dedup_by(|next, range| {
            let touches = next.0 <= range.1.saturating_add(1);
            if touches {
                range.1 = range.1.max(next.1);
            }
            touches
        });
        let ranges = &self.ranges;
        let is_listed = |value: &Value| {
            let integer = value.as_i64();
            !integer.is_some_and(|integer| ranges.iter().any(|(min, max)| (*min..=*max).contains(&integer)))
        };
        for value in std::mem::take(&mut self.listed).into_iter().chain(other.listed).filter(is_listed) {
            if !self.listed.iter().any(|known| same_json(known, &value)) {
                self.listed.push(value);
            }
        }
    }

    fn count(&self) -> u64 {
        let sizes = self.ranges.iter().map(|(min, max)| max.abs_diff(*min).saturating_add(1));
        sizes.fold(self.listed.len() as u64, u64::saturating_add)
    }
}

enum Found {
    /// The schema says nothing about the argument.
    Absent,
    Unlimited,
    Values(Values),
}

impl Found {
    /// Combines what schemas say that apply together.
    fn and(self, other: Found) -> Found {
        match (self, other) {
            (Found::Absent, found) | (found, Found::Absent) => found,
            (Found::Unlimited, found) | (found, Found::Unlimited) => found,
            (Found::Values(one), Found::Values(two)) => {
                Found::Values(if two.count() < one.count() { two } else { one })
            }
        }
    }

    /// Combines what the branches of a choice say.
    fn or(self, other: Found) -> Found {
        match (self, other) {
            (Found::Absent, found) | (found, Found::Absent) => found,
            (Found::Unlimited, _) | (_, Found::Unlimited) => Found::Unlimited,
            (Found::Values(mut one), Found::Values(two)) => {
                one.add(two);
                Found::Values(one)
            }
        }
    }
}

/// The most schemas that are looked at for an argument.
const MAX_VISITS: usize = 10_000;

struct Search<'s> {
    root: &'s Value,
    /// The references that are followed at the moment, each with the length of the rest of the path.
    references: Vec<(&'s str, usize)>,
    visits: usize,
}

impl<'s> Search<'s> {
    fn find(&mut self, schema: &'s Value, path: &[&str]) -> Found {
        self.visits += 1;
        if self.visits > MAX_VISITS {
            return Found::Unlimited;
        }
        let mut found = match path.split_first() {
            None => values_of(schema),
            Some((name, rest)) => {
                let inner = match name.parse::<usize>() {
                    Ok(index) => schema["prefixItems"].get(index).or_else(|| schema.get("items")),
                    Err(_) => schema["properties"].get(*name),
                };
                inner.map_or(Found::Absent, |inner| match self.find(inner, rest) {
                    Found::Absent if rest.is_empty() => Found::Unlimited,
                    found => found,
                })
            }
        };
        if let Some(reference) = schema["$ref"].as_str() {
            let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            let key = (reference, path.len());
            if let Some(target) = target.filter(|_| !self.references.contains(&key)) {
                self.references.push(key);
                found = found.and(self.find(target, path));
                self.references.pop();
            }
        }
        for branch in schema["allOf"].as_array().into_iter().flatten() {
            found = found.and(self.find(branch, path));
        }
        for branches in ["anyOf", "oneOf"].into_iter().filter_map(|keyword| schema[keyword].as_array()) {
            let any = branches.iter().fold(Found::Absent, |any, branch| {
                any.or(match self.find(branch, path) {
                    Found::Absent if path.is_empty() => Found::Unlimited,
                    found => found,
                })
            });
            found = found.and(any);
        }
        found
    }
}

/// Returns the values that the keywords of a schema itself allow.
fn values_of(schema: &Value) -> Found {
    if let Some(only) = schema.get("const") {
        return Found::Values(Values::listed(std::slice::from_ref(only)));
    }
    if let Some(options) = schema["enum"].as_array() {
        return Found::Values(Values::listed(options));
    }
    let types = match &schema["type"] {
        Value::Null => return Found::Absent,
        Value::Array(names) => names.as_slice(),
        name => std::slice::from_ref(name),
    };
    let of_type = |name: &Value| match name.as_str() {
        Some("null") => Found::Values(Values::listed(&[Value::Null])),
        Some("boolean") => Found::Values(Values::listed(&[json!(true), json!(false)])),
        Some("integer") => match (bound(schema, "minimum", 1), bound(schema, "maximum", -1)) {
            (Some(min), Some(max)) if min <= max => {
                Found::Values(Values { listed: Vec::new(), ranges: vec![(min, max)] })
            }
            _ => Found::Unlimited,
        },
        _ => Found::Unlimited,
    };
    types.iter().map(of_type).fold(Found::Absent, Found::or)
}

/// Returns the limit of integers that a bound sets. `inward` is the step from an exclusive bound to the next integer.
fn bound(schema: &Value, keyword: &str, inward: i64) -> Option<i64> {
    let float = |value: &Value| value.as_f64().filter(|float| float.abs() < 9e15);
    let exact = |value: &Value| value.as_i64().or_else(|| float(value).filter(|f| f.fract() == 0.0).map(|f| f as i64));
    let round = |value: &Value| {
        let rounded = float(value).map(|float| if inward > 0 { float.ceil() } else { float.floor() });
        exact(value).or(rounded.map(|float| float as i64))
    };
    let inclusive = round(&schema[keyword]);
    let exclusive = &schema[if inward > 0 { "exclusiveMinimum" } else { "exclusiveMaximum" }];
    let exclusive = exact(exclusive).map(|limit| limit.saturating_add(inward)).or_else(|| round(exclusive));
    match (inclusive, exclusive) {
        (Some(one), Some(two)) => Some(if inward > 0 { one.max(two) } else { one.min(two) }),
        (one, two) => one.or(two),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_singled_out_by_its_frequency() {
        let options = PossibleValues::options(&[json!("low"), json!("normal"), json!("high")]);
        let rivals = |text: &str| options.standing_at_least(text, &json!("high"), occurrences(text, &json!("high")));
        assert_eq!(rivals("one of low, normal, high"), 2);
        assert_eq!(rivals("one of low, normal, high. Example: high"), 0);
        assert_eq!(rivals("low or high"), 1);
    }

    #[test]
    fn values_of_a_schema() {
        let schema = json!({"properties": {
            "nested": {"items": {"properties": {"day": {"type": "integer", "minimum": 1, "maximum": 31}}}},
            "done": {"type": "boolean"},
            "title": {"type": "string"},
            "paid": {"oneOf": [
                {"properties": {"by": {"const": "card"}}}, {"properties": {"by": {"enum": ["cash", "cheque"]}}},
            ]},
        }});
        let count = |path: &str| PossibleValues::of_schema(&schema, path).count;
        assert_eq!(
            [count("nested.0.day"), count("done"), count("title"), count("absent"), count("paid.by")],
            [Some(31), Some(2), None, None, Some(3)]
        );
        let schema = json!({
            "$defs": {
                "Card": {"properties": {"by": {"const": "card"}}},
                "Tree": {"properties": {"child": {"anyOf": [{"$ref": "#/$defs/Tree"}]}}, "oneOf": [{"$ref": "#/$defs/Tree"}]},
            },
            "properties": {
                "tree": {"$ref": "#/$defs/Tree"},
                "paid": {"oneOf": [{"$ref": "#/$defs/Card"}, {"properties": {"by": {"const": "cash"}, "drawer": {}}}]},
                "either": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
                "maybe": {"type": ["boolean", "null"]},
                "day": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 7}, {"type": "null"}]},
                "hour": {"type": ["integer", "null"], "minimum": 0.0, "exclusiveMaximum": 24},
                "open": {"anyOf": [{"enum": ["a", "b"]}, {"type": "string"}]},
                "twice": {"enum": ["a", "a", 1, 1.0]},
                "parts": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 5},
                    {"type": "integer", "minimum": 4, "maximum": 6}, {"const": 3}]},
                "narrow": {"allOf": [{"type": "integer", "minimum": 1, "maximum": 5}, {"enum": [1, 2]}]},
                "pair": {"prefixItems": [{"type": "boolean"}, {"type": "string"}]},
            },
        });
        let count = |path: &str| PossibleValues::of_schema(&schema, path).count;
        let counts = |paths: &[&str]| paths.iter().map(|path| count(path)).collect::<Vec<_>>();
        assert_eq!(counts(&["tree", "tree.child.child.x", "paid.drawer", "open", "pair.1"]), [None; 5]);
        assert_eq!(counts(&["paid.by", "either", "maybe"]), [Some(2), Some(3), Some(3)]);
        assert_eq!(counts(&["day", "hour"]), [Some(8), Some(25)]);
        assert_eq!(counts(&["twice", "parts", "narrow", "pair.0"]), [Some(2), Some(6), Some(2), Some(2)]);
        let days = json!({"type": "integer", "minimum": 1, "maximum": 31});
        let day = PossibleValues::of_schema(&json!({"properties": {"day": days}}), "day");
        assert_eq!(day.standing_at_least("from 1 to 31, not 45; 7", &json!(7), 1), 2);
    }
}
