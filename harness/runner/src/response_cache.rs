//! A cache that each thread keeps across episodes.
//!
//! Trials of a cell repeat the same calls, usually on an unchanged world. The same call on the same world under the
//! same guardrails gives the same bytes, so such a response is computed once and shared.

use std::sync::Arc;

use healbench_engine::{SimulatorReply, World};
use healbench_protocol::{ToolCall, ToolResponse, canonical_json};
use healbench_record::CellRef;
use rustc_hash::FxHashMap;

use crate::response_digest::{DigestCache, ResponseDigest};
use crate::{ScenarioContext, TokenCounter};

/// A call in the form stored in rows.
pub(crate) struct CallText {
    pub(crate) tool: Arc<str>,
    /// The action name sent by the agent.
    pub(crate) action: Option<Arc<str>>,
    /// The arguments as canonical JSON.
    pub(crate) arguments: Arc<str>,
    pub(crate) tokens: u32,
}

/// A reply, with the values stored in rows.
pub(crate) struct CachedResponse {
    pub(crate) answer: SimulatorReply,
    pub(crate) error_class: Option<Arc<str>>,
    pub(crate) named_fields: Option<Arc<[String]>>,
    pub(crate) digest: ResponseDigest,
    pub(crate) guardrail_tokens: u32,
}

impl CachedResponse {
    pub(crate) fn response(&self) -> &ToolResponse {
        &self.answer.response
    }
}

/// The cached data of a call in the current cell.
struct CacheEntry {
    call_text: Arc<CallText>,
    /// The response on a fresh world, if the world stays fresh.
    fresh: Option<Arc<CachedResponse>>,
}

/// The cache of one thread. It affects only the duration of an episode.
#[derive(Default)]
pub(crate) struct ResponseCache {
    pub(crate) tokens: TokenCounter,
    digests: DigestCache,
    /// The indices of the scenario and condition of the cached calls.
    cell_key: (usize, usize),
    /// Keyed by the wire bytes of the call.
    calls: FxHashMap<Box<[u8]>, CacheEntry>,
    /// The approximate size of the cached texts in bytes.
    bytes: usize,
    key: Vec<u8>,
}

/// The size at which the cache is cleared, so that memory does not grow with the number of trials.
const MAX_BYTES: usize = 16 << 20;

/// The approximate size of a cached call without its texts, in bytes.
const ENTRY_OVERHEAD_BYTES: usize = 512;

impl ResponseCache {
    /// Clears the cache if it belongs to another cell.
    pub(crate) fn enter_cell(&mut self, cell: CellRef) {
        if self.cell_key != (cell.scenario, cell.condition) {
            self.cell_key = (cell.scenario, cell.condition);
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.calls.clear();
        self.bytes = 0;
    }

    /// Returns the cached response, or else calls the engine of the cell.
    pub(crate) fn respond(
        &mut self,
        context: &ScenarioContext<'_>,
        world: &mut World,
        call: &ToolCall,
    ) -> (Arc<CallText>, Arc<CachedResponse>) {
        self.key = call.wire_bytes(std::mem::take(&mut self.key));
        let fresh = world.is_fresh();
        let entry = self.calls.get(self.key.as_slice());
        if fresh && let Some(CacheEntry { call_text, fresh: Some(cached) }) = entry {
            return (Arc::clone(call_text), Arc::clone(cached));
        }
        let entry = entry.map(|entry| Arc::clone(&entry.call_text));
        let is_cached = entry.is_some();
        let call_text = entry.unwrap_or_else(|| Arc::new(self.call_text(context, call)));
        let answer = context.engines[self.cell_key.1].call(world, call);
        let cached = Arc::new(self.cached_response(answer));
        let stays_fresh = fresh && world.is_fresh();
        if stays_fresh || !is_cached {
            self.insert(&call_text, stays_fresh.then_some(&cached));
        }
        (call_text, cached)
    }

    fn insert(&mut self, call_text: &Arc<CallText>, fresh: Option<&Arc<CachedResponse>>) {
        let text = fresh.map_or(0, |cached| cached.response().content.iter().map(String::len).sum());
        let size = ENTRY_OVERHEAD_BYTES + 2 * self.key.len() + text;
        if self.bytes + size > MAX_BYTES {
            self.clear();
        }
        self.bytes += size;
        let entry = CacheEntry { call_text: Arc::clone(call_text), fresh: fresh.map(Arc::clone) };
        self.calls.insert(self.key.as_slice().into(), entry);
    }

    fn call_text(&mut self, context: &ScenarioContext<'_>, call: &ToolCall) -> CallText {
        let tool = context.scenario.tools.iter().find(|tool| tool.name == call.tool);
        let discriminator = tool.and_then(|tool| tool.discriminator.as_deref());
        let action = discriminator.and_then(|field| call.object()?.get(field)?.as_str());
        CallText {
            tool: call.tool.as_str().into(),
            action: action.map(Into::into),
            arguments: canonical_json(&call.arguments).into(),
            tokens: self.tokens.count(&call.wire_text()),
        }
    }

    fn cached_response(&mut self, answer: SimulatorReply) -> CachedResponse {
        let digest = self.digests.digest(&answer.response);
        let guardrail_tokens = match (answer.bare_line(), answer.truncation_notice) {
            (Some(bare), _) => digest.tokens.saturating_sub(self.tokens.count(&bare)),
            (None, Some(block)) => self.tokens.count(&answer.response.content[block]),
            (None, None) => 0,
        };
        let failure = answer.failure.as_ref();
        CachedResponse {
            error_class: failure.map(|failure| failure.class().into()),
            named_fields: failure.filter(|_| answer.names_fields).map(|failure| failure.fields().into()),
            digest,
            guardrail_tokens,
            answer,
        }
    }
}
