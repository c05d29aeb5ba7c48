use serde::{Deserialize, Serialize};

/// What somebody says that guardrails are worth, to be held against what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The claim in words.
    pub says: String,
    /// What it is about, counted in each episode.
    pub measure: Measure,
    /// The mean that is claimed without guardrails; null when no number is.
    pub without: Option<Span>,
    /// The mean that is claimed with guardrails.
    pub with: Option<Span>,
}

/// What a claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Calls that were made.
    Calls,
    /// Attempts after the first error of an error chain.
    Retries,
    /// Calls equal to an earlier failed call.
    RepeatedCalls,
    /// Tokens of the largest response.
    ResponseTokens,
    /// Those tokens in US dollars, at this price for a million of them.
    ResponseUsd(f64),
}

/// Numbers between two others, both included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// The smallest.
    pub from: f64,
    /// The largest.
    pub to: f64,
}
