//! Reads the episodes of a run with their cells, checked against its plan. Reports, comparisons and baselines are
//! computed from them.

use healbench_core::{CellRef, EpisodeRecord, Plan};
use healbench_store::RunDir;
use polars::prelude::{DataFrame, PolarsError};

use crate::columns::{AGENT, CONDITION, EPISODE, EPISODE_COLUMNS, FORMAT, GUARDRAILS, SCENARIO, TRIAL};
use crate::frames::{RowRange, convert, read_frame, row_ranges};
use crate::report_error::ReportError;

/// The number of rows in memory at once: one row group.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// Calls `add` with each episode of a run in the order of the plan. Returns the index after the last episode.
///
/// # Errors
/// [`ReportError::Frame`] if the frame cannot be read, [`ReportError::ForeignEpisode`] if it belongs to another plan,
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
        let text = |name| Ok::<_, PolarsError>(frame.column(name)?.str()?.iter());
        let rows = frame.column(EPISODE)?.u64()?.iter().zip(frame.column(TRIAL)?.u32()?.iter());
        let names = text(SCENARIO)?.zip(text(AGENT)?).zip(text(GUARDRAILS)?.zip(text(FORMAT)?)).zip(text(CONDITION)?);
        let mut cells = Vec::with_capacity(frame.height());
        for ((episode, trial), (((scenario, agent), (guardrails, format)), condition)) in rows.zip(names) {
            let episode = episode.unwrap_or(u64::MAX);
            let same = |cell: &CellRef| {
                trial == Some(cell.trial)
                    && scenario == Some(plan.scenarios[cell.scenario].id.as_str())
                    && agent == Some(self.agents[cell.agent].as_str())
                    && guardrails == Some(self.guardrails[cell.condition].as_str())
                    && format == Some(self.formats[cell.condition].as_str())
                    && condition == Some(self.conditions[cell.condition].as_str())
            };
            let cell = plan.cell(episode).filter(|_| episode >= *next).filter(same);
            cells.push(cell.ok_or(ReportError::ForeignEpisode { episode })?);
            *next = episode + 1;
        }
        Ok(cells)
    }
}
