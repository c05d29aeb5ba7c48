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
mod key;
mod line;
mod listing;
mod miss;
mod part;
mod raw;
mod shelf;
mod show;
mod tape;

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
pub use miss::{Miss, Nearest, Reason};

use error::io_error;
use line::Line;
use part::{FolderLock, Part};
use shelf::Shelf;
use tape::Tape;

use crate::llm::Api;
use crate::llm::slots::STOP_POLL;

/// The format of the files.
const VERSION: u64 = 1;
const ENDING: &str = ".jsonl.zst";
/// Where the recorded models were asked, by API and model.
const SERVERS: &str = "servers.json";

/// What was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The whole answer.
    pub body: Value,
    /// How long it took.
    pub latency_ms: u64,
    /// The date, such as `2026-11-22`.
    pub recorded: String,
}

/// A folder of recordings, open.
#[derive(Debug)]
pub struct Cassette {
    dir: PathBuf,
    state: Mutex<State>,
    /// Rung when a request is no longer under way.
    settled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    shelf: Arc<Shelf>,
    /// What was put and not merged yet.
    fresh: FxHashMap<Key, Arc<Recorded>>,
    part: Option<Part>,
    under_way: FxHashSet<Key>,
    used: FxHashSet<Key>,
}

/// What is to be done for an answer.
#[derive(Debug)]
pub enum Claim<'a> {
    /// Nothing: here it is.
    Known(Arc<Recorded>),
    /// The model has to be asked, and nobody else does it.
    Ask(Pending<'a>),
}

/// A request that is under way. Whoever asks the same waits until this is put or dropped.
#[derive(Debug)]
pub struct Pending<'a> {
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
        if cassette.state().shelf.is_empty() {
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
        let _lock = FolderLock::take(&self.dir)?;
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
                let (model, recorded, asked) = (model.to_owned(), known.clone(), base_url.to_owned());
                return Err(CassetteError::OtherServer { path: self.dir.clone(), model, recorded, asked });
            }
            None => servers.insert(name, base_url.to_owned()),
        };
        let part = self.dir.join(format!("{SERVERS}.part"));
        let write = || -> io::Result<()> {
            let mut text = serde_json::to_vec_pretty(&servers)?;
            text.push(b'\n');
            fs::write(&part, text)?;
            fs::rename(&part, &path)
        };
        write().map_err(io_error("write", &path))
    }

    fn read(dir: &Path) -> Result<Cassette, CassetteError> {
        let (shelf, _) = Shelf::read(dir, &part::dead(dir)?)?;
        let state = State { shelf: Arc::new(shelf), ..State::default() };
        Ok(Cassette { dir: dir.into(), state: Mutex::new(state), settled: Condvar::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panicked did so outside of what is changed under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to a request, if it is recorded.
    pub fn get(&self, request: &Request<'_>) -> Option<Arc<Recorded>> {
        let key = request.key();
        let shelf = {
            let mut state = self.state();
            if let Some(recorded) = state.fresh.get(&key).cloned() {
                return Some(recorded);
            }
            if !state.shelf.has(key) {
                return None;
            }
            state.used.insert(key);
            state.shelf.clone()
        };
        shelf.get(key).map(Arc::new)
    }

    /// The answer to a request, or the right and duty to get it. Waits while that right is somebody's, and so for ever when it is
    /// this thread's own; `None` once `stop` is raised.
    pub fn claim(&self, request: &Request<'_>, stop: &AtomicBool) -> Option<Claim<'_>> {
        let body = canonical_json(request.body);
        let key = request.key_of(&body);
        let mut state = self.state();
        while state.under_way.contains(&key) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            state = self.settled.wait_timeout(state, STOP_POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some(recorded) = state.fresh.get(&key) {
            return Some(Claim::Known(recorded.clone()));
        }
        if let Some(recorded) = state.shelf.get(key) {
            state.used.insert(key);
            return Some(Claim::Known(Arc::new(recorded)));
        }
        state.under_way.insert(key);
        let (api, model, trial) = (request.api, request.model.to_owned(), request.trial);
        Some(Claim::Ask(Pending { cassette: self, api, model, trial, key, body }))
    }

    /// Merges what was put, and what killed processes left, into the files. What other processes are recording is left to them.
    ///
    /// # Errors
    /// [`CassetteError`] when files cannot be read or written. Nothing is lost then: part files stay until all is written.
    pub fn finish(&self) -> Result<(), CassetteError> {
        self.settle(&mut self.state())
    }

    fn settle(&self, state: &mut State) -> Result<(), CassetteError> {
        if state.part.is_none() && !part::any(&self.dir)? {
            return Ok(());
        }
        let _lock = FolderLock::take(&self.dir)?;
        // Without its lock, the own part is as good as that of a process that died: if merging fails, the next one does it.
        state.part = None;
        let parts = part::dead(&self.dir)?;
        let (mut shelf, changed) = Shelf::read(&self.dir, &parts)?;
        for index in changed {
            shelf.tapes[index].write(&self.dir)?;
        }
        parts.iter().try_for_each(|path| part::remove(path))?;
        state.used.extend(state.fresh.drain().map(|(key, _)| key));
        state.shelf = Arc::new(shelf);
        Ok(())
    }

    /// What an error shows of a request that [`Cassette::get`] has no answer to. Looks through all recordings of the model, but
    /// for those that were put since the last [`Cassette::finish`].
    pub fn miss(&self, request: &Request<'_>) -> Miss {
        let shelf = self.state().shelf.clone();
        miss::miss(&shelf, request, &canonical_json(request.body))
    }

    /// All recordings by models, but for those that were put since the last [`Cassette::finish`].
    pub fn entries(&self) -> Vec<Recordings> {
        let shelf = self.state().shelf.clone();
        shelf.tapes.iter().map(listing::recordings).collect()
    }

    /// One recording in full.
    pub fn exchange(&self, key: Key) -> Option<Exchange> {
        let shelf = self.state().shelf.clone();
        shelf.tape_of(key).and_then(|tape| listing::exchange(tape, key))
    }

    /// The recordings that were neither got, claimed nor put since the folder was opened, in the order of [`Cassette::entries`].
    pub fn unused(&self) -> Vec<Key> {
        let state = self.state();
        state.shelf.keys().filter(|key| !state.used.contains(key) && !state.fresh.contains_key(key)).collect()
    }

    /// Drops all recordings but those to keep, and says how many went. A file is replaced in one step; one without recordings is
    /// removed.
    ///
    /// # Errors
    /// [`CassetteError`] when files cannot be read or written.
    pub fn retain(&self, keep: &dyn Fn(&Entry) -> bool) -> Result<u64, CassetteError> {
        let mut state = self.state();
        self.settle(&mut state)?;
        let _lock = FolderLock::take(&self.dir)?;
        let (shelf, _) = Shelf::read(&self.dir, &[])?;
        let mut dropped = 0;
        let mut tapes: Vec<Tape> = Vec::new();
        for tape in shelf.tapes {
            let kept: Vec<bool> = listing::recordings(&tape).entries.iter().map(keep).collect();
            let gone = kept.iter().filter(|kept| !**kept).count();
            if gone == 0 {
                tapes.push(tape);
                continue;
            }
            dropped += gone as u64;
            let mut rest = tape.keeping(&kept);
            rest.write(&self.dir)?;
            if gone < kept.len() {
                tapes.push(rest);
            }
        }
        state.shelf = Arc::new(Shelf::of(tapes));
        if state.shelf.is_empty() {
            // Nothing is bound any more.
            part::remove(&self.dir.join(SERVERS))?;
        }
        Ok(dropped)
    }
}

impl Pending<'_> {
    /// Keeps the answer. It is in a file when this returns.
    ///
    /// # Errors
    /// [`CassetteError`] when it cannot be written.
    pub fn put(self, recorded: Recorded) -> Result<(), CassetteError> {
        if !self.body.starts_with('{') {
            return Err(CassetteError::NotAnObject { model: self.model.clone() });
        }
        let (date, response) = (Value::from(recorded.recorded.as_str()).to_string(), recorded.body.to_string());
        let entry = Line {
            key: self.key,
            trial: self.trial,
            recorded: &date,
            latency_ms: recorded.latency_ms,
            same: "{}",
            request: &self.body,
            response: &response,
        };
        let line = part::line(self.api, &self.model, &entry);
        let mut state = self.cassette.state();
        if state.part.is_none() {
            state.part = Some(Part::create(&self.cassette.dir)?);
        }
        if let Some(part) = &mut state.part {
            part.append(&line)?;
        }
        state.fresh.insert(self.key, Arc::new(recorded));
        Ok(())
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.cassette.state().under_way.remove(&self.key);
        self.cassette.settled.notify_all();
    }
}
