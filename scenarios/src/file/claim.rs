use schemars::JsonSchema;
use serde::Deserialize;

/// A published claim about guardrails: a mean over episodes without guardrails, and one with all of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimFile {
    /// The claim, in the words of its source.
    #[schemars(length(min = 1))]
    pub says: String,
    /// The quantity counted in each episode: `calls`, `retries` (attempts after the first error of an error chain),
    /// `repeated_calls` (calls equal to an earlier failed one), `response_tokens` (of the largest response) or
    /// `response_usd` (those tokens in dollars).
    #[schemars(extend("enum" = ["calls", "retries", "repeated_calls", "response_tokens", "response_usd"]))]
    pub measure: String,
    /// For `response_usd`: dollars per million tokens.
    #[schemars(range(min = 0))]
    pub usd_per_million_tokens: Option<f64>,
    /// The claimed value without guardrails. If it is left out, only the direction of the difference is checked.
    pub without: Option<SpanFile>,
    /// The claimed value with all guardrails.
    pub with: Option<SpanFile>,
}

/// A claimed number: `about` a number, with a tolerance of a fifth, or `from` one `to` another, both included.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpanFile {
    /// An approximate number.
    #[schemars(range(min = 0))]
    pub about: Option<f64>,
    /// The smallest number.
    #[schemars(range(min = 0))]
    pub from: Option<f64>,
    /// The largest number.
    #[schemars(range(min = 0))]
    pub to: Option<f64>,
}
