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

/// Returns the numbers in a text, without the separators of thousands. The digits of a name such as `B12` or `INV-3` are none.
fn numbers(text: &str) -> impl Iterator<Item = f64> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '\'' | '\u{a0}' | '\u{202f}' | '_');
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(|c: char| c.is_ascii_digit())?;
        let sign = ['-', '\u{2212}'];
        let before = text[..start].trim_end_matches(sign);
        let is_negative = text[..start].ends_with(sign) && !before.ends_with(char::is_alphanumeric);
        let is_in_name = before.trim_end_matches('_').ends_with(char::is_alphabetic);
        let token = &text[start..];
        let end = token.find(|c| !is_part(c)).unwrap_or(token.len());
        let digits: String = token[..end]
            .trim_end_matches(['.', ',', '\''])
            .chars()
            .filter(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        at = start + end;
        let number = if is_in_name { f64::NAN } else { digits.parse().unwrap_or(f64::NAN) };
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
        assert!(!says(json!(3), 0.0, "INV-3, B3 and row_3 are open"), "names have no numbers");
        assert!(says(json!(3), 0.0, "2-3 of them weigh 12kg") && says(json!(12), 0.0, "2-3 of them weigh 12kg"));
        assert!(says(json!(["Ana", 2]), 0.0, "ANA has 2 parcels"));
        assert!(!says(json!(["Ana", "Bo"]), 0.0, "Ana has 2 parcels"));
        assert!(Answer::of(&json!(""), 0.0).is_none() && Answer::of(&json!({}), 0.0).is_none());
    }
}
