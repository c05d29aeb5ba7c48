//! A blessed run, small enough to review: per cell and scenario what it adds up to, with marks of everything that it rests on.

mod of_run;
mod outcomes;
mod text;

use std::collections::BTreeMap;

use healbench_protocol::{AgentKind, ErrorFormat, Guardrails};

use crate::metric::Metric;
use crate::summary::ReportError;
pub use outcomes::{Ending, Flags, Outcomes};
pub use text::BaselineError;

/// The version of a baseline's text. One of another version is refused.
pub const BASELINE_VERSION: u32 = 1;

/// What is kept of a run to hold later ones against.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// The version of the program that wrote the run; said, and never compared.
    pub healbench: String,
    /// The run's format version.
    pub run_format: u32,
    /// The seed of its plan.
    pub seed: u64,
    /// Repetitions of each cell.
    pub trials: u32,
    /// The vocabulary of token counts.
    pub tokenizer: String,
    /// Date and mark of the price table; `None` in a run without models.
    pub prices: Option<String>,
    /// By agent, as [`CellName::agent`] names it.
    pub agents: BTreeMap<String, AgentFingerprint>,
    /// By error format, a mark of its text; empty for those that are built in.
    pub formats: BTreeMap<String, String>,
    /// By id.
    pub scenarios: BTreeMap<String, ScenarioFingerprint>,
    /// By cell and scenario.
    pub cells: BTreeMap<CellName, BTreeMap<String, CellScenario>>,
}

/// What an agent was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFingerprint {
    /// What played it.
    pub kind: AgentKind,
    /// A mark of its settings: the beginning of a SHA-256, as every mark is.
    pub settings: String,
}

/// What a scenario was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioFingerprint {
    /// A mark of its text.
    pub text: String,
    /// A mark of the schedules' hashes of its trials, which every cell met.
    pub schedules: String,
}

/// An agent under a setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellName {
    /// What its rows are headed with, without `replayed`: an agent is the same whether it is asked or replayed.
    pub agent: String,
    /// The guardrails in force.
    pub guardrails: Guardrails,
    /// The name of the error format.
    pub format: String,
}

/// One scenario in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellScenario {
    /// How each trial ended.
    pub outcomes: Outcomes,
    /// By [`Metric::ALL`]: the sum over scored episodes that have the number, and how many those are.
    pub sums: [Sum; Metric::ALL.len()],
    /// A hash of all rows of episodes and calls; `None` of a model that was asked, whose rows never come again.
    pub rows: Option<String>,
}

impl CellScenario {
    /// The sum of a metric.
    pub fn sum(&self, metric: Metric) -> Sum {
        self.sums[metric as usize]
    }
}

/// A sum over episodes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sum {
    /// The sum.
    pub total: f64,
    /// Episodes that it is over.
    pub of: u64,
}

/// Why a run is no baseline.
#[derive(Debug, thiserror::Error)]
pub enum BlessError {
    /// Its rows cannot be used.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// It was interrupted.
    #[error("the run is not whole: it has {done} of {planned} episodes")]
    Partial {
        /// Episodes that are there.
        done: u64,
        /// Episodes that were planned.
        planned: u64,
    },
    /// It is one part of a plan.
    #[error("the run is shard {0} of a plan")]
    Shard(String),
    /// Too many episodes were lost.
    #[error("{lost} of {planned} episodes were lost to infrastructure or configuration; {limit} is the most")]
    Lost {
        /// Episodes that were lost.
        lost: u64,
        /// Episodes that were planned.
        planned: u64,
        /// The limit, in words.
        limit: String,
    },
    /// One scenario, agent and trial was not the same in every cell.
    #[error("the cells of trial {trial} of `{scenario}` met different schedules")]
    Schedules {
        /// The scenario.
        scenario: String,
        /// The trial.
        trial: u32,
    },
}

/// So much of a hash tells texts apart that nobody made to be mistaken for each other.
fn mark(sha256: &str) -> String {
    sha256.chars().take(16).collect()
}

/// A mark of a template's text; nothing stands for the formats that are built in.
fn format_mark(format: &ErrorFormat) -> String {
    match format {
        ErrorFormat::Template(template) => mark(&healbench_protocol::fingerprint(template.text.as_bytes())),
        _ => String::new(),
    }
}
