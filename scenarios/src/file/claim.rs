use schemars::JsonSchema;
use serde::Deserialize;

/// What somebody says that guardrails are worth: a mean over episodes without guardrails, and one with all of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimFile {
    /// The claim in words, as its source has it.
    #[schemars(length(min = 1))]
    pub says: String,
    /// What is counted in each episode: `calls`, `retries` (attempts after the first error of an error chain), `repeated_calls`
    /// (calls equal to an earlier failed one), `response_tokens` (of the largest response) or `response_usd` (those tokens in
    /// dollars).
    #[schemars(extend("enum" = ["calls", "retries", "repeated_calls", "response_tokens", "response_usd"]))]
    pub measure: String,
    /// For `response_usd`: dollars for a million tokens.
    #[schemars(range(min = 0))]
    pub usd_per_million_tokens: Option<f64>,
    /// What is claimed without guardrails. Without a number, only which of the two is less is held against what is measured.
    pub without: Option<SpanFile>,
    /// What is claimed with all guardrails.
    pub with: Option<SpanFile>,
}

/// A claimed number: `about` one, which holds within a fifth of it, or `from` one `to` another, both included.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpanFile {
    /// A number that is meant roughly.
    #[schemars(range(min = 0))]
    pub about: Option<f64>,
    /// The smallest number.
    #[schemars(range(min = 0))]
    pub from: Option<f64>,
    /// The largest number.
    #[schemars(range(min = 0))]
    pub to: Option<f64>,
}
