//! Plans, conditions, rows and calls, and the traits of agents and environments.
//!
//! Every other crate of the workspace but `text` depends on this one; it depends on none of them. It does no input or output. Its only behavior is
//! parsing and formatting names, canonical JSON, hashes, keyed random draws, the counts of an episode, and which episodes a shard has.

#![warn(missing_docs)]

mod attempts;
mod axes;
mod call;
mod canonical;
mod claim;
mod condition;
mod counts;
mod decisions;
mod definitions;
pub mod diagnostics;
mod draw;
mod draw_key;
mod environment;
mod error_class;
mod error_kind;
mod fault;
mod moves;
mod numbers;
mod plan;
mod preamble;
mod request_log;
mod rows;
mod script;
mod settings;
mod shard;
mod tool_failure;
mod turn;
mod value_path;

pub use attempts::{Aftermath, Break, MOVES, Move, Surroundings, follow};
pub use axes::{
    AgentId, AgentKind, AgentSpec, AxisError, ErrorFormat, FORMATS, FormatEntry, GUARDRAILS, GuardrailEntry,
    Guardrails, Opening, PROGRAM_PREFIX, TemplateSource, ToolsMode,
};
pub use call::{ActionSpec, ToolCall, ToolResponse, ToolSpec, changed_arguments};
pub use canonical::{canonical_json, fingerprint, fingerprint_reader, json_type, same_json};
pub use claim::{Claim, Measure, Span};
pub use condition::{
    AXES, Axis, AxisValueError, AxisValues, CLIENTS, CONDITIONS, CONTENTS, Client, Condition, ConditionEntry,
    ConditionId, Content, ContractChanges, DOMAIN_ERRORS, DomainErrors, ENVIRONMENTS, EnvironmentKind, Files,
    NamedEntry, Need, REFERENCE_CONDITION, UNDECLARED, Undeclared, axis,
};
pub use counts::EpisodeCounts;
pub use decisions::{Decision, Question, record_decisions};
pub use definitions::{Function, SERVER_NAME, functions, tool_definitions};
pub use draw::{Answers, Draws};
pub use draw_key::{DrawKey, Seed};
pub use environment::{
    CallResult, Capabilities, ContentBlock, Deadline, Environment, EnvironmentError, ProtocolError, Reply,
    ReplyOutcome, Session,
};
pub use error_class::ErrorClass;
pub use error_kind::{ERROR_KINDS, ErrorKind, ErrorReading, ErrorSource};
pub use fault::{FAULTS, FaultEntry, FaultKind, FaultPhase, Strike};
pub use moves::{Moves, Shares};
pub use numbers::NumberTexts;
pub use plan::{
    CellRef, DuplicateName, FormerScenario, ListedEpisode, Plan, PlanOrder, PlannedEnvironment, PlannedScenario, family,
};
pub use preamble::{DEFAULT_SYSTEM_TEXT, default_preamble, preamble};
pub use request_log::{NewRequest, ReceivedAnswer, RequestId, RequestLog, RequestLogError};
pub use rows::{
    BilledTokens, CallRecord, ChainEnd, ENDINGS, EndedBy, EpisodeRecord, ModelUsage, Outcome, RecordedTurn,
    RecordedTurns, Records, ResponseRecord,
};
pub use script::{RecordQuery, Script, Step};
pub use settings::{ChangedSetting, FITTED, Fitted, changed_settings};
pub use shard::{Episodes, InvalidShard, MAX_SHARDS, Shards, format_numbers};
pub use tool_failure::{Code, Severity, ToolFailure, detail_texts};
pub use turn::{Agent, AgentError, EpisodeStart, Origin, ProgramReport, Turn, TurnCost, Usage};
pub use value_path::{PathError, ValuePath, property, schema_parts};

/// A JSON object that preserves the order of its keys; schemas and error texts depend on that order.
pub type Object = serde_json::Map<String, serde_json::Value>;
