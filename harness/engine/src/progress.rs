//! The progress of an episode: calls, seconds and tokens, to which rules and computed columns can refer.

use std::cell::Cell;

use healbench_core::{DrawKey, Seed};
use serde_json::Value;

use crate::definition::Progress;

/// The state of an episode during one call.
#[derive(Debug)]
pub(crate) struct Now {
    calls: Value,
    seconds: Value,
    /// The number of tokens that were made in the episode.
    tokens: Cell<u64>,
}

impl Now {
    pub(crate) fn new(calls: u64, seconds: u64, tokens: u64) -> Now {
        Now { calls: calls.into(), seconds: seconds.into(), tokens: Cell::new(tokens) }
    }

    pub(crate) fn of(&self, progress: Progress) -> &Value {
        match progress {
            Progress::Calls => &self.calls,
            Progress::Seconds => &self.seconds,
        }
    }

    /// Makes another token of this episode. It depends on the number of those before alone, so that it is equal in all conditions.
    pub(crate) fn token(&self, prefix: &str) -> String {
        self.tokens.set(self.tokens.get() + 1);
        opaque(prefix, "token", self.tokens.get())
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.tokens.get()
    }
}

/// Returns a text that cannot be guessed: the prefix, and 12 letters and digits that `purpose` and `n` decide.
pub(crate) fn opaque(prefix: &str, purpose: &str, n: u64) -> String {
    // Without those that look alike.
    const SIGNS: &[u8] = b"23456789abcdefghjkmnpqrstuvwxyz";
    let mut draws = DrawKey::of_run(Seed(0)).draws(purpose, n);
    let sign = |_| draws.pick(SIGNS).map_or('x', |sign| char::from(*sign));
    prefix.chars().chain((0..12).map(sign)).collect()
}
