//! Which change to a call a piece of evidence explains.
//!
//! A change is explained only if the text says that the call is wrong in this way *and* what the agent knows is right in this way.
//! So evidence about a field that is already as it should be changes nothing, however the text lists its schema.

use std::collections::BTreeMap;

use healbench_protocol::RecordQuery;
use regex::Regex;
use serde_json::Value;

use super::evidence::{Evidence, Hint, Relation, ShapeField};
use super::paths;
use super::records::Findings;

/// What the agent knows about the arguments of the call in hand.
pub(super) struct Knowledge<'k> {
    /// Arguments that the task tells.
    pub(super) intended: &'k Value,
    /// Arguments that the task does not tell, and what was found for them.
    pub(super) finds: &'k BTreeMap<String, RecordQuery>,
    pub(super) findings: &'k Findings<'k>,
    pub(super) step: usize,
    /// The tool that is called.
    pub(super) tool: &'k str,
    /// The argument that selects the action.
    pub(super) discriminator: &'k str,
}

impl Knowledge<'_> {
    /// The right value at `path`, if the agent knows it. What has to be found is known only once it was found, whatever the
    /// script's intent holds there.
    pub(super) fn value(&self, path: &str) -> Option<Value> {
        for argument in self.finds.keys() {
            let found = || self.findings.get(self.step, argument);
            if argument == path {
                return found().cloned();
            }
            if let Some(inner) = path.strip_prefix(argument.as_str()).and_then(|rest| rest.strip_prefix('.')) {
                return paths::get(found()?, inner).cloned();
            }
        }
        let mut value = paths::get(self.intended, path)?.clone();
        for argument in self.finds.keys() {
            if let Some(inner) = argument.strip_prefix(path).and_then(|rest| rest.strip_prefix('.')) {
                match self.findings.get(self.step, argument) {
                    Some(found) => _ = paths::set(&mut value, inner, found.clone()),
                    None => _ = paths::remove(&mut value, inner),
                }
            }
        }
        Some(value)
    }
}

/// One change to the arguments.
#[derive(Debug, PartialEq)]
pub(super) enum Change {
    Put(String, Value),
    Drop(String),
}

impl Change {
    pub(super) fn apply(self, arguments: &mut Value) {
        match self {
            Change::Put(path, value) => _ = paths::set(arguments, &path, value),
            Change::Drop(path) => _ = paths::remove(arguments, &path),
        }
    }
}

/// The changes that `evidence` explains, as fixes: what belongs together is one. Empty when it explains none.
pub(super) fn explained(evidence: &Evidence, arguments: &Value, knowledge: &Knowledge<'_>) -> Vec<Vec<Change>> {
    let put = |path: &str, value: Value| vec![vec![Change::Put(path.to_owned(), value)]];
    // What was sent is absent or wrong in the way that `fits` tells, and the known value is right.
    let replace = |field: &str, fits: &dyn Fn(&Value) -> bool| {
        if paths::get(arguments, field).is_some_and(fits) || !knowledge.value(field).is_some_and(|known| fits(&known)) {
            return Vec::new();
        }
        filled(field, arguments, knowledge)
    };
    match evidence {
        Evidence::Missing { field } | Evidence::MissingDiscriminator { field } => {
            if lacks(arguments, field) {
                filled(field, arguments, knowledge)
            } else {
                Vec::new()
            }
        }
        Evidence::WrongType { field, expected } => replace(field, &|value| has_type(value, expected)),
        Evidence::Options { field, values } => replace(field, &|value| is_among(value, values)),
        Evidence::Bound { field, relation, limit } => replace(field, &|value| is_within(value, *relation, *limit)),
        // What the agent knows of the field is another value than the one that is in use.
        Evidence::Taken { field } => {
            let sent = paths::get(arguments, field);
            knowledge
                .value(field)
                .filter(|known| sent != Some(known))
                .map(|known| put(field, known))
                .unwrap_or_default()
        }
        Evidence::Format { field, hint } => well_written(field, hint, arguments, knowledge),
        Evidence::Unrecognised { field } => unrecognised(field, arguments, knowledge),
        Evidence::Actions { names } => {
            let field = knowledge.discriminator;
            replace(field, &|value| is_among(value, names))
        }
        Evidence::Contract { action, fields, dropped } => {
            let own = arguments.get(knowledge.discriminator).and_then(Value::as_str);
            if action.is_some() && action.as_deref() != own && own.is_some() {
                return Vec::new();
            }
            contract(fields, dropped, arguments, knowledge)
        }
        Evidence::Example { object } => {
            let mut fixes = Vec::new();
            for (field, example) in object {
                let right = |value: &Value| type_of(value) == type_of(example);
                let wrong = paths::get(arguments, field).is_none_or(|sent| !right(sent));
                if wrong && let Some(known) = knowledge.value(field).filter(right) {
                    fixes.extend(put(field, known));
                }
            }
            fixes
        }
        // `Try: list, create`: an action that the agent wants anyhow, and did not call.
        Evidence::Suggest { tool, action } if tool.as_deref().is_none_or(|tool| tool == knowledge.tool) => {
            let field = knowledge.discriminator;
            replace(field, &|value| value.as_str() == Some(action))
        }
        // These explain when or what to call, not how to mend the arguments.
        Evidence::Suggest { .. }
        | Evidence::Delay { .. }
        | Evidence::Transient
        | Evidence::Stop
        | Evidence::Narrow { .. }
        | Evidence::Page { .. } => Vec::new(),
    }
}

/// Null counts as absent: that is how texts report it (`received undefined`, `You sent: (missing)`).
fn lacks(arguments: &Value, path: &str) -> bool {
    paths::get(arguments, path).is_none_or(Value::is_null)
}

/// Puts the known value in the field's place; where what holds the field is absent too, that as a whole.
fn filled(field: &str, arguments: &Value, knowledge: &Knowledge<'_>) -> Vec<Vec<Change>> {
    let parents = field.match_indices('.').map(|(end, _)| &field[..end]);
    let mut absent = parents.filter(|parent| lacks(arguments, parent) && knowledge.value(parent).is_some());
    let path = if lacks(arguments, field) { absent.next().unwrap_or(field) } else { field };
    let known = knowledge.value(path);
    known.map(|known| vec![vec![Change::Put(path.to_owned(), known)]]).unwrap_or_default()
}

fn well_written(field: &str, hint: &Hint, arguments: &Value, knowledge: &Knowledge<'_>) -> Vec<Vec<Change>> {
    let sent = paths::get(arguments, field).unwrap_or(&Value::Null);
    let Some(known) = knowledge.value(field).filter(|known| known != sent) else { return Vec::new() };
    // The cheap question was asked first: a pattern is compiled only for a field whose value could change. One that is no
    // regular expression explains nothing.
    let verdicts = match hint {
        Hint::Pattern(pattern) => Regex::new(pattern).ok().map(|pattern| {
            let fits = |value: &Value| Some(value.as_str().is_some_and(|text| pattern.is_match(text)));
            (fits(sent), fits(&known))
        }),
        Hint::Named(name) => Some((is_written_as(sent, name), is_written_as(&known, name))),
    };
    match verdicts {
        None | Some((Some(true), _) | (_, Some(false))) => Vec::new(),
        Some(_) => filled(field, arguments, knowledge),
    }
}

/// Whether a value is written in the named format, as far as a reader can tell by looking; `None` where it cannot.
fn is_written_as(value: &Value, format: &str) -> Option<bool> {
    let Some(text) = value.as_str() else { return Some(false) };
    let bytes = text.as_bytes();
    let digits =
        |range: std::ops::Range<usize>| bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    let date = digits(0..4) && digits(5..7) && digits(8..10) && bytes[4] == b'-';
    match format {
        "email" | "e-mail" => {
            Some(text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.')))
        }
        "date" | "iso date" | "yyyy-mm-dd" => Some(date && text.len() == 10),
        "datetime" | "date-time" | "timestamp" if !date => Some(false),
        "datetime" | "date-time" | "timestamp" => is_followed_by_a_time(text, digits(11..13) && digits(14..16)),
        "url" | "uri" => Some(text.contains("://")),
        "uuid" | "guid" => Some(text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4),
        _ => None,
    }
}

/// Whether a time stands after the date of ten characters. A blank for the `T` and a time without its zone are valid in some places
/// only, so looking does not tell.
fn is_followed_by_a_time(text: &str, has_digits: bool) -> Option<bool> {
    let bytes = text.as_bytes();
    if !has_digits || bytes[13] != b':' || !matches!(bytes[10], b'T' | b't' | b' ') {
        return Some(false);
    }
    let has_zone = text[16..].contains(['Z', 'z', '+', '-']);
    (has_zone && bytes[10] != b' ').then_some(true)
}

fn unrecognised(field: &str, arguments: &Value, knowledge: &Knowledge<'_>) -> Vec<Vec<Change>> {
    if paths::get(arguments, field).is_none() {
        return Vec::new();
    }
    let mut fix = vec![Change::Drop(field.to_owned())];
    let (parent, name) = paths::split(field);
    let intended = paths::object_at(knowledge.intended, parent);
    let found = knowledge.finds.keys().filter(|_| parent.is_empty()).map(String::as_str);
    let candidates = intended.into_iter().flat_map(|object| object.keys()).map(String::as_str).chain(found);
    let meant = candidates
        .map(|candidate| if parent.is_empty() { candidate.to_owned() } else { format!("{parent}.{candidate}") })
        .filter(|candidate| candidate != field && lacks(arguments, candidate))
        .filter_map(|candidate| Some((distance(name, paths::split(&candidate).1)?, candidate)))
        .min();
    if let Some((_, meant)) = meant
        && let Some(known) = knowledge.value(&meant)
    {
        fix.push(Change::Put(meant, known));
    }
    vec![fix]
}

fn contract(
    fields: &[ShapeField],
    dropped: &[String],
    arguments: &Value,
    knowledge: &Knowledge<'_>,
) -> Vec<Vec<Change>> {
    let mut fixes = Vec::new();
    for field in fields {
        let (parent, _) = paths::split(&field.path);
        // A missing parent is put as a whole.
        if !parent.is_empty() && lacks(arguments, parent) {
            continue;
        }
        let fits = |value: &Value| kind_fits(value, &field.kind);
        let wrong = paths::get(arguments, &field.path).is_none_or(|sent| fits(sent) == Some(false));
        if wrong && let Some(known) = knowledge.value(&field.path).filter(|known| fits(known) != Some(false)) {
            fixes.push(vec![Change::Put(field.path.clone(), known)]);
        }
    }
    let gone = dropped.iter().filter(|path| paths::get(arguments, path).is_some());
    fixes.extend(gone.map(|path| vec![Change::Drop(path.clone())]));
    fixes
}

/// Whether a value fits a type as shapes write it (`number`, `"open" | "paid"`); `None` where the words do not tell.
fn kind_fits(value: &Value, kind: &str) -> Option<bool> {
    if kind.starts_with(['"', '\'']) {
        let literals: Vec<String> =
            kind.split('|').map(|literal| literal.trim().trim_matches(['"', '\'']).to_owned()).collect();
        return Some(is_among(value, &literals));
    }
    let word = kind.split([' ', '(', '<', '[']).next().unwrap_or_default();
    // `string[]` is a list; of `string matching ^[0-9]+$` the brackets say nothing about the type.
    let list = kind[word.len()..].starts_with('[');
    let known = ["string", "number", "integer", "boolean", "array", "object"].contains(&word) && !list;
    known.then(|| has_type(value, word))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn has_type(value: &Value, expected: &str) -> bool {
    match expected {
        // JSON Schema counts 1.0 as an integer.
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => type_of(value) == other,
    }
}

fn is_among(value: &Value, options: &[String]) -> bool {
    match value {
        Value::String(text) => options.iter().any(|option| option == text),
        Value::Number(_) | Value::Bool(_) => options.contains(&value.to_string()),
        _ => false,
    }
}

fn is_within(value: &Value, relation: Relation, limit: f64) -> bool {
    let size = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => Some(text.chars().count() as f64),
        Value::Array(items) => Some(items.len() as f64),
        _ => None,
    };
    size.is_some_and(|size| match relation {
        Relation::AtLeast => size >= limit,
        Relation::Above => size > limit,
        Relation::AtMost => size <= limit,
        Relation::Below => size < limit,
        Relation::MultipleOf => limit != 0.0 && (size / limit).fract().abs() < 1e-9,
    })
}

/// How far two field names are apart, if one could have been meant by the other: a slip of the keyboard, or a part more or less
/// (`customer`, `customer_id`).
fn distance(a: &str, b: &str) -> Option<usize> {
    let plain = |name: &str| -> Vec<u8> {
        name.bytes().filter(|byte| *byte != b'_' && *byte != b'-').map(|byte| byte.to_ascii_lowercase()).collect()
    };
    let (a, b) = (plain(a), plain(b));
    if a.is_empty() || b.is_empty() || a.len().max(b.len()) > 64 {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    let edits = row[b.len()];
    let shorter = a.len().min(b.len());
    let part = shorter >= 3 && (a.starts_with(&b) || b.starts_with(&a) || a.ends_with(&b) || b.ends_with(&a));
    (edits <= (shorter / 3).max(1) || part).then_some(edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names() {
        assert_eq!(distance("curency", "currency"), Some(1));
        assert_eq!(distance("customer", "customer_id"), Some(2));
        assert_eq!(distance("customerId", "customer_id"), Some(0));
        assert_eq!(distance("priority", "currency"), None);
        assert_eq!(distance("hallucinated_param", "amount"), None);
    }

    #[test]
    fn times_after_dates() {
        let judged = |text: &str| is_written_as(&text.into(), "date-time");
        assert_eq!(judged("2026-09-30T18:00:00Z"), Some(true));
        assert_eq!(judged("2026-09-30t18:00+02:00"), Some(true));
        assert_eq!(judged("2026-09-30 18:00:00Z"), None);
        assert_eq!(judged("2026-09-30T18:00:00"), None);
        for wrong in [
            "2026-09-30 at 18:00:00Z",
            "2026-09-30",
            "2026-09-30T18",
            "2026-09-30T18.00",
            "tomorrow",
            "2026-09-30 früh um 6",
        ] {
            assert_eq!(judged(wrong), Some(false), "{wrong}");
        }
    }

    #[test]
    fn types_of_shapes() {
        assert_eq!(kind_fits(&8450.into(), "string matching ^[0-9]+$"), Some(false));
        assert_eq!(kind_fits(&"8450".into(), "string matching ^[0-9]+$"), Some(true));
        assert_eq!(kind_fits(&"8450".into(), "string[]"), None);
        assert_eq!(kind_fits(&7.into(), "integer >= 1 <= 60"), Some(true));
    }

    #[test]
    fn sizes() {
        assert!(is_within(&"abc".into(), Relation::AtLeast, 3.0));
        assert!(!is_within(&"ab".into(), Relation::AtLeast, 3.0));
        assert!(!is_within(&18.into(), Relation::Above, 18.0));
        assert!(is_within(&15.into(), Relation::MultipleOf, 5.0));
        assert!(!is_within(&Value::Null, Relation::AtMost, 5.0));
    }
}
