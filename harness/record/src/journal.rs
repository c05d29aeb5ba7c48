//! What keeps a run with models from being lost: every finished episode is a line of `journal.jsonl` before the next one begins.
//!
//! Answers of models cost money and cannot be had again. Frames are written from the journal when the run ends, however it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{CallRecord, EpisodeRecord, RunDir, Transcript};

/// A played episode with everything that it left behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Played {
    /// Its row.
    pub episode: EpisodeRecord,
    /// The rows of its calls.
    pub calls: Vec<CallRecord>,
    /// What a model did in it; null for an agent without one.
    pub transcript: Option<Transcript>,
}

/// Why a journal or the transcripts cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file system refused, or a file is no zstd.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io {
        /// `read`, `write` or `create`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line that healbench did not write, before the last one. Without that line the others can be used.
    #[error("`{}` is damaged in line {line}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// The journal of a run, open for writing.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    whole: u64,
    line: Vec<u8>,
}

impl Journal {
    /// Opens the journal of a run, or begins one, and gives what is in it, in the order in which it was played: an episode that was lost
    /// and played again is there twice. A last line that is not whole is what a killed process was writing: it is cut off.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(run: &RunDir) -> Result<(Journal, Vec<Played>), JournalError> {
        let path = run.journal();
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(io_error("create", &path))?;
        let mut played = Vec::new();
        let mut reader = BufReader::new(&mut file);
        let (mut whole, mut line, mut number) = (0, Vec::new(), 0);
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line).map_err(io_error("read", &path))?;
            number += 1;
            if read == 0 || line.last() != Some(&b'\n') {
                break;
            }
            let episode: Played = serde_json::from_slice(&line).map_err(|error| JournalError::Damaged {
                path: path.clone(),
                line: number,
                reason: error.to_string(),
            })?;
            played.push(episode);
            whole += read as u64;
        }
        file.set_len(whole).map_err(io_error("write", &path))?;
        Ok((Journal { path, file, whole, line: Vec::new() }, played))
    }

    /// Appends an episode. Once this returns, no end of the process loses it.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn append(&mut self, played: &Played) -> Result<(), JournalError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, played)
            .map_err(|error| io_error("write", &self.path)(io::Error::other(error)))?;
        self.line.push(b'\n');
        match self.file.write_all(&self.line) {
            Ok(()) => {
                self.whole += self.line.len() as u64;
                Ok(())
            }
            Err(error) => {
                // A full disk takes a part of a line; the next one must not stand on it. If this fails as well, so will the writes
                // after it: there is no room for them either.
                let _ = self.file.set_len(self.whole);
                Err(io_error("write", &self.path)(error))
            }
        }
    }

    /// Waits until the disk has it.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn sync(&self) -> Result<(), JournalError> {
        self.file.sync_data().map_err(io_error("write", &self.path))
    }

    /// Removes the journal: the run is complete, and its frames and transcripts hold all of it.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn remove(self) -> Result<(), JournalError> {
        fs::remove_file(&self.path).map_err(io_error("write", &self.path))
    }
}

/// zstd's level: transcripts are written once and kept.
const LEVEL: i32 = 9;

/// Writes `transcripts.jsonl.zst`, a line an episode in the order given, in one step.
///
/// # Errors
/// [`JournalError::Io`].
pub fn write_transcripts<'a>(
    run: &RunDir,
    transcripts: impl Iterator<Item = &'a Transcript>,
) -> Result<(), JournalError> {
    let path = run.transcripts();
    let part = path.with_extension("zst.part");
    let write = || -> io::Result<()> {
        let mut out = zstd::Encoder::new(File::create(&part)?, LEVEL)?;
        for transcript in transcripts {
            serde_json::to_writer(&mut out, transcript)?;
            out.write_all(b"\n")?;
        }
        out.finish()?.sync_all()?;
        fs::rename(&part, &path)
    };
    write().map_err(io_error("write", &path))
}

/// The transcript of one episode; `None` when the run has none of it.
///
/// # Errors
/// [`JournalError`].
pub fn read_transcript(run: &RunDir, episode: u64) -> Result<Option<Transcript>, JournalError> {
    Ok(transcripts_of(run, &BTreeSet::from([episode]))?.remove(&episode))
}

/// The transcripts of some episodes, read in one pass; those that the run does not have are left out.
///
/// # Errors
/// [`JournalError`].
pub fn transcripts_of(run: &RunDir, episodes: &BTreeSet<u64>) -> Result<BTreeMap<u64, Transcript>, JournalError> {
    let mut found = BTreeMap::new();
    if !episodes.is_empty() {
        read_transcripts(run, &mut |transcript| {
            if episodes.contains(&transcript.episode) {
                found.insert(transcript.episode, transcript);
            }
            found.len() < episodes.len()
        })?;
    }
    Ok(found)
}

/// Bytes that the transcript of an episode takes at most.
const LONGEST_LINE: u64 = 256 << 20;

/// Hands over the transcripts of a run in their order, until `next` gives false; none when the run has none.
///
/// # Errors
/// [`JournalError`].
pub fn read_transcripts(run: &RunDir, next: &mut dyn FnMut(Transcript) -> bool) -> Result<(), JournalError> {
    let path = run.transcripts();
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(io_error("read", &path))?,
    };
    let mut reader = BufReader::new(zstd::Decoder::new(file).map_err(io_error("read", &path))?);
    let mut line = Vec::new();
    for index in 0.. {
        line.clear();
        // A small file may hold a line that no memory can.
        let read = reader.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line);
        if read.map_err(io_error("read", &path))? == 0 {
            break;
        }
        let damaged = |reason: String| JournalError::Damaged { path: path.clone(), line: index + 1, reason };
        if line.len() as u64 > LONGEST_LINE {
            return Err(damaged(format!("it is longer than {} MiB", LONGEST_LINE >> 20)));
        }
        let transcript: Transcript = serde_json::from_slice(&line).map_err(|error| damaged(error.to_string()))?;
        if !next(transcript) {
            break;
        }
    }
    Ok(())
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> JournalError + use<> {
    let path = path.to_path_buf();
    move |source| JournalError::Io { doing, path, source }
}

#[cfg(test)]
mod tests {
    use healbench_protocol::{Origin, Spent, Turn};

    use super::*;
    use crate::{Outcome, TakenTurn, Tally};

    fn played(episode: u64, outcome: Outcome) -> Played {
        let turn = TakenTurn {
            turn: Turn::Answer { text: "it is\ndone".to_owned() },
            origin: Origin::Model(Spent::default()),
        };
        Played {
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
                tally: Tally::default(),
                model: None,
            },
            calls: vec![CallRecord { episode, call: 1, action: Some("list".into()), ..CallRecord::default() }],
            transcript: Some(Transcript { episode, turns: vec![turn], failed: None }),
        }
    }

    fn run() -> (tempfile::TempDir, RunDir) {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::at(folder.path());
        (folder, run)
    }

    #[test]
    fn episodes_come_back_in_the_order_in_which_they_were_played() {
        let (_folder, run) = run();
        let (mut journal, found) = Journal::open(&run).unwrap();
        assert_eq!(found, []);
        let lines = [played(7, Outcome::Infra), played(2, Outcome::Success), played(7, Outcome::Success)];
        for line in &lines {
            journal.append(line).unwrap();
        }
        drop(journal);
        let (_, found) = Journal::open(&run).unwrap();
        assert_eq!(found, lines);
    }

    #[test]
    fn a_line_that_a_kill_tore_is_cut_off_wherever_it_tore() {
        let (_folder, run) = run();
        let (mut journal, _) = Journal::open(&run).unwrap();
        journal.append(&played(1, Outcome::Success)).unwrap();
        let first = fs::read(run.journal()).unwrap();
        journal.append(&played(2, Outcome::Success)).unwrap();
        let both = fs::read(run.journal()).unwrap();
        for length in first.len()..both.len() {
            fs::write(run.journal(), &both[..length]).unwrap();
            let (mut journal, found) = Journal::open(&run).unwrap();
            assert_eq!(found, [played(1, Outcome::Success)], "torn after {length} bytes");
            journal.append(&played(2, Outcome::Success)).unwrap();
            assert_eq!(fs::read(run.journal()).unwrap(), both);
        }
    }

    #[test]
    fn a_damaged_line_is_told_with_its_place() {
        let (_folder, run) = run();
        let (mut journal, _) = Journal::open(&run).unwrap();
        journal.append(&played(1, Outcome::Success)).unwrap();
        let mut text = fs::read(run.journal()).unwrap();
        text.extend_from_slice(b"{\"episode\": 3}\n");
        fs::write(run.journal(), text).unwrap();
        let error = Journal::open(&run).unwrap_err();
        assert!(matches!(error, JournalError::Damaged { line: 2, .. }), "{error}");
        // Nothing is made up for what a line does not tell.
        let whole = serde_json::to_string(&played(1, Outcome::Success)).unwrap();
        fs::write(run.journal(), whole.replacen("\"response_hash\":0,", "", 1) + "\n").unwrap();
        let error = Journal::open(&run).unwrap_err().to_string();
        assert!(error.contains("damaged in line 1: missing field `response_hash`"), "{error}");
    }

    #[test]
    fn a_transcript_is_found_by_its_episode() {
        let (_folder, run) = run();
        assert_eq!(read_transcript(&run, 5).unwrap(), None);
        let transcripts = [4, 5].map(|episode| played(episode, Outcome::Success).transcript.unwrap());
        write_transcripts(&run, transcripts.iter()).unwrap();
        assert_eq!(read_transcript(&run, 5).unwrap().as_ref(), Some(&transcripts[1]));
        assert_eq!(read_transcript(&run, 6).unwrap(), None);
        let both = transcripts_of(&run, &BTreeSet::from([3, 4, 5, 6])).unwrap();
        assert_eq!(both.into_values().collect::<Vec<_>>(), transcripts);
        assert!(transcripts_of(&run, &BTreeSet::new()).unwrap().is_empty());
    }
}
