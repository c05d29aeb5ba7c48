//! Sums over the episodes of a run, for the history of a suite.

use healbench_core::Outcome;
use healbench_store::RunDir;

use crate::columns::{BILLED_INPUT_TOKENS, BILLED_OUTPUT_TOKENS, COST_USD, ColumnType, F64, OUTCOME, Text, U64, read};
use crate::episodes::BATCH_ROWS;
use crate::frames::{FrameError, RowRange, convert, read_frame, row_ranges};

/// Sums over the scored episodes of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunTotals {
    pub scored: u64,
    pub successes: u64,
    /// Billed tokens, input and output; null unless those of every scored episode are known.
    pub billed_tokens: Option<u64>,
    /// US dollars; null unless the cost of every scored episode is known.
    pub usd: Option<f64>,
}

/// Sums the scored episodes of a run, a row group at a time.
///
/// # Errors
/// As [`read_episodes`](crate::read_episodes).
pub fn run_totals(run: &RunDir) -> Result<RunTotals, FrameError> {
    let path = run.episodes_path();
    let columns = [
        (OUTCOME, Text::data_type as fn() -> _),
        (BILLED_INPUT_TOKENS, U64::data_type),
        (BILLED_OUTPUT_TOKENS, U64::data_type),
        (COST_USD, F64::data_type),
    ];
    let mut totals = RunTotals { scored: 0, successes: 0, billed_tokens: Some(0), usd: Some(0.0) };
    for rows in row_ranges(&path, BATCH_ROWS)? {
        let frame = read_frame(&path, &columns, RowRange::Rows(rows))?;
        let outcomes = convert::outcomes(&path, &frame)?;
        let input = read::<Option<U64>>(&path, &frame, BILLED_INPUT_TOKENS)?;
        let output = read::<Option<U64>>(&path, &frame, BILLED_OUTPUT_TOKENS)?;
        let usd = read::<Option<F64>>(&path, &frame, COST_USD)?;
        let rows = outcomes.into_iter().zip(input.into_iter().zip(output)).zip(usd);
        for ((outcome, (input, output)), usd) in rows.filter(|((outcome, _), _)| outcome.is_scored()) {
            totals.scored += 1;
            totals.successes += u64::from(outcome == Outcome::Success);
            let billed = input.zip(output).map(|(input, output)| input + output);
            totals.billed_tokens = totals.billed_tokens.zip(billed).map(|(sum, billed)| sum + billed);
            totals.usd = totals.usd.zip(usd).map(|(sum, usd)| sum + usd);
        }
    }
    if totals.scored == 0 {
        (totals.billed_tokens, totals.usd) = (None, None);
    }
    Ok(totals)
}
