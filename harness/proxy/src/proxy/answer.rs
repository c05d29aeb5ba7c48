//! The handling of an answer to a call, and its row.

use healbench_core::{ErrorClass, ToolCall};
use healbench_mcp::{RpcError, to_line};
use healbench_tokens::count_tokens;
use serde_json::{Value, json};

use super::{Passing, PendingCall, Shared, lock};
use crate::guard::{self, Change, Changed};
use crate::log::{Entry, hash};
use crate::record::{Answer, Begun, Effect};

impl Shared {
    pub(super) fn answer(
        &self,
        line: &[u8],
        id: &Value,
        pending: &PendingCall,
        outcome: &Result<Value, RpcError>,
    ) -> Passing {
        let (rules, engine, call) = (&self.rules, &pending.engine, &pending.call);
        let change = match outcome {
            Ok(result) if !is_finished(result) => {
                self.state().counts.unguarded += 1;
                return Passing::AsItIs;
            }
            Ok(result) => guard::result(rules, engine, call, result, pending.has_output_schema),
            Err(error) => match guard::error(rules, engine, call, error.code, &error.message) {
                Some(changed) => Change::Formatted(changed),
                None => {
                    self.state().counts.protocol_errors += 1;
                    self.record_protocol_error(pending, error);
                    return Passing::AsItIs;
                }
            },
        };
        self.record(pending.begun.as_ref(), call, || recorded(outcome, &change, self.records_texts));
        let to_answer = |changed: &Changed| to_line(&json!({"jsonrpc": "2.0", "id": id, "result": changed.result}));
        let mut state = self.state();
        match change {
            Change::None => Passing::AsItIs,
            Change::Uncut => {
                state.counts.uncut += 1;
                Passing::AsItIs
            }
            Change::Formatted(changed) => {
                let answer = to_answer(&changed);
                let Changed { tokens_before, tokens, .. } = changed;
                state.counts.formatted += 1;
                let (from, hashed) = (hash(line), hash(&answer));
                state.log.write(&Entry::Formatted {
                    id,
                    tool: &call.tool,
                    from,
                    answer: hashed,
                    tokens_before,
                    tokens,
                });
                Passing::Instead(answer)
            }
            Change::Cut(changed) => {
                let answer = to_answer(&changed);
                let Changed { tokens_before, tokens, .. } = changed;
                state.counts.cut += 1;
                let (from, hashed) = (hash(line), hash(&answer));
                state.log.write(&Entry::Cut { id, tool: &call.tool, from, answer: hashed, tokens_before, tokens });
                Passing::Instead(answer)
            }
        }
    }

    fn record_protocol_error(&self, pending: &PendingCall, error: &RpcError) {
        self.record(pending.begun.as_ref(), &pending.call, || Answer {
            effect: Effect::ProtocolError,
            error_class: Some(ErrorClass::ProtocolError),
            named_fields: None,
            response_tokens: count_tokens(&error.message),
            text: self.records_texts.then(|| error.message.clone()),
            guardrail_tokens: Some(0),
        });
    }

    /// Writes the row of a call, if the session is recorded.
    pub(super) fn record<'a>(&self, begun: Option<&Begun>, call: &ToolCall, answer: impl FnOnce() -> Answer<'a>) {
        let Some(begun) = begun else { return };
        // Tokens are counted without the lock.
        let answer = answer();
        if let Some(recorder) = lock(&self.recorder).as_mut() {
            recorder.end(begun, call, &answer);
        }
    }
}

/// Returns what the rows say of an answer.
fn recorded<'a>(outcome: &Result<Value, RpcError>, change: &'a Change, with_text: bool) -> Answer<'a> {
    let error_class = match outcome {
        Ok(result) => (result["isError"] == json!(true)).then_some(ErrorClass::ServerError),
        Err(_) => Some(ErrorClass::ProtocolError),
    };
    let (effect, changed) = match change {
        Change::None => (Effect::Passed, None),
        Change::Uncut => (Effect::Uncut, None),
        Change::Formatted(changed) => (Effect::Formatted, Some(changed)),
        Change::Cut(changed) => (Effect::Cut, Some(changed)),
    };
    let text = || match (changed, outcome) {
        (Some(changed), _) => guard::texts(&changed.result),
        (None, Ok(result)) => guard::texts(result),
        (None, Err(error)) => error.message.clone(),
    };
    let as_it_is = || outcome.as_ref().map_or(0, |result| count_tokens(&guard::texts(result)));
    Answer {
        effect,
        error_class,
        named_fields: changed.and_then(|changed| changed.named_fields.as_deref()),
        response_tokens: changed.map_or_else(as_it_is, |changed| changed.tokens),
        text: with_text.then(text),
        guardrail_tokens: Some(
            changed.map_or(0, |changed| i64::from(changed.tokens) - i64::from(changed.tokens_before)),
        ),
    }
}

/// Returns true for a result that answers the call now, and asks for nothing.
fn is_finished(result: &Value) -> bool {
    let kind = result["resultType"].as_str();
    result.is_object() && result.get("task").is_none() && kind.is_none_or(|kind| kind == "complete")
}
