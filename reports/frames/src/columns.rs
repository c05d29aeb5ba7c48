//! The columns of the frames. Each is declared once with constant, type and description; schema, encoding and decoding
//! follow from the declaration.

mod column_type;

use std::path::Path;

use polars::prelude::{Column as PolarsColumn, DataFrame, DataType, PolarsResult};

use crate::frames::FrameError;
pub(crate) use column_type::{ColumnType, F64, Field, Flag, I64, Text, Texts, U32, U64, read, stored_type};

/// The columns that runs of older versions of the same format lack. They are read as null.
pub(crate) const ADDED: [&str; 2] = [episode_columns::DIAGNOSTICS, call_columns::NEXT_ATTEMPT];

/// The name and the type of a column.
pub(crate) type Column = (&'static str, fn() -> DataType);

/// Returns the name of a column, which may be a keyword of Rust.
const fn name(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// Declares a frame: the module of column names, the list of columns, a row, a builder of row groups, and a reader of
/// rows. The type of a nullable column is an `Option`.
macro_rules! frame {
    ($module:ident: $columns:ident, $descriptions:ident, $row:ident, $builder:ident {
        $($(#[doc = $doc:literal])* $name:ident $field:ident: $type:ty;)*
    }) => {
        /// The names of the columns.
        pub mod $module {
            $($(#[doc = $doc])* pub const $name: &str = super::name(stringify!($field));)*
        }

        /// The columns, in the order of the file.
        pub(crate) const $columns: &[Column] =
            &[$(($module::$name, <<$type as Field>::Type as ColumnType>::data_type)),*];

        /// What the columns mean, in the same order.
        pub(crate) const $descriptions: &[&str] = &[$(concat!($($doc),*)),*];

        pub(crate) struct $row<'a> {
            $(pub(crate) $field: <$type as Field>::Value<'a>,)*
        }

        impl<'a> $row<'a> {
            /// Decodes the rows of a frame.
            pub(crate) fn read(path: &Path, frame: &'a DataFrame) -> Result<impl Iterator<Item = $row<'a>>, FrameError> {
                $(let mut $field = read::<$type>(path, frame, $module::$name)?.into_iter();)*
                Ok(std::iter::from_fn(move || Some($row { $($field: $field.next()?,)* })))
            }
        }

        /// A row group under construction.
        pub(crate) struct $builder {
            height: usize,
            $($field: <<$type as Field>::Type as ColumnType>::Builder,)*
        }

        impl $builder {
            pub(crate) fn new() -> $builder {
                $builder { height: 0, $($field: <<$type as Field>::Type as ColumnType>::builder($module::$name),)* }
            }

            pub(crate) fn len(&self) -> usize {
                self.height
            }

            pub(crate) fn push(&mut self, row: $row<'_>) {
                self.height += 1;
                $(<<$type as Field>::Type as ColumnType>::append(&mut self.$field, <$type as Field>::into_option(row.$field));)*
            }

            pub(crate) fn into_frame(self) -> PolarsResult<DataFrame> {
                let columns: Vec<PolarsColumn> =
                    vec![$(<<$type as Field>::Type as ColumnType>::finish(self.$field)),*];
                DataFrame::new(self.height, columns)
            }
        }
    };
}

frame! {
    episode_columns: EPISODE_COLUMNS, EPISODE_DESCRIPTIONS, EpisodeRow, EpisodeRows {
        /// Index of the episode in the plan.
        EPISODE episode: U64;
        /// The scenario's id.
        SCENARIO scenario: Text;
        /// The scenario's cluster: scenarios that vary one situation.
        CLUSTER cluster: Text;
        /// The kind of environment that executed the calls: `simulator` or `mcp`.
        ENVIRONMENT environment: Text;
        /// The name of the server. Null for the simulator.
        SERVER server: Option<Text>;
        /// The agent as named on the command line: `scripted:typical`.
        AGENT agent: Text;
        /// `scripted`, `llm`, `replay` or `program`.
        AGENT_KIND agent_kind: Text;
        /// The name of the condition; by default its guardrails and error format: `all fusion-xml`.
        CONDITION condition: Text;
        /// The treatment of undeclared fields: `reject` with `strict`, `pass` or `strip` without. Null in a trace, as the other
        /// parts of the condition.
        UNDECLARED undeclared: Option<Text>;
        /// The guardrails in force: `none`, `all`, or switches joined by `+`.
        GUARDRAILS guardrails: Option<Text>;
        /// The error format; `bare` exactly when `healing` is off.
        FORMAT format: Option<Text>;
        /// The facts that error texts may state: `native` for those of the format.
        CONTENT content: Option<Text>;
        /// The presentation of responses by the agent's client: `raw` for as they were sent.
        CLIENT client: Option<Text>;
        /// Repetition of the cell, from 0.
        TRIAL trial: U32;
        /// The outcome of the episode.
        OUTCOME outcome: Text;
        /// The way in which the conversation ended: `done`, `gave_up`, `refused`, `answer`, `goal_reached`, `call_limit`,
        /// `turn_limit`, `incomplete`, `too_long`, `agent_error` or `environment_error`.
        ENDED_BY ended_by: Text;
        /// True if the agent's last turn claims that the task is complete.
        CLAIMED_DONE claimed_done: Flag;
        /// True if a mistake or a fault was scheduled. For a program, if faults are scheduled, or the tools are listed in a previous
        /// contract. Null in a trace.
        SCHEDULED scheduled: Option<Flag>;
        /// Hash of the trial schedule. Rows with different hashes are never paired. Null in a trace.
        SCHEDULE_HASH schedule_hash: Option<Text>;
        /// Other facts that the source of a trace states of the episode. Null if it says nothing, and outside of traces.
        TAGS tags: Option<Texts>;
        /// Turns taken. Null for a program.
        TURNS turns: Option<U32>;
        /// Calls made.
        CALLS calls: U32;
        /// Calls that a perfect agent needs. Null in a trace.
        PERFECT_CALLS perfect_calls: Option<U32>;
        /// Tokens of the task's prompt.
        PROMPT_TOKENS prompt_tokens: U32;
        /// Tokens of the agent's turns without a call. Null for a program.
        PROSE_TOKENS prose_tokens: Option<U32>;
        /// True if the first call succeeded.
        FIRST_CALL_SUCCESS first_call_success: Flag;
        /// Calls that failed.
        ERRORS errors: U32;
        /// Errors that told the answer. Null without a script.
        TOLD_ANSWERS told_answers: Option<U32>;
        /// Calls after the first one that failed.
        CALLS_AFTER_ERROR calls_after_error: U32;
        /// Calls equal to an earlier failed call.
        REPEATED_CALLS repeated_calls: U32;
        /// Error chains.
        CHAINS chains: U32;
        /// Error chains that were fixed. Null in a trace.
        ERRORS_FIXED errors_fixed: Option<U32>;
        /// Error chains that a wrong repair ended. Null in a trace.
        WRONG_REPAIRS wrong_repairs: Option<U32>;
        /// Attempts after the first error of each chain.
        RETRIES retries: U32;
        /// Calls right after an error that named fields.
        HINTED_CALLS hinted_calls: U32;
        /// Hinted calls that changed exactly the named fields.
        HINTS_FOLLOWED hints_followed: U32;
        /// True if the agent got stuck: repeated failing calls without a change of state.
        STUCK stuck: Flag;
        /// Undeclared fields that reached the environment. Null if it does not count them.
        LEAKED_FIELDS leaked_fields: Option<U64>;
        /// Tokens of calls and responses.
        CALL_TOKENS call_tokens: U64;
        /// Tokens of calls that failed, and of their responses.
        WASTED_TOKENS wasted_tokens: U64;
        /// Tokens that guardrails added to the response, or to all responses of the episode; negative for what they removed. Null in a
        /// trace.
        GUARDRAIL_TOKENS guardrail_tokens: Option<I64>;
        /// Tokens of the largest response.
        LARGEST_RESPONSE largest_response: U32;
        /// Exact `o200k_base` tokens sent to the agent, over all turns: system text, tools and the conversation so far. For a
        /// simulated reader, those of a model that takes the same turns. Null for a program, as the next two columns.
        BILLED_INPUT_TOKENS billed_input_tokens: Option<U64>;
        /// Exact `o200k_base` tokens of the agent's turns: calls and prose, without reasoning.
        BILLED_OUTPUT_TOKENS billed_output_tokens: Option<U64>;
        /// Tokens of responses that no turn received: those after the last turn, and what did not fit into the context
        /// window.
        UNSENT_TOKENS unsent_tokens: Option<U64>;
        /// How the episode began: `seeded` or `natural`. Null without a model, as all columns below.
        OPENING opening: Option<Text>;
        /// How the tools were passed to the model: `native` or `prompt`.
        TOOLS_MODE tools_mode: Option<Text>;
        /// Calls of the opening: the first ones, which are not the model's own.
        OPENING_CALLS opening_calls: Option<U32>;
        /// Turns of the model. Null for a program.
        MODEL_TURNS model_turns: Option<U32>;
        /// Origin of `input_tokens` and `output_tokens`: `provider`, or `bpe` if the provider did not count every turn.
        /// Null, as all columns below, if no request was sent. For a program, `provider` for the sums of its own reports.
        TOKEN_SOURCE token_source: Option<Text>;
        /// Tokens of the model's requests, including those read from and written to a cache.
        INPUT_TOKENS input_tokens: Option<U64>;
        /// Input tokens read from a cache. Null if the provider does not report them.
        CACHE_READ_TOKENS cache_read_tokens: Option<U64>;
        /// Input tokens written to a cache. Null if the provider does not report them.
        CACHE_WRITE_TOKENS cache_write_tokens: Option<U64>;
        /// Tokens of the model's answers, including reasoning.
        OUTPUT_TOKENS output_tokens: Option<U64>;
        /// Output tokens of reasoning. Null if the provider does not report them.
        REASONING_TOKENS reasoning_tokens: Option<U64>;
        /// US dollars. Null if the price or the usage is unknown.
        COST_USD cost_usd: Option<F64>;
        /// Milliseconds until the model answered.
        LATENCY_MS latency_ms: Option<U64>;
        /// Words for answers that the server made what they are, one for each: `cut`, `empty`, `calls_in_text`, `other_choice`,
        /// `few_tokens`, `model` and the name of another model that answered, `request` and what was changed in a request. Null if
        /// there is nothing to say, and in older runs.
        DIAGNOSTICS diagnostics: Option<Texts>;
    }
}

frame! {
    call_columns: CALL_COLUMNS, CALL_DESCRIPTIONS, CallRow, CallRows {
        /// Index of the episode in the plan.
        EPISODE episode: U64;
        /// Number of the call within its episode, from 1.
        CALL call: U32;
        /// Number of the turn, from 1. Null for a program.
        TURN turn: Option<U32>;
        /// The tool as the agent named it.
        TOOL tool: Text;
        /// The action as the agent named it. Null if it named none.
        ACTION action: Option<Text>;
        /// The arguments as canonical JSON.
        ARGUMENTS arguments: Text;
        /// True if the call failed.
        IS_ERROR is_error: Flag;
        /// The class of the failure. Null if the call succeeded.
        ERROR_CLASS error_class: Option<Text>;
        /// True if the call met an injected fault, which an answer need not tell.
        INJECTED injected: Flag;
        /// The kind of the injected fault, or `misleading` for a text that is wrong on purpose. Null if there is none.
        FAULT fault: Option<Text>;
        /// The sign that the call failed: `flag`, or `text` for an error that is sent as a success. Null outside of traces.
        ERROR_SOURCE error_source: Option<Text>;
        /// The kind of the error, as the reader finds it. Null without an error, if the text was not read, and in older runs, as the next three
        /// columns.
        ERROR_KIND error_kind: Option<Text>;
        /// True if the text of the error names a field.
        NAMES_FIELD names_field: Option<Flag>;
        /// True if it states what to send instead.
        STATES_REMEDY states_remedy: Option<Flag>;
        /// True if it names a tool.
        NAMES_TOOL names_tool: Option<Flag>;
        /// Number of the failed call that this one tries again, by tool and action; of several the first. Null if there is none.
        ATTEMPT_OF attempt_of: Option<U32>;
        /// Number of the call that tries a failed call again. Null if there is none.
        NEXT_ATTEMPT next_attempt: Option<U32>;
        /// The agent's next turn after an error: `changed`, `repeated`, `other_tool`, `stopped` or `cut_off`. Null without an error,
        /// and in older runs, as the next three columns.
        MOVE r#move: Option<Text>;
        /// True if an attempt followed within three turns after one with calls of other tools only.
        CAME_BACK came_back: Option<Flag>;
        /// True if a message of the user followed before any other call.
        USER_REPLIED user_replied: Option<Flag>;
        /// True if the next attempt shares under a fifth of the words of the smaller of both calls: probably another errand.
        ELSEWHERE elsewhere: Option<Flag>;
        /// Fields named by the response. Null if it names none.
        NAMED_FIELDS named_fields: Option<Texts>;
        /// Arguments that differ from those of the previous call. Null for the first call.
        CHANGED_FIELDS changed_fields: Option<Texts>;
        /// Undeclared fields that reached the environment. Null if it does not count them.
        LEAKED_FIELDS leaked_fields: Option<U32>;
        /// Rows removed by truncation. Null in a trace.
        OMITTED_ROWS omitted_rows: Option<U32>;
        /// Contract changes listed in the response. Null in a trace.
        CONTRACT_DELTAS contract_deltas: Option<U32>;
        /// True if the call changed the environment's state. Null if the environment cannot know.
        STATE_CHANGED state_changed: Option<Flag>;
        /// True if an equal call of the episode failed before.
        REPEATED_CALL repeated_call: Flag;
        /// True if the call has the tool, the action and the arguments of a step of the script; it may have more
        /// arguments. Null without a script.
        INTENDED intended: Option<Flag>;
        /// True if the text of the error held a value of the call that was meant, which the agent had not sent, and which the
        /// text singles out of more than two possible ones. Null if the call succeeded, and without a script.
        TOLD_ANSWER told_answer: Option<Flag>;
        /// Number of the error chain, from 1. Null outside of chains.
        CHAIN chain: Option<U32>;
        /// How the call ended its chain: `fixed` by an intended call or by fewer unmet expectations, or `wrong_repair`,
        /// any other successful call that writes. Null if it did not.
        CHAIN_END chain_end: Option<Text>;
        /// Simulated seconds waited before the call, or in it. Null in a trace.
        WAITED_S waited_s: Option<U32>;
        /// Tokens of the call.
        REQUEST_TOKENS request_tokens: U32;
        /// Tokens of the response.
        RESPONSE_TOKENS response_tokens: U32;
        /// True if one of these counts is an estimate: that of an unbroken run of over 100,000 bytes.
        TOKENS_ESTIMATED tokens_estimated: Flag;
        /// Hash of the bytes of the response. 0 for a call of a trace without a result.
        RESPONSE_HASH response_hash: U64;
        /// Tokens that guardrails added to the response, or to all responses of the episode; negative for what they removed. Null in a
        /// trace.
        GUARDRAIL_TOKENS guardrail_tokens: Option<I64>;
        /// Tokens of the conversation before the call. Null for a program.
        CONTEXT_TOKENS context_tokens: Option<U64>;
    }
}

frame! {
    response_columns: RESPONSE_COLUMNS, RESPONSE_DESCRIPTIONS, ResponseRow, ResponseRows {
        /// Hash of the bytes of the response.
        RESPONSE_HASH response_hash: U64;
        /// True if the call failed.
        IS_ERROR is_error: Flag;
        /// The text blocks shown to the agent.
        CONTENT content: Texts;
        /// The text that the agent would have been shown without guardrails. Null if the call succeeded.
        UNGUARDED_TEXT unguarded_text: Option<Text>;
        /// Tokens of the response.
        RESPONSE_TOKENS response_tokens: U32;
    }
}

pub use call_columns::*;
pub use episode_columns::*;
pub use response_columns::UNGUARDED_TEXT;
// The columns that several frames have.
pub use call_columns::{IS_ERROR, RESPONSE_HASH, RESPONSE_TOKENS};
pub use episode_columns::{CONTENT, EPISODE, GUARDRAIL_TOKENS, LEAKED_FIELDS};
