//! The names of the columns of both frames, and what each column holds. No other module of the workspace writes them down.

use polars::prelude::DataType;

/// Index of the episode in the plan. In both frames.
pub const EPISODE: &str = "episode";

/// The scenario's id.
pub const SCENARIO: &str = "scenario";
/// The agent as it was asked for: `scripted:typical`.
pub const AGENT: &str = "agent";
/// `scripted`, `llm` or `replay`.
pub const AGENT_KIND: &str = "agent_kind";
/// The guardrails in force: `none`, `all`, or switches joined by `+`.
pub const GUARDRAILS: &str = "guardrails";
/// The error format; `bare` exactly when `healing` is off.
pub const FORMAT: &str = "format";
/// Repetition of the cell, from 0.
pub const TRIAL: &str = "trial";
/// How the episode ended.
pub const OUTCOME: &str = "outcome";
/// Whether the agent's last turn claimed that the task was complete.
pub const CLAIMED_DONE: &str = "claimed_done";
/// Whether a mistake or a fault was scheduled.
pub const SCHEDULED: &str = "scheduled";
/// Hash of the schedule: rows that differ in it are never paired.
pub const SCHEDULE_HASH: &str = "schedule_hash";
/// Turns taken.
pub const TURNS: &str = "turns";
/// Calls made.
pub const CALLS: &str = "calls";
/// Calls that a perfect agent needs.
pub const PERFECT_CALLS: &str = "perfect_calls";
/// Tokens of the task's prompt.
pub const PROMPT_TOKENS: &str = "prompt_tokens";
/// Tokens of the agent's turns without a call.
pub const PROSE_TOKENS: &str = "prose_tokens";

/// Whether the first call succeeded.
pub const FIRST_CALL_SUCCESS: &str = "first_call_success";
/// Calls that failed.
pub const ERRORS: &str = "errors";
/// Calls after the first one that failed.
pub const CALLS_AFTER_ERROR: &str = "calls_after_error";
/// Calls equal to an earlier failed call.
pub const REPEATED_CALLS: &str = "repeated_calls";
/// Error chains.
pub const CHAINS: &str = "chains";
/// Error chains that ended in success.
pub const ERRORS_FIXED: &str = "errors_fixed";
/// Attempts after the first error of each chain.
pub const RETRIES: &str = "retries";
/// Tokens of the largest response.
pub const LARGEST_RESPONSE: &str = "largest_response";
/// Calls right after an error that named fields.
pub const HINTED_CALLS: &str = "hinted_calls";
/// Those that changed exactly the named fields.
pub const HINTS_FOLLOWED: &str = "hints_followed";
/// Whether the agent got caught in an error spiral.
pub const STUCK: &str = "stuck";
/// Tokens of calls and responses.
pub const CALL_TOKENS: &str = "call_tokens";
/// Tokens of calls that failed, and of their responses.
pub const WASTED_TOKENS: &str = "wasted_tokens";

/// How the episode began: `seeded` or `natural`; null for an agent without a model, as all columns down to `LATENCY_MS`.
pub const OPENING: &str = "opening";
/// How the model was told of the tools: `native` or `prompt`.
pub const TOOLS_MODE: &str = "tools_mode";
/// Calls of the opening: the first ones, which are not the model's own.
pub const OPENING_CALLS: &str = "opening_calls";
/// Turns that the model took.
pub const MODEL_TURNS: &str = "model_turns";
/// Who counted `input_tokens` and `output_tokens`: `provider`, or `bpe` where the provider did not in every turn. Null, as all that
/// follow, when no model was asked.
pub const TOKEN_SOURCE: &str = "token_source";
/// Tokens of the model's requests, those read from and written to a cache among them.
pub const INPUT_TOKENS: &str = "input_tokens";
/// Input tokens that were read from a cache; null when the provider does not say.
pub const CACHE_READ_TOKENS: &str = "cache_read_tokens";
/// Input tokens that were written to a cache.
pub const CACHE_WRITE_TOKENS: &str = "cache_write_tokens";
/// Tokens of the model's answers, those of reasoning among them.
pub const OUTPUT_TOKENS: &str = "output_tokens";
/// Output tokens of reasoning.
pub const REASONING_TOKENS: &str = "reasoning_tokens";
/// Exact `o200k_base` tokens of what the model was sent, whoever counted the input tokens.
pub const BPE_INPUT_TOKENS: &str = "bpe_input_tokens";
/// Exact `o200k_base` tokens of what the model said.
pub const BPE_OUTPUT_TOKENS: &str = "bpe_output_tokens";
/// US dollars; null when price or usage is unknown.
pub const COST_USD: &str = "cost_usd";
/// Milliseconds that the model took to answer.
pub const LATENCY_MS: &str = "latency_ms";

/// Number of the call within its episode, from 1.
pub const CALL: &str = "call";
/// Number of the turn, from 1.
pub const TURN: &str = "turn";
/// The tool as the agent named it.
pub const TOOL: &str = "tool";
/// The action as the agent named it; null when it named none.
pub const ACTION: &str = "action";
/// The arguments as canonical JSON.
pub const ARGUMENTS: &str = "arguments";
/// Whether the call failed.
pub const IS_ERROR: &str = "is_error";
/// What kind of failure it was; null when nothing failed.
pub const ERROR_CLASS: &str = "error_class";
/// Whether the failure was an injected fault.
pub const INJECTED: &str = "injected";
/// Fields that the response named; null when it named none.
pub const NAMED_FIELDS: &str = "named_fields";
/// Arguments that differ from the previous call's; null for the first call.
pub const CHANGED_FIELDS: &str = "changed_fields";
/// Undeclared fields that reached the world. In both frames.
pub const LEAKED_FIELDS: &str = "leaked_fields";
/// Rows that truncation held back.
pub const OMITTED_ROWS: &str = "omitted_rows";
/// Contract deltas that the response carried.
pub const CONTRACT_DELTAS: &str = "contract_deltas";
/// Whether the world's rows differ after the call.
pub const STATE_CHANGED: &str = "state_changed";
/// Whether an earlier equal call of the episode failed.
pub const REPEATED_CALL: &str = "repeated_call";
/// Number of the error chain, from 1; null outside of any.
pub const CHAIN: &str = "chain";
/// Seconds of the world's own time waited before the call.
pub const WAITED_S: &str = "waited_s";
/// Tokens of the call.
pub const REQUEST_TOKENS: &str = "request_tokens";
/// Tokens of the response.
pub const RESPONSE_TOKENS: &str = "response_tokens";
/// Hash of the response: what changes a byte of it changes the hash.
pub const RESPONSE_HASH: &str = "response_hash";
/// Tokens that guardrails added to the response; to all responses in the episodes frame. In both frames.
pub const GUARDRAIL_TOKENS: &str = "guardrail_tokens";
/// Tokens of the conversation before the call.
pub const CONTEXT_TOKENS: &str = "context_tokens";

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    U64,
    U32,
    F64,
    Bool,
    Text,
    Texts,
}

impl ColumnType {
    pub(crate) fn data_type(self) -> DataType {
        match self {
            ColumnType::U64 => DataType::UInt64,
            ColumnType::U32 => DataType::UInt32,
            ColumnType::F64 => DataType::Float64,
            ColumnType::Bool => DataType::Boolean,
            ColumnType::Text => DataType::String,
            ColumnType::Texts => DataType::List(Box::new(DataType::String)),
        }
    }
}

/// A column's name and what it holds.
pub(crate) type Column = (&'static str, ColumnType);

/// The episodes frame, in the order of its file.
pub(crate) const EPISODE_COLUMNS: [Column; 45] = [
    (EPISODE, ColumnType::U64),
    (SCENARIO, ColumnType::Text),
    (AGENT, ColumnType::Text),
    (AGENT_KIND, ColumnType::Text),
    (GUARDRAILS, ColumnType::Text),
    (FORMAT, ColumnType::Text),
    (TRIAL, ColumnType::U32),
    (OUTCOME, ColumnType::Text),
    (CLAIMED_DONE, ColumnType::Bool),
    (SCHEDULED, ColumnType::Bool),
    (SCHEDULE_HASH, ColumnType::Text),
    (TURNS, ColumnType::U32),
    (CALLS, ColumnType::U32),
    (PERFECT_CALLS, ColumnType::U32),
    (PROMPT_TOKENS, ColumnType::U32),
    (PROSE_TOKENS, ColumnType::U32),
    (FIRST_CALL_SUCCESS, ColumnType::Bool),
    (ERRORS, ColumnType::U32),
    (CALLS_AFTER_ERROR, ColumnType::U32),
    (REPEATED_CALLS, ColumnType::U32),
    (CHAINS, ColumnType::U32),
    (ERRORS_FIXED, ColumnType::U32),
    (RETRIES, ColumnType::U32),
    (HINTED_CALLS, ColumnType::U32),
    (HINTS_FOLLOWED, ColumnType::U32),
    (STUCK, ColumnType::Bool),
    (LEAKED_FIELDS, ColumnType::U64),
    (CALL_TOKENS, ColumnType::U64),
    (WASTED_TOKENS, ColumnType::U64),
    (GUARDRAIL_TOKENS, ColumnType::U64),
    (LARGEST_RESPONSE, ColumnType::U32),
    MODEL_COLUMNS[0],
    MODEL_COLUMNS[1],
    MODEL_COLUMNS[2],
    MODEL_COLUMNS[3],
    MODEL_COLUMNS[4],
    MODEL_COLUMNS[5],
    MODEL_COLUMNS[6],
    MODEL_COLUMNS[7],
    MODEL_COLUMNS[8],
    MODEL_COLUMNS[9],
    MODEL_COLUMNS[10],
    MODEL_COLUMNS[11],
    MODEL_COLUMNS[12],
    MODEL_COLUMNS[13],
];

/// Those columns of the episodes frame that tell of models, the last ones.
pub(crate) const MODEL_COLUMNS: [Column; 14] = [
    (OPENING, ColumnType::Text),
    (TOOLS_MODE, ColumnType::Text),
    (OPENING_CALLS, ColumnType::U32),
    (MODEL_TURNS, ColumnType::U32),
    (TOKEN_SOURCE, ColumnType::Text),
    (INPUT_TOKENS, ColumnType::U64),
    (CACHE_READ_TOKENS, ColumnType::U64),
    (CACHE_WRITE_TOKENS, ColumnType::U64),
    (OUTPUT_TOKENS, ColumnType::U64),
    (REASONING_TOKENS, ColumnType::U64),
    (BPE_INPUT_TOKENS, ColumnType::U64),
    (BPE_OUTPUT_TOKENS, ColumnType::U64),
    (COST_USD, ColumnType::F64),
    (LATENCY_MS, ColumnType::U64),
];

/// The calls frame, in the order of its file.
pub(crate) const CALL_COLUMNS: [Column; 23] = [
    (EPISODE, ColumnType::U64),
    (CALL, ColumnType::U32),
    (TURN, ColumnType::U32),
    (TOOL, ColumnType::Text),
    (ACTION, ColumnType::Text),
    (ARGUMENTS, ColumnType::Text),
    (IS_ERROR, ColumnType::Bool),
    (ERROR_CLASS, ColumnType::Text),
    (INJECTED, ColumnType::Bool),
    (NAMED_FIELDS, ColumnType::Texts),
    (CHANGED_FIELDS, ColumnType::Texts),
    (LEAKED_FIELDS, ColumnType::U32),
    (OMITTED_ROWS, ColumnType::U32),
    (CONTRACT_DELTAS, ColumnType::U32),
    (STATE_CHANGED, ColumnType::Bool),
    (REPEATED_CALL, ColumnType::Bool),
    (CHAIN, ColumnType::U32),
    (WAITED_S, ColumnType::U32),
    (REQUEST_TOKENS, ColumnType::U32),
    (RESPONSE_TOKENS, ColumnType::U32),
    (RESPONSE_HASH, ColumnType::U64),
    (GUARDRAIL_TOKENS, ColumnType::U32),
    (CONTEXT_TOKENS, ColumnType::U64),
];
