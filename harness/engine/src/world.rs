//! The world that calls act on: shared base rows and the changes of one episode.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use healbench_protocol::Object;
use serde_json::Value;

use crate::definition::{FaultDef, FaultKind, TableDef, ToolFailure, WorldDef};

/// The indexed initial state of a world, created once and shared by all episodes of a scenario.
#[derive(Debug)]
pub struct WorldBase {
    def: WorldDef,
    /// For each table, the row index by key.
    keys: Vec<HashMap<String, usize>>,
}

impl WorldBase {
    /// Indexes `def`.
    pub fn new(def: WorldDef) -> WorldBase {
        let index = |table: &TableDef| {
            let key = |row: &Object| row.get(&table.key).map(key_text);
            table.rows.iter().enumerate().filter_map(|(at, row)| Some((key(row)?, at))).collect()
        };
        WorldBase { keys: def.tables.iter().map(index).collect(), def }
    }

    /// Returns the definition.
    pub fn def(&self) -> &WorldDef {
        &self.def
    }
}

/// The world of one episode.
#[derive(Debug, Clone)]
pub struct World {
    base: Arc<WorldBase>,
    tables: Vec<TableChanges>,
    faults: Vec<FaultProgress>,
    elapsed_s: u64,
    /// The number of row changes.
    change_count: u64,
}

/// The changes of one episode to one table.
#[derive(Debug, Clone, Default)]
struct TableChanges {
    /// Base rows that were replaced, or removed (`None`).
    replaced: BTreeMap<usize, Option<Object>>,
    /// The rows that were added and not removed, in order.
    added: Vec<Object>,
    /// The number of generated keys.
    generated_keys: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct FaultProgress {
    matching_calls: u32,
    injected: u32,
    /// The simulated time of the last injection.
    last_injected_s: u64,
}

impl World {
    /// Creates a world in its initial state.
    pub fn new(base: Arc<WorldBase>) -> World {
        World {
            tables: vec![TableChanges::default(); base.def.tables.len()],
            faults: vec![FaultProgress::default(); base.def.faults.len()],
            elapsed_s: 0,
            change_count: 0,
            base,
        }
    }

    /// Advances the simulated time.
    pub fn wait(&mut self, seconds: u32) {
        self.elapsed_s += u64::from(seconds);
    }

    /// Returns true if calls are still answered as in the initial state: no row was changed, no key was generated and
    /// no fault has counted a call. Two fresh worlds give the same answer to the same call.
    pub fn is_fresh(&self) -> bool {
        self.change_count == 0
            && self.tables.iter().all(|table| table.generated_keys == 0)
            && self.faults.iter().all(|fault| fault.matching_calls == 0)
    }

    /// Returns the current rows of a table, in order; empty if the table does not exist.
    pub fn rows(&self, table: &str) -> Vec<&Object> {
        self.table_index(table).map(|at| self.iter(at).collect()).unwrap_or_default()
    }

    /// Returns the initial state.
    pub fn base(&self) -> &WorldBase {
        &self.base
    }

    /// Returns the edited rows of a table as `(before, after)`; `before` is `None` for an added row and `after` for a
    /// removed one. The two may be equal.
    pub fn edits(&self, table: &str) -> impl Iterator<Item = (Option<&Object>, Option<&Object>)> {
        self.table_index(table).into_iter().flat_map(|at| {
            let rows = &self.base.def.tables[at].rows;
            let TableChanges { replaced, added, .. } = &self.tables[at];
            let replaced = replaced.iter().map(|(index, row)| (rows.get(*index), row.as_ref()));
            replaced.chain(added.iter().map(|row| (None, Some(row))))
        })
    }

    /// Returns true if a table has its initial rows, or does not exist.
    pub fn is_unchanged(&self, table: &str) -> bool {
        self.table_index(table).is_none_or(|at| {
            let rows = &self.base.def.tables[at].rows;
            let TableChanges { replaced, added, .. } = &self.tables[at];
            added.is_empty() && replaced.iter().all(|(index, row)| row.as_ref() == rows.get(*index))
        })
    }

    /// Returns a number that increases with every changed row.
    pub(crate) fn change_count(&self) -> u64 {
        self.change_count
    }

    pub(crate) fn role(&self) -> Option<&str> {
        self.base.def.role.as_deref()
    }

    pub(crate) fn table_index(&self, name: &str) -> Option<usize> {
        self.base.def.tables.iter().position(|table| table.name == name)
    }

    pub(crate) fn table_def(&self, at: usize) -> &TableDef {
        &self.base.def.tables[at]
    }

    pub(crate) fn iter(&self, at: usize) -> impl Iterator<Item = &Object> {
        let changes = &self.tables[at];
        let base = self.base.def.tables[at].rows.iter().enumerate();
        let remaining = base.filter_map(|(index, row)| match changes.replaced.get(&index) {
            None => Some(row),
            Some(replacement) => replacement.as_ref(),
        });
        remaining.chain(&changes.added)
    }

    pub(crate) fn find(&self, at: usize, key: &Value) -> Option<&Object> {
        let text = key_text(key);
        let changes = &self.tables[at];
        if let Some(index) = self.base.keys[at].get(&text) {
            return match changes.replaced.get(index) {
                None => self.base.def.tables[at].rows.get(*index),
                Some(replacement) => replacement.as_ref(),
            };
        }
        let column = &self.base.def.tables[at].key;
        changes.added.iter().find(|row| row.get(column).map(key_text).as_deref() == Some(&text))
    }

    /// Replaces the row with this key, or removes it if `row` is `None`. Returns true if there was such a row.
    pub(crate) fn set_row(&mut self, at: usize, key: &Value, row: Option<Object>) -> bool {
        if self.find(at, key) != row.as_ref() {
            self.change_count += 1;
        }
        let text = key_text(key);
        let column = &self.base.def.tables[at].key;
        let changes = &mut self.tables[at];
        if let Some(index) = self.base.keys[at].get(&text) {
            if matches!(changes.replaced.get(index), Some(None)) {
                return false;
            }
            changes.replaced.insert(*index, row);
            return true;
        }
        let position = changes.added.iter().position(|row| row.get(column).map(key_text).as_deref() == Some(&text));
        match (position, row) {
            (None, _) => false,
            (Some(position), Some(row)) => {
                changes.added[position] = row;
                true
            }
            (Some(position), None) => {
                changes.added.remove(position);
                true
            }
        }
    }

    /// Adds a row. Its key must not exist.
    pub(crate) fn add(&mut self, at: usize, row: Object) -> &Object {
        self.change_count += 1;
        let added = &mut self.tables[at].added;
        let position = added.len();
        added.push(row);
        &added[position]
    }

    /// Generates an unused key: the prefix and a number greater than the count of base rows.
    pub(crate) fn next_key(&mut self, at: usize) -> Value {
        loop {
            let table = &self.base.def.tables[at];
            self.tables[at].generated_keys += 1;
            let number = table.rows.len() + self.tables[at].generated_keys;
            let key = if table.key_prefix.is_empty() {
                Value::from(number)
            } else {
                Value::from(format!("{}{number}", table.key_prefix))
            };
            if self.find(at, &key).is_none() {
                return key;
            }
        }
    }

    /// Counts a valid call and returns the fault that affects it, if any.
    pub(crate) fn inject_fault(&mut self, tool: &str, action: &str) -> Option<ToolFailure> {
        let mut injected = None;
        for (def, progress) in self.base.def.faults.iter().zip(&mut self.faults) {
            let matches = def.tool == tool && def.action.as_deref().is_none_or(|name| name == action);
            if !matches {
                continue;
            }
            progress.matching_calls += 1;
            let due = progress.matching_calls >= def.from_call && progress.injected < def.calls;
            let waited_out = progress.injected > 0
                && def.kind == FaultKind::RateLimited
                && def.retry_after.is_some_and(|s| self.elapsed_s >= progress.last_injected_s + u64::from(s));
            if waited_out {
                progress.injected = def.calls;
            } else if due && injected.is_none() {
                progress.injected += 1;
                progress.last_injected_s = self.elapsed_s;
                injected = Some(fault_failure(def));
            }
        }
        injected
    }
}

fn fault_failure(def: &FaultDef) -> ToolFailure {
    let (code, message, recovery) = match def.kind {
        FaultKind::RateLimited => ("RATE_LIMITED", "Too many requests.", None),
        FaultKind::Timeout => ("TIMEOUT", "The operation timed out.", Some("Try the same call again.")),
        FaultKind::Busy => ("SERVER_BUSY", "The server is busy.", Some("Try the same call again.")),
        FaultKind::Internal => ("INTERNAL_ERROR", "An unexpected error occurred.", Some("Try the same call again.")),
    };
    ToolFailure {
        recovery: recovery.map(str::to_owned),
        retry_after: def.retry_after,
        ..ToolFailure::new(code, message)
    }
}

/// Formats a key so that equal keys have equal texts, and a string and a number have different ones.
fn key_text(key: &Value) -> String {
    match key {
        // The common case, without a formatter. Serializing a string cannot fail.
        Value::String(key) => serde_json::to_string(key).unwrap_or_default(),
        other => other.to_string(),
    }
}
