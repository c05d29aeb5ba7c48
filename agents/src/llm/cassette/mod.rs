//! Cassettes: folders of recorded model responses that can be replayed without a network.
//!
//! A folder has one file per model, `API-MODEL.jsonl.zst`: a header, then one line per recording with a checksum and the
//! complete request. Lines are sorted by request, so equal recordings give identical files, regardless of the order in
//! which they were made. Requests of one conversation are adjacent, so compression removes the text that they repeat.
//!
//! New responses are appended to `journal.jsonl`, which has the same lines. When the run ends, they are merged
//! into the files of their models, and the journal is removed. The journal of a killed process is read too, and the next
//! process that records continues it.
//!
//! Only request and response bodies are stored. Headers are not, so recordings do not contain keys.

mod error;
mod excerpt;
mod file;
mod journal;
mod key;
mod listing;
mod merge;
mod miss;
mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use healbench_core::canonical_json;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

pub use error::CassetteError;
pub use key::{Key, Request};
pub use listing::{Entry, Exchange, Recordings};
pub use merge::merge_cassettes;

use error::io_error;
use journal::Journal;
use record::{Metadata, Record};

use crate::llm::Api;
use crate::llm::limiter::STOP_POLL;

/// The version of the file format.
const VERSION: u64 = 2;
const SUFFIX: &str = ".jsonl.zst";
/// The file with the base URLs of the recorded models, by API and model.
const SERVERS: &str = "servers.json";

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
    records: FxHashMap<Key, Arc<Record>>,
    /// The models with recordings that are not merged into their files.
    unmerged: BTreeSet<(Api, String)>,
    /// Held while recording, so that no other process changes the folder.
    journal: Option<Journal>,
    in_flight: FxHashSet<Key>,
    /// The recordings that were read or added since the folder was opened.
    used: FxHashSet<Key>,
}

/// The outcome of a lookup for a recording process.
#[derive(Debug)]
pub enum Reservation<'a> {
    /// The response is recorded.
    Recorded(RecordedResponse),
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

impl State {
    /// Reads the files of a folder and adds the recordings of its journal. Of two responses to one request, the one in
    /// a file is kept.
    fn load(&mut self, dir: &Path, journal: Vec<Record>) -> Result<(), CassetteError> {
        self.records.clear();
        for entry in fs::read_dir(dir).map_err(io_error("read", dir))? {
            let path = entry.map_err(io_error("read", dir))?.path();
            if path.to_string_lossy().ends_with(SUFFIX) {
                let records = file::read(&path)?.into_iter();
                self.records.extend(records.map(|record| (record.key(), Arc::new(record))));
            }
        }
        for record in journal {
            if !self.records.contains_key(&record.key()) {
                self.add(record);
            }
        }
        Ok(())
    }

    /// Adds a recording that is in the journal.
    fn add(&mut self, record: Record) {
        self.unmerged.insert((record.metadata.api, record.metadata.model.clone()));
        self.records.insert(record.key(), Arc::new(record));
    }

    /// Returns a recording and marks it as used.
    fn find(&mut self, key: Key) -> Option<Arc<Record>> {
        let record = self.records.get(&key)?;
        self.used.insert(key);
        Some(Arc::clone(record))
    }

    /// Returns all recordings by model, sorted by request.
    fn sorted(&self) -> Vec<Arc<Record>> {
        let mut records: Vec<_> = self.records.values().cloned().collect();
        records.sort_by(|a, b| a.compare(b));
        records
    }

    /// Writes the files of the models with new recordings.
    fn save(&mut self, dir: &Path) -> Result<(), CassetteError> {
        let records = self.sorted();
        for (api, model) in &self.unmerged {
            let records = records.iter().map(Arc::as_ref).filter(|record| record.is_of(*api, model));
            file::write(dir, *api, model, &records.collect::<Vec<_>>())?;
        }
        self.unmerged.clear();
        Ok(())
    }
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
        let cassette = Cassette::new(dir);
        // Read the journal first: if it has disappeared by now, its recordings are in the files that are read next.
        let (journal, _) = journal::read(dir)?;
        cassette.state().load(dir, journal)?;
        if cassette.state().records.is_empty() {
            return Err(CassetteError::Empty(dir.into()));
        }
        Ok(cassette)
    }

    /// Opens a folder for recording and creates it if necessary.
    ///
    /// # Errors
    /// Returns [`CassetteError::Busy`] while another process records into the folder, or another [`CassetteError`] if
    /// the folder cannot be created or has an invalid file.
    pub fn open_or_create(dir: &Path) -> Result<Cassette, CassetteError> {
        fs::create_dir_all(dir).map_err(io_error("create", dir))?;
        let cassette = Cassette::new(dir);
        cassette.lock(&mut cassette.state())?;
        Ok(cassette)
    }

    fn new(dir: &Path) -> Cassette {
        Cassette { dir: dir.into(), state: Mutex::default(), request_done: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic cannot occur while the state is being changed, so a poisoned lock is safe to use.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the folder's journal unless it is already held, and reads the folder.
    fn lock(&self, state: &mut State) -> Result<(), CassetteError> {
        if state.journal.is_none() {
            let (journal, records) = Journal::open(&self.dir)?;
            state.load(&self.dir, records)?;
            state.journal = Some(journal);
        }
        Ok(())
    }

    /// Stores the server of a model that is about to be recorded. Requests do not contain the server, and responses of
    /// two servers with the same model name must not be mixed, so each folder accepts only the first.
    ///
    /// # Errors
    /// Returns [`CassetteError::OtherServer`] if the model was recorded from another server, or another
    /// [`CassetteError`] if a file cannot be read or written.
    pub fn bind(&self, api: Api, model: &str, base_url: &str) -> Result<(), CassetteError> {
        self.bind_name(&format!("{} {model}", api.name()), base_url)
    }

    /// Returns the base URLs of the recorded models, by API and model.
    fn servers(&self) -> Result<BTreeMap<String, String>, CassetteError> {
        let path = self.dir.join(SERVERS);
        match healbench_files::read_file(&path, healbench_files::MAX_WRITTEN_BYTES) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| CassetteError::Damaged {
                path,
                line: error.line(),
                reason: error.to_string(),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(io_error("read", &path)(error)),
        }
    }

    /// Stores the server of a model, as [`Cassette::bind`].
    fn bind_name(&self, name: &str, base_url: &str) -> Result<(), CassetteError> {
        self.lock(&mut self.state())?;
        let path = self.dir.join(SERVERS);
        let mut servers = self.servers()?;
        match servers.get(name) {
            Some(known) if known == base_url => return Ok(()),
            Some(known) => {
                let model = name.split_once(' ').map_or(name, |(_, model)| model).to_owned();
                let (recorded_url, requested_url) = (known.clone(), base_url.to_owned());
                return Err(CassetteError::OtherServer { path: self.dir.clone(), model, recorded_url, requested_url });
            }
            None => servers.insert(name.to_owned(), base_url.to_owned()),
        };
        let write = || -> io::Result<()> {
            let mut text = serde_json::to_vec_pretty(&servers)?;
            text.push(b'\n');
            file::replace(&path, &text)
        };
        write().map_err(io_error("write", &path))
    }

    /// Returns the recorded response to a request.
    pub fn get(&self, request: &Request<'_>) -> Option<RecordedResponse> {
        let record = self.state().find(request.key())?;
        record.recorded_response()
    }

    /// Returns true if there is a recording with this key.
    pub fn contains(&self, key: Key) -> bool {
        self.state().records.contains_key(&key)
    }

    /// Returns the recorded response to a request, or reserves the request for the caller. Waits while another
    /// reservation of the same request exists, which deadlocks if this thread holds it. Returns `None` when `stop` is
    /// set.
    pub fn get_or_reserve(&self, request: &Request<'_>, stop: &AtomicBool) -> Option<Reservation<'_>> {
        let body = canonical_json(request.body);
        let key = key::key_of(request.api, request.model, request.trial, &body);
        let mut state = self.state();
        while state.in_flight.contains(&key) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            state = self.request_done.wait_timeout(state, STOP_POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some(recorded) = state.find(key).and_then(|record| record.recorded_response()) {
            return Some(Reservation::Recorded(recorded));
        }
        state.in_flight.insert(key);
        let (api, model, trial) = (request.api, request.model.to_owned(), request.trial);
        Some(Reservation::Reserved(PendingRecording { cassette: self, api, model, trial, key, body }))
    }

    /// Merges new recordings into the files, removes the journal, and lets other processes record into the folder.
    ///
    /// # Errors
    /// Returns a [`CassetteError`] if files cannot be written. No recordings are lost: the journal is removed only after
    /// everything is written.
    pub fn finish(&self) -> Result<(), CassetteError> {
        let mut state = self.state();
        match state.journal.take() {
            Some(journal) => state.save(&self.dir).and_then(|()| journal.remove()),
            None => Ok(()),
        }
    }

    /// Explains in a few lines why [`Cassette::get`] has no response for a request.
    pub fn explain_miss(&self, request: &Request<'_>) -> String {
        let records = self.state().sorted();
        miss::explain(&records, request)
    }

    /// Returns all recordings by model, sorted by request.
    pub fn entries(&self) -> Vec<Recordings> {
        let state = self.state();
        let mut lists: Vec<Recordings> = Vec::new();
        for record in state.sorted() {
            let Metadata { api, model, .. } = &record.metadata;
            if lists.last().is_none_or(|list| !record.is_of(list.api, &list.model)) {
                let file = file::file_name(*api, model);
                let is_merged = !state.unmerged.contains(&(*api, model.clone()));
                let metadata = fs::metadata(self.dir.join(&file)).ok().filter(|_| is_merged);
                let bytes = metadata.map(|metadata| metadata.len());
                lists.push(Recordings { api: *api, model: model.clone(), file, bytes, entries: Vec::new() });
            }
            if let Some(list) = lists.last_mut() {
                list.entries.push(listing::entry(&record));
            }
        }
        lists
    }

    /// Returns one recording with its complete request and response.
    pub fn exchange(&self, key: Key) -> Option<Exchange> {
        let record = self.state().records.get(&key).cloned()?;
        listing::exchange(&record)
    }

    /// Returns the recordings that were not read, reserved or added since the folder was opened, in the order of
    /// [`Cassette::entries`].
    pub fn unused(&self) -> Vec<Key> {
        let state = self.state();
        state.sorted().iter().map(|record| record.key()).filter(|key| !state.used.contains(key)).collect()
    }

    /// Removes all recordings for which `keep` returns false and returns their number. Files are replaced atomically;
    /// files without recordings are removed.
    ///
    /// # Errors
    /// Returns a [`CassetteError`] if files cannot be read or written.
    pub fn retain(&self, keep: &dyn Fn(&Entry) -> bool) -> Result<u64, CassetteError> {
        let mut state = self.state();
        self.lock(&mut state)?;
        let mut removed = 0;
        for record in state.sorted() {
            if !keep(&listing::entry(&record)) {
                state.records.remove(&record.key());
                state.unmerged.insert((record.metadata.api, record.metadata.model.clone()));
                removed += 1;
            }
        }
        state.save(&self.dir)?;
        if state.records.is_empty() {
            // No model is recorded any more, so no server needs to be remembered.
            file::remove(&self.dir.join(SERVERS))?;
        }
        state.journal.take().map_or(Ok(()), Journal::remove)?;
        Ok(removed)
    }
}

impl PendingRecording<'_> {
    /// Returns the key of the request.
    pub fn key(&self) -> Key {
        self.key
    }

    /// Records the response. It is written to the journal when this returns.
    ///
    /// # Errors
    /// Returns a [`CassetteError`] if the response cannot be written.
    pub fn put(self, recorded: RecordedResponse) -> Result<(), CassetteError> {
        let RecordedResponse { body, latency_ms, recorded_on } = recorded;
        let record = Record {
            metadata: Metadata {
                api: self.api,
                model: self.model.clone(),
                trial: self.trial,
                recorded: recorded_on,
                latency_ms,
            },
            request: self.body.clone(),
            response: body.to_string(),
        };
        let line = record.line();
        if line.len() as u64 > file::MAX_LINE {
            let error = io::Error::new(io::ErrorKind::FileTooLarge, "a recording is too long to be read again");
            return Err(io_error("write", &self.cassette.dir)(error));
        }
        let mut state = self.cassette.state();
        self.cassette.lock(&mut state)?;
        if let Some(journal) = &mut state.journal {
            journal.append(&line)?;
        }
        state.used.insert(self.key);
        state.add(record);
        Ok(())
    }
}

impl Drop for PendingRecording<'_> {
    fn drop(&mut self) {
        self.cassette.state().in_flight.remove(&self.key);
        self.cassette.request_done.notify_all();
    }
}
