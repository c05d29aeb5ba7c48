//! What recorded models showed for conditions, where a run has no model.

use healbench_core::Plan;
use schemars::JsonSchema;
use serde::Serialize;

/// The difference between two conditions for recorded models, as `docs/findings.md` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordedModels {
    /// The day on which the recordings were last changed.
    pub date: &'static str,
    /// The section of `docs/findings.md`.
    pub section: &'static str,
    /// The suite that the models played.
    pub suite: &'static str,
    /// The condition that the other one is compared with.
    pub reference: &'static str,
    /// The other condition.
    pub condition: &'static str,
    /// Each model with its difference in points and the interval.
    pub models: &'static [[&'static str; 2]],
}

const fn quickstart(
    section: &'static str,
    reference: &'static str,
    condition: &'static str,
    models: &'static [[&'static str; 2]],
) -> RecordedModels {
    RecordedModels { date: "2026-11-24", section, suite: "quickstart", reference, condition, models }
}

const CONDITIONS: &str = "Three small models, and what servers sent";
const FORMATS: &str = "Two small models and four error formats";

/// All that the findings show; a test compares it with them.
#[rustfmt::skip]
const RECORDED: [RecordedModels; 7] = [
    quickstart(CONDITIONS, "bare", "fusion", &[["smollm2-135m", "-7 [-33, 18]"], ["qwen-0.5b", "+13 [-13, 41]"]]),
    quickstart(CONDITIONS, "bare", "sdk-typescript-1.29", &[["smollm2-135m", "+7 [-18, 33]"], ["qwen-0.5b", "+27 [-3, 54]"]]),
    quickstart(CONDITIONS, "sdk-typescript-1.29", "fusion", &[["smollm2-135m", "-13 [-41, 13]"], ["qwen-0.5b", "-13 [-41, 13]"], ["qwen-1.5b", "0 [-32, 32]"]]),
    quickstart(FORMATS, "none", "all fusion-text", &[["qwen-0.5b", "+20 [-8, 48]"]]),
    quickstart(FORMATS, "none", "all fusion-xml", &[["qwen-0.5b", "+13 [-13, 41]"]]),
    quickstart(FORMATS, "none", "all llm-friendly", &[["qwen-0.5b", "+20 [-8, 48]"]]),
    quickstart(FORMATS, "none", "all zod-json", &[["qwen-0.5b", "+20 [-8, 48]"]]),
];

/// Returns what is known for pairs of a plan's conditions.
pub(super) fn recorded(plan: &Plan) -> Vec<RecordedModels> {
    let has = |label: &str| plan.conditions.iter().any(|condition| condition.short_label() == label);
    RECORDED.into_iter().filter(|known| has(known.reference) && has(known.condition)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number stands in its section, in the line of its condition, below the model and above the next one.
    #[test]
    fn the_findings_show_what_recorded_models_did() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/findings.md");
        let text = std::fs::read_to_string(path).unwrap();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for known in RECORDED {
            let sections = text.split("\n## ").find_map(|section| section.strip_prefix(known.section));
            let section = sections.unwrap_or_else(|| panic!("no section {}", known.section));
            for [model, points] in known.models {
                let shown = section.split("model:").filter_map(|of_model| of_model.strip_prefix(model));
                let row = |line: &str| {
                    let line = words(line);
                    line.starts_with(&format!("{} ", known.condition)) && line.contains(&format!(" {points} "))
                };
                let found = shown.flat_map(str::lines).any(row);
                assert!(found, "docs/findings.md does not show {points} of {model} under {}", known.condition);
            }
        }
    }
}
