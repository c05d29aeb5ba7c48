//! Rows to columns. Strings of the plan's axes are printed once and borrowed for every row.

use healbench_record::{CallRecord, EpisodeRecord, Plan};
use polars::chunked_array::builder::ListStringChunkedBuilder;
use polars::prelude::{
    BooleanChunked, Column, DataFrame, IntoColumn, ListBuilderTrait, NamedFrom, PolarsResult, Series,
    StringChunkedBuilder, UInt32Chunked,
};

use super::FrameError;
use super::models::ModelRows;
use crate::columns::*;

/// The names on the axes of a plan, as the columns have them.
pub(super) struct Axes {
    plan: Plan,
    agents: Vec<String>,
    guardrails: Vec<String>,
}

impl Axes {
    pub(super) fn of(plan: &Plan) -> Axes {
        Axes {
            plan: plan.clone(),
            agents: plan.agents.iter().map(ToString::to_string).collect(),
            guardrails: plan.conditions.iter().map(|condition| condition.guardrails.to_string()).collect(),
        }
    }
}

fn texts(name: &'static str) -> StringChunkedBuilder {
    StringChunkedBuilder::new(name.into(), 0)
}

fn numbers<T>(name: &'static str, values: T) -> Column
where
    Series: NamedFrom<T, [u64]>,
{
    Series::new(name.into(), values).into_column()
}

fn small_numbers<T>(name: &'static str, values: T) -> Column
where
    Series: NamedFrom<T, [u32]>,
{
    Series::new(name.into(), values).into_column()
}

fn flags(name: &'static str, values: &[bool]) -> Column {
    BooleanChunked::new(name.into(), values).into_column()
}

/// A row group of the episodes frame under construction.
pub(super) struct EpisodeRows {
    episode: Vec<u64>,
    scenario: StringChunkedBuilder,
    agent: StringChunkedBuilder,
    agent_kind: StringChunkedBuilder,
    guardrails: StringChunkedBuilder,
    format: StringChunkedBuilder,
    trial: Vec<u32>,
    outcome: StringChunkedBuilder,
    claimed_done: Vec<bool>,
    scheduled: Vec<bool>,
    schedule_hash: StringChunkedBuilder,
    turns: Vec<u32>,
    calls: Vec<u32>,
    perfect_calls: Vec<u32>,
    prompt_tokens: Vec<u32>,
    prose_tokens: Vec<u32>,
    first_call_success: Vec<bool>,
    errors: Vec<u32>,
    calls_after_error: Vec<u32>,
    repeated_calls: Vec<u32>,
    chains: Vec<u32>,
    errors_fixed: Vec<u32>,
    retries: Vec<u32>,
    hinted_calls: Vec<u32>,
    hints_followed: Vec<u32>,
    stuck: Vec<bool>,
    leaked_fields: Vec<u64>,
    call_tokens: Vec<u64>,
    wasted_tokens: Vec<u64>,
    guardrail_tokens: Vec<u64>,
    largest_response: Vec<u32>,
    models: ModelRows,
}

impl EpisodeRows {
    pub(super) fn new() -> EpisodeRows {
        EpisodeRows {
            episode: Vec::new(),
            scenario: texts(SCENARIO),
            agent: texts(AGENT),
            agent_kind: texts(AGENT_KIND),
            guardrails: texts(GUARDRAILS),
            format: texts(FORMAT),
            trial: Vec::new(),
            outcome: texts(OUTCOME),
            claimed_done: Vec::new(),
            scheduled: Vec::new(),
            schedule_hash: texts(SCHEDULE_HASH),
            turns: Vec::new(),
            calls: Vec::new(),
            perfect_calls: Vec::new(),
            prompt_tokens: Vec::new(),
            prose_tokens: Vec::new(),
            first_call_success: Vec::new(),
            errors: Vec::new(),
            calls_after_error: Vec::new(),
            repeated_calls: Vec::new(),
            chains: Vec::new(),
            errors_fixed: Vec::new(),
            retries: Vec::new(),
            hinted_calls: Vec::new(),
            hints_followed: Vec::new(),
            stuck: Vec::new(),
            leaked_fields: Vec::new(),
            call_tokens: Vec::new(),
            wasted_tokens: Vec::new(),
            guardrail_tokens: Vec::new(),
            largest_response: Vec::new(),
            models: ModelRows::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.episode.len()
    }

    pub(super) fn push(&mut self, row: &EpisodeRecord, axes: &Axes) -> Result<(), FrameError> {
        let cell = axes.plan.cell(row.episode).ok_or(FrameError::NotInPlan { episode: row.episode })?;
        self.episode.push(row.episode);
        self.scenario.append_value(&axes.plan.scenarios[cell.scenario].id);
        self.agent.append_value(&axes.agents[cell.agent]);
        self.agent_kind.append_value(axes.plan.agents[cell.agent].kind.name());
        self.guardrails.append_value(&axes.guardrails[cell.condition]);
        self.format.append_value(&*axes.plan.conditions[cell.condition].format.name());
        self.trial.push(cell.trial);
        self.outcome.append_value(row.outcome.name());
        self.claimed_done.push(row.claimed_done);
        self.scheduled.push(row.scheduled);
        self.schedule_hash.append_value(&row.schedule_hash);
        self.turns.push(row.turns);
        self.calls.push(row.calls);
        self.perfect_calls.push(row.perfect_calls);
        self.prompt_tokens.push(row.prompt_tokens);
        self.prose_tokens.push(row.prose_tokens);
        self.first_call_success.push(row.counts.first_call_success);
        self.errors.push(row.counts.errors);
        self.calls_after_error.push(row.counts.calls_after_error);
        self.repeated_calls.push(row.counts.repeated_calls);
        self.chains.push(row.counts.chains);
        self.errors_fixed.push(row.counts.errors_fixed);
        self.retries.push(row.counts.retries);
        self.hinted_calls.push(row.counts.hinted_calls);
        self.hints_followed.push(row.counts.hints_followed);
        self.stuck.push(row.counts.stuck);
        self.leaked_fields.push(row.counts.leaked_fields);
        self.call_tokens.push(row.counts.call_tokens);
        self.wasted_tokens.push(row.counts.wasted_tokens);
        self.guardrail_tokens.push(row.counts.guardrail_tokens);
        self.largest_response.push(row.counts.largest_response);
        self.models.push(&axes.plan.agents[cell.agent], row.model.as_deref());
        Ok(())
    }

    pub(super) fn into_frame(self) -> PolarsResult<DataFrame> {
        let height = self.len();
        let mut columns = vec![
            numbers(EPISODE, self.episode),
            self.scenario.finish().into_column(),
            self.agent.finish().into_column(),
            self.agent_kind.finish().into_column(),
            self.guardrails.finish().into_column(),
            self.format.finish().into_column(),
            small_numbers(TRIAL, self.trial),
            self.outcome.finish().into_column(),
            flags(CLAIMED_DONE, &self.claimed_done),
            flags(SCHEDULED, &self.scheduled),
            self.schedule_hash.finish().into_column(),
            small_numbers(TURNS, self.turns),
            small_numbers(CALLS, self.calls),
            small_numbers(PERFECT_CALLS, self.perfect_calls),
            small_numbers(PROMPT_TOKENS, self.prompt_tokens),
            small_numbers(PROSE_TOKENS, self.prose_tokens),
            flags(FIRST_CALL_SUCCESS, &self.first_call_success),
            small_numbers(ERRORS, self.errors),
            small_numbers(CALLS_AFTER_ERROR, self.calls_after_error),
            small_numbers(REPEATED_CALLS, self.repeated_calls),
            small_numbers(CHAINS, self.chains),
            small_numbers(ERRORS_FIXED, self.errors_fixed),
            small_numbers(RETRIES, self.retries),
            small_numbers(HINTED_CALLS, self.hinted_calls),
            small_numbers(HINTS_FOLLOWED, self.hints_followed),
            flags(STUCK, &self.stuck),
            numbers(LEAKED_FIELDS, self.leaked_fields),
            numbers(CALL_TOKENS, self.call_tokens),
            numbers(WASTED_TOKENS, self.wasted_tokens),
            numbers(GUARDRAIL_TOKENS, self.guardrail_tokens),
            small_numbers(LARGEST_RESPONSE, self.largest_response),
        ];
        columns.extend(self.models.into_columns()?);
        DataFrame::new(height, columns)
    }
}

/// A row group of the calls frame under construction.
pub(super) struct CallRows {
    episode: Vec<u64>,
    call: Vec<u32>,
    turn: Vec<u32>,
    tool: StringChunkedBuilder,
    action: StringChunkedBuilder,
    arguments: StringChunkedBuilder,
    is_error: Vec<bool>,
    error_class: StringChunkedBuilder,
    injected: Vec<bool>,
    named_fields: ListStringChunkedBuilder,
    changed_fields: ListStringChunkedBuilder,
    leaked_fields: Vec<u32>,
    omitted_rows: Vec<u32>,
    contract_deltas: Vec<u32>,
    state_changed: Vec<bool>,
    repeated: Vec<bool>,
    chain: Vec<Option<u32>>,
    waited_s: Vec<u32>,
    request_tokens: Vec<u32>,
    response_tokens: Vec<u32>,
    response_hash: Vec<u64>,
    guardrail_tokens: Vec<u32>,
    context_tokens: Vec<u64>,
}

impl CallRows {
    pub(super) fn new() -> CallRows {
        CallRows {
            episode: Vec::new(),
            call: Vec::new(),
            turn: Vec::new(),
            tool: texts(TOOL),
            action: texts(ACTION),
            arguments: texts(ARGUMENTS),
            is_error: Vec::new(),
            error_class: texts(ERROR_CLASS),
            injected: Vec::new(),
            named_fields: ListStringChunkedBuilder::new(NAMED_FIELDS.into(), 0, 0),
            changed_fields: ListStringChunkedBuilder::new(CHANGED_FIELDS.into(), 0, 0),
            leaked_fields: Vec::new(),
            omitted_rows: Vec::new(),
            contract_deltas: Vec::new(),
            state_changed: Vec::new(),
            repeated: Vec::new(),
            chain: Vec::new(),
            waited_s: Vec::new(),
            request_tokens: Vec::new(),
            response_tokens: Vec::new(),
            response_hash: Vec::new(),
            guardrail_tokens: Vec::new(),
            context_tokens: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.episode.len()
    }

    pub(super) fn push(&mut self, row: &CallRecord) {
        self.episode.push(row.episode);
        self.call.push(row.call);
        self.turn.push(row.turn);
        self.tool.append_value(&row.tool);
        self.action.append_option(row.action.as_deref());
        self.arguments.append_value(&row.arguments);
        self.is_error.push(row.is_error);
        self.error_class.append_option(row.error_class.as_deref());
        self.injected.push(row.injected);
        push_texts(&mut self.named_fields, row.named_fields.as_deref());
        push_texts(&mut self.changed_fields, row.changed_fields.as_deref());
        self.leaked_fields.push(row.leaked_fields);
        self.omitted_rows.push(row.omitted_rows);
        self.contract_deltas.push(row.contract_deltas);
        self.state_changed.push(row.state_changed);
        self.repeated.push(row.repeated);
        self.chain.push(row.chain);
        self.waited_s.push(row.waited_s);
        self.request_tokens.push(row.request_tokens);
        self.response_tokens.push(row.response_tokens);
        self.response_hash.push(row.response_hash);
        self.guardrail_tokens.push(row.guardrail_tokens);
        self.context_tokens.push(row.context_tokens);
    }

    pub(super) fn into_frame(mut self) -> PolarsResult<DataFrame> {
        let height = self.len();
        let columns = vec![
            numbers(EPISODE, self.episode),
            small_numbers(CALL, self.call),
            small_numbers(TURN, self.turn),
            self.tool.finish().into_column(),
            self.action.finish().into_column(),
            self.arguments.finish().into_column(),
            flags(IS_ERROR, &self.is_error),
            self.error_class.finish().into_column(),
            flags(INJECTED, &self.injected),
            self.named_fields.finish().into_column(),
            self.changed_fields.finish().into_column(),
            small_numbers(LEAKED_FIELDS, self.leaked_fields),
            small_numbers(OMITTED_ROWS, self.omitted_rows),
            small_numbers(CONTRACT_DELTAS, self.contract_deltas),
            flags(STATE_CHANGED, &self.state_changed),
            flags(REPEATED_CALL, &self.repeated),
            self.chain.into_iter().collect::<UInt32Chunked>().with_name(CHAIN.into()).into_column(),
            small_numbers(WAITED_S, self.waited_s),
            small_numbers(REQUEST_TOKENS, self.request_tokens),
            small_numbers(RESPONSE_TOKENS, self.response_tokens),
            numbers(RESPONSE_HASH, self.response_hash),
            small_numbers(GUARDRAIL_TOKENS, self.guardrail_tokens),
            numbers(CONTEXT_TOKENS, self.context_tokens),
        ];
        DataFrame::new(height, columns)
    }
}

fn push_texts(builder: &mut ListStringChunkedBuilder, values: Option<&[String]>) {
    match values {
        Some(values) => builder.append_values_iter(values.iter().map(String::as_str)),
        None => builder.append_null(),
    }
}
