//! How many scenarios and trials would settle a difference, and what a plan at hand would settle.

use std::collections::BTreeMap;

use healbench_core::{AgentKind, AgentSpec, AxisError, Plan};
use serde::Serialize;

use crate::comparison::{Axis, ComparisonError, Side, matrix};
use crate::metric::Metric;
use crate::rate::CONFIDENCE;
use crate::statistics::{PlannedPairs, PlannedTest, Population, fewest_clusters};
use crate::summary::{HeadlineConditions, has_headline};

/// The numbers of trials for which sizes are computed.
const TRIALS: [u32; 4] = [1, 5, 10, 20];

/// What the computation of sample sizes takes for granted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeAssumptions {
    /// The share of pairs that are discordant when the means of both sides are equal.
    pub discordance: f64,
    /// The intraclass correlations of the differences of a scenario's pairs.
    pub icc: Vec<f64>,
    /// The measurement of these numbers; null if they were given.
    pub measured: Option<MeasuredVariation>,
}

/// How two conditions of a run differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredVariation {
    /// The run as named by the user.
    pub run: String,
    /// The agent that needs the most scenarios.
    pub agent: String,
    /// The number of agents that were measured.
    pub agents: u64,
    /// The names of the two conditions, beginning with the reference.
    pub conditions: [String; 2],
    /// The number of pairs.
    pub pairs: u64,
}

/// The numbers of scenarios that a difference of success rates needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampleSizes {
    /// The difference as a share: 0.05 for 5 points.
    pub detect: f64,
    pub power: f64,
    pub assumptions: SizeAssumptions,
    /// The fewest scenarios with which a gate can pass on other scenarios.
    pub fewest_scenarios: u64,
    /// The plan at hand.
    pub plan: SizedPlan,
    /// The two questions: whether a gate passes a candidate that changed nothing, and whether a comparison shows a true
    /// difference.
    pub questions: Vec<SizeQuestion>,
}

/// The size of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SizedPlan {
    /// The number of scenarios.
    pub scenarios: u64,
    /// The number of clusters; scenarios that vary one situation count as one.
    pub clusters: u64,
    /// The number of trials.
    pub trials: u32,
    /// The number of episodes of both sides, for one agent.
    pub episodes: u64,
}

/// A question to be settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SizedDecision {
    /// A gate with the difference as its margin passes a candidate that changed nothing.
    GatePasses,
    /// A comparison shows a true gain or loss of the difference.
    ComparisonShows,
}

/// The sizes for one question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeQuestion {
    pub decision: SizedDecision,
    /// The answers: for the same scenarios run again, then for other scenarios by intraclass correlation.
    pub columns: Vec<SizeColumn>,
}

/// The sizes for one population.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeColumn {
    /// The intraclass correlation on other scenarios; null for the same scenarios run again.
    pub icc: Option<f64>,
    /// The sizes by number of trials.
    pub needed: Vec<NeededSize>,
    /// The probability with the plan at hand.
    pub plan_power: f64,
    /// The size with the plan's number of trials.
    pub plan_needs: NeededSize,
}

/// The size that has the required power.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NeededSize {
    /// The number of trials.
    pub trials: u32,
    /// The number of scenarios; null if ten million are not enough.
    pub scenarios: Option<u64>,
    /// The number of episodes of both sides, for one agent.
    pub episodes: Option<u64>,
}

/// Computes the sizes. Returns `None` unless `detect` and `power` are above 0 and below 1, and the assumptions within 0 and 1.
pub fn sample_sizes(detect: f64, power: f64, assumptions: SizeAssumptions, plan: &Plan) -> Option<SampleSizes> {
    let is_share = |share: &f64| (0.0..=1.0).contains(share);
    if !(power > 0.0 && power < 1.0 && assumptions.icc.iter().all(is_share)) {
        return None;
    }
    let mut clusters: BTreeMap<&str, u64> = BTreeMap::new();
    for scenario in &plan.scenarios {
        *clusters.entry(&scenario.cluster).or_default() += u64::from(plan.trials);
    }
    let pairs: u64 = clusters.values().sum();
    let squares: f64 = clusters.values().map(|pairs| (*pairs as f64).powi(2)).sum();
    let clusters = clusters.len() as u64;
    let planned = PlannedPairs { pairs, clusters, cluster_size: squares / (pairs as f64).max(1.0) };
    let question = |decision, test: PlannedTest| {
        let others = assumptions.icc.iter().map(|icc| Population::OtherScenarios { icc: *icc });
        let columns = std::iter::once(Population::ThisSuite).chain(others).map(|population| SizeColumn {
            icc: match population {
                Population::ThisSuite => None,
                Population::OtherScenarios { icc } => Some(icc),
            },
            needed: TRIALS.map(|trials| needed(&test, trials, population, power)).to_vec(),
            plan_power: test.power(planned, population),
            plan_needs: needed(&test, plan.trials, population, power),
        });
        SizeQuestion { decision, columns: columns.collect() }
    };
    Some(SampleSizes {
        detect,
        power,
        fewest_scenarios: fewest_clusters(detect)?,
        plan: SizedPlan { scenarios: plan.scenarios.len() as u64, clusters, trials: plan.trials, episodes: 2 * pairs },
        questions: vec![
            question(SizedDecision::GatePasses, PlannedTest::gate(detect, assumptions.discordance)?),
            question(
                SizedDecision::ComparisonShows,
                PlannedTest::comparison(detect, assumptions.discordance, CONFIDENCE)?,
            ),
        ],
        assumptions,
    })
}

fn needed(test: &PlannedTest, trials: u32, population: Population, power: f64) -> NeededSize {
    let scenarios = test.scenarios_for(trials, population, power);
    NeededSize { trials, scenarios, episodes: scenarios.map(|scenarios| 2 * scenarios * u64::from(trials)) }
}

/// Measures how much two conditions of a run differ: those named, reference first, or those of its headline. The agent is, of those of the
/// run that `plan` has too, or else of those that have a headline, the one that needs the most scenarios.
///
/// # Errors
/// As [`matrix`], and [`ComparisonError::NoPairs`] if the two have no pairs in two clusters of scenarios.
pub fn measure_variation(
    side: Side<'_>,
    plan: &Plan,
    pair: Option<[&str; 2]>,
) -> Result<SizeAssumptions, ComparisonError> {
    let agents = &side.manifest.plan.agents;
    let headline = HeadlineConditions::of(&side.manifest.plan);
    let label = |at: usize| side.manifest.plan.conditions[at].short_label();
    let [reference, condition] = match (pair, headline) {
        (Some(pair), _) => pair.map(str::to_owned),
        (None, Some(headline)) => [headline.left, headline.right].map(label),
        (None, None) => return Err(ComparisonError::TooFew { run: side.name.to_owned(), axis: "conditions" }),
    };
    let found = matrix(side, Axis::Condition, Some(&reference))?;
    let at = found.rows.iter().position(|row| *row == condition).ok_or_else(|| {
        ComparisonError::Axis(AxisError { axis: "condition", word: condition.clone(), known: found.rows.clone() })
    })?;
    let is_planned = |agent: &AgentSpec| plan.agents.iter().any(|planned| planned.id() == agent.id());
    let has_model = agents.iter().any(|agent| agent.kind != AgentKind::Scripted);
    let any_planned = agents.iter().any(is_planned);
    let counts = |agent: &AgentSpec| match any_planned {
        true => is_planned(agent),
        false => has_headline(agent.kind, has_model),
    };
    let measured = agents.iter().enumerate().filter(|(_, agent)| counts(agent)).filter_map(|(index, _)| {
        let column = found.columns.get(index)?;
        let cell = column.cells.get(at)?.as_ref()?;
        let success = cell.differences.iter().find(|entry| entry.metric == Metric::Success)?;
        let discordance = (success.more + success.fewer) as f64 / success.pairs as f64;
        Some((column.title.clone(), discordance, success.icc?.clamp(0.0, 1.0), success.pairs))
    });
    let measured: Vec<(String, f64, f64, u64)> = measured.collect();
    let of = measured.len() as u64;
    // The variance of a mean of pairs grows with their discordance and, on other scenarios, with their correlation.
    let need = |(_, discordance, icc, _): &(String, f64, f64, u64)| {
        discordance * (1.0 + (f64::from(side.manifest.plan.trials) - 1.0) * icc)
    };
    let largest = measured.into_iter().rev().max_by(|a, b| need(a).total_cmp(&need(b)));
    let assumptions = |(agent, discordance, icc, pairs)| SizeAssumptions {
        discordance,
        icc: vec![icc],
        measured: Some(MeasuredVariation {
            run: found.run.clone(),
            agent,
            agents: of,
            conditions: [reference, condition],
            pairs,
        }),
    };
    largest.map(assumptions).ok_or(ComparisonError::NoPairs { run: found.run.clone() })
}
