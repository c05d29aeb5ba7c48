//! The lines of recording files.

use serde_json::{Value, json};

use super::{Key, RecordedResponse, VERSION, raw};
use crate::llm::Api;

/// One recording as stored in a file; JSON values are kept as text.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordingLine<'a> {
    pub(super) key: Key,
    pub(super) trial: u32,
    /// A JSON string.
    pub(super) recorded_on: &'a str,
    pub(super) latency_ms: u64,
    /// The parts that the request shares with that of the previous line.
    pub(super) shared: &'a str,
    /// The remaining parts of the request.
    pub(super) request: &'a str,
    pub(super) response: &'a str,
}

impl<'a> RecordingLine<'a> {
    /// Parses the output of [`RecordingLine::write`]; returns `None` for other text.
    pub(super) fn parse(text: &'a str) -> Option<RecordingLine<'a>> {
        let fields = raw::fields(text)?;
        let [
            ("key", key),
            ("trial", trial),
            ("recorded", recorded_on),
            ("latency_ms", latency_ms),
            ("same", shared),
            ("request", request),
            ("response", response),
        ] = fields[..]
        else {
            return None;
        };
        let key = Key::parse(key.strip_prefix('"')?.strip_suffix('"')?)?;
        serde_json::from_str::<String>(recorded_on).ok()?;
        Some(RecordingLine {
            key,
            trial: trial.parse().ok()?,
            recorded_on,
            latency_ms: latency_ms.parse().ok()?,
            shared,
            request,
            response,
        })
    }

    /// Formats the line, without a line break.
    pub(super) fn write(&self) -> String {
        let RecordingLine { key, trial, recorded_on, latency_ms, shared, request, response } = self;
        format!(
            r#"{{"key":"{key}","trial":{trial},"recorded":{recorded_on},"latency_ms":{latency_ms},"same":{shared},"request":{request},"response":{response}}}"#
        )
    }

    /// Returns the date of the recording.
    pub(super) fn date(&self) -> String {
        serde_json::from_str(self.recorded_on).unwrap_or_default()
    }

    pub(super) fn recorded_response(&self) -> Option<RecordedResponse> {
        let body = serde_json::from_str(self.response).ok()?;
        Some(RecordedResponse { body, latency_ms: self.latency_ms, recorded_on: self.date() })
    }
}

/// The content of a file's first line.
pub(super) enum Header {
    Valid(Option<(Api, String)>),
    OtherVersion(u64),
    Foreign,
}

/// Formats the header of a model's recording file or, for `None`, of a segment file.
pub(super) fn header(of: Option<(Api, &str)>) -> String {
    match of {
        Some((api, model)) => json!({"healbench_cassette": VERSION, "api": api, "model": model}).to_string(),
        None => json!({"healbench_cassette": VERSION}).to_string(),
    }
}

pub(super) fn parse_header(line: &str) -> Header {
    let Ok(header) = serde_json::from_str::<Value>(line) else { return Header::Foreign };
    match header.get("healbench_cassette").and_then(Value::as_u64) {
        None => return Header::Foreign,
        Some(VERSION) => {}
        Some(other) => return Header::OtherVersion(other),
    }
    match (header.get("api"), header.get("model")) {
        (None, None) => Header::Valid(None),
        (Some(api), Some(Value::String(model))) => match serde_json::from_value(api.clone()) {
            Ok(api) => Header::Valid(Some((api, model.clone()))),
            Err(_) => Header::Foreign,
        },
        _ => Header::Foreign,
    }
}
