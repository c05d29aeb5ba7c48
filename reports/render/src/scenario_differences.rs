//! The scenarios that carry the headline comparison, in words.

use healbench_analysis::{Report, ScenarioDifferences};
use healbench_text::plain_text;

use super::labels::row_label;
use super::number::{count, pluralize, points};

/// The largest number of scenarios that a sentence names.
const MAX_NAMES: usize = 5;

/// Returns a sentence for each agent whose headline comparison differs in a scenario.
pub(super) fn scenario_sentences(report: &Report) -> Vec<String> {
    let Some(headline) = report.headline else { return Vec::new() };
    let mut sentences = Vec::new();
    for agent in report.headline_agents() {
        let found = agent.scenario_differences(headline.right, headline.left);
        if !found.differing.is_empty() {
            let [left, right] = [headline.left, headline.right].map(|row| row_label(&agent.rows[row]));
            let title = agent.headline_title();
            sentences.push(format!("{}, {left} → {right}: {}.", plain_text(&title), differences(&found)));
        }
    }
    sentences
}

/// `more succeed in 98 of 185 scenarios, fewer in 3; the largest differences: shop/list (+100), shop/cancel (-90)`.
fn differences(found: &ScenarioDifferences<'_>) -> String {
    let shown = found.differing.iter().take(MAX_NAMES);
    let names: Vec<String> =
        shown.map(|(id, difference)| format!("{} ({})", plain_text(id), points(*difference))).collect();
    let scenarios = pluralize(found.scenarios, "scenario");
    format!(
        "more succeed in {} of {scenarios}, fewer in {}; the largest differences: {}",
        count(found.more),
        count(found.fewer),
        names.join(", ")
    )
}
