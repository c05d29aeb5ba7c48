use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of several parts of a plan that are played apart, on several machines say, and put together afterwards. Parts are ranges of
/// episodes in the order of the plan, as equal as can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Shard {
    /// Which part, from 1.
    index: u32,
    /// Of how many.
    of: u32,
}

/// A word that is no shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no shard: `I/N` with I from 1 to N, as in `1/4`")]
pub struct NoShard(String);

impl Shard {
    /// The part with this number, from 1; `None` unless it is one of `of`.
    pub fn new(index: u32, of: u32) -> Option<Shard> {
        (1..=of).contains(&index).then_some(Shard { index, of })
    }

    /// Which part, from 1.
    pub fn index(self) -> u32 {
        self.index
    }

    /// Of how many.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Whether there is such a part: a manifest may say anything.
    pub fn is_valid(self) -> bool {
        Shard::new(self.index, self.of).is_some()
    }

    /// The episodes of this part of a plan of `total` episodes.
    pub fn episodes(self, total: u64) -> Range<u64> {
        let cut = |part: u32| (u128::from(total) * u128::from(part) / u128::from(self.of)) as u64;
        cut(self.index - 1)..cut(self.index)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Shard, NoShard> {
        let parts = text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        parts.and_then(|(index, of)| Shard::new(index, of)).ok_or_else(|| NoShard(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_plan_are_all_of_it_and_nearly_equal() {
        for (total, of) in [(0, 3), (1, 3), (10, 3), (2700, 7), (u64::MAX, 1000)] {
            let parts: Vec<Range<u64>> = (1..=of).map(|index| Shard::new(index, of).unwrap().episodes(total)).collect();
            assert_eq!((parts[0].start, parts[parts.len() - 1].end), (0, total));
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
            let sizes = || parts.iter().map(|part| part.end - part.start);
            assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1, "{total} {of}");
        }
    }

    #[test]
    fn words() {
        assert_eq!("2/4".parse::<Shard>().unwrap().to_string(), "2/4");
        for word in ["0/4", "5/4", "1", "1/0", "a/b", "1/2/3", "-1/2", ""] {
            assert!(word.parse::<Shard>().is_err(), "{word}");
        }
    }
}
