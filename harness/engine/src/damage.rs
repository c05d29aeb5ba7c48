//! Silent faults of results: rows that are cut or have other values.

use healbench_core::{Draws, FaultKind, Object, Strike};
use serde_json::Value;

/// Damages the rows of a result. No column is drawn that has the name `key`: it would lead to another row.
pub(crate) fn damage_rows(rows: &mut Vec<Object>, is_list: bool, key: Option<&str>, strike: &mut Strike) {
    let Strike { kind, column, draws } = strike;
    match (*kind, column) {
        (FaultKind::Cut, Some(column)) => rows.iter_mut().for_each(|row| _ = row.shift_remove(column)),
        // A list of one row stays as it is: without it, it would be empty.
        (FaultKind::Cut, None) if is_list => rows.truncate((rows.len() / 2).max(1)),
        (FaultKind::Cut, None) => {
            let names = rows.first().into_iter().flat_map(Object::keys);
            let columns: Vec<String> = names.filter(|name| key != Some(name.as_str())).cloned().collect();
            if let (Some(row), Some(column)) = (rows.first_mut(), draws.pick(&columns)) {
                row.shift_remove(column);
            }
        }
        (FaultKind::Corrupt, Some(column)) => {
            let values = rows.iter_mut().filter_map(|row| row.get_mut(column));
            values.for_each(|value| *value = other_value(value, draws));
        }
        (FaultKind::Corrupt, None) => {
            let cells: Vec<(usize, String)> =
                rows.iter().enumerate().flat_map(|(at, row)| cells(at, row, key)).collect();
            if let Some((row, column)) = draws.pick(&cells)
                && let Some(value) = rows[*row].get_mut(column)
            {
                *value = other_value(value, draws);
            }
        }
        _ => {}
    }
}

fn cells(at: usize, row: &Object, key: Option<&str>) -> impl Iterator<Item = (usize, String)> {
    let is_changeable = |value: &Value| match value {
        Value::Number(_) | Value::Bool(_) => true,
        Value::String(text) => text.chars().any(|c| c.is_ascii_alphanumeric()),
        _ => false,
    };
    let drawn = row.iter().filter(move |(name, value)| key != Some(name.as_str()) && is_changeable(value));
    drawn.map(move |(name, _)| (at, name.clone()))
}

/// Returns another value of the same type.
fn other_value(value: &Value, draws: &mut Draws) -> Value {
    match value {
        Value::Bool(value) => (!value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => integer.wrapping_add(draws.between(1, (integer.saturating_abs() / 2).max(9))).into(),
            None => (number.as_f64().unwrap_or_default() * 1.5 + 1.0).into(),
        },
        Value::String(text) => other_text(text, draws).into(),
        other => other.clone(),
    }
}

/// Returns a text of the same form in which one letter or digit is another one; a digit, if there is one.
fn other_text(text: &str, draws: &mut Draws) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let places = |is_one: fn(&char) -> bool| -> Vec<usize> {
        letters.iter().enumerate().filter(|(_, letter)| is_one(letter)).map(|(at, _)| at).collect()
    };
    let digits = places(char::is_ascii_digit);
    let places = if digits.is_empty() { places(char::is_ascii_alphabetic) } else { digits };
    if let Some(at) = draws.pick(&places) {
        let (first, count) = match letters[*at] {
            '0'..='9' => (b'0', 10),
            'a'..='z' => (b'a', 26),
            _ => (b'A', 26),
        };
        let now = letters[*at] as u8 - first;
        letters[*at] = char::from(first + (now + draws.between(1, i64::from(count) - 1) as u8) % count);
    }
    letters.into_iter().collect()
}
