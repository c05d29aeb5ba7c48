use healbench_agents::external::Program;
use healbench_agents::llm::Model;
use healbench_core::Plan;
use healbench_reader::Profile;
use healbench_scenarios::Scenario;
use healbench_store::PriceSource;

/// A plan with everything needed to run it.
pub(crate) struct RunSpec {
    pub(crate) plan: Plan,
    pub(crate) scenarios: Vec<Scenario>,
    /// The configuration of each agent of the plan.
    pub(crate) configs: Vec<AgentConfig>,
    /// The price table of models; `None` without models, and for a run loaded from its directory.
    pub(crate) prices: Option<PriceSource>,
    /// The text of the lockfile that contracts are compared with.
    pub(crate) lockfile: Option<String>,
}

/// The configuration of an agent.
pub(crate) enum AgentConfig {
    Scripted(Box<Profile>),
    Model(Box<Model>),
    Program(Box<Program>),
}
