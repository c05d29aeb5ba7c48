//! What runs are compared by: one number an episode, of a comparison, a baseline and a gate alike.

use std::fmt;
use std::str::FromStr;

use healbench_protocol::AxisError;
use healbench_record::{EpisodeRecord, Outcome};
use serde::{Serialize, Serializer};

/// A number that every scored episode has, unless it is null there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Whether the expectations hold.
    Success,
    /// Whether they hold where a mistake or a fault was scheduled; null elsewhere.
    Recovered,
    /// Whether the first call succeeded; null where that was not the agent's own.
    FirstCallSuccess,
    /// Whether the agent claimed to be done while an expectation does not hold.
    FalseSuccess,
    /// Whether it got caught in an error spiral.
    Stuck,
    /// Calls made.
    Calls,
    /// Calls equal to an earlier failed call.
    RepeatedCalls,
    /// Tokens of calls, responses and prose.
    Tokens,
    /// Tokens of calls that failed and of their responses.
    WastedTokens,
    /// Tokens that guardrails added to responses.
    GuardrailTokens,
    /// Undeclared fields that reached the world.
    LeakedFields,
    /// US dollars; null when price or usage is unknown, and without a model.
    CostUsd,
}

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

impl Metric {
    /// Every metric, in the order of documents.
    pub const ALL: [Metric; 12] = [
        Metric::Success,
        Metric::Recovered,
        Metric::FirstCallSuccess,
        Metric::FalseSuccess,
        Metric::Stuck,
        Metric::Calls,
        Metric::RepeatedCalls,
        Metric::Tokens,
        Metric::WastedTokens,
        Metric::GuardrailTokens,
        Metric::LeakedFields,
        Metric::CostUsd,
    ];

    /// The name in policies, baselines and documents.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Success => "success",
            Metric::Recovered => "recovered",
            Metric::FirstCallSuccess => "first_call_success",
            Metric::FalseSuccess => "false_success",
            Metric::Stuck => "stuck",
            Metric::Calls => "calls",
            Metric::RepeatedCalls => "repeated_calls",
            Metric::Tokens => "tokens",
            Metric::WastedTokens => "wasted_tokens",
            Metric::GuardrailTokens => "guardrail_tokens",
            Metric::LeakedFields => "leaked_fields",
            Metric::CostUsd => "cost_usd",
        }
    }

    /// Whether it is yes or no of each episode, so that its mean is a rate.
    pub fn is_rate(self) -> bool {
        self <= Metric::Stuck
    }

    /// Which way it is better.
    pub fn better(self) -> Better {
        match self {
            Metric::Success | Metric::Recovered | Metric::FirstCallSuccess => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// The number of one scored episode: 0 or 1 of a rate.
    pub(crate) fn of(self, row: &EpisodeRecord) -> Option<f64> {
        let flag = |flag: bool| Some(f64::from(u8::from(flag)));
        let success = row.outcome == Outcome::Success;
        let own_first = row.model.as_ref().is_none_or(|model| model.opening_calls == 0);
        match self {
            Metric::Success => flag(success),
            Metric::Recovered => flag(success).filter(|_| row.scheduled),
            Metric::FirstCallSuccess => flag(row.counts.first_call_success).filter(|_| own_first),
            Metric::FalseSuccess => flag(row.outcome == Outcome::TaskFail && row.claimed_done),
            Metric::Stuck => flag(row.counts.stuck),
            Metric::Calls => Some(f64::from(row.calls)),
            Metric::RepeatedCalls => Some(f64::from(row.counts.repeated_calls)),
            Metric::Tokens => Some((row.counts.call_tokens + u64::from(row.prose_tokens)) as f64),
            Metric::WastedTokens => Some(row.counts.wasted_tokens as f64),
            Metric::GuardrailTokens => Some(row.counts.guardrail_tokens as f64),
            Metric::LeakedFields => Some(row.counts.leaked_fields as f64),
            Metric::CostUsd => row.model.as_ref().and_then(|model| model.usd),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Metric {
    type Err = AxisError;

    fn from_str(text: &str) -> Result<Metric, AxisError> {
        Self::ALL.into_iter().find(|metric| metric.name() == text).ok_or_else(|| AxisError {
            axis: "metric",
            word: text.to_owned(),
            known: Self::ALL.iter().map(|metric| metric.name().to_owned()).collect(),
        })
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
