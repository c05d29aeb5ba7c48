use std::fmt;
use std::str::FromStr;

use healbench_record::Outcome;

use crate::metric::Metric;

/// How the trials of one cell and scenario ended, trial by trial. As text: `17 success, 2 limit, 1 false_success`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcomes(Vec<Ending>);

/// How one trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// The outcome.
    pub outcome: Outcome,
    /// Whether the agent claimed to be done while an expectation did not hold.
    pub false_success: bool,
    /// The rates that an outcome does not tell; all null for an agent without a model, whose rows are exact.
    pub flags: Flags,
}

/// Rates of one scored trial that its outcome does not tell. Null where the metric is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    /// Whether it succeeded where something was scheduled to go wrong.
    pub recovered: Option<bool>,
    /// Whether the first call succeeded.
    pub first_call_success: Option<bool>,
    /// Whether it got caught in an error spiral.
    pub stuck: Option<bool>,
}

impl Ending {
    /// Whether the rate is a yes; null where the trial does not count, and for what is no rate.
    pub fn is(self, rate: Metric) -> Option<bool> {
        let is = match rate {
            Metric::Success => Some(self.outcome == Outcome::Success),
            Metric::FalseSuccess => Some(self.false_success),
            Metric::Recovered => self.flags.recovered,
            Metric::FirstCallSuccess => self.flags.first_call_success,
            Metric::Stuck => self.flags.stuck,
            _ => None,
        };
        is.filter(|_| self.outcome.is_scored())
    }
}

/// What stands for a task that failed while the agent claimed to be done.
const FALSE_SUCCESS: &str = "false_success";

impl Ending {
    fn name(self) -> &'static str {
        if self.false_success { FALSE_SUCCESS } else { self.outcome.name() }
    }

    fn named(name: &str) -> Option<Ending> {
        if name == FALSE_SUCCESS {
            return Some(Ending { outcome: Outcome::TaskFail, false_success: true, flags: Flags::default() });
        }
        let outcome = Outcome::ALL.into_iter().find(|known| known.name() == name)?;
        Some(Ending { outcome, false_success: false, flags: Flags::default() })
    }
}

impl Outcomes {
    /// Adds the next trial.
    pub(super) fn push(&mut self, ending: Ending) {
        self.0.push(ending);
    }

    /// Each trial's ending, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Ending> {
        self.0.iter().copied()
    }

    /// A rate trial by trial: `1` for yes, `0` for no, `-` where it is null.
    pub(super) fn digits(&self, rate: Metric) -> String {
        let digit = |ending: Ending| ending.is(rate).map_or('-', |is| if is { '1' } else { '0' });
        self.iter().map(digit).collect()
    }

    /// Reads such digits back into the flag of each trial; `None` when they are not as many.
    pub(super) fn set(&mut self, digits: &str, flag: fn(&mut Flags) -> &mut Option<bool>) -> Option<()> {
        if digits.len() != self.0.len() {
            return None;
        }
        for (ending, digit) in self.0.iter_mut().zip(digits.chars()) {
            *flag(&mut ending.flags) = match digit {
                '1' => Some(true),
                '0' => Some(false),
                '-' => None,
                _ => return None,
            };
        }
        Some(())
    }

    /// How many trials there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no trial.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many of them count in a rate.
    pub fn scored(&self) -> u64 {
        self.iter().filter(|ending| ending.outcome.is_scored()).count() as u64
    }
}

impl fmt::Display for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, same) in self.0.chunk_by(|a, b| a.name() == b.name()).enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", same.len(), same[0].name())?;
        }
        Ok(())
    }
}

/// The most trials that a text may name: a count is not an order to fill the memory.
const MOST: usize = 10_000_000;

impl FromStr for Outcomes {
    type Err = ();

    fn from_str(text: &str) -> Result<Outcomes, ()> {
        let mut outcomes: Vec<Ending> = Vec::new();
        for part in text.split(", ").filter(|part| !part.is_empty()) {
            let (count, name) = part.split_once(' ').ok_or(())?;
            let count: usize = count.parse().map_err(|_| ())?;
            if count > MOST || outcomes.len() + count > MOST {
                return Err(());
            }
            outcomes.extend(std::iter::repeat_n(Ending::named(name).ok_or(())?, count));
        }
        Ok(Outcomes(outcomes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_equal_endings_read_back() {
        let mut outcomes = Outcomes::default();
        for name in ["success", "success", "limit", "success", "false_success", "task_fail", "infra"] {
            outcomes.push(Ending::named(name).unwrap());
        }
        let text = "2 success, 1 limit, 1 success, 1 false_success, 1 task_fail, 1 infra";
        assert_eq!(outcomes.to_string(), text);
        assert_eq!(text.parse(), Ok(outcomes.clone()));
        assert_eq!((outcomes.len(), outcomes.scored()), (7, 6));
        assert_eq!("".parse(), Ok(Outcomes::default()));
        for bad in ["success", "2", "2 luck", "x success", "99999999999 success"] {
            assert_eq!(bad.parse::<Outcomes>(), Err(()), "{bad}");
        }
    }
}
