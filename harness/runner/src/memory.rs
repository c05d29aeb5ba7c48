//! What a thread remembers from one episode to the next, so that it does not work out the same thing again.
//!
//! Trials of a cell make the same calls over and over, most of them on a world that nobody has changed yet. Same call, same world,
//! same guardrails: byte-identical response; so such an answer is made once, and shared.

use std::sync::Arc;

use healbench_engine::{Answer, World};
use healbench_protocol::{ToolCall, ToolResponse, canonical_json};
use healbench_record::CellRef;
use rustc_hash::FxHashMap;

use crate::responses::{Mark, Responses};
use crate::{Stage, TokenCounter};

/// A call as rows have it.
pub(crate) struct Worded {
    pub(crate) tool: Arc<str>,
    /// The action as the agent named it.
    pub(crate) action: Option<Arc<str>>,
    /// The arguments as canonical JSON.
    pub(crate) arguments: Arc<str>,
    pub(crate) tokens: u32,
}

/// An answer, with what rows have of it.
pub(crate) struct Answered {
    pub(crate) answer: Answer,
    pub(crate) error_class: Option<Arc<str>>,
    pub(crate) named_fields: Option<Arc<[String]>>,
    pub(crate) mark: Mark,
    pub(crate) guardrail_tokens: u32,
}

impl Answered {
    pub(crate) fn response(&self) -> &ToolResponse {
        &self.answer.response
    }
}

/// What is known of a call in the cell at hand.
struct Known {
    worded: Arc<Worded>,
    /// The answer on a fresh world, if it leaves the world fresh.
    fresh: Option<Arc<Answered>>,
}

/// One thread's memory. What it holds changes how long an episode takes, and nothing else.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) tokens: TokenCounter,
    responses: Responses,
    /// Scenario and setting that the calls belong to.
    place: (usize, usize),
    /// By the call's bytes on the wire.
    calls: FxHashMap<Box<[u8]>, Known>,
    /// Bytes of the remembered texts, roughly.
    held: usize,
    wire: Vec<u8>,
}

/// Past this the calls are forgotten: memory must not grow with the number of trials.
const MAX_HELD_BYTES: usize = 16 << 20;

/// What a remembered call takes besides its texts, roughly.
const OVERHEAD: usize = 512;

impl Memory {
    /// Forgets the calls of any other cell.
    pub(crate) fn enter(&mut self, cell: CellRef) {
        if self.place != (cell.scenario, cell.setting) {
            self.place = (cell.scenario, cell.setting);
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.calls.clear();
        self.held = 0;
    }

    /// Puts a call to the engine of the cell, unless its answer is known.
    pub(crate) fn ask(
        &mut self,
        stage: &Stage<'_>,
        world: &mut World,
        call: &ToolCall,
    ) -> (Arc<Worded>, Arc<Answered>) {
        self.wire = call.wire_bytes(std::mem::take(&mut self.wire));
        let fresh = world.is_fresh();
        let known = self.calls.get(self.wire.as_slice());
        if fresh && let Some(Known { worded, fresh: Some(answered) }) = known {
            return (Arc::clone(worded), Arc::clone(answered));
        }
        let known = known.map(|known| Arc::clone(&known.worded));
        let is_known = known.is_some();
        let worded = known.unwrap_or_else(|| Arc::new(self.word(stage, call)));
        let answer = stage.engines[self.place.1].call(world, call);
        let answered = Arc::new(self.count(answer));
        let stays_fresh = fresh && world.is_fresh();
        if stays_fresh || !is_known {
            self.remember(&worded, stays_fresh.then_some(&answered));
        }
        (worded, answered)
    }

    fn remember(&mut self, worded: &Arc<Worded>, fresh: Option<&Arc<Answered>>) {
        let text = fresh.map_or(0, |answered| answered.response().content.iter().map(String::len).sum());
        let size = OVERHEAD + 2 * self.wire.len() + text;
        if self.held + size > MAX_HELD_BYTES {
            self.forget();
        }
        self.held += size;
        let known = Known { worded: Arc::clone(worded), fresh: fresh.map(Arc::clone) };
        self.calls.insert(self.wire.as_slice().into(), known);
    }

    fn word(&mut self, stage: &Stage<'_>, call: &ToolCall) -> Worded {
        let tool = stage.scenario.tools.iter().find(|tool| tool.name == call.tool);
        let discriminator = tool.and_then(|tool| tool.discriminator.as_deref());
        let action = discriminator.and_then(|field| call.object()?.get(field)?.as_str());
        Worded {
            tool: call.tool.as_str().into(),
            action: action.map(Into::into),
            arguments: canonical_json(&call.arguments).into(),
            tokens: self.tokens.count(&call.wire_text()),
        }
    }

    fn count(&mut self, answer: Answer) -> Answered {
        let mark = self.responses.mark(&answer.response);
        let guardrail_tokens = match (answer.bare_line(), answer.teaching_block) {
            (Some(bare), _) => mark.tokens.saturating_sub(self.tokens.count(&bare)),
            (None, Some(block)) => self.tokens.count(&answer.response.content[block]),
            (None, None) => 0,
        };
        let failure = answer.failure.as_ref();
        Answered {
            error_class: failure.map(|failure| failure.class().into()),
            named_fields: failure.filter(|_| answer.names_fields).map(|failure| failure.fields().into()),
            mark,
            guardrail_tokens,
            answer,
        }
    }
}
