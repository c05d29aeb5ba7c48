use std::collections::BTreeSet;

use healbench_engine::definition::{FaultDef, Tool, WorldDef};
use healbench_protocol::{Claim, DrawKey, Seed, ToolSpec};

use crate::expectation::{Beginning, Expectation, Observed};
use crate::generate::TablePlan;
use crate::schedule::{FactsMemo, PlannedStep, Schedule, WorldFacts, schedule};

/// A scenario that was checked: everything in it names things that exist.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The name in plans, columns and reports, unique in a suite.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// What the scenario is there to tell; empty when it does not say.
    pub description: String,
    /// Free labels.
    pub tags: Vec<String>,
    /// What the agent is asked to do.
    pub task: Task,
    /// The tools, in the order of the file.
    pub tools: Vec<Tool>,
    /// What must hold at the end; at least one.
    pub expect: Vec<Expectation>,
    /// What it holds against what is measured.
    pub claims: Vec<Claim>,
    /// The file that it was read from.
    pub source: Source,
    pub(crate) role: Option<String>,
    pub(crate) tables: Vec<TablePlan>,
    pub(crate) faults: Vec<FaultDef>,
    /// The faults as canonical JSON.
    pub(crate) canonical_faults: String,
    pub(crate) steps: Vec<PlannedStep>,
    /// Tables whose keys unknown identifiers have to avoid.
    pub(crate) keyed: BTreeSet<String>,
    pub(crate) facts: FactsMemo,
}

/// What the agent is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The task in words.
    pub prompt: String,
    /// The most calls that it may make.
    pub max_calls: u32,
}

/// The file that a scenario was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The path as it was given, or `built-in:` and the path in the suite.
    pub path: String,
    /// The text.
    pub text: String,
    /// `yaml`, `yml` or `json`.
    pub extension: String,
    /// SHA-256 of the text, in hexadecimal.
    pub sha256: String,
}

impl Scenario {
    /// The world that an episode begins with.
    ///
    /// Rows are drawn with the key of (seed, scenario), without the trial: they are the same in all trials, so a caller makes
    /// the world once and shares it.
    pub fn world(&self, seed: Seed) -> WorldDef {
        let key = DrawKey::of_scenario(seed, &self.id);
        let table = |plan: &TablePlan| plan.fill(&mut key.draws(&format!("table/{}", plan.written.name), 0));
        WorldDef {
            tables: self.tables.iter().map(table).collect(),
            role: self.role.clone(),
            faults: self.faults.clone(),
        }
    }

    /// What a trial has in store. `world` is what [`world`](Scenario::world) gave for the same seed; it is read at the first
    /// trial of a seed and not again.
    pub fn schedule(&self, seed: Seed, trial: u32, world: &WorldDef) -> Schedule {
        let facts = self.facts.get(seed, || WorldFacts::of(world, &self.keyed));
        schedule(&self.steps, &self.canonical_faults, &facts, DrawKey::of_trial(seed, &self.id, trial))
    }

    /// The tools as agents are shown them: the previous contract where there is one.
    pub fn advertised(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(Tool::advertised).collect()
    }

    /// What the expectations need to know of the world that every episode begins with.
    pub fn beginning(&self, world: &WorldDef) -> Beginning {
        Beginning::of(&self.expect, world)
    }

    /// The expectations that do not hold, in the order of the file.
    pub fn unmet<'a>(&'a self, seen: &Observed<'_>) -> Vec<&'a Expectation> {
        self.unmet_since(&self.beginning(seen.world.base().def()), seen)
    }

    /// As [`unmet`](Scenario::unmet), without looking through the whole world again.
    pub fn unmet_since<'a>(&'a self, beginning: &Beginning, seen: &Observed<'_>) -> Vec<&'a Expectation> {
        let unmet =
            |(expectation, began): (&'a Expectation, usize)| (!expectation.is_met(seen, began)).then_some(expectation);
        self.expect.iter().zip(beginning.counts()).filter_map(unmet).collect()
    }

    /// Whether the right thing is to say that the task cannot be done.
    pub fn expects_stop(&self) -> bool {
        self.expect.contains(&Expectation::Stops)
    }

    /// The calls that a perfect agent needs: the steps of the script.
    pub fn perfect_calls(&self) -> usize {
        self.steps.len()
    }
}
