//! The conversion between records and rows of the frames. A null or a word that healbench does not write is an error with its row.

use std::borrow::Cow;
use std::path::Path;

use healbench_core::FaultKind;
use healbench_core::{
    Aftermath, AgentKind, BilledTokens, CallRecord, ChainEnd, Condition, EndedBy, EpisodeCounts, EpisodeRecord,
    ErrorClass, ErrorKind, ErrorReading, ErrorSource, ModelUsage, Move, Outcome, Plan, PlanOrder, Usage,
};
use polars::prelude::DataFrame;

use super::FrameError;
use crate::columns::*;

/// The `token_source` of tokens counted by the provider.
pub(super) const PROVIDER: &str = "provider";
/// The `token_source` of tokens counted by healbench with `o200k_base`.
pub(super) const BPE: &str = "bpe";

/// The names on the axes of a plan, formatted once for all rows.
pub(super) struct AxisNames {
    plan: Plan,
    agents: Vec<String>,
    conditions: Vec<String>,
    guardrails: Vec<String>,
    formats: Vec<String>,
}

impl AxisNames {
    pub(super) fn of(plan: &Plan) -> AxisNames {
        let conditions = &plan.conditions;
        AxisNames {
            plan: plan.clone(),
            agents: plan.agents.iter().map(ToString::to_string).collect(),
            conditions: conditions.iter().map(Condition::label).collect(),
            guardrails: conditions.iter().map(|condition| condition.guardrails().to_string()).collect(),
            formats: conditions.iter().map(|condition| condition.format().name().to_string()).collect(),
        }
    }

    /// Adds what a plan that lists its episodes has gained since.
    pub(super) fn extend(&mut self, plan: &Plan) {
        let known = &mut self.plan;
        known.scenarios.extend_from_slice(plan.scenarios.get(known.scenarios.len()..).unwrap_or_default());
        let new_agents = plan.agents.get(known.agents.len()..).unwrap_or_default();
        self.agents.extend(new_agents.iter().map(ToString::to_string));
        known.agents.extend_from_slice(new_agents);
        if let (PlanOrder::Listed(known), PlanOrder::Listed(listed)) = (&mut known.order, &plan.order) {
            known.extend_from_slice(listed.get(known.len()..).unwrap_or_default());
        }
    }
}

pub(super) fn episode_row<'a>(row: &'a EpisodeRecord, axes: &'a AxisNames) -> Result<EpisodeRow<'a>, FrameError> {
    let cell = axes.plan.cell(row.episode).ok_or(FrameError::NotInPlan { episode: row.episode })?;
    let (scenario, agent) = (&axes.plan.scenarios[cell.scenario], &axes.plan.agents[cell.agent]);
    let condition = &axes.plan.conditions[cell.condition];
    let counts = &row.counts;
    let model = row.model.as_deref();
    // Null unless a request was sent, or the turns of a program are not known.
    let asked = model.filter(|model| model.turns != Some(0));
    let usage = model.and_then(|model| model.usage);
    let counted = asked.and(row.billed);
    let is_trace = axes.plan.is_trace();
    Ok(EpisodeRow {
        episode: row.episode,
        scenario: &scenario.id,
        cluster: &scenario.cluster,
        environment: axes.plan.environment.kind.name(),
        server: axes.plan.environment.server.as_deref(),
        agent: &axes.agents[cell.agent],
        agent_kind: agent.kind.name(),
        condition: &axes.conditions[cell.condition],
        undeclared: unless(is_trace, condition.values.undeclared.name()),
        guardrails: unless(is_trace, &axes.guardrails[cell.condition]),
        format: unless(is_trace, &axes.formats[cell.condition]),
        content: unless(is_trace, condition.values.content.name()),
        client: unless(is_trace, condition.values.client.name()),
        trial: cell.trial,
        outcome: row.outcome.name(),
        ended_by: row.ended_by.name(),
        claimed_done: row.claimed_done,
        scheduled: unless(is_trace, row.scheduled),
        schedule_hash: unless(is_trace, &row.schedule_hash),
        tags: Some(Cow::Borrowed(row.tags.as_slice())).filter(|tags| !tags.is_empty()),
        turns: row.turns,
        calls: row.calls,
        perfect_calls: unless(is_trace, row.perfect_calls),
        prompt_tokens: row.prompt_tokens,
        prose_tokens: row.prose_tokens,
        first_call_success: counts.first_call_success,
        errors: counts.errors,
        told_answers: counts.told_answers,
        calls_after_error: counts.calls_after_error,
        repeated_calls: counts.repeated_calls,
        chains: counts.chains,
        errors_fixed: unless(is_trace, counts.errors_fixed),
        wrong_repairs: unless(is_trace, counts.wrong_repairs),
        retries: counts.retries,
        hinted_calls: counts.hinted_calls,
        hints_followed: counts.hints_followed,
        stuck: counts.stuck,
        leaked_fields: counts.leaked_fields,
        call_tokens: counts.call_tokens,
        wasted_tokens: counts.wasted_tokens,
        guardrail_tokens: unless(is_trace, i64::try_from(counts.guardrail_tokens).ok()).flatten(),
        largest_response: counts.largest_response,
        billed_input_tokens: row.billed.map(|billed| billed.input),
        billed_output_tokens: row.billed.map(|billed| billed.output),
        unsent_tokens: row.billed.map(|billed| billed.unsent),
        opening: model.and(agent.opening).map(|opening| opening.name()),
        tools_mode: model.and(agent.tools).map(|tools| tools.name()),
        opening_calls: model.map(|model| model.opening_calls),
        model_turns: model.and_then(|model| model.turns),
        token_source: usage.map(|_| PROVIDER).or(counted.map(|_| BPE)),
        input_tokens: usage.map(|usage| usage.input).or(counted.map(|billed| billed.input)),
        cache_read_tokens: usage.and_then(|usage| usage.cache_read),
        cache_write_tokens: usage.and_then(|usage| usage.cache_write),
        output_tokens: usage.map(|usage| usage.output).or(counted.map(|billed| billed.output)),
        reasoning_tokens: usage.and_then(|usage| usage.reasoning),
        cost_usd: model.and_then(|model| model.usd),
        latency_ms: asked.and_then(|model| model.latency_ms),
        diagnostics: model.map(|model| Cow::Borrowed(model.diagnostics.as_slice())).filter(|words| !words.is_empty()),
    })
}

/// Returns a value that a trace does not have.
fn unless<T>(is_trace: bool, value: T) -> Option<T> {
    (!is_trace).then_some(value)
}

pub(super) fn call_row<'a>(row: &'a CallRecord, axes: &AxisNames) -> CallRow<'a> {
    let is_trace = axes.plan.is_trace();
    CallRow {
        episode: row.episode,
        call: row.call,
        turn: row.turn,
        tool: &row.tool,
        action: row.action.as_deref(),
        arguments: &row.arguments,
        is_error: row.is_error,
        error_class: row.error_class.as_ref().map(ErrorClass::name),
        injected: row.injected,
        fault: row.fault.map(FaultKind::name),
        error_source: row.error_source.map(ErrorSource::name),
        error_kind: row.reading.map(|reading| reading.kind.name()),
        names_field: row.reading.map(|reading| reading.names_field),
        states_remedy: row.reading.map(|reading| reading.states_remedy),
        names_tool: row.reading.map(|reading| reading.names_tool),
        attempt_of: row.attempt_of,
        next_attempt: row.aftermath.and_then(|aftermath| aftermath.next_attempt),
        r#move: row.aftermath.map(|aftermath| aftermath.next_move.name()),
        came_back: row.aftermath.map(|aftermath| aftermath.came_back),
        user_replied: row.aftermath.map(|aftermath| aftermath.user_replied),
        elsewhere: row.aftermath.map(|aftermath| aftermath.elsewhere),
        named_fields: row.named_fields.as_deref().map(Cow::Borrowed),
        changed_fields: row.changed_fields.as_deref().map(Cow::Borrowed),
        leaked_fields: row.leaked_fields,
        omitted_rows: unless(is_trace, row.omitted_rows),
        contract_deltas: unless(is_trace, row.contract_deltas),
        state_changed: row.state_changed,
        repeated_call: row.repeated,
        intended: row.intended,
        told_answer: row.told_answer,
        chain: row.chain,
        chain_end: row.chain_end.map(ChainEnd::name),
        waited_s: unless(is_trace, row.waited_s),
        request_tokens: row.request_tokens,
        response_tokens: row.response_tokens,
        tokens_estimated: row.tokens_estimated,
        response_hash: row.response_hash,
        guardrail_tokens: unless(is_trace, row.guardrail_tokens.into()),
        context_tokens: row.context_tokens,
    }
}

pub(crate) fn episodes(path: &Path, frame: &DataFrame) -> Result<Vec<EpisodeRecord>, FrameError> {
    let rows = EpisodeRow::read(path, frame)?.enumerate();
    rows.map(|(at, row)| {
        let unknown = |column| FrameError::Value { path: path.into(), column, row: at };
        let billed = billed(&row).map_err(unknown)?;
        // The turns of a program are not known, and those of every other agent are. A trace has no schedule.
        let is_program = row.agent_kind == AgentKind::Program.name();
        let is_trace = row.agent_kind == AgentKind::Trace.name();
        let nulls = [
            (row.turns.is_none(), is_program, TURNS),
            (row.prose_tokens.is_none(), is_program, PROSE_TOKENS),
            (billed.is_none(), is_program || is_trace, BILLED_INPUT_TOKENS),
            (row.scheduled.is_none(), is_trace, SCHEDULED),
            (row.schedule_hash.is_none(), is_trace, SCHEDULE_HASH),
            (row.perfect_calls.is_none(), is_trace, PERFECT_CALLS),
            (row.errors_fixed.is_none(), is_trace, ERRORS_FIXED),
            (row.wrong_repairs.is_none(), is_trace, WRONG_REPAIRS),
            (row.guardrail_tokens.is_none(), is_trace, GUARDRAIL_TOKENS),
            (row.tags.is_none(), row.tags.is_none() || !is_trace, TAGS),
        ];
        if let Some((.., column)) = nulls.into_iter().find(|(is_null, expected, _)| is_null != expected) {
            return Err(unknown(column));
        }
        Ok(EpisodeRecord {
            model: model(&row).map_err(unknown)?.map(Box::new),
            episode: row.episode,
            outcome: outcome(row.outcome).ok_or_else(|| unknown(OUTCOME))?,
            ended_by: EndedBy::from_name(row.ended_by).ok_or_else(|| unknown(ENDED_BY))?,
            claimed_done: row.claimed_done,
            scheduled: row.scheduled.unwrap_or_default(),
            schedule_hash: row.schedule_hash.unwrap_or_default().to_owned(),
            tags: row.tags.map(Cow::into_owned).unwrap_or_default(),
            turns: row.turns,
            calls: row.calls,
            perfect_calls: row.perfect_calls.unwrap_or_default(),
            prompt_tokens: row.prompt_tokens,
            prose_tokens: row.prose_tokens,
            counts: EpisodeCounts {
                first_call_success: row.first_call_success,
                errors: row.errors,
                told_answers: row.told_answers,
                calls_after_error: row.calls_after_error,
                repeated_calls: row.repeated_calls,
                chains: row.chains,
                errors_fixed: row.errors_fixed.unwrap_or_default(),
                wrong_repairs: row.wrong_repairs.unwrap_or_default(),
                retries: row.retries,
                hinted_calls: row.hinted_calls,
                hints_followed: row.hints_followed,
                stuck: row.stuck,
                leaked_fields: row.leaked_fields,
                call_tokens: row.call_tokens,
                wasted_tokens: row.wasted_tokens,
                guardrail_tokens: known(row.guardrail_tokens, is_trace).ok_or_else(|| unknown(GUARDRAIL_TOKENS))?,
                largest_response: row.largest_response,
            },
            billed,
        })
    })
    .collect()
}

/// Returns an error with the name of the invalid column.
fn billed(row: &EpisodeRow<'_>) -> Result<Option<BilledTokens>, &'static str> {
    let (input, output, unsent) = (row.billed_input_tokens, row.billed_output_tokens, row.unsent_tokens);
    if input.is_none() && output.is_none() && unsent.is_none() {
        return Ok(None);
    }
    Ok(Some(BilledTokens {
        input: input.ok_or(BILLED_INPUT_TOKENS)?,
        output: output.ok_or(BILLED_OUTPUT_TOKENS)?,
        unsent: unsent.ok_or(UNSENT_TOKENS)?,
    }))
}

/// Returns an error with the name of the invalid column.
fn model(row: &EpisodeRow<'_>) -> Result<Option<ModelUsage>, &'static str> {
    let Some(opening_calls) = row.opening_calls else { return Ok(None) };
    let turns = row.model_turns;
    let usage = match row.token_source {
        Some(PROVIDER) => Some(Usage {
            input: row.input_tokens.ok_or(INPUT_TOKENS)?,
            cache_read: row.cache_read_tokens,
            cache_write: row.cache_write_tokens,
            output: row.output_tokens.ok_or(OUTPUT_TOKENS)?,
            reasoning: row.reasoning_tokens,
        }),
        Some(BPE) | None => None,
        Some(_) => return Err(TOKEN_SOURCE),
    };
    // Not null exactly if a request was sent.
    let latency_ms = match turns {
        Some(0) => Some(0),
        Some(_) => Some(row.latency_ms.ok_or(LATENCY_MS)?),
        None => None,
    };
    let diagnostics = row.diagnostics.clone().map(Cow::into_owned).unwrap_or_default();
    Ok(Some(ModelUsage { opening_calls, turns, usage, usd: row.cost_usd, latency_ms, diagnostics }))
}

/// Returns a number that is not negative; 0 if it is null in a trace.
fn known<T: TryFrom<i64> + Default>(number: Option<i64>, is_trace: bool) -> Option<T> {
    match number {
        None if is_trace => Some(T::default()),
        number => T::try_from(number?).ok(),
    }
}

fn outcome(word: &str) -> Option<Outcome> {
    Outcome::ALL.into_iter().find(|known| known.name() == word)
}

/// Decodes the column of outcomes.
pub(crate) fn outcomes(path: &Path, frame: &DataFrame) -> Result<Vec<Outcome>, FrameError> {
    let words = read::<Text>(path, frame, OUTCOME)?.into_iter().enumerate();
    let unknown = |row| FrameError::Value { path: path.into(), column: OUTCOME, row };
    words.map(|(row, word)| outcome(word).ok_or_else(|| unknown(row))).collect()
}

pub(crate) fn calls(path: &Path, frame: &DataFrame) -> Result<Vec<CallRecord>, FrameError> {
    let rows = CallRow::read(path, frame)?.enumerate();
    let end = |name: &str| ChainEnd::ALL.into_iter().find(|end| end.name() == name);
    let source = |name: &str| ErrorSource::ALL.into_iter().find(|source| source.name() == name);
    let record = |(at, row): (usize, CallRow<'_>)| {
        let unknown = |column| FrameError::Value { path: path.into(), column, row: at };
        let fault = row.fault.map(|name| FaultKind::from_name(name).ok_or_else(|| unknown(FAULT))).transpose()?;
        // The calls of a trace lack all of these.
        let is_trace = row.waited_s.is_none();
        let nulls = [(row.omitted_rows.is_none(), OMITTED_ROWS), (row.contract_deltas.is_none(), CONTRACT_DELTAS)];
        if let Some((_, column)) = nulls.into_iter().find(|(is_null, _)| *is_null != is_trace) {
            return Err(unknown(column));
        }
        let (reading, aftermath) = (reading(&row).map_err(unknown)?, aftermath(&row).map_err(unknown)?);
        Ok(CallRecord {
            episode: row.episode,
            call: row.call,
            turn: row.turn,
            tool: row.tool.into(),
            action: row.action.map(Into::into),
            arguments: row.arguments.into(),
            is_error: row.is_error,
            error_class: row.error_class.map(Into::into),
            injected: row.injected,
            fault,
            named_fields: row.named_fields.map(|fields| fields.into_owned().into()),
            changed_fields: row.changed_fields.map(|fields| fields.into_owned().into()),
            leaked_fields: row.leaked_fields,
            omitted_rows: row.omitted_rows.unwrap_or_default(),
            contract_deltas: row.contract_deltas.unwrap_or_default(),
            state_changed: row.state_changed,
            repeated: row.repeated_call,
            intended: row.intended,
            told_answer: row.told_answer,
            chain: row.chain,
            chain_end: row.chain_end.map(|name| end(name).ok_or_else(|| unknown(CHAIN_END))).transpose()?,
            waited_s: row.waited_s.unwrap_or_default(),
            request_tokens: row.request_tokens,
            response_tokens: row.response_tokens,
            tokens_estimated: row.tokens_estimated,
            response_hash: row.response_hash,
            guardrail_tokens: known(row.guardrail_tokens, is_trace).ok_or_else(|| unknown(GUARDRAIL_TOKENS))?,
            context_tokens: row.context_tokens,
            error_source: row.error_source.map(|name| source(name).ok_or_else(|| unknown(ERROR_SOURCE))).transpose()?,
            reading,
            attempt_of: row.attempt_of,
            aftermath,
        })
    };
    rows.map(record).collect()
}

/// Returns what the reader found, or an error with the name of the invalid column.
fn reading(row: &CallRow<'_>) -> Result<Option<ErrorReading>, &'static str> {
    let facts = [row.names_field, row.states_remedy, row.names_tool];
    let Some(kind) = row.error_kind else {
        return if facts.iter().all(Option::is_none) { Ok(None) } else { Err(ERROR_KIND) };
    };
    Ok(Some(ErrorReading {
        kind: ErrorKind::from_name(kind).ok_or(ERROR_KIND)?,
        names_field: row.names_field.ok_or(NAMES_FIELD)?,
        states_remedy: row.states_remedy.ok_or(STATES_REMEDY)?,
        names_tool: row.names_tool.ok_or(NAMES_TOOL)?,
    }))
}

/// Returns what followed an error, or an error with the name of the invalid column.
fn aftermath(row: &CallRow<'_>) -> Result<Option<Aftermath>, &'static str> {
    let others = [row.came_back, row.user_replied, row.elsewhere];
    let Some(next_move) = row.r#move else {
        return if others.iter().all(Option::is_none) && row.next_attempt.is_none() { Ok(None) } else { Err(MOVE) };
    };
    Ok(Some(Aftermath {
        next_move: Move::from_name(next_move).ok_or(MOVE)?,
        next_attempt: row.next_attempt,
        elsewhere: row.elsewhere.ok_or(ELSEWHERE)?,
        came_back: row.came_back.ok_or(CAME_BACK)?,
        user_replied: row.user_replied.ok_or(USER_REPLIED)?,
    }))
}
