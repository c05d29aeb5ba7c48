//! What differs between the arguments of two calls: objects by key, arrays by index, down to the leaf.

use serde::Serialize;
use serde_json::Value;

/// A piece of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JsonSpan {
    /// The text.
    pub text: String,
    /// Whether it differs.
    pub mark: SpanChange,
}

/// How a piece of JSON differs from what was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanChange {
    /// It does not, or there is nothing that it is compared with.
    Same,
    /// It was not there.
    Added,
    /// Another value was there.
    Changed,
}

/// One difference in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArgumentChange {
    /// Where: `role`, `items[2].id`, `filter["a b"]`; empty when the arguments differ as a whole.
    pub path: String,
    /// What was there, as compact JSON; null when there was nothing.
    pub was: Option<String>,
    /// What is there now; null when it is gone.
    pub now: Option<String>,
}

/// JSON in one piece.
pub fn unmarked(now: &Value) -> Vec<JsonSpan> {
    vec![JsonSpan { text: now.to_string(), mark: SpanChange::Same }]
}

/// The compact JSON of `now`, cut where it begins and ceases to differ from `before`; and the differences, what is gone among them.
/// The order of keys is no difference.
pub fn differences(before: &Value, now: &Value) -> (Vec<JsonSpan>, Vec<ArgumentChange>) {
    let mut found = Found::default();
    found.compare(before, now);
    (found.pieces, found.changes)
}

#[derive(Default)]
struct Found {
    pieces: Vec<JsonSpan>,
    changes: Vec<ArgumentChange>,
    path: String,
}

impl Found {
    fn compare(&mut self, before: &Value, now: &Value) {
        match (before, now) {
            (Value::Object(before), Value::Object(now)) => {
                self.put("{", SpanChange::Same);
                for (index, (key, value)) in now.iter().enumerate() {
                    if index > 0 {
                        self.put(",", SpanChange::Same);
                    }
                    let name = format!("{}:", Value::from(key.as_str()));
                    self.at(&segment(&self.path, key), |found| match before.get(key) {
                        Some(before) => {
                            found.put(&name, SpanChange::Same);
                            found.compare(before, value);
                        }
                        None => found.added(&name, value),
                    });
                }
                self.put("}", SpanChange::Same);
                for (key, value) in before.iter().filter(|(key, _)| !now.contains_key(*key)) {
                    self.at(&segment(&self.path, key), |found| found.change(Some(value), None));
                }
            }
            (Value::Array(before), Value::Array(now)) => {
                self.put("[", SpanChange::Same);
                for (index, value) in now.iter().enumerate() {
                    if index > 0 {
                        self.put(",", SpanChange::Same);
                    }
                    self.at(&format!("[{index}]"), |found| match before.get(index) {
                        Some(before) => found.compare(before, value),
                        None => found.added("", value),
                    });
                }
                self.put("]", SpanChange::Same);
                for (index, value) in before.iter().enumerate().skip(now.len()) {
                    self.at(&format!("[{index}]"), |found| found.change(Some(value), None));
                }
            }
            _ if before == now => self.put(&now.to_string(), SpanChange::Same),
            _ => {
                self.put(&now.to_string(), SpanChange::Changed);
                self.change(Some(before), Some(now));
            }
        }
    }

    fn added(&mut self, name: &str, value: &Value) {
        self.put(&format!("{name}{value}"), SpanChange::Added);
        self.change(None, Some(value));
    }

    /// Does something one level deeper.
    fn at(&mut self, segment: &str, then: impl FnOnce(&mut Found)) {
        let length = self.path.len();
        self.path.push_str(segment);
        then(self);
        self.path.truncate(length);
    }

    fn put(&mut self, text: &str, mark: SpanChange) {
        match self.pieces.last_mut() {
            Some(piece) if piece.mark == mark => piece.text.push_str(text),
            _ => self.pieces.push(JsonSpan { text: text.to_owned(), mark }),
        }
    }

    fn change(&mut self, was: Option<&Value>, now: Option<&Value>) {
        let text = |value: Option<&Value>| value.map(Value::to_string);
        self.changes.push(ArgumentChange { path: self.path.clone(), was: text(was), now: text(now) });
    }
}

/// A key as it stands after `path`.
fn segment(path: &str, key: &str) -> String {
    let is_plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    match (is_plain, path.is_empty()) {
        (true, true) => key.to_owned(),
        (true, false) => format!(".{key}"),
        (false, _) => format!("[{}]", Value::from(key)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The pieces with `<` and `>` around what changed and `+` and `+` around what is new.
    fn marked(pieces: &[JsonSpan]) -> String {
        let shown = |piece: &JsonSpan| match piece.mark {
            SpanChange::Same => piece.text.clone(),
            SpanChange::Changed => format!("<{}>", piece.text),
            SpanChange::Added => format!("+{}+", piece.text),
        };
        pieces.iter().map(shown).collect()
    }

    #[test]
    fn the_exact_leaf_is_marked() {
        let before = json!({"action": "set", "role": "root", "foo": 1, "items": [{"id": 1}, {"id": 2}, 3], "n": 1});
        let now = json!({"n": 1.0, "action": "set", "role": "admin", "items": [{"id": 1}, {"id": 9, "a b": []}]});
        let (pieces, changes) = differences(&before, &now);
        assert_eq!(
            marked(&pieces),
            r#"{"n":<1.0>,"action":"set","role":<"admin">,"items":[{"id":1},{"id":<9>,+"a b":[]+}]}"#
        );
        let words: Vec<_> =
            changes.iter().map(|change| (change.path.as_str(), change.was.as_deref(), change.now.as_deref())).collect();
        assert_eq!(
            words,
            [
                ("n", Some("1"), Some("1.0")),
                ("role", Some("\"root\""), Some("\"admin\"")),
                ("items[1].id", Some("2"), Some("9")),
                ("items[1][\"a b\"]", None, Some("[]")),
                ("items[2]", Some("3"), None),
                ("foo", Some("1"), None),
            ]
        );
    }

    #[test]
    fn arguments_that_are_no_object_differ_as_a_whole() {
        let (pieces, changes) = differences(&json!({"a": 1}), &json!("a"));
        assert_eq!(marked(&pieces), "<\"a\">");
        assert_eq!(
            changes,
            [ArgumentChange { path: String::new(), was: Some("{\"a\":1}".into()), now: Some("\"a\"".into()) }]
        );
        assert_eq!(differences(&json!([1, {}]), &json!([1, {}])).1, []);
    }

    /// Does to `arguments` what a change says.
    fn apply(arguments: &mut Value, change: &ArgumentChange) {
        let read = |text: &String| serde_json::from_str::<Value>(text).unwrap();
        let (was, now) = (change.was.as_ref().map(read), change.now.as_ref().map(read));
        let mut steps = steps(&change.path);
        let Some(last) = steps.pop() else {
            *arguments = now.unwrap();
            return;
        };
        let place = steps.iter().fold(arguments, |place, step| match step {
            Value::String(key) => &mut place[key.as_str()],
            step => &mut place[step.as_u64().unwrap() as usize],
        });
        let found = match (place, &last) {
            (Value::Object(map), Value::String(key)) => match now {
                Some(now) => map.insert(key.clone(), now),
                None => map.remove(key),
            },
            (Value::Array(items), index) => match (index.as_u64().unwrap() as usize, now) {
                (index, Some(now)) if index == items.len() => {
                    items.push(now);
                    None
                }
                (index, Some(now)) => Some(std::mem::replace(&mut items[index], now)),
                (index, None) => Some(items.remove(index)),
            },
            (place, last) => panic!("no {last} in {place}"),
        };
        assert_eq!(found, was, "{}", change.path);
    }

    /// Keys and indices of a path.
    fn steps(path: &str) -> Vec<Value> {
        let mut steps = Vec::new();
        let mut rest = path;
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let mut values = serde_json::Deserializer::from_str(inner).into_iter::<Value>();
                steps.push(values.next().unwrap().unwrap());
                rest = inner[values.byte_offset()..].strip_prefix(']').unwrap();
            } else {
                rest = rest.strip_prefix('.').unwrap_or(rest);
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                steps.push(rest[..end].into());
                rest = &rest[end..];
            }
        }
        steps
    }

    /// Few keys and few values, so that two of them have much in common.
    fn arguments() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3).prop_map(Value::from),
            Just(json!(1.0)),
            "[ab\"\\\\]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let key = prop_oneof!["[ab]", "[a.\\[\\]\" é]{0,3}"];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn pieces_are_the_new_arguments_and_changes_lead_to_them(before in arguments(), now in arguments()) {
            let (pieces, changes) = differences(&before, &now);
            let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
            prop_assert_eq!(text, now.to_string());
            prop_assert!(pieces.windows(2).all(|pair| pair[0].mark != pair[1].mark));
            let is_marked = pieces.iter().any(|piece| piece.mark != SpanChange::Same);
            prop_assert_eq!(is_marked, changes.iter().any(|change| change.now.is_some()));
            prop_assert_eq!(changes.is_empty(), before == now);
            // What is gone from the end of an array goes from its end.
            let mut applied = before.clone();
            let (gone, rest): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.now.is_none());
            gone.into_iter().rev().chain(rest).for_each(|change| apply(&mut applied, change));
            prop_assert_eq!(applied, now);
        }
    }
}
