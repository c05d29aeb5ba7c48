use std::fmt;

use healbench_engine::World;
use healbench_protocol::{Object, ToolCall, same_json};

/// What must hold when an agent says that it is done.
#[derive(Debug, Clone, PartialEq)]
pub enum Expectation {
    /// A row like this is there.
    Row {
        /// The table.
        table: String,
        /// Columns and values that are all equal.
        matching: Object,
        /// The table's key, where the row may hold nothing else than the matching columns and the key.
        only_beside: Option<String>,
    },
    /// No row like this is there.
    NoRow {
        /// The table.
        table: String,
        /// Columns and values that are all equal.
        matching: Object,
    },
    /// So many rows like this are there.
    Count {
        /// The table.
        table: String,
        /// Columns and values that are all equal; empty for all rows.
        matching: Object,
        /// How many.
        equals: usize,
    },
    /// The table has the rows that it began with.
    Unchanged {
        /// The table.
        table: String,
    },
    /// A call like this succeeded.
    Called {
        /// The tool.
        tool: String,
        /// The action's name; `None` for a tool without a discriminator.
        action: Option<String>,
        /// Arguments that were among those of the call, the discriminator among them.
        arguments: Object,
    },
    /// The task cannot be done, and the agent says so.
    Stops,
}

/// How an episode ended: what expectations are held against.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The world as it is now.
    pub world: &'a World,
    /// Whether the agent said that the task cannot be done.
    pub gave_up: bool,
    /// The calls that succeeded.
    pub succeeded: &'a [ToolCall],
}

impl Expectation {
    /// Whether it holds.
    pub fn is_met(&self, seen: &Observed<'_>) -> bool {
        let count = |table: &str, matching: &Object| {
            seen.world.rows(table).into_iter().filter(|row| has_all(row, matching)).count()
        };
        match self {
            Expectation::Row { table, matching, only_beside } => {
                let nothing_else = |row: &Object| match only_beside {
                    None => true,
                    Some(key) => row.keys().all(|column| column == key || matching.contains_key(column)),
                };
                seen.world.rows(table).into_iter().any(|row| has_all(row, matching) && nothing_else(row))
            }
            Expectation::NoRow { table, matching } => count(table, matching) == 0,
            Expectation::Count { table, matching, equals } => count(table, matching) == *equals,
            Expectation::Unchanged { table } => seen.world.is_unchanged(table),
            Expectation::Called { tool, arguments, .. } => {
                let like = |call: &&ToolCall| {
                    call.tool == *tool && call.object().is_some_and(|given| has_all(given, arguments))
                };
                seen.succeeded.iter().any(|call| like(&call))
            }
            Expectation::Stops => seen.gave_up,
        }
    }
}

fn has_all(object: &Object, wanted: &Object) -> bool {
    wanted.iter().all(|(name, value)| object.get(name).is_some_and(|given| same_json(given, value)))
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Row { table, matching, only_beside } => {
                let only = if only_beside.is_some() { " and nothing else" } else { "" };
                write!(f, "a row in {table}{}{only}", Where(matching))
            }
            Expectation::NoRow { table, matching } => write!(f, "no row in {table}{}", Where(matching)),
            Expectation::Count { table, matching, equals: 1 } => {
                write!(f, "exactly 1 row in {table}{}", Where(matching))
            }
            Expectation::Count { table, matching, equals } => {
                write!(f, "exactly {equals} rows in {table}{}", Where(matching))
            }
            Expectation::Unchanged { table } => write!(f, "{table} unchanged"),
            Expectation::Called { tool, action, arguments } => {
                write!(f, "a successful call of {tool}")?;
                if let Some(action) = action {
                    write!(f, ".{action}")?;
                }
                let shown =
                    arguments.iter().filter(|(_, value)| action.as_deref() != value.as_str() || action.is_none());
                write!(f, "{}", Where(&shown.map(|(name, value)| (name.clone(), value.clone())).collect()))
            }
            Expectation::Stops => f.write_str("the agent says that it cannot be done"),
        }
    }
}

/// ` with a = 1, b = "x"`, or nothing.
struct Where<'a>(&'a Object);

impl fmt::Display for Where<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { " with " } else { ", " })?;
            write!(f, "{name} = {value}")?;
        }
        Ok(())
    }
}
