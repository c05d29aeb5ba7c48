//! A cache that each thread keeps across episodes.
//!
//! Trials of a cell repeat the same calls, usually on an unchanged state. In a pristine session the same call under the
//! same guardrails gives the same bytes, so such a response is computed once and shared.

use std::sync::Arc;

use healbench_core::{
    CellRef, Deadline, EnvironmentError, ErrorClass, ErrorReading, Session, Step, ToolCall, ToolResponse,
    canonical_json,
};
use healbench_engine::{Failure, Faults, GuardedReply};
use healbench_reader::CachedReader;
use healbench_reader::reading::Vocabulary;
use healbench_scenarios::Verification;
use rustc_hash::FxHashMap;

use crate::client_reply::{ClientReply, reply_through_client};
use crate::leaks::tells_answer;
use crate::response_digest::{DigestCache, ResponseDigest};
use healbench_tokens::{TokenCounter, is_estimated};

use crate::ScenarioContext;

/// A call in the form stored in rows.
pub(crate) struct CallText {
    pub(crate) tool: Arc<str>,
    /// The action name sent by the agent.
    pub(crate) action: Option<Arc<str>>,
    /// The arguments as canonical JSON.
    pub(crate) arguments: Arc<str>,
    pub(crate) tokens: u32,
    /// True if the number of tokens is an estimate.
    pub(crate) is_estimated: bool,
}

/// A reply, with the values stored in rows.
pub(crate) struct CachedResponse {
    pub(crate) answer: GuardedReply,
    pub(crate) error_class: Option<ErrorClass>,
    pub(crate) named_fields: Option<Arc<[String]>>,
    pub(crate) digest: ResponseDigest,
    pub(crate) guardrail_tokens: u32,
    /// The effect of the reply of the guardrails, before a client rewrote it, on the rows that have to be read.
    pub(crate) verifications: Vec<Verification>,
}

impl CachedResponse {
    pub(crate) fn response(&self) -> &ToolResponse {
        &self.answer.response
    }
}

/// The cached data of a call in the current cell.
struct CacheEntry {
    call_text: Arc<CallText>,
    /// The response in a pristine session, if the session stays pristine.
    fresh: Option<Arc<CachedResponse>>,
}

/// The cache of one thread. It affects only the duration of an episode.
#[derive(Default)]
pub(crate) struct ResponseCache {
    pub(crate) tokens: TokenCounter,
    digests: DigestCache,
    /// The index of the scenario of the cached calls.
    scenario: usize,
    /// The index of the current condition.
    condition: usize,
    /// The number of the initial state of the current trial.
    world: u32,
    /// Keyed by the wire bytes of the call, the number of the initial state, and the condition.
    calls: FxHashMap<Box<[u8]>, CacheEntry>,
    /// Whether a response tells the answer. Keyed by the wire bytes of the call and of the intended call, and the hash of
    /// the response.
    told: FxHashMap<Box<[u8]>, bool>,
    /// The reader's findings in errors. Keyed by the wire bytes of the call and the hash of the response.
    readings: FxHashMap<Box<[u8]>, Option<ErrorReading>>,
    /// The approximate size of the cached texts in bytes.
    bytes: usize,
    key: Vec<u8>,
}

/// The size at which the cache is cleared, so that memory does not grow with the number of trials.
const MAX_BYTES: usize = 16 << 20;

/// The approximate size of a cached call without its texts, in bytes.
const ENTRY_OVERHEAD_BYTES: usize = 512;

impl ResponseCache {
    /// Clears the cache if it belongs to another scenario. Agents share what they have in common.
    pub(crate) fn enter_cell(&mut self, cell: CellRef, world: u32) {
        self.world = world;
        self.condition = cell.condition;
        if self.scenario != cell.scenario {
            self.scenario = cell.scenario;
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.calls.clear();
        self.told.clear();
        self.readings.clear();
        self.bytes = 0;
    }

    /// Returns the cached response, or else passes the call through the guardrails of the cell.
    pub(crate) fn respond(
        &mut self,
        context: &ScenarioContext<'_>,
        session: &mut dyn Session,
        faults: &mut Faults,
        call: &ToolCall,
        deadline: Deadline,
    ) -> Result<(Arc<CallText>, Arc<CachedResponse>), EnvironmentError> {
        self.key = call.wire_bytes(std::mem::take(&mut self.key));
        self.key.extend_from_slice(&self.world.to_le_bytes());
        self.key.extend_from_slice(&self.condition.to_le_bytes());
        let fresh = session.is_pristine() && faults.is_pristine();
        let entry = self.calls.get(self.key.as_slice());
        if fresh && let Some(CacheEntry { call_text, fresh: Some(cached) }) = entry {
            return Ok((Arc::clone(call_text), Arc::clone(cached)));
        }
        let entry = entry.map(|entry| Arc::clone(&entry.call_text));
        let is_cached = entry.is_some();
        let call_text = entry.unwrap_or_else(|| Arc::new(self.call_text(context, call)));
        let (engine, client) = (&context.engines[self.condition], &context.clients[self.condition]);
        let mut verifications = Vec::new();
        let mut ask = |call: &ToolCall| {
            let answer = engine.answer(session, faults, call, deadline)?;
            verifications = context.scenario.verifications(call, &answer);
            Ok(answer)
        };
        let mut cached = match client {
            None => {
                let answer = ask(call)?;
                let digest = self.digests.digest(&answer.response);
                let guardrail_tokens = self.guardrail_tokens(&answer, digest);
                let named_fields = answer.named_fields();
                cached_response(answer, digest, guardrail_tokens, named_fields)
            }
            Some(client) => match reply_through_client(client, call, ask)? {
                ClientReply::OfServer { mut answer, shown } => {
                    let sent = self.digests.digest(&answer.response);
                    let guardrail_tokens = self.guardrail_tokens(&answer, sent);
                    let named_fields = answer.named_fields();
                    answer.response.content = shown;
                    answer.truncation_notice = None;
                    let digest = self.digests.digest(&answer.response);
                    cached_response(answer, digest, guardrail_tokens, named_fields)
                }
                ClientReply::OfClient { answer, named_fields } => {
                    let digest = self.digests.digest(&answer.response);
                    cached_response(answer, digest, 0, named_fields)
                }
            },
        };
        cached.verifications = verifications;
        let cached = Arc::new(cached);
        let stays_fresh = fresh && session.is_pristine() && faults.is_pristine();
        if stays_fresh || !is_cached {
            self.insert(&call_text, stays_fresh.then_some(&cached));
        }
        Ok((call_text, cached))
    }

    /// Returns true if the response to a call of the current cell tells a value of the step that the call lacks.
    pub(crate) fn tells_answer(
        &mut self,
        context: &ScenarioContext<'_>,
        step: &Step,
        call: &ToolCall,
        cached: &CachedResponse,
    ) -> bool {
        let mut key = call.wire_bytes(std::mem::take(&mut self.key));
        // Writing JSON to memory cannot fail.
        let _ = serde_json::to_writer(&mut key, &step.intended);
        key.extend_from_slice(&cached.digest.hash.to_le_bytes());
        let told = self.told.get(key.as_slice()).copied();
        let told = told.unwrap_or_else(|| {
            self.make_room(ENTRY_OVERHEAD_BYTES + key.len());
            let text = cached.response().text();
            let told = tells_answer(context.scenario, context.environment.tools(), step, call, &text);
            self.told.insert(key.as_slice().into(), told);
            told
        });
        self.key = key;
        told
    }

    /// Returns what the reader finds in a response; `None` if it is no error. The reader knows the list of tools, and not the script.
    pub(crate) fn read(
        &mut self,
        context: &ScenarioContext<'_>,
        call: &ToolCall,
        cached: &CachedResponse,
    ) -> Option<ErrorReading> {
        if !cached.response().is_error {
            return None;
        }
        let mut key = call.wire_bytes(std::mem::take(&mut self.key));
        key.extend_from_slice(&cached.digest.hash.to_le_bytes());
        let known = self.readings.get(key.as_slice()).copied();
        let reading = known.unwrap_or_else(|| {
            let reader = CachedReader::new(Vocabulary::of_tools(context.environment.tools()));
            let reading = reader.error(&cached.response().text(), &call.arguments).row();
            self.make_room(ENTRY_OVERHEAD_BYTES + key.len());
            self.readings.insert(key.as_slice().into(), reading);
            reading
        });
        self.key = key;
        reading
    }

    /// Clears the cache if it would grow beyond its limit by so many bytes.
    fn make_room(&mut self, bytes: usize) {
        if self.bytes + bytes > MAX_BYTES {
            self.clear();
        }
        self.bytes += bytes;
    }

    fn insert(&mut self, call_text: &Arc<CallText>, fresh: Option<&Arc<CachedResponse>>) {
        let text = fresh.map_or(0, |cached| cached.response().content.iter().map(String::len).sum());
        self.make_room(ENTRY_OVERHEAD_BYTES + 2 * self.key.len() + text);
        let entry = CacheEntry { call_text: Arc::clone(call_text), fresh: fresh.map(Arc::clone) };
        self.calls.insert(self.key.as_slice().into(), entry);
    }

    fn call_text(&mut self, context: &ScenarioContext<'_>, call: &ToolCall) -> CallText {
        let tool = context.environment.tools().iter().find(|tool| tool.name == call.tool);
        let discriminator = tool.and_then(|tool| tool.discriminator.as_deref());
        let action = discriminator.and_then(|field| call.object()?.get(field)?.as_str());
        let wire_text = call.wire_text();
        CallText {
            tool: call.tool.as_str().into(),
            action: action.map(Into::into),
            arguments: canonical_json(&call.arguments).into(),
            tokens: self.tokens.count(&wire_text),
            is_estimated: is_estimated(&wire_text),
        }
    }

    /// Returns the tokens that guardrails added to the response of a server.
    fn guardrail_tokens(&mut self, answer: &GuardedReply, digest: ResponseDigest) -> u32 {
        match (answer.unguarded_text(), answer.truncation_notice) {
            (Some(bare), _) => digest.tokens.saturating_sub(self.tokens.count(&bare)),
            (None, Some(block)) => self.tokens.count(&answer.response.content[block]),
            (None, None) => 0,
        }
    }
}

fn cached_response(
    answer: GuardedReply,
    digest: ResponseDigest,
    guardrail_tokens: u32,
    named_fields: Option<Vec<String>>,
) -> CachedResponse {
    let failure = answer.failure.as_ref();
    CachedResponse {
        error_class: failure.map(Failure::class),
        named_fields: named_fields.map(Into::into),
        digest,
        guardrail_tokens,
        verifications: Vec::new(),
        answer,
    }
}
