//! The rows of a session: its calls, and the session as an episode, each a JSON object a line. Names and units are those of a
//! run's columns.

use std::collections::HashSet;
use std::io::{self, Write};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use healbench_core::{ErrorClass, ToolCall, canonical_json};
use healbench_text::secrets;
use healbench_tokens::count_tokens;
use serde::Serialize;

use crate::log::{Counts, hash, write_line};

/// The files of a session's rows.
pub struct Recording {
    /// The name of the session in its rows.
    pub episode: String,
    /// The rows of calls.
    pub calls: Box<dyn Write + Send>,
    /// The row of the session.
    pub episodes: Box<dyn Write + Send>,
    /// True if the rows of calls have the texts of answers.
    pub with_texts: bool,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Effect {
    Passed,
    Refused,
    Formatted,
    Cut,
    Uncut,
    ProtocolError,
}

/// The answer to a call as the client gets it.
pub(crate) struct Answer<'a> {
    pub(crate) effect: Effect,
    /// The class of the failure; `None` if the call succeeded.
    pub(crate) error_class: Option<ErrorClass>,
    /// The fields that the text names; `None` if the guardrails did not look at it.
    pub(crate) named_fields: Option<&'a [String]>,
    pub(crate) response_tokens: u32,
    /// The text that the client gets; `None` unless texts are recorded.
    pub(crate) text: Option<String>,
    /// The tokens that the guardrails added, negative for those that they removed; `None` if the text without them is not known.
    pub(crate) guardrail_tokens: Option<i64>,
}

/// A call that was not answered yet.
#[derive(Debug, Clone)]
pub(crate) struct Begun {
    call: u64,
    at: Instant,
}

#[derive(Serialize)]
struct CallRow<'r> {
    episode: &'r str,
    call: u64,
    tool: &'r str,
    arguments: &'r str,
    effect: Effect,
    is_error: bool,
    error_class: Option<&'r str>,
    named_fields: Option<&'r [String]>,
    repeated: bool,
    request_tokens: u32,
    response_tokens: u32,
    guardrail_tokens: Option<i64>,
    latency_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// The sums over the rows of calls.
#[derive(Debug, Default, Serialize)]
struct Sums {
    answered_calls: u64,
    failed_calls: u64,
    repeated_calls: u64,
    request_tokens: u64,
    response_tokens: u64,
}

#[derive(Serialize)]
struct EpisodeRow<'r> {
    episode: &'r str,
    /// What the client wanted is not known.
    success: Option<bool>,
    started_unix_ms: u64,
    duration_ms: u64,
    #[serde(flatten)]
    counts: &'r Counts,
    #[serde(flatten)]
    sums: &'r Sums,
}

/// Writes the rows. After a failure nothing more is written.
pub(crate) struct Recorder {
    recording: Recording,
    begun: u64,
    /// Tools and arguments of calls that failed, as hashes.
    failed: HashSet<String>,
    sums: Sums,
    started: (SystemTime, Instant),
    error: Option<io::ErrorKind>,
}

impl Recorder {
    pub(crate) fn new(recording: Recording) -> Recorder {
        let started = (SystemTime::now(), Instant::now());
        Recorder { recording, begun: 0, failed: HashSet::new(), sums: Sums::default(), started, error: None }
    }

    pub(crate) fn begin(&mut self) -> Begun {
        self.begun += 1;
        Begun { call: self.begun, at: Instant::now() }
    }

    pub(crate) fn end(&mut self, begun: &Begun, call: &ToolCall, answer: &Answer<'_>) {
        let secrets = secrets();
        let arguments = secrets.mask(&canonical_json(&call.arguments));
        let is_error = answer.error_class.is_some();
        let key = hash(format!("{}\0{arguments}", call.tool).as_bytes());
        let repeated = if is_error { !self.failed.insert(key) } else { self.failed.contains(&key) };
        let request_tokens = count_tokens(&call.wire_text());
        self.sums.answered_calls += 1;
        self.sums.failed_calls += u64::from(is_error);
        self.sums.repeated_calls += u64::from(repeated);
        self.sums.request_tokens += u64::from(request_tokens);
        self.sums.response_tokens += u64::from(answer.response_tokens);
        let row = CallRow {
            episode: &self.recording.episode,
            call: begun.call,
            tool: &secrets.mask(&call.tool),
            arguments: &arguments,
            effect: answer.effect,
            is_error,
            error_class: answer.error_class.as_ref().map(ErrorClass::name),
            named_fields: answer.named_fields,
            repeated,
            request_tokens,
            response_tokens: answer.response_tokens,
            guardrail_tokens: answer.guardrail_tokens,
            latency_ms: begun.at.elapsed().as_secs_f64() * 1000.0,
            text: answer.text.as_deref().map(|text| secrets.mask(text)),
        };
        if self.error.is_none() {
            self.error = write_line(&mut self.recording.calls, &row).err().map(|error| error.kind());
        }
    }

    /// Writes the row of the session, and returns the reason why rows are missing, if there is one.
    pub(crate) fn finish(mut self, counts: &Counts) -> Option<io::ErrorKind> {
        let (started, since) = self.started;
        let unix = started.duration_since(UNIX_EPOCH).unwrap_or_default();
        let row = EpisodeRow {
            episode: &self.recording.episode,
            success: None,
            started_unix_ms: u64::try_from(unix.as_millis()).unwrap_or(u64::MAX),
            duration_ms: u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX),
            counts,
            sums: &self.sums,
        };
        let written = write_line(&mut self.recording.episodes, &row).err().map(|error| error.kind());
        self.error.or(written)
    }
}
