//! What agents and the engine say to each other, as plain data.
//!
//! Every other crate depends on this one; this one depends on no other crate of the workspace. It holds no behaviour but
//! parsing and printing of names, canonical JSON, and the keyed random draws that all of them share.

mod axes;
mod call;
mod canonical;
mod claim;
mod draw;
mod script;
mod turn;

pub use axes::{AgentKind, AgentSpec, AxisError, ErrorFormat, Guardrails, Opening, TemplateSource, ToolsMode};
pub use call::{ActionSpec, ToolCall, ToolResponse, ToolSpec};
pub use canonical::{canonical_json, fingerprint, same_json};
pub use claim::{Claim, Measure, Span};
pub use draw::{DrawKey, Draws, Seed};
pub use script::{RecordQuery, Script, Step};
pub use turn::{Agent, AgentError, EpisodeStart, Origin, Turn, TurnCost, Usage};

/// A JSON object that keeps the order of its keys, as JSON Schema authors and error texts need it.
pub type Object = serde_json::Map<String, serde_json::Value>;
