//! Tokens and hash of a response. Episodes repeat the same responses, so the values are cached.

use healbench_core::ToolResponse;
use rustc_hash::FxHashMap;

use healbench_tokens::{count_tokens, is_estimated};

/// The values derived from a response's text that are stored in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResponseDigest {
    pub(crate) tokens: u32,
    /// True if the number of tokens is an estimate.
    pub(crate) is_estimated: bool,
    pub(crate) hash: u64,
}

/// A cache of digests by response.
#[derive(Default)]
pub(crate) struct DigestCache {
    entries: FxHashMap<ToolResponse, ResponseDigest>,
    /// The approximate size of the cached responses in bytes.
    bytes: usize,
}

/// The size at which the cache is cleared. A larger response is cached alone: episodes that list a large table receive it
/// again and again, and counting its tokens takes longer than everything else.
const MAX_BYTES: usize = 32 << 20;

/// The approximate size of a cached response without its text, in bytes.
const ENTRY_OVERHEAD_BYTES: usize = 128;

impl DigestCache {
    pub(crate) fn digest(&mut self, response: &ToolResponse) -> ResponseDigest {
        if let Some(digest) = self.entries.get(response) {
            return *digest;
        }
        let text = response.text();
        let (tokens, is_estimated) = (count_tokens(&text), is_estimated(&text));
        let digest = ResponseDigest { tokens, is_estimated, hash: response.hash() };
        let size = ENTRY_OVERHEAD_BYTES + response.content.iter().map(String::len).sum::<usize>();
        if self.bytes + size > MAX_BYTES {
            self.entries.clear();
            self.bytes = 0;
        }
        self.bytes += size;
        self.entries.insert(response.clone(), digest);
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(blocks: &[&str], is_error: bool) -> ToolResponse {
        ToolResponse { content: blocks.iter().map(|block| (*block).to_owned()).collect(), is_error }
    }

    #[test]
    fn the_hash_covers_every_byte_and_block_boundary() {
        // Values computed by a second implementation: Python's hashlib and struct.
        let mut responses = DigestCache::default();
        for (blocks, is_error, hash) in [
            (&["Error: Invoice not found"][..], true, 0x6561_0b32_d2a3_1802),
            (&["Error: Invoice not found"], false, 0x60f0_1d92_1f2d_497e),
            (&["a", "b"], false, 0x08fd_f65f_5e8e_4948),
            (&["a\n\nb"], false, 0xdce9_3dca_8e0e_2cdb),
            (&[""], false, 0x3e70_77fd_2f66_d689),
            (&["⚠️"], true, 0x3fff_74d9_6f79_c95d),
        ] {
            let response = response(blocks, is_error);
            let digest = responses.digest(&response);
            assert_eq!((digest.hash, digest.tokens), (hash, count_tokens(&response.text())), "{blocks:?} {is_error}");
            assert_eq!(responses.digest(&response), digest, "{blocks:?} {is_error}, remembered");
        }
        assert_eq!(responses.entries.len(), 6);
        // One different byte changes the hash even if the number of tokens is equal.
        let mut digest_of = |word: &str| responses.digest(&response(&[&format!("Please {word} the call.")], true));
        let (check, spoil, chock) = (digest_of("check"), digest_of("spoil"), digest_of("chock"));
        assert_eq!(check.tokens, spoil.tokens);
        assert!(check.hash != spoil.hash && check.hash != chock.hash);
    }
}
