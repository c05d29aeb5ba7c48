//! The reply of the guardrails to one call.

use healbench_core::{CallResult, ContentBlock, FaultKind, ToolResponse};
use serde_json::Value;

use crate::failure::Failure;
use crate::render::bare_line;

/// The reply to one call: the response, and data for the record that no agent is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardedReply {
    /// The response sent to the agent.
    pub response: ToolResponse,
    /// MCP's `structuredContent`, which fits the tool's output schema; `None` without such a schema, and for every failure:
    /// clients check the content of failures too, and would hide the text.
    pub structured: Option<Value>,
    /// The reason why the call did not succeed; `None` if it did.
    pub failure: Option<Failure>,
    /// The fault that the call met.
    pub fault: Option<FaultKind>,
    /// True if the failure's text names the failing fields.
    pub names_fields: bool,
    /// The number of undeclared fields that reached the state; `None` if the session does not count them.
    pub leaked_fields: Option<u32>,
    /// The number of rows, items or lines that truncation omitted.
    pub omitted_rows: u32,
    /// The index of the content block with the truncation notice.
    pub truncation_notice: Option<usize>,
    /// The number of contract deltas in the response.
    pub contract_deltas: u32,
    /// True if the state changed; `None` if the session cannot know.
    pub state_changed: Option<bool>,
    /// The result of a server that refused the call, and the properties that its text names.
    pub refusal: Option<Box<Refusal>>,
    /// The result of a server, if it is passed on as it is.
    pub unchanged: Option<Box<CallResult>>,
}

/// A call that a server refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The text that the agent would see without guardrails.
    pub text: String,
    /// The properties of the input schema that stand as words in the text, sorted.
    pub named_properties: Vec<String>,
}

impl GuardedReply {
    /// Creates the reply of a client that answers a call itself.
    pub fn of_client(failure: Failure, content: Vec<String>) -> GuardedReply {
        GuardedReply {
            response: ToolResponse { content, is_error: true },
            structured: None,
            failure: Some(failure),
            fault: None,
            names_fields: false,
            leaked_fields: Some(0),
            omitted_rows: 0,
            truncation_notice: None,
            contract_deltas: 0,
            state_changed: Some(false),
            refusal: None,
            unchanged: None,
        }
    }

    /// Returns the reply as the result that clients get.
    pub fn call_result(&self) -> CallResult {
        if let Some(result) = &self.unchanged {
            return (**result).clone();
        }
        CallResult {
            content: self.response.content.iter().cloned().map(ContentBlock::Text).collect(),
            structured: self.structured.clone(),
            is_error: self.response.is_error,
            protocol_error: None,
        }
    }

    /// Returns true if the call was executed, whatever was told.
    pub fn took_effect(&self) -> bool {
        match self.fault {
            Some(FaultKind::TimeoutAfter) => true,
            Some(FaultKind::NoOp | FaultKind::NotAnError) => false,
            _ => !self.response.is_error,
        }
    }

    /// Returns true if the text of the failure says something wrong on purpose.
    pub fn is_misleading(&self) -> bool {
        matches!(&self.failure, Some(Failure::Tool(failure) | Failure::Fault(failure)) if failure.misleading)
    }

    /// Returns the text of the failure without guardrails: the line of a server without error handling, or what a
    /// server sent.
    pub fn unguarded_text(&self) -> Option<String> {
        match (&self.refusal, &self.unchanged) {
            (Some(refusal), _) => Some(refusal.text.clone()),
            (None, Some(result)) if result.protocol_error.is_some() => Some(result.shown().join("\n\n")),
            (None, _) => self.failure.as_ref().map(bare_line),
        }
    }

    /// Returns the fields that the text of the failure names; `None` if the call did not fail or no field is named.
    pub fn named_fields(&self) -> Option<Vec<String>> {
        match &self.refusal {
            Some(refusal) => Some(refusal.named_properties.clone()),
            None => self.failure.as_ref().filter(|_| self.names_fields).map(Failure::fields),
        }
    }
}
