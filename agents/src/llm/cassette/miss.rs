use std::cmp::Reverse;
use std::fmt;

use super::body::{Body, common};
use super::line::Line;
use super::shelf::Shelf;
use super::show::{cut, side_by_side, visible};
use super::tape::Tape;
use super::{Key, Request};
use crate::llm::Api;

/// A request that no recording answers, and what comes nearest to it. `Display` gives a few lines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Miss {
    /// The API that was to be asked.
    pub api: Api,
    /// The model.
    pub model: String,
    /// The trial.
    pub trial: u32,
    /// Why there is no answer.
    pub reason: Reason,
}

/// Why no recording answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Nothing of the model is recorded.
    NoModel {
        /// What is recorded.
        models: Vec<(Api, String)>,
    },
    /// A message differs.
    Message {
        /// The nearest recording.
        nearest: Nearest,
        /// The first message that differs, from 0.
        index: usize,
        /// The recording's, cut and escaped; null when it has fewer messages.
        recorded: Option<String>,
        /// The request's.
        asked: Option<String>,
    },
    /// All messages are equal, and something else differs.
    Settings {
        /// The nearest recording.
        nearest: Nearest,
        /// The keys of the body that differ, and `trial`, each with what is recorded and what is asked.
        differences: Vec<(String, Option<String>, Option<String>)>,
    },
}

/// The recording with the longest beginning of messages in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// Its key.
    pub key: Key,
    /// Its trial.
    pub trial: u32,
    /// When it was recorded.
    pub recorded: String,
    /// How many messages it has.
    pub messages: usize,
    /// How many the request has.
    pub asked: usize,
}

pub(super) fn miss(shelf: &Shelf, request: &Request<'_>, body: &str) -> Miss {
    let asked = Body::parse(body).unwrap_or_default();
    let tape = shelf.tapes.iter().find(|tape| tape.api == request.api && tape.model == request.model);
    let reason = tape
        .and_then(|tape| nearest(tape, &asked, request.trial))
        .map(|(line, found)| compare(request, &line, &found, &asked))
        .unwrap_or_else(|| Reason::NoModel {
            models: shelf.tapes.iter().map(|tape| (tape.api, tape.model.clone())).collect(),
        });
    Miss { api: request.api, model: request.model.to_owned(), trial: request.trial, reason }
}

fn nearest<'a>(tape: &'a Tape, asked: &Body<'a>, trial: u32) -> Option<(Line<'a>, Body<'a>)> {
    let key = tape.api.messages_key();
    let messages = asked.items(key);
    let mut best = None;
    tape.walk(|line, body| {
        let recorded = body.items(key);
        let shared = common(recorded, messages);
        let is_whole = shared == recorded.len() && shared == messages.len();
        let others = asked.differing(body).iter().filter(|name| **name != key).count();
        // The smallest is the nearest, and of equal ones the first.
        let distance = (Reverse(shared), !is_whole, others + usize::from(line.trial != trial));
        if best.as_ref().is_none_or(|(least, _)| distance < *least) {
            best = Some((distance, (line, body.clone())));
        }
    });
    best.map(|(_, found)| found)
}

fn compare(request: &Request<'_>, line: &Line<'_>, found: &Body<'_>, asked: &Body<'_>) -> Reason {
    let key = request.api.messages_key();
    let (recorded, wanted) = (found.items(key), asked.items(key));
    let index = common(recorded, wanted);
    let nearest = Nearest {
        key: line.key,
        trial: line.trial,
        recorded: line.date(),
        messages: recorded.len(),
        asked: wanted.len(),
    };
    if index < recorded.len().max(wanted.len()) {
        let (recorded, asked) = pair(recorded.get(index).copied(), wanted.get(index).copied());
        return Reason::Message { nearest, index, recorded, asked };
    }
    let mut differences: Vec<_> = asked
        .differing(found)
        .into_iter()
        .map(|name| {
            let (recorded, asked) = pair(found.member(name).as_deref(), asked.member(name).as_deref());
            (visible(name), recorded, asked)
        })
        .collect();
    if line.trial != request.trial {
        differences.push(("trial".to_owned(), Some(line.trial.to_string()), Some(request.trial.to_string())));
    }
    Reason::Settings { nearest, differences }
}

fn pair(a: Option<&str>, b: Option<&str>) -> (Option<String>, Option<String>) {
    let (shown_a, shown_b) = side_by_side(a.unwrap_or_default(), b.unwrap_or_default());
    (a.map(|_| shown_a), b.map(|_| shown_b))
}

/// Models that are listed; a folder may have a hundred.
const LISTED: usize = 10;

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no recording answers a request to {}, trial {}", named(self.api, &self.model), self.trial)?;
        match &self.reason {
            Reason::NoModel { models } if models.is_empty() => write!(f, "\nthere are no recordings at all"),
            Reason::NoModel { models } => {
                let mut shown: Vec<String> =
                    models.iter().take(LISTED).map(|(api, model)| named(*api, model)).collect();
                if models.len() > LISTED {
                    shown.push("…".to_owned());
                }
                write!(f, "\nnothing of this model is recorded; there is: {}", shown.join(", "))
            }
            Reason::Message { nearest, index, recorded, asked } => {
                write!(f, "\n{nearest}")?;
                write!(
                    f,
                    "\nmessage {} is the first to differ ({} recorded, {} asked):",
                    index + 1,
                    nearest.messages,
                    nearest.asked
                )?;
                write!(f, "\n  recorded: {}", recorded.as_deref().unwrap_or("no such message"))?;
                write!(f, "\n  asked:    {}", asked.as_deref().unwrap_or("no such message"))
            }
            Reason::Settings { nearest, differences } if differences.is_empty() => {
                write!(f, "\n{nearest}\nit is equal, but its key is that of another request: the file was edited")
            }
            Reason::Settings { nearest, differences } => {
                write!(f, "\n{nearest}\nall messages are equal; what differs:")?;
                differences.iter().try_for_each(|(name, recorded, asked)| {
                    let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "not there".to_owned());
                    write!(f, "\n  {name}: recorded {}, asked {}", shown(recorded), shown(asked))
                })
            }
        }
    }
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nearest: {}, trial {}, recorded {}", self.key, self.trial, visible(&self.recorded))
    }
}

fn named(api: Api, model: &str) -> String {
    format!("{} {}", api.name(), visible(&cut(model, 0, 100)))
}
