//! Texts that a thread has read. Many trials, conditions and readers show the same text to whoever knows the same names.
//!
//! The key contains everything that the result depends on, so the cache never changes what an agent does. Each thread
//! has its own cache, which is cleared when it is full.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread::LocalKey;

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::reading::{Reading, Statement, Vocabulary, read_error, read_statements};

// The keys consist of the known names, the arguments of the call, and the text.
thread_local! {
    static ERRORS: RefCell<TextCache<Rc<Reading>>> = RefCell::default();
    static SUCCESSES: RefCell<TextCache<Rc<[Statement]>>> = RefCell::default();
}

/// A reader of texts that reads none twice on a thread, unless it is very long.
#[derive(Debug)]
pub struct CachedReader<'a> {
    vocabulary: Vocabulary<'a>,
    vocabulary_key: Vec<u8>,
}

impl<'a> CachedReader<'a> {
    /// Creates a reader that knows these names.
    pub fn new(vocabulary: Vocabulary<'a>) -> CachedReader<'a> {
        CachedReader { vocabulary_key: vocabulary.cache_key(), vocabulary }
    }

    /// Reads the text of an error that answers a call with the arguments `sent`, as [`read_error`] does.
    pub fn error(&self, text: &str, sent: &Value) -> Rc<Reading> {
        self.read(text, sent, &ERRORS, || read_error(text, &self.vocabulary, sent).into())
    }

    /// Reads the prose of a success, as [`read_statements`] does.
    pub fn success(&self, text: &str, sent: &Value) -> Rc<[Statement]> {
        self.read(text, sent, &SUCCESSES, || read_statements(text, &self.vocabulary, sent).into())
    }

    fn read<T: Clone>(
        &self,
        text: &str,
        sent: &Value,
        cache: &'static LocalKey<RefCell<TextCache<T>>>,
        compute: impl FnOnce() -> T,
    ) -> T {
        if text.len() > MAX_CACHED_TEXT_BYTES {
            return compute();
        }
        let mut key = Vec::with_capacity(self.vocabulary_key.len() + 256);
        key.extend_from_slice(&self.vocabulary_key);
        // Writing JSON to memory cannot fail. The names are preceded by their length, so different keys cannot have
        // equal bytes.
        let _ = serde_json::to_writer(&mut key, sent);
        cache.with_borrow_mut(|cache| cache.get_or_insert_with(&key, text, compute))
    }
}

/// Texts longer than this are not cached.
const MAX_CACHED_TEXT_BYTES: usize = 1 << 16;

/// The size at which the cache is cleared.
const MAX_BYTES: usize = 16 << 20;

/// The approximate size of an entry without its key.
const ENTRY_OVERHEAD_BYTES: usize = 512;

/// Values by key and text.
pub(super) struct TextCache<T> {
    entries: FxHashMap<Box<[u8]>, FxHashMap<Box<str>, T>>,
    bytes: usize,
}

impl<T> Default for TextCache<T> {
    fn default() -> TextCache<T> {
        TextCache { entries: FxHashMap::default(), bytes: 0 }
    }
}

impl<T: Clone> TextCache<T> {
    /// Returns the cached value, or inserts the result of `compute`.
    pub(super) fn get_or_insert_with(&mut self, key: &[u8], text: &str, compute: impl FnOnce() -> T) -> T {
        if let Some(entry) = self.entries.get(key).and_then(|texts| texts.get(text)) {
            return entry.clone();
        }
        let value = compute();
        let size = key.len() + text.len() + ENTRY_OVERHEAD_BYTES;
        if self.bytes + size > MAX_BYTES {
            self.entries.clear();
            self.bytes = 0;
        }
        self.bytes += size;
        self.entries.entry(key.into()).or_default().insert(text.into(), value.clone());
        value
    }
}
