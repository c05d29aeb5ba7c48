//! MCP servers as processes: lines of JSON-RPC, processes that end with their caller, a client on their standard streams, and the
//! server's side of a session.
//!
//! Everything is blocking, with a deadline for every request: callers are threads that wait for one server. What a server
//! says is data; it is escaped in every message.

mod answer;
mod attach;
mod client;
mod error;
mod folder;
mod hold;
mod http;
mod line;
mod process;
mod public_names;
mod server;
mod session;
mod supervisor;

pub use answer::{CallAnswer, CallOutcome};
pub use attach::attach;
pub use client::{Defects, Limits, StdioSession, ToolDefinition};
pub use error::McpError;
pub use hold::{HOLD, hold};
pub use http::{Address, HttpSession, is_loopback};
pub use line::{Line, MAX_LINE, Message, RpcError, read_line, to_line};
pub use process::{Process, ProgramEnd, ServerCommand, Variables, check_program, run_program};
pub use server::{Incoming, IncomingCall, ToolServer, call_outcome};
pub use session::{Endpoint, McpSession};
pub use supervisor::{Supervisor, WeakSupervisor};
