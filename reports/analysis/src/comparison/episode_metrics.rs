//! The values of an episode that comparisons need, small enough to keep a million episodes in memory.

use healbench_core::{CellRef, EpisodeRecord, Outcome, Plan, fingerprint};

use crate::metric::Metric;
use crate::report_error::ReportError;
use crate::run_rows::RunRows;

#[derive(Debug, Clone, Copy)]
pub(crate) struct EpisodeMetrics {
    pub(crate) outcome: Outcome,
    /// The hash of the trial schedule.
    pub(crate) schedule: u64,
    /// The values by [`Metric::ALL`]; NaN for null.
    values: [f64; Metric::ALL.len()],
}

impl EpisodeMetrics {
    pub(crate) fn of(row: &EpisodeRecord) -> EpisodeMetrics {
        EpisodeMetrics {
            outcome: row.outcome,
            schedule: parse_schedule_hash(&row.schedule_hash),
            values: Metric::ALL.map(|metric| metric.value(row).unwrap_or(f64::NAN)),
        }
    }

    pub(crate) fn is_scored(&self) -> bool {
        self.outcome.is_scored()
    }

    pub(crate) fn get(&self, metric: Metric) -> Option<f64> {
        let value = self.values[metric as usize];
        (!value.is_nan()).then_some(value)
    }

    /// Returns true if all metrics and the outcome are equal.
    pub(crate) fn equals(&self, other: &EpisodeMetrics) -> bool {
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        self.outcome == other.outcome && self.values.iter().zip(&other.values).all(same)
    }
}

/// Parses a hexadecimal hash. Any other text is hashed first.
fn parse_schedule_hash(hash: &str) -> u64 {
    let number = |text: &str| u64::from_str_radix(text, 16);
    number(hash).or_else(|_| number(&fingerprint(hash.as_bytes())[..16])).unwrap_or_default()
}

/// The episodes of a run, by their index in the plan.
pub(crate) struct RunEpisodes {
    episodes: Vec<Option<EpisodeMetrics>>,
}

impl RunEpisodes {
    pub(crate) fn read(run: &dyn RunRows, plan: &Plan) -> Result<RunEpisodes, ReportError> {
        let mut episodes = Vec::new();
        run.for_each_episode(plan, &mut |_, row| {
            episodes.resize(row.episode as usize, None);
            episodes.push(Some(EpisodeMetrics::of(row)));
            Ok(())
        })?;
        Ok(RunEpisodes { episodes })
    }

    pub(crate) fn get(&self, plan: &Plan, cell: CellRef) -> Option<&EpisodeMetrics> {
        self.episodes.get(plan.episode(cell) as usize)?.as_ref()
    }
}
