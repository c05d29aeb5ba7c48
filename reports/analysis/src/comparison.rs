//! The comparison of two runs, or of the cells of one run: every number that a renderer shows, as plain data.

mod axis;
mod conclusion;
mod difference;
mod episode_metrics;
mod interaction;
mod matrix;
mod pairs;

use healbench_core::{AgentKind, AxisError, Outcome};
use healbench_store::RunManifest;
use schemars::JsonSchema;
use serde::Serialize;

use crate::condition::ShownCondition;
use crate::metric::Metric;
use crate::report_error::ReportError;
use crate::run_rows::RunRows;
use crate::statistics::{Interval, Method, ThisSuite};
use crate::summary::Verdict;
pub use axis::Axis;
pub use conclusion::{Change, Conclusion, Setback};
pub(crate) use difference::{Cluster, difference};
pub(crate) use episode_metrics::{EpisodeMetrics, RunEpisodes};
pub use interaction::Interaction;
pub(crate) use matrix::main_matrix;
pub use matrix::{Matrix, MatrixCell, MatrixColumn, RowConclusion, matrix};
pub use pairs::compare;

/// A run to compare.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The run as named on the command line, for the commands that show its transcripts.
    pub name: &'a str,
    pub run: &'a dyn RunRows,
    pub manifest: &'a RunManifest,
}

/// A candidate compared with a base, over pairs of the same scenario, agent, condition and trial.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The base as named by the user.
    pub base: String,
    /// The candidate as named by the user.
    pub candidate: String,
    /// The confidence of every interval: 0.95.
    pub confidence: f64,
    /// The conclusion on success.
    pub conclusion: Conclusion,
    /// Sentences about what is missing from a run that was interrupted or is a shard.
    pub partial: Vec<String>,
    /// Sentences about other differences between the runs: versions, prices, texts of scenarios, settings of agents.
    pub differs: Vec<String>,
    /// A sentence if an agent of both runs is a live model, and one run ended before the other began; null otherwise, and if the
    /// times are unknown.
    pub run_apart: Option<String>,
    /// Pairs of which both episodes were scored.
    pub pairs: u64,
    /// Pairs whose episodes differ in any metric.
    pub changed: u64,
    /// The differences, one entry per agent and condition that both runs have.
    pub cells: Vec<CellComparison>,
    /// Pairs in which only one episode succeeded, beginning with those that only the base's did.
    pub flips: Vec<Flip>,
    /// The episodes that could not be paired, by reason.
    pub unpaired: Vec<Unpaired>,
}

/// One agent under one condition, over all scenarios that both runs have.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellComparison {
    /// The agent as requested.
    pub agent: String,
    /// The heading of its rows.
    pub title: String,
    /// The kind of agent in the candidate.
    #[schemars(with = "crate::schema::AgentKindSchema")]
    pub kind: AgentKind,
    /// True if the same seed gives the same rows again, on both sides.
    pub is_exact: bool,
    /// The condition.
    #[serde(flatten)]
    pub condition: ShownCondition,
    /// Pairs of which both episodes were scored.
    pub pairs: u64,
    /// Pairs whose episodes differ in any metric.
    pub changed: u64,
    /// One entry per metric.
    pub metrics: Vec<MetricDifference>,
}

/// The difference in one metric, candidate minus base, over pairs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MetricDifference {
    /// The metric.
    #[schemars(with = "crate::schema::MetricSchema")]
    pub metric: Metric,
    /// Pairs in which the metric is defined for both episodes.
    pub pairs: u64,
    /// The base's mean over these pairs; null if there are none, or if a value that every pair should have is unknown.
    pub base: Option<f64>,
    /// The candidate's mean.
    pub candidate: Option<f64>,
    /// The mean difference.
    pub difference: Option<f64>,
    /// What other scenarios of the same suites would show, with clusters of scenarios as a sample, of this difference alone: not adjusted
    /// for others, as the verdict is. Null for fewer than two clusters, and for a rate that is equal in every pair.
    pub interval: Option<Interval>,
    /// The method of the interval and of the p-value.
    pub method: Option<Method>,
    /// Pairs in which the candidate's value is larger.
    pub more: u64,
    /// Pairs in which it is smaller.
    pub fewer: u64,
    /// Clusters of scenarios with such pairs.
    pub clusters: u64,
    /// The two-sided test of the same statistic for a rate; null for a count, and as the interval is.
    pub p_value: Option<f64>,
    /// The same, adjusted by Holm: of success between two conditions of one run, for all pairs of conditions of the agent; of anything
    /// else, for all cells that test this metric.
    pub p_adjusted: Option<f64>,
    /// The conclusion for other scenarios. A count is `clear`, `unclear` or `unknown`.
    pub verdict: Verdict,
    /// The intraclass correlation of the differences of a cluster's pairs, of which values above 0 widen the interval; null for a
    /// count.
    pub icc: Option<f64>,
    /// The result of a rate for the same scenarios run again; null if it is equal in every pair, for deterministic agents
    /// (simulated readers and replays), and for fewer than two pairs.
    pub this_suite: Option<ThisSuite>,
}

/// A pair in which only one episode succeeded.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Flip {
    /// The scenario.
    pub scenario: String,
    /// The heading of the agent's rows.
    pub title: String,
    /// The condition.
    #[serde(flatten)]
    pub condition: ShownCondition,
    /// The trial.
    pub trial: u32,
    /// The outcome of the base's episode.
    #[schemars(with = "crate::schema::OutcomeSchema")]
    pub base: Outcome,
    /// The outcome of the candidate's episode.
    #[schemars(with = "crate::schema::OutcomeSchema")]
    pub candidate: Outcome,
    /// The base's episode.
    pub base_episode: u64,
    /// The candidate's episode.
    pub candidate_episode: u64,
}

impl Flip {
    /// Returns true if only the base's episode succeeded.
    pub fn is_loss(&self) -> bool {
        self.base == Outcome::Success
    }
}

/// Episodes that have no partner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unpaired {
    /// The reason.
    pub reason: PairingFailure,
    /// What they have in common: the scenario, agent, condition or trial that the other run does not have.
    pub subject: String,
    /// The number of such episodes in the base.
    pub base: u64,
    /// The number of such episodes in the candidate.
    pub candidate: u64,
}

/// The reason why episodes have no partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairingFailure {
    /// Only one run has the scenario.
    Scenario,
    /// Only one run has the agent.
    Agent,
    /// Only one run has the condition.
    Condition,
    /// Only one run has the trial.
    Trial,
    /// They had different mistakes or faults.
    Schedule,
    /// The other one was not executed.
    NotPlayed,
    /// One of them was lost to infrastructure or configuration.
    NotScored,
    /// Both models are declared deterministic, and an earlier trial of the scenario had the same schedule.
    Copy,
}

/// The error of comparing runs.
#[derive(Debug, thiserror::Error)]
pub enum ComparisonError {
    /// A run's rows cannot be used.
    #[error("`{run}`: {source}")]
    Report {
        /// The run as named on the command line.
        run: String,
        /// The cause.
        source: ReportError,
    },
    /// The runs have different seeds, so their episodes had different mistakes and faults.
    #[error("not comparable: one has the seed {base}, the other {candidate}")]
    Seeds {
        /// The base's seed.
        base: String,
        /// The candidate's seed.
        candidate: String,
    },
    /// The run has no row with the name of the reference.
    #[error(transparent)]
    Axis(#[from] AxisError),
    /// The run has fewer than two entries on the axis to compare by.
    #[error("`{run}` cannot be compared by its {axis}: it has no two that can be compared")]
    TooFew {
        /// The run as named on the command line.
        run: String,
        /// The axis with too few entries.
        axis: &'static str,
    },
    /// The run has no rate of pairs in two clusters of scenarios.
    #[error("`{run}` has no pairs of conditions in two clusters of scenarios")]
    NoPairs {
        /// The run as named on the command line.
        run: String,
    },
    /// The runs count tokens with different tokenizers.
    #[error("not comparable: one counts tokens of {base}, the other of {candidate}")]
    Tokenizers {
        /// The base's tokenizer.
        base: String,
        /// The candidate's tokenizer.
        candidate: String,
    },
}
