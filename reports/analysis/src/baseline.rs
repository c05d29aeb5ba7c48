//! A baseline: a summary of a run, small enough to review in a diff. It holds sums per cell and scenario, and
//! fingerprints of the inputs they depend on.

mod from_run;
mod outcomes;
mod text;

use std::collections::BTreeMap;

use healbench_core::{AgentId, AgentKind, ErrorFormat, FormerScenario, Guardrails};
use healbench_store::RunTimes;
use healbench_text::{agree, part_of};

use crate::metric::Metric;
use crate::report_error::ReportError;
pub use outcomes::{Ending, Flags, Outcomes};
pub use text::BaselineError;

/// The version of the baseline format. Other versions are rejected.
pub const BASELINE_VERSION: u32 = 2;

/// The summary of a run that later runs are compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// The version of healbench that wrote the run. It is displayed, never compared.
    pub healbench: String,
    pub run_format: u32,
    pub seed: u64,
    /// The number of trials per cell.
    pub trials: u32,
    /// The name of the tokenizer used for token counts.
    pub tokenizer: String,
    /// The environment: `simulator`, or `mcp` and the name of the server.
    pub environment: String,
    /// The lockfile that contracts were compared with and the changes shown, as in
    /// [`Plan::contracts_label`](healbench_core::Plan::contracts_label); `None` for those of the scenarios.
    pub contracts: Option<String>,
    /// Date and fingerprint of the price table; `None` in a run without models.
    pub prices: Option<String>,
    /// When the run took place; `None` if that is unknown, and without a live model, whose results may depend on it.
    pub times: Option<RunTimes>,
    /// The agents, by [`CellName::agent`].
    pub agents: BTreeMap<AgentId, AgentFingerprint>,
    /// The fingerprints of error format templates, by name; empty for built-in formats.
    pub formats: BTreeMap<String, String>,
    /// The texts of error format templates, by name; without those that an earlier version did not keep.
    pub templates: BTreeMap<String, String>,
    /// The parts of named conditions besides guardrails and format, by name: `strip message native`.
    pub conditions: BTreeMap<String, String>,
    /// The scenarios, by id.
    pub scenarios: BTreeMap<String, ScenarioFingerprint>,
    /// The results, by cell and scenario id.
    pub cells: BTreeMap<CellName, BTreeMap<String, CellScenario>>,
}

impl Baseline {
    /// Returns the results of two agents of a run that played both, as those of a base and of a candidate: under the name of
    /// the candidate, so that a gate matches their cells. Agents are named as in reports.
    ///
    /// # Errors
    /// The name that is not of an agent of the run.
    pub fn between<'n>(&self, base: &'n str, candidate: &'n str) -> Result<[Baseline; 2], &'n str> {
        let find = |name: &'n str| self.agents.keys().find(|agent| agent.to_string() == name).ok_or(name);
        let (base, candidate) = (find(base)?, find(candidate)?);
        let only = |agent: &AgentId| Baseline {
            agents: self.agents.get(agent).map(|known| (candidate.clone(), known.clone())).into_iter().collect(),
            cells: self
                .cells
                .iter()
                .filter(|(cell, _)| cell.agent == *agent)
                .map(|(cell, scenarios)| (CellName { agent: candidate.clone(), ..cell.clone() }, scenarios.clone()))
                .collect(),
            ..self.clone()
        };
        Ok([only(base), only(candidate)])
    }
}

/// The identity of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFingerprint {
    pub kind: AgentKind,
    /// The fingerprint of what the agent does ([`AgentSpec::identity`](healbench_core::AgentSpec::identity)): a truncated SHA-256, like
    /// every fingerprint in this file.
    pub settings: String,
    /// The fingerprint of all settings, which earlier versions wrote as `settings`. It is not written.
    pub all_settings: String,
}

/// The identity of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioFingerprint {
    /// The fingerprint of the scenario file's text.
    pub text: String,
    /// The fingerprint of the trial schedules' hashes, which are the same for every cell.
    pub schedules: String,
    /// The cluster: the scenario's id, unless it varies the situation of others.
    pub cluster: String,
    /// The scenario before it was renamed, with the fingerprint of its text. It is not written.
    pub former: Option<FormerScenario>,
}

/// An agent in one condition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellName {
    pub agent: AgentId,
    pub guardrails: Guardrails,
    pub format: String,
    /// The name of the condition; `None` if guardrails, format and content say all.
    pub condition: Option<String>,
}

/// The results of one scenario in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellScenario {
    /// The outcome of each trial.
    pub outcomes: Outcomes,
    /// One sum per metric in [`Metric::ALL`], over the scored episodes that have a value.
    pub sums: [Sum; Metric::ALL.len()],
    /// The hash of all episode and call rows; `None` for a model agent, whose rows are not reproducible.
    pub rows: Option<String>,
    /// For a model that is declared deterministic, the first trial with the same schedule, by trial; otherwise empty, and not
    /// part of the text.
    pub copy_of: Vec<u32>,
}

impl CellScenario {
    pub fn sum(&self, metric: Metric) -> Sum {
        self.sums[metric as usize]
    }
}

/// A sum over episodes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sum {
    pub total: f64,
    /// The number of episodes in the sum.
    pub count: u64,
}

/// The error of reducing a run to a baseline.
#[derive(Debug, thiserror::Error)]
pub enum BlessError {
    /// The run's rows cannot be used.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The run was interrupted.
    #[error("the run is incomplete: it has {}", part_of(*done, *planned, "episode"))]
    Incomplete {
        /// The number of episodes in the run.
        done: u64,
        /// The number of episodes in the plan.
        planned: u64,
    },
    /// The run is one shard of a plan.
    #[error("the run is shard {0} of a plan")]
    Shard(String),
    /// Too many episodes were lost.
    #[error(
        "{} {} lost to infrastructure; {limit} is the most",
        part_of(*lost, *planned, "episode"),
        agree(*lost, "was", "were")
    )]
    Lost {
        /// The number of lost episodes.
        lost: u64,
        /// The number of episodes in the plan.
        planned: u64,
        /// The limit as displayed: a percentage or a count.
        limit: String,
    },
    /// An agent or a server was configured wrongly.
    #[error(
        "{} {} lost to configuration",
        part_of(*lost, *planned, "episode"),
        agree(*lost, "was", "were")
    )]
    Config {
        /// The number of lost episodes.
        lost: u64,
        /// The number of episodes in the plan.
        planned: u64,
    },
    /// The trial schedule of a scenario, agent and trial differs between cells.
    #[error("the cells of trial {trial} of `{scenario}` met different schedules")]
    Schedules {
        scenario: String,
        /// The trial, from 0.
        trial: u32,
    },
}

/// Truncates a hash. The rest distinguishes texts that were not constructed to collide.
fn short_hash(sha256: &str) -> String {
    sha256.chars().take(16).collect()
}

/// Returns the name and the text of a custom template; `None` for a built-in format.
fn template(format: &ErrorFormat) -> Option<(String, String)> {
    match format {
        ErrorFormat::Template(template) => Some((format.to_string(), template.text.to_string())),
        _ => None,
    }
}

/// Returns the fingerprint of a custom template, or an empty text for a built-in format.
fn template_hash(format: &ErrorFormat) -> String {
    match format {
        ErrorFormat::Template(template) => short_hash(&healbench_core::fingerprint(template.text.as_bytes())),
        _ => String::new(),
    }
}
