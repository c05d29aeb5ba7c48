use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{CallResult, DrawKey, ToolCall, ToolResponse, ToolSpec};

/// The next turn of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// One or more tool calls, made after waiting `waited_s` seconds of simulated time.
    Calls {
        /// The calls, at least one, answered in order.
        calls: Vec<ToolCall>,
        /// The simulated seconds waited before the first call.
        waited_s: u32,
        /// The text that accompanies the calls; usually empty.
        text: String,
    },
    /// Text without a call; the episode continues.
    Message {
        /// The text.
        text: String,
    },
    /// The agent declares the task complete.
    Done {
        /// The closing answer.
        answer: String,
    },
    /// The agent declares that it cannot complete the task.
    GiveUp {
        /// The closing answer.
        reason: String,
    },
    /// The model or its provider refuses to answer: a refusal or a content filter.
    Refused {
        /// The text of the refusal, or the provider's reason; may be empty.
        reason: String,
    },
    /// A model stops calling tools and answers with text. The text is not judged: the state of the environment decides
    /// whether the task is complete.
    Answer {
        /// The text; may be empty.
        text: String,
    },
    /// The turn is incomplete: the answer was too long, or the provider could not parse it.
    Incomplete {
        /// The partial answer, or the reason why there is none.
        text: String,
    },
    /// The conversation is too long for the model, so that there is no turn.
    TooLong {
        /// The words of the server.
        reason: String,
    },
}

/// The origin of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Decided by a scripted agent, at no cost.
    Script,
    /// A turn of the scheduled opening: part of the conversation as the agent's own call, without a request to the model.
    Opening,
    /// Answered by a model.
    Model(TurnCost),
    /// Made by an agent program, at a cost that is known for the episode at most.
    Program,
    /// Said by the user of a trace.
    User,
}

/// The cost of one model answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnCost {
    /// The provider's token counts; null if it reported none.
    pub usage: Option<Usage>,
    /// The cost in US dollars by the price table; null if price or usage is unknown.
    pub usd: Option<f64>,
    /// Milliseconds from the request to the complete answer, for the attempt that succeeded; for a replayed answer, the
    /// recorded value.
    pub latency_ms: u64,
}

/// Token counts as reported by a provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All tokens of the request, including those read from and written to a cache.
    pub input: u64,
    /// Tokens of the request that were read from a cache; null if not reported.
    pub cache_read: Option<u64>,
    /// Tokens of the request that were written to a cache; null if not reported.
    pub cache_write: Option<u64>,
    /// All tokens of the answer, including reasoning tokens.
    pub output: u64,
    /// Reasoning tokens; null if not reported.
    pub reasoning: Option<u64>,
}

/// What an agent program did in an episode besides calling tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgramReport {
    /// The tokens that the program reported; null if it reported none, or if its reports are not known to be complete.
    pub usage: Option<Usage>,
    /// The sessions with the tools that it opened.
    pub connections: u32,
    /// The sessions that were refused, because too many were open.
    pub refused_connections: u32,
    /// The calls that it cancelled before they were made. They have no row.
    pub cancelled_calls: u32,
    /// The requests for permission that were granted: those for the tools of the scenario.
    pub granted_permissions: u32,
    /// The requests for permission that were refused.
    pub refused_permissions: u32,
    /// The calls of tools of its own that it told of.
    pub own_tool_calls: u32,
    /// The lines of its output that were no messages of its protocol, too long, or too many to answer.
    pub stray_lines: u32,
    /// The bytes of its text that were not kept: only the last 64 KiB are.
    pub dropped_text_bytes: u64,
    /// Its exit status; null if it was ended with the episode.
    pub exit: Option<String>,
}

/// Everything that an agent receives when an episode starts.
///
/// An agent must never receive the active guardrails or the error format, here or in any other way. The intended calls
/// are passed to the factory of scripted agents only.
#[derive(Debug, Clone, Copy)]
pub struct EpisodeStart<'a> {
    /// The text of the task.
    pub prompt: &'a str,
    /// The tools as listed for the agent; in a drift scenario, the previous contract.
    pub tools: &'a [ToolSpec],
    /// The turns of a seeded opening, each with its calls, up to and including the first mistake; empty for any other agent.
    pub opening: &'a [Vec<&'a ToolCall>],
    /// The episode's index in the plan. It identifies its requests, and decides nothing.
    pub episode: u64,
    /// The repetition of the cell, from 0.
    pub trial: u32,
    /// The key of the agent's random draws. It depends on seed, scenario and trial, and on no other axis.
    pub draws: DrawKey,
}

/// An agent that runs one episode.
pub trait Agent {
    /// Returns the next turn. `seen` contains the responses to the calls of the previous turn, in call order; it is
    /// empty at the start and after a message.
    ///
    /// # Errors
    /// Returns [`AgentError`] if the agent could not be reached or set up. A wrong or useless turn is not an error.
    fn next_turn(&mut self, seen: &[&ToolResponse]) -> Result<Turn, AgentError>;

    /// Receives the result of the latest call as the server sent it, with what is no text. Only agents of the kind
    /// [`Origin::Program`] are given it, each time before `next_turn`.
    fn receive_result(&mut self, _result: CallResult) {}

    /// Returns the origin of the latest turn.
    fn origin(&self) -> Origin {
        Origin::Script
    }

    /// Returns true if the turns depend only on the script, the tools, the responses, and the decisions of the draws.
    fn is_decided_by_draws(&self) -> bool {
        false
    }

    /// Returns the text sent to a model with every request in addition to the task and the conversation: system text
    /// and tools. It depends on the agent and its list of tools only. For a scripted agent, it is what a model in its
    /// place is sent.
    fn preamble(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    /// Returns words of [`diagnostics`](crate::diagnostics) for the answers of a model so far.
    fn diagnostics(&self) -> &[String] {
        &[]
    }

    /// Returns what is known of a program's episode so far; `None` for any other agent.
    fn program_report(&self) -> Option<ProgramReport> {
        None
    }

    /// Returns the largest number of tokens that are sent with one request; the rest of a longer conversation is cut off.
    /// `None` if nothing is cut off.
    fn context_window(&self) -> Option<u64> {
        None
    }
}

/// The reason why an agent could not take its turn. Such an episode is counted separately and never scored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentError {
    /// The agent's infrastructure failed: network, rate limits after all retries, or a server error.
    #[error("the agent's infrastructure failed: {0}")]
    Infra(String),
    /// The environment gave no reply.
    #[error("{0}")]
    Environment(String),
    /// The agent cannot work as configured.
    #[error("the agent's configuration is wrong: {0}")]
    Config(String),
    /// A recorded answer is missing. The run stops, because it can no longer reproduce the recorded one.
    #[error("{0}")]
    RecordingMissing(String),
    /// An answer cannot be recorded. The run stops, because paid answers would be lost.
    #[error("{0}")]
    RecordingFailed(String),
    /// The run is being stopped; the episode counts as not run.
    #[error("the run is being stopped")]
    Stopped,
}
