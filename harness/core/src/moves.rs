//! The moves of an agent after errors, as shares by the kind of the error.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ERROR_KINDS, ErrorKind, Move};

/// The shares of moves after an error of one kind; the rest is stopping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shares {
    /// The call is changed.
    pub changed: f64,
    /// The same call is made again.
    pub repeated: f64,
    /// Another tool or action is called.
    pub other_tool: f64,
}

/// The moves of an agent. Probabilities and shares lie in `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moves {
    /// By the kind of the error, in the order of [`ERROR_KINDS`].
    #[serde(with = "by_kind")]
    pub shares: [Shares; ERROR_KINDS.len()],
    /// The probability that a change is right where the text says what to change.
    pub right_told: f64,
    /// The probability that a change is right where it does not.
    pub right_untold: f64,
    /// The probability of repeating the call again after a repeat.
    pub repeat_again: f64,
    /// The factor of the odds of stopping from the second error of a chain on.
    pub later_stop: f64,
}

impl Shares {
    /// Returns true for shares of 0 to 1 that add up to 1 at most.
    pub fn is_valid(self) -> bool {
        let all = [self.changed, self.repeated, self.other_tool];
        all.into_iter().all(is_share) && all.iter().sum::<f64>() <= 1.0 + 1e-9
    }

    /// Returns the share of stopping.
    pub fn stopped(self) -> f64 {
        (1.0 - self.changed - self.repeated - self.other_tool).max(0.0)
    }

    /// Returns the shares of changing, repeating, calling another tool, and stopping.
    pub fn all(self) -> [f64; 4] {
        [self.changed, self.repeated, self.other_tool, self.stopped()]
    }

    /// Returns the move at a place in `[0, 1)`.
    pub(crate) fn at(self, place: f64) -> Move {
        let ends = [
            (self.changed, Move::Changed),
            (self.changed + self.repeated, Move::Repeated),
            (self.changed + self.repeated + self.other_tool, Move::OtherTool),
        ];
        ends.into_iter().find(|(end, _)| place < *end).map_or(Move::Stopped, |(_, made)| made)
    }

    fn times(self, factor: f64) -> Shares {
        Shares {
            changed: self.changed * factor,
            repeated: self.repeated * factor,
            other_tool: self.other_tool * factor,
        }
    }
}

impl Moves {
    /// Returns the probability that a change is right.
    pub fn right(&self, states_remedy: bool) -> f64 {
        if states_remedy { self.right_told } else { self.right_untold }
    }

    /// Returns true for probabilities, shares and a factor within their limits.
    pub fn is_valid(&self) -> bool {
        let own = [self.right_told, self.right_untold, self.repeat_again];
        own.into_iter().all(is_share)
            && is_factor(self.later_stop)
            && self.shares.iter().all(|shares| shares.is_valid())
    }

    /// Returns the shares of the next move; `before` is the move after the error before in the chain, if there was one.
    pub fn after(&self, kind: ErrorKind, before: Option<Move>) -> Shares {
        let mut shares = self.shares[kind as usize];
        if before.is_some() {
            let stopped = shares.stopped();
            let odds = self.later_stop * stopped / (1.0 - stopped);
            let later = if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 };
            shares = if stopped < 1.0 { shares.times((1.0 - later) / (1.0 - stopped)) } else { shares };
        }
        if before == Some(Move::Repeated) {
            let others = 1.0 - shares.repeated;
            let factor = if others > 0.0 { (1.0 - self.repeat_again) / others } else { 0.0 };
            shares = Shares { repeated: self.repeat_again, ..shares.times(factor) };
        }
        shares
    }
}

fn is_share(number: f64) -> bool {
    (0.0..=1.0).contains(&number)
}

/// Returns true for a factor of odds.
fn is_factor(number: f64) -> bool {
    number >= 0.0 && number.is_finite()
}

/// Stores shares under the names of the kinds.
mod by_kind {
    use serde::{Deserializer, Serializer};

    use super::*;

    type Table = [Shares; ERROR_KINDS.len()];

    pub(super) fn serialize<S: Serializer>(shares: &Table, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(ERROR_KINDS.iter().map(|entry| entry.name).zip(shares))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Table, D::Error> {
        let mut named = BTreeMap::<String, Shares>::deserialize(deserializer)?;
        let mut shares = [Shares::default(); ERROR_KINDS.len()];
        for (share, entry) in shares.iter_mut().zip(&ERROR_KINDS) {
            let found = named.remove(entry.name);
            *share =
                found.ok_or_else(|| serde::de::Error::custom(format!("there are no shares of `{}`", entry.name)))?;
        }
        match named.into_keys().next() {
            Some(unknown) => Err(serde::de::Error::custom(format!("`{unknown}` is no kind of error"))),
            None => Ok(shares),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(changed: f64, repeated: f64, other_tool: f64) -> Moves {
        let shares = [Shares { changed, repeated, other_tool }; ERROR_KINDS.len()];
        Moves { shares, right_told: 1.0, right_untold: 0.0, repeat_again: 0.9, later_stop: 2.0 }
    }

    fn close(found: Shares, expected: [f64; 3]) {
        let found = [found.changed, found.repeated, found.other_tool];
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn later_errors_stop_more_often_and_repeats_repeat() {
        let moves = moves(0.5, 0.2, 0.1);
        close(moves.after(ErrorKind::Value, None), [0.5, 0.2, 0.1]);
        // The odds of stopping, 0.2 to 0.8, double to 1 to 2; the rest keeps its proportions.
        close(moves.after(ErrorKind::Value, Some(Move::Changed)), [5.0 / 12.0, 1.0 / 6.0, 1.0 / 12.0]);
        let after = moves.after(ErrorKind::Value, Some(Move::Repeated));
        close(after, [0.05, 0.9, 0.01]);
        assert!((after.stopped() - 0.04).abs() < 1e-12);
        close(self::moves(0.0, 0.0, 0.0).after(ErrorKind::Value, Some(Move::Changed)), [0.0; 3]);
        close(self::moves(0.0, 1.0, 0.0).after(ErrorKind::Value, Some(Move::Repeated)), [0.0, 0.9, 0.0]);
    }

    #[test]
    fn a_place_is_a_move() {
        let shares = Shares { changed: 0.5, repeated: 0.2, other_tool: 0.1 };
        let made = [0.0, 0.49, 0.5, 0.69, 0.7, 0.79, 0.8, 0.99].map(|place| shares.at(place).name());
        let expected = ["changed", "changed", "repeated", "repeated", "other_tool", "other_tool", "stopped", "stopped"];
        assert_eq!(made, expected);
    }
}
