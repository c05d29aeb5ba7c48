//! Transcripts as data: each text once, compressed, decoded by the page's script when a row is opened.
//!
//! A chunk holds the transcripts of one scenario. It is JSON, compressed (deflate without a header) and encoded in base64, which
//! the browser decodes without a request.

use std::collections::BTreeMap;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;

use super::transcript::{limit_text, outcome_class, truncate_arguments, truncate_plain};
use crate::transcript::{call_details, describe_changes, verdict};
use healbench_analysis::{CallStep, SpanChange, Transcript, TranscriptStep};
use healbench_text::plain_text;

/// The transcripts of one scenario. Texts are indices into `texts`.
#[derive(Debug, Default, Serialize)]
pub(super) struct Chunk {
    texts: Vec<String>,
    /// By the id of the row.
    rows: BTreeMap<String, RowData>,
    #[serde(skip)]
    known: BTreeMap<String, usize>,
}

/// The transcripts of one scenario and agent.
#[derive(Debug, Default, Serialize)]
struct RowData {
    scenario: usize,
    agent: usize,
    task: usize,
    about: usize,
    /// Successes and scored trials, by condition.
    rates: Vec<[u64; 2]>,
    /// The shown trials, each with the number of trials that are alike.
    trials: Vec<(u32, u64)>,
    /// The number of trials.
    of: u64,
    episodes: Vec<EpisodeData>,
}

#[derive(Debug, Serialize)]
struct EpisodeData {
    episode: u64,
    condition: usize,
    trial: u32,
    outcome: &'static str,
    /// The outcome in words, and the class of its color.
    end: [&'static str; 2],
    calls: u32,
    steps: Vec<StepData>,
    unmet: Vec<usize>,
}

/// A step with short keys, since a page holds many.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum StepData {
    Message {
        m: &'static str,
        t: usize,
        /// True for the end of a failed episode.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        bad: bool,
    },
    Call {
        /// The number of the call.
        n: u32,
        tool: usize,
        /// The arguments: texts, each with 1 if it was changed.
        args: Vec<(usize, u8)>,
        /// The description of the changes.
        #[serde(skip_serializing_if = "Option::is_none")]
        diff: Option<usize>,
        /// True for a call of the scheduled opening.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        opening: bool,
        /// `OK`, or the error class.
        verdict: usize,
        /// What the agent does not see, as a sentence.
        about: usize,
        t: usize,
        /// The tokens of the response.
        tokens: u32,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        bad: bool,
    },
}

/// The place of an episode in the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EpisodePlace {
    pub(super) scenario: usize,
    pub(super) agent: usize,
    pub(super) condition: usize,
    pub(super) trial: u32,
}

/// Returns the id of the row of a scenario and agent, by their indices in the report.
pub(super) fn row_id(scenario: usize, agent: usize) -> String {
    format!("e{scenario}.{agent}")
}

impl Chunk {
    pub(super) fn add(&mut self, place: EpisodePlace, episode: u64, transcript: &Transcript) {
        let steps = transcript.steps.iter().map(|step| self.step(step)).collect();
        let unmet = transcript.unmet.iter().map(|text| self.text(limit_text(text, false))).collect();
        let task = self.text(limit_text(&transcript.prompt, false));
        let about = self.text(limit_text(&transcript.description, false));
        let EpisodePlace { scenario, agent, condition, trial } = place;
        let row = self.rows.entry(row_id(place.scenario, place.agent)).or_default();
        (row.scenario, row.agent, row.task, row.about) = (scenario, agent, task, about);
        row.episodes.push(EpisodeData {
            episode,
            condition,
            trial,
            outcome: transcript.outcome.name(),
            end: [transcript.outcome.words(), outcome_class(transcript.outcome)],
            calls: transcript.calls,
            steps,
            unmet,
        });
    }

    /// Adds what the report knows about the trials of a row, if the chunk has the row.
    pub(super) fn describe(&mut self, id: &str, rates: &[[u64; 2]], trials: &[(u32, u64)], of: u64) {
        if let Some(row) = self.rows.get_mut(id) {
            (row.rates, row.trials, row.of) = (rates.to_vec(), trials.to_vec(), of);
        }
    }

    /// Returns the index of a text.
    fn text(&mut self, text: String) -> usize {
        let next = self.texts.len();
        *self.known.entry(text).or_insert_with_key(|text| {
            self.texts.push(text.clone());
            next
        })
    }

    fn step(&mut self, step: &TranscriptStep) -> StepData {
        let (m, text, bad) = match step {
            TranscriptStep::Call(step) => return self.call(step),
            TranscriptStep::Wait { seconds } => {
                let text = healbench_text::pluralize(u64::from(*seconds), "second");
                return StepData::Message { m: "waits", t: self.text(text), bad: false };
            }
            TranscriptStep::Message(text) => ("says", text, false),
            TranscriptStep::User(text) => ("user", text, false),
            TranscriptStep::Done(text) => ("done", text, false),
            TranscriptStep::Answer(text) => ("answers", text, false),
            TranscriptStep::Incomplete(text) => ("breaks off", text, true),
            TranscriptStep::GiveUp(text) => ("gives up", text, false),
            TranscriptStep::Refused(text) => ("refuses", text, true),
            TranscriptStep::Failed(text) => ("failed", text, true),
            TranscriptStep::Program(text) => ("program", text, false),
        };
        StepData::Message { m, t: self.text(limit_text(text, false)), bad }
    }

    fn call(&mut self, step: &CallStep) -> StepData {
        let row = &step.row;
        let args = truncate_arguments(step, false);
        let args = args.into_iter().map(|(text, change)| (self.text(text), u8::from(change != SpanChange::Same)));
        let args = args.collect();
        let (verdict, _) = verdict(step);
        StepData::Call {
            n: row.call,
            tool: self.text(truncate_plain(&step.tool, false)),
            args,
            diff: describe_changes(step, false).map(|text| self.text(text)),
            opening: step.opening,
            verdict: self.text(truncate_plain(verdict, false)),
            about: self.text(plain_text(&call_details(step)).into_owned()),
            t: self.text(limit_text(&step.response, row.is_error)),
            tokens: row.response_tokens,
            bad: row.is_error,
        }
    }

    /// Returns the compressed chunk in base64, and the number of its episodes.
    pub(super) fn encode(&self) -> (String, u64) {
        let episodes = self.rows.values().map(|row| row.episodes.len() as u64).sum();
        // Neither serializing these types nor writing to memory can fail.
        let json = serde_json::to_vec(self).unwrap_or_default();
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        let _ = encoder.write_all(&json);
        (STANDARD.encode(encoder.finish().unwrap_or_default()), episodes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use healbench_core::{CallRecord, Condition, ErrorFormat, Guardrails, Outcome};
    use serde_json::{Value, json};

    use super::*;
    use healbench_analysis::SentCall;

    fn transcript(guardrails: Guardrails, error: &str) -> Transcript {
        let row = CallRecord {
            call: 1,
            tool: "users".into(),
            is_error: true,
            error_class: Some("VALIDATION".into()),
            response_tokens: 7,
            ..CallRecord::default()
        };
        let call = SentCall { arguments: json!({"role": "root"}), row };
        Transcript {
            episode: Some(4),
            scenario: "users/invite".to_owned(),
            description: String::new(),
            agent: "scripted:typical".to_owned(),
            condition: (&Condition::new(guardrails, ErrorFormat::FusionXml)).into(),
            trial: 0,
            prompt: "Invite Priya.".to_owned(),
            steps: vec![TranscriptStep::Call(Box::new(CallStep::new(&[], &call, false, error.to_owned())))],
            outcome: Outcome::GaveUp,
            calls: 1,
            unmet: vec!["a row in users".to_owned()],
        }
    }

    fn decode(text: &str) -> Value {
        let bytes = STANDARD.decode(text).unwrap();
        let mut json = String::new();
        flate2::read::DeflateDecoder::new(bytes.as_slice()).read_to_string(&mut json).unwrap();
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn each_text_is_stored_once_and_an_error_text_is_stored_in_full() {
        let error = "line \u{1b}\n".repeat(300);
        let mut chunk = Chunk::default();
        for condition in 0..3 {
            let place = EpisodePlace { scenario: 5, agent: 1, condition, trial: 2 };
            chunk.add(place, 40 + condition as u64, &transcript(Guardrails::ALL, &error));
        }
        chunk.describe("e5.1", &[[1, 20]], &[(2, 19)], 20);
        let (text, episodes) = chunk.encode();
        assert_eq!(episodes, 3);
        let decoded = decode(&text);
        let texts: Vec<&str> = decoded["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        assert_eq!(texts.iter().filter(|text| text.starts_with("line")).count(), 1);
        assert_eq!(decoded["rows"]["e5.1"]["trials"], json!([[2, 19]]));
        let step = &decoded["rows"]["e5.1"]["episodes"][2]["steps"][0];
        let shown = texts[step["t"].as_u64().unwrap() as usize];
        assert_eq!(shown.lines().count(), 300);
        assert!(shown.starts_with("line \\u{1b}"), "{shown}");
        assert_eq!((step["tokens"].as_u64(), step["bad"].as_bool()), (Some(7), Some(true)));
    }
}
