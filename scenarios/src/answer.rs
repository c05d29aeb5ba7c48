//! What a closing text has to say.

use std::fmt;

use serde_json::Value;

/// A fact that the closing text of an agent has to state.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A number, with a tolerance.
    Number(f64, f64),
    /// A text, in any case.
    Text(String),
    /// All of these.
    All(Vec<Answer>),
}

impl Answer {
    /// Returns the fact of a value: a number, a text, or a list of them.
    pub(crate) fn of(value: &Value, tolerance: f64) -> Option<Answer> {
        match value {
            Value::Number(number) => Some(Answer::Number(number.as_f64()?, tolerance)),
            Value::String(text) if !text.trim().is_empty() => Some(Answer::Text(text.trim().to_owned())),
            Value::Array(items) if !items.is_empty() => {
                items.iter().map(|item| Answer::of(item, tolerance)).collect::<Option<_>>().map(Answer::All)
            }
            _ => None,
        }
    }

    /// Returns true if the text states it.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        match self {
            Answer::Number(number, tolerance) => {
                // Decimal fractions are not exact.
                let allowed = tolerance + number.abs() * 1e-12;
                numbers(text).any(|found| (found - number).abs() <= allowed)
            }
            Answer::Text(part) => text.to_lowercase().contains(&part.to_lowercase()),
            Answer::All(all) => all.iter().all(|answer| answer.is_in(text)),
        }
    }
}

/// Returns the numbers in a text, without the separators of thousands.
fn numbers(text: &str) -> impl Iterator<Item = f64> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '\'' | '\u{a0}' | '\u{202f}' | '_');
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(|c: char| c.is_ascii_digit())?;
        let is_negative = rest[..start].ends_with(['-', '\u{2212}'])
            && !rest[..start].trim_end_matches(['-', '\u{2212}']).ends_with(char::is_alphanumeric);
        let token = &rest[start..];
        let end = token.find(|c| !is_part(c)).unwrap_or(token.len());
        let digits: String = token[..end]
            .trim_end_matches(['.', ',', '\''])
            .chars()
            .filter(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        rest = &token[end..];
        let number = digits.parse::<f64>().unwrap_or(f64::NAN);
        Some(if is_negative { -number } else { number })
    })
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Number(number, 0.0) => write!(f, "an answer with {number}"),
            Answer::Number(number, tolerance) => write!(f, "an answer with {number}, give or take {tolerance}"),
            Answer::Text(text) => write!(f, "an answer with \"{text}\""),
            Answer::All(all) => {
                let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                f.write_str(&all.join(" and "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_is_any_number_of_the_text() {
        let says = |value: Value, tolerance: f64, text: &str| Answer::of(&value, tolerance).unwrap().is_in(text);
        assert!(says(json!(1234.5), 0.0, "The total is 1,234.50 euros."));
        assert!(says(json!(1234), 0.0, "1'234, or so"));
        assert!(says(json!(12), 0.5, "about 12.4."));
        assert!(!says(json!(12), 0.5, "about 12.6 and 120"));
        assert!(says(json!(-3), 0.0, "It is -3 degrees."));
        assert!(says(json!(3), 0.0, "INV-3 is open"), "a hyphen in a name is no sign");
        assert!(says(json!(["Ana", 2]), 0.0, "ANA has 2 parcels"));
        assert!(!says(json!(["Ana", "Bo"]), 0.0, "Ana has 2 parcels"));
        assert!(Answer::of(&json!(""), 0.0).is_none() && Answer::of(&json!({}), 0.0).is_none());
    }
}
