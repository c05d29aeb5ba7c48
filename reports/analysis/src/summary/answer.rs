//! The answer of a run: what its plan asks, decided with numbers, as data. Its text is in `render/answer.rs`.

mod carriers;
mod choice;
mod decide;
mod factors;
mod gain;
mod recorded;

use healbench_core::AgentKind;
use schemars::JsonSchema;
use serde::Serialize;

use super::{AgentReport, Difference};
use crate::rate::Rate;
use crate::statistics::Interval;
pub(super) use decide::{Context, ToolChains, answer, may_recommend};
use gain::is_below_the_floor;
pub(super) use gain::settle;
pub use gain::{ALPHA, EQUIVALENCE, Gain, POWER, Verdict, verdict};
pub use recorded::RecordedModels;

/// A recommendation needs at least so many clusters of scenarios, and so many trials of each.
const RECOMMENDS_AT: (u64, u32) = (36, 3);

/// What the plan of a run asks, answered for each agent that has a headline.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Episodes in the frames.
    pub episodes: u64,
    /// Episodes that are not scored.
    pub lost: u64,
    /// Scenarios with a scored episode.
    pub scenarios: u64,
    /// True if these are too few to say anything about other scenarios of the suites: fewer clusters than would rule out a loss of
    /// 5 points without seeing one.
    pub only_these_scenarios: bool,
    /// True if a condition may be recommended: with at least 36 clusters of scenarios and 3 trials.
    pub may_recommend: bool,
    /// The findings, of models alone if there are any; empty if no episode is scored.
    pub findings: Vec<Finding>,
    /// What recorded models showed for these conditions; empty if none was asked, and null where the run has a model.
    pub recorded: Option<Vec<RecordedModels>>,
}

/// One sentence of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Finding {
    /// The plan has one condition.
    Single(Single),
    /// The plan has two conditions, and one agent has a headline.
    Pair(Pair),
    /// The plan has more conditions.
    Choice(Choice),
    /// The plan has several levels of content in several error formats.
    ContentAndForm(ContentAndForm),
    /// The plan has all guardrails, and all without each.
    WithoutEach(WithoutEach),
    /// The plan has no guardrails, and each alone.
    Alone(Alone),
    /// The plan has two conditions, and several agents have a headline.
    Agents(Agents),
    /// The scenarios make claims.
    Claims(Claims),
    /// The calls were answered by a server.
    Server(Server),
}

impl Answer {
    /// Returns the condition that stands first among several for the agent with this title; `None` if there is none.
    pub fn choice(&self, title: &str) -> Option<&str> {
        self.findings.iter().find_map(|finding| match finding {
            Finding::Choice(choice) if choice.agent.title == title => Some(&*choice.choice.condition),
            _ => None,
        })
    }

    /// Returns the condition that is clearly better than all others for the agent with this title; `None` if there is none.
    pub fn best_condition(&self, title: &str) -> Option<&str> {
        self.findings.iter().find_map(|finding| match finding {
            Finding::Choice(choice) if choice.agent.title == title && choice.is_best => Some(&*choice.choice.condition),
            Finding::Pair(pair) if pair.agent.title == title && pair.gain.is_better() => Some(&*pair.first.condition),
            Finding::Agents(agents) => {
                let gain = agents.agents.iter().find(|of| of.agent.title == title)?.gain;
                let better = if gain.is_better() { Some(&agents.first) } else { None };
                better.or_else(|| gain.is_worse().then_some(&agents.second)).map(|named| &*named.condition)
            }
            _ => None,
        })
    }
}

impl Finding {
    /// Returns the condition that it recommends; `None` if it recommends none.
    pub fn recommends(&self) -> Option<&str> {
        match self {
            Finding::Choice(choice) if choice.is_recommended => Some(&choice.choice.condition),
            Finding::Pair(pair) if pair.gain.is_better() => Some(&pair.first.condition),
            _ => None,
        }
    }

    /// Returns its agent; `None` if it is about several.
    pub fn who(&self) -> Option<&Who> {
        Some(match self {
            Finding::Single(of) => &of.agent,
            Finding::Pair(of) => &of.agent,
            Finding::Choice(of) => &of.agent,
            Finding::ContentAndForm(of) => &of.agent,
            Finding::WithoutEach(of) => &of.agent,
            Finding::Alone(of) => &of.agent,
            Finding::Claims(of) => &of.agent,
            Finding::Server(of) => &of.agent,
            Finding::Agents(_) => return None,
        })
    }

    /// Returns the title of its agent; `None` if it is about several.
    pub fn title(&self) -> Option<&str> {
        Some(&self.who()?.title)
    }
}

/// The agent of a finding.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Who {
    /// The heading of its rows.
    pub title: String,
    /// The shortest name that tells it from the other agents of the plan: without how it is asked, or the heading.
    pub name: String,
    /// The name of a simulated reader's profile; null for a model.
    pub profile: Option<String>,
}

impl Who {
    pub(super) fn new(agents: &[AgentReport], index: usize) -> Who {
        let AgentReport { kind, agent, title, .. } = &agents[index];
        let profile = agent.split_once(':').filter(|_| *kind == AgentKind::Scripted).map(|(_, name)| name.to_owned());
        let is_alone = agents.iter().filter(|other| other.agent == *agent).count() == 1;
        let name = if is_alone { agent } else { title };
        Who { title: title.clone(), name: name.clone(), profile }
    }
}

/// The results of one condition.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ConditionResult {
    /// The name of the condition.
    pub condition: String,
    /// The shortest name that tells it from the other conditions of the plan, such as that of its error format.
    pub name: String,
    /// Successes among scored episodes.
    pub success: Rate,
    /// Billed tokens over scored episodes.
    pub billed_tokens_per_episode: Rate,
}

/// One agent under one condition.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Single {
    /// The agent.
    pub agent: Who,
    /// Its results.
    pub result: ConditionResult,
    /// The interval of the success rate for other scenarios of these suites; null for fewer than two clusters of scenarios, and if all
    /// have the same rate.
    pub interval: Option<Interval>,
}

/// Two conditions compared.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Pair {
    /// The agent.
    pub agent: Who,
    /// The condition with more successes; of equal ones the cheaper one, otherwise the first one of the plan.
    pub first: ConditionResult,
    /// The other one.
    pub second: ConditionResult,
    /// The success of the first one minus that of the second one.
    pub gain: Gain,
    /// The share that the cheaper one saves without a part of the scenarios; null if none of them carries it.
    pub saving_without: Option<SavingWithout>,
    /// The clusters of scenarios that carry the difference.
    pub carriers: Vec<Carrier>,
}

/// A saving without a cluster of scenarios that has more than a fifth of the differences, or without a family that turns it into a loss.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SavingWithout {
    /// The name of the cluster or family.
    pub left_out: String,
    /// True for a family of suites.
    pub is_family: bool,
    /// The share of the billed tokens that is saved; below 0 if it costs more.
    pub saving: f64,
}

/// A cluster of scenarios that has more than a fifth of all absolute differences between two conditions, of at least ten clusters; in success
/// only where the difference is at least 5 points.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Carrier {
    /// Its name.
    pub cluster: String,
    /// The difference that it carries.
    pub of: Carried,
    /// The shortest names of the two conditions.
    pub conditions: [String; 2],
    /// Its share of the sum of the absolute differences of all clusters.
    pub share: f64,
    /// The mean values of the two conditions without it: shares of successes, or billed tokens per episode; null without other episodes.
    pub without: [Rate; 2],
}

/// The metric in which a cluster carries a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Carried {
    /// Success.
    Success,
    /// Billed tokens.
    Tokens,
}

/// Several conditions, each compared with the one that has the most successes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Choice {
    /// The agent.
    pub agent: Who,
    /// The noun for what is chosen: `condition`, `format`, `content` or `set of guardrails`.
    pub noun: String,
    /// The cheapest of those for which a loss of 5 points is ruled out against every other one; without any, the cheapest of those that are
    /// not clearly worse than the best one.
    pub choice: ConditionResult,
    /// True if it is recommended.
    pub is_recommended: bool,
    /// The share by which it costs less than the cheapest other one that is not clearly worse than the best one; null if it does not cost
    /// less, if either cost is unknown, and without another one.
    pub saving: Option<f64>,
    /// The least that it saves without a part of the scenarios; null if none of them carries it.
    pub saving_without: Option<SavingWithout>,
    /// The clusters of scenarios that carry the largest difference that is not clear; of a recommendation, the smallest one that is.
    pub carriers: Vec<Carrier>,
    /// Its success minus that of the condition with the most successes; null for that one.
    pub gain: Option<Gain>,
    /// True if all others are clearly worse than the best one.
    pub is_best: bool,
    /// The others, by success in descending order.
    pub others: Vec<Alternative>,
}

/// A condition that was not chosen.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Alternative {
    /// Its results.
    pub result: ConditionResult,
    /// Its success minus that of the condition with the most successes; null for that one.
    pub gain: Option<Gain>,
    /// True if it is ruled out that the chosen condition is more than 5 points worse than it.
    pub is_safe: bool,
    /// The conclusion on its difference to the chosen condition.
    pub verdict: Verdict,
    /// The share that the chosen condition saves against it without a part of the scenarios; null if none of them carries it, and if
    /// nothing is saved.
    pub saving_without: Option<SavingWithout>,
    /// The scenarios in which it takes fewer billed tokens than the chosen condition in the mean, and those with episodes under both.
    pub cheaper_scenarios: [u64; 2],
}

impl Alternative {
    /// Returns true if the condition is clearly worse than the best one.
    pub fn is_worse(&self) -> bool {
        self.gain.is_some_and(|gain| gain.is_worse())
    }
}

/// The effects of content and of form.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ContentAndForm {
    /// The agent.
    pub agent: Who,
    /// The level of content with the largest effect.
    pub content: String,
    /// The level that it is compared with.
    pub reference_content: String,
    /// The effect, the mean over the error formats.
    pub content_gain: Gain,
    /// The error format with the largest effect.
    pub format: String,
    /// The format that it is compared with.
    pub reference_format: String,
    /// The effect, the mean over the levels of content.
    pub format_gain: Gain,
    /// The largest clear interaction; null if none is clear.
    pub interaction: Option<ContentInteraction>,
}

/// How much more a level of content gives in one format than in another.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ContentInteraction {
    /// The level of content, compared with the reference level.
    pub content: String,
    /// The format, compared with the reference format.
    pub format: String,
    /// The effect in the format minus that in the reference format.
    pub gain: Gain,
}

/// The effect of one guardrail.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SwitchEffect {
    /// The guardrail.
    pub guardrail: String,
    /// Success with it minus success without it.
    pub gain: Gain,
    /// Tokens per episode with it minus those without it, as the effects of guardrails have them.
    pub tokens: Difference,
}

/// What is missed when a guardrail is switched off.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WithoutEach {
    /// The agent.
    pub agent: Who,
    /// The error format.
    pub format: String,
    /// The effects, by difference in descending order.
    pub effects: Vec<SwitchEffect>,
}

/// What a guardrail gives alone.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Alone {
    /// The agent.
    pub agent: Who,
    /// The error format.
    pub format: String,
    /// The effects compared with no guardrails, by difference in descending order.
    pub alone: Vec<SwitchEffect>,
    /// The effects of adding each one last, in the same order; empty if the plan does not show them.
    pub last: Vec<SwitchEffect>,
}

/// Two conditions compared for several agents.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Agents {
    /// The condition that is clearly better for more agents; of equal ones the one that is not the reference.
    pub first: NamedCondition,
    /// The other one.
    pub second: NamedCondition,
    /// The comparisons, in the order of the plan.
    pub agents: Vec<AgentGain>,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NamedCondition {
    /// Its name.
    pub condition: String,
    /// The shortest name that tells it from the other one.
    pub name: String,
}

/// The difference for one agent.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AgentGain {
    /// The agent.
    pub agent: Who,
    /// The success under the first condition minus that under the second one.
    pub gain: Gain,
}

/// The claims of the scenarios, as measured with one agent.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Claims {
    /// The agent.
    pub agent: Who,
    /// Claims of which every number is supported.
    pub supported: u64,
    /// Claims of which some number is contradicted.
    pub contradicted: u64,
    /// The other claims.
    pub undecided: u64,
}

/// The errors of a server that an agent fixed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Server {
    /// The agent.
    pub agent: Who,
    /// The server.
    pub server: String,
    /// Error chains that were fixed among all, with the server's own texts.
    pub fixed: Rate,
    /// The same with guardrails; null if the plan has no such condition.
    pub guarded: Option<Rate>,
    /// Episodes of all agents that succeeded, in all conditions.
    pub succeeded: u64,
    /// The tool of which the fewest are fixed with the server's own texts; null without an error.
    pub worst: Option<WorstTool>,
}

/// The tool with the fewest fixed errors.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorstTool {
    /// The tool.
    pub tool: String,
    /// Error chains that begin with it and were fixed, among all that begin with it.
    pub fixed: Rate,
}
