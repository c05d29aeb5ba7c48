use std::fmt;
use std::sync::Arc;

use crate::FaultKind;
use crate::{
    Aftermath, AgentError, ErrorClass, ErrorReading, ErrorSource, NamedEntry, Origin, ProgramReport, Turn, Usage,
};
use serde::{Deserialize, Serialize};

use crate::EpisodeCounts;

/// The rows of some episodes, in the order of the plan. The calls of an episode are adjacent and in the order in which
/// they were made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Records {
    /// One row per episode.
    pub episodes: Vec<EpisodeRecord>,
    /// One row per call.
    pub calls: Vec<CallRecord>,
}

/// The outcome of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The expectations hold at the end, and where stopping is right, the agent stopped.
    Success,
    /// The agent declared the task complete, but an expectation does not hold.
    TaskFail,
    /// The agent declared that it cannot complete the task.
    GaveUp,
    /// The model or its provider refused to answer, and an expectation does not hold.
    Refused,
    /// The episode reached a limit on calls, on turns, or on the length of an answer or a conversation.
    Limit,
    /// The agent's infrastructure failed; counted separately, never scored.
    Infra,
    /// The agent's configuration is wrong; counted separately, never scored.
    Config,
    /// The source of a trace does not say; never scored.
    Unknown,
}

impl Outcome {
    /// All outcomes, in the order used in documents.
    pub const ALL: [Outcome; 8] = [
        Outcome::Success,
        Outcome::TaskFail,
        Outcome::GaveUp,
        Outcome::Refused,
        Outcome::Limit,
        Outcome::Infra,
        Outcome::Config,
        Outcome::Unknown,
    ];

    /// Returns the outcome in words, for people.
    pub fn words(self) -> &'static str {
        match self {
            Outcome::TaskFail => "failed",
            Outcome::GaveUp => "gave up",
            Outcome::Limit => "limit reached",
            Outcome::Infra => "lost",
            Outcome::Config => "wrong set-up",
            Outcome::Success | Outcome::Refused | Outcome::Unknown => self.name(),
        }
    }

    /// Returns the name used in columns and documents.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::TaskFail => "task_fail",
            Outcome::GaveUp => "gave_up",
            Outcome::Refused => "refused",
            Outcome::Limit => "limit",
            Outcome::Infra => "infra",
            Outcome::Config => "config",
            Outcome::Unknown => "unknown",
        }
    }

    /// Returns true if an episode with this outcome counts in rates.
    pub fn is_scored(self) -> bool {
        !matches!(self, Outcome::Infra | Outcome::Config | Outcome::Unknown)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The way in which an episode ended: of several that apply, the first that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the registry describes them")]
pub enum EndedBy {
    Done,
    GaveUp,
    Refused,
    Answer,
    GoalReached,
    CallLimit,
    TurnLimit,
    Incomplete,
    TooLong,
    AgentError,
    EnvironmentError,
    Unknown,
}

/// All ways in which an episode ends: each with its name in columns and documents, and a sentence.
#[rustfmt::skip]
pub const ENDINGS: [NamedEntry<EndedBy>; 12] = [
    NamedEntry { value: EndedBy::Done, name: "done", summary: "The agent declared the task complete." },
    NamedEntry { value: EndedBy::GaveUp, name: "gave_up", summary: "The agent declared that it cannot complete the task." },
    NamedEntry { value: EndedBy::Refused, name: "refused", summary: "A model or its provider refused to answer." },
    NamedEntry { value: EndedBy::Answer, name: "answer", summary: "A model answered with text instead of calls." },
    NamedEntry { value: EndedBy::GoalReached, name: "goal_reached", summary: "The calls of a model met all expectations." },
    NamedEntry { value: EndedBy::CallLimit, name: "call_limit", summary: "The agent requested more calls than the task allows." },
    NamedEntry { value: EndedBy::TurnLimit, name: "turn_limit", summary: "The agent took as many turns as are allowed." },
    NamedEntry { value: EndedBy::Incomplete, name: "incomplete", summary: "A turn of a model was incomplete: its answer was too long, or a limit of the agent was reached." },
    NamedEntry { value: EndedBy::TooLong, name: "too_long", summary: "The conversation was too long for the model. The episode counts in success, and not in tokens." },
    NamedEntry { value: EndedBy::AgentError, name: "agent_error", summary: "The agent failed." },
    NamedEntry { value: EndedBy::EnvironmentError, name: "environment_error", summary: "The environment gave no reply." },
    NamedEntry { value: EndedBy::Unknown, name: "unknown", summary: "The source of a trace does not say." },
];

impl EndedBy {
    /// Returns the name used in columns and documents.
    pub fn name(self) -> &'static str {
        ENDINGS.iter().find(|entry| entry.value == self).map_or("", |entry| entry.name)
    }

    /// Returns the ending with this name.
    pub fn from_name(name: &str) -> Option<EndedBy> {
        ENDINGS.iter().find(|entry| entry.name == name).map(|entry| entry.value)
    }
}

/// The row of one episode. Its cell and trial follow from `episode` and the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpisodeRecord {
    /// The index in the plan.
    pub episode: u64,
    /// The outcome.
    pub outcome: Outcome,
    /// The way in which the conversation ended.
    pub ended_by: EndedBy,
    /// True if the agent's last turn claimed that the task was complete.
    pub claimed_done: bool,
    /// True if a mistake or a fault was scheduled. These episodes are the denominator of "episodes recovered", and are
    /// the same in every cell.
    pub scheduled: bool,
    /// The first 64 bits of the SHA-256 of the trial schedule (draft calls, which contain the mistakes, faults and
    /// generated data), as 16 hexadecimal digits. Rows with different hashes had different mistakes, faults or data and
    /// are never paired.
    pub schedule_hash: String,
    /// Other facts that the source of a trace states: `attack=important_instructions`. Empty outside of traces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The number of turns, including messages; null for a program, whose turns are not known.
    pub turns: Option<u32>,
    /// The number of calls.
    pub calls: u32,
    /// The number of calls that a perfect agent needs: the steps of the script.
    pub perfect_calls: u32,
    /// Tokens of the task's prompt.
    pub prompt_tokens: u32,
    /// Tokens of the agent's turns without a call: messages and the closing answer; null for a program.
    pub prose_tokens: Option<u32>,
    /// The sums over its calls.
    pub counts: EpisodeCounts,
    /// The tokens of its turns; null for a program.
    pub billed: Option<BilledTokens>,
    /// The usage of its model; null for an agent without one.
    pub model: Option<Box<ModelUsage>>,
}

impl EpisodeRecord {
    /// Returns true for an episode of a trace with a task that was injected to attack the agent.
    pub fn is_attacked(&self) -> bool {
        self.tags.iter().any(|tag| tag.starts_with("attack="))
    }
}

/// The exact `o200k_base` tokens of an agent's turns, without what an API adds around messages. Every turn is a request
/// with everything that is in the conversation then; those of a seeded opening are none. For a simulated reader, they are
/// the tokens of a model that takes the same turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BilledTokens {
    /// Tokens sent, over all turns: the preamble (system text and tools) and the conversation so far (prompt, calls,
    /// responses and prose), up to the agent's context window.
    pub input: u64,
    /// Tokens received, over all turns: calls and prose, without reasoning.
    pub output: u64,
    /// Tokens of responses that no turn received: those after the last turn, and what did not fit into the context
    /// window.
    pub unsent: u64,
}

/// The model usage of an episode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// The calls of the seeded opening, which the model did not make although the conversation shows them as its own.
    pub opening_calls: u32,
    /// The number of model turns: answered requests; null for a program.
    pub turns: Option<u32>,
    /// The sums of the provider's counts; null unless it reported them for every turn and there was at least one. For a
    /// program, the sums of its own reports.
    pub usage: Option<Usage>,
    /// The cost in US dollars; null if price or usage is unknown.
    pub usd: Option<f64>,
    /// The response time of the model in milliseconds; null for a program.
    pub latency_ms: Option<u64>,
    /// Words of [`diagnostics`](crate::diagnostics) for its answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<String>,
}

/// The turns of an agent in an episode that cannot be computed again. With the responses of its calls, they are a
/// complete transcript; for a model on the simulator they suffice to replay the episode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedTurns {
    /// The episode's index in the plan.
    pub episode: u64,
    /// The text of the task; null if a scenario has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The turns, in order.
    pub turns: Vec<RecordedTurn>,
    /// Descriptions of the expectations that did not hold at the end.
    pub unmet: Vec<String>,
    /// The agent's error that ended the episode, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<AgentError>,
    /// What an agent program did besides calling tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramReport>,
}

/// A turn and its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedTurn {
    /// The turn.
    pub turn: Turn,
    /// The origin of the turn, and its cost if a model answered.
    pub origin: Origin,
}

/// The way in which a call ended its error chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainEnd {
    /// The call is an intended one, or fewer expectations are unmet after it.
    Fixed,
    /// Any other successful call that writes.
    WrongRepair,
}

impl ChainEnd {
    /// All ends.
    pub const ALL: [ChainEnd; 2] = [ChainEnd::Fixed, ChainEnd::WrongRepair];

    /// Returns the name used in columns and documents.
    pub fn name(self) -> &'static str {
        match self {
            ChainEnd::Fixed => "fixed",
            ChainEnd::WrongRepair => "wrong_repair",
        }
    }
}

/// The row of one call. Tokens are exact `o200k_base` counts. Texts are shared, because most of them occur in many
/// rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The episode's index in the plan.
    pub episode: u64,
    /// The number of the call in the episode, from 1.
    pub call: u32,
    /// The number of the turn, from 1; several calls may share a turn. Null for a program.
    pub turn: Option<u32>,
    /// The tool name sent by the agent.
    #[serde(with = "shared")]
    pub tool: Arc<str>,
    /// The action name sent by the agent; null if there was none.
    #[serde(with = "shared")]
    pub action: Option<Arc<str>>,
    /// The arguments as canonical JSON.
    #[serde(with = "shared")]
    pub arguments: Arc<str>,
    /// MCP's `isError` of the response.
    pub is_error: bool,
    /// The class of the failure; null if nothing failed. A warning has a class although `is_error` is false.
    pub error_class: Option<ErrorClass>,
    /// True if the call met an injected fault.
    pub injected: bool,
    /// The kind of the fault; null if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultKind>,
    /// The failed top-level fields, sorted, if the response named them to the agent; null otherwise, such as for every
    /// bare line.
    #[serde(with = "shared")]
    pub named_fields: Option<Arc<[String]>>,
    /// The top-level arguments that differ from those of the previous call, sorted; null for the first call.
    #[serde(with = "shared")]
    pub changed_fields: Option<Arc<[String]>>,
    /// The number of undeclared fields that reached the state; null if the environment does not count them.
    pub leaked_fields: Option<u32>,
    /// The number of rows omitted by truncation.
    pub omitted_rows: u32,
    /// The number of contract deltas in the response.
    pub contract_deltas: u32,
    /// True if the call changed the state; null if the environment cannot know.
    pub state_changed: Option<bool>,
    /// True if an earlier call of the episode with the same tool and canonical arguments failed.
    pub repeated: bool,
    /// True if the call is an intended one: its tool and action are equal to those of a step of the script, and its
    /// arguments contain those of the step. Null if the scenario has no script.
    pub intended: Option<bool>,
    /// True if the text of an error held a value of the call that was meant, which the agent had not sent, and which the
    /// text singles out of more than two possible ones. Null if the call succeeded, and if the scenario has no script.
    pub told_answer: Option<bool>,
    /// The number of the error chain to which the call belongs, from 1; null if there is none.
    pub chain: Option<u32>,
    /// How the call ended its chain; null if it did not.
    pub chain_end: Option<ChainEnd>,
    /// The simulated seconds that passed while the agent waited before the call, or in it.
    pub waited_s: u32,
    /// Tokens of the call as sent by the agent.
    pub request_tokens: u32,
    /// Tokens of the response.
    pub response_tokens: u32,
    /// True if one of these counts is an estimate, because of an unbroken run of over 100,000 bytes.
    pub tokens_estimated: bool,
    /// The first 64 bits of the SHA-256 of the response as shown to the agent: a byte 1 if `is_error` or else 0, then
    /// each text block preceded by its length in bytes as a 64-bit little-endian integer. 0 for a call of a trace without a
    /// result.
    pub response_hash: u64,
    /// The tokens that guardrails added to the response: for a failure, the difference to its bare line (at least 0);
    /// for a list, the truncation notice.
    pub guardrail_tokens: u32,
    /// The tokens of the conversation before this call: prompt, earlier calls and responses. A stateless API receives
    /// them again. Null for a program.
    pub context_tokens: Option<u64>,
    /// The sign that the call failed; null outside of traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_source: Option<ErrorSource>,
    /// The reader's findings in the text of an error; null if the call succeeded or was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<ErrorReading>,
    /// The number of the failed call that this one tries again, by tool and action; null if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt_of: Option<u32>,
    /// The turn and the attempts that followed a failed call; null if the call succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aftermath: Option<Aftermath>,
}

impl CallRecord {
    /// Returns true if the call failed as the script says that it fails: an intended call without a fault opens no error chain
    /// only then.
    pub fn fails_by_design(&self) -> bool {
        self.is_error && self.intended == Some(true) && self.fault.is_none() && self.chain.is_none()
    }

    /// Returns the row without what follows from other rows, and from the version of the reader.
    pub fn as_measured(self) -> CallRecord {
        CallRecord { reading: None, attempt_of: None, aftermath: None, ..self }
    }
}

/// A distinct response of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseRecord {
    /// The hash of the response; see [`CallRecord::response_hash`].
    pub response_hash: u64,
    /// MCP's `isError`.
    pub is_error: bool,
    /// The text blocks shown to the agent, in order.
    pub content: Vec<String>,
    /// The text that the agent would have been shown without guardrails, if the call failed: a bare line, or what a
    /// server sent; in a redacted trace, its template. Null if the call succeeded. If several texts led to this response, it
    /// is that of the first call.
    pub unguarded_text: Option<String>,
    /// Tokens of the response.
    pub tokens: u32,
}

impl ResponseRecord {
    /// Returns the text that the agent reads: the blocks joined by an empty line.
    pub fn text(&self) -> String {
        self.content.join("\n\n")
    }
}

/// Serializes shared texts by value.
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
