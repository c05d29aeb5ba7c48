//! Compares the arguments of two calls: objects by key, arrays by index, recursively.

use serde::Serialize;
use serde_json::Value;

/// A part of a JSON text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JsonSpan {
    pub text: String,
    /// The kind of change.
    pub change: SpanChange,
}

/// The change of a span compared with the earlier arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanChange {
    /// The span is unchanged, or there are no earlier arguments.
    Same,
    /// The earlier arguments do not have it.
    Added,
    /// The earlier arguments have another value.
    Changed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArgumentChange {
    /// The path: `role`, `items[2].id`, `filter["a b"]`; empty if the arguments differ as a whole.
    pub path: String,
    /// The earlier value as compact JSON; null if it was absent.
    pub was: Option<String>,
    /// The new value; null if it is absent.
    pub now: Option<String>,
}

/// Returns JSON as unchanged spans.
pub fn unchanged_spans(now: &Value) -> Vec<JsonSpan> {
    vec![JsonSpan { text: now.to_string(), change: SpanChange::Same }]
}

/// Returns the compact JSON of `now`, split at the boundaries of changes from `before`, and the list of differences
/// including removed values. The order of keys is ignored.
pub fn diff_arguments(before: &Value, now: &Value) -> (Vec<JsonSpan>, Vec<ArgumentChange>) {
    let mut diff = JsonDiff::default();
    diff.compare(before, now);
    (diff.spans, diff.changes)
}

#[derive(Default)]
struct JsonDiff {
    spans: Vec<JsonSpan>,
    changes: Vec<ArgumentChange>,
    path: String,
}

impl JsonDiff {
    fn compare(&mut self, before: &Value, now: &Value) {
        match (before, now) {
            (Value::Object(before), Value::Object(now)) => {
                self.push_span("{", SpanChange::Same);
                for (index, (key, value)) in now.iter().enumerate() {
                    if index > 0 {
                        self.push_span(",", SpanChange::Same);
                    }
                    let name = format!("{}:", Value::from(key.as_str()));
                    self.enter(&segment(&self.path, key), |diff| match before.get(key) {
                        Some(before) => {
                            diff.push_span(&name, SpanChange::Same);
                            diff.compare(before, value);
                        }
                        None => diff.push_added(&name, value),
                    });
                }
                self.push_span("}", SpanChange::Same);
                for (key, value) in before.iter().filter(|(key, _)| !now.contains_key(*key)) {
                    self.enter(&segment(&self.path, key), |diff| diff.record_change(Some(value), None));
                }
            }
            (Value::Array(before), Value::Array(now)) => {
                self.push_span("[", SpanChange::Same);
                for (index, value) in now.iter().enumerate() {
                    if index > 0 {
                        self.push_span(",", SpanChange::Same);
                    }
                    self.enter(&format!("[{index}]"), |diff| match before.get(index) {
                        Some(before) => diff.compare(before, value),
                        None => diff.push_added("", value),
                    });
                }
                self.push_span("]", SpanChange::Same);
                for (index, value) in before.iter().enumerate().skip(now.len()) {
                    self.enter(&format!("[{index}]"), |diff| diff.record_change(Some(value), None));
                }
            }
            _ if before == now => self.push_span(&now.to_string(), SpanChange::Same),
            _ => {
                self.push_span(&now.to_string(), SpanChange::Changed);
                self.record_change(Some(before), Some(now));
            }
        }
    }

    fn push_added(&mut self, name: &str, value: &Value) {
        self.push_span(&format!("{name}{value}"), SpanChange::Added);
        self.record_change(None, Some(value));
    }

    /// Runs `then` with `segment` appended to the path.
    fn enter(&mut self, segment: &str, then: impl FnOnce(&mut JsonDiff)) {
        let length = self.path.len();
        self.path.push_str(segment);
        then(self);
        self.path.truncate(length);
    }

    fn push_span(&mut self, text: &str, change: SpanChange) {
        match self.spans.last_mut() {
            Some(span) if span.change == change => span.text.push_str(text),
            _ => self.spans.push(JsonSpan { text: text.to_owned(), change }),
        }
    }

    fn record_change(&mut self, was: Option<&Value>, now: Option<&Value>) {
        let text = |value: Option<&Value>| value.map(Value::to_string);
        self.changes.push(ArgumentChange { path: self.path.clone(), was: text(was), now: text(now) });
    }
}

/// Formats a key as a segment of a path.
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

    /// Formats the spans with `<` and `>` around changed text and `+` around added text.
    fn show_spans(spans: &[JsonSpan]) -> String {
        let shown = |span: &JsonSpan| match span.change {
            SpanChange::Same => span.text.clone(),
            SpanChange::Changed => format!("<{}>", span.text),
            SpanChange::Added => format!("+{}+", span.text),
        };
        spans.iter().map(shown).collect()
    }

    #[test]
    fn the_exact_leaf_is_highlighted() {
        let before = json!({"action": "set", "role": "root", "foo": 1, "items": [{"id": 1}, {"id": 2}, 3], "n": 1});
        let now = json!({"n": 1.0, "action": "set", "role": "admin", "items": [{"id": 1}, {"id": 9, "a b": []}]});
        let (spans, changes) = diff_arguments(&before, &now);
        assert_eq!(
            show_spans(&spans),
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
        let (spans, changes) = diff_arguments(&json!({"a": 1}), &json!("a"));
        assert_eq!(show_spans(&spans), "<\"a\">");
        assert_eq!(
            changes,
            [ArgumentChange { path: String::new(), was: Some("{\"a\":1}".into()), now: Some("\"a\"".into()) }]
        );
        assert_eq!(diff_arguments(&json!([1, {}]), &json!([1, {}])).1, []);
    }

    /// Applies a change to `arguments`.
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

    /// Splits a path into keys and indices.
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

    /// Few keys and few values, so that two samples have much in common.
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
        fn spans_are_the_new_arguments_and_changes_lead_to_them(before in arguments(), now in arguments()) {
            let (spans, changes) = diff_arguments(&before, &now);
            let text: String = spans.iter().map(|span| span.text.as_str()).collect();
            prop_assert_eq!(text, now.to_string());
            prop_assert!(spans.windows(2).all(|pair| pair[0].change != pair[1].change));
            let is_marked = spans.iter().any(|span| span.change != SpanChange::Same);
            prop_assert_eq!(is_marked, changes.iter().any(|change| change.now.is_some()));
            prop_assert_eq!(changes.is_empty(), before == now);
            // Remove the last elements of an array first, so that indices stay valid.
            let mut applied = before.clone();
            let (gone, rest): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.now.is_none());
            gone.into_iter().rev().chain(rest).for_each(|change| apply(&mut applied, change));
            prop_assert_eq!(applied, now);
        }
    }
}
