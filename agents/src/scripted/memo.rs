//! What texts were found to say, so that a text is not read again for every trial that is shown it.
//!
//! An entry is found by everything that its making depends on, byte for byte; so what is remembered never changes what an agent
//! does. Each thread has its own memory, which is emptied when it is full.

use rustc_hash::FxHashMap;

/// Past this a memory is emptied: it is a shortcut, not a store.
const MAX_HELD_BYTES: usize = 16 << 20;

/// What an entry takes besides its key, roughly.
const OVERHEAD: usize = 512;

/// Entries by what was asked about a text, and the text.
pub(super) struct Memo<T> {
    entries: FxHashMap<Box<[u8]>, FxHashMap<Box<str>, T>>,
    held: usize,
}

impl<T> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo { entries: FxHashMap::default(), held: 0 }
    }
}

impl<T: Clone> Memo<T> {
    /// What is remembered, or what `make` makes.
    pub(super) fn get(&mut self, question: &[u8], text: &str, make: impl FnOnce() -> T) -> T {
        if let Some(entry) = self.entries.get(question).and_then(|texts| texts.get(text)) {
            return entry.clone();
        }
        let made = make();
        let size = question.len() + text.len() + OVERHEAD;
        if self.held + size > MAX_HELD_BYTES {
            self.entries.clear();
            self.held = 0;
        }
        self.held += size;
        self.entries.entry(question.into()).or_default().insert(text.into(), made.clone());
        made
    }
}
