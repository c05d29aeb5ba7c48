//! Reads the episodes of a run with their cells, checked against its plan. Reports, comparisons and baselines are
//! computed from them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use healbench_analysis::{CallInChain, ReportError, RunRows};
use healbench_core::{CallRecord, CellRef, EpisodeRecord, Plan, ResponseRecord};
use healbench_store::RunDir;
use polars::prelude::{DataFrame, PolarsError};

use crate::columns::{
    AGENT, CALL, CALL_COLUMNS, CHAIN, CHAIN_END, CONDITION, Column, ColumnType, EPISODE, EPISODE_COLUMNS, ERROR_CLASS,
    FORMAT, Flag, GUARDRAILS, IS_ERROR, RESPONSE_HASH, SCENARIO, TOOL, TRIAL, Text, U32, U64, read,
};
use crate::frames::{FrameError, RowRange, convert, for_each_response, read_frame, row_ranges};

/// The number of rows in memory at once: one row group.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// Calls `add` with each episode of a run in the order of the plan. Returns the index after the last episode.
///
/// # Errors
/// [`ReportError::Rows`] if the frame cannot be read, [`ReportError::ForeignEpisode`] if it belongs to another plan,
/// and the errors of `add`.
pub fn for_each_episode(
    run: &RunDir,
    plan: &Plan,
    add: &mut dyn FnMut(CellRef, &EpisodeRecord) -> Result<(), ReportError>,
) -> Result<u64, ReportError> {
    let names = AxisNames::of(plan);
    let mut next = 0;
    for rows in row_ranges(&run.episodes_path(), BATCH_ROWS)? {
        let frame = read_frame(&run.episodes_path(), EPISODE_COLUMNS, RowRange::Rows(rows))?;
        let cells = names.check(plan, &frame, &mut next)?;
        for (row, cell) in convert::episodes(&run.episodes_path(), &frame)?.iter().zip(cells) {
            add(cell, row)?;
        }
    }
    Ok(next)
}

/// The rows of a run, as they are in its frames.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'r>(pub &'r RunDir);

impl RunRows for Rows<'_> {
    fn for_each_episode(
        &self,
        plan: &Plan,
        add: &mut dyn FnMut(CellRef, &EpisodeRecord) -> Result<(), ReportError>,
    ) -> Result<u64, ReportError> {
        for_each_episode(self.0, plan, add)
    }

    fn for_each_call_in_chain(
        &self,
        with_tools: bool,
        add: &mut dyn FnMut(CallInChain<'_>),
    ) -> Result<u64, ReportError> {
        Ok(for_each_call_in_chain(&self.0.calls_path(), with_tools, add)?)
    }

    fn for_each_call(&self, add: &mut dyn FnMut(CallRecord) -> Result<(), ReportError>) -> Result<(), ReportError> {
        let path = self.0.calls_path();
        for rows in row_ranges(&path, BATCH_ROWS)? {
            let frame = read_frame(&path, CALL_COLUMNS, RowRange::Rows(rows))?;
            for row in convert::calls(&path, &frame)? {
                add(row)?;
            }
        }
        Ok(())
    }

    fn for_each_error_response(&self, add: &mut dyn FnMut(&ResponseRecord)) -> Result<(), ReportError> {
        let failed = hashes_of_failed_calls(&self.0.calls_path())?;
        if failed.is_empty() {
            return Ok(());
        }
        for_each_response(self.0, &mut |response| {
            if failed.contains(&response.response_hash) {
                add(response);
            }
        })?;
        Ok(())
    }

    fn calls_path(&self) -> PathBuf {
        self.0.calls_path()
    }
}

/// Returns the hashes of the responses of failed calls.
fn hashes_of_failed_calls(path: &Path) -> Result<HashSet<u64>, FrameError> {
    let columns = [(IS_ERROR, Flag::data_type as fn() -> _), (RESPONSE_HASH, U64::data_type)];
    let mut failed = HashSet::new();
    for rows in row_ranges(path, BATCH_ROWS)? {
        let frame = read_frame(path, &columns, RowRange::Rows(rows))?;
        let errors = read::<Flag>(path, &frame, IS_ERROR)?;
        let hashes = read::<U64>(path, &frame, RESPONSE_HASH)?;
        failed.extend(errors.into_iter().zip(hashes).filter(|(is_error, _)| *is_error).map(|(_, hash)| hash));
    }
    Ok(failed)
}

/// The columns of [`CallInChain`], the tool last.
const CHAIN_COLUMNS: [Column; 7] = [
    (EPISODE, U64::data_type),
    (CALL, U32::data_type),
    (CHAIN, U32::data_type),
    (CHAIN_END, Text::data_type),
    (IS_ERROR, Flag::data_type),
    (ERROR_CLASS, Text::data_type),
    (TOOL, Text::data_type),
];

fn for_each_call_in_chain(
    path: &Path,
    with_tools: bool,
    add: &mut dyn FnMut(CallInChain<'_>),
) -> Result<u64, FrameError> {
    let columns = &CHAIN_COLUMNS[..CHAIN_COLUMNS.len() - usize::from(!with_tools)];
    let mut found = 0;
    for rows in row_ranges(path, BATCH_ROWS)? {
        let frame = read_frame(path, columns, RowRange::Rows(rows))?;
        found += frame.height() as u64;
        let columns = || {
            let tools = if with_tools { Some(frame.column(TOOL)?.str()?) } else { None };
            let [episodes, calls, chain, chain_end, is_error, class, _] =
                CHAIN_COLUMNS.map(|(name, _)| frame.column(name));
            let rows = episodes?.u64()?.iter().zip(calls?.u32()?.iter());
            let chains_of_rows = chain?.u32()?.iter().zip(chain_end?.str()?.iter());
            let errors = is_error?.bool()?.iter().zip(class?.str()?.iter());
            Ok((tools, rows.zip(chains_of_rows).zip(errors).enumerate()))
        };
        let (tools, rows) = columns().map_err(FrameError::Column)?;
        for (index, (((episode, call), (chain, chain_end)), (is_error, error_class))) in rows {
            let tool = tools.and_then(|tools| tools.get(index));
            add(CallInChain { episode, call, chain, chain_end, is_error, error_class, tool });
        }
    }
    Ok(found)
}

/// The names on the plan's axes, as the columns store them.
struct AxisNames {
    agents: Vec<String>,
    guardrails: Vec<String>,
    formats: Vec<String>,
    conditions: Vec<String>,
}

impl AxisNames {
    fn of(plan: &Plan) -> AxisNames {
        AxisNames {
            agents: plan.agents.iter().map(ToString::to_string).collect(),
            guardrails: plan.conditions.iter().map(|condition| condition.guardrails().to_string()).collect(),
            formats: plan.conditions.iter().map(|condition| condition.format().to_string()).collect(),
            conditions: plan.conditions.iter().map(|condition| condition.label()).collect(),
        }
    }

    /// Returns the cells of the rows. Each row must be the episode that the plan has at its index, and no index may
    /// occur twice: pairs and sums depend on both. `next` is the smallest index allowed next.
    fn check(&self, plan: &Plan, frame: &DataFrame, next: &mut u64) -> Result<Vec<CellRef>, ReportError> {
        let columns = || {
            let text = |name| Ok::<_, PolarsError>(frame.column(name)?.str()?.iter());
            let rows = frame.column(EPISODE)?.u64()?.iter().zip(frame.column(TRIAL)?.u32()?.iter());
            let names =
                text(SCENARIO)?.zip(text(AGENT)?).zip(text(GUARDRAILS)?.zip(text(FORMAT)?)).zip(text(CONDITION)?);
            Ok((rows, names))
        };
        let (rows, names) = columns().map_err(FrameError::Column)?;
        let mut cells = Vec::with_capacity(frame.height());
        // The conditions of a trace have no values.
        let has_values = !plan.is_trace();
        for ((episode, trial), (((scenario, agent), (guardrails, format)), condition)) in rows.zip(names) {
            let episode = episode.unwrap_or(u64::MAX);
            let same = |cell: &CellRef| {
                trial == Some(cell.trial)
                    && scenario == Some(plan.scenarios[cell.scenario].id.as_str())
                    && agent == Some(self.agents[cell.agent].as_str())
                    && guardrails == has_values.then_some(self.guardrails[cell.condition].as_str())
                    && format == has_values.then_some(self.formats[cell.condition].as_str())
                    && condition == Some(self.conditions[cell.condition].as_str())
            };
            let cell = plan.cell(episode).filter(|_| episode >= *next).filter(same);
            cells.push(cell.ok_or(ReportError::ForeignEpisode { episode })?);
            *next = episode + 1;
        }
        Ok(cells)
    }
}
