//! What a comparison needs of an episode, small enough to hold a run of a million.

use healbench_protocol::fingerprint;
use healbench_record::{CellRef, EpisodeRecord, Outcome, Plan, RunDir};

use crate::episodes::each_episode;
use crate::metric::Metric;
use crate::summary::ReportError;

/// The numbers of one episode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    pub(crate) outcome: Outcome,
    /// The schedule's hash.
    pub(crate) schedule: u64,
    /// By [`Metric::ALL`]; not a number where it is null.
    values: [f64; Metric::ALL.len()],
}

impl Numbers {
    pub(crate) fn of(row: &EpisodeRecord) -> Numbers {
        Numbers {
            outcome: row.outcome,
            schedule: schedule(&row.schedule_hash),
            values: Metric::ALL.map(|metric| metric.of(row).unwrap_or(f64::NAN)),
        }
    }

    pub(crate) fn is_scored(&self) -> bool {
        self.outcome.is_scored()
    }

    pub(crate) fn get(&self, metric: Metric) -> Option<f64> {
        let value = self.values[metric as usize];
        (!value.is_nan()).then_some(value)
    }

    /// Whether every metric is the same, and the ending.
    pub(crate) fn equals(&self, other: &Numbers) -> bool {
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        self.outcome == other.outcome && self.values.iter().zip(&other.values).all(same)
    }
}

/// The hash as a number; of what is none, one that nothing else has.
fn schedule(hash: &str) -> u64 {
    let number = |text: &str| u64::from_str_radix(text, 16);
    number(hash).or_else(|_| number(&fingerprint(hash.as_bytes())[..16])).unwrap_or_default()
}

/// The episodes of a run, by their index in the plan.
pub(crate) struct CellEpisodes {
    episodes: Vec<Option<Numbers>>,
}

impl CellEpisodes {
    pub(crate) fn read(run: &RunDir, plan: &Plan) -> Result<CellEpisodes, ReportError> {
        let mut episodes = Vec::new();
        each_episode(run, plan, &mut |_, row| {
            episodes.resize(row.episode as usize, None);
            episodes.push(Some(Numbers::of(row)));
            Ok(())
        })?;
        Ok(CellEpisodes { episodes })
    }

    pub(crate) fn get(&self, plan: &Plan, cell: CellRef) -> Option<&Numbers> {
        self.episodes.get(plan.episode(cell) as usize)?.as_ref()
    }
}
