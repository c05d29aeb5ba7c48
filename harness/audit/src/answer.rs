//! What a server answered to a call.

use std::fmt::Write as _;

use healbench_core::{CallResult, ContentBlock};
use healbench_mcp::{CallAnswer, CallOutcome};
use healbench_text::secrets;
use healbench_tokens::count_tokens;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::report::AnswerKind;

/// The requests of a server that ask the user, or the model, for something.
const ASKING: [&str; 2] = ["elicitation/create", "sampling/createMessage"];

/// An answer, with its text as an agent would be shown it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) result: CallResult,
    pub(crate) text: String,
    pub(crate) hash: String,
    pub(crate) tokens: u32,
    pub(crate) asked: bool,
    pub(crate) slow: bool,
    /// True if the server says that the call goes on as a task.
    pub(crate) is_task: bool,
}

impl Answer {
    /// Reads an answer. `hide_folder` replaces what differs between two starts of the server.
    pub(crate) fn new(answer: &CallAnswer, hide_folder: &dyn Fn(&str) -> String) -> Answer {
        let result = answer.outcome.to_call_result();
        let text = hide_folder(&shown(&result));
        let is_task = match &answer.outcome {
            CallOutcome::Result(result) => result.get("task").is_some() || result["resultType"] == json!("task"),
            _ => false,
        };
        let structured = result.structured.as_ref().map_or_else(String::new, Value::to_string);
        Answer {
            hash: hash(&secrets().mask(&format!("{text}\0{}", hide_folder(&structured)))),
            tokens: count_tokens(&text),
            asked: answer.asked.iter().any(|method| ASKING.contains(&method.as_str())),
            slow: answer.outcome == CallOutcome::TimedOut,
            is_task,
            result,
            text,
        }
    }

    /// Returns true if a client that shows text blocks alone shows something.
    pub(crate) fn has_text(&self) -> bool {
        let is_text = |block: &ContentBlock| matches!(block, ContentBlock::Text(text) if !text.trim().is_empty());
        self.result.protocol_error.is_some() || self.result.content.iter().any(is_text)
    }

    /// Returns true for an `isError` or a JSON-RPC error.
    pub(crate) fn is_refusal(&self) -> bool {
        !self.slow && self.result.is_refusal()
    }

    /// Classifies the answer to a probe. `base` is the hash of the answer to the base call, if that is always the same.
    pub(crate) fn kind(&self, base: Option<&str>) -> AnswerKind {
        match () {
            () if self.slow => AnswerKind::Slow,
            () if self.asked => AnswerKind::Asks,
            () if self.result.protocol_error.is_some() => AnswerKind::ProtocolError,
            () if self.result.is_error => AnswerKind::IsError,
            () if base == Some(self.hash.as_str()) => AnswerKind::AcceptedSame,
            () => AnswerKind::AcceptedOther,
        }
    }
}

/// Returns the text of a result, with that of embedded resources.
fn shown(result: &CallResult) -> String {
    let embedded = |at: usize| match result.content.get(at) {
        Some(ContentBlock::Other(block)) => block.pointer("/resource/text").and_then(Value::as_str),
        _ => None,
    };
    let blocks = result.shown().into_iter().enumerate();
    blocks.map(|(at, text)| embedded(at).map_or(text, str::to_owned)).collect::<Vec<_>>().join("\n\n")
}

/// Returns the first 16 digits of a text's SHA-256.
pub(crate) fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(8).fold(String::new(), |mut out, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}
