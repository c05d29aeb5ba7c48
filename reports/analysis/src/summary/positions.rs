//! Counts calls by their number in the episode, to show how failures decrease from the first call to later ones.

use std::collections::BTreeMap;

use healbench_core::ErrorClass;
use schemars::JsonSchema;
use serde::Serialize;

/// The calls that were the n-th of their episode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallsAt {
    /// The number n, from 1 to 12; 13 stands for all later calls.
    pub number: u32,
    /// Calls that succeeded.
    pub ok: u64,
    /// Calls that failed, by error class.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub errors: BTreeMap<ErrorClass, u64>,
}

impl CallsAt {
    /// Returns the number of failed calls whose class is not in `classes`.
    pub fn errors_outside(&self, classes: &[ErrorClass]) -> u64 {
        self.errors.iter().filter(|(class, _)| !classes.contains(class)).map(|(_, calls)| calls).sum()
    }
}

/// Returns the most frequent error classes of all rows, at most `MAX_CLASSES`, in descending order of frequency, then by name.
pub(super) fn frequent_classes<'a>(rows: impl Iterator<Item = &'a CallsAt>) -> Vec<ErrorClass> {
    let mut counts: BTreeMap<&ErrorClass, u64> = BTreeMap::new();
    for (class, calls) in rows.flat_map(|row| &row.errors) {
        *counts.entry(class).or_default() += calls;
    }
    let mut classes: Vec<(&ErrorClass, u64)> = counts.into_iter().collect();
    classes.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
    classes.into_iter().take(MAX_CLASSES).map(|(class, _)| class.clone()).collect()
}

/// The largest number of error classes shown separately.
const MAX_CLASSES: usize = 7;

/// Calls from this number on are counted together.
pub const LAST_CALL_NUMBER: u32 = 13;

/// The counts of calls by their number.
#[derive(Debug, Clone, Default)]
pub(super) struct CallPositions {
    calls: Vec<CallsAt>,
}

impl CallPositions {
    /// Counts the call with this number in its episode, from 1, with the name of its error class if it failed.
    pub(super) fn add(&mut self, number: u32, error: Option<&str>) {
        let index = number.clamp(1, LAST_CALL_NUMBER) as usize - 1;
        while self.calls.len() <= index {
            self.calls.push(CallsAt { number: self.calls.len() as u32 + 1, ..CallsAt::default() });
        }
        let calls = &mut self.calls[index];
        match error {
            None => calls.ok += 1,
            Some(class) => match calls.errors.get_mut(class) {
                Some(count) => *count += 1,
                None => {
                    calls.errors.insert(class.into(), 1);
                }
            },
        }
    }

    /// Returns one entry per number, in ascending order.
    pub(super) fn calls(&self) -> &[CallsAt] {
        &self.calls
    }
}
