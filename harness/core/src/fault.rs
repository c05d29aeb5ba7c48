use serde::{Deserialize, Serialize};

use crate::Draws;

/// The kind of an injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// RATE_LIMITED.
    RateLimited,
    /// TIMEOUT.
    Timeout,
    /// SERVER_BUSY.
    Busy,
    /// INTERNAL_ERROR.
    Internal,
    /// A bug whose exception is the answer.
    StackTrace,
    /// An error that is sent as a success.
    NotAnError,
    /// A JSON-RPC error instead of a result.
    ProtocolError,
    /// TIMEOUT, although the call was executed.
    TimeoutAfter,
    /// A success whose changes are dropped.
    NoOp,
    /// The state at the start instead of the present one.
    Stale,
    /// A part of the result.
    Cut,
    /// A result with other values.
    Corrupt,
    /// The text of a failure that says something wrong.
    Misleading,
}

/// The place of a fault in the course of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultPhase {
    /// The call fails before its rules and its handler. Every valid call is counted.
    Before,
    /// The call is executed, and fails for whoever made it. Calls whose handler succeeded are counted.
    After,
    /// No error is told. Calls whose handler succeeded are counted.
    Silent,
    /// A property of a failure that a scenario declares, and no fault of its own.
    Text,
}

/// A kind of fault with its name and meaning.
#[derive(Debug, Clone, Copy)]
pub struct FaultEntry {
    /// The kind.
    pub kind: FaultKind,
    /// The name in scenario files and rows.
    pub name: &'static str,
    /// Its place in a call.
    pub phase: FaultPhase,
    /// The effect, in a sentence.
    pub says: &'static str,
}

/// All kinds of faults.
pub const FAULTS: [FaultEntry; 13] = {
    use FaultPhase::{After, Before, Silent, Text};
    const fn entry(kind: FaultKind, name: &'static str, phase: FaultPhase, says: &'static str) -> FaultEntry {
        FaultEntry { kind, name, phase, says }
    }
    [
        entry(FaultKind::RateLimited, "rate_limited", Before, "The call fails with RATE_LIMITED."),
        entry(FaultKind::Timeout, "timeout", Before, "The call fails with TIMEOUT before it is executed."),
        entry(FaultKind::Busy, "busy", Before, "The call fails with SERVER_BUSY."),
        entry(FaultKind::Internal, "internal", Before, "The call fails with INTERNAL_ERROR."),
        entry(
            FaultKind::StackTrace,
            "stack_trace",
            Before,
            "The server fails, and its stack trace is the text of the error.",
        ),
        entry(
            FaultKind::NotAnError,
            "not_an_error",
            Before,
            "The call fails, and the error is sent with `isError: false`.",
        ),
        entry(
            FaultKind::ProtocolError,
            "protocol_error",
            Before,
            "The call fails with a JSON-RPC error, which no guardrail formats.",
        ),
        entry(FaultKind::TimeoutAfter, "timeout_after", After, "The call is executed, and then fails with TIMEOUT."),
        entry(
            FaultKind::NoOp,
            "no_op",
            Silent,
            "A success is told, and nothing is changed. Only calls that change something count.",
        ),
        entry(
            FaultKind::Stale,
            "stale",
            Silent,
            "The state at the start is read. Only calls that change nothing count.",
        ),
        entry(FaultKind::Cut, "cut", Silent, "The second half of a list is missing, or a column of a row."),
        entry(FaultKind::Corrupt, "corrupt", Silent, "A column of a row has another value."),
        entry(FaultKind::Misleading, "misleading", Text, "The text of a failure says something wrong."),
    ]
};

impl FaultKind {
    /// Returns the name, place and meaning.
    pub fn entry(self) -> &'static FaultEntry {
        // All kinds are listed, as a test checks.
        FAULTS.iter().find(|entry| entry.kind == self).unwrap_or(&FAULTS[0])
    }

    /// Returns the name in scenario files and rows.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns the place of the fault in a call.
    pub fn phase(self) -> FaultPhase {
        self.entry().phase
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<FaultKind> {
        FAULTS.iter().find(|entry| entry.name == name).map(|entry| entry.kind)
    }
}

/// A fault that strikes a call that has succeeded.
#[derive(Debug)]
pub struct Strike {
    /// The kind, one of those after the handler.
    pub kind: FaultKind,
    /// The column that is cut or corrupted; drawn if there is none.
    pub column: Option<String>,
    /// The draws of this strike.
    pub draws: Draws,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_an_entry_of_its_own() {
        for entry in FAULTS {
            assert_eq!(entry.kind.entry().name, entry.name);
            assert_eq!(serde_json::to_value(entry.kind).unwrap(), entry.name);
        }
    }
}
