//! The budget for model usage.

use std::fmt;
use std::str::FromStr;

/// The largest cost of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Budget {
    /// US dollars.
    Usd(f64),
    /// Tokens, the sum of input and output.
    Tokens(u64),
}

/// The error of parsing a budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no budget: money as in `2.50usd`, or tokens as in `300ktokens`, `2Mtokens`")]
pub(crate) struct ParseBudgetError(String);

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
