use healbench_protocol::{AgentSpec, ErrorFormat, Guardrails, Seed};
use healbench_record::{Condition, Plan, PlannedScenario};
use healbench_scenarios::Scenario;

/// What a plan is spanned by, beside its scenarios.
#[derive(Debug, Clone)]
pub struct Axes {
    /// The agents.
    pub agents: Vec<AgentSpec>,
    /// The sets of guardrails.
    pub guardrails: Vec<Guardrails>,
    /// The error formats, for the sets with `healing`.
    pub formats: Vec<ErrorFormat>,
    /// Repetitions of each cell.
    pub trials: u32,
    /// The seed.
    pub seed: Seed,
}

/// Spans the plan. A set without `healing` has one cell, not one a format: the format could not be seen.
pub fn build_plan(axes: &Axes, scenarios: &[Scenario]) -> Plan {
    let mut conditions: Vec<Condition> = Vec::new();
    for guardrails in &axes.guardrails {
        let formats = if guardrails.healing { axes.formats.as_slice() } else { &[ErrorFormat::Bare] };
        for format in formats {
            let condition = Condition { guardrails: *guardrails, format: format.clone() };
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
    }
    let planned = |scenario: &Scenario| PlannedScenario {
        id: scenario.id.clone(),
        path: scenario.source.path.clone(),
        sha256: scenario.source.sha256.clone(),
        claims: scenario.claims.clone(),
    };
    Plan {
        seed: axes.seed,
        trials: axes.trials,
        agents: axes.agents.clone(),
        conditions,
        scenarios: scenarios.iter().map(planned).collect(),
    }
}
