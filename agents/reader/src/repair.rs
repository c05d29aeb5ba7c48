//! Derives the changes to a call from a statement.
//!
//! A field is changed only if the sent value violates the statement *and* the value that the agent knows satisfies it. So a
//! text that merely lists the schema of a valid field changes nothing.

use std::collections::BTreeMap;

use healbench_core::{RecordQuery, json_type, same_json};
use regex::Regex;
use serde_json::Value;

use super::paths;
use super::reading::{ExpectedFormat, Fault, Relation, ShapeField, Statement, is_empty};
use super::records::FoundValues;

/// The agent's knowledge about the arguments of the current call.
pub(super) struct RepairContext<'k> {
    /// The arguments that the task states.
    pub(super) intended: &'k Value,
    /// The arguments that must be found in records, and the values found so far.
    pub(super) queries: &'k BTreeMap<String, RecordQuery>,
    pub(super) found_values: &'k FoundValues<'k>,
    pub(super) step: usize,
    pub(super) tool: &'k str,
    /// The argument that selects the action.
    pub(super) discriminator: &'k str,
}

impl RepairContext<'_> {
    /// Returns the correct value at `path` if the agent knows it. A value that must be found is known only after a
    /// response has shown it, although the script's intended call contains it.
    pub(super) fn value(&self, path: &str) -> Option<Value> {
        for argument in self.queries.keys() {
            let found = || self.found_values.get(self.step, argument);
            if argument == path {
                return found().cloned();
            }
            if let Some(inner) = path.strip_prefix(argument.as_str()).and_then(|rest| rest.strip_prefix('.')) {
                return paths::get(found()?, inner).cloned();
            }
        }
        let mut value = paths::get(self.intended, path)?.clone();
        for argument in self.queries.keys() {
            if let Some(inner) = argument.strip_prefix(path).and_then(|rest| rest.strip_prefix('.')) {
                match self.found_values.get(self.step, argument) {
                    Some(found) => _ = paths::set(&mut value, inner, found.clone()),
                    None => paths::forget(&mut value, inner),
                }
            }
        }
        Some(value)
    }

    /// Returns true if the value at `path`, or a part of it, has to be found in a response.
    fn must_find(&self, path: &str) -> bool {
        self.queries.keys().any(|argument| paths::overlap(argument, path))
    }
}

/// One change to the arguments.
#[derive(Debug, PartialEq)]
pub(super) enum ArgumentEdit {
    Set(String, Value),
    Remove(String),
}

impl ArgumentEdit {
    pub(super) fn apply(self, arguments: &mut Value) {
        match self {
            ArgumentEdit::Set(path, value) => _ = paths::set(arguments, &path, value),
            ArgumentEdit::Remove(path) => _ = paths::remove(arguments, &path),
        }
    }
}

/// Returns the fixes that `statement` suggests. A fix consists of edits that belong together, such as removing a misspelled
/// field and adding the correct one.
pub(super) fn repairs(statement: &Statement, arguments: &Value, context: &RepairContext<'_>) -> Vec<Vec<ArgumentEdit>> {
    let put = |path: &str, value: Value| vec![vec![ArgumentEdit::Set(path.to_owned(), value)]];
    // Replaces a value that is absent or does not satisfy `fits`, if the known value does. A refused argument that the call does not need
    // is left out.
    let replace = |field: &str, fits: &dyn Fn(&Value) -> bool| {
        let sent = paths::get(arguments, field);
        match context.value(field) {
            _ if sent.is_some_and(fits) => Vec::new(),
            Some(known) if fits(&known) => set_known_value(field, arguments, context),
            None if sent.is_some() && !context.must_find(field) => vec![vec![ArgumentEdit::Remove(field.to_owned())]],
            _ => Vec::new(),
        }
    };
    match statement {
        Statement::Missing { field } | Statement::MissingDiscriminator { field } => {
            // An empty value may be called missing: "title cannot be blank".
            let is_given = |value: Option<Value>| value.is_some_and(|value| !is_empty(&value));
            let is_blank = || paths::get(arguments, field).is_some_and(is_empty) && is_given(context.value(field));
            if is_absent(arguments, field) || is_blank() {
                set_known_value(field, arguments, context)
            } else {
                Vec::new()
            }
        }
        Statement::WrongType { field, expected } => replace(field, &|value| has_type(value, expected)),
        // The text 20 is no valid value where the number 20 is meant.
        Statement::Options { field, values } => {
            let kind = context.value(field).as_ref().filter(|known| is_among(known, values)).map(json_type);
            replace(field, &|value| is_among(value, values) && kind.is_none_or(|kind| kind == json_type(value)))
        }
        Statement::Bound { field, relation, limit } => replace(field, &|value| is_within(value, *relation, *limit)),
        // Replaces the value in use if the agent knows a different one.
        Statement::Conflict { field } => {
            let sent = paths::get(arguments, field);
            context.value(field).filter(|known| sent != Some(known)).map(|known| put(field, known)).unwrap_or_default()
        }
        Statement::Value { field, value: Some(stated) } => {
            if paths::get(arguments, field) == Some(stated) {
                Vec::new()
            } else {
                put(field, stated.clone())
            }
        }
        Statement::Value { field, value: None } | Statement::Compared { field, .. } => {
            replace(field, &|value| paths::get(arguments, field) != Some(value))
        }
        Statement::Rename { field, name } => {
            let (parent, _) = paths::split(field);
            let path = if parent.is_empty() || name.contains('.') { name.clone() } else { format!("{parent}.{name}") };
            match paths::get(arguments, field) {
                Some(sent) => {
                    let value = context.value(&path).unwrap_or_else(|| sent.clone());
                    vec![vec![ArgumentEdit::Remove(field.clone()), ArgumentEdit::Set(path, value)]]
                }
                None => Vec::new(),
            }
        }
        Statement::Format { field, expected } => repair_format(field, expected, arguments, context),
        Statement::Unrecognized { field } => repair_unrecognized(field, arguments, context),
        Statement::Actions { names } => {
            let field = context.discriminator;
            replace(field, &|value| is_among(value, names))
        }
        Statement::Contract { action, fields, dropped } => {
            let own = arguments.get(context.discriminator).and_then(Value::as_str);
            if action.is_some() && action.as_deref() != own && own.is_some() {
                return Vec::new();
            }
            repair_contract(fields, dropped, arguments, context)
        }
        Statement::Example { object } => {
            let mut fixes = Vec::new();
            for (field, example) in object {
                let right = |value: &Value| json_type(value) == json_type(example);
                let wrong = paths::get(arguments, field).is_none_or(|sent| !right(sent));
                if wrong && let Some(known) = context.value(field).filter(right) {
                    fixes.extend(put(field, known));
                }
            }
            fixes
        }
        // `Try: list, create` suggests the intended action, which was not the one called.
        Statement::Suggest { tool, action } if tool.as_deref().is_none_or(|tool| tool == context.tool) => {
            let field = context.discriminator;
            replace(field, &|value| value.as_str() == Some(action))
        }
        // An identifier that does not exist, where a response has shown the right one.
        Statement::Fault { field, fault: Fault::NotFound | Fault::Invalid } if context.queries.contains_key(field) => {
            replace(field, &|value| paths::get(arguments, field) != Some(value))
        }
        // These say when or what to call, not how to repair the arguments.
        Statement::Suggest { .. }
        | Statement::Delay { .. }
        | Statement::Transient
        | Statement::UnknownTool
        | Statement::Stop
        | Statement::Narrow { .. }
        | Statement::Page { .. }
        | Statement::Lookup { .. }
        | Statement::SearchDifferently { .. }
        | Statement::Fault { .. } => Vec::new(),
    }
}

/// Returns true if nothing was sent but the discriminator, and more was meant. Whoever sends such a call by accident sends all of it again.
fn is_empty_call(arguments: &Value, context: &RepairContext<'_>) -> bool {
    let is_sent = |name: &String| name != context.discriminator;
    arguments.as_object().is_none_or(|sent| !sent.keys().any(is_sent))
        && context.intended.as_object().is_some_and(|meant| meant.keys().any(is_sent))
}

/// Returns true if a field is absent. Null counts as absent, because texts report it so (`received undefined`, `You
/// sent: (missing)`).
fn is_absent(arguments: &Value, path: &str) -> bool {
    paths::get(arguments, path).is_none_or(Value::is_null)
}

/// Sets all that was meant if nothing was sent. Otherwise sets the field to its known value or, if a parent is absent, the outermost such
/// parent to its known value.
fn set_known_value(field: &str, arguments: &Value, context: &RepairContext<'_>) -> Vec<Vec<ArgumentEdit>> {
    if is_empty_call(arguments, context) {
        let names = context.intended.as_object().into_iter().flat_map(|object| object.keys());
        let known = names.filter_map(|name| Some((name, context.value(name)?)));
        let new = known.filter(|(name, value)| paths::get(arguments, name) != Some(value));
        let edits: Vec<_> = new.map(|(name, value)| ArgumentEdit::Set(name.clone(), value)).collect();
        return if edits.is_empty() { Vec::new() } else { vec![edits] };
    }
    let parents = field.match_indices('.').map(|(end, _)| &field[..end]);
    let mut absent = parents.filter(|parent| is_absent(arguments, parent) && context.value(parent).is_some());
    let path = if is_absent(arguments, field) { absent.next().unwrap_or(field) } else { field };
    let known = context.value(path);
    known.map(|known| vec![vec![ArgumentEdit::Set(path.to_owned(), known)]]).unwrap_or_default()
}

fn repair_format(
    field: &str,
    expected: &ExpectedFormat,
    arguments: &Value,
    context: &RepairContext<'_>,
) -> Vec<Vec<ArgumentEdit>> {
    let sent = paths::get(arguments, field).unwrap_or(&Value::Null);
    let known = context.value(field);
    let is_surplus = known.is_none() && !sent.is_null() && !context.must_find(field);
    if known.as_ref() == Some(sent) || known.is_none() && !is_surplus {
        return Vec::new();
    }
    // A pattern is compiled only if the value could change, because compiling is expensive. An invalid pattern is
    // ignored.
    let pattern = match expected {
        ExpectedFormat::Pattern(pattern) => match Regex::new(pattern) {
            Ok(pattern) => Some(pattern),
            Err(_) => return Vec::new(),
        },
        ExpectedFormat::Named(_) => None,
    };
    // "a 6-digit number" may be said of a number.
    let is_number = known.as_ref().is_some_and(Value::is_number);
    let fits = |value: &Value| match (&pattern, expected) {
        (Some(pattern), _) if is_number && value.is_number() => Some(pattern.is_match(&value.to_string())),
        (Some(pattern), _) => Some(value.as_str().is_some_and(|text| pattern.is_match(text))),
        (None, ExpectedFormat::Named(name) | ExpectedFormat::Pattern(name)) => has_format(value, name),
    };
    match known {
        _ if fits(sent) == Some(true) => Vec::new(),
        Some(known) if fits(&known) != Some(false) => set_known_value(field, arguments, context),
        None if fits(sent) == Some(false) => vec![vec![ArgumentEdit::Remove(field.to_owned())]],
        _ => Vec::new(),
    }
}

/// Returns whether a value has the named format; `None` if this cannot be determined.
fn has_format(value: &Value, format: &str) -> Option<bool> {
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
        "datetime" | "date-time" | "timestamp" => has_time_part(text, digits(11..13) && digits(14..16)),
        "url" | "uri" => Some(text.contains("://")),
        "kebab-case" | "kebab case" => Some(is_in_case(text, "-", false)),
        "snake_case" | "snake case" => Some(is_in_case(text, "_", false)),
        "camelcase" | "camel case" => Some(is_in_case(text, "", true) && !text.starts_with(|c: char| c.is_uppercase())),
        "pascalcase" => Some(is_in_case(text, "", true) && text.starts_with(|c: char| c.is_uppercase())),
        // `C:\` begins an absolute path of Windows.
        "absolute path" | "full path" | "absolute" => {
            Some(text.starts_with(['/', '~']) || text.contains("://") || bytes.get(1) == Some(&b':'))
        }
        "uuid" | "guid" => Some(text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4),
        _ => None,
    }
}

/// Returns true if a text consists of ASCII letters and digits with single marks between them, in lower case except where humps are allowed.
fn is_in_case(text: &str, mark: &str, has_humps: bool) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() && (has_humps || !byte.is_ascii_uppercase()))
    };
    if mark.is_empty() { is_part(text) } else { text.split(mark).all(is_part) }
}

/// Returns whether a time follows the date, which has ten characters; `None` for a space instead of `T` or a time
/// without a zone, which only some servers accept.
fn has_time_part(text: &str, has_digits: bool) -> Option<bool> {
    let bytes = text.as_bytes();
    if !has_digits || bytes[13] != b':' || !matches!(bytes[10], b'T' | b't' | b' ') {
        return Some(false);
    }
    let has_zone = text[16..].contains(['Z', 'z', '+', '-']);
    (has_zone && bytes[10] != b' ').then_some(true)
}

fn repair_unrecognized(field: &str, arguments: &Value, context: &RepairContext<'_>) -> Vec<Vec<ArgumentEdit>> {
    if paths::get(arguments, field).is_none() {
        return Vec::new();
    }
    let mut fix = vec![ArgumentEdit::Remove(field.to_owned())];
    let (parent, name) = paths::split(field);
    let intended = paths::object_at(context.intended, parent);
    let found =
        context.queries.keys().map(|path| paths::split(path)).filter(|(of, _)| *of == parent).map(|(_, name)| name);
    let candidates = intended.into_iter().flat_map(|object| object.keys()).map(String::as_str).chain(found);
    let absent: Vec<String> = candidates
        .map(|candidate| if parent.is_empty() { candidate.to_owned() } else { format!("{parent}.{candidate}") })
        .filter(|candidate| candidate != field && is_absent(arguments, candidate))
        .collect();
    let near = absent.iter().filter_map(|path| Some((name_distance(name, paths::split(path).1)?, path))).min();
    // Under a synonym: the value was meant for another argument.
    let sent = paths::get(arguments, field);
    let is_meant =
        |path: &&String| sent.is_some_and(|sent| context.value(path).is_some_and(|known| same_json(sent, &known)));
    let meant = || absent.iter().find(is_meant);
    if let Some(path) = near.map(|(_, path)| path).or_else(meant)
        && let Some(known) = context.value(path)
    {
        let intended_path = path.clone();
        fix.push(ArgumentEdit::Set(intended_path, known));
    }
    vec![fix]
}

fn repair_contract(
    fields: &[ShapeField],
    dropped: &[String],
    arguments: &Value,
    context: &RepairContext<'_>,
) -> Vec<Vec<ArgumentEdit>> {
    let mut fixes = Vec::new();
    for field in fields {
        let (parent, _) = paths::split(&field.path);
        // A missing parent is set as a whole.
        if !parent.is_empty() && is_absent(arguments, parent) {
            continue;
        }
        let fits = |value: &Value| fits_shape_type(value, &field.kind);
        let wrong = paths::get(arguments, &field.path).is_none_or(|sent| fits(sent) == Some(false));
        if wrong && let Some(known) = context.value(&field.path).filter(|known| fits(known) != Some(false)) {
            fixes.push(vec![ArgumentEdit::Set(field.path.clone(), known)]);
        }
    }
    let dropped_and_sent = dropped.iter().filter(|path| paths::get(arguments, path).is_some());
    fixes.extend(dropped_and_sent.map(|path| vec![ArgumentEdit::Remove(path.clone())]));
    fixes
}

/// Returns whether a value has a type as written in shapes (`number`, `"open" | "paid"`); `None` if the type is not
/// understood.
fn fits_shape_type(value: &Value, kind: &str) -> Option<bool> {
    if kind.starts_with(['"', '\'']) {
        let literals: Vec<String> =
            kind.split('|').map(|literal| literal.trim().trim_matches(['"', '\'']).to_owned()).collect();
        return Some(is_among(value, &literals));
    }
    let word = kind.split([' ', '(', '<', '[']).next().unwrap_or_default();
    // `string[]` is a list, but the brackets in `string matching ^[0-9]+$` do not belong to the type.
    let list = kind[word.len()..].starts_with('[');
    let known = ["string", "number", "integer", "boolean", "array", "object"].contains(&word) && !list;
    known.then(|| has_type(value, word))
}

/// Returns true if a value has a JSON type.
pub fn has_type(value: &Value, expected: &str) -> bool {
    match expected {
        // JSON Schema counts 1.0 as an integer.
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => json_type(value) == other,
    }
}

/// Returns true if a value is one of the options as they are written.
pub(crate) fn is_among(value: &Value, options: &[String]) -> bool {
    match value {
        Value::String(text) => options.iter().any(|option| option == text),
        Value::Number(_) | Value::Bool(_) => options.contains(&value.to_string()),
        _ => false,
    }
}

/// Returns true if a number, the characters of a text, the items of a list or the keys of an object are within a limit.
pub fn is_within(value: &Value, relation: Relation, limit: f64) -> bool {
    let size = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => Some(text.chars().count() as f64),
        Value::Array(items) => Some(items.len() as f64),
        Value::Object(object) => Some(object.len() as f64),
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

/// Returns the distance of two field names if one is probably a misspelling of the other: a typo, or an additional or
/// missing part (`customer`, `customer_id`).
fn name_distance(a: &str, b: &str) -> Option<usize> {
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
        assert_eq!(name_distance("curency", "currency"), Some(1));
        assert_eq!(name_distance("customer", "customer_id"), Some(2));
        assert_eq!(name_distance("customerId", "customer_id"), Some(0));
        assert_eq!(name_distance("priority", "currency"), None);
        assert_eq!(name_distance("hallucinated_param", "amount"), None);
    }

    #[test]
    fn forms_of_names_and_paths() {
        for (name, right, wrong) in [
            ("kebab-case", "a-b1", "A b"),
            ("snake_case", "a_b", "a-b"),
            ("camelcase", "aB", "a b"),
            ("pascalcase", "AbC", "abC"),
            ("absolute path", "/srv/a.txt", "a.txt"),
        ] {
            assert_eq!(has_format(&right.into(), name), Some(true), "{right}");
            assert_eq!(has_format(&wrong.into(), name), Some(false), "{wrong}");
        }
    }

    #[test]
    fn times_after_dates() {
        let is_date_time = |text: &str| has_format(&text.into(), "date-time");
        assert_eq!(is_date_time("2026-09-30T18:00:00Z"), Some(true));
        assert_eq!(is_date_time("2026-09-30t18:00+02:00"), Some(true));
        assert_eq!(is_date_time("2026-09-30 18:00:00Z"), None);
        assert_eq!(is_date_time("2026-09-30T18:00:00"), None);
        for wrong in [
            "2026-09-30 at 18:00:00Z",
            "2026-09-30",
            "2026-09-30T18",
            "2026-09-30T18.00",
            "tomorrow",
            "2026-09-30 früh um 6",
        ] {
            assert_eq!(is_date_time(wrong), Some(false), "{wrong}");
        }
    }

    #[test]
    fn types_of_shapes() {
        assert_eq!(fits_shape_type(&8450.into(), "string matching ^[0-9]+$"), Some(false));
        assert_eq!(fits_shape_type(&"8450".into(), "string matching ^[0-9]+$"), Some(true));
        assert_eq!(fits_shape_type(&"8450".into(), "string[]"), None);
        assert_eq!(fits_shape_type(&7.into(), "integer >= 1 <= 60"), Some(true));
    }

    #[test]
    fn sizes() {
        assert!(is_within(&"abc".into(), Relation::AtLeast, 3.0));
        assert!(!is_within(&"ab".into(), Relation::AtLeast, 3.0));
        assert!(!is_within(&18.into(), Relation::Above, 18.0));
        assert!(is_within(&15.into(), Relation::MultipleOf, 5.0));
        assert!(is_within(&serde_json::json!({"a": 1}), Relation::AtLeast, 1.0));
        assert!(!is_within(&serde_json::json!({}), Relation::AtLeast, 1.0));
        assert!(!is_within(&Value::Null, Relation::AtMost, 5.0));
    }
}
