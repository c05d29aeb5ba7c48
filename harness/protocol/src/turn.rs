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
    },
    /// Prose without a call; the episode goes on.
    Say {
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
}

/// Everything that an agent knows when an episode starts: what a model would be told, and what a scripted agent acts out.
///
/// Neither the guardrails in force nor the error format is here, and no agent may be given them another way.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The task, in words.
    pub prompt: &'a str,
    /// The tools as the agent was told of them: in a drift scenario, the previous contract.
    pub tools: &'a [ToolSpec],
    /// What a scripted agent wants and believes; an LLM agent uses at most its opening call.
    pub script: &'a Script,
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
}

/// Why an agent could not take its turn. Such an episode is counted apart and never scored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// The agent's infrastructure failed: network, rate limits past all retries, a server's fault.
    #[error("the agent's infrastructure failed: {0}")]
    Infra(String),
    /// The agent cannot work as configured.
    #[error("the agent's configuration is wrong: {0}")]
    Config(String),
}
