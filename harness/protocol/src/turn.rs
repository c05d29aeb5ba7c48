use serde::{Deserialize, Serialize};

use crate::{DrawKey, Script, ToolCall, ToolResponse, ToolSpec};

/// What an agent does next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// One or more tool calls, made after waiting `waited_s` seconds of the world's own time.
    Calls {
        /// The calls, at least one, answered in order.
        calls: Vec<ToolCall>,
        /// Seconds waited before the first of them.
        waited_s: u32,
        /// Words beside the calls; mostly nothing.
        text: String,
    },
    /// Prose without a call; the episode goes on.
    Message {
        /// What was said.
        text: String,
    },
    /// The agent says that the task is complete.
    Done {
        /// Its closing answer.
        answer: String,
    },
    /// The agent says that it cannot complete the task.
    GiveUp {
        /// Its closing answer.
        reason: String,
    },
    /// A model stops calling and answers in words. Nobody judges the words: the world tells whether the task is complete.
    Answer {
        /// What was said; it may be nothing.
        text: String,
    },
    /// The turn broke off before it was whole: too long an answer, no room left for one, or one that its server cannot read.
    Incomplete {
        /// What there is of it, or why there is none.
        text: String,
    },
}

/// Where a turn came from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The agent decided by itself, at no cost.
    Script,
    /// The scheduled opening: it stands in the conversation as the agent's own, and nobody was asked.
    Opening,
    /// A model was asked.
    Model(TurnCost),
}

/// What one answer of a model took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnCost {
    /// The provider's count of tokens; null when it gave none.
    pub usage: Option<Usage>,
    /// US dollars by the price table; null when price or usage is unknown.
    pub usd: Option<f64>,
    /// Milliseconds from the request to the whole answer, of the attempt that succeeded; of a replayed answer, those of its recording.
    pub latency_ms: u64,
}

/// Tokens as a provider counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All tokens of the request, those read from and written to a cache among them.
    pub input: u64,
    /// Tokens of the request that were read from a cache; null when the provider does not say.
    pub cache_read: Option<u64>,
    /// Tokens of the request that were written to a cache.
    pub cache_write: Option<u64>,
    /// All tokens of the answer, those of reasoning among them.
    pub output: u64,
    /// Tokens of reasoning.
    pub reasoning: Option<u64>,
}

/// Everything that an agent knows when an episode starts: what a model would be told, and what a scripted agent acts out.
///
/// Neither the guardrails in force nor the error format is here, and no agent may be given them another way.
#[derive(Debug, Clone, Copy)]
pub struct EpisodeStart<'a> {
    /// The task, in words.
    pub prompt: &'a str,
    /// The tools as the agent was told of them: in a drift scenario, the previous contract.
    pub tools: &'a [ToolSpec],
    /// What a scripted agent wants and believes; an LLM agent uses at most its opening call.
    pub script: &'a Script,
    /// Whether a mistake or a fault is scheduled: what a seeded opening begins with.
    pub scheduled: bool,
    /// Repetition of the cell, from 0.
    pub trial: u32,
    /// Key of the agent's own random draws. It depends on seed, scenario and trial, never on the other axes.
    pub draws: DrawKey,
}

/// Plays one episode.
pub trait Agent {
    /// The next turn, after `seen`: the responses to the calls of the previous turn, in their order (empty at the start and
    /// after prose).
    ///
    /// # Errors
    /// [`AgentError`] when the agent itself could not be reached or set up. A wrong or useless turn is not an error.
    fn next_turn(&mut self, seen: &[&ToolResponse]) -> Result<Turn, AgentError>;

    /// Where the latest turn came from.
    fn origin(&self) -> Origin {
        Origin::Script
    }

    /// What a model is told with every request, beside the task and the conversation: system text and tools.
    fn preamble(&self) -> &str {
        ""
    }
}

/// Why an agent could not take its turn. Such an episode is counted apart and never scored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentError {
    /// The agent's infrastructure failed: network, rate limits past all retries, a server's fault.
    #[error("the agent's infrastructure failed: {0}")]
    Infra(String),
    /// The agent cannot work as configured.
    #[error("the agent's configuration is wrong: {0}")]
    Config(String),
    /// A recorded answer is missing. The run ends: it would not be the recorded one.
    #[error("{0}")]
    RecordingMissing(String),
    /// An answer cannot be recorded. The run ends: what is paid for would be lost.
    #[error("{0}")]
    RecordingFailed(String),
    /// The run is being stopped; the episode counts as not played.
    #[error("the run is being stopped")]
    Stopped,
}
