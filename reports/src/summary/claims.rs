//! What scenarios claim, held against what was measured.

use healbench_protocol::{AgentKind, Claim, ErrorFormat, Guardrails, Measure, Span};
use healbench_record::{EpisodeRecord, Plan};
use schemars::JsonSchema;
use serde::Serialize;

use super::{CONFIDENCE, Rate, by_name};
use crate::statistics::{Interval, Moments};

/// A claim of a scenario, and what was measured of each agent.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClaimReport {
    /// The scenario's id.
    pub scenario: String,
    /// The claim.
    #[schemars(with = "crate::schema::ClaimForm")]
    pub claim: Claim,
    /// One row an agent and setting: under no guardrails, and under all of them.
    pub rows: Vec<ClaimRow>,
}

/// What was measured of one agent under one setting.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClaimRow {
    /// The agent as it was asked for.
    pub agent: String,
    /// What its rows are headed with.
    pub title: String,
    /// What plays it.
    #[schemars(with = "crate::schema::AgentKindForm")]
    pub kind: AgentKind,
    /// `none` or `all`.
    #[schemars(with = "crate::schema::GuardrailsForm")]
    pub guardrails: Guardrails,
    /// How failures were written; its name in JSON.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub format: ErrorFormat,
    /// Successes among scored episodes: few calls are no merit of an agent that gave up.
    pub success: Rate,
    /// The mean over them; null of none.
    pub mean: Option<f64>,
    /// Student's interval of the mean, over trials; null for fewer than two.
    pub interval: Option<Interval>,
    /// What is claimed here; null when no number is.
    #[schemars(with = "Option<crate::schema::SpanForm>")]
    pub claimed: Option<Span>,
    /// Whether the measurement bears the claim out; null where nothing is claimed of this row.
    pub verdict: Option<ClaimVerdict>,
}

/// Whether a measurement bears a claim out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// The whole interval is within what is claimed.
    BorneOut,
    /// The whole interval is below what is claimed.
    Lower,
    /// The whole interval is above what is claimed.
    Higher,
    /// It is claimed that guardrails need less, and they need as much.
    Same,
    /// The interval reaches over an end of what is claimed, or there is none.
    CannotTell,
}

/// What was measured of the claims of one cell.
pub(super) type Measured = Vec<Moments>;

/// What a cell has of one claim.
#[derive(Clone, Copy)]
struct Found {
    moments: Moments,
    success: Rate,
}

/// Adds an episode to what its scenario's claims are about.
pub(super) fn add(claims: &[Claim], measured: &mut Measured, row: &EpisodeRecord) {
    measured.resize(claims.len(), Moments::default());
    for (claim, moments) in claims.iter().zip(measured) {
        moments.add(match claim.measure {
            Measure::Calls => u64::from(row.calls),
            Measure::Retries => u64::from(row.counts.retries),
            Measure::RepeatedCalls => u64::from(row.counts.repeated_calls),
            Measure::ResponseTokens | Measure::ResponseUsd(_) => u64::from(row.counts.largest_response),
        });
    }
}

/// What a unit of a measure's count is in the measure's own unit.
fn unit(measure: Measure) -> f64 {
    match measure {
        Measure::ResponseUsd(per_million) => per_million / 1e6,
        _ => 1.0,
    }
}

/// Holds all claims of a plan against what was measured; `measured` gives what a cell's claims add up to.
pub(super) fn reports<'m>(
    plan: &Plan,
    measured: impl Fn(usize, usize, usize) -> Option<&'m Measured>,
    success: impl Fn(usize, usize, usize) -> Rate,
) -> Vec<ClaimReport> {
    let mut reports = Vec::new();
    for (scenario, planned) in plan.scenarios.iter().enumerate() {
        for (index, claim) in planned.claims.iter().enumerate() {
            let found = |agent, condition| {
                let cell: Option<&Measured> = measured(scenario, agent, condition);
                let moments = cell.and_then(|cell| cell.get(index)).copied().unwrap_or_default();
                Found { moments, success: success(scenario, agent, condition) }
            };
            let mut rows = Vec::new();
            for agent in 0..plan.agents.len() {
                let none = plan.unguarded_condition().map(|none| found(agent, none));
                for condition in 0..plan.conditions.len() {
                    rows.extend(row(plan, claim, (agent, condition), found(agent, condition), none));
                }
            }
            reports.push(ClaimReport { scenario: planned.id.clone(), claim: claim.clone(), rows });
        }
    }
    reports
}

/// `none` is what the same agent has under no guardrails.
fn row(
    plan: &Plan,
    claim: &Claim,
    (agent, condition): (usize, usize),
    found: Found,
    none: Option<Found>,
) -> Option<ClaimRow> {
    let spec = &plan.agents[agent];
    let condition = &plan.conditions[condition];
    let (claimed, is_with) = match condition.guardrails {
        Guardrails::NONE => (claim.without, false),
        Guardrails::ALL => (claim.with, true),
        _ => return None,
    };
    let unit = unit(claim.measure);
    // A count is never negative, whatever a symmetric interval says.
    let interval = |found: Found| {
        let interval = found.moments.interval(CONFIDENCE)?;
        Some(Interval { lower: interval.lower.max(0.0) * unit, upper: interval.upper * unit })
    };
    let (without, interval) = (none.and_then(interval), interval(found));
    let verdict = match claimed {
        Some(claimed) => Some(verdict(interval, claimed)),
        // Without a number, what is claimed is that guardrails need less.
        None if is_with && claim.without.is_none() => Some(match (interval, without) {
            (Some(with), Some(without)) if with.upper < without.lower => ClaimVerdict::BorneOut,
            (Some(with), Some(without)) if with.lower > without.upper => ClaimVerdict::Higher,
            (Some(_), Some(_)) if none.is_some_and(|none| none.moments == found.moments) => ClaimVerdict::Same,
            _ => ClaimVerdict::CannotTell,
        }),
        None => None,
    };
    Some(ClaimRow {
        agent: spec.to_string(),
        title: spec.title(),
        kind: spec.kind,
        guardrails: condition.guardrails,
        format: condition.format.clone(),
        success: found.success,
        mean: found.moments.mean().map(|mean| mean * unit),
        interval,
        claimed,
        verdict,
    })
}

fn verdict(interval: Option<Interval>, claimed: Span) -> ClaimVerdict {
    match interval {
        Some(found) if found.lower >= claimed.from && found.upper <= claimed.to => ClaimVerdict::BorneOut,
        Some(found) if found.upper < claimed.from => ClaimVerdict::Lower,
        Some(found) if found.lower > claimed.to => ClaimVerdict::Higher,
        _ => ClaimVerdict::CannotTell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_borne_out_only_by_the_whole_interval() {
        let claimed = Span { from: 2.0, to: 3.0 };
        let of = |lower, upper| verdict(Some(Interval { lower, upper }), claimed);
        assert_eq!(of(2.0, 3.0), ClaimVerdict::BorneOut);
        assert_eq!(of(1.0, 1.9), ClaimVerdict::Lower);
        assert_eq!(of(3.1, 4.0), ClaimVerdict::Higher);
        assert_eq!(of(1.9, 2.5), ClaimVerdict::CannotTell);
        assert_eq!(of(1.0, 4.0), ClaimVerdict::CannotTell);
        assert_eq!(verdict(None, claimed), ClaimVerdict::CannotTell);
    }
}
