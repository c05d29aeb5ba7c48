use std::fmt;
use std::str::FromStr;

use healbench_core::Outcome;

use crate::metric::Metric;

/// The outcomes of one cell and scenario, trial by trial. As text: `17 success, 2 limit, 1 false_success`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcomes(Vec<Ending>);

/// The outcome of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    pub outcome: Outcome,
    /// True if the agent claimed that the task is complete while an expectation does not hold.
    pub false_success: bool,
    /// The rates that cannot be derived from the outcome; all null for an agent without a model, whose rows are
    /// compared exactly.
    pub flags: Flags,
}

/// The rates of one scored trial that cannot be derived from its outcome. Null where the metric is null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    /// True if the episode succeeded although a mistake or a fault was scheduled.
    pub recovered: Option<bool>,
    /// True if the first call succeeded.
    pub first_call_success: Option<bool>,
    /// True if the agent got stuck.
    pub stuck: Option<bool>,
}

impl Ending {
    /// Returns the value of a rate; null if the trial has none or the metric is not a rate.
    pub fn flag(self, rate: Metric) -> Option<bool> {
        let flag = match rate {
            Metric::Success => Some(self.outcome == Outcome::Success),
            Metric::FalseSuccess => Some(self.false_success),
            Metric::Recovered => self.flags.recovered,
            Metric::FirstCallSuccess => self.flags.first_call_success,
            Metric::Stuck => self.flags.stuck,
            _ => None,
        };
        flag.filter(|_| self.outcome.is_scored())
    }
}

/// The text for a failed task of an agent that claimed success.
const FALSE_SUCCESS: &str = "false_success";

impl Ending {
    fn name(self) -> &'static str {
        if self.false_success { FALSE_SUCCESS } else { self.outcome.name() }
    }

    fn parse(name: &str) -> Option<Ending> {
        if name == FALSE_SUCCESS {
            return Some(Ending { outcome: Outcome::TaskFail, false_success: true, flags: Flags::default() });
        }
        let outcome = Outcome::ALL.into_iter().find(|known| known.name() == name)?;
        Some(Ending { outcome, false_success: false, flags: Flags::default() })
    }
}

impl Outcomes {
    pub(super) fn push(&mut self, ending: Ending) {
        self.0.push(ending);
    }

    /// Returns each trial's outcome in order.
    pub fn iter(&self) -> impl Iterator<Item = Ending> {
        self.0.iter().copied()
    }

    /// Formats a rate trial by trial: `1` for true, `0` for false, `-` for null.
    pub(super) fn digits(&self, rate: Metric) -> String {
        let digit = |ending: Ending| ending.flag(rate).map_or('-', |is| if is { '1' } else { '0' });
        self.iter().map(digit).collect()
    }

    /// Parses such digits into the flag of each trial; `None` if their number differs from the number of trials.
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

    /// Returns the number of trials.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there is no trial.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of scored trials.
    pub fn scored(&self) -> u64 {
        self.iter().filter(|ending| ending.outcome.is_scored()).count() as u64
    }
}

impl fmt::Display for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, same) in self.0.chunk_by(|a, b| a.name() == b.name()).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", same.len(), same[0].name())?;
        }
        Ok(())
    }
}

/// The largest number of trials accepted in a text, which limits the memory that a malformed file can allocate.
const MAX_TRIALS: usize = 10_000_000;

impl FromStr for Outcomes {
    type Err = ();

    fn from_str(text: &str) -> Result<Outcomes, ()> {
        let mut outcomes: Vec<Ending> = Vec::new();
        for part in text.split(", ").filter(|part| !part.is_empty()) {
            let (count, name) = part.split_once(' ').ok_or(())?;
            let count: usize = count.parse().map_err(|_| ())?;
            if count > MAX_TRIALS || outcomes.len() + count > MAX_TRIALS {
                return Err(());
            }
            outcomes.extend(std::iter::repeat_n(Ending::parse(name).ok_or(())?, count));
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
            outcomes.push(Ending::parse(name).unwrap());
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
