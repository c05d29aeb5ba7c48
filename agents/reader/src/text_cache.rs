//! A cache of the results of reading a text, because many trials show the same text.
//!
//! The key contains everything that the result depends on, so the cache never changes what an agent does. Each thread
//! has its own cache, which is cleared when it is full.

use rustc_hash::FxHashMap;

/// Texts longer than this are not cached.
pub(super) const MAX_CACHED_TEXT_BYTES: usize = 1 << 16;

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
