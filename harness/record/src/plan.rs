use healbench_protocol::{AgentSpec, Claim, ErrorFormat, Guardrails, Seed};
use serde::{Deserialize, Serialize};

/// The ordered list of episodes to run, kept as its axes: scenario, then agent, then setting, then trial, the last fastest.
///
/// An episode is known by its index in that order, the same in every run of an equal plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The seed of every random draw.
    pub seed: Seed,
    /// Repetitions of each cell.
    pub trials: u32,
    /// The agents, in the order in which they were asked for.
    pub agents: Vec<AgentSpec>,
    /// Guardrails and error format together, in the order of the report's rows.
    pub conditions: Vec<Condition>,
    /// The scenarios, in the order of the suite.
    pub scenarios: Vec<PlannedScenario>,
}

/// One set of guardrails in one error format.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Condition {
    /// The guardrails in force.
    pub guardrails: Guardrails,
    /// How failures are written; `bare` exactly when `healing` is off.
    pub format: ErrorFormat,
}

/// A scenario as the plan names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedScenario {
    /// The scenario's id.
    pub id: String,
    /// Where it was read from, for the reader of a manifest; a built-in suite's file has the suite's name as its folder.
    pub path: String,
    /// SHA-256 of the file's text, in hexadecimal.
    pub sha256: String,
    /// What the scenario holds against what is measured.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

/// Which cell and trial an episode is: indices into the axes of its [`Plan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellRef {
    /// Index into [`Plan::scenarios`].
    pub scenario: usize,
    /// Index into [`Plan::agents`].
    pub agent: usize,
    /// Index into [`Plan::conditions`].
    pub condition: usize,
    /// 0 to `trials - 1`.
    pub trial: u32,
}

impl Plan {
    /// How many episodes there are.
    pub fn len(&self) -> u64 {
        self.cells() * u64::from(self.trials)
    }

    /// Whether there is nothing to play.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many cells there are.
    pub fn cells(&self) -> u64 {
        (self.scenarios.len() * self.agents.len() * self.conditions.len()) as u64
    }

    /// The index of the setting under no guardrails.
    pub fn unguarded_condition(&self) -> Option<usize> {
        self.conditions.iter().position(|condition| condition.guardrails == Guardrails::NONE)
    }

    /// The cell and trial of the episode with this index; `None` past the end.
    pub fn cell(&self, episode: u64) -> Option<CellRef> {
        if episode >= self.len() {
            return None;
        }
        let trials = u64::from(self.trials);
        let trial = (episode % trials) as u32;
        let cell = (episode / trials) as usize;
        let condition = cell % self.conditions.len();
        let agent = cell / self.conditions.len() % self.agents.len();
        let scenario = cell / self.conditions.len() / self.agents.len();
        Some(CellRef { scenario, agent, condition, trial })
    }

    /// The index of the episode of this cell and trial: the inverse of [`Plan::cell`].
    pub fn episode(&self, cell: CellRef) -> u64 {
        let index = (cell.scenario * self.agents.len() + cell.agent) * self.conditions.len() + cell.condition;
        index as u64 * u64::from(self.trials) + u64::from(cell.trial)
    }
}

#[cfg(test)]
mod tests {
    use healbench_protocol::AgentKind;

    use super::*;

    #[test]
    fn index_and_cell_are_inverse() {
        let agent = |name: &str| AgentSpec {
            kind: AgentKind::Scripted,
            name: name.to_owned(),
            opening: None,
            tools: None,
            settings: serde_json::Value::Null,
        };
        let scenario = |id: &str| PlannedScenario {
            id: id.to_owned(),
            path: String::new(),
            sha256: String::new(),
            claims: Vec::new(),
        };
        let plan = Plan {
            seed: Seed(1),
            trials: 5,
            agents: vec![agent("a"), agent("b"), agent("c")],
            conditions: vec![
                Condition { guardrails: Guardrails::NONE, format: ErrorFormat::Bare },
                Condition { guardrails: Guardrails::ALL, format: ErrorFormat::FusionXml },
            ],
            scenarios: vec![scenario("x"), scenario("y")],
        };
        assert_eq!(plan.len(), 60);
        for episode in 0..60 {
            assert_eq!(plan.episode(plan.cell(episode).unwrap()), episode);
        }
        assert_eq!(plan.cell(60), None);
        assert_eq!(plan.cell(59), Some(CellRef { scenario: 1, agent: 2, condition: 1, trial: 4 }));
    }
}
