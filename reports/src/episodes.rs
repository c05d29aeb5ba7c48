//! The episodes of a run with their cells, checked against its plan: what reports, comparisons and baselines are computed from.

use healbench_record::{CellRef, EpisodeRecord, Plan, RunDir};
use polars::prelude::{DataFrame, PolarsError};

use crate::columns::{AGENT, EPISODE, EPISODE_COLUMNS, FORMAT, GUARDRAILS, SCENARIO, TRIAL};
use crate::frames::{Span, decode, read_frame, spans};
use crate::summary::ReportError;

/// Rows that are in memory at once: a row group.
pub(crate) const ROWS: usize = 1 << 16;

/// Gives each episode of a run to `add`, in the order of the plan, and then the index after the last one.
///
/// # Errors
/// [`ReportError::Frame`] when the frame cannot be read, [`ReportError::Stranger`] when it belongs to another plan; and what `add`
/// says.
pub fn each_episode(
    run: &RunDir,
    plan: &Plan,
    add: &mut dyn FnMut(CellRef, &EpisodeRecord) -> Result<(), ReportError>,
) -> Result<u64, ReportError> {
    let names = Names::of(plan);
    let mut next = 0;
    for rows in spans(&run.episodes_path(), ROWS)? {
        let frame = read_frame(&run.episodes_path(), &EPISODE_COLUMNS, Span::Rows(rows))?;
        let cells = names.check(plan, &frame, &mut next)?;
        for (row, cell) in decode::episodes(&run.episodes_path(), &frame)?.iter().zip(cells) {
            add(cell, row)?;
        }
    }
    Ok(next)
}

/// The names of a plan's cells, as the columns have them.
struct Names {
    agents: Vec<String>,
    guardrails: Vec<String>,
    formats: Vec<String>,
}

impl Names {
    fn of(plan: &Plan) -> Names {
        Names {
            agents: plan.agents.iter().map(ToString::to_string).collect(),
            guardrails: plan.conditions.iter().map(|condition| condition.guardrails.to_string()).collect(),
            formats: plan.conditions.iter().map(|condition| condition.format.to_string()).collect(),
        }
    }

    /// The cells of some rows. Every row must be the episode that the plan has under its index, and come once: pairs and sums
    /// rest on it. `next` is the first index that may come.
    fn check(&self, plan: &Plan, frame: &DataFrame, next: &mut u64) -> Result<Vec<CellRef>, ReportError> {
        let text = |name| Ok::<_, PolarsError>(frame.column(name)?.str()?.iter());
        let rows = frame.column(EPISODE)?.u64()?.iter().zip(frame.column(TRIAL)?.u32()?.iter());
        let names = text(SCENARIO)?.zip(text(AGENT)?).zip(text(GUARDRAILS)?.zip(text(FORMAT)?));
        let mut cells = Vec::with_capacity(frame.height());
        for ((episode, trial), ((scenario, agent), (guardrails, format))) in rows.zip(names) {
            let episode = episode.unwrap_or(u64::MAX);
            let same = |cell: &CellRef| {
                trial == Some(cell.trial)
                    && scenario == Some(plan.scenarios[cell.scenario].id.as_str())
                    && agent == Some(self.agents[cell.agent].as_str())
                    && guardrails == Some(self.guardrails[cell.condition].as_str())
                    && format == Some(self.formats[cell.condition].as_str())
            };
            let cell = plan.cell(episode).filter(|_| episode >= *next).filter(same);
            cells.push(cell.ok_or(ReportError::Stranger { episode })?);
            *next = episode + 1;
        }
        Ok(cells)
    }
}
