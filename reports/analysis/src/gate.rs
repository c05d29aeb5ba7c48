//! Compares a candidate with a baseline, row by row, and decides by a policy whether it passes. Only stored runs are
//! read.

mod causes;
mod deterministic;
mod incompatible;
mod inputs;
mod perf;
mod policy;
mod runs;
mod stochastic;

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use healbench_core::{AgentId, Guardrails};
use serde::{Serialize, Serializer};

use crate::baseline::{Baseline, BaselineError, BlessError, CellName, CellScenario, Ending};
use crate::changed_scenarios::{by_gain, rank};
use crate::metric::{Better, Metric};
use crate::statistics::Interval;
pub use incompatible::IncompatibleRuns;
pub use inputs::TextChange;
pub use perf::gate_rounds;
pub use policy::{Check, Direction, Margin, MayDiffer, PerfCheck, PerfPolicy, Policy, Tier};
pub use runs::{ScenarioSource, gate, scenario_sources};

/// The result of one row, or of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    Pass,
    /// The check does not hold: a regression or, for a deterministic row, a change that is not for the better.
    Fail,
    /// The data are not enough to decide.
    Inconclusive,
    /// The subject is not in the candidate.
    Missing,
}

impl Verdict {
    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
            Verdict::Inconclusive => "INCONCLUSIVE",
            Verdict::Missing => "MISSING",
        }
    }
}

/// The method that decided a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Reproducible rows are compared bit by bit; any difference is a change, and passes if it is for the better.
    Exact,
    /// Non-inferiority by Tango's score interval over pairs of the same scenario and trial.
    Tango,
    /// Non-inferiority by the BCa bootstrap over scenarios.
    Bootstrap,
    /// The sign-test interval of the median log ratio of paired rounds.
    SignTest,
    /// Only the presence of the subject is checked.
    Presence,
}

/// The subject of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Subject {
    /// An agent in one condition.
    Cell {
        /// The agent; its title in JSON.
        #[serde(serialize_with = "as_text")]
        agent: AgentId,
        /// The guardrails in force.
        guardrails: Guardrails,
        /// The name of the error format.
        format: String,
        /// The name of the condition; absent if it follows from guardrails and format.
        #[serde(skip_serializing_if = "Option::is_none")]
        condition: Option<String>,
    },
    /// Two variants of a benchmark.
    Variants {
        /// The name of the measurement.
        pair: String,
    },
    Run {
        /// The run as named on the command line.
        run: String,
    },
}

fn as_text<S: Serializer>(agent: &AgentId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(agent)
}

impl Subject {
    pub(crate) fn of(cell: &CellName) -> Subject {
        let CellName { agent, guardrails, format, condition } = cell.clone();
        Subject::Cell { agent, guardrails, format, condition }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateRow {
    /// The subject of the decision.
    pub subject: Subject,
    /// The metric's name; `rows` for any difference in the frames, `time` for a benchmark, `infra` for lost episodes.
    pub metric: String,
    /// The tier: only critical rows decide the verdict.
    pub tier: Tier,
    pub verdict: Verdict,
    /// The method that decided the row.
    pub method: Method,
    /// The base's mean; null if it is unknown or does not exist.
    pub base: Option<f64>,
    /// The candidate's mean; null as `base`.
    pub candidate: Option<f64>,
    pub difference: Option<f64>,
    /// The interval of the difference; null in a deterministic row.
    pub interval: Option<Interval>,
    /// The interval's confidence; null in a deterministic row.
    pub confidence: Option<f64>,
    /// The largest difference for the worse that passes; null in a deterministic row.
    pub margin: Option<Margin>,
    /// What other scenarios would show; null unless the row is a rate of pairs. Decides with `generalize` only.
    pub other_scenarios: Option<OtherScenarios>,
    /// The number of pairs; null if the row is not computed from pairs.
    pub pairs: Option<u64>,
    /// The number of pairs that would settle an inconclusive row; null if no number would, or it is unknown.
    pub needed_pairs: Option<u64>,
    /// The number of scenarios with too few trials to tell a fall from all to none from chance; 0 unless the row is a rate of pairs.
    pub unseen_scenarios: u64,
    pub changes: Vec<ScenarioChange>,
    /// The index of the row under which this one is listed and counted, since one cause made both fail; null for a row of its own.
    pub cause: Option<usize>,
    /// The reason why the scenarios of the row are not compared; null if they are.
    pub unlike: Option<Unlike>,
    /// The reason for the verdict, in one sentence.
    pub reason: String,
}

/// The reason why a scenario of two runs is not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unlike {
    /// Only the base has it.
    Removed,
    /// Only the candidate has it.
    Added,
    /// Its text differs.
    Changed,
    /// Its text is the same, its mistakes, faults or data differ.
    Rescheduled,
}

impl Unlike {
    /// Returns what happened to the scenarios, to stand behind their number: `removed`.
    pub fn words(self) -> &'static str {
        match self {
            Unlike::Removed => "removed",
            Unlike::Added => "added",
            Unlike::Changed => "changed",
            Unlike::Rescheduled => "changed in mistakes, faults or data",
        }
    }

    /// Returns how to have the scenarios compared from then on.
    pub fn way_out(self) -> &'static str {
        match self {
            Unlike::Removed => "run it, or bless a run without it",
            Unlike::Added | Unlike::Changed | Unlike::Rescheduled => "bless the candidate",
        }
    }
}

impl GateRow {
    /// Returns a sort key: the first metric first, and of each metric the largest loss.
    pub fn by_loss(&self) -> RowRank<'_> {
        self.rank(-1.0, ChangeEffect::Worse)
    }

    /// Returns a sort key: the first metric first, and of each metric the largest gain.
    pub fn by_gain(&self) -> RowRank<'_> {
        self.rank(1.0, ChangeEffect::Better)
    }

    fn rank(&self, sign: f64, effect: ChangeEffect) -> RowRank<'_> {
        // What is no metric keeps its order.
        let Ok(metric) = self.metric.parse::<Metric>() else {
            return RowRank { metric: usize::MAX, change: rank(0.0, Vec::new()) };
        };
        let difference = sign * self.difference.unwrap_or(0.0);
        let change = match metric.better() {
            Better::Higher => -difference,
            Better::Lower => difference,
        };
        let scenarios = self.changes.iter().filter(|change| change.effect == effect);
        let scenarios = scenarios.map(|change| change.scenario.as_str()).collect();
        RowRank { metric: metric as usize, change: rank(change, scenarios) }
    }
}

/// A sort key of a row: its metric, then its largest change.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowRank<'a> {
    metric: usize,
    change: (i64, Reverse<usize>, Vec<&'a str>),
}

/// The decision about other scenarios of the same suites.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OtherScenarios {
    /// The clustered score interval of the difference.
    pub interval: Interval,
    /// The decision. A PASS needs [`fewest_clusters`](crate::statistics::fewest_clusters) scenarios.
    pub verdict: Verdict,
    /// The number of scenarios; those of one cluster, which vary one situation, count once.
    pub scenarios: u64,
    /// The number of such scenarios that are missing for a PASS; 0 if there are enough.
    pub missing_scenarios: u64,
}

/// A scenario that differs in the metric of its row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScenarioChange {
    pub scenario: String,
    /// The base's sum; null if it is unknown or the metric is not a number.
    pub base: Option<f64>,
    /// The candidate's sum; null as `base`.
    pub candidate: Option<f64>,
    /// The first trial with a different outcome; null if there is none.
    pub trial: Option<u32>,
    /// The number of trials in which a success was lost, or a false one gained, whether or not other trials make up for it; 0 for other
    /// metrics.
    pub worse_trials: u64,
    pub effect: ChangeEffect,
}

/// The direction of a change. Sorted by it, changes for the worse come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeEffect {
    /// More trials of a rate became worse than better, or the mean is worse.
    Worse,
    /// Neither, or not known.
    Neutral,
    Better,
}

/// Returns the gain of a metric in a scenario, above 0 for the better: of a rate the trials that became better minus those that became worse,
/// as [`compare`](crate::compare) counts them; of anything else, and of a rate that is not known by trial, that of the mean. A mean that was
/// known and is unknown now is infinitely worse.
fn gain(metric: Metric, before: &CellScenario, after: &CellScenario) -> f64 {
    let signed = |gain: f64| match metric.better() {
        Better::Higher => gain,
        Better::Lower => -gain,
    };
    let paired = stochastic::pair_by_trial(metric, "", before, after);
    if metric.is_rate() && paired.pairs > 0 {
        return signed(paired.more as f64 - paired.fewer as f64);
    }
    let mean = |side: &CellScenario| {
        let sum = side.sum(metric);
        (sum.count > 0).then(|| sum.total / sum.count as f64)
    };
    match (mean(before), mean(after)) {
        (Some(before), Some(after)) => signed(after - before),
        (Some(_), None) => f64::NEG_INFINITY,
        (None, _) => 0.0,
    }
}

/// Returns the number of trials whose success became worse, or is no longer known.
fn worse_trials(metric: Metric, before: &CellScenario, after: &CellScenario) -> u64 {
    if !matches!(metric, Metric::Success | Metric::FalseSuccess) {
        return 0;
    }
    let is_good = |flag: bool| flag == (metric.better() == Better::Higher);
    let trials = before.outcomes.iter().zip(after.outcomes.iter());
    let is_worse = |(before, after): &(Ending, Ending)| match (before.flag(metric), after.flag(metric)) {
        (Some(before), Some(after)) => is_good(before) && !is_good(after),
        (before, _) => before.is_some(),
    };
    trials.filter(is_worse).count() as u64
}

/// Returns the changes of a metric in the scenarios that differ, in the [order](crate::changed_scenarios::by_gain) of all reports.
fn changes(
    metric: Metric,
    matched: &MatchedScenarios<'_>,
    differs: impl Fn(&CellScenario, &CellScenario) -> bool,
) -> Vec<ScenarioChange> {
    let number = |scenario: &CellScenario| Some(scenario.sum(metric)).filter(|sum| sum.count > 0).map(|sum| sum.total);
    let differing = matched.iter().filter(|(_, before, after)| differs(before, after));
    let gains = differing.map(|(scenario, before, after)| (*scenario, gain(metric, before, after), (*before, *after)));
    let change = |(scenario, gain, (before, after)): (&str, f64, (&CellScenario, &CellScenario))| ScenarioChange {
        scenario: scenario.to_owned(),
        base: number(before),
        candidate: number(after),
        trial: first_differing_trial(before, after),
        worse_trials: worse_trials(metric, before, after),
        effect: match gain.total_cmp(&0.0) {
            _ if gain == 0.0 => ChangeEffect::Neutral,
            Ordering::Less => ChangeEffect::Worse,
            _ => ChangeEffect::Better,
        },
    };
    by_gain(gains.collect()).into_iter().map(change).collect()
}

/// Returns the first trial whose outcome differs.
fn first_differing_trial(before: &CellScenario, after: &CellScenario) -> Option<u32> {
    let at = before.outcomes.iter().zip(after.outcomes.iter()).position(|(before, after)| before != after)?;
    u32::try_from(at).ok()
}

impl ScenarioChange {
    /// A scenario of which no number is known.
    fn named(scenario: &str) -> ScenarioChange {
        ScenarioChange {
            scenario: scenario.to_owned(),
            base: None,
            candidate: None,
            trial: None,
            worse_trials: 0,
            effect: ChangeEffect::Neutral,
        }
    }
}

/// The location of a scenario in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceLocation {
    /// The file's path as the run recorded it.
    pub path: String,
    /// The line of the scenario's id, from 1.
    pub line: u32,
}

/// All decisions of a gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateReport {
    /// The base as named on the command line.
    pub base: Option<String>,
    /// The candidate as named on the command line.
    pub candidate: String,
    /// The run that the candidate is, or is a part of.
    pub candidate_run: String,
    /// The policy as named on the command line; null for the built-in policy.
    pub policy: Option<String>,
    /// The worst verdict of the critical rows.
    pub verdict: Verdict,
    /// A sentence if rows of live models were compared, and one run ended before the other began; null otherwise, and if the times
    /// are unknown.
    pub run_apart: Option<String>,
    /// The number of rows that are of their own, by verdict.
    pub counts: BTreeMap<&'static str, u64>,
    pub rows: Vec<GateRow>,
    /// The inputs that differ: templates, then scenarios.
    pub texts: Vec<TextChange>,
    /// The locations of the changed scenarios, by id.
    pub locations: BTreeMap<String, SourceLocation>,
}

/// The error of a gate that cannot decide.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The base is not a baseline.
    #[error("`{file}` is no baseline: {source}")]
    Baseline {
        /// The file as named on the command line.
        file: String,
        source: BaselineError,
    },
    /// A run cannot be reduced to a baseline.
    #[error("`{run}` cannot be held to a gate: {source}")]
    Run {
        /// The run as named on the command line.
        run: String,
        source: BlessError,
    },
    /// The base and the candidate do not have the same inputs.
    #[error(transparent)]
    IncompatibleRuns(IncompatibleRuns),
    /// The two measurements were made under different conditions.
    #[error(transparent)]
    IncompatibleRounds(IncompatibleRuns),
}

/// The base or the candidate of a gate.
#[derive(Debug, Clone, Copy)]
pub struct NamedBaseline<'a> {
    /// The name on the command line.
    pub name: &'a str,
    /// The run that it is, or is a part of.
    pub run: &'a str,
    /// The summary of the run.
    pub baseline: &'a Baseline,
    /// The scenarios' files, by id; empty if only the summary is there.
    pub sources: &'a BTreeMap<String, ScenarioSource>,
}

impl<'a> NamedBaseline<'a> {
    /// A summary without the files that it was made from.
    pub fn summary(name: &'a str, baseline: &'a Baseline) -> NamedBaseline<'a> {
        static NO_SOURCES: BTreeMap<String, ScenarioSource> = BTreeMap::new();
        NamedBaseline { name, run: name, baseline, sources: &NO_SOURCES }
    }
}

/// The scenarios that both sides have: id, base, candidate.
type MatchedScenarios<'a> = Vec<(&'a str, &'a CellScenario, &'a CellScenario)>;

/// The metric of the row about lost episodes.
const INFRA: &str = "infra";
/// The metric of the rows about scenarios that are not compared.
const SCENARIOS: &str = "scenarios";

/// Returns the worst verdict of the critical rows. If too many episodes were lost, the remaining ones decide nothing.
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
    for row in rows.iter().filter(|row| row.cause.is_none()) {
        *counts.entry(row.verdict.name()).or_default() += 1;
    }
    counts
}

/// Builds the row of a missing subject. Such a row is critical in every policy.
fn missing_row(subject: Subject, metric: &str, reason: &str) -> GateRow {
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
        other_scenarios: None,
        confidence: None,
        margin: None,
        pairs: None,
        needed_pairs: None,
        unseen_scenarios: 0,
        changes: Vec::new(),
        cause: None,
        unlike: None,
        reason: reason.to_owned(),
    }
}
