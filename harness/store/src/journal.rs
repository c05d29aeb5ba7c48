//! The journal of a run with models: every finished episode is appended to `journal.jsonl` before the same thread
//! starts its next one.
//!
//! Model answers cost money and cannot be reproduced. The frames are written from the journal when the run ends for any
//! reason, one result at a time: memory holds only the positions of the results.
//!
//! The journal grows while the run is in progress, so the manifest has no hash of it. Each line has a checksum instead: a
//! damaged line is named, and once it is removed, the others are used.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufReader, Write as _};
use std::path::PathBuf;

use healbench_files::read_bounded_line;
use serde::{Deserialize, Serialize};

use crate::RunDir;
use crate::line_file::{JournalEntry, JournalError, LineFile, MAX_LINE_BYTES, io_error};
use healbench_core::{CallRecord, EpisodeRecord, RecordedTurns, ResponseRecord};

/// The rows and texts of a finished episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpisodeResult {
    pub episode: EpisodeRecord,
    /// The rows of its calls.
    pub calls: Vec<CallRecord>,
    /// The turns of the agent; null if they can be computed again.
    pub recorded_turns: Option<RecordedTurns>,
    /// The responses, each once. Those of an episode that costs nothing may be in an earlier result of the same process
    /// instead.
    pub responses: Vec<ResponseRecord>,
}

/// The journal of a run, open for reading and appending.
#[derive(Debug)]
pub struct Journal(LineFile);

impl Journal {
    /// Opens or creates the journal of a run and passes its results to `visit` in the order of execution. An episode
    /// that was lost and run again occurs twice. An incomplete last line, left by a killed process, is truncated.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(run: &RunDir, visit: &mut dyn FnMut(JournalEntry, EpisodeResult)) -> Result<Journal, JournalError> {
        LineFile::open(run.journal_path(), visit).map(Journal)
    }

    /// Appends a result and returns its position. Once this returns, the result is not lost even if the process is
    /// killed.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn append(&mut self, result: &EpisodeResult) -> Result<JournalEntry, JournalError> {
        self.0.append(result)
    }

    /// Reads a result.
    ///
    /// # Errors
    /// [`JournalError::Io`], also if another process changed the file.
    pub fn read(&mut self, entry: JournalEntry) -> Result<EpisodeResult, JournalError> {
        self.0.read(entry)
    }

    /// Flushes the journal to disk.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn sync(&self) -> Result<(), JournalError> {
        self.0.sync()
    }
}

/// The zstd level: the file is written once and kept.
const ZSTD_LEVEL: i32 = 9;

/// Writes `transcripts.jsonl.zst`, with one line per episode. The file is renamed to its final name when it is
/// complete; until then an existing one stays in place.
#[must_use = "the file is there only after `finish`"]
pub struct RecordedTurnsWriter {
    path: PathBuf,
    partial: PathBuf,
    out: zstd::Encoder<'static, File>,
}

impl RecordedTurnsWriter {
    /// Creates the file.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn create(run: &RunDir) -> Result<RecordedTurnsWriter, JournalError> {
        let path = run.transcripts_path();
        let partial = path.with_extension("zst.part");
        let out = healbench_files::create_own_file(&partial).and_then(|file| zstd::Encoder::new(file, ZSTD_LEVEL));
        Ok(RecordedTurnsWriter { out: out.map_err(io_error("write", &path))?, path, partial })
    }

    /// Appends the recorded turns of an episode.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn write(&mut self, recorded_turns: &RecordedTurns) -> Result<(), JournalError> {
        let written = serde_json::to_writer(&mut self.out, recorded_turns).map_err(io::Error::from);
        written.and_then(|()| self.out.write_all(b"\n")).map_err(io_error("write", &self.path))
    }

    /// Completes the file and renames it.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn finish(self) -> Result<(), JournalError> {
        self.close()?.rename()
    }

    /// Completes the file under its temporary name.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn close(self) -> Result<ClosedRecordedTurns, JournalError> {
        let synced = self.out.finish().and_then(|file| file.sync_all());
        synced.map_err(io_error("write", &self.path))?;
        Ok(ClosedRecordedTurns { path: self.path, partial: self.partial })
    }
}

/// A complete file of recorded turns under its temporary name.
#[must_use = "the file is there only after `rename`"]
pub struct ClosedRecordedTurns {
    path: PathBuf,
    partial: PathBuf,
}

impl ClosedRecordedTurns {
    /// Renames the file to its final name.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn rename(self) -> Result<(), JournalError> {
        fs::rename(&self.partial, &self.path).map_err(io_error("write", &self.path))
    }
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

/// Passes the recorded turns of a run to `next`, in file order, until it returns false. Does nothing if the run has
/// none.
///
/// # Errors
/// [`JournalError`].
pub fn visit_recorded_turns(run: &RunDir, next: &mut dyn FnMut(RecordedTurns) -> bool) -> Result<(), JournalError> {
    let mut reader = RecordedTurnsReader::open(run)?;
    while let Some(recorded_turns) = reader.next()? {
        if !next(recorded_turns) {
            break;
        }
    }
    Ok(())
}

/// Reads the recorded turns of a run one episode at a time, in the order of the plan.
pub struct RecordedTurnsReader {
    path: PathBuf,
    /// `None` if the run has none.
    reader: Option<BufReader<zstd::Decoder<'static, BufReader<fs::File>>>>,
    line: Vec<u8>,
    /// The number of lines read.
    lines: usize,
}

impl RecordedTurnsReader {
    /// Opens the recorded turns of a run, which may have none.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn open(run: &RunDir) -> Result<RecordedTurnsReader, JournalError> {
        let path = run.transcripts_path();
        let reader = match healbench_files::open_regular_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            opened => {
                let decoder = opened.and_then(zstd::Decoder::new).map_err(io_error("read", &path))?;
                Some(BufReader::new(decoder))
            }
        };
        Ok(RecordedTurnsReader { path, reader, line: Vec::new(), lines: 0 })
    }

    /// Returns the turns of the next episode; `None` at the end.
    ///
    /// # Errors
    /// [`JournalError`].
    #[expect(clippy::should_implement_trait, reason = "an error ends the reading, which an iterator cannot say")]
    pub fn next(&mut self) -> Result<Option<RecordedTurns>, JournalError> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        self.lines += 1;
        let damaged = |reason: String| JournalError::Damaged { path: self.path.clone(), line: self.lines, reason };
        match read_bounded_line(reader, &mut self.line, MAX_LINE_BYTES) {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => return Err(damaged(error.to_string())),
            Err(error) => return Err(io_error("read", &self.path)(error)),
        }
        serde_json::from_slice(&self.line).map(Some).map_err(|error| damaged(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use healbench_core::{BilledTokens, EndedBy, EpisodeCounts, Origin, Outcome, RecordedTurn, Turn, TurnCost};
    use healbench_files::line_with_checksum;

    use super::*;

    fn result(episode: u64, outcome: Outcome) -> EpisodeResult {
        let turn = RecordedTurn {
            turn: Turn::Answer { text: "it is\ndone".to_owned() },
            origin: Origin::Model(TurnCost::default()),
        };
        EpisodeResult {
            episode: EpisodeRecord {
                episode,
                outcome,
                ended_by: EndedBy::Answer,
                claimed_done: true,
                scheduled: true,
                schedule_hash: "00".to_owned(),
                turns: Some(1),
                calls: 1,
                perfect_calls: 1,
                tags: Vec::new(),
                prompt_tokens: 3,
                prose_tokens: Some(4),
                counts: EpisodeCounts::default(),
                billed: Some(BilledTokens::default()),
                model: None,
            },
            calls: vec![CallRecord { episode, call: 1, action: Some("list".into()), ..CallRecord::default() }],
            recorded_turns: Some(RecordedTurns { episode, turns: vec![turn], ..RecordedTurns::default() }),
            responses: vec![ResponseRecord { content: vec!["two\nlines".to_owned()], ..ResponseRecord::default() }],
        }
    }

    fn run() -> (tempfile::TempDir, RunDir) {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::at(folder.path());
        (folder, run)
    }

    fn open(run: &RunDir) -> (Journal, Vec<EpisodeResult>) {
        let mut results = Vec::new();
        let journal = Journal::open(run, &mut |_, result| results.push(result)).unwrap();
        (journal, results)
    }

    #[test]
    fn episodes_are_read_in_the_order_written() {
        let (_folder, run) = run();
        let (mut journal, found) = open(&run);
        assert_eq!(found, []);
        let lines = [result(7, Outcome::Infra), result(2, Outcome::Success), result(7, Outcome::Success)];
        let entries = lines.each_ref().map(|line| journal.append(line).unwrap());
        drop(journal);
        let (mut journal, found) = open(&run);
        assert_eq!(found, lines);
        // Results are read in any order, also after others were appended.
        journal.append(&lines[0]).unwrap();
        for at in [2, 0, 1] {
            assert_eq!(journal.read(entries[at]).unwrap(), lines[at]);
        }
    }

    #[test]
    fn an_incomplete_last_line_is_truncated() {
        let (_folder, run) = run();
        let (mut journal, _) = open(&run);
        journal.append(&result(1, Outcome::Success)).unwrap();
        let first = fs::read(run.journal_path()).unwrap();
        journal.append(&result(2, Outcome::Success)).unwrap();
        let both = fs::read(run.journal_path()).unwrap();
        for length in first.len()..both.len() {
            fs::write(run.journal_path(), &both[..length]).unwrap();
            let (mut journal, found) = open(&run);
            assert_eq!(found, [result(1, Outcome::Success)], "torn after {length} bytes");
            journal.append(&result(2, Outcome::Success)).unwrap();
            assert_eq!(fs::read(run.journal_path()).unwrap(), both);
        }
    }

    #[test]
    fn a_damaged_line_is_reported_with_its_number() {
        let (_folder, run) = run();
        let (mut journal, _) = open(&run);
        journal.append(&result(1, Outcome::Success)).unwrap();
        let mut text = fs::read(run.journal_path()).unwrap();
        text.extend_from_slice(b"{\"episode\": 3}\n");
        fs::write(run.journal_path(), text).unwrap();
        let error = Journal::open(&run, &mut |_, _| ()).unwrap_err();
        assert!(matches!(error, JournalError::Damaged { line: 2, .. }), "{error}");
        assert!(error.to_string().contains("damaged in line 2: it has no checksum"), "{error}");
        // Missing fields are an error and get no default.
        let line = serde_json::to_string(&result(1, Outcome::Success)).unwrap();
        let line = line.replacen("\"response_hash\":0,", "", 1);
        fs::write(run.journal_path(), line_with_checksum(&line[1..])).unwrap();
        let error = Journal::open(&run, &mut |_, _| ()).unwrap_err().to_string();
        assert!(error.contains("damaged in line 1: missing field `response_hash`"), "{error}");
    }

    #[test]
    fn a_flipped_bit_of_a_journal_is_reported() {
        let (_folder, run) = run();
        let (mut journal, _) = open(&run);
        let entry = journal.append(&result(1, Outcome::Success)).unwrap();
        journal.append(&result(2, Outcome::Success)).unwrap();
        let text = fs::read(run.journal_path()).unwrap();
        let flip = |bit: usize| {
            let mut damaged = text.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            fs::write(run.journal_path(), damaged).unwrap();
        };
        // All bits around the ends of the lines, and some of the others.
        let last_bits = |end: usize| (end - 4) * 8..(end + 4).min(text.len()) * 8;
        let others = (0..text.len() * 8).step_by(97);
        for bit in last_bits(entry.bytes() as usize).chain(last_bits(text.len())).chain(others) {
            flip(bit);
            let opened = Journal::open(&run, &mut |_, _| ());
            assert!(matches!(opened, Err(JournalError::Damaged { .. })), "bit {bit}: {opened:?}");
        }
        // A digit that changes while the journal is open does not reach the frames.
        let digit = text.windows(10).position(|found| found == b"\"episode\":").unwrap() + 10;
        flip(digit * 8);
        assert!(journal.read(entry).unwrap_err().to_string().ends_with("its checksum does not match"));
        fs::write(run.journal_path(), &text).unwrap();
        assert_eq!(journal.read(entry).unwrap(), result(1, Outcome::Success));
    }

    #[test]
    fn recorded_turns_are_found_by_episode() {
        let (_folder, run) = run();
        assert_eq!(read_recorded_turns(&run, 5).unwrap(), None);
        let all_turns = [4, 5].map(|episode| result(episode, Outcome::Success).recorded_turns.unwrap());
        let mut writer = RecordedTurnsWriter::create(&run).unwrap();
        all_turns.iter().for_each(|recorded_turns| writer.write(recorded_turns).unwrap());
        assert_eq!(read_recorded_turns(&run, 5).unwrap(), None, "the file is not complete yet");
        writer.finish().unwrap();
        assert_eq!(read_recorded_turns(&run, 5).unwrap().as_ref(), Some(&all_turns[1]));
        assert_eq!(read_recorded_turns(&run, 6).unwrap(), None);
        let both = read_recorded_turns_of(&run, &BTreeSet::from([3, 4, 5, 6])).unwrap();
        assert_eq!(both.into_values().collect::<Vec<_>>(), all_turns);
        assert!(read_recorded_turns_of(&run, &BTreeSet::new()).unwrap().is_empty());
    }
}
