use std::cmp::Reverse;
use std::fmt;

use super::body::{Body, common_prefix_len};
use super::excerpt::{aligned_excerpts, escape_invisible, excerpt};
use super::index::RecordingIndex;
use super::line::RecordingLine;
use super::recording_file::RecordingFile;
use super::{Key, Request};
use crate::llm::Api;

/// A request without a recording, compared with the nearest recording. `Display` writes a few lines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Miss {
    /// The API of the request.
    pub api: Api,
    /// The model.
    pub model: String,
    /// The trial.
    pub trial: u32,
    /// The reason why there is no recording.
    pub reason: MissReason,
}

/// The reason why a request has no recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissReason {
    /// The model has no recordings.
    NoModel {
        /// The recorded models.
        models: Vec<(Api, String)>,
    },
    /// A message differs.
    Message {
        /// The nearest recording.
        nearest: NearestRecording,
        /// The position of the first message that differs, from 0.
        index: usize,
        /// An excerpt of the recorded message, escaped; null if the recording has fewer messages.
        recorded: Option<String>,
        /// An excerpt of the request's message, escaped; null if the request has fewer messages.
        requested: Option<String>,
    },
    /// All messages are equal, but another part of the request differs.
    Settings {
        /// The nearest recording.
        nearest: NearestRecording,
        /// The differing keys of the body, and `trial`, each with the recorded and the requested value.
        differences: Vec<(String, Option<String>, Option<String>)>,
    },
}

/// The recording with the longest common prefix of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearestRecording {
    /// The key.
    pub key: Key,
    /// The trial.
    pub trial: u32,
    /// The date of the recording.
    pub recorded_on: String,
    /// The number of recorded messages.
    pub messages: usize,
    /// The number of messages in the request.
    pub requested: usize,
}

pub(super) fn miss(index: &RecordingIndex, request: &Request<'_>, body: &str) -> Miss {
    let requested = Body::parse(body).unwrap_or_default();
    let file = index.files.iter().find(|file| file.api == request.api && file.model == request.model);
    let reason = file
        .and_then(|file| nearest(file, &requested, request.trial))
        .map(|(line, found)| compare(request, &line, &found, &requested))
        .unwrap_or_else(|| MissReason::NoModel {
            models: index.files.iter().map(|file| (file.api, file.model.clone())).collect(),
        });
    Miss { api: request.api, model: request.model.to_owned(), trial: request.trial, reason }
}

fn nearest<'a>(file: &'a RecordingFile, requested: &Body<'a>, trial: u32) -> Option<(RecordingLine<'a>, Body<'a>)> {
    let key = file.api.entry().messages_key;
    let messages = requested.items(key);
    let mut best = None;
    file.for_each(|line, body| {
        let recorded = body.items(key);
        let shared = common_prefix_len(recorded, messages);
        let is_equal = shared == recorded.len() && shared == messages.len();
        let others = requested.differing_members(body).iter().filter(|name| **name != key).count();
        // The smallest distance wins; of equal ones, the first.
        let distance = (Reverse(shared), !is_equal, others + usize::from(line.trial != trial));
        if best.as_ref().is_none_or(|(least, _)| distance < *least) {
            best = Some((distance, (line, body.clone())));
        }
    });
    best.map(|(_, found)| found)
}

fn compare(request: &Request<'_>, line: &RecordingLine<'_>, found: &Body<'_>, requested: &Body<'_>) -> MissReason {
    let key = request.api.entry().messages_key;
    let (recorded, requested_messages) = (found.items(key), requested.items(key));
    let index = common_prefix_len(recorded, requested_messages);
    let nearest = NearestRecording {
        key: line.key,
        trial: line.trial,
        recorded_on: line.date(),
        messages: recorded.len(),
        requested: requested_messages.len(),
    };
    if index < recorded.len().max(requested_messages.len()) {
        let (recorded, requested) = excerpt_pair(recorded.get(index).copied(), requested_messages.get(index).copied());
        return MissReason::Message { nearest, index, recorded, requested };
    }
    let mut differences: Vec<_> = requested
        .differing_members(found)
        .into_iter()
        .map(|name| {
            let (recorded, requested) = excerpt_pair(found.member(name).as_deref(), requested.member(name).as_deref());
            (escape_invisible(name), recorded, requested)
        })
        .collect();
    if line.trial != request.trial {
        differences.push(("trial".to_owned(), Some(line.trial.to_string()), Some(request.trial.to_string())));
    }
    MissReason::Settings { nearest, differences }
}

fn excerpt_pair(a: Option<&str>, b: Option<&str>) -> (Option<String>, Option<String>) {
    let (shown_a, shown_b) = aligned_excerpts(a.unwrap_or_default(), b.unwrap_or_default());
    (a.map(|_| shown_a), b.map(|_| shown_b))
}

/// The most models listed in an error: a folder may contain a hundred.
const MAX_LISTED_MODELS: usize = 10;

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no recording answers a request to {}, trial {}", display_model(self.api, &self.model), self.trial)?;
        match &self.reason {
            MissReason::NoModel { models } if models.is_empty() => write!(f, "\nthere are no recordings at all"),
            MissReason::NoModel { models } => {
                let mut shown: Vec<String> =
                    models.iter().take(MAX_LISTED_MODELS).map(|(api, model)| display_model(*api, model)).collect();
                if models.len() > MAX_LISTED_MODELS {
                    shown.push("…".to_owned());
                }
                write!(f, "\nnothing of this model is recorded; there is: {}", shown.join(", "))
            }
            MissReason::Message { nearest, index, recorded, requested } => {
                write!(f, "\n{nearest}")?;
                write!(
                    f,
                    "\nmessage {} is the first to differ ({} recorded, {} asked):",
                    index + 1,
                    nearest.messages,
                    nearest.requested
                )?;
                write!(f, "\n  recorded: {}", recorded.as_deref().unwrap_or("no such message"))?;
                write!(f, "\n  asked:    {}", requested.as_deref().unwrap_or("no such message"))
            }
            MissReason::Settings { nearest, differences } if differences.is_empty() => {
                write!(f, "\n{nearest}\nit is equal, but its key is that of another request: the file was edited")
            }
            MissReason::Settings { nearest, differences } => {
                write!(f, "\n{nearest}\nall messages are equal; what differs:")?;
                differences.iter().try_for_each(|(name, recorded, requested)| {
                    let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "not there".to_owned());
                    write!(f, "\n  {name}: recorded {}, asked {}", shown(recorded), shown(requested))
                })
            }
        }
    }
}

impl fmt::Display for NearestRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nearest: {}, trial {}, recorded {}", self.key, self.trial, escape_invisible(&self.recorded_on))
    }
}

fn display_model(api: Api, model: &str) -> String {
    format!("{} {}", api.name(), escape_invisible(&excerpt(model, 0, 100)))
}
