//! Cassettes: folders of recorded model responses that can be replayed without a network.
//!
//! A folder has one file per model, `API-MODEL.jsonl.zst`: a header, then one line per recording, sorted by request. A
//! line stores only the parts of a request that differ from the previous line, because every request of a conversation
//! repeats all earlier messages. Equal recordings produce identical files, regardless of their order and the number of
//! threads.
//!
//! New responses are appended to `recording-N.jsonl`, one file per process, and merged when the run ends. Segments left
//! by killed processes are read too, and are merged by the next process that records.
//!
//! Only request and response bodies are stored. Headers are not, so recordings do not contain keys.

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

/// The version of the file format.
const VERSION: u64 = 1;
const SUFFIX: &str = ".jsonl.zst";
/// The file with the base URLs of the recorded models, by API and model.
const SERVERS: &str = "servers.json";

/// A recorded response.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedResponse {
    /// The complete body of the response.
    pub body: Value,
    /// The latency in milliseconds.
    pub latency_ms: u64,
    /// The date, such as `2026-11-22`.
    pub recorded_on: String,
}

/// An open folder of recordings.
#[derive(Debug)]
pub struct Cassette {
    dir: PathBuf,
    state: Mutex<State>,
    /// Notified when a request is no longer in flight.
    request_done: Condvar,
}

#[derive(Debug, Default)]
struct State {
    index: Arc<RecordingIndex>,
    /// Responses that are recorded but not merged yet.
    unmerged: FxHashMap<Key, Arc<RecordedResponse>>,
    segment: Option<SegmentWriter>,
    in_flight: FxHashSet<Key>,
    used: FxHashSet<Key>,
}

/// The outcome of a lookup for a recording process.
#[derive(Debug)]
pub enum Reservation<'a> {
    /// The response is recorded.
    Recorded(Arc<RecordedResponse>),
    /// The caller must send the request; no other thread does.
    Reserved(PendingRecording<'a>),
}

/// A request in flight. Other threads with the same request wait until it is recorded or dropped.
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
    /// Opens a folder for replay. No file is written.
    ///
    /// # Errors
    /// Returns a [`CassetteError`] if the folder does not exist, contains no recordings, or has an invalid file.
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

    /// Opens a folder for recording and creates it if necessary. Several processes may record at once, but they do not
    /// see each other's recordings until these are merged, so they should not send the same requests.
    ///
    /// # Errors
    /// Returns a [`CassetteError`] if the folder cannot be created or has an invalid file.
    pub fn open_or_create(dir: &Path) -> Result<Cassette, CassetteError> {
        fs::create_dir_all(dir).map_err(io_error("create", dir))?;
        Cassette::read(dir)
    }

    /// Stores the server of a model that is about to be recorded. Requests do not contain the server, and responses of
    /// two servers with the same model name must not be mixed, so each folder accepts only the first.
    ///
    /// # Errors
    /// Returns [`CassetteError::OtherServer`] if the model was recorded from another server, [`CassetteError::Damaged`]
    /// or [`CassetteError::Io`].
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
        // A panic cannot occur while the state is being changed, so a poisoned lock is safe to use.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the recorded response to a request.
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

    /// Returns the recorded response to a request, or reserves the request for the caller. Waits while another
    /// reservation of the same request exists, which deadlocks if this thread holds it. Returns `None` when `stop` is
    /// set.
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

    /// Merges new recordings and the segments of killed processes into the files. Segments that other processes are
    /// still writing are skipped.
    ///
    /// # Errors
    /// Returns a [`CassetteError`] if files cannot be read or written. No recordings are lost: segment files are
    /// removed only after everything is written.
    pub fn finish(&self) -> Result<(), CassetteError> {
        self.merge_segments(&mut self.state())
    }

    fn merge_segments(&self, state: &mut State) -> Result<(), CassetteError> {
        if state.segment.is_none() && !segment::exist_in(&self.dir)? {
            return Ok(());
        }
        let _lock = FolderLock::acquire(&self.dir)?;
        // Close this process's segment, which releases its lock. If merging fails, the next recording process merges
        // it.
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

    /// Explains why [`Cassette::get`] has no response for a request. Searches all recordings of the model, except those
    /// added since the last [`Cassette::finish`].
    pub fn miss(&self, request: &Request<'_>) -> Miss {
        let index = self.state().index.clone();
        miss::miss(&index, request, &canonical_json(request.body))
    }

    /// Returns all recordings by model, except those added since the last [`Cassette::finish`].
    pub fn entries(&self) -> Vec<Recordings> {
        let index = self.state().index.clone();
        index.files.iter().map(listing::recordings).collect()
    }

    /// Returns one recording with its complete request and response.
    pub fn exchange(&self, key: Key) -> Option<Exchange> {
        let index = self.state().index.clone();
        index.file_of(key).and_then(|file| listing::exchange(file, key))
    }

    /// Returns the recordings that were not read, reserved or added since the folder was opened, in the order of
    /// [`Cassette::entries`].
    pub fn unused(&self) -> Vec<Key> {
        let state = self.state();
        state.index.keys().filter(|key| !state.used.contains(key) && !state.unmerged.contains_key(key)).collect()
    }

    /// Removes all recordings for which `keep` returns false and returns their number. Files are replaced atomically;
    /// files without recordings are removed.
    ///
    /// # Errors
    /// Returns a [`CassetteError`] if files cannot be read or written.
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
            // No model is recorded any more, so no server needs to be remembered.
            segment::remove(&self.dir.join(SERVERS))?;
        }
        Ok(dropped)
    }
}

impl PendingRecording<'_> {
    /// Records the response. It is written to a file when this returns.
    ///
    /// # Errors
    /// Returns a [`CassetteError`] if the response cannot be written.
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
