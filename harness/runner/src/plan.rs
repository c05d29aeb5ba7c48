use healbench_core::{AgentSpec, Condition, Plan, PlanOrder, PlannedEnvironment, PlannedScenario, Seed};
use healbench_engine::definition::Clock;
use healbench_scenarios::Scenario;

/// The axes of a plan, except for the scenarios.
#[derive(Debug, Clone)]
pub struct Axes {
    pub agents: Vec<AgentSpec>,
    pub conditions: Vec<Condition>,
    /// The number of repetitions of each cell.
    pub trials: u32,
    pub seed: Seed,
}

/// Builds a plan on the simulator.
pub fn build_plan(axes: &Axes, scenarios: &[Scenario]) -> Plan {
    let planned = |scenario: &Scenario| PlannedScenario {
        id: scenario.id.clone(),
        cluster: scenario.cluster.clone(),
        path: scenario.source.path.clone(),
        sha256: scenario.source.sha256.clone(),
        claims: scenario.claims.clone(),
        waits_on_retry: scenario.clock == Clock::OnRetry,
        worlds: scenario.worlds(),
        renamed_from: scenario.renamed_from.clone(),
    };
    Plan {
        seed: axes.seed,
        trials: axes.trials,
        order: PlanOrder::Product,
        environment: PlannedEnvironment::default(),
        agents: axes.agents.clone(),
        conditions: axes.conditions.clone(),
        scenarios: scenarios.iter().map(planned).collect(),
    }
}
