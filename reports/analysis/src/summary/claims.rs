//! Compares the claims of scenarios with measurements.

use healbench_core::{AgentKind, Claim, EpisodeRecord, Guardrails, Measure, Plan, Span};
use schemars::JsonSchema;
use serde::Serialize;

use crate::condition::ShownCondition;
use crate::rate::{CONFIDENCE, Rate};
use crate::statistics::{Interval, Moments};

/// A claim of a scenario, and the measurements of each agent.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClaimReport {
    /// The scenario's id.
    pub scenario: String,
    /// The claim.
    #[schemars(with = "crate::schema::ClaimSchema")]
    pub claim: Claim,
    /// One row per agent and condition, without guardrails and with all of them.
    pub rows: Vec<ClaimRow>,
}

/// The measurement of one agent under one condition.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClaimRow {
    /// The agent as requested.
    pub agent: String,
    /// The heading of its rows.
    pub title: String,
    /// The kind of agent.
    #[schemars(with = "crate::schema::AgentKindSchema")]
    pub kind: AgentKind,
    /// The condition.
    #[serde(flatten)]
    pub condition: ShownCondition,
    /// Successes among scored episodes. An agent that gives up early also makes few calls.
    pub success: Rate,
    /// The mean over scored episodes; null if there are none.
    pub mean: Option<f64>,
    /// Student's interval of the mean, over trials; null for fewer than two.
    pub interval: Option<Interval>,
    /// The claimed range; null if the claim has no number for this row.
    #[schemars(with = "Option<crate::schema::SpanSchema>")]
    pub claimed: Option<Span>,
    /// Whether the measurement supports the claim; null if there is no claim about this row.
    pub verdict: Option<ClaimVerdict>,
}

/// Whether a measurement supports a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// The interval is within the claimed range.
    Supported,
    /// The interval is below the claimed range.
    Lower,
    /// The interval is above the claimed range.
    Higher,
    /// The claim is that guardrails need less, but they need as much.
    Same,
    /// The interval includes an end of the claimed range, or there is no interval.
    Inconclusive,
}

/// The measurements of all claims of one cell.
pub(super) type ClaimMoments = Vec<Moments>;

/// The measurement of one claim in one cell.
#[derive(Clone, Copy)]
struct Measurement {
    moments: Moments,
    success: Rate,
}

/// Adds an episode to the measurements of its scenario's claims.
pub(super) fn add(claims: &[Claim], claim_moments: &mut ClaimMoments, row: &EpisodeRecord) {
    claim_moments.resize(claims.len(), Moments::default());
    for (claim, moments) in claims.iter().zip(claim_moments) {
        moments.add(match claim.measure {
            Measure::Calls => u64::from(row.calls),
            Measure::Retries => u64::from(row.counts.retries),
            Measure::RepeatedCalls => u64::from(row.counts.repeated_calls),
            Measure::ResponseTokens | Measure::ResponseUsd(_) => u64::from(row.counts.largest_response),
        });
    }
}

/// Returns the factor from the counted unit to the measure's unit.
fn unit(measure: Measure) -> f64 {
    match measure {
        Measure::ResponseUsd(per_million) => per_million / 1e6,
        _ => 1.0,
    }
}

/// Compares all claims of a plan with measurements; `measured` returns those of a cell.
pub(super) fn reports<'m>(
    plan: &Plan,
    claim_moments: impl Fn(usize, usize, usize) -> Option<&'m ClaimMoments>,
    success: impl Fn(usize, usize, usize) -> Rate,
) -> Vec<ClaimReport> {
    let mut reports = Vec::new();
    for (scenario, planned) in plan.scenarios.iter().enumerate() {
        for (index, claim) in planned.claims.iter().enumerate() {
            let measurement = |agent, condition| {
                let cell: Option<&ClaimMoments> = claim_moments(scenario, agent, condition);
                let moments = cell.and_then(|cell| cell.get(index)).copied().unwrap_or_default();
                Measurement { moments, success: success(scenario, agent, condition) }
            };
            let mut rows = Vec::new();
            for agent in 0..plan.agents.len() {
                let none = plan.unguarded_condition().map(|none| measurement(agent, none));
                for condition in 0..plan.conditions.len() {
                    rows.extend(row(plan, claim, (agent, condition), measurement(agent, condition), none));
                }
            }
            reports.push(ClaimReport { scenario: planned.id.clone(), claim: claim.clone(), rows });
        }
    }
    reports
}

/// Builds a row; `none` is the measurement of the same agent without guardrails.
fn row(
    plan: &Plan,
    claim: &Claim,
    (agent, condition): (usize, usize),
    measurement: Measurement,
    none: Option<Measurement>,
) -> Option<ClaimRow> {
    let spec = &plan.agents[agent];
    let condition = &plan.conditions[condition];
    let (claimed, is_with) = match condition.guardrails() {
        Guardrails::NONE => (claim.without, false),
        Guardrails::ALL => (claim.with, true),
        _ => return None,
    };
    let unit = unit(claim.measure);
    // A count is never negative, but a symmetric interval can be.
    let interval = |measurement: Measurement| {
        let interval = measurement.moments.interval(CONFIDENCE)?;
        Some(Interval { lower: interval.lower.max(0.0) * unit, upper: interval.upper * unit })
    };
    let (without, interval) = (none.and_then(interval), interval(measurement));
    let verdict = match claimed {
        Some(claimed) => Some(verdict(interval, claimed)),
        // A claim without numbers says that guardrails need less.
        None if is_with && claim.without.is_none() => Some(match (interval, without) {
            (Some(with), Some(without)) if with.upper < without.lower => ClaimVerdict::Supported,
            (Some(with), Some(without)) if with.lower > without.upper => ClaimVerdict::Higher,
            (Some(_), Some(_)) if none.is_some_and(|none| none.moments == measurement.moments) => ClaimVerdict::Same,
            _ => ClaimVerdict::Inconclusive,
        }),
        None => None,
    };
    Some(ClaimRow {
        agent: spec.to_string(),
        title: spec.title(),
        kind: spec.kind,
        condition: ShownCondition::from(condition),
        success: measurement.success,
        mean: measurement.moments.mean().map(|mean| mean * unit),
        interval,
        claimed,
        verdict,
    })
}

fn verdict(interval: Option<Interval>, claimed: Span) -> ClaimVerdict {
    match interval {
        Some(interval) if interval.lower >= claimed.from && interval.upper <= claimed.to => ClaimVerdict::Supported,
        Some(interval) if interval.upper < claimed.from => ClaimVerdict::Lower,
        Some(interval) if interval.lower > claimed.to => ClaimVerdict::Higher,
        _ => ClaimVerdict::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_supported_only_by_the_whole_interval() {
        let claimed = Span { from: 2.0, to: 3.0 };
        let of = |lower, upper| verdict(Some(Interval { lower, upper }), claimed);
        assert_eq!(of(2.0, 3.0), ClaimVerdict::Supported);
        assert_eq!(of(1.0, 1.9), ClaimVerdict::Lower);
        assert_eq!(of(3.1, 4.0), ClaimVerdict::Higher);
        assert_eq!(of(1.9, 2.5), ClaimVerdict::Inconclusive);
        assert_eq!(of(1.0, 4.0), ClaimVerdict::Inconclusive);
        assert_eq!(verdict(None, claimed), ClaimVerdict::Inconclusive);
    }
}
