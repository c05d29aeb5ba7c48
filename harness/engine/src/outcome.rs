//! The outcome of a call behind the guardrails, before it becomes a reply.

use healbench_core::{CallResult, EnvironmentError, FaultKind, ProtocolError, ToolResponse};
use serde_json::Value;

use crate::compile::CompiledAction;
use crate::failure::Failure;
use crate::reply::{GuardedReply, Refusal};

/// The result of a successful call.
pub(crate) struct Success {
    pub(crate) content: Vec<String>,
    pub(crate) structured: Option<Value>,
    pub(crate) leaked_fields: Option<u32>,
    pub(crate) omitted_rows: u32,
    pub(crate) truncation_notice: Option<usize>,
    pub(crate) state_changed: Option<bool>,
    /// The silent fault that the call met.
    pub(crate) fault: Option<FaultKind>,
    /// The result of a server, if it is passed on as it is.
    pub(crate) unchanged: Option<Box<CallResult>>,
}

impl Success {
    pub(crate) fn of_content(content: Vec<String>) -> Success {
        Success {
            content,
            structured: None,
            leaked_fields: None,
            omitted_rows: 0,
            truncation_notice: None,
            state_changed: None,
            fault: None,
            unchanged: None,
        }
    }

    pub(crate) fn into_reply(self) -> GuardedReply {
        GuardedReply {
            response: ToolResponse { content: self.content, is_error: false },
            structured: self.structured,
            failure: None,
            fault: self.fault,
            names_fields: false,
            leaked_fields: self.leaked_fields,
            omitted_rows: self.omitted_rows,
            truncation_notice: self.truncation_notice,
            contract_deltas: 0,
            state_changed: self.state_changed,
            refusal: None,
            unchanged: self.unchanged,
        }
    }
}

/// The reason why a call did not succeed.
pub(crate) enum NoSuccess<'a> {
    Failed(FailedCall<'a>),
    NoReply(EnvironmentError),
}

impl<'a> From<FailedCall<'a>> for NoSuccess<'a> {
    fn from(failed: FailedCall<'a>) -> NoSuccess<'a> {
        NoSuccess::Failed(failed)
    }
}

/// The failure of a call, and how far the call was resolved.
pub(crate) struct FailedCall<'a> {
    pub(crate) failure: Failure,
    /// The index of the tool.
    pub(crate) tool: Option<usize>,
    pub(crate) action: Option<&'a CompiledAction>,
    /// The refusal of a server.
    pub(crate) refusal: Option<Box<Refusal>>,
    /// The result of a server, if it is passed on as it is.
    pub(crate) unchanged: Option<Box<CallResult>>,
    pub(crate) state_changed: Option<bool>,
    /// The fault that the call met.
    pub(crate) fault: Option<FaultKind>,
}

impl<'a> FailedCall<'a> {
    /// A call that did not reach the session.
    pub(crate) fn new(failure: Failure, tool: Option<usize>, action: Option<&'a CompiledAction>) -> FailedCall<'a> {
        let state_changed = Some(false);
        FailedCall { failure, tool, action, refusal: None, unchanged: None, state_changed, fault: None }
    }

    /// Returns the call with the fault that it met. A JSON-RPC error reaches clients as such.
    pub(crate) fn struck_by(mut self, kind: FaultKind) -> FailedCall<'a> {
        self.fault = Some(kind);
        if let (FaultKind::ProtocolError, Failure::Fault(failure)) = (kind, &self.failure) {
            let error = ProtocolError { code: INTERNAL_ERROR, message: failure.message.clone(), data: None };
            self.unchanged = Some(Box::new(CallResult { protocol_error: Some(error), ..CallResult::default() }));
        }
        self
    }
}

/// The rendered text of a failure.
pub(crate) struct FailureText {
    pub(crate) text: String,
    /// True if the text names the failing fields.
    pub(crate) names_fields: bool,
}

impl FailureText {
    #[inline(never)]
    pub(crate) fn into_reply(self, failed: FailedCall<'_>, contract_deltas: u32) -> GuardedReply {
        let is_error = match &failed.failure {
            Failure::Tool(failure) | Failure::Fault(failure) => failure.is_error(),
            Failure::Routing(_) | Failure::Validation { .. } => true,
        };
        let is_error = is_error && failed.fault != Some(FaultKind::NotAnError);
        let content = match (failed.fault, &failed.unchanged) {
            (Some(FaultKind::ProtocolError), Some(result)) => result.shown(),
            _ => vec![self.text],
        };
        GuardedReply {
            response: ToolResponse { content, is_error },
            structured: None,
            failure: Some(failed.failure),
            fault: failed.fault,
            names_fields: self.names_fields,
            leaked_fields: if failed.refusal.is_none() { Some(0) } else { None },
            omitted_rows: 0,
            truncation_notice: None,
            contract_deltas,
            state_changed: failed.state_changed,
            refusal: failed.refusal,
            unchanged: failed.unchanged,
        }
    }
}

/// The code of JSON-RPC for an error of the server.
const INTERNAL_ERROR: i64 = -32603;
