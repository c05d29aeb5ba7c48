//! Whether a candidate may pass: a policy's checks held against a baseline, row by row. Decided from stored runs alone.

mod deterministic;
mod incompatible;
mod perf;
mod policy;
mod runs;
mod stochastic;

use std::collections::BTreeMap;

use healbench_protocol::Guardrails;
use serde::Serialize;

use crate::baseline::{Baseline, BaselineError, BlessError, CellName, CellScenario};
use crate::statistics::Interval;
pub use incompatible::IncompatibleRuns;
pub use perf::gate_rounds;
pub use policy::{Check, Direction, Margin, MayDiffer, PerfCheck, PerfPolicy, Policy, PolicyError, Tier};
pub use runs::{gate, places};

/// What a row, or all of them, come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// It holds.
    Pass,
    /// It does not hold: a regression; of rows that are exact, any change.
    Fail,
    /// It cannot be told from so much.
    Inconclusive,
    /// What it is about is not there.
    Missing,
}

impl Verdict {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
            Verdict::Inconclusive => "INCONCLUSIVE",
            Verdict::Missing => "MISSING",
        }
    }
}

/// How a row was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Rows that come again bit by bit: any difference is a change.
    Exact,
    /// Non-inferiority by Tango's score interval over pairs of the same scenario and trial.
    Tango,
    /// Non-inferiority by the BCa bootstrap over scenarios.
    Bootstrap,
    /// The sign-test interval of the median log ratio of paired rounds.
    SignTest,
    /// Whether something is there at all.
    Presence,
}

/// What a row is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Subject {
    /// An agent under a setting.
    Cell {
        /// What the agent's rows are headed with.
        agent: String,
        /// The guardrails in force.
        guardrails: Guardrails,
        /// The name of the error format.
        format: String,
    },
    /// Two arms of a bench.
    Arms {
        /// What is measured.
        pair: String,
    },
    /// The whole run.
    Run {
        /// The run as it was named.
        run: String,
    },
}

impl Subject {
    pub(crate) fn of(cell: &CellName) -> Subject {
        let CellName { agent, guardrails, format } = cell.clone();
        Subject::Cell { agent, guardrails, format }
    }
}

/// One decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateRow {
    /// What it is about.
    pub subject: Subject,
    /// The metric's name; `rows` where anything in the frames counts, `time` of a bench, `infra` of lost episodes.
    pub metric: String,
    /// Whether it decides.
    pub tier: Tier,
    /// What it comes to.
    pub verdict: Verdict,
    /// How it was decided.
    pub method: Method,
    /// The base's mean; null when it is unknown or there is none.
    pub base: Option<f64>,
    /// The candidate's.
    pub candidate: Option<f64>,
    /// Candidate minus base.
    pub difference: Option<f64>,
    /// The interval of the difference; null of an exact row.
    pub interval: Option<Interval>,
    /// The interval's confidence; null of an exact row.
    pub confidence: Option<f64>,
    /// How much worse it may be; null of an exact row.
    pub margin: Option<Margin>,
    /// Pairs that it rests on; null where there are none to count.
    pub pairs: Option<u64>,
    /// Pairs that would settle an inconclusive row; null when no number would, or none is known.
    pub settles: Option<u64>,
    /// The scenarios that changed.
    pub changes: Vec<Change>,
    /// Why, in a sentence.
    pub says: String,
}

/// A scenario that differs in the metric of its row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The scenario's id.
    pub scenario: String,
    /// The base's sum; null when it is unknown, or the metric is no number.
    pub base: Option<f64>,
    /// The candidate's.
    pub candidate: Option<f64>,
    /// The first trial whose ending differs; null when none does.
    pub trial: Option<u32>,
}

/// Where a scenario is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file's path as the run had it.
    pub path: String,
    /// The line of its id, from 1.
    pub line: u32,
}

/// Everything that a gate decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateReport {
    /// What the candidate was held against, as it was named.
    pub base: Option<String>,
    /// The candidate as it was named.
    pub candidate: String,
    /// The policy as it was named; null for the one that is built in.
    pub policy: Option<String>,
    /// What it all comes to: the worst of the critical rows.
    pub verdict: Verdict,
    /// How many rows there are of each verdict.
    pub counts: BTreeMap<&'static str, u64>,
    /// The rows.
    pub rows: Vec<GateRow>,
    /// Where the scenarios are that changed, by id.
    pub places: BTreeMap<String, Place>,
}

/// Why a gate cannot decide at all.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The base's text is no baseline.
    #[error("`{file}` is no baseline: {source}")]
    Baseline {
        /// The file as it was named.
        file: String,
        /// What is wrong with it.
        source: BaselineError,
    },
    /// A run cannot be reduced to what is compared.
    #[error("`{run}` cannot be held to a gate: {source}")]
    Run {
        /// The run as it was named.
        run: String,
        /// Why.
        source: BlessError,
    },
    /// The base and the candidate are not of the same thing.
    #[error(transparent)]
    IncompatibleRuns(IncompatibleRuns),
    /// Two measurements were not made alike.
    #[error(transparent)]
    UnlikeRounds(IncompatibleRuns),
}

/// One side of a gate.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The side as it was named.
    pub name: &'a str,
    /// What it adds up to.
    pub baseline: &'a Baseline,
}

/// The same scenarios of both sides, in one order.
type Lines<'a> = Vec<(&'a str, &'a CellScenario, &'a CellScenario)>;

/// The row about lost episodes.
const INFRA: &str = "infra";

/// The worst of the critical rows. Where too much of the run was lost, what is left of it decides nothing.
fn overall(rows: &[GateRow]) -> Verdict {
    if rows.iter().any(|row| row.metric == INFRA && row.verdict == Verdict::Missing) {
        return Verdict::Missing;
    }
    let has = |verdict| rows.iter().any(|row| row.tier == Tier::Critical && row.verdict == verdict);
    [Verdict::Fail, Verdict::Missing, Verdict::Inconclusive]
        .into_iter()
        .find(|verdict| has(*verdict))
        .unwrap_or(Verdict::Pass)
}

fn counts(rows: &[GateRow]) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for row in rows {
        *counts.entry(row.verdict.name()).or_default() += 1;
    }
    counts
}

/// A row about something that is not there, which every policy cares for.
fn missing(subject: Subject, metric: &str, says: &str) -> GateRow {
    GateRow {
        subject,
        metric: metric.to_owned(),
        tier: Tier::Critical,
        verdict: Verdict::Missing,
        method: Method::Presence,
        base: None,
        candidate: None,
        difference: None,
        interval: None,
        confidence: None,
        margin: None,
        pairs: None,
        settles: None,
        changes: Vec::new(),
        says: says.to_owned(),
    }
}
