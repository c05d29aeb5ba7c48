//! The values that an argument can have.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::occurrences::{integers, occurrences};

/// The values that an argument can have.
pub(super) struct PossibleValues {
    /// Their number; `None` if it has no limit.
    pub(super) count: Option<u64>,
    /// True for the argument that selects the action.
    pub(super) is_discriminator: bool,
    kind: Kind,
}

enum Kind {
    Unlimited,
    Listed(Vec<Value>),
    /// The integers from the first to the second.
    Range(i64, i64),
}

impl PossibleValues {
    pub(super) fn unlimited() -> PossibleValues {
        PossibleValues { count: None, is_discriminator: false, kind: Kind::Unlimited }
    }

    pub(super) fn options(options: &[Value]) -> PossibleValues {
        PossibleValues {
            count: Some(options.len() as u64),
            is_discriminator: false,
            kind: Kind::Listed(options.to_vec()),
        }
    }

    pub(super) fn actions<'a>(names: impl Iterator<Item = &'a str>) -> PossibleValues {
        let names: Vec<Value> = names.map(Value::from).collect();
        PossibleValues { is_discriminator: true, ..PossibleValues::options(&names) }
    }

    /// Returns the values that the schema of the argument at this path allows, in any of its branches and without
    /// following references.
    pub(super) fn of_schema(schema: &Value, path: &str) -> PossibleValues {
        let step = |schema: &'_ Value, name: &str| match name.parse::<usize>() {
            Ok(_) => schema["items"].clone(),
            Err(_) => schema["properties"][name].clone(),
        };
        let descend = |schemas: Vec<Value>, name: &str| -> Vec<Value> {
            let inner = schemas.iter().map(|schema| step(schema, name)).filter(|schema| !schema.is_null());
            inner.flat_map(with_branches).collect()
        };
        let schemas = path.split('.').fold(with_branches(schema.clone()), descend);
        let mut options: Vec<Value> = Vec::new();
        for option in schemas.iter().flat_map(options_of) {
            if !options.contains(&option) {
                options.push(option);
            }
        }
        if !options.is_empty() {
            return PossibleValues::options(&options);
        }
        let schema = schemas.first().unwrap_or(&Value::Null);
        match (schema["type"].as_str(), schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
            (Some("boolean"), ..) => PossibleValues::options(&[json!(true), json!(false)]),
            (Some("integer"), Some(min), Some(max)) if min <= max => PossibleValues {
                count: Some(max.abs_diff(min).saturating_add(1)),
                is_discriminator: false,
                kind: Kind::Range(min, max),
            },
            _ => PossibleValues::unlimited(),
        }
    }

    /// Returns the number of possible values other than `expected` that stand at least `count` times in the text.
    pub(super) fn standing_at_least(&self, text: &str, expected: &Value, count: usize) -> u64 {
        let rivals = match &self.kind {
            Kind::Unlimited => 0,
            Kind::Listed(options) => {
                let others = options.iter().filter(|option| *option != expected);
                others.filter(|option| occurrences(text, option) >= count).count()
            }
            Kind::Range(min, max) => {
                let in_range = |number: &i64| (min..=max).contains(&number) && json!(number) != *expected;
                let numbers: BTreeSet<i64> = integers(text).into_iter().filter(in_range).collect();
                numbers.iter().filter(|number| occurrences(text, &json!(number)) >= count).count()
            }
        };
        rivals as u64
    }
}

/// Returns a schema and the branches of its combinations, at every depth.
fn with_branches(schema: Value) -> Vec<Value> {
    let mut schemas = vec![schema];
    let mut at = 0;
    while let Some(schema) = schemas.get(at) {
        let branches = ["anyOf", "oneOf", "allOf"].iter().filter_map(|keyword| schema[*keyword].as_array());
        let branches: Vec<Value> = branches.flatten().cloned().collect();
        schemas.extend(branches);
        at += 1;
    }
    schemas
}

/// Returns the values that a schema lists.
fn options_of(schema: &Value) -> Vec<Value> {
    let listed = schema["enum"].as_array().into_iter().flatten().cloned();
    listed.chain(schema.get("const").cloned()).collect()
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
        let count = |path| PossibleValues::of_schema(&schema, path).count;
        assert_eq!(
            [count("nested.0.day"), count("done"), count("title"), count("absent"), count("paid.by")],
            [Some(31), Some(2), None, None, Some(3)]
        );
        let day = PossibleValues::of_schema(&schema, "nested.0.day");
        assert_eq!(day.standing_at_least("from 1 to 31, not 45; 7", &json!(7), 1), 2);
    }
}
