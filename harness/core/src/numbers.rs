use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Number, Value};

/// The texts of numbers that were sent in another form than their values have: `1e2`, `-0`, or 30 digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberTexts(BTreeMap<String, String>);

/// More numbers than this are not kept.
const MAX_NUMBERS: usize = 1000;

impl NumberTexts {
    /// Collects the texts from valid JSON. Returns `None` if every number has the form of its value.
    pub fn of(json: &str) -> Option<Box<NumberTexts>> {
        let bytes = json.as_bytes();
        let (mut texts, mut path, mut at) = (BTreeMap::new(), Vec::new(), 0);
        while let Some(byte) = bytes.get(at) {
            let start = at;
            at += 1;
            match byte {
                b'[' => path.push(Step::Index(0)),
                b'{' => path.push(Step::Name(0..0)),
                b']' | b'}' => {
                    path.pop();
                }
                b',' => {
                    if let Some(Step::Index(index)) = path.last_mut() {
                        *index += 1;
                    }
                }
                b'"' => {
                    at = string_end(bytes, at);
                    let is_name = bytes[at..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                    if let (true, Some(Step::Name(name))) = (is_name, path.last_mut()) {
                        *name = start..at;
                    }
                }
                b'-' | b'0'..=b'9' => {
                    let is_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                    at += bytes[at..].iter().take_while(|byte| is_number(byte)).count();
                    let text = &json[start..at];
                    if has_value_form(text) {
                        // A name may occur twice; the last value counts.
                        if !texts.is_empty() {
                            texts.remove(&pointer(json, &path));
                        }
                    } else if texts.len() < MAX_NUMBERS {
                        texts.insert(pointer(json, &path), text.to_owned());
                    }
                }
                _ => {}
            }
        }
        (!texts.is_empty()).then(|| Box::new(NumberTexts(texts)))
    }

    /// Returns the texts below a name of the object: those of its value, as sent on its own.
    pub fn member(&self, name: &str) -> Option<Box<NumberTexts>> {
        let start = pointer_to("", name);
        let below = self.0.iter().filter_map(|(pointer, text)| {
            let rest = pointer.strip_prefix(&start)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| (rest.to_owned(), text.clone()))
        });
        let texts: BTreeMap<String, String> = below.collect();
        (!texts.is_empty()).then(|| Box::new(NumberTexts(texts)))
    }

    /// Returns the JSON text of the value at a location, given by its names and indices, with its numbers as they were sent.
    /// `None` if no number in it was sent in another form.
    pub fn json_of<'a>(&self, value: &Value, path: impl IntoIterator<Item = &'a str>) -> Option<String> {
        let mut location = path.into_iter().fold(String::new(), |parent, name| pointer_to(&parent, name));
        let inside = format!("{location}/");
        let is_known = match value {
            Value::Number(_) => self.0.contains_key(&location),
            Value::Array(_) | Value::Object(_) => {
                self.0.range(inside.clone()..).next().is_some_and(|(pointer, _)| pointer.starts_with(&inside))
            }
            _ => false,
        };
        if !is_known {
            return None;
        }
        let mut out = String::new();
        self.write(value, &mut location, &mut out);
        Some(out)
    }

    fn write(&self, value: &Value, location: &mut String, out: &mut String) {
        let end = location.len();
        match value {
            Value::Number(number) => {
                // A number too large for a value is read as the largest one.
                let is_largest = |text: &str| {
                    let sent = text.parse::<f64>().ok().filter(|sent| sent.is_infinite());
                    sent.is_some_and(|sent| number.as_f64() == Some(f64::MAX.copysign(sent)))
                };
                let is_same =
                    |text: &&String| text.parse::<Number>().is_ok_and(|sent| sent == *number) || is_largest(text);
                match self.0.get(location).filter(is_same) {
                    Some(text) => out.push_str(text),
                    None => out.push_str(&number.to_string()),
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    out.push(if index == 0 { '[' } else { ',' });
                    *location = pointer_to(location, &index.to_string());
                    self.write(item, location, out);
                    location.truncate(end);
                }
                out.push_str(if items.is_empty() { "[]" } else { "]" });
            }
            Value::Object(members) => {
                for (index, (name, member)) in members.iter().enumerate() {
                    out.push(if index == 0 { '{' } else { ',' });
                    out.push_str(&Value::from(name.as_str()).to_string());
                    out.push(':');
                    *location = pointer_to(location, name);
                    self.write(member, location, out);
                    location.truncate(end);
                }
                out.push_str(if members.is_empty() { "{}" } else { "}" });
            }
            other => out.push_str(&other.to_string()),
        }
    }
}

/// The current place in an array or an object.
enum Step {
    Index(usize),
    /// The location of the name's text, with its quotes.
    Name(Range<usize>),
}

fn pointer(json: &str, path: &[Step]) -> String {
    path.iter().fold(String::new(), |parent, step| match step {
        Step::Index(index) => pointer_to(&parent, &index.to_string()),
        Step::Name(name) => {
            pointer_to(&parent, &serde_json::from_str::<String>(&json[name.clone()]).unwrap_or_default())
        }
    })
}

fn pointer_to(parent: &str, name: &str) -> String {
    format!("{parent}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Returns the end of a string that is open at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match bytes.get(at) {
            None => return bytes.len(),
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

fn has_value_form(text: &str) -> bool {
    let is_short_integer = text.len() < 16 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_short_integer || text.parse::<Number>().is_ok_and(|number| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::NumberTexts;

    fn shown(json: &str, path: &[&str]) -> Option<String> {
        let value: Value = serde_json::from_str(json).unwrap();
        let at = path.iter().try_fold(&value, |value, name| match value {
            Value::Array(items) => items.get(name.parse::<usize>().ok()?),
            other => other.get(name),
        });
        NumberTexts::of(json)?.json_of(at.unwrap(), path.iter().copied())
    }

    #[test]
    fn numbers_keep_their_texts() {
        for text in ["1e2", "1E+2", "-0", "0.10", "100000000000000000000000000000", "0.1234567890123456789012345"] {
            assert_eq!(shown(text, &[]).as_deref(), Some(text));
            assert_eq!(
                shown(&format!(r#"{{"a": [true, {{"b~/\u0063": {text} }}]}}"#), &["a", "1", "b~/c"]).as_deref(),
                Some(text)
            );
        }
        for text in ["1", "-1", "1.5", "0", r#""1e2""#, r#"{"1e2": "\"1e2"}"#, "[]"] {
            assert_eq!(NumberTexts::of(text), None, "{text}");
        }
    }

    #[test]
    fn values_that_contain_numbers_are_written_with_their_texts() {
        let json = r#"{"a": {"x": [1e2, 1, "1e2"], "é": {}, "n": [null, []]}, "ab": 2e2, "c": 3}"#;
        assert_eq!(shown(json, &["a"]).unwrap(), r#"{"x":[1e2,1,"1e2"],"é":{},"n":[null,[]]}"#);
        assert_eq!(shown(r#"{"a": 1, "a-b": 1e1, "a": {"x": 1}}"#, &["a"]), None);
        assert_eq!(shown(json, &["c"]), None);
        assert_eq!(shown(json, &["a", "é"]), None);
    }

    #[test]
    fn the_last_of_equal_names_counts() {
        assert_eq!(shown(r#"{"a": 1e2, "a": 5}"#, &["a"]), None);
        assert_eq!(shown(r#"{"a": 5, "a": 1e2}"#, &["a"]).unwrap(), "1e2");
        assert_eq!(shown(r#"{"a": 1e2, "a": "x", "b": 1e1}"#, &["a"]), None);
    }

    #[test]
    fn members_have_their_own_texts() {
        let texts = NumberTexts::of(r#"{"arguments": {"n": 1e2}, "arguments2": 1e3}"#).unwrap().member("arguments");
        assert_eq!(texts.unwrap().json_of(&json!(100.0), ["n"]).unwrap(), "1e2");
    }
}
