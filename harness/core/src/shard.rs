use std::fmt::{self, Write as _};
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Plan;

/// One or more of several parts of a plan that are run separately, for example on different machines, and merged afterwards.
///
/// The trials of scenarios are dealt out to the shards in turn, so that every shard has the same mix of scenarios, agents and
/// conditions, and takes about as long as every other. All agents and conditions of one trial are in the same shard: what is
/// compared was run by the same machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shards {
    /// The number of parts.
    count: u32,
    /// The numbers of the parts, from 1, in ascending order.
    numbers: Vec<u32>,
}

/// The error for text that is not a valid list of shards.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no shard: `I/N` with I from 1 to N, as in `1/4`, or several as in `1-3,7/10`")]
pub struct InvalidShard(String);

/// The largest number of parts of a plan.
pub const MAX_SHARDS: u32 = 100_000;

impl Shards {
    /// Creates the shards with these numbers, from 1, in any order. Returns `None` unless there is at least one, and each is at
    /// most `count` and occurs once.
    pub fn new(mut numbers: Vec<u32>, count: u32) -> Option<Shards> {
        numbers.sort_unstable();
        let shards = Shards { count, numbers };
        shards.is_valid().then_some(shards)
    }

    /// Returns the numbers of the parts, from 1, in ascending order.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Returns the number of parts of the plan.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns true if the numbers are in order and in range; a deserialized manifest may contain any values.
    pub fn is_valid(&self) -> bool {
        let in_order = self.numbers.windows(2).all(|pair| pair[0] < pair[1]);
        let (first, last) = (self.numbers.first(), self.numbers.last());
        self.count <= MAX_SHARDS
            && in_order
            && first.is_some_and(|first| *first >= 1)
            && last.is_some_and(|last| *last <= self.count)
    }

    /// Returns the number of units below `end` that belong to the shards. Unit `u` belongs to the shard `u % count + 1`.
    fn units_below(&self, end: u64) -> u64 {
        let (rounds, rest) = (end / u64::from(self.count), end % u64::from(self.count));
        rounds * self.numbers.len() as u64 + self.numbers.partition_point(|number| u64::from(*number) <= rest) as u64
    }

    /// Returns the unit of the shards at this position among their units.
    fn unit(&self, position: u64) -> u64 {
        let members = self.numbers.len() as u64;
        let (round, member) = (position / members, (position % members) as usize);
        round * u64::from(self.count) + u64::from(self.numbers[member]) - 1
    }

    fn has_unit(&self, unit: u64) -> bool {
        let number = (unit % u64::from(self.count)) as u32 + 1;
        self.numbers.binary_search(&number).is_ok()
    }
}

impl fmt::Display for Shards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", format_numbers(&self.numbers), self.count)
    }
}

/// Formats ascending numbers with ranges: `1-3,7`.
pub fn format_numbers(numbers: &[u32]) -> String {
    let mut text = String::new();
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a `String` cannot fail.
        let _ = match run {
            [first, .., last] => write!(text, "{comma}{first}-{last}"),
            _ => write!(text, "{comma}{}", run[0]),
        };
    }
    text
}

impl FromStr for Shards {
    type Err = InvalidShard;

    fn from_str(text: &str) -> Result<Shards, InvalidShard> {
        let parsed = text.split_once('/').and_then(|(list, count)| {
            let count: u32 = count.parse().ok().filter(|count| *count <= MAX_SHARDS)?;
            let mut numbers = Vec::new();
            for part in list.split(',') {
                let (first, last) = part.split_once('-').unwrap_or((part, part));
                let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
                if first > last || last > count {
                    return None;
                }
                numbers.extend(first..=last);
            }
            Shards::new(numbers, count)
        });
        parsed.ok_or_else(|| InvalidShard(text.to_owned()))
    }
}

/// The episodes of a plan or of some of its shards, or a part of them, in the order of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Episodes {
    /// `None` for the whole plan, whose episodes are their own positions.
    sharded: Option<Sharded>,
    positions: Range<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Sharded {
    shards: Shards,
    scenarios: u64,
    trials: u64,
    /// The number of cells of a scenario.
    cells: u64,
}

impl Sharded {
    /// Returns the number of episodes of the shards before this scenario.
    fn before(&self, scenario: u64) -> u64 {
        self.shards.units_below(scenario * self.trials) * self.cells
    }

    fn episode(&self, position: u64) -> u64 {
        // The last scenario that starts at the position or before, and has episodes.
        let (mut scenario, mut end) = (0, self.scenarios);
        while end - scenario > 1 {
            let middle = scenario.midpoint(end);
            if self.before(middle) <= position { scenario = middle } else { end = middle }
        }
        let first_unit = self.shards.units_below(scenario * self.trials);
        let trials_here = self.shards.units_below((scenario + 1) * self.trials) - first_unit;
        let within = position - first_unit * self.cells;
        let (cell, trial) = (within / trials_here, self.shards.unit(first_unit + within % trials_here));
        (scenario * self.cells + cell) * self.trials + trial - scenario * self.trials
    }

    /// Returns the position of an episode; `None` if it is in another shard.
    fn position(&self, episode: u64) -> Option<u64> {
        let (cell, trial) = (episode / self.trials, episode % self.trials);
        let (scenario, cell) = (cell / self.cells, cell % self.cells);
        let unit = scenario * self.trials + trial;
        if !self.shards.has_unit(unit) {
            return None;
        }
        let first_unit = self.shards.units_below(scenario * self.trials);
        let trials_here = self.shards.units_below((scenario + 1) * self.trials) - first_unit;
        Some(first_unit * self.cells + cell * trials_here + self.shards.units_below(unit) - first_unit)
    }
}

impl Episodes {
    /// Returns all episodes of a plan, or those of these shards.
    pub fn of(plan: &Plan, shards: Option<&Shards>) -> Episodes {
        let scenarios = plan.scenarios.len() as u64;
        let cells = plan.cells().checked_div(scenarios).unwrap_or(0);
        let Some(shards) = shards.filter(|_| !plan.is_empty()) else { return (0..plan.len()).into() };
        let sharded = Sharded { shards: shards.clone(), scenarios, trials: plan.trials.into(), cells };
        let positions = 0..sharded.before(scenarios);
        Episodes { sharded: Some(sharded), positions }
    }

    /// Returns the number of episodes.
    pub fn len(&self) -> u64 {
        self.positions.end.saturating_sub(self.positions.start)
    }

    /// Returns true if there are no episodes.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Returns the episode at this index; `None` past the end.
    pub fn get(&self, index: u64) -> Option<u64> {
        let position = self.positions.start.checked_add(index).filter(|position| *position < self.positions.end)?;
        Some(self.sharded.as_ref().map_or(position, |sharded| sharded.episode(position)))
    }

    /// Returns true if the episode is one of them.
    pub fn contains(&self, episode: u64) -> bool {
        let position = self.sharded.as_ref().map_or(Some(episode), |sharded| sharded.position(episode));
        position.is_some_and(|position| self.positions.contains(&position))
    }

    /// Returns the episodes in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Returns the number of episodes in a range of the plan.
    pub fn count_in(&self, range: Range<u64>) -> u64 {
        let below = |end: u64| {
            let (mut low, mut high) = (0, self.len());
            while low < high {
                let middle = low.midpoint(high);
                if self.get(middle).is_some_and(|episode| episode < end) { low = middle + 1 } else { high = middle }
            }
            low
        };
        below(range.end).saturating_sub(below(range.start))
    }

    /// Splits the episodes into the first ones, and the rest.
    #[must_use]
    pub fn split_at(&self, first: u64) -> (Episodes, Episodes) {
        let middle = self.positions.end.min(self.positions.start.saturating_add(first));
        let part = |positions| Episodes { sharded: self.sharded.clone(), positions };
        (part(self.positions.start..middle), part(middle..self.positions.end))
    }
}

impl From<Range<u64>> for Episodes {
    /// Returns a range of the episodes of a plan.
    fn from(positions: Range<u64>) -> Episodes {
        Episodes { sharded: None, positions }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::plan::tests::plan_of;

    fn one(number: u32, count: u32) -> Shards {
        Shards::new(vec![number], count).unwrap()
    }

    #[test]
    fn each_episode_is_in_one_shard_at_its_position() {
        for (scenarios, agents, conditions, trials) in [(1, 1, 1, 1), (3, 2, 2, 5), (4, 1, 3, 8), (7, 1, 1, 1)] {
            let plan = plan_of(scenarios, agents, conditions, trials);
            for count in [1, 2, 3, 4, 5, 8, 50] {
                let mut owner = BTreeMap::new();
                for number in 1..=count {
                    let episodes = Episodes::of(&plan, Some(&one(number, count)));
                    let listed: Vec<u64> = episodes.iter().collect();
                    assert_eq!(listed.len() as u64, episodes.len());
                    assert!(listed.is_sorted(), "{listed:?}");
                    for (index, episode) in listed.iter().enumerate() {
                        assert!(owner.insert(*episode, number).is_none());
                        let (before, after) = episodes.split_at(index as u64);
                        assert!(!before.contains(*episode) && after.contains(*episode));
                        assert_eq!(after.get(0), Some(*episode));
                    }
                    assert_eq!(episodes.get(episodes.len()), None);
                }
                assert_eq!(owner.len() as u64, plan.len());
                let trial = |episode: u64| plan.cell(episode).map(|cell| (cell.scenario, cell.trial)).unwrap();
                let mut together: BTreeMap<_, Vec<u32>> = BTreeMap::new();
                for (episode, number) in &owner {
                    together.entry(trial(*episode)).or_default().push(*number);
                }
                assert!(together.values().all(|numbers| numbers.iter().all(|number| *number == numbers[0])));
            }
        }
    }

    #[test]
    fn shards_are_as_equal_as_whole_trials_allow() {
        let plan = plan_of(9, 2, 4, 30);
        let sizes: Vec<u64> = (1..=7).map(|number| Episodes::of(&plan, Some(&one(number, 7))).len()).collect();
        assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 8, "{sizes:?}");
        // Each scenario is in each shard, so none has the slow ones.
        for number in 1..=7 {
            let episodes = Episodes::of(&plan, Some(&one(number, 7)));
            let found: std::collections::BTreeSet<usize> =
                episodes.iter().map(|episode| plan.cell(episode).unwrap().scenario).collect();
            assert_eq!(found.len(), 9);
        }
    }

    #[test]
    fn several_shards_have_the_episodes_of_each() {
        let plan = plan_of(3, 2, 2, 5);
        let several = Episodes::of(&plan, Some(&"1-2,4/4".parse().unwrap()));
        let mut expected: Vec<u64> = [1, 2, 4]
            .into_iter()
            .flat_map(|number| Episodes::of(&plan, Some(&one(number, 4))).iter().collect::<Vec<_>>())
            .collect();
        expected.sort_unstable();
        assert_eq!(several.iter().collect::<Vec<_>>(), expected);
        assert!((0..plan.len()).all(|episode| several.contains(episode) == expected.contains(&episode)));
        for range in [0..0, 3..4, 7..31, 0..plan.len(), 59..200] {
            let count = expected.iter().filter(|episode| range.contains(episode)).count() as u64;
            assert_eq!(several.count_in(range), count);
        }
    }

    #[test]
    fn parsing() {
        for text in ["2/4", "1-3,7/10", "1,3/3", "1-4/4"] {
            assert_eq!(text.parse::<Shards>().unwrap().to_string(), text);
        }
        for text in
            ["0/4", "5/4", "1", "1/0", "a/b", "1/2/3", "-1/2", "", "1,1/4", "3-2/4", "1-2,2/4", "1/100001", ",1/2"]
        {
            assert!(text.parse::<Shards>().is_err(), "{text}");
        }
    }
}
