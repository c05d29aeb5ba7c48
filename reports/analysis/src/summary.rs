//! The report of a run: every number that a renderer shows, as plain data.

mod ablation;
mod aggregate;
mod answer;
mod block;
mod claims;
mod compute;
mod diagnostics;
mod examples;
mod headline;
mod outcomes;
mod pairs;
mod positions;
mod scenario_differences;
mod selection;
mod sums;

use healbench_core::{AgentId, AgentKind, ErrorClass, ErrorFormat, Fitted, Guardrails, Opening, Seed, ToolsMode};
use healbench_store::RunStatus;
use schemars::JsonSchema;
use serde::Serialize;

use crate::comparison::Matrix;
use crate::condition::ShownCondition;
use crate::errors::ErrorTexts;
use crate::metric::{RowMetric, RowMetrics};
use crate::rate::{Rate, by_name};
use crate::statistics::{FixedWithin, Interval, Median, Method, ThisSuite};
pub use answer::verdict;
pub use answer::{
    ALPHA, AgentGain, Agents, Alone, Alternative, Answer, Carried, Carrier, Choice, Claims, ConditionResult,
    ContentAndForm, ContentInteraction, EQUIVALENCE, Finding, Gain, NamedCondition, POWER, Pair, RecordedModels,
    SavingWithout, Server, Single, SwitchEffect, Verdict, Who, WithoutEach, WorstTool,
};
pub use claims::{ClaimReport, ClaimRow, ClaimVerdict};
pub use compute::{Scope, suite_name, summarize};
pub use examples::{Example, OtherTrial};
pub use headline::{HeadlineComparison, HeadlineConditions};
pub(crate) use pairs::{Compared, Pairs};
pub use positions::{CallsAt, LAST_CALL_NUMBER};
pub use scenario_differences::ScenarioDifferences;
pub use selection::{EqualRows, SelectedAgent, Selection, agents_by_information, equal_rows, select};

/// The results of a run per agent and condition, in the order of its plan.
///
/// Only the counts of episodes and of unscored outcomes include episodes that are not scored.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// The name of the folder that contains all scenario files; null if there is none or more than one.
    pub suite: Option<String>,
    /// The server that executed the calls; null for the simulator.
    pub server: Option<String>,
    /// The seed of the plan.
    #[schemars(with = "u64")]
    pub seed: Seed,
    /// Repetitions of each cell.
    pub trials: u32,
    /// Scenario ids, in the order of the plan.
    pub scenarios: Vec<String>,
    /// The number of episodes in the plan.
    pub planned: u64,
    /// `complete`, or `interrupted` if it has fewer episodes than planned.
    #[schemars(with = "crate::schema::RunStatusSchema")]
    pub status: RunStatus,
    /// The shard of the run, such as `2/4`; null for a complete run.
    pub shard: Option<String>,
    /// The tokenizer that counted tokens.
    pub tokenizer: String,
    /// The confidence of every interval: 0.95.
    pub confidence: f64,
    /// The answer to what the plan asks.
    pub answer: Answer,
    /// Sums over the rows.
    pub totals: Totals,
    /// The rows, by agent.
    pub agents: Vec<AgentReport>,
    /// The scenarios with `clock: on_retry`: whether an agent waits cannot be measured in them.
    pub waits_on_retry: Vec<String>,
    /// The claims of the scenarios, compared with the measurements.
    pub claims: Vec<ClaimReport>,
    /// Effects of guardrails, by agent and error format; empty if the plan's sets of guardrails do not allow computing
    /// any.
    pub ablation: Vec<Ablation>,
    /// The condition that the others are compared with: `sdk-typescript`, or the first one without guardrails; null if
    /// the plan has neither.
    pub reference: Option<String>,
    /// The two conditions of the headline comparison; null if the plan has only one.
    pub headline: Option<HeadlineConditions>,
    /// The most frequent error classes, at most seven, in descending order.
    #[schemars(with = "Vec<String>")]
    pub error_classes: Vec<ErrorClass>,
    /// An example for each scenario and agent, in the order of the plan.
    pub examples: Vec<Example>,
    /// A matrix of the conditions if any has a name of its own; otherwise of error formats, or of sets of guardrails if
    /// there is only one format. Null if there is only one of them, or if it was not requested.
    pub matrix: Option<Matrix>,
    /// The error texts of the run, by wasted tokens. Null if it was not requested, and for a run of an older version, whose rows do not say
    /// what followed an error.
    pub error_texts: Option<ErrorTexts>,
}

impl Report {
    /// Returns the agents that have a headline, in the order of [`agents_by_information`]. No headline is about simulated readers in a run
    /// with a model.
    pub fn headline_agents(&self) -> impl Iterator<Item = &AgentReport> {
        let has_model = self.agents.iter().any(|agent| agent.kind != AgentKind::Scripted);
        let agents = agents_by_information(self).into_iter().map(|agent| &self.agents[agent]);
        agents.filter(move |agent| has_headline(agent.kind, has_model))
    }
}

pub(crate) fn has_headline(kind: AgentKind, has_model: bool) -> bool {
    kind != AgentKind::Scripted || !has_model
}

/// Sums over the rows of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Totals {
    /// Episodes in the frames.
    pub episodes: u64,
    /// Scored episodes.
    pub scored: u64,
    /// Episodes with the outcome `infra`.
    pub infra: u64,
    /// Episodes with the outcome `config`.
    pub config: u64,
    /// Unmatched episodes of every comparison with the reference condition.
    pub unmatched: u64,
}

/// The rows of one agent.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AgentReport {
    /// The agent as requested, such as `scripted:typical`.
    pub agent: String,
    /// The heading of its rows, such as `openai:gpt-5-mini · seeded · native`.
    pub title: String,
    /// The kind of agent. Rows of a simulated reader say nothing about real models.
    #[schemars(with = "crate::schema::AgentKindSchema")]
    pub kind: AgentKind,
    /// The opening of its episodes; null for an agent without a model.
    #[schemars(with = "Option<crate::schema::OpeningSchema>")]
    pub opening: Option<Opening>,
    /// How the tools are sent to the model; null for an agent without a model.
    #[schemars(with = "Option<crate::schema::ToolsModeSchema>")]
    pub tools: Option<ToolsMode>,
    /// True for a model that is declared deterministic. Its trials of a scenario with the same schedule count once in intervals and
    /// tests of success.
    pub deterministic: bool,
    /// The logs or runs that a simulated reader was fitted to; null for one that was not fitted, and for other agents.
    #[schemars(with = "Option<crate::schema::FittedSchema>")]
    pub fitted: Option<Fitted>,
    /// The answers that the model's server made what they are, in episodes of any outcome, by word.
    pub diagnostics: Vec<Diagnostic>,
    /// The headline comparison for this agent; null if the plan has only one condition, and for a simulated reader if the
    /// plan has a model.
    pub headline: Option<HeadlineComparison>,
    /// One row per condition.
    pub rows: Vec<ReportRow>,
}

/// Answers of a model that its server, and not the model, made what they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Diagnostic {
    /// A word of the column `diagnostics`, or `no_calls`: no answer of an agent with native tools has a call.
    pub word: String,
    /// The number of answers.
    pub answers: u64,
}

impl AgentReport {
    /// Returns the beginning of the agent's headline: its title, or `Simulated reader typical`.
    pub fn headline_title(&self) -> String {
        match self.agent.split_once(':') {
            Some((_, profile)) if self.kind == AgentKind::Scripted => format!("Simulated reader {profile}"),
            _ => self.title.clone(),
        }
    }

    /// Returns the parts of the title.
    pub fn title_parts(&self) -> Vec<String> {
        let id = AgentId { name: self.agent.clone(), opening: self.opening, tools: self.tools };
        let suffixes = [self.deterministic.then_some("deterministic"), self.kind.title_suffix()];
        id.title_parts().into_iter().chain(suffixes.into_iter().flatten()).map(str::to_owned).collect()
    }
}

/// One agent under one condition.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReportRow {
    /// The condition.
    #[serde(flatten)]
    pub condition: ShownCondition,
    /// Episodes in the frames.
    pub episodes: u64,
    /// Scored episodes.
    pub scored: u64,
    /// Episodes with the outcome `infra`.
    pub infra: u64,
    /// Episodes with the outcome `config`.
    pub config: u64,
    /// Scored episodes that ended because a request was too long for the model: they count in success, and not in tokens.
    pub too_long: u64,
    /// The row metrics; in JSON, a key for each.
    #[serde(flatten)]
    pub metrics: RowMetrics,
    /// Wilson's interval of the success rate; null if no episode is scored.
    pub success_interval: Option<Interval>,
    /// The difference in success to the same agent in the reference condition; null for that condition itself, and
    /// if the plan has none.
    pub vs_reference: Option<PairedDifference>,
    /// The difference in calls per episode to the reference condition; null like `vs_reference`.
    pub calls_vs_reference: Option<Difference>,
    /// The difference in billed tokens per episode to the reference condition.
    pub billed_tokens_vs_reference: Option<Difference>,
    /// The difference in tokens per episode to the reference condition.
    pub tokens_vs_reference: Option<Difference>,
    /// The median over scenarios of billed tokens per episode; null if no episode is scored.
    pub median_billed_tokens_per_episode: Option<f64>,
    /// The median over scenarios of billed tokens per success; null if half of the scenarios have no success.
    pub median_billed_tokens_per_success: Option<f64>,
    /// Attempts after the first error of a chain until it was fixed.
    pub retries: Retries,
    /// Chains fixed within 1, 2 and 3 further attempts.
    pub repair_at: Vec<Repair>,
    /// US dollars over successes; null unless the cost of every scored episode is known.
    pub cost_per_success: Option<f64>,
    /// The usage of the model; null for an agent without one, and if no episode is scored.
    pub model: Option<ModelReport>,
    /// pass@k and pass^k for 1, 2, 4 and 8 trials.
    pub passes: Vec<Pass>,
    /// Calls by their number in the episode.
    pub calls_by_number: Vec<CallsAt>,
    /// The success rate of each scenario, in the order of the plan.
    pub scenarios: Vec<ScenarioRate>,
    /// Success by family of scenarios, in the order of the plan; empty for one family.
    pub families: Vec<FamilyRate>,
}

impl ReportRow {
    /// Returns a metric of the row.
    pub fn rate(&self, metric: RowMetric) -> Rate {
        self.metrics.get(metric)
    }
}

/// The usage of a model in scored episodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ModelReport {
    /// Turns of the model over episodes.
    pub turns_per_episode: Rate,
    /// Input tokens over episodes: the provider's counts, or healbench's if there are none.
    pub input_per_episode: Rate,
    /// Output tokens over episodes, counted in the same way.
    pub output_per_episode: Rate,
    /// Input tokens that were read from a cache, among those of episodes whose provider reports it.
    pub cache_read: Rate,
    /// Input tokens that were written to a cache, among the same.
    pub cache_write: Rate,
    /// Output tokens of reasoning, among those of episodes whose provider reports it.
    pub reasoning: Rate,
    /// Exact `o200k_base` counts of the input over the provider's counts: the accuracy of the estimate.
    pub bpe_input: Rate,
    /// The same for the output.
    pub bpe_output: Rate,
    /// US dollars of all scored episodes; null unless the cost of each is known.
    pub usd: Option<f64>,
    /// The same over episodes.
    pub usd_per_episode: Option<f64>,
    /// The model's latency in milliseconds over its turns.
    pub latency_ms_per_turn: Rate,
}

/// The success of one row in a family of scenarios.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FamilyRate {
    /// The part of the scenarios' ids before the first slash.
    pub family: String,
    /// The number of its scenarios.
    pub scenarios: u64,
    /// Successes among scored episodes.
    pub success: Rate,
    /// The success minus that of the reference condition, over the trials that both have; null without a reference, and for its row.
    pub difference: Option<f64>,
    /// Its interval for other scenarios of the family, for this family alone; null for fewer than two clusters, and for equal outcomes.
    pub interval: Option<Interval>,
    /// True if every trial has the same outcome as under the reference condition.
    pub is_equal: bool,
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
    /// Billed tokens over scored episodes.
    pub billed_tokens_per_episode: Rate,
    /// Billed tokens over successes.
    pub billed_tokens_per_success: Rate,
    /// Tokens of calls, responses and prose over scored episodes.
    pub tokens_per_episode: Rate,
}

/// The number of further attempts until an error chain is fixed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Retries {
    /// Chains that were fixed.
    pub fixed: u64,
    /// Chains that were not fixed: censored, because fixing them would have taken more attempts than were made.
    pub censored: u64,
    /// The median by Kaplan and Meier, with its interval; null when fewer than half would have been fixed.
    #[serde(flatten)]
    pub median: Median,
    /// The share of all chains that are fixed, by number of attempts.
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
    /// The mean over the matched trials; null if there are none.
    pub difference: Option<f64>,
    /// What other scenarios of the same suites would show; null for fewer than two clusters of scenarios, and in success between
    /// conditions with equal outcomes in every trial.
    pub interval: Option<Interval>,
    /// The method of the interval.
    pub method: Option<Method>,
}

/// Chains fixed within a number of further attempts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Repair {
    /// Attempts after the first error.
    pub k: u32,
    /// Chains fixed within them among all chains.
    pub chains: Rate,
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
    /// Scenarios and trials with only one episode, or with an episode that is not scored.
    pub unmatched: u64,
    /// `(gains - losses) / pairs`, from -1 to 1; null without pairs.
    pub difference: Option<f64>,
    /// What other scenarios of the same suites would show, of this pair alone: not adjusted for others, as the verdict is. Null for fewer
    /// than two clusters of scenarios, and for equal outcomes in every trial.
    pub interval: Option<Interval>,
    /// The method of the interval and of the p-value.
    pub method: Option<Method>,
    /// The two-sided test of the same statistic; null as the interval is.
    pub p_value: Option<f64>,
    /// The same, adjusted by Holm for all pairs of conditions of the agent.
    pub p_adjusted: Option<f64>,
    /// The conclusion, the same wherever these conditions of the agent are compared.
    pub verdict: Verdict,
    /// The result for the same scenarios run again; null for equal outcomes in every trial, for deterministic agents (simulated
    /// readers and replays), and for fewer than two pairs.
    pub this_suite: Option<ThisSuite>,
}

/// The effects of the guardrails' switches on one agent in one error format. A condition without `healing` counts in
/// every format.
///
/// A list is empty if the plan does not have the conditions it needs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Ablation {
    /// The agent as requested.
    pub agent: String,
    /// The heading of its rows.
    pub title: String,
    /// The error format; in JSON, its name.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub format: ErrorFormat,
    /// With all 16 sets: the effect of each switch, the mean over all combinations of the others.
    pub main: Vec<Effect>,
    /// With all 16 sets, for each two switches: half the difference between the effect of one with the other on and
    /// with the other off, the mean over all combinations of the rest.
    ///
    /// Main effects and interactions are those of a two-level factorial design: G. E. P. Box, J. S. Hunter, W. G.
    /// Hunter (2005), "Statistics for experimenters", 2nd edition, chapter 5.
    pub interactions: Vec<Effect>,
    /// The effect of each switch alone, compared with no guardrails.
    pub one_in: Vec<Effect>,
    /// The effect of adding each switch last: all guardrails compared with all but this one.
    pub one_out: Vec<Effect>,
}

/// The effect of a switch (with it minus without it), or the interaction of two. It is computed within each scenario
/// and trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// The switch, or both of an interaction.
    #[schemars(with = "crate::schema::GuardrailsSchema")]
    pub switches: Guardrails,
    /// On the success rate: -1 to 1.
    pub success: Difference,
    /// The two-sided test of the effect between two conditions on success; null for other effects, and for equal outcomes in every trial.
    pub p_value: Option<f64>,
    /// The same, adjusted by Holm for all pairs of conditions of the agent.
    pub p_adjusted: Option<f64>,
    /// The conclusion on success, by the adjusted p-value; the interval is of this effect alone.
    pub verdict: Verdict,
    /// On the tokens of an episode, whatever its outcome: those of calls, responses and prose.
    pub tokens: Difference,
    /// Scenarios with matched trials, which are the clusters of the intervals.
    pub scenarios: u64,
    /// Trials of scenarios in which all compared episodes exist and are scored.
    pub matched: u64,
    /// Trials of scenarios in which some, but not all, compared episodes are scored.
    pub unmatched: u64,
}
