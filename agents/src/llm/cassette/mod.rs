//! Cassettes: folders of answers that models gave, to be given again without a network.
//!
//! A folder has one file a model, `API-MODEL.jsonl.zst`: a header, then one line a recording, sorted by what was asked. Of a
//! request, a line holds what the line before does not: conversations grow by a message or two, and every request of them repeats
//! all the others. Equal recordings give equal files, in whatever order and by however many threads they were made.
//!
//! While models are asked, answers are appended to `recording-N.jsonl`, one file a process, and merged when the run ends. What a
//! killed process left is read with the rest, and merged by the next one that records.
//!
//! Nothing is stored but bodies of requests and answers. There are no headers here, and so no keys.

mod body;
mod error;
mod excerpt;
mod index;
mod key;
mod line;
mod listing;
mod miss;
mod raw;
mod recording_file;
mod segment;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use healbench_protocol::canonical_json;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

pub use error::CassetteError;
pub use key::{Key, Request};
pub use listing::{Entry, Exchange, Recordings};
pub use miss::{Miss, MissReason, NearestRecording};

use error::io_error;
use index::RecordingIndex;
use line::RecordingLine;
use recording_file::RecordingFile;
use segment::{FolderLock, SegmentWriter};

use crate::llm::Api;
use crate::llm::limiter::STOP_POLL;

/// The format of the files.
const VERSION: u64 = 1;
const SUFFIX: &str = ".jsonl.zst";
/// Where the recorded models were asked, by API and model.
const SERVERS: &str = "servers.json";

/// What was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedResponse {
    /// The whole answer.
    pub body: Value,
    /// How long it took.
    pub latency_ms: u64,
    /// The date, such as `2026-11-22`.
    pub recorded_on: String,
}

/// A folder of recordings, open.
#[derive(Debug)]
pub struct Cassette {
    dir: PathBuf,
    state: Mutex<State>,
    /// Rung when a request is no longer under way.
    request_done: Condvar,
}

#[derive(Debug, Default)]
struct State {
    index: Arc<RecordingIndex>,
    /// What was put and not merged yet.
    unmerged: FxHashMap<Key, Arc<RecordedResponse>>,
    segment: Option<SegmentWriter>,
    in_flight: FxHashSet<Key>,
    used: FxHashSet<Key>,
}

/// What is to be done for an answer.
#[derive(Debug)]
pub enum Reservation<'a> {
    /// Nothing: here it is.
    Recorded(Arc<RecordedResponse>),
    /// The model has to be asked, and nobody else does it.
    Reserved(PendingRecording<'a>),
}

/// A request that is under way. Whoever asks the same waits until this is put or dropped.
#[derive(Debug)]
pub struct PendingRecording<'a> {
    cassette: &'a Cassette,
    api: Api,
    model: String,
    trial: u32,
    key: Key,
    body: String,
}

impl Cassette {
    /// Opens a folder to replay from. Nothing is written.
    ///
    /// # Errors
    /// [`CassetteError`] when there is no folder, nothing in it, or a file that is not as healbench wrote it.
    pub fn open(dir: &Path) -> Result<Cassette, CassetteError> {
        if !dir.is_dir() {
            return Err(CassetteError::Missing(dir.into()));
        }
        let cassette = Cassette::read(dir)?;
        if cassette.state().index.is_empty() {
            return Err(CassetteError::Empty(dir.into()));
        }
        Ok(cassette)
    }

    /// Opens a folder to record into, and makes it if need be. Several processes may do so at once; what one records the others do
    /// not see before it is merged, so they should not ask the same.
    ///
    /// # Errors
    /// [`CassetteError`] when the folder cannot be made, or has a file that is not as healbench wrote it.
    pub fn open_or_create(dir: &Path) -> Result<Cassette, CassetteError> {
        fs::create_dir_all(dir).map_err(io_error("create", dir))?;
        Cassette::read(dir)
    }

    /// Says where a model is that is about to be recorded. Requests do not tell, and what two servers say under one name must not
    /// get mixed: the folder remembers the first.
    ///
    /// # Errors
    /// [`CassetteError::OtherServer`] when it was recorded from elsewhere; [`CassetteError::Damaged`], [`CassetteError::Io`].
    pub fn bind(&self, api: Api, model: &str, base_url: &str) -> Result<(), CassetteError> {
        let _lock = FolderLock::acquire(&self.dir)?;
        let path = self.dir.join(SERVERS);
        let mut servers: BTreeMap<String, String> = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| CassetteError::Damaged {
                path: path.clone(),
                line: Some(error.line()),
                reason: error.to_string(),
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(io_error("read", &path)(error)),
        };
        let name = format!("{} {model}", api.name());
        match servers.get(&name) {
            Some(known) if known == base_url => return Ok(()),
            Some(known) => {
                let (model, recorded_url, requested_url) = (model.to_owned(), known.clone(), base_url.to_owned());
                return Err(CassetteError::OtherServer { path: self.dir.clone(), model, recorded_url, requested_url });
            }
            None => servers.insert(name, base_url.to_owned()),
        };
        let temporary = self.dir.join(format!("{SERVERS}.part"));
        let write = || -> io::Result<()> {
            let mut text = serde_json::to_vec_pretty(&servers)?;
            text.push(b'\n');
            fs::write(&temporary, text)?;
            fs::rename(&temporary, &path)
        };
        write().map_err(io_error("write", &path))
    }

    fn read(dir: &Path) -> Result<Cassette, CassetteError> {
        let (index, _) = RecordingIndex::read(dir, &segment::abandoned(dir)?)?;
        let state = State { index: Arc::new(index), ..State::default() };
        Ok(Cassette { dir: dir.into(), state: Mutex::new(state), request_done: Condvar::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panicked did so outside of what is changed under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to a request, if it is recorded.
    pub fn get(&self, request: &Request<'_>) -> Option<Arc<RecordedResponse>> {
        let key = request.key();
        let index = {
            let mut state = self.state();
            if let Some(recorded) = state.unmerged.get(&key).cloned() {
                return Some(recorded);
            }
            if !state.index.contains(key) {
                return None;
            }
            state.used.insert(key);
            state.index.clone()
        };
        index.get(key).map(Arc::new)
    }

    /// The answer to a request, or the right and duty to get it. Waits while that right is somebody's, and so for ever when it is
    /// this thread's own; `None` once `stop` is raised.
    pub fn get_or_reserve(&self, request: &Request<'_>, stop: &AtomicBool) -> Option<Reservation<'_>> {
        let body = canonical_json(request.body);
        let key = request.key_of(&body);
        let mut state = self.state();
        while state.in_flight.contains(&key) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            state = self.request_done.wait_timeout(state, STOP_POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some(recorded) = state.unmerged.get(&key) {
            return Some(Reservation::Recorded(recorded.clone()));
        }
        if let Some(recorded) = state.index.get(key) {
            state.used.insert(key);
            return Some(Reservation::Recorded(Arc::new(recorded)));
        }
        state.in_flight.insert(key);
        let (api, model, trial) = (request.api, request.model.to_owned(), request.trial);
        Some(Reservation::Reserved(PendingRecording { cassette: self, api, model, trial, key, body }))
    }

    /// Merges what was put, and what killed processes left, into the files. What other processes are recording is left to them.
    ///
    /// # Errors
    /// [`CassetteError`] when files cannot be read or written. Nothing is lost then: segment files stay until all is written.
    pub fn finish(&self) -> Result<(), CassetteError> {
        self.merge_segments(&mut self.state())
    }

    fn merge_segments(&self, state: &mut State) -> Result<(), CassetteError> {
        if state.segment.is_none() && !segment::exist_in(&self.dir)? {
            return Ok(());
        }
        let _lock = FolderLock::acquire(&self.dir)?;
        // Without its lock, the own segment is as good as that of a process that died: if merging fails, the next one does it.
        state.segment = None;
        let segments = segment::abandoned(&self.dir)?;
        let (mut index, changed) = RecordingIndex::read(&self.dir, &segments)?;
        for number in changed {
            index.files[number].write(&self.dir)?;
        }
        segments.iter().try_for_each(|path| segment::remove(path))?;
        state.used.extend(state.unmerged.drain().map(|(key, _)| key));
        state.index = Arc::new(index);
        Ok(())
    }

    /// What an error shows of a request that [`Cassette::get`] has no answer to. Looks through all recordings of the model, but
    /// for those that were put since the last [`Cassette::finish`].
    pub fn miss(&self, request: &Request<'_>) -> Miss {
        let index = self.state().index.clone();
        miss::miss(&index, request, &canonical_json(request.body))
    }

    /// All recordings by models, but for those that were put since the last [`Cassette::finish`].
    pub fn entries(&self) -> Vec<Recordings> {
        let index = self.state().index.clone();
        index.files.iter().map(listing::recordings).collect()
    }

    /// One recording in full.
    pub fn exchange(&self, key: Key) -> Option<Exchange> {
        let index = self.state().index.clone();
        index.file_of(key).and_then(|file| listing::exchange(file, key))
    }

    /// The recordings that were neither got, claimed nor put since the folder was opened, in the order of [`Cassette::entries`].
    pub fn unused(&self) -> Vec<Key> {
        let state = self.state();
        state.index.keys().filter(|key| !state.used.contains(key) && !state.unmerged.contains_key(key)).collect()
    }

    /// Drops all recordings but those to keep, and says how many went. A file is replaced in one step; one without recordings is
    /// removed.
    ///
    /// # Errors
    /// [`CassetteError`] when files cannot be read or written.
    pub fn retain(&self, keep: &dyn Fn(&Entry) -> bool) -> Result<u64, CassetteError> {
        let mut state = self.state();
        self.merge_segments(&mut state)?;
        let _lock = FolderLock::acquire(&self.dir)?;
        let (index, _) = RecordingIndex::read(&self.dir, &[])?;
        let mut dropped = 0;
        let mut files: Vec<RecordingFile> = Vec::new();
        for file in index.files {
            let kept: Vec<bool> = listing::recordings(&file).entries.iter().map(keep).collect();
            let gone = kept.iter().filter(|kept| !**kept).count();
            if gone == 0 {
                files.push(file);
                continue;
            }
            dropped += gone as u64;
            let mut rest = file.filtered(&kept);
            rest.write(&self.dir)?;
            if gone < kept.len() {
                files.push(rest);
            }
        }
        state.index = Arc::new(RecordingIndex::new(files));
        if state.index.is_empty() {
            // Nothing is bound any more.
            segment::remove(&self.dir.join(SERVERS))?;
        }
        Ok(dropped)
    }
}

impl PendingRecording<'_> {
    /// Keeps the answer. It is in a file when this returns.
    ///
    /// # Errors
    /// [`CassetteError`] when it cannot be written.
    pub fn put(self, recorded: RecordedResponse) -> Result<(), CassetteError> {
        if !self.body.starts_with('{') {
            return Err(CassetteError::NotAnObject { model: self.model.clone() });
        }
        let (date, response) = (Value::from(recorded.recorded_on.as_str()).to_string(), recorded.body.to_string());
        let entry = RecordingLine {
            key: self.key,
            trial: self.trial,
            recorded_on: &date,
            latency_ms: recorded.latency_ms,
            shared: "{}",
            request: &self.body,
            response: &response,
        };
        let line = segment::format_line(self.api, &self.model, &entry);
        let mut state = self.cassette.state();
        if state.segment.is_none() {
            state.segment = Some(SegmentWriter::create(&self.cassette.dir)?);
        }
        if let Some(segment) = &mut state.segment {
            segment.append(&line)?;
        }
        state.unmerged.insert(self.key, Arc::new(recorded));
        Ok(())
    }
}

impl Drop for PendingRecording<'_> {
    fn drop(&mut self) {
        self.cassette.state().in_flight.remove(&self.key);
        self.cassette.request_done.notify_all();
    }
}
