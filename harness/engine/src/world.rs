//! The state of the simulated environment: the initial rows, shared by all episodes, and the changes of one episode.
//!
//! It is called `world` in scenario files.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use healbench_core::{DrawKey, Object};
use serde_json::Value;

use crate::definition::{FaultDef, TableDef, WorldDef};
use crate::faults::Faults;
use crate::progress::Now;

/// The indexed initial state of an environment, created once and shared by all episodes of a scenario.
#[derive(Debug)]
pub struct WorldBase {
    def: WorldDef,
    /// For each table, the row index by key.
    keys: Vec<HashMap<String, usize>>,
    /// For each table, the number that generated keys continue.
    last_numbers: Vec<u64>,
    faults: Arc<[FaultDef]>,
}

impl WorldBase {
    /// Indexes `def`.
    pub fn new(def: WorldDef) -> WorldBase {
        let index = |table: &TableDef| {
            let key = |row: &Object| row.get(&table.key).map(key_text);
            table.rows.iter().enumerate().filter_map(|(at, row)| Some((key(row)?, at))).collect()
        };
        WorldBase {
            keys: def.tables.iter().map(index).collect(),
            last_numbers: def.tables.iter().map(last_number).collect(),
            faults: def.faults.as_slice().into(),
            def,
        }
    }

    /// Creates the faults of a new episode.
    pub fn new_faults(&self) -> Faults {
        Faults::new(Arc::clone(&self.faults), self.def.clock)
    }

    /// Returns the definition.
    pub fn def(&self) -> &WorldDef {
        &self.def
    }
}

/// The state of the environment in one episode: its tables, and the faults that calls meet before they reach the
/// tables.
#[derive(Debug, Clone)]
pub struct World {
    pub(crate) tables: Tables,
    pub(crate) faults: Faults,
}

impl World {
    /// Creates the initial state.
    pub fn new(base: Arc<WorldBase>) -> World {
        World { faults: base.new_faults(), tables: Tables::new(base) }
    }

    /// Sets the key of what faults draw.
    #[must_use]
    pub fn with_draws(mut self, draws: DrawKey) -> World {
        self.faults = self.faults.with_draws(draws);
        self
    }

    /// Removes all faults.
    #[must_use]
    pub fn without_faults(self) -> World {
        World { faults: Faults::none(), ..self }
    }

    /// Advances the simulated time.
    pub fn wait(&mut self, seconds: u32) {
        self.faults.wait(seconds);
        self.tables.wait(seconds);
    }

    /// Returns the tables.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }
}

/// The tables of one episode.
#[derive(Debug, Clone)]
pub struct Tables {
    base: Arc<WorldBase>,
    changes: Vec<TableChanges>,
    /// The number of changed rows.
    change_count: u64,
    progress: TablesProgress,
}

/// The progress of an episode. It stays when writes are taken back.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TablesProgress {
    calls: u64,
    seconds: u64,
    tokens: u64,
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

impl Tables {
    /// Creates the tables in their initial state.
    pub fn new(base: Arc<WorldBase>) -> Tables {
        Tables {
            changes: vec![TableChanges::default(); base.def.tables.len()],
            change_count: 0,
            progress: TablesProgress::default(),
            base,
        }
    }

    /// Returns true if calls are still answered as in the initial state: no row was changed and no key was generated.
    pub fn is_pristine(&self) -> bool {
        let is_untouched = self.change_count == 0 && self.progress.tokens == 0;
        is_untouched && self.changes.iter().all(|table| table.generated_keys == 0)
    }

    /// Advances the simulated time.
    pub(crate) fn wait(&mut self, seconds: u32) {
        self.progress.seconds += u64::from(seconds);
    }

    /// Returns true if a call was made or time has passed.
    pub(crate) fn has_progressed(&self) -> bool {
        self.progress.calls > 0 || self.progress.seconds > 0
    }

    /// Counts a call, and returns how far the episode has come.
    pub(crate) fn count_call(&mut self) -> Now {
        self.progress.calls += 1;
        let TablesProgress { calls, seconds, tokens } = self.progress;
        Now::new(calls, seconds, tokens)
    }

    /// Notes that the tokens of a call were used.
    pub(crate) fn keep_tokens(&mut self, now: &Now) {
        self.progress.tokens = now.tokens();
    }

    /// Takes back all writes since `before`.
    pub(crate) fn take_back(&mut self, before: Tables) {
        *self = Tables { progress: self.progress, ..before };
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
            let TableChanges { replaced, added, .. } = &self.changes[at];
            let replaced = replaced.iter().map(|(index, row)| (rows.get(*index), row.as_ref()));
            replaced.chain(added.iter().map(|row| (None, Some(row))))
        })
    }

    /// Returns true if a table has its initial rows, or does not exist.
    pub fn is_unchanged(&self, table: &str) -> bool {
        self.table_index(table).is_none_or(|at| {
            let rows = &self.base.def.tables[at].rows;
            let TableChanges { replaced, added, .. } = &self.changes[at];
            added.is_empty() && replaced.iter().all(|(index, row)| row.as_ref() == rows.get(*index))
        })
    }

    /// Returns the initial rows, at this time of the episode.
    pub(crate) fn at_start(&self) -> Tables {
        Tables { progress: self.progress, ..Tables::new(Arc::clone(&self.base)) }
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
        let changes = &self.changes[at];
        let base = self.base.def.tables[at].rows.iter().enumerate();
        let remaining = base.filter_map(|(index, row)| match changes.replaced.get(&index) {
            None => Some(row),
            Some(replacement) => replacement.as_ref(),
        });
        remaining.chain(&changes.added)
    }

    pub(crate) fn find(&self, at: usize, key: &Value) -> Option<&Object> {
        self.row(at, self.place(at, &key_text(key))?)
    }

    fn row(&self, at: usize, place: Place) -> Option<&Object> {
        let changes = &self.changes[at];
        match place {
            Place::Base(index) => match changes.replaced.get(&index) {
                None => self.base.def.tables[at].rows.get(index),
                Some(replacement) => replacement.as_ref(),
            },
            Place::Added(index) => changes.added.get(index),
        }
    }

    /// Returns the place of the row that has this key now: the key of a row may have changed.
    fn place(&self, at: usize, key: &str) -> Option<Place> {
        let changes = &self.changes[at];
        let column = &self.base.def.tables[at].key;
        let has_key = |row: &Object| row.get(column).map(key_text).as_deref() == Some(key);
        if let Some(index) = self.base.keys[at].get(key) {
            match changes.replaced.get(index) {
                None => return Some(Place::Base(*index)),
                Some(Some(row)) if has_key(row) => return Some(Place::Base(*index)),
                Some(_) => {}
            }
        }
        let replaced = changes.replaced.iter().find(|(_, row)| row.as_ref().is_some_and(has_key));
        let added = || changes.added.iter().position(has_key).map(Place::Added);
        replaced.map(|(index, _)| Place::Base(*index)).or_else(added)
    }

    /// Replaces the row with this key, or removes it if `row` is `None`. Returns true if the row changed.
    pub(crate) fn set_row(&mut self, at: usize, key: &Value, row: Option<Object>) -> bool {
        let Some(place) = self.place(at, &key_text(key)) else { return false };
        let changed = self.row(at, place) != row.as_ref();
        self.change_count += u64::from(changed);
        let changes = &mut self.changes[at];
        match (place, row) {
            (Place::Base(index), row) => drop(changes.replaced.insert(index, row)),
            (Place::Added(index), Some(row)) => changes.added[index] = row,
            (Place::Added(index), None) => drop(changes.added.remove(index)),
        }
        changed
    }

    /// Adds a row. Its key must not exist.
    pub(crate) fn add(&mut self, at: usize, row: Object) -> &Object {
        self.change_count += 1;
        let added = &mut self.changes[at].added;
        let position = added.len();
        added.push(row);
        &added[position]
    }

    /// Generates an unused key: the prefix, and a number that is higher than those of the base rows and than their count.
    pub(crate) fn next_key(&mut self, at: usize, as_text: bool) -> Value {
        loop {
            let table = &self.base.def.tables[at];
            self.changes[at].generated_keys += 1;
            let number = self.base.last_numbers[at].saturating_add(self.changes[at].generated_keys as u64);
            let key = if table.key_prefix.is_empty() && !as_text {
                Value::from(number)
            } else {
                Value::from(format!("{}{number}", table.key_prefix))
            };
            if self.find(at, &key).is_none() {
                return key;
            }
        }
    }
}

/// Returns the highest number in the keys of a table, or the count of its rows if that is higher.
fn last_number(table: &TableDef) -> u64 {
    let number = |key: &Value| match key {
        Value::String(text) => {
            let digits = text.strip_prefix(&table.key_prefix)?;
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
        }
        Value::Number(number) if table.key_prefix.is_empty() => number.as_u64(),
        _ => None,
    };
    let keys = table.rows.iter().filter_map(|row| row.get(&table.key));
    keys.filter_map(number).max().unwrap_or_default().max(table.rows.len() as u64)
}

/// The place of a row of a table.
#[derive(Debug, Clone, Copy)]
enum Place {
    Base(usize),
    Added(usize),
}

/// Formats a key so that equal keys have equal texts, such as 1 and 1.0, and a string and a number have different ones.
fn key_text(key: &Value) -> String {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match key {
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < EXACT => (float as i64).to_string(),
            _ => number.to_string(),
        },
        // The common case, without a formatter. Serializing a string cannot fail.
        Value::String(key) => serde_json::to_string(key).unwrap_or_default(),
        other => other.to_string(),
    }
}
