//! The answer to a call.

use std::time::Duration;

use healbench_core::{CallResult, ContentBlock, ProtocolError};
use healbench_text::secrets;
use serde_json::{Value, json};

use crate::line::RpcError;

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallAnswer {
    pub outcome: CallOutcome,
    /// The requests that the server made meanwhile, by method, such as `elicitation/create`. They are refused.
    pub asked: Vec<String>,
    /// The time until the answer.
    pub elapsed: Duration,
}

/// The result, the error or the silence with which a server met a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome {
    /// `result`, as it was sent.
    Result(Value),
    /// `error`.
    Error(RpcError),
    /// Nothing in time. The call was cancelled.
    TimedOut,
}

impl CallAnswer {
    /// Replaces secrets.
    pub(crate) fn masked(mut self) -> CallAnswer {
        self.outcome.mask();
        self
    }
}

impl CallOutcome {
    fn mask(&mut self) {
        let secrets = secrets();
        match self {
            CallOutcome::Result(result) => secrets.mask_json(result),
            CallOutcome::Error(error) => {
                error.message = secrets.mask(&error.message);
                secrets.mask_json(&mut error.data);
            }
            CallOutcome::TimedOut => {}
        }
    }

    /// Returns why this is no answer as MCP has it, as the end of a sentence that begins with the call.
    pub fn problem(&self) -> Option<&'static str> {
        let result = match self {
            CallOutcome::TimedOut => return Some("was not answered in time"),
            CallOutcome::Error(_) => return None,
            CallOutcome::Result(result) => result,
        };
        let is_block = |block: &Value| match block["type"].as_str() {
            Some("text") => block["text"].is_string(),
            Some(_) => true,
            None => false,
        };
        match result.get("content") {
            Some(Value::Array(blocks)) if blocks.iter().all(is_block) => None,
            Some(_) => Some("was answered with content that is not a list of blocks"),
            // The official client takes it for an empty list.
            None if result.is_object() => None,
            None => Some("was answered with a result that is no object"),
        }
    }

    /// Returns the answer as an environment has it.
    pub fn to_call_result(&self) -> CallResult {
        let error = |code, message: &str, data: &Value| CallResult {
            protocol_error: Some(ProtocolError {
                code,
                message: message.to_owned(),
                data: Some(data).filter(|data| !data.is_null()).cloned(),
            }),
            ..CallResult::default()
        };
        match self {
            CallOutcome::Result(result) => CallResult {
                content: result["content"].as_array().into_iter().flatten().map(block).collect(),
                structured: result.get("structuredContent").filter(|structured| !structured.is_null()).cloned(),
                is_error: is_error(result),
                protocol_error: None,
            },
            CallOutcome::Error(RpcError { code, message, data }) => error(*code, message, data),
            // The words of the official client.
            CallOutcome::TimedOut => error(-32001, "Request timed out", &Value::Null),
        }
    }
}

/// Returns `isError` of a result. Some servers send a text.
fn is_error(result: &Value) -> bool {
    matches!(&result["isError"], Value::Bool(true)) || result["isError"] == json!("true")
}

fn block(block: &Value) -> ContentBlock {
    match (block["type"].as_str(), block["text"].as_str()) {
        (Some("text"), Some(text)) => ContentBlock::Text(text.to_owned()),
        _ => ContentBlock::Other(block.clone()),
    }
}
