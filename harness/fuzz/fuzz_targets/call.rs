#![no_main]

use std::sync::{Arc, LazyLock};

use healbench_core::{ErrorFormat, Guardrails, Seed, ToolCall};
use healbench_engine::{Engine, World, WorldBase};
use healbench_scenarios::{Scenario, load_suite};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// The tools and environments of the built-in suites.
static SCENARIOS: LazyLock<Vec<(Arc<WorldBase>, Vec<Engine>)>> = LazyLock::new(|| {
    let scenarios = load_suite(&["quickstart".into(), "domain-errors".into()]).expect("the suites load");
    let engines = |scenario: &Scenario| {
        let sets = [Guardrails::NONE, Guardrails::ALL].into_iter();
        let engines = sets.flat_map(|set| {
            ErrorFormat::named()
                .map(move |entry| Engine::new(&scenario.tools, set, &entry.format).expect("it compiles"))
        });
        (Arc::new(WorldBase::new(scenario.world(Seed(1), 0))), engines.collect())
    };
    // The list of thousands is slow to print, and prints like any other.
    scenarios.iter().filter(|scenario| scenario.id != "quickstart/oversized-list").map(engines).collect()
});

// Any arguments, on any tool, get an answer, and the same one twice.
fuzz_target!(|given: (u8, u8, u8, &str, &str)| {
    let (scenario, engine, action, tool, arguments) = given;
    let (base, engines) = &SCENARIOS[usize::from(scenario) % SCENARIOS.len()];
    let engine = &engines[usize::from(engine) % engines.len()];
    let Ok(mut arguments) = serde_json::from_str::<Value>(arguments) else { return };
    const ACTIONS: [&str; 8] = ["create", "update", "list", "get", "delete", "remind", "archive", "cancel"];
    if let Value::Object(object) = &mut arguments {
        object.insert("action".to_owned(), Value::from(ACTIONS[usize::from(action) % ACTIONS.len()]));
    }
    const TOOLS: [&str; 8] = ["billing", "tickets", "projects", "tasks", "issues", "users", "calendar", "deploys"];
    let tool = match tool.len() {
        0..8 => TOOLS[tool.len()].to_owned(),
        _ => tool.to_owned(),
    };
    let call = ToolCall::new(tool, arguments);
    let answer = || {
        let mut world = World::new(Arc::clone(base));
        // The second call meets what the first one left behind.
        (engine.call(&mut world, &call), engine.call(&mut world, &call))
    };
    assert_eq!(answer(), answer());
});
