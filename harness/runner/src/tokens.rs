use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use tiktoken_rs::CoreBPE;

/// The vocabulary of all token counts, as named in manifests.
pub const TOKENIZER: &str = "o200k_base";

/// Loaded on first use, because loading takes about 0.1 s.
static VOCABULARY: LazyLock<CoreBPE> =
    LazyLock::new(|| tiktoken_rs::o200k_base().expect("the vocabulary is a part of the program"));

/// Counts tokens exactly. Episodes repeat the same texts, so counts are cached. Each thread has a separate counter.
#[derive(Debug, Default)]
pub struct TokenCounter {
    entries: FxHashMap<Box<str>, u32>,
    /// The size of the cached texts in bytes.
    bytes: usize,
}

/// The size at which the cache is cleared.
const MAX_BYTES: usize = 32 << 20;

impl TokenCounter {
    /// Creates a counter with an empty cache.
    pub fn new() -> TokenCounter {
        TokenCounter::default()
    }

    /// Returns the exact number of `o200k_base` tokens of `text`, with special tokens read as ordinary text.
    pub fn count(&mut self, text: &str) -> u32 {
        if let Some(count) = self.entries.get(text) {
            return *count;
        }
        let count = count_tokens(text);
        if self.bytes + text.len() > MAX_BYTES {
            self.entries.clear();
            self.bytes = 0;
        }
        self.bytes += text.len();
        self.entries.insert(text.into(), count);
        count
    }
}

/// Counts the tokens of a text without caching.
pub(crate) fn count_tokens(text: &str) -> u32 {
    u32::try_from(VOCABULARY.count_ordinary(text)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_o200k_base() {
        // Values computed by a second implementation: the crate bpe-openai 0.3.2, `o200k_base().count(text)`.
        let mut counter = TokenCounter::new();
        for (text, tokens) in [
            ("", 0),
            ("hello world", 2),
            ("Error: Invoice not found", 5),
            ("⚠️ VALIDATION FAILED — ACTION 'PROJECTS.CREATE'", 13),
            ("<|endoftext|>", 7),
        ] {
            assert_eq!(counter.count(text), tokens, "{text}");
            assert_eq!(counter.count(text), tokens, "{text}, remembered");
        }
    }
}
