use serde::{Deserialize, Serialize};

/// A published claim about the effect of guardrails, to be compared with the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The claim as a sentence.
    pub says: String,
    /// The quantity that the claim is about, counted per episode.
    pub measure: Measure,
    /// The claimed mean without guardrails; null if the claim gives no number.
    pub without: Option<Span>,
    /// The claimed mean with guardrails; null if the claim gives no number.
    pub with: Option<Span>,
}

/// The quantity that a claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Tool calls.
    Calls,
    /// Attempts after the first error of an error chain.
    Retries,
    /// Calls equal to an earlier failed call.
    RepeatedCalls,
    /// Tokens of the largest response.
    ResponseTokens,
    /// Tokens of the largest response in US dollars, at this price per million tokens.
    ResponseUsd(f64),
}

/// A closed interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// The lower end.
    pub from: f64,
    /// The upper end.
    pub to: f64,
}
