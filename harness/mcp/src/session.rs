//! A session with a server, wherever it runs.

use std::time::Duration;

use serde_json::Value;

use crate::answer::CallAnswer;
use crate::client::{Defects, Limits, StdioSession, ToolDefinition};
use crate::error::McpError;
use crate::http::{Address, HttpSession};
use crate::process::ServerCommand;
use crate::supervisor::Supervisor;

/// How a server is reached.
#[derive(Clone)]
pub enum Endpoint {
    /// On the standard streams of a process of its own.
    Command(ServerCommand),
    Url(Address),
}

/// A session with a server, which ends when this value is dropped.
pub enum McpSession {
    /// With a process of its own, which ends as well.
    Stdio(Box<StdioSession>),
    /// With a server behind a URL.
    Http(Box<HttpSession>),
}

impl McpSession {
    /// Starts or reaches a server, and asks for its tools.
    ///
    /// # Errors
    /// [`McpError`] if it cannot be started or reached, or does not answer as MCP says.
    pub fn start(supervisor: &Supervisor, endpoint: &Endpoint, limits: &Limits) -> Result<McpSession, McpError> {
        Ok(match endpoint {
            Endpoint::Command(command) => {
                McpSession::Stdio(Box::new(StdioSession::start(supervisor, command, limits)?))
            }
            Endpoint::Url(address) => {
                McpSession::Http(Box::new(HttpSession::connect(supervisor.stop(), address, limits)?))
            }
        })
    }

    /// Returns `serverInfo`; null if the server does not say who it is.
    pub fn server_info(&self) -> &Value {
        match self {
            McpSession::Stdio(session) => session.server_info(),
            McpSession::Http(session) => session.server_info(),
        }
    }

    /// Returns the revision of MCP that both sides speak.
    pub fn revision(&self) -> &str {
        match self {
            McpSession::Stdio(session) => session.revision(),
            McpSession::Http(session) => session.revision(),
        }
    }

    /// Returns the tools, in the order of the server.
    pub fn tools(&self) -> &[ToolDefinition] {
        match self {
            McpSession::Stdio(session) => session.tools(),
            McpSession::Http(session) => session.tools(),
        }
    }

    /// Returns what the server did besides answering.
    pub fn defects(&self) -> &Defects {
        match self {
            McpSession::Stdio(session) => session.defects(),
            McpSession::Http(session) => session.defects(),
        }
    }

    /// Returns the end of what a process wrote to its standard error, escaped; empty if it wrote nothing.
    pub fn last_words(&self) -> String {
        match self {
            McpSession::Stdio(session) => session.last_words(),
            McpSession::Http(_) => String::new(),
        }
    }

    /// Calls a tool, and masks secrets in the answer. A call that is not answered within `timeout` is cancelled; progress does not extend the
    /// time.
    ///
    /// # Errors
    /// [`McpError`] if the server gives no more answers.
    pub fn call(&mut self, tool: &str, arguments: &Value, timeout: Duration) -> Result<CallAnswer, McpError> {
        match self {
            McpSession::Stdio(session) => session.call(tool, arguments, timeout),
            McpSession::Http(session) => session.call(tool, arguments, timeout),
        }
    }

    /// Like [`McpSession::call`], with the answer as the server sent it: whoever reads it masks what is kept of it. A call that is not answered
    /// after the time of `again` is sent a second time, whose answer counts if the first gets none in time.
    ///
    /// # Errors
    /// [`McpError`] if the server gives no more answers.
    pub fn call_unmasked(
        &mut self,
        tool: &str,
        arguments: &Value,
        timeout: Duration,
        again: Option<Duration>,
    ) -> Result<CallAnswer, McpError> {
        match self {
            McpSession::Stdio(session) => session.call_unmasked(tool, arguments, timeout, again),
            McpSession::Http(session) => session.call_unmasked(tool, arguments, timeout, again),
        }
    }
}
