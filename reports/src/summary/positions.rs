//! The calls of episodes by their number: how failures thin out from the first call to the later ones.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// The calls that were the n-th of their episode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallsAt {
    /// The n: 1 to 12, and 13 for that and all later ones.
    pub number: u32,
    /// Calls that succeeded.
    pub ok: u64,
    /// Calls that failed, by what kind of failure it was.
    pub errors: BTreeMap<String, u64>,
}

impl CallsAt {
    /// Calls that failed in another way than these.
    pub fn errors_beside(&self, classes: &[String]) -> u64 {
        self.errors.iter().filter(|(class, _)| !classes.contains(class)).map(|(_, calls)| calls).sum()
    }
}

/// The most frequent error classes of all that rows have, the most frequent first, and of equals in the order of their names.
pub(super) fn frequent<'a>(rows: impl Iterator<Item = &'a CallsAt>) -> Vec<String> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (class, calls) in rows.flat_map(|row| &row.errors) {
        *counts.entry(class).or_default() += calls;
    }
    let mut classes: Vec<(&str, u64)> = counts.into_iter().collect();
    classes.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
    classes.into_iter().take(CLASSES).map(|(class, _)| class.to_owned()).collect()
}

/// Error classes that are told apart.
const CLASSES: usize = 7;

/// Calls from this number on are counted together.
pub const LATER: u32 = 13;

/// Calls by their number, without the episodes that they belong to.
#[derive(Debug, Clone, Default)]
pub(super) struct Positions {
    calls: Vec<CallsAt>,
}

impl Positions {
    /// Counts the call with this number in its episode, from 1; a call that failed with what kind of failure it was.
    pub(super) fn add(&mut self, number: u32, error: Option<&str>) {
        let index = number.clamp(1, LATER) as usize - 1;
        while self.calls.len() <= index {
            self.calls.push(CallsAt { number: self.calls.len() as u32 + 1, ..CallsAt::default() });
        }
        let calls = &mut self.calls[index];
        match error {
            None => calls.ok += 1,
            Some(class) => match calls.errors.get_mut(class) {
                Some(count) => *count += 1,
                None => {
                    calls.errors.insert(class.to_owned(), 1);
                }
            },
        }
    }

    /// One entry a number, in order.
    pub(super) fn calls(&self) -> &[CallsAt] {
        &self.calls
    }
}
