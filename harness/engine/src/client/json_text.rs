//! JSON as JavaScript writes it.

use serde_json::{Number, Value};

/// Returns the text of `JSON.stringify`: whole numbers have no fraction.
pub(super) fn javascript_json(value: &Value) -> String {
    with_whole_numbers(value).to_string()
}

fn with_whole_numbers(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(with_whole_numbers).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), with_whole_numbers(member))).collect()
        }
        Value::Number(number) => Value::Number(whole(number).unwrap_or_else(|| number.clone())),
        other => other.clone(),
    }
}

/// Returns a number without its fraction, if that is zero and the number is exact in both forms.
fn whole(number: &Number) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = number.as_f64().filter(|_| number.is_f64())?;
    #[expect(clippy::cast_possible_truncation, reason = "the number is whole and within 53 bits")]
    (float.fract() == 0.0 && float.abs() <= EXACT).then(|| Number::from(float as i64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_numbers_have_no_fraction() {
        let value = json!({"a": [1.0, 1.5, -0.0, 3], "b": "1.0", "c": {"d": 1e15}});
        assert_eq!(javascript_json(&value), r#"{"a":[1,1.5,0,3],"b":"1.0","c":{"d":1000000000000000}}"#);
    }
}
