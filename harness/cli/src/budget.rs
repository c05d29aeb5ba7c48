//! A limit on what models may cost.

use std::fmt;
use std::str::FromStr;

/// What a run may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Budget {
    /// US dollars.
    Usd(f64),
    /// Tokens, of requests and answers together.
    Tokens(u64),
}

/// A word that is no budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no budget: money as in `2.50usd`, or tokens as in `300ktokens`, `2Mtokens`")]
pub(crate) struct NoBudget(String);

impl FromStr for Budget {
    type Err = NoBudget;

    fn from_str(text: &str) -> Result<Budget, NoBudget> {
        let refused = || NoBudget(text.to_owned());
        let positive = |number: &str| {
            let plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
            number.parse::<f64>().ok().filter(|value| plain && value.is_finite() && *value > 0.0)
        };
        if let Some(amount) = text.strip_suffix("usd") {
            return positive(amount).map(Budget::Usd).ok_or_else(refused);
        }
        let Some(amount) = text.strip_suffix("tokens") else { return Err(refused()) };
        let (amount, unit) = match (amount.strip_suffix('k'), amount.strip_suffix('M')) {
            (Some(thousands), _) => (thousands, 1e3),
            (_, Some(millions)) => (millions, 1e6),
            (None, None) => (amount, 1.0),
        };
        let tokens = positive(amount).map(|amount| amount * unit).filter(|tokens| *tokens >= 1.0 && *tokens < 1e15);
        tokens.map(|tokens| Budget::Tokens(tokens as u64)).ok_or_else(refused)
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
    fn words() {
        let table = [
            ("2.50usd", Budget::Usd(2.5)),
            ("300ktokens", Budget::Tokens(300_000)),
            ("2Mtokens", Budget::Tokens(2_000_000)),
            ("17tokens", Budget::Tokens(17)),
        ];
        for (word, budget) in table {
            assert_eq!(word.parse(), Ok(budget), "{word}");
            assert_eq!(budget.to_string().parse(), Ok(budget), "{word}");
        }
        for word in [
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
            assert!(word.parse::<Budget>().is_err(), "{word}");
        }
    }
}
