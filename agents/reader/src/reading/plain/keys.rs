//! Objects that say by their keys what is wanted: `{"error": "no such song", "suggestion": "Yesterday"}`.

use serde_json::{Map, Value};

use super::Argument;
use super::choices::is_close;
use super::contradiction::shape;
use crate::reading::Relation;
use crate::reading::Statement;
use crate::reading::statement_reader::StatementReader;
use crate::reading::words::{CURRENT_WORDS, HIGHEST, KEYS_OF_CALLS, KEYS_OF_NEEDS, KEYS_OF_SUGGESTIONS, LOWEST};

/// Returns what the keys of an object say about the arguments that were sent.
pub(super) fn statements_of(
    object: &Map<String, Value>,
    reader: &StatementReader<'_>,
    arguments: &[Argument<'_>],
) -> Vec<Statement> {
    let mut found = Vec::new();
    for (key, value) in object {
        found.extend(statement_of(key, value, object, reader, arguments));
        if let Value::Object(inner) = value {
            for (key, value) in inner {
                found.extend(statement_of(key, value, inner, reader, arguments));
            }
        }
    }
    found
}

fn statement_of(
    key: &str,
    value: &Value,
    object: &Map<String, Value>,
    reader: &StatementReader<'_>,
    arguments: &[Argument<'_>],
) -> Option<Statement> {
    let texts = texts_of(value);
    let is_key = |words: &crate::reading::words::WordList| words.has(key);
    // `"next": "create_cart"`
    if is_key(&KEYS_OF_CALLS)
        && let [only] = texts[..]
    {
        let (tool, action) = reader.vocabulary.resolve_action(only)?;
        return Some(Statement::Suggest { tool: Some(tool), action });
    }
    // `"needs": ["reason"]`
    if is_key(&KEYS_OF_NEEDS) {
        let field = texts.iter().find_map(|text| reader.vocabulary.field_path(text))?;
        return crate::paths::get(reader.sent, &field).is_none().then_some(Statement::Missing { field });
    }
    let strings = || arguments.iter().filter(|argument| argument.value.is_string());
    let named = || {
        let told = object.values().filter_map(Value::as_str);
        let words: Vec<&str> = told.flat_map(|text| text.split(|c: char| !c.is_alphanumeric())).collect();
        let is_told = |argument: &&Argument<'_>| words.iter().any(|word| word.eq_ignore_ascii_case(argument.name));
        let mut found = strings().filter(is_told);
        let first = found.next();
        first.filter(|_| found.next().is_none())
    };
    let only = || {
        let mut all = strings();
        let first = all.next();
        first.filter(|_| all.next().is_none())
    };
    // `"did_you_mean": ["general"]`
    if is_key(&KEYS_OF_SUGGESTIONS)
        && let [stated] = texts[..]
    {
        let close = strings().find(|argument| argument.value.as_str().is_some_and(|sent| is_close(sent, stated)));
        let argument = close.or_else(named).or_else(only)?;
        let is_other = argument.value.as_str() != Some(stated) && reader.vocabulary.field_path(stated).is_none();
        return is_other
            .then(|| Statement::Value { field: argument.name.to_owned(), value: Some(Value::from(stated)) });
    }
    // `"traded": ["USD", "EUR"]`
    if value.is_array() && texts.len() > 1 {
        let argument = named().or_else(only)?;
        let sent = argument.value.as_str()?;
        let is_value = |text: &&str| !text.contains(' ') && reader.vocabulary.field_path(text).is_none();
        let is_list = texts.iter().all(is_value) && !texts.contains(&sent);
        let values = texts.iter().map(|text| (*text).to_owned()).collect();
        return is_list.then(|| Statement::Options { field: argument.name.to_owned(), values });
    }
    // `"current_etag": "b7"`
    let (head, name) = key.rsplit_once('_').unwrap_or(("", key));
    let of_name = |argument: &&Argument<'_>| argument.name.eq_ignore_ascii_case(name) && argument.value != value;
    if CURRENT_WORDS.has(head)
        && let Some(argument) = arguments.iter().find(of_name)
    {
        let is_like = match (argument.value, value) {
            (Value::Number(_), Value::Number(_)) => true,
            (Value::String(sent), Value::String(stated)) => shape(sent) == shape(stated),
            _ => false,
        };
        return is_like.then(|| Statement::Value { field: argument.name.to_owned(), value: Some(value.clone()) });
    }
    // `"max": 100`
    let limit = value.as_f64()?;
    let relation = match key.split('_').next().unwrap_or(key) {
        word if HIGHEST.has(word) => Relation::AtMost,
        word if LOWEST.has(word) => Relation::AtLeast,
        _ => return None,
    };
    let is_broken = |argument: &&Argument<'_>| {
        argument
            .value
            .as_f64()
            .is_some_and(|sent| if relation == Relation::AtMost { sent > limit } else { sent < limit })
    };
    let mut broken = arguments.iter().filter(is_broken);
    let argument = broken.next().filter(|_| broken.next().is_none())?;
    Some(Statement::Bound { field: argument.name.to_owned(), relation, limit })
}

/// Returns the texts of a value: itself, or those of a list.
fn texts_of(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}
