//! Tests of the crate's public interface.

#![allow(clippy::unwrap_used, reason = "a test that meets a surprise shall panic")]

mod coverage;
mod errors;
mod expectations;
mod findings;
mod language;
mod loading;
mod mistakes;
mod progress;
mod rendering;
mod robustness;
mod schedules;
mod schema;
mod servers;
mod several_mistakes;
mod state;
mod suites;
mod tools_files;

use std::sync::Arc;

use healbench_core::{ErrorFormat, Guardrails, Seed};
use healbench_engine::{Engine, StateChecks, World, WorldBase};
use healbench_scenarios::{Scenario, Syntax, load_str, load_suite};

/// Parses a scenario, or panics with its diagnostics.
fn scenario(text: &str) -> Scenario {
    load_str("test.yaml", text, Syntax::Yaml).unwrap_or_else(|diagnostics| {
        let lines: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        panic!("{}", lines.join("\n"))
    })
}

/// Loads all scenarios of all built-in suites.
fn built_in() -> Vec<Scenario> {
    let suites: Vec<_> = healbench_scenarios::built_in_suites().into_iter().map(Into::into).collect();
    load_suite(&suites).unwrap()
}

fn quickstart() -> Vec<Scenario> {
    load_suite(&["quickstart".into()]).unwrap()
}

/// Returns a new environment and an engine with all guardrails.
fn world_and_engine(scenario: &Scenario, seed: Seed) -> (World, Engine) {
    let world = World::new(Arc::new(WorldBase::new(scenario.world(seed, 0))));
    (world, Engine::new(&scenario.tools, Guardrails::ALL, &ErrorFormat::FusionXml).unwrap())
}

/// Returns the results of the scenario's state checks.
fn state_of(scenario: &Scenario, world: &World) -> Vec<bool> {
    let tables = world.tables();
    StateChecks::new(scenario.state_checks().cloned(), tables.base().def()).results(tables)
}

/// Returns a scenario of one tool in which every kind of mistake is possible. `step` is the text after `call:`.
fn mistakes_yaml(step: &str) -> String {
    format!(
        r#"
id: lab/mistakes
title: Everything can go wrong
task: {{prompt: Do it., max_calls: 5}}
tools:
  notes:
    description: Notes.
    actions:
      change:
        input:
          properties:
            id: {{type: string, pattern: "^N-[0-9]{{2}}$"}}
            status: {{enum: [draft, published]}}
            size: {{type: integer, minimum: 1, maximum: 10}}
            due: {{type: string, format: date}}
            shared: {{type: boolean}}
            labels: {{type: array, items: {{type: string}}, minItems: 1}}
          required: [id, status, size]
        handler: {{update: notes, by: id}}
      list:
        input: {{properties: {{status: {{enum: [draft, published]}}, size: {{type: integer}}}}}}
        handler: {{select: notes}}
    previous:
      actions:
        change:
          name: edit
          input:
            properties: {{id: {{type: string}}, state: {{enum: [draft, public]}}, size: {{type: string}}}}
            required: [id, state]
world:
  notes:
    generate: {{count: 60, fields: {{id: {{sequence: "N-{{n:02}}"}}, status: {{pick: [draft, published]}}, size: {{range: [1, 10]}}}}}}
expect: [{{row: {{in: notes, where: {{id: N-07, status: published}}}}}}]
script:
  - call: {step}
"#
    )
}

/// The call of `change` for [`mistakes_yaml`].
const CHANGE_CALL: &str = "{tool: notes, action: change, arguments: {id: N-07, status: published, size: 3, due: \"2025-10-01\", \
                      shared: true, labels: [a, b]}}";
