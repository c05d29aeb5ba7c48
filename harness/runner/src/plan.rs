use healbench_protocol::{AgentSpec, ErrorFormat, Guardrails, Seed};
use healbench_record::{Condition, Environment, Plan, PlannedScenario};
use healbench_scenarios::Scenario;

/// The axes of a plan, except for the scenarios.
#[derive(Debug, Clone)]
pub struct Axes {
    /// The agents.
    pub agents: Vec<AgentSpec>,
    /// The sets of guardrails.
    pub guardrails: Vec<Guardrails>,
    /// The error formats, for the sets with `healing`.
    pub formats: Vec<ErrorFormat>,
    /// The number of repetitions of each cell.
    pub trials: u32,
    /// The seed.
    pub seed: Seed,
}

/// Builds a plan. A set without `healing` gets one condition instead of one per format, because the format has no
/// effect.
pub fn build_plan(axes: &Axes, scenarios: &[Scenario]) -> Plan {
    let mut conditions: Vec<Condition> = Vec::new();
    for guardrails in &axes.guardrails {
        let formats = if guardrails.healing { axes.formats.as_slice() } else { &[ErrorFormat::Bare] };
        for format in formats {
            let condition = Condition::new(*guardrails, format.clone());
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
    }
    let planned = |scenario: &Scenario| PlannedScenario {
        id: scenario.id.clone(),
        cluster: scenario.cluster.clone(),
        path: scenario.source.path.clone(),
        sha256: scenario.source.sha256.clone(),
        claims: scenario.claims.clone(),
    };
    Plan {
        seed: axes.seed,
        trials: axes.trials,
        environment: Environment::default(),
        agents: axes.agents.clone(),
        conditions,
        scenarios: scenarios.iter().map(planned).collect(),
    }
}
