//! The output of a server without error handling: one line with almost no information.

use super::single_line;
use crate::failure::{Failure, Routing};

pub(super) fn render(failure: &Failure) -> String {
    let line = match failure {
        Failure::Routing(Routing::UnknownTool { .. }) => "Unknown tool",
        Failure::Routing(_) => "Unknown action",
        Failure::Validation { .. } => "Invalid arguments",
        Failure::Tool(failure) | Failure::Fault(failure) => match (&failure.bare, failure.code.as_deref()) {
            (Some(line), _) => line,
            (None, Some("NOT_FOUND")) => "Not found",
            (None, Some("UNAUTHORIZED")) => "Unauthorized",
            (None, Some("FORBIDDEN")) => "Forbidden",
            (None, Some("CONFLICT")) => "Conflict",
            (None, Some("RATE_LIMITED")) => "Too many requests",
            (None, Some("TIMEOUT")) => "Request timed out",
            (None, Some("SERVER_BUSY")) => "Service unavailable",
            (None, Some("INTERNAL_ERROR")) => "Internal server error",
            (None, _) => &failure.message,
        },
    };
    format!("Error: {}", single_line(line))
}
