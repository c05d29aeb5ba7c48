//! Values that a reader may confuse with the right one.
//!
//! They depend on the task and on the tools, and not on the text that is followed: a text that states options, bounds or an
//! example offers no wrong value that another text withholds.

use healbench_core::json_type;
use serde_json::Value;

use super::paths;

/// What a reader may take a wrong value from.
pub(super) struct Sources<'a> {
    /// The input schema of the action, as the agent was told it.
    pub(super) schema: Option<&'a Value>,
    /// Returns the values of a field in other calls of the task.
    pub(super) elsewhere: &'a dyn Fn(&str) -> Vec<Value>,
}

/// Returns the single values in `value`, with their paths. An empty path is the value itself.
pub(super) fn scalars<'v>(value: &'v Value, path: String, out: &mut Vec<(String, &'v Value)>) {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(object) => object.iter().for_each(|(name, item)| scalars(item, join(name), out)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| scalars(item, join(&index.to_string()), out));
        }
        scalar => out.push((path, scalar)),
    }
}

/// Returns the values that may be written into `field` instead of `right`: other options if the schema lists any, else
/// neighbouring and similar values, and those that other calls have for the field. Neither `right` nor `sent` is among them.
/// The list is empty if nothing resembles the value.
pub(super) fn wrong_values(field: &str, right: &Value, sent: Option<&Value>, sources: &Sources<'_>) -> Vec<Value> {
    let mut options = Vec::new();
    let parts: Vec<&str> = field.split('.').collect();
    sources.schema.iter().for_each(|schema| collect_options(schema, &parts, &mut options));
    let is_listed = options.iter().any(|option| option != right);
    let candidates = match is_listed {
        true => options,
        false => similar_values(right).into_iter().chain((sources.elsewhere)(field)).collect(),
    };
    let mut wrong = Vec::new();
    for value in candidates {
        let is_alike = json_type(&value) == json_type(right) && (!right.is_i64() || value.is_i64());
        if is_alike && value != *right && Some(&value) != sent && !wrong.contains(&value) {
            wrong.push(value);
        }
    }
    wrong
}

/// Collects the options that a schema lists for a field, in all variants of a union.
fn collect_options(schema: &Value, path: &[&str], out: &mut Vec<Value>) {
    for union in ["oneOf", "anyOf", "allOf"] {
        let variants = schema.get(union).and_then(Value::as_array);
        variants.into_iter().flatten().for_each(|variant| collect_options(variant, path, out));
    }
    match path {
        [] => {
            out.extend(schema.get("enum").and_then(Value::as_array).into_iter().flatten().cloned());
            out.extend(schema.get("const").cloned());
        }
        [name, rest @ ..] => {
            let property = schema.get("properties").and_then(|properties| properties.get(name));
            let inner = property.or_else(|| schema.get("items").filter(|_| name.parse::<usize>().is_ok()));
            inner.into_iter().for_each(|inner| collect_options(inner, rest, out));
        }
    }
}

/// Returns values that resemble `right` by themselves: neighbouring numbers and dates, shortened texts.
fn similar_values(right: &Value) -> Vec<Value> {
    match right {
        Value::Bool(value) => vec![Value::Bool(!value)],
        Value::Number(known) => match (known.as_i64(), known.as_f64()) {
            (Some(known), _) => [-1, 1].into_iter().filter_map(|by| known.checked_add(by)).map(Value::from).collect(),
            (None, Some(known)) => vec![Value::from(known - 1.0), Value::from(known + 1.0)],
            (None, None) => Vec::new(),
        },
        Value::String(text) => similar_texts(text).into_iter().map(Value::String).collect(),
        Value::Null | Value::Array(_) | Value::Object(_) => Vec::new(),
    }
}

/// Returns the text with a neighbouring digit, without its first or last word, or without the end of its longest word.
fn similar_texts(text: &str) -> Vec<String> {
    let mut texts = Vec::new();
    // The last digit of a date is that of its day.
    let date = text.get(..10).filter(|date| is_date(date));
    let digit = date.map(|_| 9).or_else(|| text.rfind(|c: char| c.is_ascii_digit()));
    if let Some(at) = digit {
        let known = text.as_bytes()[at];
        let near = [known.wrapping_sub(1), known + 1].into_iter().filter(u8::is_ascii_digit);
        texts.extend(near.map(|digit| format!("{}{}{}", &text[..at], char::from(digit), &text[at + 1..])));
    }
    if let (Some((head, _)), Some((_, tail))) = (text.trim().rsplit_once(' '), text.trim().split_once(' ')) {
        texts.extend([head, tail].map(|part| part.trim().to_owned()));
    } else if digit.is_none() {
        let word = text.split(|c: char| !c.is_alphabetic()).rev().max_by_key(|word| word.len());
        if let Some(word) = word.filter(|word| word.chars().count() > 1) {
            // `word` is a slice of `text`, so its end is a position in it.
            let end = word.as_ptr() as usize - text.as_ptr() as usize + word.len();
            let last = word.chars().next_back().map_or(0, char::len_utf8);
            texts.push(format!("{}{}", &text[..end - last], &text[end..]));
        }
    }
    texts
}

/// Returns true for `2026-01-31`.
pub(crate) fn is_date(text: &str) -> bool {
    text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() })
}

/// Sets the value at `path`; the value itself for an empty path.
pub(super) fn replaced(value: &Value, path: &str, new: Value) -> Value {
    if path.is_empty() {
        return new;
    }
    let mut value = value.clone();
    paths::set(&mut value, path, new);
    value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn similar(right: &Value) -> Vec<Value> {
        wrong_values("f", right, None, &Sources { schema: None, elsewhere: &|_| Vec::new() })
    }

    #[test]
    fn similar_values_of_each_type() {
        for (right, expected) in [
            (json!(true), json!([false])),
            (json!(5), json!([4, 6])),
            (json!(2.5), json!([1.5, 3.5])),
            (json!(i64::MAX), json!([i64::MAX - 1])),
            (json!("2026-01-31T10:00:00Z"), json!(["2026-01-30T10:00:00Z", "2026-01-32T10:00:00Z"])),
            (json!("ORD-17"), json!(["ORD-16", "ORD-18"])),
            (json!("NL91ABNA0417164300"), json!(["NL91ABNA0417164301"])),
            (json!("S. Okoro"), json!(["S.", "Okoro"])),
            (json!("anna@example.com"), json!(["anna@exampl.com"])),
            (json!("Größe"), json!(["Größ"])),
            (json!(""), json!([])),
            (json!("A"), json!([])),
            (json!(null), json!([])),
        ] {
            assert_eq!(json!(similar(&right)), expected, "{right}");
        }
    }

    #[test]
    fn a_listed_option_is_confused_with_another_one() {
        let schema = json!({"properties": {"pay": {"oneOf": [
            {"properties": {"by": {"const": "card"}}}, {"properties": {"by": {"const": "cash"}}}
        ]}, "lines": {"items": {"properties": {"unit": {"enum": ["kg", "g"]}}}}, "size": {"enum": [1, 2, 4]}}});
        let sources = Sources { schema: Some(&schema), elsewhere: &|_| vec!["gift".into()] };
        let wrong = |field: &str, right: Value, sent: Value| json!(wrong_values(field, &right, Some(&sent), &sources));
        assert_eq!(wrong("size", json!(2), json!(3)), json!([1, 4]));
        assert_eq!(wrong("size", json!(2), json!(4)), json!([1]));
        assert_eq!(wrong("pay.by", json!("card"), json!("Card")), json!(["cash"]));
        assert_eq!(wrong("lines.0.unit", json!("g"), json!(1)), json!(["kg"]));
        // Nothing is listed for these.
        assert_eq!(wrong("pay.with", json!("visa"), json!(1)), json!(["vis", "gift"]));
    }
}
