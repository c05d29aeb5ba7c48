//! Columns back to rows. A null or a word that no writer of healbench leaves is an error with its place.

use std::path::Path;

use healbench_record::{CallRecord, EpisodeCounts, EpisodeRecord, Outcome};
use polars::prelude::{DataFrame, PolarsError};

use super::{FrameError, models};
use crate::columns::*;

pub(crate) fn episodes(path: &Path, frame: &DataFrame) -> Result<Vec<EpisodeRecord>, FrameError> {
    let episode = numbers(path, frame, EPISODE)?;
    let outcome = outcomes(path, frame)?;
    let claimed_done = flags(path, frame, CLAIMED_DONE)?;
    let scheduled = flags(path, frame, SCHEDULED)?;
    let schedule_hash = texts(path, frame, SCHEDULE_HASH)?;
    let turns = small_numbers(path, frame, TURNS)?;
    let calls = small_numbers(path, frame, CALLS)?;
    let perfect_calls = small_numbers(path, frame, PERFECT_CALLS)?;
    let prompt_tokens = small_numbers(path, frame, PROMPT_TOKENS)?;
    let prose_tokens = small_numbers(path, frame, PROSE_TOKENS)?;
    let counts = tallies(path, frame)?;
    let mut model = models::decode(path, frame)?;
    let row = |row: usize| EpisodeRecord {
        episode: episode[row],
        outcome: outcome[row],
        claimed_done: claimed_done[row],
        scheduled: scheduled[row],
        schedule_hash: schedule_hash[row].to_owned(),
        turns: turns[row],
        calls: calls[row],
        perfect_calls: perfect_calls[row],
        prompt_tokens: prompt_tokens[row],
        prose_tokens: prose_tokens[row],
        counts: counts[row],
        model: model[row].take(),
    };
    Ok((0..frame.height()).map(row).collect())
}

/// How the episodes of some rows ended.
pub(crate) fn outcomes(path: &Path, frame: &DataFrame) -> Result<Vec<Outcome>, FrameError> {
    let known = |word: &str| Outcome::ALL.into_iter().find(|known| known.name() == word);
    let foreign = |row| FrameError::Value { path: path.into(), column: OUTCOME, row };
    let words = texts(path, frame, OUTCOME)?;
    words.into_iter().enumerate().map(|(row, word)| known(word).ok_or_else(|| foreign(row))).collect()
}

fn tallies(path: &Path, frame: &DataFrame) -> Result<Vec<EpisodeCounts>, FrameError> {
    let first_call_success = flags(path, frame, FIRST_CALL_SUCCESS)?;
    let errors = small_numbers(path, frame, ERRORS)?;
    let calls_after_error = small_numbers(path, frame, CALLS_AFTER_ERROR)?;
    let repeated_calls = small_numbers(path, frame, REPEATED_CALLS)?;
    let chains = small_numbers(path, frame, CHAINS)?;
    let errors_fixed = small_numbers(path, frame, ERRORS_FIXED)?;
    let retries = small_numbers(path, frame, RETRIES)?;
    let hinted_calls = small_numbers(path, frame, HINTED_CALLS)?;
    let hints_followed = small_numbers(path, frame, HINTS_FOLLOWED)?;
    let stuck = flags(path, frame, STUCK)?;
    let leaked_fields = numbers(path, frame, LEAKED_FIELDS)?;
    let call_tokens = numbers(path, frame, CALL_TOKENS)?;
    let wasted_tokens = numbers(path, frame, WASTED_TOKENS)?;
    let guardrail_tokens = numbers(path, frame, GUARDRAIL_TOKENS)?;
    let largest_response = small_numbers(path, frame, LARGEST_RESPONSE)?;
    let row = |row: usize| EpisodeCounts {
        first_call_success: first_call_success[row],
        errors: errors[row],
        calls_after_error: calls_after_error[row],
        repeated_calls: repeated_calls[row],
        chains: chains[row],
        errors_fixed: errors_fixed[row],
        retries: retries[row],
        hinted_calls: hinted_calls[row],
        hints_followed: hints_followed[row],
        stuck: stuck[row],
        leaked_fields: leaked_fields[row],
        call_tokens: call_tokens[row],
        wasted_tokens: wasted_tokens[row],
        guardrail_tokens: guardrail_tokens[row],
        largest_response: largest_response[row],
    };
    Ok((0..frame.height()).map(row).collect())
}

pub(crate) fn calls(path: &Path, frame: &DataFrame) -> Result<Vec<CallRecord>, FrameError> {
    let episode = numbers(path, frame, EPISODE)?;
    let call = small_numbers(path, frame, CALL)?;
    let turn = small_numbers(path, frame, TURN)?;
    let tool = texts(path, frame, TOOL)?;
    let action = maybe_texts(path, frame, ACTION)?;
    let arguments = texts(path, frame, ARGUMENTS)?;
    let is_error = flags(path, frame, IS_ERROR)?;
    let error_class = maybe_texts(path, frame, ERROR_CLASS)?;
    let injected = flags(path, frame, INJECTED)?;
    let mut named_fields = lists(path, frame, NAMED_FIELDS)?;
    let mut changed_fields = lists(path, frame, CHANGED_FIELDS)?;
    let leaked_fields = small_numbers(path, frame, LEAKED_FIELDS)?;
    let omitted_rows = small_numbers(path, frame, OMITTED_ROWS)?;
    let contract_deltas = small_numbers(path, frame, CONTRACT_DELTAS)?;
    let state_changed = flags(path, frame, STATE_CHANGED)?;
    let repeated = flags(path, frame, REPEATED_CALL)?;
    let chain: Vec<Option<u32>> = column(path, frame, CHAIN)?.u32().map_err(damaged(path))?.iter().collect();
    let waited_s = small_numbers(path, frame, WAITED_S)?;
    let request_tokens = small_numbers(path, frame, REQUEST_TOKENS)?;
    let response_tokens = small_numbers(path, frame, RESPONSE_TOKENS)?;
    let response_hash = numbers(path, frame, RESPONSE_HASH)?;
    let guardrail_tokens = small_numbers(path, frame, GUARDRAIL_TOKENS)?;
    let context_tokens = numbers(path, frame, CONTEXT_TOKENS)?;
    let row = |row: usize| CallRecord {
        episode: episode[row],
        call: call[row],
        turn: turn[row],
        tool: tool[row].into(),
        action: action[row].map(Into::into),
        arguments: arguments[row].into(),
        is_error: is_error[row],
        error_class: error_class[row].map(Into::into),
        injected: injected[row],
        named_fields: named_fields[row].take().map(Into::into),
        changed_fields: changed_fields[row].take().map(Into::into),
        leaked_fields: leaked_fields[row],
        omitted_rows: omitted_rows[row],
        contract_deltas: contract_deltas[row],
        state_changed: state_changed[row],
        repeated: repeated[row],
        chain: chain[row],
        waited_s: waited_s[row],
        request_tokens: request_tokens[row],
        response_tokens: response_tokens[row],
        response_hash: response_hash[row],
        guardrail_tokens: guardrail_tokens[row],
        context_tokens: context_tokens[row],
    };
    Ok((0..frame.height()).map(row).collect())
}

pub(super) fn numbers(path: &Path, frame: &DataFrame, name: &'static str) -> Result<Vec<u64>, FrameError> {
    present(path, name, column(path, frame, name)?.u64().map_err(damaged(path))?.iter())
}

fn small_numbers(path: &Path, frame: &DataFrame, name: &'static str) -> Result<Vec<u32>, FrameError> {
    present(path, name, column(path, frame, name)?.u32().map_err(damaged(path))?.iter())
}

fn flags(path: &Path, frame: &DataFrame, name: &'static str) -> Result<Vec<bool>, FrameError> {
    present(path, name, column(path, frame, name)?.bool().map_err(damaged(path))?.iter())
}

fn texts<'a>(path: &Path, frame: &'a DataFrame, name: &'static str) -> Result<Vec<&'a str>, FrameError> {
    present(path, name, column(path, frame, name)?.str().map_err(damaged(path))?.iter())
}

pub(super) fn maybe_texts<'a>(
    path: &Path,
    frame: &'a DataFrame,
    name: &'static str,
) -> Result<Vec<Option<&'a str>>, FrameError> {
    Ok(column(path, frame, name)?.str().map_err(damaged(path))?.iter().collect())
}

/// A column with nulls, by what takes its values out.
pub(super) fn maybe<T>(
    path: &Path,
    frame: &DataFrame,
    name: &'static str,
    values: impl FnOnce(&polars::prelude::Column) -> Result<Vec<Option<T>>, PolarsError>,
) -> Result<Vec<Option<T>>, FrameError> {
    values(column(path, frame, name)?).map_err(damaged(path))
}

fn lists(path: &Path, frame: &DataFrame, name: &'static str) -> Result<Vec<Option<Vec<String>>>, FrameError> {
    let lists = column(path, frame, name)?.list().map_err(damaged(path))?;
    let mut rows = Vec::with_capacity(lists.len());
    for row in 0..lists.len() {
        let Some(list) = lists.get_as_series(row) else {
            rows.push(None);
            continue;
        };
        let list = list.str().map_err(damaged(path))?;
        let words = list.iter().map(|word| word.map(str::to_owned)).collect::<Option<Vec<String>>>();
        rows.push(Some(words.ok_or_else(|| FrameError::Value { path: path.into(), column: name, row })?));
    }
    Ok(rows)
}

fn column<'a>(
    path: &Path,
    frame: &'a DataFrame,
    name: &'static str,
) -> Result<&'a polars::prelude::Column, FrameError> {
    frame.column(name).map_err(damaged(path))
}

fn present<T>(
    path: &Path,
    column: &'static str,
    values: impl Iterator<Item = Option<T>>,
) -> Result<Vec<T>, FrameError> {
    let check =
        |(row, value): (usize, Option<T>)| value.ok_or_else(|| FrameError::Value { path: path.into(), column, row });
    values.enumerate().map(check).collect()
}

fn damaged(path: &Path) -> impl FnOnce(PolarsError) -> FrameError + use<> {
    let path = path.to_path_buf();
    move |source| FrameError::Damaged { path, source }
}
