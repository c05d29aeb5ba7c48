//! Guardrails in front of an MCP server that speaks over standard input and output.
//!
//! Lines pass as the bytes that they are. Changed are only answers to `tools/call`: calls that the guardrails refuse are
//! answered here, errors of the server are put into the error format, and long texts are shortened.

mod guard;
mod log;
mod proxy;
mod record;
mod tools;

pub use guard::Rules;
pub use log::Counts;
pub use proxy::{End, Files, ProxyError, proxy};
pub use record::Recording;
