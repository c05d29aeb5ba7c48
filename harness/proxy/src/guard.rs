//! What becomes of a call, and of its answer.

use healbench_core::{
    CallResult, ContentBlock, Deadline, EnvironmentError, ErrorClass, ErrorFormat, Guardrails, ProtocolError, Reply,
    ReplyOutcome, Session, ToolCall, ToolSpec,
};
use healbench_engine::{CompileError, Engine, Failure, Faults, ForeignSettings, GuardedReply};
use healbench_tokens::count_tokens;
use serde_json::{Value, json};

/// The JSON-RPC errors that may stand for a failed call: invalid parameters, and an internal error.
const CALL_ERRORS: [i64; 2] = [-32602, -32603];

/// The guardrails, and what they may change.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The guardrails. The guardrail `contract` has no effect: the server's earlier contract is not known.
    pub guardrails: Guardrails,
    pub format: ErrorFormat,
    /// The tokens above which a text is shortened.
    pub max_tokens: u32,
    /// True if the JSON-RPC errors -32602 and -32603 that answer a call become results with `isError`, which clients show to
    /// their models.
    pub errors_as_results: bool,
}

impl Rules {
    pub(crate) fn engine(&self, tools: &[ToolSpec]) -> Result<Engine, CompileError> {
        let settings = ForeignSettings { max_tokens: self.max_tokens, count_tokens };
        Engine::for_server(tools, self.guardrails, &self.format, settings)
    }
}

/// A server whose answer to the one call is known, or is not there yet.
struct Answered(Option<CallResult>);

impl Session for Answered {
    fn call<'s>(&'s mut self, _: &ToolCall, _: Deadline) -> Result<Reply<'s>, EnvironmentError> {
        let result = self.0.take().ok_or_else(|| EnvironmentError::Unavailable("".into()))?;
        Ok(Reply { outcome: ReplyOutcome::Foreign(result), state_changed: None, struck: false })
    }

    fn check(&mut self, _: Deadline) -> Result<Vec<bool>, EnvironmentError> {
        Ok(Vec::new())
    }
}

fn reply(engine: &Engine, call: &ToolCall, result: Option<CallResult>) -> Option<GuardedReply> {
    let mut faults = Faults::none();
    engine.answer(&mut Answered(result), &mut faults, call, Deadline::NONE).ok()
}

/// The text of a refusal, and its tokens.
pub(crate) struct Refusal {
    pub(crate) result: Value,
    pub(crate) tokens: u32,
    pub(crate) error_class: Option<ErrorClass>,
    /// The fields that the text names.
    pub(crate) named_fields: Option<Vec<String>>,
}

/// Returns what the guardrails answer to a call that they refuse; `None` if it may pass.
pub(crate) fn refuse(engine: &Engine, call: &ToolCall) -> Option<Refusal> {
    // The guardrails ask the session only about calls that they accept.
    let reply = reply(engine, call, None)?;
    let text = reply.response.text().into_owned();
    Some(Refusal {
        tokens: count_tokens(&text),
        result: json!({"content": [{"type": "text", "text": text}], "isError": true}),
        error_class: reply.failure.as_ref().map(Failure::class),
        named_fields: reply.named_fields(),
    })
}

/// What becomes of an answer.
pub(crate) enum Change {
    None,
    /// It passes although it is too long: it has structured content, which a client checks against the schema.
    Uncut,
    /// An error in the error format.
    Formatted(Changed),
    Cut(Changed),
}

/// A result in place of another.
pub(crate) struct Changed {
    pub(crate) result: Value,
    pub(crate) tokens_before: u32,
    pub(crate) tokens: u32,
    /// The fields that the text of an error names.
    pub(crate) named_fields: Option<Vec<String>>,
}

/// Returns what becomes of a result.
pub(crate) fn result(rules: &Rules, engine: &Engine, call: &ToolCall, result: &Value, has_schema: bool) -> Change {
    let is_error = result["isError"] == json!(true);
    let Some(blocks) = result["content"].as_array() else { return Change::None };
    let texts: Vec<&str> = blocks.iter().filter_map(text).collect();
    if !is_error {
        let bytes: usize = texts.iter().map(|text| text.len() + 2).sum();
        // No token is shorter than a byte.
        if !rules.guardrails.truncation || bytes <= rules.max_tokens as usize {
            return Change::None;
        }
    }
    let before = texts.join("\n\n");
    let foreign = CallResult {
        content: texts.iter().map(|text| ContentBlock::Text((*text).to_owned())).collect(),
        structured: None,
        is_error,
        protocol_error: None,
    };
    let Some(reply) = reply(engine, call, Some(foreign)) else { return Change::None };
    let is_cut = reply.truncation_notice.is_some();
    if is_cut && !is_error && (has_schema || result.get("structuredContent").is_some()) {
        return Change::Uncut;
    }
    let named_fields = reply.named_fields();
    let after = reply.response.content;
    if after.join("\n\n") == before || (!is_error && !is_cut) {
        return Change::None;
    }
    let changed = Changed { named_fields, ..changed(result, blocks, &before, &after, is_error) };
    if is_error { Change::Formatted(changed) } else { Change::Cut(changed) }
}

/// Returns what becomes of a JSON-RPC error that answers a call; `None` if it passes.
pub(crate) fn error(rules: &Rules, engine: &Engine, call: &ToolCall, code: i64, message: &str) -> Option<Changed> {
    if !rules.errors_as_results || !CALL_ERRORS.contains(&code) {
        return None;
    }
    let error = ProtocolError { code, message: message.to_owned(), data: None };
    let foreign = CallResult { protocol_error: Some(error), ..CallResult::default() };
    let before = foreign.shown().concat();
    let reply = reply(engine, call, Some(foreign))?;
    let named_fields = reply.named_fields();
    Some(Changed { named_fields, ..changed(&json!({}), &[], &before, &reply.response.content, true) })
}

/// Puts texts in place of those of a result. Blocks that are no text follow them. An error loses its structured content: a
/// client would check it, and show its model what is wrong with that instead of the text.
fn changed(result: &Value, blocks: &[Value], before: &str, after: &[String], is_error: bool) -> Changed {
    let texts = after.iter().map(|text| json!({"type": "text", "text": text}));
    let content: Vec<Value> = texts.chain(blocks.iter().filter(|block| text(block).is_none()).cloned()).collect();
    let mut result = result.clone();
    if let Some(members) = result.as_object_mut() {
        members.insert("content".to_owned(), Value::Array(content));
        if is_error {
            members.insert("isError".to_owned(), json!(true));
            members.shift_remove("structuredContent");
        }
    }
    Changed {
        result,
        tokens_before: count_tokens(before),
        tokens: count_tokens(&after.join("\n\n")),
        named_fields: None,
    }
}

/// Returns the texts of a result, as a model gets them.
pub(crate) fn texts(result: &Value) -> String {
    let texts: Vec<&str> = result["content"].as_array().into_iter().flatten().filter_map(text).collect();
    texts.join("\n\n")
}

fn text(block: &Value) -> Option<&str> {
    (block["type"] == json!("text")).then(|| block["text"].as_str()).flatten()
}
