use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Tally;

/// The rows of some episodes, in the order of the plan: calls of one episode stand together, in the order they were made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Records {
    /// One row an episode.
    pub episodes: Vec<EpisodeRecord>,
    /// One row a call.
    pub calls: Vec<CallRecord>,
}

/// How an episode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The expectations hold.
    Success,
    /// The agent said it was done, and an expectation does not hold.
    TaskFail,
    /// The agent said that it could not.
    GaveUp,
    /// The limit on calls or turns ended it.
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
    pub tally: Tally,
}

/// What one call left behind. Tokens are exact `o200k_base` counts. Texts are shared: most rows of a run say what others say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallRecord {
    /// The episode's index in the plan.
    pub episode: u64,
    /// 1 for the first call of the episode.
    pub call: u32,
    /// 1 for the first turn; several calls may share a turn.
    pub turn: u32,
    /// The tool as the agent named it.
    pub tool: Arc<str>,
    /// The action as the agent named it; null when it named none.
    pub action: Option<Arc<str>>,
    /// The arguments as canonical JSON.
    pub arguments: Arc<str>,
    /// MCP's `isError` of the response.
    pub is_error: bool,
    /// `VALIDATION`, `MISSING_DISCRIMINATOR`, `UNKNOWN_ACTION`, `UNKNOWN_TOOL` or a tool error's code; null when nothing failed.
    /// A warning has a code and `is_error` false.
    pub error_class: Option<Arc<str>>,
    /// Whether the failure was an injected fault.
    pub injected: bool,
    /// The top-level fields that failed, sorted, as the response named them to the agent; null when it named none (which is so for
    /// every bare line).
    pub named_fields: Option<Arc<[String]>>,
    /// The top-level arguments that differ from those of the previous call, sorted; null for the first call.
    pub changed_fields: Option<Arc<[String]>>,
    /// Undeclared fields that reached the world.
    pub leaked_fields: u32,
    /// Rows that truncation held back.
    pub omitted_rows: u32,
    /// Contract deltas that the response carried.
    pub contract_deltas: u32,
    /// Whether the world's rows differ after the call.
    pub world_changed: bool,
    /// Whether an earlier call of the episode with the same tool and canonical arguments failed.
    pub repeats_failed: bool,
    /// Number of the error chain that this call belongs to, from 1; null outside of any. The chain ended in success exactly when
    /// its last call is not an error.
    pub chain: Option<u32>,
    /// Seconds of the world's own time that the agent waited before the call.
    pub waited_s: u32,
    /// Tokens of the call as the agent sent it.
    pub request_tokens: u32,
    /// Tokens of the response.
    pub response_tokens: u32,
    /// Tokens that guardrails added to the response: of a failure, the difference to its bare line (never below 0); of a list, the
    /// teaching block.
    pub guardrail_tokens: u32,
    /// Tokens of the conversation before this call: prompt, earlier calls and responses. What a stateless API is sent again.
    pub context_tokens: u64,
}
