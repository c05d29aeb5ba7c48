use std::fmt;

use healbench_engine::World;
use healbench_engine::definition::{TableDef, WorldDef};
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

/// How many rows of a world's beginning are as each expectation of a scenario says. A world may have thousands of rows, of which an
/// episode changes a few, so they are looked through once.
#[derive(Debug)]
pub struct Beginning(Vec<usize>);

impl Beginning {
    pub(crate) fn of(expectations: &[Expectation], world: &WorldDef) -> Beginning {
        let count = |expectation: &Expectation| {
            let named = |table: &&TableDef| Some(table.name.as_str()) == expectation.table();
            let rows = world.tables.iter().filter(named).flat_map(|table| &table.rows);
            rows.filter(|row| expectation.describes(row)).count()
        };
        Beginning(expectations.iter().map(count).collect())
    }

    /// The count of each expectation, in their order.
    pub(crate) fn counts(&self) -> impl Iterator<Item = usize> {
        self.0.iter().copied()
    }
}

impl Expectation {
    /// Whether it holds in a world that began with so many rows that it [describes](Expectation::describes).
    pub(crate) fn is_met(&self, seen: &Observed<'_>, began: usize) -> bool {
        match self {
            Expectation::Row { table, .. } => self.count(seen.world, table, began) > 0,
            Expectation::NoRow { table, .. } => self.count(seen.world, table, began) == 0,
            Expectation::Count { table, equals, .. } => self.count(seen.world, table, began) == *equals,
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

    /// The rows of `table` that it describes, as they are now.
    fn count(&self, world: &World, table: &str, began: usize) -> usize {
        let describes = |row: Option<&Object>| usize::from(row.is_some_and(|row| self.describes(row)));
        world.edits(table).fold(began, |count, (was, is)| count + describes(is) - describes(was))
    }

    /// The table whose rows it is about.
    fn table(&self) -> Option<&str> {
        match self {
            Expectation::Row { table, .. } | Expectation::NoRow { table, .. } | Expectation::Count { table, .. } => {
                Some(table)
            }
            Expectation::Unchanged { .. } | Expectation::Called { .. } | Expectation::Stops => None,
        }
    }

    /// Whether a row is one of those that it is about.
    fn describes(&self, row: &Object) -> bool {
        match self {
            Expectation::Row { matching, only_beside, .. } => {
                let allowed = |column: &String| {
                    only_beside.as_ref().is_none_or(|key| column == key || matching.contains_key(column))
                };
                has_all(row, matching) && row.keys().all(allowed)
            }
            Expectation::NoRow { matching, .. } | Expectation::Count { matching, .. } => has_all(row, matching),
            Expectation::Unchanged { .. } | Expectation::Called { .. } | Expectation::Stops => false,
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
