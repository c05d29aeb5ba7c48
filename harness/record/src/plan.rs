use std::fmt;

use healbench_protocol::{
    AgentSpec, Claim, Client, ConditionParts, Content, DomainErrors, EnvironmentKind, ErrorFormat, Guardrails,
    REFERENCE_CONDITION, Seed, Undeclared,
};
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
    /// The environment that executes the calls.
    pub environment: Environment,
    /// The agents, in the order requested.
    pub agents: Vec<AgentSpec>,
    /// The conditions, in the order of the report's rows.
    pub conditions: Vec<Condition>,
    /// The scenarios, in the order of the suite.
    pub scenarios: Vec<PlannedScenario>,
}

/// The environment of a run, the same for all of its episodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// The kind of environment.
    pub kind: EnvironmentKind,
    /// The name of the server; null for the simulator.
    pub server: Option<String>,
}

/// A set of guardrails, an error format, and everything else that decides what an agent is shown: the unit that is
/// compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Condition {
    /// The name, unique within a plan: `sdk-typescript`. By default the guardrails and the error format: `all fusion-xml`,
    /// `none bare`, and `none bare strip`.
    pub name: String,
    /// The treatment of undeclared fields.
    pub undeclared: Undeclared,
    /// The active guardrails.
    pub guardrails: Guardrails,
    /// The error format; `bare` exactly if `healing` is off.
    pub format: ErrorFormat,
    /// The facts that texts of domain errors state.
    #[serde(default, skip_serializing_if = "DomainErrors::is_everything")]
    pub domain_errors: DomainErrors,
    /// The facts that error texts may state.
    pub content: Content,
    /// The presentation of responses by the agent's client.
    pub client: Client,
    /// The SHA-256 of the lockfile that contracts are compared with, in hexadecimal; null for the contracts of the
    /// scenario, and without the guardrail `contract`.
    pub lock: Option<String>,
    /// The contract changes that errors show, where they are not those of the scenario.
    #[serde(default, skip_serializing_if = "DeltaOptions::is_empty")]
    pub deltas: DeltaOptions,
}

/// The contract changes that errors show. Null options are those of the scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct DeltaOptions {
    /// True to include SAFE and COSMETIC changes.
    pub include_all_severities: Option<bool>,
    /// The maximum number of changes in one error.
    pub max_deltas_per_error: Option<u16>,
}

impl DeltaOptions {
    fn is_empty(&self) -> bool {
        *self == DeltaOptions::default()
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        match &self.server {
            Some(server) => write!(f, " {server}"),
            None => Ok(()),
        }
    }
}

impl Condition {
    /// Creates the unnamed condition of guardrails and an error format. Everything else follows or has its default.
    pub fn new(guardrails: Guardrails, format: ErrorFormat) -> Condition {
        let name = default_name(guardrails, &format);
        let undeclared = Undeclared::of(guardrails);
        let (domain_errors, content, client) = (DomainErrors::default(), Content::default(), Client::default());
        Condition::named(name, ConditionParts { undeclared, guardrails, format, domain_errors, content, client })
    }

    /// Creates a condition with a name. Everything that is not among its parts has its default.
    pub fn named(name: impl Into<String>, parts: ConditionParts) -> Condition {
        let ConditionParts { undeclared, guardrails, format, domain_errors, content, client } = parts;
        Condition {
            name: name.into(),
            undeclared,
            guardrails,
            format,
            domain_errors,
            content,
            client,
            lock: None,
            deltas: DeltaOptions::default(),
        }
    }

    /// Returns the name unless it follows from the guardrails and the error format.
    pub fn own_name(&self) -> Option<&str> {
        has_own_name(&self.name, self.guardrails, &self.format).then_some(self.name.as_str())
    }

    /// Returns the parts that the guardrails and the error format leave open, as text: `strip message native`, and the client
    /// unless it is `raw`.
    pub fn other_parts(&self) -> String {
        let client = (!self.client.is_raw()).then(|| self.client.name());
        let parts = [self.undeclared.name(), self.domain_errors.name(), self.content.name()];
        parts.into_iter().chain(client).collect::<Vec<_>>().join(" ")
    }

    /// Sets the client, and names it unless it is `raw`. The condition then has a name of its own.
    pub fn set_client(&mut self, client: Client) {
        self.client = client;
        if !client.is_raw() {
            self.name.push_str(&format!(" {}", client.name()));
        }
    }

    /// Returns the name without that of the client.
    pub fn name_without_client(&self) -> &str {
        let name = self.name.strip_suffix(self.client.name()).and_then(|name| name.strip_suffix(' '));
        name.unwrap_or(&self.name)
    }

    /// Sets the treatment of undeclared fields, and names it unless it is that of the guardrails.
    pub fn set_undeclared(&mut self, undeclared: Undeclared) {
        self.undeclared = undeclared;
        self.name = default_name(self.guardrails, &self.format);
        if undeclared != Undeclared::of(self.guardrails) {
            self.name.push_str(&format!(" {}", undeclared.name()));
        }
    }

    /// Sets the level of content, and names it unless it is `native`. Without `healing` it has no effect and stays `native`.
    pub fn set_content(&mut self, content: Content) {
        if self.guardrails.healing && !content.is_native() {
            self.content = content;
            self.name.push_str(&format!(" {}", content.name()));
        }
    }

    /// Returns the level of content with a space before it, as it stands in the name; empty for `native`, and for a condition
    /// with a name of its own.
    pub fn content_suffix(&self) -> String {
        content_suffix(&self.name, self.guardrails, &self.format)
    }

    /// Returns the condition with contracts compared with a lockfile and with these changes shown, which its name then
    /// says. Without the guardrail `contract`, neither has an effect, and the condition is returned unchanged.
    pub fn with_contracts(mut self, lock: Option<String>, deltas: DeltaOptions) -> Condition {
        if self.guardrails.contract {
            (self.lock, self.deltas) = (lock, deltas);
            if let Some(label) = self.contracts_label() {
                self.name = format!("{} {label}", self.name);
            }
        }
        self
    }

    /// Returns the lockfile and the changes shown, as in the name: `lock:0123456789ab all-severities max-deltas:3`.
    pub fn contracts_label(&self) -> Option<String> {
        let lock = self.lock.as_ref().map(|sha256| format!("lock:{}", sha256.get(..12).unwrap_or(sha256)));
        let severities = self.deltas.include_all_severities.map(|all| match all {
            true => "all-severities".to_owned(),
            false => "severe-only".to_owned(),
        });
        let most = self.deltas.max_deltas_per_error.map(|most| format!("max-deltas:{most}"));
        let parts: Vec<String> = lock.into_iter().chain(severities).chain(most).collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}

/// Returns true unless a condition is named after these guardrails and this error format, with or without the level of
/// content and the contracts: `all fusion-xml lock:0123456789ab` has no name of its own, `none bare strip` has one.
pub fn has_own_name(name: &str, guardrails: Guardrails, format: &ErrorFormat) -> bool {
    let is_derived = |word: &str| {
        word.parse::<Content>().is_ok()
            || matches!(word, "all-severities" | "severe-only")
            || word.starts_with("lock:")
            || word.starts_with("max-deltas:")
    };
    match name.strip_prefix(&default_name(guardrails, format)) {
        Some("") => false,
        Some(rest) => !rest.strip_prefix(' ').is_some_and(|words| words.split(' ').all(is_derived)),
        None => true,
    }
}

/// Returns the level of content in a name that follows from the guardrails and the error format, with a space before it; empty
/// if there is none.
pub fn content_suffix(name: &str, guardrails: Guardrails, format: &ErrorFormat) -> String {
    let parts = name.strip_prefix(&default_name(guardrails, format)).unwrap_or_default();
    let level = parts.split(' ').find(|part| part.parse::<Content>().is_ok());
    level.map(|level| format!(" {level}")).unwrap_or_default()
}

fn default_name(guardrails: Guardrails, format: &ErrorFormat) -> String {
    format!("{guardrails} {format}")
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
    /// Returns the number of episodes.
    pub fn len(&self) -> u64 {
        self.cells() * u64::from(self.trials)
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
    pub fn reference_condition(&self) -> Option<usize> {
        let named = self.conditions.iter().position(|condition| condition.name_without_client() == REFERENCE_CONDITION);
        named.or_else(|| self.unguarded_condition())
    }

    /// Returns the index of the condition without guardrails.
    pub fn unguarded_condition(&self) -> Option<usize> {
        self.conditions.iter().position(|condition| condition.guardrails == Guardrails::NONE)
    }

    /// Returns the cell and trial of the episode with this index; `None` past the end.
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

    /// Returns the index of the episode with this cell and trial: the inverse of [`Plan::cell`].
    pub fn episode(&self, cell: CellRef) -> u64 {
        let index = (cell.scenario * self.agents.len() + cell.agent) * self.conditions.len() + cell.condition;
        index as u64 * u64::from(self.trials) + u64::from(cell.trial)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use healbench_protocol::{AgentKind, CONDITIONS};

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
        };
        let condition = |index: usize| Condition {
            name: format!("condition-{index}"),
            ..Condition::new(Guardrails::NONE, ErrorFormat::Bare)
        };
        Plan {
            seed: Seed(1),
            trials,
            environment: Environment::default(),
            agents: (0..agents).map(agent).collect(),
            conditions: (0..conditions).map(condition).collect(),
            scenarios: (0..scenarios).map(scenario).collect(),
        }
    }

    #[test]
    fn a_condition_is_named_after_its_parts() {
        let none = Condition::new(Guardrails::NONE, ErrorFormat::Bare);
        assert_eq!((none.name.as_str(), none.undeclared), ("none bare", Undeclared::Pass));
        let all = Condition::new(Guardrails::ALL, ErrorFormat::FusionXml);
        assert_eq!((all.name.as_str(), all.undeclared), ("all fusion-xml", Undeclared::Reject));
        assert_eq!((all.content, all.client, all.lock.clone()), (Content::Native, Client::Raw, None));
        let json = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Condition>(&json).unwrap(), all);
    }

    #[test]
    fn a_named_condition_keeps_its_name_and_its_parts() {
        for entry in &CONDITIONS {
            let condition = Condition::named(entry.name, entry.parts.clone());
            assert!(condition.own_name().is_some());
            let json = serde_json::to_value(&condition).unwrap();
            let is_default = entry.parts.domain_errors.is_everything();
            assert_eq!(json.get("domain_errors").is_none(), is_default, "{json}");
            assert_eq!(serde_json::from_value::<Condition>(json).unwrap(), condition);
            let other = Condition::new(entry.parts.guardrails, entry.parts.format.clone());
            assert!(other.own_name().is_none() && other != condition);
        }
        let mut stripping = Condition::new(Guardrails::NONE, ErrorFormat::Bare);
        stripping.set_undeclared(Undeclared::Strip);
        assert_eq!(stripping.own_name(), Some("none bare strip"));
        let mut advised = Condition::new(Guardrails::ALL, ErrorFormat::FusionXml);
        advised.set_content(Content::NextStep);
        assert_eq!((advised.name.as_str(), advised.content), ("all fusion-xml next-step", Content::NextStep));
        assert!(advised.own_name().is_none() && advised.content_suffix() == " next-step");
        let mut bare = Condition::new(Guardrails::NONE, ErrorFormat::Bare);
        bare.set_content(Content::NextStep);
        assert_eq!((bare.name.as_str(), bare.content), ("none bare", Content::Native));
        assert_eq!(stripping.other_parts(), "strip everything native");
        let mut shown = advised.clone();
        shown.set_client(Client::Raw);
        assert_eq!(shown, advised);
        shown.set_client(Client::Codex);
        assert_eq!(shown.own_name(), Some("all fusion-xml next-step codex-0.169.0"));
        assert_eq!(shown.name_without_client(), advised.name);
        assert_eq!(shown.other_parts(), "reject everything next-step codex-0.169.0");
        // The contracts are those of a whole run.
        let deltas = DeltaOptions { include_all_severities: Some(true), max_deltas_per_error: Some(3) };
        let locked =
            Condition::new(Guardrails::ALL, ErrorFormat::FusionXml).with_contracts(Some("0123".to_owned()), deltas);
        assert_eq!(
            (locked.name.as_str(), locked.own_name()),
            ("all fusion-xml lock:0123 all-severities max-deltas:3", None)
        );
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
}
