use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{EnvironmentKind, Object, Strike, ToolCall, ToolFailure, ToolSpec};

/// The tools of a scenario and the state they act on: the built-in simulator, or a server.
pub trait Environment: Send + Sync {
    /// Returns the kind.
    fn kind(&self) -> EnvironmentKind;

    /// Returns what callers may rely on.
    fn capabilities(&self) -> Capabilities;

    /// Returns the tools as listed for agents.
    fn tools(&self) -> &[ToolSpec];

    /// Returns a text that changes with the tools and the initial state of a server; empty for the simulator, whose
    /// scenario file determines both.
    fn fingerprint(&self) -> &str {
        ""
    }

    /// Starts a session in the initial state.
    ///
    /// # Errors
    /// [`EnvironmentError`] if the server cannot be started or set up.
    fn open(&self) -> Result<Box<dyn Session + '_>, EnvironmentError>;
}

/// The properties of an environment that callers may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// True if equal calls in equal sessions get equal bytes. Otherwise rows have no hash, gates are statistical,
    /// and episodes cannot be simulated again.
    pub deterministic: bool,
    /// True if the state may be checked between turns; otherwise it is checked only at the end.
    pub state_is_cheap: bool,
    /// The time in which a call, or a check of the state, must be answered; `None` without a limit.
    pub call_timeout: Option<Duration>,
}

/// One episode's access to an environment.
pub trait Session {
    /// Executes a call that passed all guardrails in front of the session.
    ///
    /// # Errors
    /// [`EnvironmentError`] if there is no reply. A failed call is a reply.
    fn call<'s>(&'s mut self, call: &ToolCall, deadline: Deadline) -> Result<Reply<'s>, EnvironmentError>;

    /// Executes a call that a fault may strike once its handler has succeeded. `strike` is told whether the call changed
    /// the state, and returns the fault. Only the simulator has such faults.
    ///
    /// # Errors
    /// Those of [`call`](Session::call).
    fn call_with_fault<'s>(
        &'s mut self,
        call: &ToolCall,
        deadline: Deadline,
        strike: &mut dyn FnMut(bool) -> Option<Strike>,
    ) -> Result<Reply<'s>, EnvironmentError> {
        let _ = strike;
        self.call(call, deadline)
    }

    /// Advances the simulated time. Does nothing if there is none.
    fn wait(&mut self, seconds: u32) {
        let _ = seconds;
    }

    /// Returns true if every call is still answered as in a new session.
    fn is_pristine(&self) -> bool {
        false
    }

    /// Checks the expectations on the state, and returns for each of them, in the order of the scenario, whether it
    /// holds.
    ///
    /// # Errors
    /// [`EnvironmentError`] if the state cannot be read.
    fn check(&mut self, deadline: Deadline) -> Result<Vec<bool>, EnvironmentError>;
}

/// The time by which a call must be answered; none for a deterministic environment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deadline(pub Option<Instant>);

impl Deadline {
    /// No deadline.
    pub const NONE: Deadline = Deadline(None);
}

/// The reply of a session, before any guardrail.
#[derive(Debug)]
pub struct Reply<'s> {
    /// The result of the call.
    pub outcome: ReplyOutcome<'s>,
    /// True if the call changed the state; `None` if the session cannot know.
    pub state_changed: Option<bool>,
    /// True if a fault struck the call and changed its result or the state.
    pub struck: bool,
}

/// The result of a call.
#[derive(Debug)]
pub enum ReplyOutcome<'s> {
    /// A list of rows, not yet presented.
    Rows(Vec<&'s Object>),
    /// Any other successful result.
    Text(String),
    /// A structured failure.
    Failed(ToolFailure),
    /// The result of a server, whose texts are opaque.
    Foreign(CallResult),
}

/// The result of a call of an MCP server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallResult {
    /// The content blocks, in order.
    pub content: Vec<ContentBlock>,
    /// `structuredContent`; `None` if the server sent none.
    pub structured: Option<Value>,
    /// `isError`.
    pub is_error: bool,
    /// The JSON-RPC error that was sent instead of a result.
    pub protocol_error: Option<ProtocolError>,
}

/// A content block of a [`CallResult`].
#[derive(Debug, Clone, PartialEq)]
pub enum ContentBlock {
    /// Text.
    Text(String),
    /// Any other block, such as an image, as it was sent.
    Other(Value),
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtocolError {
    /// The code, such as -32602.
    pub code: i64,
    /// The message.
    pub message: String,
    /// The data; `None` if there is none.
    pub data: Option<Value>,
}

impl CallResult {
    /// Returns the texts that an agent is shown if no guardrail changes them: the text blocks, with a placeholder for
    /// any other block. `structuredContent` is shown only without content blocks, since servers repeat it as text.
    pub fn shown(&self) -> Vec<String> {
        if let Some(error) = &self.protocol_error {
            return vec![format!("MCP error {}: {}", error.code, error.message)];
        }
        let text = |block: &ContentBlock| match block {
            ContentBlock::Text(text) => text.clone(),
            ContentBlock::Other(block) => format!("[{}]", block["type"].as_str().unwrap_or("unknown")),
        };
        match (self.content.as_slice(), &self.structured) {
            ([], Some(structured)) => vec![structured.to_string()],
            ([], None) => vec![String::new()],
            (blocks, _) => blocks.iter().map(text).collect(),
        }
    }

    /// Returns true if the server refused the call.
    pub fn is_refusal(&self) -> bool {
        self.is_error || self.protocol_error.is_some()
    }
}

/// The reason why an environment gave no reply. Such an episode is lost to infrastructure and never scored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// The server cannot be started or reached, or it ended.
    #[error("the server failed: {0}")]
    Unavailable(Arc<str>),
    /// The deadline has passed.
    #[error("the server did not answer within {0} s")]
    Timeout(u64),
    /// Nobody waits for it any more, since the run is being stopped.
    #[error("interrupted")]
    Stopped,
}
