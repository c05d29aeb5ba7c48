//! The lines of files of recordings.

use serde_json::{Value, json};

use super::{Key, Recorded, VERSION, raw};
use crate::llm::Api;

/// One recording as it stands in a file: numbers that are needed, and texts of JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) key: Key,
    pub(super) trial: u32,
    /// A JSON string.
    pub(super) recorded: &'a str,
    pub(super) latency_ms: u64,
    /// What the request shares with that of the line before.
    pub(super) same: &'a str,
    /// What it does not share.
    pub(super) request: &'a str,
    pub(super) response: &'a str,
}

impl<'a> Line<'a> {
    /// Reads what [`Line::write`] wrote; `None` for anything else.
    pub(super) fn parse(text: &'a str) -> Option<Line<'a>> {
        let fields = raw::fields(text)?;
        let [
            ("key", key),
            ("trial", trial),
            ("recorded", recorded),
            ("latency_ms", latency_ms),
            ("same", same),
            ("request", request),
            ("response", response),
        ] = fields[..]
        else {
            return None;
        };
        let key = Key::parse(key.strip_prefix('"')?.strip_suffix('"')?)?;
        serde_json::from_str::<String>(recorded).ok()?;
        Some(Line {
            key,
            trial: trial.parse().ok()?,
            recorded,
            latency_ms: latency_ms.parse().ok()?,
            same,
            request,
            response,
        })
    }

    /// The line, without a line break.
    pub(super) fn write(&self) -> String {
        let Line { key, trial, recorded, latency_ms, same, request, response } = self;
        format!(
            r#"{{"key":"{key}","trial":{trial},"recorded":{recorded},"latency_ms":{latency_ms},"same":{same},"request":{request},"response":{response}}}"#
        )
    }

    /// When it was recorded.
    pub(super) fn date(&self) -> String {
        serde_json::from_str(self.recorded).unwrap_or_default()
    }

    /// The answer.
    pub(super) fn answer(&self) -> Option<Recorded> {
        let body = serde_json::from_str(self.response).ok()?;
        Some(Recorded { body, latency_ms: self.latency_ms, recorded: self.date() })
    }
}

/// What the first line of a file says.
pub(super) enum Header {
    Of(Option<(Api, String)>),
    OtherVersion(u64),
    Foreign,
}

/// The first line of a file for one model, or for any.
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
        (None, None) => Header::Of(None),
        (Some(api), Some(Value::String(model))) => match serde_json::from_value(api.clone()) {
            Ok(api) => Header::Of(Some((api, model.clone()))),
            Err(_) => Header::Foreign,
        },
        _ => Header::Foreign,
    }
}
