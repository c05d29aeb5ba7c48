//! The limits at which a run with models stops: its budget, and episodes lost in a row.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use healbench_core::{Outcome, Usage};

/// The largest cost of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    Usd(f64),
    /// Tokens, the sum of input and output.
    Tokens(u64),
}

impl Budget {
    /// Returns the share of a part of the run.
    #[must_use]
    pub fn share(self, part: u64, whole: u64) -> Budget {
        let share = part as f64 / whole.max(1) as f64;
        match self {
            Budget::Usd(limit) => Budget::Usd(limit * share),
            // Rounded down, so that the shares do not add up to more.
            Budget::Tokens(limit) => Budget::Tokens((limit as f64 * share) as u64),
        }
    }
}

/// A limit that a run has reached.
#[derive(Debug, Clone, PartialEq)]
pub enum StopRule {
    /// The budget is spent.
    Budget(Budget),
    /// Several episodes of an agent in a row were lost, so the next one probably would be too.
    LostInARow {
        /// The index of the agent in the plan.
        agent: usize,
        /// The number of episodes.
        episodes: u64,
    },
}

/// The budget of a run, and the prices of its agents.
#[derive(Clone)]
pub struct Limits {
    /// The budget, if there is one.
    pub budget: Option<Budget>,
    /// Returns the price in US dollars of an agent's usage; `None` if it is unknown.
    pub price: Arc<PriceOf>,
}

/// Returns the price in US dollars of the usage of the agent with this index in the plan; `None` if it is unknown.
pub type PriceOf = dyn Fn(usize, &Usage) -> Option<f64> + Send + Sync;

/// The number of lost episodes of an agent in a row at which the run stops: to infrastructure, and to configuration,
/// which does not improve by waiting.
const MAX_CONSECUTIVE_LOSSES: (u64, u64) = (20, 3);

/// The numbers of episodes lost in a row to infrastructure and to configuration, by agent.
#[derive(Default)]
pub(crate) struct Losses {
    consecutive: BTreeMap<usize, (u64, u64)>,
    reached: Option<StopRule>,
}

impl Losses {
    /// Returns the first limit that was reached.
    pub(crate) fn reached(&self) -> Option<&StopRule> {
        self.reached.as_ref()
    }

    /// Counts losses in a row.
    pub(crate) fn add(&mut self, agent: usize, outcome: Outcome) {
        let losses = self.consecutive.entry(agent).or_default();
        match outcome {
            Outcome::Infra => losses.0 += 1,
            Outcome::Config => losses.1 += 1,
            _ => *losses = (0, 0),
        }
        let (infra, config) = MAX_CONSECUTIVE_LOSSES;
        if losses.0 >= infra || losses.1 >= config {
            let episodes = losses.0 + losses.1;
            self.reached.get_or_insert(StopRule::LostInARow { agent, episodes });
        }
    }
}

/// The error of parsing a budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no budget: money as in `2.50usd`, or tokens as in `300ktokens`, `2Mtokens`")]
pub struct ParseBudgetError(String);

impl FromStr for Budget {
    type Err = ParseBudgetError;

    fn from_str(text: &str) -> Result<Budget, ParseBudgetError> {
        let invalid = || ParseBudgetError(text.to_owned());
        let positive = |number: &str| {
            let plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
            number.parse::<f64>().ok().filter(|value| plain && value.is_finite() && *value > 0.0)
        };
        if let Some(amount) = text.strip_suffix("usd") {
            return positive(amount).map(Budget::Usd).ok_or_else(invalid);
        }
        let Some(amount) = text.strip_suffix("tokens") else { return Err(invalid()) };
        let (amount, unit) = match (amount.strip_suffix('k'), amount.strip_suffix('M')) {
            (Some(thousands), _) => (thousands, 1e3),
            (_, Some(millions)) => (millions, 1e6),
            (None, None) => (amount, 1.0),
        };
        let tokens = positive(amount).map(|amount| amount * unit).filter(|tokens| *tokens >= 1.0 && *tokens < 1e15);
        tokens.map(|tokens| Budget::Tokens(tokens as u64)).ok_or_else(invalid)
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Budget::Usd(usd) => write!(f, "{usd}usd"),
            Budget::Tokens(tokens) => write!(f, "{tokens}tokens"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_parse() {
        let table = [
            ("2.50usd", Budget::Usd(2.5)),
            ("300ktokens", Budget::Tokens(300_000)),
            ("2Mtokens", Budget::Tokens(2_000_000)),
            ("17tokens", Budget::Tokens(17)),
        ];
        for (text, budget) in table {
            assert_eq!(text.parse(), Ok(budget), "{text}");
            assert_eq!(budget.to_string().parse(), Ok(budget), "{text}");
        }
        for text in [
            "",
            "usd",
            "-1usd",
            "0usd",
            "infusd",
            "nanusd",
            "5",
            "5eur",
            "1e3usd",
            "0.2tokens",
            "ktokens",
            "1e30tokens",
        ] {
            assert!(text.parse::<Budget>().is_err(), "{text}");
        }
    }
}
