//! The data that agents and the engine exchange, and the trait of agents.
//!
//! Every other crate of the workspace depends on this one; it depends on none of them. Its only behavior is parsing and
//! formatting names, canonical JSON, checksums of lines, keyed random draws, the comparison of names, the escapes of texts that are shown, the
//! masking of secrets, and how files are opened.

#![warn(missing_docs)]

mod axes;
mod call;
mod canonical;
mod checksum;
mod claim;
mod condition;
mod definitions;
mod display;
mod draw;
mod environment;
mod error_class;
mod files;
mod numbers;
mod printable;
mod request_log;
mod script;
mod secrets;
mod similar;
mod tool_failure;
mod turn;

pub use axes::{
    AgentId, AgentKind, AgentSpec, AxisError, ErrorFormat, FORMATS, FormatEntry, GUARDRAILS, GuardrailEntry,
    Guardrails, Opening, PROGRAM_PREFIX, TemplateSource, ToolsMode,
};
pub use call::{ActionSpec, ToolCall, ToolResponse, ToolSpec};
pub use canonical::{canonical_json, fingerprint, fingerprint_file, json_type, same_json};
pub use checksum::{ChecksumError, checked_members, line_with_checksum};
pub use claim::{Claim, Measure, Span};
pub use condition::{
    AXES, Axis, AxisValueError, AxisValues, CLIENTS, CONDITIONS, CONTENTS, Client, Condition, ConditionEntry,
    ConditionId, Content, ContractChanges, DOMAIN_ERRORS, DomainErrors, ENVIRONMENTS, EnvironmentKind, Files,
    NamedEntry, Need, REFERENCE_CONDITION, UNDECLARED, Undeclared, axis,
};
pub use definitions::{Function, SERVER_NAME, functions, tool_definitions};
pub use display::{escape_markdown, is_unsafe, plain_text, xml_text};
pub use draw::{DrawKey, Draws, Seed};
pub use environment::{
    CallResult, Capabilities, ContentBlock, Deadline, Environment, EnvironmentError, ProtocolError, Reply,
    ReplyOutcome, Session,
};
pub use error_class::ErrorClass;
pub use files::{
    MAX_GENERATED_BYTES, MAX_LIST_BYTES, MAX_WRITTEN_BYTES, check_own_file, create_own_file, open_regular_file,
    private_file, read_bounded_line, read_file, read_text_file,
};
pub use numbers::NumberTexts;
pub use printable::is_unprintable;
pub use request_log::{NewRequest, ReceivedAnswer, RequestId, RequestLog, RequestLogError};
pub use script::{RecordQuery, Script, Step};
pub use secrets::{
    Secrets, TimeLimitExceeded, keep_secret, keep_variable, looks_like_secret, names_secret, secrets, secrets_in_url,
};
pub use similar::{compared_part, nearest_name};
pub use tool_failure::{Code, Severity, ToolFailure, detail_texts};
pub use turn::{Agent, AgentError, EpisodeStart, Origin, ProgramReport, Turn, TurnCost, Usage};

/// A JSON object that preserves the order of its keys; schemas and error texts depend on that order.
pub type Object = serde_json::Map<String, serde_json::Value>;
