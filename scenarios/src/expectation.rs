use std::fmt;

use healbench_engine::World;
use healbench_engine::definition::{TableDef, WorldDef};
use healbench_protocol::{Object, ToolCall, same_json};

/// A condition that must hold when an agent finishes.
#[derive(Debug, Clone, PartialEq)]
pub enum Expectation {
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
    /// A matching call succeeded.
    Called {
        /// The tool.
        tool: String,
        /// The action's name; `None` for a tool without a discriminator.
        action: Option<String>,
        /// Required arguments of the call, including the discriminator.
        arguments: Object,
    },
    /// The task cannot be done, and the agent says so.
    Stops,
}

/// The final state of an episode, which expectations are checked against.
#[derive(Debug, Clone, Copy)]
pub struct EpisodeState<'a> {
    /// The final state of the world.
    pub world: &'a World,
    /// True if the agent said that the task cannot be done.
    pub gave_up: bool,
    /// The successful calls.
    pub succeeded: &'a [ToolCall],
}

/// The number of matching rows in the initial world, for each expectation of a scenario. A world may have thousands of
/// rows, of which an episode changes only a few, so they are counted once.
#[derive(Debug)]
pub struct InitialCounts(Vec<usize>);

impl InitialCounts {
    pub(crate) fn new(expectations: &[Expectation], world: &WorldDef) -> InitialCounts {
        let count = |expectation: &Expectation| {
            let named = |table: &&TableDef| Some(table.name.as_str()) == expectation.table();
            let rows = world.tables.iter().filter(named).flat_map(|table| &table.rows);
            rows.filter(|row| expectation.describes(row)).count()
        };
        InitialCounts(expectations.iter().map(count).collect())
    }

    /// Returns the counts in the order of the expectations.
    pub(crate) fn counts(&self) -> impl Iterator<Item = usize> {
        self.0.iter().copied()
    }
}

impl Expectation {
    /// Returns true if the expectation holds. `initial_count` is the number of rows in the initial world that it
    /// [describes](Expectation::describes).
    pub(crate) fn is_met(&self, state: &EpisodeState<'_>, initial_count: usize) -> bool {
        match self {
            Expectation::Row { table, .. } => self.count(state.world, table, initial_count) > 0,
            Expectation::NoRow { table, .. } => self.count(state.world, table, initial_count) == 0,
            Expectation::Count { table, equals, .. } => self.count(state.world, table, initial_count) == *equals,
            Expectation::Unchanged { table } => state.world.is_unchanged(table),
            Expectation::Called { tool, arguments, .. } => {
                let like = |call: &&ToolCall| {
                    call.tool == *tool && call.object().is_some_and(|given| has_all(given, arguments))
                };
                state.succeeded.iter().any(|call| like(&call))
            }
            Expectation::Stops => state.gave_up,
        }
    }

    /// Returns the current number of rows of `table` that the expectation describes.
    fn count(&self, world: &World, table: &str, initial_count: usize) -> usize {
        let describes = |row: Option<&Object>| usize::from(row.is_some_and(|row| self.describes(row)));
        world.edits(table).fold(initial_count, |count, (before, after)| count + describes(after) - describes(before))
    }

    /// Returns the table whose rows the expectation describes.
    fn table(&self) -> Option<&str> {
        match self {
            Expectation::Row { table, .. } | Expectation::NoRow { table, .. } | Expectation::Count { table, .. } => {
                Some(table)
            }
            Expectation::Unchanged { .. } | Expectation::Called { .. } | Expectation::Stops => None,
        }
    }

    /// Returns true if the expectation describes `row`.
    fn describes(&self, row: &Object) -> bool {
        match self {
            Expectation::Row { matching, exclusive_key, .. } => {
                let allowed = |column: &String| {
                    exclusive_key.as_ref().is_none_or(|key| column == key || matching.contains_key(column))
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
            Expectation::Row { table, matching, exclusive_key } => {
                let only = if exclusive_key.is_some() { " and nothing else" } else { "" };
                write!(f, "a row in {table}{}{only}", DisplayMatching(matching))
            }
            Expectation::NoRow { table, matching } => write!(f, "no row in {table}{}", DisplayMatching(matching)),
            Expectation::Count { table, matching, equals: 1 } => {
                write!(f, "exactly 1 row in {table}{}", DisplayMatching(matching))
            }
            Expectation::Count { table, matching, equals } => {
                write!(f, "exactly {equals} rows in {table}{}", DisplayMatching(matching))
            }
            Expectation::Unchanged { table } => write!(f, "{table} unchanged"),
            Expectation::Called { tool, action, arguments } => {
                write!(f, "a successful call of {tool}")?;
                if let Some(action) = action {
                    write!(f, ".{action}")?;
                }
                let shown =
                    arguments.iter().filter(|(_, value)| action.as_deref() != value.as_str() || action.is_none());
                write!(f, "{}", DisplayMatching(&shown.map(|(name, value)| (name.clone(), value.clone())).collect()))
            }
            Expectation::Stops => f.write_str("the agent says that it cannot be done"),
        }
    }
}

/// Formats ` with a = 1, b = "x"`, or nothing if there are no columns.
struct DisplayMatching<'a>(&'a Object);

impl fmt::Display for DisplayMatching<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { " with " } else { ", " })?;
            write!(f, "{name} = {value}")?;
        }
        Ok(())
    }
}
