use std::fmt;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Move;
use crate::decisions::{Question, RecordedStream};
use crate::moves::Shares;

/// The seed of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The key of random draws: the run's seed and, depending on the use, scenario and trial. Nothing else may enter the
/// key, or cells that are compared would not get the same mistakes and faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawKey([u8; 32]);

impl DrawKey {
    /// Returns the key of draws made once per run: the resamples of its report.
    pub fn of_run(seed: Seed) -> DrawKey {
        DrawKey(hash(&[b"run", &seed.0.to_le_bytes()]))
    }

    /// Returns the key of draws shared by all trials of a scenario: its generated data.
    pub fn of_scenario(seed: Seed, scenario: &str) -> DrawKey {
        DrawKey(hash(&[b"scenario", &seed.0.to_le_bytes(), scenario.as_bytes()]))
    }

    /// Returns the key of draws that differ between trials: mistakes, and an agent's own draws.
    pub fn of_trial(seed: Seed, scenario: &str, trial: u32) -> DrawKey {
        DrawKey(hash(&[b"trial", &seed.0.to_le_bytes(), scenario.as_bytes(), &trial.to_le_bytes()]))
    }

    /// Returns the independent stream of draws for the `n`-th use of `purpose`.
    pub fn draws(&self, purpose: &str, n: u64) -> Draws {
        let key = hash(&[b"draws", &self.0, purpose.as_bytes(), &n.to_le_bytes()]);
        Draws { numbers: ChaCha8Rng::from_seed(key), recorded: RecordedStream::new(self, purpose, n) }
    }
}

/// Returns the SHA-256 of length-prefixed parts, so that different lists of parts cannot concatenate to the same input.
fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// A stream of random draws: ChaCha8, with the mappings to numbers defined here so that no dependency update changes
/// them.
#[derive(Debug)]
pub struct Draws {
    numbers: ChaCha8Rng,
    /// `None` unless decisions are recorded.
    recorded: Option<Box<RecordedStream>>,
}

impl Draws {
    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.recorded.iter_mut().for_each(|stream| stream.draw_other());
        self.numbers.next_u64()
    }

    /// Returns a number in `[0, 1)` with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        unit_of(self.bits())
    }

    /// Returns true with probability `p`. Always makes one draw, so that streams stay aligned for every `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        let answer = unit_of(self.numbers.next_u64()) < p;
        self.decide(Question::Chance(p), u64::from(answer));
        answer
    }

    /// Returns an unbiased integer in `0..n`, or 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        // Rejects the remainder of the 64-bit range, which would favour small results.
        let limit = u64::MAX - u64::MAX % n;
        let bits = loop {
            let bits = self.numbers.next_u64();
            if bits < limit {
                break bits;
            }
        };
        self.decide(Question::Below(n), bits % n);
        bits % n
    }

    /// Returns a move with these shares.
    pub fn pick_move(&mut self, shares: Shares) -> Move {
        let made = shares.at(unit_of(self.numbers.next_u64()));
        self.decide(Question::Move(shares), made as u64);
        made
    }

    fn decide(&mut self, question: Question, answer: u64) {
        if let Some(stream) = &mut self.recorded {
            stream.decide(question, answer);
        }
    }

    /// Returns a random element of `items`, or `None` if it is empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len() as u64) as usize)
    }

    /// Returns an integer in `low..=high`, or `low` if the range is empty.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        if high <= low {
            return low;
        }
        let span = high.wrapping_sub(low) as u64;
        let offset = if span == u64::MAX { self.bits() } else { self.below(span + 1) };
        low.wrapping_add(offset as i64)
    }
}

/// Returns a number in `[0, 1)` with the upper 53 bits.
fn unit_of(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values computed by a second implementation of RFC 8439 with eight rounds and a 64-bit counter. A change to any
    /// of them changes the results of every existing run and needs a new run format version.
    #[test]
    fn committed_vectors() {
        let key = DrawKey::of_trial(Seed(1), "quickstart/wrong-enum", 3);
        let mut draws = key.draws("mistake", 0);
        assert_eq!([draws.bits(), draws.bits(), draws.bits()], BITS);
        let mut draws = key.draws("mistake", 1);
        assert_eq!((0..8).map(|_| draws.below(10)).collect::<Vec<_>>(), BELOW);
        let mut draws = DrawKey::of_scenario(Seed(1), "quickstart/wrong-enum").draws("table/users", 0);
        assert_eq!((0..4).map(|_| draws.between(-5, 5)).collect::<Vec<_>>(), BETWEEN);
        assert_eq!(draws.unit().to_bits(), UNIT);
    }

    const BITS: [u64; 3] = [18_294_997_545_881_026_707, 8_817_360_112_912_006_651, 5_657_783_249_312_965_775];
    const BELOW: [u64; 8] = [0, 3, 8, 8, 7, 1, 2, 5];
    const BETWEEN: [i64; 4] = [-2, -4, -1, -1];
    const UNIT: u64 = 4_592_162_762_573_599_560;

    #[test]
    fn every_part_of_the_key_matters() {
        let first = |key: DrawKey, purpose, n| key.draws(purpose, n).bits();
        let all = [
            first(DrawKey::of_trial(Seed(1), "a", 0), "p", 0),
            first(DrawKey::of_trial(Seed(2), "a", 0), "p", 0),
            first(DrawKey::of_trial(Seed(1), "b", 0), "p", 0),
            first(DrawKey::of_trial(Seed(1), "a", 1), "p", 0),
            first(DrawKey::of_trial(Seed(1), "a", 0), "q", 0),
            first(DrawKey::of_trial(Seed(1), "a", 0), "p", 1),
            first(DrawKey::of_scenario(Seed(1), "a"), "p", 0),
            first(DrawKey::of_run(Seed(1)), "p", 0),
            first(DrawKey::of_run(Seed(2)), "p", 0),
        ];
        let distinct: std::collections::BTreeSet<u64> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn draws_stay_in_their_range() {
        let mut draws = DrawKey::of_scenario(Seed(7), "s").draws("p", 0);
        assert_eq!((draws.below(0), draws.below(1), draws.between(3, 3), draws.between(4, 3)), (0, 0, 3, 4));
        let whole = draws.between(i64::MIN, i64::MAX);
        assert_ne!(whole, draws.between(i64::MIN, i64::MAX));
        let mut seen = [0_u32; 6];
        for _ in 0..6000 {
            seen[usize::try_from(draws.between(-2, 3) + 2).unwrap()] += 1;
            assert!((0.0..1.0).contains(&draws.unit()));
        }
        // Six equal shares of 6,000: a share below 850 has a probability of about 1e-7.
        assert!(seen.iter().all(|count| *count > 850), "{seen:?}");
        assert_eq!(draws.pick::<u8>(&[]), None);
    }
}
