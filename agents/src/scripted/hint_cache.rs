//! What texts were found to say, so that a text is not read again for every trial that is shown it.
//!
//! An entry is found by everything that its making depends on, byte for byte; so what is remembered never changes what an agent
//! does. Each thread has its own memory, which is emptied when it is full.

use rustc_hash::FxHashMap;

/// Past this a memory is emptied: it is a shortcut, not a store.
const MAX_BYTES: usize = 16 << 20;

/// What an entry takes besides its key, roughly.
const ENTRY_OVERHEAD_BYTES: usize = 512;

/// Entries by what was asked about a text, and the text.
pub(super) struct HintCache<T> {
    entries: FxHashMap<Box<[u8]>, FxHashMap<Box<str>, T>>,
    bytes: usize,
}

impl<T> Default for HintCache<T> {
    fn default() -> HintCache<T> {
        HintCache { entries: FxHashMap::default(), bytes: 0 }
    }
}

impl<T: Clone> HintCache<T> {
    /// What is remembered, or what `compute` makes.
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
