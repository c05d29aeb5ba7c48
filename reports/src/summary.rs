//! The report of a run: every number that a renderer shows, as plain data.

mod ablation;
mod aggregate;
mod block;
mod claims;
mod compute;
mod headline;
mod live;
mod positions;
mod sums;

use healbench_protocol::{AgentKind, ErrorFormat, Guardrails, Opening, Seed, ToolsMode};
use healbench_record::RunStatus;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::comparison::Matrix;
use crate::frames::FrameError;
use crate::metric::{RowMetric, RowMetrics};
use crate::statistics::{FixedWithin, Interval, Median};
pub use claims::{ClaimReport, ClaimRow, ClaimVerdict};
pub(crate) use compute::suite_name;
pub use compute::{Scope, summarize};
pub use headline::{Example, HeadlineComparison, HeadlineConditions};
pub use live::{LiveCell, LiveCells};
pub use positions::{CallsAt, LAST_CALL_NUMBER};

/// The confidence of every interval in a report.
pub const CONFIDENCE: f64 = 0.95;

/// What a run shows, per agent and condition, in the order of its plan.
///
/// Every number but the counts of episodes and of unscored outcomes is over scored episodes alone.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// The folder that all scenario files were read from, without what is above it; null when there is none or more than one.
    pub suite: Option<String>,
    /// The seed of the plan.
    #[schemars(with = "u64")]
    pub seed: Seed,
    /// Repetitions of each cell.
    pub trials: u32,
    /// Scenario ids, in the order of the plan.
    pub scenarios: Vec<String>,
    /// Episodes that the plan has.
    pub planned: u64,
    /// `complete`, or `interrupted`: then it has fewer episodes than were planned.
    #[schemars(with = "crate::schema::RunStatusSchema")]
    pub status: RunStatus,
    /// Which shard of a run it is, as `2/4`; null when it is a whole one.
    pub shard: Option<String>,
    /// The vocabulary of token counts.
    pub tokenizer: String,
    /// The confidence of every interval: 0.95.
    pub confidence: f64,
    /// Sums over the rows.
    pub totals: Totals,
    /// The rows, by agent.
    pub agents: Vec<AgentReport>,
    /// What the scenarios claim; empty when they claim nothing.
    pub claims: Vec<ClaimReport>,
    /// Effects of guardrails, by agent and error format; empty when the plan has no sets of guardrails that would show it.
    pub ablation: Vec<Ablation>,
    /// The two settings that are laid side by side; null when the plan has one only.
    pub headline: Option<HeadlineConditions>,
    /// The most frequent error classes, the most frequent first: seven at most.
    pub error_classes: Vec<String>,
    /// The episodes that are worth reading, one entry a scenario and agent in the order of the plan.
    pub examples: Vec<Example>,
    /// Error formats by agents, or sets of guardrails where there is one format; null when there is one of either, and when it was not
    /// asked for.
    pub matrix: Option<Matrix>,
}

/// Sums over the rows of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Totals {
    /// Episodes in the frames.
    pub episodes: u64,
    /// Those that count in a rate.
    pub scored: u64,
    /// Those lost to the agent's infrastructure.
    pub infra: u64,
    /// Those lost to the agent's configuration.
    pub config: u64,
    /// Unmatched episodes of every comparison to `none`.
    pub unmatched: u64,
}

/// The rows of one agent.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AgentReport {
    /// The agent as it was asked for: `scripted:typical`.
    pub agent: String,
    /// What its rows are headed with: `openai:gpt-5-mini · seeded · native`.
    pub title: String,
    /// What plays it. Rows of a scripted agent show nothing about a real model.
    #[schemars(with = "crate::schema::AgentKindSchema")]
    pub kind: AgentKind,
    /// How its episodes begin; null for an agent without a model.
    #[schemars(with = "Option<crate::schema::OpeningSchema>")]
    pub opening: Option<Opening>,
    /// How it is told of the tools; null for an agent without a model.
    #[schemars(with = "Option<crate::schema::ToolsModeSchema>")]
    pub tools: Option<ToolsMode>,
    /// What the right setting of the report's contrast shows beside the left one; null without a contrast.
    pub headline: Option<HeadlineComparison>,
    /// One row a setting.
    pub rows: Vec<ReportRow>,
}

pub(crate) fn by_name<S: Serializer>(format: &ErrorFormat, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(format)
}

/// One agent under one setting.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReportRow {
    /// The guardrails in force.
    #[schemars(with = "crate::schema::GuardrailsSchema")]
    pub guardrails: Guardrails,
    /// How failures were written; its name in JSON.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub format: ErrorFormat,
    /// Episodes in the frames.
    pub episodes: u64,
    /// Those that count in a rate.
    pub scored: u64,
    /// Those lost to the agent's infrastructure.
    pub infra: u64,
    /// Those lost to the agent's configuration.
    pub config: u64,
    /// The metrics of the registry; in JSON, a key for each.
    #[serde(flatten)]
    pub metrics: RowMetrics,
    /// Wilson's interval of the success rate; null when nothing was scored.
    pub success_interval: Option<Interval>,
    /// The difference in success to the same agent under no guardrails; null for that row itself, and when the plan has none.
    pub vs_none: Option<PairedDifference>,
    /// The difference in calls per episode to `none`; null as `vs_none`.
    pub calls_vs_none: Option<Difference>,
    /// The difference in tokens per episode to `none`.
    pub tokens_vs_none: Option<Difference>,
    /// Attempts after the first error of a chain until it was fixed.
    pub retries: Retries,
    /// Chains fixed within 1, 2 and 3 further attempts.
    pub repair_at: Vec<Repair>,
    /// US dollars over successes; null unless the cost of every scored episode is known.
    pub cost_per_success: Option<f64>,
    /// What the model took; null for an agent without one, and when nothing was scored.
    pub model: Option<ModelReport>,
    /// pass@k and pass^k for 1, 2, 4 and 8 trials.
    pub passes: Vec<Pass>,
    /// Calls by their number in the episode.
    pub calls_by_number: Vec<CallsAt>,
    /// The success rate by scenario, one entry a scenario in the order of the plan.
    pub scenarios: Vec<ScenarioRate>,
}

impl ReportRow {
    /// Returns a metric of the row.
    pub fn rate(&self, metric: RowMetric) -> Rate {
        self.metrics.get(metric)
    }
}

/// What a model took in scored episodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ModelReport {
    /// Turns of the model over episodes.
    pub turns_per_episode: Rate,
    /// Input tokens over episodes: the provider's counts, and where it gave none, those of healbench.
    pub input_per_episode: Rate,
    /// Output tokens over episodes, in the same way.
    pub output_per_episode: Rate,
    /// Input tokens that were read from a cache among those of episodes whose provider says so.
    pub cache_read: Rate,
    /// Input tokens that were written to a cache, in the same way.
    pub cache_write: Rate,
    /// Output tokens of reasoning among those of episodes whose provider says so.
    pub reasoning: Rate,
    /// Exact `o200k_base` counts of the input over the provider's counts: how far off the estimate is.
    pub bpe_input: Rate,
    /// The same of the output.
    pub bpe_output: Rate,
    /// US dollars of all scored episodes; null unless the cost of each is known.
    pub usd: Option<f64>,
    /// The same over episodes.
    pub usd_per_episode: Option<f64>,
    /// Milliseconds that the model took over its turns.
    pub latency_ms_per_turn: Rate,
}

/// One row on one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ScenarioRate {
    /// The scenario's id.
    pub scenario: String,
    /// Successes among scored episodes.
    pub success: Rate,
    /// Calls over scored episodes.
    pub calls_per_episode: Rate,
    /// Tokens of calls, responses and prose over scored episodes.
    pub tokens_per_episode: Rate,
}

/// How many further attempts it took to fix an error chain.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Retries {
    /// Chains that were fixed.
    pub fixed: u64,
    /// Chains that never were: all that is known of them is that it would have taken more attempts.
    pub censored: u64,
    /// The median by Kaplan and Meier, with its interval; null when fewer than half would have been fixed.
    #[serde(flatten)]
    pub median: Median,
    /// The share of all chains that is fixed within so many attempts.
    pub curve: Vec<FixedWithin>,
}

/// How consistently scenarios succeed over their trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Pass {
    /// Trials.
    pub k: u64,
    /// pass@k: at least one of `k` trials succeeds, the mean over scenarios; null where a scenario has fewer trials.
    pub any: Option<f64>,
    /// pass^k: all of `k` trials succeed.
    pub all: Option<f64>,
    /// The interval of pass^k with scenarios as clusters; null for fewer than two scenarios.
    pub all_interval: Option<Interval>,
}

/// A mean difference within the same scenario and trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// The mean over what is matched; null when there is nothing.
    pub difference: Option<f64>,
    /// BCa bootstrap over scenarios; null for fewer than two.
    pub interval: Option<Interval>,
}

/// Chains fixed within so many further attempts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Repair {
    /// Attempts after the first error.
    pub k: u32,
    /// Chains fixed within them among all chains.
    pub chains: Rate,
}

/// One count over another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Rate {
    /// What was counted.
    pub numerator: u64,
    /// Out of, or per, how many.
    pub denominator: u64,
    /// The quotient; null when the denominator is 0.
    pub rate: Option<f64>,
}

impl Rate {
    /// Returns `numerator / denominator`.
    pub fn of(numerator: u64, denominator: u64) -> Rate {
        let rate = (denominator > 0).then(|| numerator as f64 / denominator as f64);
        Rate { numerator, denominator, rate }
    }
}

/// A difference in success between two rows, over pairs of the same scenario and trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PairedDifference {
    /// Pairs of which both episodes were scored.
    pub pairs: u64,
    /// Pairs with a success only in this row.
    pub gains: u64,
    /// Pairs with a success only in the other row.
    pub losses: u64,
    /// Scenarios and trials of which only one episode is there, or not both are scored.
    pub unmatched: u64,
    /// `(gains - losses) / pairs`: -1 to 1; null when there is no pair.
    pub difference: Option<f64>,
    /// Tango's score interval of the difference; null for fewer than two pairs.
    pub interval: Option<Interval>,
    /// McNemar's test, two-sided mid-p; null for fewer than two pairs.
    pub p_value: Option<f64>,
    /// The same, adjusted by Holm for all comparisons to `none` in the report.
    pub p_adjusted: Option<f64>,
}

/// The effects of the guardrails' switches on one agent in one error format. A setting without `healing` counts in every format.
///
/// What the plan has no settings for is an empty list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Ablation {
    /// The agent as it was asked for.
    pub agent: String,
    /// What its rows are headed with.
    pub title: String,
    /// How failures were written; its name in JSON.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub format: ErrorFormat,
    /// With all 16 sets: the effect of each switch, the mean over all settings of the others.
    pub main: Vec<Effect>,
    /// With all 16 sets, of each two switches: half the difference between the effect of one with the other on and with the other
    /// off, the mean over all settings of the rest.
    ///
    /// Main effects and interactions are those of a two-level factorial design: G. E. P. Box, J. S. Hunter, W. G. Hunter (2005),
    /// "Statistics for experimenters", 2nd edition, chapter 5.
    pub interactions: Vec<Effect>,
    /// The effect of each switch that is there alone: over no guardrails.
    pub one_in: Vec<Effect>,
    /// The effect of each switch that is there as the only one off: what all guardrails gain by it.
    pub one_out: Vec<Effect>,
}

/// What a switch changes, with it minus without it, or two switches together. Everything is computed within a scenario and trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// The switch, or both of an interaction.
    #[schemars(with = "crate::schema::GuardrailsSchema")]
    pub switches: Guardrails,
    /// On the success rate: -1 to 1.
    pub success: Difference,
    /// On the tokens of an episode, whatever its outcome: those of calls, responses and prose.
    pub tokens: Difference,
    /// Scenarios with a match: the clusters of the intervals.
    pub scenarios: u64,
    /// Scenarios and trials of which all episodes that are compared are there and scored.
    pub matched: u64,
    /// Scenarios and trials of which some are there, but not all of them scored.
    pub unmatched: u64,
}

/// The error of computing a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A frame cannot be read, or names on the plan's axes are not unique.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Two episodes to be compared have different trial schedules.
    #[error(
        "episodes {episode} and {none} cannot be compared: {agent} met another schedule under `{guardrails}` than under `none` in \
         trial {trial} of `{scenario}`"
    )]
    Schedule {
        agent: String,
        scenario: String,
        trial: u32,
        /// The guardrails of the first episode.
        guardrails: String,
        episode: u64,
        /// The index of the episode without guardrails.
        none: u64,
    },
    /// Episodes that an ablation compares have different trial schedules.
    #[error(
        "the effects of guardrails cannot be computed: {agent} met another schedule in episode {episode}, under `{guardrails}`, than \
         under other guardrails in trial {trial} of `{scenario}`"
    )]
    Schedules {
        agent: String,
        scenario: String,
        trial: u32,
        /// The guardrails of the first episode that differs from those before it.
        guardrails: String,
        /// The index of that episode.
        episode: u64,
    },
    /// A row is not the episode that the manifest's plan has at its index, or occurs twice.
    #[error("episode {episode} in the frames is not that of the manifest's plan")]
    ForeignEpisode {
        /// The index of the first such row.
        episode: u64,
    },
    /// Polars failed on a column.
    #[error("cannot compute the report: {0}")]
    Column(#[from] polars::prelude::PolarsError),
}
