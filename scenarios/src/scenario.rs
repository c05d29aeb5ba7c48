use std::collections::BTreeSet;
use std::sync::Arc;

use healbench_core::{Claim, DrawKey, FormerScenario, Seed, Step, ToolCall, ToolSpec};
use healbench_engine::contract::ContractAwareness;
use healbench_engine::definition::{Action, Clock, FaultDef, Tool, WorldDef};
use healbench_engine::{GuardedReply, Simulator, StateCheck, WorldBase};

use crate::expectation::{EpisodeState, Expectation, Results};
use crate::generate::TablePlan;
use crate::locate::child;
use crate::mistakes::MutationPlan;
use crate::schedule::{PlannedStep, Schedule, WorldSummary, WorldSummaryCache, mutated_step, schedule};
use crate::server::{Server, ServerCheck};
use crate::source::Source;
use crate::verification::{Verification, Verified, VerifiedRows};

/// A validated scenario: everything it refers to exists.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The name in plans, columns and reports, unique in a suite.
    pub id: String,
    /// A one-line title for people.
    pub title: String,
    /// The purpose of the scenario; may be empty.
    pub description: String,
    pub tags: Vec<String>,
    /// The cluster: the id, unless the file names another one.
    pub cluster: String,
    /// The scenario before it was renamed; `None` if it was not.
    pub renamed_from: Option<FormerScenario>,
    pub task: Task,
    /// The tools, in the order of the file.
    pub tools: Vec<Tool>,
    /// The server that has the tools; `None` for the simulator.
    pub server: Option<Server>,
    /// The conditions that must hold at the end; at least one.
    pub expect: Vec<Expectation>,
    /// Claims to compare with the measured results.
    pub claims: Vec<Claim>,
    /// The contract changes that errors show.
    pub awareness: ContractAwareness,
    /// The file of the scenario.
    pub source: Source,
    /// The way in which simulated time passes.
    pub clock: Clock,
    pub(crate) role: Option<String>,
    pub(crate) tables: Vec<TablePlan>,
    pub(crate) faults: Vec<FaultDef>,
    /// The faults as canonical JSON.
    pub(crate) canonical_faults: String,
    pub(crate) steps: Vec<PlannedStep>,
    /// The closing text of a reader that has made all steps.
    pub(crate) answer: Option<String>,
    /// The tables whose keys unknown identifiers must differ from.
    pub(crate) key_tables: BTreeSet<String>,
    /// True if all trials begin in the same state, whatever is drawn.
    pub(crate) is_fixed: bool,
    pub(crate) summary_cache: WorldSummaryCache,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The text of the task.
    pub prompt: String,
    /// The most calls that the agent may make.
    pub max_calls: u32,
}

/// The number of initial states of a scenario with drawn rows. Its trials take turns with them, so that time and memory do not grow
/// with the number of trials.
const WORLDS: u32 = 32;

impl Scenario {
    /// Returns the id by which everything is drawn: the one that the scenario had before it was renamed, if it was.
    pub fn draw_id(&self) -> &str {
        self.renamed_from.as_ref().map_or(&self.id, |former| &former.id)
    }

    /// Returns the number of initial states, from which the trials take turns: 1 unless rows are drawn, and with `fixed`.
    pub fn worlds(&self) -> u32 {
        if !self.is_fixed && self.tables.iter().any(TablePlan::is_drawn) { WORLDS } else { 1 }
    }

    /// Generates the initial state of the environment with this number, which scenario files call `world`.
    ///
    /// The rows of the first state are drawn with the key (seed, scenario), those of the others with that of the trial with their
    /// number. Generate a state once and share it.
    pub fn world(&self, seed: Seed, number: u32) -> WorldDef {
        let key = match number {
            0 => DrawKey::of_scenario(seed, self.draw_id()),
            _ => DrawKey::of_trial(seed, self.draw_id(), number),
        };
        let table = |plan: &TablePlan| plan.build(&mut key.draws(&format!("table/{}", plan.def.name), 0));
        WorldDef {
            tables: self.tables.iter().map(table).collect(),
            role: self.role.clone(),
            faults: self.faults.clone(),
            clock: self.clock,
            number,
        }
    }

    /// Returns the schedule of a trial. `world` is the result of [`world`](Scenario::world) for the same seed; its rows are read only
    /// the first time.
    pub fn schedule(&self, seed: Seed, trial: u32, world: &WorldDef) -> Schedule {
        schedule(
            &self.steps,
            self.answer.as_deref(),
            &self.canonical_faults,
            &self.summary(seed, world),
            DrawKey::of_trial(seed, self.draw_id(), trial),
        )
    }

    /// Returns a step of a trial with these mistakes instead of its own; `None` if they do not fit into one call.
    pub(crate) fn step_with(
        &self,
        index: usize,
        mistakes: Vec<MutationPlan>,
        (seed, trial): (Seed, u32),
        world: &WorldDef,
    ) -> Option<Step> {
        let planned = PlannedStep { mistakes, draw: None, ..self.steps[index].clone() };
        let mut draws = DrawKey::of_trial(seed, self.draw_id(), trial).draws("mistake", index as u64);
        let (step, all_applied) = mutated_step(&planned, self.summary(seed, world).existing_keys(), &mut draws);
        all_applied.then_some(step)
    }

    fn summary(&self, seed: Seed, world: &WorldDef) -> Arc<WorldSummary> {
        self.summary_cache.get((seed, world.number), || WorldSummary::new(world, &self.key_tables))
    }

    /// Returns true if faults are declared.
    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    /// Returns the tools as shown to agents: in the previous contract, if there is one.
    pub fn advertised(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(Tool::advertised).collect()
    }

    /// Returns the expectations on the final state, in the order of the file.
    pub fn state_checks(&self) -> impl Iterator<Item = &StateCheck> {
        self.parts().filter_map(|expectation| match expectation {
            Expectation::State(check) => Some(check),
            _ => None,
        })
    }

    /// Returns the expectations on the final state of a server, in the order of the file.
    pub fn server_checks(&self) -> impl Iterator<Item = &ServerCheck> {
        self.parts().filter_map(|expectation| match expectation {
            Expectation::Server(check) => Some(check),
            _ => None,
        })
    }

    /// Returns the rows that have to be read after they were written, in the order of the file.
    pub fn rows_to_verify(&self) -> impl Iterator<Item = &Verified> {
        self.parts().filter_map(|expectation| match expectation {
            Expectation::Verified(row) => Some(row),
            _ => None,
        })
    }

    /// Returns what a call and its reply, as the guardrails gave it, mean for each of the rows to verify.
    pub fn verifications(&self, call: &ToolCall, reply: &GuardedReply) -> Vec<Verification> {
        let action = self.action_of(call);
        let of_row = |row: &Verified| action.map_or(Verification::None, |action| row.of_call(action, call, reply));
        self.rows_to_verify().map(of_row).collect()
    }

    /// Returns the actions of all tools, each with its place in the file.
    pub(crate) fn placed_actions(&self) -> impl Iterator<Item = (String, &Action)> {
        self.tools.iter().flat_map(|tool| {
            let actions = child(&child("/tools", &tool.name), "actions");
            tool.actions.iter().map(move |action| (child(&actions, &action.name), action))
        })
    }

    /// Returns the action that a call selects.
    pub(crate) fn action_of(&self, call: &ToolCall) -> Option<&Action> {
        let tool = self.tools.iter().find(|tool| tool.name == call.tool)?;
        match &tool.discriminator {
            None => tool.actions.first(),
            Some(field) => {
                let name = call.object()?.get(field)?.as_str()?;
                tool.actions.iter().find(|action| action.name == name)
            }
        }
    }

    fn parts(&self) -> impl Iterator<Item = &Expectation> {
        self.expect.iter().flat_map(Expectation::parts)
    }

    /// Returns the simulator of the scenario with this initial state.
    pub fn simulator(&self, base: Arc<WorldBase>) -> Simulator {
        Simulator::new(&self.tools, base, self.state_checks().cloned())
    }

    /// Returns the expectations that do not hold, in the order of the file.
    pub fn unmet<'a>(&'a self, episode: &EpisodeState<'_>) -> Vec<&'a Expectation> {
        let mut results = Results::new(episode);
        self.expect.iter().filter(|expectation| !expectation.is_met(episode, &mut results)).collect()
    }

    /// Returns true if a correct result is to say that the task cannot be done.
    pub fn expects_stop(&self) -> bool {
        self.parts().any(|expectation| *expectation == Expectation::Stops)
    }

    /// Returns true if the author says that no text helps, or that stopping is right.
    pub(crate) fn is_control(&self) -> bool {
        self.expects_stop() || self.tags.iter().any(|tag| tag == "control")
    }

    /// Returns the number of calls that a perfect agent needs: the steps of the script.
    pub fn perfect_calls(&self) -> usize {
        self.steps.iter().filter(|planned| !planned.step.optional).count()
    }
}

impl VerifiedRows {
    /// Returns the rows of a scenario before any call.
    pub fn none_of(scenario: &Scenario) -> VerifiedRows {
        VerifiedRows(scenario.rows_to_verify().map(|_| None).collect())
    }
}
