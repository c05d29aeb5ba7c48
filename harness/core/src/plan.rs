use std::fmt;

use crate::{AgentSpec, Claim, Condition, ConditionId, EnvironmentKind, Guardrails, REFERENCE_CONDITION, Seed};
use serde::{Deserialize, Serialize};

/// The ordered list of episodes to run, stored as its axes: scenario, agent, condition and trial, with the last varying
/// fastest.
///
/// An episode is identified by its index in that order, which is the same in every run of an equal plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The seed of all random draws.
    pub seed: Seed,
    /// The number of repetitions of each cell.
    pub trials: u32,
    /// The order of the episodes.
    pub order: PlanOrder,
    /// The environment that executes the calls.
    pub environment: PlannedEnvironment,
    /// The agents, in the order requested.
    pub agents: Vec<AgentSpec>,
    /// The conditions, in the order of the report's rows.
    pub conditions: Vec<Condition>,
    /// The scenarios, in the order of the suite.
    pub scenarios: Vec<PlannedScenario>,
}

/// The error of a plan with two entries of one name on an axis.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the plan has {axis} `{name}` twice")]
pub struct DuplicateName {
    /// `agent`, `condition` or `scenario`.
    pub axis: &'static str,
    /// The name.
    pub name: String,
}

/// The order of the episodes of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanOrder {
    /// That of the axes. The cell of an episode follows from its index.
    #[default]
    Product,
    /// That in which conversations were read. The plan has one condition.
    Listed(Vec<ListedEpisode>),
}

/// An episode of a plan that lists its episodes: indices on the axes, and the trial. Stored as `[scenario, agent, trial]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u32; 3]", into = "[u32; 3]")]
pub struct ListedEpisode {
    /// Index into [`Plan::scenarios`].
    pub scenario: u32,
    /// Index into [`Plan::agents`].
    pub agent: u32,
    /// The number of conversations before it with the same scenario and agent.
    pub trial: u32,
}

impl From<[u32; 3]> for ListedEpisode {
    fn from([scenario, agent, trial]: [u32; 3]) -> ListedEpisode {
        ListedEpisode { scenario, agent, trial }
    }
}

impl From<ListedEpisode> for [u32; 3] {
    fn from(listed: ListedEpisode) -> [u32; 3] {
        [listed.scenario, listed.agent, listed.trial]
    }
}

/// The environment of a run, the same for all of its episodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedEnvironment {
    /// The kind of environment.
    pub kind: EnvironmentKind,
    /// The name of the server; null for the simulator.
    pub server: Option<String>,
}

impl fmt::Display for PlannedEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        match &self.server {
            Some(server) => write!(f, " {server}"),
            None => Ok(()),
        }
    }
}

/// A scenario of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedScenario {
    /// The scenario's id.
    pub id: String,
    /// The cluster. Statistics may treat scenarios of one cluster as dependent.
    pub cluster: String,
    /// The path from which it was read, for information only; the folder of a built-in scenario is the name of its
    /// suite.
    pub path: String,
    /// The SHA-256 of the file's text, in hexadecimal.
    pub sha256: String,
    /// The claims to be compared with the measurements.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// True if a later call that a limit concerns counts as made after the delay that the limit stated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_on_retry: bool,
    /// The number of initial states: trial n begins in that with the number n modulo this one. 1 in the plans of versions that drew one
    /// state for all trials.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub worlds: u32,
    /// The scenario before it was renamed; null if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<FormerScenario>,
}

/// A scenario before it was renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerScenario {
    /// The id that it had.
    pub id: String,
    /// The SHA-256 that the file's text had, in hexadecimal, if nothing else in it was changed.
    pub sha256: String,
}

/// Returns the family of a scenario with this id: the part before the first slash; empty without one.
pub fn family(id: &str) -> &str {
    id.split_once('/').map_or("", |(family, _)| family)
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(worlds: &u32) -> bool {
    *worlds == 1
}

/// The cell and trial of an episode, as indices into the axes of its [`Plan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellRef {
    /// Index into [`Plan::scenarios`].
    pub scenario: usize,
    /// Index into [`Plan::agents`].
    pub agent: usize,
    /// Index into [`Plan::conditions`].
    pub condition: usize,
    /// The trial, from 0 to `trials - 1`.
    pub trial: u32,
}

impl Plan {
    /// Returns the number of the family of each scenario, in the order of their first scenarios.
    pub fn families(&self) -> Vec<u32> {
        let mut known: Vec<&str> = Vec::new();
        let ids = self.scenarios.iter().map(|scenario| scenario.id.as_str());
        ids.map(|id| {
            let at = known.iter().position(|one| *one == family(id)).unwrap_or_else(|| {
                known.push(family(id));
                known.len() - 1
            });
            at as u32
        })
        .collect()
    }

    /// Returns the number of episodes.
    pub fn len(&self) -> u64 {
        match &self.order {
            PlanOrder::Product => self.cells() * u64::from(self.trials),
            PlanOrder::Listed(episodes) => episodes.len() as u64,
        }
    }

    /// Returns true if there are no episodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> u64 {
        (self.scenarios.len() * self.agents.len() * self.conditions.len()) as u64
    }

    /// Returns true if the rows of an agent can be computed again bit by bit: those of scripted agents and of recorded
    /// models on the simulator.
    pub fn is_reproducible(&self, agent: usize) -> bool {
        self.environment.kind == EnvironmentKind::Simulator && self.agents[agent].kind.is_deterministic()
    }

    /// Returns the index of the condition that others are compared with: [`REFERENCE_CONDITION`], or the one without
    /// guardrails.
    pub fn reference_condition(&self) -> Option<ConditionId> {
        let named = self.conditions.iter().position(|condition| condition.is_named(REFERENCE_CONDITION));
        named.or_else(|| self.unguarded_condition())
    }

    /// Returns the index of the condition without guardrails.
    pub fn unguarded_condition(&self) -> Option<ConditionId> {
        self.conditions.iter().position(|condition| condition.guardrails() == Guardrails::NONE)
    }

    /// Checks that each name on the plan's axes is unique: rows are identified by these names.
    ///
    /// # Errors
    /// [`DuplicateName`] with the first in the order of the names.
    pub fn check_names(&self) -> Result<(), DuplicateName> {
        let named = |agent: &AgentSpec| match agent.opening {
            Some(opening) => format!("{agent} {}", opening.name()),
            None => agent.to_string(),
        };
        let agents = self.agents.iter().map(named).collect();
        let conditions = self.conditions.iter().map(Condition::label).collect();
        let scenarios = self.scenarios.iter().map(|scenario| scenario.id.clone()).collect();
        for (axis, mut names) in
            [("agent", agents), ("condition", conditions), ("scenario", scenarios)] as [(_, Vec<String>); 3]
        {
            names.sort_unstable();
            if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(DuplicateName { axis, name: pair[0].clone() });
            }
        }
        Ok(())
    }

    /// Returns the index of a condition.
    pub fn find(&self, condition: &Condition) -> Option<ConditionId> {
        self.conditions.iter().position(|known| known == condition)
    }

    /// Returns the contracts that differ from those of the scenarios, as in labels and separated by commas; `None` if there are none.
    pub fn contracts_label(&self) -> Option<String> {
        let mut labels: Vec<String> = Vec::new();
        for label in self.conditions.iter().filter_map(|condition| condition.values.contract.label()) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        (!labels.is_empty()).then(|| labels.join(", "))
    }

    /// Returns true if the episodes were recorded by another program, and cannot be run.
    pub fn is_trace(&self) -> bool {
        self.environment.kind == EnvironmentKind::Observed
    }

    /// Returns the cell and trial of the episode with this index; `None` past the end.
    pub fn cell(&self, episode: u64) -> Option<CellRef> {
        if episode >= self.len() {
            return None;
        }
        if let PlanOrder::Listed(episodes) = &self.order {
            let ListedEpisode { scenario, agent, trial } = *episodes.get(usize::try_from(episode).ok()?)?;
            let cell = CellRef { scenario: scenario as usize, agent: agent as usize, condition: 0, trial };
            let is_on_axes = cell.scenario < self.scenarios.len() && cell.agent < self.agents.len();
            return Some(cell).filter(|_| is_on_axes && !self.conditions.is_empty());
        }
        let trials = u64::from(self.trials);
        let trial = (episode % trials) as u32;
        let cell = (episode / trials) as usize;
        let condition = cell % self.conditions.len();
        let agent = cell / self.conditions.len() % self.agents.len();
        let scenario = cell / self.conditions.len() / self.agents.len();
        Some(CellRef { scenario, agent, condition, trial })
    }

    /// Returns the index of the episode with this cell and trial: the inverse of [`Plan::cell`]. In a plan that lists its episodes, it is
    /// searched, and [`u64::MAX`] if there is none.
    pub fn episode(&self, cell: CellRef) -> u64 {
        if let PlanOrder::Listed(_) = &self.order {
            return (0..self.len()).find(|episode| self.cell(*episode) == Some(cell)).unwrap_or(u64::MAX);
        }
        let index = (cell.scenario * self.agents.len() + cell.agent) * self.conditions.len() + cell.condition;
        index as u64 * u64::from(self.trials) + u64::from(cell.trial)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::{AgentKind, ErrorFormat};

    use super::*;

    /// Returns a plan with so many scenarios, agents, conditions and trials.
    pub(crate) fn plan_of(scenarios: usize, agents: usize, conditions: usize, trials: u32) -> Plan {
        let agent = |index: usize| AgentSpec {
            kind: AgentKind::Scripted,
            name: format!("agent-{index}"),
            opening: None,
            tools: None,
            settings: serde_json::Value::Null,
        };
        let scenario = |index: usize| PlannedScenario {
            id: format!("scenario-{index}"),
            cluster: format!("scenario-{index}"),
            path: String::new(),
            sha256: String::new(),
            claims: Vec::new(),
            waits_on_retry: false,
            worlds: 1,
            renamed_from: None,
        };
        let values = crate::AxisValues::of(Guardrails::NONE, ErrorFormat::Bare);
        let condition = |index: usize| Condition::named(format!("condition-{index}"), values.clone());
        Plan {
            seed: Seed(1),
            trials,
            order: PlanOrder::Product,
            environment: PlannedEnvironment::default(),
            agents: (0..agents).map(agent).collect(),
            conditions: (0..conditions).map(condition).collect(),
            scenarios: (0..scenarios).map(scenario).collect(),
        }
    }

    #[test]
    fn index_and_cell_are_inverse() {
        let plan = plan_of(2, 3, 2, 5);
        assert_eq!(plan.len(), 60);
        for episode in 0..60 {
            assert_eq!(plan.episode(plan.cell(episode).unwrap()), episode);
        }
        assert_eq!(plan.cell(60), None);
        assert_eq!(plan.cell(59), Some(CellRef { scenario: 1, agent: 2, condition: 1, trial: 4 }));
    }

    #[test]
    fn a_listed_plan_has_the_episodes_of_its_list() {
        let order = PlanOrder::Listed(vec![[1, 0, 0].into(), [0, 0, 0].into(), [1, 0, 1].into(), [2, 0, 0].into()]);
        let plan = Plan { order, ..plan_of(2, 1, 1, 2) };
        assert_eq!(plan.len(), 4);
        let cell = |scenario, trial| CellRef { scenario, agent: 0, condition: 0, trial };
        assert_eq!([0, 1, 2].map(|episode| plan.cell(episode)), [cell(1, 0), cell(0, 0), cell(1, 1)].map(Some));
        assert_eq!(plan.episode(cell(1, 1)), 2);
        assert_eq!(plan.episode(cell(0, 1)), u64::MAX);
        // A manifest may come from anywhere.
        assert_eq!(plan.cell(3), None);
        let json = serde_json::to_string(&plan.order).unwrap();
        assert_eq!(json, r#"{"listed":[[1,0,0],[0,0,0],[1,0,1],[2,0,0]]}"#);
        assert_eq!(serde_json::from_str::<PlanOrder>(&json).unwrap(), plan.order);
    }
}
