//! Streams of random draws.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::Move;
use crate::decisions::{Question, RecordedStream};
use crate::draw_key::DrawKey;
use crate::moves::Shares;

impl DrawKey {
    /// Returns the independent stream of draws for the `n`-th use of `purpose`.
    pub fn draws(&self, purpose: &str, n: u64) -> Draws {
        let numbers = ChaCha8Rng::from_seed(self.stream_seed(purpose, n));
        Draws { numbers, recorded: RecordedStream::new(self, purpose, n) }
    }
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

impl Question {
    /// Draws the answer.
    pub fn ask(&self, draws: &mut Draws) -> u64 {
        match self {
            Question::Chance(p) => u64::from(draws.chance(*p)),
            Question::Below(n) => draws.below(*n),
            Question::Move(shares) => draws.pick_move(*shares) as u64,
        }
    }
}

/// Streams of a key that answer the questions of a recording again.
#[derive(Debug)]
pub struct Answers {
    key: DrawKey,
    streams: Vec<Draws>,
}

impl Answers {
    /// Answers for `key`, from the first question on.
    pub fn new(key: DrawKey) -> Answers {
        Answers { key, streams: Vec::new() }
    }

    /// Answers the next question of a recording; `None` if its stream is not open.
    pub fn next(&mut self, stream: usize, opened: Option<&(Box<str>, u64)>, question: &Question) -> Option<u64> {
        if let Some((purpose, n)) = opened {
            self.streams.push(self.key.draws(purpose, *n));
        }
        self.streams.get_mut(stream).map(|draws| question.ask(draws))
    }
}

/// Returns a number in `[0, 1)` with the upper 53 bits.
fn unit_of(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

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
