//! The output of a server without error handling: one line with almost no information.

use super::single_line;
use crate::definition::Code;
use crate::failure::{Failure, Routing};

pub(super) fn render(failure: &Failure) -> String {
    let line = match failure {
        Failure::Routing(Routing::UnknownTool { .. }) => "Unknown tool",
        Failure::Routing(_) => "Unknown action",
        Failure::Validation { .. } => "Invalid arguments",
        Failure::Tool(failure) | Failure::Fault(failure) => {
            match (&failure.bare, failure.code.as_deref().and_then(Code::from_name)) {
                (Some(line), _) => line,
                (None, Some(Code::NotFound)) => "Not found",
                (None, Some(Code::Unauthorized)) => "Unauthorized",
                (None, Some(Code::Forbidden)) => "Forbidden",
                (None, Some(Code::Conflict)) => "Conflict",
                (None, Some(Code::RateLimited)) => "Too many requests",
                (None, Some(Code::Timeout)) => "Request timed out",
                (None, Some(Code::ServerBusy)) => "Service unavailable",
                (None, Some(Code::InternalError)) => "Internal server error",
                (None, _) => &failure.message,
            }
        }
    };
    let is_warning = matches!(failure, Failure::Tool(failure) if !failure.is_error());
    format!("{}: {}", if is_warning { "Warning" } else { "Error" }, single_line(line))
}
