//! The log of a run's requests to models, `requests.jsonl`.
//!
//! A request is noted before it is sent, and its answer when it has arrived, so that a killed process leaves the answers
//! of its unfinished episodes and the requests that it may have paid for. Lines are written, not synced: they survive the
//! end of the process, not a power failure. Once an episode is in the journal, its lines are no longer needed; the file is
//! rewritten without them when they are the larger part.

use std::fs;
use std::io;

use healbench_core::{RequestId, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::line_file::LineFile;
use crate::{JournalEntry, JournalError, RunDir};

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestLine {
    /// A request is about to be sent.
    Reserved {
        id: RequestId,
        /// A hash of its content.
        key: String,
        /// The largest usage that is expected: the tokens of the request as counted here, and the most that the answer
        /// may have.
        usage: Usage,
    },
    /// A request was answered.
    Answered {
        id: RequestId,
        /// A hash of its content.
        key: String,
        /// The tokens by the provider's count, or by healbench's own.
        usage: Usage,
        /// The latency in milliseconds.
        latency_ms: u64,
        /// The body of the answer; null if it is in a recording.
        body: Option<Value>,
        /// The number of earlier attempts that may have been paid for.
        lost_answers: u32,
    },
    /// A request has no answer, and is not repeated by this process.
    Unanswered {
        id: RequestId,
        /// The number of attempts that may have been paid for.
        lost_answers: u32,
    },
    /// The answers to this request and the later ones of its episode are not used, since the conversation differs.
    Dropped { id: RequestId },
    /// Tokens that are, or may be, paid for, and belong to no answer that is kept.
    Lost {
        /// The index of the agent in the plan.
        agent: usize,
        usage: Usage,
    },
}

/// The log of a run, open for reading and appending.
#[derive(Debug)]
pub struct RequestFile(LineFile);

impl RequestFile {
    /// Opens the log of a run, if it exists, and passes its lines to `visit`.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open_existing(
        run: &RunDir,
        visit: &mut dyn FnMut(JournalEntry, RequestLine),
    ) -> Result<Option<RequestFile>, JournalError> {
        let path = run.requests_path();
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            _ => Ok(Some(RequestFile(LineFile::open(path, visit)?))),
        }
    }

    /// Creates the log of a run.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn create(run: &RunDir) -> Result<RequestFile, JournalError> {
        Ok(RequestFile(LineFile::open(run.requests_path(), &mut |_, _: RequestLine| ())?))
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// Appends a line and returns its position.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn append(&mut self, line: &RequestLine) -> Result<JournalEntry, JournalError> {
        self.0.append(line)
    }

    /// Reads a line.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn read(&mut self, entry: JournalEntry) -> Result<RequestLine, JournalError> {
        self.0.read(entry)
    }

    /// Replaces the file by one with these lines and those at `kept`, whose positions are updated.
    ///
    /// # Errors
    /// [`JournalError::Io`]. The file is unchanged then.
    pub fn rewrite(&mut self, head: &[RequestLine], kept: Vec<&mut JournalEntry>) -> Result<(), JournalError> {
        self.0.rewrite(head, kept)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(episode: u64, text: &str) -> RequestLine {
        RequestLine::Answered {
            id: RequestId { episode, turn: 1 },
            key: "k".to_owned(),
            usage: Usage { input: 3, output: 4, ..Usage::default() },
            latency_ms: 5,
            body: Some(json!({"text": text})),
            lost_answers: 0,
        }
    }

    #[test]
    fn a_rewritten_log_has_what_was_kept_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::at(folder.path());
        assert!(RequestFile::open_existing(&run, &mut |_, _| ()).unwrap().is_none());
        let mut file = RequestFile::create(&run).unwrap();
        let mut entries: Vec<JournalEntry> =
            (0..4).map(|episode| file.append(&line(episode, "two\nlines")).unwrap()).collect();
        let lost = RequestLine::Lost { agent: 0, usage: Usage { input: 9, ..Usage::default() } };
        let before = file.bytes();
        let mut kept: Vec<&mut JournalEntry> = entries.iter_mut().skip(2).collect();
        kept.reverse();
        file.rewrite(std::slice::from_ref(&lost), kept).unwrap();
        assert!(file.bytes() < before);
        file.append(&line(7, "new")).unwrap();
        assert_eq!(file.read(entries[2]).unwrap(), line(2, "two\nlines"));
        drop(file);
        let mut found = Vec::new();
        RequestFile::open_existing(&run, &mut |_, line| found.push(line)).unwrap();
        assert_eq!(found, [lost, line(3, "two\nlines"), line(2, "two\nlines"), line(7, "new")]);
    }
}
