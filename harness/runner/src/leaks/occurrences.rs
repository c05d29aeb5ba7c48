//! Finds values in texts.

use serde_json::Value;

/// Returns the scalars of a value with their paths, such as `goods.0.tariff`; empty texts and null are left out.
pub(super) fn scalars(value: &Value) -> Vec<(String, &Value)> {
    fn walk<'v>(path: String, value: &'v Value, found: &mut Vec<(String, &'v Value)>) {
        let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match value {
            Value::Object(members) => members.iter().for_each(|(name, inner)| walk(join(name), inner, found)),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, inner)| walk(join(&index.to_string()), inner, found));
            }
            Value::Null => {}
            Value::String(text) if text.trim().is_empty() => {}
            scalar => found.push((path, scalar)),
        }
    }
    let mut found = Vec::new();
    walk(String::new(), value, &mut found);
    found
}

/// Returns how often a scalar stands in a text as a word of its own, in the same case.
pub(super) fn occurrences(text: &str, value: &Value) -> usize {
    let word = super::plain(value);
    positions(text, &word, value.is_number()).count()
}

/// Returns true if the text writes the value as a call does: `name: value`, `name=value` or `"name": "value"`.
pub(super) fn is_assigned(text: &str, name: &str, value: &Value) -> bool {
    let word = super::plain(value);
    positions(text, &word, value.is_number()).any(|at| {
        let before = text[..at].trim_end_matches(['"', '\'', '`']).trim_end();
        let Some(before) = before.strip_suffix([':', '=']) else { return false };
        let before = before.trim_end().trim_end_matches(['"', '\'', '`']);
        before.strip_suffix(name).is_some_and(|rest| !rest.ends_with(is_word))
    })
}

/// Returns the integers of a text.
pub(super) fn integers(text: &str) -> Vec<i64> {
    let numbers = text.split(|c: char| !c.is_ascii_digit() && c != '-' && c != '.' && !is_word(c));
    numbers.filter_map(|number| number.trim_end_matches(['.', '-']).parse().ok()).collect()
}

fn positions<'t>(text: &'t str, word: &'t str, is_number: bool) -> impl Iterator<Item = usize> + 't {
    // An empty text never matches.
    let found = text.match_indices(word).filter(|(_, found)| !found.trim().is_empty());
    found.map(|(at, _)| at).filter(move |at| {
        let (before, after) = (&text[..*at], &text[at + word.len()..]);
        let mut next = after.chars();
        let continues = match next.next() {
            Some('.' | ',') if is_number => next.next().is_some_and(|c| c.is_ascii_digit()),
            Some('-') if !is_number => next.next().is_some_and(is_word),
            Some(c) => is_word(c),
            None => false,
        };
        let mut previous = before.chars().rev();
        let continued = match previous.next() {
            Some('.' | ',' | '-') if is_number => previous.next().is_some_and(|c| c.is_ascii_digit()),
            Some('-') => previous.next().is_some_and(is_word),
            Some(c) => is_word(c),
            None => false,
        };
        !continues && !continued
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_words_of_their_own() {
        assert_eq!(occurrences("open, reopened, open-ended, OPEN; (open)", &json!("open")), 2);
        assert_eq!(occurrences("12, 112, 12.5, 1.12, 2012-12-01, 12.", &json!(12)), 2);
        assert_eq!(occurrences("true, untrue", &json!(true)), 1);
        assert_eq!([occurrences("a, \"\"", &json!("")), occurrences("a b", &json!(" "))], [0, 0]);
    }

    #[test]
    fn assignments_are_told_from_facts() {
        for text in ["state: idle", "set state=idle", r#"{"state": "idle"}"#, "`state`: `idle`"] {
            assert!(is_assigned(text, "state", &json!("idle")), "{text}");
        }
        for text in ["the state is idle", "set it idle", "estate: idle", "state: running, idle"] {
            assert!(!is_assigned(text, "state", &json!("idle")), "{text}");
        }
    }

    #[test]
    fn integers_of_a_text() {
        assert_eq!(integers("from 1 to 30, at -4; v2 and 2.5."), [1, 30, -4]);
    }
}
