//! The columns of the episodes frame that tell of models. They are null for an agent without one, which is most rows there are:
//! only the others are kept while a row group grows.

use std::path::Path;

use healbench_protocol::{AgentSpec, Usage};
use healbench_record::ModelUsage;
use polars::prelude::{
    Column, DataFrame, Float64Chunked, IntoColumn, NewChunkedArray, PolarsResult, StringChunked, UInt32Chunked,
    UInt64Chunked,
};

use super::FrameError;
use super::decode::{maybe, maybe_texts};
use crate::columns::*;

/// `token_source` where the provider counted.
const PROVIDER: &str = "provider";
/// `token_source` where healbench counted, by `o200k_base`.
const BPE: &str = "bpe";

/// The rows of a group that have a model.
#[derive(Default)]
pub(super) struct ModelRows {
    height: usize,
    rows: Vec<Row>,
}

struct Row {
    at: usize,
    opening: Option<&'static str>,
    tools: Option<&'static str>,
    model: ModelUsage,
}

impl ModelRows {
    pub(super) fn push(&mut self, agent: &AgentSpec, model: Option<&ModelUsage>) {
        if let Some(model) = model {
            let (opening, tools) = (agent.opening.map(|opening| opening.name()), agent.tools.map(|tools| tools.name()));
            self.rows.push(Row { at: self.height, opening, tools, model: *model });
        }
        self.height += 1;
    }

    /// The columns, in the order of [`MODEL_COLUMNS`].
    pub(super) fn into_columns(self) -> PolarsResult<Vec<Column>> {
        if self.rows.is_empty() {
            let null = |(name, holds): &(&'static str, ColumnType)| {
                Column::full_null((*name).into(), self.height, &holds.data_type())
            };
            return Ok(MODEL_COLUMNS.iter().map(null).collect());
        }
        let usage = |row: &Row| row.model.usage;
        let asked = |row: &Row| row.model.turns > 0;
        let source = |row: &Row| asked(row).then(|| if usage(row).is_some() { PROVIDER } else { BPE });
        let input = |row: &Row| usage(row).map(|usage| usage.input).or(asked(row).then_some(row.model.bpe_input));
        let output = |row: &Row| usage(row).map(|usage| usage.output).or(asked(row).then_some(row.model.bpe_output));
        Ok(vec![
            self.texts(OPENING, |row| row.opening),
            self.texts(TOOLS_MODE, |row| row.tools),
            self.small(OPENING_CALLS, |row| Some(row.model.opening_calls)),
            self.small(MODEL_TURNS, |row| Some(row.model.turns)),
            self.texts(TOKEN_SOURCE, source),
            self.numbers(INPUT_TOKENS, input),
            self.numbers(CACHE_READ_TOKENS, |row| usage(row)?.cache_read),
            self.numbers(CACHE_WRITE_TOKENS, |row| usage(row)?.cache_write),
            self.numbers(OUTPUT_TOKENS, output),
            self.numbers(REASONING_TOKENS, |row| usage(row)?.reasoning),
            self.numbers(BPE_INPUT_TOKENS, |row| asked(row).then_some(row.model.bpe_input)),
            self.numbers(BPE_OUTPUT_TOKENS, |row| asked(row).then_some(row.model.bpe_output)),
            Float64Chunked::from_iter_options(COST_USD.into(), self.spread(|row| row.model.usd)).into_column(),
            self.numbers(LATENCY_MS, |row| asked(row).then_some(row.model.latency_ms)),
        ])
    }

    fn spread<'a, T: 'a>(&'a self, value: impl Fn(&Row) -> Option<T> + 'a) -> impl Iterator<Item = Option<T>> + 'a {
        let mut rows = self.rows.iter().peekable();
        (0..self.height).map(move |at| rows.next_if(|row| row.at == at).and_then(&value))
    }

    fn texts(&self, name: &'static str, value: impl Fn(&Row) -> Option<&'static str>) -> Column {
        StringChunked::from_iter_options(name.into(), self.spread(value)).into_column()
    }

    fn numbers(&self, name: &'static str, value: impl Fn(&Row) -> Option<u64>) -> Column {
        UInt64Chunked::from_iter_options(name.into(), self.spread(value)).into_column()
    }

    fn small(&self, name: &'static str, value: impl Fn(&Row) -> Option<u32>) -> Column {
        UInt32Chunked::from_iter_options(name.into(), self.spread(value)).into_column()
    }
}

/// What each row of a frame says of its model.
pub(super) fn decode(path: &Path, frame: &DataFrame) -> Result<Vec<Option<Box<ModelUsage>>>, FrameError> {
    let turns = maybe(path, frame, MODEL_TURNS, |column| Ok(column.u32()?.iter().collect()))?;
    if turns.iter().all(Option::is_none) {
        return Ok(vec![None; turns.len()]);
    }
    let numbers = |name| maybe(path, frame, name, |column| Ok(column.u64()?.iter().collect::<Vec<Option<u64>>>()));
    let opening_calls = maybe(path, frame, OPENING_CALLS, |column| Ok(column.u32()?.iter().collect::<Vec<_>>()))?;
    let source = maybe_texts(path, frame, TOKEN_SOURCE)?;
    let (input, output) = (numbers(INPUT_TOKENS)?, numbers(OUTPUT_TOKENS)?);
    let (cache_read, cache_write) = (numbers(CACHE_READ_TOKENS)?, numbers(CACHE_WRITE_TOKENS)?);
    let reasoning = numbers(REASONING_TOKENS)?;
    let (bpe_input, bpe_output) = (numbers(BPE_INPUT_TOKENS)?, numbers(BPE_OUTPUT_TOKENS)?);
    let latency_ms = numbers(LATENCY_MS)?;
    let usd = maybe(path, frame, COST_USD, |column| Ok(column.f64()?.iter().collect::<Vec<_>>()))?;
    let row = |row: usize| {
        let missing = |column: &'static str| FrameError::Value { path: path.into(), column, row };
        let Some(turns) = turns[row] else { return Ok(None) };
        let usage = match source[row] {
            Some(PROVIDER) => Some(Usage {
                input: input[row].ok_or_else(|| missing(INPUT_TOKENS))?,
                cache_read: cache_read[row],
                cache_write: cache_write[row],
                output: output[row].ok_or_else(|| missing(OUTPUT_TOKENS))?,
                reasoning: reasoning[row],
            }),
            Some(BPE) | None => None,
            Some(_) => return Err(missing(TOKEN_SOURCE)),
        };
        // Counts are there exactly when a model was asked.
        let count = |value: Option<u64>, column| match turns {
            0 => Ok(0),
            _ => value.ok_or_else(|| missing(column)),
        };
        Ok(Some(Box::new(ModelUsage {
            opening_calls: opening_calls[row].ok_or_else(|| missing(OPENING_CALLS))?,
            turns,
            usage,
            usd: usd[row],
            latency_ms: count(latency_ms[row], LATENCY_MS)?,
            bpe_input: count(bpe_input[row], BPE_INPUT_TOKENS)?,
            bpe_output: count(bpe_output[row], BPE_OUTPUT_TOKENS)?,
        })))
    };
    (0..turns.len()).map(row).collect()
}
