//! The scenarios whose texts differ between two runs.

use std::collections::BTreeMap;

use healbench_core::Plan;
use healbench_render::html::ScenarioChange;
use healbench_store::RunDir;

/// The largest number of scenarios whose texts are read.
const MAX_SCENARIOS: usize = 50;

/// Returns the scenarios that both runs have with different texts, in the order of the candidate.
pub(super) fn scenario_changes(base: (&RunDir, &Plan), candidate: (&RunDir, &Plan)) -> Vec<ScenarioChange> {
    let before: BTreeMap<&str, (usize, &str)> = base
        .1
        .scenarios
        .iter()
        .enumerate()
        .map(|(index, scenario)| (scenario.id.as_str(), (index, scenario.sha256.as_str())))
        .collect();
    let text = |run: &RunDir, index: usize, id: &str| run.scenario_text(index, id).map(|(text, _)| text);
    let mut changes = Vec::new();
    for (index, scenario) in candidate.1.scenarios.iter().enumerate() {
        let id = scenario.id.as_str();
        let Some((old, _)) = before.get(id).filter(|(_, sha256)| *sha256 != scenario.sha256) else { continue };
        let texts = text(base.0, *old, id).and_then(|before| Ok([before, text(candidate.0, index, id)?]));
        changes.push(ScenarioChange { id: id.to_owned(), texts: texts.map_err(|error| error.to_string()) });
        if changes.len() == MAX_SCENARIOS {
            break;
        }
    }
    changes
}
