//! The log of what the guardrails did, one JSON object per line. Of the client's and the server's text it contains only the ids of
//! requests and the names of tools.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The counts of one session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// The calls of tools.
    pub calls: u64,
    /// Calls that the guardrails refused.
    pub refused: u64,
    /// Errors of the server that were put into the error format.
    pub formatted: u64,
    /// Answers that were shortened.
    pub cut: u64,
    /// Answers that were too long, and not shortened because they have structured content.
    pub uncut: u64,
    /// JSON-RPC errors that were forwarded unchanged.
    pub protocol_errors: u64,
    /// Calls and answers that no guardrail checked: calls of unknown tools, calls as tasks, and answers that are not final.
    pub unguarded: u64,
    /// Batches, in both directions.
    pub batches: u64,
    /// Lines above the limit, in both directions.
    pub long_lines: u64,
    /// Lines that are no JSON-RPC, in both directions.
    pub invalid_lines: u64,
    /// Requests for the list of tools that the proxy made itself.
    pub asked: u64,
}

/// An entry of the log. Lines are identified by the first 16 digits of their SHA-256, without the line break.
#[derive(Debug, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(crate) enum Entry<'e> {
    /// A call was answered here, and did not reach the server.
    Refused { id: &'e Value, tool: &'e str, call: String, answer: String, tokens: u32 },
    /// An error of the server was put into the error format.
    Formatted { id: &'e Value, tool: &'e str, from: String, answer: String, tokens_before: u32, tokens: u32 },
    /// An answer of the server was shortened.
    Cut { id: &'e Value, tool: &'e str, from: String, answer: String, tokens_before: u32, tokens: u32 },
    /// The proxy asked for the list of tools; the answer does not reach the client.
    Asked { line: String },
    /// The end of the session.
    End { counts: &'e Counts },
}

/// The log; nothing is written without a file, nor after a failure.
#[derive(Default)]
pub(crate) struct Log {
    file: Option<Box<dyn Write + Send>>,
    error: Option<io::ErrorKind>,
}

impl Log {
    pub(crate) fn new(file: Option<Box<dyn Write + Send>>) -> Log {
        Log { file, error: None }
    }

    /// Writes an entry. A log that cannot be written does not end the session.
    pub(crate) fn write(&mut self, entry: &Entry<'_>) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = write_line(file, entry) {
            *self = Log { file: None, error: Some(error.kind()) };
        }
    }

    /// Writes the last entry, and returns the reason why entries are missing, if there is one.
    pub(crate) fn finish(mut self, counts: &Counts) -> Option<io::ErrorKind> {
        self.write(&Entry::End { counts });
        self.error
    }
}

/// Writes a value as a line of JSON.
pub(crate) fn write_line(file: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)?;
    file.flush()
}

/// Returns the first 16 digits of a line's SHA-256, without the line break.
pub(crate) fn hash(line: &[u8]) -> String {
    let end = line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    Sha256::digest(&line[..end]).iter().take(8).fold(String::new(), |mut out, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}
