use healbench_protocol::{AgentSpec, ErrorFormat, Guardrails, Seed};
use healbench_record::{Plan, PlannedScenario, Setting};
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
    let mut settings: Vec<Setting> = Vec::new();
    for guardrails in &axes.guardrails {
        let formats = if guardrails.healing { axes.formats.as_slice() } else { &[ErrorFormat::Bare] };
        for format in formats {
            let setting = Setting { guardrails: *guardrails, format: format.clone() };
            if !settings.contains(&setting) {
                settings.push(setting);
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
        settings,
        scenarios: scenarios.iter().map(planned).collect(),
    }
}
