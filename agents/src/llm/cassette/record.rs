//! A recording and the line that stores it.

use std::cmp::Ordering;

use healbench_files::{ChecksumError, checked_members, line_with_checksum};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::key::key_of;
use super::{Key, RecordedResponse};
use crate::llm::Api;

/// A recorded response with its request. Both bodies are kept as text, so numbers are preserved exactly.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) metadata: Metadata,
    /// The canonical JSON of the request's body.
    pub(super) request: String,
    pub(super) response: String,
}

/// The fields of a recording besides the bodies.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Metadata {
    pub(super) api: Api,
    pub(super) model: String,
    pub(super) trial: u32,
    pub(super) recorded: String,
    pub(super) latency_ms: u64,
}

const REQUEST: &str = r#","request":"#;
const RESPONSE: &str = r#","response":"#;

impl Record {
    /// Formats the recording as a JSON object on one line, with a line break.
    pub(super) fn line(&self) -> String {
        let metadata = json!(self.metadata).to_string();
        let members = &metadata[1..metadata.len() - 1];
        let content = format!("{members}{REQUEST}{}{RESPONSE}{}}}", self.request, self.response);
        line_with_checksum(&content)
    }

    /// Parses the output of [`Record::line`] without its line break, or returns a description of the problem.
    pub(super) fn parse(line: &[u8]) -> Result<Record, &'static str> {
        const INVALID: &str = "it is not a recording";
        let line = str::from_utf8(line).map_err(|_| INVALID)?;
        let content = checked_members(line).map_err(|error| match error {
            ChecksumError::Missing => INVALID,
            ChecksumError::Mismatch => "its checksum does not match",
        })?;
        parse_content(content).ok_or(INVALID)
    }

    pub(super) fn key(&self) -> Key {
        key_of(self.metadata.api, &self.metadata.model, self.metadata.trial, &self.request)
    }

    pub(super) fn is_of(&self, api: Api, model: &str) -> bool {
        self.metadata.api == api && self.metadata.model == model
    }

    pub(super) fn recorded_response(&self) -> Option<RecordedResponse> {
        let body = serde_json::from_str(&self.response).ok()?;
        let Metadata { latency_ms, recorded, .. } = &self.metadata;
        Some(RecordedResponse { body, latency_ms: *latency_ms, recorded_on: recorded.clone() })
    }

    /// Returns the body of the request.
    pub(super) fn request_body(&self) -> Value {
        serde_json::from_str(&self.request).unwrap_or_default()
    }

    /// Compares the positions of two recordings in files and lists: by model, then by request. Requests of one
    /// conversation and its trials are adjacent, which compresses well, and the shortest comes first.
    pub(super) fn compare(&self, other: &Record) -> Ordering {
        let (a, b) = (&self.metadata, &other.metadata);
        (a.api, &a.model)
            .cmp(&(b.api, &b.model))
            .then_with(|| sortable(&self.request).cmp(sortable(&other.request)))
            .then_with(|| a.trial.cmp(&b.trial))
    }
}

/// Returns the bytes of a request with `]` replaced by 0: a list that ends sorts before a list that goes on.
fn sortable(request: &str) -> impl Iterator<Item = u8> {
    request.bytes().map(|byte| if byte == b']' { 0 } else { byte })
}

fn parse_content(content: &str) -> Option<Record> {
    // Strings contain no unescaped quotes, so the first match follows the metadata.
    let (metadata, bodies) = content.split_once(REQUEST)?;
    let mut values = serde_json::Deserializer::from_str(bodies).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    let (request, response) = bodies.split_at_checked(values.byte_offset())?;
    Some(Record {
        metadata: serde_json::from_str(&format!("{{{metadata}}}")).ok()?,
        request: request.to_owned(),
        response: response.strip_prefix(RESPONSE)?.strip_suffix('}')?.to_owned(),
    })
}
