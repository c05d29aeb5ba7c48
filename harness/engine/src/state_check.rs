//! Checks of the final state of the environment.

use std::fmt;

use healbench_core::{Object, same_json};
use jiff::Timestamp;
use serde_json::Value;

use crate::definition::{TableDef, WorldDef};
use crate::world::Tables;

/// A condition on the rows of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum StateCheck {
    /// At least one row matches.
    Row {
        /// The table.
        table: String,
        /// The columns and their required values.
        matching: Object,
        /// The table's key column if the row may have no columns other than those in `matching` and the key.
        exclusive_key: Option<String>,
    },
    /// No row matches.
    NoRow {
        /// The table.
        table: String,
        /// The columns and their required values.
        matching: Object,
    },
    /// Exactly `equals` rows match.
    Count {
        /// The table.
        table: String,
        /// The columns and their required values; empty to match all rows.
        matching: Object,
        /// The number of rows.
        equals: usize,
    },
    /// The table's rows are the same as at the beginning.
    Unchanged {
        /// The table.
        table: String,
    },
}

/// The checks of a scenario.
#[derive(Debug, Clone, Default)]
pub struct StateChecks {
    /// Each check with the number of initial rows that it describes. An environment may have thousands of rows, of
    /// which an episode changes only a few, so they are counted once.
    checks: Vec<(StateCheck, usize)>,
}

impl StateChecks {
    /// Prepares checks for environments with the initial state `world`.
    pub fn new(checks: impl IntoIterator<Item = StateCheck>, world: &WorldDef) -> StateChecks {
        let counted = |check: StateCheck| {
            let named = |table: &&TableDef| table.name == check.table();
            let rows = world.tables.iter().filter(named).flat_map(|table| &table.rows);
            let count = rows.filter(|row| check.describes(row)).count();
            (check, count)
        };
        StateChecks { checks: checks.into_iter().map(counted).collect() }
    }

    /// Returns for each check, in order, whether it holds.
    pub fn results(&self, tables: &Tables) -> Vec<bool> {
        self.checks.iter().map(|(check, initial)| check.holds(tables, *initial)).collect()
    }
}

impl StateCheck {
    /// Returns true if the check holds. `initial_count` is the number of initial rows that it describes.
    fn holds(&self, tables: &Tables, initial_count: usize) -> bool {
        match self {
            StateCheck::Row { .. } => self.count(tables, initial_count) > 0,
            StateCheck::NoRow { .. } => self.count(tables, initial_count) == 0,
            StateCheck::Count { equals, .. } => self.count(tables, initial_count) == *equals,
            StateCheck::Unchanged { table } => tables.is_unchanged(table),
        }
    }

    /// Returns the current number of rows that the check describes.
    fn count(&self, tables: &Tables, initial_count: usize) -> usize {
        let describes = |row: Option<&Object>| usize::from(row.is_some_and(|row| self.describes(row)));
        let edits = tables.edits(self.table());
        edits.fold(initial_count, |count, (before, after)| count + describes(after) - describes(before))
    }

    fn table(&self) -> &str {
        match self {
            StateCheck::Row { table, .. }
            | StateCheck::NoRow { table, .. }
            | StateCheck::Count { table, .. }
            | StateCheck::Unchanged { table } => table,
        }
    }

    /// Returns true if the check describes `row`.
    fn describes(&self, row: &Object) -> bool {
        match self {
            StateCheck::Row { matching, exclusive_key, .. } => {
                let allowed = |column: &String| {
                    exclusive_key.as_ref().is_none_or(|key| column == key || matching.contains_key(column))
                };
                contains_all(row, matching) && row.keys().all(allowed)
            }
            StateCheck::NoRow { matching, .. } | StateCheck::Count { matching, .. } => contains_all(row, matching),
            StateCheck::Unchanged { .. } => false,
        }
    }
}

/// Returns true if `object` has all members of `expected` with equal values. Moments in RFC 3339 are equal in any spelling:
/// `2026-03-01T10:00:00Z` and `2026-03-01T11:00:00.0+01:00`.
pub fn contains_all(object: &Object, expected: &Object) -> bool {
    expected.iter().all(|(name, value)| object.get(name).is_some_and(|given| is_as_expected(given, value)))
}

fn is_as_expected(given: &Value, expected: &Value) -> bool {
    match (given, expected) {
        (Value::String(a), Value::String(b)) => a == b || moment(a).is_some_and(|a| moment(b) == Some(a)),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_as_expected(a, b)),
        (Value::Object(a), Value::Object(b)) => a.len() == b.len() && contains_all(a, b),
        _ => same_json(given, expected),
    }
}

/// Parses a moment with an offset, as in RFC 3339.
fn moment(text: &str) -> Option<Timestamp> {
    // Most texts are none.
    let may_be_moment = text.as_bytes().get(10).is_some_and(|byte| matches!(byte, b'T' | b't' | b' '));
    may_be_moment.then(|| text.parse().ok())?
}

impl fmt::Display for StateCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateCheck::Row { table, matching, exclusive_key } => {
                let only = if exclusive_key.is_some() { " and nothing else" } else { "" };
                write!(f, "a row in {table}{}{only}", DisplayMatching(matching))
            }
            StateCheck::NoRow { table, matching } => write!(f, "no row in {table}{}", DisplayMatching(matching)),
            StateCheck::Count { table, matching, equals } => {
                let rows = if *equals == 1 { "row" } else { "rows" };
                write!(f, "exactly {equals} {rows} in {table}{}", DisplayMatching(matching))
            }
            StateCheck::Unchanged { table } => write!(f, "{table} unchanged"),
        }
    }
}

/// Formats ` with a = 1, b = "x"`, or nothing if there are no columns.
#[derive(Debug)]
pub struct DisplayMatching<'a>(pub &'a Object);

impl fmt::Display for DisplayMatching<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { " with " } else { ", " })?;
            write!(f, "{name} = {value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_moment_is_equal_in_any_spelling() {
        let is_met = |given: Value| {
            is_as_expected(&json!({"pin": [{"until": given}]}), &json!({"pin": [{"until": "2026-03-01T10:00:00Z"}]}))
        };
        for same in ["2026-03-01T10:00:00Z", "2026-03-01T10:00:00+00:00", "2026-03-01T12:30:00.000+02:30"] {
            assert!(is_met(json!(same)), "{same}");
        }
        for other in ["2026-03-01T10:00:01Z", "2026-03-01T10:00:00+01:00", "2026-03-01T10:00:00", "2026-03-01", ""] {
            assert!(!is_met(json!(other)), "{other}");
        }
        assert!(!is_as_expected(&json!("2026-03-01"), &json!("2026-03-01T00:00:00Z")), "a date is no moment");
    }
}
