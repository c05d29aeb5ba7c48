//! The journal of a run with models: every finished episode is appended to `journal.jsonl` before the same thread
//! starts its next one.
//!
//! Model answers cost money and cannot be reproduced. The frames are written from the journal when the run ends for any
//! reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{CallRecord, EpisodeRecord, RecordedTurns, RunDir};

/// The rows of a finished episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpisodeResult {
    /// The episode's row.
    pub episode: EpisodeRecord,
    /// The rows of its calls.
    pub calls: Vec<CallRecord>,
    /// The turns of the model; null for an agent without one.
    pub recorded_turns: Option<RecordedTurns>,
}

/// The reason why a journal or the recorded turns cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file system operation failed, or a file is not in zstd format.
    #[error("cannot {operation} `{}`: {source}", path.display())]
    Io {
        /// `read`, `write` or `create`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A line before the last one was not written by healbench. The other lines are usable if it is removed.
    #[error("`{}` is damaged in line {line}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The problem.
        reason: String,
    },
}

/// The journal of a run, open for writing.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// The size of all complete lines in bytes.
    complete_bytes: u64,
    line: Vec<u8>,
}

impl Journal {
    /// Opens or creates the journal of a run and returns its contents in the order of execution. An episode that was
    /// lost and run again occurs twice. An incomplete last line, left by a killed process, is truncated.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(run: &RunDir) -> Result<(Journal, Vec<EpisodeResult>), JournalError> {
        let path = run.journal_path();
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(io_error("create", &path))?;
        let mut results = Vec::new();
        let mut reader = BufReader::new(&mut file);
        let (mut complete_bytes, mut line, mut number) = (0, Vec::new(), 0);
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line).map_err(io_error("read", &path))?;
            number += 1;
            if read == 0 || line.last() != Some(&b'\n') {
                break;
            }
            let episode: EpisodeResult = serde_json::from_slice(&line).map_err(|error| JournalError::Damaged {
                path: path.clone(),
                line: number,
                reason: error.to_string(),
            })?;
            results.push(episode);
            complete_bytes += read as u64;
        }
        file.set_len(complete_bytes).map_err(io_error("write", &path))?;
        Ok((Journal { path, file, complete_bytes, line: Vec::new() }, results))
    }

    /// Appends an episode. Once this returns, it is not lost even if the process is killed.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn append(&mut self, result: &EpisodeResult) -> Result<(), JournalError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, result)
            .map_err(|error| io_error("write", &self.path)(io::Error::other(error)))?;
        self.line.push(b'\n');
        match self.file.write_all(&self.line) {
            Ok(()) => {
                self.complete_bytes += self.line.len() as u64;
                Ok(())
            }
            Err(error) => {
                // A full disk may accept part of a line, which must not be followed by the next one. If truncating
                // fails too, later writes will also fail.
                let _ = self.file.set_len(self.complete_bytes);
                Err(io_error("write", &self.path)(error))
            }
        }
    }

    /// Flushes the journal to disk.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn sync(&self) -> Result<(), JournalError> {
        self.file.sync_data().map_err(io_error("write", &self.path))
    }

    /// Removes the journal of a complete run, whose frames and recorded turns contain all of its data.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn remove(self) -> Result<(), JournalError> {
        fs::remove_file(&self.path).map_err(io_error("write", &self.path))
    }
}

/// The zstd level: the file is written once and kept.
const ZSTD_LEVEL: i32 = 9;

/// Writes `transcripts.jsonl.zst` atomically, with one line per episode in the given order.
///
/// # Errors
/// [`JournalError::Io`].
pub fn write_recorded_turns<'a>(
    run: &RunDir,
    all_turns: impl Iterator<Item = &'a RecordedTurns>,
) -> Result<(), JournalError> {
    let path = run.transcripts_path();
    let partial = path.with_extension("zst.part");
    let write = || -> io::Result<()> {
        let mut out = zstd::Encoder::new(File::create(&partial)?, ZSTD_LEVEL)?;
        for recorded_turns in all_turns {
            serde_json::to_writer(&mut out, recorded_turns)?;
            out.write_all(b"\n")?;
        }
        out.finish()?.sync_all()?;
        fs::rename(&partial, &path)
    };
    write().map_err(io_error("write", &path))
}

/// Returns the recorded turns of one episode; `None` if the run has none for it.
///
/// # Errors
/// [`JournalError`].
pub fn read_recorded_turns(run: &RunDir, episode: u64) -> Result<Option<RecordedTurns>, JournalError> {
    Ok(read_recorded_turns_of(run, &BTreeSet::from([episode]))?.remove(&episode))
}

/// Returns the recorded turns of several episodes, read in one pass; episodes without any are omitted.
///
/// # Errors
/// [`JournalError`].
pub fn read_recorded_turns_of(
    run: &RunDir,
    episodes: &BTreeSet<u64>,
) -> Result<BTreeMap<u64, RecordedTurns>, JournalError> {
    let mut found = BTreeMap::new();
    if !episodes.is_empty() {
        visit_recorded_turns(run, &mut |recorded_turns| {
            if episodes.contains(&recorded_turns.episode) {
                found.insert(recorded_turns.episode, recorded_turns);
            }
            found.len() < episodes.len()
        })?;
    }
    Ok(found)
}

/// The maximum size of an episode's line in bytes.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// Passes the recorded turns of a run to `next`, in file order, until it returns false. Does nothing if the run has
/// none.
///
/// # Errors
/// [`JournalError`].
pub fn visit_recorded_turns(run: &RunDir, next: &mut dyn FnMut(RecordedTurns) -> bool) -> Result<(), JournalError> {
    let path = run.transcripts_path();
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(io_error("read", &path))?,
    };
    let mut reader = BufReader::new(zstd::Decoder::new(file).map_err(io_error("read", &path))?);
    let mut line = Vec::new();
    for index in 0.. {
        line.clear();
        // A small compressed file may contain a line that does not fit in memory.
        let read = reader.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line);
        if read.map_err(io_error("read", &path))? == 0 {
            break;
        }
        let damaged = |reason: String| JournalError::Damaged { path: path.clone(), line: index + 1, reason };
        if line.len() as u64 > MAX_LINE_BYTES {
            return Err(damaged(format!("it is longer than {} MiB", MAX_LINE_BYTES >> 20)));
        }
        let recorded_turns: RecordedTurns =
            serde_json::from_slice(&line).map_err(|error| damaged(error.to_string()))?;
        if !next(recorded_turns) {
            break;
        }
    }
    Ok(())
}

fn io_error(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> JournalError + use<> {
    let path = path.to_path_buf();
    move |source| JournalError::Io { operation, path, source }
}

#[cfg(test)]
mod tests {
    use healbench_protocol::{Origin, Turn, TurnCost};

    use super::*;
    use crate::{EpisodeCounts, Outcome, RecordedTurn};

    fn result(episode: u64, outcome: Outcome) -> EpisodeResult {
        let turn = RecordedTurn {
            turn: Turn::Answer { text: "it is\ndone".to_owned() },
            origin: Origin::Model(TurnCost::default()),
        };
        EpisodeResult {
            episode: EpisodeRecord {
                episode,
                outcome,
                claimed_done: true,
                scheduled: true,
                schedule_hash: "00".to_owned(),
                turns: 1,
                calls: 1,
                perfect_calls: 1,
                prompt_tokens: 3,
                prose_tokens: 4,
                counts: EpisodeCounts::default(),
                model: None,
            },
            calls: vec![CallRecord { episode, call: 1, action: Some("list".into()), ..CallRecord::default() }],
            recorded_turns: Some(RecordedTurns { episode, turns: vec![turn], failed: None }),
        }
    }

    fn run() -> (tempfile::TempDir, RunDir) {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::at(folder.path());
        (folder, run)
    }

    #[test]
    fn episodes_are_read_in_the_order_written() {
        let (_folder, run) = run();
        let (mut journal, found) = Journal::open(&run).unwrap();
        assert_eq!(found, []);
        let lines = [result(7, Outcome::Infra), result(2, Outcome::Success), result(7, Outcome::Success)];
        for line in &lines {
            journal.append(line).unwrap();
        }
        drop(journal);
        let (_, found) = Journal::open(&run).unwrap();
        assert_eq!(found, lines);
    }

    #[test]
    fn an_incomplete_last_line_is_truncated() {
        let (_folder, run) = run();
        let (mut journal, _) = Journal::open(&run).unwrap();
        journal.append(&result(1, Outcome::Success)).unwrap();
        let first = fs::read(run.journal_path()).unwrap();
        journal.append(&result(2, Outcome::Success)).unwrap();
        let both = fs::read(run.journal_path()).unwrap();
        for length in first.len()..both.len() {
            fs::write(run.journal_path(), &both[..length]).unwrap();
            let (mut journal, found) = Journal::open(&run).unwrap();
            assert_eq!(found, [result(1, Outcome::Success)], "torn after {length} bytes");
            journal.append(&result(2, Outcome::Success)).unwrap();
            assert_eq!(fs::read(run.journal_path()).unwrap(), both);
        }
    }

    #[test]
    fn a_damaged_line_is_reported_with_its_number() {
        let (_folder, run) = run();
        let (mut journal, _) = Journal::open(&run).unwrap();
        journal.append(&result(1, Outcome::Success)).unwrap();
        let mut text = fs::read(run.journal_path()).unwrap();
        text.extend_from_slice(b"{\"episode\": 3}\n");
        fs::write(run.journal_path(), text).unwrap();
        let error = Journal::open(&run).unwrap_err();
        assert!(matches!(error, JournalError::Damaged { line: 2, .. }), "{error}");
        // Missing fields are an error and get no default.
        let line = serde_json::to_string(&result(1, Outcome::Success)).unwrap();
        fs::write(run.journal_path(), line.replacen("\"response_hash\":0,", "", 1) + "\n").unwrap();
        let error = Journal::open(&run).unwrap_err().to_string();
        assert!(error.contains("damaged in line 1: missing field `response_hash`"), "{error}");
    }

    #[test]
    fn recorded_turns_are_found_by_episode() {
        let (_folder, run) = run();
        assert_eq!(read_recorded_turns(&run, 5).unwrap(), None);
        let all_turns = [4, 5].map(|episode| result(episode, Outcome::Success).recorded_turns.unwrap());
        write_recorded_turns(&run, all_turns.iter()).unwrap();
        assert_eq!(read_recorded_turns(&run, 5).unwrap().as_ref(), Some(&all_turns[1]));
        assert_eq!(read_recorded_turns(&run, 6).unwrap(), None);
        let both = read_recorded_turns_of(&run, &BTreeSet::from([3, 4, 5, 6])).unwrap();
        assert_eq!(both.into_values().collect::<Vec<_>>(), all_turns);
        assert!(read_recorded_turns_of(&run, &BTreeSet::new()).unwrap().is_empty());
    }
}
