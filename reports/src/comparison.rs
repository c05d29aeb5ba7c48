//! The comparison of two runs, or of the cells of one run: every number that a renderer shows, as plain data.

mod difference;
mod episode_metrics;
mod matrix;
mod pairs;

use healbench_protocol::{AgentKind, AxisError, ErrorFormat, Guardrails};
use healbench_record::{Outcome, RunDir, RunManifest};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metric::Metric;
use crate::statistics::Interval;
use crate::summary::{ReportError, by_name};
pub(crate) use difference::{Cluster, difference};
pub(crate) use episode_metrics::EpisodeMetrics;
pub(crate) use matrix::main_matrix;
pub use matrix::{Axis, Matrix, MatrixCell, MatrixColumn, matrix};
pub(crate) use pairs::agent_key;
pub use pairs::compare;

/// A run to compare.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The run as named on the command line, for the commands that show its transcripts.
    pub name: &'a str,
    pub run: &'a RunDir,
    pub manifest: &'a RunManifest,
}

/// What a candidate shows beside a base, over pairs of the same scenario, agent, guardrails, format and trial.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The base as it was named.
    pub base: String,
    /// The candidate as it was named.
    pub candidate: String,
    /// The confidence of every interval: 0.95.
    pub confidence: f64,
    /// What is missing of a run that was interrupted, or is a shard, in words.
    pub partial: Vec<String>,
    /// Other differences between the runs, in words: versions, prices, texts of scenarios, settings of agents.
    pub differs: Vec<String>,
    /// Pairs of which both episodes were scored.
    pub pairs: u64,
    /// Those whose episodes differ in any metric.
    pub changed: u64,
    /// The differences, one entry an agent and condition that both runs have.
    pub cells: Vec<CellComparison>,
    /// Pairs of which one episode succeeded and the other did not: those that were lost first.
    pub flips: Vec<Flip>,
    /// What could not be paired, and why.
    pub unpaired: Vec<Unpaired>,
}

/// One agent under one setting, over all scenarios that both runs have.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellComparison {
    /// The agent as it was asked for.
    pub agent: String,
    /// What its rows are headed with.
    pub title: String,
    /// What plays it in the candidate.
    #[schemars(with = "crate::schema::AgentKindSchema")]
    pub kind: AgentKind,
    /// The guardrails in force.
    #[schemars(with = "crate::schema::GuardrailsSchema")]
    pub guardrails: Guardrails,
    /// How failures were written; its name in JSON.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub format: ErrorFormat,
    /// Pairs of which both episodes were scored.
    pub pairs: u64,
    /// Those whose episodes differ in any metric.
    pub changed: u64,
    /// One entry a metric.
    pub metrics: Vec<MetricDifference>,
}

/// The difference in one metric, candidate minus base, over pairs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MetricDifference {
    /// The metric.
    #[schemars(with = "crate::schema::MetricSchema")]
    pub metric: Metric,
    /// Pairs in which both episodes have the number.
    pub pairs: u64,
    /// The base's mean over them; null without any, and when a number that every pair should have is unknown.
    pub base: Option<f64>,
    /// The candidate's mean.
    pub candidate: Option<f64>,
    /// The mean difference.
    pub difference: Option<f64>,
    /// Of a rate Tango's score interval, of a count the BCa bootstrap over scenarios.
    pub interval: Option<Interval>,
    /// Pairs in which the candidate's number is larger.
    pub more: u64,
    /// Pairs in which it is smaller.
    pub fewer: u64,
    /// Of a rate McNemar's test, two-sided mid-p.
    pub p_value: Option<f64>,
    /// The same, adjusted by Holm for all cells that ask the same of this metric.
    pub p_adjusted: Option<f64>,
}

/// A pair of which one episode succeeded and the other did not.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Flip {
    /// The scenario.
    pub scenario: String,
    /// What the agent's rows are headed with.
    pub title: String,
    /// The guardrails in force.
    #[schemars(with = "crate::schema::GuardrailsSchema")]
    pub guardrails: Guardrails,
    /// How failures were written; its name in JSON.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub format: ErrorFormat,
    /// The trial.
    pub trial: u32,
    /// How the base's episode ended.
    #[schemars(with = "crate::schema::OutcomeSchema")]
    pub base: Outcome,
    /// How the candidate's episode ended.
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
    /// Why.
    pub reason: PairingFailure,
    /// What they have in common: the scenario, agent, setting or trial that the other run does not have.
    pub subject: String,
    /// How many there are in the base.
    pub base: u64,
    /// How many there are in the candidate.
    pub candidate: u64,
}

/// Why episodes have no partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairingFailure {
    /// Only one run has the scenario.
    Scenario,
    /// Only one run has the agent.
    Agent,
    /// Only one run has the guardrails in this format.
    Condition,
    /// Only one run has the trial.
    Trial,
    /// They met different difficulties.
    Schedule,
    /// The other one was not played.
    NotPlayed,
    /// One of them was lost to infrastructure or configuration.
    NotScored,
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
    #[error("the runs cannot be compared: one has the seed {base}, the other {candidate}")]
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
    #[error("`{run}` cannot be compared by its {axis}: it has fewer than two")]
    TooFew {
        /// The run as named on the command line.
        run: String,
        /// The axis with too few entries.
        axis: &'static str,
    },
    /// The runs count tokens with different tokenizers.
    #[error("the runs cannot be compared: one counts tokens of {base}, the other of {candidate}")]
    Tokenizers {
        /// The base's tokenizer.
        base: String,
        /// The candidate's tokenizer.
        candidate: String,
    },
}
