use std::fmt;
use std::sync::Arc;

use healbench_protocol::{AgentError, Origin, Turn, Usage};
use serde::{Deserialize, Serialize};

use crate::EpisodeCounts;

/// The rows of some episodes, in the order of the plan: calls of one episode stand together, in the order they were made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Records {
    /// One row an episode.
    pub episodes: Vec<EpisodeRecord>,
    /// One row a call.
    pub calls: Vec<CallRecord>,
}

/// How an episode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The expectations hold.
    Success,
    /// The agent said it was done, and an expectation does not hold.
    TaskFail,
    /// The agent said that it could not.
    GaveUp,
    /// A limit ended it: on calls, on turns, or on the length of an answer or a conversation.
    Limit,
    /// The agent's infrastructure failed: counted apart, never scored.
    Infra,
    /// The agent's configuration is wrong: counted apart, never scored.
    Config,
}

impl Outcome {
    /// Every outcome, in the order of documents.
    pub const ALL: [Outcome; 6] =
        [Outcome::Success, Outcome::TaskFail, Outcome::GaveUp, Outcome::Limit, Outcome::Infra, Outcome::Config];

    /// The name in columns and documents.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::TaskFail => "task_fail",
            Outcome::GaveUp => "gave_up",
            Outcome::Limit => "limit",
            Outcome::Infra => "infra",
            Outcome::Config => "config",
        }
    }

    /// Whether an episode that ended so counts in a rate.
    pub fn is_scored(self) -> bool {
        !matches!(self, Outcome::Infra | Outcome::Config)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What one episode left behind, beside its calls. Its cell and trial follow from `episode` and the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpisodeRecord {
    /// Index in the plan.
    pub episode: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether the agent's last turn claimed that the task was complete.
    pub claimed_done: bool,
    /// Whether a mistake or a fault was scheduled: the denominator of episode recovery, the same set in every cell.
    pub scheduled: bool,
    /// First 64 bits of the SHA-256 of the schedule (beliefs, faults and generated data), as 16 hexadecimal digits. Rows with
    /// different hashes met different difficulties and are never paired.
    pub schedule_hash: String,
    /// Turns taken, prose among them.
    pub turns: u32,
    /// Calls made.
    pub calls: u32,
    /// Calls that a perfect agent needs: the steps of the script.
    pub perfect_calls: u32,
    /// Tokens of the task's prompt.
    pub prompt_tokens: u32,
    /// Tokens of the agent's turns without a call: prose and the closing words.
    pub prose_tokens: u32,
    /// What its calls add up to.
    pub counts: EpisodeCounts,
    /// What its model took; null for an agent without one.
    pub model: Option<Box<ModelUsage>>,
}

/// What an episode took of its model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// Calls of the opening: they stand in the conversation as the model's own, and are not.
    pub opening_calls: u32,
    /// Turns that the model took: answered requests.
    pub turns: u32,
    /// The sums of the provider's counts; null unless it gave them for every turn, and there was one.
    pub usage: Option<Usage>,
    /// US dollars; null when price or usage is unknown.
    pub usd: Option<f64>,
    /// Milliseconds that the model took to answer.
    pub latency_ms: u64,
    /// Exact `o200k_base` tokens of what it was sent: with every turn the system text, the tools and the conversation so far. What
    /// an API adds around messages is not in it.
    pub bpe_input: u64,
    /// Exact `o200k_base` tokens of what it said: words and calls, without reasoning.
    pub bpe_output: u64,
}

/// What a model did in an episode, turn by turn: enough to play the episode again without it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedTurns {
    /// The episode's index in the plan.
    pub episode: u64,
    /// The turns, in their order.
    pub turns: Vec<RecordedTurn>,
    /// Why there is no further turn, when the agent failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<AgentError>,
}

/// A turn with where it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedTurn {
    /// The turn.
    pub turn: Turn,
    /// Where it came from, and what it took.
    pub origin: Origin,
}

/// What one call left behind. Tokens are exact `o200k_base` counts. Texts are shared: most rows of a run say what others say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The episode's index in the plan.
    pub episode: u64,
    /// 1 for the first call of the episode.
    pub call: u32,
    /// 1 for the first turn; several calls may share a turn.
    pub turn: u32,
    /// The tool as the agent named it.
    #[serde(with = "shared")]
    pub tool: Arc<str>,
    /// The action as the agent named it; null when it named none.
    #[serde(with = "shared")]
    pub action: Option<Arc<str>>,
    /// The arguments as canonical JSON.
    #[serde(with = "shared")]
    pub arguments: Arc<str>,
    /// MCP's `isError` of the response.
    pub is_error: bool,
    /// `VALIDATION`, `MISSING_DISCRIMINATOR`, `UNKNOWN_ACTION`, `UNKNOWN_TOOL` or a tool error's code; null when nothing failed.
    /// A warning has a code and `is_error` false.
    #[serde(with = "shared")]
    pub error_class: Option<Arc<str>>,
    /// Whether the failure was an injected fault.
    pub injected: bool,
    /// The top-level fields that failed, sorted, as the response named them to the agent; null when it named none (which is so for
    /// every bare line).
    #[serde(with = "shared")]
    pub named_fields: Option<Arc<[String]>>,
    /// The top-level arguments that differ from those of the previous call, sorted; null for the first call.
    #[serde(with = "shared")]
    pub changed_fields: Option<Arc<[String]>>,
    /// Undeclared fields that reached the world.
    pub leaked_fields: u32,
    /// Rows that truncation held back.
    pub omitted_rows: u32,
    /// Contract deltas that the response carried.
    pub contract_deltas: u32,
    /// Whether the world's rows differ after the call.
    pub state_changed: bool,
    /// Whether an earlier call of the episode with the same tool and canonical arguments failed.
    pub repeated: bool,
    /// Number of the error chain that this call belongs to, from 1; null outside of any. The chain ended in success exactly when
    /// its last call is not an error.
    pub chain: Option<u32>,
    /// Seconds of the world's own time that the agent waited before the call.
    pub waited_s: u32,
    /// Tokens of the call as the agent sent it.
    pub request_tokens: u32,
    /// Tokens of the response.
    pub response_tokens: u32,
    /// First 64 bits of the SHA-256 of the response as the agent saw it: a byte 1 if `is_error` and else 0, then each block of text
    /// with its length in bytes before it, as 64 bits in little-endian order.
    pub response_hash: u64,
    /// Tokens that guardrails added to the response: of a failure, the difference to its bare line (never below 0); of a list, the
    /// teaching block.
    pub guardrail_tokens: u32,
    /// Tokens of the conversation before this call: prompt, earlier calls and responses. What a stateless API is sent again.
    pub context_tokens: u64,
}

/// Shared texts in a journal: as what they hold.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) trait Shared: Sized {
        type Owned: for<'de> Deserialize<'de>;
        type Borrowed<'a>: Serialize
        where
            Self: 'a;
        fn borrowed(&self) -> Self::Borrowed<'_>;
        fn from_owned(owned: Self::Owned) -> Self;
    }

    impl Shared for Arc<str> {
        type Owned = String;
        type Borrowed<'a> = &'a str;
        fn borrowed(&self) -> &str {
            self
        }
        fn from_owned(owned: String) -> Arc<str> {
            owned.into()
        }
    }

    impl Shared for Arc<[String]> {
        type Owned = Vec<String>;
        type Borrowed<'a> = &'a [String];
        fn borrowed(&self) -> &[String] {
            self
        }
        fn from_owned(owned: Vec<String>) -> Arc<[String]> {
            owned.into()
        }
    }

    impl<T: Shared> Shared for Option<T> {
        type Owned = Option<T::Owned>;
        type Borrowed<'a>
            = Option<T::Borrowed<'a>>
        where
            T: 'a;
        fn borrowed(&self) -> Option<T::Borrowed<'_>> {
            self.as_ref().map(T::borrowed)
        }
        fn from_owned(owned: Option<T::Owned>) -> Option<T> {
            owned.map(T::from_owned)
        }
    }

    pub(super) fn serialize<T: Shared, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.borrowed().serialize(serializer)
    }

    pub(super) fn deserialize<'de, T: Shared, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::Owned::deserialize(deserializer).map(T::from_owned)
    }
}
