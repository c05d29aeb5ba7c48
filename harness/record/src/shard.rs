use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of several parts of a plan that are run separately, for example on different machines, and merged afterwards.
/// Parts are ranges of episodes in the order of the plan, with sizes as equal as possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Shard {
    /// The number of the part, from 1.
    index: u32,
    /// The number of parts.
    count: u32,
}

/// The error for text that is not a valid shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no shard: `I/N` with I from 1 to N, as in `1/4`")]
pub struct InvalidShard(String);

impl Shard {
    /// Creates the shard with number `index`, from 1; returns `None` unless it is at most `count`.
    pub fn new(index: u32, count: u32) -> Option<Shard> {
        (1..=count).contains(&index).then_some(Shard { index, count })
    }

    /// Returns the number of the part, from 1.
    pub fn index(self) -> u32 {
        self.index
    }

    /// Returns the number of parts.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Returns true if the number is in range; a deserialized manifest may contain any values.
    pub fn is_valid(self) -> bool {
        Shard::new(self.index, self.count).is_some()
    }

    /// Returns the episodes of this part in a plan of `total` episodes.
    pub fn episodes(self, total: u64) -> Range<u64> {
        let bound = |index: u32| (u128::from(total) * u128::from(index) / u128::from(self.count)) as u64;
        bound(self.index - 1)..bound(self.index)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = InvalidShard;

    fn from_str(text: &str) -> Result<Shard, InvalidShard> {
        let parts = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        parts.and_then(|(index, count)| Shard::new(index, count)).ok_or_else(|| InvalidShard(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_cover_the_plan_evenly() {
        for (total, count) in [(0, 3), (1, 3), (10, 3), (2700, 7), (u64::MAX, 1000)] {
            let parts: Vec<Range<u64>> =
                (1..=count).map(|index| Shard::new(index, count).unwrap().episodes(total)).collect();
            assert_eq!((parts[0].start, parts[parts.len() - 1].end), (0, total));
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
            let sizes = || parts.iter().map(|range| range.end - range.start);
            assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1, "{total} {count}");
        }
    }

    #[test]
    fn parsing() {
        assert_eq!("2/4".parse::<Shard>().unwrap().to_string(), "2/4");
        for text in ["0/4", "5/4", "1", "1/0", "a/b", "1/2/3", "-1/2", ""] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
